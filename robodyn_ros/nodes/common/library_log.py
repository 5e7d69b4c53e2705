"""What the library logs while a node works with it, in the node's log."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from rclpy.node import Node

LIBRARY = logging.getLogger("robodyn_ros")


@contextmanager
def library_log(node: Node) -> Iterator[None]:
    """Within it the library's records go to the node's log: what is being compiled, or that nothing can be.

    Args:
        node: whose log.
    """
    before, handler = LIBRARY.level, _Forwarding(node)
    LIBRARY.addHandler(handler)
    LIBRARY.setLevel(min(logging.INFO, before) if before else logging.INFO)
    try:
        yield
    finally:
        LIBRARY.setLevel(before)
        LIBRARY.removeHandler(handler)


class _Forwarding(logging.Handler):
    """Gives records to a node's log."""

    def __init__(self, node: Node) -> None:
        super().__init__(logging.INFO)
        self._log = node.get_logger()

    def emit(self, record: logging.LogRecord) -> None:
        """Give a record to the node's log, with its own level."""
        tell = self._log.warning if record.levelno >= logging.WARNING else self._log.info
        tell(record.getMessage())
