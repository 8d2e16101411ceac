"""The facts written down in a table, as somebody without the course would."""

NEWER = {"reserve": 1024, "unit": 128}
OLDER = {"reserve": 0, "unit": 256}
SM = {
    "T4": {"warps": 32, "blocks": 16, "shared": 64} | OLDER,
    "A100": {"warps": 64, "blocks": 32, "shared": 164} | NEWER,
    "RTX 3090": {"warps": 48, "blocks": 16, "shared": 100} | NEWER,
    "RTX 4090": {"warps": 48, "blocks": 24, "shared": 100} | NEWER,
    "H100": {"warps": 64, "blocks": 32, "shared": 228} | NEWER,
    "RTX 5090": {"warps": 48, "blocks": 24, "shared": 100} | NEWER,
}
SM["H200"] = SM["B200"] = SM["H100"]


def programs_per_sm(registers, shared, num_warps, gpu):
    sm = SM[gpu]
    warps = 4 * (16384 // ((registers + 7) // 8 * 256))
    taken = (shared + sm["reserve"] + sm["unit"] - 1) // sm["unit"] * sm["unit"]
    room = 1024 * sm["shared"] // max(taken, 1)
    return min(sm["warps"] // num_warps, sm["blocks"], warps // num_warps, room)
