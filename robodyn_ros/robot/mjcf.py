# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""MJCF, MuJoCo's own description of a model → a URDF, by the package ``mujoco`` where that is installed.

MuJoCo reads the file and so resolves default classes, includes, units, several joints of one body, and inertias from
shapes. The compiled model is written as a URDF. Positions q are the same in both. A URDF has no place for the inertia
of the motors' rotors; it becomes an attribute ``armature`` of ``<dynamics>``.

A URDF can hold a tree of joints only. Other constraints and forces in MuJoCo (closed loops, tendons, springs, air) are
listed in tags ``<constraint>``; :func:`~robodyn_ros.robot.load_robot` refuses them unless it accepts ``closed_loops``.
A URDF has no place for gravity either, which is a parameter of the dynamics; it is in a tag ``<remark>`` and becomes a
warning.

The kinematics is MuJoCo's (documentation, "Computation", and ``mj_kinematics`` in its engine_core_smooth.c).
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from robodyn_ros.errors import RobotDescriptionError, pip_install
from robodyn_ros.robot.pose import MOMENTS, Array, Pose, quaternion_rotation, read_only
from robodyn_ros.robot.robot import Inertial

CONSTRAINT = "constraint"
"""Tag, in the URDF, of a constraint or force that a tree of joints cannot have."""

REMARK = "remark"
"""Tag, in the URDF, of a remark on the MJCF for the user."""

WORLD = "world"

_SPRINGS = ("jnt_stiffness", "jnt_stiffnesspoly", "tendon_stiffness", "tendon_stiffnesspoly")

_DAMPERS = ("dof_damping", "dof_dampingpoly", "tendon_damping", "tendon_dampingpoly")

_FRICTION = ("dof_frictionloss", "tendon_frictionloss")

SWITCHED_OFF = {
    "GRAVITY": ("gravity",),
    "SPRING": _SPRINGS,
    "DAMPER": _DAMPERS,
    "PASSIVE": (*_SPRINGS, *_DAMPERS),  # before MuJoCo 3.4
    "FRICTIONLOSS": _FRICTION,
    "EQUALITY": ("eq_active0",),
    "CONSTRAINT": (*_FRICTION, "eq_active0"),
}
"""Flag of ``<option>`` that is disabled → arrays of the model, or of its options, that have no effect then."""

HIDDEN = 3
"""Groups of geoms from this one on are not drawn, as in MuJoCo's viewer."""

_AHEAD = re.compile(r"[\ufeff\s]*")

_SKIPPED = {"<?": "?>", "<!--": "-->"}
"""Beginnings and ends of the markup that may come before the root tag."""

_ROOT = re.compile(r"<mujoco[\s/>]")


def is_mjcf(text: str) -> bool:
    """True if the root tag of an XML text is ``<mujoco>``."""
    at = _AHEAD.match(text, 0).end()  # type: ignore[union-attr]
    while end := next((end for begin, end in _SKIPPED.items() if text.startswith(begin, at)), ""):
        at = text.find(end, at)
        if at < 0:
            return False
        at = _AHEAD.match(text, at + len(end)).end()  # type: ignore[union-attr]
    return _ROOT.match(text, at) is not None


def to_urdf(label: str, text: str, file: str | None) -> str:
    """The URDF of an MJCF.

    Args:
        label: name of the source in messages.
        text: the XML.
        file: its path, the base of the paths of includes and meshes; None if there is none.

    Raises:
        RobotDescriptionError: MuJoCo is not installed, or refuses the file.
    """
    try:
        import mujoco
    except ImportError as cause:
        problem = f"is an MJCF (<mujoco>), which needs MuJoCo: {pip_install('robodyn_ros[mujoco]')}"
        raise RobotDescriptionError(label, problem) from cause
    try:
        read = mujoco.MjModel.from_xml_string(text) if file is None else mujoco.MjModel.from_xml_path(file)
    except (ValueError, RuntimeError) as cause:  # FatalError, of the package, is a RuntimeError
        raise RobotDescriptionError(label, f"MuJoCo refuses it: {' '.join(str(cause).split())}") from cause
    _switch_off(mujoco, read)
    return _Writer(mujoco, read, None if file is None else Path(file).resolve().parent).text()


