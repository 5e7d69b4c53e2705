# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A controller that estimates what its arm holds, and one that learns it: over real DDS, the simulator in lockstep."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
import yaml
from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import InertiaStamped
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger

import robodyn_ros as rd
from robodyn_ros.control.motion.own_motions import PayloadSettings
from robodyn_ros.errors import NotReadyError
from robodyn_ros.nodes.common.client_library import LATCHED
from robodyn_ros.nodes.controller import payload
from robodyn_ros.nodes.controller.payload import PayloadEstimation
from robodyn_ros.tasks import make_loop

JOINTS = ("elevator", "shoulder", "wrist")
START = {"elevator": 0.9, "shoulder": 0.5, "wrist": -0.4}
GAINS = {joint: {"natural_frequency": 12.0} for joint in JOINTS}
REST = 150
"""States until an arm is at rest: 1.2 s."""


@pytest.fixture
def arm(graph, prr):
    """Starts a simulated arm that holds 2 kg at the tool's origin, and a controller that does not know of it."""

    def start(**parameters):
        # Faster, and most of the work would be that of an arm which waits for this process.
        simulator = {"initial_position": START, "real_time_factor": 10.0, "state_rate": 125.0}
        held = {"mismatch": {"payload_mass": 2.0}}
        return graph.start_arm(prr, simulator | held, lockstep=True, gains=GAINS, **parameters)

    return start


def test_the_payload_is_found_and_adopted_and_a_hold_or_the_end_of_the_node_ends_the_motion(graph, arm):
    _, controller = arm()
    states = graph.listen(JointState, "joint_states", 1000)
    errors = graph.listen(JointState, "controller/tracking_error", 1000)

    def rest():
        count = len(errors)
        seen = len(states)
        still = lambda: all(np.abs(one.velocity).max() < 1e-3 for one in list(states)[-REST:])  # noqa: E731
        graph.wait(lambda: min(len(errors) - count, len(states) - seen) > REST and still(), "an arm at rest")
        return np.array(states[-1].position), np.array(errors[-1].position)

    def moves():
        """An answer that is awaited, of a motion that goes on for minutes: it is ended long before its end."""
        assert graph.set("controller", target_speed=0.02)[0].successful
        asked = graph.client(Trigger, "controller/estimate_payload").call_async(Trigger.Request())
        graph.wait(lambda: abs(states[-1].velocity[1]) > 0.02, "the motion")
        return asked

    rest()
    asked = moves()
    again = graph.call(Trigger, "controller/estimate_payload")
    assert (again.success, again.message) == (False, "an estimation is under way")
    assert graph.call(Trigger, "controller/hold").success
    graph.wait(asked.done, "the answer")
    assert not asked.result().success
    assert "held" in asked.result().message

    before, sag = rest()
    changes = graph.set("controller", target_speed=0.5, payload_estimation__adopt=True)
    assert all(change.successful for change in changes)
    answer = graph.call(Trigger, "controller/estimate_payload", 240.0)
    assert answer.success, (answer.message, graph.diagnostics("controller"))
    found = json.loads(answer.message)
    assert (found["link"], found["adopted"]) == ("tool", True)
    # The payload sits at the origin of the tool, and y is across the plane that the arm moves in.
    assert found["mass"] == pytest.approx(2.0, rel=0.02)
    assert found["com"][1] is None
    np.testing.assert_allclose([found["com"][0], found["com"][2]], 0.0, atol=0.01)
    late = graph.listen(InertiaStamped, "controller/payload", LATCHED)
    graph.wait(lambda: late, "the latched estimate")
    assert (late[0].header.frame_id, late[0].inertia.m) == ("tool", pytest.approx(found["mass"], abs=1e-4))
    assert graph.get("controller", "payload.mass") == [pytest.approx(found["mass"], abs=1e-4)]
    # It is back where it was held, and now that the model knows the load it hangs no longer below its reference.
    # The pose of the hold decides how much of the sag each of the two revolute joints has.
    little = 0.05 * np.array([abs(sag[0]), *[np.abs(sag[1:]).max()] * 2])
    graph.wait(lambda: (np.abs(errors[-1].position) < little).all(), "an arm that hangs no longer")
    after, left = rest()
    assert (np.abs(left) < little).all()
    np.testing.assert_allclose(after, before + sag, atol=0.05 * np.abs(sag).max())

    asked = moves()
    controller.stop()
    graph.wait(asked.done, "the answer of a node that has ended")
    assert (asked.result().success, asked.result().message) == (False, "the controller was cleaned up, or has ended")


