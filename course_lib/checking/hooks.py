"""Hooks into Triton's interpreter: every load, store and atomic passes through here before it touches memory.

`install(observer)` patches the interpreter of this process once; from then on each pointer knows which kernel argument
it came from, and an active lane whose address lies outside that argument is reported to the observer and *not*
carried out. Two observers use this: the worker's recorder (`recorder.py`), which notes everything, and the guard
(`Guard` here), which turns the first stray access in a notebook into a Python error instead of a dead process.

Not here: judging (`memory.py`) and running (`worker.py`). This module imports Triton, so only import it where the
interpreter is wanted. What differs between Triton's versions is handled in this file.
"""

from __future__ import annotations

import ast
import dis
import functools
import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from types import FrameType
from typing import Any, Protocol

import numpy as np
import torch
import triton
import triton.runtime.autotuner as autotuner
import triton.runtime.interpreter as interp

from course_lib.checking.events import IntArray, View
from course_lib.errors import PlainError, rendered

GRID_LIMITS = (2**31 - 1, 65535, 65535)
"""Most programs along each axis. Source: CUDA C++ Programming Guide, "Technical Specifications per Compute Capability"."""

_VIEWS = "course.views"  # key in TensorHandle.attr: indices of the views that a pointer may point into


@dataclass
class LaunchState:
    """The launch under way: its kernel, grid, views, and where each view lies in memory."""

    kernel: str
    grid: tuple[int, int, int]
    arguments: dict[str, Any]
    tensors: list[tuple[str, torch.Tensor]] = field(default_factory=list)
    places: list[Place] = field(default_factory=list)


@dataclass(frozen=True)
class Place:
    """Where a tensor lies: the address of its first element, and which element offsets belong to it."""

    address: int
    itemsize: int
    extent: int
    covered: np.ndarray[Any, np.dtype[np.bool_]] | None

    @classmethod
    def of(cls, tensor: torch.Tensor) -> Place:
        if tensor.numel() == 0:
            return cls(tensor.data_ptr(), tensor.element_size(), 0, None)
        extent = 1 + sum((size - 1) * step for size, step in zip(tensor.shape, tensor.stride(), strict=True))
        covered = None
        if extent != tensor.numel() and extent <= 2**24:
            # A stride of 0 repeats elements that are there already; leaving it out keeps large expanded tensors cheap.
            once = tuple(size if step else 1 for size, step in zip(tensor.shape, tensor.stride(), strict=True))
            view = View("", 0, 0, once, tuple(tensor.stride()), "", tensor.element_size())
            covered = np.zeros(extent, dtype=np.bool_)
            covered[view.elements] = True
        return cls(tensor.data_ptr(), tensor.element_size(), extent, covered)

    def locate(self, addresses: np.ndarray, width: int) -> tuple[IntArray, np.ndarray]:
        """Element offsets of the addresses, and which of them lie inside; `width` is the access's size in bytes."""
        distance = (addresses - np.uint64(self.address)).view(np.int64)
        offsets = distance // self.itemsize
        inside = (distance >= 0) & (distance + width <= self.extent * self.itemsize)
        if width == self.itemsize:
            inside &= distance % self.itemsize == 0
        if self.covered is not None:
            inside[inside] = self.covered[offsets[inside]]
        return offsets, inside


@dataclass(frozen=True)
class Access:
    """One memory operation as the hooks see it, before it is carried out."""

    kind: str
    program: tuple[int, int, int]
    view: int
    offsets: IntArray
    inside: np.ndarray
    active: np.ndarray
    other: bool
    frame: FrameType


class Observer(Protocol):
    """What the hooks report to."""

    def launch_begins(self, launch: LaunchState) -> None: ...

    def launch_ends(self, launch: LaunchState) -> None: ...

    def program_begins(self, launch: LaunchState, program: tuple[int, int, int]) -> None: ...

    def access(self, launch: LaunchState, access: Access) -> None: ...

    def barrier(self) -> None: ...

    def note(self, what: str) -> None:
        """Something that limits what the interpreter's result says."""
        ...

    def poison(self, dtype: np.dtype) -> Any:
        """What a lane reads that the kernel has no right to rely on."""
        ...


class StrayAccess(PlainError, IndexError):
    """A kernel that ran in this process was about to touch memory outside one of its tensors."""

    def __repr__(self) -> str:  # the interpreter raises an error of its own, whose text is this
        return str(self)


