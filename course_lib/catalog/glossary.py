"""The words of the course: what each means, what it is in CUDA, and the lesson that brings it up.

>>> find_term("masks").name
'mask'
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from course_lib.errors import PlainError


@dataclass(frozen=True)
class Term:
    """One word. `lesson` is the number of the lesson that introduces it, as in "04"."""

    name: str
    meaning: str
    lesson: str
    cuda: str = ""
    """What it is, or is nearest to, in CUDA; empty where the word is the same there, or there is none."""
    used_as: str = ""
    """How it stands in the lesson, if not by its name."""


class UnknownTerm(PlainError, LookupError):
    """The glossary does not have this word; the message lists the nearest ones."""


def find_term(name: str) -> Term:
    """The term called `name`, in upper or lower case, singular or plural. Raises `UnknownTerm` with the nearest otherwise."""
    by_name = {term.name.lower(): term for term in TERMS}
    asked = name.strip(" `").lower()
    for form in (asked, asked.removesuffix("s"), asked.removesuffix("es")):
        if form in by_name:
            return by_name[form]
    near = [term for term in by_name if asked and (asked in term or term in asked)]
    near += difflib.get_close_matches(asked, by_name, n=3, cutoff=0.6)
    names = [by_name[term].name for term in dict.fromkeys(near)]
    advice = f"Did you mean {' or '.join(map(repr, names[:3]))}?" if names else "All words: course glossary"
    raise UnknownTerm(f"The glossary does not have {name!r}. {advice}")


TERMS: tuple[Term, ...] = tuple(
    sorted(
        (
            Term(
                "accumulator",
                "A tile or a number that a loop adds to. Its type is fixed before the loop; give it fp32 even for fp16 inputs.",
                "06",
            ),
            Term(
                "arithmetic intensity",
                "How many operations a kernel does for each byte that it moves. Low means that the memory sets the pace.",
                "02",
            ),
            Term(
                "attention",
                "For each query, a softmax over its products with all keys says how much of each value it gets. Fused, the "
                "scores never leave the program.",
                "15",
            ),
            Term(
                "atomic",
                "A read, change and write that nobody can get in between of, such as `tl.atomic_add`. Programs that add to "
                "one place need it.",
                "06",
                "`atomicAdd` and its kin",
            ),
            Term(
                "autotune",
                "Timing several settings of a kernel, such as block sizes and `num_warps`, and keeping the fastest for each "
                "kind of input.",
                "14",
            ),
            Term(
                "axis",
                "A direction of a grid or of a tile. Reductions take one; `tl.program_id(axis)` asks for one of up to three.",
                "03",
                "`.x`, `.y`, `.z` of an index",
            ),
            Term(
                "barrier",
                "A place where all threads of a program wait for each other. In Triton, the compiler places them.",
                "01",
                "`__syncthreads()`",
            ),
            Term(
                "block",
                "The stretch of elements that a program works on at a time; also its length, `BLOCK_SIZE`, a power of two.",
                "00",
                "a thread block's share of the elements; a *thread block* is Triton's program",
            ),
            Term(
                "broadcasting",
                "Shapes that are stretched to each other along axes of length 1, as in `rows[:, None] + columns[None, :]`.",
                "07",
                used_as="broadcast",
            ),
            Term(
                "butterfly",
                "An exchange in which each lane meets the one at distance 16, 8, 4, 2 and 1, so that all end up with the sum.",
                "01",
                "a loop over `__shfl_xor_sync`",
            ),
            Term(
                "coalescing",
                "Serving the addresses of a warp together. It is cheap when neighbouring lanes ask for neighbouring elements.",
                "04",
                used_as="coalesc",
            ),
            Term(
                "constexpr",
                "An argument whose value is known when the kernel is compiled. Each new value is compiled anew.",
                "03",
                "a template parameter",
            ),
            Term(
                "contiguous",
                "A tensor whose elements lie in memory without gaps, in the order of its axes: the last one has stride 1.",
                "04",
            ),
            Term(
                "cp.async",
                "An instruction of sm_80 and later that copies from global to shared memory while the program goes on. "
                "Pipelined loops use it.",
                "06",
                "`__pipeline_memcpy_async`",
            ),
            Term(
                "CUDA graph",
                "A recording of launches that the GPU works off without the host. It takes the cost of launching out "
                "of small kernels.",
                "10",
            ),
            Term(
                "divisibility",
                "Whether an address or a stride is a multiple of 16. The compiler is told, and may only then use wide loads.",
                "11",
                used_as="divisib",
            ),
            Term(
                "effective bandwidth",
                "The bytes that must move, over the time that it took. Above the peak of the memory, the measurement is wrong.",
                "10",
            ),
            Term(
                "event",
                "A mark in the GPU's queue that notes the time. Two of them, around a kernel, measure it by the "
                "GPU's own clock.",
                "10",
                "`cudaEvent_t`",
            ),
            Term(
                "fused",
                "Several operations in one kernel, so that what lies between them never goes to memory.",
                "02",
            ),
            Term(
                "grid",
                "All programs of one launch, along up to three axes. It is a tuple, or a function of the kernel's constants.",
                "00",
                "the grid of thread blocks, `gridDim`",
            ),
            Term(
                "identity",
                "The value that leaves any other as it is: 0 for a sum, −inf for a maximum. Spare lanes should hold it.",
                "06",
            ),
            Term(
                "ieee",
                "As a value of `input_precision`: `tl.dot` multiplies fp32 with all its digits, not in tf32.",
                "07",
            ),
            Term(
                "group",
                "Some rows of tiles that are taken together, column by column, so that programs that run at the same time "
                "share what they read by way of the L2 cache.",
                "14",
            ),
            Term(
                "LayerNorm",
                "Each row less its mean, over its standard deviation, then times a weight and plus a bias for each column.",
                "13",
            ),
            Term(
                "interpreter",
                "Triton's own way to run a kernel on the CPU with NumPy, one program after the other. This course "
                "judges with it.",
                "00",
            ),
            Term(
                "L2",
                "The cache that all multiprocessors share. What lies in it need not come from memory, which flatters "
                "benchmarks.",
                "10",
            ),
            Term(
                "lane",
                "One element's place in a tile. The simulator of lesson 01 uses the word for one of a warp's 32 threads.",
                "01",
                "one thread of a warp",
            ),
            Term(
                "launch",
                "Putting a kernel with its grid and arguments into the GPU's queue. It returns at once, and costs "
                "microseconds.",
                "02",
                "`kernel<<<grid, block>>>(…)`",
            ),
            Term(
                "layout",
                "Which thread of which warp holds which elements of a tile. The compiler chooses it; TTGIR shows it.",
                "11",
                "what you compute from `threadIdx` by hand",
            ),
            Term(
                "mask",
                "A tile of true and false that says which lanes of a load or store touch memory.",
                "00",
                "`if (i < n)` around an access",
            ),
            Term(
                "multiprocessor",
                "The part of a GPU that runs programs: it has registers, shared memory and places for warps. Also: SM.",
                "08",
                "streaming multiprocessor, SM",
            ),
            Term(
                "num_stages",
                "How many turns of a loop are under way at once. Each further stage costs shared memory or registers.",
                "06",
            ),
            Term(
                "num_warps",
                "How many warps share a program's tiles: 4 unless you say so. It changes who computes, not what.",
                "08",
                "`blockDim.x / 32`",
            ),
            Term(
                "occupancy",
                "How much of a multiprocessor's room for warps is in use, or how many programs it runs at once.",
                "09",
            ),
            Term(
                "online softmax",
                "Maximum and sum in one pass: whenever the maximum rises, the sum so far is rescaled to it.",
                "15",
            ),
            Term(
                "other",
                "What a load puts into lanes that are masked off. Without it, what they hold is undefined.",
                "04",
                "the `else` of a guarded load",
            ),
            Term(
                "persistent",
                "A kernel whose programs are as many as the GPU runs at once, and loop over the work.",
                "09",
                "a grid-stride loop, over tiles",
            ),
            Term(
                "pipelining",
                "Loading for later turns of a loop while this one is computed, as `num_stages` asks for.",
                "09",
                "double buffering by hand",
                used_as="pipelin",
            ),
            Term(
                "program",
                "One run of a kernel's body, with its own `tl.program_id`. You write what one program does to whole tiles.",
                "00",
                "a thread block",
            ),
            Term(
                "PTX",
                "The assembly language between Triton and a GPU's machine code. It is the same for many GPUs.",
                "11",
            ),
            Term(
                "quantile",
                "The reading that a given share of all readings stays below; the median is that of 50 %.",
                "10",
            ),
            Term(
                "race",
                "Two programs that touch one element without an order, one of them writing. The result depends on luck.",
                "06",
            ),
            Term(
                "reduction",
                "Many values made into one along an axis: `tl.sum`, `tl.max`. Spare lanes take part unless they hold "
                "the identity.",
                "01",
                "shuffles, shared memory and barriers",
            ),
            Term(
                "register",
                "The place of a thread's values. A multiprocessor has 65,536, and how many a thread needs limits the "
                "occupancy.",
                "01",
            ),
            Term(
                "ridge",
                "The arithmetic intensity at which memory and arithmetic take the same time. Below it, the memory is "
                "the limit.",
                "02",
            ),
            Term(
                "roofline",
                "A picture of the best that a kernel can reach: bandwidth times intensity, up to the peak of the arithmetic.",
                "02",
            ),
            Term(
                "SASS",
                "A GPU's own machine code, as text. What stands there is what runs.",
                "01",
            ),
            Term(
                "sector",
                "The 32 bytes in which memory answers. One element of it costs as much as all.",
                "04",
            ),
            Term(
                "shared memory",
                "Fast memory of a multiprocessor through which threads of one program exchange values. The compiler "
                "uses it for you.",
                "01",
                "`__shared__`",
            ),
            Term(
                "shuffle",
                "An instruction by which lanes of a warp read each other's registers.",
                "01",
                "`__shfl_sync` and its kin",
            ),
            Term(
                "specialisation",
                "What a kernel is compiled for besides its constants: dtypes, arguments that are 1, addresses and numbers "
                "divisible by 16.",
                "09",
                used_as="compiled for",
            ),
            Term(
                "spill",
                "A value that finds no register and is kept in memory. It shows as local loads and stores, and costs time.",
                "07",
            ),
            Term(
                "stray",
                "An access outside of the tensor that its pointer came from. It may crash, or change somebody else's values.",
                "12",
                "what `compute-sanitizer` calls out of bounds",
            ),
            Term(
                "stream",
                "The queue that a launch goes into. What is in one stream is worked off in order.",
                "10",
                "`cudaStream_t`",
            ),
            Term(
                "stride",
                "How many elements lie between neighbours along an axis. Shapes do not tell it, so kernels are given it.",
                "04",
            ),
            Term(
                "tf32",
                "fp32 with 11 digits of each factor kept, which matrix units multiply fast. `tl.dot` uses it where "
                "there are any.",
                "07",
            ),
            Term(
                "tile",
                "A block of values that is computed with as one: what `tl.arange` or `tl.load` gives. Each side is a "
                "power of two.",
                "01",
                "the elements that a block's threads hold together",
            ),
            Term(
                "TTGIR",
                "Triton's second intermediate form, in which tiles have layouts.",
                "11",
            ),
            Term(
                "TTIR",
                "Triton's first intermediate form: your kernel in tiles, without threads.",
                "11",
            ),
            Term(
                "warmup",
                "`kernel.warmup(…)` compiles for given arguments without running. It tells registers and shared memory. (In a "
                "benchmark: calls before any is timed.)",
                "09",
            ),
            Term(
                "warp",
                "32 threads that an NVIDIA GPU runs together (64 on AMD's data centre GPUs). In Triton you choose "
                "how many, not who they are.",
                "01",
            ),
            Term(
                "wgmma",
                "The matrix instruction of sm_90, by which four warps multiply a tile together. Earlier GPUs have `mma`.",
                "07",
            ),
        ),
        key=lambda term: term.name.lower(),
    )
)
