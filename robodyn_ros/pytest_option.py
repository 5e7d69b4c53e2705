# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""pytest's options of the conformance kits: ``--dynamics``, ``--controller``, ``--arm`` and ``--tier``.

pytest loads this module at every start wherever robodyn_ros is installed, so it imports nothing. (An option in the
kits' conftest.py would come too late for ``pytest --pyargs``.)
"""

from __future__ import annotations

from typing import Any


def pytest_addoption(parser: Any) -> None:
    """Add the options."""
    parser.getgroup("robodyn_ros").addoption(
        "--tier",
        choices=("exact", "numerical", "learned"),
        default="exact",
        help="robodyn_ros.dynamics.conformance, robodyn_ros.control.conformance: how exact the plugin claims to be "
        "(default: exact)",
    )
    parser.getgroup("robodyn_ros").addoption(
        "--arm",
        action="append",
        default=[],
        metavar="URDF",
        help="robodyn_ros.dynamics.conformance: an arm that the plugin serves, where it does not serve every arm; may "
        "be given several times",
    )
    for option, kit in (("--dynamics", "dynamics"), ("--controller", "control")):
        parser.getgroup("robodyn_ros").addoption(
            option,
            action="append",
            default=[],
            metavar="NAME",
            help=f"robodyn_ros.{kit}.conformance: test this plugin only; may be given several times",
        )