class CannotInterpret(RuntimeError):
    """Something that Triton's interpreter does not do as a GPU does, so that its result would say nothing."""


class _Hooks:
    """The state of the patched interpreter: whom to tell, and the launch under way."""

    def __init__(self) -> None:
        self.observer: Observer | None = None
        self.launch: LaunchState | None = None
        self.argument_names: list[str] = []
        self.name = "?"
        self.depth = 0
        self.prepared: set[int] = set()
        self.other_given = False
        self.atomic = False


_hooks = _Hooks()


def install(observer: Observer | None) -> None:
    """Patch the interpreter of this process (once) and report to `observer` from now on."""
    _hooks.observer = observer
    if getattr(interp.GridExecutor, "_course_hooked", False):
        return
    _patch_syntax()
    _patch_arithmetic()
    _patch_launch()
    _patch_tuning()
    _patch_reductions()
    _patch_pointers()
    _patch_memory()
    interp.GridExecutor._course_hooked = True


def install_guard() -> None:
    """Make kernels that are run in this process raise `StrayAccess` instead of reading or writing foreign memory."""
    if _hooks.observer is None:
        install(Guard())
        interp.InterpreterError._render_traceback_ = rendered  # a notebook shows no frames of Triton


class Guard:
    """Raises at the first access outside a tensor; otherwise the interpreter behaves as it always does."""

    def launch_begins(self, launch: LaunchState) -> None:
        pass

    def launch_ends(self, launch: LaunchState) -> None:
        pass

    def program_begins(self, launch: LaunchState, program: tuple[int, int, int]) -> None:
        pass

    def poison(self, dtype: np.dtype) -> Any:
        return np.zeros((), dtype=dtype)

    def barrier(self) -> None:
        pass

    def note(self, what: str) -> None:
        pass

    def access(self, launch: LaunchState, access: Access) -> None:
        stray = access.active & ~access.inside
        if not stray.any():
            return
        name, tensor = launch.tensors[access.view]
        first = int(access.offsets[stray][0])
        number = int(stray.sum())
        verb = {"load": "read", "store": "write", "atomic": "update"}[access.kind]
        # The three lines that tell a learner what happened, which tensor it was, and what to do.
        raise StrayAccess(
            f"program {access.program} of {launch.kernel}, line {access.frame.f_lineno}: tried to {verb} {number} "
            f"element{'s' if number > 1 else ''} outside {name}, which has shape {tuple(tensor.shape)}; "
            f"the first at offset {first}. Is a mask missing, or a stride wrong?"
        )


# --- syntax -------------------------------------------------------------------------------------------------------


def _patch_syntax() -> None:
    """Give `and`, `or` and `not` on tiles the meaning that the compiler gives them: element by element."""

    class Transformer(interp.ASTTransformer):  # type: ignore[misc]
        def visit_Assign(self, node: ast.Assign) -> Any:
            if not _VISITS_VALUES:
                node.value = self.visit(node.value)
            return super().visit_Assign(node)

        def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
            self.generic_visit(node)
            no_arguments = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
            later: list[ast.expr] = [ast.Lambda(args=no_arguments, body=value) for value in node.values]
            return _call("_course_and" if isinstance(node.op, ast.And) else "_course_or", later)

        def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
            self.generic_visit(node)
            return _call("_course_not", [node.operand]) if isinstance(node.op, ast.Not) else node

    # The rewritten kernel finds the interpreter module's names among its globals.
    interp._course_and, interp._course_or, interp._course_not = _tile_and, _tile_or, _tile_not
    interp.FunctionRewriter.ast_transformer = Transformer()


_VISITS_VALUES = hasattr(interp.ASTTransformer, "visit_Compare")
"""Whether Triton visits the value of an assignment itself, as 3.9 does. A second visit would rewrite its comparisons twice."""


def _call(name: str, arguments: list[ast.expr]) -> ast.Call:
    return ast.Call(func=ast.Name(id=name, ctx=ast.Load()), args=arguments, keywords=[])


def _is_tile(value: Any) -> bool:
    return isinstance(value, interp.tl.tensor) and value.type.is_block()


def _tile_and(*operands: Callable[[], Any]) -> Any:
    value = operands[0]()
    for operand in operands[1:]:
        if _is_tile(value):
            value = value.logical_and(operand())
        elif value:
            value = operand()
    return value


