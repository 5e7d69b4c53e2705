"""What the files of every language say about the arm, and what things are called in them."""

from __future__ import annotations

import re

from robodyn_ros import __version__
from robodyn_ros.dynamics.compiled import CompiledDynamics


def identifier(name: str) -> str:
    """A name for files and functions made of the arm's: letters, digits and underscores, a letter first."""
    clean = re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_") or "arm"
    return clean if clean[0].isalpha() else f"arm_{clean}"


def plain(name: str) -> str:
    """A name from a URDF, such that it ends no comment and no string."""
    return re.sub(r"[^\w .,:()+/-]", "_", name, flags=re.ASCII)


def facts(dynamics: CompiledDynamics) -> list[str]:
    """What is written at the head of a file, line by line in ASCII."""
    robot, parameters = dynamics.robot, dynamics.parameters
    joints = [
        f"  {index}  {plain(joint.name)} ({joint.type}): [{joint.position_unit}], {joint.effort_unit.replace('·', ' ')}"
        for index, joint in enumerate(robot.joints)
    ]
    gravity = ", ".join(f"{value:g}" for value in parameters.gravity)
    maker = f"robodyn_ros {__version__} ({type(dynamics).__name__})"
    lines = [
        f"Equations of motion of the arm {plain(robot.name)}, by {maker}.",
        "",
        "Every vector is in this order of joints, with these units of position and effort;",
        "velocities and accelerations are per s and per s^2:",
        *joints,
        "",
        f"Gravity in the root link's frame: ({gravity}) m/s^2.",
    ]
    if parameters.payload is not None:
        lines.append(f"With a payload of {parameters.payload.mass:g} kg on link {plain(parameters.payload.link)}.")
    return lines
