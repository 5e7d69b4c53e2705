# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Parameter files of ROS 2 nodes, read without ROS as ROS reads them."""

from pathlib import Path

import pytest

from robodyn_ros.control.parameter_file import FileParameters, parse_parameter, read_parameters
from robodyn_ros.errors import ConfigurationError, InputError
from robodyn_ros.simulation.hardware.sensors import StateSettings

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
    assert read_parameters(file, "controller") == {
        "seed": 1,
        "state_rate": 100.0,
        "gains.elbow.natural_frequency": 5.0,
    }


def test_a_node_reads_the_same(file, graph, prr):
    """ROS itself, on the same file."""
    from rcl_interfaces.srv import GetParameters

    text = file.read_text().replace("elbow", "shoulder")
    file.write_text(text)
    graph.start("simulator", "--params-file", str(file), robot_description=prr)
    names = list(read_parameters(file, "simulator"))
    values = graph.call(GetParameters, "simulator/get_parameters", names=names).values
    found = [value.integer_value if value.type == 2 else value.double_value for value in values]
    assert dict(zip(names, found, strict=True)) == read_parameters(file, "simulator")


@pytest.mark.parametrize("text", ["", "just: text", "a: [", "\tb: 1", "ros__parameters: 3"])
def test_what_is_no_parameter_file_is_refused(tmp_path, text):
    path = tmp_path / "file.yaml"
    path.write_text(text)
    with pytest.raises(InputError, match=r"file\.yaml"):
        read_parameters(path, "simulator")
    with pytest.raises(InputError, match=r"none\.yaml"):
        read_parameters(Path(tmp_path / "none.yaml"), "simulator")


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
