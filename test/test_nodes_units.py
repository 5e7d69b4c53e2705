# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The parts of the nodes that need no graph."""

import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from weakref import ref

import numpy as np
import pytest
from geometry_msgs.msg import WrenchStamped
from sensor_msgs.msg import JointState

from robodyn_ros import load_robot
from robodyn_ros.control.core_library import core_structs
from robodyn_ros.control.parameter_file import read_parameters
from robodyn_ros.errors import ConfigurationError, NotReadyError, RobotDescriptionError
from robodyn_ros.nodes.common import client_library
from robodyn_ros.nodes.common.diagnostics import MOST_DIFFERENT, PAUSE, ExceptionGuard, Faults
from robodyn_ros.nodes.common.launching import accepted, chosen_joints, parameter_files, read_arm, read_urdf, root_link
from robodyn_ros.nodes.common.watch import Watch, check_start, rest_position
from robodyn_ros.nodes.controller.output import LoopStatistics, PublisherConflicts
from robodyn_ros.nodes.controller.realtime.periods import command_of
from robodyn_ros.nodes.controller.realtime.runner import CODE as RUNNER
from robodyn_ros.nodes.simulator import pace
from robodyn_ros.nodes.simulator.pace import Pacer
from robodyn_ros.nodes.simulator.topics import WrenchInput


def beats(pacer, now, most=10**6):
    """How many are due at once."""
    return next(count for count in range(most + 1) if count == most or not pacer.due(now))


def test_pacer_neither_drifts_nor_stumbles_over_late_timers():
    random = np.random.default_rng(4)
    pacer = Pacer(0.002, patience=0.5)
    calls = 100.0 + 0.002 * np.arange(5001) + random.uniform(-0.0004, 0.0004, 5001)
    due = [beats(pacer, now) for now in calls]
    assert set(due[1:]) == {1}
    assert sum(due) == pytest.approx(5000, abs=1)
    assert pacer.lost == 0.0


def test_pacer_lets_a_delay_be_made_up_for():
    pacer = Pacer(0.002, patience=0.5)
    assert not pacer.due(0.0)
    late = 0.1  # 50 periods
    due = [beats(pacer, late + 0.002 * call, most=4) for call in range(30)]
    assert due[0] == 4
    assert sum(due) == 50 + 29
    assert due[-1] == 1
    assert pacer.lost == 0.0


def test_pacer_gives_up_what_it_cannot_make_up_for_and_says_how_much():
    pacer = Pacer(0.002, patience=0.5)
    assert not pacer.due(0.0)
    done = sum(beats(pacer, 10.0 + 0.002 * call, most=4) for call in range(1000))
    assert pacer.lost == pytest.approx(9.5)
    assert done * 0.002 == pytest.approx(10.0 + 0.002 * 999 - pacer.lost)


def test_pacer_forgets_a_pause_and_takes_another_pace():
    pacer = Pacer(0.002, patience=0.5)
    assert not pacer.due(0.0)
    pacer.restart()
    assert [beats(pacer, now) for now in (60.0, 60.002)] == [0, 1]
    pacer.set_period(0.0002)
    assert [beats(pacer, now) for now in (60.01, 60.012)] == [0, 10]
    assert pacer.lost == 0.0


@pytest.mark.parametrize(("factor", "beats_made"), [(0.0, 400), (4.0, 100), (40.0, 400)])
def test_lockstep_waits_for_the_answer_and_is_no_faster_than_its_factor(monkeypatch, factor, beats_made):
    """Beats of 2 ms, each answered at once, and a look at the clock every 0.125 ms for 50 ms: 25 beats in real time."""
    now, timers, made = 0.0, [], []
    monkeypatch.setattr(pace, "monotonic", lambda: now)
    monkeypatch.setattr(pace, "steady_timer", lambda node, period, call: timers.append(call))

    def make_beat():
        made.append(now)
        lockstep.expect(len(made))

    node = SimpleNamespace(faults=Faults(print, lambda: now))
    lockstep = pace.Lockstep(node, 0.002, factor, make_beat, lambda: None)
    for begin in (0.0, 60.0):  # the second time after a pause
        now = begin
        lockstep.start()
        for call in range(400):
            now = begin + call * 0.05 / 400
            for timer in timers:
                timer()
            if lockstep.is_answer(len(made)):
                lockstep.answered()
        assert len(made) == pytest.approx(beats_made, abs=2)
        begun = len(made)
        lockstep.stop()
        made.clear()
        lockstep.answered()
    lockstep.start()
    made.extend([now] * begun)
    lockstep.expect(begun)
    now += 1.0
    for timer in timers:
        timer()
    lockstep.stop()
    assert len(made) <= begun + 1  # without an answer it stands still


