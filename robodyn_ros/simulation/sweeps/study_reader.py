# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Reading a study: from its YAML file to the :class:`.study.Study`.

Every mistake is found before the first case runs, and its message names the line. Names and types are checked while
reading; values that only the arm, the nodes' parameters or the plugins can judge are checked by setting up cases at the
ends of every input (:func:`try_inputs`).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Mapping
from dataclasses import fields
from itertools import product
from pathlib import Path
from typing import Any

from robodyn_ros.control.laws.gains import JointGains
from robodyn_ros.control.parameter_file import LoadedParameters, read_parameters, take_joints
from robodyn_ros.errors import RobodynError, RobotDescriptionWarning, is_it
from robodyn_ros.plugins import available, load
from robodyn_ros.robot import DescriptionSettings, Robot, read_document, reload_robot
from robodyn_ros.robot.urdf import build
from robodyn_ros.robot.xacro import split_arguments, with_arguments
from robodyn_ros.simulation.sweeps import study as studies
from robodyn_ros.simulation.sweeps.runner import CaseRunner, arm_quantities
from robodyn_ros.simulation.sweeps.study_yaml import StudySection, by_joint, pair, positive, read_study_file, unknown
from robodyn_ros.simulation.sweeps.tuning import GAINS, TuningSettings, TuningTask
from robodyn_ros.simulation.trial import QUANTITIES

SECTIONS = (
    *("arm", "description", "joints", "controllers", "motion", "parameters", *studies.NODES),
    *("vary", "sampling", "specification", "tune"),
)
"""Sections of a study's file, besides the settings of :class:`.study.CaseLimits`."""

BOUNDS = (*GAINS, "controllers")
"""Names of section tune that are no settings of :class:`.tuning.TuningSettings`."""

TUNE = (*BOUNDS, *(item.name for item in fields(TuningSettings)))
"""Names of section tune."""

REPLACED = {"natural_frequency": "stiffness", "damping_ratio": "damping"}
"""Gain → the one that is used in place of it, unless that is 0."""

SelectJoints = Callable[..., Robot]
"""Function such as :func:`~robodyn_ros.control.parameter_file.take_joints`."""

SETTLE_BAND = 0.01
"""Default distance to the goal within which a joint has settled [rad] or [m]."""


def read_study(
    path: Path, besides: Mapping[str, Mapping[str, Any]] | None = None, select: SelectJoints = take_joints
) -> studies.Study:
    """Read a study from a file, and check it.

    Args:
        path: of the file.
        besides: node → name → value of parameters that override those of the file.
        select: returns the robot with its joints locked, and removes from each node's parameters those that chose them.

    Raises:
        StudyError: the file is wrong; the message has the place and the correction.
        RobodynError: the arm's URDF, or a parameter file that the study names, is wrong.
    """
    file = read_study_file(path)
    limits = file.settings(studies.CaseLimits, SECTIONS)
    file.section("tune").only(TUNE)
    robot = build(read_document(_arm(file, path)), file.section("description").settings(DescriptionSettings))
    for text in robot.warnings:
        warnings.warn(text, RobotDescriptionWarning, stacklevel=2)
    given = _given_parameters(file, path)
    for node, values in (besides or {}).items():
        given[node] |= values
    robot = select(robot, *given.values())
    times = file.section("motion").settings(studies.MotionSettings, ("to",))
    laws, poses = _controllers(file), _poses(file.section("motion"), robot)
    varied, sampling = inputs(file.section("vary"), robot), file.section("sampling").settings(studies.Sampling)
    wanted = _specification(file.section("specification"), robot)
    study = studies.Study(path.stem, robot.urdf, laws, poses, times, given, varied, sampling, wanted, limits)
    try_inputs(study, file)
    return study


