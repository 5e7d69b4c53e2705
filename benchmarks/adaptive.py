# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""What learning does: an unknown payload under computed torque, the disturbance observer and the adaptive law.

    make bench-adaptive                     tables; the arm for one minute
    make soak-adaptive                      the adaptive law for 30 simulated minutes (about four minutes)
    make bench-adaptive BENCH=--json

The PRR arm swings with 2 kg at its tool that no law knows of, at 500 Hz: once with ideal hardware, once with friction
that no law knows of either, encoders with noise and resolution, and commands and states that take time. All laws have
the same gains. Errors are the plant's own, not the sensors'.
"""

from typing import Any

import numpy as np
from common import PRR, options, report

import robodyn_ros as rd
from robodyn_ros.control import Reference
from robodyn_ros.robot.pose import Array
from robodyn_ros.tasks import make_loop, make_simulated

LAWS = ("computed_torque", "disturbance_observer", "adaptive")
RATE, GREATEST = 500.0, "greatest error [mm, mrad]"
MINUTE = round(60.0 * RATE)
SETTLED = 10.0
"""Time that is left out at the beginning [s]."""

ROBOT = rd.load_robot(PRR)
CENTRE, SIZE, FREQUENCY = np.array([1.0, 0.0, 0.3]), np.array([0.4, 0.8, 0.6]), np.array([0.25, 0.4, 0.55])

LOADED: dict[str, Any] = {"mismatch.payload_mass": 2.0, "state_rate": RATE}
FRICTION = {"elevator": (15.0, 20.0), "shoulder": (1.5, 0.5), "wrist": (0.4, 0.2)}
"""Joint → Coulomb [N] or [N·m] and viscous friction."""
SENSORS = {"position_noise": 5e-5, "velocity_noise": 5e-3, "resolution": 1e-5}
ROUGH: dict[str, Any] = {"command_delay": 0.001, "state_delay": 0.001}
for _joint, (_coulomb, _viscous) in FRICTION.items():
    ROUGH |= {f"friction.{_joint}.coulomb": _coulomb, f"friction.{_joint}.viscous": _viscous}
    ROUGH |= {f"sensors.{_joint}.{name}": value for name, value in SENSORS.items()}
HARDWARE = {"ideal": LOADED, "rough": LOADED | ROUGH}


def wanted(t: float) -> Reference:
    """Where the arm is to be."""
    w = 2.0 * np.pi * FREQUENCY
    start = min(1.0, t / 2.0) ** 2 * (3.0 - 2.0 * min(1.0, t / 2.0))  # swings in within two seconds
    s, c = SIZE * start * np.sin(w * t), SIZE * start * np.cos(w * t)
    return Reference(CENTRE + s, w * c, -(w**2) * s, np.zeros(ROBOT.n))


def swing(law: str, hardware: str, duration: float) -> tuple[Array, Array, list[dict[str, float]], int]:
    """Have the arm swing: at N times its errors (N, n) [rad] or [m] and efforts, minutely estimates, and faults."""
    start = {f"initial_position.{name}": float(value) for name, value in zip(ROBOT.joint_names, CENTRE, strict=True)}
    plant, _ = make_simulated(HARDWARE[hardware] | start, ROBOT)
    gains = {f"gains.{name}.natural_frequency": 12.0 for name in ROBOT.joint_names}
    loop, _ = make_loop({"controller": law, **gains}, ROBOT)
    count, faults, estimates = round(duration * RATE), 0, []
    error, effort = np.empty((count, ROBOT.n)), np.zeros((count, ROBOT.n))
    for index in range(count):
        for reading in plant.readings():
            stamp = reading.step * plant.plant.settings.step
            if loop.mode != "waiting":
                loop.track(wanted(stamp), stamp)
            command = loop.update(stamp, plant.time, reading.q, reading.qd)
            if command is None or command.fault is not None:
                faults += 1
                continue
            plant.command(command.effort)
            effort[index] = command.effort
        error[index] = wanted(plant.time).q - plant.plant.q
        plant.advance(plant.period)
        if (index + 1) % MINUTE == 0:
            estimates.append(loop.controller.estimates())
    return error, effort, estimates, faults


def table(law: str, hardware: str, minutes: int) -> list[dict[str, Any]]:
    """The errors in the first three minutes and the last one, once the arm swings, and the estimates at their ends."""
    error, effort, estimates, faults = swing(law, hardware, 60.0 * minutes)
    rows = []
    for minute in sorted({*range(min(3, minutes)), minutes - 1}):
        part = slice(minute * MINUTE + (0 if minute else round(SETTLED * RATE)), (minute + 1) * MINUTE)
        rms = 1e3 * np.sqrt(np.mean(error[part] ** 2, axis=0))
        greatest = {GREATEST: float(1e3 * np.abs(error[part]).max())}
        greatest["effort [limits]"] = float(np.abs(effort[part] / ROBOT.effort_limit).max())
        rows.append(
            {"law": f"{law}, minute {minute + 1}"} | dict(zip(ROBOT.joint_names, rms.tolist(), strict=True))
            | greatest | {"faults": faults} | estimates[minute]
        )  # fmt: skip
    return rows


def main() -> None:
    """Measure and print."""
    parser = options(__doc__)
    parser.add_argument("--minutes", type=int, default=1, help="how long the arm swings; 1 unless given")
    parser.add_argument("--laws", nargs="+", default=LAWS, help="all three unless given")
    args = parser.parse_args()
    found = {
        f"{hardware} hardware: RMS of the errors by joint [mm, mrad]": [
            row for law in args.laws for row in table(law, hardware, args.minutes)
        ]
        for hardware in HARDWARE
    }
    report(found, args.json)


if __name__ == "__main__":
    main()
