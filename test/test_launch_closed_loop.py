# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The launch files. They need launch and launch_ros, which are not on PyPI: in a ROS 2 installation they are there.

Nothing is skipped while pytest collects: launch_testing's pytest plugin imports every file of a folder to look for its
own, and takes a skip there for one of the whole folder.
"""

import importlib.util
import re
import runpy
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import MagicMock

import pytest
import yaml

import robodyn_ros as rd
from robodyn_ros.errors import ConfigurationError

HERE = Path(__file__).parent
LAUNCH = HERE.parent / "launch"


def need(*modules):
    """Skip unless they are installed, and the package where launch files look for it."""
    for module in modules:
        found = importlib.util.find_spec(module)
        if found is None or found.origin is None:  # a mere folder, such as this repository's launch/
            pytest.skip(f"{module} is not installed (it is not on PyPI; a ROS 2 installation has it)")
    from ament_index_python.packages import PackageNotFoundError, get_package_share_directory

    try:
        share = get_package_share_directory("robodyn_ros")
    except PackageNotFoundError:
        pytest.skip("robodyn_ros is not installed in an ament prefix (colcon build does that)")
    return Path(share)


def launched(name, **arguments):
    """The nodes that a launch file would start, and the context to expand them in."""
    from launch import LaunchContext, LaunchDescription
    from launch_ros.actions import Node

    spec = importlib.util.spec_from_file_location("launched", LAUNCH / name)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    context, nodes = LaunchContext(), []
    context.launch_configurations.update(arguments)
    context.extend_locals({"ros_specific_arguments": {"name": "", "ns": ""}})  # a node's name, as its execution adds it
    waiting = [module.generate_launch_description()]
    while waiting:
        entity = waiting.pop(0)
        if isinstance(entity, Node):
            if entity.condition is None or entity.condition.evaluate(context):
                nodes.append(entity)
        else:
            waiting[:0] = entity.entities if isinstance(entity, LaunchDescription) else entity.visit(context) or []
    return nodes, context


def processes(name, **arguments):
    """Package and executable of those nodes → parameters, and the rest of the command."""
    nodes, context = launched(name, **arguments)
    found = {}
    for node in nodes:
        node._perform_substitutions(context)
        command = ["".join(part.perform(context) for part in word) for word in node.cmd]
        found[node.node_package, node.node_executable] = opened(command[1:])
    return found


def opened(command):
    """A node's command, with what is in its parameter files in place of their names."""
    parameters, rest, words = {}, [], iter(command)
    for word in words:
        if word == "--params-file":
            content = yaml.full_load(Path(next(words)).read_text(encoding="utf-8"))  # launch writes lists as tuples
            for section in content.values():
                parameters |= section["ros__parameters"]
        else:
            rest.append(word)
    return parameters, rest


TAKEN = {
    "robot": "URDF file",
    "follower_robot": "arm",
    "root": "link",
    "tip": "link",
    "config": "parameter file (YAML)",
    "namespace": "ROS name",
    "leader": "ROS name",
    "follower": "ROS name",
    "joint_states": "topic",
    "commands": "topic that takes the efforts (std_msgs/Float64MultiArray)",
    "ros2_control": "parameter file (YAML) with one forward_command_controller",
    "hardware": "XML file with the <ros2_control> tag",
    "accept": "imperfections",
}
"""Argument without a list of choices → what its description says that it takes."""

CHOSEN = ("dynamics", "controller", "coupling")
"""Arguments with the names of parameters, which a parameter file may have."""

FILES = ("arm.launch.py", "teleoperation.launch.py")
"""The launch files that declare arguments; sim.launch.py has those of arm.launch.py, but for one."""


@pytest.fixture
def without_launch(monkeypatch):
    """What stands for the modules of launch, which need not be installed; every other package is there."""
    module = MagicMock()
    monkeypatch.setattr("ament_index_python.packages.get_package_share_directory", lambda package: HERE.parent)
    monkeypatch.setattr("robodyn_ros.nodes.common.launching.get_package_prefix", lambda package: "/")
    for name in ("launch", "launch_ros"):
        for part in ("", ".actions", ".conditions", ".substitutions", ".parameter_descriptions"):
            monkeypatch.setitem(sys.modules, name + part, module)
    return module


