# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Quality of service of the topics; the tables of the documentation use these names."""

from __future__ import annotations

import contextlib
from typing import Any

from rclpy.duration import Duration
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

from robodyn_ros.nodes.client_library import RCLError

DELIVERY = 0.5
"""Longest wait for the delivery of a last message [s]."""

NEWEST = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
"""For messages that the next one replaces: subscriptions to states and commands."""

PARTS = QoSProfile(depth=10, reliability=ReliabilityPolicy.BEST_EFFORT)
"""For states that come in several messages, each about some of the joints."""

EVERY_STATE = QoSProfile(depth=1000, reliability=ReliabilityPolicy.BEST_EFFORT)
"""For recordings of states: a recorder that gets no processor time for a while misses none."""

LATCHED = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL)
"""For messages that late subscribers need too, such as ``robot_description``."""

RECORDED = QoSProfile(depth=10_000, reliability=ReliabilityPolicy.RELIABLE)
"""For publishers of states and commands: a reliable subscriber that gets no processor time for a while misses none,
even of a simulation that runs faster than it can record."""

RELIABLE = QoSProfile(depth=10, reliability=ReliabilityPolicy.RELIABLE)
"""For all others; a reliable publisher serves best-effort subscribers as well."""


def wait_until_delivered(publisher: Any) -> None:
    """Wait until reliable subscribers have the last message, for ``DELIVERY`` at most.

    Messages that the middleware has not delivered are lost when the process ends.
    """
    with contextlib.suppress(RCLError):
        publisher.wait_for_all_acked(Duration(seconds=DELIVERY))
