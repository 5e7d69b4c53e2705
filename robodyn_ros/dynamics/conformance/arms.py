# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The arms of the kit: what each is there for → its URDF. No parameter equals another one."""

from __future__ import annotations

from collections.abc import Sequence


def _link(name: str, mass: float = 0.0, com: str = "0 0 0", moments: str = "0 0 0 0 0 0", rpy: str = "0 0 0") -> str:
    """A link; moments are ixx, ixy, ixz, iyy, iyz, izz about the centre of mass."""
    if mass == 0.0:
        return f'<link name="{name}"/>'
    names = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
    inertia = " ".join(f'{key}="{value}"' for key, value in zip(names, moments.split(), strict=True))
    return (
        f'<link name="{name}"><inertial><origin xyz="{com}" rpy="{rpy}"/><mass value="{mass}"/>'
        f"<inertia {inertia}/></inertial></link>"
    )


def _joint(name: str, kind: str, ends: str, axis: str = "1 0 0", xyz: str = "0 0 0", rpy: str = "0 0 0") -> str:
    """A joint; ends are its parent and child link. Its friction is not to be seen unless it is asked for."""
    parent, child = ends.split()
    return _followed(name, kind, parent, child, axis, xyz, rpy, '<dynamics damping="0.37" friction="0.21"/>')


def _followed(name: str, kind: str, parent: str, child: str, axis: str, xyz: str, rpy: str, extra: str) -> str:
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="{xyz}" rpy="{rpy}"/><axis xyz="{axis}"/>'
        f'<limit lower="-9" upper="9" velocity="5" effort="90"/>{extra}</joint>'
    )


def _robot(*parts: str) -> str:
    return f'<robot name="conformance">{"".join(parts)}</robot>'


TOOL = ("0.8", "0.03 0.04 0.05", "0.003 0.0004 -0.0002 0.0037 0.0005 0.0042")
"""Mass, centre of mass and moments of the tool in the arms with one, in its own link's frame."""


def tool_arm(held: bool) -> str:
    """An arm whose flange, fixed to the last link, holds the tool; or does not."""
    return _robot(
        _link("base"),
        _link("pedestal", 20.0, "0.01 0.02 0.3", "0.5 0 0 0.6 0 0.7"),
        _link("upper", 3.1, "0.02 -0.01 0.22", "0.06 0.002 0 0.055 0 0.014"),
        _link("sensor", 0.35, "0.015 0.025 0.035", "0.0011 0.0001 0 0.0013 0 0.0009", "0.2 0 0.5"),
        _link("fore", 1.45, "-0.04 0.06 0.17", "0.018 0 0.001 0.023 0 0.012"),
        _link("flange", float(TOOL[0]), *TOOL[1:]) if held else _link("flange"),
        _joint("plinth", "fixed", "base pedestal", "0 0 0", "0.4 -0.3 0.2", "0.1 -0.2 0.9"),
        _joint("shoulder", "revolute", "pedestal upper", "0 1 0.5", "0 0.05 0.61", "0.3 0 0"),
        _joint("bracket", "fixed", "upper sensor", "0 0 0", "0.07 0.01 0.13", "0.6 -0.4 0.2"),
        _joint("elbow", "revolute", "sensor fore", "-1 0 0", "0.03 -0.02 0.38", "0 1.1 0.4"),
        _joint("mount", "fixed", "fore flange", "0 0 0", "0.01 0.02 0.29", "0.25 0.35 0.45"),
    )


_TREE = (
    _link("base"),
    _link("torso", 6.1, "0.03 -0.02 0.26", "0.21 0.01 0 0.19 0 0.12"),
    _link("left", 1.6, "0.04 0.15 -0.03", "0.022 0.001 0.002 0.013 0 0.025"),
    _link("hand", 0.77, "0.05 0.06 0.09", "0.0061 0 0 0.0072 0 0.0083"),
    _link("right", 2.2, "-0.06 -0.14 0.08", "0.031 0 0.003 0.024 0 0.037", "0.2 0.4 0.6"),
    _joint("waist", "revolute", "base torso", "0 0 1", "0 0 0.15"),
    _joint("z_left", "revolute", "torso left", "1 0 0.2", "-0.01 0.28 0.47", "-0.2 0.6 0.3"),
    _joint("a_wrist", "revolute", "left hand", "0 -2 0", "0.01 0.32 0.04", "0.7 0.1 0.2"),
    _joint("m_right", "prismatic", "torso right", "1 -1 0.5", "0.02 -0.24 0.43", "0.5 -0.3 -0.9"),
)


def tree(reverse: bool = False) -> str:
    """A torso with two unequal arms; reversed, the same arm with its links and joints listed backwards."""
    return _robot(*(reversed(_TREE) if reverse else _TREE))


PLAIN = "prismatic and revolute joints"
"""Name of the arm for clauses that do not depend on the arm."""