def _tile_or(*operands: Callable[[], Any]) -> Any:
    value = operands[0]()
    for operand in operands[1:]:
        if _is_tile(value):
            value = value.logical_or(operand())
        elif not value:
            value = operand()
    return value


def _tile_not(value: Any) -> Any:
    return value.__not__() if _is_tile(value) else not value


# --- arithmetic that the interpreter gets wrong --------------------------------------------------------------------

NAN_IN_MAX = "NaN met tl.max or tl.min"


def _patch_arithmetic() -> None:
    """Stop at arithmetic on formats that the interpreter keeps as raw bits, and note NaN under `max` and `min`."""
    builder = interp.InterpreterBuilder
    for name in ("binary_op", "unary_op", "ternary_op", "create_fma", "create_dot"):
        setattr(builder, name, _refusing_raw_bits(getattr(builder, name)))
    if not hasattr(builder, "get_bf16"):
        builder.get_bf16 = _no_bf16_constant
    min_max = interp.ReduceOps.min_max

    @functools.wraps(min_max)
    def noted(self: Any, input: Any, val_reduce_op: Any, idx_reduce_op: Any = None) -> Any:
        data = (input[0] if isinstance(input, tuple) else input).handle.data
        if _hooks.observer is not None and data.dtype.kind == "f" and np.isnan(data).any():
            _hooks.observer.note(NAN_IN_MAX)  # np.nanmax skips it; torch's and IEEE's maximum would not
        return min_max(self, input, val_reduce_op, idx_reduce_op)

    interp.ReduceOps.min_max = noted


def _refusing_raw_bits(method: Any) -> Any:
    @functools.wraps(method)
    def refuse(self: Any, *args: Any, **kwargs: Any) -> Any:
        for argument in args[:3]:
            scalar = getattr(getattr(argument, "dtype", None), "scalar", None)
            if scalar is not None and (scalar.is_bf16() or scalar.is_fp8()):
                raise _raw_bits(scalar)
        return method(self, *args, **kwargs)

    return refuse


def _raw_bits(kind: Any) -> CannotInterpret:
    return CannotInterpret(
        f"Triton's interpreter keeps {kind} as raw bits and cannot compute with it; "
        "convert with `.to(tl.float32)` before computing, as a kernel should for accuracy too"
    )


def _no_bf16_constant(self: Any, value: float) -> Any:
    raise _raw_bits("bf16")


# --- launches -----------------------------------------------------------------------------------------------------


def _patch_launch() -> None:
    original = interp.GridExecutor.__call__
    convert = interp._implicit_cvt

    @functools.wraps(original)
    def launched(self: Any, *args: Any, **kwargs: Any) -> None:
        if _hooks.observer is None:
            original(self, *args, **kwargs)
            return
        bound = _bind(self.fn, args, kwargs)
        launch = LaunchState(self.fn.__name__, (0, 0, 0), _plain_arguments(bound))
        self.grid = _checked_grid(self.grid, launch, bound)
        _hooks.argument_names = [name for name in bound if name not in self.constexprs]
        _hooks.launch, _hooks.depth = launch, 0
        _hooks.prepared = set()
        try:
            original(self, *args, **kwargs)
        finally:
            _hooks.launch = None
        _hooks.observer.launch_ends(launch)

    def converted(argument: Any) -> Any:
        launch = _hooks.launch
        if launch is None:
            return convert(argument)
        if _hooks.depth == 0:
            _hooks.name = _hooks.argument_names.pop(0) if _hooks.argument_names else "?"
        _hooks.depth += 1
        try:
            result = convert(argument)
        finally:
            _hooks.depth -= 1
        tensor = getattr(argument, "base", argument)
        if isinstance(tensor, torch.Tensor) and isinstance(getattr(result, "handle", None), interp.TensorHandle):
            result.handle.attr[_VIEWS] = (len(launch.tensors),)
            launch.tensors.append((_hooks.name, tensor))
            launch.places.append(Place.of(tensor))
        return result

    prepare = interp._patch_lang

    @functools.wraps(prepare)
    def prepared(fn: Any) -> Any:
        # Done by the interpreter at each call of a helper, such as `tl.sum`; once a launch is enough, and faster.
        module = id(fn.__globals__)
        if _hooks.launch is not None and module in _hooks.prepared:
            return None
        _hooks.prepared.add(module)
        return prepare(fn)

    set_index = interp.InterpreterBuilder.set_grid_idx

    @functools.wraps(set_index)
    def indexed(self: Any, x: int, y: int, z: int) -> None:
        set_index(self, x, y, z)
        if _hooks.observer is not None and _hooks.launch is not None:
            _hooks.observer.program_begins(_hooks.launch, (x, y, z))

    call = interp.InterpretedFunction.__call__

    @functools.wraps(call)
    def called(self: Any, *args: Any, **kwargs: Any) -> Any:
        if _hooks.observer is not None and _hooks.launch is None:
            name = self.fn.__name__
            raise TypeError(f"`{name}` was called without a grid, as if it were a Python function; write `{name}[grid](…)`")
        return call(self, *args, **kwargs)

    interp.GridExecutor.__call__ = launched
    interp.InterpretedFunction.__call__ = called
    interp._implicit_cvt = converted
    interp._patch_lang = prepared
    interp.InterpreterBuilder.set_grid_idx = indexed


