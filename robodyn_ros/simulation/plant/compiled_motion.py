# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The compiled library of ``motion.c``: loops over the steps of an arm's motion, in one call from Python.

One library is compiled for each arm and integrator, from the arm's forward dynamics, the integrator's step and
``motion.c``. It has three functions:

- ``rollout`` integrates the bare equations of motion from the first state to the last.
- ``advance_many`` integrates an arm with friction, stops and limits for as long as its mode (:mod:`.modes`) lasts, and
  returns the number of steps that it made. The step in which the mode ends, for example because a joint reaches a stop,
  is made in Python (:mod:`.mechanism`).
- ``smooth`` makes a single step of any length within a mode.
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
from robodyn_ros.engine.library import loaded
from robodyn_ros.robot.pose import Array
from robodyn_ros.simulation.integrators.base import Integrator, checked_step
from robodyn_ros.simulation.plant.external_forces import ExternalForces
from robodyn_ros.simulation.plant.joint_effects import FASTEST, JointEffects
from robodyn_ros.simulation.plant.modes import Mode, Modes

CODE = Path(__file__).with_name("motion.c").read_text(encoding="utf-8")

ROWS = (
    *("Q", "V", "EFFORT"),
    *("DIRECTION", "HELD", "OVER", "CONTACT"),
    *("Q_LOW", "Q_HIGH", "V_LOW", "V_HIGH", "R_LOW", "R_HIGH"),
    *("SPEED", "VISCOUS", "COULOMB", "STRIBECK_AMPLITUDE", "STRIBECK_RATE"),
    *("LOWER", "UPPER", "STIFFNESS", "DISSIPATION"),
)
"""Rows of a frame (len(ROWS), n), the memory of ``advance_many`` and ``smooth``: state and effort, the mode (the fields
of :class:`.modes.Mode` in their order), and the arm's constants."""

MODE = slice(ROWS.index("DIRECTION"), ROWS.index("R_HIGH") + 1)
"""Rows of the mode."""

CONSTANTS = slice(ROWS.index("SPEED"), len(ROWS))
"""Rows of the arm's constants."""


def make_frame(joints: JointEffects) -> Array:
    """Return a frame of an arm with its constants, (len(ROWS), n); the rest is zero."""
    friction, stops, velocity_limit = joints
    frame = np.zeros((len(ROWS), len(velocity_limit)))
    frame[CONSTANTS] = (
        *(velocity_limit, friction.viscous, friction.coulomb, friction.stribeck_amplitude, friction.stribeck_rate),
        *(stops.lower, stops.upper, stops.stiffness, stops.dissipation),
    )
    return frame


def motion_source(dynamics: CompiledDynamics, integrator: Integrator) -> str:
    """Return the C code of the loops; it follows the code of the arm's forward dynamics."""
    code = CODE.replace("@advance", integrator.code).replace("@rows", ", ".join(ROWS))
    sizes = {"N": dynamics.robot.n, "P": len(dynamics.symbols), "FASTEST": FASTEST}
    return "".join(f"#define {name} {value}\n" for name, value in sizes.items()) + code


def motion_library(dynamics: Dynamics, integrator: Integrator) -> Any:
    """Return the library of an arm and an integrator, loaded once in a process.

    It is None where there is no compiler, and for dynamics or integrators that have no C code.
    """
    if not (isinstance(dynamics, CompiledDynamics) and dynamics.compiled and integrator.code):
        return None
    program = dynamics.program("forward")
    code = motion_source(dynamics, integrator)
    key = hashlib.sha256(f"{program.key}\n{code}".encode()).hexdigest()[:32]
    library: Any = loaded("motion", key, lambda: scalar_source(program) + code)
    if library is not None:
        library.rollout.restype = library.advance_many.restype = ctypes.c_longlong
    return library


Step = Callable[[Array, Array, float], tuple[Array, Array]]
"""q (n,), q̇ (n,), length of the step [s] → q and q̇ at its end, as new arrays."""


class SmoothMotion:
    """The smooth motion within one mode, by the integrator alone; in C where there is a compiler."""

    def __init__(
        self,
        dynamics: Dynamics,
        joints: JointEffects,
        integrator: Integrator,
        modes: Modes,
        outside: ExternalForces | None = None,
    ) -> None:
        """
        Args:
            dynamics: the equations of motion.
            joints: friction, stops and velocity limits.
            integrator: makes the steps.
            modes: the modes of the same arm.
            outside: external forces; none if None.
        """
        self._outside = outside or ExternalForces(dynamics.robot)
        self._modes = modes
        self._integrator = integrator
        self._library = motion_library(dynamics, integrator)
        if self._library is not None:
            assert isinstance(dynamics, CompiledDynamics)
            self._frame, self._end = make_frame(joints), np.zeros((2, dynamics.robot.n))
            arrays = (self._frame, dynamics.symbols, *self._end)
            self._alive = dynamics.symbols
            pointers = [ctypes.c_void_p(array.ctypes.data) for array in arrays]
            self._state, self._ends = pointers[:2], pointers[2:]

    def within(self, mode: Mode, effort: Array) -> Step:
        """Return a function that makes steps in a mode; it is valid until the next call of this method.

        Args:
            mode: the mode.
            effort: effort of the drives, constant over the steps (n,) in [N·m] or [N].
        """
        acceleration = self._modes.acceleration(mode, effort)

        def step(q: Array, qd: Array, dt: float) -> tuple[Array, Array]:
            return checked_step(self._integrator, acceleration, q, qd, dt)

        if self._library is None or not self._outside.compiled:
            return step
        frame, smooth = self._frame, self._library.smooth
        frame[2], frame[MODE] = effort, mode

        def compiled(q: Array, qd: Array, dt: float) -> tuple[Array, Array]:
            frame[0], frame[1] = q, qd
            if smooth(ctypes.c_double(dt), *self._state, self._outside.pointer, *self._ends):
                return step(q, qd, dt)  # the same step in Python raises the error
            return self._end[0].copy(), self._end[1].copy()

        return compiled
