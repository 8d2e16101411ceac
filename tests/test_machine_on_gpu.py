"""The machine's models held against a real GPU: what the driver says about kernels and itself, and what shuffles return.

Skipped where there is no GPU. Run alone, with the Triton that the machine has:

    python -m pytest tests/test_machine_on_gpu.py -rs
"""

from __future__ import annotations

import ctypes
import functools
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

import course_lib
from course_lib.machine.compiled import Compiled, compile_for
from course_lib.machine.cuda import SOURCES, compile_cuda, cuda_source, has_nvrtc, launch_cuda
from course_lib.machine.occupancy import Resources, occupancy
from course_lib.machine.specs import GPUS, Gpu, find_gpu
from course_lib.machine.warp import UNDEFINED, Thread, run_block

pytestmark = pytest.mark.gpu
needs_nvrtc = pytest.mark.skipif(not has_nvrtc(), reason="needs NVRTC: pip install -e '.[cuda]'")
SMS, L2, WARP_SIZE, SM_THREADS, SM_SHARED, SM_REGISTERS, BLOCK_SHARED, SM_BLOCKS, RESERVED = (
    16,
    38,
    10,
    39,
    81,
    82,
    97,
    106,
    111,
)
"""CUdevice_attribute in cuda.h."""
SHARED_SIZE, LOCAL_SIZE, NUM_REGISTERS, MAX_DYNAMIC_SHARED = 1, 3, 4, 8
"""CUfunction_attribute in cuda.h."""


class Driver:
    """The few functions of libcuda that are asked here, on the GPU that torch uses."""

    def __init__(self) -> None:
        torch.zeros(1, device="cuda")  # makes the context
        self.library = ctypes.CDLL("libcuda.so.1")

    def call(self, name: str, *arguments: Any) -> None:
        status = getattr(self.library, name)(*arguments)
        assert status == 0, f"{name}: error {status}"

    def device(self, attribute: int) -> int:
        value = ctypes.c_int()
        self.call("cuDeviceGetAttribute", ctypes.byref(value), attribute, torch.cuda.current_device())
        return value.value

    def load(self, compiled: Compiled) -> ctypes.c_void_p:
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("cuModuleLoadData", ctypes.byref(module), compiled.binary)
        self.call("cuModuleGetFunction", ctypes.byref(function), module, compiled.kernel.encode())
        return function

    def function(self, function: ctypes.c_void_p, attribute: int) -> int:
        value = ctypes.c_int()
        self.call("cuFuncGetAttribute", ctypes.byref(value), attribute, function)
        return value.value

    def blocks(self, function: ctypes.c_void_p, threads: int, dynamic_shared: int) -> int:
        self.call("cuFuncSetAttribute", function, MAX_DYNAMIC_SHARED, ctypes.c_int(dynamic_shared))
        value = ctypes.c_int()
        self.call(
            "cuOccupancyMaxActiveBlocksPerMultiprocessor",
            ctypes.byref(value),
            function,
            threads,
            ctypes.c_size_t(dynamic_shared),
        )
        return value.value


@pytest.fixture(scope="module")
def driver() -> Driver:
    return Driver()


@pytest.fixture(scope="module")
def gpu() -> Gpu:
    """What the course knows about this GPU, or of another with its architecture."""
    name = torch.cuda.get_device_name()
    try:
        return find_gpu(name)
    except ValueError:
        major, minor = torch.cuda.get_device_capability()
        found = [one for one in GPUS.values() if one.target == f"sm_{major}{minor}"]
        if not found:
            pytest.skip(f"nothing is known about {name}")
        return found[0]


# --- compiled kernels -----------------------------------------------------------------------------------------------

Launch = tuple[str, tuple[Any, ...], dict[str, Any]]


def launches() -> dict[str, Launch]:
    """Kernels of many shapes: one and many warps, wide and narrow loads, pipelines, matrix units, spills."""
    x = torch.empty(1 << 20, device="cuda")
    half = torch.empty(1 << 20, device="cuda", dtype=torch.float16)
    found: dict[str, Launch] = {}
    for warps in (1, 2, 4, 8, 16):
        found[f"sum of 1024, {warps} warps"] = ("sum_kernel", (x, x, 1000), {"BLOCK": 1024, "num_warps": warps})
    found["sum of 8192"] = ("sum_kernel", (x, x, 8192), {"BLOCK": 8192, "num_warps": 4})
    for n in (1000, 1024):
        found[f"copy of {n}"] = ("copy_kernel", (x, x, n), {"BLOCK": 1024})
    found["copy from an odd address"] = ("copy_kernel", (x[1:], x, 1024), {"BLOCK": 1024})
    for stages in (1, 2, 4):
        found[f"rows in {stages} stages"] = (
            "row_sums_kernel",
            (x, x, 4096, 64),
            {"BLOCK": 4096, "STAGES": stages, "num_warps": 8},
        )
    for block, warps in ((32, 4), (64, 8)):
        tile = {"M": 64, "N": 64, "BLOCK_K": block, "num_warps": warps, "num_stages": 3}
        found[f"matmul by {block}, {warps} warps"] = ("matmul_kernel", (half, half, x, 512), tile)
    found["a tile that spills"] = ("centred_kernel", (x, x), {"BLOCK": 8192, "num_warps": 1})
    return found


