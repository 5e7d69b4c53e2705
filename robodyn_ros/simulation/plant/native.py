# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The native plant: the arm's own equations of motion with friction, stops, limits and any integrator.

:class:`Plant` is the plant; :class:`TimeStepper` makes its steps. Most steps lie within one mode (:mod:`.modes`); they
are made by one call of compiled code (:mod:`.compiled_motion`). The compiled code returns before the step in which the
mode ends, and :class:`.mechanism.Mechanism` makes that step in Python, exactly. Without a compiler it makes every step.

``step`` in ``../trial/trial.c`` does the same for compiled trials; ``test_simulation_sweep_trial.py`` compares them.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.checks import is_finite
from robodyn_ros.dynamics.base import Dynamics
from robodyn_ros.dynamics.compiled import CompiledDynamics
from robodyn_ros.errors import InputError, SimulationError
from robodyn_ros.plugins import create
from robodyn_ros.robot.pose import Array
from robodyn_ros.simulation.integrators.base import Integrator
from robodyn_ros.simulation.integrators.sdirk4 import SDIRK4
from robodyn_ros.simulation.plant.base import PlantBase, PlantSettings, unstable
from robodyn_ros.simulation.plant.compiled_motion import MODE, make_frame, motion_library
from robodyn_ros.simulation.plant.external_forces import Contact, ExternalForces
from robodyn_ros.simulation.plant.joint_effects import FASTEST, FrictionSettings, JointEffects, StopSettings
from robodyn_ros.simulation.plant.mechanism import Mechanism
from robodyn_ros.simulation.plant.stiffness import stable_integrator

CHUNK = 100_000
"""Most steps in one compiled call. It lasts a tenth of a second or less, and Ctrl-C takes effect between two calls."""


class Plant(PlantBase):
    """The arm's own equations of motion, with friction, stops and limits."""

    carries = True

    def __init__(
        self,
        dynamics: Dynamics,
        settings: PlantSettings | None = None,
        effort_limit: ArrayLike | None = None,
        q0: ArrayLike | None = None,
        *,
        friction: Sequence[FrictionSettings] | None = None,
        stops: StopSettings | Sequence[StopSettings] | None = None,
        velocity_limit: ArrayLike | None = None,
        integrator: str | Integrator = "rk4",
        contacts: Sequence[Contact] = (),
    ) -> None:
        """
        Args:
            dynamics: the equations of motion; the constructor calls them once, so that they are compiled then.
            settings: the step of the integration; the default if None.
            effort_limit: (n,) in [N·m] or [N], inf where there is none; the URDF's if None.
            q0: initial position (n,) in [rad] or [m]; the nearest to zero within the position limits if None.
            friction: the friction of each joint; the URDF's if None.
            stops: one for every joint, or one for each; rigid and inelastic if None.
            velocity_limit: (n,) in [rad/s] or [m/s], inf where there is none; the URDF's if None.
            integrator: an integrator, or the name of its plugin.
            contacts: walls and springs that the arm may touch.

        Raises:
            InputError: an argument has the wrong shape or is out of range; q0 as in :meth:`reset`.
            PluginError: there is no such integrator.
        """
        super().__init__(
            dynamics, settings, effort_limit, q0, velocity_limit, friction=friction, stops=stops, contacts=contacts
        )
        rule = create("integrators", integrator) if isinstance(integrator, str) else integrator
        self._stepper = TimeStepper(dynamics, self._joints, rule, self.settings.step, self.outside)
        self.reset()
        rest = np.zeros(dynamics.robot.n)
        dynamics.forward(rest, rest, dynamics.inverse(rest, rest, dynamics.mass_matrix(rest) @ rest))

    def step(self, count: int = 1) -> None:
        """Make steps; see :meth:`PlantBase.step`."""
        made = self._stepper.run(self._effort, count)
        if made:
            self._keep(*self._stepper.state())
            self._steps += made
        if made < count:
            failure = self._stepper.failure
            if isinstance(failure, SimulationError):
                raise failure
            beyond = self._stepper.beyond
            raise unstable(self.dynamics.robot, self.settings.step, self._qd, beyond, self._effort) from failure

    def _place(self, q: Array, qd: Array) -> None:
        self._keep(*self._stepper.place(q, qd))


