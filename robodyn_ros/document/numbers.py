# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Numbers as text, with as many digits as a reader needs."""

from __future__ import annotations

SMALLEST = 5e-4
"""Magnitude below which a number is not told but as less than its last digit."""


def quantity(value: float, unit: str) -> str:
    """Format a length [m] or an angle [rad] in thousandths with three digits, for example ``0.412 mrad``."""
    return f"{digits(1e3 * value)} m{unit}"


def digits(value: float) -> str:
    """Format a number with three digits, or with all digits before the point if they are more.

    What is too small for three places is ``<0.001``, or ``0`` if it is none.
    """
    magnitude = abs(value)
    if magnitude < SMALLEST:
        return "0" if value == 0.0 else "<0.001" if value > 0.0 else ">-0.001"
    places = 0 if magnitude >= 99.95 else 1 if magnitude >= 9.995 else 2 if magnitude >= 0.9995 else 3
    return f"{value:.{places}f}"
