# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The equations of one arm as source code that needs nothing of this package: C, Python, and LaTeX to read.

What ``Parameters`` holds, gravity and payload among it, is written into the code as it is when it is exported.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from robodyn_ros.checks import check_choice
from robodyn_ros.dynamics.base import Dynamics
from robodyn_ros.dynamics.compiled import CompiledDynamics
from robodyn_ros.dynamics.symbolic.graph import ARITHMETIC, Routine, routines
from robodyn_ros.dynamics.symbolic.listing import SourceListing, Syntax, facts, identifier
from robodyn_ros.errors import ConfigurationError, InputError, need

LANGUAGES = ("c", "python", "latex")

REALS = ("double", "float")
"""Types of a number in C."""


def export(
    dynamics: Dynamics, language: str, quantities: Sequence[str], *, real: str = "double", stem: str = ""
) -> dict[str, str]:
    """Source code of some quantities of an arm.

    Args:
        dynamics: the arm, with the parameters that the code is to have.
        language: one of ``LANGUAGES``.
        quantities: names of methods of ``dynamics``, for example ``inverse``.
        real: type of a number in C, one of ``REALS``.
        stem: name of the files without the ending; the arm's unless given.

    Returns:
        Name of each file → its text.

    Raises:
        InputError: an argument is none of the allowed ones, or, for LaTeX, the closed form would be too long to read.
        ConfigurationError: the plugin writes no expressions, or LaTeX was asked for and SymPy is not installed.
    """
    check_choice("language", language, LANGUAGES)
    check_choice("real", real, REALS)
    if not quantities:
        raise InputError("quantities", f"name at least one of {', '.join(CompiledDynamics.quantities())}", quantities)
    if not isinstance(dynamics, CompiledDynamics):
        problem = "computes numbers only: take a plugin that writes expressions"
        raise ConfigurationError(f"{type(dynamics).__name__} {problem}")
    if language == "latex":
        need("sympy", "LaTeX is written with SymPy", "robodyn_ros[symbolic]")
        from robodyn_ros.dynamics.symbolic.writer import latex_files  # needs SymPy

        return latex_files(dynamics, quantities, stem)
    made = routines(dynamics, quantities)
    return c_files(dynamics, made, real, stem) if language == "c" else python_files(dynamics, made, stem)


def c_files(dynamics: CompiledDynamics, routines: list[Routine], real: str, stem: str) -> dict[str, str]:
    """A source file in C99 and its header, for any compiler, a microcontroller's too.

    The code uses no library but <math.h>, no memory but the stack, and keeps no state. The arguments are those of
    :func:`export`.
    """
    prefix = identifier(dynamics.robot.name)
    stem = stem or prefix
    declared = [(routine, _declaration(prefix, routine, real)) for routine in routines]
    guard = f"{identifier(stem).upper()}_H"
    notes = [
        *facts(dynamics),
        "",
        "Matrices are stored row by row. Results must not share memory with inputs. Nothing is",
        "checked: an input that is not finite gives results that are not.",
    ]
    head = "\n".join(["/*", *(f" * {line}".rstrip() for line in notes), " */"])
    prototypes = "\n\n".join(f"/* {one.meaning}.\n * {one.operations}. */\n{heading};" for one, heading in declared)
    header = f"""{head}
#ifndef {guard}
#define {guard}

#ifdef __cplusplus
extern "C" {{
#endif

{prototypes}

#ifdef __cplusplus
}}
#endif

#endif
"""
    definitions = "\n\n".join(_c_definition(prefix, routine, declaration, real) for routine, declaration in declared)
    helper = f"{_sign(prefix, real)}\n\n" if any("sign" in r.graph.operations() for r in routines) else ""
    source = f'/* {facts(dynamics)[0]} */\n#include "{stem}.h"\n\n#include <math.h>\n\n{helper}{definitions}\n'
    return {f"{stem}.h": header, f"{stem}.c": source}


def _declaration(prefix: str, routine: Routine, real: str) -> str:
    n = routine.n
    inputs = [f"const {real} {name}[{n}]" for name in routine.inputs]
    results = [
        f"{real} {name}[{int(np.prod(shape))}]" if shape else f"{real} *{name}" for name, shape in routine.results
    ]
    return f"void {prefix}_{routine.name}({', '.join(inputs + results)})"


def _c_definition(prefix: str, routine: Routine, declaration: str, real: str) -> str:
    suffix = "f" if real == "float" else ""

    def number(value: float) -> str:
        return f"{np.float32(value)!s}f" if real == "float" else repr(value)

    def call(name: str) -> str:
        return f"{prefix}_sign" if name == "sign" else f"{name}{suffix}"

    body = SourceListing(routine, Syntax(number, call))
    lines = [f"(void){name};" for name in routine.unused]
    lines += [f"const {real} {name} = {text};" for name, text in body.statements]
    for (name, shape), texts in zip(routine.results, body.results, strict=True):
        lines += [f"{name}[{k}] = {text};" if shape else f"*{name} = {text};" for k, text in enumerate(texts)]
    return "\n".join([f"{declaration} {{", *(f"  {line}" for line in lines), "}"])


def _sign(prefix: str, real: str) -> str:
    return f"static {real} {prefix}_sign({real} x) {{\n  return x > 0 ? 1 : x < 0 ? -1 : x;\n}}"


SIGN = """

def _sign(x):
    return 1.0 if x > 0 else -1.0 if x < 0 else x
"""


def python_files(dynamics: CompiledDynamics, routines: list[Routine], stem: str) -> dict[str, str]:
    """A Python module with a function for each quantity, which needs nothing but ``math``; see :func:`export`."""
    stem = stem or identifier(dynamics.robot.name)
    used = {name for routine in routines for name in routine.graph.operations()}
    imported = sorted(used - {*ARITHMETIC, "sign"})
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
    parts += [f"\n\n{_python_definition(routine)}\n" for routine in routines]
    return {f"{stem}.py": "".join(parts)}


def _python_definition(routine: Routine) -> str:
    body = SourceListing(routine, Syntax(repr, lambda name: "_sign" if name == "sign" else name))
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
