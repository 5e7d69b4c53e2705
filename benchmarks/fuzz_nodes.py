"""The running controller under a storm of messages, parameters, switches and life cycles, with an arm that it moves.

    make fuzz-nodes                              100,000 messages, 3,000 parameter sets, 200 switches, 1,000 life cycles
    make fuzz-nodes BENCH="--scale 0.01"         a hundredth of that
    make fuzz-nodes BENCH="--time real"          in real time alone; both ways unless told otherwise
    make fuzz-nodes BENCH="--seed 2 --json"      other messages; the counts for machines
    make fuzz-nodes BENCH="--set ramp_time=0.5"  with another parameter of the controller

This process is the drives: it integrates the PRR arm by the library's forward dynamics, records every command, and
brakes when none comes. In lockstep, a state is sent, its answer is waited for, and then the arm moves; simulated time
stands still meanwhile. In real time, states go out by the system's clock, whatever comes back. All that is counted
ought to be 0. A gap or a stop is explained if /diagnostics shows a fault around it; what led to one that is not is
written into the folder of the log. In real time a gap may be this machine's, and commands that this process reads late
seem to be closer to each other than they are, and so beyond the rate: the load is printed. Lockstep has neither.
"""

from __future__ import annotations

import argparse
import json
import os
import struct
import sys
import tempfile
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml

import robodyn_ros as rd
from robodyn_ros.cli.processes import ProcessGroup, isolated

ROOT = Path(__file__).parents[1]
STEP = 0.002
"""Time between two states [s]."""

REAL_STEP = 0.004
"""The same in real time, which leaves this process time for the storm [s]."""

LEAST = 4
"""How many events are handled between two states in real time, however late this process is."""

STATE_TIMEOUT = 0.1
"""Parameter of the controller; commands may be missing for so long without a fault [s]."""

RATE = 100.0
"""The controller's default effort rate limit, in effort limits a second [1/s]."""

PATIENCE = 0.5
"""How long the answer to a state is waited for; a tenth of it while none comes [s]."""

EXPLAINED = 2.0
"""Time around a fault in /diagnostics within which it explains a gap or a stop [s]."""

HANG = 20.0
"""Longest silence of /diagnostics, and longest wait for a service [s]."""

COUNTS = (
    *("crashes", "hangs", "commands that are not finite", "commands beyond the limit", "commands beyond the rate"),
    *("drives into a stop without a fault", "gaps without a fault"),
)

EXTREMES = (0.0, -0.0, 1e-320, 1.0, -1.0, 1e3, 1e18, 1e154, -1e154, 1.7e308, -1.7e308, float("inf"), float("nan"))

TRACE = 2000
"""How many states and messages before an event are kept for its file."""

FIXED = ("effort_limits", "effort_rate_limits", "velocity_limits", "state_timeout", "diagnostics_rate", "use_sim_time")
"""Parameters by which the commands are judged; they stay."""


@dataclass
class Event:
    """A gap or a stop that a fault may explain."""

    what: str
    when: float
    history: list[str]
    explained: bool


