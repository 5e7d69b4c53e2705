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
    group = parser.getgroup("robodyn_ros")
    kit, often = "robodyn_ros.dynamics.conformance", "may be given several times"
    laws = "robodyn_ros.control.conformance"
    text = f"{kit}, {laws}: how exact the plugin claims to be (default: exact)"
    group.addoption("--tier", choices=("exact", "numerical", "learned"), default="exact", help=text)
    for option, metavar, text in (
        ("--arm", "URDF", f"{kit}: an arm that the plugin serves, where it does not serve every arm; {often}"),
        ("--dynamics", "NAME", f"{kit}: test this plugin only; {often}"),
        ("--controller", "NAME", f"{laws}: test this plugin only; {often}"),
    ):
        group.addoption(option, action="append", default=[], metavar=metavar, help=text)
