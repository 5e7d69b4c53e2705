"""The interface of a plant: the contract of every plugin in the group ``robodyn_ros.plants``.

A plant is an arm that takes efforts and has a state, as the arm on the table does.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.checks import finite_array
from robodyn_ros.control.limits import check_position_limits, saturate
from robodyn_ros.dynamics.base import Dynamics
from robodyn_ros.errors import InputError
from robodyn_ros.plugins import create
from robodyn_ros.robot.pose import Array, read_only
from robodyn_ros.settings import check_settings, setting
from robodyn_ros.simulation.plant.joint_effects import (
    Friction,
    FrictionSettings,
    JointEffects,
    Stops,
    StopSettings,
    urdf_friction,
)


@dataclass(frozen=True)
class PlantSettings:
    """Settings of the plant; each field's metadata say what it is."""

    step: float = setting(0.001, "step of the integration", "s", 1e-6, 0.1)

    def __post_init__(self) -> None:
        check_settings(self)


class PlantBase(ABC):
    """The state of an arm, and what efforts do to it. Everything is deterministic; time is a count of steps.

    Attributes:
        dynamics: the equations of motion.
        settings: the settings.
        friction: of each joint.
        effort_limit: (n,) in [N·m] or [N].
        velocity_limit: (n,) in [rad/s] or [m/s]: from here on the drives give no effort towards more speed.
    """

    def __init__(
        self,
        dynamics: Dynamics,
        settings: PlantSettings | None = None,
        effort_limit: ArrayLike | None = None,
        q0: ArrayLike | None = None,
        velocity_limit: ArrayLike | None = None,
        *,
        friction: Sequence[FrictionSettings] | None = None,
        stops: StopSettings | Sequence[StopSettings] | None = None,
    ) -> None:
        """
        Args:
            dynamics: the equations of motion.
            settings: settings, the defaults unless given.
            effort_limit: (n,) in [N·m] or [N], the URDF's unless given; inf where there is none.
            q0: where it starts, (n,) in [rad] or [m]; as near to zero as the position limits allow unless given.
            velocity_limit: (n,) in [rad/s] or [m/s], the URDF's unless given; inf where there is none.
            friction: of each joint, the URDF's unless given.
            stops: of every joint, or of each; rigid and inelastic unless given.

        Raises:
            InputError: an argument of the wrong shape or out of range; q0 as in :meth:`reset`.
        """
        robot = dynamics.robot
        self.dynamics = dynamics
        self.settings = settings or PlantSettings()
        self.effort_limit = _limit("effort_limit", robot.effort_limit if effort_limit is None else effort_limit)
        self.velocity_limit = _limit(
            "velocity_limit", robot.velocity_limit if velocity_limit is None else velocity_limit
        )
        for name in ("effort_limit", "velocity_limit"):
            limit = getattr(self, name)
            if limit.shape != (robot.n,) or not (limit >= 0.0).all():
                raise InputError(name, f"must be {robot.n} numbers from 0 up, not {limit!r}", limit)
        self.friction = tuple(urdf_friction(robot) if friction is None else friction)
        self._joints = JointEffects(Friction(self.friction, robot.n), Stops(robot, stops), self.velocity_limit)
        self._home = robot.home if q0 is None else read_only(q0)
        self._q = self._qd = self._effort = read_only(np.zeros(robot.n))
        self._steps = 0

    @property
    def time(self) -> float:
        """Simulated time since the last reset [s]."""
        return self._steps * self.settings.step

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
            qd: velocity (n,) in [rad/s] or [m/s]; 0 unless given. What of it goes into a rigid stop is lost there.

        Raises:
            InputError: they are not n finite numbers.
            LimitError: q is outside the position limits.
        """
        robot = self.dynamics.robot
        q = finite_array("q", self._home if q is None else q, (robot.n,))
        qd = np.zeros(robot.n) if qd is None else finite_array("qd", qd, (robot.n,)).copy()
        check_position_limits("q", robot, q, list(range(robot.n)))
        self._place(q, qd)
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

    def halt(self) -> None:
        """Stand still where it is, at once, as by a rigid brake. Time and effort stay what they are."""
        self._place(self._q, np.zeros(self._q.shape))

    @abstractmethod
    def step(self, count: int = 1) -> None:
        """Go on by a number of steps under the present effort.

        Raises:
            SimulationError: the result of a step would not be finite; the state stays what it was before that step.
        """

    def advance(self, duration: float) -> None:
        """Go on by a duration [s], rounded to whole steps.

        Raises:
            InputError: it is negative or not finite.
            SimulationError: see :meth:`step`.
        """
        if float(finite_array("duration", duration, ())) < 0.0:
            raise InputError("duration", f"must not be negative: {duration!r}", duration)
        self.step(round(duration / self.settings.step))

    @abstractmethod
    def _place(self, q: Array, qd: Array) -> None:
        """Take over a state, checked, and :meth:`_keep` what becomes of it."""

    def _keep(self, q: Array, qd: Array) -> None:
        """The state from now on."""
        q.setflags(write=False)
        qd.setflags(write=False)
        self._q, self._qd = q, qd

    def _beyond(self) -> str:
        state = f"q = {self._q}, qd = {self._qd}, effort = {self._effort}"
        return f"a step of {self.settings.step:g} s from {state} leads beyond the range of numbers"


def _limit(name: str, value: Any) -> Array:
    try:
        return read_only(value)
    except (TypeError, ValueError) as cause:
        raise InputError(name, f"must be numbers, not {value!r}", value) from cause


# Plants by name: the plugins of the group ``robodyn_ros.plants``.


def create_plant(name: str, dynamics: Dynamics, settings: PlantSettings | None = None, **options: Any) -> PlantBase:
    """The plant plugin of that name for an arm.

    Args:
        name: one of ``available("plants")``.
        dynamics: the arm's equations of motion, with the parameters that the plant is to have.
        settings: settings, the defaults unless given.
        **options: of the plugin; each takes those of :class:`robodyn_ros.simulation.Plant` but ``integrator``.

    Raises:
        PluginError: no such plugin, or it cannot be imported.
        InputError: an option is wrong.
        ConfigurationError: the plant cannot do what is asked of it, or what it needs is not installed.
    """
    plant: PlantBase = create("plants", name, dynamics, settings, **options)
    return plant
