"""Faults of docs/safety.md, one after the other: detected after, greatest speed and effort step, way back.

    make faults                             the PRR arm, a UR5 and a Panda, where example-robot-data is installed
    make faults BENCH="--arm urdf/rr.urdf"  another arm
    make faults BENCH=--markdown            the same as Markdown
    make faults BENCH=--json
    make faults BENCH="--page docs/reference/faults.md"   write the page with these tables

The control loop runs against the plant in lockstep: every state is answered at once, and the plant moves between two
states. So the results are the same each time. The arm swings between two poses while a fault is injected for a while;
then all is well again. The drives keep to the last command until the loop sends none any more, and brake then. They
have no limit of speed of their own, and nothing has friction.

- *detected*: from the first wrong state to the first that is refused, or to the first command that reacts.
- *speed*: the greatest of any joint from the fault on, in velocity limits. The arm swings with up to half of that.
- *step*: the greatest change of the effort from one command to the next, in effort limits. The rate limit allows 0.2.
- *way back*: what it takes that the arm is in order again, and how long after the end of the fault.

Faults of the node around the loop (plugins, parameters, processes, bytes) are injected into the running controller
afterwards (node_faults.py), where ROS 2 is installed.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.markup import escape
from rich.table import Table

import robodyn_ros as rd
from robodyn_ros.assets import find
from robodyn_ros.control import ControlLoop, Reference, SafetySettings, gains, rest_to_rest
from robodyn_ros.control.laws.base import Controller
from robodyn_ros.control.limits import Limits
from robodyn_ros.errors import RobodynError
from robodyn_ros.plugins import load
from robodyn_ros.robot import Robot
from robodyn_ros.simulation import FrictionSettings, Plant, PlantSettings

sys.path.insert(0, str(Path(__file__).parents[1] / "test"))
from industrial import urdfs

Array = NDArray[np.float64]

BEGIN, LASTS, AFTER = 1.5, 2.0, 10.0
"""When a fault begins, how long it lasts, and how long all is well after it [s]."""

SWING = 1.5
"""Time from one end of the swing to the other, at least [s]."""

RATE = 100.0
"""Greatest rate of an effort, in effort limits a second, as the node has it [1/s]."""

SCAN = 0.2
"""Time after which a second publisher is seen in the graph, as in the node [s]."""


class State(NamedTuple):
    """What a driver publishes."""

    stamp: float
    q: Array
    qd: Array | None


Inject = Callable[["Cell", State], list[State]]
"""Spoils a state: the states that come instead of it."""


class Cell:
    """A loop, a plant, and a driver between them that can be made to fail.

    Attributes:
        t: the time [s].
        loop: the loop.
        plant: the arm.
        speed: greatest speed of each joint since :meth:`watch` (n,).
        step: greatest change of an effort from one command to the next, in effort limits, likewise.
        faults: (time, kind, problem) of each reaction, refused state and refused reference.
        struck: how often a joint was at a stop at more than half its velocity limit.
    """

    def __init__(
        self,
        robot: Robot,
        law: str = "computed_torque",
        *,
        frequency: float = 10.0,
        period: float = 0.002,
        safety: SafetySettings | None = None,
        truth: dict[str, Any] | None = None,
        friction: list[FrictionSettings] | None = None,
        noise: float = 0.0,
        resolution: float = 0.0,
        delay: int = 0,
        seed: int = 1,
        make_law: Callable[[rd.Dynamics], Controller] | None = None,
    ) -> None:
        model = rd.create_dynamics("rnea", robot)
        kind = load("controllers", law)
        self.law = make_law(model) if make_law else kind(model, *gains(kind, model, robot.home, frequency, 1.0))
        limits = Limits.of(robot, robot.effort_limit)
        self.loop = ControlLoop(self.law, robot.effort_limit, safety, rate_limit=RATE * robot.effort_limit)
        middle = 0.5 * (np.clip(robot.lower, -1.5, 1.5) + np.clip(robot.upper, -1.5, 1.5))
        reach = np.minimum(0.5 * (np.clip(robot.upper, -1.5, 1.5) - middle), 0.6)
        self.ends = np.array([middle - 0.6 * reach, middle + 0.6 * reach])
        # A quintic's greatest speed is 15/8 of its mean; half of the limit is enough.
        self.swing = max(SWING, float((15.0 / 8.0 * np.ptp(self.ends, axis=0) / (0.5 * limits.velocity)).max()))
        true = rd.create_dynamics("rnea", robot, **(truth or {}))
        free = np.full(robot.n, np.inf)
        settings = PlantSettings(step=min(period, 0.001))
        self.plant = Plant(true, settings, q0=self.ends[0], friction=friction, velocity_limit=free)
        self.robot, self.limits, self.period = robot, limits, period
        self._steps = round(period / settings.step)
        self._random, self._noise, self._resolution = np.random.default_rng(seed), noise, resolution
        self._readings: list[State] = []
        self._delay = delay
        self.t, self.faults, self.stamp_offset = 10.0, [], 0.0
        self._sent: Array | None = None
        self._blind_at = 0.0
        self._end, self._direction = self.t, 1
        self.swings = True
        self.clear()

    def clear(self) -> None:
        """Watch the greatest values from now on."""
        self.speed, self.step, self.struck = np.zeros(self.robot.n), 0.0, 0
        self.faults = []

    def run(self, duration: float, inject: Inject | None = None, until: Callable[[], bool] = lambda: False) -> bool:
        """Run for a time [s], with a fault; True if it ended early."""
        end = self.t + duration
        while self.t < end - 0.5 * self.period:
            self._swing()
            state = self._read()
            self._answer([state] if inject is None else inject(self, state))
            self._move()
            if until():
                return True
        return False

    def _swing(self) -> None:
        """The next swing, once the last one is over."""
        if self.swings and self.t >= self._end and self.loop.fault is None and self.loop.mode == "hold":
            self._direction = 1 - self._direction if self._sent is not None else 1
            self._end = self.t + self.swing + 0.1  # by the simulation's time
            motion = rest_to_rest([self.ends[self._direction]], [self.swing])
            try:
                self.loop.follow(motion)
            except RobodynError as problem:
                self.faults.append((self.t, "refused", str(problem)))

    def _read(self) -> State:
        q, qd = self.plant.q.copy(), self.plant.qd.copy()
        if self._noise:
            q += self._noise * self._random.standard_normal(len(q))
            qd += 50.0 * self._noise * self._random.standard_normal(len(q))
        if self._resolution:
            q = self._resolution * np.round(q / self._resolution)
        self._readings.append(State(self.t + self.stamp_offset, q, qd))
        return self._readings.pop(0) if len(self._readings) > self._delay else self._readings[0]

    def _answer(self, states: list[State]) -> None:
        command = None
        now = self.t + self.stamp_offset
        for state in states:
            try:
                command = self.loop.update(state.stamp, now, state.q, state.qd)
            except RobodynError as problem:
                self.faults.append((self.t, "refused", str(problem)))
                continue
            self._note(command)
            self._blind_at = self.t
        if self.t - self._blind_at >= 0.02:
            blind = self.loop.watch(now)
            if blind is not None:
                self._note(blind)

    def _note(self, command: Any) -> None:
        if command is None:
            self._sent = None
            return
        if command.fault is not None:
            self.faults.append((self.t, command.fault, command.problem))
        if self._sent is not None:
            self.step = max(self.step, float((np.abs(command.effort - self._sent) / self.limits.effort).max()))
        self._sent = command.effort

    def _move(self) -> None:
        fault = self.loop.fault
        if self._sent is None or (fault is not None and fault.phase == "silent"):
            self.plant.reset(
                np.clip(self.plant.q, self.robot.lower, self.robot.upper), np.zeros(self.robot.n)
            )  # brakes
            self._sent = None
        else:
            before = self.plant.qd.copy()
            self.plant.apply(self._sent)
            self.plant.step(self._steps)
            at_stop = (self.plant.q <= self.robot.lower + 1e-6) | (self.plant.q >= self.robot.upper - 1e-6)
            self.struck += int((at_stop & (np.abs(before) > 0.5 * self.limits.velocity)).any())
        self.speed = np.maximum(self.speed, np.abs(self.plant.qd))
        self.t += self.period


class Scenario(NamedTuple):
    """A fault: the row of docs/safety.md, and what makes it."""

    row: str
    inject: Callable[[], Inject]
    options: Mapping[str, Any] = MappingProxyType({})
    variant: str = ""
    begin: float = BEGIN
    lasts: float = LASTS


def each(change: Callable[[Cell, State], list[State]]) -> Callable[[], Inject]:
    """The same change of every state."""
    return lambda: change


def frozen(joints: slice | int, *, velocity: str = "zero", noise: float = 0.0) -> Callable[[], Inject]:
    """Encoders that stand still, with fresh stamps."""

    def make() -> Inject:
        held: list[Array] = []

        def inject(cell: Cell, state: State) -> list[State]:
            held.extend([state.q.copy(), np.copy(state.qd)] if not held else [])
            q, qd = state.q.copy(), np.copy(state.qd)
            random = np.random.default_rng(int(cell.t * 1e4))
            q[joints] = held[0][joints] + noise * random.standard_normal(np.shape(q[joints]))
            if velocity == "zero":
                qd[joints] = 0.0
            elif velocity == "frozen":
                qd[joints] = held[1][joints]
            return [State(state.stamp, q, qd)]

        return inject

    return make


def every(count: int) -> Callable[[], Inject]:
    """Only one state in so many comes."""

    def make() -> Inject:
        left = [0]

        def inject(cell: Cell, state: State) -> list[State]:
            left[0] = (left[0] + 1) % count
            return [state] if left[0] == 1 else []

        return inject

    return make


def second_source(offset: float, late: float, times: int = 1) -> Callable[[], Inject]:
    """Another node publishes states of another arm; after a while the graph shows it."""

    def make() -> Inject:
        begin: list[float] = []

        def inject(cell: Cell, state: State) -> list[State]:
            begin.extend([] if begin else [cell.t])
            if cell.t - begin[0] >= SCAN:
                cell.loop.set_publisher_conflict("/joint_states has 2 publishers")
            other = State(state.stamp + late, state.q + offset, np.zeros_like(state.q))
            return [other] * times + [state] if late < 0.0 else [state] + [other] * times

        return inject

    return make


def moving(state: State, cell: Cell) -> Reference:
    """A reference where the arm is."""
    none = np.zeros(len(state.q))
    return Reference(np.clip(state.q, cell.robot.lower, cell.robot.upper), none, none, none)


def streamed(change: Callable[[Cell, Reference], Reference]) -> Callable[[], Inject]:
    """A stream of references takes over, and jumps."""

    def make() -> Inject:
        start: list[Reference] = []

        def inject(cell: Cell, state: State) -> list[State]:
            cell.swings = False
            start.extend([] if start else [moving(state, cell)])
            if cell.loop.fault is None and round(cell.t / cell.period) % 10 == 0:
                try:
                    cell.loop.track(change(cell, start[0]), cell.t)
                except RobodynError as problem:
                    cell.faults.append((cell.t, "refused", str(problem)))
            return [state]

        return inject

    return make


def elsewhere(cell: Cell, reference: Reference) -> Reference:
    """A reference that has jumped."""
    return reference._replace(q=np.clip(reference.q + 1.0, cell.robot.lower, cell.robot.upper))


def pushed(part: float) -> Callable[[Cell, Reference], Reference]:
    """A reference with a feed-forward effort, in effort limits."""
    return lambda cell, reference: reference._replace(effort=part * cell.limits.effort)


def flapping(period: float) -> Callable[[], Inject]:
    """A velocity that is too high, now and then."""

    def inject(cell: Cell, state: State) -> list[State]:
        fast = np.copy(state.qd)
        fast[0] = 3.0 * cell.limits.velocity[0]
        return [State(state.stamp, state.q, fast)] if cell.t % period < cell.period else [state]

    return lambda: inject


def blocked() -> Inject:
    """The arm stands, all at once: something is in its way."""
    at: list[Array] = []

    def inject(cell: Cell, state: State) -> list[State]:
        at.extend([] if at else [state.q.copy()])
        cell.plant.reset(at[0], np.zeros(len(at[0])))
        return [State(state.stamp, at[0].copy(), np.zeros(len(at[0])))]

    return inject


def returning() -> Inject:
    """States return after silence, and only what comes then is watched."""
    begin: list[float] = []

    def inject(cell: Cell, state: State) -> list[State]:
        begin.extend([] if begin else [cell.t])
        if cell.t < begin[0] + LASTS:
            return []
        if len(begin) == 1:
            begin.append(cell.t)
            cell.clear()
            cell._sent = np.zeros(cell.robot.n)  # the drives have braked, and give no effort
        return [state]

    return inject


def conflict(cell: Cell, state: State) -> list[State]:
    """The graph shows a second publisher."""
    cell.loop.set_publisher_conflict("two")
    return [state]


def spoilt(what: Callable[[State], State]) -> Callable[[], Inject]:
    """Each state is changed."""
    return lambda: lambda cell, state: [what(state)]


def jumping(cell: Cell, state: State) -> list[State]:
    """Positions jump at random."""
    random = np.random.default_rng(int(cell.t * 1e4))
    return [state._replace(q=state.q + random.uniform(0.2, 0.9, len(state.q)))]


def one_in(count: int, change: Callable[[State], State]) -> Callable[[], Inject]:
    """One state in so many is changed."""

    def make() -> Inject:
        left = [0]

        def inject(cell: Cell, state: State) -> list[State]:
            left[0] = (left[0] + 1) % count
            return [change(state) if left[0] == 0 else state]

        return inject

    return make


def broken_law(efforts: Callable[[Any], Any]) -> Callable[[], Inject]:
    """The control law gives something else."""

    def make() -> Inject:
        def inject(cell: Cell, state: State) -> list[State]:
            cell.law.spoil = efforts  # type: ignore[attr-defined]
            return [state]

        return inject

    return make


def spoilable(model: rd.Dynamics) -> Controller:
    """Computed torque that can be made to fail; it is not traced, so that it can."""
    kind = load("controllers", "computed_torque")

    class Spoilable(kind):  # type: ignore[misc, valid-type]
        spoil = None

        def compute(self, q: Any, *args: Any) -> Any:
            efforts = super().compute(q, *args)
            assert float(q[0]) == q[0]  # a symbol has no value
            return efforts if self.spoil is None else self.spoil(efforts)

    return Spoilable(model, *gains(kind, model, model.robot.home, 10.0, 1.0))


def clock(by: float) -> Callable[[], Inject]:
    """The clock of driver and controller is set, once."""

    def make() -> Inject:
        done: list[bool] = []

        def inject(cell: Cell, state: State) -> list[State]:
            if not done:
                cell.stamp_offset += by
                cell._end += by
                done.append(True)
            return [state._replace(stamp=cell.t + cell.stamp_offset)]

        return inject

    return make


STANDS, LIES, STALE = (
    "states that stand still",
    "velocities that contradict the positions",
    "state too old, or from the future",
)
RARE, JUMPS, ORDER = "states too rare for the gains", "a position jumps, and stays", "a stamp out of order"
CONFLICT = "a publisher conflict: a second publisher of states, commands or references"

SCENARIOS = (
    Scenario("no states (driver dead, cable pulled)", each(lambda cell, state: []), lasts=0.5),
    Scenario("no states for longer than the expiry", each(lambda cell, state: []), variant="2 s"),
    Scenario("no states for 200 ms", each(lambda cell, state: []), lasts=0.2),
    Scenario("states return after silence", returning, lasts=LASTS + 0.5),
    Scenario(STALE, spoilt(lambda s: s._replace(stamp=s.stamp - 0.2)), variant="0.2 s old"),
    Scenario(STALE, spoilt(lambda s: s._replace(stamp=s.stamp + 0.2)), variant="0.2 s ahead"),
    Scenario("joint missing, or there twice", spoilt(lambda s: s._replace(q=s.q[:-1]))),
    Scenario("NaN or infinity in a state", spoilt(lambda s: s._replace(q=s.q * np.nan))),
    Scenario("velocities missing, `missing_velocity: refuse`", spoilt(lambda s: s._replace(qd=None))),
    Scenario(
        "velocities missing, `missing_velocity: estimate`",
        spoilt(lambda s: s._replace(qd=None)),
        {"safety": SafetySettings(missing_velocity="estimate")},
    ),
    Scenario("a position jumps, and back", one_in(10, lambda s: s._replace(q=s.q + 0.3))),
    Scenario("positions keep jumping", each(jumping)),
    Scenario(JUMPS, spoilt(lambda s: s._replace(q=s.q + 0.3))),
    Scenario(ORDER, one_in(10, lambda s: s._replace(stamp=s.stamp - 0.02)), variant="20 ms, one in 10"),
    Scenario(ORDER, one_in(10, lambda s: s._replace(stamp=s.stamp - 0.002 - 1e-9)), variant="1 ns, one in 10"),
    Scenario("stamps stay ahead of the clock", spoilt(lambda s: s._replace(stamp=s.stamp + 0.06))),
    Scenario("the clock is set back", clock(-600.0)),
    Scenario("a second source of states", second_source(0.3, -0.001), variant="0.3 away"),
    Scenario("a second source of states", second_source(0.05, 0.0005, 3), variant="0.05 away, 3 times as often"),
    Scenario(STANDS, frozen(slice(None)), variant="all"),
    Scenario(STANDS, frozen(0), variant="the first"),
    Scenario(STANDS, frozen(-1), variant="the last"),
    Scenario(STANDS, frozen(-1, noise=2e-4), variant="the last, with noise"),
    Scenario(LIES, spoilt(lambda s: s._replace(qd=-np.asarray(s.qd))), variant="the sign"),
    Scenario(LIES, frozen(slice(None), velocity="live"), variant="positions stand"),
    Scenario(LIES, spoilt(lambda s: s._replace(qd=0.0 * np.asarray(s.qd))), variant="velocities are zero"),
    Scenario(LIES, spoilt(lambda s: s._replace(qd=np.rad2deg(s.qd))), variant="in degrees"),
    Scenario(RARE, every(45), {"frequency": 12.0}, "11 Hz, 12 rad/s"),
    Scenario(RARE, every(25), {"frequency": 40.0}, "20 Hz, 40 rad/s"),
    Scenario("states rarer than `state_timeout`", every(75), variant="one in 0.15 s"),
    Scenario("a state now and then", every(500), variant="one a second"),
    Scenario(CONFLICT, each(conflict)),
    Scenario("the model or the law raises, or returns garbage", broken_law(lambda e: 1 / 0), {"make_law": spoilable}),
    Scenario(
        "a law or model that fails from the first state on",
        broken_law(lambda e: 1 / 0),
        {"make_law": spoilable},
        begin=0.0,
    ),
    Scenario("a joint is too fast", flapping(1e-9), variant="or says so"),
    Scenario("a fault that comes and goes", flapping(0.05), variant="20 times a second"),
    Scenario("a streamed reference that jumps", streamed(elsewhere), variant="by 1 rad or m"),
    Scenario("a feed-forward effort beyond the limit", streamed(pushed(2.0)), variant="twice the limit"),
    Scenario("an arm that does not follow", streamed(pushed(1.0)), variant="pushed with the limit"),
    Scenario("the arm strikes something", blocked, lasts=0.5),
)
"""What can be injected between the states of the arm and its loop, in the order of the table."""


class Row(NamedTuple):
    """What became of a fault."""

    fault: str
    variant: str
    answer: str  # the first reaction, or what was refused
    detected: float  # [s]; NaN if never
    speed: float  # in velocity limits
    step: float  # in effort limits
    struck: int  # times that a stop was struck at more than half the velocity limit
    back: str  # way back
    after: float  # [s] after the end of the fault; NaN if never


def measure(scenario: Scenario, robot: Robot, **options: Any) -> Row:
    """Inject a fault into an arm that swings."""
    cell = Cell(robot, **{**options, **scenario.options})
    cell.run(scenario.begin)
    assert not cell.faults, cell.faults[0]
    cell.clear()
    begin = cell.t
    cell.run(scenario.lasts, scenario.inject())
    end, answer, detected = cell.t, "none needed", float("nan")
    if cell.faults:
        detected = cell.faults[0][0] - begin
        reacted = [kind for _, kind, _ in cell.faults if kind != "refused"]
        answer = reacted[0] if reacted else "refused"
    cell.loop.set_publisher_conflict("")
    if hasattr(cell.law, "spoil"):
        cell.law.spoil = None
    cell.swings = False

    def in_order() -> bool:
        return cell.loop.fault is None and cell._sent is not None and cell.loop.mode in ("hold", "follow")

    back = "by itself"
    if not cell.run(AFTER, until=in_order):
        back = "acknowledged"
        cell.loop.hold(cell.t + cell.stamp_offset)
        cell.run(AFTER, until=in_order)
    after = cell.t - end if in_order() else float("nan")
    cell.swings = True
    cell.run(2.0 * cell.swing)
    speed = float((cell.speed / cell.limits.velocity).max())
    return Row(scenario.row, scenario.variant, answer, detected, speed, cell.step, cell.struck, back, after)


def default_arms() -> list[Path]:
    """The PRR arm, and a UR5 and a Panda where they are installed."""
    found = urdfs()
    return [find("urdf/prr.urdf"), *(found[name] for name in ("ur5_robot", "panda") if name in found)]


HEAD = ("fault", "answer", "after", "speed", "step", "way back")


def cells(row: Row) -> tuple[str, ...]:
    """A row as text, in the order of ``HEAD``."""
    fault = f"{row.fault}: {row.variant}" if row.variant else row.fault
    after = "" if np.isnan(row.detected) else f"{1e3 * row.detected:.0f} ms"
    back = "never" if np.isnan(row.after) else f"{row.back}, {row.after:.2f} s"
    if row.struck:
        back += f"; {row.struck} stops struck"
    return fault, row.answer, after, f"{row.speed:.2f}", f"{row.step:.3f}", back


NUMBERS = ("after", "speed", "step")
"""Columns of numbers."""


def node_rows() -> list[Row]:
    """The faults around the loop, of the running controller.

    Raises:
        ModuleNotFoundError: ROS 2 is not installed.
    """
    import rclpy  # noqa: F401
    from node_faults import outcomes

    return [Row(scenario.row, scenario.variant, *outcome) for scenario, outcome in outcomes()]


def markdown(title: str, rows: Sequence[Row]) -> str:
    """A table under a heading."""
    lines = [f"## {title}", "", f"| {' | '.join(HEAD)} |", "|---" * len(HEAD) + "|"]
    return "\n".join([*lines, *(f"| {' | '.join(cells(row))} |" for row in rows), ""])


def text(title: str, rows: Sequence[Row]) -> Table:
    """A table for the terminal."""
    table = Table(title=escape(title), show_lines=False, pad_edge=False)
    for name in HEAD:
        table.add_column(name, justify="right" if name in NUMBERS else "left")
    for row in rows:
        table.add_row(*map(escape, cells(row)))
    return table


PAGE = """# What each fault costs

