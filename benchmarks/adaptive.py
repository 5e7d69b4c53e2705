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

import argparse
import json
import statistics
import time
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.markup import escape
from rich.table import Table

import robodyn_ros as rd
from robodyn_ros.cli.simulate import make_loop, make_simulated
from robodyn_ros.control import ControlLoop, Reference
from robodyn_ros.files import find

Array = NDArray[np.float64]

LAWS = ("computed_torque", "disturbance_observer", "adaptive")
RATE = 500.0
SETTLED = 10.0
"""From when on the laws are compared [s]."""

ROBOT = rd.load_robot(find("urdf/prr.urdf"))
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
    period = plant.sensors.steps
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


def figures(run: Run) -> dict[str, Any]:
    """What a run shows from ``SETTLED`` on."""
    late = run.t >= SETTLED
    effort = run.effort[late]
    effort = effort[np.isfinite(effort).all(axis=1)]
    # What is left of a smooth effort after two differences is what changes from one command to the next.
    rough = np.diff(effort, 2, axis=0).std(axis=0) / np.sqrt(6.0)
    return {
        "rms": np.sqrt(np.mean(run.error[late] ** 2, axis=0)).tolist(),
        "greatest": np.abs(run.error[late]).max(axis=0).tolist(),
        "roughness": rough.tolist(),
        "effort": (np.abs(effort).max(axis=0) / ROBOT.effort_limit).tolist(),
        "limited": run.limited,
        "microseconds": run.microseconds,
        "faults": run.faults,
    }


def compare(duration: float) -> dict[str, dict[str, Any]]:
    """Hardware → law → figures."""
    return {hardware: {law: figures(swing(law, hardware, duration)) for law in LAWS} for hardware in HARDWARE}


def show(found: dict[str, dict[str, Any]], console: Console) -> None:
    """As tables."""
    for hardware, laws in found.items():
        table = Table(title=f"{hardware} hardware, from {SETTLED:g} s on", title_justify="left")
        for heading in ("law", "joint", "RMS error", "better", "rough by", "limit", "loop"):
            table.add_column(heading, justify="left" if heading in ("law", "joint") else "right")
        for law, values in laws.items():
            for index, joint in enumerate(ROBOT.joints):
                usual = laws["computed_torque"]["rms"][index]
                table.add_row(
                    law.replace("_", "\n") if index == 0 else "",
                    joint.name,
                    f"{1e3 * values['rms'][index]:.2f} m{joint.position_unit}",
                    f"{usual / values['rms'][index]:.1f} x",
                    f"{values['roughness'][index]:.3f} {joint.effort_unit}",
                    f"{values['effort'][index]:.0%}",
                    f"{values['microseconds']:.0f} µs" if index == 0 else "",
                    end_section=index == ROBOT.n - 1,
                )
        console.print(table)


def soak(minutes: float, console: Console) -> dict[str, Any]:
    """The adaptive law for long, minute by minute."""
    begun = time.perf_counter()
    run = swing("adaptive", "rough", 60.0 * minutes)
    each = round(60.0 * RATE)
    parts = [run.error[start : start + each] for start in range(0, len(run.error), each)]
    rms = [np.sqrt(np.mean(part**2, axis=0)) for part in parts]
    table = Table(title=f"adaptive, rough hardware, {minutes:g} minutes", title_justify="left")
    names = list(run.estimates[-1][1])
    for heading in ("minute", *(f"RMS {joint.name} [m{joint.position_unit}]" for joint in ROBOT.joints), names[0]):
        table.add_column(escape(heading), justify="right")
    for minute, (error, (_, estimate)) in enumerate(zip(rms, run.estimates[1:], strict=True), 1):
        if minute <= 3 or minute % 5 == 0:
            table.add_row(str(minute), *(f"{1e3 * value:.3f}" for value in error), f"{estimate[names[0]]:.4f}")
    console.print(table)
    console.print(f"{time.perf_counter() - begun:.0f} s")
    return {
        "minutes": minutes,
        "rms": [error.tolist() for error in rms],
        "estimates": [estimate for _, estimate in run.estimates],
        **figures(run),
    }


def main() -> None:
    """See the module."""
    parser = argparse.ArgumentParser(description="what learning does")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    parser.add_argument("--soak", type=float, metavar="MINUTES", help="the adaptive law alone, for so long")
    args = parser.parse_args()
    console = Console(stderr=args.json)
    if args.soak:
        found = soak(args.soak, console)
    else:
        found = compare(60.0)
        show(found, console)
    if args.json:
        print(json.dumps(found))


if __name__ == "__main__":
    main()
