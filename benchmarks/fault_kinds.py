# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The faults that ``make faults`` injects: what changes the states, their times, the drives, or the law."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from fault_cell import START, Cell, Inject, Setup, State, controller_of

from robodyn_ros.control.laws.base import Controller
from robodyn_ros.dynamics.base import Dynamics

Random = np.random.Generator
Make = Callable[[Cell, Random], Inject]


class Fault(NamedTuple):
    """A fault: its name, and what makes it anew."""

    name: str
    make: Make
    group: str = "kinematics"  # what shows it: kinematics, efforts, time, law
    options: Mapping[str, Any] = MappingProxyType({})  # of the setup
    needs_python: bool = False  # whether the law has to be one that can be made to fail


def maker(function: Callable[..., Inject]) -> Callable[..., Make]:
    """Has a function of the cell, the random numbers and more arguments be called with these first."""
    return lambda *given: lambda cell, random: function(cell, random, *given)


# What changes each state


@maker
def changed(cell: Cell, random: Random, change: Callable[[State, int, float], State]) -> Inject:
    """Each state is changed; the change is told the joint that was drawn, and when the fault begins."""
    joint, begin = int(random.integers(cell.robot.n)), cell.t
    return lambda cell, state: [change(state, joint, begin)]


def one(array: Any, joint: int, value: Callable[[float], float]) -> Any:
    """An array with another value of one joint."""
    made = np.array(array)
    made[joint] = value(made[joint])
    return made


@maker
def samples(cell: Cell, random: Random, count: int, size: float, period: int = 0) -> Inject:
    """Some states in a row have one joint elsewhere; again after so many states, if at all."""
    joint, offset, seen = int(random.integers(cell.robot.n)), size * random.choice([-1.0, 1.0]), [0]

    def inject(cell: Cell, state: State) -> list[State]:
        place = seen[0] % period if period else seen[0]
        seen[0] += 1
        return [state._replace(q=one(state.q, joint, lambda x: x + offset))] if place < count else [state]

    return inject


@maker
def stuck(cell: Cell, random: Random, velocity: str, which: str, noise: float = 0.0) -> Inject:
    """Encoders stand still: all of them or one, with live velocity or with none."""
    joints: Any = slice(None) if which == "all" else int(random.integers(cell.robot.n))
    held: list[Any] = []

    def inject(cell: Cell, state: State) -> list[State]:
        held.extend([] if held else [state.q])
        q, qd = np.array(state.q), np.array(state.qd)
        q[joints] = held[0][joints] + noise * random.standard_normal(np.shape(q[joints]))
        if velocity == "zero":
            qd[joints] = 0.0
        return [state._replace(q=q, qd=qd)]

    return inject


@maker
def slipping(cell: Cell, random: Random, speed: float) -> Inject:
    """The encoder of a joint slips at a speed [rad/s], or a tenth of it [m/s]."""
    joint, begin = int(random.integers(cell.robot.n)), cell.t
    rate = speed * (0.1 if cell.robot.joints[joint].position_unit == "m" else 1.0)
    return lambda cell, state: [state._replace(q=one(state.q, joint, lambda x: x + rate * (cell.t - begin)))]


@maker
def bursts(cell: Cell, random: Random, size: float) -> Inject:
    """Every 0.3 s there is noise on all positions for 30 ms."""

    def inject(cell: Cell, state: State) -> list[State]:
        noise = size * random.standard_normal(len(state.q))
        return [state._replace(q=state.q + noise) if (cell.t - START) % 0.3 < 0.03 else state]

    return inject


@maker
def swapped(cell: Cell, random: Random, velocities_only: bool) -> Inject:
    """Two neighbouring joints have each other's states."""
    joint = int(random.integers(cell.robot.n - 1))
    order = list(range(cell.robot.n))
    order[joint], order[joint + 1] = joint + 1, joint
    return lambda cell, state: [state._replace(q=state.q if velocities_only else state.q[order], qd=state.qd[order])]


# What changes their times


@maker
def rare(cell: Cell, random: Random, every: Callable[[Cell], int]) -> Inject:
    """Only one state in so many comes."""
    left, count = [0], every(cell)

    def inject(cell: Cell, state: State) -> list[State]:
        left[0] = (left[0] + 1) % count
        return [state] if left[0] == 0 else []

    return inject


@maker
def late(cell: Cell, random: Random, by: float) -> Inject:
    """States come late by a time [s], with the stamps of their measurements."""
    on_their_way: list[State] = []

    def inject(cell: Cell, state: State) -> list[State]:
        on_their_way.append(state)
        due = [each for each in on_their_way if cell.t - each.stamp >= by - 1e-9]
        del on_their_way[: len(due)]
        return [each._replace(age=each.age) for each in due]

    return inject


# What changes the drives and the arm


@maker
def driven(cell: Cell, random: Random, change: Callable[[Any, int, Any], Any], which: str = "one") -> Inject:
    """Efforts on their way to the arm are changed: of the effort, the joints and the effort at the beginning."""
    joints: Any = slice(None) if which == "all" else int(random.integers(cell.robot.n))
    first = np.array(cell.sent)

    def drive(effort: Any) -> Any:
        made = np.array(effort)
        made[joints] = change(made[joints], joints, first[joints])
        return made

    cell.drive = drive
    return lambda cell, state: [state]


