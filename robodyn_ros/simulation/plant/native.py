"""The native plant: the arm's own equations of motion, with friction, stops, limits, and any integrator."""

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
from robodyn_ros.simulation.plant.base import PlantBase, PlantSettings
from robodyn_ros.simulation.plant.compiled_motion import MODE, make_frame, motion_library
from robodyn_ros.simulation.plant.joint_effects import FrictionSettings, JointEffects, StopSettings
from robodyn_ros.simulation.plant.mechanism import Mechanism

# Steps of a mechanism as fast as they go: in compiled stretches where nothing happens, else one by one.
#
# The state lives in an array that the compiled loop works on (:mod:`.motion_loop`). It hands back the step in which
# something happens, undone; :class:`.mechanism.Mechanism` makes that one, exactly. Without a compiler it makes every
# one.

CHUNK = 100_000
"""Steps of one compiled call at most: between two calls, a tenth of a second or less, Ctrl-C is heard."""


class TimeStepper:
    """See the module. It remembers the state that it left an arm in.

    Attributes:
        mechanism: makes the steps in which something happens.
        failure: what went wrong in the last run: a dynamics plugin was shown something that is not finite, or an
            equation was not solved.
    """

    def __init__(self, dynamics: Dynamics, joints: JointEffects, integrator: Integrator, dt: float) -> None:
        """
        Args:
            dynamics: the equations of motion.
            joints: their friction, stops and velocity limits.
            integrator: takes the smooth parts of the motion over their steps.
            dt: length of a step [s].
        """
        self.mechanism = Mechanism(dynamics, joints, integrator)
        self._dt = dt
        self._frame = make_frame(joints)
        self._q, self._qd, self._effort = self._frame[:3]
        self.failure: InputError | SimulationError | None = None
        self._known = False  # whether the mode in the frame is that of the state
        library = motion_library(dynamics, integrator)
        self._stretch = None
        if library is not None:
            assert isinstance(dynamics, CompiledDynamics)
            self._keep_alive = dynamics.symbols
            pointers = (ctypes.c_void_p(array.ctypes.data) for array in (self._frame, dynamics.symbols))
            self._stretch, self._arguments = library.stretch, (ctypes.c_double(dt), *pointers)

    def place(self, q: Array, qd: Array) -> tuple[Array, Array]:
        """Take over a state, put right: see :meth:`.mechanism.Mechanism.settled`."""
        self._q[:], self._qd[:] = self.mechanism.settled(q, qd)
        self._known = False
        return self.state()

    def state(self) -> tuple[Array, Array]:
        """The state as new arrays (n,)."""
        return self._q.copy(), self._qd.copy()

    def run(self, effort: Array, steps: int) -> int:
        """Go on.

        Args:
            effort: held meanwhile (n,) in [N·m] or [N].
            steps: how many.

        Returns:
            How many were made; fewer if one failed: if its result would not be finite, or as ``failure`` says.
        """
        self.failure = None
        self._effort[:] = effort
        left = steps
        while left > 0:
            if self._stretch is not None:
                if not self._known and not self._find_mode(effort):
                    break
                chunk = min(left, CHUNK)
                made = self._stretch(chunk, *self._arguments)
                left -= made
                if made == chunk:
                    continue
            self._known, before = False, self.state()
            if not self._step(effort):
                break
            # A step that leads nowhere does so again and again.
            left = 0 if np.array_equal(before, self._frame[:2]) else left - 1
        return steps - left

    def _find_mode(self, effort: Array) -> bool:
        with np.errstate(over="ignore", invalid="ignore"):
            try:
                self._frame[MODE] = self.mechanism.modes.at(*self.state(), effort)
            except (InputError, SimulationError) as cause:
                self.failure = cause
                return False
        self._known = True
        return True

    def _step(self, effort: Array) -> bool:
        """One exact step, or False if there is none; then nothing has changed."""
        with np.errstate(over="ignore", invalid="ignore"):
            try:
                q, qd, mode = self.mechanism.advance(*self.state(), effort, self._dt)
            except (InputError, SimulationError) as cause:
                self.failure = cause
                return False
        if not (is_finite(q) and is_finite(qd)):
            return False
        self._q[:], self._qd[:] = q, qd
        if mode is not None:
            self._frame[MODE], self._known = mode, True
        return True


class Plant(PlantBase):
    """The arm's own equations, with friction, stops and limits.

    Everything is deterministic; time is a count of steps.
    """

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
    ) -> None:
        """
        Args:
            dynamics: the equations of motion; called here, so that what they compile on first use is ready.
            settings: settings, the defaults unless given.
            effort_limit: (n,) in [N·m] or [N], the URDF's unless given; inf where there is none.
            q0: where it starts, (n,) in [rad] or [m]; as near to zero as the position limits allow unless given.
            friction: of each joint, the URDF's unless given.
            stops: of every joint, or of each; rigid and inelastic unless given.
            velocity_limit: (n,) in [rad/s] or [m/s], the URDF's unless given; inf where there is none.
            integrator: the plugin's name, or an integrator.

        Raises:
            InputError: an argument of the wrong shape or out of range; q0 as in :meth:`reset`.
            PluginError: no such integrator.
        """
        super().__init__(dynamics, settings, effort_limit, q0, velocity_limit, friction=friction, stops=stops)
        rule = create("integrators", integrator) if isinstance(integrator, str) else integrator
        self._runner = TimeStepper(dynamics, self._joints, rule, self.settings.step)
        self.reset()
        rest = np.zeros(dynamics.robot.n)
        dynamics.forward(rest, rest, dynamics.inverse(rest, rest, dynamics.mass_matrix(rest) @ rest))

    def step(self, count: int = 1) -> None:
        """See :class:`PlantBase`."""
        made = self._runner.run(self._effort, count)
        if made:
            self._keep(*self._runner.state())
            self._steps += made
        if made < count:
            failure = self._runner.failure
            if isinstance(failure, SimulationError):
                raise failure
            raise SimulationError(self._beyond()) from failure

    def _place(self, q: Array, qd: Array) -> None:
        self._keep(*self._runner.place(q, qd))
