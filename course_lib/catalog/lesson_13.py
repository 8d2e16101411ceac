"""Lesson 13: LayerNorm, forward and backward."""

from __future__ import annotations

import random

import torch

from course_lib.catalog.forms import is_list, is_whole, wrong
from course_lib.catalog.inputs import ROWS, arranged, drawn_rows, floats, straddle_rows
from course_lib.catalog.model import Exercise, Hint, Lesson, Params, Quiz, Tolerance

NAME = "13_layernorm"

MANY_COLUMNS = 2**13 + 17
"""More columns than a block would have that is to cover any row, but has a largest size."""
MANY_ROWS = 259
"""More rows, and so perhaps more partial sums, than one tile or a loop with an end of its own would take by chance."""


def _spread_rows(generator: torch.Generator, m: int, n: int, mean: float) -> torch.Tensor:
    """Each row spreads in its own way around a mean that is not 0, so that padding with zeros shows.

    Around a large one, values are multiples of 1/64: fp32 adds up hundreds of them exactly, in any order. Otherwise the error
    of the sum alone, over a small spread, would be more than a tolerance can have. For the same reason, no row is all but
    constant, as a random one of three columns may be: 1/σ would make its rounding errors hundreds of times as large.
    """
    spread = 0.5 + torch.rand((m, 1), generator=generator)
    x = floats(generator, m, n)
    if n > 1:
        middle = x.mean(dim=1, keepdim=True)
        sigma = (x - middle).square().mean(dim=1, keepdim=True).sqrt()
        x = middle + (x - middle) * (0.5 / sigma).clamp(min=1)
    x = mean + spread * x
    return (64 * x).round() / 64 if abs(mean) >= 1000 else x


def _rows_and_parameters(
    generator: torch.Generator, m: int, n: int, layout: str = "rows", mean: float = 3.0, eps: float = 1e-5
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, float]:
    x = arranged(_spread_rows(generator, m, n, mean), layout)
    return x, 1 + floats(generator, n), floats(generator, n), eps


def _normalised(x: torch.Tensor, eps: float) -> tuple[torch.Tensor, torch.Tensor]:
    """The normalised rows, and 1/√(variance + eps) of each, in fp64."""
    distance = x.double() - x.double().mean(dim=1, keepdim=True)
    rstd = 1 / torch.sqrt(distance.square().mean(dim=1, keepdim=True) + eps)
    return distance * rstd, rstd


def _layernorm(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, eps: float) -> torch.Tensor:
    return (_normalised(x, eps)[0] * weight.double() + bias.double()).float()


def _gradients(dy: torch.Tensor, x: torch.Tensor, weight: torch.Tensor, eps: float) -> torch.Tensor:
    """dx, and under it dweight and dbias."""
    normal, rstd = _normalised(x, eps)
    wide = dy.double()
    g = wide * weight.double()
    dx = rstd * (g - g.mean(dim=1, keepdim=True) - normal * (g * normal).mean(dim=1, keepdim=True))
    return torch.cat([dx, (wide * normal).sum(dim=0)[None], wide.sum(dim=0)[None]]).float()


_MASKS = frozenset(f"{access}_out_of_bounds:{mask}" for access in ("load", "store") for mask in ("unmasked", "masked"))
_PROGRAMS = frozenset(f"unwritten:{pattern}" for pattern in ("no_program", "one_program", "tail", "gaps"))

