"""The persistent softmax on a GPU: values against torch's, each trap of lesson 09's launcher, and the number of programs.

python -m pytest tests/test_persistent_on_gpu.py -rs
"""

from __future__ import annotations

import ctypes
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from course_lib.kernels import persistent as module
from course_lib.kernels.persistent import choose, naive_softmax, persistent_kernel, persistent_softmax, programs_at_once

pytestmark = pytest.mark.gpu
INF, NAN = float("inf"), float("nan")
TOLERANCE = {torch.float64: 1e-12, torch.float32: 2e-5, torch.float16: 2e-3, torch.bfloat16: 1.6e-2}
DTYPES = [pytest.param(dtype, id=str(dtype)[6:]) for dtype in TOLERANCE]


@pytest.fixture(autouse=True)
def _nothing_known_yet() -> None:
    """No test relies on what an earlier one left."""
    module._known.clear()


def assert_softmax(got: torch.Tensor, x: torch.Tensor) -> None:
    assert got.is_contiguous() and got.shape == x.shape
    want = torch.softmax(x.double(), 1).to(x.dtype)
    torch.testing.assert_close(got, want, rtol=TOLERANCE[x.dtype], atol=1e-7, equal_nan=True)


def numbers(*shape: int, dtype: torch.dtype = torch.float32, device: str = "cuda") -> torch.Tensor:
    torch.manual_seed(sum(shape))
    return (3 * torch.randn(shape, device=device)).to(dtype)


def at_once(n_cols: int, dtype: torch.dtype = torch.float32) -> int:
    """How many programs the launcher starts for very many rows of this length."""
    module._known.clear()
    persistent_softmax(numbers(1, n_cols, dtype=dtype))
    ((_, programs),) = module._known.values()
    return programs


# --- values ---------------------------------------------------------------------------------------------------------

WIDTHS = [
    1,
    2,
    3,
    15,
    16,
    17,
    33,
    127,
    128,
    129,
    255,
    256,
    781,
    1000,
    1023,
    1024,
    1025,
    2048,
    4095,
    4096,
    5000,
    8191,
    8192,
    16384,
]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n_cols", WIDTHS)
def test_width(n_cols: int, dtype: torch.dtype) -> None:
    x = numbers(37, n_cols, dtype=dtype)
    assert_softmax(persistent_softmax(x), x)


@pytest.mark.parametrize("dtype", DTYPES[1:])
@pytest.mark.parametrize("n_cols", [16385, 32767, 32768])
def test_the_longest_rows(n_cols: int, dtype: torch.dtype) -> None:
    """A pipeline of four stages would ask for 384 KiB of shared memory for the last of them in fp32, and die."""
    x = numbers(300, n_cols, dtype=dtype)
    assert_softmax(persistent_softmax(x), x)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n_cols", [100, 781, 1024, 8192])
def test_programs_go_round_their_loop(n_cols: int, dtype: torch.dtype) -> None:
    """More rows than programs, by a number that they do not divide, and by one."""
    programs = at_once(n_cols, dtype)
    for n_rows in (programs - 1, programs, programs + 1, 2 * programs + 37):
        x = numbers(n_rows, n_cols, dtype=dtype)
        assert_softmax(persistent_softmax(x), x)


@pytest.mark.parametrize("special", [-INF, INF, NAN], ids=str)
@pytest.mark.parametrize("n_cols", [3, 700, 4096])
def test_special_rows_are_as_torch_has_them(n_cols: int, special: float) -> None:
    x = numbers(8, n_cols)
    x[1] = special
    x[2, 1] = special
    x[3, : n_cols - 1] = special
    x[4] = 3e38
    assert_softmax(persistent_softmax(x), x)


def test_views_with_rows_anywhere() -> None:
    x = numbers(1000, 1024)
    for view in (x[:, 3:998], x[::2], x[:1].expand(900, -1), x[:, 5:6], x.flatten()[1:400001].view(400, 1000)):
        assert_softmax(persistent_softmax(view), view)


def test_a_tensor_that_holds_the_negatives_of_what_lies_in_memory() -> None:
    x = torch._neg_view(numbers(30, 100))
    assert x.is_neg()
    assert_softmax(persistent_softmax(x), x)