`make faults BENCH="--page docs/reference/faults.md"` writes this page. It injects the faults of [the safety
contract](../safety.md) while a simulated arm swings: between the control loop and three arms, and then into the
running controller of the PRR arm. Nothing has friction, the model knows the arm, and the drives have no limit of
speed of their own. They brake once no commands come; in the running node after 0.15 s, for that has to be longer than
`state_timeout`: a brake that closes while the model stops the arm makes it start again.

- *after*: from the first wrong state or message to the answer, or to the first one that is refused or counted.
- *speed*: the greatest of any joint from the fault to the end of the episode, in velocity limits.
- *step*: the greatest change of an effort from one command to the next, in effort limits; the rate limit allows 0.2
  in the period of the loops, 2 ms, and 0.4 in that of the running controller, 4 ms; more after a time without commands.
  In the running node it counts from zero where the drives had braked, so the first command of a controller that was
  started, activated or enabled is a step to what carries the arm (`ramp_time` is for that).
- *way back*: what it takes, and how long after the end of the fault.

A joint that is pushed with its whole effort limit may pass its velocity limit within one period: a finger of the
Panda, with 100 N on 15 g, does so by six and a half times. The tables of the loop are the same each time. In that of
the running controller, what only `/diagnostics` shows is exact to 10 ms, and starts of processes and plugins take the
time of the machine. There every fault begins while the arm accelerates. Where no state can be used any more, it goes on
accelerating for `state_timeout`, under the last command, and is stopped then.