class Drives:
    """The arm, moved by the commands; sends its states, and records what is wrong with what comes back."""

    def __init__(
        self,
        node: Any,
        executor: Any,
        alive: Callable[[], bool],
        folder: Path | None = None,
        *,
        real_time: bool = False,
    ) -> None:
        from diagnostic_msgs.msg import DiagnosticArray
        from rosgraph_msgs.msg import Clock
        from sensor_msgs.msg import JointState

        self.counts: Counter[str] = Counter()
        self.commands = self.states = 0
        self.expected = False  # whether the controller is active, and commands have to come
        self._node, self._executor, self._alive = node, executor, alive
        robot = rd.load_robot(ROOT / "urdf" / "prr.urdf")
        self.names, self._arm = list(robot.joint_names), rd.create_dynamics("rnea", robot)
        joints = robot.joints
        self._limits, self._speeds = (np.array([getattr(j, name) for j in joints]) for name in ("effort", "velocity"))
        self._lower, self._upper = (np.array([getattr(j, name) for j in joints]) for name in ("lower", "upper"))
        self.q, self.qd = np.array([0.7, 0.3, -0.4]), np.zeros(3)
        self._real_time, self._step = real_time, REAL_STEP if real_time else STEP
        self._time = time.time() if real_time else 1000.0
        self._effort, self._answered, self._due = np.zeros(3), self._time, time.monotonic()
        self._last: tuple[float, float, np.ndarray[Any, Any]] | None = None  # stamp, receipt, effort
        self._gap = False
        self._fault, self._reported = -np.inf, time.monotonic()
        self.states_topic = node.create_publisher(JointState, "joint_states", 10)
        self._clock = node.create_publisher(Clock, "/clock", 10)
        node.create_subscription(JointState, "controller/joint_commands", self._on_command, 100)
        node.create_subscription(DiagnosticArray, "/diagnostics", self._on_diagnostics, 100)
        self._pending: list[Event] = []  # that a fault has still time to explain
        self.history: deque[str] = deque(maxlen=TRACE)
        self._folder, self._told = folder, 0

    def state(self, **changes: Any) -> Any:
        """The present state as a message."""
        from sensor_msgs.msg import JointState

        fields = {"name": self.names, "position": self.q.tolist(), "velocity": self.qd.tolist(), **changes}
        message = JointState(**fields)
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(round(self._time * 1e9), 10**9)
        return message

    def step(self) -> None:
        """Send a state, wait for the answer or for the next state's time, and move the arm."""
        from rosgraph_msgs.msg import Clock

        before = self._time
        if self._real_time:
            self._time = time.time()
        else:
            self._time += self._step
            clock = Clock()
            clock.clock.sec, clock.clock.nanosec = divmod(round(self._time * 1e9), 10**9)
            self._clock.publish(clock)
        self.states_topic.publish(self.state())
        self.states += 1
        missing = self._time - self._answered
        if self._real_time:
            self._due = max(self._due + self._step, time.monotonic() - self._step)
            for _ in range(LEAST):
                self._executor.spin_once(timeout_sec=0.0)
            while (left := self._due - time.monotonic()) > 0.0:
                self._executor.spin_once(timeout_sec=left)
        else:
            end = time.monotonic() + (PATIENCE if self.expected and missing < 2 * self._step else PATIENCE / 10)
            while self._answered < self._time - self._step / 2 and time.monotonic() < end:
                self._executor.spin_once(timeout_sec=0.01)
        missing = self._time - self._answered
        if not self.expected:
            self._gap = False
        elif missing > STATE_TIMEOUT and not self._gap:
            self._gap = True
            self._expect("gaps without a fault")
        elif missing < STATE_TIMEOUT / 2:
            self._gap = False
        for _ in range(max(1, round((self._time - before) / STEP)) if self._time - before < STATE_TIMEOUT else 1):
            self._move(braked=missing > STATE_TIMEOUT)
        self._judge()

    def _expect(self, what: str) -> None:
        """Something has happened that a fault has to explain."""
        now = time.monotonic()
        self._pending.append(Event(what, now, list(self.history), explained=now - self._fault <= EXPLAINED))

    def _move(self, braked: bool) -> None:
        if braked:
            self.qd[:] = 0.0
            return
        self.history.append(f"{self._time:.3f} q {self.q} qd {self.qd} effort {self._effort}")
        self.qd += STEP * self._arm.forward(self.q, self.qd, self._effort)
        self.q += STEP * self.qd
        beyond = (self.q <= self._lower) | (self.q >= self._upper)
        if beyond.any():
            if (np.abs(self.qd[beyond]) > 0.5 * self._speeds[beyond]).any():
                self._expect("drives into a stop without a fault")
            self.q = np.clip(self.q, self._lower, self._upper)
            self.qd[beyond] = 0.0

    def _judge(self) -> None:
        now = time.monotonic()
        while self._pending and now - self._pending[0].when > EXPLAINED:
            event = self._pending.pop(0)
            if not event.explained:
                self.counts[event.what] += 1
                self._tell(event)
        if not self._alive():
            self.counts["crashes"] += 1
            raise SystemExit("the controller has ended")
        if now - self._reported > HANG:
            self.counts["hangs"] += 1
            self._reported = now

    def _tell(self, event: Event) -> None:
        """Write what led to an event into a file."""
        if self._folder is not None:
            self._told += 1
            (self._folder / f"event-{self._told}.txt").write_text("\n".join([event.what, *event.history]))

    def settle(self) -> None:
        """Go on until a fault can explain nothing of what has been."""
        end = time.monotonic() + 2.0 * EXPLAINED
        while time.monotonic() < end:
            self.step()

    def _on_command(self, message: Any) -> None:
        self.commands += 1
        effort = np.array(message.effort)
        when = message.header.stamp.sec + message.header.stamp.nanosec * 1e-9
        if list(message.name) != self.names or effort.shape != (3,) or not np.isfinite(effort).all():
            self.counts["commands that are not finite"] += 1
            return
        if (np.abs(effort) > self._limits * (1 + 1e-9)).any():
            self._count("commands beyond the limit", effort)
        now = time.monotonic()
        if self._last is not None and when - self._last[0] < STATE_TIMEOUT:
            # Stamps are those of the states; in real time, reactions without states have that of their moment.
            elapsed = max(when - self._last[0], STEP, now - self._last[1] if self._real_time else 0.0)
            most = RATE * self._limits * elapsed * (1 + 1e-6)
            if (np.abs(effort - self._last[2]) > most).any():
                self._count("commands beyond the rate", effort)
        self._last, self._effort, self._answered = (when, now, effort), effort, max(self._answered, when)

    def _count(self, what: str, effort: Any) -> None:
        """Count a command that breaks a limit; the first ones with what led there."""
        self.counts[what] += 1
        if self.counts[what] <= 10:
            history = [*self.history, f"{effort} after {self._last}"]
            self._tell(Event(what, time.monotonic(), history, explained=False))

    def _on_diagnostics(self, message: Any) -> None:
        for status in message.status:
            if status.name == "/controller":
                self._reported = time.monotonic()
                if status.level != b"\x00":
                    self._fault = time.monotonic()
                    for event in self._pending:
                        event.explained = True


