"""What may change while the arm moves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np

from robodyn_ros.control.faults.reactions import FaultReactions, Feedback
from robodyn_ros.control.laws.base import Controller
from robodyn_ros.control.laws.gains import JointGains, joint_gains
from robodyn_ros.control.laws.gravity_compensation import GravityCompensation
from robodyn_ros.control.limits import Limits
from robodyn_ros.control.reference.tolerances import GoalSettings, JointTolerances, Tolerances
from robodyn_ros.dynamics.base import Dynamics
from robodyn_ros.dynamics.parameters import STANDARD_GRAVITY, Payload
from robodyn_ros.errors import InputError, PluginError
from robodyn_ros.plugins import available, load
from robodyn_ros.robot import Robot
from robodyn_ros.settings import NamedValues, check_settings, choice, setting

# Settings of the control loop.

MISSING_VELOCITY = ("refuse", "estimate")
"""What to do with states without velocities: not to use them, or to differentiate their positions."""


@dataclass(frozen=True)
class BehaviourSettings:
    """Settings of the loop; each field's metadata say what it is."""

    state_timeout: float = setting(0.1, "greatest age of a joint state that still gets a command", "s", 1e-3, 10.0)
    reference_timeout: float = setting(0.5, "longest wait for the next streamed reference", "s", 1e-3, 10.0)
    cmd_timeout: float = setting(0.0, "how long a trajectory's last point is held (0: for good)", "s", 0.0, 3600.0)
    ramp_time: float = setting(0.0, "how long gravity takes to ramp in when switched on", "s", 0.0, 60.0)
    ramp_down_time: float = setting(0.3, "how long an answer to a fault takes to ramp to zero", "s", 1e-3, 60.0)
    blend_time: float = setting(0.2, "how long a change of law, model or gains is blended over", "s", 0.0, 60.0)
    soft_limit_margin: float = setting(0.02, "where soft limits begin, before the hard ones", "rad or m", 0.0, 10.0)
    overspeed: float = setting(1.1, "greatest speed, as a multiple of the velocity limit", "-", 1.0, 100.0)
    position_jump: float = setting(0.1, "greatest change of position that no velocity explains", "rad or m", 0.0, 1e3)
    missing_velocity: str = choice(
        "refuse", "what is done with states without velocities", choices=lambda: MISSING_VELOCITY
    )
    velocity_filter: float = setting(0.005, "time constant of estimated velocities", "s", 0.0, 1.0)
    integral_limit: float = setting(0.1, "bound of the integral of the position error", "rad s or m s", 0.0, 1e3)
    reference_lead: float = setting(
        0.2, "how far a trajectory runs ahead of a joint whose effort is saturated", "rad or m", 0.0, 1e3
    )
    overrun: float = setting(0.02, "longest period between two states that is no overrun", "s", 1e-3, 10.0)

    def __post_init__(self) -> None:
        check_settings(self)


class LoopSettings(NamedTuple):
    """All that a loop works by; swapped as a whole between two updates."""

    controller: Controller
    limits: Limits
    feedback: Feedback  # of the answers to faults, and of the soft limits
    tolerances: Tolerances  # of trajectories that bring none of their own
    config: BehaviourSettings = BehaviourSettings()
    answers: FaultReactions = FaultReactions()


def own_feedback(controller: Controller) -> Feedback:
    """A law's gains as those of the answers: where they are accelerations, times the inertia felt in the home pose."""
    robot = controller.dynamics.robot
    felt = np.ones(robot.n)
    if controller.feedback == "acceleration":
        felt = np.diagonal(controller.dynamics.mass_matrix(robot.home))
    return Feedback(felt * controller.kp, felt * controller.kd)


# Settings that a control law has of its own, under the name of its plugin: ``adaptive.rate``.


def law_settings() -> dict[str, type[Any]]:
    """Prefix of the names → dataclass, of every installed law with settings.

    A plugin that cannot be imported has none: whoever asks for that law is told why.
    """
    found = {}
    for name in available("controllers"):
        try:
            settings = getattr(load("controllers", name), "settings", None)
        except PluginError:
            continue
        if settings is not None:
            found[f"{name}."] = settings
    return found


