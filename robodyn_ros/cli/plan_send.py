"""A plan to the controller of the ROS 2 graph that is there, by the node that knows how to."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

from robodyn_ros.errors import ConfigurationError, NotReadyError
from robodyn_ros.planning.plan import Plan


def need() -> None:
    """See that there is a ROS 2.

    Raises:
        ConfigurationError: there is none.
    """
    if find_spec("rclpy") is None:
        raise ConfigurationError("there is no ROS 2 here: source an installation, or pip install 'robodyn_ros[ros]'")


def send(plan: Plan) -> None:
    """Have the controller follow it.

    Raises:
        NotReadyError: there is no controller, or the arm is not where the plan starts; the node has said so.
    """
    with TemporaryDirectory(prefix="robodyn-") as folder:
        path = Path(folder) / "plan.json"
        plan.save(path)
        command = [sys.executable, "-m", "robodyn_ros.nodes.planner_sender", "--ros-args", "-p", f"plan:={path}"]
        if subprocess.run(command, check=False).returncode != 0:
            raise NotReadyError("the plan was not sent")
