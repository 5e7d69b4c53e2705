# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Faults of states and drives, injected into the running controller over DDS: some of those that ``make faults`` has.

    make faults-node
    make faults-node BENCH=--json

The controller is a process, with its graph, parameters and plugins. This process is the drives (:mod:`drives`) of a PRR
that swings, with states at 250 Hz. Simulated time goes as fast as the wall clock, because the node watches, and
reports, by a steady clock. What only /diagnostics shows is exact to 10 ms. Faults around the loop (its graph,
parameters, files and plugins) are injected by test/test_nodes_faults.py.
"""

import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from common import options, report
from drives import COMMAND_TIMEOUT, STATE_TIMEOUT, Drives, running
from fault_cell import State
from fault_kinds import FAULTS
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from robodyn_ros.control.faults.table import FAULTS as KINDS

BEGIN, LASTS, AFTER = 0.5, 1.0, 10.0
"""How long into a swing a fault begins, how long it lasts, and how long the way back may take [s]."""

PERIOD = 0.004
"""Time between two states [s]."""

ANSWER = 0.2
"""How long a command is waited for before the arm moves on without: a busy machine is not what is looked for [s]."""

SWING = 1.5
"""Time from one end of the swing to the other [s]."""

ENDS = ([0.4, -0.5, -0.4], [1.1, 0.5, 0.5])
"""Ends of the swing."""

LEAST = 4
"""How many events are handled between two states, however late this process is."""

JOINT = 1
"""Seed by which the joint is drawn that a fault has."""


class Cell(Drives):
    """The drives of an arm that swings.

    Attributes:
        change: gives the messages that are sent instead of a state; None while all is well.
        swings: how many swings were sent.
        said: what the controller is doing, by its latest diagnostics.
        seen: when the controller noticed something since :meth:`watch` [s], and what.
        top: greatest speed since then, in velocity limits; ``jump``: greatest step of an effort, in effort limits.
        struck: how often a joint met its stop at more than half its velocity limit since then.
    """

    step_time = PERIOD

    def __init__(self, node: Any, executor: Any, alive: Callable[[], bool]) -> None:
        self.change: Callable[[], list[Any]] | None = None
        self.said, self.reports, self.swings, self._end = "", 0, 0, 0.0
        self._found: dict[str, int] = {}  # words of a fault → how often the controller has counted it
        self._due, self._sent = time.monotonic(), False
        super().__init__(node, executor, alive)
        self._trajectories = node.create_publisher(JointTrajectory, "controller/joint_trajectory", 10)
        self.watch()

    def watch(self) -> None:
        """Watch the greatest values, and what the controller notices, from now on."""
        self.seen: list[tuple[float, str]] = []
        self.top, self.jump, self.struck = 0.0, 0.0, 0

    @property
    def is_braked(self) -> bool:
        """Whether no command has come for so long that the drives have braked."""
        return self.now - self._answered > COMMAND_TIMEOUT

    @property
    def in_order(self) -> bool:
        """Whether the arm is under control, and no fault lasts."""
        return self.said in ("hold", "follow", "track") and not self.is_braked

    def until(self, condition: Callable[[], bool], limit: float) -> bool:
        """The same, by simulated time where it goes more slowly, but for three times as long at most."""
        end = self.now + limit
        return super().until(lambda: condition() or self.now > end, 3.0 * limit) and condition()

    def go_on(self, duration: float) -> None:
        """Go on for a time [s]."""
        end = self.now + duration
        while self.now < end - PERIOD / 2:
            self.step()

    def send(self) -> None:
        """Send the state, or what a fault makes of it, and the next swing once the last one is over."""
        if self.said == "hold" and self.now >= self._end:
            self.swings, self._end = self.swings + 1, self.now + SWING + 0.1
            point = JointTrajectoryPoint(positions=ENDS[self.swings % 2], velocities=[0.0] * 3, accelerations=[0.0] * 3)
            point.time_from_start.sec, point.time_from_start.nanosec = 1, round((SWING - 1.0) * 1e9)
            self._trajectories.publish(JointTrajectory(joint_names=self.names, points=[point]))
        sent = self.change() if self.change is not None else [self.state(effort=self._effort.tolist())]
        for message in sent:
            self.states_topic.publish(message)
        self._sent = bool(sent)

    def wait_for_answer(self) -> None:
        """Wait for the command where one is to be expected, and then for the next state's time."""
        if self._sent and self.now - self._answered < STATE_TIMEOUT:
            self.spin_until_answered(ANSWER)
        self._due = max(self._due + PERIOD, time.monotonic() - PERIOD)
        for _ in range(LEAST):
            self._executor.spin_once(timeout_sec=0.0)
        while (left := self._due - time.monotonic()) > 0.0:
            self._executor.spin_once(timeout_sec=left)

    def _move(self, braked: bool) -> None:
        super()._move(braked)
        self.top = max(self.top, float((np.abs(self.qd) / self.robot.velocity_limit).max()))

    def _expect(self, what: str) -> None:
        self.struck += what.startswith("drives")

    def _on_command(self, message: Any) -> None:
        before = np.zeros(3) if self.is_braked else self._effort
        super()._on_command(message)
        self.jump = max(self.jump, float((np.abs(self._effort - before) / self.robot.effort_limit).max()))

    def _on_diagnostics(self, message: Any) -> None:
        super()._on_diagnostics(message)
        for status in message.status:
            if status.name == "/controller":
                self.reports += 1
                self.said = status.message.split("; ")[0]
                kinds = {fault.words: name for name, fault in KINDS.items()}
                for item in status.values:
                    if item.key in kinds or item.key.endswith("refused"):
                        if int(item.value) > self._found.get(item.key, 0):
                            self.seen.append((self.now, kinds.get(item.key, "refused")))
                        self._found[item.key] = int(item.value)


