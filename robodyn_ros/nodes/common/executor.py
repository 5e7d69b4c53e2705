# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""How a node is run, and how it ends: the one place that chooses an executor and handles signals.

**The executor.** ``rclpy.experimental.EventsExecutor`` where rclpy has it, ``SingleThreadedExecutor`` where not.
Round trip of a JointState through a node in another process that echoes it, 1 kHz for 4 s, two cores with other work:

===================================  ============  ============  ===========  ========
executor                             median [µs]   p99 [ms]      CPU [s]      answered
===================================  ============  ============  ===========  ========
SingleThreadedExecutor, Kilted       404 to 470    1.6 to 2.7    2.1 to 2.2   95 to 99 %
EventsExecutor, Kilted               299 to 393    0.7 to 1.6    1.1 to 1.4   98 to 99 %
SingleThreadedExecutor, Jazzy        362 to 450    1.6 to 1.7    2.0 to 2.1   96 to 98 %
EventsExecutor, Jazzy                282 to 297    0.6 to 2.0    1.0 to 1.1   95 to 99 %
===================================  ============  ============  ===========  ========

Both executors run timers (by steady and by simulated time), services, lifecycle transitions, parameters, matched
events and tasks. The EventsExecutor has two limitations. ``spin()``, and ``spin_once()`` without a timeout, handle no
event and occupy a core (seen in rclpy 9.1.2, Kilted), so ``spin_once`` is called with a timeout, in a loop. Guard
conditions are not supported, in 9.1.2 and in 7.1.6 (Jazzy).

**The end.** A node ends on SIGINT, on SIGTERM and when its context is shut down from outside, with exit code 0.
rclpy's own handlers are not used: they raise KeyboardInterrupt, or shut the context down, in the middle of a callback,
which sometimes gives a traceback. Here a signal is stored, the running callback finishes, and the loop ends. From then
on signals are ignored, because launch without a terminal sends one more, and the end of the interpreter restores the
default handlers, which would end the process by the signal.

**The last answers.** ROS acknowledges no answer of a service or an action. A participant that leaves is removed by
another thread of the client's middleware than the one that receives its answers. With both cores busy, one in eight
answers that a controller sent at its end was still with the slower of the two, and was dropped; the client waited for
ever. So a node answers the clients that wait (``finish``), and stays for ``DELIVERY`` after its last answer; meanwhile
the executor sends the results of actions. A node that has answered nothing for that long leaves at once.

A callback that would take longer, such as the compilation of an arm, is cut off after ``SHUTDOWN_LIMIT`` if the node
controls nothing yet: launch would kill it 15 s after the first signal.

**The end of a middleware that hangs.** On ROS 2 Jazzy the shutdown of the middleware did not return in about one of a
hundred ends, and it held the interpreter's lock, so that no Python thread could end the process. :func:`end_within`
lets the C library end it. The process then ends ``SHUTDOWN_LIMIT`` after the loop, with its own exit code, and prints
nothing more. The limit has no effect on any other end.

**Discovery.** On Fast DDS, the default middleware of ROS 2, a node that starts announces itself, but a running node
answers only with its own next announcement, by default every 3 s: a controller started beside a running simulator
waited for its first state up to that long. Measured with rmw_fastrtps
9.3.3 (Kilted) and 8.4 (Jazzy), a publisher that runs and a subscriber that starts, first message after: 1.6 to 3.2 s in
most starts by default, 0.05 to 0.3 s in all with an announcement every 0.2 s.

So the nodes announce themselves four times a second (``fastdds.xml``), at the price of a few hundred bytes each time.
And a killed process is removed after 5 s, not 20: until then it counts as a publisher on other hosts, and a controller
that replaces it would detect a second publisher. A profile that is set in the environment has priority, and other
middleware ignores this one.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import rclpy
from rclpy.exceptions import InvalidHandle, ParameterException
from rclpy.executors import Executor, ExternalShutdownException
from rclpy.signals import SignalHandlerOptions

from robodyn_ros.errors import RobodynError
from robodyn_ros.nodes.common.client_library import DELIVERY, EventsExecutor
from robodyn_ros.nodes.common.diagnostics import ExceptionGuard, Faults

PROFILE = Path(__file__).with_name("fastdds.xml")


def announce_often() -> None:
    """Let the nodes of this process and of its children announce themselves often; to be called before rclpy.init."""
    try:
        major = int(version("rclpy").split(".")[0])
    except (PackageNotFoundError, ValueError):  # an installation without Python's metadata: assume a recent one
        major = 9
    library = "FASTDDS" if major >= 9 else "FASTRTPS"  # Kilted, with rclpy 9, is the first with Fast DDS 3
    os.environ.setdefault(f"{library}_DEFAULT_PROFILES_FILE", str(PROFILE))


SPIN_TIMEOUT = 0.1
"""Longest wait for an event, and so the longest time from a signal to the end of an idle node [s]."""

SHUTDOWN_LIMIT = 3.0
"""Greatest duration of a node's end [s]."""


class Exit:
    """A request to end a node's process.

    Attributes:
        code: the exit code once the end is requested, None until then.
    """

    def __init__(self) -> None:
        self.code: int | None = None

    def __call__(self, code: int) -> None:
        """Request the end after the running callback; the first code counts."""
        if self.code is None:
            self.code = code


