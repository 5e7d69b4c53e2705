# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The README and the contributor's guide are true: their tables match the code, and their commands and code run."""

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
from robodyn_ros.cli.main import VERBS
from robodyn_ros.plugins import GROUPS

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "docs/_ext"))

import executed  # noqa: E402

DOCUMENTS = ("README.md", "CONTRIBUTING.md")

PAGES = (*DOCUMENTS, *sorted(str(page.relative_to(ROOT)) for page in (ROOT / "docs").rglob("*.md")))

WORKSPACE = ("rosdep", "colcon", "ros2")
"""Tools that come with a ROS 2 installation only."""

CONTROLLER_READY = "prr: 3 joints, computed_torque on rnea dynamics"
SIMULATOR_READY = "prr: 3 joints, states at 500 Hz"


def blocks(document, language):
    """The code of a document's fenced blocks in a language, without those that say why they are not run."""
    return [block.code for block in executed.blocks(ROOT / document, language) if not block.why_not]


SCRIPTS = [(document, script) for document in DOCUMENTS for script in blocks(document, "bash")]


@pytest.fixture
def copy(tmp_path):
    """A copy of the project, whose .venv holds the environment of the tests."""
    folder = tmp_path / "src" / "robodyn_ros"
    tracked = ("LICENSE", "Makefile", "setup.py", "setup.cfg", "package.xml", *DOCUMENTS, ".ci")
    tracked += ("resource", "robodyn_ros", "launch", "urdf", "config", "rviz")
    for name in tracked:
        if (ROOT / name).is_dir():
            # With what Python has compiled of it, but for what it is writing at this moment.
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("*.pyc.*"))
        else:
            folder.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    programs = {
        ".venv/bin/python": "",
        ".venv/bin/robodyn": "-m robodyn_ros.cli.main",
        ".venv/bin/robodyn-simulator": "-m robodyn_ros.nodes.start simulator",
        ".venv/bin/robodyn-controller": "-m robodyn_ros.nodes.start controller",
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
    packages = os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)  # of a workspace
    return {**os.environ, "PATH": path, "PYTHONPATH": packages, **more}


def run_script(script, folder, env, timeout=110):
    """Run a script as a reader types it; what it prints."""
    command = ["bash", "-euo", "pipefail", "-c", script]
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=timeout, check=False)
    assert done.returncode == 0, f"{script}\n{done.stdout}{done.stderr}"
    assert "Traceback" not in done.stderr, done.stderr
    return done.stdout


def test_every_script_is_run_somewhere():
    assert len(SCRIPTS) >= 8
    assert sum(len(blocks(page, "bash")) for page in PAGES) >= 30
    for _, script in SCRIPTS:
        tools = {line.split()[0].removeprefix(".venv/bin/") for line in script.splitlines() if line.strip()}
        assert tools <= {
            *WORKSPACE,
            "robodyn-simulator",
            "robodyn-controller",
            "robodyn",
            "make",
            "python3",
            "source",
            "export",
        }


ENDING = [script for _, script in SCRIPTS if not executed.UNTIL_TOLD.match(script)]


@pytest.mark.parametrize("script", ENDING, ids=lambda script: script.splitlines()[0])
def test_commands_that_end(script, copy):
    missing = [tool for tool in WORKSPACE if re.search(rf"\b{tool}\b", script) and not shutil.which(tool)]
    if missing:
        pytest.skip(f"{', '.join(missing)} not installed")
    folder, more = copy, {}
    if script.startswith("make"):
        if not shutil.which("make"):
            pytest.skip("make not installed")
        more["MAKEFLAGS"] = "n"  # for real they are what runs this test
    if "pip install ." in script:
        if not (find_spec("wheel") or find_spec("setuptools.command.bdist_wheel")):
            pytest.skip("setuptools is too old to build without the network")
        # Only the package itself, from here: what it needs is installed, and the network is not asked.
        more = {"PIP_NO_INDEX": "1", "PIP_NO_DEPS": "1", "PIP_NO_BUILD_ISOLATION": "0"}
        more["PIP_TARGET"] = str(copy / "here")
    if script.startswith("rosdep"):
        folder = copy.parents[1]
        script = script[: script.index("ros2 launch")]  # the launch file is started below
    before = set(copy.iterdir())
    assert run_script(script, folder, environment(copy, **more))
    written = {path.name for path in set(copy.iterdir()) - before if path.is_file()}
    if written and (ROOT / ".git").exists():  # pictures and reports are no files for a commit
        ignored = subprocess.run(["git", "check-ignore", *written], cwd=ROOT, capture_output=True, text=True)
        assert set(ignored.stdout.split()) == written
    if "pip install ." in script:
        assert (copy / "here/robodyn_ros/cli/main.py").is_file()