def with_arguments(launch, name, **given):
    """What a launch file defines, and its arguments, which may be changed: the defaults, but for those given."""
    values = {}
    launch.LaunchConfiguration = lambda key: SimpleNamespace(perform=lambda _: values[key])
    content = runpy.run_path(str(LAUNCH / name))
    values |= {key: default for key, (default, *_) in content["ARGUMENTS"].items()} | given
    return content, values


@pytest.mark.parametrize("name", FILES)
def test_every_argument_says_what_it_takes(name, without_launch):
    """Its choices where there are some, else in its description."""
    content = runpy.run_path(str(LAUNCH / name))["ARGUMENTS"]
    assert {"robot", "config"} < set(content)
    for argument, (default, description, *choices) in content.items():
        if choices:
            assert default in choices[0], argument
            assert description, argument
        elif name == "arm.launch.py" or argument != "robot":  # whose description names that file
            assert TAKEN[argument] in description, argument
        assert argument not in CHOSEN or default == "", f"{argument}: would replace that of the parameter file"
        if default == "":
            assert re.search("unless given|unless .* is given|has none", description), f"{argument}: what if not given?"


@pytest.mark.parametrize("name", [*FILES, "sim.launch.py"])
def test_show_args_lists_them(name):
    need("launch", "launch_ros")
    from launch.launch_description_sources import get_launch_description_from_any_launch_file

    description = get_launch_description_from_any_launch_file(str(LAUNCH / name))
    listed = {argument.name: argument for argument in description.get_launch_arguments()}
    assert {"robot", "config"} < set(listed)
    for argument in listed.values():
        assert argument.description != "no description given"
        for choice in argument.choices or ():
            assert repr(choice) in argument.description
    if name == "sim.launch.py":
        assert "/clock, which the simulator publishes" in listed["use_sim_time"].description


def test_a_simulated_arm_has_simulated_time_and_no_hardware_whatever_is_asked_for(without_launch):
    """launch takes the first declaration of an argument."""
    runpy.run_path(str(LAUNCH / "sim.launch.py"))["generate_launch_description"]()
    calls = {call.args[0]: call.kwargs for call in without_launch.DeclareLaunchArgument.call_args_list}
    assert set(calls) == {"use_sim_time", "ros2_control"}
    assert calls["use_sim_time"]["default_value"] == "true"
    assert not {"false", "False", "0"} & set(calls["use_sim_time"]["choices"])
    assert calls["ros2_control"]["choices"] == (calls["ros2_control"]["default_value"],) == ("",)


ONLY_OURS = {"rviz": "false", "robot_state_publisher": "false"}


def test_simulated_and_real_differ_in_the_simulator_and_the_clock_only():
    need("launch", "launch_ros")
    for robot in ("r", "pr", "rr", "prr"):
        real = processes("arm.launch.py", robot=robot, **ONLY_OURS)
        simulated = processes("sim.launch.py", robot=robot, **ONLY_OURS)
        simulated.pop(("robodyn_ros", "simulator"))
        assert set(real) == set(simulated) == {("robodyn_ros", "controller")}
        for node, (given, _) in real.items():
            assert given.pop("use_sim_time") is False
            assert simulated[node][0].pop("use_sim_time") is True
        assert simulated == real


def test_a_parameter_file_chooses_unless_an_argument_does(tmp_path):
    need("launch", "launch_ros")
    file = tmp_path / "arm.yaml"
    chosen = {"dynamics": "lagrangian", "controller": "pd"}
    file.write_text(yaml.safe_dump({"/**": {"ros__parameters": chosen}}), encoding="utf-8")
    for arguments, law in (({}, "pd"), ({"controller": "impedance"}, "impedance")):
        found = processes("sim.launch.py", config=str(file), **arguments, **ONLY_OURS)
        assert found["robodyn_ros", "controller"][0]["controller"] == law
        assert [parameters["dynamics"] for parameters, _ in found.values()] == ["lagrangian"] * 2


