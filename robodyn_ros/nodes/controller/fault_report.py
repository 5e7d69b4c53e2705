# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Reports of a controller's faults, and of conflicting publishers on its topics."""

from __future__ import annotations

from typing import Any

from rclpy.node import Node

from robodyn_ros.control.faults.active_fault import ActiveFault
from robodyn_ros.control.faults.table import FAULTS
from robodyn_ros.control.loop import ControlLoop
from robodyn_ros.control.step import Command
from robodyn_ros.nodes.common.diagnostics import PAUSE, Faults

PUBLISHERS_ALLOWED = {"~/commands": 1, "~/joint_commands": 1, "~/mit_commands": 1, "~/reference": 1}
"""Topic → greatest number of its publishers; that of ``joint_states`` is a setting."""


class FaultReport:
    """Counts each fault of a loop when it begins, and logs its end.

    Attributes:
        lasts: True from the report of a fault to the report of its end.
    """

    def __init__(self, loop: ControlLoop, faults: Faults, log: Any) -> None:
        """
        Args:
            loop: whose faults are reported.
            faults: counts them.
            log: the node's logger.
        """
        self._loop, self._faults, self._log = loop, faults, log
        self._last: ActiveFault | None = None
        self.lasts = False

    @property
    def count(self) -> int:
        """How many faults there have been, as the loop counts them."""
        return self._loop.fault_count

    @property
    def state(self) -> str:
        """The active fault, and the reaction to it; "" if there is none."""
        fault = self._loop.fault
        latched = ", latched" if fault is not None and fault.latched else ""
        return "" if fault is None else f"{FAULTS[fault.kind].words}: {fault.phase}{latched}"

    def update(self, command: Command | None) -> None:
        """Count a fault that has just begun, or log that one is over; to be called with each command."""
        fault = self._loop.fault
        if fault is self._last:
            return
        if fault is not None and command is not None:
            self._faults.count(FAULTS[fault.kind].words, f"{command.problem}; the reaction is {fault.phase}")
        elif fault is None:
            self.say_over()
        self._last, self.lasts = fault, fault is not None

    def say_over(self) -> None:
        """Log that a fault is over."""
        self.lasts = False
        self._log.info("the fault is over: the arm is held where it is", throttle_duration_sec=PAUSE)


class PublisherConflicts:
    """Scans topics for more publishers than are allowed.

    A publisher with this node's own name may be one that the node has destroyed, of the configuration before: an
    executor keeps it until it has handled earlier events. So it counts only if it is still there at the next scan.
    """

    def __init__(self, node: Node) -> None:
        """
        Args:
            node: whose graph.
        """
        self._node = node
        self._states = node.resolve_topic_name("joint_states")
        self._allowed = {node.resolve_topic_name(topic): count for topic, count in PUBLISHERS_ALLOWED.items()}
        self._suspected: set[str] = set()  # topics with more than one publisher of this node's name

    def scan(self, state_publishers: int) -> str:
        """The first topic with too many publishers, and their nodes; "" if there is none.

        Args:
            state_publishers: greatest number of publishers of ``joint_states``.
        """
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
