"""What to say about a finding: hints that fit any exercise, and other people's messages and names in plain words.

Pure tables and look-ups. A hint of the exercise itself goes before the general ones (`report.choose_hint`).
"""

from __future__ import annotations

_YIELD_FROM = (
    "A function that waits for other threads is called with `yield from`: `value = yield from warp_sum(thread, value)`."
)

TL_ONLY = (
    "A kernel can call functions of `tl`, and functions with `@triton.jit` above them; nothing of torch, NumPy or `math`. "
    "`np.minimum` is `tl.minimum`, `math.exp` is `tl.exp`."
)

MESSAGES = {
    "'Autotuner' object is not callable": "A kernel is started with a grid: `kernel[grid](…)`.",
    "is launched with all its": (
        "Launch the kernel itself, `kernel[grid](…)`: Triton finds what it has compiled. Or give the compiled one all "
        "arguments in their order, constants too."
    ),
    "compiled for other arguments is launched": (
        "Let Triton look for its compiled kernels itself: launch `kernel[grid](…)`, and keep no more than numbers such as the "
        "number of programs, by all that they depend on."
    ),
    "without a grid": (
        "A kernel is started with `kernel[grid](…)`, where the grid is a tuple such as `(triton.cdiv(n, BLOCK_SIZE),)`."
    ),
    "the grid must be a tuple": (
        "A grid is a tuple, also of a single number: `kernel[(n_programs,)](…)`. It is the comma that makes it one."
    ),
    "it must be a whole number, as `triton.cdiv` gives": (
        "`/` gives a fraction. One program a block, the last one included, is `(triton.cdiv(n, BLOCK_SIZE),)`: that rounds up."
    ),
    **dict.fromkeys(
        ("torch.Size", "can only concatenate tuple"),
        "A shape is a tuple. How many elements there are in all is `x.numel()`, along one axis `x.shape[0]`.",
    ),
    "'builtin_function_or_method' object has no attribute 'scalar'": (
        "In a kernel only functions of `tl` work on tiles: `tl.sum(x)`, not `torch.sum(x)`."
    ),
    "must be Tensor, not tensor": "In a kernel only functions of `tl` work on tiles: `tl.sum(x)`, not `torch.sum(x)`.",
    "must have equal reduction dimensions": (
        "`tl.dot(a, b)` sums over the columns of `a` and the rows of `b`: M × K times K × N. Where the second tile has been "
        "loaded with its rows first, turn it with `tl.trans`, or load it turned."
    ),
    "Both operands must be same dtype": (
        "`tl.dot` takes two tiles of one type. Convert one, as with `weights.to(tl.float16)`: the sum is kept in fp32 all "
        "the same."
    ),
    "Unsupported function referenced": TL_ONLY,
    "'range' object has no attribute": (
        "The numbers of a block's lanes are `tl.arange(0, BLOCK_SIZE)`; `tl.range` is for loops."
    ),
    **dict.fromkeys(
        ("'int' object is not iterable", "does not support item assignment"),
        "A pointer or a tile cannot be indexed or looped over. Read with `tl.load(x_ptr + offsets)`, write with "
        "`tl.store(out_ptr + offsets, value)`.",
    ),
    "lanes is no single number": (
        "A tile is no index, and no bound of a loop. Read with `tl.load(x_ptr + offsets)`, write with `tl.store(out_ptr + "
        "offsets, value)`."
    ),
    "cannot be block type if pointer argument is not a block": (
        "This pointer is a single address, that of the first element. Add the block's offsets: `x_ptr + offsets`."
    ),
    "Block pointers have been removed": (
        "From version 3.9 on, Triton has no block pointers. Compute the pointers yourself, "
        "`x_ptr + row * row_stride + columns`, or use `tl.make_tensor_descriptor`."
    ),
    "Unsupported ptr type": "`tl.load` and `tl.store` take the pointers first: `tl.store(out_ptr + offsets, value)`.",
    **dict.fromkeys(
        ("invalid operands of type pointer", "cannot add pointers together", "a pointer was given as the value"),
        "A tensor arrives in a kernel as a pointer: an address, no value. `tl.load` it before computing; and what should "
        "be a number, such as `n`, must be passed as one (`x.numel()`).",
    ),
    **dict.fromkeys(
        ("'constexpr' object has no attribute", "'int' object has no attribute 'to'", "'int' object has no attribute 'dtype'"),
        "An argument that is 1 becomes a constant at a launch: a Python number, without `.to`, `.dtype` or `.shape`. "
        '`tl.cast(n, tl.int64)` takes it as well, and `@triton.jit(do_not_specialize=["n"])` keeps `n` a value.',
    ),
    "'function' object is not subscriptable": "Is `@triton.jit` missing above the kernel?",
    "Did you forget to add @triton.jit": "Put `@triton.jit` above the kernel, and start it with `kernel[grid](…)`.",
    **dict.fromkeys(
        ("Boolean value of Tensor", "no single truth value", "must be 1-bit signless integer, but got 'tensor"),
        "A tile has no single truth value. Choose lane by lane, with `mask=` or `tl.where`: `y = tl.where(x > 0, x, -x)`.",
    ),
    "num_warps must be a power of 2": "A program has 1, 2, 4, 8, 16 or 32 warps: `num_warps=4`, or 8.",
    "must be a power of 2": (
        "A tile's length is a power of two. Round up with `triton.next_power_of_2`, and mask the spare lanes."
    ),
    "must be of type tl.constexpr": (
        "A tile's length must be a constant: declare it as `BLOCK_SIZE: tl.constexpr` in the kernel's first line."
    ),
    "is not string": 'In a kernel, print begins with a text: `print("x", x)`.',
    "f-string": 'A kernel has no f-strings for values. Print with `print("x", x)`.',
    "Cannot access global variable": (
        "A kernel sees no Python variables except `tl.constexpr` ones. Pass it as an argument, or write `NAME = "
        "tl.constexpr(…)`."
    ),
    "Loop-carried variable": (
        "A variable keeps its type and its shape through a loop. Begin with what it will be: a sum with `0.0` or "
        "`tl.zeros([BLOCK_SIZE], tl.float32)`, not with `0`."
    ),
    "AST node type: Break": (
        "A loop in a kernel cannot be left early. Put the condition into the loop's bounds, or into a mask."
    ),
    "AST node type: Continue": "A kernel has no `continue`. Put the rest of the loop's body under an `if`, or use a mask.",
    "comprehensions are supported": "A kernel has no lists: a tile takes their place, such as `tl.arange(0, BLOCK_SIZE)`.",
    "unsupported AST node type": "This piece of Python has no counterpart in a kernel.",
    "was specified but unrecognised": (
        "That keyword is neither an argument of the kernel nor a launch option such as `num_warps`."
    ),
    "compiling had not finished": (
        "Is the tile too large, or a `tl.static_range` too long? Each element of a tile costs instructions."
    ),
    "PassManager::run failed": "Does the kernel return a value? It must not: it writes its result with `tl.store`.",
    "view size is not compatible": (
        "`view` cannot flatten a tensor whose rows are not side by side. Keep its shape; a kernel is given its strides."
    ),
    "more than one element of the written-to tensor": (
        "This tensor repeats elements with a stride of 0, so nothing can be written over it. Make a new one: `x - y`, not `-=`."
    ),
    "must match the size of tensor b": (
        "torch lines shapes up from the right, so a vector with one number for each row is taken for a row. Keep the axis of "
        "length 1: `keepdim=True` in the reduction, or `[:, None]` after it."
    ),
    "'torch.return_types.": (
        "With `dim`, `max` and `min` return two tensors: the values, and where they were. Take `.values`, or use `amax` and "
        "`amin`."
    ),
    "step must be greater than zero": "torch has no negative steps. Count backwards in the kernel's offsets.",
    "EOF when reading": "Nobody is there to answer `input()` while an answer is judged. Take what you need from the arguments.",
    "'_Exchange'": (
        "A shuffle has to wait for the other lanes: put `yield` before it, as in `(yield thread.shfl_xor(value, 16))`."
    ),
    "and 'generator'": _YIELD_FROM,
    "'generator' and": _YIELD_FROM,
    "a kernel yields what its thread waits for": (
        "`yield` stands before what a thread waits for, `thread.syncthreads()` and the shuffles, and nothing else. A function "
        "that has a `yield` itself is called with `yield from`."
    ),
    "a GPU would go on, with other memory": (
        "How many elements does the array need, and which threads touch it? Give it one for each warp."
    ),
    "has done already what exercises ask for": (
        "What the course has finished is there to be compared with, in a cell of its own. Write the exercise's part yourself."
    ),
    "is not defined": (
        "Is the name spelt as where it was set? One that is first set inside an `if` or a loop of a kernel does not exist "
        "after it."
    ),
}
"""What to do about messages of Python, Triton's interpreter and its compiler that do not say so. The first that fits counts."""

