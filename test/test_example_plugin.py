# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The example of a third party's plugin: installed as its README says, it is found and keeps the contract."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parent.parent / "examples" / "pinocchio_dynamics"

pytestmark = pytest.mark.timeout(600)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which pip has installed the example; nothing of the environment or the source changes."""
    folder = tmp_path_factory.mktemp("example")
    shutil.copytree(EXAMPLE, folder / "source", ignore=shutil.ignore_patterns("build", "*.egg-info", "__pycache__"))
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    options = ["--no-deps", "--no-index", "--no-build-isolation", "--target", str(folder / "installed")]
    done = subprocess.run([*pip, *options, str(folder / "source")], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder / "installed"


def run(installed: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A Python process that finds the example, away from the source."""
    env = {**os.environ, "PYTHONPATH": str(installed)}
    command = [sys.executable, "-m", *arguments]
    return subprocess.run(command, cwd=installed, env=env, capture_output=True, text=True, check=False)


@pytest.mark.thorough
def test_it_is_found_by_its_name(installed: Path) -> None:
    listed = run(installed, "robodyn_ros.cli.main", "plugins", "dynamics")
    assert listed.returncode == 0, listed.stdout + listed.stderr
    assert "pinocchio" in listed.stdout
    assert "robodyn_pinocchio.dynamics" in listed.stdout


@pytest.mark.thorough
def test_it_passes_the_conformance_kit(installed: Path) -> None:
    kit = ["pytest", "-q", "-p", "no:cacheprovider", "--pyargs", "robodyn_ros.dynamics.conformance"]
    done = run(installed, *kit, "--dynamics", "pinocchio")
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert " passed" in done.stdout
    assert "skipped" not in done.stdout


def test_it_is_a_pattern_to_copy() -> None:
    lines = (EXAMPLE / "robodyn_pinocchio" / "dynamics.py").read_text(encoding="utf-8").splitlines()
    assert len(lines) < 150
