# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""How much of the efforts identification leaves unexplained, on recordings whose truth Pinocchio has made.

    make bench-identification                      20 recordings without noise and 20 with noise, of five arms
    make bench-identification BENCH="--seed 7"     others

Every recording has its own period (4 to 20 s), rate (100 to 1,000 Hz), arm (inertial parameters that differ from the
URDF, friction in every second one), delay of the efforts, and motion (periods with a way into and out of them, periods
only, or a motion that never repeats). A noisy one has encoders of 12 to 20 bits a turn, and efforts with 0.3 to 3 % of
noise. The efforts come from Pinocchio's inverse dynamics of the arm and its friction, at the moment of each sample.

Exit code 1 unless every joint's efforts are left unexplained by at most 0.1 % without noise, and by at most 1.2 times
the noise of the efforts with it, and no friction is claimed where there is none. Needs the extras of the tests.
"""

from __future__ import annotations

import sys
from time import process_time
from typing import Any, NamedTuple

import numpy as np
from common import options, report, robot_of
from truth import Pinocchio

from robodyn_ros.identification import Identification, RecordedTrack, Recording, identify, prepare
from robodyn_ros.robot import Robot
from robodyn_ros.robot.pose import Array

ARMS = ("prr", "ur5_robot", "xarm7", "z1", "double_pendulum")
NOISE_FREE, TIMES_NOISE = 1e-3, 1.2
"""What is promised, see the module."""

LEAD = 1.5
"""Time of the way into the periods, and out of them [s]."""


class Case(NamedTuple):
    """A recording and what is true of it."""

    title: str
    robot: Robot
    recording: Recording
    noise: Array  # of the efforts, standard deviation over their root mean square (n,)
    friction: bool


def make(name: str, seed: int, noisy: bool) -> Case:
    """A recording of an arm that differs from its URDF."""
    rng = np.random.default_rng(seed)
    robot = robot_of(name)
    n = robot.n
    period, rate = rng.uniform(4.0, 20.0), float(rng.choice([100.0, 125.0, 250.0, 400.0, 500.0, 1000.0]))
    kind = rng.choice(["led", "bare", "once"])
    count = int(rng.integers(2, 4)) if period < 10.0 else 2
    whole = count * period + (2.0 * LEAD if kind == "led" else 0.7)
    t = np.arange(0.0, whole, 1.0 / rate)
    delay = rng.uniform(-0.002, 0.008) if noisy else 0.0

    middle = np.clip(robot.home, -2.0, 2.0)
    size = rng.uniform(0.25, 0.6, n)
    harmonics = np.arange(1, 6) + (rng.uniform(-0.35, 0.35, 5) if kind == "once" else 0.0)
    a, b = rng.normal(size=(2, n, 5)) / np.arange(1, 6)

    def position(at: Array) -> Array:
        phase = 2.0 * np.pi * np.outer(at / period, harmonics)
        way = np.clip(np.minimum(at, whole - at) / LEAD, 0.0, 1.0) if kind == "led" else np.ones(len(at))
        way = way**4 * (35.0 - 84.0 * way + 70.0 * way**2 - 20.0 * way**3)
        moved: Array = middle + size * way[:, None] * (np.sin(phase) @ a.T + np.cos(phase) @ b.T)
        return moved

    def derivatives(at: Array) -> tuple[Array, Array, Array]:
        h = 1e-3  # seventh-order differences of a motion of a few Hz: exact to 1e-10
        steps = np.arange(-3, 4)
        values = np.array([position(at + k * h) for k in steps])
        first = np.array([-1, 9, -45, 0, 45, -9, 1]) / (60.0 * h)
        second = np.array([2, -27, 270, -490, 270, -27, 2]) / (180.0 * h**2)
        return values[3], np.tensordot(first, values, 1), np.tensordot(second, values, 1)

    q = position(t)
    friction = bool(rng.integers(2))
    at = t + delay
    effort = true_efforts(robot, derivatives(at), rng, friction)
    level = rng.uniform(0.003, 0.03) if noisy else 0.0
    spread = level * np.sqrt(np.mean(effort**2, axis=0))
    if noisy:
        resolution = 2.0 * np.pi / 2.0 ** rng.integers(12, 21, n)
        resolution[[joint.position_unit == "m" for joint in robot.joints]] *= 0.05
        q = resolution * np.round(q / resolution)
        effort = effort + spread * rng.normal(size=effort.shape)
    recording = Recording(name, robot.joint_names, RecordedTrack(t, q), RecordedTrack(t, effort))
    title = f"{name:<16} {period:5.1f} s {rate:5.0f} Hz {kind:<4}"
    return Case(title, robot, recording, np.full(n, level), friction)


def true_efforts(robot: Robot, motion: tuple[Array, ...], rng: np.random.Generator, friction: bool) -> Array:
    """The efforts of the true arm (N, n), by Pinocchio."""
    truth = Pinocchio(robot, (0.0, 0.0, -9.81))
    for inertia in truth.model.inertias:
        if inertia.mass > 0.0:
            inertia.mass *= rng.uniform(0.8, 1.25)
            inertia.lever += rng.normal(scale=0.01, size=3)
            inertia.inertia *= rng.uniform(0.8, 1.25)
    truth.data = truth.model.createData()
    efforts = np.array([truth.inverse(*state) for state in zip(*motion, strict=True)])
    if friction:
        size = np.sqrt(np.mean(efforts**2, axis=0))
        speed = np.sqrt(np.mean(motion[1] ** 2, axis=0))
        efforts += size * rng.uniform(0.03, 0.2, robot.n) * np.sign(motion[1])
        efforts += size / speed * rng.uniform(0.03, 0.2, robot.n) * motion[1]
    return efforts


def measure(case: Case) -> dict[str, Any]:
    """Figure → value."""
    begun = process_time()
    (prepared,) = prepare([case.recording], case.robot)
    found = identify(case.robot, prepared.samples)
    return {
        "case": case.title,
        "cutoff": prepared.cutoff,
        "periods": prepared.periods,
        "unexplained": float(np.nanmax(found.fit.relative)),
        "left_out": float(np.nanmax(found.cross_validation.relative)),
        "noise": float(case.noise.max()),
        "of_noise": float(np.nanmax(found.cross_validation.relative / case.noise)) if case.noise.any() else None,
        "false_friction": "" if case.friction else _friction(found),
        "friction": case.friction,
        "seconds": process_time() - begun,
    }


def _friction(found: Identification) -> str:
    claimed = [one for one in found.parameters if one.identified and one.name.startswith(("viscous", "coulomb"))]
    return ", ".join(f"{one.name} {one.value:.2g} ± {one.standard_error:.1g}" for one in claimed)


def main() -> int:
    """Run and report."""
    parser = options(__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=20, help="recordings of each kind")
    parser.add_argument("--arms", nargs="+", default=list(ARMS))
    args = parser.parse_args()
    found: dict[str, list[dict[str, Any]]] = {"without noise": [], "with noise": []}
    for noisy, rows in enumerate(found.values()):
        for k in range(args.count):
            row = measure(make(args.arms[k % len(args.arms)], 1000 * args.seed + 2 * k + noisy, bool(noisy)))
            bound = TIMES_NOISE * row["noise"] if noisy else NOISE_FREE
            row["as promised"] = max(row["unexplained"], row["left_out"]) <= bound and not row["false_friction"]
            rows.append(row)
    report(found, args.json)
    return 0 if all(row["as promised"] for rows in found.values() for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
