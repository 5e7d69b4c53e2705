# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A Python module that needs nothing but ``math``."""

from __future__ import annotations

from robodyn_ros.dynamics.compiled import CompiledDynamics
from robodyn_ros.dynamics.symbolic.export.graph import Routine
from robodyn_ros.dynamics.symbolic.export.listing import Syntax, facts, identifier, listing

SIGN = """

def _sign(x):
    return 1.0 if x > 0 else -1.0 if x < 0 else x
"""


def python_files(dynamics: CompiledDynamics, routines: list[Routine], stem: str = "") -> dict[str, str]:
    """A module with a function for each quantity.

    Args:
        dynamics: the arm.
        routines: its quantities.
        stem: name of the module; the arm's unless given.

    Returns:
        Name of the file → its text.
    """
    stem = stem or identifier(dynamics.robot.name)
    used = {name for routine in routines for name in routine.graph.operations()}
    imported = sorted(used - {"add", "sub", "mul", "div", "neg", "sign"})
    notes = [
        *facts(dynamics),
        "",
        "Functions take sequences of numbers and return lists, a matrix as a list of its rows. Nothing is checked.",
    ]
    notes[0] = f'"""{notes[0]}'
    parts = ["\n".join([*notes, '"""']) + "\n"]
    if imported:
        parts.append(f"\nfrom math import {', '.join(imported)}\n")
    parts.append(f"\nJOINTS = {dynamics.robot.joint_names!a}\n")
    if "sign" in used:
        parts.append(SIGN)
    parts += [f"\n\n{_definition(routine)}\n" for routine in routines]
    return {f"{stem}.py": "".join(parts)}


def _definition(routine: Routine) -> str:
    body = listing(routine, Syntax(repr, lambda name: "_sign" if name == "sign" else name))
    lines = [f'"""{routine.meaning}.', "", f"{routine.operations}.", '"""']
    lines += [f"{name} = {text}" for name, text in body.statements]
    results = [_nested(shape, texts) for (_, shape), texts in zip(routine.results, body.results, strict=True)]
    lines += _return(results)
    return "\n".join([f"def {routine.name}({', '.join(routine.inputs)}):", *(f"    {line}".rstrip() for line in lines)])


def _nested(shape: tuple[int, ...], texts: list[str]) -> list[str]:
    """A result, line by line: a number, a list, or a list of lists."""
    if not shape:
        return texts
    if len(shape) == 1:
        return ["[", *(f"    {text}," for text in texts), "]"]
    rows = [texts[start : start + shape[1]] for start in range(0, len(texts), shape[1])]
    return ["[", *(f"    {line}" for row in rows for line in (*_nested((len(row),), row)[:-1], "],")), "]"]


def _return(results: list[list[str]]) -> list[str]:
    if len(results) == 1:
        first, *rest = results[0]
        return [f"return {first}", *rest]
    inside = [line for result in results for line in (*result[:-1], f"{result[-1]},")]
    return ["return (", *(f"    {line}" for line in inside), ")"]
