# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A program that is called with NumPy arrays.

It runs as generated C where there is a compiler, and on CasADi's virtual machine where there is none. Both work on
memory that the kernel owns, so that a call allocates nothing but its result. A kernel belongs to one thread.

There are two ways to call it. The plain one takes arrays and returns new ones::

    tau = kernel.call(q, qd, qdd)

The other one works in place, for loops at 1 kHz and above. It checks nothing and allocates nothing::

    q, qd, qdd = kernel.inputs
    (tau,) = kernel.results
    q[:] = ...
    kernel.evaluate()
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from functools import cached_property, lru_cache, partial
from math import isfinite, nan
from types import CodeType
from typing import Any

import numpy as np

from robodyn_ros.checks import as_states, is_finite, refuse_non_finite
from robodyn_ros.engine.c_interface import addresses_of, batch_function, run_library
from robodyn_ros.engine.casadi import has_casadi, missing
from robodyn_ros.engine.program import Program
from robodyn_ros.engine.tracing import inlined, is_traced
from robodyn_ros.errors import NotReadyError
from robodyn_ros.robot.pose import Array

LEAST = 4096
"""Number of states from which another thread saves time."""

FEW = 256
"""Up to this number of states the code for one state runs on each in turn, so that no other code is compiled."""

_NO_ARGUMENTS = 0x0004  # METH_NOARGS


class Kernel:
    """A program, ready to be called.

    Attributes:
        inputs: one array (width,) for each input, which ``evaluate`` reads.
        parameters: the runtime parameters, which ``evaluate`` reads too.
        results: one array for each result, which ``evaluate`` writes.
        evaluate: runs the program on those arrays.
        call: the plain call, for one state, arrays (n,), or for N states, arrays (N, n). It raises InputError if an
            array has the wrong shape, is not of numbers, or holds a NaN or an infinity.
    """

    def __init__(self, program: Program, parameters: Array, *, compiled: bool = True, threads: int = 1) -> None:
        """
        Args:
            program: the program to run.
            parameters: the program's runtime parameters; the kernel reads this very array whenever it runs.
            compiled: use C where there is a compiler; False keeps to CasADi's virtual machine.
            threads: the greatest number of threads that share the work on many states.
        """
        self._program = program
        self._compiled = compiled
        self._threads = threads
        widths_in, widths_out = program.widths
        self.parameters = parameters
        self.inputs = tuple(np.zeros(width) for width in widths_in)
        self._flat, self._check = tuple(np.zeros(width) for width in widths_out), np.zeros(1)
        self.results = tuple(flat.reshape(shape) for flat, shape in zip(self._flat, program.outputs, strict=True))
        self._names = [name for name, _ in program.inputs]
        self.evaluate: Callable[[], object] = self._evaluator()

    def __deepcopy__(self, memo: dict[int, Any]) -> Kernel:
        """A kernel with memory of its own, and with the copy of the parameters that whoever is copied has, too."""
        return Kernel(self._program, deepcopy(self.parameters, memo), compiled=self._compiled, threads=self._threads)

    def _evaluator(self) -> Callable[[], object]:
        """The program as a function without arguments that works on this kernel's arrays."""
        program = self._program
        library = run_library(program) if self._compiled else None
        if library is not None:
            arrays = (*self.inputs, self.parameters, *self._flat, self._check)
            return bound_function(library, f"{program.name}_python", arrays)
        if not has_casadi():
            why = "the cache folder holds nothing that `robodyn compile` has made for it on a machine of this kind"
            raise NotReadyError(f"{program.name} of this arm cannot run: {why}, and {missing()}")
        buffer, evaluate = program.function().buffer()
        for index, array in enumerate((*self.inputs, self.parameters)):
            buffer.set_arg(index, array.data)
        for index, array in enumerate(self._flat):
            buffer.set_res(index, array.data)
        self._buffer = buffer  # evaluate does not keep it alive

        def run() -> None:
            evaluate()
            self._check[0] = 0.0 if all(map(is_finite, self.inputs)) else nan

        return run

    @cached_property
    def call(self) -> Callable[..., Any]:
        """The plain call, as a function written for the program's inputs, because each operation counts.

        Assigning between memory views checks type and shape, at a third of the cost of NumPy's own checks.
        """
        names = self._names
        arguments = ", ".join(names)
        fill = "; ".join(f"slot_{name}[:] = {name}" for name in names)
        result = "copy(results[0])" if len(self.results) == 1 else "tuple(map(copy, results))"
        code = f"""
def call({arguments}):
    try:
        {fill}
    except (TypeError, ValueError, BufferError):
        return otherwise({arguments})
    evaluate()
    if not isfinite(check[0]):
        refuse(({arguments},))
    return {result}
"""
        scope: dict[str, Any] = {f"slot_{name}": slot.data for name, slot in zip(names, self.inputs, strict=True)}
        scope |= {
            "evaluate": self.evaluate,
            "isfinite": isfinite,
            "check": self._check.data,
            "results": self.results,
            "copy": np.ndarray.copy,
            "otherwise": self._call_otherwise,
            "refuse": partial(refuse_non_finite, names),
        }
        exec(_compiled(code), scope)
        return scope["call"]

    def _call_otherwise(self, *values: object) -> Any:
        """Call with anything but float64 arrays of shape (n,)."""
        if is_traced(values):
            return inlined(self._program, self.parameters, values)
        arrays = as_states(self._names, values, self._program.widths[0])
        return self.call(*arrays) if arrays[0].ndim == 1 else self._call_batch(arrays)

    def _call_batch(self, arrays: list[Array]) -> Any:
        count = len(arrays[0])
        outputs = [np.empty((count, *shape)) for shape in self._program.outputs]
        if count > FEW and self._batch is not None:
            bad = _in_parts(self._batch, arrays, self.parameters, outputs, self._threads)
        else:
            bad = self._one_by_one(arrays, outputs)
        if bad:
            refuse_non_finite(self._names, arrays)
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    def _one_by_one(self, arrays: list[Array], outputs: list[Array]) -> bool:
        """Run the code for one state on each state; the kernel's own arrays are restored afterwards."""
        bad, own = False, (*self.inputs, *self._flat)
        before = [array.copy() for array in own]
        for row in range(len(arrays[0])):
            for slot, array in zip(self.inputs, arrays, strict=True):
                slot[:] = array[row]
            self.evaluate()
            bad |= not isfinite(self._check[0])
            for output, result in zip(outputs, self.results, strict=True):
                output[row] = result
        for array, kept in zip(own, before, strict=True):
            array[:] = kept
        return bad

    @cached_property
    def _batch(self) -> Any:
        """The compiled loop over many states, or None without a compiler; it is made when it is first needed."""
        return batch_function(self._program) if self._compiled else None


