# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Two arms in one graph, each in a namespace with a clock of its own."""

from pathlib import Path

import numpy as np
import yaml
from ros_graph import nanoseconds
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger

from robodyn_ros.control.parameter_file import read_parameters
from robodyn_ros.nodes.common.launching import parameter_files

START = {"left": {"elevator": 0.3, "shoulder": -0.9, "wrist": 0.4}, "right": {"elevator": 1.1, "shoulder": 0.5}}


def test_two_arms_are_controlled_beside_each_other(graph, prr):
    """As the launch files start them with namespace:=left and namespace:=right. One is reset; the other goes on."""
    states, commands = {}, {}
    for arm, start in START.items():
        place = ("-r", f"__ns:=/{arm}", "-r", "/clock:=clock")
        wiring = ("-r", "joint_commands:=controller/joint_commands")
        graph.start("simulator", *place, *wiring, robot_description=prr, initial_position=start, lockstep=True)
        graph.start("controller", *place, robot_description=prr, use_sim_time=True)
        states[arm] = graph.listen(JointState, f"/{arm}/joint_states", 1000)
        commands[arm] = graph.listen(JointState, f"/{arm}/controller/joint_commands", 1000)
    both = [*states.values(), *commands.values()]
    graph.wait(lambda: all(len(messages) > 100 for messages in both), "states of both arms and commands for them")

    def are_held():
        for arm, start in START.items():
            expected = [start.get(name, 0.0) for name in ("elevator", "shoulder", "wrist")]
            np.testing.assert_allclose(states[arm][-1].position, expected, atol=0.02)

    are_held()
    assert graph.call(Trigger, "/left/simulator/reset").success
    graph.wait(lambda: commands["left"][-1].header.stamp.sec == 0, "time 0 of the left arm")
    before, counts = nanoseconds(commands["right"][-1].header.stamp), [len(messages) for messages in commands.values()]
    more = "more commands for both arms"
    graph.wait(lambda: all(len(m) > n + 100 for m, n in zip(commands.values(), counts, strict=True)), more)
    assert nanoseconds(commands["right"][-1].header.stamp) > before
    are_held()


def test_a_file_of_two_arms_has_their_namespaces(tmp_path):
    """As ROS has it; the later section counts."""
    sections = {
        "/**": {"seed": 1, "state_rate": 100.0},
        "controller": {"seed": 2},
        "/cell/left/controller": {"state_rate": 200.0},
        "/cell/right/controller": {"state_rate": 300.0},
        "/left/controller": {"seed": 9},
    }
    file = tmp_path / "arms.yaml"
    file.write_text(yaml.safe_dump({name: {"ros__parameters": of} for name, of in sections.items()}, sort_keys=False))
    for namespace, rate in (("cell/left", 200.0), ("/cell/right", 300.0), ("cell", 100.0)):
        (made,) = parameter_files("prr", str(file), tmp_path, "controller", namespace)
        assert read_parameters(Path(made), "any") == {"seed": 2, "state_rate": rate}
