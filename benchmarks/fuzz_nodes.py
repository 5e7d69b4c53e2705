# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The running controller under a storm of messages, parameters, switches and life cycles, with an arm that it moves.

    make fuzz-nodes                              100,000 messages, 3,000 parameter sets, 200 switches, 1,000 life cycles
    make fuzz-nodes BENCH="--scale 0.01"         a hundredth of that
    make fuzz-nodes BENCH="--time real"          in real time alone; both ways unless told otherwise
    make fuzz-nodes BENCH="--seed 2 --json"      other messages; the counts for machines
    make fuzz-nodes BENCH="--set blend_time=0.5"  with another parameter of the controller

This process is the drives: it integrates the PRR arm by the library's forward dynamics, records every command, and
brakes when none comes. In lockstep, a state is sent, its answer is waited for, and then the arm moves; simulated time
stands still meanwhile. In real time, states go out by the system's clock, whatever comes back. All that is counted
ought to be 0. A gap or a stop is explained if /diagnostics shows a fault around it; what led to one that is not is
written into the folder of the log. In real time the rate counts from the stamp of one command to the sending of the
next, which the middleware notes, and a gap may be this machine's: the load is printed. Lockstep has no such gaps.
"""

from __future__ import annotations

import json
import os
import struct
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from common import options, report
from drives import COUNTS, ROOT, STATE_TIMEOUT, Drives

from robodyn_ros.cli.processes import ProcessGroup, joined

EXTREMES = (0.0, -0.0, 1e-320, 1.0, -1.0, 1e3, 1e18, 1e154, -1e154, 1.7e308, -1.7e308, float("inf"), float("nan"))

FIXED = ("effort_limits", "effort_rate_limits", "velocity_limits", "state_timeout", "diagnostics_rate", "use_sim_time")
"""Parameters by which the commands are judged; they stay."""


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

        from robodyn_ros.nodes.common.client_library import LATCHED

        self.rng = np.random.default_rng(seed)
        self._drives = drives
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
            self._drives.be_answered()
            if number % 10 == 9:
                self.call("enable", data=bool(self.rng.integers(2)))
                self.call("hold")
                self.call("enable", data=True)
            self._drives.expected = True
            for _ in range(10):
                self._drives.step()

    def call(self, name: str, **fields: Any) -> Any:
        """Call a service of the controller while the arm goes on."""
        return self._drives.call(self._kinds[name], name, **fields)

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
    with joined() as environment, ProcessGroup(environment, folder) as group:
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


def rows(found: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """The table: a row for each way of time."""
    return [
        {
            "time": way, **column["sent"], "states": column["states"], "commands": column["commands"],
            "minutes": column["minutes"], "greatest load of the machine": column["load"], **column["counts"],
            "ended early": column["ended"],
        }
        for way, column in found.items()
    ]  # fmt: skip


def main() -> int:
    """Run it as the arguments say; 1 if anything was counted."""
    parser = options(__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="of all numbers (default: 1)")
    parser.add_argument("--seed", type=int, default=1, help="of what is drawn (default: 1)")
    parser.add_argument("--time", choices=("both", *WAYS), default="both", help="of the controller (default: both)")
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
    print(json.dumps(found)) if args.json else report({"The storm": rows(found)}, False)
    return 1 if any(any(column["counts"].values()) or column["ended"] for column in found.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
