"""Models of the hardware that need no GPU: compiled code, occupancy, rooflines, and a warp simulated lane by lane."""
