# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Frames of messages: links of the arm, and if tf2_ros is installed, every other frame of tf.

The pose of a link is computed from the latest state, without delay. For other frames, such as that of a camera, the
latest transform of tf is used, unless it is older than ``OLDEST_FRAME``. Static transforms have no age.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
from geometry_msgs.msg import Point, Pose
from rclpy.node import Node
from rclpy.time import Time

from robodyn_ros.control.motion.tool_stream import OLDEST_FRAME
from robodyn_ros.errors import InputError, NotReadyError, is_it
from robodyn_ros.kinematics import Kinematics
from robodyn_ros.nodes.common.messages import NANO, seconds, to_matrix
from robodyn_ros.nodes.controller.closed_loop import ClosedLoop
from robodyn_ros.robot.pose import Array


def has_tf() -> bool:
    """Return whether tf2_ros is installed."""
    return find_spec("tf2_ros") is not None


class Frames:
    """Looks up poses of frames; listens to tf if tf2_ros is installed."""

    def __init__(self, node: Node, closed: ClosedLoop) -> None:
        """
        Args:
            node: listens to tf.
            closed: has the latest state, for the poses of the links.
        """
        self._closed, self._robot, self._clock = closed, closed.robot, node.get_clock()
        self._kinematics = Kinematics(self._robot)
        self._links = [link.name for link in self._robot.links]
        self._buffer: Any = None
        if has_tf():
            self._tf = import_module("tf2_ros")
            self._buffer = self._tf.Buffer()
            self._listener = self._tf.TransformListener(self._buffer, node, spin_thread=False)

    def pose(self, name: str) -> Array:
        """Pose of a frame in the root link's, (4, 4); of the root link if the name is empty.

        Raises:
            InputError: there is no such frame, or its transform is too old.
            NotReadyError: no valid joint state has come yet.
        """
        if name in ("", self._robot.root):
            return np.eye(4)
        if name not in self._links:
            return self._told(name)
        latest = self._closed.latest
        if latest is None or latest[1].state is None:
            raise NotReadyError("no valid joint state has come yet")
        return self._kinematics.pose(name, latest[1].state[0])

    def _told(self, name: str) -> Array:
        """The pose of a frame by tf, (4, 4)."""
        if self._buffer is None:
            reason = (
                f"{name!r} is unknown; a target is in the frame of {', '.join(self._links)}{is_it(name, self._links)}"
            )
            raise InputError("frame_id", f"{reason}; other frames need tf2_ros, which is not installed", name)
        try:
            found = self._buffer.lookup_transform(self._robot.root, name, Time())
        except self._tf.TransformException as problem:
            reason = f"{name!r} is no link of the arm, and tf has no such frame: {problem}"
            raise InputError("frame_id", reason, name) from None
        stamp = seconds(found.header.stamp)
        age = self._clock.now().nanoseconds / NANO - stamp
        if stamp > 0.0 and age > OLDEST_FRAME:
            text = f"the transform of {name!r} from tf is {age:.1f} s old, more than {OLDEST_FRAME:g} s"
            raise InputError("frame_id", text, name)
        at, rotation = found.transform.translation, found.transform.rotation
        return to_matrix(Pose(position=Point(x=at.x, y=at.y, z=at.z), orientation=rotation))

    def destroy(self) -> None:
        """Stop listening to tf."""
        if self._buffer is not None:
            self._listener.unregister()
