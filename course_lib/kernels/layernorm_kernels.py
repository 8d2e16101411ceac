"""The kernels of the finished LayerNorm, forward and backward; `layernorm.py` says which of them computes what, and when."""

import triton
import triton.language as tl

from course_lib.kernels.softmax import divided, paired, unpacked, widened


@triton.jit
def multiple(number, VECTOR: tl.constexpr):
    """The number itself, which is a multiple of VECTOR: said so that the compiler knows it, and loads in vectors."""
    return number // VECTOR * VECTOR


@triton.jit
def rows_kernel(
    x,
    weight,
    bias,
    out,
    mean_out,
    rstd_out,
    x_row_stride,
    n_rows,
    n_cols,
    EPS: tl.constexpr,
    VECTOR: tl.constexpr,
    ROWS: tl.constexpr,
    BLOCK_SIZE: tl.constexpr,
):
    """Each program computes ROWS whole rows, from a tile of ROWS × BLOCK_SIZE; BLOCK_SIZE is at least `n_cols`.

    The variance is the mean of (x − mean)², in a second pass over the registers. E[x²] − mean² would need one pass only, and
    loses all digits where the mean is large. `weight` and `bias` may be None, and so may `mean_out` and `rstd_out`. VECTOR
    divides `n_cols` and the stride.
    """
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)[:, None]
    col = tl.arange(0, BLOCK_SIZE)[None, :]
    in_row = col < multiple(n_cols, VECTOR)
    there = row < n_rows
    mask = in_row & there if ROWS > 1 else in_row
    values = widened(tl.load(x + row * multiple(x_row_stride, VECTOR) + col, mask=mask, other=0.0))
    mean = tl.sum(values, axis=1)[:, None] / n_cols
    distance = tl.where(in_row, values - mean, 0.0)
    rstd = 1.0 / tl.sqrt(tl.sum(distance * distance, axis=1)[:, None] / n_cols + EPS)
    if mean_out is not None:
        tl.store(mean_out + row, mean, mask=there)
        tl.store(rstd_out + row, rstd, mask=there)
    keep: tl.constexpr = BLOCK_SIZE <= 16384  # weights and biases of 32768 fp32 elements would fill L1
    result = scaled(distance * rstd, weight, bias, col, in_row, keep)
    tl.store(out + row * multiple(n_cols, VECTOR) + col, result.to(out.dtype.element_ty), mask=mask)


@triton.jit
def scaled(normal, weight, bias, col, mask, KEEP: tl.constexpr = True):
    """Normalised elements times their columns' weights, plus their columns' biases; KEEP these in L1 for the next row."""
    policy: tl.constexpr = "evict_last" if KEEP else ""
    if weight is not None:
        normal = normal * tl.load(weight + col, mask=mask, other=0.0, eviction_policy=policy).to(normal.dtype)
    if bias is not None:
        normal = normal + tl.load(bias + col, mask=mask, other=0.0, eviction_policy=policy).to(normal.dtype)
    return normal


