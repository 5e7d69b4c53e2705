# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The control step as a library function: for a control loop of your own, in place, or for many arms at once.

:class:`ControlLoop` does more: it checks states, manages references and reacts to faults. This module has the
algebra alone.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.control.compiled_step import REST, CompiledStep
from robodyn_ros.control.drive_compensation import DriveCompensation
from robodyn_ros.control.faults.settings import SafetySettings
from robodyn_ros.control.laws.base import Controller, Efforts, Reference
from robodyn_ros.control.limits import Limits
from robodyn_ros.control.loop_settings import law_feedback
from robodyn_ros.control.step import StepResult
from robodyn_ros.control.step_numbers import first_memory, step_settings
from robodyn_ros.robot.pose import Array


class LawStep:
    """The control step of a traced law: law, soft limits, limits of effort and rate.

    In place: write ``q``, ``qd`` and ``reference``, call :meth:`evaluate`, read ``effort``. It checks nothing and
    allocates nothing. An object of this class belongs to one thread, and has the memory of one arm.

    Attributes:
        q: position, (n,) in [rad] or [m]; to be written.
        qd: velocity, (n,) in [rad/s] or [m/s]; to be written.
        reference: the desired motion; to be written, its four arrays in place.
        effort: to send, (n,) in [N·m] or [N]; to be read.
        efforts: the terms of the law; to be read.
        flags: (3,), 0 or 1: all efforts are finite; any is saturated; any is rate-limited.
        memory: of the step, (m,).
        law_memory: memory of the law, (l,).
    """

    def __init__(
        self,
        controller: Controller,
        effort_limit: ArrayLike | None = None,
        rate_limit: ArrayLike | None = None,
        safety: SafetySettings | None = None,
        drives: DriveCompensation | None = None,
    ) -> None:
        """
        Args:
            controller: the control law.
            effort_limit: (n,), not negative, in [N·m] or [N]; the URDF's unless given.
            rate_limit: of the effort, (n,) in [N·m/s] or [N/s]; none unless given.
            safety: margin of the soft limits, bound of the integral; the defaults unless given.
            drives: the compensation that the drives add by themselves; none unless given.

        Raises:
            TraceError: the law cannot be traced; the message says why.
            InputError: a limit of the wrong shape, negative or NaN.
        """
        robot = controller.dynamics.robot
        limits = Limits.of(robot, robot.effort_limit if effort_limit is None else effort_limit, rate_limit)
        feedback = law_feedback(controller)
        settings = step_settings(robot, limits.effort, limits.rate, feedback, safety or SafetySettings(), drives)
        self._step = CompiledStep(controller, settings)
        kernel = self._step.kernel
        self._times, self.q, self.qd, *reference, self.memory, self.law_memory = kernel.inputs
        rows, self.flags, self._after, self._law_after = kernel.results
        self.reference, self.effort, self.efforts = Reference(*reference), rows[0], Efforts(*rows[REST:])
        self._kernel, self._first = kernel, first_memory(robot.n)
        self.reset()

    def reset(self) -> None:
        """Make the next step the first one; the law's memory becomes that of the law object."""
        self._times[:] = 0.0
        self.memory[:], self.law_memory[:] = self._first, self._step.law_memory

    def evaluate(self, dt: float) -> None:
        """Make a step in place.

        Args:
            dt: time since the step before [s]; 0 in the first step.
        """
        self._times[0] += dt
        self._times[1] = dt
        self._kernel.evaluate()
        self.law_memory[:] = self._law_after
        if self.flags[0]:
            self.memory[:] = self._after

    def many(
        self, t: Array, dt: Array, q: Array, qd: Array, reference: Reference, memory: Array, law_memory: Array
    ) -> tuple[StepResult, Array, Array]:
        """A step of each of N arms of this kind; their times may differ.

        Args:
            t: time [s], (N,).
            dt: time since the step before [s], (N,).
            q: positions, (N, n).
            qd: velocities, (N, n).
            reference: their desired motions, (N, n) each.
            memory: of their steps, (N, m); at first, :attr:`memory` of a new object.
            law_memory: memory of their laws, (N, l), likewise.

        Returns:
            The results, (N, n) each, and both memories after the step.

        Raises:
            InputError: an array has the wrong shape, or holds a NaN or an infinity.
        """
        times = np.column_stack([t, dt])
        rows, _, after, law_after = self._kernel.call(times, q, qd, *reference, memory, law_memory)
        effort, saturated, rate_limited, gravity, error, *terms = np.moveaxis(rows, 1, 0)
        result = StepResult(effort, saturated != 0.0, rate_limited != 0.0, gravity, Efforts(*terms), error)
        return result, after, law_after
