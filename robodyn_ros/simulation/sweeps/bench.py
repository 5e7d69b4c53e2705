"""A bench for the cases of one study: what is made once, and how a case is tried."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from robodyn_ros.control.parameter_file import Parameters
from robodyn_ros.control.trajectory import Trajectory
from robodyn_ros.control.tuning import Tuning
from robodyn_ros.control.tuning_options import make_tuning
from robodyn_ros.control.waypoints import rest_to_rest
from robodyn_ros.dynamics.base import Dynamics
from robodyn_ros.dynamics.inertial_parameters import standard_parameters
from robodyn_ros.errors import RobodynError
from robodyn_ros.plugins import create
from robodyn_ros.robot import load_robot
from robodyn_ros.robot.pose import Array
from robodyn_ros.simulation.compiled_trial import Ran, closed_loop
from robodyn_ros.simulation.loop_options import MODEL, loop_default_values
from robodyn_ros.simulation.options import default_values, make_rig
from robodyn_ros.simulation.rig import Rig
from robodyn_ros.simulation.sweeps.arm import changed
from robodyn_ros.simulation.sweeps.figures import figures
from robodyn_ros.simulation.sweeps.specification import QUANTITIES
from robodyn_ros.simulation.sweeps.study import ARM, NODES, Case, Study
from robodyn_ros.simulation.sweeps.time_limit import OutOfTime, time_limit
from robodyn_ros.simulation.trial_setup import LAWS


class Setup(NamedTuple):
    """A case, ready to be tried."""

    rig: Rig
    dynamics: Dynamics  # of the arm; the next setup changes it
    tuning: Tuning
    motion: Trajectory | None


class Bench:
    """See the module.

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
        self._given = {node: dict(study.given.get(node, {})) for node in NODES}
        self._defaults = {
            "simulator": MODEL | default_values(self.robot),
            "controller": loop_default_values(self.robot),
        }
        self._arms: dict[str, Dynamics] = {}
        self._model = lru_cache(maxsize=4)(self._make_model)
        self._tuning = lru_cache(maxsize=16)(self._make_tuning)

    def setup(self, case: Case) -> Setup:
        """What a case is made of.

        Raises:
            RobodynError: the arm is impossible, or a setting is wrong.
        """
        varied = {kind: _of(kind, case.inputs) for kind in (ARM, *NODES)}
        robot = changed(self.study.urdf, varied[ARM]) if varied[ARM] else self.robot
        defaults = self._defaults["simulator"] if robot is self.robot else MODEL | default_values(robot)
        values = Parameters(self._given["simulator"] | {"seed": case.seed} | varied["simulator"], defaults)
        rig = make_rig(values, robot)
        tuning = self._tuning(case.controller, tuple(varied["controller"].items()))
        if type(tuning.controller) not in LAWS:  # it may remember, or change its model: each case has one of its own
            tuning = self._make_tuning(case.controller, tuple(varied["controller"].items()), self._make_model)
        motion = None
        if self.study.poses:
            stops = np.array([rig.start, *self.study.poses])
            motion = rest_to_rest(stops, np.linspace(0.0, self.study.motion.duration, len(stops)))
        return Setup(rig, self._arm(rig), tuning, motion)

    def run(self, case: Case) -> Ran:
        """Try a case.

        Raises:
            RobodynError: as :meth:`setup`, or the motion is not for the arm.
        """
        return closed_loop(*self.setup(case), self.study.duration)

    def row(self, case: Case) -> dict[str, Any]:
        """Try a case, and say in one row what it was and what came of it, whatever that is."""
        try:
            with time_limit(self.study.limits.case_timeout):
                setup = self.setup(case)
                trial, compiled = closed_loop(*setup, self.study.duration)
        except RobodynError as problem:
            return self.blank(case, f"not possible: {problem}")
        except OutOfTime as problem:
            return self.blank(case, str(problem))
        except Exception as problem:  # of a plugin: whatever it is, it is this case's
            return self.blank(case, f"{type(problem).__name__}: {problem}")
        values = figures(trial, setup.tuning.limits.effort, self.study.motion.window)
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

    def _arm(self, rig: Rig) -> Dynamics:
        """The equations of motion of a case's arm: one object for all cases, whose parameters change."""
        if rig.dynamics not in self._arms:
            self._arms[rig.dynamics] = create("dynamics", rig.dynamics, self.robot)
        arm = self._arms[rig.dynamics]
        arm.configure(**{"payload": None, "inertial": standard_parameters(rig.robot)} | rig.parameters)
        return arm

    def _make_tuning(
        self, controller: str, varied: tuple[tuple[str, Any], ...], model: Callable[..., Dynamics] | None = None
    ) -> Tuning:
        given = self._given["controller"] | {"controller": controller} | dict(varied)
        values = Parameters(given, self._defaults["controller"])
        return make_tuning(values, (model or self._model)(values["dynamics"], tuple(values["gravity"])))

    def _make_model(self, name: str, gravity: tuple[float, ...]) -> Dynamics:
        model: Dynamics = create("dynamics", name, self.robot, gravity=gravity)
        return model


def _of(kind: str, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """What varies of one kind, without it in front."""
    return {name.removeprefix(f"{kind}."): value for name, value in inputs.items() if name.startswith(f"{kind}.")}