ARMS = {
    PLAIN: _robot(
        _link("base"),
        _link("slide", 4.4, "0.09 0.05 0.14", "0.05 0.003 0 0.07 0 0.06"),
        _link("upper", 2.9, "0.17 0.01 -0.06", "0.033 0 0.004 0.041 0 0.029"),
        _link("fore", 1.3, "0.11 0.02 0.07", "0.019 0.002 0 0.014 0.001 0.022"),
        _joint("lift", "prismatic", "base slide", "0 0 1", "0 0 0.2"),
        _joint("shoulder", "revolute", "slide upper", "0 1 0", "0.1 0 0.3"),
        _joint("elbow", "revolute", "upper fore", "0 1 0", "0.4 0 0"),
    ),
    "tilted, negative and long axes": _robot(
        _link("base"),
        _link("a", 2.3, "0.11 -0.07 0.19", "0.031 0.004 -0.002 0.043 0.003 0.052", "0.4 -0.7 1.1"),
        _link("b", 1.7, "-0.05 0.13 0.17", "0.021 -0.003 0.005 0.017 0.001 0.026", "-1.3 0.2 0.6"),
        _link("c", 0.9, "0.02 0.03 0.23", "0.012 0.002 0.001 0.011 -0.0015 0.009", "0.9 1.9 -0.5"),
        _joint("ja", "revolute", "base a", "0.3 -2.0 0.7", "0.1 0.2 0.35", "0.15 0.25 -0.45"),
        _joint("jb", "prismatic", "a b", "-3.0 0.5 4.0", "0.06 -0.04 0.41", "-0.8 0.33 0.21"),
        _joint("jc", "continuous", "b c", "0 0 -5", "0.03 0.27 -0.12", "1.2 -0.55 2.1"),
    ),
    "links fixed to moving ones": tool_arm(held=True),
    "branches": tree(),
    "mimic joints": _robot(
        _link("base"),
        _link("arm", 1.15, "0.02 0.01 0.24", "0.013 0 0.001 0.016 0 0.009"),
        _link("left", 0.21, "0.01 0.03 0.05", "0.0005 0 0 0.0006 0 0.0004"),
        _link("right", 0.26, "-0.02 -0.04 0.06", "0.0007 0 0 0.0008 0 0.0009"),
        _link("thumb", 0.14, "0.015 0.07 0.025", "0.0002 0 0 0.0003 0 0.00025"),
        _joint("shoulder", "revolute", "base arm", "0 1 0"),
        _joint("finger", "prismatic", "arm left", "0 1 0.1", "0.01 0.02 0.45"),
        _followed(
            *("follower", "prismatic", "arm", "right", "0 -1 0.2", "0.015 -0.03 0.47", "0 0 0"),
            '<mimic joint="finger" multiplier="1.25" offset="0.035"/>',
        ),
        _followed(
            *("turner", "revolute", "right", "thumb", "1 0 0.3", "0.02 0.01 0.03", "0.1 0.2 0.3"),
            '<mimic joint="follower" multiplier="-2.5" offset="0.4"/>',
        ),
    ),
    "a link without mass between joints": _robot(
        _link("base"),
        _link("a", 1.9, "0 0 0", "0.03 0 0 0.04 0 0.05"),
        _link("cross"),
        _link("c", 1.3, "0.08 0.21 0.16", "0.013 0 0 0.019 0 0.016"),
        _joint("ja", "revolute", "base a"),
        _joint("jb", "revolute", "a cross", "0 1 0", "0.05 0.1 0.2", "0.2 0.9 -0.3"),
        _joint("jc", "revolute", "cross c", "0 0 1", "0.14 0 0.37"),
    ),
}


KITS_OWN = frozenset(ARMS)
"""Names of the arms that belong to the kit."""


def serve_only(paths: Sequence[str]) -> None:
    """Put the arms of these URDFs in the place of the kit's own."""
    ARMS.clear()
    ARMS.update({path: path for path in paths})


def arm_like(name: str) -> str:
    """The arm of the kit of a name, or the first of the arms that the plugin serves."""
    return ARMS.get(name, next(iter(ARMS.values())))


def planar(masses: tuple[float, float], lengths: tuple[float, float], centres: tuple[float, float]) -> str:
    """Two point masses on bars in the xz plane, along +x at 0, a positive angle raising them; under them a lift."""
    return _robot(
        _link("base"),
        _link("cart", 1.9),
        _link("first", masses[0], f"{centres[0]} 0 0"),
        _link("second", masses[1], f"{centres[1]} 0 0"),
        _joint("lift", "prismatic", "base cart", "0 0 1"),
        _joint("shoulder", "revolute", "cart first", "0 -1 0"),
        _joint("elbow", "revolute", "first second", "0 -1 0", f"{lengths[0]} 0 0"),
    )
