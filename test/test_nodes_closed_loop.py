# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Simulator and controller as processes of their own, over real DDS: the loop closes, and breaks."""

import re
import signal

import numpy as np
import pytest
from closed_loop_scenario import START, follows_a_trajectory
from ros_graph import by_stamp
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from robodyn_ros.nodes.controller.output import TERMS


def test_an_arm_follows_a_trajectory_until_it_is_cancelled_and_each_term_is_told(graph, prr):
    """In lockstep: beside a simulation in real time, a controller that gets no processor for a while is late, and the
    arm is off its way by what the effort of before does to it meanwhile.
    """
    order, slowly = ["wrist", "elevator", "shoulder"], {"elevator": {"max_deceleration_on_cancel": 0.5}}
    given = {"initial_position": START, "joints": order, "real_time_factor": 4.0}
    graph.start_arm(prr, given, lockstep=True, joints=order, constraints=slowly)
    follows_a_trajectory(graph)

    # The terms add up, and the order is that of `joints`.
    terms = {term: graph.listen(JointState, f"controller/efforts/{term}", 1000) for term in TERMS}
    errors = graph.listen(JointState, "controller/tracking_error", 1000)
    named = graph.listen(JointState, "controller/joint_commands", 1000)
    plain = graph.listen(Float64MultiArray, "controller/commands", 1000)
    told = [named, errors, *terms.values()]
    graph.wait(lambda: set.intersection(*map(set, map(by_stamp, told))), "a stamp that every term has")
    last = max(set.intersection(*map(set, map(by_stamp, told))))
    found = {term: by_stamp(messages)[last] for term, messages in terms.items()}
    total = np.sum([found[term].effort for term in TERMS if term != "total"], axis=0)
    np.testing.assert_allclose(total, found["total"].effort, rtol=1e-10)
    assert found["total"].name == ["elevator", "shoulder", "wrist"]
    # Held at rest, the 20 kg on the elevator are 196.2 N: clamping has nothing to do.
    command, error = by_stamp(named)[last], by_stamp(errors)[last]
    assert list(command.name) == order
    np.testing.assert_allclose(command.effort, np.array(found["total"].effort)[[2, 0, 1]], rtol=1e-10)
    assert command.effort[1] == pytest.approx(20.0 * 9.81, rel=0.01)
    graph.wait(lambda: {tuple(m.data) for m in plain} & {tuple(m.effort) for m in named}, "the same without names")
    assert list(error.name) == ["elevator", "shoulder", "wrist"]
    assert np.abs(error.position).max() < 1e-2

    # A trajectory without points ends the one before, as a client of joint_trajectory_controller stops an arm.
    states = graph.listen(JointState, "joint_states")
    publisher = graph.talk(JointTrajectory, "controller/joint_trajectory")
    up = JointTrajectoryPoint(positions=[1.9], velocities=[0.0])
    up.time_from_start.sec = 60
    publisher.publish(JointTrajectory(joint_names=["elevator"], points=[up]))

    def elevator(field):
        return getattr(states[-1], field)[states[-1].name.index("elevator")]

    graph.wait(lambda: states and elevator("velocity") > 0.005, "the motion")
    place = elevator("position")
    publisher.publish(JointTrajectory(joint_names=["elevator"]))
    graph.wait(lambda: abs(elevator("velocity")) < 1e-3, "an arm at rest")
    assert place < elevator("position") < 1.8


def test_drives_that_are_too_slow_for_the_gains_are_found_by_the_swings_of_the_arm(graph, prr):
    states = graph.listen(JointState, "joint_states", 1000)
    gains = {joint: {"natural_frequency": 68.0} for joint in START}
    slow = {"initial_position": START, "command_delay": 0.008}
    _, controller = graph.start_arm(prr, slow, lockstep=True, gains=gains)
    shoulder = graph.talk(JointTrajectory, "controller/joint_trajectory")
    graph.wait(lambda: len(states) > 100, "an arm that is held")
    point = JointTrajectoryPoint(positions=[-0.7], velocities=[0.0])
    point.time_from_start.sec = 1
    shoulder.publish(JointTrajectory(joint_names=["shoulder"], points=[point]))
    graph.wait(lambda: re.search(r"command_delay of 0\.0\d+ s, as the arm shakes", controller.output), "the fault")
    graph.wait(lambda: np.abs(states[-1].velocity).max() < 0.1, "an arm at rest")
    assert np.abs([state.velocity for state in states]).max() < 8.0  # the limit


def test_every_node_ends_well_on_a_signal(fresh, prr):
    simulator, controller = fresh.start_arm(prr)
    waiting = fresh.start("controller", "-r", "__node:=waiting", "-r", "robot_description:=nothing")
    commands = fresh.listen(Float64MultiArray, "controller/commands")
    fresh.wait(lambda: commands and fresh.has("waiting"), "commands, and a node that waits")
    controller.stop(signal.SIGTERM)
    simulator.stop(signal.SIGINT)
    waiting.stop(signal.SIGTERM)