LAYERNORM = Exercise(
    name="layernorm",
    lesson=NAME,
    points=2,
    signature="layernorm(x, weight, bias, eps)",
    statement=(
        "Return the LayerNorm of each row of the 2-D fp32 tensor `x`, as `torch.nn.functional.layer_norm` computes it: "
        "(x − mean) / √(variance + eps) · weight + bias, with the row's mean and population variance. `x` has at least one "
        "column, and may have any number of rows, also 0, any strides, and a mean far from 0. `weight` and `bias` are "
        "contiguous and have a number for each column; `eps` is a positive float."
    ),
    reference=_layernorm,
    make_inputs=_rows_and_parameters,
    cases=(
        *(case for case in ROWS if case.get("layout") != "column expanded"),
        {"m": 1, "n": 3, "layout": "column expanded"},
        {"m": 3, "n": 5, "eps": 0.5},
        {"m": 4, "n": 129, "eps": 0.5, "layout": "sliced"},
        {"m": 4, "n": 8, "mean": 1000.0},
        {"m": 3, "n": 129, "mean": -1000.0, "eps": 1e-3},
    ),
    long=({"m": 2, "n": MANY_COLUMNS},),
    straddle=straddle_rows,
    drawn=drawn_rows,
    # At a mean of 1000, the rounded mean of 129 columns shifts a row by up to 1e-4 of its spread; the mean of squares minus the
    # square of the mean is off by percents there. Dividing by one column less is off by 4e-3 at 129 columns, and by more at
    # fewer.
    tolerance=Tolerance(rtol=1e-4, atol=5e-4),
    torch_may="allocate",
    hints=(
        Hint(
            "One program a row: load it, take its mean, the distances from it, and the mean of their squares; then scale and "
            "shift. Torch only allocates.",
            frozenset({"no_kernel", "torch_compute", "wrong_shape", "wrong_type", "wrong_dtype", "constant"}) | _PROGRAMS,
        ),
        Hint(
            "The mask `columns < n_cols` belongs on every load and on the store; `weight` and `bias` have `n_cols` elements, "
            "too.",
            _MASKS | {"race:spill", "race:overlap"},
        ),
        Hint(
            "Element (i, j) of `x` lies at `i * row_stride + j * column_stride`, and the result has strides of its own. Weight "
            "and bias belong to the column: `weight_ptr + columns`, whatever the row.",
            frozenset(
                {
                    "load_out_of_bounds:strides",
                    "store_out_of_bounds:strides",
                    "load_out_of_bounds:program",
                    "transposed",
                    "shifted",
                    "reversed",
                    "periodic",
                    "input_changed",
                    "race:same",
                    "unchanged",
                    "write_twice",
                }
            ),
        ),
        Hint(
            "A spare lane that holds 0 adds nothing to the first sum, but `0 - mean` squared is not 0: set the distances of "
            "the spare lanes to 0 with `tl.where` before you square them. Divide by `n_cols`, not by one less, nor by the "
            "block. And the distance is divided by a root, √(variance + eps).",
            frozenset({"mismatch", "scaled", "nan", "tail", "first_block_only"}),
        ),
        Hint(
            "eps is added to the variance, under the root: 1 / √(variance + eps). And it is the argument, not a number of your "
            "own.",
            frozenset({"mismatch", "scaled", "nan"}),
            case="eps=0.5",
        ),
        Hint(
            "All elements of this row are the same, so each is at a distance of 0 from the mean, and the result is the "
            "bias. Is the sum divided by `n_cols`? Is eps added to the variance, under the root: 1 / √(variance + eps)?",
            frozenset({"mismatch", "scaled", "nan"}),
            case="column expanded",
            asked=False,
        ),
        Hint(
            "A row of one column is its own mean: its distance is 0, and the result is the bias. eps alone stands under the "
            "root: 1 / √(variance + eps). Whoever divides by `n_cols - 1` divides by 0.",
            frozenset({"mismatch", "nan", "crash"}),
            case="n=1(,|$)",
            asked=False,
        ),
        Hint(
            "The mean of squares minus the square of the mean is right on paper. Where the mean is 1000, both are a million, "
            "and fp32 has seven digits. Subtract the mean first, then square: the row is still in its registers.",
            frozenset({"mismatch", "scaled", "nan", "tail", "first_block_only"}),
            case="mean=",
        ),
        Hint("Say what the spare lanes hold, with `other=`: they take part in both sums.", frozenset({"undefined_lanes"})),
        Hint(
            "A row can be longer than a block size that you write down: let the block cover it, with "
            "`triton.next_power_of_2(n_cols)` lanes, or loop over it, once for each sum and once for the result.",
            frozenset({"unwritten:row_ends", "unwritten:gaps", "timeout", "read_back"}),
        ),
        Hint(
            "Nearly the answer: `distance = tl.where(mask, x - tl.sum(x, axis=0) / n_cols, 0.0)`, `variance = tl.sum(distance "
            "* distance, axis=0) / n_cols`, and `distance / tl.sqrt(variance + eps) * weight + bias`.",
        ),
    ),
)