NAMES = ("elevator", "shoulder", "wrist")


def watching(urdf):
    """Who watches an arm, and topic → what it does with a message."""
    heard = {}
    node = SimpleNamespace(create_subscription=lambda kind, topic, receive, qos: heard.setdefault(topic, receive))
    return Watch(node, load_robot(urdf)), heard


def test_a_reference_at_rest_stays_where_it_is_for_all_the_noise_of_the_states(prr):
    """An error is of an earlier state than the latest; with that one, a sensor's last digit was the begin of a motion,
    and a plan that the controller had refused was reported as followed."""
    watch, heard = watching(prr)
    rest, random, errors = np.array([0.3, -0.9, 0.4]), np.random.default_rng(1), []
    for k in range(1, 200):
        q = rest + random.choice([0.0, 1.5e-3], 3)  # an encoder of 4096 counts
        state, error = JointState(name=NAMES, position=q), JointState(name=NAMES, position=rest - q)
        for message in (state, error):
            message.header.stamp.nanosec = k * 2_000_000
        heard["joint_states"](state)
        errors.append(error)
        if k > 10:
            heard["controller/tracking_error"](errors[-10])
            assert not watch.has_left(rest)
    errors[-1].position = rest + 0.1 - q
    heard["controller/tracking_error"](errors[-1])
    assert watch.has_left(rest)


def test_a_continuous_joint_is_at_the_start_of_a_plan_in_any_turn(prr):
    """At the seam a last digit was the begin of a motion; after a turn the arm was not at the start."""
    watch, heard = watching(prr.replace("revolute", "continuous"))
    heard["joint_states"](JointState(name=NAMES, position=[0.3, 3.141, 0.4]))
    heard["controller/tracking_error"](JointState(name=NAMES, position=[0.0, 0.0006, 0.0]))
    start = np.array([0.3, -3.1416 + 2e-5, 0.4 - 4.0 * np.pi])
    assert not watch.has_left(start)
    check_start(watch, start)
    with pytest.raises(NotReadyError, match="joint 'elevator' is"):
        check_start(watch, start + [2.0 * np.pi, 0.0, 0.0])
    np.testing.assert_allclose(rest_position(watch), [0.3, 3.1416, 0.4])  # the reference, unless it is elsewhere
    heard["controller/tracking_error"](JointState(name=NAMES, position=[0.0, 0.03, 0.0]))
    np.testing.assert_allclose(rest_position(watch), [0.3, 3.141, 0.4])
    heard["joint_states"](JointState(name=NAMES, position=[0.3, 3.1, 0.4], velocity=[0.01, -0.03, 0.0]))
    with pytest.raises(NotReadyError, match=r"joint 'shoulder' by -0\.03 per s"):
        rest_position(watch)
    heard["joint_states"](JointState(name=NAMES, position=[0.3, 3.1, 0.4]))  # of drivers that give no velocity
    np.testing.assert_allclose(rest_position(watch), [0.3, 3.1, 0.4])


def test_a_position_that_is_no_number_is_not_known(prr):
    """As of a gripper that has not found its zero: no motion of the arm was planned beside it."""
    watch, heard = watching(prr)
    for finger in (0.02, float("nan")):
        heard["joint_states"](JointState(name=["finger", "thumb"], position=[finger, 0.1]))
    assert watch.known == {"finger": 0.02, "thumb": 0.1}


