"""A bench for the cases of one study: what is made once, and how a case is tried."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, NamedTuple, NoReturn
from xml.etree import ElementTree

import numpy as np

from robodyn_ros.control.loop_settings import MODEL, LoopSettings, loop_default_values, make_loop_settings
from robodyn_ros.control.motion.point_to_point import rest_to_rest
from robodyn_ros.control.motion.trajectory import Trajectory
from robodyn_ros.control.parameter_file import FileParameters, NodeParameters
from robodyn_ros.dynamics.base import Dynamics
from robodyn_ros.dynamics.inertial_parameters import standard_parameters
from robodyn_ros.errors import InputError, RobodynError
from robodyn_ros.plugins import create
from robodyn_ros.robot import Robot, load_robot
from robodyn_ros.robot.pose import Array
from robodyn_ros.robot.urdf_editor import UrdfEditor
from robodyn_ros.simulation.hardware.settings import HardwareSettings, default_values, make_hardware_settings
from robodyn_ros.simulation.sweeps.study import ARM, NODES, QUANTITIES, Case, Study
from robodyn_ros.simulation.trial.compiled import TrialOutcome, run_until_fault
from robodyn_ros.simulation.trial.memory import LAWS
from robodyn_ros.simulation.trial.trial import Trial

# An arm of a case: the study's URDF with some of its numbers changed, read and checked anew.

AXES = "xyz"

LINK = ("mass", *(f"com.{axis}" for axis in AXES), "inertia_scale")
"""Of a link: mass [kg], with its inertia in proportion; centre of mass in its frame [m]; factor of the inertia."""

JOINT = {"effort": "limit", "velocity": "limit", "damping": "dynamics", "friction": "dynamics"}
"""Of a joint: attribute → element."""


def arm_quantities(robot: Robot) -> Iterator[str]:
    """Names of all that can be changed."""
    for link in robot.links:
        if link.inertial is not None:
            yield from (f"{link.name}.{quantity}" for quantity in LINK)
    for joint in robot.joints:
        yield from (f"{joint.name}.{quantity}" for quantity in JOINT)


def varied_arm(urdf: str, changes: Mapping[str, float]) -> Robot:
    """The arm with other numbers.

    Args:
        urdf: XML of the arm.
        changes: name → value, names as in :func:`arm_quantities`.

    Raises:
        RobodynError: the arm is impossible; the message says why.
        InputError: no such name.
    """
    editor = UrdfEditor(urdf)
    for name, value in changes.items():
        owner, quantity = _split(name)
        kind = "joint" if quantity in JOINT else "link"
        element = editor.find(kind, owner)
        if element is None:
            raise InputError(name, f"the arm has no {kind} {owner!r}", value)
        (_change_joint if kind == "joint" else _change_link)(editor, element, quantity, float(value))
    return load_robot(editor.text())


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


# An end to what hangs: an alarm of the operating system, which also wakes what sleeps.
class OutOfTime(BaseException):
    """It took too long. No ``except Exception`` of a plugin stops it."""


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise OutOfTime where it is, after a time [s]; outside the main thread there is no limit."""
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


# What a trial was worth: figures of every joint.
def figures(trial: Trial, effort_limit: Array, window: float) -> dict[str, Array]:
    """The quantities of :mod:`.specification` by name, (n,) each; NaN where nothing was commanded.

    Args:
        trial: what happened.
        effort_limit: of the commands, (n,) in [N·m] or [N].
        window: the last moments [s].
    """
    commands, truth = trial.commands, trial.truth
    n = len(effort_limit)
    found = {name: np.full(n, np.nan) for name in QUANTITIES}
    if len(truth.t):
        effort = truth.values["effort"]
        found["rms_effort"], found["peak_effort"] = np.sqrt(np.mean(effort**2, axis=0)), np.abs(effort).max(axis=0)
    known = ~np.isnan(commands.values["q"]).any(axis=1)
    t = commands.t[known]
    if not (len(t) and len(truth.t)):
        return found
    q = truth.values["q"]
    true = np.column_stack([np.interp(t, truth.t, q[:, joint]) for joint in range(n)])
    error = np.abs(commands.values["q"][known] - true)
    found["rms_error"], found["peak_error"] = np.sqrt(np.mean(error**2, axis=0)), error.max(axis=0)
    found["final_error"] = error[t >= t[-1] - window].max(axis=0)
    found["saturated"] = np.mean(np.abs(commands.values["effort"]) >= effort_limit, axis=0)
    return found