def test_the_naive_form_is_a_softmax() -> None:
    x = numbers(100, 781)
    assert_softmax(naive_softmax(x), x)


def test_more_elements_than_an_int32_counts() -> None:
    x = torch.empty(2**21 + 3, 1025, device="cuda", dtype=torch.bfloat16).normal_()
    got = persistent_softmax(x)
    for rows in (slice(0, 5), slice(2**20, 2**20 + 5), slice(2**21 - 2, 2**21 + 3)):
        assert_softmax(got[rows].contiguous(), x[rows])


# --- the launcher's traps -------------------------------------------------------------------------------------------

ORDERS: dict[str, list[tuple[int, int, torch.dtype]]] = {
    "1024 columns, then 781": [(128, 1024, torch.float32), (128, 781, torch.float32)],
    "781 columns, then 1024": [(128, 781, torch.float32), (128, 1024, torch.float32)],
    "fp32, then fp16": [(128, 1024, torch.float32), (128, 1024, torch.float16)],
    "fp16, then fp64": [(128, 1024, torch.float16), (128, 1024, torch.float64)],
    "one row, then many": [(1, 1024, torch.float32), (5000, 1024, torch.float32)],
    "many rows, then one": [(5000, 1024, torch.float32), (1, 1024, torch.float32)],
    "one column, then two": [(128, 1, torch.float32), (128, 2, torch.float32)],
}


@pytest.mark.parametrize("order", ORDERS)
def test_no_call_spoils_a_later_one(order: str) -> None:
    """A compiled kernel that is kept by the size of its block alone does: "misaligned address", or NaN."""
    for _ in range(2):
        for n_rows, n_cols, dtype in ORDERS[order]:
            x = numbers(n_rows, n_cols, dtype=dtype)
            assert_softmax(persistent_softmax(x), x)


STALE = {
    "128x1024:float32 128x781:float32": "misaligned address",
    "128x1024:float32 128x1024:float16": "NaN|wrong|illegal memory access",
    "128x256:float32 129x255:float32": "right|misaligned address",
    "128x1024:float32 1024x128:float32:t": "NaN|wrong|illegal memory access|misaligned address",
}


@pytest.mark.parametrize("calls", STALE)
def test_what_becomes_of_a_cache_by_block_size_alone(calls: str) -> None:
    """What the lesson says of it is so: the second call is spoiled by the kernel of the first."""
    command = [sys.executable, str(Path(__file__).with_name("launcher_of_the_trap.py")), *calls.split()]
    ended = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[1], timeout=120)
    print(ended.stdout, ended.stderr[-500:])
    first, second, *_ = ended.stdout.splitlines()
    assert first.endswith(" right")
    assert re.search(STALE[calls], second)


def test_an_aligned_address_then_an_odd_one() -> None:
    whole = numbers(1, 128 * 1024 + 1).flatten()
    for x in (whole[:-1].view(128, 1024), whole[1:].view(128, 1024), whole[:-1].view(128, 1024)):
        assert_softmax(persistent_softmax(x), x)


def test_a_transposed_matrix_is_refused_and_its_copy_is_right() -> None:
    x = numbers(128, 1024)
    persistent_softmax(x)
    with pytest.raises(ValueError, match=r"x\.contiguous\(\)"):
        persistent_softmax(numbers(1024, 128).t())
    transposed = numbers(1024, 128).t().contiguous()
    assert_softmax(persistent_softmax(transposed), transposed)


@pytest.mark.parametrize("shape", [(1, 1), (1, 1024), (1, 781)], ids=str)
def test_one_row(shape: tuple[int, int]) -> None:
    x = numbers(*shape)
    assert_softmax(persistent_softmax(x), x)


@pytest.mark.parametrize("shape", [(0, 5), (5, 0), (0, 0)], ids=str)
def test_no_rows_and_no_columns(shape: tuple[int, int]) -> None:
    assert persistent_softmax(torch.empty(shape, device="cuda")).shape == shape