NAMES = (
    *(f"sum of 1024, {warps} warps" for warps in (1, 2, 4, 8, 16)),
    *("sum of 8192", "copy of 1000", "copy of 1024", "copy from an odd address"),
    *(f"rows in {stages} stages" for stages in (1, 2, 4)),
    *("matmul by 32, 4 warps", "matmul by 64, 8 warps", "a tile that spills"),
)


@pytest.fixture(scope="module")
def both(gpu: Gpu) -> Callable[[str], tuple[Compiled, Any]]:
    """The same launch compiled here without the GPU, and by Triton for the GPU, loaded by the driver."""
    if course_lib.device().mode != "gpu":
        pytest.skip("Triton interprets in this process")
    sys.path.insert(0, str(Path(__file__).parent))
    import kernels_to_compile

    every = launches()
    assert tuple(every) == NAMES

    @functools.cache
    def compiled(name: str) -> tuple[Compiled, Any]:
        kernel_name, arguments, keywords = every[name]
        kernel = getattr(kernels_to_compile, kernel_name)
        loaded = kernel.warmup(*arguments, grid=(1,), **keywords)
        loaded._init_handles()
        return compile_for(kernel, *arguments, target=gpu.target, **keywords), loaded

    return compiled


@pytest.mark.parametrize("name", NAMES)
def test_registers_spills_and_shared_memory_are_what_the_driver_reports(
    both: Callable[[str], tuple[Compiled, Any]], driver: Driver, name: str
):
    offline, loaded = both(name)
    assert (offline.registers, offline.spills, offline.shared) == (loaded.n_regs, loaded.n_spills, loaded.metadata.shared)
    function = driver.load(offline)
    assert driver.function(function, NUM_REGISTERS) == offline.registers
    assert driver.function(function, LOCAL_SIZE) == 4 * offline.spills
    assert offline.threads == 32 * loaded.metadata.num_warps


@pytest.mark.parametrize("name", NAMES)
def test_occupancy_is_the_drivers_own_figure(both: Callable[[str], tuple[Compiled, Any]], driver: Driver, gpu: Gpu, name: str):
    offline, loaded = both(name)
    found = occupancy(offline, gpu.name).programs_per_sm
    assert found == driver.blocks(ctypes.c_void_p(loaded.function), offline.threads, offline.shared)
    assert found == driver.blocks(driver.load(offline), offline.threads, offline.shared)


def test_a_configuration_spills_and_one_uses_much_shared_memory(both: Callable[[str], tuple[Compiled, Any]]):
    """Otherwise the comparisons above would say little."""
    assert both("a tile that spills")[0].spills > 0
    assert max(both(name)[0].shared for name in NAMES) > 48 * 1024
    assert len({both(name)[0].registers for name in NAMES}) > 6


@needs_nvrtc
@pytest.mark.parametrize("name", SOURCES)
def test_cuda_kernels_are_reported_alike(driver: Driver, gpu: Gpu, name: str):
    compiled = compile_cuda(cuda_source(name), name, gpu.target, threads=SOURCES[name])
    function = driver.load(compiled)
    reported = [driver.function(function, attribute) for attribute in (NUM_REGISTERS, SHARED_SIZE, LOCAL_SIZE)]
    assert reported == [compiled.registers, compiled.shared, 4 * compiled.spills]


@needs_nvrtc
def test_occupancy_is_the_drivers_for_any_threads_and_shared_memory(driver: Driver, gpu: Gpu):
    """Kernels held to different numbers of registers, with every number of warps and much or little shared memory."""
    compared = 0
    for most in (16, 24, 32, 40, 56, 64, 80, 96, 128, 168, 255):
        compiled = compile_cuda(GREEDY.replace("MOST", str(most)), "greedy", gpu.target)
        function = driver.load(compiled)
        registers = driver.function(function, NUM_REGISTERS)
        assert registers == compiled.registers
        for threads in (1, 32, 33, *range(64, 1025, 64), 100, 180, 1000):
            for shared in (0, 1, 1000, 1024, 5000, 16384, 40000, 60000, gpu.architecture.max_shared_per_block):
                ours = occupancy(Resources(registers, shared, threads), gpu.name).programs_per_sm
                assert ours == driver.blocks(function, threads, shared), (registers, threads, shared)
                compared += 1
    assert compared > 1000


