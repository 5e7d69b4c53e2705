# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The safety contract: every fault of docs/safety.md, injected into the running node over real DDS.

How long it takes from the fault to the safe output is printed: ``make test TEST="test/test_nodes_faults.py -s"``. By
the controller's clock these times are exact, and test_control_safety.py has them; ``make faults`` measures them.
"""

import copy
import itertools
import math
import re
import sys
import time
from pathlib import Path

import faulty_plugins
import numpy as np
import pytest
from fault_rig import DRIFT, EXACT, FREQUENCY, NAMES, NEAR, PERIOD, POSE, Rig, older, unchanged
from ros_graph import own_graph, server
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from robodyn_ros.nodes.common.client_library import LATCHED

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
import node_faults

LASTING = {"max_duration": 600.0}
"""The arm is held without states until a test has seen it, however busy the machine is."""

FAR = np.array([1.0, 4.0, 4.0])
"""Further than the joints go in half a second: no gap in the states, which a busy machine may make, explains it."""


@pytest.fixture(scope="module")
def rig(tmp_path_factory, prr):
    server()  # before the path has the plugins, which other tests' nodes are not to find
    folder = tmp_path_factory.mktemp("faults")
    faulty_plugins.install(folder / "plugins")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", f"{folder / 'plugins'}:{Path(__file__).parent}")
        with own_graph(folder) as graph:
            # This driver's arm stands and says that it moves, which no arm does.
            lasting = {kind: dict(LASTING) for kind in ("states", "sensor", "publisher")}
            graph.frequency = FREQUENCY
            given = {"diagnostics_rate": 50.0, "plausibility": False, "faults": lasting}
            controller = graph.start("controller", dynamics="moody", **given, **EXACT)
            descriptions = graph.node.create_publisher(String, "robot_description", LATCHED)
            descriptions.publish(String(data=prr))
            rig = Rig(graph, prr)
            rig.descriptions, rig.controller = descriptions, controller
            yield rig
            rig.close()


@pytest.fixture
def report(request, capsys):
    """Prints a time."""

    def reported(took):
        with capsys.disabled():
            print(f"\n  {request.node.name}: safe output after {1e3 * took:.0f} ms", end="")

    return reported


def changed(**fields):
    def change(message):
        for name, value in fields.items():
            setattr(message, name, value)
        return message

    return change


UNUSABLE = {
    "silence": ("no joint states", lambda message: None),
    "too old": ("state too old", lambda message: older(message, 0.2)),
    "position not a number": ("state refused", changed(position=[0.5, math.nan, 0.25])),
}
"""Fault → what it is counted as, and the change of the states that makes it; test_nodes_states.py has more of them."""


@pytest.mark.parametrize("fault", UNUSABLE)
def test_states_that_cannot_be_used(rig, report, fault):
    """Gravity at the last good position, without feedback, once none was good for state_timeout."""
    kind, change = UNUSABLE[fault]
    with rig.fault(kind) as begin:
        rig.change = change
        took = rig.until_blind(begin)
        said = "no joint states: hold"
        rig.graph.wait(lambda: said in rig.graph.diagnostics("controller")["message"], said)
    report(took)


def test_silence_is_answered_for_a_while_and_then_with_silence(rig):
    """Hold for max_duration, then nothing; and all by itself again when states come back."""
    rig.as_usual()
    rig.acknowledge()
    rig.as_usual()
    assert rig.graph.set("controller", faults__states__max_duration=0.2)[0].successful
    rig.as_usual()
    begin = time.monotonic()
    rig.change = UNUSABLE["silence"][1]
    rig.until_blind(begin)
    rig.graph.wait(lambda: rig.graph.diagnostics("controller")["message"] == "no joint states: silent", "silence")

    def no_more():
        count = len(rig.commands)
        rig.graph.diagnostics("controller")
        return len(rig.commands) == count

    rig.graph.wait(no_more, "the last command")
    efforts = np.array([message.effort for when, message in rig.commands if when > begin])
    blind = np.flatnonzero((np.abs(efforts - rig.blind) < 1e-6).all(axis=1))
    np.testing.assert_array_equal(blind, np.arange(blind[0], len(efforts)))  # to the end the weight is carried
    rig.as_usual()
    assert rig.graph.set("controller", faults__states__max_duration=LASTING["max_duration"])[0].successful


def test_200_ms_without_a_state_are_survived(rig):
    rig.as_usual()
    rig.acknowledge()
    begin = time.monotonic()
    rig.change = lambda message: message if time.monotonic() > begin + 0.2 else None
    rig.graph.wait(lambda: time.monotonic() > begin + 0.2, "the end of the gap")
    rig.until("the usual command", rig.usual, begin + 0.2)  # blended in
    efforts = np.array([message.effort for when, message in rig.commands if when > begin])
    # The drives hold on to what damps the drift until the states are missed, so the model has the arm go back then, at
    # up to three times its speed, and stops that.
    assert np.abs(efforts - rig.usual).max() <= 4.1 * np.abs(rig.blind - rig.usual).max()


def test_other_joints_and_another_order(rig):
    """No fault: joints are matched by name."""
    assert list(rig.commands[-1][1].name) == NAMES
    mixed = changed(
        name=["gripper", "wrist", "elevator", "finger", "shoulder"],
        position=[math.nan, POSE[2], POSE[0], 9.0, POSE[1]],
        velocity=[0.0, DRIFT[2], DRIFT[0], math.inf, DRIFT[1]],
    )
    rig.as_usual()
    before = rig.count("state refused")
    begin = time.monotonic()
    rig.change = mixed
    rig.graph.wait(lambda: len(rig.stamps(begin)) > 50, "commands")
    rig.until("the usual command", rig.usual, begin + 0.05)
    assert rig.count("state refused") == before


def test_velocities_are_estimated_where_that_is_asked_for(rig):
    rig.as_usual()
    assert rig.graph.set("controller", missing_velocity="estimate")[0].successful
    begin = time.monotonic()
    rig.change = changed(velocity=[])
    still = rig.blind  # it stands: no damping
    rig.until("the command of an arm at rest", still, begin)
    rig.graph.wait(lambda: rig.graph.diagnostics("controller")["message"].startswith("hold"), "no fault")
    rig.until("the same command without a fault", still, time.monotonic())
    assert rig.graph.set("controller", missing_velocity="refuse")[0].successful
    rig.as_usual()


def test_one_stamp_out_of_order(rig):
    states = itertools.count()
    with rig.undisturbed():
        before = rig.count("state out of order")
        rig.change = lambda m: older(m, 0.02) if next(states) % 10 == 5 else m
        rig.graph.wait(lambda: rig.count("state out of order") > before + 3, "stamps to be counted")
    rig.as_usual()


def test_a_joint_that_is_too_fast(rig, report):
    with rig.fault("too fast") as begin:
        fast = DRIFT + [2.5, 0.0, 0.0]
        rig.change = changed(velocity=fast.tolist())
        limit = np.array([600.0, 96.0, 36.0])
        took = rig.until("the reaction", np.clip(rig.blind - rig.damping * fast, -limit, limit), begin, near=NEAR)
    report(took)


@pytest.mark.parametrize(
    ("topic", "kind", "reaction"),
    [
        ("controller/commands", Float64MultiArray, "damp"),
        ("controller/joint_commands", JointState, "hold"),
        ("controller/mit_commands", Float64MultiArray, "hold"),
        ("controller/reference", JointState, "damp"),
        ("joint_states", JointState, "hold"),
        ("joint_states", JointState, "damp"),
    ],
)
def test_a_second_publisher(rig, report, topic, kind, reaction):
    assert rig.graph.set("controller", faults__publisher__reaction=reaction)[0].successful
    with rig.fault("second publisher") as begin:
        intruders = [rig.graph.node.create_publisher(kind, topic, 1)]
        if topic == "controller/reference":
            intruders.append(rig.graph.node.create_publisher(kind, topic, 1))
        took = rig.until("the reaction", rig.seeing if reaction == "hold" else rig.damped, begin, near=NEAR)
        for intruder in intruders:
            rig.graph.node.destroy_publisher(intruder)
    report(took)
    assert rig.graph.set("controller", faults__publisher__reaction="hold")[0].successful


def test_velocities_that_contradict_the_positions(rig, report):
    """Nothing of the states is used then; they are accepted again when that is acknowledged.

    Positions jump to and fro.
    """
    signs = itertools.cycle((1.0, -1.0))
    try:
        rig.set(plausibility=True)
        with rig.fault("sensor fault") as begin:
            rig.change = lambda message: changed(position=(POSE + next(signs) * np.array([1.0, 4.0, 4.0])).tolist())(
                message
            )
            took = rig.until_blind(begin)
            rig.graph.wait(lambda: "sensor fault" in rig.graph.diagnostics("controller")["message"], "it to be said")
            rig.change = unchanged
            assert rig.graph.set("controller", plausibility=False)[0].successful
        report(took)
    finally:
        assert rig.graph.set("controller", plausibility=False)[0].successful


def test_a_second_source_of_states(rig):
    """Its states are refused until the graph shows it, and then the arm is held; a parameter allows several.

    After a gap in the states, nobody knows which of the two is the arm: it is held blind.
    """
    expected = [rig.usual, rig.seeing, rig.blind]  # or between them, and nowhere else
    try:
        rig.set(plausibility=True)
        with rig.fault("second publisher") as begin:
            intruder = rig.graph.node.create_publisher(JointState, "joint_states", 1)

            def double(message):
                elsewhere = changed(position=(POSE + FAR).tolist(), velocity=[0.0] * 3)
                intruder.publish(elsewhere(older(copy.deepcopy(message), 1e-4)))
                return older(message, -1e-4)

            def held():
                efforts = [message.effort for when, message in rig.commands if when > begin]
                return any(np.allclose(effort, each, atol=NEAR) for effort in efforts for each in expected[1:])

            try:
                rig.change = double
                rig.graph.wait(held, "the reaction")
                efforts = np.array([message.effort for when, message in rig.commands if when > begin])
                assert (efforts > np.min(expected, axis=0) - NEAR).all()
                assert (efforts < np.max(expected, axis=0) + NEAR).all()
                assert rig.graph.set("controller", state_publishers=2)[0].successful
                rig.change = unchanged
                rig.until("the usual command", rig.usual, time.monotonic())
            finally:
                rig.change = unchanged
                rig.graph.node.destroy_publisher(intruder)
    finally:
        assert rig.graph.set("controller", state_publishers=1, plausibility=False)[0].successful


@pytest.mark.parametrize(
    ("mood", "said"),
    [
        (faulty_plugins.RAISES, "told to"),
        # The loop asks for it, and the law; who comes first after the delay says so.
        (faulty_plugins.GARBAGE, "gravity of (the dynamics plugin is no 3 finite numbers|compute is not finite)"),
    ],
)
def test_a_plugin_that_raises_or_gives_garbage(rig, report, mood, said):
    with rig.fault("control law failed") as begin, rig.payload(mood):
        took = rig.until("the seeing reaction", rig.seeing, begin, near=NEAR) - faulty_plugins.DELAY
        rig.graph.wait(lambda: rig.count("control law failed"), "it to be counted")
    rig.graph.wait(lambda: re.search(said, rig.controller.output), "it to be said what it did")
    report(took)


def test_an_overrun_of_the_period(rig):
    """Counted; the newest state is answered, none is queued, and services are still served."""
    rig.as_usual()
    key = "period overruns since start"
    before = rig.count(key)
    with rig.payload(faulty_plugins.SLOW):
        rig.graph.wait(lambda: rig.count(key) > before + 3, "overruns to be counted")
        begin = time.monotonic()

        def leaves_out():
            stamps = rig.stamps(begin)[-6:]
            return len(stamps) > 5 and np.median(np.diff(stamps)) > 4.0 * PERIOD

        # Each answers the newest state: those that came meanwhile are left out. From a queue it would be the next one.
        rig.graph.wait(leaves_out, "commands to the newest states")
    rig.as_usual()


def point(*positions, after=1.0, **fields):
    made = JointTrajectoryPoint(positions=list(positions), **fields)
    made.time_from_start.sec, made.time_from_start.nanosec = int(after), int(after % 1.0 * 1e9)
    return made


REFERENCES = {
    "not a number": JointState(name=["wrist"], position=[math.nan]),
    "outside": JointState(name=["wrist"], position=[3.0]),
    "too fast": JointState(name=["wrist"], position=[0.25], velocity=[9.0]),
    "unknown joint": JointState(name=["elbow"], position=[0.0]),
    "trajectory of two numbers for a joint": JointTrajectory(joint_names=["wrist"], points=[point(0.1, 0.2)]),
    "trajectory not a number": JointTrajectory(joint_names=["wrist"], points=[point(math.inf)]),
    "trajectory outside": JointTrajectory(joint_names=["wrist"], points=[point(3.0)]),
    "trajectory too fast": JointTrajectory(joint_names=["wrist"], points=[point(1.25, after=0.1)]),
    "trajectory without a rest": JointTrajectory(joint_names=["wrist"], points=[point(0.3, velocities=[0.1])]),
}


def test_references_that_cannot_be(rig):
    """Refused and counted; the arm goes on as before."""
    publishers = {
        JointState: rig.graph.talk(JointState, "controller/reference"),
        JointTrajectory: rig.graph.talk(JointTrajectory, "controller/joint_trajectory"),
    }
    with rig.undisturbed():
        for message in REFERENCES.values():
            kind = "reference refused" if isinstance(message, JointState) else "trajectory refused"
            before = rig.count(kind)

            def counted(kind=kind, before=before):
                return rig.count(kind) > before

            rig.graph.send(publishers[type(message)], message, counted, f"{kind}: {message}")
    assert "reference age [s]" not in rig.graph.diagnostics("controller")
    good = JointState(name=["wrist"], position=[POSE[2]])

    def taken():
        return float(rig.graph.diagnostics("controller").get("reference age [s]", 9.0)) < 1.0

    rig.graph.send(publishers[JointState], good, taken, "the age of a good one")
    for publisher in publishers.values():
        rig.graph.node.destroy_publisher(publisher)


def test_parameters_that_are_not_numbers(rig):
    rig.as_usual()
    for name, value in {
        "effort_limits__wrist": math.nan,
        "gains__wrist__natural_frequency": math.inf,
        "gravity": [0.0, 0.0, math.nan],
        "payload__com": [0.0, math.nan, 0.0],
        "faults__states__reaction": "damp",
        "state_timeout": math.nan,
        "adaptive__unknown": "all",  # of a law that is not at work
        "adaptive__rate": math.nan,
        "cartesian_impedance__stiffness": [500.0] * 5,
        "hand_guiding__walls": [-1.0, math.nan, -1.0, 1.0, 1.0, 1.0],
        "stream__speed": [0.5, -2.0],
        "task__reach": [0.1, 1e3],
    }.items():
        result = rig.graph.set("controller", **{name: value})[0]
        assert not result.successful, name
        assert result.reason
    assert "effort_limits.wrist out of range" in rig.graph.set("controller", effort_limits__wrist=1e3)[0].reason
    misspelt = rig.graph.set("controller", gains__sholder__freq=1.0)[0]
    assert not misspelt.successful and "(is it 'gains.shoulder.natural_frequency'?)" in misspelt.reason
    assert rig.graph.set("controller", cartesian_impedance__stiffness=[500, 500, 500, 30, 30, 30])[0].successful
    rig.until("the usual command", rig.usual, time.monotonic())


def test_a_gain_counts_at_once(rig):
    """A whole number, as ``ros2 param set`` sends it. The drift is damped by 2ζω."""
    rig.as_usual()
    more = 2.0 * (5.0 - FREQUENCY) * DRIFT * [0.0, 1.0, 0.0]
    for frequency, added in ((5, more), (FREQUENCY, 0.0 * more)):
        assert rig.graph.set("controller", gains__shoulder__natural_frequency=frequency)[0].successful
        rig.until("its damping", rig.usual - rig.mass_matrix @ added, time.monotonic())


def test_parameters_that_defeat_the_net(rig):
    """Legal values that do not hold the arm, or that the states do not carry; more in test_control_holding.py."""
    cases = [
        ("effort_limits.elevator: 0 N is below what holds the arm", {"effort_limits__elevator": 0.0}),
        ("takes .* s; 0.2 s is the most", {"effort_rate_limits__elevator": 1e-9}),
        ("below what holds the arm", {"gravity": [0.0, 0.0, -1e4]}),
        ("below what holds the arm", {"payload__mass": 1e6}),
        ("a state every .* allows a natural frequency", {"gains__wrist__natural_frequency": 1000.0}),
        ("a state comes every .* state_timeout", {"state_timeout": 1e-3}),
    ]
    with rig.undisturbed():
        for said, given in cases:
            refused = rig.graph.set("controller", **given)[-1]
            assert not refused.successful, given
            assert re.search(said, refused.reason), refused.reason


def test_a_model_that_changes_while_active(rig, prr):
    rig.as_usual()
    before = rig.count("robot_description changed")
    rig.descriptions.publish(String(data=prr.replace('mass value="6"', 'mass value="7"')))
    rig.graph.wait(lambda: rig.count("robot_description changed") == before + 1, "it to be counted")
    rig.until("the usual command, of the old model", rig.usual, time.monotonic())


@pytest.mark.parametrize(
    ("plugin", "says"),
    [("stillborn", "not today"), ("liar", "liar cannot be made: .*gravity"), ("laden", "is not gravity")],
)
def test_a_plugin_that_cannot_be_made_does_not_disturb(rig, plugin, says):
    """Nor one that fails only with the parameters of the running model, which the dry run has not."""
    with rig.payload(faulty_plugins.NOTHING), rig.undisturbed():
        before = rig.count("switch failed")
        assert rig.graph.set("controller", dynamics=plugin)[0].successful  # it will be tried
        rig.graph.wait(lambda: rig.count("switch failed") > before, "the failure to be counted", 60.0)
    assert re.search(says, rig.controller.output)
    assert rig.graph.diagnostics("controller")["dynamics"] == "moody"
    assert not rig.graph.set("controller", dynamics="magic")[0].successful


@pytest.mark.thorough
@pytest.mark.alone
@pytest.mark.timeout(300)
def test_faults_of_states_are_answered_over_dds():
    """`make faults-node` has more of them; without states the node watches as often as states came.

    No joint comes near its velocity limit: 0.33 of it also on a busy machine, 4.3 where the node watches seldom.
    """
    rows = ("no states", "velocities: zero", "position jumps by 0.3", "NaN")
    for name, outcome in node_faults.outcomes(rows):
        assert outcome.reaction in ("states", "sensor"), name
        assert outcome.struck == 0, name
        assert 0.0 < outcome.speed < 0.6, name
