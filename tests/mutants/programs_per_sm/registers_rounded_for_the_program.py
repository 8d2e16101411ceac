"""Rounds the registers of the whole program once, instead of those of each warp."""
# expect: mismatch

from course_lib.machine.specs import find_gpu


def round_up(amount, unit):
    return -(-amount // unit) * unit


def programs_per_sm(registers, shared, num_warps, gpu):
    sm = find_gpu(gpu).architecture
    limits = [sm.max_warps // num_warps, sm.max_blocks]
    per_warp = round_up(32 * registers, sm.register_unit)
    limits.append(sm.registers // round_up(32 * registers * num_warps, sm.register_unit))
    if taken := round_up(shared + sm.shared_reserve, sm.shared_unit):
        limits.append(sm.shared // taken)
    return min(limits)
