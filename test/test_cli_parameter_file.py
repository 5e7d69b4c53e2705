# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Parameter files of ROS 2 nodes, read without ROS as ROS reads them."""

import re
from pathlib import Path
from unittest.mock import Mock

import pytest

import robodyn_ros as rd
from robodyn_ros.cli import commission, view
from robodyn_ros.cli.arm import read_arm
from robodyn_ros.cli.verb import VerbParser, gather
from robodyn_ros.control.laws.cartesian_impedance import CartesianImpedanceSettings
from robodyn_ros.control.parameter_file import (
    FileParameters,
    LoadedParameters,
    parse_parameter,
    read_parameters,
    refuse_replaced,
)
from robodyn_ros.errors import ConfigurationError, InputError
from robodyn_ros.simulation.devices import StateSettings

ROOT = Path(__file__).parents[1]

FILE = """
/**:
  ros__parameters: {seed: 1, state_rate: 100.0}
/**/simulator:
  ros__parameters:
    seed: 2
    sensors: {elbow: {resolution: 1.0e-3}}
cell:
  simulator: {ros__parameters: {seed: 99}}
/controller:
  ros__parameters: {gains: {elbow: {natural_frequency: 5.0}}}
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "parameters.yaml"
    path.write_text(FILE)
    return path


def test_sections_of_a_node_by_name_and_wildcard(file):
    assert read_parameters(file, "simulator") == {"seed": 2, "state_rate": 100.0, "sensors.elbow.resolution": 1e-3}
    assert read_parameters(file, "controller") == {"seed": 1, "state_rate": 100.0, "gains.elbow.natural_frequency": 5.0}


def test_a_node_reads_the_same(file, graph, prr):
    """ROS itself, on the same file."""
    file.write_text(file.read_text().replace("elbow", "shoulder"))
    graph.start("simulator", "--params-file", str(file), robot_description=prr)
    expected = read_parameters(file, "simulator")
    assert dict(zip(expected, graph.get("simulator", *expected), strict=True)) == expected


@pytest.mark.parametrize(
    ("text", "value"), [("1e-3", 1e-3), ("-2.5e3", -2500.0), ("1.e5", 1e5), ("+.5E2", 50.0), ("'1e3'", "1e3")]
)
def test_numbers_with_an_exponent_are_those_of_ros(text, value):
    """YAML 1.1 takes those without a point and a sign for texts, and Python's JSON has them."""
    assert parse_parameter(f"step:={text}") == ("step", value)


@pytest.mark.parametrize("text", ["", "just: text", "a: [", "\tb: 1", "ros__parameters: 3"])
def test_what_is_no_parameter_file_is_refused(tmp_path, text):
    path = tmp_path / "file.yaml"
    path.write_text(text)
    with pytest.raises(InputError, match=r"file\.yaml"):
        read_parameters(path, "simulator")
    with pytest.raises(InputError, match=r"none\.yaml"):
        read_parameters(Path(tmp_path / "none.yaml"), "simulator")


def test_a_section_with_a_misspelt_name_is_refused_where_no_other_is_for_the_node(file):
    file.write_text(FILE.replace("/controller:", "controllers:"))
    with pytest.raises(InputError, match=r"parameters\.yaml is for a node 'controllers' \(is it 'controller'\?\)"):
        read_parameters(file, "controller")
    assert read_parameters(file, "conductor") == {"seed": 1, "state_rate": 100.0}
    for other in ("controller2", "controller_2"):  # a second one, that its number tells from the first
        file.write_text(FILE.replace("/controller:", f"{other}:"))
        assert read_parameters(file, "controller") == {"seed": 1, "state_rate": 100.0}
    file.write_text(f"{FILE}controllers: {{ros__parameters: {{seed: 3}}}}")  # of a node of another package
    assert read_parameters(file, "controller")["seed"] == 1


def test_parameters_of_the_command_line():
    assert parse_parameter("seed:=3") == ("seed", 3)
    assert parse_parameter("simulator:gravity:=[0, 0, -9.8]") == ("simulator:gravity", [0, 0, -9.8])
    for text in ("seed", "seed=3", ":=3", "a:=["):
        with pytest.raises(InputError):
            parse_parameter(text)


def test_values_defaults_and_what_nobody_asked_for():
    values = FileParameters({"state_rate": 250, "seed": 4, "sed": 5}, {"gravity": [0.0]})
    config = values.settings(StateSettings)
    assert config == StateSettings(state_rate=250.0, seed=4)
    assert isinstance(config.state_rate, float)
    assert values["gravity"] == [0.0]
    assert values.unused() == ["sed"]
    with pytest.raises(ConfigurationError, match="mass"):
        values["mass"]
    with pytest.raises(ConfigurationError, match=r"sensors\.seed"):
        FileParameters({"sensors.seed": 1.5}, {}).settings(StateSettings, "sensors.")