@lru_cache(maxsize=64)
def _compiled(code: str) -> CodeType:
    """A call, which many kernels have in common, as Python's compiler makes it."""
    return compile(code, "<call of a kernel>", "exec")


class _Method(ctypes.Structure):
    """PyMethodDef."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


class _Module(str):
    """The name of this module, with the objects that must live as long as the function."""

    memory: tuple[object, ...]


def bound_function(library: Any, name: str, arrays: Sequence[Array]) -> Callable[[], Any]:
    """A function of a library as a Python function without arguments, which keeps the arrays alive.

    The function is one of CPython's stable ABI: ``PyObject* f(PyObject* self, PyObject* none)``, where ``self`` is a
    capsule with the addresses of the arrays (https://docs.python.org/3/c-api/structures.html, ``PyMethodDef`` and
    ``METH_NOARGS``). A call costs as much as one of a built-in function, about 0.02 µs.

    ``casadi.Function.buffer()`` does the same for 0.06 µs, because CasADi 3.8 releases the interpreter's lock and
    acquires it again around each call. That takes longer than the arithmetic of a small arm, and it invites another
    thread to take over in the middle of a control period.

    Args:
        library: the shared library, loaded.
        name: name of the function in it.
        arrays: the arrays that the function works on.
    """
    new_capsule = _from_python("PyCapsule_New", ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    new_function = _from_python("PyCFunction_NewEx", ctypes.c_void_p, ctypes.py_object, ctypes.py_object)
    function = ctypes.cast(library[name], ctypes.c_void_p)
    method = _Method(name.encode(), function.value, _NO_ARGUMENTS, b"Run on the arrays that it was bound to.")
    addresses = addresses_of(arrays)
    capsule = new_capsule(ctypes.addressof(addresses), None, None)
    module = _Module(__name__)  # the function's __module__, which may be any object and lives as long as it does
    module.memory = (method, addresses, *arrays)
    return new_function(ctypes.addressof(method), capsule, module)


def _from_python(name: str, *arguments: type) -> Callable[..., Any]:
    """A function of CPython that gives a new object."""
    return ctypes.PYFUNCTYPE(ctypes.py_object, *arguments)((name, ctypes.pythonapi))


def _in_parts(loop: Any, inputs: list[Array], parameters: Array, outputs: list[Array], threads: int) -> bool:
    """Run a compiled loop on all states. ctypes releases the interpreter's lock, so threads run side by side.

    Returns:
        True if an input is not finite.
    """
    count = len(inputs[0])
    parts = max(1, min(threads, count // LEAST))
    bounds = [count * part // parts for part in range(parts + 1)]

    def run(begin: int, end: int) -> int:
        arg = addresses_of([*(array[begin:end] for array in inputs), parameters])
        return int(loop(ctypes.c_longlong(end - begin), arg, addresses_of(array[begin:end] for array in outputs)))

    if parts == 1:
        return bool(run(0, count))
    return any([*_pool(threads).map(run, bounds[:-1], bounds[1:])])


@lru_cache(maxsize=4)
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix="robodyn")
