"""The controller's parameters, and what is made of them.

Those of the node are declared when it starts; those of the joints when it is configured, for only then the joints are
known. All that does not say which arm it is may change while the arm moves.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from rclpy.node import Node
from rclpy.parameter import Parameter

from robodyn_ros import create_dynamics
from robodyn_ros.control.answers import Answers, Feedback
from robodyn_ros.control.following import GoalConfig, JointTolerances, Tolerances
from robodyn_ros.control.gains import JointGains, joint_gains
from robodyn_ros.control.gravity_compensation import GravityCompensation
from robodyn_ros.control.limits import Limits
from robodyn_ros.control.loop_config import LoopConfig
from robodyn_ros.control.model_check import check_model
from robodyn_ros.control.transmission import Transmission, TransmissionConfig
from robodyn_ros.control.tuning import Tuning
from robodyn_ros.dynamics import STANDARD_GRAVITY, Dynamics, Payload
from robodyn_ros.errors import ConfigurationError, InputError
from robodyn_ros.nodes.description import NAME as DESCRIPTION
from robodyn_ros.nodes.description import declare_description
from robodyn_ros.nodes.diagnostics import DiagnosticsConfig
from robodyn_ros.nodes.parameters import Values, declare, declare_settings
from robodyn_ros.plugins import available, load
from robodyn_ros.robot import Joint, Robot

FIXED_WHILE_CONFIGURED = (DESCRIPTION, "joints")
"""Parameters that count at the next configure; changing them while configured is refused."""

RATE = 100.0
"""Default rate limit of an effort, in effort limits a second: from nothing to all of it in 10 ms [1/s]."""

NO_LIMIT = 1e301
"""What stands for no limit in a parameter, which cannot be infinite."""


def declare_model(node: Node, read_only: bool = False) -> None:
    """Declare what the model of the arm is made from, beside its description."""
    choices = f"one of {', '.join(available('dynamics'))}"
    declare(node, "dynamics", "rnea", "dynamics plugin", constraints=choices, read_only=read_only)
    text = "acceleration of free fall in the root link's frame [m/s²]"
    gravity = list(STANDARD_GRAVITY)
    declare(node, "gravity", gravity, text, constraints="3 finite numbers", read_only=read_only)


def declare_node_parameters(node: Node) -> None:
    """Declare what is known before the arm is.

    Raises:
        ParameterException: a value given has the wrong type or is out of range.
    """
    declare_description(node, "the topic of this name is used if empty")
    declare_model(node)
    choices = f"one of {', '.join(available('controllers'))}"
    declare(node, "controller", "computed_torque", "controller plugin", constraints=choices)
    declare(node, "autostart", True, "configure and activate as soon as there is a description", read_only=True)
    declare_payload(node)
    declare_settings(node, LoopConfig)
    declare_settings(node, GoalConfig, "constraints.")
    for kind, response in Answers()._asdict().items():
        declare_settings(node, type(response), f"faults.{kind}.")
    declare_settings(node, DiagnosticsConfig, read_only=True)


def declare_payload(node: Node) -> None:
    """Declare what the arm holds."""
    declare(node, "payload.link", "", "link that holds a payload", constraints="a link of the arm; empty for none")
    declare(node, "payload.mass", 0.0, "mass of the payload [kg]", bounds=(0.0, 1e6))
    text = "centre of mass of the payload in the link's frame [m]"
    declare(node, "payload.com", [0.0] * 3, text, constraints="3 finite numbers")
    text = "inertia of the payload about its centre of mass, xx, xy, xz, yy, yz, zz [kg m²]"
    declare(node, "payload.inertia", [0.0] * 6, text, constraints="6 finite numbers")


def declare_joint_parameters(node: Node, robot: Robot) -> None:
    """Declare what each joint has.

    Raises:
        ParameterException: a value given has the wrong type or is out of range.
    """
    declare_joints(node, robot, "~/commands")
    for joint in robot.joints:
        name = joint.name
        declare_settings(node, JointGains, f"gains.{name}.", f" of joint {name}")
        declare_settings(node, JointTolerances, f"constraints.{name}.", f" of joint {name}")
        declare_settings(node, TransmissionConfig, f"transmission.{name}.", f" of joint {name}", read_only=True)
        _declare_limits(node, joint)


def _declare_limits(node: Node, joint: Joint) -> None:
    known = bool(np.isfinite(joint.effort))
    name, unit = f"effort_limits.{joint.name}", joint.effort_unit
    text = f"greatest effort of joint {joint.name} [{unit}]"
    text += "; the URDF's unless given, and at most that" if known else "; must be given, for the URDF has none"
    greatest = joint.effort if known else float(np.finfo(float).max)
    declare(node, name, joint.effort if known else Parameter.Type.DOUBLE, text, bounds=(0.0, greatest))
    text = f"greatest change of the effort of joint {joint.name} [{unit}/s]; {RATE:g} times the limit unless given"
    default = Values(node).get(name, 0.0) * RATE or NO_LIMIT
    declare(node, f"effort_rate_limits.{joint.name}", min(default, NO_LIMIT), text, bounds=(1e-9, NO_LIMIT))
    text = f"greatest speed of joint {joint.name} [{joint.position_unit}/s]; the URDF's unless given, and at most that"
    greatest = min(joint.velocity or NO_LIMIT, NO_LIMIT)  # as Limits.of has it
    declare(node, f"velocity_limits.{joint.name}", greatest, text, bounds=(0.0, greatest))


def declare_joints(node: Node, robot: Robot, topic: str, read_only: bool = False) -> None:
    """Declare the order of the joints on a topic of commands."""
    text = f"names of all joints of the arm, in the order of {topic}"
    declare(node, "joints", list(robot.joint_names), text, constraints="each joint once", read_only=read_only)


def joint_order(values: Values, robot: Robot) -> tuple[str, ...]:
    """The joints in the order of commands.

    Raises:
        ConfigurationError: it is not all joints of the arm, each once.
    """
    given = tuple(values["joints"])
    if sorted(given) != sorted(robot.joint_names):
        arm = ", ".join(robot.joint_names)
        raise ConfigurationError(f"joints: must be all joints of the arm, each once ({arm}), not {', '.join(given)}")
    return given


def make_dynamics(values: Values, robot: Robot) -> Dynamics:
    """The model that the parameters name, tried at a few states.

    Raises:
        PluginError, InputError: of the plugin; ``ModelError``: it contradicts itself.
    """
    dynamics = create_dynamics(values["dynamics"], robot, **model_parameters(values, robot))
    check_model(dynamics)
    return dynamics


def make_transmission(values: Values, robot: Robot) -> Transmission:
    """What is between the joints and their motors."""
    return Transmission([values.settings(TransmissionConfig, f"transmission.{name}.") for name in robot.joint_names])


def model_parameters(values: Values, robot: Robot) -> dict[str, Any]:
    """The runtime parameters of the controller's model.

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