class TimeStepper:
    """The steps of a plant. It keeps the state, in an array that the compiled code works on.

    Attributes:
        mechanism: makes the steps in which a mode ends.
        failure: the error of the last run: a dynamics plugin got numbers that are not finite, or an equation was not
            solved; None without one.
        beyond: velocities (n,) that the last run would have led to, if that is beyond the range of a simulation.
    """

    def __init__(
        self, dynamics: Dynamics, joints: JointEffects, integrator: Integrator, dt: float, outside: ExternalForces
    ) -> None:
        """
        Args:
            dynamics: the equations of motion.
            joints: friction, stops and velocity limits.
            integrator: integrates the smooth parts of the motion, unless friction or a contact is too stiff for it
                (:mod:`.stiffness`, :mod:`.external_forces`).
            dt: length of a step [s].
            outside: external forces.
        """
        integrator = stable_integrator(integrator, dynamics, joints.friction.viscous, dt)
        if not integrator.adaptive and outside.is_stiff(dynamics, dt):
            integrator = SDIRK4()
        self.mechanism = Mechanism(dynamics, joints, integrator, outside)
        self._outside = outside
        self._dt = dt
        self._frame = make_frame(joints)
        self._q, self._qd, self._effort = self._frame[:3]
        self.failure: InputError | SimulationError | None = None
        self.beyond = self._qd
        self._mode_known = False  # True if the mode in the frame is that of the state
        library = motion_library(dynamics, integrator)
        self._advance_many = None
        if library is not None:
            assert isinstance(dynamics, CompiledDynamics)
            self._keep_alive = dynamics.symbols
            pointers = (ctypes.c_void_p(array.ctypes.data) for array in (self._frame, dynamics.symbols))
            self._advance_many, self._arguments = library.advance_many, (ctypes.c_double(dt), *pointers)

    def place(self, q: Array, qd: Array) -> tuple[Array, Array]:
        """Set the state, corrected by :meth:`.mechanism.Mechanism.settled`; return the corrected state."""
        self._q[:], self._qd[:] = self.mechanism.settled(q, qd)
        self._mode_known = False
        return self.state()

    def state(self) -> tuple[Array, Array]:
        """The state as new arrays (n,)."""
        return self._q.copy(), self._qd.copy()

    def run(self, effort: Array, steps: int) -> int:
        """Make steps.

        Args:
            effort: effort of the drives, constant over the steps (n,) in [N·m] or [N].
            steps: number of steps.

        Returns:
            The number of steps that were made. It is less than ``steps`` if a step would lead beyond the range of a
            simulation, or by an error in ``failure``.
        """
        self.failure, self.beyond = None, self._qd
        self._effort[:] = effort
        left = steps
        while left > 0:
            if self._advance_many is not None and self._outside.compiled:
                if not self._mode_known and not self._find_mode(effort):
                    break
                chunk = min(left, CHUNK)
                made = self._advance_many(chunk, *self._arguments, self._outside.pointer)
                left -= made
                if made == chunk:
                    continue
            self._mode_known, before = False, self.state()
            if not self._step(effort):
                break
            # A step that changes nothing changes nothing in the next steps either.
            left = 0 if np.array_equal(before, self._frame[:2]) else left - 1
        return steps - left

    def _find_mode(self, effort: Array) -> bool:
        with np.errstate(over="ignore", invalid="ignore"):
            try:
                self._frame[MODE] = self.mechanism.modes.at(*self.state(), effort)
            except (InputError, SimulationError) as cause:
                self.failure = cause
                return False
        self._mode_known = True
        return True

    def _step(self, effort: Array) -> bool:
        """Make one step in Python; False if it fails, and then the state stays."""
        with np.errstate(over="ignore", invalid="ignore"):
            try:
                q, qd, mode = self.mechanism.advance(*self.state(), effort, self._dt)
            except (InputError, SimulationError) as cause:
                self.failure = cause
                return False
        if not (is_finite(q) and (np.abs(qd) <= FASTEST).all()):
            self.beyond = qd
            return False
        self._q[:], self._qd[:] = q, qd
        if mode is not None:
            self._frame[MODE], self._mode_known = mode, True
        return True
