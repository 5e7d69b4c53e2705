"""pytest's options of the conformance kits: ``--dynamics`` and ``--controller``.

pytest loads this module at every start wherever robodyn_ros is installed, so it imports nothing. (An option in the
kits' conftest.py would come too late for ``pytest --pyargs``.)
"""

from __future__ import annotations

from typing import Any


def pytest_addoption(parser: Any) -> None:
    """Add the options."""
    for option, kit in (("--dynamics", "dynamics"), ("--controller", "control")):
        parser.getgroup("robodyn_ros").addoption(
            option,
            action="append",
            default=[],
            metavar="NAME",
            help=f"robodyn_ros.{kit}.conformance: test this plugin only; may be given several times",
        )
