"""The README and the contributor's guide say what is so: their tables are the code's, and what is code in them runs."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import robodyn_ros as rd
from robodyn_ros.plugins import GROUPS

ROOT = Path(__file__).parents[1]

DOCUMENTS = ("README.md", "CONTRIBUTING.md")

UNTIL_TOLD = re.compile(r"^(ros2 launch|\.venv/bin/(simulator|controller)) ", re.MULTILINE)
"""Commands that run until they are told to end."""

WORKSPACE = ("rosdep", "colcon", "ros2")
"""Tools that come with a ROS 2 installation only."""

ELSEWHERE = {".venv/bin/robodyn demo --out docs/demo.png": "test_cli_demo.py runs the whole demonstration"}

CONTROLLER_READY = "prr: 3 joints, computed_torque on rnea dynamics"
SIMULATOR_READY = "prr: 3 joints, states at 500 Hz"

NODES = {
    "controller": {},
    "commissioner": {},
    "simulator": {},
    "markers": {},
    "viewer": {},
    "planner": {},
    "conductor": {"joints": ["elevator"], "times": [0.0, 1.0], "waypoints": [0.0, 1.0], "record": "record.npz"},
}
"""Node → what it must be given."""


def blocks(document, language):
    """The fenced blocks of a language."""
    text = (ROOT / document).read_text(encoding="utf-8")
    return re.findall(rf"^ *```{language}\n(.*?)^ *```", text, re.DOTALL | re.MULTILINE)


SCRIPTS = [(document, script) for document in DOCUMENTS for script in blocks(document, "bash")]


@pytest.fixture
def copy(tmp_path):
    """A copy of the project, whose .venv holds the environment of the tests."""
    folder = tmp_path / "src" / "robodyn_ros"
    tracked = ("LICENSE", "Makefile", "setup.py", "setup.cfg", "package.xml", *DOCUMENTS, ".ci")
    tracked += ("resource", "robodyn_ros", "launch", "urdf", "config", "rviz")
    for name in tracked:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            folder.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    programs = {
        ".venv/bin/python": "",
        ".venv/bin/robodyn": "-m robodyn_ros.cli.main",
        ".venv/bin/simulator": "-m robodyn_ros.nodes.simulator",
        ".venv/bin/controller": "-m robodyn_ros.nodes.controller",
        "bin/python3": "",
    }
    for name, arguments in programs.items():
        program = folder / name
        program.parent.mkdir(parents=True, exist_ok=True)
        program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {arguments} "$@"\n')
        program.chmod(0o755)
    return folder


def environment(folder, **more):
    """For a command in the copy: python3 is the one of the tests, and imports the copy."""
    path = f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "PYTHONPATH": str(folder), **more}


def test_every_script_is_run_somewhere():
    assert len(SCRIPTS) >= 10
    for _, script in SCRIPTS:
        tools = {line.split()[0].removeprefix(".venv/bin/") for line in script.splitlines() if line.strip()}
        assert tools <= {*WORKSPACE, *NODES, "robodyn", "make", "python3", "source"}


ENDING = [script for _, script in SCRIPTS if not UNTIL_TOLD.match(script)]


@pytest.mark.parametrize("script", ENDING, ids=lambda script: script.splitlines()[0])
def test_commands_that_end(script, copy):
    if script.strip() in ELSEWHERE:
        pytest.skip(ELSEWHERE[script.strip()])
    missing = [tool for tool in WORKSPACE if re.search(rf"\b{tool}\b", script) and not shutil.which(tool)]
    if missing:
        pytest.skip(f"{', '.join(missing)} not installed")
    folder, more = copy, {}
    if script.startswith("make"):
        if not shutil.which("make"):
            pytest.skip("make not installed")
        more["MAKEFLAGS"] = "n"  # for real they are what runs this test
    if " pip " in script:
        if not (find_spec("wheel") or find_spec("setuptools.command.bdist_wheel")):
            pytest.skip("setuptools is too old to build without the network")
        # Only the package itself, from here: what it needs is installed, and the network is not asked.
        more = {"PIP_NO_INDEX": "1", "PIP_NO_DEPS": "1", "PIP_NO_BUILD_ISOLATION": "0"}
        more["PIP_TARGET"] = str(copy / "here")
    if script.startswith("rosdep"):
        folder = copy.parents[1]
        script = script[: script.index("ros2 launch")]  # the launch file is started below
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=folder,
        env=environment(copy, **more),
        capture_output=True,
        text=True,
        timeout=110,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout
    if " pip " in script:
        assert (copy / "here/robodyn_ros/cli/main.py").is_file()


def long_running(*starts):
    """The README's commands that run until they are told to end and begin so."""
    found = [line for _, script in SCRIPTS for line in script.splitlines() if UNTIL_TOLD.search(line)]
    return [line for line in found if line.startswith(starts)]