"""
"""Head of the page of the documentation."""

NODE = "prr, through the running node"
"""Title of the table of faults around the loop."""


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--arm", type=Path, action="append", help="path of a URDF; may be given several times")
    parser.add_argument("--law", default="computed_torque", help="control law")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--markdown", action="store_true", help="print Markdown")
    parser.add_argument("--page", type=Path, help="write the page of the documentation, and print nothing")
    given = parser.parse_args()
    console = Console(width=min(Console().width, 100) if Console().is_terminal else 100)
    found: dict[str, list[Row]] = {}

    def add(title: str, rows: list[Row]) -> None:
        found[title] = rows
        if given.markdown:
            print(markdown(title, rows), flush=True)
        elif not given.json and not given.page:
            console.print(text(title, rows))

    for path in given.arm or default_arms():
        robot = rd.load_robot(path)
        rows = [measure(scenario, robot, law=given.law) for scenario in SCENARIOS]
        add(f"{robot.name} under {given.law}", rows)
    try:
        add(NODE, node_rows())
    except ModuleNotFoundError as problem:
        print(f"no faults of the running node: {problem}", file=sys.stderr)
    if given.page:
        given.page.write_text(PAGE + "\n".join(markdown(*each) for each in found.items()), encoding="utf-8")
    if given.json:
        print(json.dumps({title: [row._asdict() for row in rows] for title, rows in found.items()}, indent=1))


if __name__ == "__main__":
    main()
