# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Running cases: one case is set up, run as a trial and judged; a worker gets a chunk of cases.

The varied arm of a case is the study's URDF with some numbers changed, read and checked anew (:func:`varied_arm`).

Every backend calls :func:`run_chunk`, in any process. :class:`CaseRunner` does the work: it makes the shared objects of
a study once, and turns each case into one row of the results, also if the case fails.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, NamedTuple, NoReturn
from xml.etree import ElementTree

import numpy as np

from robodyn_ros.control import ControlLoop, Trajectory, loop_settings, rest_to_rest
from robodyn_ros.control.parameter_file import FileParameters, LoadedParameters
from robodyn_ros.dynamics.base import Dynamics
from robodyn_ros.dynamics.parameters import standard_parameters
from robodyn_ros.errors import InputError, RobodynError
from robodyn_ros.plugins import create, raised
from robodyn_ros.robot import Array, Robot, reload_robot
from robodyn_ros.robot.description import UrdfEditor
from robodyn_ros.settings import TOOL
from robodyn_ros.simulation.hardware import HardwareSettings, default_values, make_hardware_settings
from robodyn_ros.simulation.sweeps.study import ARM, NODES, Case, Study
from robodyn_ros.simulation.trial import QUANTITIES, figures
from robodyn_ros.simulation.trial_run import TrialOutcome, run_until_fault

LEAST, MOST, PARTS = 8, 128, 64
"""A chunk has a 64th of all cases, within these bounds. It depends only on the study, as the file of results does."""

AXES = "xyz"

LINK = ("mass", *(f"com.{axis}" for axis in AXES), "inertia_scale")
"""Quantities of a link: mass [kg], which scales the inertia too; centre of mass in its frame [m]; inertia factor."""

JOINT = {"effort": "limit", "velocity": "limit", "damping": "dynamics", "friction": "dynamics"}
"""Quantities of a joint: XML attribute → element."""

Rows = list[dict[str, Any]]
"""Rows of the results, one a case: column → value."""

_runners: dict[str, CaseRunner] = {}


class Chunk(NamedTuple):
    """A range of consecutive cases, the unit of work."""

    first: int
    size: int

    def cases(self) -> Iterator[Chunk]:
        """Yield each case as a chunk of its own."""
        return (Chunk(number, 1) for number in range(self.first, self.first + self.size))


