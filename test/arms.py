# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""URDFs that only the tests need: the reference's mechanisms, awkward arms, and arms made at random.

No parameter equals another unless the reference says so: an implementation that reads the wrong one must not pass.
Every arm here is also a valid URDF for urdfdom, so that Pinocchio and MuJoCo read the very same text.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from xml.sax.saxutils import quoteattr

import numpy as np

Vector = Sequence[float]
Maybe = Vector | None
"""Numbers, or None where they are left out."""

URDF = Path(__file__).parents[1] / "urdf"
OURS = {path.stem: path.read_text(encoding="utf-8") for path in sorted(URDF.glob("*.urdf"))}
"""The arms of the package, and the text of each."""

BODY = (0.013, 0.001, 0.002, 0.017, 0.003, 0.021)
"""An inertia."""


def robot(name: str, *parts: str) -> str:
    """A whole URDF from its links and joints."""
    return "\n".join([f"<robot name={quoteattr(name)}>", *parts, "</robot>"])


def link(
    name: str, mass: float | None = None, com: Maybe = None, inertia: Vector = (0, 0, 0, 0, 0, 0), rpy: Maybe = None
) -> str:
    """A link; inertia in the order ixx, ixy, ixz, iyy, iyz, izz about the centre of mass."""
    if mass is None:
        return f"<link name={quoteattr(name)}/>"
    names = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
    moments = " ".join(f'{key}="{value!r}"' for key, value in zip(names, map(float, inertia), strict=True))
    return (
        f"<link name={quoteattr(name)}><inertial>{_origin(com, rpy)}"
        f'<mass value="{float(mass)!r}"/><inertia {moments}/></inertial></link>'
    )


def joint(
    name: str,
    kind: str,
    parent: str,
    child: str,
    axis: Maybe = None,
    xyz: Maybe = None,
    rpy: Maybe = None,
    limit: Maybe = (-2.5, 2.75, 12.0, 150.0),
    extra: str = "",
) -> str:
    """A joint; limit is lower, upper, velocity, effort, and None leaves the tag out, as for the other tags."""
    tags = [f"<parent link={quoteattr(parent)}/><child link={quoteattr(child)}/>", _origin(xyz, rpy), extra]
    if axis is not None:
        tags.append(f'<axis xyz="{_numbers(axis)}"/>')
    if limit is not None and kind != "fixed":
        lower, upper, velocity, effort = map(float, limit)
        tags.append(f'<limit lower="{lower!r}" upper="{upper!r}" velocity="{velocity!r}" effort="{effort!r}"/>')
    return f"<joint name={quoteattr(name)} type={quoteattr(kind)}>{''.join(tags)}</joint>"


def losses(damping: float | None = None, friction: float | None = None) -> str:
    """The viscous [N·m·s/rad, N·s/m] and dry [N·m, N] friction of a joint."""
    given = {"damping": damping, "friction": friction}
    texts = [f'{name}="{value!r}"' for name, value in given.items() if value is not None]
    return f"<dynamics {' '.join(texts)}/>"


def slider(limit: Vector = (-10, 10, 100, 100), mass: float = 2.0, axis: Vector = (1, 0, 0), extra: str = "") -> str:
    """A mass on a rail, horizontal unless its axis says otherwise."""
    rail = joint("slide", "prismatic", "base", "mass", axis, limit=limit, extra=extra)
    return robot("slider", link("base"), link("mass", mass, None, (0.1, 0, 0, 0.1, 0, 0.1)), rail)


def wheel(inertia: float = 0.5) -> str:
    """A disc that turns about the vertical without limits, with this inertia [kg m²]."""
    disc = link("disc", 2.0, None, (0.6 * inertia, 0, 0, 0.8 * inertia, 0, inertia))
    return robot("wheel", link("base"), disc, joint("hub", "continuous", "base", "disc", (0, 0, 1), limit=None))


