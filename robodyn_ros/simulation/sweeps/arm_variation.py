# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The varied arm of a case: the study's URDF with some numbers changed, read and checked anew."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from xml.etree import ElementTree

from robodyn_ros.errors import InputError
from robodyn_ros.robot import Robot, reload_robot
from robodyn_ros.robot.description import UrdfEditor

AXES = "xyz"

LINK = ("mass", *(f"com.{axis}" for axis in AXES), "inertia_scale")
"""Quantities of a link: mass [kg], which scales the inertia too; centre of mass in its frame [m]; inertia factor."""

JOINT = {"effort": "limit", "velocity": "limit", "damping": "dynamics", "friction": "dynamics"}
"""Quantities of a joint: XML attribute → element."""


def arm_quantities(robot: Robot) -> Iterator[str]:
    """Yield the names of all quantities that can be changed."""
    for link in robot.links:
        if link.inertial is not None:
            yield from (f"{link.name}.{quantity}" for quantity in LINK)
    for joint in robot.joints:
        yield from (f"{joint.name}.{quantity}" for quantity in JOINT)


def varied_arm(urdf: str, changes: Mapping[str, float]) -> Robot:
    """Return the arm with changed quantities.

    Args:
        urdf: XML of the arm.
        changes: name → value, with the names of :func:`arm_quantities`.

    Raises:
        RobodynError: the arm is impossible; the message says why.
        InputError: there is no quantity of that name.
    """
    editor = UrdfEditor(urdf)
    for name, value in changes.items():
        owner, quantity = _split(name)
        kind = "joint" if quantity in JOINT else "link"
        element = editor.find(kind, owner)
        if element is None:
            raise InputError(name, f"the arm has no {kind} {owner!r}", value)
        (_change_joint if kind == "joint" else _change_link)(editor, element, quantity, float(value))
    robot, before = reload_robot(editor.document()), _found(urdf)
    for finding in robot.findings:
        if finding.severity == "warning" and finding.element not in before:  # the change made it impossible
            raise robot.description_error(finding.element, finding.text)
    return robot


@lru_cache(maxsize=4)
def _found(urdf: str) -> frozenset[str]:
    """The elements of an arm that have a finding."""
    return frozenset(finding.element for finding in reload_robot(urdf).findings)


def _split(name: str) -> tuple[str, str]:
    for quantity in (*LINK, *JOINT):
        if name.endswith(f".{quantity}"):
            return name.removesuffix(f".{quantity}"), quantity
    raise InputError(name, f"must end in one of {', '.join((*LINK, *JOINT))}")


def _change_joint(editor: UrdfEditor, joint: ElementTree.Element, quantity: str, value: float) -> None:
    editor.set(editor.child(joint, JOINT[quantity]), quantity, repr(value))


def _change_link(editor: UrdfEditor, link: ElementTree.Element, quantity: str, value: float) -> None:
    inertial = link.find("inertial")
    if inertial is None:
        raise InputError(quantity, f"link {link.get('name')!r} has no <inertial> to change", value)
    mass, inertia = inertial.find("mass"), inertial.find("inertia")
    if quantity.startswith("com."):
        origin = editor.child(inertial, "origin")
        place = (origin.get("xyz") or "0 0 0").split()
        place[AXES.index(quantity[-1])] = repr(value)
        editor.set(origin, "xyz", " ".join(place))
        return
    factor = value
    if quantity == "mass" and mass is not None:
        before = float(mass.get("value", "0"))
        factor = value / before if before else 1.0
        editor.set(mass, "value", repr(value))
    if inertia is not None:
        for entry, number in list(inertia.attrib.items()):
            editor.set(inertia, entry, repr(factor * float(number)))