def runs_until_told(commands, folder, graph, *said):
    """Start commands, wait until they have said all this, and end them in peace."""
    outputs = [folder / f"output{index}" for index in range(len(commands))]
    env = environment(folder)
    processes = []
    try:
        for command, output in zip(commands, outputs, strict=True):
            with open(output, "w") as out:
                words = ["bash", "-c", f"exec {command}"]
                options = {"stdout": out, "stderr": out, "start_new_session": True}
                processes.append(subprocess.Popen(words, cwd=folder, env=env, **options))

        def everything():
            return "".join(output.read_text() for output in outputs)

        def started():
            return all(part in everything() for part in said)

        def ended():
            return any(process.poll() is not None for process in processes)

        graph.wait(lambda: started() or ended(), f"{said} from {commands}", 60.0)
        assert started(), everything()
        for process in processes:
            os.killpg(process.pid, signal.SIGINT)
        for process, output in zip(processes, outputs, strict=True):
            assert process.wait(15.0) == 0, output.read_text()
            assert "Traceback" not in output.read_text()
    finally:
        for process in processes:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def test_the_two_processes(copy, graph):
    commands = long_running(".venv/bin/")
    assert len(commands) == 2
    runs_until_told(commands, copy, graph, CONTROLLER_READY, SIMULATOR_READY)


@pytest.mark.parametrize("command", long_running("ros2 launch"))
def test_launch(command, copy, graph):
    if not shutil.which("ros2"):
        pytest.skip("ros2 not installed")
    from ament_index_python.packages import PackageNotFoundError, get_package_prefix

    try:
        get_package_prefix("robot_state_publisher")
    except PackageNotFoundError:
        command += " robot_state_publisher:=false"
    ready = (CONTROLLER_READY, SIMULATOR_READY) if "sim.launch" in command else (CONTROLLER_READY,)
    runs_until_told([f"{command} rviz:=false"], copy, graph, *ready)


@pytest.mark.parametrize("snippet", blocks("README.md", "python"), ids=lambda snippet: snippet.splitlines()[0])
def test_python(snippet):
    done = subprocess.run([sys.executable, "-c", snippet], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    for line in snippet.splitlines():
        said = re.fullmatch(r"print\(.*\)  # (\(.*\))", line)
        if said:
            assert said.group(1) in done.stdout


def test_plugins():
    readme = pytest.importorskip("readme", reason="ROS 2 (rclpy) is not installed")
    listed = [(kind, name) for kind, name, _ in readme.rows(readme.section("Plugins"), 3)]
    assert sorted(listed) == sorted((kind, name) for kind in GROUPS for name in rd.available(kind))


@pytest.fixture
def node(request, graph, prr):
    """A node's name and what it was given, with the node running."""
    name = request.param
    if name == "viewer":
        pytest.importorskip("viser", reason="the viewer needs viser")
    given = NODES[name] or {"robot_description": prr}
    graph.start(name, **given)
    graph.wait(lambda: name in graph.node.get_node_names(), "the node")
    if name == "controller":
        graph.wait(lambda: graph.node.count_publishers("/controller/commands"), "a configured controller")
    return name, set(given)


@pytest.mark.parametrize("node", NODES, indirect=True)
def test_topics_and_services(node, graph):
    from readme import quality, rows, section

    name, _ = node

    def absolute(topic):
        return topic.replace("~", f"/{name}") if topic.startswith(("~", "/")) else f"/{topic}"

    def found(listing, details):
        """Topic, type and quality of service of the node's own end points."""
        own = [(topic, kinds[0]) for topic, kinds in listing(name, "/")]
        ends = {topic: [end for end in details(topic) if end.node_name == name] for topic, _ in own}
        return {(topic, kind, quality(ends[topic][0].qos_profile)) for topic, kind in own if ends[topic]}

    def listed(direction):
        table = rows(section(f"`{name}`"), 5)
        return {(absolute(topic), kind, qos) for way, topic, kind, qos, _ in table if way == direction}

    of_every_node = {"/rosout", "/parameter_events", f"/{name}/transition_event", "/clock"}
    ways = {
        "sub": (graph.node.get_subscriber_names_and_types_by_node, graph.node.get_subscriptions_info_by_topic),
        "pub": (graph.node.get_publisher_names_and_types_by_node, graph.node.get_publishers_info_by_topic),
    }
    for way, listing in ways.items():
        own = listed(way)
        assert own
        others = of_every_node - {topic for topic, _, _ in own}
        graph.wait(
            lambda own=own, listing=listing, others=others: own == {e for e in found(*listing) if e[0] not in others},
            f"exactly the {way} of the README: {own}",
        )
    services = {(absolute(service), kind) for service, kind, _ in rows(section(f"`{name}`"), 3)}
    own = {(service, kinds[0]) for service, kinds in graph.node.get_service_names_and_types_by_node(name, "/")}
    assert services == {entry for entry in own if entry[1].startswith("std_srvs/")}


@pytest.mark.parametrize("node", NODES, indirect=True)
def test_parameters(node, graph):
    from readme import parameters_table

    name, given = node
    joints = rd.load_robot(ROOT / "urdf/prr.urdf").joint_names
    table = parameters_table(graph, name, joints, given)
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    found = re.search(rf"<!-- parameters of {name} -->\n(.*?)\n?<!-- end -->", text, re.DOTALL)
    assert found
    assert found.group(1) == table, f"the README's parameters of {name} should be:\n\n{table}\n"
