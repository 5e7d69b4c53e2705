# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A control law that behaves as badly as its gains tell it to: for sweeps, as an installed package."""

import os
import signal
from pathlib import Path
from typing import Any

import installed_package

from robodyn_ros.control.laws.pd import PD

HANGS, DIES, RAISES = 20.0, 30.0, 40.0
"""Damping ratios of the last joint that stand for a fault."""

FREQUENCY = 10.0
"""Its natural frequency [rad/s]."""


class Moody(PD):
    """PD, but for its moods."""

    def compute(self, q: Any, qd: Any, reference: Any, integral: Any = None) -> Any:
        damping = float(0.5 * FREQUENCY * self.kd[-1] / self.kp[-1])
        if abs(damping - HANGS) < 0.1 * HANGS:
            while True:
                signal.pause()
        if abs(damping - DIES) < 0.1 * DIES:
            os.kill(os.getpid(), signal.SIGKILL)
        if abs(damping - RAISES) < 0.1 * RAISES:
            raise ZeroDivisionError("told to")
        print(".", end="")  # what a law prints is nobody's answer
        return super().compute(q, qd, reference, integral)


def install(folder: Path) -> None:
    """Make a folder that is, for Python, an installed package with this law."""
    installed_package.install(folder, "moody", "robodyn_ros.controllers", "moody = sweep_laws:Moody")