def run(create: Callable[[Exit], ExceptionGuard]) -> int:
    """Run a node until its end is requested.

    Args:
        create: makes the node; its argument lets the node end its process. Exceptions of its callbacks are counted
            as faults.

    Returns:
        The exit code: 0 after a signal or a shutdown from outside, 1 if the node cannot do its task; one line then
        gives the reason.
    """
    end = Exit()
    node: Any = None

    def on_signal(*_: object) -> None:
        end(0)
        if node is None or node.may_be_cut_off:
            end_within(SHUTDOWN_LIMIT, end.code or 0)

    handle_signals(on_signal)
    announce_often()
    try:
        rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    except RuntimeError as problem:  # arguments or a parameter file that cannot be read
        print(f"error: {_one_line(problem)}", file=sys.stderr)
        return 1
    try:
        node = create(end)
    except (RobodynError, ParameterException) as problem:
        if end.code is None:  # else the end was requested meanwhile
            print(f"error: {_one_line(problem)}", file=sys.stderr)
            end(1)
        handle_signals(signal.SIG_IGN)
        end_within(SHUTDOWN_LIMIT, end.code or 0)
        rclpy.try_shutdown()
        return end.code or 0
    executor = EventsExecutor()
    executor.add_node(node)
    try:
        _spin(executor, end, node.faults)
    except ExternalShutdownException:
        end(0)
    except BaseException:
        end(1)
        raise
    finally:
        handle_signals(signal.SIG_IGN)
        end_within(SHUTDOWN_LIMIT, end.code or 0)
        deliver_answers(executor, node)
        executor.remove_node(node)
        executor.shutdown()
        node.destroy_node()
        rclpy.try_shutdown()
    return end.code or 0


def handle_signals(handler: Any) -> None:
    """Have a function called, or one of ``signal.SIG_…`` done, at the signals that end a node."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, handler)


def _spin(executor: Executor, end: Exit, faults: Faults) -> None:
    """Handle events until the end is requested; exceptions do not end it."""
    # The objects of the start live as long as the node: the garbage collector need not scan them every time.
    gc.collect()
    gc.freeze()
    while end.code is None and rclpy.ok():
        handle_event(executor, faults, SPIN_TIMEOUT)


def deliver_answers(executor: Executor, node: Any) -> None:
    """Let a node answer the clients that wait, and handle events until ``DELIVERY`` after its last answer."""
    if not rclpy.ok():
        return
    node.guarded(node.finish)()
    until = node.answered + DELIVERY  # answers from now on do not put it off
    with suppress(ExternalShutdownException):
        while (left := until - time.monotonic()) > 0.0:
            handle_event(executor, node.faults, left)


def handle_event(executor: Executor, faults: Faults, timeout: float) -> None:
    """Handle one event, or wait for one for a time at most [s]; its exception is counted.

    Raises:
        ExternalShutdownException: the context was shut down.
    """
    try:
        executor.spin_once(timeout_sec=timeout)
    except ExternalShutdownException:
        raise
    except InvalidHandle:  # an event of an entity that is destroyed now, such as a service's request
        return
    except Exception as problem:  # of an event without a guard, such as a future's or an action's
        faults.unforeseen(problem)


def tell(message: dict[str, Any]) -> None:
    """Print a message as a line of JSON for the parent process; without one, discard it."""
    try:
        print(json.dumps(message), flush=True)
    except BrokenPipeError:  # the rest of the stream and later messages are discarded
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


class _SigEvent(ctypes.Structure):
    """``struct sigevent`` of POSIX, as glibc and musl lay it out for SIGEV_THREAD; 64 bytes on a 64-bit system."""

    _fields_ = (
        ("value", ctypes.c_void_p),
        ("signal", ctypes.c_int),
        ("notify", ctypes.c_int),
        ("function", ctypes.c_void_p),
        ("attributes", ctypes.c_void_p),
        ("padding", ctypes.c_char * 32),
    )


class _TimerSpec(ctypes.Structure):
    """``struct itimerspec`` of POSIX."""

    _fields_ = (("interval", ctypes.c_long * 2), ("first", ctypes.c_long * 2))


SIGEV_THREAD = 2
"""Notification of a POSIX timer by a call in a thread of its own (Linux, ``bits/sigevent-consts.h``)."""


def end_within(limit: float, code: int) -> None:
    """End this process with an exit code after a time at the latest, even if its threads hang.

    A timer of POSIX calls ``_exit`` of the C library in a thread that never was Python's (timer_create(2),
    SIGEV_THREAD), so it needs no lock of the interpreter. A system without such timers has no limit.

    Args:
        limit: longest time until the end [s].
        code: the exit code if the process still runs then.
    """
    for stream in (sys.stdout, sys.stderr):  # their buffers would be lost
        with suppress(OSError, ValueError, RuntimeError):  # a signal may come in the middle of a flush
            stream.flush()
    libc, timer = ctypes.CDLL(None), ctypes.c_void_p()
    if not sys.platform.startswith("linux") or not hasattr(libc, "timer_create"):
        return
    leave = ctypes.cast(libc._exit, ctypes.c_void_p)
    event = _SigEvent(value=code, notify=SIGEV_THREAD, function=leave)
    whole = int(limit)
    spec = _TimerSpec(first=(whole, int(1e9 * (limit - whole))))
    if libc.timer_create(time.CLOCK_MONOTONIC, ctypes.byref(event), ctypes.byref(timer)) == 0:
        libc.timer_settime(timer, 0, ctypes.byref(spec), None)


def _one_line(problem: Exception) -> str:
    return " ".join(str(problem).split())