class CaseSetup(NamedTuple):
    """A case, ready to be tried."""

    hardware: HardwareSettings
    dynamics: Dynamics  # of the arm; the next setup changes it
    loop: LoopSettings
    motion: Trajectory | None


class CaseRunner:
    """A bench for the cases of one study: what is made once, and how a case is tried.

    Attributes:
        study: whose cases are tried.
        robot: the arm as the controllers know it.
    """

    def __init__(self, study: Study) -> None:
        """
        Args:
            study: whose cases are tried.

        Raises:
            RobodynError: its arm is none.
        """
        self.study = study
        self.robot = load_robot(study.urdf)
        self._given = {node: NodeParameters() | study.given.get(node, {}) for node in NODES}
        self._defaults = {
            "simulator": MODEL | default_values(self.robot),
            "controller": loop_default_values(self.robot),
        }
        self._arms: dict[str, Dynamics] = {}
        self._model = lru_cache(maxsize=4)(self._make_model)
        self._loop_settings = lru_cache(maxsize=16)(self._make_loop_settings)

    def setup(self, case: Case) -> CaseSetup:
        """What a case is made of.

        Raises:
            RobodynError: the arm is impossible, or a setting is wrong.
        """
        varied = {kind: _of(kind, case.inputs) for kind in (ARM, *NODES)}
        robot = varied_arm(self.study.urdf, varied[ARM]) if varied[ARM] else self.robot
        defaults = self._defaults["simulator"] if robot is self.robot else MODEL | default_values(robot)
        values = FileParameters(self._given["simulator"] | {"seed": case.seed} | varied["simulator"], defaults)
        with values.located():
            hardware = make_hardware_settings(values, robot)
        loop = self._loop_settings(case.controller, tuple(varied["controller"].items()))
        if type(loop.controller) not in LAWS:  # it may remember, or change its model: each case has one of its own
            loop = self._make_loop_settings(case.controller, tuple(varied["controller"].items()), self._make_model)
        motion = None
        if self.study.poses:
            stops = np.array([hardware.start, *self.study.poses])
            motion = rest_to_rest(stops, np.linspace(0.0, self.study.motion.duration, len(stops)))
        return CaseSetup(hardware, self._arm(hardware), loop, motion)

    def run(self, case: Case) -> TrialOutcome:
        """Try a case.

        Raises:
            RobodynError: as :meth:`setup`, or the motion is not for the arm.
        """
        return run_until_fault(*self.setup(case), self.study.duration)

    def row(self, case: Case) -> dict[str, Any]:
        """Try a case, and say in one row what it was and what came of it, whatever that is."""
        try:
            with time_limit(self.study.limits.case_timeout):
                setup = self.setup(case)
                trial, compiled = run_until_fault(*setup, self.study.duration)
        except RobodynError as problem:
            return self.blank(case, f"not possible: {problem}")
        except OutOfTime as problem:
            return self.blank(case, str(problem))
        except Exception as problem:  # of a plugin: whatever it is, it is this case's
            return self.blank(case, f"{type(problem).__name__}: {problem}")
        values = figures(trial, setup.loop.limits.effort, self.study.motion.window)
        failed = "; ".join(trial.faults)
        at = float(trial.truth.t[-1]) if failed and len(trial.truth.t) else float("nan")
        return self._row(case, values, failed, at, compiled)

    def blank(self, case: Case, failed: str) -> dict[str, Any]:
        """The row of a case that came to nothing, and why."""
        nothing = {name: np.full(self.robot.n, np.nan) for name in QUANTITIES}
        return self._row(case, nothing, failed, float("nan"), False)

    def _row(self, case: Case, values: dict[str, Array], failed: str, at: float, compiled: bool) -> dict[str, Any]:
        row: dict[str, Any] = {"case": case.number, "controller": case.controller, "seed": case.seed, **case.inputs}
        for name, of_joints in values.items():
            row |= {f"{name}/{j}": float(x) for j, x in zip(self.robot.joint_names, of_joints, strict=True)}
        return row | self._judged(row, failed) | {"failed": failed, "failed_at": at, "compiled": compiled}

    def known(self, node: str) -> list[str]:
        """Names of a node's parameters."""
        return list(self._defaults[node])

    def _judged(self, row: dict[str, Any], failed: str) -> dict[str, Any]:
        wanted, names = self.study.specification, self.robot.joint_names
        if failed:
            return {"settled": False, "margin": float("nan"), "met": False}
        settled = all(row[f"final_error/{j}"] <= wanted.settle_band.get(j, np.inf) for j in names)
        margin = min(wanted.margins(row).values(), default=float("nan"))
        return {"settled": settled, "margin": margin, "met": not margin < 0.0}

    def _arm(self, hardware: HardwareSettings) -> Dynamics:
        """The equations of motion of a case's arm: one object for all cases, whose parameters change."""
        if hardware.dynamics not in self._arms:
            self._arms[hardware.dynamics] = create("dynamics", hardware.dynamics, self.robot)
        arm = self._arms[hardware.dynamics]
        arm.configure(**{"payload": None, "inertial": standard_parameters(hardware.robot)} | hardware.parameters)
        return arm

    def _make_loop_settings(
        self, controller: str, varied: tuple[tuple[str, Any], ...], model: Callable[..., Dynamics] | None = None
    ) -> LoopSettings:
        given = self._given["controller"] | {"controller": controller} | dict(varied)
        values = FileParameters(given, self._defaults["controller"])
        with values.located():
            return make_loop_settings(values, (model or self._model)(values["dynamics"], tuple(values["gravity"])))

    def _make_model(self, name: str, gravity: tuple[float, ...]) -> Dynamics:
        model: Dynamics = create("dynamics", name, self.robot, gravity=gravity)
        return model