def mechanism(
    kind: str, masses: Maybe = None, lengths: Maybe = None, coms: Maybe = None, inertias: Maybe = None
) -> str:
    """One of the reference's planar mechanisms, ``R``, ``PR``, ``RR`` or ``PRR``, with a number per letter.

    Reference section 2: z up, P along +z, R about +y, everything straight up at 0. Defaults are the unit mechanism:
    m = 1, l = 1, lc = 0.5, I = 1; the reference's PR has its mass at d = 1 instead, lc = 1. Length and inertia of a P
    play no role. Joints are joint1, joint2, …, links link1, link2, …; the frame ``tool`` is at the tip.
    """
    n = len(kind)
    masses, lengths = masses or [1.0] * n, lengths or [1.0] * n
    coms, inertias = coms or [1.0 if kind.upper() == "PR" else 0.5] * n, inertias or [1.0] * n
    parts = [link("link0")]
    at = 0.0
    for i, letter in enumerate(kind.upper()):
        name, parent = f"link{i + 1}", f"link{i}"
        moment = inertias[i]
        parts.append(link(name, masses[i], (0, 0, coms[i]), (0.9 * moment, 0, 0, moment, 0, 0.3 * moment)))
        motion, axis = ("prismatic", (0, 0, 1)) if letter == "P" else ("revolute", (0, 1, 0))
        parts.append(joint(f"joint{i + 1}", motion, parent, name, axis, (0, 0, at)))
        at = 0.0 if letter == "P" else lengths[i]
    return robot(kind.lower(), *parts, link("tool"), joint("tip", "fixed", f"link{n}", "tool", None, (0, 0, at)))


def lesson_arm(
    masses: Vector = (5.0, 3.0),
    lengths: Vector = (0.5, 0.4),
    coms: Vector = (0.25, 0.2),
    inertias: Vector = (0.1, 0.05),
) -> str:
    """The lesson's planar arm (reference section 3), of as many links as there are masses.

    Horizontal along +x at 0; a positive angle raises it, so that the axes are -y and G is proportional to +cos.
    """
    parts = [link("link0")]
    at = 0.0
    for i, (mass, length, com, moment) in enumerate(zip(masses, lengths, coms, inertias, strict=True)):
        name = f"link{i + 1}"
        parts.append(link(name, mass, (com, 0, 0), (0.3 * moment, 0, 0, moment, 0, 0.9 * moment)))
        parts.append(joint(f"joint{i + 1}", "revolute", f"link{i}", name, (0, -1, 0), (at, 0, 0)))
        at = length
    tip = joint("tip", "fixed", f"link{len(masses)}", "tool", None, (at, 0, 0))
    return robot("lesson", *parts, link("tool"), tip)


def resized(text: str, scale: float) -> str:
    """An arm with all its lengths multiplied: origins, the travel of its slides, and the radii of its inertias."""

    def multiply(pattern: str, factor: float, tag: str) -> str:
        return re.sub(
            pattern, lambda found: f'{found[1]}="{_numbers(factor * np.array(found[2].split(), dtype=float))}"', tag
        )

    text = re.sub("<origin[^>]*>", lambda tag: multiply('(xyz)="(.*?)"', scale, tag[0]), text)
    text = re.sub("<inertia [^>]*>", lambda tag: multiply('(i[xyz][xyz])="(.*?)"', scale**2, tag[0]), text)
    slides = re.compile('<joint [^>]*"prismatic".*?</joint>', re.DOTALL)
    return slides.sub(lambda tag: multiply('(lower|upper|velocity)="(.*?)"', scale, tag[0]), text)