def read_task(
    path: Path, besides: Mapping[str, Mapping[str, Any]] | None = None, select: SelectJoints = take_joints
) -> tuple[studies.Study, TuningTask]:
    """Read a study and its section ``tune`` from a file; arguments and errors as :func:`read_study`."""
    study, section = read_study(path, besides, select), read_study_file(path).section("tune")
    robot = reload_robot(study.urdf)
    search = section.settings(TuningSettings, BOUNDS)
    names = [gain for gain in GAINS if gain in section.values]
    if not names:
        raise section.error("tune", f"must name least and greatest values of one or more of {', '.join(GAINS)}")
    bounds = {(gain, joint): own for gain in names for joint, own in by_joint(section, gain, robot, pair).items()}
    for (gain, joint), ends in bounds.items():
        for end in ends:
            try:
                JointGains(**{gain: end})
            except RobodynError as problem:
                said = str(problem).removeprefix(f"{gain}: ")
                raise section.error(gain, f"of joint {joint!r} {said}") from problem
        other = f"gains.{joint}.{REPLACED.get(gain, '')}"
        if study.given["controller"].get(other) or f"controller.{other}" in study.vary:
            raise section.error(gain, f"of joint {joint!r} has no effect, because {other} is used in place of it")
    controllers = _controllers(section) if "controllers" in section.values else study.controllers
    return study, TuningTask(bounds, controllers, search)


def _arm(file: StudySection, path: Path) -> str:
    """The arm as :func:`~robodyn_ros.robot.load_robot` takes it."""
    value = file.values.get("arm", "")
    file.check(isinstance(value, str) and value, "arm", "the path of a URDF, seen from this file")
    urdf, arguments = split_arguments(value)
    return with_arguments(str(path.parent / urdf), [f"{name}:={given}" for name, given in arguments.items()])


def _controllers(file: StudySection) -> tuple[str, ...]:
    names = file.values.get("controllers", ["computed_torque"])
    are_names = isinstance(names, list) and names and len(set(map(str, names))) == len(names)
    file.check(are_names, "controllers", "a list of names, each once")
    known = [name for name in available("controllers") if load("controllers", name).follows]
    for name in names:
        if name not in known:
            raise file.error("controllers", f"{name!r} {unknown(str(name), known)}")
    return tuple(names)


def _poses(motion: StudySection, robot: Robot) -> tuple[tuple[float, ...], ...]:
    poses = motion.values.get("to", [])
    wanted = f"a list of poses, each of {robot.n} numbers ({', '.join(robot.joint_names)})"
    motion.check(isinstance(poses, list), "to", wanted)
    for pose in poses:
        if not isinstance(pose, list) or len(pose) != robot.n or not studies.are_numbers(pose):
            raise motion.error("to", f"must be {wanted}; {pose!r} is not one")
        for value, joint in zip(pose, robot.joints, strict=True):
            if not joint.lower <= value <= joint.upper:
                allowed = f"[{joint.lower:g}, {joint.upper:g}] {joint.position_unit}"
                raise motion.error("to", f"joint {joint.name!r} at {value:g} is outside its limits {allowed}")
    return tuple(tuple(map(float, pose)) for pose in poses)


def _given_parameters(file: StudySection, path: Path) -> dict[str, dict[str, Any]]:
    files = file.values.get("parameters", [])
    file.check(_are_names(files), "parameters", "a list of parameter files, seen from this file")
    joints = file.values.get("joints")
    are_joints = joints is None or (joints and _are_names(joints))
    file.check(are_joints, "joints", "a list of names, of the joints that are controlled")
    found: dict[str, dict[str, Any]] = {}
    for node in studies.NODES:
        found[node] = LoadedParameters()
        for name in files:
            found[node] |= read_parameters(path.parent / name, node)
        found[node] |= file.section(node).flat()
        if joints is not None:
            found[node] |= {"joints": joints}
    return found


def _are_names(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(name, str) for name in value)


def _specification(section: StudySection, robot: Robot) -> studies.Specification:
    section.only((*QUANTITIES, "settled", "settle_band"))
    given = [quantity for quantity in QUANTITIES if quantity in section.values]
    bounds = {(name, joint): own for name in given for joint, own in by_joint(section, name, robot, positive).items()}
    settled = section.values.get("settled", False)
    section.check(isinstance(settled, bool), "settled", "true or false")
    band = dict.fromkeys(robot.joint_names, SETTLE_BAND)
    if "settle_band" in section.values:
        band |= by_joint(section, "settle_band", robot, positive)
    return studies.Specification(bounds, band, settled)


