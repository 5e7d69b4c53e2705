"""What is asked of an arm under control, and by how much a case keeps to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

QUANTITIES = {
    "rms_error": "root mean square of reference minus position [rad] or [m]",
    "peak_error": "greatest magnitude of it [rad] or [m]",
    "final_error": "the same, in the last moments [rad] or [m]",
    "rms_effort": "root mean square of the effort that acted [N·m] or [N]",
    "peak_effort": "greatest magnitude of it [N·m] or [N]",
    "saturated": "part of the commands at the effort limit [-]",
}
"""Figures of each joint that can be bounded."""


@dataclass(frozen=True)
class Specification:
    """Upper bounds; a case that failed never meets them.

    Attributes:
        bounds: (quantity, joint) → bound.
        settle_band: joint → how near to its goal it must end to have settled [rad] or [m].
        settled: whether every joint must have.
    """

    bounds: Mapping[tuple[str, str], float] = field(default_factory=dict)
    settle_band: Mapping[str, float] = field(default_factory=dict)
    settled: bool = False

    def all_bounds(self) -> dict[tuple[str, str], float]:
        """The bounds, that on settling among them."""
        bands = {("final_error", joint): band for joint, band in self.settle_band.items()} if self.settled else {}
        named = dict(self.bounds)
        for key, band in bands.items():
            named[key] = min(band, named.get(key, band))
        return named

    def margins(self, figures: Mapping[str, float]) -> dict[tuple[str, str], float]:
        """By what part of each bound a case stays below it; negative where it does not.

        Args:
            figures: ``quantity/joint`` → value.
        """
        found = {}
        for (quantity, joint), bound in self.all_bounds().items():
            value = figures[f"{quantity}/{joint}"]
            found[quantity, joint] = 1.0 - value / bound if bound > 0.0 else -value
        return found
