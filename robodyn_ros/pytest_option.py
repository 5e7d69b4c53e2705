"""pytest's ``--dynamics`` option of ``robodyn_ros.dynamics.conformance``.

pytest loads this module at every start wherever robodyn_ros is installed, so it imports nothing. (An option in the
kit's conftest.py would come too late for ``pytest --pyargs``.)
"""

from __future__ import annotations

from typing import Any


def pytest_addoption(parser: Any) -> None:
    """Add the option."""
    parser.getgroup("robodyn_ros").addoption(
        "--dynamics",
        action="append",
        default=[],
        metavar="NAME",
        help="robodyn_ros.dynamics.conformance: test this plugin only; may be given several times",
    )
