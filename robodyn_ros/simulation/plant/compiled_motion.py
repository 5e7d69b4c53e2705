"""C loops around an arm's compiled forward dynamics and an integrator's step: what makes a motion one call.

They are compiled into one library for each arm and integrator. ``rollout`` integrates the bare equations of motion from
first state to last. ``stretch`` integrates an arm with friction, stops and limits for as long as the mode that it is in
lasts (:mod:`robodyn_ros.simulation.plant.modes`), and gives back how many steps that was: what comes next, a joint at
its stop or at rest, is for Python to find and resolve, with ``smooth``, a single step of any length.
"""

from __future__ import annotations

import ctypes
import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from robodyn_ros.dynamics.base import Dynamics
from robodyn_ros.dynamics.compiled import CompiledDynamics
from robodyn_ros.engine.codegen import scalar_source
from robodyn_ros.engine.library import find_library
from robodyn_ros.robot.pose import Array
from robodyn_ros.simulation.integrators.base import Integrator
from robodyn_ros.simulation.plant.joint_effects import JointEffects
from robodyn_ros.simulation.plant.modes import Mode, Modes

CODE = Path(__file__).with_name("motion.c").read_text(encoding="utf-8")

ROWS = (
    *("Q", "V", "EFFORT"),
    *("DIRECTION", "HELD", "OVER", "CONTACT"),
    *("Q_LOW", "Q_HIGH", "V_LOW", "V_HIGH", "R_LOW", "R_HIGH"),
    *("SPEED", "VISCOUS", "COULOMB", "EXCESS", "RATE", "LOWER", "UPPER", "STIFFNESS", "DISSIPATION"),
)
"""What ``stretch`` and ``smooth`` work on, a frame (len(ROWS), n): state and effort, the mode, the arm's constants."""

MODE = slice(ROWS.index("DIRECTION"), ROWS.index("R_HIGH") + 1)

CONSTANTS = slice(ROWS.index("SPEED"), len(ROWS))

_libraries: dict[tuple[str, str], Any] = {}


def make_frame(joints: JointEffects) -> Array:
    """A frame of an arm, its constants filled in, (len(ROWS), n)."""
    friction, stops, velocity_limit = joints
    frame = np.zeros((len(ROWS), len(velocity_limit)))
    frame[CONSTANTS] = (
        *(velocity_limit, friction.viscous, friction.coulomb, friction.excess, friction.rate),
        *(stops.lower, stops.upper, stops.stiffness, stops.dissipation),
    )
    return frame


def motion_source(dynamics: CompiledDynamics, integrator: Integrator) -> str:
    """The C code that stands behind that of the arm's forward dynamics."""
    code = CODE.replace("@advance", integrator.code).replace("@rows", ", ".join(ROWS))
    return f"#define N {dynamics.robot.n}\n#define P {len(dynamics.symbols)}\n{code}"


def motion_library(dynamics: Dynamics, integrator: Integrator) -> Any:
    """The library with ``rollout`` and ``stretch`` for an arm, or None where there is no compiler, or nothing to
    compile; looked up once in a process.
    """
    if not (isinstance(dynamics, CompiledDynamics) and dynamics.compiled and integrator.code):
        return None
    program = dynamics.program("forward")
    known = program.key, integrator.code
    if known in _libraries:
        return _libraries[known]
    code = motion_source(dynamics, integrator)
    key = hashlib.sha256(f"{program.key}\n{code}".encode()).hexdigest()[:32]
    path = find_library("motion", key, lambda: scalar_source(program) + code)
    if path is None:  # not remembered: there may be one later
        return None
    library = _libraries[known] = ctypes.CDLL(str(path))
    library.rollout.restype = library.stretch.restype = ctypes.c_longlong
    return library


Step = Callable[[Array, Array, float], tuple[Array, Array]]
"""q (n,), q̇ (n,), length of the step [s] → q and q̇ at its end, as new arrays."""


class SmoothMotion:
    """The motion within one mode: smooth, and so a matter of the integrator alone; in C where there is a compiler."""

    def __init__(self, dynamics: Dynamics, joints: JointEffects, integrator: Integrator, modes: Modes) -> None:
        """
        Args:
            dynamics: the equations of motion.
            joints: their friction, stops and velocity limits.
            integrator: takes the motion over its steps.
            modes: of the same arm.
        """
        self._modes = modes
        self._integrator = integrator
        self._library = motion_library(dynamics, integrator)
        if self._library is not None:
            assert isinstance(dynamics, CompiledDynamics)
            self._frame, self._end = make_frame(joints), np.zeros((2, dynamics.robot.n))
            arrays = (self._frame, dynamics.symbols, *self._end)
            self._alive = dynamics.symbols
            self._pointers = [ctypes.c_void_p(array.ctypes.data) for array in arrays]

    def within(self, mode: Mode, effort: Array) -> Step:
        """Steps in a mode, until the next call of this method.

        Args:
            mode: what the joints are doing.
            effort: held over the steps (n,) in [N·m] or [N].
        """
        acceleration = self._modes.acceleration(mode, effort)

        def step(q: Array, qd: Array, dt: float) -> tuple[Array, Array]:
            return self._integrator.step(acceleration, q, qd, dt)

        if self._library is None:
            return step
        frame, smooth = self._frame, self._library.smooth
        frame[2], frame[MODE] = effort, mode

        def compiled(q: Array, qd: Array, dt: float) -> tuple[Array, Array]:
            frame[0], frame[1] = q, qd
            if smooth(ctypes.c_double(dt), *self._pointers):
                return step(q, qd, dt)  # it says what went wrong
            return self._end[0].copy(), self._end[1].copy()

        return compiled
