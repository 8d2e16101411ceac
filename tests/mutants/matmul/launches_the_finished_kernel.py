"""The course's own kernel computes it."""
# expect: crash
# hint: yourself

from course_lib.kernels.matmul import matmul as finished


def matmul(a, b):
    return finished(a, b)