@triton.jit
def blocks_kernel(
    x,
    weight,
    bias,
    out,
    mean_out,
    rstd_out,
    x_row_stride,
    n_cols,
    width,
    EPS: tl.constexpr,
    VECTOR: tl.constexpr,
    ENDS: tl.constexpr,
    COPIES: tl.constexpr,
    BLOCK_SIZE: tl.constexpr,
    BLOCKS: tl.constexpr,
):
    """One row for each program, in as many blocks as it needs, not in one of the next power of two: at 5000 that would be 8192.

    With ENDS, rows begin at any element, `x` is contiguous, and what does not fill a vector of VECTOR elements stands at two
    ends (`divided`). `weight` and `bias` then are tables of COPIES rows (`place_in_copies`). Otherwise VECTOR is as in
    `rows_kernel`.
    """
    row = tl.program_id(0).to(tl.int64)
    lanes = tl.arange(0, BLOCK_SIZE)
    if ENDS:
        start = row * n_cols
        head, middle, end, end_mask = divided(start, n_cols, VECTOR)
        source = tl.multiple_of(start + head, VECTOR)
        target = source
        middle = tl.multiple_of(middle, VECTOR)
        end_values = widened(tl.load(x + start + end, mask=end_mask, other=0.0))
        place = place_in_copies(head, width, COPIES)
    else:
        place, middle = 0, multiple(n_cols, VECTOR)
        source, target = row * multiple(x_row_stride, VECTOR), row * multiple(n_cols, VECTOR)
    blocks = ()
    for block in tl.static_range(BLOCKS):
        col = block * BLOCK_SIZE + lanes
        blocks = blocks + (tl.load(x + source + col, mask=col < middle, other=0.0),)
    totals = widened(blocks[0])
    for block in tl.static_range(1, BLOCKS):
        totals += widened(blocks[block])
    total = tl.sum(totals, axis=0)
    if ENDS:
        total += tl.sum(end_values, axis=0)
    mean = total / n_cols

    squares = tl.zeros_like(totals)
    for block in tl.static_range(BLOCKS):
        distance = tl.where(block * BLOCK_SIZE + lanes < middle, widened(blocks[block]) - mean, 0.0)
        squares += distance * distance
    variance = tl.sum(squares, axis=0)
    if ENDS:
        end_distance = tl.where(end_mask, end_values - mean, 0.0)
        variance += tl.sum(end_distance * end_distance, axis=0)
    rstd = 1.0 / tl.sqrt(variance / n_cols + EPS)
    if mean_out is not None:
        tl.store(mean_out + row, mean)
        tl.store(rstd_out + row, rstd)

    for block in tl.static_range(BLOCKS):
        col = block * BLOCK_SIZE + lanes
        result = scaled((widened(blocks[block]) - mean) * rstd, weight, bias, place + col, col < middle)
        tl.store(out + target + col, result.to(out.dtype.element_ty), mask=col < middle)
    if ENDS:
        result = scaled(end_distance * rstd, weight, bias, end, end_mask)
        tl.store(out + start + end, result.to(out.dtype.element_ty), mask=end_mask)


