"""The face of the library: what stands in ``robodyn_ros`` itself."""

from __future__ import annotations

import subprocess
import sys

import pytest

import robodyn_ros as rd


def test_everything_it_offers_is_there() -> None:
    for name in rd.__all__:
        assert callable(getattr(rd, name)), name
    assert set(rd.__all__) <= set(dir(rd))


def test_what_is_not_there_is_said() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'create_arm'"):
        _ = rd.create_arm


@pytest.mark.parametrize("statement", ["import robodyn_ros", "import robodyn_ros as rd; rd.load_robot, rd.Dynamics"])
def test_it_imports_no_ros_and_nothing_slow(statement: str) -> None:
    script = f"import sys; {statement}; print(sorted({{'rclpy', 'scipy', 'matplotlib', 'rich'}} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "[]\n"


def test_the_bare_import_brings_no_numpy() -> None:
    """pytest loads the option of the conformance kit at every start, wherever the package is installed."""
    script = "import sys, robodyn_ros; print('numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "False\n"
