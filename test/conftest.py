# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Fixtures that more than one file uses."""

from __future__ import annotations

import gc
import json
import os
import signal
from collections.abc import Generator, Iterator
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

# Before NumPy is imported. Beside other workers, threads of the linear algebra only wait for each other, and keep the
# processor busy meanwhile.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("FASTDDS_DEFAULT_PROFILES_FILE", str(Path(__file__).with_name("fastdds.xml")))

import fork_server
import forked_workers
import pytest
import without_extras
from _pytest.faulthandler import fault_handler_stderr_fd_key

if TYPE_CHECKING:
    from ros_graph import Graph

URDF = Path(__file__).parents[1] / "urdf"

WITH_ROS = ("test_nodes_", "test_launch_", "test_cli_demo", "test_readme")
"""How files begin whose tests start ROS 2 nodes."""

WITHOUT_ROS = ("test_nodes_units.py", "test_nodes_wire.py", "test_cli_demo_report.py")
"""Those among them that start none."""

MORE = {
    "test_cli_bench.py": ("test_json_has_every_figure",),
    "test_cli_compile.py": ("test_without_casadi_an_export_that_was_written_before_is_written_again[--ros2",),
    "test_cli_demo.py": (
        "[terminated at once]",
        "[ctrl-c]",
        "dies_is_an_error_with_its_name[simulator]",
    ),
    "test_cli_demo_report.py": ("test_the_picture[svg]",),
    "test_control_adaptive.py": ("test_a_spatial_arm_learns_everything[lagrangian]",),
    "test_control_consistency.py": (
        "[exact-panda-native]",
        "[exact-ur5_robot-mujoco]",
        "[noise-prr-mujoco]",
        "[12 bits-prr-mujoco]",
        "[12 bits-ur5_robot-native]",
        "[16 bits-prr-mujoco]",
        "[noise-ur5_robot-native]",
        "[16 bits-ur5_robot-mujoco]",
        "test_a_push_is_no_fault[0.001-prr]",
        "test_a_push_is_no_fault[0.001-ur5_robot]",
    ),
    "test_control_contact.py": ("test_a_push_is_found_as_pinocchio_has_it[panda]",),
    "test_control_export.py": (
        "test_settings_are_those_of_the_node[panda-",
        "test_settings_are_those_of_the_node[ur5_robot-",
        "test_a_pose_that_is_streamed_is_reached_as_by_the_node[panda-",
        "test_a_pose_that_is_streamed_is_reached_as_by_the_node[ur5_robot-",
        "test_a_pose_that_is_streamed_is_reached_as_by_the_node[prr-0.0]",
        "test_the_loop_is_that_of_the_node_to_the_last_bit[ur5_robot-",
        "test_the_loop_is_that_of_the_node_to_the_last_bit[prr-",
    ),
    "test_control_hand_guiding.py": (
        "[eight joints-",
        "[panda-",
        "only_the_orientation[eight joints]",
        "gains_no_energy[eight joints]",
        "gains_no_energy[panda]",
    ),
    "test_control_pushes.py": (
        "test_a_held_push_is_no_fault_and_the_tool_comes_back[panda-disturbance_observer]",
        "test_a_held_push_is_no_fault_and_the_tool_comes_back[panda-operational_space]",
        "test_a_held_push_is_no_fault_and_the_tool_comes_back[ur5_robot-cartesian_impedance]",
        "test_a_held_push_is_no_fault_and_the_tool_comes_back[ur5_robot-disturbance_observer]",
        "[panda-cartesian_impedance",
        "[ur5_robot-cartesian_impedance-0.1-direction1]",
        "[ur5_robot-cartesian_impedance-0.1-direction2]",
        "[ur5_robot-operational_space-0.03-direction4]",
        "[ur5_robot-operational_space-0.03-direction5]",
    ),
    "test_control_reactions.py": ("[2-506-True-", "[1-246-", "[2-151-", "[2-327-", "[2-581-", "[3-213-", "-z1-"),
    "test_control_sampling.py": ("test_the_default_spring_of_an_arm_with_rotors_is_carried[panda-",),
    "test_control_step_export.py": ("test_the_main_loop_of_a_microcontroller[adaptive]",),
    "test_derivation.py": ("test_every_step[waist-numbers]",),
    "test_dynamics_truth.py": tuple(f"[{name}]" for name in ("allegro_right_hand", "pr2", "romeo_small")),
    "test_export_latex.py": ("test_the_document_can_be_set[mimic]",),
    "test_identification_fit.py": (
        "test_standard_errors_are_those_of_repetition[independent]",
        "test_exact_without_noise[welded]",
        "leave_it_clear_of_the_boundary[2-1000000000000.0]",
    ),
    "test_identification_signals.py": ("test_the_error_of_the_delay_is_that_of_repetition",),
    "test_identification_truth.py": ("[True-double_pendulum-9]", "-20]", "-17]", "[0.0-0.05]", "[0.5-0.0]"),
    "test_nodes_commissioner.py": ("test_a_command_that_ends_early_lets_go_evenly[killed]",),
    "test_nodes_exceptions.py": ("test_the_observers_and_the_planner_go_on_too",),
    "test_nodes_faults.py": ("test_a_second_publisher[joint_states-JointState-damp]",),
    "test_nodes_hold.py": ("test_a_pose_is_held_with_wrong_masses_and_noisy_encoders",),
    "test_nodes_identification.py": ("test_an_unknown_arm_is_recorded_identified_and_controlled",),
    "test_nodes_joints.py": ("test_an_arm_is_controlled_without_its_fingers[off]",),
    "test_nodes_life_cycles.py": ("test_life_cycles_leave_nothing_behind",),
    "test_nodes_payload.py": (
        "test_the_payload_is_found_and_adopted_and_a_hold_or_the_end_of_the_node_ends_the_motion",
    ),
    "test_nodes_recovery.py": ("test_a_node_that_is_told_to_end_leaves_the_graph_at_once[simulator]",),
    "test_nodes_states.py": ("test_in_simulated_time_a_stamp_from_afar_is_no_time[off]",),
    "test_planning_jerk.py": ("[inf-collocation]", "[400.0-collocation]", "[jerk2-time scaling]"),
}
"""Tests that are thorough because another one shows the same on another arm, or in a process: file → parts of names."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options of the workers."""
    forked_workers.add_options(parser)


