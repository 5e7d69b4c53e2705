"""Fixtures that more than one file uses."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from ros_graph import Graph

URDF = Path(__file__).parents[1] / "urdf"

WITH_ROS = ("test_nodes_", "test_launch_", "test_cli_demo", "test_readme")
"""How files begin whose tests start ROS 2 nodes."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what starts ROS 2 nodes: it measures time, so it runs alone, and on each distribution."""
    for item in items:
        if item.path.name.startswith(WITH_ROS) or "graph" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.ros)


@pytest.fixture
def graph(tmp_path: Path) -> Iterator[Graph]:
    """A ROS 2 graph of the test's own."""
    pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed")
    from ros_graph import own_graph

    with own_graph(tmp_path) as made:
        yield made


@pytest.fixture(scope="session")
def prr() -> str:
    """The URDF of the PRR arm."""
    return (URDF / "prr.urdf").read_text(encoding="utf-8")
