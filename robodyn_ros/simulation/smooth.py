"""The motion within one mode: smooth, and so a matter of the integrator alone; in C where there is a compiler."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import numpy as np

from robodyn_ros.dynamics.base import Dynamics
from robodyn_ros.dynamics.compiled import CompiledDynamics
from robodyn_ros.robot.pose import Array
from robodyn_ros.simulation.integrators.base import Integrator
from robodyn_ros.simulation.joints import Joints
from robodyn_ros.simulation.mode import Mode, Modes
from robodyn_ros.simulation.motion_loop import MODE, make_frame, motion_library

Step = Callable[[Array, Array, float], tuple[Array, Array]]
"""q (n,), q̇ (n,), length of the step [s] → q and q̇ at its end, as new arrays."""


class SmoothMotion:
    """See the module."""

    def __init__(self, dynamics: Dynamics, joints: Joints, integrator: Integrator, modes: Modes) -> None:
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