def _of(kind: str, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """What varies of one kind, without it in front."""
    return {name.removeprefix(f"{kind}."): value for name, value in inputs.items() if name.startswith(f"{kind}.")}


LEAST, MOST, PARTS = 8, 128, 64
"""Cases of a chunk: a 64th of all, within these bounds. It depends on the study alone, as the file of results does."""

Rows = list[dict[str, Any]]

_runners: dict[str, CaseRunner] = {}


class Chunk(NamedTuple):
    """Some cases that follow each other: what a worker is given, and what it gives back."""

    first: int
    size: int

    def cases(self) -> Iterator[Chunk]:
        """Each of its cases by itself."""
        return (Chunk(number, 1) for number in range(self.first, self.first + self.size))


def chunks(study: Study) -> list[Chunk]:
    """All cases of a study, in chunks."""
    size = min(max(study.size // PARTS, LEAST), MOST)
    return [Chunk(first, min(size, study.size - first)) for first in range(0, study.size, size)]


def run_chunk(study: Study, chunk: Chunk) -> Rows:
    """Try its cases. What a study needs is made once in a process.

    Raises:
        RobodynError: the arm of the study is none.
    """
    digest = study.digest
    if digest not in _runners:
        _runners.clear()
        _runners[digest] = CaseRunner(study)
    runner = _runners[digest]
    return [runner.row(case) for case in study.cases(*chunk)]


def lost_rows(study: Study, chunk: Chunk, why: str) -> Rows:
    """Its cases, of which nobody came back."""
    runner = CaseRunner(study)
    return [runner.blank(case, why) for case in study.cases(*chunk)]
