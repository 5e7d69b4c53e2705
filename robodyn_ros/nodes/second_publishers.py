"""Who else publishes where only one may."""

from __future__ import annotations

from collections.abc import Mapping

from rclpy.node import Node


class SecondPublishers:
    """Looks for publishers that there should not be."""

    def __init__(self, node: Node, allowed: Mapping[str, int]) -> None:
        """
        Args:
            node: who looks.
            allowed: topic → how many publishers it may have, the node's own among them.
        """
        self._node = node
        self._allowed = {node.resolve_topic_name(topic): count for topic, count in allowed.items()}

    def problem(self) -> str:
        """What is wrong; "" if nothing is."""
        for topic, most in self._allowed.items():
            if self._node.count_publishers(topic) > most:
                names = sorted(info.node_name for info in self._node.get_publishers_info_by_topic(topic))
                return f"{topic} has {len(names)} publishers ({', '.join(names)}), not {most}"
        return ""
