# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Outputs of the controller: the topics of commands and of their terms, and statistics for the diagnostics."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter
from typing import Any

import numpy as np
from rclpy.lifecycle import LifecycleNode
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, MultiArrayDimension, MultiArrayLayout

from robodyn_ros.control.drives import MitCommand
from robodyn_ros.control.step import Command
from robodyn_ros.nodes.common.client_library import wait_until_delivered
from robodyn_ros.nodes.common.messages import Stamp
from robodyn_ros.nodes.controller.cdr import Topic

TERMS = ("gravity", "coriolis", "inertia", "friction", "feedback", "total")  #: Each has a topic ``~/efforts/<term>``.
LASTING = 1.0  #: Time at the effort limit in every command after which a joint is reported as a problem [s].
SOLE = "~/commands", "~/joint_commands", "~/mit_commands", "~/reference"  #: Topics with one publisher at most.


class Output:
    """The publishers of the controller. They publish only while the node is active.

    ``order`` is, for each joint of ``~/commands``, its index in the arm's order, (n,); ``commands`` are
    ``~/joint_commands``, ``~/commands`` and ``~/mit_commands``, on which the loop's runner publishes.
    """

    def __init__(self, node: LifecycleNode, arm: tuple[str, ...], joints: tuple[str, ...]) -> None:
        """``joints`` are the names of the arm's joints in the order of ``~/commands``."""
        n = len(arm)
        self.order = np.array([arm.index(name) for name in joints], dtype=np.intp)
        stamped = Topic(node, "~/joint_commands", JointState(name=joints), n, "effort")
        plain = Topic(node, "~/commands", Float64MultiArray(), n, "data")
        mit = Topic(node, "~/mit_commands", mit_message(n), len(MitCommand._fields) * n, "data")
        self.commands = stamped, plain, mit
        self._terms = {term: Topic(node, f"~/efforts/{term}", JointState(name=arm), n, "effort") for term in TERMS}
        self._error = Topic(node, "~/tracking_error", JointState(name=arm), n, "position", "velocity")
        self._subscribed_terms: list[tuple[str, Topic]] = []

    def refresh(self) -> None:
        """Check which terms have subscribers; a check before every message would take too long."""
        for topic in (self._error, *self._terms.values()):
            topic.refresh()
        self._subscribed_terms = [(term, topic) for term, topic in self._terms.items() if topic.subscribed]

    def wait_until_delivered(self) -> None:
        """Wait until reliable subscribers have the last command."""
        for topic in self.commands:
            wait_until_delivered(topic.publisher)

    @property
    def tells_terms(self) -> bool:
        """True if terms of the commands have subscribers."""
        return bool(self._subscribed_terms) or self._error.subscribed

    def publish_terms(self, stamp: Stamp, command: Command) -> None:
        """Publish the terms of a command that have subscribers; the reaction to a fault has no terms."""
        if command.efforts is None or command.reference is None or command.error is None or command.state is None:
            return
        for term, topic in self._subscribed_terms:
            topic.publish(stamp, effort=getattr(command.efforts, term))
        if self._error.subscribed:
            self._error.publish(stamp, position=command.error, velocity=command.reference.qd - command.state[1])


def mit_message(n: int) -> Float64MultiArray:
    """The constant part of every message on ``~/mit_commands``: the layout, five numbers for each of n joints."""
    count = len(MitCommand._fields)
    dimensions = [
        MultiArrayDimension(label="joint", size=n, stride=n * count),
        MultiArrayDimension(label=" ".join(MitCommand._fields), size=count, stride=count),
    ]
    return Float64MultiArray(layout=MultiArrayLayout(dim=dimensions))


