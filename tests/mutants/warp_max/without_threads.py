"""Python's own maximum, and no thread at all."""
# expect: no_block
# hint: `warp_sum_kernel`


def warp_max(lanes):
    return [max(lanes)] * 32
