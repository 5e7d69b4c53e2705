# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""What identification finds of arms whose numbers are known, how sure it is, and how long it takes.

    make bench-identification            tables
    make bench-identification BENCH=--json

noise-free   largest error of a base parameter over the largest, and of what an unseen motion takes; times of one fit
recorded     the arm in the simulator, its numbers drawn at random and unknown to the controller: an exciting motion,
             recorded through encoders with a resolution, late states and commands, and 1 % of noise on the efforts;
             for each draw the greatest errors of base parameters, over the greatest of their unit if inertial and over
             themselves if friction, and of the efforts on an unseen motion, over those
possible     random recordings drowned in noise: how many have an impossible least-squares solution, and how many
             results are impossible
followed     computed torque on that arm by the URDF's numbers and by the identified ones
"""

from __future__ import annotations

import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from common import PRR as PRR_URDF
from common import options, report
from identified import AWKWARD, RR, Unknown, panda

import robodyn_ros as rd
from robodyn_ros.cli.simulate import make_loop, make_simulated
from robodyn_ros.control import Trajectory, rest_to_rest
from robodyn_ros.dynamics.parameters import least_eigenvalues
from robodyn_ros.dynamics.rnea import RNEA
from robodyn_ros.identification import IdentificationSettings, identify
from robodyn_ros.identification.estimation.base_parameters import MOMENT_DEGREE, base_parameters
from robodyn_ros.identification.excitation import excite
from robodyn_ros.identification.preparation import prepare
from robodyn_ros.identification.recording.recording import read_csv
from robodyn_ros.identification.settings import ExcitationSettings
from robodyn_ros.robot import Robot
from robodyn_ros.robot.pose import Array
from robodyn_ros.simulation.trial import Trial, run_trial
from robodyn_ros.simulation.trial_files import write_csv

PRR = rd.load_robot(PRR_URDF)
FRICTION = {"elevator": (20.0, 8.0), "shoulder": (0.9, 0.7), "wrist": (0.3, 0.25)}
RESOLUTION = {"elevator": 2e-5, "shoulder": 1e-4, "wrist": 1.5e-4}
NOISE = 0.01
PERIOD, PERIODS = 5.0, 20
FAST = rest_to_rest([[0.3, 0.3, -0.4], [1.3, -0.8, 0.9], [0.6, 0.6, 0.2], [1.0, -0.2, -0.5]], [0.0, 1.2, 2.2, 3.4])


def noise_free() -> list[dict[str, Any]]:
    """Exact data of several arms."""
    rows = []
    for robot in (RR, PRR, AWKWARD["tilted"], AWKWARD["gantry"], panda()):
        arm = Unknown(robot)
        samples, unseen = arm.motion(500), arm.motion(100, seed=7)
        found = identify(robot, samples, validation=unseen)
        begun = time.perf_counter()
        identify(robot, samples, IdentificationSettings(folds=2))
        took = time.perf_counter() - begun
        truth = found.base.values(arm.theta)
        rows.append(
            {
                "arm": robot.name,
                "inertial base parameters": base_parameters(robot).rank,
                "error of a base parameter": np.abs(found.base.values(found.theta) - truth).max() / np.abs(truth).max(),
                "error on an unseen motion": found.validation.relative.max(),  # type: ignore[union-attr]
                "time of 3 fits [ms]": 1e3 * took,
            }
        )
    return rows


def truth(seed: int) -> dict[str, Any]:
    """Parameters of the simulator."""
    given: dict[str, Any] = {"seed": seed, "state_rate": 500.0, "state_delay": 0.002, "command_delay": 0.003}
    given |= {"mismatch.mass_spread": 0.2, "mismatch.com_spread": 0.03, "mismatch.inertia_spread": 0.3}
    for name, (viscous, coulomb) in FRICTION.items():
        given |= {f"friction.{name}.viscous": viscous, f"friction.{name}.coulomb": coulomb}
        given[f"sensors.{name}.resolution"] = RESOLUTION[name]
    return given


def run(seed: int, idea: Robot, way: Trajectory) -> tuple[Trial, Array]:
    """The simulated arm under computed torque by an idea of it; what happened, and its true parameters."""
    start = {f"initial_position.{name}": q for name, q in zip(PRR.joint_names, way.positions[0], strict=True)}
    hardware, _ = make_simulated(truth(seed) | start, PRR)
    loop, _ = make_loop({f"gains.{name}.natural_frequency": 12.0 for name in PRR.joint_names}, idea)
    loop.start(0.0, hardware.plant.q)
    loop.follow(way, 0.0)
    theta = hardware.plant.dynamics.theta()  # type: ignore[attr-defined]
    theta[-2 * PRR.n :] = np.array(list(FRICTION.values())).T.ravel()
    return run_trial(hardware, loop, way.duration), theta


def recorded(draws: int) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Figures of identification, and of control with what it found."""
    motion = excite(PRR, ExcitationSettings(period=PERIOD, periods=PERIODS, effort_share=0.5)).trajectory
    found, followed = [], []
    for seed in range(1, draws + 1):
        trial, theta = run(seed, PRR, motion)
        rng = np.random.default_rng(seed)
        effort = trial.truth.values["effort"]  # which is what the table holds
        trial.truth.values["effort"] = effort + NOISE * _rms(effort) * rng.normal(size=effort.shape)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "run.csv"
            write_csv(path, trial, PRR)
            (prepared,) = prepare([read_csv(path, PRR.joint_names)], PRR)
        result = identify(PRR, prepared.samples)
        true, now = result.base.values(theta), result.base.values(result.theta)
        samples = Unknown(PRR).motion(300, seed=seed)  # only where it goes
        dynamics = RNEA(PRR)
        Y = dynamics.regressor(samples.q, samples.qd, samples.qdd)
        size = _rms(Y @ theta)
        relative = np.abs(now - true) / _of_a_kind(result.base.columns[result.base.independent], true)
        inertial = len(relative) - 2 * PRR.n
        found.append(
            {
                "draw": seed,
                "inertial base parameters": relative[:inertial].max(),
                "friction": relative[inertial:].max(),
                "unseen effort, URDF": (_rms(Y @ (dynamics.theta() - theta)) / size).max(),
                "unseen effort, identified": (_rms(Y @ (result.theta - theta)) / size).max(),
            }
        )
        errors = [_error(run(seed, idea, FAST)[0], FAST) for idea in (PRR, result.robot)]
        names = zip(PRR.joint_names, *errors, strict=True)
        followed.append({"draw": seed} | {f"{n}, URDF / identified": f"{a:.2g} / {b:.2g}" for n, a, b in names})
        followed[-1]["least ratio"] = float((errors[0] / errors[1]).min())
    return found, followed


