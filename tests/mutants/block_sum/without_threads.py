"""Python's own sum, and no thread at all."""
# expect: no_block
# hint: Three steps


def block_sum(values, n_threads):
    return sum(values)
