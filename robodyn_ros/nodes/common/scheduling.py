# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Real-time scheduling of a node.

The parameters have the names and meanings of ros2_control's controller_manager: ``thread_priority`` (SCHED_FIFO, 50
unless given, tried on every kernel), ``cpu_affinity`` and ``lock_memory``. Where the system
permits no real-time priority, the node logs that once and works with ordinary priority. With real-time priority, the
processors do not sleep while the node is active, if it may write to ``/dev/cpu_dma_latency``.

The middleware's threads get the same priority as the thread that computes, since states come through them. Python's
other threads, which plan and solve, keep ordinary priority. So do processes that are started later, such as compilers
(SCHED_RESET_ON_FORK).
"""

from __future__ import annotations

import ctypes
import os
import re
import resource
import struct
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import BinaryIO

from rclpy.node import Node

from robodyn_ros.nodes.common.parameters import NodeParameters, declare, declare_settings
from robodyn_ros.settings import CheckedSettings, switch, whole

AFFINITY = "cpu_affinity"
"""Name of the parameter with the processors."""

ALL = (-1,)
"""The value that stands for all processors."""

DMA_LATENCY = Path("/dev/cpu_dma_latency")
"""The kernel's file for requests of a wake-up latency."""

MCL_CURRENT, MCL_FUTURE = 1, 2
"""Flags of mlockall(2): the pages mapped now, and those mapped later."""

CAP_IPC_LOCK = 14
"""Number of the capability that lifts the limit of locked memory (capabilities(7))."""

ADVICE = "see limits.conf(5): rtprio, memlock"


@dataclass(frozen=True)
class SchedulingSettings(CheckedSettings):
    """Settings of the scheduling; each field's metadata describe it."""

    thread_priority: int = whole(
        50, "priority among real-time threads (SCHED_FIFO) while the node is active, if permitted; 0: ordinary", 0, 99
    )
    lock_memory: bool = switch(False, "whether to keep the process in RAM, so that no page fault delays a command")


def declare_scheduling(node: Node, defaults: SchedulingSettings) -> None:
    """Declare the parameters.

    Raises:
        ParameterException: a value given has the wrong type or is out of range.
    """
    declare_settings(node, defaults, read_only=True)
    text = "processors that the node may run on; -1 for all"
    declare(node, AFFINITY, list(ALL), text, constraints="numbers from 0 up, or -1", read_only=True)


class Scheduling:
    """Applies the scheduling parameters to a node.

    Attributes:
        state: how the node is scheduled now, in a few words.
    """

    def __init__(self, node: Node) -> None:
        """Bind the process to processors and lock its memory, as the node's parameters say."""
        self.state = "ordinary"
        self._log = node.get_logger()
        parameters = NodeParameters(node)
        self._settings = parameters.settings(SchedulingSettings)
        self._raised = False
        self._awake: BinaryIO | None = None
        processors = tuple(parameters[AFFINITY])
        if processors != ALL:
            self._bind(set(processors))
        if self._settings.lock_memory:
            self._lock_memory()

    @property
    def priority(self) -> int:
        """The requested priority among real-time threads; 0: ordinary."""
        return self._settings.thread_priority

    def begin(self, *, python: bool = True) -> None:
        """Raise the priority and keep processors awake, as the parameters request and the system permits.

        To be called once the node's executor runs, since its threads are started by then, and again when the control
        loop begins or ends to run in a thread of its own.

        Args:
            python: False if all of Python's threads keep ordinary priority.
        """
        if self._settings.thread_priority:
            self._raise(self._settings.thread_priority, python)
            if self._raised and self._awake is None:
                self._stay_awake()

    def end(self) -> None:
        """Return to ordinary priority, and let processors sleep."""
        if self._raised:
            _each(_threads(), partial(_schedule, policy=os.SCHED_OTHER, priority=0))
            self._raised, self.state = False, "ordinary"
        if self._awake is not None:
            self._awake.close()
            self._awake = None

    def _raise(self, priority: int, python: bool) -> None:
        main = threading.main_thread() if python else None
        ids = {thread.native_id for thread in threading.enumerate() if thread is not main}
        theirs = {thread for thread in ids if thread is not None}
        try:
            _each(_threads() - theirs, partial(_schedule, policy=os.SCHED_FIFO, priority=priority))
            if not python:
                _each(theirs, partial(_schedule, policy=os.SCHED_OTHER, priority=0))
        except (OSError, AttributeError) as problem:  # not permitted, or not on this system
            refused = f"ordinary; SCHED_FIFO {priority} is refused"
            if self.state != refused:
                text = f"no real-time priority {priority}: {problem} ({ADVICE}); thread_priority: 0 asks for none"
                self._log.info(text)
            self.state = refused
            return
        self._raised, self.state = True, f"SCHED_FIFO {priority}"

    def _stay_awake(self) -> None:
        """Request a wake-up latency of 0; the kernel keeps it while the file is open (power/pm_qos_interface)."""
        with suppress(OSError):  # not permitted
            awake = DMA_LATENCY.open("r+b", buffering=0)
            awake.write(struct.pack("=i", 0))
            self._awake = awake

    def _bind(self, processors: set[int]) -> None:
        try:
            _each(_threads(), lambda thread: os.sched_setaffinity(thread, processors))
        except (OSError, AttributeError, ValueError) as problem:
            self._log.warning(f"{AFFINITY} {sorted(processors)} has no effect: {problem}")

    def _lock_memory(self) -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        # Under a limit, an allocation would fail later, while the arm moves.
        if not _may_lock_all():
            self._log.warning(f"lock_memory has no effect: the limit of locked memory must be unlimited ({ADVICE})")
        elif libc.mlockall(MCL_CURRENT | MCL_FUTURE) != 0:
            self._log.warning(f"lock_memory has no effect: {os.strerror(ctypes.get_errno())} ({ADVICE})")


def _may_lock_all() -> bool:
    """Return whether this process may lock any amount of memory."""
    if resource.getrlimit(resource.RLIMIT_MEMLOCK)[0] == resource.RLIM_INFINITY:
        return True
    capabilities = re.search(r"^CapEff:\s*(\w+)", Path("/proc/self/status").read_text(), re.MULTILINE)
    return capabilities is not None and bool(int(capabilities[1], 16) >> CAP_IPC_LOCK & 1)


def _threads() -> set[int]:
    """Ids of all threads of this process, the middleware's too."""
    return {int(name) for name in os.listdir("/proc/self/task")}


def _each(threads: set[int], call: Callable[[int], object]) -> None:
    """Call a function for each thread; some may have ended meanwhile."""
    for thread in threads:
        with suppress(ProcessLookupError):
            call(thread)


def _schedule(thread: int, policy: int, priority: int) -> None:
    """Set a thread's policy; threads and processes that it starts later have the ordinary one.

    SCHED_RESET_ON_FORK stays set: clearing it takes more rights than setting it.
    """
    os.sched_setscheduler(thread, policy | os.SCHED_RESET_ON_FORK, os.sched_param(priority))
