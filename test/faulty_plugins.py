# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Plugins that fail when they are told to: the payload's mass says how. For nodes, as an installed package."""

import time
from pathlib import Path
from typing import Any

import installed_package
import numpy as np
from broken_dynamics import Faultless

RAISES, GARBAGE, SLOW, NOTHING = 1e-9, 2e-9, 3e-9, 4e-9
"""Masses of a payload that stand for a fault, and one that does not [kg]."""

DELAY = 0.2
"""How long it behaves after the parameter was set, so that the try before passes [s]."""


class Moody(Faultless):
    """As good as RNEA, until it holds one of the payloads above."""

    def apply(self, parameters: Any) -> None:
        super().apply(parameters)
        self.since = time.monotonic()

    def _mood(self) -> float:
        held = self.parameters.payload
        return held.mass if held is not None and time.monotonic() > self.since + DELAY else 0.0

    def gravity(self, q: Any) -> Any:
        mood = self._mood()
        if mood == RAISES:
            raise RuntimeError("told to")
        if mood == SLOW:
            time.sleep(0.02)
        return np.full(3, np.nan) if mood == GARBAGE else super().gravity(q)


class Stillborn(Faultless):
    """Cannot be made."""

    def __init__(self, robot: Any, **parameters: Any) -> None:
        raise RuntimeError("not today")


class Liar(Faultless):
    """Contradicts itself."""

    def gravity(self, q: Any) -> Any:
        return -super().gravity(q)


class Laden(Faultless):
    """Contradicts itself once it holds a payload."""

    def gravity(self, q: Any) -> Any:
        return super().gravity(q) * (1.0 if self.parameters.payload is None else -1.0)


def install(folder: Path) -> None:
    """Make a folder that is, for Python, an installed package with these plugins."""
    entries = [f"{name.lower()} = faulty_plugins:{name}" for name in ("Moody", "Stillborn", "Liar", "Laden")]
    installed_package.install(folder, "faulty", "robodyn_ros.dynamics", *entries)