def test_the_time_of_states_in_parts_goes_back_only_if_that_of_all_joints_does(prr):
    """Each part has its own delay; markers had older stamps again and again. After a restart all joints begin anew."""
    (watch, heard), times = watching(prr), []
    for second in (10, 11, 0, 1):
        for names, lag in ((["elevator"], 0), (["shoulder", "wrist"], 4)):
            state = JointState(name=names, position=[0.1] * len(names))
            state.header.stamp.sec, state.header.stamp.nanosec = second, (5 - lag) * 100_000_000
            heard["joint_states"](state)
            times.append((watch.time, watch.restarts > 0))
    assert times[:4] == [(10.5, False), (10.5, False), (11.5, False), (11.5, False)]
    assert times[5:] == [(0.5, True), (1.5, True), (1.5, True)]


def test_what_is_destroyed_is_forgotten_and_nothing_else():
    node, kept, dropped = ExceptionGuard.__new__(ExceptionGuard), Faults(print), Faults(print)
    node.default_callback_group = SimpleNamespace(entities={ref(kept), ref(dropped)})
    del dropped
    node.forget_destroyed()
    assert node.default_callback_group.entities == {ref(kept)}


def test_faults_are_all_counted_but_not_all_said():
    said, now = [], [0.0]
    faults = Faults(said.append, lambda: now[0])
    for _ in range(100):
        faults.count("state refused", "NaN")
    faults.count("state too old", "1 s")
    assert faults.counts == {"state refused": 100, "state too old": 1}
    assert len(said) == 2
    now[0] = PAUSE
    faults.count("state refused", "NaN")
    assert len(said) == 3
    assert "101" in said[-1]
    assert faults.recent == ["state refused", "state too old"]  # the latest first
    now[0] = 1.5 * PAUSE
    assert faults.recent == ["state refused"]


def test_different_faults_of_one_kind_are_all_said():
    """As a client gets them that sends six wrong trajectories in a second; but a source of endless texts is bounded."""
    said = []
    faults = Faults(said.append, lambda: 0.0)
    for _ in range(3):
        for problem in (
            "joint 'a' at 3.1",
            "joint 'b' at 3.1",
            "no points",
            "times fall",
            "unknown joint",
            "not finite",
        ):
            faults.count("trajectory refused", problem)
    assert len(said) == 6
    faults.count("trajectory refused", "joint 'a' at -2.7e-3")  # the same, but for its number
    assert len(said) == 6
    for index in range(100):
        faults.count("trajectory refused", f"joint {'x' * index}")
    assert len(said) == MOST_DIFFERENT
    assert faults.counts["trajectory refused"] == 119


def period(begun, saturated, limited, age, blind=0):
    """A command as the statistics see it: of two joints, 1 and -2."""
    entry = core_structs(2, RUNNER).make_array("Entry", 1)
    for name, value in {"begun": begun, "done": begun + 0.0004, "age": age, "blind": blind, "kind": -1}.items():
        entry[name] = value
    rows = np.repeat(np.arange(-5.0, 7.0), 2).reshape(12, 2)  # the terms begin at 0
    rows[:3] = [1.0, -2.0], saturated, limited
    entry["rows"] = rows.ravel()
    return entry, command_of(entry[0])


def test_statistics_of_a_loop():
    statistics = LoopStatistics(["lift", "turn"])
    for begun, saturated in ((0.0, False), (0.002, False), (0.005, True)):
        statistics.add(*period(begun, [False, saturated], [True, False], 0.001), overrun=0.0025)
    found = statistics.report()
    assert found["commands"] == 3
    assert found["period mean [ms]"] == pytest.approx(2.5)
    assert found["period greatest [ms]"] == pytest.approx(3.0)
    assert found["period p99 [ms]"] == pytest.approx(2.99)
    assert found["period overruns since start"] == 1
    assert found["latency p99 [ms]"] == pytest.approx(0.4)
    assert found["latency (state's stamp to command sent) median [ms]"] == pytest.approx(1.4)
    assert found["saturated [%]"] == found["saturated turn [%]"] == pytest.approx(100.0 / 3.0)
    assert (found["saturated lift [%]"], found["rate limited lift [%]"]) == (0.0, 100.0)
    assert (found["effort sent"], found["effort gravity"], found["effort total"]) == ("1 -2", "0 0", "6 6")
    statistics.interrupted()
    statistics.add(*period(9.0, [0, 0], [0, 0], 0.0), overrun=0.0025)  # after a pause: no period of 9 s
    statistics.add(*period(9.5, [1, 1], [0, 0], 0.2, blind=1), overrun=0.0025)
    found = statistics.report()
    assert (found["commands since start"], found["saturated [%]"]) == (5, 50.0)
    assert "period mean [ms]" not in found
    assert found["period overruns since start"] == 1


