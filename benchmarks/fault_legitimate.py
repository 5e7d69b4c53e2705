# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Legitimate motion that no check may stop: cases drawn at random, each within the stated uncertainty.

Most cases are within the uncertainty that the settings state by default: friction up to a tenth of the effort limits, a
tenth of the masses, a payload of 1 kg. The others have 30 %, 20 % and 2 kg, with the settings that say so. A case that
faults runs again without checks. It is a false alarm if that twin stays within its speed limits and ends within
:data:`NEAR` of its reference; it is arguable where the twin was farther away than that on its way.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from fault_cell import ARMS, START, Arm, Cell, Each, Sensing, Setup, Swing, arm_of, carried, place, swing_from, unknown

from robodyn_ros.control import Reference
from robodyn_ros.errors import RobodynError
from robodyn_ros.kinematics.forward import Kinematics
from robodyn_ros.robot.robot import tip

NEAR = 0.3
"""Greatest distance of the twin from its reference [rad] or [m]."""

WIDE = {"unknown_friction": 0.3, "model_error": 0.2, "unknown_payload": 2.0}
"""Settings that say that more is unknown."""

LAWS = {
    "computed_torque": 6, "pd": 4, "impedance": 4, "cartesian_impedance": 3, "operational_space": 3,
    "disturbance_observer": 1, "adaptive": 1, "gravity_compensation": 1, "free_drive": 1, "hand_guiding": 1,
}  # fmt: skip
"""Laws, and how often each is drawn."""

ACTIVITIES = {
    "swings": 5, "crawls": 3, "reverses": 3, "stands for 30 s": 1, "stands, is pushed": 5, "swings, is pushed": 3,
    "follows a stream": 2,
}  # fmt: skip
"""What the arm does, and how often."""

MakeEach = Callable[[], tuple[Each, ...]]

RATES = (100.0, 125.0, 200.0, 250.0, 500.0, 1000.0)


class Legitimate(NamedTuple):
    """A case."""

    number: int
    setup: Setup
    activity: str
    duration: float
    each: MakeEach
    wide: bool

    @property
    def text(self) -> str:
        """What distinguishes it, in a line."""
        setup, sensing = self.setup, self.setup.sensing
        known = setup.arm.robot
        friction = [joint.coulomb for joint in setup.friction or ()]
        payload = setup.parameters["payload"]
        parts = [
            f"{setup.arm.name} {self.activity} under {setup.law}",
            f"{1.0 / setup.period:.0f} Hz, delay {1e3 * setup.delay:.0f} ms{' unstamped' * sensing.stamped_late}",
            f"ω {setup.frequency:.3g}, ζ {setup.damping_ratio:.2g}",
            f"damping {known.damping.max():.3g}, friction {(np.array(friction) / known.effort_limit).max():.2f}",
            f"payload {payload.mass if payload else 0.0:.2g} kg" + ", wide" * self.wide,
            f"noise {sensing.position_noise:.1g} {sensing.velocity_noise:.1g}",
            f"encoder {sensing.resolution:.1g} over {1e3 * sensing.window:.0f} ms" if sensing.window else "",
        ]
        return "; ".join(part for part in parts if part)


class Alarm(NamedTuple):
    """A case that faulted, and its twin without checks."""

    case: Legitimate
    at: float  # [s]
    kind: str
    problem: str
    farthest: float  # the twin's greatest distance from its reference [rad] or [m]
    last: float  # its distance at the end
    speed: float  # its greatest speed, in velocity limits

    @property
    def counts(self) -> bool:
        """Whether it is a false alarm."""
        return self.last <= NEAR and self.speed <= 1.0

    @property
    def is_arguable(self) -> bool:
        """Whether the twin was far from its reference on its way."""
        return self.farthest > NEAR


def draw(seed: int, number: int, arms: tuple[str, ...] = ARMS) -> Legitimate:
    """A case, by seed and number."""
    random = np.random.default_rng([seed, 0, number])
    damping = float(random.choice([0.0, 0.0, 2.0, 20.0]))
    arm = arm_of(arms[number % len(arms)], damping)
    start, wide = place(arm, random, 0.5), bool(random.random() < 0.3)
    law, activity = _drawn(random, LAWS), _drawn(random, ACTIVITIES)
    rate = int(random.integers(len(RATES)))
    delay = 1e-3 * int(random.integers(0, 5)) if random.random() < 0.6 else 0.0
    frequency, damped = float(np.exp(random.uniform(np.log(3.0), np.log(30.0)))), float(random.uniform(0.7, 1.5))
    amount = (0.2, 0.3, 2.0) if wide else (0.1, 0.1, 1.0)
    more: dict[str, Any] = {"safety": dict(WIDE) if wide else {}, "seed": number, **unknown(arm, random, *amount)}
    setup = Setup(arm, start, law, frequency, damped, 1.0 / RATES[rate], delay, **more)
    setup = carried(setup, RATES[rate + 1 :])
    setup = replace(setup, sensing=_sensing(random, setup.period))
    duration, each = _activity(arm, activity, start, random)
    return Legitimate(number, setup, activity, duration, each, wide)


