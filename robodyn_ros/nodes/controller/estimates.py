# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The learnt values of the control law: ``~/estimates``, ``~/save_estimates``, and their file.

The file is read when the node is configured, and when another law that learns takes over. It is written when the
service is called, and at cleanup and at the end. Threads do both, so that a slow disk delays no command.
"""

from __future__ import annotations

from functools import partial

from diagnostic_msgs.msg import DiagnosticArray
from rclpy.node import Node
from rclpy.task import Future

from robodyn_ros.control.laws.base import checked_result
from robodyn_ros.control.laws.memory_file import LawMemory, memory_of, read_memory, write_memory
from robodyn_ros.errors import ConfigurationError, NotReadyError, RobodynError
from robodyn_ros.nodes.common.client_library import LATCHED, steady_timer
from robodyn_ros.nodes.common.diagnostics import status_message
from robodyn_ros.nodes.common.parameters import NodeParameters
from robodyn_ros.nodes.common.threads import BackgroundTask
from robodyn_ros.nodes.controller.closed_loop import ClosedLoop

PERIOD = 0.5  #: Time between two messages [s].
POLL_PERIOD = 0.02  #: Time between two checks that the file is written, while a service call waits [s].
FILE = "estimates_file"  #: Name of the parameter with the path of the file.
DISK_LIMIT = 3.0  #: Longest wait for the disk, when the arm is not controlled [s].


class Estimates:
    """Publishes, saves and restores the learnt values of the control law."""

    def __init__(self, node: Node, loop: ClosedLoop) -> None:
        """ConfigurationError: the file exists, and cannot be used."""
        self._node, self._loop = node, loop
        self._published: dict[str, float] = {}
        self._restored = type(loop.law)  # the law that has been given its memory
        self._reading: BackgroundTask[LawMemory | None] | None = self._begin_to_read()
        self._writing: BackgroundTask[None] | None = None
        if self._reading is not None and not self._reading.wait(DISK_LIMIT):
            raise ConfigurationError(f"{FILE}: {self._path} is not read within {DISK_LIMIT:g} s")
        try:
            self._restore()
        except RobodynError as problem:
            raise ConfigurationError(f"{FILE}: {problem}") from problem
        self._publisher = node.create_publisher(DiagnosticArray, "~/estimates", LATCHED)
        steady_timer(node, PERIOD, self._publish)
        self._saved: Future | None = None  # of the service call that waits
        self._poll = steady_timer(node, POLL_PERIOD, self._answer_if_saved, autostart=False)  # it runs meanwhile

    def save_if_named(self) -> None:
        """Save the learnt values, if the parameter names a file; this may take ``DISK_LIMIT``."""
        if not self._path or not self._loop.law.memory():
            return
        try:
            if self._writing is not None:
                self._writing.wait(DISK_LIMIT)
            if not (task := self._begin_to_write()).wait(DISK_LIMIT):
                raise NotReadyError(f"{self._path} is not written within {DISK_LIMIT:g} s")
            task.result()
        except RobodynError as problem:
            self._node.get_logger().error(f"{FILE}: {problem}")

    def end(self) -> None:
        """Save the learnt values, and answer the service call that waits."""
        self.save_if_named()
        self._answer_if_saved()
        self._answer(NotReadyError("the controller was cleaned up, or has ended"))

    @property
    def _path(self) -> str:
        return str(NodeParameters(self._node)[FILE])

    def begin_to_save(self) -> Future:
        """Begin to save the learnt values: a future of success and message. RobodynError: they cannot be saved."""
        if not self._path:
            raise NotReadyError(f"the parameter {FILE} names no file")
        self._answer_if_saved()  # the call before may still wait for the next check
        if self._saved is not None:
            raise NotReadyError(f"{self._path} is being written")
        self._begin_to_write()
        self._saved = Future()
        self._poll.reset()
        return self._saved

    def _answer_if_saved(self) -> None:
        """Respond to the service call that waits for the disk, once the file is written."""
        if self._writing is not None and self._writing.done():
            self._answer(self._writing.exception())

    def _answer(self, problem: object) -> None:
        self._poll.cancel()
        saved, self._saved = self._saved, None
        if saved is not None:
            saved.set_result((problem is None, f"saved to {self._path}" if problem is None else str(problem)))

    def _begin_to_write(self) -> BackgroundTask[None]:
        """Write the values, in a thread. RobodynError: the call before is being answered, or the law learns nothing."""
        if self._writing is not None and not self._writing.done():
            raise NotReadyError(f"{self._path} is being written")
        self._writing = BackgroundTask(FILE, partial(write_memory, self._path, memory_of(self._loop.law)))
        return self._writing

    def _begin_to_read(self) -> BackgroundTask[LawMemory | None] | None:
        """Read the law's memory from the file, in a thread; None if there is nothing to read."""
        law = self._loop.law
        if not self._path or not law.memory():
            return None
        return BackgroundTask(FILE, partial(read_memory, self._path, law.dynamics.robot.name, type(law).__name__))

    def _restore(self) -> None:
        """Give the law its memory from the file, once it is read; the change of the efforts is blended in."""
        task = self._reading
        if task is None or not task.done():
            return
        self._reading = None
        memory = task.result()
        if memory is not None and memory.law == type(self._loop.law).__name__:
            self._loop.control.apply(self._loop.control.settings, memory.values)

    def _publish(self) -> None:
        """Publish the estimates if they have changed."""
        with self._loop.faults.counting("estimates refused"):
            if type(self._loop.law) is not self._restored and self._reading is None:
                self._restored = type(self._loop.law)
                self._reading = self._begin_to_read()
            self._restore()
        law = self._loop.law
        if (found := checked_result(law, "estimates")) == self._published:
            return
        self._published = found
        values = {name: float(value) for name, value in found.items()}
        self._publisher.publish(status_message(self._node, type(law).__name__, self._loop.robot.name, values))