def make_law(name: str, dynamics: Dynamics, joints: Sequence[JointGains], values: NamedValues) -> Controller:
    """A control law with the gains of each joint and with its own settings.

    Args:
        name: of the plugin.
        dynamics: the arm's model.
        joints: gains, in the order of ``robot.joints``.
        values: among them those of the law's settings.

    Raises:
        RobodynError: the plugin is unknown or broken, or a value is wrong; the message names it.
    """
    law = load("controllers", name)
    settings = getattr(law, "settings", None)
    own = {} if settings is None else {"config": values.settings(settings, f"{name}.")}
    made: Controller = law(dynamics, *joint_gains(law, dynamics, dynamics.robot.home, joints), **own)
    return made


# What a loop and its model are made from, by the names that the controller node has for them as parameters.

NO_LIMIT = 1e301
"""What stands for no limit in a parameter, which cannot be infinite."""

LIMITS = ("effort", "effort_rate", "velocity")
"""Of each joint, as ``<kind>_limits.<joint>``."""


def make_loop_settings(values: NamedValues, dynamics: Dynamics, controller: str | None = None) -> LoopSettings:
    """All that the loop works by.

    Args:
        values: by name.
        dynamics: the model.
        controller: name of the law; the value ``controller`` unless given.

    Raises:
        RobodynError: a value is wrong, or an effort limit is missing; the message names it.
    """
    robot, names = dynamics.robot, dynamics.robot.joint_names
    gains = [values.settings(JointGains, f"gains.{name}.") for name in names]
    stiffness, damping, _ = joint_gains(GravityCompensation, dynamics, robot.home, gains)
    responses = FaultReactions()._asdict().items()
    return LoopSettings(
        make_law(controller or values["controller"], dynamics, gains, values),
        Limits.of(robot, *(_limits(values, kind, robot) for kind in LIMITS)),
        Feedback(stiffness, damping),
        Tolerances.of(
            values.settings(GoalSettings, "constraints."),
            [values.settings(JointTolerances, f"constraints.{name}.") for name in names],
        ),
        values.settings(BehaviourSettings),
        FaultReactions(**{kind: values.settings(type(response), f"faults.{kind}.") for kind, response in responses}),
    )


def model_parameters(values: NamedValues, robot: Robot) -> dict[str, Any]:
    """The runtime parameters of the model.

    Raises:
        InputError: the payload is impossible, or its link does not exist or cannot move.
    """
    inertia = values["payload.inertia"]
    if len(inertia) != 6:
        raise InputError("payload.inertia", f"must be 6 finite numbers, not {len(inertia)}", inertia)
    xx, xy, xz, yy, yz, zz = inertia
    matrix = [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]
    link, mass = values["payload.link"], values["payload.mass"]
    payload = Payload(link, mass, tuple(values["payload.com"]), matrix) if link else None
    if payload is None and mass > 0.0:
        raise InputError("payload.link", "must name the link that holds the payload", link)
    if payload is not None:
        payload.inertial()
        if robot.link(link).body < 0:
            raise InputError("payload.link", f"{link!r} is fixed to the base and cannot hold one", link)
    return {"gravity": tuple(values["gravity"]), "payload": payload}


def _limits(values: NamedValues, kind: str, robot: Robot) -> list[float]:
    given = [values[f"{kind}_limits.{name}"] for name in robot.joint_names]
    return [np.inf if value >= NO_LIMIT else value for value in given]


# All that can be set about the control loop, by name, as its node takes it, and what it is unless it is set.

MODEL: dict[str, Any] = {"dynamics": "rnea", "gravity": list(STANDARD_GRAVITY)}
"""What a model is made from, unless told otherwise."""

KINDS = {"effort": "effort", "effort_rate": "", "velocity": "velocity"}
"""Limits, and the attribute of the joint that is the default; none without one."""


def loop_default_values(robot: Robot) -> dict[str, Any]:
    """Name → value of all that can be set."""
    found: dict[str, Any] = MODEL | {"controller": "computed_torque"}
    for kind, default in KINDS.items():
        for joint in robot.joints:
            found[f"{kind}_limits.{joint.name}"] = getattr(joint, default) if default else np.inf
    groups: dict[str, Any] = {f"gains.{name}.": JointGains() for name in robot.joint_names}
    groups |= {f"constraints.{name}.": JointTolerances() for name in robot.joint_names} | {
        "constraints.": GoalSettings()
    }
    groups |= {f"faults.{kind}.": response for kind, response in FaultReactions()._asdict().items()} | {
        "": BehaviourSettings()
    }
    groups |= {prefix: settings() for prefix, settings in law_settings().items()}
    for prefix, settings in groups.items():
        found |= {prefix + item.name: getattr(settings, item.name) for item in fields(settings)}
    return found