def _drawn(random: np.random.Generator, weights: dict[str, int]) -> str:
    counts = np.array(list(weights.values()), dtype=float)
    return str(random.choice(list(weights), p=counts / counts.sum()))


def _sensing(random: np.random.Generator, period: float) -> Sensing:
    """Measured velocities with noise, or positions of encoders, differentiated.

    A driver differentiates over a time in which the resolution is no more than 0.1 rad/s.
    """
    late = bool(random.random() < 0.5)
    if random.random() < 0.5:
        velocity = float(random.choice([0.0, 0.002, 0.01, 0.02, 0.05]))
        return Sensing(float(random.choice([0.0, 1e-5, 1e-4, 1e-3])), velocity, stamped_late=late)
    resolution = 2.0 * np.pi / 2.0 ** int(random.integers(12, 21))
    return Sensing(resolution=resolution, window=max(period, resolution / 0.1), stamped_late=late)


def _activity(arm: Arm, name: str, start: Any, random: np.random.Generator) -> tuple[float, MakeEach]:
    """How long it lasts [s], and what makes it."""
    if name == "stands for 30 s":
        return 30.0, lambda: ()
    if name == "stands, is pushed":
        push = _push(arm, start, random)
        return 5.0, lambda: (push,)
    reach, speed, least = {
        "crawls": (0.08, 0.02, 4.0),
        "reverses": (0.1, 0.4, 0.4),
        "follows a stream": (0.3, 0.3, 1.0),
    }.get(name, (1.0, float(random.uniform(0.1, 0.7)), 0.8))
    swing = swing_from(arm, start, random, reach, speed, least)
    duration = min(8.0, max(5.0, 2.2 * swing.duration))
    if name == "follows a stream":
        return duration, lambda: (_stream(swing),)
    if name == "swings, is pushed":
        push = _push(arm, start, random)
        return duration, lambda: (Swing(swing.ends, swing.duration), push)
    return duration, lambda: (Swing(swing.ends, swing.duration),)


def _push(arm: Arm, start: Any, random: np.random.Generator) -> Each:
    """A push of 3 to 40 N at the last link, ramped and held; less where that is a third of what a drive gives."""
    link, direction = tip(arm.robot), random.standard_normal(3)
    direction /= np.linalg.norm(direction)
    jacobian = Kinematics(arm.robot, compiled=False).jacobian(link, start, "body")[:3]
    load = float((np.abs(jacobian.T @ direction) / arm.robot.effort_limit).max())
    force = min(float(np.exp(random.uniform(np.log(3.0), np.log(40.0)))), 0.3 / load)
    begin, ramp, held = random.uniform(0.8, 1.5), random.uniform(0.05, 0.5), random.uniform(0.2, 2.0)
    times, forces = np.cumsum([begin, ramp, held, ramp]), [0.0, force, force, 0.0]

    def each(cell: Cell) -> None:
        since = cell.t - START
        if times[0] <= since <= times[3] + cell.setup.period:
            cell.plant.outside.push(link, float(np.interp(since, times, forces)) * direction)

    return each


def _stream(swing: Swing) -> Each:
    """References every 20 ms along a sine between the ends of a swing."""
    middle, half = swing.ends.mean(axis=0), 0.5 * (swing.ends[0] - swing.ends[1])
    rate = np.pi / (1.2 * swing.duration)
    none = np.zeros(len(middle))
    last = [-np.inf]

    def each(cell: Cell) -> None:
        since = cell.t - START - 0.3
        if since < 0.0 or cell.t - last[0] < 0.02 or cell.detected < np.inf:
            return
        last[0] = cell.t
        q, qd = middle + half * np.cos(rate * since), -rate * half * np.sin(rate * since)
        try:
            cell.loop.track(Reference(q, qd, -(rate**2) * (q - middle), none), cell.t)
        except RobodynError:  # a fault lasts, or the arm has been pushed away: the next one
            return

    return each


def run(case: Legitimate) -> Alarm | None:
    """Run a case; None if nothing was wrong."""
    cell = Cell(case.setup)
    cell.run(case.duration, each=case.each(), until=lambda: cell.detected < np.inf)
    if cell.detected == np.inf:
        return None
    twin, away = Cell(case.setup, checks=False), [0.0]

    def watched(cell: Cell) -> None:
        reference = None if cell.command is None else cell.command.reference
        if cell.law.follows and reference is not None:
            away.append(float(np.abs(reference.q - cell.plant.q).max()))

    twin.run(case.duration, each=(*case.each(), watched))
    return Alarm(case, cell.detected - START, *cell.fault, max(away), away[-1], twin.speed)
