# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Planner, viewer and commissioner of an arm whose gripper somebody else drives: its states come in other messages."""

import numpy as np
import pytest
from scipy.optimize import brentq
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger
from test_nodes_commissioner import FRICTION, REST, TOPIC, commission
from test_nodes_joints import ARM, START, with_fingers
from trajectory_msgs.msg import JointTrajectory

import robodyn_ros as rd
from robodyn_ros.nodes.common.client_library import LATCHED


@pytest.mark.thorough
def test_the_planner_moves_the_arm_and_leaves_the_fingers(graph, prr):
    urdf, start = with_fingers(prr), {**START, "grip": 0.05}
    graph.start_arm(urdf, {"initial_position": start, "joints": ARM}, lockstep=True, joints=ARM)
    graph.start("planner", limit_ratio=0.5, time_limit=60.0, robot_description=urdf, joints=ARM)
    graph.wait(lambda: graph.diagnostics("planner")["message"] == "waiting for a target", "a planner that sees the arm")
    plans = graph.listen(JointTrajectory, "planner/joint_trajectory", LATCHED)
    states = graph.listen(JointState, "joint_states", 10)
    goal = np.array([START[name] for name in ARM]) + [0.1, 0.2, -0.3]
    graph.wait(lambda: states and np.abs(states[-1].velocity[:3]).max() < 1e-3, "an arm at rest, where a plan begins")
    graph.talk(JointState, "planner/plan_to/joints").publish(JointState(name=ARM, position=goal.tolist()))
    graph.wait(lambda: plans, "a plan", 90.0)
    assert plans[0].joint_names == ARM
    answer = graph.call(Trigger, "planner/execute")
    assert answer.success, answer.message
    graph.wait(lambda: np.abs(np.array(states[-1].position[:3]) - goal).max() < 2e-3, "the arm there", 60.0)
    assert states[-1].position[list(states[-1].name).index("grip")] == pytest.approx(0.05)


@pytest.mark.thorough
def test_the_arm_is_commissioned_and_the_fingers_are_left_alone(graph, prr, tmp_path):
    """The driver of the arm names the fingers in no state and takes no command for them."""
    urdf = with_fingers(prr)
    wiring = ("-r", f"joint_commands:={TOPIC}", "-r", "commands:=nobody")
    friction = {name: {"coulomb": effort} for name, effort in FRICTION.items()}
    common = {"robot_description": urdf, "joints": ARM, "friction": friction, "lockstep": True, "state_rate": 125.0}
    dynamics = rd.create_dynamics("rnea", rd.load_robot(urdf).reduced(locked={"grip": 0.05}))
    wrist = brentq(lambda q: dynamics.gravity([0.0, REST["shoulder"], q])[2], 0.5, 2.0)  # where the hand hangs
    graph.start("simulator", *wiring, initial_position={**REST, "wrist": wrist, "grip": 0.05}, **common)
    states = graph.listen(JointState, "joint_states", 10)
    process = commission(graph, tmp_path, urdf, "--yes", "--joints", ",".join(ARM), "--lock", "grip=0.05")
    assert graph.ended(process, 300.0) == 0, process.output
    report = (tmp_path / "report.md").read_text(encoding="utf-8")
    assert "grip" not in "".join(line for line in report.splitlines() if line.startswith("|"))
    assert states[-1].position[list(states[-1].name).index("grip")] == pytest.approx(0.05)