def _switch_off(mujoco: Any, model: Any) -> None:
    """Set to zero what the flags of the model's options have disabled."""
    for flag, names in SWITCHED_OFF.items():
        if model.opt.disableflags & int(getattr(mujoco.mjtDisableBit, f"mjDSBL_{flag}", 0)):
            for name in names:
                getattr(model, name, getattr(model.opt, name, np.zeros(1)))[:] = 0.0


class _Writer:
    """Writes a compiled model as a URDF."""

    def __init__(self, mujoco: Any, model: Any, folder: Path | None) -> None:
        self._mj, self._model, self._folder = mujoco, model, folder
        name = model.names[: model.names.index(b"\0")].decode(errors="replace")
        self._root = ET.Element("robot", {"name": name or "mjcf"})
        self._links: dict[str, ET.Element] = {}
        self._bodies = [WORLD, *self._names("BODY", model.nbody)[1:]]
        self._joints = self._names("JOINT", model.njnt)
        couplings = [index for index in self._active() if self._couples(index)]
        # Joint → the first equality that couples it to another.
        self._mimics = {int(model.eq_obj1id[index]): index for index in reversed(couplings)}

    def text(self) -> str:
        """The URDF."""
        for body, name in enumerate(self._bodies):
            if body > 0:
                self._body(body)
            else:
                self._link(name)
            self._shapes(body)
            self._inertial(body)
        for site in range(self._model.nsite):  # frames of tools
            if name := self._named("SITE", site):
                place = _pose(self._model.site_pos[site], self._model.site_quat[site])
                self._fixed(self._bodies[self._model.site_bodyid[site]], _free(name, self._links), place)
        for tag, told in ((CONSTRAINT, self._constraints()), (REMARK, self._remarks())):
            for element, problem in told:
                ET.SubElement(self._root, tag, {"element": element, "problem": problem})
        ET.indent(self._root)
        return ET.tostring(self._root, encoding="unicode")

    def _named(self, kind: str, index: int) -> str:
        return self._mj.mj_id2name(self._model, getattr(self._mj.mjtObj, f"mjOBJ_{kind}"), index) or ""

    def _names(self, kind: str, count: int) -> list[str]:
        """The names of all objects of a kind; a name made of its number where there is none."""
        given = [self._named(kind, index) for index in range(count)]
        return [name or _free(f"{kind.lower()}{index}", given) for index, name in enumerate(given)]

    def _link(self, name: str) -> None:
        self._links[name] = ET.SubElement(self._root, "link", {"name": name})

    def _body(self, body: int) -> None:
        """The links and joints from a body's parent to the body: one joint after the other, each at its anchor."""
        model, name = self._model, self._bodies[body]
        parent = self._bodies[model.body_parentid[body]]
        frame = _pose(model.body_pos[body], model.body_quat[body])  # of the body in the link so far
        joints = range(model.body_jntadr[body], model.body_jntadr[body] + model.body_jntnum[body])
        for joint in joints:
            anchor = Pose(translation=read_only(model.jnt_pos[joint]))
            last = joint == joints[-1] and not anchor.translation.any()
            child = name if last else _free(f"{name}/{self._joints[joint]}", (*self._links, *self._bodies))
            self._link(child)
            self._joint(joint, parent, child, frame @ anchor)
            parent, frame = child, anchor.inverse()
        if not joints or parent != name:
            self._fixed(parent, name, frame)

    def _fixed(self, parent: str, child: str, origin: Pose) -> None:
        self._link(child)
        name = _free(f"{child}/fixed", self._joints)  # each link is the child of one joint
        write_joint(self._root, name, "fixed", parent, child, origin)

    def _joint(self, index: int, parent: str, child: str, place: Pose) -> None:
        """A joint; its position is that of MuJoCo, so in the pose of the file it is ``ref``."""
        model, kinds = self._model, self._mj.mjtJoint
        kind, name, axis = kinds(model.jnt_type[index]), self._joints[index], model.jnt_axis[index]
        if kind in (kinds.mjJNT_FREE, kinds.mjJNT_BALL):
            write_joint(self._root, name, "floating" if kind == kinds.mjJNT_FREE else "ball", parent, child, place)
            return
        slides, limited = kind == kinds.mjJNT_SLIDE, bool(model.jnt_limited[index])
        reference = float(model.qpos0[model.jnt_qposadr[index]])
        back = Pose(translation=read_only(-reference * axis)) if slides else _turn(axis, -reference)
        urdf_kind = "prismatic" if slides else "revolute" if limited else "continuous"
        joint = write_joint(self._root, name, urdf_kind, parent, child, place @ back)
        ET.SubElement(joint, "axis", {"xyz": numbers_text(axis)})
        limit = {"effort": self._effort(index), "velocity": np.inf}
        if slides or limited:
            lower, upper = model.jnt_range[index].tolist() if limited else (-np.inf, np.inf)
            limit |= {"lower": lower, "upper": upper}
        if len(limit) > 2 or np.isfinite(limit["effort"]):
            ET.SubElement(joint, "limit", {key: limit_text(value) for key, value in limit.items()})
        dof = model.jnt_dofadr[index]
        values = {
            "damping": model.dof_damping[dof] + self._drives(index, "actuator_damping"),
            "friction": model.dof_frictionloss[dof],
            "armature": model.dof_armature[dof] + self._drives(index, "actuator_armature"),
        }
        if any(values.values()):
            ET.SubElement(joint, "dynamics", {key: repr(float(value)) for key, value in values.items()})
        if index in self._mimics:
            ET.SubElement(joint, "mimic", self._mimic(self._mimics[index]))

    def _actuators(self, joint: int) -> Iterator[int]:
        """The actuators that move a joint."""
        model, kinds = self._model, self._mj.mjtTrn
        for actuator in np.flatnonzero(model.actuator_gear[:, 0]).tolist():
            moves = kinds(model.actuator_trntype[actuator]) in (kinds.mjTRN_JOINT, kinds.mjTRN_JOINTINPARENT)
            if moves and model.actuator_trnid[actuator, 0] == joint:
                yield actuator

    def _drives(self, joint: int, array: str) -> float:
        """The armature and damping of a joint's actuators, reflected through their gears."""
        values = getattr(self._model, array, None)  # since MuJoCo 3.5
        if values is None:
            return 0.0
        gears = self._model.actuator_gear
        return float(sum(gears[k, 0] ** 2 * float(np.ravel(values[k])[0]) for k in self._actuators(joint)))

    def _effort(self, joint: int) -> float:
        """The greatest effort of a joint: of all its actuators together, and within its own limit."""
        model, total = self._model, 0.0
        for actuator in self._actuators(joint):
            force = np.inf
            if model.actuator_forcelimited[actuator]:
                force = np.abs(model.actuator_forcerange[actuator]).max()
            if model.actuator_ctrllimited[actuator] and self._is_motor(actuator):
                control = np.abs(model.actuator_ctrlrange[actuator]).max()
                force = min(force, abs(model.actuator_gainprm[actuator, 0]) * control)
            total += abs(model.actuator_gear[actuator, 0]) * force
        if model.jnt_actfrclimited[joint]:
            total = min(total or np.inf, np.abs(model.jnt_actfrcrange[joint]).max())
        return float(total or np.inf)

    def _is_motor(self, actuator: int) -> bool:
        """True if an actuator's force is a gain times its control."""
        mj = self._mj
        kinds = {"gain": mj.mjtGain.mjGAIN_FIXED, "bias": mj.mjtBias.mjBIAS_NONE, "dyn": mj.mjtDyn.mjDYN_NONE}
        found = {name: getattr(self._model, f"actuator_{name}type")[actuator] for name in kinds}
        return all(found[name] == int(kind) for name, kind in kinds.items())

    def _mimic(self, index: int) -> dict[str, str]:
        """The mimic relation of an equality q₁ - q₁⁰ = c₀ + c₁ (q₂ - q₂⁰)."""
        model = self._model
        one, two, data = model.eq_obj1id[index], model.eq_obj2id[index], model.eq_data[index, :2]
        zero = [model.qpos0[model.jnt_qposadr[joint]] for joint in (one, two)]
        offset = float(data[0] + zero[0] - data[1] * zero[1])
        return {"joint": self._joints[two], "multiplier": repr(float(data[1])), "offset": repr(offset)}

    def _couples(self, index: int) -> bool:
        """True if an equality is a linear relation of two joints."""
        model, kinds = self._model, self._mj.mjtEq
        joints = kinds(model.eq_type[index]) == kinds.mjEQ_JOINT and model.eq_obj2id[index] >= 0
        return bool(joints and model.eq_data[index, 1] != 0.0 and not model.eq_data[index, 2:5].any())

    def _active(self) -> list[int]:
        return [index for index in range(self._model.neq) if self._model.eq_active0[index]]

    def _constraints(self) -> Iterator[tuple[str, str]]:
        """Name and effect of each element that a tree of joints cannot have."""
        model, kinds = self._model, self._mj.mjtEq
        equalities, tendons = self._names("EQUALITY", model.neq), self._names("TENDON", model.ntendon)
        for index in self._active():
            if index in self._mimics.values():
                continue
            kind = kinds(model.eq_type[index]).name.removeprefix("mjEQ_").lower()
            yield f"equality {equalities[index]!r}", f"is a constraint of type {kind}"
        for tendon in range(model.ntendon):
            forces = ("stiffness", "damping", "frictionloss", "limited", "armature")
            found = [name for name in forces if self._has(f"tendon_{name}", tendon)]
            if found:
                yield f"tendon {tendons[tendon]!r}", f"pulls at its joints ({', '.join(found)})"
        for joint, name in enumerate(self._joints):
            if self._has("jnt_stiffness", joint) or self._has("jnt_stiffnesspoly", joint):
                yield f"joint {name!r}", "has a spring (stiffness)"
            dof = model.jnt_dofadr[joint]
            if self._has("dof_dampingpoly", dof):
                yield f"joint {name!r}", "has damping that is not linear"
        for body in np.flatnonzero(model.body_gravcomp):
            yield f"body {self._bodies[body]!r}", f"is held against gravity (gravcomp {model.body_gravcomp[body]:g})"

        for name in ("density", "viscosity"):
            if value := getattr(model.opt, name):
                yield f"option {name!r}", f"lets air or water resist the motion ({value:g})"

    def _remarks(self) -> Iterator[tuple[str, str]]:
        """Name and content of each element that is no part of the arm."""
        own, usual = self._model.opt.gravity, self._mj.MjOption().gravity  # MuJoCo's default is that of this package
        if not np.array_equal(own, usual):
            vector = " ".join(f"{value:g}" for value in own)
            yield ("option 'gravity'", f"is {vector} m/s², which a URDF cannot hold: pass it to the dynamics")

    def _has(self, array: str, index: int) -> bool:
        """True if an array of the model, which older versions of MuJoCo may not have, is not zero at an index."""
        return bool(np.any(getattr(self._model, array, np.zeros((index + 1, 1)))[index]))

    def _inertial(self, body: int) -> None:
        model = self._model
        mass, moments = float(model.body_mass[body]), model.body_inertia[body]
        if body == 0 or not (mass or moments.any()):
            return
        axes = quaternion_rotation(model.body_iquat[body])
        inertia = axes @ np.diag(moments) @ axes.T  # in the axes of the body's frame
        write_inertial(self._links[self._bodies[body]], Inertial(mass, model.body_ipos[body], inertia))

    def _shapes(self, body: int) -> None:
        """The visual and collision shapes of a body."""
        model = self._model
        for geom in range(model.body_geomadr[body], model.body_geomadr[body] + model.body_geomnum[body]):
            collides = bool(model.geom_contype[geom] or model.geom_conaffinity[geom])
            shapes = list(self._geometry(geom, _pose(model.geom_pos[geom], model.geom_quat[geom])))
            for tag, wanted in (("visual", model.geom_group[geom] < HIDDEN), ("collision", collides)):
                for pose, kind, attributes in shapes if wanted else ():
                    shape = ET.SubElement(self._links[self._bodies[body]], tag)
                    _origin(shape, pose)
                    ET.SubElement(ET.SubElement(shape, "geometry"), kind, attributes)
                    if tag == "visual":
                        material = model.geom_matid[geom]
                        color = model.geom_rgba[geom] if material < 0 else model.mat_rgba[material]
                        # A number for a name: MuJoCo and URDF name materials differently.
                        own = ET.SubElement(shape, "material", {"name": f"geom{geom}"})
                        ET.SubElement(own, "color", {"rgba": numbers_text(color)})

    def _geometry(self, geom: int, pose: Pose) -> Iterator[tuple[Pose, str, dict[str, str]]]:
        """The shapes that URDF has for a geom, each with its place; none for planes, height fields and ellipsoids."""
        model, kinds, size = self._model, self._mj.mjtGeom, self._model.geom_size[geom]
        kind = kinds(model.geom_type[geom])
        if kind == kinds.mjGEOM_BOX:
            yield pose, "box", {"size": numbers_text(2.0 * size)}
        elif kind == kinds.mjGEOM_SPHERE:
            yield pose, "sphere", {"radius": repr(float(size[0]))}
        elif kind in (kinds.mjGEOM_CYLINDER, kinds.mjGEOM_CAPSULE):
            yield pose, "cylinder", {"radius": repr(float(size[0])), "length": repr(2.0 * float(size[1]))}
            for end in (-size[1], size[1]) if kind == kinds.mjGEOM_CAPSULE else ():
                place = pose @ Pose(translation=read_only([0.0, 0.0, end]))
                yield place, "sphere", {"radius": repr(float(size[0]))}
        elif kind == kinds.mjGEOM_MESH:
            mesh = model.geom_dataid[geom]
            file = self._mesh_file(mesh)
            if file:  # MuJoCo moves the points of a mesh to its principal axes
                place = pose @ _pose(model.mesh_pos[mesh], model.mesh_quat[mesh]).inverse()
                yield place, "mesh", {"filename": file, "scale": numbers_text(model.mesh_scale[mesh])}

    def _mesh_file(self, mesh: int) -> str:
        """The path of a mesh; empty for one that is written in the MJCF itself."""
        start = self._model.mesh_pathadr[mesh]
        if start < 0:
            return ""
        name = self._model.paths[start : self._model.paths.index(b"\0", start)].decode(errors="replace")
        return str((self._folder or Path.cwd()) / name)