def test_a_second_publisher_of_the_node_s_own_name_counts_if_it_stays():
    """One that the node has destroyed is listed for a while."""
    there = {"~/commands": ["arm"], "~/mit_commands": ["arm"], "joint_states": ["driver", "gripper"]}
    node = SimpleNamespace(
        get_name=lambda: "arm",
        get_namespace=lambda: "/",
        resolve_topic_name=str,
        count_publishers=lambda topic: len(there.get(topic, ())),
        get_publishers_info_by_topic=lambda topic: [
            SimpleNamespace(node_name=name, node_namespace="/") for name in there[topic]
        ],
    )
    conflicts = PublisherConflicts(node)
    for topic in ("~/commands", "~/mit_commands"):
        for _ in range(2):
            there[topic].append("arm")
            assert conflicts.scan(2) == ""
            there[topic].pop()
            assert conflicts.scan(2) == ""
    there["~/commands"] *= 2
    assert [conflicts.scan(2) for _ in range(2)] == ["", "~/commands has 2 publishers (arm, arm), not 1"]
    there["~/commands"][0] = "other"
    assert conflicts.scan(2) == "~/commands has 2 publishers (arm, other), not 1"
    del there["~/commands"]
    assert (conflicts.scan(2), conflicts.scan(1)) == ("", "joint_states has 2 publishers (driver, gripper), not 1")


def test_a_missing_input_is_said_at_the_second_check_and_again_after_a_while_as_a_warning(monkeypatch):
    """A check every second; "" stands for no missing input."""
    said, told, checks, now = [], [], [], 0
    awaited = ["a", "", "a", "a", "a", "a", "a", "b", "b", "", "b"]
    monkeypatch.setattr(client_library, "REPEAT", 3.0)
    monkeypatch.setattr(client_library, "monotonic", lambda: 100.0 + now)
    monkeypatch.setattr(client_library, "steady_timer", lambda node, period, check: checks.append(check))
    log = SimpleNamespace(info=lambda text: said.append((now, text)), warning=lambda text: said.append((-now, text)))
    node = SimpleNamespace(get_logger=lambda: log)
    client_library.say_awaited(node, lambda: awaited[now], lambda: told.append(now))
    while now < len(awaited):
        checks[0]()
        now += 1
    assert said == [(3, "waiting for a"), (-6, "waiting for a"), (8, "waiting for b")]
    assert told == [0, 1, 2, 7, 9, 10]


def test_what_the_launch_files_read(tmp_path):
    for folder in ("urdf", "config"):
        (tmp_path / folder).mkdir()
    own = tmp_path / "urdf" / "arm.urdf"
    own.write_text('<robot name="a"><joint><child link="tip"/></joint><link name="tip"/><link name="root"/></robot>')
    config = tmp_path / "config" / "arm.yaml"
    config.write_text("/**: {ros__parameters: {seed: 1}}\n/**/simulator: {ros__parameters: {seed: 2}}")
    other = tmp_path / "other.yaml"
    other.write_text(config.read_text().replace("2", "3"))
    urdf = own.read_text()
    assert read_urdf("arm", tmp_path) == read_urdf(str(own), tmp_path) == urdf
    assert root_link(urdf) == "root"
    assert parameter_files(str(own), "", tmp_path, "simulator") == []
    for given, seed in (("", 2), (str(other), 3)):
        for namespace in ("", "left"):  # where a file that names nodes without a namespace would have no effect
            (made,) = parameter_files("arm", given, tmp_path, "simulator", namespace)
            assert read_parameters(Path(made), "any") == {"seed": seed}
        (made,) = parameter_files("arm", given, tmp_path, "viewer", named=True)
        assert read_parameters(Path(made), "any") == {}
        (made,) = parameter_files("arm", given, tmp_path, "simulator", "left", named=True)
        assert read_parameters(Path(made), "any") == {"seed": seed}
    with pytest.raises(ConfigurationError, match=r"robot: leg: cannot be read.*; the arms of this package are arm$"):
        read_urdf("leg", tmp_path)
    with pytest.raises(ConfigurationError, match=r"robot: no/such.urdf: .*; the arms of this package are arm$"):
        read_urdf("no/such.urdf", tmp_path)
    with pytest.raises(ConfigurationError, match=r"robot: leg: [^(]* \(pr, prr, r, rr, two_link\)$"):  # once
        read_urdf("leg", Path(__file__).parents[1])
    with pytest.raises(ConfigurationError, match="no file"):
        parameter_files("arm", "nowhere.yaml", tmp_path, "simulator")
    with pytest.raises(RobotDescriptionError, match="malformed XML"):
        root_link("<robot")


