# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""What learning does: an unknown payload under computed torque, the disturbance observer and the adaptive law.

    make bench-adaptive                     tables; the arm for one minute
    make soak-adaptive                      the adaptive law for 30 simulated minutes (about two minutes)
    make bench-adaptive BENCH=--json

The PRR arm swings with 2 kg at its tool that no law knows of, at 500 Hz: once with ideal hardware, once with friction
that no law knows of either, encoders with noise and resolution, and commands and states that take time. All laws have
the same gains. Errors are the plant's own, not the sensors'; an effort is rough by what changes from one command to the
next.
"""

from __future__ import annotations

import statistics
import time
from typing import Any, NamedTuple

import numpy as np
from common import PRR, options, report
from numpy.typing import NDArray

import robodyn_ros as rd
from robodyn_ros.cli.simulate import make_loop, make_simulated
from robodyn_ros.control import ControlLoop, Reference

Array = NDArray[np.float64]

LAWS = ("computed_torque", "disturbance_observer", "adaptive")
RATE, RMS = 500.0, "RMS error [mm, mrad]"
SETTLED = 10.0
"""From when on the laws are compared [s]."""

ROBOT = rd.load_robot(PRR)
CENTRE, SIZE, FREQUENCY = np.array([1.0, 0.0, 0.3]), np.array([0.4, 0.8, 0.6]), np.array([0.25, 0.4, 0.55])

LOADED: dict[str, Any] = {"mismatch.payload_mass": 2.0, "state_rate": RATE}
ROUGH: dict[str, Any] = {
    "command_delay": 0.001,
    "state_delay": 0.001,
    "friction.elevator.coulomb": 15.0,
    "friction.elevator.viscous": 20.0,
    "friction.shoulder.coulomb": 1.5,
    "friction.shoulder.viscous": 0.5,
    "friction.wrist.coulomb": 0.4,
    "friction.wrist.viscous": 0.2,
} | {
    f"sensors.{joint}.{name}": value
    for joint in ROBOT.joint_names
    for name, value in (("position_noise", 5e-5), ("velocity_noise", 5e-3), ("resolution", 1e-5))
}
HARDWARE = {"ideal": LOADED, "rough": LOADED | ROUGH}


class Run(NamedTuple):
    """What a law made of it, at N times."""

    t: Array  # (N,) [s]
    error: Array  # reference minus position of the plant (N, n) [rad] or [m]
    effort: Array  # as commanded (N, n) [N·m] or [N]
    limited: float  # share of the commands that a limit cut [-]
    microseconds: float  # that an update of the loop takes, median
    estimates: list[tuple[float, dict[str, float]]]  # at whole minutes
    faults: int


def wanted(t: float) -> Reference:
    """Where the arm is to be."""
    w = 2.0 * np.pi * FREQUENCY
    start = min(1.0, t / 2.0) ** 2 * (3.0 - 2.0 * min(1.0, t / 2.0))  # swings in within two seconds
    s, c = SIZE * start * np.sin(w * t), SIZE * start * np.cos(w * t)
    return Reference(CENTRE + s, w * c, -(w**2) * s, np.zeros(ROBOT.n))


def swing(law: str, hardware: str, duration: float) -> Run:
    """Have the arm swing."""
    start = {f"initial_position.{name}": float(value) for name, value in zip(ROBOT.joint_names, CENTRE, strict=True)}
    plant, _ = make_simulated(HARDWARE[hardware] | start, ROBOT)
    gains = {f"gains.{name}.natural_frequency": 12.0 for name in ROBOT.joint_names}
    loop, _ = make_loop({"controller": law, **gains}, ROBOT)
    period = plant.period
    count = round(duration * RATE)
    t, error, effort = np.empty(count), np.empty((count, ROBOT.n)), np.full((count, ROBOT.n), np.nan)
    limited, faults, seconds, estimates = 0, 0, [], []
    for index in range(count):
        for reading in plant.readings():
            stamp = reading.step * plant.plant.settings.step
            begun = time.perf_counter()
            command = answered(loop, stamp, plant.time, reading.q, reading.qd)
            seconds.append(time.perf_counter() - begun)
            if command is None or command.fault is not None:
                faults += 1
                continue
            plant.command(command.effort)
            effort[index] = command.effort
            limited += bool(command.saturated.any() or command.rate_limited.any())
        t[index], error[index] = plant.time, wanted(plant.time).q - plant.plant.q
        if index % round(60.0 * RATE) == 0:
            estimates.append((plant.time, loop.controller.estimates()))
        plant.advance(period)
    estimates.append((plant.time, loop.controller.estimates()))
    return Run(t, error, effort, limited / count, 1e6 * statistics.median(seconds), estimates, faults)


def answered(loop: ControlLoop, stamp: float, now: float, q: Array, qd: Array | None) -> Any:
    """The command for a state, with the reference of its time."""
    if loop.mode != "waiting":
        loop.track(wanted(stamp), stamp)
    return loop.update(stamp, now, q, qd)


def figures(run: Run) -> dict[str, dict[str, float]]:
    """Joint → what a run shows from ``SETTLED`` on."""
    late = run.t >= SETTLED
    effort = run.effort[late]
    effort = effort[np.isfinite(effort).all(axis=1)]
    # What is left of a smooth effort after two differences is what changes from one command to the next.
    rough = np.diff(effort, 2, axis=0).std(axis=0) / np.sqrt(6.0)
    rms, greatest = 1e3 * np.sqrt(np.mean(run.error[late] ** 2, axis=0)), 1e3 * np.abs(run.error[late]).max(axis=0)
    share = np.abs(effort).max(axis=0) / ROBOT.effort_limit
    return {
        joint.name: {
            RMS: float(rms[k]),
            "greatest error [mm, mrad]": float(greatest[k]),
            "rough by [N, N·m]": float(rough[k]),
            "effort [limits]": float(share[k]),
            "limited": run.limited,
            "loop [µs]": run.microseconds,
            "faults": run.faults,
        }
        for k, joint in enumerate(ROBOT.joints)
    }


def compare(duration: float) -> dict[str, list[dict[str, Any]]]:
    """A table for each hardware: the laws and joints, and how many times better than computed torque a law is."""
    found: dict[str, list[dict[str, Any]]] = {}
    for hardware in HARDWARE:
        runs = {law: figures(swing(law, hardware, duration)) for law in LAWS}
        found[f"{hardware} hardware, from {SETTLED:g} s on"] = [
            {"law": law, "joint": joint, **row, "times better": runs[LAWS[0]][joint][RMS] / row[RMS]}
            for law, rows in runs.items()
            for joint, row in rows.items()
        ]
    return found


def soak(minutes: float) -> dict[str, list[dict[str, Any]]]:
    """The adaptive law for long, minute by minute."""
    run = swing("adaptive", "rough", 60.0 * minutes)
    each = round(60.0 * RATE)
    parts = [run.error[start : start + each] for start in range(0, len(run.error), each)]
    rows = []
    for minute, (error, (_, estimate)) in enumerate(zip(parts, run.estimates[1:], strict=True), 1):
        if minute <= 3 or minute % 5 == 0:
            rms = 1e3 * np.sqrt(np.mean(error**2, axis=0))
            rows.append({"minute": minute, RMS: dict(zip(ROBOT.joint_names, rms.tolist(), strict=True)), **estimate})
    whole = [{"joint": joint, **row} for joint, row in figures(run).items()]
    return {f"adaptive, rough hardware, {minutes:g} minutes": rows, "all of it": whole}


def main() -> None:
    """Measure and print."""
    parser = options(__doc__)
    parser.add_argument("--soak", type=float, metavar="MINUTES", help="the adaptive law alone, for so long")
    args = parser.parse_args()
    report(soak(args.soak) if args.soak else compare(60.0), args.json)


if __name__ == "__main__":
    main()
