# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The table of faults as the pages have it."""

from __future__ import annotations

from collections.abc import Iterator

from robodyn_ros.control.faults.table import FAULTS


def fault_rows() -> Iterator[str]:
    """The lines of the table, Markdown."""
    yield "| kind | detection | reactions | for [s] | in `/diagnostics` | test |"
    yield "|---|---|---|---|---|---|"
    for kind, fault in FAULTS.items():
        reactions = ", ".join(sorted(fault.reactions, key=lambda name: name != fault.reaction))
        yield (
            f"| `{kind}` | {fault.detection} | {reactions} | {fault.max_duration:g} | {fault.words} "
            f"| `{fault.test}` |"
        )
