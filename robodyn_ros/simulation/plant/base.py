# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The interface of a plant, which every plugin of the group ``robodyn_ros.plants`` implements.

A plant is an arm that takes efforts and has a state, as the real arm does.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.checks import as_real, check, finite_array
from robodyn_ros.control.limits import check_position_limits, saturate
from robodyn_ros.dynamics import Dynamics, Payload
from robodyn_ros.engine.c_interface import Uncopied
from robodyn_ros.errors import SimulationError
from robodyn_ros.plugins import create, require
from robodyn_ros.robot import Array, Robot, read_only, tip
from robodyn_ros.settings import CheckedSettings, setting
from robodyn_ros.simulation.plant.external_forces import Contact, ExternalForces
from robodyn_ros.simulation.plant.joint_effects import FrictionSettings, StopSettings, joint_effects, urdf_friction


@dataclass(frozen=True)
class PlantSettings(CheckedSettings):
    """Settings of the plant; each field's metadata describe it."""

    step: float = setting(0.001, "step of the integration", "s", 1e-6, 0.1)


class PlantBase(Uncopied, ABC):
    """An arm that efforts move. Everything is deterministic; time is a count of steps.

    Attributes:
        dynamics: the equations of motion.
        settings: the step of the integration.
        friction: the friction of each joint.
        effort_limit: (n,) in [N·m] or [N].
        velocity_limit: (n,) in [rad/s] or [m/s]; at or beyond it a drive gives no effort towards more speed.
        effects: friction, stops and velocity limits, as arrays.
        outside: external forces: contacts, and wrenches of ``outside.push``, which a reset ends.
        carries: True if :meth:`carry` changes the arm while it moves; else its payload is fixed when it is made.
    """

    carries: ClassVar[bool] = False

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
        contacts: Sequence[Contact] = (),
    ) -> None:
        """
        Args:
            dynamics: the equations of motion. Give dry friction as ``friction``: a plant knows no rest under that of
                the equations, whose sign changes with the velocity, and creeps.
            settings: the step of the integration; the default if None.
            effort_limit: (n,) in [N·m] or [N], inf where there is none; the URDF's if None.
            q0: initial position (n,) in [rad] or [m]; the nearest to zero within the position limits if None.
            velocity_limit: (n,) in [rad/s] or [m/s], inf where there is none; the URDF's if None.
            friction: the friction of each joint; the URDF's if None.
            stops: one for every joint, or one for each; rigid and inelastic if None.
            contacts: walls and springs that the arm may touch.

        Raises:
            InputError: an argument has the wrong shape or is out of range; q0 as in :meth:`reset`.
        """
        robot = dynamics.robot
        self.dynamics = dynamics
        self.settings = settings or PlantSettings()
        self.effort_limit = _limits("effort_limit", effort_limit, robot.effort_limit)
        self.velocity_limit = _limits("velocity_limit", velocity_limit, robot.velocity_limit)
        self.friction = tuple(urdf_friction(robot) if friction is None else friction)
        self.effects = joint_effects(robot, self.friction, stops, self.velocity_limit)
        self.outside = ExternalForces(robot, contacts)
        self._home = robot.home if q0 is None else read_only(q0)
        self._q = self._qd = self._effort = read_only(np.zeros(robot.n))
        self._steps = 0

    @property
    def time(self) -> float:
        """Simulated time since the last reset [s]."""
        return self._steps * self.settings.step

    @property
    def q(self) -> Array:
        """Position (n,) in [rad] or [m], read-only; each step makes a new array and leaves this one as it is."""
        return self._q

    @property
    def qd(self) -> Array:
        """Velocity (n,) in [rad/s] or [m/s], likewise."""
        return self._qd

    @property
    def effort(self) -> Array:
        """The effort that acts, (n,) in [N·m] or [N], likewise."""
        return self._effort

    def reset(self, q: ArrayLike | None = None, qd: ArrayLike | None = None) -> None:
        """Go back to time zero, without effort.

        Args:
            q: position (n,) in [rad] or [m]; the initial position if None.
            qd: velocity (n,) in [rad/s] or [m/s]; 0 if None. A component into a rigid stop is set to 0.

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
        self.outside.release()
        self._steps = 0

    def apply(self, effort: ArrayLike) -> None:
        """Apply an effort from now on, clamped to the effort limit.

        Args:
            effort: (n,) in [N·m] or [N].

        Raises:
            InputError: it is not n finite numbers; the previous effort stays.
        """
        self._effort = read_only(saturate(finite_array("effort", effort, self._q.shape), self.effort_limit)[0])

    def carry(self, mass: float) -> None:
        """Carry a payload at the default tool, at its origin, from now on; it replaces the previous one.

        Args:
            mass: [kg]; 0 for none.

        Raises:
            InputError: it is no number from 0 up.
        """
        self.dynamics.configure(payload=Payload(tip(self.dynamics.robot), mass) if mass else None)

    def halt(self) -> None:
        """Stop at once where the arm is, as a rigid brake does. Time and effort stay as they are."""
        self._place(self._q, np.zeros(self._q.shape))

    @abstractmethod
    def step(self, count: int = 1) -> None:
        """Make a number of steps under the present effort.

        Raises:
            SimulationError: a step would lead beyond the range of a simulation; the state before that step stays.
        """

    def advance(self, duration: float) -> None:
        """Make the steps of a duration [s], rounded to whole steps.

        Raises:
            InputError: it is negative or not finite.
            SimulationError: as in :meth:`step`.
        """
        self.step(steps_of(duration, self.settings.step))

    @abstractmethod
    def _place(self, q: Array, qd: Array) -> None:
        """Take over a state that is checked, and :meth:`_keep` it, without velocities into rigid stops."""

    def _keep(self, q: Array, qd: Array) -> None:
        """Store the state; the arrays become read-only.

        Raises:
            SimulationError: it is no two arrays of floats (n,).
        """
        for name, value in (("q", q), ("qd", qd)):
            if not isinstance(value, np.ndarray) or value.shape != self._q.shape or value.dtype != float:
                kind = f"{type(value).__name__} of shape {getattr(value, 'shape', 'none')}"
                wanted = f"an array of floats of shape {self._q.shape}"
                raise SimulationError(f"plant {type(self).__name__}: {name} is a {kind}, not {wanted}")
            value.setflags(write=False)
        self._q, self._qd = q, qd


def steps_of(duration: float, step: float) -> int:
    """Return the number of steps [s] in a duration [s], rounded.

    Raises:
        InputError: the duration is negative or not finite.
    """
    check(float(finite_array("duration", duration, ())) >= 0.0, "duration", "0 s or more", duration)
    return round(duration / step)


def unstable(robot: Robot, step: float, before: Array, after: Array, effort: Array) -> SimulationError:
    """Return the error of a step that leads beyond the range of a simulation.

    Args:
        robot: the arm.
        step: of the integration [s].
        before: velocities before the step (n,) in [rad/s] or [m/s].
        after: velocities to which it leads, perhaps not finite.
        effort: efforts over the step (n,) in [N·m] or [N].
    """
    speeds = np.where(np.isfinite(after), np.abs(after), np.inf)
    worst = int(np.argmax(np.where(speeds == speeds.max(), 1.0 + np.abs(before) + np.abs(effort), 0.0)))
    joint = robot.joints[worst]
    unit = f"{joint.position_unit}/s"
    return SimulationError(
        f"joint {joint.name!r} goes beyond the range of a simulation, from {before[worst]:.3g} {unit} to "
        f"{after[worst]:.3g} {unit} under {effort[worst]:.3g} {joint.effort_unit}; a step of {step:g} s is too long "
        "for the forces on it or for the gains of its control: take a smaller step or lower gains (robodyn check "
        "compares damping, inertia and step)"
    )


def _limits(name: str, given: object, of_robot: Array) -> Array:
    """Limits of the joints (n,), of which each may be infinite."""
    value, expected = of_robot if given is None else given, f"{len(of_robot)} numbers from 0 up"
    limits = read_only(as_real(name, value, expected))
    check(limits.shape == of_robot.shape and (limits >= 0.0).all(), name, expected, value)
    return limits


def create_plant(name: str, dynamics: Dynamics, settings: PlantSettings | None = None, **options: Any) -> PlantBase:
    """Create a plant by the name of its plugin.

    Args:
        name: one of ``available("plants")``.
        dynamics: the arm's equations of motion, with the parameters of the plant.
        settings: the step of the integration; the default if None.
        **options: arguments of the plugin; each takes those of :class:`robodyn_ros.simulation.Plant` except
            ``integrator``.

    Raises:
        PluginError: there is no such plugin, or it cannot be imported.
        InputError: an option is wrong.
        ConfigurationError: the plant does not support a setting, or a package that it needs is not installed.
    """
    return create("plants", name, dynamics, settings, **options)


require("plants", PlantBase, {}, "dynamics", "settings", "friction")
