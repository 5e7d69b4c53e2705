# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Links and joints → the tree of moving bodies, which is the robot; bodies and arms that cannot exist are refused.

A rigid body of mass m ≥ 0 has a rotational inertia about its centre of mass whose principal moments are ≥ 0 and obey
the triangle inequality, I₁ + I₂ ≥ I₃, because each I is a sum of squares over the body: I₁ = ∫ y² + z² dm
(Lynch and Park, Modern Robotics, section 8.2.1). Equality is a flat plate, (0, I, I) a thin rod, zeros a point mass.
Textbooks use all three idealisations, and all are accepted. Rotational inertia without mass is accepted too, because
robots in use have it (a gear's rotor, the feet of a walking robot).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from robodyn_ros.errors import RobotDescriptionError
from robodyn_ros.robot.pose import Array, Pose, read_only
from robodyn_ros.robot.robot import Body, Inertial, Joint, Link, Robot


def build_robot(name: str, links: Mapping[str, Inertial | None], joints: Sequence[Joint], urdf: str) -> Robot:
    """The robot of these links and joints: each moving link with all links that are fixed to it is one body.

    Args:
        name: the robot's name.
        links: name → own inertial, in the order of the URDF.
        joints: in the order of the URDF; branches are followed in this order.
        urdf: the XML, which the robot keeps.

    Raises:
        RobotDescriptionError: they are not one tree with at least one movable joint.
    """
    ordered = depth_first(name, links, joints)
    movable = [joint for joint in ordered if joint.type != "fixed"]
    if not movable:
        raise RobotDescriptionError(f"robot {name!r}", "has no joint that moves")
    free = [joint for joint in movable if joint.mimic is None]
    body, pose, placements = bodies_of(ordered)
    owned = tuple(Link(link, links[link], body[link], pose[link]) for link in links)
    named = {joint.name: joint for joint in joints}

    bodies = []
    for i, (joint, placement) in enumerate(zip(movable, placements, strict=True)):
        leader, ratio, offset = _leader(joint, named)
        members = [link for link in owned if link.body == i]
        inertial = Inertial.combined(m.inertial.seen_from(m.pose) for m in members if m.inertial is not None)
        names, coordinate = tuple(link.name for link in members), free.index(leader)
        parent = body[joint.parent]
        bodies.append(Body(joint.child, joint, parent, placement, inertial, names, coordinate, ratio, offset))
    fixed = tuple(joint for joint in ordered if joint.type == "fixed")
    robot = Robot(name, tuple(free), tuple(bodies), owned, fixed, urdf)
    check_finite(robot)
    return robot


def bodies_of(ordered: Sequence[Joint]) -> tuple[dict[str, int], dict[str, Pose], list[Pose]]:
    """The body of each link (-1: the base), its pose in that body, and the pose of each body in its parent.

    Args:
        ordered: all joints of an arm, parents before children.
    """
    root = ordered[0].parent
    body, pose, placements = {root: -1}, {root: Pose()}, list[Pose]()
    for joint in ordered:
        body[joint.child], pose[joint.child] = body[joint.parent], pose[joint.parent] @ joint.origin
        if joint.type != "fixed":
            body[joint.child] = len(placements)
            placements.append(pose[joint.child])
            pose[joint.child] = Pose()
    return body, pose, placements


def depth_first(name: str, links: Mapping[str, Inertial | None], joints: Sequence[Joint]) -> list[Joint]:
    """The joints, parents before children; every link is reached exactly once."""
    by_child = _parent_joints(links, joints)
    if not links:
        raise RobotDescriptionError(f"robot {name!r}", "has no link")
    roots = [link for link in links if link not in by_child]
    if len(roots) > 1:
        problem = f"has {len(roots)} root links, {', '.join(map(repr, roots))}; it must have one"
        raise RobotDescriptionError(f"robot {name!r}", problem)
    branches: dict[str, list[Joint]] = {link: [] for link in links}
    for joint in reversed(joints):
        branches[joint.parent].append(joint)
    ordered = []
    ahead = list(branches[roots[0]]) if roots else []
    while ahead:
        joint = ahead.pop()
        ordered.append(joint)
        ahead += branches[joint.child]
    if len(ordered) < len(joints) or not roots:
        reached = {joint.name for joint in ordered}
        raise _loop(next(joint for joint in joints if joint.name not in reached), by_child)
    return ordered


def _parent_joints(links: Mapping[str, Inertial | None], joints: Sequence[Joint]) -> dict[str, Joint]:
    """Child link → the joint that carries it."""
    by_child: dict[str, Joint] = {}
    names = set()
    for joint in joints:
        title = f"joint {joint.name!r}"
        if joint.name in names:
            raise RobotDescriptionError(title, "there is another joint of this name")
        names.add(joint.name)
        for role, link in (("parent", joint.parent), ("child", joint.child)):
            if link not in links:
                raise RobotDescriptionError(title, f"its {role} link {link!r} does not exist")
        if joint.child in by_child:
            problem = f"is the child of both joint {by_child[joint.child].name!r} and joint {joint.name!r}"
            problem += "; a link has one parent, loops are not supported"
            raise RobotDescriptionError(f"link {joint.child!r}", problem)
        by_child[joint.child] = joint
    return by_child


def _loop(joint: Joint, by_child: Mapping[str, Joint]) -> RobotDescriptionError:
    """The error for a joint that is not connected to a root: its chain of parents ends in a circle."""
    seen: list[Joint] = []
    while joint not in seen:
        seen.append(joint)
        joint = by_child[joint.parent]
    circle = [step.name for step in reversed(seen[seen.index(joint) :])]
    return RobotDescriptionError(f"joint {circle[0]!r}", f"is part of a loop: {' → '.join([*circle, circle[0]])}")


def _leader(joint: Joint, joints: Mapping[str, Joint]) -> tuple[Joint, float, float]:
    """The independent joint at the end of a chain of mimic joints, with ratio and offset of the whole chain."""
    title = f"joint {joint.name!r}"
    ratio, offset = 1.0, 0.0
    seen = []
    while joint.mimic is not None:
        mimic = joint.mimic
        seen.append(joint.name)
        if mimic.joint not in joints:
            raise RobotDescriptionError(title, f"mimics joint {mimic.joint!r}, which does not exist")
        if mimic.joint in seen:
            raise RobotDescriptionError(title, f"mimics in a circle: {' → '.join([*seen, mimic.joint])}")
        ratio, offset = ratio * mimic.multiplier, ratio * mimic.offset + offset
        joint = joints[mimic.joint]
        if joint.type == "fixed":
            raise RobotDescriptionError(title, f"mimics joint {joint.name!r}, which is fixed")
    if not np.isfinite([ratio, offset]).all():
        raise RobotDescriptionError(title, "its mimic multipliers grow beyond all numbers")
    return joint, ratio, offset


NOISE = 1e-12
"""Inertia per kilogram that counts as zero [m²]: that of a body a micrometre across. Exporters write 1e-35."""

ROUNDING = 1e-2
"""Greatest violation of the rules that an inertia may have, relative to its greatest moment.

URDFs carry rounded numbers. A plate with moments (0.5006, 0.5046, 1.0052), rounded to three digits, reads (0.501,
0.505, 1.01), which breaks the triangle inequality by 0.4 %; three digits can break it by 0.6 % at most. Mistakes break
it by more: in the URDFs of Gepetto/example-robot-data, one inertia breaks it by 0.18 %, all others by 2.1 % and more.
"""

EXACT = 1e-12
"""Greatest negative value of a moment whose exact value is zero, relative to the greatest moment."""

INSIDE = 1e-6
"""Least eigenvalue of a repaired Σ, relative to the greatest. MuJoCo and other programs have no tolerance for
rounding."""

SINGULAR = 1e-10
"""Relative size below which the inertia that a joint moves counts as zero.

A point mass on a joint's axis has a relative inertia of 1e-32 with exact numbers, and of 1e-11 where a right angle is
written as 1.5708. A 1 mm tool on a 30 m gantry, which is real, has 1e-9.
"""

GREATEST = 1e100
"""Greatest distance of two frames [m] and inertia that a joint moves [kg m²]: the product of three is a number."""

_OVERFLOW = "its masses and lengths multiply to something beyond the range of numbers"

PICTURES = (
    "no moving link has a mass: this URDF is for pictures. Poses, inverse kinematics, workspace and viewer work with "
    "it; dynamics needs an <inertial> with mass, centre of mass and inertia in each link that moves"
)
"""Message for a URDF that describes geometry only."""

_POSES = (0.7, 1.3, 2.9)
"""Seeds of the poses at which the mass matrix is evaluated; their values do not matter."""


def check_inertial(title: str, inertial: Inertial) -> None:
    """Check that a link's own inertial is physically possible.

    Raises:
        RobotDescriptionError: it is not; the message starts with the title.
    """
    mass, inertia = inertial.mass, inertial.inertia
    if mass < 0.0:
        raise RobotDescriptionError(title, f"mass {mass:g} kg is negative")
    greatest = np.abs(inertia).max()
    noise = NOISE * mass
    if greatest <= noise:
        return
    names = ("ixx", "iyy", "izz")
    for name, moment in zip(names, np.diag(inertia), strict=True):
        if moment < -max(noise, EXACT * greatest):  # rounding cannot make a positive number negative
            raise RobotDescriptionError(title, f"{name} = {moment:g} kg m² is negative, which is physically impossible")
    moments = np.linalg.eigvalsh(inertia / greatest)
    tolerance = ROUNDING * moments[2]
    listed = ", ".join(f"{moment:g}" for moment in moments * greatest)
    if moments[0] * greatest < -max(noise, tolerance * greatest):
        problem = f"inertia is not positive definite: its principal moments are {listed} kg m²"
        raise RobotDescriptionError(title, problem)
    if moments[0] + moments[1] < moments[2] - tolerance:
        problem = "inertia breaks the triangle inequality, which is physically impossible: of its principal moments"
        raise RobotDescriptionError(title, f"{problem} {listed} kg m², the greatest exceeds the sum of the others")


def nearest_possible(inertial: Inertial) -> Inertial:
    """The nearest mass distribution that a body can have; the centre of mass stays.

    About the centre of mass the pseudo-inertia is P = [[Σ, 0], [0, m]] with Σ = ½ tr(I) 1 − I, and a body exists
    exactly if P is positive semidefinite (Wensing, Kim and Slotine, IEEE RA-L 3(1), 2018, section III). The nearest
    such matrix in the Frobenius norm has the same eigenvectors, and zero replaces each negative eigenvalue (Higham,
    Computing a nearest symmetric positive semidefinite matrix, Linear Algebra and its Applications 103, 1988, theorem
    2.1). Here ``INSIDE`` times the greatest eigenvalue replaces zero, so that rounding cannot make the body impossible.
    Moments become infinite if they are beyond the range of numbers.
    """
    greatest = np.abs(inertial.inertia).max() or 1.0
    inertia = inertial.inertia / greatest  # so that sums do not overflow
    values, vectors = np.linalg.eigh(0.5 * np.trace(inertia) * np.eye(3) - inertia)
    second = (vectors * np.maximum(values, INSIDE * max(values[2], 0.0))) @ vectors.T
    possible = np.trace(second) * np.eye(3) - second
    with np.errstate(over="ignore"):
        nearest = greatest * (0.5 * (possible + possible.T))
    return Inertial(max(inertial.mass, 0.0), inertial.com, read_only(nearest))


def check_finite(robot: Robot) -> None:
    """Check that lengths, and products of lengths and masses, which are finite, stay so in the equations.

    Raises:
        RobotDescriptionError: one is not; the message names the link.
    """
    parts = [(link.name, link.pose, link.inertial or Inertial()) for link in robot.links]
    parts += [(body.name, body.placement, body.inertial) for body in robot.bodies]
    for name, pose, own in parts:
        lengths_fit = (np.abs(pose.translation) <= GREATEST).all()
        if not lengths_fit or not np.isfinite([*own.com, *own.inertia.ravel()]).all():
            raise RobotDescriptionError(f"link {name!r}", _OVERFLOW)


def check_moves_inertia(robot: Robot) -> None:
    """Check that every motion of the joints moves some inertia, so that the mass matrix can be inverted.

    det M(q) is analytic in q. If it is zero at a random pose, it is (almost surely) zero at all poses.

    Raises:
        RobotDescriptionError: no body has a mass; a joint, or a combination of joints, moves no inertia, or a negative
            one; the message names the joints and the remedy.
    """
    if not any(body.inertial.mass or body.inertial.inertia.any() for body in robot.bodies):
        raise robot.description_error(f"robot {robot.name!r}", PICTURES)
    for seed in _POSES:
        with np.errstate(all="ignore"):  # an overflow gives inf or nan
            least, joints = _least_inertia(robot, np.sin(seed * np.arange(1, robot.n + 1)))
        if np.isnan(least):
            raise RobotDescriptionError(f"robot {robot.name!r}", _OVERFLOW)
        if least > SINGULAR:
            return
    names = [robot.joint_names[i] for i in joints]
    if len(names) == 1:
        problem = "moves no inertia: the links beyond it have no mass, or it all lies on the axis"
        raise robot.description_error(f"joint {names[0]!r}", f"{problem}; give them an <inertial>, or lock the joint")
    problem = "can move against each other without moving any inertia, or a negative one: links between them have no"
    problem += " mass, or an impossible inertia; give them an <inertial>, or lock one of the joints"
    raise robot.description_error(f"joints {', '.join(map(repr, names))}", problem)


def _least_inertia(robot: Robot, q: Array) -> tuple[float, tuple[int, ...]]:
    """The least relative inertia of any motion at pose q, and the indices of the joints that take part in it.

    An inertia above ``SINGULAR`` gives infinity and no joints; one beyond ``GREATEST`` gives NaN and no joints.
    """
    M, bound = _mass_matrix(robot, q)
    if not np.isfinite(M).all() or not (bound <= GREATEST).all():
        return np.nan, ()
    diagonal = np.diag(M) / np.where(bound > 0.0, bound, 1.0)
    weakest = int(np.argmin(diagonal))
    if diagonal[weakest] <= SINGULAR:
        return float(diagonal[weakest]), (weakest,)
    scale = np.sqrt(np.diag(M))
    relative = M / np.outer(scale, scale)
    try:  # eigenvalues take a hundred times as long, and only the error needs them
        np.linalg.cholesky(relative - SINGULAR * np.eye(robot.n))
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(relative)
        return float(values[0]), tuple(int(i) for i in np.flatnonzero(np.abs(vectors[:, 0]) > 0.1))
    return np.inf, ()


def _mass_matrix(robot: Robot, q: Array) -> tuple[Array, Array]:
    """M(q) (n, n), and a bound on its diagonal (n,), as if all mass were an arm's length away from each axis.

    M = Σ m Jvᵀ Jv + Jωᵀ I Jω over the bodies (any textbook). It is written here because robot/ knows no plugins.
    """
    bodies, count = robot.bodies, len(robot.bodies)
    poses: list[Pose] = []
    carries = np.zeros((count, count))  # 1 where the joint in the column carries the body in the row
    ratios = np.zeros((count, robot.n))
    axes, origins = np.empty((2, count, 3))
    for k, body in enumerate(bodies):
        pose = body.placement if body.parent < 0 else poses[body.parent] @ body.placement
        poses.append(pose @ body.joint.motion(body.ratio * q[body.coordinate] + body.offset))
        axes[k], origins[k] = pose.rotation @ body.joint.axis, pose.translation
        if body.parent >= 0:
            carries[k] = carries[body.parent]
        carries[k, k] = 1.0
        ratios[k, body.coordinate] = body.ratio
    seen = [body.inertial.seen_from(pose) for body, pose in zip(bodies, poses, strict=True)]
    centres = np.array([inertial.com for inertial in seen])
    inertias = np.array([inertial.inertia for inertial in seen])
    masses = np.array([inertial.mass for inertial in seen])
    size = np.linalg.norm(np.ptp(np.concatenate([[pose.translation for pose in poses], centres]), axis=0))
    slides = np.array([body.joint.is_prismatic for body in bodies])
    arms = np.where(slides[:, None], axes, np.cross(axes, centres[:, None] - origins))  # (body, joint, 3)
    linear = np.einsum("bj,bjx,jn->bxn", carries, arms, ratios, optimize=True)
    angular = np.einsum("bj,jx,jn->bxn", carries * ~slides, axes, ratios, optimize=True)

    def gathered(a: Array, b: Array) -> Array:
        return a.reshape(3 * count, -1).T @ b.reshape(3 * count, -1)

    M = gathered(linear, masses[:, None, None] * linear) + gathered(angular, inertias @ angular)
    spread = masses * size**2 + np.trace(inertias, axis1=1, axis2=2)
    bound = np.einsum("b,bxn->n", masses, linear**2) + np.einsum("b,bxn->n", spread, angular**2)
    return M + np.diag(robot.armature), bound + robot.armature
