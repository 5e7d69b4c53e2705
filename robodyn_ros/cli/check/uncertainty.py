# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Whether the controller can detect a drive that fails, with its stated uncertainty."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from robodyn_ros.control.faults.consistency import afforded, explained_efforts
from robodyn_ros.dynamics.base import Dynamics
from robodyn_ros.dynamics.compiled import CompiledDynamics
from robodyn_ros.robot.robot import Finding

WHOLE = 1.0
"""Ratio of the explained effort to the effort limit above which a drive without effort stays hidden [-]."""


def uncertainty_findings(dynamics: Dynamics) -> Iterator[Finding]:
    """A note if the default settings explain all of the effort of a joint that holds the arm in its home pose."""
    if not isinstance(dynamics, CompiledDynamics):
        return
    explained = explained_efforts(dynamics, dynamics.robot.home)
    whole = np.sum(list(explained.values()), axis=0)
    worst = int(whole.argmax())
    if whole[worst] < WHOLE:
        return
    parts = ", ".join(f"{name} {values[worst]:.0%}" for name, values in explained.items())
    less = " and ".join(f"{name}: {value:g}" for name, value in afforded(explained).items())
    yield Finding(
        "note",
        f"joint {dynamics.robot.joint_names[worst]!r}",
        None,
        f"the controller's stated uncertainty explains {whole[worst]:.0%} of its effort limit in the home pose "
        f"({parts}), so that a drive without effort shows only in its motion. If true, state smaller values: {less}",
    )