_OUTSIDE = "Find the largest offset of a lane that is on: it must be below the number of elements of the tensor on this line."
_MASK_ENDS = f"{_OUTSIDE} The mask is `offsets < n`, not `<=`, with the n of that tensor."
_BELOW_0 = "An offset below 0: either too much is subtracted, or a number did not fit its type and wrapped around."
_BEYOND = (
    "Make no view that is larger than its tensor. Pass the strides instead: element (i, j) lies at `i * row + j * column`."
)
_SPREAD = (
    "Offsets count elements, not bytes, and these lanes' offsets lie more than 1 apart. The neighbours in a vector are "
    "`x_ptr + offsets`."
)
_CAST = "A pointer that was cast counts and reads in the size of its new type. Use the pointer as it came, or cast it back."
_IDLE = "Nothing is left for this program to do. Does the grid count the right thing, and does it count it once?"

TUNED = (
    "Every configuration of `@triton.autotune` must give the right result: a GPU takes whichever is fastest there. What does "
    "the launcher take for granted of a block? A grid gets it from the configuration: `lambda meta: (triton.cdiv(n, "
    'meta["BLOCK"]),)`.'
)
"""What is said where another configuration than the first one gives a wrong result."""
MEASURED = (
    "`triton.autotune` runs each configuration many times, on the tensors of your call, before the run that counts. A kernel "
    "that adds to what is there needs `reset_to_zero`, one that changes its input `restore_value`; or, better, each program "
    "stores what it alone has computed."
)
"""What is said where the result is wrong after the configurations have been measured."""
TUNED_TOO_SELDOM = (
    "`@triton.autotune` chooses once for each value of `key`, and stays with it. So `key` has to name every argument that "
    "`prune_configs_by` looks at, and every one on which it depends whether a configuration is right."
)
"""What is said where an autotuned kernel ran with an earlier call's choice, which pruning rules out by now."""

