"""No kernel at all: torch doubles the vector.

Happened on benchmarks of generated kernels: the fastest "kernel" was a call of the library that it was measured against.
"""
# expect: no_kernel


def double(x):
    return 2 * x
