"""The plant: an arm in the computer that takes efforts and has a state, as the arm on the table does."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.control.checks import finite_array, is_finite
from robodyn_ros.control.limits import check_position_limits, saturate
from robodyn_ros.control.settings import check_settings, setting
from robodyn_ros.dynamics.base import Dynamics
from robodyn_ros.errors import InputError, SimulationError
from robodyn_ros.robot.pose import Array, read_only
from robodyn_ros.simulation.mechanism import Mechanism


@dataclass(frozen=True)
class PlantConfig:
    """Settings of the plant; each field's metadata say what it is."""

    step: float = setting(0.001, "step of the integration", "s", 1e-6, 0.1)

    def __post_init__(self) -> None:
        check_settings(self)


class Plant:
    """The state of an arm, and what efforts do to it. Everything is deterministic; time is a count of steps.

    Attributes:
        dynamics: the equations of motion.
        config: the settings.
        effort_limit: (n,) in [N·m] or [N].
    """

    def __init__(
        self,
        dynamics: Dynamics,
        config: PlantConfig | None = None,
        effort_limit: ArrayLike | None = None,
        q0: ArrayLike | None = None,
    ) -> None:
        """
        Args:
            dynamics: the equations of motion; called here, so that what they compile on first use is ready.
            config: settings, the defaults unless given.
            effort_limit: (n,) in [N·m] or [N], the URDF's unless given; inf where there is none.
            q0: where it starts, (n,) in [rad] or [m]; as near to zero as the position limits allow unless given.

        Raises:
            InputError: an effort limit of the wrong shape, negative or NaN; q0 as in :meth:`reset`.
        """
        robot = dynamics.robot
        self.dynamics = dynamics
        self.config = config or PlantConfig()
        self.effort_limit = read_only(robot.effort_limit if effort_limit is None else effort_limit)
        if self.effort_limit.shape != (robot.n,) or not (self.effort_limit >= 0.0).all():
            raise InputError("effort_limit", f"must be {robot.n} numbers from 0 up, not {effort_limit!r}", effort_limit)
        self._mechanism = Mechanism(dynamics)
        self._home = read_only(np.clip(np.zeros(robot.n), robot.lower, robot.upper) if q0 is None else q0)
        self.reset()
        rest = np.zeros(robot.n)
        dynamics.forward(rest, rest, dynamics.inverse(rest, rest, dynamics.mass_matrix(rest) @ rest))

    @property
    def time(self) -> float:
        """Simulated time since the last reset [s]."""
        return self._steps * self.config.step

    @property
    def q(self) -> Array:
        """Position (n,) in [rad] or [m]; read-only, and never changed: each step makes a new one."""
        return self._q

    @property
    def qd(self) -> Array:
        """Velocity (n,) in [rad/s] or [m/s]; likewise."""
        return self._qd

    @property
    def effort(self) -> Array:
        """The effort that acts, (n,) in [N·m] or [N]; likewise."""
        return self._effort

    def reset(self, q: ArrayLike | None = None, qd: ArrayLike | None = None) -> None:
        """Back to time zero, without effort.

        Args:
            q: position (n,) in [rad] or [m]; where it started first unless given.
            qd: velocity (n,) in [rad/s] or [m/s]; 0 unless given. What of it goes into a stop is lost there.

        Raises:
            InputError: they are not n finite numbers.
            LimitError: q is outside the position limits.
        """
        robot = self.dynamics.robot
        q = finite_array("q", self._home if q is None else q, (robot.n,))
        qd = np.zeros(robot.n) if qd is None else finite_array("qd", qd, (robot.n,)).copy()
        check_position_limits("q", robot, q, list(range(robot.n)))
        self._keep(*self._mechanism.settled(q, qd))
        self._effort = read_only(np.zeros(robot.n))
        self._steps = 0

    def apply(self, effort: ArrayLike) -> None:
        """Let an effort act from now on, as far as the effort limit allows.

        Args:
            effort: (n,) in [N·m] or [N].

        Raises:
            InputError: it is not n finite numbers; what acted before goes on.
        """
        self._effort = read_only(saturate(finite_array("effort", effort, self._q.shape), self.effort_limit)[0])

    def step(self) -> None:
        """Go on by one step.

        Raises:
            SimulationError: the result would not be finite; the state stays what it was.
        """
        try:
            with np.errstate(over="ignore", invalid="ignore"):  # reported below
                q, qd = self._mechanism.advance(self._q, self._qd, self._effort, self.config.step)
        except InputError as cause:  # a dynamics plugin was shown the overflow first
            raise SimulationError(self._beyond()) from cause
        if not (is_finite(q) and is_finite(qd)):
            raise SimulationError(self._beyond())
        self._keep(q, qd)
        self._steps += 1

    def advance(self, duration: float) -> None:
        """Go on by a duration [s], rounded to whole steps.

        Raises:
            InputError: it is negative or not finite.
            SimulationError: see :meth:`step`.
        """
        if float(finite_array("duration", duration, ())) < 0.0:
            raise InputError("duration", f"must not be negative: {duration!r}", duration)
        for _ in range(round(duration / self.config.step)):
            self.step()

    def _keep(self, q: Array, qd: Array) -> None:
        q.setflags(write=False)
        qd.setflags(write=False)
        self._q, self._qd = q, qd

    def _beyond(self) -> str:
        state = f"q = {self._q}, qd = {self._qd}, effort = {self._effort}"
        return f"a step of {self.config.step:g} s from {state} leads beyond the range of numbers"