@pytest.mark.parametrize("terms", ["none", "gravity"])
def test_the_effort_of_an_estimation_has_what_the_drives_add(monkeypatch, prr, terms):
    """With drives that carry the arm, the estimation was refused, or the load was far too light."""
    loop, _ = make_loop({"drive_compensates": [terms]}, rd.load_robot(prr))
    q, asked = np.array([0.3, 0.4, -0.2]), []
    loop.start(0.0, q)
    command = [loop.update(0.002 * k, 0.002 * k, q, np.zeros(3)) for k in (1, 2, 3)][-1]
    part, weight = PayloadEstimation.__new__(PayloadEstimation), loop.dynamics.gravity(q)
    part._rows, part._loop, part._node = [], SimpleNamespace(control=loop, robot=loop.robot), None
    part._keep(Time(sec=1), command)
    np.testing.assert_allclose(part._rows[0][2], weight, atol=1e-9)
    part._held = lambda: command
    monkeypatch.setattr(payload, "NodeParameters", lambda node: SimpleNamespace(settings=lambda *_: PayloadSettings()))
    monkeypatch.setattr(payload, "payload_motion", lambda *given: asked.append(given[2]) or 1 / 0)
    with pytest.raises(ZeroDivisionError):
        part._start_motion()
    np.testing.assert_allclose(asked[0], weight, atol=1e-9)


def test_an_estimation_needs_an_arm_that_is_held_at_rest_and_says_what_ended_its_motion():
    part, answers = PayloadEstimation.__new__(PayloadEstimation), []
    command = SimpleNamespace(reference=object(), state=(np.zeros(2), np.array([0.04, -0.04])))
    part._loop = SimpleNamespace(state="hold", latest=(0.0, command), law=SimpleNamespace(follows=True), listeners=[1])
    part._response = None
    assert part._held() is command
    for changed, why in (
        ({"state": "follow"}, "has to be held, but the controller's state is: follow"),
        ({"latest": None}, "has to be held"),
        ({"law": SimpleNamespace(follows=False)}, "the control law does not hold the arm"),
        ({"latest": (0.0, SimpleNamespace(reference=1, state=(0, np.array([0.01, -0.06]))))}, "moves at up to 0.06"),
    ):
        usual = part._loop
        part._loop = SimpleNamespace(**{**vars(usual), **changed})
        with pytest.raises(NotReadyError, match=why):
            part._held()
        part._loop = usual
    part._loop.listeners, part._goal = [part._keep], SimpleNamespace(outcome="aborted", reason="it was held")
    part._respond = lambda *answer: answers.append(answer)
    part._poll()
    assert answers == [(False, "the motion ended early: it was held")] and part._loop.listeners == []


def test_what_the_adaptive_law_learns_is_read_published_frozen_and_saved(graph, arm, tmp_path):
    file = tmp_path / "learnt.yaml"
    none = dict.fromkeys(JOINTS, 0.0)
    bodies = {"carriage": [0.0] * 10, "arm": [0.0] * 10, "hand": [0.5, 0.0, 0.0, 0.1, 0.03, 0.0, 0.03, 0.0, 0.0, 0.01]}
    before = {"bodies": bodies, "viscous": none, "coulomb": none}
    file.write_text(yaml.safe_dump({"robot": "prr", "Adaptive": before}))
    messages = graph.listen(DiagnosticArray, "controller/estimates", LATCHED)
    arm(estimates_file=str(file), adaptive={"rate": 0.0})

    def mass():
        values = {item.key: float(item.value) for item in messages[-1].status[0].values} if messages else {}
        return values.get("mass added to hand [kg]")

    refused = graph.call(Trigger, "controller/save_estimates")
    assert (refused.success, "learns nothing" in refused.message) == (False, True)
    assert graph.set("controller", controller="adaptive")[0].successful
    graph.wait(lambda: mass() == 0.5, "what was learnt before")
    assert graph.set("controller", adaptive__rate=2.0)[0].successful
    graph.wait(lambda: mass() > 1.5, "most of the payload, learnt at rest", 60.0)
    assert graph.set("controller", adaptive__rate=0.0)[0].successful
    answer = graph.call(Trigger, "controller/save_estimates")
    assert answer.success, (answer.message, graph.diagnostics("controller"))
    saved = yaml.safe_load(file.read_text())
    assert saved["robot"] == "prr"
    learnt = saved["Adaptive"]["bodies"]["hand"]
    assert learnt[0] > 1.5
    graph.wait(lambda: mass() == pytest.approx(learnt[0], rel=1e-5), "the same, frozen")