def _gradient_rows(
    generator: torch.Generator,
    m: int,
    n: int,
    layout: str = "rows",
    dy_layout: str = "rows",
    mean: float = 3.0,
    eps: float = 1e-5,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, float]:
    """`dy` has a mean that is not 0; one of the layout "ones" is what `y.sum().backward()` hands over, a 1 with strides of "
    "0."""
    x = arranged(_spread_rows(generator, m, n, mean), layout)
    dy = torch.ones(1).expand(m, n) if dy_layout == "ones" else arranged(0.5 + floats(generator, m, n), dy_layout)
    return dy, x, 1 + floats(generator, n), eps


def _straddle_backward(block: int) -> tuple[Params, ...]:
    """Rows just shorter than a block, and as long as two or, up to 2¹² + 1 columns, just longer than a long one.

    A small block may also be one of rows, of which there are two blocks then; or one of partial sums, as many as there are
    rows: beside a longer one, there is a row more than it has.
    """
    cases: list[Params] = [
        {"m": 3, "n": n} for n in (block - 1, 2 * block if block <= 1024 else block + 1) if 0 < n <= 2**12 + 1
    ]
    rows = 2 * block if block <= 64 else block + 1 if 256 <= block <= 512 else 0
    return (*cases, {"m": rows, "n": 3}) if rows else tuple(cases)


def _drawn_backward(numbers: random.Random) -> tuple[Params, ...]:
    return tuple({"m": numbers.randint(2, 60), "n": numbers.randint(2, 200)} for _ in range(2))


