"""A program that is called with NumPy arrays.

Generated C where there is a compiler (``casadi.external``), CasADi's virtual machine where there is none; both work
on memory that the kernel owns (``casadi.Function.buffer``), so that a call allocates nothing but its result. A kernel
belongs to one thread.
"""

from __future__ import annotations

import ctypes
import logging
from functools import cached_property, lru_cache
from math import isfinite
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from robodyn_ros.engine import cache
from robodyn_ros.engine.compiler import CompilationError, find_compiler
from robodyn_ros.engine.program import Program
from robodyn_ros.errors import InputError

Array = NDArray[np.float64]
log = logging.getLogger("robodyn_ros")


class Kernel:
    """A program, ready to be called."""

    def __init__(self, program: Program, parameters: ArrayLike, compiled: bool = True) -> None:
        """
        Args:
            program: what to run.
            parameters: the program's runtime parameters.
            compiled: use C where there is a compiler; False keeps to CasADi's virtual machine.

        """
        self._program = program
        self._library = _library(program) if compiled else None
        if self._library is not None:
            self._function = ca.external(program.name, str(self._library))
        else:
            self._function = program.function()
        widths_in, widths_out = program.widths
        self._inputs = [np.zeros(width) for width in widths_in]
        self.parameters = np.array(parameters, dtype=np.float64)
        self._outputs = [np.zeros(width) for width in widths_out]
        self._results = [out.reshape(shape) for out, shape in zip(self._outputs, program.outputs, strict=False)]
        self._buffer, self._evaluate = self._function.buffer()
        for index, array in enumerate([*self._inputs, self.parameters]):
            self._buffer.set_arg(index, array.data)
        for index, array in enumerate(self._outputs):
            self._buffer.set_res(index, array.data)
        self._slots = [array.data for array in self._inputs]
        self._check = self._outputs[-1].data
        self._single = self._results[0] if len(self._results) == 1 else None

    def __call__(self, *values: Any) -> Any:
        """One state, arrays of shape (n,), or N of them, shape (N, n).

        Raises:
            InputError: an array has the wrong shape, is not of numbers, or holds a NaN or an infinity.

        """
        try:
            # Assigning between memory views checks type and shape, at a third of what NumPy's own checks cost.
            for slot, value in zip(self._slots, values, strict=True):
                slot[:] = value
        except (TypeError, ValueError, BufferError):
            return self._call_any(values)
        self._evaluate()
        if not isfinite(self._check[0]):
            self._refuse_non_finite(values)
        if self._single is not None:
            return self._single.copy()
        return tuple(result.copy() for result in self._results)

    def _call_any(self, values: tuple[ArrayLike, ...]) -> Any:
        """The way for everything but float64 arrays of shape (n,)."""
        names = [name for name, _ in self._program.inputs]
        if len(values) != len(names):
            raise InputError("arguments", f"{', '.join(names)} are needed, {len(values)} were given")
        arrays = [
            _as_states(name, value, len(slot)) for name, value, slot in zip(names, values, self._slots, strict=True)
        ]
        shapes = {array.shape for array in arrays}
        if len(shapes) > 1:
            given = ", ".join(f"{name} {array.shape}" for name, array in zip(names, arrays, strict=True))
            raise InputError("arguments", f"must all be of one shape, not {given}")
        return self(*arrays) if arrays[0].ndim == 1 else self._call_batch(arrays)

    def _call_batch(self, arrays: list[Array]) -> Any:
        count = len(arrays[0])
        outputs = [np.empty((count, width)) for width in self._program.widths[1]]
        if self._batch is not None:
            arg = (ctypes.c_void_p * (len(arrays) + 1))(*(a.ctypes.data for a in arrays), self.parameters.ctypes.data)
            res = (ctypes.c_void_p * len(outputs))(*(output.ctypes.data for output in outputs))
            self._batch(count, arg, res)
        else:
            for row in range(count):
                for slot, array in zip(self._inputs, arrays, strict=True):
                    slot[:] = array[row]
                self._evaluate()
                for output, result in zip(outputs, self._outputs, strict=True):
                    output[row] = result
        if not np.isfinite(outputs[-1]).all():
            self._refuse_non_finite(arrays)
        results = [
            output.reshape((count, *shape)) for output, shape in zip(outputs, self._program.outputs, strict=False)
        ]
        return results[0] if self._single is not None else tuple(results)

    @cached_property
    def _batch(self) -> Any:
        if self._library is None:
            return None
        function = getattr(ctypes.CDLL(str(self._library)), f"{self._program.name}_batch")
        function.argtypes = [ctypes.c_longlong, ctypes.c_void_p, ctypes.c_void_p]
        function.restype = None
        return function

    def _refuse_non_finite(self, values: object) -> None:
        """Name the culprit. Finite numbers whose sum overflows are nobody's fault."""
        for (name, _), value in zip(self._program.inputs, values, strict=True):  # type: ignore[call-overload]
            if not np.isfinite(value).all():
                raise InputError(name, "must be finite, it holds a NaN or an infinity", value)


def _as_states(name: str, value: ArrayLike, length: int) -> Array:
    """A contiguous float64 array of shape (length,) or (N, length)."""
    try:
        array = np.asarray(value)
    except ValueError as cause:
        raise InputError(name, f"must be an array of shape ({length},) or (N, {length})", value) from cause
    if array.dtype.kind not in "fiu":
        raise InputError(name, f"must be real numbers, not {array.dtype}", value)
    if array.ndim not in (1, 2) or array.shape[-1] != length:
        raise InputError(name, f"must be of shape ({length},) or (N, {length}), not {array.shape}", value)
    return np.ascontiguousarray(array, dtype=np.float64)


def _library(program: Program) -> Path | None:
    """The compiled program: from the cache, else made now; None where that cannot be."""
    compiler = find_compiler()
    if compiler is None:
        _say_once("no C compiler found (cc, gcc, clang): running on CasADi's virtual machine, which is slower")
        return None
    key = f"{program.name}-{program.key}-{compiler.identity}"
    try:
        folder = cache.cache_folder()
        return cache.lookup(folder, key) or cache.store(folder, key, compiler.compile(program.source()))
    except (cache.CacheError, CompilationError, OSError) as cause:
        _say_once(f"{cause}: running on CasADi's virtual machine, which is slower")
        return None


@lru_cache(maxsize=16)
def _say_once(message: str) -> None:
    log.warning(message)
