# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""C99 for any compiler, a microcontroller's too: no library but <math.h>, no memory but the stack, no state."""

from __future__ import annotations

import numpy as np

from robodyn_ros.dynamics.compiled import CompiledDynamics
from robodyn_ros.dynamics.symbolic.export.graph import Routine
from robodyn_ros.dynamics.symbolic.export.listing import Syntax, facts, identifier, listing


def c_files(
    dynamics: CompiledDynamics, routines: list[Routine], real: str = "double", stem: str = ""
) -> dict[str, str]:
    """A source file and its header.

    Args:
        dynamics: the arm.
        routines: its quantities.
        real: type of every number, ``double`` or ``float``.
        stem: name of the files without the ending; the arm's unless given.

    Returns:
        Name of the file → its text.
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
    prototypes = "\n\n".join(f"{_comment(routine)}\n{declaration};" for routine, declaration in declared)
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
    definitions = "\n\n".join(_definition(prefix, routine, declaration, real) for routine, declaration in declared)
    helper = f"{_sign(prefix, real)}\n\n" if any("sign" in r.graph.operations() for r in routines) else ""
    source = f'/* {facts(dynamics)[0]} */\n#include "{stem}.h"\n\n#include <math.h>\n\n{helper}{definitions}\n'
    return {f"{stem}.h": header, f"{stem}.c": source}


def _comment(routine: Routine) -> str:
    return f"/* {routine.meaning}.\n * {routine.operations}. */"


def _declaration(prefix: str, routine: Routine, real: str) -> str:
    n = routine.n
    inputs = [f"const {real} {name}[{n}]" for name in routine.inputs]
    results = [
        f"{real} {name}[{int(np.prod(shape))}]" if shape else f"{real} *{name}" for name, shape in routine.results
    ]
    return f"void {prefix}_{routine.name}({', '.join(inputs + results)})"


def _definition(prefix: str, routine: Routine, declaration: str, real: str) -> str:
    suffix = "f" if real == "float" else ""

    def number(value: float) -> str:
        return f"{np.float32(value)!s}f" if real == "float" else repr(value)

    def call(name: str) -> str:
        return f"{prefix}_sign" if name == "sign" else f"{name}{suffix}"

    body = listing(routine, Syntax(number, call))
    lines = [f"(void){name};" for name in routine.unused]
    lines += [f"const {real} {name} = {text};" for name, text in body.statements]
    for (name, shape), texts in zip(routine.results, body.results, strict=True):
        lines += [f"{name}[{k}] = {text};" if shape else f"*{name} = {text};" for k, text in enumerate(texts)]
    return "\n".join([f"{declaration} {{", *(f"  {line}" for line in lines), "}"])


def _sign(prefix: str, real: str) -> str:
    return f"static {real} {prefix}_sign({real} x) {{\n  return x > 0 ? 1 : x < 0 ? -1 : x;\n}}"
