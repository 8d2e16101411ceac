"""Lesson 07: tiles of two dimensions, and their products."""

from __future__ import annotations

import random

import torch

from course_lib.catalog.forms import is_list, is_whole, wrong
from course_lib.catalog.inputs import MATRICES, arranged, floats, matrix, rounded
from course_lib.catalog.model import Exercise, Hint, Lesson, Params, Quiz, Tolerance
from course_lib.checking.events import Trace

NAME = "07_tiles_and_dot"


TILE_LANES = Quiz(
    name="tile_lanes",
    lesson=NAME,
    question=(
        "A matrix of 5 rows and 7 columns is cut into tiles of 4 × 4, one program each, on a grid of (2, 2). How many lanes "
        "are on in the programs (0, 0), (0, 1), (1, 0) and (1, 1)?"
    ),
    form="a list of four whole numbers",
    accepts=lambda value: is_list(value, 4),
    expected=lambda: [min(4, 5 - 4 * i) * min(4, 7 - 4 * j) for i in range(2) for j in range(2)],
    explanation=(
        "The second row of tiles has 1 row of the matrix, the second column of tiles has 3 of its columns. A lane is on if its "
        "row exists *and* its column does: 4 · 4, 4 · 3, 1 · 4 and 1 · 3. Together that is 35, each element once."
    ),
    wrong=(
        wrong([16, 12, 12, 9], "That is for 7 rows. With 5, the second row of tiles has only one."),
        wrong([16, 4, 12, 3], "Right numbers, other order: the first number of a program's id counts rows of tiles here."),
        wrong([16, 12, 4, 13], "In the last tile a lane is on if its row *and* its column exist. You have counted the others."),
        wrong([0, 4, 12, 13], "Those are the lanes that are off."),
        wrong([16, 16, 16, 16], "So many lanes a program has. Which of them stand for an element of the matrix?"),
    ),
    hints=(
        Hint("Draw the matrix, and tiles of 4 × 4 over it. How far do they reach?"),
        Hint(
            "The second row of tiles begins with row 4, the second column of tiles with column 4. How many are left from there?"
        ),
        Hint("Multiply the number of rows that exist in a tile by the number of columns."),
    ),
)

K_STEPS = Quiz(
    name="k_steps",
    lesson=NAME,
    question=(
        "The loop goes along K = 50 in steps of 16. How many steps does it take, and in how many of the last step's 16 places "
        "along K is there an element?"
    ),
    form="a list of two whole numbers",
    accepts=lambda value: is_list(value, 2),
    expected=lambda: [len(range(0, 50, 16)), 50 - range(0, 50, 16)[-1]],
    explanation=(
        "The steps begin at 0, 16, 32 and 48. From 48 on there are two elements, 48 and 49, and 14 places of padding, which "
        "are multiplied and added like all others."
    ),
    wrong=(
        wrong([3, 16], "Three steps cover 48 elements. Two are left, and need a step of their own."),
        wrong([3, 2], "50 // 16 rounds down. The elements 48 and 49 belong to the sum as well."),
        wrong([4, 14], "Four steps, yes. 14 is the number of places *without* an element."),
        wrong([4, 16], "Where would a fourth full step end? There are 50 elements."),
    ),
    hints=(
        Hint("Where does each step begin? The first at 0, the second at 16, …"),
        Hint("The last one begins at 48. Which elements are there, up to 49?"),
        Hint("The number of steps is 50 / 16, rounded up. The last one has 50 − 48 elements."),
    ),
)

TF32_PRODUCT = Quiz(
    name="tf32_product",
    lesson=NAME,
    question=(
        "Two fp32 tiles are multiplied by `tl.dot` on an A100, with nothing said about precision: in tf32, then, which keeps "
        "11 binary digits of each factor. A row of the first is (4097, 0, 0, …), a column of the second is (1, 0, 0, …). What "
        "is their product?"
    ),
    form="one whole number",
    accepts=is_whole,
    expected=lambda: 4097 // 4 * 4,
    explanation=(
        "4097 is 2**12 + 1, which takes 13 binary digits. With 11 digits, the numbers between 4096 and 8192 are 4 apart; so "
        "4096 is what is left of it. The multiplication and the sum are exact; the digits were lost before."
    ),
    wrong=(
        wrong(4097, "In fp32, which has 24 binary digits. tf32 keeps 11 of each factor. How many does 4097 need?"),
        wrong(4100, "The tf32 numbers here are …, 4096, 4100, …. Which is the nearer one?"),
        wrong(2048, "The exponent is kept, tf32 has as many as fp32. Only the last digits go."),
    ),
    hints=(
        Hint("Write 4097 in binary. How many digits is it?"),
        Hint("It is 1000000000001. What stands in the first 11 of the 13 digits?"),
        Hint("The last two digits become 0: what is left is 1000000000000."),
    ),
)