GREEDY = """
extern "C" __global__ void __maxnreg__(MOST) greedy(const float *x, float *y)
{
    float kept[200];
    for (int i = 0; i < 200; i++)
        kept[i] = x[i * 1024 + threadIdx.x];
    for (int i = 0; i < 200; i++)
        y[i * 1024 + threadIdx.x] = kept[199 - i] * kept[i];
}
"""


def test_facts_about_this_gpu_are_what_its_driver_reports(driver: Driver, gpu: Gpu):
    architecture = gpu.architecture
    reported = {
        "warp size": driver.device(WARP_SIZE),
        "warps": driver.device(SM_THREADS) // driver.device(WARP_SIZE),
        "blocks": driver.device(SM_BLOCKS),
        "registers": driver.device(SM_REGISTERS),
        "shared": driver.device(SM_SHARED),
        "shared of a block": driver.device(BLOCK_SHARED),
        "reserve": driver.device(RESERVED),
    }
    assert reported == {
        "warp size": architecture.warp_size,
        "warps": architecture.max_warps,
        "blocks": architecture.max_blocks,
        "registers": architecture.registers,
        "shared": architecture.shared,
        "shared of a block": architecture.max_shared_per_block,
        "reserve": architecture.shared_reserve,
    }
    if torch.cuda.get_device_name() in (gpu.name, *gpu.aliases):
        assert driver.device(SMS) == gpu.sms
        assert driver.device(L2) == pytest.approx(gpu.l2, rel=0.01)


# --- the simulated warp ---------------------------------------------------------------------------------------------

OPS = ("shfl_xor", "shfl_down", "shfl_up", "shfl")
WIDTHS = (1, 2, 4, 8, 16, 32)
SHUFFLES = """
extern "C" __global__ void shuffles(const int *masks, int *out)
{
    // out[op][width][operand][thread]; lanes outside the mask of their warp take no part
    unsigned mask = masks[threadIdx.x / 32];
    if (!(mask >> threadIdx.x % 32 & 1))
        return;
    int value = 100 + threadIdx.x;
    for (int op = 0; op < 4; op++)
        for (int log = 0; log < 6; log++)
            for (int operand = 0; operand < 32; operand++) {
                int width = 1 << log, got;
                if (op == 0)
                    got = __shfl_xor_sync(mask, value, operand, width);
                else if (op == 1)
                    got = __shfl_down_sync(mask, value, operand, width);
                else if (op == 2)
                    got = __shfl_up_sync(mask, value, operand, width);
                else
                    got = __shfl_sync(mask, value, operand, width);
                out[((op * 6 + log) * 32 + operand) * blockDim.x + threadIdx.x] = got;
            }
}
"""


def every_shuffle(thread: Thread, masks: list[int]) -> Iterator[Any]:
    mask = masks[thread.warp]
    if not mask >> thread.lane & 1:
        return None
    results = []
    for op in OPS:
        for width in WIDTHS:
            for operand in range(32):
                results.append((yield getattr(thread, op)(100 + thread.index, operand, width=width, mask=mask)))
    return results


