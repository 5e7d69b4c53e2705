# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The planner node over real DDS: what it finds, the arm does, under computed torque and within its limits."""

import re
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import numpy as np
import pytest
from geometry_msgs.msg import PoseStamped
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState
from std_msgs.msg import Header
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory
from visualization_msgs.msg import MarkerArray

import robodyn_ros as rd
from robodyn_ros.control.faults.settings import SafetySettings
from robodyn_ros.control.motion.point_to_point import point_to_point, rest_to_rest
from robodyn_ros.errors import InputError, NotReadyError
from robodyn_ros.nodes import planner
from robodyn_ros.nodes.common.client_library import LATCHED
from robodyn_ros.nodes.common.messages import seconds, to_pose
from robodyn_ros.nodes.planner import PlannerNode, PlannerSettings, joint_goal, pose_goal, read_search_settings, search
from robodyn_ros.planning.problem import JointGoal
from robodyn_ros.robot import LockedJoints

PRR = Path(__file__).parents[1] / "urdf" / "prr.urdf"
JOINTS = ["elevator", "shoulder", "wrist"]
PICK = np.array([0.0, -1.83, -0.12])  # of the arm's builders
LIMIT_RATIO = 0.85  # of the limits; the rest is left to feedback
EVERY_ONE = QoSProfile(depth=5000)


def rows(messages, field):
    return {seconds(m.header.stamp): np.array(getattr(m, field)) for m in messages}


def test_home_to_pick_in_minimum_time_on_the_simulated_arm(graph, prr):
    """The arm waits for its commands, so that no load shows."""
    pace = {"real_time_factor": 1.0, "state_rate": 500.0}  # so that it takes nothing from the planner
    gains = {joint: {"natural_frequency": 40.0} for joint in JOINTS}
    # The drives are ideal, and a motion of minimum time jumps from one effort limit to the other.
    rates = dict.fromkeys(JOINTS, 1e6)
    wishes = {"controller": "computed_torque", "gains": gains, "effort_rate_limits": rates}
    graph.start_arm(prr, pace, lockstep=True, **wishes)
    graph.start("planner", robot_description=prr, limit_ratio=LIMIT_RATIO, cost="time", time_limit=60.0)
    graph.wait(lambda: graph.diagnostics("planner")["message"] == "waiting for a target", "a planner that sees the arm")
    robot = rd.load_robot(prr)
    markers = graph.listen(MarkerArray, "planner/markers")
    plans = graph.listen(JointTrajectory, "planner/joint_trajectory", LATCHED)
    targets = graph.talk(JointState, "planner/plan_to/joints")
    targets.publish(JointState(name=JOINTS[::-1], position=PICK[::-1].tolist()))
    graph.wait(lambda: plans, "a plan", 90.0)
    duration = seconds(plans[0].points[-1].time_from_start)
    quintic = point_to_point(rd.create_dynamics("rnea", robot), np.zeros(3), PICK, limit_ratio=LIMIT_RATIO)
    assert quintic.duration > 1.5 * duration
    assert plans[0].joint_names == JOINTS
    assert np.abs([point.effort for point in plans[0].points]).max(axis=0) == pytest.approx(
        LIMIT_RATIO * robot.effort_limit, rel=1e-3
    )

    graph.wait(lambda: markers, "the picture of the plan")  # before it runs
    assert {marker.ns for marker in markers[0].markers} == {"plan", "plan_ghost"}
    assert len(markers[0].markers[0].points) > 100

    topics = ("joint_states", "controller/joint_commands", "controller/tracking_error")
    states, commands, errors = (graph.listen(JointState, topic, EVERY_ONE) for topic in topics)
    graph.wait(lambda: states and commands and errors, "states and commands, before the motion begins")
    answer = graph.call(Trigger, "planner/execute")
    assert answer.success, answer.message
    graph.wait(lambda: states and abs(np.array(states[-1].position) - PICK).max() < 1e-3, "the arm there", 60.0)
    graph.wait(lambda: states and abs(np.array(states[-1].velocity)).max() < 1e-3, "the arm at rest", 60.0)

    moving = [t for t, qd in rows(states, "velocity").items() if abs(qd).max() > 1e-3]
    for listed in (errors, commands):  # this process may not have come to them yet
        graph.wait(lambda listed=listed: seconds(listed[-1].header.stamp) >= max(moving), "the rest of what was sent")
    error = np.array([e for t, e in rows(errors, "position").items() if min(moving) <= t <= max(moving)])
    effort = np.array([e for t, e in rows(commands, "effort").items() if min(moving) - 0.01 <= t <= max(moving)])
    assert len(error) > 0.5 * 500 * duration and len(effort) > 0.5 * 500 * duration
    rms = np.sqrt((error**2).mean(axis=0))
    assert rms[0] < 2e-3 and (rms[1:] < 5e-3).all(), rms
    assert (abs(effort) <= robot.effort_limit).all(), abs(effort).max(axis=0)

    again = graph.call(Trigger, "planner/execute")
    assert not again.success and "there is no plan" in again.message