def chunks(study: Study) -> list[Chunk]:
    """Return all cases of a study, in chunks."""
    size = min(max(study.size // PARTS, LEAST), MOST)
    return [Chunk(first, min(size, study.size - first)) for first in range(0, study.size, size)]


def run_chunk(study: Study, chunk: Chunk) -> Rows:
    """Run the cases of a chunk. A process makes the runner of a study once.

    Raises:
        RobodynError: the study's URDF is wrong.
    """
    digest = study.digest
    if digest not in _runners:
        _runners.clear()
        _runners[digest] = CaseRunner(study)
    return [_runners[digest].row(case) for case in study.cases(*chunk)]


def lost_rows(study: Study, chunk: Chunk, why: str) -> Rows:
    """Return the rows of a chunk whose worker was lost."""
    runner = CaseRunner(study)
    return [runner.blank(case, why) for case in study.cases(*chunk)]


class CaseSetup(NamedTuple):
    """A case, ready to run."""

    hardware: HardwareSettings
    dynamics: Dynamics  # the equations of motion of the arm; the next setup changes their parameters
    loop: ControlLoop
    motion: Trajectory | None


class CaseRunner:
    """Runs the cases of one study.

    Attributes:
        study: the study.
        robot: the arm as the controllers know it, without variation.
        defaults: node → parameter → default value.
    """

    def __init__(self, study: Study) -> None:
        """
        Args:
            study: the study.

        Raises:
            RobodynError: its URDF is wrong.
        """
        self.study = study
        self.robot = reload_robot(study.urdf)
        self._given = {node: LoadedParameters() | study.given.get(node, {}) for node in NODES}
        simulator = loop_settings.MODEL | default_values(self.robot)
        self.defaults = {"simulator": simulator, "controller": loop_settings.loop_default_values(self.robot)}
        self._arms: dict[str, Dynamics] = {}
        self._model = lru_cache(maxsize=4)(self._make_model)
        self._loop_settings = lru_cache(maxsize=16)(self._make_loop_settings)

    def setup(self, case: Case) -> CaseSetup:
        """Set up a case: its varied arm, hardware, control loop and motion.

        Raises:
            RobodynError: the arm is impossible, or a setting is wrong.
        """
        varied = {kind: _inputs_of(kind, case.inputs) for kind in (ARM, *NODES)}
        robot = varied_arm(self.study.urdf, varied[ARM]) if varied[ARM] else self.robot
        defaults = self.defaults["simulator"] if robot is self.robot else loop_settings.MODEL | default_values(robot)
        values = FileParameters(self._given["simulator"] | {"seed": case.seed} | varied["simulator"], defaults)
        with values.located():
            hardware = make_hardware_settings(values, robot)
        loop = self._loop(case.controller, tuple(varied["controller"].items()))
        motion = None
        if self.study.poses:
            stops = np.array([hardware.start, *self.study.poses])
            motion = rest_to_rest(stops, np.linspace(0.0, self.study.motion.duration, len(stops)))
        return CaseSetup(hardware, self._arm(hardware), loop, motion)

    def run(self, case: Case) -> TrialOutcome:
        """Run a case.

        Raises:
            RobodynError: as :meth:`setup`, or the arm cannot make the motion.
        """
        return run_until_fault(*self.setup(case), self.study.duration)

    def row(self, case: Case) -> dict[str, Any]:
        """Run a case, and return its inputs and results as one row; an error becomes the reason of failure."""
        try:
            with time_limit(self.study.limits.case_timeout):
                trial, compiled = self.run(case)
        except RobodynError as problem:
            return self.blank(case, f"not possible: {problem}")
        except OutOfTime as problem:
            return self.blank(case, str(problem))
        except Exception as problem:  # an error of a plugin fails this case only
            return self.blank(case, raised(problem))
        values = figures(trial, self.study.motion.window)
        failed = "; ".join(trial.faults)
        at = float(trial.truth.t[-1]) if failed and len(trial.truth.t) else float("nan")
        return self._row(case, values, failed, at, compiled)

    def blank(self, case: Case, failed: str) -> dict[str, Any]:
        """Return the row of a case without results, with the reason."""
        nothing = {name: np.full(self.robot.n, np.nan) for name in QUANTITIES}
        return self._row(case, nothing, failed, float("nan"), False)

    def _row(self, case: Case, values: dict[str, Array], failed: str, at: float, compiled: bool) -> dict[str, Any]:
        """A row: the case, its figures, and ``settled``, ``margin`` and ``met`` by the study's specification."""
        joints, wanted = self.robot.joint_names, self.study.specification
        row: dict[str, Any] = {"case": case.number, "controller": case.controller, "seed": case.seed, **case.inputs}
        for name, figure in values.items():
            row |= {f"{name}/{j}": float(x) for j, x in zip(joints, figure, strict=True)}
        settled = not failed and all(row[f"final_error/{j}"] <= wanted.settle_band.get(j, np.inf) for j in joints)
        margin = float("nan") if failed else min(wanted.margins(row).values(), default=float("nan"))
        judged = {"settled": settled, "margin": margin, "met": not (failed or margin < 0.0)}
        return row | judged | {"failed": failed, "failed_at": at, "compiled": compiled}

    def _arm(self, hardware: HardwareSettings) -> Dynamics:
        """The equations of motion of a case's arm: one object for all cases, with the parameters of this case."""
        if hardware.dynamics not in self._arms:
            self._arms[hardware.dynamics] = create("dynamics", hardware.dynamics, self.robot)
        arm = self._arms[hardware.dynamics]
        arm.configure(**{"payload": None, "inertial": standard_parameters(hardware.robot)} | hardware.parameters)
        return arm

    def _loop(self, controller: str, varied: tuple[tuple[str, Any], ...]) -> ControlLoop:
        """The control loop of a case.

        A traced law is one object for all cases, because its declared memory is its only state. Another law may keep a
        hidden state or change its model, so each case has its own.
        """
        loop = ControlLoop.from_settings(self._loop_settings(controller, varied))
        if loop.compiled_step is not None:
            return loop
        return ControlLoop.from_settings(self._make_loop_settings(controller, varied, self._make_model))

    def _make_loop_settings(
        self, controller: str, varied: tuple[tuple[str, Any], ...], model: Callable[..., Dynamics] | None = None
    ) -> loop_settings.LoopSettings:
        given = self._given["controller"] | {"controller": controller} | dict(varied)
        values = FileParameters(given, self.defaults["controller"])
        with values.located():
            loop_settings.check_limits(given, self.robot)
            parts = {key: values[key] for key in ("gravity", TOOL.name, *(spec.name for spec in loop_settings.PAYLOAD))}
            told = tuple((key, tuple(part) if isinstance(part, list) else part) for key, part in parts.items())
            return loop_settings.make_loop_settings(values, (model or self._model)(values["dynamics"], told))

    def _make_model(self, name: str, told: tuple[tuple[str, Any], ...]) -> Dynamics:
        parameters = loop_settings.model_parameters(FileParameters(dict(told), {}), self.robot)
        return create("dynamics", name, self.robot, **parameters)


def _inputs_of(kind: str, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """The inputs whose names begin with a kind and a dot, by the rest of their names."""
    return {name.removeprefix(f"{kind}."): value for name, value in inputs.items() if name.startswith(f"{kind}.")}


class OutOfTime(BaseException):
    """A case took too long. It is no Exception, so that no ``except Exception`` of a plugin catches it."""


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise OutOfTime in the block after a time [s], by an alarm that also ends a sleep; only in the main thread."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def ring(*_: object) -> NoReturn:
        raise OutOfTime(f"out of time: it took longer than {seconds:g} s")

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


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
    if JOINT[quantity] == "limit" and not value > 0.0:
        raise InputError(quantity, f"must be above 0, not {value:g}: in a URDF that would be no limit", value)
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