def test_every_node_of_this_package_gets_its_section_of_the_parameter_file(tmp_path, without_launch):
    file, told = tmp_path / "arm.yaml", {}
    nodes = ("controller", "simulator", "markers", "planner", "viewer")
    file.write_text(yaml.safe_dump({name: {"ros__parameters": {"tool": name}} for name in nodes}), encoding="utf-8")
    for name, made in (("arm.launch.py", "graph"), ("sim.launch.py", "simulator")):
        with_arguments(without_launch, "arm.launch.py", config=str(file))
        runpy.run_path(str(LAUNCH / name))[made](None)
    for call in without_launch.Node.call_args_list:
        if call.kwargs["package"] == "robodyn_ros":
            path = next(item for item in call.kwargs["parameters"] if isinstance(item, str))
            (section,) = yaml.full_load(Path(path).read_text(encoding="utf-8")).values()
            told[call.kwargs["executable"]] = section["ros__parameters"]["tool"]
    assert told == dict(zip(nodes, nodes, strict=True))


def test_the_planner_plans_the_joints_that_are_controlled():
    need("launch", "launch_ros")
    found = processes("sim.launch.py", tip="arm", planner="true", **ONLY_OURS)
    for name in ("controller", "simulator", "planner"):
        assert list(found["robodyn_ros", name][0]["joints"]) == ["elevator", "shoulder"]
    found = processes("arm.launch.py", planner="true", **ONLY_OURS)
    assert "joints" not in found["robodyn_ros", "planner"][0]  # all


def test_what_is_not_of_this_package_is_started_unless_told_otherwise(monkeypatch):
    need("launch", "launch_ros")
    monkeypatch.setattr("robodyn_ros.nodes.common.launching.get_package_prefix", lambda package: "/")  # all are there
    for name in ("arm.launch.py", "sim.launch.py"):
        nodes = {(node.node_package, node.node_executable) for node in launched(name)[0]}
        assert ("robot_state_publisher", "robot_state_publisher") in nodes
        assert ("rviz2", "rviz2") in nodes
        assert ("robodyn_ros", "markers") in nodes


@pytest.mark.parametrize("argument", ["rviz", "robot_state_publisher"])
def test_nothing_is_started_if_a_package_is_missing(monkeypatch, argument):
    need("launch", "launch_ros")

    def missing(package):
        raise LookupError(package)

    monkeypatch.setattr("robodyn_ros.nodes.common.launching.PackageNotFoundError", LookupError)
    monkeypatch.setattr("robodyn_ros.nodes.common.launching.get_package_prefix", missing)
    with pytest.raises(ConfigurationError, match=f"{argument}:=false"):
        launched("arm.launch.py", **(ONLY_OURS | {argument: "true"}))


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        (
            "arm.launch.py",
            {"ros2_control": "controllers.yaml"},
            "controller_manager is not .*out: do not give ros2_control$",  # ros2 launch takes no empty value
        ),
        (
            "teleoperation.launch.py",
            {"leader": "left", "follower": "/left"},
            "follower: /left is .* each arm needs one",
        ),
    ],
)
def test_what_cannot_be_started_is_refused(name, arguments, said, monkeypatch, tmp_path, without_launch):
    from ament_index_python.packages import get_package_prefix

    monkeypatch.setenv("AMENT_PREFIX_PATH", str(tmp_path))  # no package is installed
    monkeypatch.setattr("robodyn_ros.nodes.common.launching.get_package_prefix", get_package_prefix)
    content, _ = with_arguments(without_launch, name, **arguments)
    without_launch.IfCondition().evaluate.return_value = False  # nothing of other packages
    with pytest.raises(ConfigurationError, match=said):
        content["graph"](None)


def test_a_controller_manager_is_not_started_where_it_would_read_nothing():
    """Its file names nodes without a namespace, and ROS reads it; the efforts would go to a topic of nobody."""
    need("launch", "launch_ros")
    with pytest.raises(ConfigurationError, match=r"ros2_control: .*commands:=forward_effort_controller/commands"):
        launched("arm.launch.py", ros2_control="controllers.yaml", namespace="left", **ONLY_OURS)