def limit_text(value: float) -> str:
    """A limit in a URDF. urdfdom insists on all of them and reads no ``inf``: an unknown one is the greatest float."""
    greatest = np.finfo(np.float64).max
    return repr(float(np.clip(value, -greatest, greatest)))


def _free(name: str, taken: Collection[str]) -> str:
    """A name that is not taken: the one given, or that with a number."""
    return next(each for each in (name, *(f"{name}_{k}" for k in range(2, len(taken) + 3))) if each not in taken)


def _pose(position: Array, quaternion: Array) -> Pose:
    return Pose(quaternion_rotation(quaternion), read_only(position))


def _turn(axis: Array, angle: float) -> Pose:
    """A rotation about an axis [rad]."""
    return Pose(quaternion_rotation(np.array([np.cos(angle / 2.0), *(np.sin(angle / 2.0) * axis)])))


def write_joint(robot: ET.Element, name: str, kind: str, parent: str, child: str, origin: Pose) -> ET.Element:
    """Add a joint to a URDF: what every joint has."""
    joint = ET.SubElement(robot, "joint", {"name": name, "type": kind})
    ET.SubElement(joint, "parent", {"link": parent})
    ET.SubElement(joint, "child", {"link": child})
    _origin(joint, origin)
    return joint


def write_inertial(link: ET.Element, inertial: Inertial) -> None:
    """Add an inertial, in the axes of the link, to a link of a URDF."""
    own = ET.SubElement(link, "inertial")
    ET.SubElement(own, "origin", {"xyz": numbers_text(inertial.com)})
    ET.SubElement(own, "mass", {"value": repr(inertial.mass)})
    ET.SubElement(own, "inertia", {name: repr(float(inertial.inertia[place])) for name, place in MOMENTS.items()})


def _origin(element: ET.Element, pose: Pose) -> None:
    ET.SubElement(element, "origin", {"xyz": numbers_text(pose.translation), "rpy": numbers_text(pose.rpy)})


def numbers_text(values: Iterable[float]) -> str:
    """A vector in a URDF."""
    return " ".join(repr(float(value)) for value in values)
