"""Part of the joints: an arm with a gripper, of which the arm is controlled and the fingers are locked."""

from __future__ import annotations

import arms
import numpy as np

import robodyn_ros as rd

ARM = ["elevator", "shoulder", "wrist"]
START = {"elevator": 0.3, "shoulder": -0.9, "wrist": 0.4}


def with_fingers(prr):
    """The PRR arm with two heavy fingers on its hand, the second of which mimics the first."""
    text = rd.load_robot(prr).urdf
    fingers = [
        arms.link("finger", 1.5, (0.0, 0.02, 0.1), (2e-3, 0, 0, 2e-3, 0, 1e-3)),
        arms.link("thumb", 1.2, (0.0, -0.02, 0.1), (2e-3, 0, 0, 2e-3, 0, 1e-3)),
        arms.joint("grip", "prismatic", "hand", "finger", (1, 0, 0), (0, 0, 0.3), None, (0.0, 0.2, 0.5, 50)),
        arms.joint(
            "grip2",
            "prismatic",
            "hand",
            "thumb",
            (1, 0, 0),
            (0, 0, 0.3),
            None,
            (0, 0.2, 0.5, 50),
            '<mimic joint="grip"/>',
        ),
    ]
    return text.replace("</robot>", "\n".join([*fingers, "</robot>"]))


def test_an_arm_is_controlled_without_its_fingers(graph, prr):
    """In lockstep: the controller knows that the fingers move, and gravity stays compensated."""
    from sensor_msgs.msg import JointState

    urdf = with_fingers(prr)
    common = {"robot_description": urdf, "joints": ARM, "diagnostics_rate": 20.0}
    wiring = ("-r", "joint_commands:=controller/joint_commands")
    graph.start("simulator", *wiring, initial_position={**START, "grip": 0.05}, lockstep=True, **common)
    graph.start("controller", use_sim_time=True, **common)
    gravity = graph.listen(JointState, "controller/efforts/gravity", 10)
    states = graph.listen(JointState, "joint_states", 10)
    fingers = graph.talk(JointState, "locked_joints")

    def compensated(position):
        """True once the states have the finger there, and the controller compensates the gravity of the arm with it."""

        def check():
            fingers.publish(JointState(name=["grip"], position=[position]))
            if not states or not gravity or abs(states[-1].position[3] - position) > 1e-9:
                return False
            q = np.array(states[-1].position[:3])
            expected = rd.create_dynamics("rnea", rd.load_robot(urdf).reduced(locked={"grip": position})).gravity(q)
            return np.abs(np.array(gravity[-1].effort) - expected).max() < 0.02

        return check

    for position in (0.05, 0.19, 0.0):
        graph.wait(compensated(position), f"gravity with the finger at {position}", 30.0)
    assert list(states[-1].name) == [*ARM, "grip"]


def test_states_in_several_messages(graph, prr):
    """Elevator and shoulder in one message, the wrist in another, the finger in a third."""
    from sensor_msgs.msg import JointState

    parameters = {"robot_description": with_fingers(prr), "joints": ARM, "state_timeout": 0.3, "state_publishers": 3}
    graph.start("controller", diagnostics_rate=20.0, **parameters)
    commands = graph.listen(JointState, "controller/joint_commands", 100)
    publishers = [graph.talk(JointState, "joint_states") for _ in range(3)]
    parts = [({"elevator": 0.3, "shoulder": -0.9}), ({"wrist": 0.4}), ({"grip": 0.17})]

    def publish(which):
        for index in which:
            message = JointState(name=list(parts[index]), position=list(parts[index].values()))
            message.velocity = [0.0] * len(message.name)
            message.header.stamp = graph.node.get_clock().now().to_msg()
            publishers[index].publish(message)

    def commanded():
        publish((0, 1, 2))
        return len(commands) > 20

    graph.wait(commanded, "commands to states in parts", 30.0)
    assert list(commands[-1].name) == ARM
    expected = rd.create_dynamics("rnea", rd.load_robot(with_fingers(prr)).reduced(locked={"grip": 0.17})).gravity(
        [0.3, -0.9, 0.4]
    )

    def holds():
        publish((0, 1, 2))
        return np.abs(np.array(commands[-1].effort) - expected).max() < 0.05

    graph.wait(holds, "the efforts that hold the arm with its fingers", 30.0)

    def missed():
        publish((0, 2))
        said = graph.diagnostics("controller")
        return said["message"].startswith("no joint states") and int(said.get("state refused", 0)) > 0

    graph.wait(missed, "the wrist to be missed", 30.0)
