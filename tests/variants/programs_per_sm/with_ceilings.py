"""Ceilings in floating point, and the least of whatever applies."""

import math

from course_lib.machine.specs import find_gpu


def programs_per_sm(registers, shared, num_warps, gpu):
    sm = find_gpu(gpu).architecture
    unit = sm.register_unit
    warps_a_part = (sm.registers / sm.partitions) // (math.ceil(32 * registers / unit) * unit)
    taken = math.ceil((shared + sm.shared_reserve) / sm.shared_unit) * sm.shared_unit
    by_shared = sm.shared // taken if taken else math.inf
    return int(min(sm.max_warps // num_warps, sm.max_blocks, sm.partitions * warps_a_part // num_warps, by_shared))