Begin = Callable[[Cell], None]
"""Begins a fault."""


def of_states(fault: Any) -> Begin:
    """States are changed by a fault of :mod:`fault_kinds`."""

    def begin(cell: Cell) -> None:
        like: Any = SimpleNamespace(robot=cell.robot, setup=SimpleNamespace(period=PERIOD), t=cell.now)
        change = fault.make(like, np.random.default_rng(JOINT))

        def changed() -> list[Any]:
            like.t = cell.now
            states = change(like, State(cell.now, cell.q.copy(), cell.qd.copy()))
            return [cell.state(position=one.q.tolist(), velocity=one.qd.tolist()) for one in states]

        cell.change = changed

    return begin


def of_a_drive(part: float) -> Begin:
    """The shoulder's drive gives a part of its effort."""

    def begin(cell: Cell) -> None:
        cell.gain[1] = part

    return begin


def campaign() -> dict[str, Begin]:
    """Faults of states and drives, as the campaigns against the loop have them."""
    names = ("position jumps by 0.3", "velocities: sign", "velocities: zero", "velocities: three times")
    names += ("velocities: swapped", "stuck, live velocity: one", "encoder slips, 0.15 rad/s", "position 1e6")
    names += ("NaN", "positions in degrees", "no states")
    found = {fault.name: fault for fault in FAULTS}
    drives = {"effort: sign of one": -1.0, "drive is dead": 0.0, "half gain": 0.5}
    return {name: of_states(found[name]) for name in names} | {name: of_a_drive(part) for name, part in drives.items()}


class Outcome(NamedTuple):
    """What became of a fault."""

    reaction: str
    detected: float  # after [s]
    speed: float  # greatest, in velocity limits
    step: float  # greatest, of the effort from one command to the next, in effort limits
    struck: int  # how often a joint met its stop
    back: str  # how the arm came back
    after: float  # the end of the fault [s]


def inject(cell: Cell, begin: Begin) -> Outcome:
    """Inject a fault into an arm that swings."""
    cell.call(Trigger, "hold")
    if not cell.until(lambda: cell.in_order, AFTER):
        raise SystemExit(f"the arm is not in order: {cell.said!r}")
    swings = cell.swings
    cell.until(lambda: cell.swings > max(swings, 1) and cell.swings % 2 == 1 and cell.said == "follow", AFTER)
    cell.go_on(BEGIN)  # so that every fault finds the arm in the same motion
    cell.expected = True
    cell.watch()
    begun = cell.now
    begin(cell)
    cell.go_on(LASTS)
    end, seen = cell.now, cell.seen[:]
    cell.change, cell.gain[:] = None, 1.0
    reports, back = cell.reports + 2, "by itself"  # the next report may have been on its way
    if not cell.until(lambda: cell.reports >= reports and cell.in_order, AFTER):
        back = "acknowledged"
        cell.call(Trigger, "hold")
        cell.until(lambda: cell.in_order, AFTER)
    after = cell.now - end if cell.in_order else np.nan
    cell.go_on(0.5 * SWING)
    reactions = [what for _, what in seen if what != "refused"] + [what for _, what in seen]
    reaction, when = (reactions[0], seen[0][0]) if seen else ("none needed", np.nan)
    return Outcome(reaction, when - begun, cell.top, cell.jump, cell.struck, back, after)


def outcomes(names: Iterable[str]) -> Iterator[tuple[str, Outcome]]:
    """Inject some faults of the campaign, one after the other, into a controller that runs."""
    faults = campaign()
    with tempfile.TemporaryDirectory() as folder, running(Cell, Path(folder), diagnostics_rate=100.0) as cell:
        cell.until(lambda: cell.said == "hold", 30.0)
        for name in names:
            yield name, inject(cell, faults[name])


def main() -> None:
    """Inject the faults, and print what became of them."""
    given = options(__doc__).parse_args()
    rows = []
    for name, found in outcomes(campaign()):
        rows.append({"fault": name, **found._asdict()})
        print(f"{name}: {found}", file=sys.stderr, flush=True)
    title = "Times in [s], speeds in velocity limits, steps of the effort from one command to the next in effort limits"
    report({title: rows}, given.json)


if __name__ == "__main__":
    main()
