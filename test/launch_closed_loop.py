# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A launch_testing test: sim.launch.py, the scenario of the closed loop, and a clean end.

Run by test_launch_closed_loop.py; by hand, with the package installed in a workspace: launch_test launch_closed_loop.py
"""

from __future__ import annotations

import sys
import tempfile
import unittest
from pathlib import Path

import launch_testing
import launch_testing.actions
import launch_testing.asserts
from ament_index_python.packages import get_package_share_directory
from launch import LaunchDescription
from launch.actions import IncludeLaunchDescription

sys.path.insert(0, str(Path(__file__).parent))
from closed_loop_scenario import follows_a_trajectory
from ros_graph import Graph

ARGUMENTS = {"robot": "prr", "rviz": "false", "robot_state_publisher": "false"}


def generate_test_description() -> LaunchDescription:
    """The simulated arm, without what is not part of this package."""
    sim = Path(get_package_share_directory("robodyn_ros")) / "launch" / "sim.launch.py"
    include = IncludeLaunchDescription(str(sim), launch_arguments=ARGUMENTS.items())
    return LaunchDescription([include, launch_testing.actions.ReadyToTest()])


class TestClosedLoop(unittest.TestCase):
    """While the nodes run."""

    def test_follows_a_trajectory(self):
        with tempfile.TemporaryDirectory() as folder:
            graph = Graph(Path(folder))
            try:
                follows_a_trajectory(graph, 2.0)  # in real time, not in lockstep
            finally:
                graph.close()


@launch_testing.post_shutdown_test()
class TestEnd(unittest.TestCase):
    """After launch has interrupted them."""

    def test_every_node_ended_well(self, proc_info, proc_output):
        launch_testing.asserts.assertExitCodes(proc_info)
        assert len(proc_info.processes()) == 2
        for output in proc_output:
            assert b"Traceback" not in output.text