CONSTANT = "leave it out, it is a constant now"

FORMER = {
    "controller": {
        "contact.link": "tool", "hand_guiding.frame": "task.frame", "operational_space.turn": "task.reach",
        "cartesian_impedance.stiffness_rx": "cartesian_impedance.stiffness",
        "operational_space.force_z": "operational_space.force", "hand_guiding.upper_x": "hand_guiding.walls",
        "hand_guiding.wall_stiffness": "hand_guiding.stiffness", "hand_guiding.hold": "model_error",
        "contact.touch_torque": "contact.touch_wrench", "contact.sensor_com_y": "contact.sensor_load",
        "contact.friction": "contact.effort_source", "adaptive.learn": "adaptive.rate", "mpc.period": "mpc.step",
        "payload_estimation.speed": "target_speed", "payload_estimation.way": "payload_estimation.distance",
        "stream.turn_speed": "stream.speed", "stream.jerk": "stream.acceleration",
        "reference_timeout": "stream.timeout", "reference_velocity_filter": "velocity_filter",
        "output": "mit_limits", "mit_damping_limit": "mit_limits", "constraints": "accept",
        "transmission.elbow.reversed": "transmission.elbow.gear_ratio",
        "faults.speed.answer": "faults.speed.reaction", "faults.touch.expiry": "faults.touch.max_duration",
        "allow_sagging": "externally_supported", "quiet_time": "settled_time", "recurrences": CONSTANT,
        "mpc.iterations": CONSTANT, "adaptive.spread": CONSTANT, "adaptive.mass_limit": CONSTANT,
        "ramp_time": "leave it out, the first command carries the arm",
        "stream.delay": "leave it out, the period of the stream and its jitter are measured",
        "stream.target_pose": "leave it out, goals come on ~/goal_pose and streams on ~/target_pose",
        "cpu_dma_latency": "leave it out, permission to write to /dev/cpu_dma_latency stands for it",
    },
    "commissioner": {
        "overspeed": "speed_limit", "ramp_time": "push_time", "reach": "travel_limit", "probe_share": "push_effort",
        "patience": CONSTANT, "stroke": CONSTANT, "gravity_steps": CONSTANT, "inertia_tolerance": CONSTANT,
        "start_timeout": CONSTANT,
    },
    "conductor": {"lead": CONSTANT, "patience": CONSTANT},
    "markers": {"rate": CONSTANT, "tip": "tool"},
    "planner": {"limit_margin": CONSTANT, "payload": "payload.mass", "share": "limit_ratio", "tip": "tool"},
    "simulator": {
        "lockstep_factor": "real_time_factor", "wall.y": "wall.point", "wall.normal_z": "wall.normal",
        "step_by": "leave it out, ~/step is one period of the states", "wall.radius": CONSTANT,
        "mismatch.inertia_scale": CONSTANT, "wrench_timeout": CONSTANT,
    },
    "teleoperator": {"link": "tool", "most_damping": CONSTANT, "passivity": CONSTANT, "return_rate": CONSTANT},
    "viewer": {"plot_rate": CONSTANT, "tip": "tool"},
}  # fmt: skip
"""Node → name that it had before → the name now, or the sentence in its place."""


@pytest.mark.parametrize(("node", "former"), [(node, name) for node, names in FORMER.items() for name in names])
def test_a_parameter_that_a_node_has_no_more_is_refused_with_what_replaces_it(node, former):
    name = "controller-parameters" if node == "controller" else node
    page = (ROOT / "docs" / "reference" / "nodes" / f"{name}.md").read_text(encoding="utf-8")
    now = FORMER[node][former]
    row = re.sub(r"^transmission\.\w+", "transmission.<joint>", re.sub(r"^faults\.\w+", "faults.<kind>", now))
    assert f"| `{former}` |" not in page
    assert " " in now or f"| `{row}` |" in page
    told = re.escape(now if " " in now else f"use {now!r}")
    with pytest.raises(InputError, match=f"no such parameter any more: {told}"):
        refuse_replaced(former, node=node)
    refuse_replaced(now, node=node)


@pytest.mark.parametrize("former", ["overspeed", "probe_share", "tip", "lockstep_factor", "patience", "rate"])
def test_a_name_of_another_node_is_not_refused(former):
    refuse_replaced(former, node="controller")


