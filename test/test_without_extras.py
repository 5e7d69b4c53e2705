# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Which failures become skips: those for want of an optional package, and no other."""

import re
import sys
from importlib.metadata import requires
from pathlib import Path

import pytest
import without_extras

DECLARED = {
    "_pytest", "casadi", "hypothesis", "launch_testing", "numpy", "pytest", "rich", "robodyn_ros", "scipy", "yaml",
}  # fmt: skip
"""What is always there, for package.xml or a test's runner brings it."""


def test_where_the_extra_test_is_installed_no_failure_is_a_skip():
    brought = {
        re.split(r"[^\w-]", one)[0] for one in requires("robodyn_ros") or () if re.search(r"extra == .test.", one)
    }
    assert brought > without_extras.OPTIONAL - {"sphinx", "rclpy"}


@pytest.mark.parametrize(
    ("text", "package"),
    [
        ("plots need matplotlib: pip install 'robodyn_ros[plot]'", "matplotlib"),
        ("ModuleNotFoundError: No module named 'rosbags.highlevel'", "rosbags"),
        ("PackageNotFoundError: No package metadata was found for example-robot-data", "example-robot-data"),
        ("this plant needs MuJoCo: pip install mujoco", "mujoco"),
    ],
)
def test_an_optional_package_that_is_missing_is_named(monkeypatch, text, package):
    assert without_extras.missing(text) in ("", package)  # "" where it is installed
    monkeypatch.setattr(without_extras, "is_installed", lambda name: name != package)
    assert without_extras.missing(text) == package


@pytest.mark.parametrize("text", ["assert 2 + 2 == 5", "No module named 'robodyn_ros.plots'", "robodyn_ros[none]"])
def test_another_failure_stays_one(monkeypatch, text):
    monkeypatch.setattr(without_extras, "is_installed", lambda name: False)
    assert without_extras.missing(text) == ""


def test_a_file_that_needs_what_is_missing_is_skipped_and_a_mistake_in_one_is_none(tmp_path, monkeypatch):
    """As colcon test needs it: what package.xml does not declare may be missing."""
    report = pytest.CollectReport("test_a.py", "failed", "E   ModuleNotFoundError: No module named 'pinocchio'", [])
    assert without_extras.skipped(report, "test_a.py").failed or not without_extras.is_installed("pin")
    monkeypatch.setattr(without_extras, "is_installed", lambda name: name != "pin")
    skipped = without_extras.skipped(report, "test_a.py")
    assert (skipped.outcome, skipped.longrepr) == ("skipped", ("test_a.py", 0, "Skipped: pin is not installed"))
    other = pytest.CollectReport("test_a.py", "failed", "E   NameError: name 'pinocchio' is not defined", [])
    assert without_extras.skipped(other, "test_a.py").failed


def test_what_files_of_tests_import_is_declared_or_known_as_optional():
    """package.xml cannot declare what is optional, for rosdep does not know it or it is large."""
    folder = Path(__file__).parent
    own = {path.stem for place in ("test", "benchmarks", "docs") for path in (folder.parent / place).rglob("*.py")}
    texts = [path.read_text(encoding="utf-8") for path in folder.glob("*.py")]
    imported = re.compile(r"^(?:import|from(?=[\w.\s]* import )) (\w+)", re.MULTILINE)
    found = {name for text in texts for name in imported.findall(text)}
    known = {name.replace("-", "_") for name in (*without_extras.PACKAGES, *without_extras.OPTIONAL)}
    assert found - own - sys.stdlib_module_names - known == DECLARED