@needs_nvrtc
@pytest.mark.parametrize(
    ("n_threads", "masks"),
    [
        (32, [0xFFFFFFFF]),
        (32, [0x0000FFFF]),
        (32, [0x55555555]),
        (32, [0x80000001]),
        (20, [0x000FFFFF]),
        (48, [0xFFFFFFFF, 0x0000FFFF]),
        (33, [0x0FF00FF0, 0x1]),
    ],
)
def test_shuffles_return_what_the_gpu_returns_where_cuda_defines_it(gpu: Gpu, n_threads: int, masks: list[int]):
    simulated = run_block(every_shuffle, n_threads, masks).results
    compiled = compile_cuda(SHUFFLES, "shuffles", gpu.target, threads=n_threads)
    signed = torch.tensor([mask - (mask >> 31 << 32) for mask in masks], dtype=torch.int32, device="cuda")
    out = torch.full((4 * 6 * 32, n_threads), -1, dtype=torch.int32, device="cuda")
    launch_cuda(compiled, signed, out)
    real = out.cpu().T.tolist()
    compared = 0
    for thread in range(n_threads):
        if simulated[thread] is None:
            assert set(real[thread]) == {-1}
            continue
        for position, value in enumerate(simulated[thread]):
            if value is not UNDEFINED:
                assert value == real[thread][position], (
                    thread,
                    OPS[position // 192],
                    WIDTHS[position // 32 % 6],
                    position % 32,
                )
                compared += 1
    assert compared > 200


RAGGED = """
extern "C" __global__ void ragged_sum(const int *numbers, int *out)
{
    // any number of threads: a lane takes nothing from lanes that are not there
    __shared__ int partial[32];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int here = min(32, (int)blockDim.x - 32 * warp);
    unsigned mask = here == 32 ? 0xffffffff : (1u << here) - 1;
    int value = numbers[threadIdx.x];
    for (int distance = 16; distance > 0; distance /= 2) {
        int other = __shfl_down_sync(mask, value, distance);
        if (lane + distance < here)
            value += other;
    }
    if (lane == 0)
        partial[warp] = value;
    __syncthreads();
    int total = 0;
    for (int i = 0; i < (blockDim.x + 31) / 32; i++)
        total += partial[i];
    out[threadIdx.x] = total;
}
"""


def ragged_sum(thread: Thread, numbers: list[int]) -> Iterator[Any]:
    here = min(32, thread.n_threads - 32 * thread.warp)
    value = numbers[thread.index]
    for distance in (16, 8, 4, 2, 1):
        other = yield thread.shfl_down(value, distance, mask=(1 << here) - 1)
        value = value + other if thread.lane + distance < here else value
    partial = thread.shared("partial", 32)
    if thread.lane == 0:
        partial[thread.warp] = value
    yield thread.syncthreads()
    return sum(partial[warp] for warp in range(-(-thread.n_threads // 32)))


@needs_nvrtc
@pytest.mark.parametrize("width", [1, 2, 3, 17, 31, 32, 33, 48, 180, 1024])
def test_partial_warps_sum_as_on_the_gpu(gpu: Gpu, width: int):
    numbers = torch.randint(-1000, 1000, (width,), dtype=torch.int32)
    out = torch.zeros(width, dtype=torch.int32, device="cuda")
    launch_cuda(compile_cuda(RAGGED, "ragged_sum", gpu.target, threads=width), numbers.cuda(), out)
    assert tuple(out.tolist()) == run_block(ragged_sum, width, numbers.tolist()).results == (int(numbers.sum()),) * width


@needs_nvrtc
@pytest.mark.parametrize("name", SOURCES)
def test_the_courses_cuda_kernels_are_right(gpu: Gpu, name: str):
    compiled = compile_cuda(cuda_source(name), name, gpu.target, threads=SOURCES[name])
    numbers, out = torch.randint(-8, 9, (128,), device="cuda").float(), torch.zeros(1, device="cuda")
    for n in (32,) if name == "warp_sum" else (0, 1, 31, 32, 33, 100, 128):
        launch_cuda(compiled, numbers, out, *(() if name == "warp_sum" else (n,)))
        assert out.item() == numbers[:n].sum().item()


BARRIERS = """
extern "C" __global__ void barriers(int *out)
{
    // out[0…]: neighbours through shared memory, ordered within the warp alone; out[n…]: after the second warp has returned
    __shared__ int cells[64], late[64];
    cells[threadIdx.x] = threadIdx.x;
    __syncwarp();
    out[threadIdx.x] = cells[(threadIdx.x + 1) % blockDim.x];
    if (threadIdx.x / 32 == 1)
        return;
    late[threadIdx.x] = 10 * threadIdx.x;
    __syncthreads();
    out[blockDim.x + threadIdx.x] = late[31 - threadIdx.x];
}
"""


def barriers(thread: Thread) -> Iterator[Any]:
    cells, late = thread.shared("cells", 64), thread.shared("late", 64)
    cells[thread.index] = thread.index
    yield thread.syncwarp()
    first = cells[(thread.index + 1) % thread.n_threads]
    if thread.warp == 1:
        return first, None
    late[thread.index] = 10 * thread.index
    yield thread.syncthreads()
    return first, late[31 - thread.index]


@needs_nvrtc
def test_missing_barriers_do_no_harm_where_cuda_needs_none(gpu: Gpu):
    run = run_block(barriers, 64)
    assert [first for first, _ in run.results].count(UNDEFINED) == 2  # the neighbours in another warp
    out = torch.full((128,), -1, dtype=torch.int32, device="cuda")
    launch_cuda(compile_cuda(BARRIERS, "barriers", gpu.target, threads=64), out)
    for thread, (first, second) in enumerate(run.results):
        if first is not UNDEFINED:
            assert out[thread].item() == first
        if second is not None:
            assert out[64 + thread].item() == second