def test_a_vector_is_as_many_numbers_within_the_range():
    values = FileParameters({"cartesian_impedance.stiffness": [300, 1.0, 2, 3, 4, 5]}, {})
    made = values.settings(CartesianImpedanceSettings, "cartesian_impedance.")
    assert made.stiffness == (300.0, 1.0, 2.0, 3.0, 4.0, 5.0)
    assert {type(value) for value in made.stiffness} == {float}


STIFFNESS = "cartesian_impedance.stiffness"
STIFFNESSES = [[1.0] * 5, [1.0] * 5 + [-1.0], [float("nan")] * 6, [True] * 6, 300.0, "stiff", []]


@pytest.mark.parametrize(
    ("name", "given", "said"),
    [
        *((STIFFNESS, given, r"^cartesian_impedance\.stiffness: must be 6 numbers within") for given in STIFFNESSES),
        ("task.reach", [0.1, 20.0], r"^task\.reach: must be 2 numbers within"),  # shared by several laws
    ],
)
def test_another_vector_is_refused_by_name(name, given, said):
    with pytest.raises(ConfigurationError, match=said):
        FileParameters({name: given}, {}).settings(CartesianImpedanceSettings, "cartesian_impedance.")


@pytest.fixture
def given(tmp_path):
    """What a verb reads of a parameter file with this text, and of options; and the file."""

    def read(verb, text, *options):
        file, parser = tmp_path / "arm.yaml", VerbParser()
        file.write_text(text)
        verb.add_arguments(parser)
        return parser.parse_args([str(ROOT / "urdf/prr.urdf"), "--params", str(file), *options]), file

    return read


@pytest.mark.parametrize(
    ("options", "law"), [([], "impedance"), (["--controller", "pd"], "pd"), (["-p", "controller:=mpc"], "mpc")]
)
def test_the_law_of_a_file_counts_in_the_viewer(options, law, given):
    """Its default was a parameter of its own, which overrode the file."""
    text = "/**/controller: {ros__parameters: {controller: impedance, dynamics: lagrangian}}"
    (args, file), group = given(view, text, *options), Mock()
    view._arm(args)[1](group)
    (node, values, _, *_), _ = group.start.call_args
    found = {**read_parameters(file, node), **values}
    assert (node, found["controller"], found["dynamics"]) == ("controller", law, "lagrangian")


@pytest.mark.parametrize(("options", "joints"), [([], ["wrist"]), (["--joints", "shoulder"], ["shoulder"])])
def test_the_joints_of_the_command_line_override_those_of_a_file_in_the_viewer(options, joints, given):
    (args, _), group = given(view, "/**: {ros__parameters: {joints: [wrist]}}", *options), Mock()
    view._arm(args)[1](group)
    for (_, values, files, *_), _ in group.start.call_args_list:
        read = LoadedParameters()
        for path in files:
            read |= read_parameters(path, "controller")
        assert {**read, **values}["joints"] == joints


@pytest.mark.parametrize(
    ("options", "joints"),
    [
        ([], ["wrist", "elevator", "shoulder"]),
        (["--lock", "elevator=2.1"], ["wrist", "shoulder"]),
        (["--joints", "shoulder,wrist"], ["shoulder", "wrist"]),
    ],
)
def test_the_joints_of_the_command_line_override_those_of_a_file_in_a_commissioning(options, joints, given):
    """The order of the drives stays."""
    args, _ = given(commission, "/**: {ros__parameters: {joints: [wrist, elevator, shoulder]}}", *options)
    assert commission._parameters(args)["joints"] == joints


@pytest.mark.parametrize(("written", "height"), [("0.3", 0.3), ("1.0e+6", 1.05)])
@pytest.mark.parametrize("options", [["--joints", "shoulder,wrist"], []])
def test_a_locked_joint_is_where_the_file_has_it(options, written, height, given, capsys):
    """Where the value is the default of the nodes, which stands for none, it is at the middle of its range."""
    joints = "" if options else "joints: [shoulder, wrist], "
    text = f"/**: {{ros__parameters: {{{joints}locked_joints: {{elevator: {written}}}}}}}"
    args, file = given(commission, text, *options)
    found = commission._parameters(args)
    if options:
        carriage = rd.load_robot(found["robot_description"]).fixed_joints[0]
        assert (carriage.name, carriage.origin.translation[2]) == ("elevator", height)
    else:
        assert found["locked_joints.elevator"] == float(written)  # of the whole arm, which the node locks
    assert "not used" not in capsys.readouterr().err
    (read,) = gather([file], [], ("controller",)).values()
    robot = read_arm(args, read)
    assert (robot.joint_names, robot.fixed_joints[0].origin.translation[2]) == (("shoulder", "wrist"), height)