def _patch_tuning() -> None:
    """Let `@triton.autotune` take its first configuration: there is nothing here to measure."""
    tuner = autotuner.Autotuner
    tuner._bench = lambda self, *args, config, **meta: [0.0, 0.0, 0.0]


def _bind(fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    spec = inspect.getfullargspec(fn)
    names = spec.args + spec.kwonlyargs  # a kernel may have the latter from Triton 3.9 on
    return inspect.getcallargs(fn, *args, **{k: v for k, v in kwargs.items() if k in names})


def _plain_arguments(bound: dict[str, Any]) -> dict[str, Any]:
    plain = {name: getattr(value, "value", value) for name, value in bound.items()}
    return {name: value for name, value in plain.items() if isinstance(value, (bool, int, float, str))}


def _checked_grid(grid: Any, launch: LaunchState, bound: dict[str, Any]) -> Any:
    """The grid as the compiled launcher takes it: lists too, and only within the hardware's limits.

    A function is given the arguments as they were passed (`bound`), as by a compiled launch, not the interpreter's own.
    """

    def resolved(arguments: dict[str, Any]) -> tuple[Any, ...]:
        sizes = grid(dict(bound)) if callable(grid) else grid
        if isinstance(sizes, list):
            sizes = tuple(sizes)
        if not isinstance(sizes, tuple) or not 1 <= len(sizes) <= 3:
            raise TypeError(f"the grid must be a tuple of 1 to 3 numbers of programs, for example (4,), not {sizes!r}")
        for axis, (size, limit) in enumerate(zip(sizes, GRID_LIMITS, strict=False)):
            if size < 0:
                raise ValueError(f"the grid asks for {size} programs along axis {axis}; it must be 0 or more")
            if size > limit:
                raise ValueError(f"the grid asks for {size} programs along axis {axis}; a GPU takes at most {limit} there")
        launch.grid = (*sizes, *(1,) * (3 - len(sizes)))
        assert _hooks.observer is not None
        _hooks.observer.launch_begins(launch)
        return sizes

    return resolved


# --- reductions ---------------------------------------------------------------------------------------------------


def _patch_reductions() -> None:
    """Let a custom `tl.reduce` (and what is made of one, such as `tl.flip`) combine whole slices, not single elements.

    A combining function is elementwise, so the result is the same, and hundreds of times faster. One that branches keeps to
    single elements: an `if` on a tile would take one way for all of them.
    """
    one_by_one = interp.ReduceOps.generic_reduce

    @functools.wraps(one_by_one)
    def by_slices(self: Any, tiles: Any) -> Any:
        jumps = (step.opname for step in dis.get_instructions(self.combine_fn.fn))
        if self.axis is None or any("JUMP" in name for name in jumps):
            return one_by_one(self, tiles)

        def slices(place: int) -> list[Any]:
            return [self.to_tensor(np.take(tile.handle.data, place, self.axis), tile.dtype) for tile in tiles]

        so_far = slices(0)
        for place in range(1, tiles[0].handle.data.shape[self.axis]):
            combined = self.combine_fn.fn(*so_far, *slices(place))
            combined = combined if isinstance(combined, tuple) else (combined,)
            if not all(isinstance(value, interp.tl.tensor) for value in combined):
                return one_by_one(self, tiles)
            so_far = [self.to_tensor(_data(value), tile.dtype) for value, tile in zip(combined, tiles, strict=True)]
        if self.keep_dims:
            return [self.to_tensor(np.expand_dims(_data(value), self.axis), value.dtype) for value in so_far]
        return so_far

    interp.ReduceOps.generic_reduce = by_slices


def _data(value: Any) -> Any:
    """A tensor's values: an array of its shape, or a NumPy scalar."""
    data = value.handle.data
    return data if value.type.is_block() else data.reshape(-1)[0]


# --- pointers -----------------------------------------------------------------------------------------------------


def _patch_pointers() -> None:
    """Let every operation that makes a pointer from pointers carry on which views it may point into."""
    builder = interp.InterpreterBuilder
    for name in (
        "create_addptr create_broadcast create_splat create_unsplat create_expand_dims create_reshape create_trans "
        "create_select create_cat create_join create_bitcast create_int_to_ptr create_ptr_to_int create_gather"
    ).split():
        if hasattr(builder, name):
            setattr(builder, name, _carrying(getattr(builder, name)))
    # From Triton 3.8 on, block pointers are no handles: 3.8 makes a tile of pointers of them, and 3.9 has none.
    for handle in (getattr(interp, "BlockPointerHandle", None), interp.TensorDescHandle):
        if handle is not None:
            handle.materialize_pointers = _carrying_base(handle.materialize_pointers)


def _carrying(method: Any) -> Any:
    @functools.wraps(method)
    def carry(self: Any, *args: Any, **kwargs: Any) -> Any:
        result = method(self, *args, **kwargs)
        if isinstance(result, interp.TensorHandle):
            views: tuple[int, ...] = ()
            for argument in args:
                if isinstance(argument, interp.TensorHandle):
                    views += argument.attr.get(_VIEWS, ())
            if views:
                result.attr[_VIEWS] = tuple(dict.fromkeys(views))
        return result

    return carry


def _carrying_base(method: Any) -> Any:
    @functools.wraps(method)
    def carry(self: Any, *args: Any) -> Any:
        pointers, mask = method(self, *args)
        pointers.attr[_VIEWS] = self.base.attr.get(_VIEWS, ())
        return pointers, mask

    return carry


# --- memory -------------------------------------------------------------------------------------------------------


def _patch_memory() -> None:
    builder = interp.InterpreterBuilder
    semantic_load = interp.TritonSemantic.load
    load, store = builder.create_masked_load, builder.create_masked_store
    rmw, cas = builder.create_atomic_rmw, builder.create_atomic_cas

    @functools.wraps(semantic_load)
    def remembered(self: Any, ptr: Any, mask: Any, other: Any, *args: Any, **kwargs: Any) -> Any:
        # A zero `other` of one element is dropped on the way to the builder; a compiled kernel keeps it.
        _hooks.other_given = other is not None
        try:
            return semantic_load(self, ptr, mask, other, *args, **kwargs)
        finally:
            _hooks.other_given = False

    @functools.wraps(load)
    def hooked_load(self: Any, ptrs: Any, mask: Any, other: Any, *args: Any, **kwargs: Any) -> Any:
        observer, launch = _hooks.observer, _hooks.launch
        if observer is None or launch is None:
            return load(self, ptrs, mask, other, *args, **kwargs)
        active = _mask_of(ptrs, mask)
        given = other is not None or _hooks.other_given
        kind = "atomic" if _hooks.atomic else "load"
        inside = _observe(observer, launch, kind, ptrs, active, given, self.grid_idx)
        dtype = interp._get_np_dtype(ptrs.get_element_ty())
        if other is not None:
            fill = np.array(np.broadcast_to(other.data, ptrs.data.shape), dtype=dtype)
        else:
            fill = np.full(ptrs.data.shape, 0 if given else observer.poison(dtype), dtype=dtype)
        fill[active & ~inside] = observer.poison(dtype)
        value = interp._interpreter.load(ptrs.data, active & inside, fill, dtype)
        return interp.TensorHandle(value, ptrs.get_element_ty())

    @functools.wraps(store)
    def hooked_store(self: Any, ptrs: Any, value: Any, mask: Any, *args: Any, **kwargs: Any) -> Any:
        observer, launch = _hooks.observer, _hooks.launch
        if observer is None or launch is None:
            return store(self, ptrs, value, mask, *args, **kwargs)
        active = _mask_of(ptrs, mask)
        kind = "atomic" if _hooks.atomic else "store"
        inside = _observe(observer, launch, kind, ptrs, active, True, self.grid_idx)
        return store(self, ptrs, value, _handle_of(active & inside), *args, **kwargs)

    @functools.wraps(rmw)
    def hooked_rmw(self: Any, op: Any, ptr: Any, value: Any, mask: Any, *args: Any, **kwargs: Any) -> Any:
        observer, launch = _hooks.observer, _hooks.launch
        if observer is None or launch is None:
            return rmw(self, op, ptr, value, mask, *args, **kwargs)
        active = _mask_of(ptr, mask)
        inside = _observe(observer, launch, "atomic", ptr, active, True, self.grid_idx)
        return rmw(self, op, ptr, value, _handle_of(active & inside), *args, **kwargs)

    @functools.wraps(cas)
    def hooked_cas(self: Any, ptr: Any, cmp: Any, value: Any, *args: Any, **kwargs: Any) -> Any:
        observer, launch = _hooks.observer, _hooks.launch
        if observer is None or launch is None:
            return cas(self, ptr, cmp, value, *args, **kwargs)
        inside = _observe(observer, launch, "atomic", ptr, _mask_of(ptr, None), True, self.grid_idx)
        if not inside.all():  # there is no mask to leave the stray lanes out with
            raise StrayAccess("tl.atomic_cas outside its tensor")
        return cas(self, ptr, cmp, value, *args, **kwargs)

    barrier = builder.create_barrier

    @functools.wraps(barrier)
    def hooked_barrier(self: Any) -> Any:
        if _hooks.observer is not None:
            _hooks.observer.barrier()
        return barrier(self)

    builder.create_barrier = hooked_barrier
    interp.TritonSemantic.load = remembered
    builder.create_masked_load, builder.create_masked_store = hooked_load, hooked_store
    builder.create_atomic_rmw, builder.create_atomic_cas = hooked_rmw, hooked_cas
    for name in ("create_atomic_load", "create_atomic_store", "create_atomic_poll"):  # from Triton 3.9 on
        if hasattr(builder, name):
            setattr(builder, name, _atomically(getattr(builder, name)))


def _atomically(method: Any) -> Any:
    """Loads and stores that this method makes are atomic ones."""

    @functools.wraps(method)
    def atomically(self: Any, *args: Any, **kwargs: Any) -> Any:
        _hooks.atomic = True
        try:
            return method(self, *args, **kwargs)
        finally:
            _hooks.atomic = False

    return atomically


def _observe(
    observer: Observer, launch: LaunchState, kind: str, ptrs: Any, active: Any, other: bool, program: Any
) -> np.ndarray:
    """Find out which lanes lie inside the view that their pointer came from, tell the observer, and return them."""
    width = max(1, ptrs.get_element_ty().primitive_bitwidth // 8)
    candidates = ptrs.attr.get(_VIEWS) or tuple(range(len(launch.places)))
    addresses = np.ascontiguousarray(ptrs.data)
    inside_any = np.zeros(addresses.shape, dtype=np.bool_)
    frame = _answer_frame()
    for position, view in enumerate(candidates):
        offsets, inside = launch.places[view].locate(addresses, width)
        inside_any |= inside
        if len(candidates) == 1:
            observer.access(launch, Access(kind, program, view, offsets, inside, active, other, frame))
        elif (active & inside).any() or position == len(candidates) - 1:
            # A pointer chosen among several tensors: each view gets its own lanes, the last one the strays.
            mine = active & inside if position < len(candidates) - 1 else active & (inside | ~inside_any)
            observer.access(launch, Access(kind, program, view, offsets, inside, mine, other, frame))
    return inside_any


def _answer_frame() -> FrameType:
    """The innermost frame that belongs neither to Triton nor to this course: the kernel's own line."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        name = frame.f_code.co_filename
        if not name.startswith(_OWN_FOLDERS):
            return frame
        frame = frame.f_back
    return sys._getframe(1)


_OWN_FOLDERS = (inspect.getfile(triton).rsplit("/", 1)[0], __file__.rsplit("/", 1)[0])


def _mask_of(ptrs: Any, mask: Any) -> np.ndarray:
    if mask is None:
        return np.ones(ptrs.data.shape, dtype=np.bool_)
    data = mask.data if isinstance(mask, interp.TensorHandle) else mask  # block pointers hand over a bare array
    return np.array(np.broadcast_to(data, ptrs.data.shape), dtype=np.bool_)


def _handle_of(mask: np.ndarray) -> Any:
    return interp.TensorHandle(mask, interp.tl.int1)


def launching() -> bool:
    """Whether a kernel is being launched or run at this moment."""
    return _hooks.launch is not None
