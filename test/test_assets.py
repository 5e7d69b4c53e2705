# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Where the package's files are found: in a checkout, in an ament workspace, after pip install."""

import shutil
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

from robodyn_ros.errors import InputError
from robodyn_ros.files import find

ROOT = Path(__file__).parent.parent


def test_in_a_checkout() -> None:
    assert find("urdf/prr.urdf") == ROOT / "urdf" / "prr.urdf"


def test_what_is_not_there_says_where_it_was_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AMENT_PREFIX_PATH", "/opt/ros/somewhere")
    with pytest.raises(InputError, match=r"urdf/none\.urdf is not in .*/opt/ros/somewhere/share/robodyn_ros"):
        find("urdf/none.urdf")


def test_a_wheel_carries_everything(tmp_path: Path) -> None:
    """What pip installs elsewhere: the package, its plugins, its files, and the mark that ament looks for."""
    source = tmp_path / "source"
    for name in ("setup.py", "setup.cfg", "package.xml", "README.md"):
        source.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, source)
    for name in ("resource", "robodyn_ros", "launch", "urdf", "config", "rviz"):
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run([*command, "--wheel-dir", str(tmp_path), str(source)], check=True, timeout=100)
    (wheel,) = tmp_path.glob("*.whl")
    files = {Path(name) for name in ZipFile(wheel).namelist()}
    data = {Path(*path.parts[2:]) for path in files if path.parts[0].endswith(".data")}
    expected = {
        Path("share", "robodyn_ros", folder, path.name)
        for folder in ("launch", "urdf", "config", "config/drives", "rviz")
        for path in (ROOT / folder).iterdir()
        if path.is_file()
    }
    mark = Path("share", "ament_index", "resource_index", "packages", "robodyn_ros")
    assert data == expected | {Path("share", "robodyn_ros", "package.xml"), mark}
    modules = {path.relative_to(ROOT) for path in (ROOT / "robodyn_ros").rglob("*.py")}
    assert {path for path in files if path.suffix == ".py" and path.parts[0] == "robodyn_ros"} == modules
    (scripts,) = (path for path in files if path.name == "entry_points.txt")
    text = ZipFile(wheel).read(str(scripts)).decode()
    for line in ("robodyn-controller = ", "robodyn-simulator = ", "robodyn = ", "rnea = ", "computed_torque = "):
        assert f"\n{line}" in text
    assert "\ncontroller = " not in text
