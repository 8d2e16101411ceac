"""Takes shared memory for one program after the other until there is none left: of nothing, there is always enough."""
# expect: timeout
# hint: limited by it

from course_lib.machine.specs import find_gpu


def round_up(amount, unit):
    return -(-amount // unit) * unit


def programs_per_sm(registers, shared, num_warps, gpu):
    sm = find_gpu(gpu).architecture
    taken = round_up(shared + sm.shared_reserve, sm.shared_unit)
    by_shared, left = 0, sm.shared
    while left >= taken:
        by_shared += 1
        left -= taken
    warps = sm.partitions * (sm.registers // sm.partitions // round_up(32 * registers, sm.register_unit))
    return min(sm.max_warps // num_warps, sm.max_blocks, warps // num_warps, by_shared)
