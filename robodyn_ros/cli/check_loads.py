"""What the arm has to hold: the efforts of gravity at poses, against the limits, and how well M can be inverted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from robodyn_ros.cli.check_urdf import Finding
from robodyn_ros.control.checks import finite_array
from robodyn_ros.control.limits import check_position_limits
from robodyn_ros.dynamics.base import Dynamics
from robodyn_ros.errors import InputError
from robodyn_ros.robot import Robot
from robodyn_ros.robot.pose import Array

SAMPLES = 4096
"""Poses at which the worst is looked for."""

LITTLE_LEFT = 0.8
"""Share of the effort limit beyond which little is left to move with."""

ILL = 1e4
"""Condition of M, its diagonal scaled to 1, beyond which some motion has next to no inertia."""

WITHOUT_LIMITS = {True: 1.0, False: np.pi}
"""How far a joint without position limits is taken to go: a prismatic one [m], others [rad]."""


class Loads(NamedTuple):
    """What was found; n joints, p poses."""

    poses: Mapping[str, Array]  # name → positions (n,)
    efforts: Mapping[str, Array]  # name → holding efforts (n,) in [N·m] or [N]
    worst: Array  # greatest holding effort of each joint over its range, with its sign (n,)
    worst_poses: Array  # where that is (n, n)
    condition: Mapping[str, float]  # of M, its diagonal scaled to 1, at each pose
    worst_condition: float
    heaviest: Array  # greatest inertia that each joint feels (n,) in [kg m²] or [kg]
    lightest: Array  # least (n,)


def loads(dynamics: Dynamics, poses: Mapping[str, Array]) -> Loads:
    """Look at the given poses, and at many more for the worst.

    Args:
        dynamics: the arm.
        poses: name → positions (n,) in [rad] or [m]; the home pose comes first by itself.
    """
    robot = dynamics.robot
    named = {"home": robot.home, **poses}
    places = np.concatenate([np.array(list(named.values())), _sampled(robot)])
    gravity, mass = dynamics.gravity(places), dynamics.mass_matrix(places)
    rows = np.abs(gravity).argmax(axis=0)
    scale = np.sqrt(np.diagonal(mass, axis1=1, axis2=2))
    condition = np.linalg.cond(mass / (scale[:, :, np.newaxis] * scale[:, np.newaxis, :]))
    return Loads(
        named,
        dict(zip(named, gravity, strict=False)),
        gravity[rows, np.arange(robot.n)],
        places[rows],
        {name: float(value) for name, value in zip(named, condition, strict=False)},
        float(condition.max()),
        (scale**2).max(axis=0),
        (scale**2).min(axis=0),
    )


def _sampled(robot: Robot) -> Array:
    """Poses all over the range, the same every time (SAMPLES, n)."""
    far = np.array([WITHOUT_LIMITS[joint.is_prismatic] for joint in robot.joints])
    lower = np.where(np.isfinite(robot.lower), robot.lower, -far)
    upper = np.where(np.isfinite(robot.upper), robot.upper, far)
    places: Array = np.random.default_rng(0).uniform(lower, upper, (SAMPLES, robot.n))
    return places


def parse_pose(text: str, robot: Robot) -> tuple[str, Array]:
    """Name and positions (n,) of ``name=0.3,-1.2,0.7`` or ``0.3,-1.2,0.7``.

    Raises:
        InputError: it is not that.
        LimitError: it is outside the position limits.
    """
    name, equals, numbers = text.rpartition("=")
    words = [word for word in numbers.split(",") if word.strip()]
    if len(words) != robot.n or (equals and not name.strip()):
        order = ",".join(robot.joint_names)
        raise InputError("--pose", f"{text!r} must be {robot.n} numbers in the order {order}, or name=numbers", text)
    try:
        pose = finite_array("--pose", [float(word) for word in words], (robot.n,))
    except ValueError as cause:
        raise InputError("--pose", f"{text!r}: {cause}", text) from cause
    check_position_limits("--pose", robot, pose, list(range(robot.n)))
    return name.strip() or numbers.strip(), pose


def load_findings(robot: Robot, found: Loads) -> Iterator[Finding]:
    """Joints that cannot hold the arm, or hardly; an ill-conditioned M."""
    for index, joint in enumerate(robot.joints):
        title, limit, unit = f"joint {joint.name!r}", joint.effort, joint.effort_unit
        if not np.isfinite(limit) or limit == 0.0:
            continue
        for name, efforts in found.efforts.items():
            if abs(efforts[index]) > limit:
                text = f"cannot hold the arm at {name}: that takes {abs(efforts[index]):.4g} {unit} of {limit:g} {unit}"
                yield Finding("error", title, None, text)
        share = abs(found.worst[index]) / limit
        if share > LITTLE_LEFT:
            where = ", ".join(f"{value:.2f}" for value in found.worst_poses[index])
            text = f"takes {share:.0%} of its effort limit to hold the arm at ({where})"
            yield Finding("warning", title, None, text)
    if found.worst_condition > ILL:
        text = f"the condition of M reaches {found.worst_condition:.2g}: some motion has next to no inertia"
        yield Finding("warning", f"robot {robot.name!r}", None, text)