def random_robot(seed: int, joints: int = 5, branching: float = 0.25, fixed: float = 0.3, mimic: float = 0.0) -> str:
    """A chain or tree of revolute and prismatic joints, drawn at random.

    Args:
        seed: the same seed gives the same text.
        joints: movable joints, named joint0, joint1, …
        branching: probability that a joint starts at an earlier link instead of the last one.
        fixed: probability that a movable joint is preceded by a fixed one.
        mimic: probability that a joint other than the first follows an earlier one.
    """
    rng = np.random.default_rng(seed)
    follow = np.random.default_rng([seed, 1])  # of its own: what else is drawn does not depend on it
    parts = [link("link0")]
    links = ["link0"]
    for i in range(joints):
        parent = links[-1] if rng.random() >= branching else links[rng.integers(len(links))]
        if rng.random() < fixed:
            welded = f"welded{i}"
            parts += [_random_link(rng, welded) if rng.random() < 0.7 else link(welded)]
            parts += [joint(f"weld{i}", "fixed", parent, welded, None, *_random_origin(rng))]
            parent = welded
        name = f"link{i + 1}"
        kind = "prismatic" if rng.random() < 0.35 else "revolute"
        limit = (-rng.uniform(1, 3), rng.uniform(1, 3), rng.uniform(1, 12), rng.uniform(20, 400))
        extra = _random_mimic(follow, i) if i and follow.random() < mimic else ""
        parts.append(_random_link(rng, name))
        parts.append(joint(f"joint{i}", kind, parent, name, _random_axis(rng), *_random_origin(rng), limit, extra))
        links.append(name)
    parts += [link("tool"), joint("tip", "fixed", links[-1], "tool", None, *_random_origin(rng))]
    return robot(f"random{seed}", *parts)


def _random_mimic(rng: np.random.Generator, i: int) -> str:
    ratio, offset = rng.choice([-1, 1]) * rng.uniform(0.3, 2.0), rng.uniform(-0.5, 0.5)
    return f'<mimic joint="joint{rng.integers(i)}" multiplier="{ratio:.3f}" offset="{offset:.3f}"/>'


def _random_axis(rng: np.random.Generator) -> Vector | None:
    choice = rng.integers(4)
    if choice == 0:
        return None
    if choice == 1:
        axis = np.zeros(3)
        axis[rng.integers(3)] = rng.choice([-2.0, -1.0, 1.0, 3.0])
        return list(axis)
    return list(rng.uniform(-3.0, 3.0, 3))


def _random_origin(rng: np.random.Generator) -> tuple[Vector | None, Vector | None]:
    xyz, rpy = rng.uniform(-0.5, 0.5, 3).tolist(), rng.uniform(-np.pi, np.pi, 3).tolist()
    return (xyz if rng.random() < 0.85 else None), (rpy if rng.random() < 0.7 else None)


def _random_link(rng: np.random.Generator, name: str) -> str:
    """A real body: its inertia is that of a dozen point masses, so that it is possible."""
    points = rng.normal(size=(12, 3)) * rng.uniform(0.02, 0.15, 3)
    mass = rng.uniform(0.3, 6.0)
    points -= points.mean(axis=0)
    I = mass / 12 * (np.sum(points**2) * np.eye(3) - points.T @ points)  # noqa: E741
    rpy = rng.uniform(-np.pi, np.pi, 3).tolist() if rng.random() < 0.5 else None
    return link(name, mass, rng.uniform(-0.2, 0.2, 3).tolist(), I[np.triu_indices(3)].tolist(), rpy)


def _origin(xyz: Vector | None, rpy: Vector | None) -> str:
    if xyz is None and rpy is None:
        return ""
    place = "" if xyz is None else f' xyz="{_numbers(xyz)}"'
    turn = "" if rpy is None else f' rpy="{_numbers(rpy)}"'
    return f"<origin{place}{turn}/>"


def _numbers(values: Vector) -> str:
    return " ".join(repr(float(value)) for value in values)


def awkward() -> dict[str, str]:
    """Name → an arm whose URDF is legal and trips implementations up."""
    return {name: robot(name, *parts) for name, parts in AWKWARD.items()}


RAIL, BELT = (-0.4, 0.9, 1.5, 210.0), (-0.3, 0.7, 1.1, 170.0)
FINGER, THUMB = (-2.0, 2.0, 1.0, 30.0), (-2.0, 2.0, 3.0, 5.0)
FOLLOWS, TURNS = (
    '<mimic joint="left_finger" multiplier="1.25" offset="0.035"/>',
    '<mimic joint="right_finger" multiplier="-2.5" offset="0.4"/>',
)