LAYERNORM_BACKWARD = Exercise(
    name="layernorm_backward",
    lesson=NAME,
    points=3,
    signature="layernorm_backward(dy, x, weight, eps)",
    statement=(
        "Return the gradients of LayerNorm, given `dy`, the gradient of its result: one fp32 tensor of M + 2 rows and N "
        "columns, with dx in its first M rows, dweight in row M and dbias in row M + 1. `dy` and `x` are 2-D fp32 tensors of "
        "the same shape, with any strides, also 0, any number of rows, also 0, and at least one column. `weight` is contiguous "
        "and has a number for each column; `eps` is a positive float. The mean and 1/√(variance + eps) of a row are not given: "
        "compute them again."
    ),
    reference=_gradients,
    make_inputs=_gradient_rows,
    cases=(
        {"m": 1, "n": 1},
        {"m": 1, "n": 7},
        {"m": 7, "n": 1},
        {"m": 3, "n": 5},
        {"m": 2, "n": 6, "dy_layout": "ones"},
        {"m": 5, "n": 3, "layout": "transposed"},
        {"m": 4, "n": 6, "dy_layout": "transposed"},
        {"m": 4, "n": 6, "layout": "sliced", "dy_layout": "row expanded"},
        {"m": 3, "n": 5, "eps": 0.5},
        {"m": 3, "n": 8, "mean": 1000.0},
        {"m": 37, "n": 6},
        {"m": 17, "n": 33, "eps": 0.5},
        {"m": MANY_ROWS, "n": 3},
        {"m": 5, "n": 129, "dy_layout": "sliced"},
        {"m": 3, "n": 1030},
        {"m": 0, "n": 5},
    ),
    straddle=_straddle_backward,
    drawn=_drawn_backward,
    # The mean of the 8 columns around 1000 is exact in fp32. Sums over 259 rows are off by 1e-5 in any order.
    tolerance=Tolerance(rtol=1e-4, atol=1e-3),
    torch_may="allocate",
    zeros_may_stay=True,
    hints=(
        Hint(
            "Two directions: dx needs two sums along each row, so one program that holds the row can do it. dweight and dbias "
            "are sums down each column, over all rows. Both come from kernels; torch only allocates.",
            frozenset({"no_kernel", "torch_compute", "constant"}) | _PROGRAMS,
        ),
        Hint(
            "Allocate one tensor, `grads = torch.empty((n_rows + 2, n_cols), dtype=x.dtype, device=x.device)`, give the "
            "kernels its parts, `grads[:n_rows]`, `grads[n_rows]` and `grads[n_rows + 1]`, and return `grads`.",
            frozenset({"wrong_shape", "wrong_type", "wrong_dtype"}),
        ),
        Hint(
            "The mask `columns < n_cols` belongs on every load and store. A tile of several rows masks its rows as well.",
            frozenset({f"{access}_out_of_bounds:unmasked" for access in ("load", "store")} | {"race:spill", "race:overlap"}),
        ),
        Hint(
            "There is a mask, and it lets lanes through that lie outside. Of `x`, `dy` and dx: is it `columns < n_cols`, "
            "and is the row a real one? Of partial sums: each program has a row of its own, at `tl.program_id(0) * n_cols + "
            "columns`, and the second kernel reads as many rows as there were programs.",
            frozenset({f"{access}_out_of_bounds:masked" for access in ("load", "store")}),
        ),
        Hint(
            "dx is a new, contiguous tensor, whatever the strides of `x` are: element (i, j) lies at `i * n_cols + j`.",
            frozenset({"store_out_of_bounds:program", "store_out_of_bounds:strides", "write_twice"}),
            case="layout",
            asked=False,
        ),
        Hint(
            "`dy` and `x` each have two strides of their own: pass all four. `y.sum().backward()` hands over a `dy` whose "
            "strides are 0.",
            frozenset({"load_out_of_bounds:strides", "load_out_of_bounds:program", "transposed", "reversed", "shifted"}),
        ),
        Hint(
            "Programs of different rows must not load, add and store one sum: something gets lost. Let each program add up its "
            "own rows in a variable and store that sum to a row of its own, in a tensor of partial sums. A second kernel adds "
            "these rows up. Or take `tl.atomic_add`, on zeros.",
            frozenset({"race", "race:read", "race:same", "write_twice", "overtaken_load", "read_back", "program_order"}),
        ),
        Hint(
            "Whatever is added to must begin as zeros: a variable with `tl.zeros`, memory with `torch.zeros`. And a sum over "
            "partial sums reads those that were written, and no others.",
            frozenset({"nan", "nan:fresh", "uninitialized"}),
        ),
        Hint(
            "dx is (g − mean(g) − x̂ · mean(g · x̂)) / √(variance + eps), with g = dy · weight; both means are those of the "
            "row, and divided by n_cols. dweight is the sum of dy · x̂ over the rows, and dbias that of dy: without the "
            "weight. In spare lanes x − mean is −mean: set it to 0 with `tl.where` before you square it.",
            frozenset({"mismatch", "scaled", "tail", "first_block_only", "periodic", "unchanged"}),
        ),
        Hint(
            "The mean of squares minus the square of the mean loses its digits where the mean is 1000: subtract the mean "
            "first.",
            frozenset({"mismatch", "scaled", "nan", "tail", "first_block_only"}),
            case="mean=",
        ),
        Hint(
            "eps is added to the variance, under the root, here as in the forward pass.",
            frozenset({"mismatch", "scaled", "tail", "first_block_only"}),
            case="eps=0.5",
        ),
        Hint(
            "Are all rows summed up, if there are more of them than programs, and more partial sums than one turn of the "
            "second kernel takes?",
            frozenset({"mismatch", "tail", "first_block_only"}),
            case=f"m=(17|37|{MANY_ROWS})",
        ),
        Hint(
            "A spare lane may hold anything that cannot be seen in a sum: say with `other=0.0` that it is 0, and remember that "
            "`0 - mean` is not.",
            frozenset({"undefined_lanes"}),
        ),
        Hint(
            "With no rows, dweight and dbias are 0. A grid of no programs is fine; `triton.next_power_of_2(0)` as a block is "
            "not.",
            frozenset({"crash", "does_not_compile", "no_kernel"}),
            case="m=0",
            asked=False,
        ),
        Hint(
            "Nearly the answer: `for row in tl.range(tl.program_id(0), n_rows, tl.num_programs(0)):`, in it dx of the row, "
            "`dweight += dy * normal` and `dbias += dy`; behind it, both are stored at `tl.program_id(0) * n_cols + columns` "
            "of two tensors of as many rows as programs. The second kernel, a program for some columns, loops over these rows.",
        ),
    ),
)


# --- quizzes --------------------------------------------------------------------------------------------------------