def tune(values: Values, dynamics: Dynamics, controller: str | None = None) -> Tuning:
    """All that the loop works by, from the parameters and a model.

    Args:
        values: of the parameters.
        dynamics: the model.
        controller: name of the law; the parameter's unless given.

    Raises:
        RobodynError: a value is wrong, or an effort limit is missing; the message names it.
    """
    robot, names = dynamics.robot, dynamics.robot.joint_names
    law = load("controllers", controller or values["controller"])
    home = np.clip(np.zeros(robot.n), robot.lower, robot.upper)
    gains = [values.settings(JointGains, f"gains.{name}.") for name in names]
    stiffness, damping, _ = joint_gains(GravityCompensation, dynamics, home, gains)
    responses = Answers()._asdict().items()
    return Tuning(
        law(dynamics, *joint_gains(law, dynamics, home, gains)),
        Limits.of(robot, *(_limits(values, key, robot) for key in ("effort", "effort_rate", "velocity"))),
        Feedback(stiffness, damping),
        Tolerances.of(
            values.settings(GoalConfig, "constraints."),
            [values.settings(JointTolerances, f"constraints.{name}.") for name in names],
        ),
        values.settings(LoopConfig),
        Answers(**{kind: values.settings(type(response), f"faults.{kind}.") for kind, response in responses}),
    )


def _limits(values: Values, key: str, robot: Robot) -> list[float]:
    given = [values[f"{key}_limits.{name}"] for name in robot.joint_names]
    return [np.inf if value >= NO_LIMIT else value for value in given]
