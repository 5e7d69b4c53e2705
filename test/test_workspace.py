# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Into a workspace, as ROS users do it: colcon builds a copy of the project; the keys of package.xml; the commands."""

import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from importlib.util import find_spec
from pathlib import Path

import pytest

from robodyn_ros.errors import pip_install
from robodyn_ros.nodes.start import EXECUTABLES, NODES, help_parser, main

ROOT = Path(__file__).parents[1]

FOLDERS = ("resource", "robodyn_ros", "launch", "urdf", "config", "rviz")


def setup(folder: Path, *words: str) -> list[str]:
    """The names of the commands that a setup.py run with these words would install."""
    program = (
        "import runpy, sys, setuptools; sys.argv = ['setup.py', *sys.argv[1:]];"
        "setuptools.setup = lambda **given: print(*given['entry_points']['console_scripts'], sep='\\n');"
        "runpy.run_path('setup.py')"
    )
    command = [sys.executable, "-c", program, *words]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True, timeout=60)
    return [line.split(" = ")[0] for line in done.stdout.splitlines()]


def test_names_on_the_path_have_a_prefix() -> None:
    assert set(setup(ROOT, "bdist_wheel")) == {"robodyn", *(f"robodyn-{name}" for name in EXECUTABLES)}


@pytest.mark.parametrize("word", ["install", "develop"])
def test_a_workspace_has_the_short_names_too(word: str) -> None:
    assert {*EXECUTABLES, "check", "robodyn"} <= set(setup(ROOT, word))


def test_setup_py_may_be_a_link_in_another_folder(tmp_path: Path) -> None:
    """As ``colcon build --symlink-install`` runs it: beside links to some of the files, without the README."""
    for name in ("setup.py", "setup.cfg", "package.xml", *FOLDERS):
        (tmp_path / name).symlink_to(ROOT / name)
    assert "controller" in setup(tmp_path, "develop")


def test_a_clone_in_the_current_folder_does_not_hide_the_package(tmp_path: Path) -> None:
    """Python beside the clone, as a notebook at home is, imported the clone's folder as an empty package."""
    if not (find_spec("wheel") or find_spec("setuptools.command.bdist_wheel")):
        pytest.skip("setuptools is too old to build without the network")
    (tmp_path / "robodyn_ros").mkdir()
    copy = tmp_path / "elsewhere"
    copy.mkdir()
    for name in ("setup.py", "setup.cfg", "package.xml", "README.md"):
        shutil.copy(ROOT / name, copy)
    (copy / "robodyn_ros").mkdir()
    (copy / "robodyn_ros/__init__.py").touch()
    site, build = tmp_path / "site", "from setuptools import build_meta; build_meta.build_editable('.')"
    subprocess.run([sys.executable, "-c", build], cwd=copy, capture_output=True, check=True, timeout=120)
    shutil.unpack_archive(next(copy.glob("*.whl")), site, "zip")
    program = f"import site; site.addsitedir({str(site)!r}); import robodyn_ros; print(robodyn_ros.__file__)"
    # Isolated from the environment of the tests, but for the folder in which it runs.
    command = [sys.executable, "-S", "-E", "-c", program]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == str(copy / "robodyn_ros/__init__.py")


def test_package_xml_depends_on_nothing_that_rosdep_does_not_know() -> None:
    root = ET.parse(ROOT / "package.xml").getroot()
    assert "ament_python" not in {item.text for item in root if item.tag.endswith("depend")}
    assert root.findtext("export/build_type") == "ament_python"
    for name in ("xacro", "urdfdom_py", "g++-static"):
        assert name in {item.text for item in root.findall("exec_depend")}
    keys = {str(item.text) for item in root if item.tag.endswith("depend")}
    assert not [key for key in keys if key.endswith("-pip")], "the build farm installs packages of the system alone"


@pytest.mark.parametrize("name", EXECUTABLES)
def test_executables_have_help(name: str) -> None:
    text = help_parser(name, f"robodyn-{name}").format_help()
    assert EXECUTABLES[name].summary in " ".join(text.split())
    assert "--ros-args" in text
    assert max(map(len, text.splitlines())) <= 100


def test_a_node_that_there_is_not_is_named_and_every_other_has_help(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for given, said in (([], "not ''"), (["conroller", "--ros-args"], "not 'conroller' (is it 'controller'?)")):
        monkeypatch.setattr("sys.argv", ["start.py", *given])
        assert main() == 1
        error = capsys.readouterr().err
        assert error.startswith("error: the node must be one of controller, simulator") and said in error
    for name in NODES:
        monkeypatch.setattr("sys.argv", ["start.py", name, "--help"])
        with pytest.raises(SystemExit, match="0"):
            main()
        assert f"The {name} node" in capsys.readouterr().out


def start(program: str) -> subprocess.CompletedProcess[str]:
    """A process that runs a program, which starts a node by ``start``."""
    program = f"import sys\nfrom robodyn_ros.nodes import start\n{program}"
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)


def test_help_needs_no_ros() -> None:
    program = "sys.argv = ['robodyn-controller', '--help']\ntry:\n    start.controller()\nfinally:\n    "
    done = start(program + "print([name for name in ('rclpy', 'casadi') if name in sys.modules])")
    assert done.returncode == 0
    assert "The controller node" in done.stdout
    assert done.stdout.endswith("[]\n")


@pytest.mark.parametrize(
    ("module", "said"),
    [
        ("casadi", f"error: CasADi is not installed: {pip_install('casadi')} ("),
        ("rclpy", f"error: there is no ROS 2 here: source an installation, or {pip_install('robodyn_ros[ros]')}"),
    ],
)
def test_a_node_says_how_to_install_what_it_lacks(module: str, said: str) -> None:
    pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed")
    done = start(f"sys.modules['{module}'] = None; sys.argv = ['robodyn-planner']; sys.exit(start.planner())")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert done.stderr.startswith(said)


def test_a_word_that_no_node_takes_is_an_error() -> None:
    done = start("sys.argv = ['robodyn-controller', '--robot', 'arm.urdf']; start.controller()")
    assert done.returncode == 2
    assert "usage: robodyn-controller" in done.stderr


@pytest.mark.thorough
@pytest.mark.parametrize("options", [(), ("--symlink-install",)], ids=["copied", "linked"])
def test_colcon_builds_it(tmp_path: Path, options: tuple[str, ...]) -> None:
    if shutil.which("colcon") is None:
        pytest.skip("colcon is not installed")
    source = tmp_path / "src" / "robodyn_ros"
    for name in ("setup.py", "setup.cfg", "package.xml", "README.md", *FOLDERS):
        source.mkdir(parents=True, exist_ok=True)
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, source / name)
    environment = {**os.environ, "COLCON_LOG_PATH": str(tmp_path / "log")}
    command = ["colcon", "build", *options]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    installed = {path.name for path in (tmp_path / "install/robodyn_ros/lib/robodyn_ros").iterdir()}
    assert {*EXECUTABLES, "check", "robodyn"} <= installed
    assert (tmp_path / "install/robodyn_ros/share/robodyn_ros/launch/arm.launch.py").is_file()


def test_the_commands_of_the_pages_exist() -> None:
    names = {"robodyn", *(f"robodyn-{name}" for name in EXECUTABLES), "python"}
    for page in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md")):
        for name in re.findall(r"^\.venv/bin/([\w-]+)", page.read_text(encoding="utf-8"), re.MULTILINE):
            assert name in names, f"{page.name}: {name}"