def long_running(*starts):
    """The commands of all pages that run until they are told to end and begin with one of these words, each once."""
    lines = [line for page in PAGES for script in blocks(page, "bash") for line in script.splitlines()]
    return list(dict.fromkeys(line for line in lines if executed.UNTIL_TOLD.search(line) and line.startswith(starts)))


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
    if subprocess.run(["ros2", "pkg", "prefix", "robodyn_ros"], capture_output=True).returncode:
        pytest.skip("no workspace with robodyn_ros is sourced (colcon build makes one)")
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


def named(what):
    """The names in a row of the README's table of names."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (row,) = re.findall(rf"^\| {re.escape(what)} \| (.*) \|$", text, re.MULTILINE)
    return re.findall(r"`(\w+)`", row)


@pytest.mark.parametrize("kind", GROUPS)
def test_plugins(kind):
    assert sorted(named(f"plugins `{kind}`")) == sorted(rd.available(kind))


@pytest.mark.parametrize(
    ("page", "column", "kinds"),
    [
        ("docs/explanation/laws.md", 0, ("controllers",)),
        ("docs/explanation/engine.md", 0, ("dynamics",)),
        ("docs/how-to/simulate.md", 1, ("plants", "integrators")),
    ],
)
def test_tables_of_plugins(page, column, kinds):
    """Each plugin has its row in the page that explains its kind."""
    rows = re.findall(r"^\| `.*\|$", (ROOT / page).read_text(encoding="utf-8"), re.MULTILINE)
    cells = [[cell.strip().strip("`") for cell in row.strip("|").split("|")] for row in rows]
    listed = [(row[0] if column else kinds[0], row[column]) for row in cells]
    assert sorted(listed) == sorted((kind, name) for kind in kinds for name in rd.available(kind))


def test_nodes():
    pages = (ROOT / "docs/reference/nodes").glob("*.md")
    titles = [re.match(r"# `(\w+)`$", page.read_text(encoding="utf-8"), re.MULTILINE) for page in pages]
    assert sorted(named("nodes")) == sorted(title[1] for title in titles if title)


def test_verbs():
    assert named("verbs of `robodyn`") == list(VERBS)


def test_badges():
    said = {path.stem: path.read_text(encoding="utf-8") for path in (ROOT / "docs/badges").glob("*.svg")}
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert sorted(said) == sorted(re.findall(r"\(docs/badges/(\w+)\.svg\)", text))
    setup = (ROOT / "setup.py").read_text(encoding="utf-8")
    assert "Apache-2.0" in said["licence"]
    assert 'license="Apache-2.0"' in setup
    assert "3.10 – " in said["python"]
    assert 'python_requires=">=3.10"' in setup
    distributions = [path.stem.partition("-")[2] for path in (ROOT / ".ci").glob("constraints-*.txt")]
    assert sorted(word.capitalize() for word in distributions) == re.findall(r"Jazzy|Kilted", said["ros"])[:2]


def test_length():
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 160


@pytest.mark.parametrize("document", DOCUMENTS)
def test_links(document):
    text = (ROOT / document).read_text(encoding="utf-8")
    for target in re.findall(r"\]\((?!https?:)([^)#\s]+)", text):
        assert (ROOT / target).exists(), target


def test_picture():
    """The moving picture is there, moves, and is small; `make picture` makes it."""
    from PIL import Image as image

    path = ROOT / "docs/demo.webp"
    assert path.stat().st_size < 3e6
    with image.open(path) as picture:
        assert 4.0 < picture.n_frames / 14.0 < 8.0
        assert 640 <= picture.width <= 800