GENERAL = {
    "crash": (
        "Call your function yourself, in a cell, on a small input. The error comes with all its lines, and you can `print`."
    ),
    "timeout": "Does each loop come to its end? A `while` needs a condition that changes, and a range a step other than 0.",
    "memory_limit": "Look at what you allocate: all it takes is room for the result.",
    "killed": (
        "Python itself raises errors; only what goes past it ends a process: addresses made by hand, `ctypes`, `os`. An "
        "answer needs none of these."
    ),
    "wrong_type": "Return what the exercise asks for: as a rule the tensor that your kernel has written to.",
    "wrong_shape": "The result's shape is decided where you allocate it. The kernel only fills it.",
    "wrong_dtype": "The result's dtype is decided where you allocate it: `torch.empty_like(x)` takes that of `x`.",
    "wrong_layout": (
        "`torch.empty(shape, dtype=x.dtype, device=x.device)` is contiguous; `torch.empty_like(x)` may keep the order of x."
    ),
    "no_kernel": "Write the computation as a `@triton.jit` function, and start it with `kernel[grid](…)`.",
    "computed_outside": "Let the kernel compute the numbers, from pointers to the arguments, and store them.",
    "computed_outside:alone": (
        "A thread reads its own values only, such as `values[thread.index]`. What others have reaches it by a shuffle, or by "
        "shared memory and a barrier."
    ),
    "computed_outside:no_exchange": (
        "Let each thread read its own value only, and get those of others by `yield thread.shfl_xor(value, distance)`, or by "
        "shared memory and a barrier."
    ),
    "forbidden": "Write it with simpler operations: the exercise says which ones it leaves to you.",
    "forbidden:value": (
        "Stay in torch: compute with whole tensors, and choose with `torch.where`. A number in Python makes a GPU wait, and "
        "Python then computes one by one."
    ),
    "forbidden:elsewhere": "Compute in the function itself: an answer needs no threads, and no other processes.",
    "no_block": "`run_block(kernel, n_threads, …)` runs `kernel(thread, …)` for each thread of a block.",
    "stuck": (
        "Every lane of a warp must come to a shuffle, and every thread of the block to a barrier. Move it out of the `if`, and "
        "let the `if` choose the values only."
    ),
    "shared_race": (
        "Between a write and another thread's read there must be a barrier: `yield thread.syncthreads()`. Without `yield`, "
        "nobody waits."
    ),
    "undefined_value": "Which thread is the first to get the undefined value, and from whom?",
    "undefined_value:lane": (
        "A warp that is not full has lanes that do not exist. Take what a shuffle brings only if the lane that it comes from "
        "is there."
    ),
    "undefined_value:looked_at": (
        "`UNDEFINED` stands for whatever a GPU happens to deliver. Work out from the numbers of lanes and threads whether the "
        "other one is there."
    ),
    "undefined_value:unwritten": (
        "Shared memory holds nothing at first. Read only those elements to which a thread has written."
    ),
    "not_as_asked": "Read once more how the work is to be shared out between programs or threads.",
    "torch_compute": "Move that computation into the kernel.",
    "torch_compute:value": (
        "The launcher has no need of values. Sizes are numbers already: `x.numel()`, `x.shape`, `x.stride(0)`."
    ),
    "torch_compute:copy": (
        "A copy is a kernel of torch's. Give your kernel the strides instead, and it can read the tensor as it is."
    ),
    "load_out_of_bounds": _OUTSIDE,
    "store_out_of_bounds": _OUTSIDE,
    "load_out_of_bounds:strides": (
        "This tensor is not contiguous. Element (i, j) lies at `i * x.stride(0) + j * x.stride(1)`: pass both strides to "
        "the kernel."
    ),
    "store_out_of_bounds:strides": (
        "This tensor is not contiguous. Element (i, j) lies at `i * out.stride(0) + j * out.stride(1)`: pass both strides "
        "to the kernel."
    ),
    "load_out_of_bounds:beyond": _BEYOND,
    "store_out_of_bounds:beyond": _BEYOND,
    "load_out_of_bounds:size": _CAST,
    "load_out_of_bounds:before": _BELOW_0,
    "load_out_of_bounds:below": _BELOW_0,
    "load_out_of_bounds:spread": _SPREAD,
    "store_out_of_bounds:size": _CAST,
    "store_out_of_bounds:before": _BELOW_0,
    "store_out_of_bounds:below": _BELOW_0,
    "store_out_of_bounds:spread": _SPREAD,
    "load_out_of_bounds:program": _IDLE,
    "store_out_of_bounds:program": _IDLE,
    "load_out_of_bounds:masked": _MASK_ENDS,
    "store_out_of_bounds:masked": _MASK_ENDS,
    "load_out_of_bounds:unmasked": "The last block is rarely full: give the load a mask, such as `mask=offsets < n`.",
    "store_out_of_bounds:unmasked": "The last block is rarely full: give the store a mask, such as `mask=offsets < n`.",
    "undefined_lanes": (
        "Say with `other=` what masked lanes shall hold: a value that does not disturb what comes next. Or should these "
        "lanes not have been masked?"
    ),
    "race": (
        "Each element of the result belongs to one program. Do the offsets depend on `tl.program_id`, along each axis of "
        "the grid?"
    ),
    **dict.fromkeys(
        ("race:overlap", "race:spill"),
        "The programs' parts overlap. How far apart do they begin, and how long are they? A mask must end each where the "
        "next one begins.",
    ),
    "race:read": (
        "What one program writes, another cannot read in the same launch. Read from the inputs only; programs that add to "
        "one place use `tl.atomic_add`."
    ),
    "race:replaced": (
        "An atomic is one step, and two of them are two: others may come between. Begin with zeros, from `torch.zeros`, and "
        "let all programs add."
    ),
    "write_twice": (
        "Each element of the result is written by one lane, once. Do the offsets of the store differ from lane to lane?"
    ),
    "overtaken_load": (
        "Read from one tensor and write to another. In place, a lane may only store to what it has loaded itself, or all lanes "
        "wait in between: `tl.debug_barrier()`."
    ),
    "program_order": ("Programs run in any order. What one needs of another one's result belongs into a launch of its own."),
    "reordered": (
        "`tl.reshape` keeps the order of the elements, row by row; `tl.view`, and what is told that it `can_reorder`, need "
        "not. Two tiles one after the other are two stores, or `tl.interleave` with offsets to match."
    ),
    "false_promise": (
        "Such a promise must hold for every input, and makes a right kernel faster at most. Leave it out: for its arguments, "
        "Triton finds out at each launch which ones are multiples of 16."
    ),
    "idle_programs": (
        "One program handles a whole block, so the grid counts blocks, and not elements: `(triton.cdiv(n, BLOCK_SIZE),)`. "
        "What is a thread in CUDA is a lane here; a program is what a block of threads is there."
    ),
    "read_back": "Keep the value in a variable instead of reading it back.",
    "unwritten": "Which program should have written these elements, and at which offsets did it write?",
    "unwritten:no_program": (
        "There must be a program for each block, also for one that is not full: `triton.cdiv(n, BLOCK_SIZE)` rounds up, "
        "`//` rounds down."
    ),
    "unwritten:nothing": (
        "A kernel returns nothing. It writes its result to memory: `tl.store(out_ptr + offsets, value, mask=mask)`."
    ),
    "unwritten:input": (
        "The caller still needs its tensors. Allocate the result, for example with `torch.empty_like(x)`, let the kernel "
        "write to it, and return it."
    ),
    "unwritten:elsewhere": "Return the tensor that you passed to the kernel as its output.",
    "unwritten:one_program": "One program writes one block. It takes `triton.cdiv(n, BLOCK_SIZE)` of them, or a loop.",
    "unwritten:tail": (
        "There must be a program for each block, also for the last one that is not full: `triton.cdiv(n, BLOCK_SIZE)` "
        "rounds up."
    ),
    "unwritten:row_ends": (
        "The rows are longer than what your programs write of them. Let the block cover a row, or loop over it."
    ),
    "unwritten:gaps": (
        "Between one program's part and the next one's something is left out. How far apart do they begin, and how long "
        "are they?"
    ),
    "uninitialized": (
        "Read only what has been written. A sum in memory must begin with zeros: `torch.zeros`, not `torch.empty`."
    ),
    "overwritten": "Allocate the result anew in each call, inside the function.",
    "input_changed": (
        "Write to a tensor that you have allocated yourself, for example with `torch.empty_like(x)`. Does the launch give "
        "its arguments in the kernel's order?"
    ),
    "cpu_tensor": (
        "Say where a tensor is to be made: `device=x.device` puts it where `x` is. `torch.empty_like(x)` does so by itself."
    ),
    "too_much_traffic": "Keep in a variable what you need again: a value that was loaded stays in registers.",
    "first_block_only": (
        "What is different from the second block on? Look at what does not depend on `tl.program_id`, and should."
    ),
    "tail": "What is different at the end? Look at the last, partial block: its mask, its `other`, how often the loop runs.",
    "shifted": "The offsets of the load and those of the store do not belong together. Try element 0 by hand.",
    "reversed": "From which end do the load's offsets count, and from which those of the store?",
    "unchanged": "The elements were copied, and stand where they stood. Do the load and the store use the same offsets?",
    "transposed": (
        "Element (i, j) lies at i times the row stride plus j times the column stride. Are they exchanged, in the load or "
        "in the store?"
    ),
    "scaled": "The elements are the right ones; look at what they are multiplied with or divided by.",
    "periodic": "How far apart do the programs' blocks begin, and how long are they?",
    "constant": (
        "Every lane got the same value. Is there a load or a store whose pointer has no offsets, or a tile that was never "
        "filled?"
    ),
    "nan": (
        "NaN comes from memory that nobody has written, or from 0/0, inf − inf and the like. Which lane is the first to "
        "have it?"
    ),
    "nan:fresh": "Read only what has been written. A sum in memory must begin with zeros: `torch.zeros`, not `torch.empty`.",
    "mismatch": "Compute the first wrong element by hand, and compare with what the kernel does for it.",
    "mismatch:near": (
        "Nearly right: either digits were lost (a value or a sum in fp16, the difference of two large numbers), or a few "
        "of many elements are left out or counted twice."
    ),
    "compiled_code": (
        "Compile your kernel with `compile_for`, and look at the instructions that came from this line: `c.lines()`."
    ),
    "does_not_compile": (
        "A kernel is not ordinary Python: arithmetic on numbers and tiles, `if` on numbers, `for` over a range, and "
        "functions of `tl`. Write this with those."
    ),
}
"""A hint for each kind of finding, or for a pattern of it, that fits any exercise."""

