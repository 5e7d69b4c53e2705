"""The passes in C, compiled together with the arm's dynamics: see :mod:`.ddp_passes` for what they do."""

from __future__ import annotations

import ctypes
import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from robodyn_ros.dynamics.compiled import CompiledDynamics
from robodyn_ros.engine import Program
from robodyn_ros.engine.codegen import batch_source, scalar_source
from robodyn_ros.engine.library import find_library
from robodyn_ros.planning import box_qp
from robodyn_ros.planning.ddp_memory import Memory
from robodyn_ros.planning.ddp_passes import Passes
from robodyn_ros.robot.pose import Array

PASSES = Path(__file__).with_name("passes.c").read_text(encoding="utf-8")
LINEARISATION = Path(__file__).with_name("linearisation.c").read_text(encoding="utf-8")

_libraries: dict[tuple[str, str], ctypes.PyDLL] = {}


class CompiledPasses:
    """As :class:`Passes`, a hundred times as fast."""

    def __init__(self, memory: Memory, passes: Any, linearisation: Any, parameters: Array) -> None:
        """
        Args:
            memory: what is worked on.
            passes: the library with ``forward`` and ``backward``.
            linearisation: the library with ``linearise``.
            parameters: the runtime parameters of the arm's dynamics, which change in place.
        """
        m = memory
        derived = m.A, m.B, m.lx, m.lu, m.lxx, m.lux, m.luu, m.vx, m.vxx
        wanted, feedback = (m.u, m.lower, m.upper), (m.k, m.K)
        self._steps = m.steps
        self._linearise = _bound(linearisation.linearise, m.steps, (m.h, m.x, m.u, parameters, m.A, m.B))
        self._backward = _bound(passes.backward, m.steps, (*derived, *wanted, *feedback, m.expected))
        known = m.h, m.x, m.u, *feedback, m.lower, m.upper, parameters
        self._forward = _bound(passes.forward, m.steps, (*known, m.x_new, m.u_new))

    def linearise(self) -> None:
        """See :class:`Passes`."""
        self._linearise()

    def backward(self, mu: float) -> bool:
        """See :class:`Passes`."""
        return self._backward(ctypes.c_double(mu)) < 0

    def forward(self, alpha: float) -> bool:
        """See :class:`Passes`."""
        return self._forward(ctypes.c_double(alpha)) == self._steps


def make_passes(
    memory: Memory, dynamics: CompiledDynamics, motion: Program, parameters: Array
) -> Passes | CompiledPasses:
    """The passes: in C where there is a compiler, else in Python.

    Args:
        memory: what they work on.
        dynamics: the arm's model.
        motion: its accelerations with their derivatives.
        parameters: what compiled functions read.
    """
    names = ("ITERATIONS", "TOLERANCE", "ARMIJO", "SHRINK", "SHORTEST")
    n = f"#define N {dynamics.robot.n}\n"
    constants = "".join(f"#define {name} {getattr(box_qp, name)!r}\n" for name in names)
    if dynamics.compiled:
        passes = _library("ddp_passes", dynamics.program("forward"), scalar_source, n + constants + PASSES)
        linearisation = _library("ddp_linearisation", motion, batch_source, n + LINEARISATION)
        if passes is not None and linearisation is not None:
            return CompiledPasses(memory, passes, linearisation, parameters)
    return Passes(memory, dynamics, motion, parameters)


def _library(name: str, program: Program, source: Callable[[Program], str], code: str) -> ctypes.PyDLL | None:
    key = hashlib.sha256(f"{program.key}\n{code}".encode()).hexdigest()[:32]
    if (name, key) not in _libraries:
        path = find_library(name, key, lambda: source(program) + code)
        if path is None:  # not remembered: there may be one later
            return None
        # Holding on to the interpreter's lock: no other thread takes over in the middle of a control period.
        _libraries[name, key] = ctypes.PyDLL(str(path))
    return _libraries[name, key]


def _bound(function: Any, steps: int, arrays: tuple[Array, ...]) -> Callable[..., int]:
    """A function of a library on these arrays, which it keeps alive."""
    function.restype = ctypes.c_longlong
    addresses = [ctypes.c_void_p(array.ctypes.data) for array in arrays]
    count = ctypes.c_longlong(steps)

    def call(*numbers: ctypes.c_double, _alive: tuple[Array, ...] = arrays) -> int:
        return int(function(count, *numbers, *addresses))

    return call