class Storm:
    """Sends what nobody ought to."""

    def __init__(self, node: Any, executor: Any, drives: Drives, seed: int) -> None:
        from geometry_msgs.msg import PoseStamped
        from rcl_interfaces.srv import DescribeParameters, GetParameters, ListParameters, SetParameters
        from rclpy.qos import DurabilityPolicy, QoSProfile
        from sensor_msgs.msg import JointState
        from std_msgs.msg import String
        from std_srvs.srv import SetBool, Trigger
        from trajectory_msgs.msg import JointTrajectory

        from robodyn_ros.nodes.common.qos import LATCHED

        self.rng = np.random.default_rng(seed)
        self._node, self._executor, self._drives = node, executor, drives
        latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL, reliability=LATCHED.reliability)
        self._topics: list[tuple[Any, Callable[[], Any]]] = [
            (drives.states_topic, self._state),
            (node.create_publisher(JointState, "controller/reference", 10), self._reference),
            (node.create_publisher(JointTrajectory, "controller/joint_trajectory", 10), self._trajectory),
            (node.create_publisher(PoseStamped, "controller/target_pose", 10), self._pose),
            (node.create_publisher(String, "robot_description", latched), self._description),
        ]
        self._kinds = {
            "set_parameters": SetParameters, "get_parameters": GetParameters, "list_parameters": ListParameters,
            "describe_parameters": DescribeParameters, "enable": SetBool, "hold": Trigger,
        }  # fmt: skip
        self._clients: dict[str, Any] = {}

    def messages(self, count: int) -> None:
        """Messages over every subscription, five between two states: raw bytes, extremes, and valid but absurd ones."""
        from rclpy.serialization import serialize_message

        for number in range(count):
            publisher, make = self._topics[self.rng.integers(len(self._topics))]
            message = make()
            if self.rng.random() < 0.4:
                message = self._spoilt(bytes(serialize_message(message)))
            self._drives.history.append(f"{publisher.topic} {message}")
            publisher.publish(message)
            if number % 5 == 4:
                self._drives.step()

    def parameters(self, count: int) -> None:
        """Parameters of every name, of right and wrong types; the first values come back from time to time."""
        from rcl_interfaces.msg import Parameter, ParameterValue

        names = [name for name in self.call("list_parameters").result.names if not name.startswith(FIXED)]
        names = [name for name in names if name not in ("controller", "dynamics")]
        first = [
            Parameter(name=name, value=value)
            for name, value in zip(names, self.call("get_parameters", names=names).values, strict=True)
        ]
        ranges = self.call("describe_parameters", names=names).descriptors
        for number in range(count):
            which = int(self.rng.integers(len(names)))
            bounds = [*ranges[which].floating_point_range]
            if bounds and self.rng.random() < 0.5:
                value = self.rng.uniform(bounds[0].from_value, bounds[0].to_value)
                given = ParameterValue(type=3, double_value=float(value))
            else:
                given = self._value()
            self.call("set_parameters", parameters=[Parameter(name=names[which], value=given)])
            if number % 20 == 19:
                self.call("set_parameters", parameters=first)
            self._drives.step()
        self.call("set_parameters", parameters=first)

    def switches(self, count: int) -> None:
        """Other control laws and models, right and wrong, and the answer is not waited for."""
        from rcl_interfaces.msg import Parameter, ParameterValue

        from robodyn_ros.plugins import available

        laws = [name for name in available("controllers") if name != "mpc"]
        for _ in range(count):
            kind, names = [("controller", laws), ("dynamics", ["rnea", "lagrangian"])][self.rng.integers(2)]
            name = str(self.rng.choice([*names, "no such plugin"]))
            value = ParameterValue(type=4, string_value=name)
            self.call("set_parameters", parameters=[Parameter(name=kind, value=value)])
            for _ in range(50):
                self._drives.step()

    def life_cycles(self, count: int) -> None:
        """Deactivate, clean up, configure, activate; enable and hold between them."""
        from lifecycle_msgs.msg import Transition
        from lifecycle_msgs.srv import ChangeState

        self._kinds["change_state"] = ChangeState
        way = (Transition.TRANSITION_DEACTIVATE, Transition.TRANSITION_CLEANUP)
        back = (Transition.TRANSITION_CONFIGURE, Transition.TRANSITION_ACTIVATE)
        for number in range(count):
            self._drives.expected = False
            for identity in (*way, *back):
                self.call("change_state", transition=Transition(id=identity))
                self._drives.step()
            for _ in range(20):
                self._drives.step()
            if number % 10 == 9:
                self.call("enable", data=bool(self.rng.integers(2)))
                self.call("hold")
                self.call("enable", data=True)
            self._drives.expected = True
            for _ in range(10):
                self._drives.step()

    def call(self, name: str, **fields: Any) -> Any:
        """Call a service of the controller while the arm goes on."""
        kind = self._kinds[name]
        path = f"controller/{'' if name in dir(self._node) or '_' in name else '~/'}{name}".replace("~/", "")
        client = self._clients.get(name)
        if client is None:
            client = self._clients[name] = self._node.create_client(kind, path)
        end = time.monotonic() + HANG
        while not client.service_is_ready() and time.monotonic() < end:
            self._executor.spin_once(timeout_sec=0.05)
        self._drives.history.append(f"{path} {fields}")
        future = client.call_async(kind.Request(**fields))
        while not future.done() and time.monotonic() < end:
            self._drives.step()
        if not future.done():
            self._drives.counts["hangs"] += 1
            raise SystemExit(f"no answer of {path}")
        return future.result()

    def _numbers(self, count: int) -> list[float]:
        kind = self.rng.integers(3)
        if kind == 0:
            return [float(value) for value in self.rng.choice(EXTREMES, count)]
        return (self.rng.normal(size=count) * (1.0 if kind == 1 else 10.0 ** self.rng.integers(-9, 12))).tolist()

    def _joints(self) -> list[str]:
        names = [*self._drives.names, "gripper", "", "[/red]", "x" * 300]
        return (
            self._drives.names
            if self.rng.random() < 0.7
            else self.rng.permutation(names)[: self.rng.integers(8)].tolist()
        )

    def _state(self) -> Any:
        names = self._joints()
        kind = self.rng.integers(3)
        if kind == 0:  # where the arm is, but late, early or from nowhen
            message = self._drives.state()
            message.header.stamp.sec += int(self.rng.choice([-1000, -1, 0, 1, 10**6]))
            return message
        velocity = self._numbers(len(names)) if kind == 1 else []
        return self._drives.state(name=names, position=self._numbers(len(names)), velocity=velocity)

    def _reference(self) -> Any:
        from sensor_msgs.msg import JointState

        names = self._joints()
        fields = {field: self._numbers(len(names)) for field in ("position", "velocity", "effort")}
        if self.rng.random() < 0.3:
            fields["position"] = (self._drives.q + self.rng.normal(size=3)).tolist()
            names = self._drives.names
        return JointState(name=names, **fields)

    def _trajectory(self) -> Any:
        from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

        names, points, last = self._joints(), [], 0.0
        for _ in range(self.rng.integers(6)):
            last += float(self.rng.choice([0.0, 1e-9, 0.01, 0.5, 3.0]))
            point = JointTrajectoryPoint()
            for field in ("positions", "velocities", "accelerations", "effort")[: self.rng.integers(1, 5)]:
                setattr(point, field, self._numbers(len(names)))
            if self.rng.random() < 0.5:
                point.positions = (self._drives.q + 0.3 * self.rng.normal(size=3)).tolist()
            point.time_from_start.sec, point.time_from_start.nanosec = int(last), int(last % 1 * 1e9)
            points.append(point)
        return JointTrajectory(joint_names=names, points=points)

    def _pose(self) -> Any:
        from geometry_msgs.msg import PoseStamped

        message = PoseStamped()
        message.header.frame_id = str(self.rng.choice(["base", "", "nowhere", "tool"]))
        p, o = message.pose.position, message.pose.orientation
        p.x, p.y, p.z, o.x, o.y, o.z, o.w = self._numbers(7)
        if self.rng.random() < 0.5:
            o.x, o.y, o.z, o.w = 0.0, 0.0, 0.0, 1.0
        return message

    def _description(self) -> Any:
        from std_msgs.msg import String

        return String(data=str(self.rng.choice(["", "/dev/zero", "<robot/>", "<" * 1000, "panda_description"])))

    def _value(self) -> Any:
        from rcl_interfaces.msg import ParameterValue

        number = float(self.rng.choice(EXTREMES))
        made = [
            ParameterValue(type=3, double_value=number),
            ParameterValue(type=2, integer_value=int(self.rng.choice([0, -1, 1, 2**62, -(2**62)]))),
            ParameterValue(type=1, bool_value=True),
            ParameterValue(type=4, string_value=str(self.rng.choice(["", "nan", "x" * 10_000, "/dev/zero", "[/red]"]))),
            ParameterValue(type=8, double_array_value=self._numbers(int(self.rng.integers(5)))),
            ParameterValue(type=0),
        ]
        return made[self.rng.integers(len(made))]

    def _spoilt(self, data: bytes) -> bytes:
        rng, spoilt = self.rng, bytearray(data)
        for _ in range(rng.integers(1, 4)):
            place = int(rng.integers(len(spoilt) + 1))
            kind = rng.integers(5)
            if kind == 0:
                spoilt[place : place + 1] = bytes([rng.integers(256)])
            elif kind == 1:
                start = place // 4 * 4
                spoilt[start : start + 4] = struct.pack("<I", int(rng.choice([0, 1, 2**28, 2**31, 2**32 - 1])))
            elif kind == 2:
                del spoilt[place:]
            elif kind == 3:
                spoilt[place:place] = rng.bytes(int(rng.integers(9)))
            else:
                spoilt[2:4] = rng.bytes(2)
        return bytes(spoilt)