def _compiled(n_cols: int, num_warps: int, num_stages: int) -> tuple[torch.Tensor, tuple[Any, ...], Any]:
    x = numbers(2, n_cols)
    arguments = (x, torch.empty_like(x), n_cols, n_cols, 2, n_cols, 1 << (n_cols - 1).bit_length(), num_stages)
    compiled = persistent_kernel.warmup(*arguments, num_warps=num_warps, grid=(1,))
    compiled._init_handles()
    return x, arguments, compiled


def test_a_kernel_without_shared_memory() -> None:
    """One warp exchanges nothing through it, and one stage keeps nothing there: a limit of 0 bytes is no limit."""
    x, arguments, compiled = _compiled(32, 1, 1)
    assert compiled.metadata.shared == 0
    assert programs_at_once(arguments, 1, module._architecture(x)) >= torch.cuda.get_device_properties(0).multi_processor_count


def test_a_compiled_kernel_must_be_given_its_constants() -> None:
    """What the lesson says of `compiled[grid](…)`, which is why the launcher launches the kernel itself."""
    x, arguments, compiled = _compiled(1000, 4, 4)
    with pytest.raises(TypeError):
        compiled[(2, 1, 1)](*arguments[:6])
    compiled[(2, 1, 1)](*arguments)
    assert_softmax(arguments[1], x)


@pytest.mark.parametrize("num_stages", [1, 2, 4])
@pytest.mark.parametrize("num_warps", [1, 2, 4, 8, 16, 32])
@pytest.mark.parametrize("n_cols", [100, 781, 1024, 4096, 8192, 16384])
def test_as_many_programs_as_the_driver_says(n_cols: int, num_warps: int, num_stages: int) -> None:
    """Registers, shared memory, threads: the driver counts them all, and so must the launcher."""
    if n_cols // (32 * num_warps) > 128:
        pytest.skip("no room in registers")
    x, arguments, compiled = _compiled(n_cols, num_warps, num_stages)
    found = ctypes.c_int()
    status = ctypes.CDLL("libcuda.so.1").cuOccupancyMaxActiveBlocksPerMultiprocessor(
        ctypes.byref(found),
        ctypes.c_void_p(compiled.function),
        ctypes.c_int(32 * num_warps),
        ctypes.c_size_t(compiled.metadata.shared),
    )
    assert status == 0
    sms = torch.cuda.get_device_properties(0).multi_processor_count
    assert programs_at_once(arguments, num_warps, module._architecture(x)) == found.value * sms


def test_it_is_compiled_once_for_any_number_of_rows() -> None:
    for n_rows in (1, 2, 16, 5000, 100_000):
        persistent_softmax(numbers(n_rows, 256))
    assert len(module._known) == 1


def test_never_more_programs_than_rows_nor_than_run_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[int] = []
    kernel = module.persistent_kernel

    class Noted:
        warmup = staticmethod(kernel.warmup)

        def __getitem__(self, grid: tuple[int, ...]) -> Any:
            started.append(grid[0])
            return kernel[grid]

    programs = at_once(1024)
    monkeypatch.setattr(module, "interpreted", lambda: False)
    monkeypatch.setattr(module, "persistent_kernel", Noted())
    for n_rows in (1, 7, programs, programs + 1, 5 * programs):
        persistent_softmax(numbers(n_rows, 1024))
    assert started == [1, 7, programs, programs, programs]


def test_captured_in_a_graph() -> None:
    x = numbers(3000, 1000)
    persistent_softmax(x)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        got = persistent_softmax(x)
    x.normal_()
    graph.replay()
    assert_softmax(got, x)


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two GPUs")
def test_a_second_gpu_that_is_not_the_current_one() -> None:
    for device in ("cuda:0", "cuda:1", "cuda:0"):
        x = numbers(5000, 1000, device=device)
        assert torch.cuda.current_device() == 0
        got = persistent_softmax(x)
        assert got.device == x.device
        assert_softmax(got, x)
    assert {key.device.index for key in module._known} == {0, 1}


def test_stages_fit_into_shared_memory() -> None:
    most = torch.cuda.get_device_properties(0).shared_memory_per_block_optin
    for n_cols in (128, 1024, 8192, 16384, 32768):
        how = choose(n_cols, 4, most)
        *_, compiled = _compiled(n_cols, how.num_warps, how.num_stages)
        assert compiled.metadata.shared <= most