@triton.jit
def pairs_kernel(
    x,
    weight,
    bias,
    out,
    mean_out,
    rstd_out,
    x_row_stride,
    n_cols,
    width,
    zero,
    nought,
    EPS: tl.constexpr,
    VECTOR: tl.constexpr,
    ENDS: tl.constexpr,
    COPIES: tl.constexpr,
    BLOCK_SIZE: tl.constexpr,
    BLOCKS: tl.constexpr,
):
    """`blocks_kernel` for 16-bit elements, which stay in pairs until they are needed: half as many registers hold a row.

    `zero` and `nought` are 0, which the compiler does not know: so it cannot see that a pair is the same one as before, and
    does not keep what it unpacked.
    """
    row = tl.program_id(0).to(tl.int64)
    lanes = tl.arange(0, BLOCK_SIZE // 2)
    format: tl.constexpr = x.dtype.element_ty
    if ENDS:
        start = row * n_cols
        head, middle, end, end_mask = divided(start, n_cols, VECTOR)
        source = tl.multiple_of(start + head, VECTOR)
        target = source
        n_pairs = tl.multiple_of(middle, VECTOR) // 2
        end_values = widened(tl.load(x + start + end, mask=end_mask, other=0.0))
        place = place_in_copies(head, width, COPIES)
    else:
        place, n_pairs = 0, multiple(n_cols, VECTOR) // 2
        source, target = row * multiple(x_row_stride, VECTOR), row * multiple(n_cols, VECTOR)
    sources = (x + source).to(tl.pointer_type(tl.int32), bitcast=True)
    targets = (out + target).to(tl.pointer_type(tl.int32), bitcast=True)
    blocks = ()
    for block in tl.static_range(BLOCKS):
        pair = block * (BLOCK_SIZE // 2) + lanes
        blocks = blocks + (tl.load(sources + pair, mask=pair < n_pairs, other=0),)
    totals = tl.zeros((BLOCK_SIZE // 2,), tl.float32)
    for block in tl.static_range(BLOCKS):
        low, high = unpacked(blocks[block], format)
        totals += low + high
    total = tl.sum(totals, axis=0)
    if ENDS:
        total += tl.sum(end_values, axis=0)
    mean = total / n_cols

    squares = tl.zeros((BLOCK_SIZE // 2,), tl.float32)
    for block in tl.static_range(BLOCKS):
        low, high = unpacked(blocks[block] ^ zero, format)
        squared = (low - mean) * (low - mean) + (high - mean) * (high - mean)
        squares += tl.where(block * (BLOCK_SIZE // 2) + lanes < n_pairs, squared, 0.0)
    variance = tl.sum(squares, axis=0)
    if ENDS:
        end_distance = tl.where(end_mask, end_values - mean, 0.0)
        variance += tl.sum(end_distance * end_distance, axis=0)
    rstd = 1.0 / tl.sqrt(variance / n_cols + EPS)
    if mean_out is not None:
        tl.store(mean_out + row, mean)
        tl.store(rstd_out + row, rstd)

    for block in tl.static_range(BLOCKS):
        pair = block * (BLOCK_SIZE // 2) + lanes
        mask = pair < n_pairs
        low, high = unpacked(blocks[block] ^ nought, format)
        low, high = (low - mean) * rstd, (high - mean) * rstd
        if weight is not None:
            low_weight, high_weight = pairs_of(weight, place, pair, mask)
            low, high = low * low_weight, high * high_weight
        if bias is not None:
            low_bias, high_bias = pairs_of(bias, place, pair, mask)
            low, high = low + low_bias, high + high_bias
        tl.store(targets + pair, paired(low, high, format, False), mask=mask)
    if ENDS:
        result = scaled(end_distance * rstd, weight, bias, end, end_mask)
        tl.store(out + start + end, result.to(format), mask=end_mask)


@triton.jit
def pairs_of(row, place, pair, mask):
    """The elements 2 · `pair` and 2 · `pair` + 1 of a weight from its element `place` on, as fp32."""
    format: tl.constexpr = row.dtype.element_ty
    if format == tl.bfloat16 or format == tl.float16:
        pairs = (row + place).to(tl.pointer_type(tl.int32), bitcast=True)
        low, high = unpacked(tl.load(pairs + pair, mask=mask, other=0, eviction_policy="evict_last"), format)
    else:
        low = tl.load(row + place + 2 * pair, mask=mask, other=0.0).to(tl.float32)
        high = tl.load(row + place + 2 * pair + 1, mask=mask, other=0.0).to(tl.float32)
    return low, high


@triton.jit
def place_in_copies(head, width, COPIES: tl.constexpr):
    """Where column `head` stands in a table of COPIES rows, each of `width` elements, if row c begins with column c.

    It is a multiple of COPIES, from which on a row's middle is loaded in vectors of as many elements.
    """
    copy = head % COPIES
    return copy * width + tl.multiple_of(head - copy, COPIES)


@triton.jit
def shifted_kernel(weight, bias, weights, biases, n_cols, width, BLOCK_SIZE: tl.constexpr):
    """Program (b, c) copies a block of row c of the tables `weights` and `biases`, which begins with element c of theirs."""
    copy = tl.program_id(1)
    col = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = copy + col < n_cols
    if weight is not None:
        tl.store(weights + copy * width + col, tl.load(weight + copy + col, mask=mask), mask=mask)
    if bias is not None:
        tl.store(biases + copy * width + col, tl.load(bias + copy + col, mask=mask), mask=mask)


@triton.jit
def long_rows_kernel(
    x,
    weight,
    bias,
    out,
    mean_out,
    rstd_out,
    x_row_stride,
    n_cols,
    EPS: tl.constexpr,
    VECTOR: tl.constexpr,
    BLOCK_SIZE: tl.constexpr,
):
    """One row for each program, of any length: once through it for its mean and variance, once more for the result.

    Each lane keeps a mean of its own, and the squared distances from it, by Welford's update; lanes meet when the row is
    through (B. P. Welford, Technometrics 4, 1962; T. F. Chan et al., The American Statistician 37, 1983).
    """
    row = tl.program_id(0).to(tl.int64)
    source = x + row * multiple(x_row_stride, VECTOR)
    target = out + row * multiple(n_cols, VECTOR)
    n_cols = multiple(n_cols, VECTOR)
    lanes = tl.arange(0, BLOCK_SIZE)
    accumulated: tl.constexpr = tl.float64 if x.dtype.element_ty == tl.float64 else tl.float32
    lane_mean = tl.zeros((BLOCK_SIZE,), accumulated)
    squares = tl.zeros((BLOCK_SIZE,), accumulated)
    turn = 0.0
    for start in range(0, n_cols, BLOCK_SIZE):
        mask = start + lanes < n_cols
        values = widened(tl.load(source + start + lanes, mask=mask, other=0.0))
        turn += 1.0
        before = tl.where(mask, values - lane_mean, 0.0)
        lane_mean += before / turn
        squares += before * tl.where(mask, values - lane_mean, 0.0)
    counts = tl.maximum((n_cols - lanes + BLOCK_SIZE - 1) // BLOCK_SIZE, 0).to(accumulated)
    mean = tl.sum(lane_mean * counts, axis=0) / n_cols
    between = (lane_mean - mean) * (lane_mean - mean) * counts
    rstd = 1.0 / tl.sqrt((tl.sum(squares, axis=0) + tl.sum(between, axis=0)) / n_cols + EPS)
    if mean_out is not None:
        tl.store(mean_out + row, mean)
        tl.store(rstd_out + row, rstd)
    for start in range(0, n_cols, BLOCK_SIZE):
        col = start + lanes
        values = widened(tl.load(source + col, mask=col < n_cols, other=0.0))
        result = scaled((values - mean) * rstd, weight, bias, col, col < n_cols)
        tl.store(target + col, result.to(out.dtype.element_ty), mask=col < n_cols)


@triton.jit
def backward_kernel(
    dy,
    x,
    weight,
    mean,
    rstd,
    dx,
    partials,
    dy_row_stride,
    x_row_stride,
    n_rows,
    n_cols,
    VECTOR: tl.constexpr,
    ROWS: tl.constexpr,
    BLOCK_SIZE: tl.constexpr,
    STAGES: tl.constexpr,
):
    """Of P programs, number p computes `dx` of the tiles p, p + P, …, of ROWS whole rows each, and sums over these rows.

    `partials` has 2 × P rows: each program's part of dweight, and then each program's part of dbias. `dx` may be None, or
    `partials`.
    """
    col = tl.arange(0, BLOCK_SIZE)[None, :]
    in_row = col < multiple(n_cols, VECTOR)
    computed: tl.constexpr = tl.float64 if x.dtype.element_ty == tl.float64 else tl.float32
    if partials is not None:
        dweight = tl.zeros((ROWS, BLOCK_SIZE), computed)
        dbias = tl.zeros((ROWS, BLOCK_SIZE), computed)
    if weight is not None:
        weights = tl.load(weight + col, mask=in_row, other=0.0).to(computed)
    first = tl.program_id(0).to(tl.int64) * ROWS
    for tile in tl.range(first, n_rows, tl.num_programs(0) * ROWS, num_stages=STAGES):
        row = tile + tl.arange(0, ROWS)[:, None]
        there = row < n_rows
        mask = in_row & there if ROWS > 1 else in_row
        gradient = widened(tl.load(dy + row * multiple(dy_row_stride, VECTOR) + col, mask=mask, other=0.0))
        values = widened(tl.load(x + row * multiple(x_row_stride, VECTOR) + col, mask=mask, other=0.0))
        row_rstd = tl.load(rstd + row, mask=there, other=0.0)
        normal = (values - tl.load(mean + row, mask=there, other=0.0)) * row_rstd
        if partials is not None:
            dweight += gradient * normal
            dbias += gradient
        if dx is not None:
            if weight is not None:
                gradient = gradient * weights
            along = tl.sum(gradient * normal, axis=1)[:, None] / n_cols
            level = tl.sum(gradient, axis=1)[:, None] / n_cols
            result = (gradient - level - normal * along) * row_rstd
            tl.store(dx + row * multiple(n_cols, VECTOR) + col, result.to(dx.dtype.element_ty), mask=mask)
    if partials is not None:
        place = tl.program_id(0).to(tl.int64) * multiple(n_cols, VECTOR) + col
        tl.store(partials + place, tl.sum(dweight, axis=0)[None, :], mask=in_row)
        place += tl.num_programs(0).to(tl.int64) * multiple(n_cols, VECTOR)
        tl.store(partials + place, tl.sum(dbias, axis=0)[None, :], mask=in_row)


@triton.jit
def row_means_kernel(
    dy, x, weight, mean, rstd, means, dy_row_stride, x_row_stride, n_cols, VECTOR: tl.constexpr, BLOCK_SIZE: tl.constexpr
):
    """One row of any length for each program: the means of g = dy · weight, and of g · x̂. `means` has a row for each."""
    row = tl.program_id(0).to(tl.int64)
    dy += row * multiple(dy_row_stride, VECTOR)
    x += row * multiple(x_row_stride, VECTOR)
    lanes = tl.arange(0, BLOCK_SIZE)
    row_mean, row_rstd = tl.load(mean + row), tl.load(rstd + row)
    level = tl.zeros((BLOCK_SIZE,), row_mean.dtype)
    along = tl.zeros((BLOCK_SIZE,), row_mean.dtype)
    for start in range(0, n_cols, BLOCK_SIZE):
        col = start + lanes
        mask = col < multiple(n_cols, VECTOR)
        g = widened(tl.load(dy + col, mask=mask, other=0.0))
        if weight is not None:
            g = g * tl.load(weight + col, mask=mask, other=0.0).to(g.dtype)
        level += g
        along += g * (widened(tl.load(x + col, mask=mask, other=0.0)) - row_mean) * row_rstd
    tl.store(means + row, tl.sum(level, axis=0) / n_cols)
    tl.store(means + tl.num_programs(0) + row, tl.sum(along, axis=0) / n_cols)


@triton.jit
def columns_kernel(
    dy,
    x,
    weight,
    mean,
    rstd,
    means,
    dx,
    partials,
    dy_row_stride,
    x_row_stride,
    n_rows,
    n_cols,
    VECTOR: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    """Program (c, p) of a grid with P columns computes COLUMNS columns of `dx`, and sums over rows, for the tiles p, p + P, …

    `means` are those of `row_means_kernel`; `dx` and `partials` are as in `backward_kernel`.
    """
    col = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    in_row = col < multiple(n_cols, VECTOR)
    computed: tl.constexpr = tl.float64 if x.dtype.element_ty == tl.float64 else tl.float32
    if partials is not None:
        dweight = tl.zeros((ROWS, COLUMNS), computed)
        dbias = tl.zeros((ROWS, COLUMNS), computed)
    if weight is not None:
        weights = tl.load(weight + col, mask=in_row, other=0.0).to(computed)
    first = tl.program_id(1).to(tl.int64) * ROWS
    for tile in tl.range(first, n_rows, tl.num_programs(1) * ROWS):
        row = tile + tl.arange(0, ROWS)[:, None]
        there = row < n_rows
        mask = in_row & there
        gradient = widened(tl.load(dy + row * multiple(dy_row_stride, VECTOR) + col, mask=mask, other=0.0))
        values = widened(tl.load(x + row * multiple(x_row_stride, VECTOR) + col, mask=mask, other=0.0))
        row_rstd = tl.load(rstd + row, mask=there, other=0.0)
        normal = (values - tl.load(mean + row, mask=there, other=0.0)) * row_rstd
        if partials is not None:
            dweight += gradient * normal
            dbias += gradient
        if dx is not None:
            if weight is not None:
                gradient = gradient * weights
            level = tl.load(means + row, mask=there, other=0.0)
            along = tl.load(means + n_rows + row, mask=there, other=0.0)
            result = (gradient - level - normal * along) * row_rstd
            tl.store(dx + row * multiple(n_cols, VECTOR) + col, result.to(dx.dtype.element_ty), mask=mask)
    if partials is not None:
        place = tl.program_id(1).to(tl.int64) * multiple(n_cols, VECTOR) + col
        tl.store(partials + place, tl.sum(dweight, axis=0)[None, :], mask=in_row)
        place += tl.num_programs(1).to(tl.int64) * multiple(n_cols, VECTOR)
        tl.store(partials + place, tl.sum(dbias, axis=0)[None, :], mask=in_row)


@triton.jit
def column_sums_kernel(partials, out, n_parts, n_cols, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    """Program (c, k) adds up COLUMNS columns of table k: `partials` has tables of `n_parts` rows, `out` a row for each."""
    table = tl.program_id(1).to(tl.int64)
    col = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    total = tl.zeros((ROWS, COLUMNS), partials.dtype.element_ty)
    for start in range(0, n_parts, ROWS):
        part = start + tl.arange(0, ROWS)[:, None]
        mask = (part < n_parts) & (col < n_cols)[None, :]
        total += tl.load(partials + (table * n_parts + part) * n_cols + col[None, :], mask=mask, other=0.0)
    tl.store(out + table * n_cols + col, tl.sum(total, axis=0).to(out.dtype.element_ty), mask=col < n_cols)
