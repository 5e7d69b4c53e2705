"""Arguments that several verbs take, and how they are read."""

from __future__ import annotations

from argparse import _ActionsContainer

from robodyn_ros.dynamics import STANDARD_GRAVITY


def add_gravity(parser: _ActionsContainer) -> None:
    """Add ``--gravity``, (3,) in [m/s²]."""
    standard = " ".join(f"{value:g}" for value in STANDARD_GRAVITY)
    text = f"acceleration of free fall in the root link's frame [m/s²] (default: {standard})"
    parser.add_argument("--gravity", nargs=3, type=float, default=STANDARD_GRAVITY, metavar=("X", "Y", "Z"), help=text)


def names(text: str) -> list[str]:
    """The names in a text that are separated by commas."""
    return [name.strip() for name in text.split(",") if name.strip()]
