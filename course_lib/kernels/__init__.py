"""The finished kernels that lessons arrive at. Each module has one public launcher, named as the function that it computes.

LayerNorm's kernels are too many to stand beside its launcher: they are in `layernorm_kernels`.
"""
