"""Returns all the limits instead of the least of them."""
# expect: wrong_type

from course_lib.machine.specs import find_gpu


def round_up(amount, unit):
    return -(-amount // unit) * unit


def programs_per_sm(registers, shared, num_warps, gpu):
    sm = find_gpu(gpu).architecture
    limits = [sm.max_warps // num_warps, sm.max_blocks]
    per_warp = round_up(32 * registers, sm.register_unit)
    limits.append(sm.partitions * (sm.registers // sm.partitions // per_warp) // num_warps)
    if taken := round_up(shared + sm.shared_reserve, sm.shared_unit):
        limits.append(sm.shared // taken)
    return limits
