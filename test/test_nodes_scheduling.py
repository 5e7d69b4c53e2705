# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Real-time scheduling of the nodes, as far as the system permits it."""

import os
import threading
from contextlib import suppress
from pathlib import Path

from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState

from robodyn_ros.nodes.common import scheduling
from robodyn_ros.nodes.common.client_library import once_running
from robodyn_ros.nodes.common.scheduling import Scheduling, SchedulingSettings, declare_scheduling


def policies(pid):
    """How the threads of a process are scheduled: thread → policy and priority."""
    found = {}
    for thread in map(int, os.listdir(f"/proc/{pid}/task")):
        with suppress(ProcessLookupError):  # it has ended meanwhile
            policy = os.sched_getscheduler(thread) & ~os.SCHED_RESET_ON_FORK
            found[thread] = policy, os.sched_getparam(thread).sched_priority
    return found


def permitted():
    """Whether this system lets a thread of ours have a real-time priority."""
    answer = []

    def attempt():
        try:
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
            answer.append(True)
        except PermissionError:
            answer.append(False)

    thread = threading.Thread(target=attempt)
    thread.start()
    thread.join()
    return answer[0]


def test_a_controller_has_its_priority_while_it_is_active(fresh, prr):
    last = max(os.sched_getaffinity(0))
    controller = fresh.start(
        "controller", robot_description=prr, thread_priority=37, cpu_affinity=[last], lock_memory=True, realtime="off"
    )
    before = ("unconfigured", "inactive")
    fresh.wait(lambda: fresh.diagnostics("controller")["message"] not in before, "an active controller")
    said = fresh.diagnostics("controller")["scheduling"]
    found = policies(controller.pid)
    if permitted():
        assert said == "SCHED_FIFO 37"
        assert found[controller.pid] == (os.SCHED_FIFO, 37)
        # A state comes through the middleware's threads; those of Python's that wait for work are not among them.
        assert 1 < list(found.values()).count((os.SCHED_FIFO, 37)) <= len(found)
    else:
        assert said == "ordinary; SCHED_FIFO 37 is refused"
        assert set(found.values()) == {(os.SCHED_OTHER, 0)}
    assert all(os.sched_getaffinity(thread) == {last} for thread in found)
    locked = Path(f"/proc/{controller.pid}/status").read_text().split("VmLck:")[1].split()[0]
    assert (int(locked) > 0) != ("lock_memory has no effect" in controller.output)
    transition = Transition(id=Transition.TRANSITION_DEACTIVATE)
    assert fresh.call(ChangeState, "controller/change_state", transition=transition).success
    assert set(policies(controller.pid).values()) == {(os.SCHED_OTHER, 0)}
    assert fresh.diagnostics("controller")["scheduling"].startswith("ordinary")


def test_threads_that_plan_stay_ordinary_and_processors_awake_while_it_is_active(graph, monkeypatch, tmp_path):
    kernel, raised, done = tmp_path / "cpu_dma_latency", {}, threading.Event()
    kernel.write_bytes(b"    ")
    monkeypatch.setattr(scheduling, "DMA_LATENCY", kernel)
    monkeypatch.setattr(os, "sched_setscheduler", lambda thread, policy, p: raised.update({thread: (policy, p)}))
    declare_scheduling(graph.node, SchedulingSettings(thread_priority=12))
    planner = threading.Thread(target=done.wait)
    planner.start()
    made = Scheduling(graph.node)

    def is_open():
        held = [Path(f"/proc/self/fd/{name}") for name in os.listdir("/proc/self/fd")]
        return any(entry.exists() and entry.samefile(kernel) for entry in held)

    try:
        once_running(graph.node, made.begin)
        graph.wait(is_open, "the executor to run it")
    finally:
        done.set()
        planner.join()
    assert kernel.read_bytes() == bytes(4)  # no latency at all
    assert planner.native_id not in raised
    policy, priority = raised[threading.get_native_id()]
    assert (policy, priority.sched_priority) == (os.SCHED_FIFO | os.SCHED_RESET_ON_FORK, 12)
    assert made.state == "SCHED_FIFO 12"
    made.end()
    assert raised[threading.get_native_id()][0] == os.SCHED_OTHER | os.SCHED_RESET_ON_FORK
    assert made.state == "ordinary" and not is_open()
    monkeypatch.setattr(scheduling, "DMA_LATENCY", tmp_path / "nowhere" / "cpu_dma_latency")
    made.begin()  # goes on where it is not permitted
    assert made.state == "SCHED_FIFO 12"
    made.end()


def test_what_is_not_permitted_is_said_and_memory_is_not_locked_under_a_limit(graph, monkeypatch):
    """For then an allocation would fail some day."""

    def refuse(*_):
        raise PermissionError(1, "Operation not permitted")

    graph.node.declare_parameter("lock_memory", True)
    declare_scheduling(graph.node, SchedulingSettings())
    monkeypatch.setattr(scheduling.resource, "getrlimit", lambda _: (8 << 20, 8 << 20))
    monkeypatch.setattr(scheduling, "CAP_IPC_LOCK", 63)  # which nobody has
    monkeypatch.setattr(os, "sched_setscheduler", refuse)
    made = Scheduling(graph.node)
    assert "VmLck:\t       0 kB" in Path("/proc/self/status").read_text()
    made.begin()
    assert made.state == "ordinary; SCHED_FIFO 50 is refused"
    made.end()
    monkeypatch.delattr(scheduling.os, "sched_setscheduler")  # as on systems that have no such thing
    made.begin()
    assert made.state == "ordinary; SCHED_FIFO 50 is refused"
