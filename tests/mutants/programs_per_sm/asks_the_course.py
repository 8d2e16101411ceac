"""The course's own `occupancy` computes it."""
# expect: crash
# hint: yourself

from course_lib.machine.occupancy import Resources, occupancy


def programs_per_sm(registers, shared, num_warps, gpu):
    return occupancy(Resources(registers, shared, 32 * num_warps), gpu).programs_per_sm
