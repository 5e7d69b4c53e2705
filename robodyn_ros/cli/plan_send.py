"""A plan to the controller of the ROS 2 graph that is there, by the node that knows how to."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from robodyn_ros.errors import NotReadyError
from robodyn_ros.planning.plan import Plan


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
