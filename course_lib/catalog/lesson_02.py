"""Lesson 02: softmax in PyTorch: where it breaks, what it moves, and what bounds its speed."""

from __future__ import annotations

import random

import torch

from course_lib.catalog.forms import is_list, is_whole, wrong
from course_lib.catalog.inputs import ROWS, drawn_rows, scores
from course_lib.catalog.model import Exercise, Hint, Lesson, Params, Quiz, Tolerance
from course_lib.machine.roofline import roofline

NAME = "02_softmax_in_pytorch"


def _first_infinite(dtype: torch.dtype) -> int:
    return next(score for score in range(1000) if torch.tensor(float(score)).exp().to(dtype).isinf())


FIRST_INFINITE = Quiz(
    name="first_infinite",
    lesson=NAME,
    question=(
        "Which is the smallest whole number whose `exp` is infinite in fp32, which in fp16, and which in bf16? Their largest "
        "numbers are about 3.4e38, 65504 and 3.4e38."
    ),
    form="a list of three whole numbers: for fp32, fp16, bf16",
    accepts=lambda value: is_list(value, 3),
    expected=lambda: [_first_infinite(dtype) for dtype in (torch.float32, torch.float16, torch.bfloat16)],
    explanation=(
        "Each is the first whole number above the logarithm of the largest one: log(3.4e38) is 88.7, and log(65504) is 11.09. "
        "bf16 has fewer digits than fp32, but nearly the same range. For scores of a model, 89 is much, and 12 is not."
    ),
    wrong=(
        wrong([88, 11, 88], "exp(88) and exp(11) are still below the largest numbers. The next ones are not."),
        wrong([89, 12, 12], "bf16 has 16 bits, too, but spends as many of them on the exponent as fp32 does."),
        wrong([128, 16, 128], "Those are the powers of *two* that no longer fit. exp(x) is a power of 2.718…"),
        wrong([39, 5, 39], "Those are powers of ten. exp(x) is a power of 2.718…"),
    ),
    hints=(
        Hint("Which x has exp(x) = 65504? The inverse of `exp` is the natural logarithm."),
        Hint("`math.log(65504)` is 11.09, so 11 still fits. The same with 3.4e38, for the other two."),
        Hint("Round `math.log` of the largest number up: the first is 89."),
    ),
)

NAIVE_PASSES = Quiz(
    name="naive_passes",
    lesson=NAME,
    question=(
        "The naive softmax takes five operations: row maxima, subtraction, `exp`, row sums, division. Each is a kernel of its "
        "own. How many times does a whole matrix go over the memory bus in each, reads and writes together? Leave out vectors "
        "with one number for each row."
    ),
    form="a list of five whole numbers",
    accepts=lambda value: is_list(value, 5),
    expected=lambda: [1, 2, 2, 1, 2],
    explanation=(
        "The two reductions read a matrix and write one number for each row. The other three read a matrix and write one. "
        "That makes 8 · M · N elements, and the vectors 4 · M more: each is written once and read once."
    ),
    wrong=(
        wrong(
            [1, 1, 1, 1, 1], "Three of them write a matrix, too: its memory is new, and every element of it has to be written."
        ),
        wrong([2, 2, 2, 2, 2], "What a reduction writes is a vector with one number for each row, and vectors are left out."),
        wrong([1, 2, 2, 1, 1], "The division reads the numerators and writes the result: two matrices."),
        wrong([1, 3, 2, 1, 3], "What is subtracted, and what is divided by, is a vector: one number for each row."),
    ),
    hints=(
        Hint("Each operation reads its input from memory and writes its result there: the next one starts from memory again."),
        Hint("What is the shape of the result of each? A reduction's has no columns."),
        Hint("A reduction reads one matrix. The others read one and write one."),
    ),
)

ROWS_MOVED, COLUMNS_MOVED = 64, 1000

