# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The conductor alone, while nobody plays; test_nodes_start.py has what it says of wrong parameters."""

import signal
from concurrent.futures import Future
from types import SimpleNamespace

from robodyn_ros.nodes.common.executor import Exit
from robodyn_ros.nodes.common.script import RETRY_PERIOD, RepeatedRequest, ScriptRunner, ScriptStep


def test_it_ends_cleanly_while_it_waits(graph, tmp_path):
    motion = {"joints": ["elevator", "shoulder"], "times": [0.0, 1.0], "waypoints": [0.0, 0.0, 1.0, 1.0]}
    conductor = graph.start("conductor", **motion, record=str(tmp_path / "record.npz"))
    graph.wait(lambda: graph.has("conductor"), "conductor")
    conductor.stop(signal.SIGTERM)


def test_a_script_goes_on_as_far_as_it_can_and_tells_what_it_lacks():
    now, come, done, said = [0.0], set(), [], []
    logger = SimpleNamespace(error=said.append)
    node = SimpleNamespace(get_logger=lambda: logger, create_timer=lambda *args, **options: None)

    def script():
        try:
            for name, longer in (("one", 0.0), ("two", 0.0), ("three", 5.0)):
                yield ScriptStep(name, lambda name=name: name in come, longer)
                done.append(name)
        finally:
            done.append("end")

    end = Exit()
    runner = ScriptRunner(node, end, script(), 2.0, 1.0, lambda: now[0])
    come.update({"two", "three"})
    runner.advance()
    assert done == []
    come.clear()
    come.add("one")
    now[0] = 2.0
    runner.advance()
    assert done == ["one"]
    assert end.code is None
    now[0] = 4.5
    runner.advance()
    assert (end.code, said) == (1, ["no sign of two, after 2 s"])
    assert done == ["one", "end"]  # what it does in the end is done, whatever it lacks

    done.clear()
    come.update({"one", "two"})
    end = Exit()
    runner = ScriptRunner(node, end, script(), 2.0, 1.0, lambda: now[0])
    runner.advance()
    now[0] = 11.0
    runner.advance()
    assert end.code is None
    come.add("three")
    runner.advance()
    assert end.code == 0
    assert done == ["one", "two", "three", "end"]


def test_a_request_whose_answer_is_lost_is_sent_again():
    now, sent = [0.0], []
    client = SimpleNamespace(call_async=lambda request: sent.append((request, Future())) or sent[-1][1])
    asked = RepeatedRequest(client, "pause", lambda: now[0])
    for second in (0.5 * RETRY_PERIOD, 1.1 * RETRY_PERIOD, 1.9 * RETRY_PERIOD, 2.3 * RETRY_PERIOD):
        now[0] = second
        assert not asked.done()
    assert [request for request, _ in sent] == ["pause"] * 3
    sent[1][1].set_result("paused")
    assert asked.done()
    assert asked.result() == "paused"