def test_the_command_sends_a_plan_to_the_controller(graph, prr):
    graph.start_arm(prr, {"real_time_factor": 1.0, "state_rate": 100.0}, lockstep=True)
    states = graph.listen(JointState, "joint_states")
    graph.wait(lambda: states, "joint states")
    command = graph.command("plan", PRR, "--to", "PICK", "--limit-ratio", "0.6", "--method", "time-scaling", "--send")
    assert graph.ended(command, 90.0) == 0, command.output
    there = np.array([0.3, -1.83, -0.12])  # of the demonstration
    graph.wait(lambda: abs(np.array(states[-1].position) - there).max() < 2e-3, "the arm there", 60.0)


def test_a_cost_that_is_none_and_a_target_out_of_reach_are_refused_with_the_reason(graph, prr):
    planner = graph.start("planner", robot_description=prr, cost="fast", time_limit=60.0)
    graph.wait(lambda: "cost: 'fast' is not one of time, effort, smoothness" in planner.output, "what is wrong")
    assert "cost: 'fast'" in graph.diagnostics("planner")["message"]
    for change, said in (({"cost": "quick"}, "cost: 'quick' is not one of"), ({"obstacles": "none.yaml"}, "none.yaml")):
        (refused,) = graph.set("planner", **change)
        assert not refused.successful and said in refused.reason
    assert graph.set("planner", cost="time")[0].successful
    states, rest = graph.talk(JointState, "joint_states"), JointState(name=JOINTS, position=[0.0] * 3)
    rest.velocity = [0.0] * 3
    graph.node.create_timer(0.05, lambda: states.publish(rest))
    targets, pose = graph.talk(PoseStamped, "planner/plan_to/pose"), np.eye(4)
    pose[:3, 3] = 4.0, 0.0, 1.0
    message = PoseStamped(pose=to_pose(pose))
    for frame, said in (("base", "out of reach"), ("moon", "'moon'")):
        message.header.frame_id = frame

        def said_so(said=said):
            return said in graph.diagnostics("planner")["message"]

        graph.send(targets, message, said_so, f"the refusal: {said}")


@pytest.mark.parametrize(
    ("names", "positions", "said"),
    [
        (["wrist", "elevator"], [0.1, float("nan")], "position: is not finite"),
        (["wrist", "wrist"], [0.1, 0.2], "name: must name joints, each once"),
        ([], [], "name: must name joints, each once"),
        (["elbow"], [0.1], "there is no joint 'elbow'"),
    ],
)
def test_a_target_that_is_none_is_refused(prr, names, positions, said):
    """Not a number is no wish to be anywhere."""
    settings = SimpleNamespace(dynamics=SimpleNamespace(robot=rd.load_robot(prr)))
    with pytest.raises(InputError, match=said):
        joint_goal(JointState(name=names, position=positions), settings, PICK)


def test_what_a_search_is_of(monkeypatch, prr):
    """The parameters as they are, the payload and the friction of the arm, the locked joint where it is."""
    monkeypatch.setattr("robodyn_ros.planning.collocation.collocation.plan_by", lambda *given: given)
    robot = rd.load_robot(prr.replace("<axis", '<dynamics damping="2" friction="3"/><axis'))
    node = PlannerNode.__new__(PlannerNode)
    node._locked = LockedJoints(robot, JOINTS[:2])
    chosen = node._robot(SimpleNamespace(known={"wrist": 0.7}))
    given = vars(PlannerSettings(method="collocation", limit_ratio=0.5, time_limit=7.0, margin=0.2))
    given = given | {"payload.mass": 2.0, "tool": "", "obstacles": "", "cost": "time", "gravity": [0.0, 1.0, -9.0]}
    node.get_parameter = lambda name: SimpleNamespace(value=given[name])
    goal, start = JointGoal(PICK[:2]), np.array([-0.0005, robot.upper[1] + 0.005])
    method, problem, limit = search(read_search_settings(node, chosen), goal, start)
    assert (method, limit, problem.goal, problem.margin) == ("collocation", 7.0, goal, 0.2)
    assert problem.limit_margin == SafetySettings().soft_limit_margin
    assert problem.start.tolist() == [0.0, start[1]]  # a rounding beyond its stop is none
    np.testing.assert_allclose(problem.bounds.effort, 0.5 * chosen.effort_limit)
    whole = {"gravity": given["gravity"], "payload": rd.Payload("tool", 2.0), "coulomb": robot.friction}
    true = rd.create_dynamics("rnea", robot, viscous=robot.damping, **whole)
    states = np.array([[0.3, 0.4, 0.7], [0.5, 0.6, 0.0], [0.7, 0.8, 0.0]])
    np.testing.assert_allclose(problem.dynamics.inverse(*states[:, :2]), true.inverse(*states)[:2])
    with pytest.raises(InputError, match="'moon'"):
        pose_goal(PoseStamped(header=Header(frame_id="moon")), read_search_settings(node, chosen), start)