NAIVE_BYTES = Quiz(
    name="naive_bytes",
    lesson=NAME,
    question=(
        f"`naive_softmax` is given an fp16 matrix of {ROWS_MOVED} rows and {COLUMNS_MOVED} columns, and computes in fp16. How "
        "many bytes do its five operations read and write, all together, the vectors included?"
    ),
    form="one whole number",
    accepts=is_whole,
    expected=lambda: 2 * (8 * ROWS_MOVED * COLUMNS_MOVED + 4 * ROWS_MOVED),
    explanation=(
        "8 · M · N elements of matrices and 4 · M of vectors, with 2 bytes each. The vectors are one part in 2 · N of it, and "
        "one may forget about them."
    ),
    wrong=(
        wrong(8 * ROWS_MOVED * COLUMNS_MOVED + 4 * ROWS_MOVED, "That is the number of elements. In fp16, each has 2 bytes."),
        wrong(4 * (8 * ROWS_MOVED * COLUMNS_MOVED + 4 * ROWS_MOVED), "That would be fp32. An element of fp16 has 2 bytes."),
        wrong(
            2 * 8 * ROWS_MOVED * COLUMNS_MOVED, "Nearly: the maxima and the sums are written and read, too. How many are there?"
        ),
        wrong(
            2 * (8 * ROWS_MOVED * COLUMNS_MOVED + 2 * ROWS_MOVED),
            "Maxima and sums are written by one operation and read by another: count both ways.",
        ),
        wrong(
            2 * 2 * ROWS_MOVED * COLUMNS_MOVED,
            "That is what a single kernel could do with. The naive one reads and writes a matrix again and again.",
        ),
        wrong(
            2 * (5 * ROWS_MOVED * COLUMNS_MOVED + 2 * ROWS_MOVED),
            "That is what is read. Each operation writes its result to memory as well.",
        ),
        wrong(2 * (3 * ROWS_MOVED * COLUMNS_MOVED + 2 * ROWS_MOVED), "That is what is written. It is read, too."),
    ),
    hints=(
        Hint("How many elements does it move in all? The lesson has just counted them for another shape."),
        Hint("8 · M · N + 4 · M elements. How many bytes has one?"),
        Hint(f"2 · (8 · {ROWS_MOVED} · {COLUMNS_MOVED} + 4 · {ROWS_MOVED}), since an element of fp16 has 2 bytes."),
    ),
)


def _roofs() -> list[str]:
    n, size = 4096, 4
    return [
        roofline(5 * n * n, 2 * n * n * size, "H200").bound,
        roofline(5 * n * n, 2 * n * n * size, "T4").bound,
        roofline(2 * n**3, 3 * n * n * size, "H200").bound,
        roofline(2 * n * n, (n * n + 2 * n) * size, "H200").bound,
    ]


WHICH_ROOF = Quiz(
    name="which_roof",
    lesson=NAME,
    question=(
        "Four kernels in fp32, with n = 4096, on ordinary units. Each reads its inputs once and writes its result once. What "
        "bounds each of them: a softmax of an n × n matrix on an H200 (5 operations an element; ridge at 14); the same on a T4 "
        "(ridge at 25); a product of two n × n matrices on an H200 (2 · n³ operations); a matrix times a vector on an H200 "
        "(2 · n² operations)?"
    ),
    form='a list of four words, each "memory" or "compute"',
    accepts=lambda value: isinstance(value, list) and len(value) == 4 and set(value) <= {"memory", "compute"},
    expected=_roofs,
    explanation=(
        "Operations for each byte: a softmax has 5 / 8, on any GPU, and far left of any ridge. A matrix product has "
        "2 · n³ / (12 · n²) = n / 6, which is hundreds. A matrix times a vector has 2 · n² / (4 · n²) = 1/2: each element of "
        "the matrix is used once, and that is not enough."
    ),
    wrong=(
        wrong(
            ["memory", "memory", "compute", "compute"],
            "A matrix times a vector uses each element of the matrix once: two operations for four bytes.",
        ),
        wrong(
            ["memory", "compute", "compute", "memory"],
            "A T4 computes more slowly, but its memory is slower, too. Compare 5 / 8 with its ridge.",
        ),
        wrong(
            ["memory", "memory", "memory", "memory"],
            "In a matrix product each element is used n times. How many operations is that for each byte?",
        ),
        wrong(["compute", "compute", "compute", "compute"], "Divide operations by bytes, and compare with the ridge."),
        wrong(["compute", "compute", "memory", "memory"], "The other way round: left of the ridge, memory is the limit."),
    ),
    hints=(
        Hint("For each: how many operations, how many bytes? Their quotient is left or right of the ridge."),
        Hint("A softmax reads 4 bytes and writes 4 for each element, and does 5 operations with it."),
        Hint("The quotients are about 0.6, 0.6, 683 and 0.5. The ridges are at 14 and 25."),
    ),
)


