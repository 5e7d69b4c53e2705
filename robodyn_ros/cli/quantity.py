"""Numbers with their units, as people read them."""

from __future__ import annotations


def quantity(value: float, unit: str) -> str:
    """A length in [m] or an angle in [rad] in thousandths, three digits, for example ``0.412 mrad``."""
    return f"{digits(1e3 * value)} m{unit}"


def digits(value: float) -> str:
    """A number with three digits, or all that stand before the point."""
    magnitude = abs(value)
    places = 0 if magnitude >= 99.95 else 1 if magnitude >= 9.995 else 2 if magnitude >= 0.9995 else 3
    return f"{value:.{places}f}"