_WRITTEN = {
    "_local_scalar_dense": "`.item()` (or `float()`, `int()`, `if` on a tensor)",
    "_softmax": "`softmax`",
    "_to_copy": "`.to(…)`",
    "add": "`+`",
    "sub": "`-`",
    "rsub": "`-`",
    "mul": "`*`",
    "div": "`/`",
    "add_": "`+=`",
    "sub_": "`-=`",
    "mul_": "`*=`",
    "div_": "`/=`",
    "reciprocal": "`/`",
    "remainder": "`%`",
    "pow": "`**`",
    "neg": "`-`",
    "mm": "`@`",
    "bmm": "`@`",
    "mv": "`@`",
    "dot": "`@`",
    "eq": "`==`",
    "ne": "`!=`",
    "lt": "`<`",
    "le": "`<=`",
    "gt": "`>`",
    "ge": "`>=`",
    "bitwise_and": "`&`",
    "bitwise_or": "`|`",
    "bitwise_not": "`~`",
    "index": "indexing with a tensor",
    "index_put": "assignment to `x[…]`",
    "clone": "`.clone()` (or `.contiguous()`)",
    "constant_pad_nd": "`pad`",
}


def for_message(message: str) -> str | None:
    """The advice for an error's message, or None.

    >>> for_message("'function' object is not subscriptable")
    'Is `@triton.jit` missing above the kernel?'
    """
    return next((text for words, text in MESSAGES.items() if words in message), None)


def as_written(operation: str) -> str:
    """One of torch's operations, by the name that torch gives it inside, as a learner writes it.

    >>> as_written("_local_scalar_dense"), as_written("mul_"), as_written("amax")
    ('`.item()` (or `float()`, `int()`, `if` on a tensor)', '`*=`', "torch's `amax`")
    """
    if "::" in operation:
        return f"the operator `{operation}`, which hides what it does; call the function itself, not through torch.library"
    return _WRITTEN.get(operation) or _WRITTEN.get(operation.rstrip("_")) or f"torch's `{operation}`"


def gpu(capability: int) -> str:
    """A GPU of this compute capability, as somebody may know it.

    >>> gpu(75)
    'a T4 (sm_75)'
    """
    known = {75: "a T4", 80: "an A100", 86: "an RTX 3090", 89: "an RTX 4090", 90: "an H100", 100: "a B200", 120: "an RTX 5090"}
    return f"{known.get(capability, 'a GPU')} (sm_{capability})"