def test_a_plan_for_another_arm_is_dropped():
    """One that was found, one that is shown, and one that is sought, once another description has come."""
    node, problem = PlannerNode.__new__(PlannerNode), InputError("robot", "is none")
    node._watch, node._preview, node._markers, node._description = Mock(), Mock(), Mock(), Mock()
    node._plan, node._search, node._newest, node._refuse = Mock(), Mock(), Mock(), Mock()
    node._description.robot.side_effect = problem
    removal, watch = node._preview.removal(), node._watch
    node._on_description()
    watch.destroy.assert_called_once_with()
    node._markers.publish.assert_called_once_with(removal)
    node._refuse.assert_called_once_with(problem)
    assert [node._watch, node._plan, node._preview, node._search, node._newest] == [None] * 5
    assert node._state == node._problem == ""


def test_the_next_target_drops_the_plan_before_it():
    """After one that is refused, ~/execute sent the plan for the one before."""
    node = PlannerNode.__new__(PlannerNode)
    node._plan, node._preview, node._markers, node._refuse = Mock(), Mock(), Mock(), Mock()
    node._search = node._watch = None
    removal = node._preview.removal()
    node._plan_to(Mock())
    assert "no robot_description" in str(node._refuse.call_args.args[0])
    node._markers.publish.assert_called_once_with(removal)
    with pytest.raises(NotReadyError, match="there is no plan"):
        node._execute()


def test_a_plan_that_is_sent_at_last_is_no_problem_any_more(monkeypatch):
    """One that could not be sent at once, as the arm had left its start: the diagnostics kept the error."""
    node = PlannerNode.__new__(PlannerNode)
    motion = rest_to_rest(np.array([[0.0] * 3, PICK]), [0.0, 1.0])
    node._plan = Mock(q=motion.positions, joints=JOINTS, to_trajectory=lambda: motion)
    node._watch = Mock(awaited="", **{"robot.name": "prr"})
    node._controller, node._preview, node._searches, node._solved = Mock(), None, 1, 1
    node.get_logger, node._diagnostics = Mock(), Mock()
    monkeypatch.setattr(planner, "check_start", Mock(side_effect=[NotReadyError("not at the start"), None]))
    with pytest.raises(NotReadyError) as refused:
        node._execute()
    node._refuse(refused.value)
    assert node._report().problem == "not at the start"
    node._execute()
    assert (node._report().problem, node._report().message) == ("", "sent to the controller")


def found(urdf, newest=None):
    """A planner after a search that has found a motion, which is to be sent at once."""
    node = PlannerNode.__new__(PlannerNode)
    motion = rest_to_rest(np.array([[0.0] * 3, PICK]), [0.0, 1.0])
    plan = Mock(solved=True, duration=1.0, solve_time=0.1, joints=JOINTS, to_trajectory=lambda: motion)
    dynamics, planner = SimpleNamespace(robot=rd.load_robot(urdf)), SimpleNamespace(execute=True)
    node._settings = SimpleNamespace(dynamics=dynamics, link="tool", planner=planner)
    node.get_logger, node._trajectories, node._diagnostics, node._execute = Mock(), Mock(), Mock(), Mock()
    node._newest, node._solved, node._preview = newest, 0, None
    node._publish_plan(plan)
    return node


@pytest.mark.parametrize("newest", [None, Mock()])
def test_a_plan_is_not_sent_by_itself_while_another_target_waits(newest):
    """The arm would have left the start of the next one."""
    assert found(PRR, newest)._execute.called == (newest is None)


def test_a_motion_is_sent_also_if_its_picture_cannot_be_made(prr):
    """There was "no motion" for an arm with a shape of another kind."""
    assert "<sphere" in prr or "<box" in prr
    node = found(re.sub(r"<(sphere|box|cylinder)\b", "<cone", prr))
    assert node._execute.called
    assert "<visual>" in node.get_logger().warning.call_args.args[0]
