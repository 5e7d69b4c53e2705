# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The equations of one arm as source code that needs nothing of this package: C, Python, and LaTeX to read.

What ``Parameters`` holds, gravity and payload among it, is written into the code as it is when it is exported.
"""

from __future__ import annotations

from collections.abc import Sequence

from robodyn_ros.dynamics.base import Dynamics
from robodyn_ros.dynamics.compiled import CompiledDynamics
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
        InputError: an argument is not what it can be, or, for LaTeX, the closed form would be too long to read.
        ConfigurationError: the plugin writes no expressions, or LaTeX was asked for and SymPy is not installed.
    """
    if language not in LANGUAGES:
        raise InputError("language", f"{language!r} is not one of {', '.join(LANGUAGES)}", language)
    if real not in REALS:
        raise InputError("real", f"{real!r} is not one of {', '.join(REALS)}", real)
    if not quantities:
        raise InputError("quantities", f"name at least one of {', '.join(CompiledDynamics.quantities())}", quantities)
    if not isinstance(dynamics, CompiledDynamics):
        raise ConfigurationError(
            f"{type(dynamics).__name__} computes numbers only: take a plugin that writes expressions"
        )
    if language == "latex":
        need("sympy", "LaTeX is written with SymPy", "robodyn_ros[symbolic]")
        from robodyn_ros.dynamics.symbolic.export.latex import latex_files  # needs SymPy

        return latex_files(dynamics, quantities, stem)
    from robodyn_ros.dynamics.symbolic.export.c import c_files
    from robodyn_ros.dynamics.symbolic.export.graph import routines
    from robodyn_ros.dynamics.symbolic.export.python import python_files

    made = routines(dynamics, quantities)
    return c_files(dynamics, made, real, stem) if language == "c" else python_files(dynamics, made, stem)
