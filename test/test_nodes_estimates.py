# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A disk that is slow, full or does not answer: the loop never waits for it."""

import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

import robodyn_ros as rd
from robodyn_ros.control.laws.adaptive import Adaptive
from robodyn_ros.control.laws.memory_file import write_memory
from robodyn_ros.errors import ConfigurationError, NotReadyError
from robodyn_ros.nodes.controller import estimates

PRR = Path(__file__).parents[1] / "urdf" / "prr.urdf"


@pytest.fixture
def disk(monkeypatch):
    """Whether the disk answers, and how many have waited for it."""
    found = SimpleNamespace(answers=threading.Event(), asked=0)

    def slowly(act):
        def do(*given):
            found.asked += 1
            assert found.answers.wait(60.0)
            return act(*given)

        return do

    for name in ("write_memory", "read_memory"):
        monkeypatch.setattr(estimates, name, slowly(getattr(estimates, name)))
    monkeypatch.setattr(estimates, "DISK_LIMIT", 0.05)
    yield found
    found.answers.set()


@pytest.fixture
def made(monkeypatch, tmp_path):
    """What makes the part of a node, and all that it says."""
    law = Adaptive(rd.create_dynamics("rnea", rd.load_robot(PRR)), kp=100.0, kd=20.0)
    path, said = tmp_path / "learnt.yaml", []
    timer = SimpleNamespace(cancel=lambda: None, reset=lambda: None)
    monkeypatch.setattr(estimates, "steady_timer", lambda *_, **__: timer)
    monkeypatch.setattr(estimates, "NodeParameters", lambda node: {estimates.FILE: str(path)})
    node = SimpleNamespace(
        create_publisher=lambda *_: SimpleNamespace(publish=lambda message: None),
        executor=None,
        get_logger=lambda: SimpleNamespace(error=said.append),
    )
    return SimpleNamespace(make=lambda: estimates.Estimates(node, SimpleNamespace(law=law)), path=path, said=said)


def test_a_service_that_saves_waits_for_the_disk_and_nobody_else_does(made, disk):
    disk.answers.set()
    part = made.make()
    disk.answers.clear()
    answer = part.begin_to_save()
    assert not answer.done()  # the callback is back, and the disk has not answered
    with pytest.raises(NotReadyError, match="is being written"):
        part.begin_to_save()
    part._answer_if_saved()
    assert not answer.done()
    disk.answers.set()
    part._writing.wait(60.0)
    part._answer_if_saved()
    success, message = answer.result()
    assert success and message == f"saved to {made.path}"
    assert made.path.exists()


def test_two_calls_that_save_between_two_checks_of_the_disk_are_both_answered(made):
    part = made.make()
    answers = []
    for _ in range(2):
        answers.append(part.begin_to_save())
        assert part._writing.wait(60.0)
    part._answer_if_saved()
    assert [answer.result() for answer in answers] == [(True, f"saved to {made.path}")] * 2


def test_the_end_of_a_node_does_not_wait_for_ever(made, disk):
    disk.answers.set()
    part = made.make()
    disk.answers.clear()
    part.save_if_named()
    assert made.said == [f"estimates_file: {made.path} is not written within 0.05 s"]


def test_a_file_that_is_not_read_in_time_is_an_error(made, disk):
    with pytest.raises(ConfigurationError, match=r"learnt.yaml is not read within 0.05 s"):
        made.make()


def test_a_full_disk_is_said(made, monkeypatch):
    part = made.make()
    monkeypatch.setattr(estimates, "write_memory", lambda path, memory: write_memory("/dev/full/learnt.yaml", memory))
    part.save_if_named()
    assert len(made.said) == 1
    assert "cannot be written" in made.said[0]


@pytest.mark.parametrize(
    ("where", "said"), [("missing/learnt.yaml", "there is no folder"), ("~nobody_known/learnt.yaml", "home folder")]
)
def test_a_file_that_can_never_be_written_is_found_at_the_start(made, monkeypatch, tmp_path, where, said):
    """It was found when the node ended, and all that was learnt was lost."""
    path = where if where.startswith("~") else str(tmp_path / where)
    monkeypatch.setattr(estimates, "NodeParameters", lambda node: {estimates.FILE: path})
    with pytest.raises(ConfigurationError, match=f"^estimates_file: .*{said}"):
        made.make()