SQUARED_MEAN = Quiz(
    name="squared_mean",
    lesson=NAME,
    question=(
        "A row has a mean of 4096 and a variance of 1. The mean of its squares is 4096² + 1. In fp32, how far apart are two "
        "neighbouring numbers just above 4096² = 16,777,216?"
    ),
    form="one whole number",
    accepts=is_whole,
    expected=lambda: int(torch.nextafter(torch.tensor(4096.0**2), torch.tensor(float("inf"))).item() - 4096**2),
    explanation=(
        "4096² is 2²⁴, and a number in fp32 has 24 binary digits: from there on only every second whole number exists. So the "
        "mean of squares minus the square of the mean can come out as 0, as 2 or as −2, but never as 1."
    ),
    wrong=(
        wrong(0, "Two different numbers are some way apart. How many binary digits does fp32 have, and how large is 4096²?"),
        wrong(1, "Up to 2²⁴ each whole number has its place. 4096² is 2²⁴, and the question is about what comes after it."),
        wrong(4, "That would be so from 2²⁵ on. 4096² is 2²⁴."),
    ),
    hints=(
        Hint("Which power of two is 4096²? How many binary digits does a number in fp32 have?"),
        Hint("`torch.nextafter` gives the next number of the same format."),
        Hint("4096² is 2²⁴, and there are 24 digits: the last one counts twos."),
    ),
)

_SUMS = ("the mean of x", "the variance of x", "the mean of g", "the mean of g · x̂", "dweight", "dbias")
_DOWN_A_COLUMN = frozenset({"dweight", "dbias"})

SUMS_ACROSS_ROWS = Quiz(
    name="sums_across_rows",
    lesson=NAME,
    question=(
        "A program holds one whole row of x and of dy. "
        + "; ".join(f"({number}) {name}" for number, name in enumerate(_SUMS, 1))
        + ". Which of these need something from the rows of other programs?"
    ),
    form="a list of numbers from 1 to 6",
    accepts=is_list,
    any_order=True,
    expected=lambda: [number for number, name in enumerate(_SUMS, 1) if name in _DOWN_A_COLUMN],
    explanation=(
        "Every row has a mean, a variance and a gradient of its own; 1 to 4 run along the row. But all rows share one weight "
        "and one bias for each column, so their gradients add up whatever stands in that column, in all rows."
    ),
    wrong=(
        wrong([], "All rows are multiplied by the same weights. So what a weight does to the result, it does in every row."),
        wrong([3, 4, 5, 6], "The means of g and g · x̂ in dx belong to one row: LayerNorm normalises each row by itself."),
        wrong([5], "And the bias? It is added in every row, too."),
        wrong([6], "And the weight? Every row is multiplied by it, too."),
        wrong([1, 2, 3, 4], "Those run along a row, and the program has the whole of it."),
    ),
    hints=(
        Hint("Does LayerNorm mix rows? Which of its inputs do rows share?"),
        Hint("Weight and bias have one number for each column, and every row uses it."),
        Hint("The gradients of what all rows share."),
    ),
)

PARTIAL_TRAFFIC = Quiz(
    name="partial_traffic",
    lesson=NAME,
    question=(
        "The backward pass of 4096 rows in fp32 reads x and dy and writes dx. It runs as 132 programs, each of which writes "
        "one row of partial sums for dweight and one for dbias, in fp32; a second kernel reads all of these. How many per cent "
        "does that add to what is moved? Round to a whole number."
    ),
    form="one whole number",
    accepts=is_whole,
    expected=lambda: round(100 * (2 * 132 * 2) / (3 * 4096)),
    explanation=(
        "132 · 2 rows are written and read again: 528 rows beside the 3 · 4096 = 12,288 that are moved anyway. Had each of the "
        "4096 rows a partial sum of its own, it would be 16,384 rows more, and the sums would cost more than the gradients."
    ),
    wrong=(
        wrong(2, "Partial sums are written, and then read again."),
        wrong(1, "There are two of them for each program, and each is written and then read."),
        wrong(6, "x and dy are read, and dx is written: 3 · 4096 rows."),
        wrong(13, "x and dy are read, and dx is written: 3 · 4096 rows, not 4096."),
        wrong(133, "That would be a partial sum for each of the 4096 rows. There are 132 programs."),
    ),
    hints=(
        Hint("Count in rows: how many of x, dy and dx are moved, and how many of partial sums?"),
        Hint("Each program has two rows of partial sums, and each of these is written once and read once."),
        Hint("132 · 2 · 2 rows, beside 3 · 4096."),
    ),
)

LESSON = Lesson(
    name=NAME,
    title="LayerNorm",
    minutes=40,
    items=(SQUARED_MEAN, SUMS_ACROSS_ROWS, PARTIAL_TRAFFIC, LAYERNORM, LAYERNORM_BACKWARD),
)
