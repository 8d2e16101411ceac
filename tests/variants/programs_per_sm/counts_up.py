"""Adds program after program for as long as there is room for one more."""

from course_lib.machine.specs import find_gpu


def fits(n, registers, shared, num_warps, sm):
    warps = n * num_warps
    in_fullest_part = -(-warps // sm.partitions)
    warp_registers = -(-32 * registers // sm.register_unit) * sm.register_unit
    block_shared = -(-(shared + sm.shared_reserve) // sm.shared_unit) * sm.shared_unit
    return (
        warps <= sm.max_warps
        and n <= sm.max_blocks
        and in_fullest_part * warp_registers <= sm.registers // sm.partitions
        and n * block_shared <= sm.shared
    )


def programs_per_sm(registers, shared, num_warps, gpu):
    sm = find_gpu(gpu).architecture
    n = 0
    while fits(n + 1, registers, shared, num_warps, sm):
        n += 1
    return n
