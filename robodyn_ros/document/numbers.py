"""Numbers as text, with as many digits as a reader needs."""

from __future__ import annotations


def quantity(value: float, unit: str) -> str:
    """Format a length [m] or an angle [rad] in thousandths with three digits, for example ``0.412 mrad``."""
    return f"{digits(1e3 * value)} m{unit}"


def digits(value: float) -> str:
    """Format a number with three digits, or with all digits before the point if they are more."""
    magnitude = abs(value)
    places = 0 if magnitude >= 99.95 else 1 if magnitude >= 9.995 else 2 if magnitude >= 0.9995 else 3
    return f"{value:.{places}f}"
