# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Isolated graphs: no two share a domain, wherever their files lie. The parameters of their nodes."""

import json
import subprocess
import sys
from contextlib import ExitStack

import pytest

from robodyn_ros.cli import processes
from robodyn_ros.cli.processes import isolated, node_command
from robodyn_ros.cli.verb import GivenParameters
from robodyn_ros.errors import ConfigurationError

PROGRAM = """
from robodyn_ros.cli import processes
processes.DOMAINS = range(101, 105)
with processes.isolated() as made:
    print(made["ROS_DOMAIN_ID"])
"""


def test_graphs_in_other_folders_and_processes_share_no_domain(tmp_path, monkeypatch):
    """All domains but one are in use here: a process with its own folder for temporary files finds that one."""
    monkeypatch.setattr(processes, "DOMAINS", range(101, 105))
    with ExitStack() as held:
        used = {held.enter_context(isolated())["ROS_DOMAIN_ID"] for _ in range(3)}
        monkeypatch.setenv("TMPDIR", str(tmp_path))
        found = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
        assert used | {found.stdout.strip()} == {str(domain) for domain in range(101, 105)}
    assert not list(tmp_path.iterdir())


def test_more_graphs_than_domains_are_refused_in_words(monkeypatch):
    monkeypatch.setattr(processes, "DOMAINS", range(105, 107))
    with isolated() as first, isolated() as second:
        assert {first["ROS_DOMAIN_ID"], second["ROS_DOMAIN_ID"]} == {"105", "106"}
        with pytest.raises(ConfigurationError, match="every ROS 2 domain from 105 to 106 is in use"), isolated():
            pass
    with isolated() as again:
        assert again["ROS_DOMAIN_ID"] in ("105", "106")


GIVEN = """
import rclpy
from rclpy.node import Node

rclpy.init()
print({name: one.value for name, one in Node("controller")._parameter_overrides.items()})
"""


def test_parameters_override_a_file_with_sections_for_any_node_and_for_one(tmp_path):
    """ROS has the section for one node override that for any in later files too, if the first file has both."""
    file = tmp_path / "arm.yaml"
    sections = {"/**": {"seed": 1}, "/**/controller": {"controller": "impedance", "step": 1e-5}}
    file.write_text(json.dumps({name: {"ros__parameters": values} for name, values in sections.items()}))
    command = node_command("controller", {"controller": "pd"}, tmp_path, [file])
    arguments = command[command.index("--ros-args") :]
    found = subprocess.run([sys.executable, "-c", GIVEN, *arguments], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == str({"seed": 1, "controller": "pd", "step": 1e-5})


@pytest.mark.parametrize(("lockstep", "topic"), [(True, "joint_commands"), (False, "commands")])
def test_in_lockstep_the_simulator_takes_the_commands_that_have_stamps(lockstep, topic):
    """Also where the user asks for it by -p simulator:lockstep:=true."""
    started = {}

    class Group:
        def start(self, name, parameters, files, remaps=None):
            started[name] = parameters, remaps

    given = GivenParameters(values={"simulator": {"lockstep": lockstep}})
    processes.start_arm(Group(), {"robot": "prr", "lockstep": not lockstep}, "pd", given)
    assert started["simulator"] == ({"robot": "prr", "lockstep": lockstep}, {topic: f"controller/{topic}"})
    assert started["controller"][0]["controller"] == "pd"