def inputs(section: StudySection, robot: Robot) -> dict[str, studies.Distribution]:
    """Return the inputs that vary: name → distribution. The file has a name whole, or as nested keys.

    Raises:
        StudyError: a name or a distribution is wrong.
    """
    known = [f"{studies.ARM}.{name}" for name in arm_quantities(robot)]
    found = {}
    for name, (holder, last) in _distributions(section, ""):
        found[name] = _distribution(holder, last)
        if name.startswith(f"{studies.ARM}.") and name not in known:
            raise holder.error(last, f"{name} {unknown(name, known)}")
        if name.partition(".")[0] not in (studies.ARM, *studies.NODES):
            raise holder.error(last, f"must begin with {studies.ARM}, simulator or controller and a dot, not {name!r}")
    return found


def _distribution(holder: StudySection, name: str) -> studies.Distribution:
    value = holder.section(name)
    kinds = [kind for kind in value.values if kind in studies.KINDS]
    if len(kinds) != 1 or set(value.values) - {*kinds, "levels"}:
        said = ", ".join(f"{kind}: {text}" for kind, text in studies.KINDS.items())
        wrong = next((name for name in value.values if name not in (*studies.KINDS, "levels")), "")
        problem = f"must be one of {said}, and levels if need be; not {', '.join(value.values)}"
        raise holder.error(name, problem + is_it(wrong, (*studies.KINDS, "levels")))
    numbers = value.values[kinds[0]]
    value.check(isinstance(numbers, list), kinds[0], studies.KINDS[kinds[0]])
    try:
        levels = {"levels": value.values["levels"]} if "levels" in value.values else {}
        return studies.Distribution(kinds[0], tuple(numbers), **levels)
    except RobodynError as problem:
        raise holder.error(name, str(problem)) from problem


def _distributions(section: StudySection, prefix: str) -> list[tuple[str, tuple[StudySection, str]]]:
    """Name and place (mapping, name in it) of each innermost mapping."""
    found: list[tuple[str, tuple[StudySection, str]]] = []
    for name, value in section.values.items():
        if isinstance(value, dict) and any(isinstance(each, dict) for each in value.values()):
            found += _distributions(section.section(name), f"{prefix}{name}.")
        else:
            found.append((f"{prefix}{name}", (section, name)))
    return found


def try_inputs(study: studies.Study, file: StudySection) -> None:
    """Set up a case for each input at its ends, and one with all inputs in the middle.

    The code that uses a parameter checks its name, type and range.

    Raises:
        StudyError: there is no such parameter, or a value is not allowed.
    """
    runner = CaseRunner(study)
    for node in studies.NODES:
        _check_names(study, file, node, runner.defaults[node])
    inputs = {name: each for name, each in study.vary.items() if not name.startswith(f"{studies.ARM}.")}
    first = study.controllers[0]
    tries = [studies.Case(0, first, 0, {name: value}) for name, each in inputs.items() for value in each.ends()]
    tries += [
        studies.Case(0, name, 0, {key: each.at(0.5) for key, each in inputs.items()}) for name in study.controllers
    ]
    for case in tries:
        try:
            runner.setup(case).hardware.assemble()
        except RobodynError as problem:
            raise _located(file, case, problem) from problem


def _check_names(study: studies.Study, file: StudySection, node: str, known: Collection[str]) -> None:
    """Check the names of a node's parameters, those that are given and those that vary."""
    for name in file.section(node).flat():
        if name in study.given[node] and name not in known:  # a parameter that chose joints is removed
            raise file.error(f"{node}.{name}", unknown(name, known))
    for name in study.vary:
        if name.startswith(f"{node}.") and name.removeprefix(f"{node}.") not in known:
            raise file.error(f"vary.{name}", unknown(name, [f"{node}.{each}" for each in known]))


def _located(file: StudySection, case: studies.Case, problem: RobodynError) -> RobodynError:
    """Return the error with the place of the parameter that its message begins with, which a law's own may be."""
    start, _, rest = str(problem).partition(": ")
    start = start.partition(",")[0]
    for node, name in product(studies.NODES, (start, f"{case.controller}.{start}")):
        if f"{node}.{name}" in case.inputs:
            return file.error(f"vary.{node}.{name}", rest)
        if name in file.section(node).flat():
            return file.error(f"{node}.{name}", rest)
    return file.error("study", str(problem))