def _of_a_kind(columns: Array, values: Array) -> Array:
    """For each base parameter the greatest of its unit if it is inertial, so that what is nearly 0 compares with what
    matters; itself if it is friction.
    """
    kinds = [MOMENT_DEGREE[column % 10] if column < 10 * len(PRR.bodies) else -column for column in columns]
    return np.array([max(abs(v) for v, other in zip(values, kinds, strict=True) if other == kind) for kind in kinds])


def possible(count: int) -> list[dict[str, Any]]:
    """Recordings that nobody could use."""
    rows = []
    config = IdentificationSettings(folds=2)
    for robot in (PRR, RR, AWKWARD["tilted"], AWKWARD["branched"]):
        rng, bad, absurd, begun = np.random.default_rng(1), 0, 0, time.perf_counter()
        for seed in range(count // 4):
            arm = Unknown(robot, seed)
            clean = arm.motion(int(rng.integers(25, 200)), seed=seed, duration=float(rng.uniform(0.3, 10.0)))
            size = 10.0 ** rng.uniform(-2.0, 1.0) * _rms(clean.effort)
            spoilt = clean.effort + size * rng.standard_t(2.0, size=clean.effort.shape)
            result = identify(robot, replace(clean, effort=spoilt), config)
            fine = (least_eigenvalues(result.inertial.reshape(-1, 10)) > 0.0).all()
            fine &= (np.concatenate([result.viscous, result.coulomb]) >= 0.0).all()
            bad += not fine
            absurd += bool((result.base_values[-2 * robot.n :] < 0.0).any())
        took = (time.perf_counter() - begun) / (count // 4)
        rows.append(
            {
                "arm": robot.name,
                "recordings": count // 4,
                "negative friction by least squares": absurd,
                "impossible results": bad,
                "time of one, with 2 folds and the URDF [ms]": 1e3 * took,
            }
        )
    return rows


def _error(trial: Trial, way: Trajectory) -> Array:
    """Root mean square of each joint's tracking error."""
    return _rms(np.array([way.sample(t).q for t in trial.truth.t]) - trial.truth.values["q"])


def _rms(values: Array) -> Array:
    root: Array = np.sqrt(np.mean(values**2, axis=0))
    return root


def main() -> None:
    """Measure and print."""
    parser = options(__doc__)
    parser.add_argument("--draws", type=int, default=5, help="arms in the simulator")
    parser.add_argument("--count", type=int, default=1000, help="recordings drowned in noise")
    args = parser.parse_args()
    found, followed = recorded(args.draws)
    results = {"noise-free": noise_free(), "recorded": found, "possible": possible(args.count), "followed": followed}
    report(results, args.json)


if __name__ == "__main__":
    main()
