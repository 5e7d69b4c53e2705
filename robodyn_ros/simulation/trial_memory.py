"""The memory that a compiled trial works on, as Python and C see it: one list of fields for both."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

_SCALARS = {
    "int64_t": (
        *("now", "end", "period", "command_timeout", "phase", "known", "joint", "law", "integrating"),
        *("braked", "holds", "silent", "noisy", "differentiated", "points", "degree", "arrived", "lags"),
        *(
            "pivots",
            "refinements",
            "states_used",
            "came",
            "coming",
            "commanded",
            "reached",
            "told",
            "last_command",
            "truths",
        ),
    ),
    "double": (
        *("step", "state_timeout", "turn", "last_t", "jump", "guide_time", "start", "integral_limit", "lead", "margin"),
        *("sent_time", "instant", "greatest", "rounding", "close", "command_delay", "smoothing", "value", "before"),
    ),
}

_ARRAYS = {
    "int64_t": ("arrival", "which", "circular"),
    "double": (
        *(
            "frame",
            "symbols",
            "hold_limit",
            "restitution",
            "model",
            "effort",
            "drive_limit",
            "lag",
            "slew",
            "fineness",
            "aim",
            "given",
        ),
        *("due", "asked", "resolution", "noise", "read_q", "read_v", "read_effort"),
        *("knots", "table", "first", "goal", "kp", "kd", "ki", "viscous", "coulomb", "damping", "dry"),
        *("last_q", "last_v", "overspeed", "integral", "cut", "sent", "upper", "lower", "spring", "damper"),
        *("effort_limit", "rate", "came_t", "log_t", "log_stamp", "log_effort", "log_q", "log_v"),
        *("true_q", "true_v", "true_effort"),
    ),
}

FUNCTIONS = {"gravity": 1, "mass": 1, "coriolis": 2, "inverse": 3, "weigh": 1}
"""What the laws ask of the model and, last, what the plant asks of the arm; and of how many arrays it is a function."""

CODES = ("DONE", "EVENT", "STALE", "JUMPED", "TOO_FAST", "MISSING", "OTHER")
"""Why the C code returned: the end, an event of the plant, a state that is refused or has a fault as its answer, or
something so rare that only Python knows it."""


class Memory(ctypes.Structure):
    """The fields; scalars by value, arrays by address."""

    _fields_ = tuple(
        [(name, ctypes.c_int64) for name in _SCALARS["int64_t"]]
        + [(name, ctypes.c_double) for name in _SCALARS["double"]]
        + [(name, ctypes.c_void_p) for names in _ARRAYS.values() for name in names]
        + [(name, ctypes.c_void_p) for name in FUNCTIONS]
    )

    def hold(self, values: dict[str, Any]) -> None:
        """Take values over; arrays stay the caller's own, and are kept alive.

        Args:
            values: name → number, contiguous array of the field's type, or address of a function.
        """
        self.kept = {name: value for name, value in values.items() if isinstance(value, np.ndarray)}
        for name, value in values.items():
            setattr(self, name, value.ctypes.data if isinstance(value, np.ndarray) else value)


def declaration() -> str:
    """The fields in C."""
    lines = [f"{kind} {', '.join(names)};" for kind, names in _SCALARS.items()]
    lines += [f"{kind} *{', *'.join(names)};" for kind, names in _ARRAYS.items()]
    return " ".join([*lines, *(f"Plain{count} *{name};" for name, count in FUNCTIONS.items())])
