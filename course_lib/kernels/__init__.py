"""The finished kernels that lessons arrive at. Each module has one public launcher, named as the function that it computes."""