AWKWARD = {
    # Tilted, negative and non-unit axes; rotated and off-diagonal inertials.
    "tilted": (
        link("base"),
        link("a", 2.3, (0.11, -0.07, 0.19), (0.031, 0.004, -0.002, 0.043, 0.003, 0.052), (0.4, -0.7, 1.1)),
        link("b", 1.7, (-0.05, 0.13, 0.17), (0.021, -0.003, 0.005, 0.017, 0.001, 0.026), (-1.3, 0.2, 0.6)),
        link("c", 0.9, (0.02, 0.03, 0.23), (0.012, 0.002, 0.001, 0.011, -0.0015, 0.009), (0.9, 1.9, -0.5)),
        joint("ja", "revolute", "base", "a", (0.3, -2.0, 0.7), (0.1, 0.2, 0.35), (0.15, 0.25, -0.45)),
        joint("jb", "prismatic", "a", "b", (-3.0, 0.5, 4.0), (0.06, -0.04, 0.41), (-0.8, 0.33, 0.21)),
        joint("jc", "revolute", "b", "c", (0.0, 0.0, -5.0), (0.03, 0.27, -0.12), (1.2, -0.55, 2.1)),
    ),
    # Every tag that may be left out is left out somewhere; half an origin; a massless link between joints.
    "omitted": (
        link("base"),
        link("a", 1.9, None, (0.03, 0, 0, 0.04, 0, 0.05)),
        link("b"),
        link("c", 1.3, (0.08, 0.21, 0.16), (0.013, 0, 0, 0.019, 0, 0.016)),
        link("d", 0.6, None, (0.007, 0.001, 0, 0.009, 0, 0.006), (0.3, 0.8, -0.2)),
        joint("ja", "revolute", "base", "a"),
        joint("jb", "revolute", "a", "b", None, None, (0.2, 0.9, -0.3)),
        joint("jc", "prismatic", "b", "c", (0, 1, 0), (0.14, 0, 0.37)),
        joint("jd", "revolute", "c", "d", None, (0.05, 0.12, 0.18), (0, 0.7, 0)),
    ),
    # A fixed base, a chain of fixed links in the middle, and a heavy fixed tool on a turned flange.
    "welded": (
        link("world"),
        link("pedestal", 20.0, (0.01, 0.02, 0.3), (0.5, 0, 0, 0.6, 0, 0.7)),
        link("a", 3.1, (0.02, -0.01, 0.22), (0.06, 0.002, 0, 0.055, 0, 0.014)),
        link("sensor", 0.35, (0.015, 0.025, 0.035), (0.0011, 0.0001, 0, 0.0013, 0, 0.0009), (0.2, 0, 0.5)),
        link("bracket"),
        link("b", 1.45, (-0.04, 0.06, 0.17), (0.018, 0, 0.001, 0.023, 0, 0.012)),
        link("flange"),
        link("tool", 0.82, (0.033, 0.044, 0.055), (0.003, 0.0004, -0.0002, 0.0037, 0.0005, 0.0042), (1, 2, 3)),
        joint("weld0", "fixed", "world", "pedestal", None, (0.4, -0.3, 0.2), (0.1, -0.2, 0.9)),
        joint("ja", "revolute", "pedestal", "a", (0, 1, 0.5), (0, 0.05, 0.61), (0.3, 0, 0)),
        joint("weld1", "fixed", "a", "sensor", None, (0.07, 0.01, 0.13), (0.6, -0.4, 0.2)),
        joint("weld2", "fixed", "sensor", "bracket", (0, 0, 0), (0.02, 0.09, 0.31), (-0.5, 0.7, 1.3)),
        joint("jb", "revolute", "bracket", "b", (-1, 0, 0), (0.03, -0.02, 0.08), (0, 1.1, 0.4)),
        joint("weld3", "fixed", "b", "flange", None, (0, 0, 0.29), (0.25, 0.35, 0.45)),
        joint("weld4", "fixed", "flange", "tool", None, (0.012, 0.023, 0.034), (-0.15, 0.85, 2.2)),
    ),
    # A torso with two unequal arms, the joints listed out of order.
    "branched": (
        joint("wrist", "revolute", "left", "hand", (0, -2, 0), (0.01, 0.32, 0.04), (0.7, 0.1, 0.2)),
        joint("right_arm", "prismatic", "torso", "right", (1, -1, 0.5), (0.02, -0.24, 0.43), (0.5, -0.3, -0.9)),
        link("hand", 0.77, (0.05, 0.06, 0.09), (0.0061, 0, 0, 0.0072, 0, 0.0083)),
        link("torso", 6.1, (0.03, -0.02, 0.26), (0.21, 0.01, 0, 0.19, 0, 0.12)),
        link("base"),
        joint("waist", "revolute", "base", "torso", (0, 0, 1), (0, 0, 0.15)),
        link("left", 1.6, (0.04, 0.15, -0.03), (0.022, 0.001, 0.002, 0.013, 0, 0.025)),
        link("right", 2.2, (-0.06, -0.14, 0.08), (0.031, 0, 0.003, 0.024, 0, 0.037), (0.2, 0.4, 0.6)),
        joint("left_arm", "revolute", "torso", "left", (1, 0, 0.2), (-0.01, 0.28, 0.47), (-0.2, 0.6, 0.3)),
    ),
    # Revolute, two prismatic in the middle, revolute; all friction and limits different.
    "gantry": (
        link("base"),
        link("a", 4.4, (0.09, 0.05, 0.14), (0.05, 0.003, 0, 0.07, 0, 0.06)),
        link("b", 2.9, (0.17, 0.01, -0.06), (0.033, 0, 0.004, 0.041, 0, 0.029)),
        link("c", 1.8, (0.03, 0.2, 0.07), (0.019, 0.002, 0, 0.014, 0.001, 0.022)),
        link("d", 0.66, (0.04, -0.08, 0.12), (0.0056, 0, 0, 0.0047, 0, 0.0038)),
        joint("ja", "revolute", "base", "a", (0, 0, -1), limit=(-3.1, 2.9, 4.0, 80.0), extra=losses(0.31, 0.12)),
        joint("jb", "prismatic", "a", "b", (2, 0, 0), (0.2, 0.1, 0.3), (0, 0.3, 0), RAIL, losses(5.2)),
        joint("jc", "prismatic", "b", "c", (0, -1, 1), (0.3, 0, 0.05), (0.2, 0, 0.1), BELT, losses(None, 1.9)),
        joint("jd", "revolute", "c", "d", (1, 2, 2), (0, 0.25, 0.06), None, (-1.9, 1.4, 9.0, 22.0)),
    ),
    # A gripper: one finger follows the other, a thumb follows that finger, turning as it slides.
    "mimic": (
        link("base"),
        link("arm", 1.15, (0.02, 0.01, 0.24), (0.013, 0, 0.001, 0.016, 0, 0.009)),
        link("left", 0.21, (0.01, 0.03, 0.05), (0.0005, 0, 0, 0.0006, 0, 0.0004)),
        link("right", 0.26, (-0.02, -0.04, 0.06), (0.0007, 0, 0, 0.0008, 0, 0.0009)),
        link("thumb", 0.14, (0.015, 0.07, 0.025), (0.0002, 0, 0, 0.0003, 0, 0.00025)),
        joint("shoulder", "revolute", "base", "arm", (0, 1, 0)),
        joint("left_finger", "prismatic", "arm", "left", (0, 1, 0.1), (0.01, 0.02, 0.45)),
        joint("right_finger", "prismatic", "arm", "right", (0, -1, 0.2), (0.015, -0.03, 0.47), None, FINGER, FOLLOWS),
        joint(
            "thumb_joint", "revolute", "right", "thumb", (1, 0, 0.3), (0.02, 0.01, 0.03), (0.1, 0.2, 0.3), THUMB, TURNS
        ),
    ),
}

PRR = mechanism("PRR", (13, 1.5, 6), (1, 0.5, 0.34), (0.1, 0.2, 0.15))
"""The PRR arm that most tests of the control have."""
