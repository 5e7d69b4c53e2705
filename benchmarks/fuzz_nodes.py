# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The running controller under a storm of messages, parameters, switches and life cycles, with an arm that it moves.

    make fuzz-nodes                              100,000 messages, 3,000 parameter sets, 200 switches, 1,000 life cycles
    make fuzz-nodes BENCH="--scale 0.01"         a hundredth of that
    make fuzz-nodes BENCH="--seed 2 --json"      other messages; the counts for machines
    make fuzz-nodes BENCH="--parts switches,life_cycles"

This process is the drives (:mod:`drives`): it integrates the PRR arm by the library's forward dynamics, judges every
command, and brakes when none comes. All that is counted ought to be 0. A gap or a stop is explained if /diagnostics
shows a fault around it.
"""

import json
import struct
import sys
import tempfile
import time
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from common import options, report
from drives import COUNTS, Drives, running
from lifecycle_msgs.msg import Transition as T
from lifecycle_msgs.srv import ChangeState
from rcl_interfaces.msg import Parameter, ParameterValue
from rcl_interfaces.srv import DescribeParameters, GetParameters, ListParameters, SetParameters
from rclpy.serialization import serialize_message
from std_srvs.srv import SetBool, Trigger

from robodyn_ros.nodes.common.client_library import LATCHED
from robodyn_ros.plugins import available

EXTREMES = (0.0, -0.0, 1e-320, 1.0, -1.0, 1e3, 1e18, 1e154, -1e154, 1.7e308, -1.7e308, float("inf"), float("nan"))
TEXTS = ("", "base", "tool", "nowhere", "/dev/zero", "<robot/>", "<" * 1000, "[/red]", "nan", "x" * 10_000)

TOPICS = {
    "controller/reference": "sensor_msgs/JointState",
    "controller/joint_trajectory": "trajectory_msgs/JointTrajectory",
    "controller/target_pose": "geometry_msgs/PoseStamped",
    "controller/target_twist": "geometry_msgs/TwistStamped",
    "robot_description": "std_msgs/String",
}

FIXED = ("effort_limits", "effort_rate_limits", "velocity_limits", "state_timeout", "diagnostics_rate", "use_sim_time")
"""Parameters by which the commands are judged; they stay."""


def kind_of(name: str) -> Any:
    """The class of a message, from its package and name."""
    package, _, kind = name.partition("/")
    return getattr(import_module(f"{package}.msg"), kind)


class Storm:
    """Sends what nobody ought to."""

    def __init__(self, drives: Drives, seed: int) -> None:
        self.rng, self._drives = np.random.default_rng(seed), drives
        self._topics = [drives.states_topic] + [  # a second publisher of states would be a fault of its own
            drives.node.create_publisher(kind_of(kind), topic, LATCHED if topic == "robot_description" else 10)
            for topic, kind in TOPICS.items()
        ]
        self._kinds = {
            "set_parameters": SetParameters, "get_parameters": GetParameters, "list_parameters": ListParameters,
            "describe_parameters": DescribeParameters, "enable": SetBool, "hold": Trigger, "change_state": ChangeState,
        }  # fmt: skip

    def messages(self, count: int) -> None:
        """Messages over subscriptions, five between two states: spoilt bytes, extremes, and valid but absurd ones."""
        for number in range(count):
            publisher = self._topics[self.rng.integers(len(self._topics))]
            message = self._filled(publisher.msg_type())
            spoilt = self.rng.random() < 0.4
            publisher.publish(self._spoilt(bytes(serialize_message(message))) if spoilt else message)
            if number % 5 == 4:
                self._drives.step()

    def parameters(self, count: int) -> None:
        """Parameters of every name, of right and wrong types; the first values come back from time to time."""
        names = [name for name in self.call("list_parameters").result.names if not name.startswith(FIXED)]
        names = [name for name in names if name not in ("controller", "dynamics")]
        values = self.call("get_parameters", names=names).values
        first = [Parameter(name=name, value=value) for name, value in zip(names, values, strict=True)]
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
        for number in range(count):
            self._drives.expected = False
            ways = T.TRANSITION_DEACTIVATE, T.TRANSITION_CLEANUP, T.TRANSITION_CONFIGURE, T.TRANSITION_ACTIVATE
            for identity in ways:
                self.call("change_state", transition=T(id=identity))
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

    def _filled(self, message: Any) -> Any:
        """The message, with fields drawn at random: names of joints and places of the arm are often right."""
        rng, drives, right = self.rng, self._drives, self.rng.random() < 0.5
        joints = drives.names if right else [*map(str, rng.choice([*drives.names, *TEXTS], rng.integers(6)))]
        for field, kind in message.get_fields_and_field_types().items():
            value = getattr(message, field)
            if kind == "std_msgs/Header":
                value.frame_id = str(rng.choice(TEXTS))
                value.stamp = drives.state().header.stamp
                value.stamp.sec += int(rng.choice([-1000, -1, 0, 0, 1, 10**6]))
            elif kind == "builtin_interfaces/Duration":
                value.sec, value.nanosec = int(rng.integers(-1, 4)), int(rng.integers(10**9))
            elif kind == "string":
                setattr(message, field, str(rng.choice(TEXTS)))
            elif kind == "double":
                setattr(message, field, self._numbers(1)[0])
            elif kind == "sequence<string>":
                setattr(message, field, joints)
            elif kind == "sequence<double>":
                near = field.startswith("position") and rng.random() < 0.5
                found = (drives.q + 0.3 * rng.normal(size=3)).tolist() if near else self._numbers(len(joints))
                setattr(message, field, found if near or rng.random() < 0.7 else [])
            elif kind.startswith("sequence<"):
                part = kind_of(kind[len("sequence<") : -1])
                setattr(message, field, [self._filled(part()) for _ in range(rng.integers(6))])
            else:
                self._filled(value)
        return message

    def _numbers(self, count: int) -> list[float]:
        kind = self.rng.integers(3)
        if kind == 0:
            return [float(value) for value in self.rng.choice(EXTREMES, count)]
        return (self.rng.normal(size=count) * (1.0 if kind == 1 else 10.0 ** self.rng.integers(-9, 12))).tolist()

    def _value(self) -> Any:
        made = [
            ParameterValue(type=3, double_value=float(self.rng.choice(EXTREMES))),
            ParameterValue(type=2, integer_value=int(self.rng.choice([0, -1, 1, 2**62, -(2**62)]))),
            ParameterValue(type=1, bool_value=True),
            ParameterValue(type=4, string_value=str(self.rng.choice(TEXTS))),
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


AMOUNTS = {"messages": 100_000, "parameters": 3_000, "switches": 200, "life_cycles": 1_000}
"""Part of the storm → how much of it is sent at scale 1."""


def campaign(scale: float, seed: int, folder: Path, parts: Sequence[str]) -> dict[str, Any]:
    """Run it all; the counts, and what was sent.

    Args:
        scale: of the numbers of messages, parameter sets, switches and life cycles.
        seed: of what is drawn.
        folder: of the controller's log.
        parts: of the storm that are run.
    """
    begin, ended, sent = time.monotonic(), "", {}
    with running(Drives, folder, diagnostics_rate=20.0) as drives:
        storm = Storm(drives, seed)
        try:
            drives.until(lambda: drives.commands > 0, 60.0)
            drives.expected = True
            for name in parts:
                sent[name] = max(1, round(scale * AMOUNTS[name]))
                getattr(storm, name)(sent[name])
                drives.settle()
                took, so_far = time.monotonic() - begin, dict(+drives.counts)
                print(f"{took:6.0f} s: {sent[name]} {name} sent, {so_far}", file=sys.stderr, flush=True)
        except SystemExit as problem:
            ended = str(problem)
    log = (folder / "controller.log").read_text(errors="replace")
    counts = {name: drives.counts[name] for name in COUNTS} | {"unforeseen exceptions": log.count("Traceback")}
    return {
        "sent": sent, "states": drives.states, "commands": drives.commands, "counts": counts,
        "minutes": (time.monotonic() - begin) / 60.0, "ended early": ended,
    }  # fmt: skip


def main() -> int:
    """Run it as the arguments say; 1 if anything was counted."""
    parser = options(__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="of all numbers (default: 1)")
    parser.add_argument("--seed", type=int, default=1, help="of what is drawn (default: 1)")
    parser.add_argument("--parts", default=",".join(AMOUNTS), help="of the storm, with commas (default: all)")
    parser.add_argument("--log", type=Path, help="folder for the controller's log; a temporary one unless given")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = campaign(args.scale, args.seed, args.log or Path(folder), args.parts.split(","))
    print(json.dumps(found)) if args.json else report({"The storm": [found]}, False)
    return 1 if any(found["counts"].values()) or found["ended early"] else 0


if __name__ == "__main__":
    sys.exit(main())
