"""An arm of a case: the study's URDF with some of its numbers changed, read and checked anew."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from xml.etree import ElementTree

from robodyn_ros.errors import InputError
from robodyn_ros.robot import Robot

AXES = "xyz"

LINK = ("mass", *(f"com.{axis}" for axis in AXES), "inertia_scale")
"""Of a link: mass [kg], with its inertia in proportion; centre of mass in its frame [m]; factor of the inertia."""

JOINT = {"effort": "limit", "velocity": "limit", "damping": "dynamics", "friction": "dynamics"}
"""Of a joint: attribute → element."""


def quantities(robot: Robot) -> Iterator[str]:
    """Names of all that can be changed."""
    for link in robot.links:
        if link.inertial is not None:
            yield from (f"{link.name}.{quantity}" for quantity in LINK)
    for joint in robot.joints:
        yield from (f"{joint.name}.{quantity}" for quantity in JOINT)


def changed(urdf: str, changes: Mapping[str, float]) -> Robot:
    """The arm with other numbers.

    Args:
        urdf: XML of the arm.
        changes: name → value, names as in :func:`quantities`.

    Raises:
        RobodynError: the arm is impossible; the message says why.
        InputError: no such name.
    """
    from robodyn_ros.robot.urdf import load_robot

    root = ElementTree.fromstring(urdf)
    elements = {(kind, found.get("name")): found for kind in ("link", "joint") for found in root.findall(kind)}
    for name, value in changes.items():
        owner, quantity = _split(name)
        kind = "joint" if quantity in JOINT else "link"
        element = elements.get((kind, owner))
        if element is None:
            raise InputError(name, f"the arm has no {kind} {owner!r}", value)
        (_change_joint if kind == "joint" else _change_link)(element, quantity, float(value))
    return load_robot(ElementTree.tostring(root, encoding="unicode"))


def _split(name: str) -> tuple[str, str]:
    for quantity in (*LINK, *JOINT):
        if name.endswith(f".{quantity}"):
            return name.removesuffix(f".{quantity}"), quantity
    raise InputError(name, f"must end in one of {', '.join((*LINK, *JOINT))}")


def _change_joint(joint: ElementTree.Element, quantity: str, value: float) -> None:
    element = joint.find(JOINT[quantity])
    if element is None:
        element = ElementTree.SubElement(joint, JOINT[quantity])
    element.set(quantity, repr(value))


def _change_link(link: ElementTree.Element, quantity: str, value: float) -> None:
    inertial = link.find("inertial")
    if inertial is None:
        raise InputError(quantity, f"link {link.get('name')!r} has no <inertial> to change", value)
    mass, inertia = inertial.find("mass"), inertial.find("inertia")
    if quantity.startswith("com."):
        origin = inertial.find("origin")
        if origin is None:
            origin = ElementTree.SubElement(inertial, "origin")
        place = (origin.get("xyz") or "0 0 0").split()
        place[AXES.index(quantity[-1])] = repr(value)
        origin.set("xyz", " ".join(place))
        return
    factor = value
    if quantity == "mass" and mass is not None:
        before = float(mass.get("value", "0"))
        factor = value / before if before else 1.0
        mass.set("value", repr(value))
    if inertia is not None:
        for entry, number in inertia.attrib.items():
            inertia.set(entry, repr(factor * float(number)))