def _drawn(numbers: random.Random) -> tuple[Params, ...]:
    """Shapes that nobody knows beforehand, and in each format."""
    formats = ("fp32", "fp32", "fp16", "bf16")
    shapes = (*drawn_rows(numbers), *drawn_rows(numbers))
    return tuple({**shape, "dtype": dtype} for shape, dtype in zip(shapes, formats, strict=True))


STABLE_SOFTMAX = Exercise(
    name="stable_softmax",
    lesson=NAME,
    signature="stable_softmax(x)",
    statement=(
        "Return the softmax of each row of the 2-D tensor `x` (fp32, fp16 or bf16), in the dtype of `x`, as "
        "`torch.softmax(x, -1)` does: for any number of rows, also 0, of at least one column, for any strides, for large and "
        "very negative values, and for rows with an infinity or NaN in them. In half precision it is as exact as torch's, "
        "which computes in fp32 and rounds once. Leave `x` as it is. Stay in torch, with whole tensors: no numbers in Python "
        "(`.item()`, `.tolist()`, `.numpy()`, `if` on a tensor). Nothing that knows the trick itself: no softmax, log_softmax, "
        "logsumexp, logaddexp or attention."
    ),
    works_on="numbers",
    reference=lambda x: torch.softmax(x.double(), dim=-1).to(x.dtype),
    make_inputs=scores,
    cases=(
        *(shape for shape in ROWS if shape["m"]),
        {"m": 6, "n": 5, "values": "far from 0"},
        {"m": 6, "n": 5, "values": "very far"},
        {"m": 5, "n": 64, "values": "far from 0"},
        {"m": 3, "n": 129, "values": "far from 0", "layout": "transposed"},
        {"m": 5, "n": 7, "values": "wide"},
        {"m": 3, "n": 129, "values": "wide"},
        {"m": 6, "n": 7, "values": "huge"},
        {"m": 4, "n": 6, "values": "infinite"},
        {"m": 4, "n": 129, "values": "infinite"},
        {"m": 2, "n": 6, "values": "nan"},
        {"m": 2, "n": 129, "values": "nan"},
        *({"m": m, "n": n, "dtype": dtype} for dtype in ("fp16", "bf16") for m, n in ((3, 5), (20, 64), (2, 2051))),
        {"m": 6, "n": 5, "values": "very far", "dtype": "fp16"},
        {"m": 4, "n": 6, "values": "infinite", "dtype": "fp16"},
        {"m": 5, "n": 30, "layout": "transposed", "dtype": "bf16"},
        {"m": 0, "n": 5},
        {"m": 0, "n": 5, "dtype": "fp16"},
    ),
    drawn=_drawn,
    # exp2((x − max) · log2(e)) is off by 1e-5 in the smallest shares, exp(x − max − log(Σ)) by as much. The atol only covers
    # what is too small for a float.
    tolerance=Tolerance(rtol=1e-4, atol=1e-9),
    forbids=frozenset("softmax logsumexp logcumsumexp logaddexp attention _local_scalar_dense tolist numpy".split()),
    hints=(
        Hint(
            "The formula is `exp` of each score, divided by the sum of these over its row. It needs one thing more: a number "
            "that you subtract from the whole row first.",
        ),
        Hint(
            "exp(89) is infinite in fp32, and inf / inf is NaN. Where every exp is 0, 0 / 0 is NaN. Subtract from each row its "
            "own maximum: then the largest exponent is 0, and the sum is at least 1. No larger format helps, as exp(710) is "
            "infinite in fp64; and no mean, bound or maximum of the whole matrix does it for every row.",
            frozenset({"nan", "mismatch", "scaled", "constant", "first_block_only", "tail", "periodic"}),
            case="far|wide|huge",
        ),
        Hint(
            "One maximum and one sum for each row: reduce along `dim=-1`, and keep that axis with `keepdim=True`, so that "
            "(m, n) and (m, 1) fit each other. The result is exp(x − maximum), divided by the sum of the same numbers.",
            frozenset({"wrong_shape", "transposed", "mismatch", "constant", "first_block_only", "tail", "periodic"}),
        ),
        Hint(
            "The shares of a row add up to 1 once each numerator is divided by the sum of the same numerators, over its own "
            "row (`dim=-1`, `keepdim=True`). Nothing is to be added to the sum: it is never below 1.",
            frozenset({"scaled"}),
            asked=False,
        ),
        Hint(
            "−inf, inf and NaN need no care: torch's answer is what the formula gives. A score of −inf has the share 0; a row "
            "of nothing else, or with an inf or a NaN in it, is NaN all through. Does something tidy them away?",
            frozenset({"mismatch", "nan", "constant"}),
            case="values=(infinite|nan)",
        ),
        Hint(
            "In half precision each step rounds to a few digits. Convert first, `x.float()`, compute in fp32, and convert the "
            "result back, `.to(x.dtype)`.",
            frozenset({"mismatch", "nan", "first_block_only", "tail", "periodic", "scaled", "constant"}),
            case="dtype=",
        ),
        Hint(
            "Digits are lost somewhere. Is a step or a sum in half precision, or is something added to the sum?",
            frozenset({"mismatch:near"}),
            asked=False,
        ),
        Hint(
            "The result has the dtype of `x`: if you computed in another one, end with `.to(x.dtype)`.",
            frozenset({"wrong_dtype"}),
            asked=False,
        ),
        Hint(
            "Return the tensor of the shares: of the shape of `x`, and in torch.",
            frozenset({"wrong_type"}),
            asked=False,
        ),
        Hint(
            "`-=`, `exp_`, `out=x` and all that ends in `_` write over their tensor, and `x` is the caller's. (`x.float()` of "
            "an fp32 tensor is `x` itself.) Make new tensors: `x - maximum`.",
            frozenset({"input_changed"}),
            asked=False,
        ),
        Hint(
            "Write it yourself, with `amax`, `-`, `exp`, `sum` and `/`. What you used subtracts the maximum for you, and that "
            "is what this exercise is about.",
            frozenset({"forbidden"}),
            asked=False,
        ),
        Hint(
            "Without rows there is no maximum over the whole matrix, and nothing to stack. Each row has a maximum of its own: "
            "`x.amax(dim=-1, keepdim=True)` has no elements then, and no trouble.",
            frozenset({"crash"}),
            case="m=0",
            asked=False,
        ),
        Hint(
            "Nearly the answer: `z = x.float()`, `e = torch.exp(z - z.amax(dim=-1, keepdim=True))`, and "
            "`(e / e.sum(dim=-1, keepdim=True)).to(x.dtype)`.",
        ),
    ),
)

LESSON = Lesson(
    name=NAME,
    title="Softmax in PyTorch",
    minutes=35,
    items=(FIRST_INFINITE, NAIVE_PASSES, NAIVE_BYTES, WHICH_ROOF, STABLE_SOFTMAX),
)
