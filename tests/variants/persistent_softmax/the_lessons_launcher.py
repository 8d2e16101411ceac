"""As many programs as the GPU runs at once, from what the compiled kernel needs; numbers are kept, no kernels."""

import torch
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x_ptr, out_ptr, x_row_stride, out_row_stride, n_rows, n_cols, BLOCK_SIZE: tl.constexpr):
    columns = tl.arange(0, BLOCK_SIZE)
    mask = columns < n_cols
    for row in tl.range(tl.program_id(0), n_rows, tl.num_programs(0)):
        x = tl.load(x_ptr + row * x_row_stride + columns, mask=mask, other=-float("inf"))
        numerator = tl.exp(x - tl.max(x, axis=0))
        tl.store(out_ptr + row * out_row_stride + columns, numerator / tl.sum(numerator, axis=0), mask=mask)


at_once = {}


def persistent_softmax(x):
    n_rows, n_cols = x.shape
    out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    arguments = x, out, x.stride(0), out.stride(0), n_rows, n_cols, triton.next_power_of_2(n_cols)
    key = x.device, x.dtype, n_cols, x.stride(0), x.data_ptr() % 16
    if key not in at_once:
        compiled = softmax_kernel.warmup(*arguments, num_warps=8, grid=(1,))
        compiled._init_handles()
        gpu = torch.cuda.get_device_properties(x.device)
        limits = [
            gpu.max_threads_per_multi_processor // (8 * gpu.warp_size),
            gpu.regs_per_multiprocessor // (compiled.n_regs * 8 * gpu.warp_size),
        ]
        if compiled.metadata.shared:
            limits.append(gpu.shared_memory_per_multiprocessor // (compiled.metadata.shared + 1024))
        at_once[key] = max(1, min(limits)) * gpu.multi_processor_count
    softmax_kernel[(min(n_rows, at_once[key]),)](*arguments, num_warps=8)
    return out