def test_the_file_of_a_launch_is_deleted_at_its_end(tmp_path):
    (tmp_path / "arm.yaml").write_text("simulator: {ros__parameters: {rate: 250.0}}")
    code = "import sys, pathlib, robodyn_ros.nodes.common.launching as l\n"
    code += "(made,) = l.parameter_files('', sys.argv[1], pathlib.Path(), 'simulator')\n"
    code += "print(made, pathlib.Path(made).exists())"
    run = [sys.executable, "-c", code, str(tmp_path / "arm.yaml")]
    made, existed = subprocess.run(run, capture_output=True, text=True, check=True).stdout.split()
    assert existed == "True" and not Path(made).exists()


@pytest.mark.parametrize(
    ("given", "names"), [("", []), ("none", []), ("movable_base", ["movable_base"]), (" a, b ,c", ["a", "b", "c"])]
)
def test_the_launch_argument_accept_is_a_list_of_names(given, names):
    assert accepted({"accept": given}).get("accept", []) == names


def test_a_launch_refuses_an_arm_that_its_nodes_would_refuse(tmp_path, prr):
    """Before it starts them, as ros2 launch has no exit code for a node that ends. The file's accept counts."""
    (tmp_path / "arm.yaml").write_text("/**: {ros__parameters: {accept: [repaired_inertia]}}")
    urdf = prr.replace('ixx="0.1131"', 'ixx="50.0"')
    assert urdf != prr
    files = parameter_files("", str(tmp_path / "arm.yaml"), tmp_path, "controller")
    given = {"accept": "none", "root": "", "tip": "arm"}
    assert chosen_joints(given, read_arm(given, urdf, files)) == {"joints": ["elevator", "shoulder"]}
    assert chosen_joints(given | {"tip": ""}, read_arm(given | {"accept": "impossible_inertia"}, urdf, [])) == {}
    with pytest.raises(RobotDescriptionError, match="accept 'repaired_inertia'"):
        read_arm(given, urdf, [])
    with pytest.raises(ConfigurationError, match="is it 'repaired_inertia'"):
        read_arm(given | {"accept": "repaired_inertias"}, prr, [])


def test_a_push_ends_also_after_a_reset():
    """One that comes between the reset and the first step of time after it, as while the simulation is paused."""
    heard, done = [], []
    faults = SimpleNamespace(counting=lambda kind: nullcontext())
    node = SimpleNamespace(create_subscription=lambda kind, topic, call, qos: heard.append(call), faults=faults)
    outside = SimpleNamespace(release=lambda: done.append("release"), push=lambda link, *_: done.append(link))
    wrenches = WrenchInput(node, outside, "tool", 0.2)
    wrenches.expire(3.0)
    assert not done
    for now in (3.0, 0.0):  # a reset before the second
        heard[0](WrenchStamped())
        wrenches.expire(now)
        wrenches.expire(now + 0.15)
        assert done == ["release", "tool"], now
        wrenches.expire(now + 0.25)
        assert done.pop() == "release", now
        done.clear()