def pytest_configure(config: pytest.Config) -> None:
    """Take interrupts as at a terminal: what a shell runs in the background ignores them, and so do its children."""
    gc.disable()  # a third of the time of collecting the tests
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    forked_workers.configure(config)
    if find_spec("hypothesis"):
        from hypothesis import settings

        settings.register_profile("fixed seeds", derandomize=True)
        settings.load_profile("fixed seeds")


@pytest.hookimpl(wrapper=True)
def pytest_runtestloop(session: pytest.Session) -> Generator[None, object, object]:
    """Start the servers that fork nodes and the command before workers are forked, which then share them."""
    if session.items and not session.testsfailed and session.config.pluginmanager.hasplugin("forked workers"):
        fork_server.command_server()
        if find_spec("rclpy") and any(item.get_closest_marker("ros") for item in session.items):
            from ros_graph import server

            server()
    return (yield)


def pytest_collection_finish(session: pytest.Session) -> None:
    """What all tests share is there now: looking for garbage leaves it alone."""
    os.environ["ROBODYN_STDERR"] = str(session.config.stash.get(fault_handler_stderr_fd_key, 2))  # not captured
    gc.freeze()
    gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A failure for want of an optional package is a skip."""
    return without_extras.skipped((yield), *item.location[:2])


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Generator[None, Any, Any]:
    """So is that to import a file of tests, which imports at its top what it needs."""
    return without_extras.skipped((yield), collector.nodeid)


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """What a file of tests leaves behind lives as long as the process: looking for garbage leaves that alone, too."""
    if nextitem is None or nextitem.path != item.path:
        gc.collect()
        gc.freeze()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what starts ROS 2 nodes, and spread these files evenly over the run: what waits runs beside what works."""
    for item in items:
        named = item.path.name.startswith(WITH_ROS) and item.path.name not in WITHOUT_ROS
        if named or "graph" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.ros)
            item.add_marker(pytest.mark.skipif(not find_spec("rclpy"), reason="ROS 2 (rclpy) is not installed"))
        if any(part in item.name for part in MORE.get(item.path.name, ())):
            item.add_marker(pytest.mark.thorough)
    files = [list(group) for _, group in groupby(items, key=lambda item: item.path)]
    kinds = [[file for file in files if any(item.get_closest_marker("ros") for item in file) == ros] for ros in (0, 1)]
    places = [((index + 0.5) / len(kind), file) for kind in kinds for index, file in enumerate(kind)]
    items[:] = [item for _, file in sorted(places, key=lambda place: place[0]) for item in file]


@pytest.fixture
def fresh(graph: Graph) -> Graph:
    """A graph whose nodes start as new processes, not by fork: for what depends on how a process starts or ends."""
    graph.fresh = True
    return graph


class Command:
    """The command ``robodyn``, run in this process."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *arguments: object) -> tuple[int, str, str]:
        """Exit code, output and errors of a command line."""
        from robodyn_ros.cli.main import main

        try:
            code = main([str(word) for word in arguments])
        except SystemExit as end:  # of argparse
            code = int(end.code or 0)
        return code, *self._capsys.readouterr()

    def error(self, *arguments: object) -> str:
        """What a command line that is wrong is answered."""
        code, _, err = self(*arguments)
        assert code == 2, err
        return err

    def out(self, *arguments: object, code: int | None = 0) -> str:
        """What a command line prints that ends with this code, or for None with a yes or a no."""
        found, out, err = self(*arguments)
        assert found in ((0, 1) if code is None else (code,)), err
        return out

    def json(self, *arguments: object, code: int | None = 0) -> Any:
        """The document that it prints with ``--json``."""
        return json.loads(self.out(*arguments, "--json", code=code))


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Command:
    """The command, with what it prints."""
    return Command(capsys)


@pytest.fixture
def graph(tmp_path: Path) -> Iterator[Graph]:
    """A ROS 2 graph of the test's own."""
    from ros_graph import own_graph

    with own_graph(tmp_path) as made:
        yield made


@pytest.fixture(scope="session")
def prr() -> str:
    """The URDF of the PRR arm."""
    return (URDF / "prr.urdf").read_text(encoding="utf-8")
