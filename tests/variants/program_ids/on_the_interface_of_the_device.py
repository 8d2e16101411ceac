"""Asks Triton's driver for everything: the device, its module in torch, the target."""

import torch
import triton
import triton.language as tl

DRIVER = triton.runtime.driver.active


@triton.jit
def program_ids_kernel(out_ptr):
    pid = tl.program_id(0)
    tl.store(out_ptr + pid, pid)


def program_ids(n):
    assert DRIVER.get_current_target().backend == "cuda"
    device = DRIVER.get_device_interface().current_device()
    out = torch.empty(n, dtype=torch.int32, device=DRIVER.get_active_torch_device())
    assert out.get_device() == device
    program_ids_kernel[(n,)](out)
    DRIVER.get_device_interface().synchronize()
    return out
