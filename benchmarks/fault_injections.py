# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Injections: a fault, an arm, and whether it moves, each run beside its twins.

The better twin is the one whose greatest speed is less, of the one without checks and the one that lets go at
detection. Without a detection there is only the former.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from fault_cell import ARMS, START, Cell, Sensing, Setup, Swing, arm_of, carried, place, swing_from, unknown
from fault_kinds import FAULTS, Fault, spoilable

SETTLES, LASTS = 1.5, 3.0
"""How long an arm is under its loop before a fault, and how long it is watched from then on [s]."""

LOST = 20.0
"""Speed at which an arm is lost, and is watched no longer [velocity limits]."""

ONE_SAMPLE = "one bad sample, 0.05"
"""The fault after which an arm at rest may not move."""

LAWS = ("computed_torque", "pd", "impedance", "cartesian_impedance")


class Injection(NamedTuple):
    """A fault, the arm, whether it moves, and whether its model is exact."""

    fault: Fault
    arm: str
    moves: bool
    exact: bool
    seed: int


class Run(NamedTuple):
    """What became of one twin."""

    speed: float  # in velocity limits
    moved: float  # [rad] or [m]
    stop: bool
    step: float  # in effort limits

    def is_worse_than(self, twin: Run) -> bool:
        """Whether a joint is faster than 1.1 times the twin, and than its limit, or is at a stop that the twin does not
        reach; a twin that is lost may reach any.
        """
        fast = self.speed >= 1.0 and self.speed > 1.1 * twin.speed
        return fast or (self.stop and not twin.stop and twin.speed <= LOST)


class Outcome(NamedTuple):
    """What became of an injection, with one kind of drives."""

    case: int
    injection: Injection
    brakes: bool
    kind: str
    problem: str
    detected: float  # after [s]; inf if not
    at_detection: float  # greatest speed until then
    checked: Run
    unchecked: Run
    lets_go: Run | None

    @property
    def is_early(self) -> bool:
        """Whether a fault was found before there was one: a false alarm, which says nothing about reactions."""
        return self.detected < -0.01  # the beginning is rounded to a period

    @property
    def better(self) -> Run:
        """The better twin."""
        return min((run for run in (self.unchecked, self.lets_go) if run is not None), key=lambda run: run.speed)

    @property
    def is_good(self) -> bool:
        """The verdict: not found before it began, and not worse than the better twin."""
        if self.is_early:
            return False
        if self.injection.fault.name == ONE_SAMPLE and not self.injection.moves:
            return self.checked.speed < 0.05 and self.checked.moved < 0.005
        return not self.checked.is_worse_than(self.better)

    @property
    def is_useful(self) -> bool:
        """Whether letting go at detection is worse than the reaction."""
        return self.lets_go is not None and self.lets_go.is_worse_than(self.checked)


def injections(seed: int, arms: tuple[str, ...] = ARMS) -> list[Injection]:
    """All injections, in order; every second one has an exact model, by seed, fault and arm."""
    return [
        Injection(fault, arm, moves, (place + number + moves + seed) % 2 == 0, seed)
        for place, fault in enumerate(FAULTS)
        for number, arm in enumerate(arms)
        for moves in (False, True)
    ]


def setup_of(case: int, injection: Injection) -> tuple[Setup, Swing | None, float]:
    """The case, how it swings, and when the fault begins [s].

    An arm whose model is not exact differs from it by what is unknown by default: 10 % of the masses, friction up to a
    tenth of the effort limits, and a payload up to 1 kg; its law, gains, rate and noise are drawn, too.
    """
    random = np.random.default_rng([injection.seed, 1, case])
    arm = arm_of(injection.arm)
    start = place(arm, random)
    swing = swing_from(arm, start, random, 0.8, 0.5) if injection.moves else None
    begin = SETTLES + (0.1 + random.uniform(0.25, 0.6) * swing.duration if swing else 0.0)
    options: dict[str, Any] = {"seed": case}
    if not injection.exact:
        options |= unknown(arm, random, 0.1, 0.1, 1.0)
        options["frequency"] = float(random.uniform(6.0, 20.0))
        options["law"] = str(random.choice(LAWS))
        options["period"] = float(random.choice([0.001, 0.002, 0.004]))
        options["sensing"] = Sensing(float(random.choice([0.0, 1e-4])), float(random.choice([0.0, 5e-3])))
    setup = carried(Setup(arm, start, **{**options, **injection.fault.options}))
    if injection.fault.needs_python:  # a period takes twenty times as long
        setup = replace(setup, period=0.004, make_law=partial(spoilable, replace(setup, period=0.004)))
    return setup, swing, begin


def inject(case: int, injection: Injection) -> list[Outcome]:
    """An injection and its twins, with drives that brake and with drives that go limp."""
    setup, swing, begin = setup_of(case, injection)
    outcomes: list[Outcome] = []
    unchecked_brakes: tuple[Cell, Run] | None = None
    for brakes in (True, False):
        cell, checked = run_twin(setup, swing, begin, injection, brakes=brakes)
        if unchecked_brakes is None or unchecked_brakes[0].timed_out:
            other, unchecked = run_twin(setup, swing, begin, injection, brakes=brakes, checks=False)
            unchecked_brakes = unchecked_brakes or (other, unchecked)
        else:
            unchecked = unchecked_brakes[1]
        lets_go = None
        if cell.detected < np.inf:
            _, lets_go = run_twin(setup, swing, begin, injection, brakes=brakes, lets_go=True)
        found = cell.detected - (START + begin) + 1e-9
        outcomes.append(
            Outcome(case, injection, brakes, *cell.fault, found, cell.at_detection, checked, unchecked, lets_go)
        )
    return outcomes


def run_twin(
    setup: Setup, swing: Swing | None, begin: float, injection: Injection, lasts: float = LASTS, **how: bool
) -> tuple[Cell, Run]:
    """What becomes of a case as ``setup_of`` gives it, and of its twins.

    Args:
        setup: the arm, its drives, and how the model errs.
        swing: the motion, if there is any.
        begin: when the fault begins [s].
        injection: the fault.
        lasts: how long it lasts [s].
        how: arguments of :class:`Cell`.
    """
    cell = Cell(setup, **how)
    moves = () if swing is None else (Swing(swing.ends, swing.duration),)
    cell.run(SETTLES)
    cell.run(begin - SETTLES, each=moves)
    if cell.detected == np.inf:  # else it is a false alarm
        cell.watch()
        fault = injection.fault.make(cell, np.random.default_rng([injection.seed, 2, setup.seed]))
        cell.run(lasts, fault, moves, until=lambda: cell.speed > LOST)
    return cell, Run(cell.speed, cell.moved, cell.stopped, cell.step)
