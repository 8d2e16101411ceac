"""Takes the registers of a multiprocessor for one piece: they lie in four, and a warp in one of them."""
# expect: mismatch
# hint: Registers

from course_lib.machine.specs import find_gpu


def round_up(amount, unit):
    return -(-amount // unit) * unit


def programs_per_sm(registers, shared, num_warps, gpu):
    sm = find_gpu(gpu).architecture
    limits = [sm.max_warps // num_warps, sm.max_blocks]
    per_warp = round_up(32 * registers, sm.register_unit)
    limits.append((sm.registers // per_warp) // num_warps)
    if taken := round_up(shared + sm.shared_reserve, sm.shared_unit):
        limits.append(sm.shared // taken)
    return min(limits)