READS_OF_A = Quiz(
    name="reads_of_a",
    lesson=NAME,
    question=(
        "Two matrices of 64 × 64 are multiplied, with one program for each tile of the result. How many times is each element "
        "of `a` read, all programs together, if the tiles are 16 × 16? And if they are 32 × 32?"
    ),
    form="a list of two whole numbers",
    accepts=lambda value: is_list(value, 2),
    expected=lambda: [64 // 16, 64 // 32],
    explanation=(
        "An element of `a` is needed by all tiles in its row of tiles, and there are 64 / 16 = 4 of these, or 64 / 32 = 2. How "
        "long the tiles are along K does not matter: that only says how many elements come at once."
    ),
    wrong=(
        wrong([16, 4], "So many tiles there are in all. Which of them need a given row of `a`?"),
        wrong([64, 64], "So often it takes part in a multiplication. A tile, once loaded, serves all its columns."),
        wrong([1, 1], "One program reads it once. How many programs need it?"),
        wrong([2, 4], "Other way round: larger tiles are fewer, and so are the programs that read the same element."),
    ),
    hints=(
        Hint("Which elements of the result need a[3, 5]?"),
        Hint("All of row 3. How many tiles does that row go through?"),
        Hint("64 divided by the width of a tile."),
    ),
)


def _two_lengths(generator: torch.Generator, m: int, n: int) -> tuple[torch.Tensor, torch.Tensor]:
    """A vector of `m` and one of `n` values."""
    return floats(generator, m), floats(generator, n)


def _straddle_both(block: int) -> tuple[Params, ...]:
    """Each side just shorter, as long as, and just longer than a block, or than two; around long blocks, one side at a time."""
    if block > 2**12:
        return ()
    if block > 64:
        return tuple({"m": m, "n": n} for m, n in ((block + 1, 3), (3, block + 1), (2, block - 1), (block - 1, 2)))
    sizes = [(block + 1, 2 * block + 1), (2 * block + 1, block - 1), (block - 1, block), (block, block + 1)]
    return tuple({"m": m, "n": n} for m, n in sizes if m and n)


def _drawn_both(numbers: random.Random) -> tuple[Params, ...]:
    """Two shapes that nobody knows beforehand, each within a tile of 128 × 128: a larger one may not fit into shared memory."""
    return tuple({"m": numbers.randint(2, 120), "n": numbers.randint(2, 120)} for _ in range(2))


def _written_once(trace: Trace) -> str | None:
    stored = sum(len(event.elements) for event in trace.events if event.kind != "load")
    if stored > trace.result.numel():
        return f"the kernels stored {stored} elements for a result of {trace.result.numel()}; each is to be written once"
    return None


OUTER = Exercise(
    name="outer",
    lesson=NAME,
    signature="outer(a, b)",
    statement=(
        "Return the outer product of two contiguous 1-D fp32 tensors of any lengths M and N from 1 on: a contiguous M × N "
        "matrix whose element (i, j) is a[i] · b[j], in full fp32 precision."
    ),
    reference=torch.outer,
    make_inputs=_two_lengths,
    cases=(
        *({"m": m, "n": n} for m, n in ((1, 1), (3, 5), (16, 16), (1, 37), (37, 1), (17, 33), (64, 31), (65, 130), (131, 63))),
        {"m": 2, "n": 1030},
        {"m": 1030, "n": 3},
    ),
    straddle=_straddle_both,
    drawn=_drawn_both,
    # One multiplication, rounded once. tf32 would be off by up to 1e-3.
    tolerance=Tolerance(rtol=1e-6),
    torch_may="allocate",
    contiguous=True,
    hints=(
        Hint(
            "One program a tile of the result, on a grid of two axes. It needs a piece of `a` for its rows and a piece of `b` "
            "for its columns. The kernel multiplies; torch only allocates.",
            frozenset({"no_kernel", "torch_compute", "constant", "not_as_asked"}),
        ),
        Hint(
            "The rows of a tile are `tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)`, and its columns the same with axis 1 "
            "and BLOCK_N. The grid is `(triton.cdiv(M, BLOCK_M), triton.cdiv(N, BLOCK_N))`.",
            frozenset(
                {
                    "unwritten",
                    "unwritten:no_program",
                    "unwritten:one_program",
                    "unwritten:tail",
                    "unwritten:row_ends",
                    "unwritten:gaps",
                    "race",
                    "race:same",
                    "load_out_of_bounds:program",
                    "store_out_of_bounds:program",
                    "first_block_only",
                    "idle_programs",
                }
            ),
        ),
        Hint(
            "The loads have masks of one dimension, `rows < M` and `columns < N`. The store has both: "
            "`(rows[:, None] < M) & (columns[None, :] < N)`. A row past M lies behind the result, and a column past N is the "
            "beginning of the next row.",
            frozenset({"race:spill", "race:overlap", "undefined_lanes", "nan"})
            | {f"{access}_out_of_bounds:{mask}" for access in ("load", "store") for mask in ("unmasked", "masked")},
        ),
        Hint(
            "`a[:, None]` makes a column of a vector, `b[None, :]` a row. Which of the two vectors belongs to the rows?",
            frozenset({"mismatch", "periodic", "crash"}),
        ),
        Hint(
            "Each comparison in a mask needs brackets of its own, since `&` binds tighter than `<`: `(rows[:, None] < M) & "
            "(columns[None, :] < N)`. A block is a power of two. And where Triton asks for a larger K: that is `tl.dot`, and a "
            "product of two numbers needs none, only `a[:, None] * b[None, :]`.",
            frozenset({"does_not_compile"}),
            asked=False,
        ),
        Hint(
            "Element (i, j) is a[i] · b[j]: `a` belongs to the rows, and `b` to the columns. In a contiguous result it lies at "
            "`i * N + j`: a row is N long, and not M, and column N would be the beginning of the next row.",
            frozenset({"transposed", "shifted", "write_twice", "wrong_shape", "wrong_layout", "wrong_dtype"}),
        ),
        Hint(
            "A product of two numbers needs no `tl.dot`, which rounds fp32 to tf32 first, and no fp16: multiply a column by a "
            "row, with `*`.",
            frozenset({"mismatch:near"}),
            asked=False,
        ),
        Hint(
            "With `a = tl.load(a_ptr + rows, mask=rows < M, other=0.0)` and `b` alike, the tile is `a[:, None] * b[None, :]`, "
            "and it goes to `out_ptr + rows[:, None] * N + columns[None, :]`."
        ),
    ),
)

TRANSPOSE = Exercise(
    name="transpose",
    lesson=NAME,
    signature="transpose(x)",
    statement=(
        "Return the transpose of the 2-D fp32 tensor `x`, which has at least one element and may have any strides, as a new "
        "contiguous matrix. A kernel does it, and it reads each element once and writes each element once."
    ),
    reference=lambda x: x.t().clone(),
    make_inputs=matrix,
    cases=MATRICES,
    straddle=_straddle_both,
    drawn=_drawn_both,
    torch_may="allocate",
    contiguous=True,
    max_reads=1,
    also=_written_once,
    hints=(
        Hint(
            "One program a tile: it reads a tile of `x`, and writes the same elements where the result has them. A view such "
            "as `x.t()` moves nothing; here a kernel must.",
            frozenset({"no_kernel", "torch_compute", "unwritten:input", "constant"}),
        ),
        Hint(
            "The result has as many rows as `x` has columns, and it is new: "
            "`torch.empty((n_cols, n_rows), dtype=x.dtype, device=x.device)`.",
            frozenset({"wrong_shape", "wrong_layout", "wrong_dtype", "input_changed"}),
        ),
        Hint(
            "Element (i, j) of `x` lies at `i * x.stride(0) + j * x.stride(1)`. It becomes element (j, i) of the result, "
            "which is contiguous and has `n_rows` columns: it lies at `j * n_rows + i`.",
            frozenset(
                {
                    "unchanged",
                    "transposed",
                    "mismatch",
                    "shifted",
                    "reversed",
                    "periodic",
                    "race",
                    "race:overlap",
                    "race:same",
                    "load_out_of_bounds:strides",
                    "store_out_of_bounds:strides",
                    "write_twice",
                }
            ),
        ),
        Hint(
            "Each mask has two parts, joined by `&`: `(rows[:, None] < n_rows) & (columns[None, :] < n_cols)`. If you turn the "
            "tile with `tl.trans`, the mask of the store is turned as well: its lanes are those of the turned tile.",
            frozenset({"race:spill", "undefined_lanes", "crash", "nan", "tail", "load_out_of_bounds:masked"})
            | {f"{access}_out_of_bounds:unmasked" for access in ("load", "store")},
        ),
        Hint(
            "Each comparison in a mask needs brackets of its own, since `&` binds tighter than `<`: `(rows[:, None] < n_rows) "
            "& (columns[None, :] < n_cols)`. And a block is a power of two.",
            frozenset({"does_not_compile"}),
            asked=False,
        ),
        Hint(
            "A lane that is on holds x[i, j] with i below n_rows and j below n_cols, and it goes to `j * n_rows + i`. Is a "
            "row of the result taken to be n_cols long? Or was the tile turned, and its mask not?",
            frozenset({"store_out_of_bounds:masked"}),
            asked=False,
        ),
        Hint(
            "The grid covers both sides: `(triton.cdiv(n_rows, BLOCK), triton.cdiv(n_cols, BLOCK))`. A program's rows begin "
            "at `tl.program_id(0) * BLOCK`, its columns at `tl.program_id(1) * BLOCK`. In the result, the tile stands where "
            "the other one of the two numbers says the row.",
            frozenset(
                {
                    "unwritten",
                    "unwritten:no_program",
                    "unwritten:one_program",
                    "unwritten:tail",
                    "unwritten:row_ends",
                    "unwritten:gaps",
                    "load_out_of_bounds:program",
                    "store_out_of_bounds:program",
                    "first_block_only",
                    "idle_programs",
                }
            ),
        ),
        Hint(
            "One launch is enough: one load and one store in each program, without a loop that comes back to the same "
            "elements, and without a matrix in between.",
            frozenset({"too_much_traffic", "not_as_asked", "read_back", "timeout"}),
            asked=False,
        ),
        Hint(
            "Nearly the answer: `tile = tl.load(x_ptr + rows[:, None] * x_row + columns[None, :] * x_column, mask=mask, "
            "other=0.0)`, then `tl.store(out_ptr + columns[None, :] * n_rows + rows[:, None], tile, mask=mask)`.",
        ),
    ),
)


LONG = 2051
"""A K that is longer than loops with an end of their own would reach by chance."""


def _factors(
    generator: torch.Generator, m: int, n: int, k: int, layout: str = "rows", scale: int = 0
) -> tuple[torch.Tensor, torch.Tensor]:
    """An m×k and a k×n matrix of values with at most 10 binary digits; the first times 2**scale, the second divided by it.

    "a transposed" and the like are views with the strides exchanged; "sliced" matrices skip rows and columns of larger ones.
    """
    a, b = rounded(generator, m, k, step=2.0**-7), rounded(generator, k, n, step=2.0**-7)
    a, b = a * 2.0**scale, b * 2.0**-scale
    if layout == "sliced":
        return arranged(a, "sliced"), arranged(b, "sliced")
    turned = {"rows": "", "a transposed": "a", "b transposed": "b", "both transposed": "ab"}[layout]
    return tuple(arranged(x, "transposed" if name in turned else "rows") for name, x in (("a", a), ("b", b)))  # type: ignore[return-value]


def _straddle(block: int) -> tuple[Params, ...]:
    """Each dimension just shorter, just as long and just longer than a block, or two; the others small, to be quick.

    Around long blocks, up to 1024, only just longer: few tiles are that long.
    """
    if block > 128:
        sizes = [(block + 1, 3, 5), (3, block + 1, 5), (2, 3, block + 1)] if block <= 1024 else []
    else:
        tiles = 2 if block <= 64 else 1  # beyond a full one
        sizes = [(tiles * block + 1, block + 1, 3), (3, 2 * block + 1, 5), (block - 1, 2, 7), (2, block - 1, 3)]
        sizes += [(2, 3, block - 1), (2, 3, block + 1), (2, 3, 2 * block + 1)]
        sizes += [(block, block, block)] if block <= 32 else [(block, block, 2), (2, 3, block)]
    return tuple({"m": m, "n": n, "k": k} for m, n, k in sizes)


def _drawn(numbers: random.Random) -> tuple[Params, ...]:
    """One shape that nobody knows beforehand."""
    return ({name: numbers.randint(2, 70) for name in ("m", "n", "k")},)


MATMUL = Exercise(
    name="matmul",
    lesson=NAME,
    points=2,
    signature="matmul(a, b)",
    statement=(
        "Return the matrix product `a @ b` of two 2-D fp32 tensors, M × K and K × N, of any sizes from 1 on "
        "and any strides. The result is fp32."
    ),
    reference=lambda a, b: (a.double() @ b.double()).float(),
    make_inputs=_factors,
    cases=(
        {"m": 1, "n": 1, "k": 1},
        {"m": 3, "n": 5, "k": 7},
        {"m": 16, "n": 16, "k": 16},
        {"m": 17, "n": 33, "k": 31},
        {"m": 33, "n": 17, "k": 65, "layout": "a transposed"},
        {"m": 15, "n": 35, "k": 18, "layout": "b transposed"},
        {"m": 31, "n": 19, "k": 33, "layout": "both transposed"},
        {"m": 18, "n": 21, "k": 35, "layout": "sliced"},
        {"m": 2, "n": 3, "k": 131},
        {"m": 131, "n": 2, "k": 3},
        {"m": 2, "n": 131, "k": 3},
        {"m": 19, "n": 23, "k": 29, "scale": 17},
    ),
    long=({"m": 2, "n": 3, "k": LONG},),
    straddle=_straddle,
    drawn=_drawn,
    # tf32 keeps 11 binary digits, and the inputs have at most 10. So a product in tf32, which is what `tl.dot` computes on a
    # GPU unless told otherwise, is exact here, and so is every partial sum in fp32, in any order, up to a K of thousands: the
    # tolerance need not grow with K. bf16 keeps 8 digits and fails; so does a sum in fp16; and factors in fp16, at scale=17.
    tolerance=Tolerance(rtol=1e-5, atol=1e-4),
    torch_may="allocate",
    hints=(
        Hint(
            "One program a tile of the result: the grid is `(cdiv(M, BLOCK_M), cdiv(N, BLOCK_N))`, and a loop over K adds up "
            "the products of a tile of `a` and a tile of `b`.",
            frozenset(
                {
                    "no_kernel",
                    "torch_compute",
                    "constant",
                    "tail",
                    "unwritten",
                    "unwritten:no_program",
                    "unwritten:one_program",
                    "unwritten:tail",
                    "unwritten:row_ends",
                    "unwritten:gaps",
                }
            ),
        ),
        Hint(
            "Each load has two masks, joined by `&`: rows below M and columns below K for `a`, rows below K and columns below "
            "N for `b`. The store has rows below M and columns below N. K moves on with the loop, and its mask with it.",
            frozenset({"race:spill"})
            | {f"{access}_out_of_bounds:{mask}" for access in ("load", "store") for mask in ("unmasked", "masked")},
        ),
        Hint(
            "Lanes past the end of K are multiplied and added like any other: give them `other=0.0`, in both factors.",
            frozenset({"undefined_lanes", "nan"}),
        ),
        Hint(
            "`acc = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)` before the loop, `acc += tl.dot(a, b)` in it. The loop takes "
            "`triton.cdiv(K, BLOCK_K)` steps, the last of them partial.",
            frozenset({"mismatch", "scaled", "timeout", "first_block_only", "periodic", "wrong_dtype", "read_back"}),
        ),
        Hint(
            f"K may be any length, here {LONG}. Does the loop end at K, or at a number of your own?",
            frozenset({"mismatch", "mismatch:near", "nan", "constant", "scaled", "first_block_only", "tail", "periodic"}),
            case=f"k={LONG}",
            asked=False,
        ),
        Hint(
            "Factors and sums stay in fp32: fp16 keeps 11 binary digits, and nothing above 65504.",
            frozenset({"mismatch:near", "nan", "mismatch"}),
            case="scale=",
        ),
        Hint(
            "Element (i, j) of a matrix lies at `i * stride(0) + j * stride(1)`. Pass both strides of all three matrices, and "
            "mind which index counts rows.",
            frozenset({"transposed", "shifted", "reversed", "load_out_of_bounds:strides", "wrong_shape"}),
        ),
        Hint(
            "`tl.dot` wants tiles of at least 16 in each dimension, K too, and the tiles must fit into shared memory. Small "
            "matrices use part of a tile.",
            frozenset({"does_not_compile"}),
        ),
        Hint(
            "Each tile of the result belongs to one program. Programs that share it, each with a part of K, must add with "
            "`tl.atomic_add`, to zeros.",
            frozenset({"race:read", "race:same", "nan:fresh", "uninitialized"}),
        ),
    ),
)

LESSON = Lesson(
    name=NAME,
    title="Tiles and dot",
    minutes=40,
    items=(TILE_LANES, K_STEPS, TF32_PRODUCT, READS_OF_A, OUTER, TRANSPOSE, MATMUL),
)