def test_root_and_tip_or_a_file_choose_the_joints_of_the_controller_manager(tmp_path, without_launch):
    """Its order counts, because the efforts have no names; other joints than those chosen are a mistake."""
    file = tmp_path / "controllers.yaml"
    launch, given = with_arguments(without_launch, "arm.launch.py", ros2_control=str(file))
    forward = {"type": "forward_command_controller/ForwardCommandController"}
    parts = {"controller_manager": {"efforts": forward}}
    parts["efforts"] = {"joints": ["shoulder", "elevator"], "interface_name": "effort"}
    file.write_text(yaml.safe_dump({name: {"ros__parameters": part} for name, part in parts.items()}), encoding="utf-8")
    for tip in ("arm", ""):
        given["tip"] = tip
        launch["graph"](None)
        calls = {call.kwargs["executable"]: call.kwargs for call in without_launch.Node.call_args_list}
        assert {"joints": ["shoulder", "elevator"]} in calls["controller"]["parameters"]
    given["robot"] = "rr"
    with pytest.raises(ConfigurationError, match=r"effort of 'elevator', but the arm has shoulder, elbow"):
        launch["graph"](None)
    given["robot"], given["tip"] = "prr", "hand"
    taken = r"efforts of \['shoulder', 'elevator'\], but "
    with pytest.raises(ConfigurationError, match=taken + r"root and tip choose \['elevator', 'shoulder', "):
        launch["graph"](None)
    given["tip"], own = "", tmp_path / "own.yaml"
    given["config"] = str(own)
    own.write_text("controller: {ros__parameters: {joints: [elevator, shoulder]}}", encoding="utf-8")
    launch["graph"](None)
    for other in ("['shoulder', 'wrist']", "'shoulder, elevator'", "[1, 2]", "['shoulder', 'elevator', 'shoulder']"):
        own.write_text(f"/**: {{ros__parameters: {{joints: {other}}}}}", encoding="utf-8")
        with pytest.raises(ConfigurationError, match=taken + rf".*own\.yaml chooses {re.escape(other)}: "):
            launch["graph"](None)


def test_two_arms_share_neither_clock_nor_frames():
    need("launch", "launch_ros")
    from launch import LaunchContext
    from launch_ros.actions import SetRemap

    from robodyn_ros.nodes.common.launching import in_namespace

    context, (group,) = LaunchContext(), in_namespace("left", [])
    for action in group.get_sub_entities():
        if isinstance(action, SetRemap):
            action.visit(context)
    own = {f"/{topic}": topic for topic in ("clock", "tf", "tf_static")}
    assert dict(context.launch_configurations["ros_remaps"]) == own


@pytest.mark.parametrize(("simulated", "leader"), [("true", "left"), ("false", "/left")])
def test_two_coupled_arms(simulated, leader):
    need("launch", "launch_ros")
    given = {"simulated": simulated, "leader": leader, "joint_states": "driver/states"}
    nodes, context = launched("teleoperation.launch.py", **given, **ONLY_OURS)
    each = ["controller", "simulator", "teleoperator"] if simulated == "true" else ["controller", "teleoperator"]
    assert [node.node_executable for node in nodes] == 2 * each
    ends = {}
    for node in nodes:
        if node.node_executable == "teleoperator":  # the others are in groups, which take their arguments back
            node._perform_substitutions(context)
            renamed = dict(node.expanded_remapping_rules)
            assert renamed["joint_states"] == "driver/states"
            ends[node.expanded_node_namespace] = renamed["~/received"]
    assert ends == {"/left": "/follower/teleoperator/sent", "/follower": "/left/teleoperator/sent"}


def test_arms_that_differ_are_coupled_by_their_tools():
    need("launch", "launch_ros")
    robots = {"robot": "prr", "follower_robot": "rr"}
    nodes, context = launched("teleoperation.launch.py", coupling="tool", simulated="false", **robots, **ONLY_OURS)
    arms = []
    for node in nodes:
        if node.node_executable == "teleoperator":
            node._perform_substitutions(context)
            told, _ = opened(["".join(part.perform(context) for part in word) for word in node.cmd][1:])
            arms.append((told["role"], told["coupling"], rd.load_robot(told["robot_description"]).n))
    assert arms == [("leader", "tool", 3), ("follower", "tool", 2)]


def test_closed_loop(tmp_path):
    """launch_closed_loop.py, by launch_testing."""
    need("launch", "launch_ros", "launch_testing")
    from robodyn_ros.cli.processes import isolated

    with isolated() as environment:
        command = [sys.executable, "-m", "launch_testing.launch_test", str(HERE / "launch_closed_loop.py")]
        done = subprocess.run(
            command, env=environment | {"ROS_LOG_DIR": str(tmp_path)}, capture_output=True, text=True, timeout=90
        )
    assert done.returncode == 0, done.stdout + done.stderr
