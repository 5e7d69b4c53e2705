"""A program on rows of fixed memory: one call for all steps of a trajectory, without making anything new."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np

from robodyn_ros.engine import Kernel, Program
from robodyn_ros.engine.codegen import batch_source
from robodyn_ros.engine.library import find_library
from robodyn_ros.errors import InputError
from robodyn_ros.robot.pose import Array


class Batch:
    """See the module."""

    def __init__(
        self, program: Program, parameters: Array, inputs: Sequence[Array], outputs: Sequence[Array], compiled: bool
    ) -> None:
        """
        Args:
            program: what is run.
            parameters: its runtime parameters, read in place.
            inputs: one array for each input, (K, width), C-contiguous, read in place.
            outputs: one array for each result, (K, *shape), written in place.
            compiled: use C where there is a compiler.
        """
        self._inputs, self._outputs, self._parameters = inputs, outputs, parameters
        self._loop: Any = None
        name = f"{program.name}_batch"
        library = find_library(name, program.key, lambda: batch_source(program)) if compiled else None
        if library is None:
            self._call = Kernel(program, parameters, compiled=False).call
            return
        # Holding on to the interpreter's lock: no other thread takes over in the middle of a control period.
        self._loop = ctypes.PyDLL(str(library))[name]
        self._count = ctypes.c_longlong(len(inputs[0]))
        self._arg = (ctypes.c_void_p * (len(inputs) + 1))(*(a.ctypes.data for a in (*inputs, parameters)))
        self._res = (ctypes.c_void_p * len(outputs))(*(a.ctypes.data for a in outputs))

    def __call__(self) -> bool:
        """Run it; False if an input is not finite."""
        if self._loop is not None:
            return not self._loop(self._count, self._arg, self._res)
        try:
            with np.errstate(over="ignore", invalid="ignore"):
                results = self._call(*self._inputs)
        except InputError:
            return False
        for output, result in zip(self._outputs, results if len(self._outputs) > 1 else (results,), strict=True):
            output[:] = result
        return True
