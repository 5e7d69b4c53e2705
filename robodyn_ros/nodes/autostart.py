"""A lifecycle node that starts itself, without waiting for anything in the meantime."""

from __future__ import annotations

from collections.abc import Callable

from rclpy.lifecycle import LifecycleNode, TransitionCallbackReturn

from robodyn_ros.nodes.executor import Exit, once_running


class Autostart:
    """Configures and activates a node once, as soon as it is ready; if that fails the process ends with code 1."""

    def __init__(self, node: LifecycleNode, ready: Callable[[], bool], end: Exit) -> None:
        """
        Args:
            node: which is started when it spins.
            ready: whether what configuring needs is there.
            end: ends the process.
        """
        self._node = node
        self._ready = ready
        self._end = end
        self._done = False
        once_running(node, self.attempt)

    def attempt(self) -> None:
        """Start the node if it is ready and was not started yet; to be called when something has come."""
        if self._done or not self._ready():
            return
        self._done = True
        started = (self._node.trigger_configure, self._node.trigger_activate)
        if not all(trigger() == TransitionCallbackReturn.SUCCESS for trigger in started):
            self._end(1)
