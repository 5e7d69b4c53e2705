"""Costs from a text, as people type it."""

from __future__ import annotations

import re

from robodyn_ros.errors import InputError
from robodyn_ros.planning.cost import Cost, Effort, MinimumTime, Smoothness, Sum, terms_of

NAMED: dict[str, type[Cost]] = {"time": MinimumTime, "effort": Effort, "smoothness": Smoothness}
"""The costs that have a name."""


def read_cost(text: str) -> Cost:
    """A cost from a text: ``time``, ``effort``, ``smoothness``, or a sum like ``time+1e-4*effort``.

    Raises:
        InputError: it is none.
    """
    terms: list[tuple[float, Cost]] = []
    for part in re.split(r"(?<!\d[eE])\+", text):
        weight, _, name = part.rpartition("*")
        try:
            terms += terms_of(float(weight or 1.0) * NAMED[name.strip()]())
        except (KeyError, ValueError) as cause:
            raise InputError("cost", f"{part!r} is not one of {', '.join(NAMED)}, or 0.1*one", text) from cause
    return Sum(tuple(terms))