WAYS = ("lockstep", "real")
"""How time goes: the controller's simulated one waits for it, or the system's."""

AMOUNTS = {"messages": 100_000, "parameters": 3_000, "switches": 200, "life_cycles": 1_000}
"""Part of the storm → how much of it is sent at scale 1."""


def campaign(
    scale: float,
    seed: int,
    folder: Path,
    parts: Sequence[str] = tuple(AMOUNTS),
    *,
    real_time: bool = False,
    given: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Run it all; the counts, and what was sent.

    Args:
        scale: of the numbers of messages, parameter sets, switches and life cycles.
        parts: of the storm that are run.
        seed: of what is drawn.
        folder: of the controller's log.
        real_time: whether time is the system's.
        given: parameters of the controller beside those of the storm.
    """
    import rclpy
    from rclpy.executors import SingleThreadedExecutor
    from rclpy.node import Node

    parameters = {
        "robot_description": (ROOT / "urdf" / "prr.urdf").read_text(),
        "use_sim_time": not real_time,
        "state_timeout": STATE_TIMEOUT,
        "diagnostics_rate": 20.0,
        **(given or {}),
    }
    begin = time.monotonic()
    load = [os.getloadavg()[0]]
    with isolated() as environment, ProcessGroup(environment, folder) as group:
        os.environ.clear()
        os.environ.update(environment)
        process = group.start("controller", parameters, [ROOT / "config" / "prr.yaml"])
        context = rclpy.Context()
        rclpy.init(context=context, args=[])
        node, executor = Node("drives", context=context), SingleThreadedExecutor(context=context)
        executor.add_node(node)
        drives = Drives(node, executor, lambda: process.process.poll() is None, folder, real_time=real_time)
        storm, ended, sent = Storm(node, executor, drives, seed), "", {}
        try:
            end = time.monotonic() + 60.0
            while not drives.commands and time.monotonic() < end:
                drives.step()
            drives.expected = True
            for name in parts:
                sent[name] = max(1, round(scale * AMOUNTS[name]))
                getattr(storm, name)(sent[name])
                drives.settle()
                load.append(os.getloadavg()[0])
                so_far = {what: number for what, number in drives.counts.items() if number}
                print(
                    f"{time.monotonic() - begin:6.0f} s: {sent[name]} {name} sent, {so_far}",
                    file=sys.stderr,
                    flush=True,
                )
        except SystemExit as problem:
            ended = str(problem)
        finally:
            executor.shutdown()
            node.destroy_node()
            rclpy.shutdown(context=context)
    log = (folder / "controller.log").read_text(errors="replace")
    found = {name: drives.counts[name] for name in COUNTS} | {"unforeseen exceptions": log.count("Traceback")}
    return {
        "counts": found,
        "sent": sent,
        "states": drives.states,
        "commands": drives.commands,
        "minutes": (time.monotonic() - begin) / 60.0,
        "load": max(load),
        "ended": ended,
    }


def lines(found: dict[str, dict[str, Any]]) -> Iterator[str]:
    """The report as text: a column for each way of time."""
    width = max(map(len, COUNTS)) + 2

    def row(name: str, values: Sequence[object]) -> str:
        return f"{name:{width}}" + "".join(f"{value:>12}" for value in values)

    columns = found.values()
    yield row("", list(found))
    for name in AMOUNTS:
        yield row(name.replace("_", " "), [f"{column['sent'].get(name, 0):,}" for column in columns])
    for name in ("states", "commands"):
        yield row(name, [f"{column[name]:,}" for column in columns])
    yield row("minutes", [f"{column['minutes']:.1f}" for column in columns])
    yield row("greatest load of the machine", [f"{column['load']:.1f}" for column in columns])
    yield "-" * (width + 12 * len(found))
    for name in next(iter(columns))["counts"]:
        yield row(name, [column["counts"][name] for column in columns])
    for way, column in found.items():
        if column["ended"]:
            yield f"{way} ended early: {column['ended']}"


def main() -> int:
    """Run it as the arguments say; 1 if anything was counted."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=float, default=1.0, help="of all numbers (default: 1)")
    parser.add_argument("--seed", type=int, default=1, help="of what is drawn (default: 1)")
    parser.add_argument("--time", choices=("both", *WAYS), default="both", help="of the controller (default: both)")
    parser.add_argument("--json", action="store_true", help="print the counts as JSON")
    parser.add_argument("--parts", default=",".join(AMOUNTS), help="of the storm, with commas (default: all)")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a parameter, in YAML")
    parser.add_argument("--log", type=Path, help="folder for the controller's logs; a temporary one unless given")
    args = parser.parse_args()
    given = {name: yaml.safe_load(value) for name, _, value in (item.partition("=") for item in args.set)}
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for way in WAYS if args.time == "both" else (args.time,):
            place = (args.log or Path(folder)) / way
            place.mkdir(parents=True, exist_ok=True)
            parts = args.parts.split(",")
            found[way] = campaign(args.scale, args.seed, place, parts, real_time=way == "real", given=given)
    print(json.dumps(found) if args.json else "\n".join(lines(found)))
    return 1 if any(any(column["counts"].values()) or column["ended"] for column in found.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