@maker
def commands_late(cell: Cell, random: Random, by: float) -> Inject:
    """Commands reach the drives late by a time [s]."""
    periods = round(by / cell.setup.period)
    on_their_way = [np.array(cell.sent)] * periods

    def drive(effort: Any) -> Any:
        on_their_way.append(effort)
        return on_their_way.pop(0)

    cell.drive = drive
    return lambda cell, state: [state]


def blocked(cell: Cell, random: Random) -> Inject:
    """Something rigid blocks a joint."""
    joint = int(random.integers(cell.robot.n))
    cell.blocked = {joint: float(cell.plant.q[joint])}
    return lambda cell, state: [state]


# What changes the law


def spoilable(setup: Setup, model: Dynamics) -> Controller:
    """Computed torque that can be made to fail; it is not traced, so that it can."""
    kind = type(controller_of(setup))

    class Spoilable(kind):  # type: ignore[misc, valid-type]
        spoil = None

        def compute(self, q: Any, *args: Any) -> Any:
            efforts = super().compute(q, *args)
            assert float(q[0]) == q[0]  # a symbol has no value
            return efforts if self.spoil is None else self.spoil(efforts)

    law = controller_of(setup)
    return Spoilable(model, law.kp, law.kd)


@maker
def law_gives(cell: Cell, random: Random, spoil: Callable[[Any], Any]) -> Inject:
    """The law gives something else, or raises."""
    cell.law.spoil = spoil  # type: ignore[attr-defined]
    return lambda cell, state: [state]


def everything(efforts: Any, value: float) -> Any:
    """Efforts of which every term has a value."""
    return type(efforts)(*(np.full(len(efforts.total), value) for _ in efforts))


NAN = float("nan")

FAULTS = (
    Fault("position jumps by 0.3", samples(10**9, 0.3)),
    Fault("one bad sample, 0.05", samples(1, 0.05)),
    Fault("three bad samples, 0.1", samples(3, 0.1)),
    Fault("one state in ten is bad, 0.05", samples(1, 0.05, 10)),
    Fault("velocities: sign", changed(lambda s, j, begin: s._replace(qd=-s.qd))),
    Fault("velocity: sign of one", changed(lambda s, j, begin: s._replace(qd=one(s.qd, j, lambda x: -x)))),
    Fault("velocities: zero", changed(lambda s, j, begin: s._replace(qd=0.0 * s.qd))),
    Fault("velocities: three times", changed(lambda s, j, begin: s._replace(qd=3.0 * s.qd))),
    Fault("velocities: swapped", swapped(True)),
    Fault("joints: swapped", swapped(False)),
    Fault("stuck, live velocity: all", stuck("live", "all")),
    Fault("stuck, live velocity: one", stuck("live", "one")),
    Fault("stuck, no velocity: all", stuck("zero", "all"), "efforts"),
    Fault("stuck, no velocity: one", stuck("zero", "one"), "efforts"),
    Fault("stuck, no velocity, noise: one", stuck("zero", "one", 1e-4), "efforts"),
    Fault("encoder slips, 0.15 rad/s", slipping(0.15)),
    Fault("noise in bursts, 0.1", bursts(0.1)),
    Fault("NaN", changed(lambda s, j, begin: s._replace(q=one(s.q, j, lambda x: NAN)))),
    Fault("position 1e6", changed(lambda s, j, begin: s._replace(q=one(s.q, j, lambda x: 1e6)))),
    Fault("positions in degrees", changed(lambda s, j, begin: s._replace(q=np.rad2deg(s.q), qd=np.rad2deg(s.qd)))),
    Fault("no states", rare(lambda cell: 10**9), "time"),
    Fault("one state in 80 ms", rare(lambda cell: round(0.08 / cell.setup.period)), "time"),
    Fault("one state in 20", rare(lambda cell: 20), "time"),
    Fault("stamps run backwards", changed(lambda s, j, begin: s._replace(stamp=2.0 * begin - s.stamp)), "time"),
    Fault("stamps stand still", changed(lambda s, j, begin: s._replace(stamp=begin)), "time"),
    Fault("stamps of the future, 0.2 s", changed(lambda s, j, begin: s._replace(stamp=s.stamp + 0.2)), "time"),
    Fault("states twice", lambda cell, random: lambda cell, state: [state, state], "time"),
    Fault("states 60 ms late", late(0.06), "time"),
    Fault("commands 60 ms late", commands_late(0.06), "efforts"),
    Fault("effort: sign of one", driven(lambda u, j, first: -u), "efforts"),
    Fault("drive is dead", driven(lambda u, j, first: 0.0), "efforts"),
    Fault("half gain: all", driven(lambda u, j, first: 0.5 * u, "all"), "efforts"),
    Fault("effort is stuck", driven(lambda u, j, first: first), "efforts"),
    Fault("joint is blocked", blocked, "efforts"),
    Fault("law: NaN", law_gives(lambda e: e._replace(total=NAN * e.total)), "law", needs_python=True),
    Fault("law: raises", law_gives(lambda e: 1 / 0), "law", needs_python=True),
    Fault("model: NaN", law_gives(lambda e: everything(e, NAN)), "law", needs_python=True),
    Fault("gains too high", rare(lambda cell: 12), "time", {"frequency": 60.0}),
    Fault("ten states in fifty are bad, 0.2", samples(10, 0.2, 50)),
    Fault("positions drift, 0.06", changed(lambda s, j, begin: s._replace(q=s.q + 0.06 * (s.stamp - begin)))),
)
"""What is injected."""