class LoopStatistics:
    """Statistics of a loop between two reports: the count of ``commands`` sent, and of ``overruns``, periods longer
    than the limit. Adding is cheap, and the report does the work.
    """

    def __init__(self, joints: Sequence[str]) -> None:
        self.commands = 0
        self.overruns = 0
        self._joints = joints
        self._saturated: dict[str, float] = {}  # joint → time from which on every command was saturated [s]
        self._last: float | None = None
        self._latest: Command | None = None
        self._clear()

    def add(self, sent: Any, latest: Command, overrun: float) -> None:
        """Add periods with a command, structs ``Entry`` of ``runner.c`` (k,), and the latest of the commands. A period
        longer than ``overrun`` [s] is counted; a command without a state, or for a dropped one, has no period.
        """
        timed = sent[(sent["blind"] == 0) & (sent["repeats"] == 0)]
        begun, count = timed["begun"], len(sent)
        self.commands += count
        self._sent += count
        self._latest = latest
        if len(timed):
            lengths = np.diff(begun) if self._last is None else np.diff(begun, prepend=self._last)
            self._periods += lengths.tolist()
            self.overruns += int((lengths > overrun).sum())
            self._last = float(begun[-1])
        self._latencies += (timed["done"] - begun).tolist()
        self._ages += np.maximum(timed["age"], 0.0).tolist()  # /clock may lag behind the stamps of the states
        masks = sent["rows"].reshape(count, -1, self._limited.shape[1] - 1)[:, 1:3] != 0.0
        self._limited[:, 0] += masks.any(axis=2).sum(axis=0)
        self._limited[:, 1:] += masks.sum(axis=0)

    def interrupted(self) -> None:
        """Note that the flow of states was interrupted: the time until the next state is no period."""
        self._last = None
        self._saturated.clear()

    def report(self) -> dict[str, object]:
        """Name with unit → value, since the last report."""
        count = len(self._latencies)
        values: dict[str, object] = {"commands since start": self.commands, "commands": self._sent}
        values["period overruns since start"] = self.overruns
        if self._periods:
            periods = 1e3 * np.array(self._periods)
            values["period mean [ms]"] = float(periods.mean())
            values["period jitter (standard deviation) [ms]"] = float(periods.std())
            values["period p99 [ms]"] = float(np.percentile(periods, 99.0))
            values["period greatest [ms]"] = float(periods.max())
        if count:
            latencies, ages = 1e3 * np.array(self._latencies), 1e3 * np.array(self._ages)
            values["latency (state received to command sent) median [ms]"] = float(np.median(latencies))
            values["latency p99 [ms]"] = float(np.percentile(latencies, 99.0))
            values["latency (state's stamp to command sent) median [ms]"] = float(np.median(ages + latencies))
            values["latency from stamp p99 [ms]"] = float(np.percentile(ages + latencies, 99.0))
            values["state age greatest [ms]"] = float(ages.max())
        if self._latest is not None:
            values.update(self._efforts(self._latest))
        self._judge_saturation()
        self._clear()
        return values

    @property
    def problem(self) -> str:
        """Joints whose effort a limit reduced in every command for ``LASTING`` or longer; "" if there are none."""
        now = perf_counter()
        lasting = [f"{name} for {now - then:.0f} s" for name, then in self._saturated.items() if now - then >= LASTING]
        limits = "at the effort limit, or in the margin of a position limit"
        return f"{limits}, all the time: joint {', '.join(lasting)}" if lasting else ""

    def _judge_saturation(self) -> None:
        """Update the times from which on joints were saturated in every command."""
        if not self._sent:
            return
        always = zip(self._joints, (self._limited[0, 1:] == self._sent).tolist(), strict=True)
        self._saturated = {name: self._saturated.get(name, self._begun) for name, lasts in always if lasts}

    def _efforts(self, latest: Command) -> dict[str, object]:
        values: dict[str, object] = {}
        for what, counts in zip(("saturated", "rate limited"), self._limited, strict=True):
            for joint, count in zip(("", *(f" {name}" for name in self._joints)), counts, strict=True):
                values[f"{what}{joint} [%]"] = 100.0 * float(count) / self._sent
        if latest.efforts is not None:
            for term, effort in latest.efforts._asdict().items():
                values[f"effort {term}"] = " ".join(f"{value:.5g}" for value in effort)
        values["effort sent"] = " ".join(f"{value:.5g}" for value in latest.effort)
        return values

    def _clear(self) -> None:
        self._begun = perf_counter()
        self._periods: list[float] = []
        self._latencies: list[float] = []
        self._ages: list[float] = []
        self._sent = 0
        self._latest = None
        self._limited = np.zeros((2, 1 + len(self._joints)), dtype=np.int64)


class PublisherConflicts:
    """Scans topics for more publishers than are allowed.

    A publisher of this node's own name may be one that it has destroyed: it counts only if the next scan finds it too.
    """

    def __init__(self, node: Node) -> None:
        self._node = node
        self._states = node.resolve_topic_name("joint_states")
        self._allowed = dict.fromkeys(map(node.resolve_topic_name, SOLE), 1)
        self._suspected: set[str] = set()  # topics with more than one publisher of this node's name

    def scan(self, state_publishers: int) -> str:
        """The first topic with too many publishers, and their nodes; "" if there is none."""
        suspected, self._suspected = self._suspected, set()
        own = self._node.get_name(), self._node.get_namespace()
        for topic, most in (self._allowed | {self._states: state_publishers}).items():
            if self._node.count_publishers(topic) <= most:
                continue
            found = self._node.get_publishers_info_by_topic(topic)
            if all((info.node_name, info.node_namespace) == own for info in found):
                self._suspected.add(topic)
                if topic not in suspected:
                    continue
            names = sorted(info.node_name for info in found)
            return f"{topic} has {len(names)} publishers ({', '.join(names)}), not {most}"
        return ""
