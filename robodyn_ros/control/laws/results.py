# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Check of the results of a control law against the interface.

Each function returns the problem of a result, with the name of the method and the right kind; "" if there is none.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np


def wrong_terms(method: str, answer: object, kind: type[Any], shape: tuple[int, ...]) -> str:
    """For a method that returns a named tuple of arrays of floats, each of a given shape."""
    if not isinstance(answer, kind):
        return _returns(method, answer, f"{kind.__name__}({', '.join(kind._fields)})")
    parts = zip(kind._fields, answer, strict=True)
    wrong = (_wrong_floats(f"the term {name} of {method}", value, shape) for name, value in parts)
    return next(filter(None, wrong), "")


def wrong_array(method: str, answer: object, shape: tuple[int, ...]) -> str:
    """For a method that returns an array of floats of a given shape."""
    if not isinstance(answer, np.ndarray):
        return _returns(method, answer, f"an array of floats of shape {shape}")
    return _wrong_floats(f"the result of {method}", answer, shape)


def _wrong_floats(what: str, value: object, shape: tuple[int, ...]) -> str:
    if not isinstance(value, np.ndarray) or value.dtype.kind not in "fi":
        return f"{what} is {kind_of(value)}, not an array of floats of shape {shape}"
    if value.shape != shape:
        return f"{what} has shape {value.shape}, not {shape}"
    return "" if np.isfinite(value).all() else f"{what} is not finite: {value}"


def wrong_numbers(method: str, answer: object) -> str:
    """For a method that returns numbers by names."""
    wanted = "a dict of names with units and finite numbers"
    if not isinstance(answer, dict):
        return _returns(method, answer, wanted)
    for name, value in answer.items():
        if not isinstance(name, str):
            return f"{method} returns the name {name!r}, which is {kind_of(name)}, not a string"
        if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
            return f"{method} returns {kind_of(value)} as {name!r}, not a number"
        if not np.isfinite(float(value)):
            return f"{method} returns {float(value)} as {name!r}, which is not finite"
    return ""


def wrong_text(method: str, answer: object) -> str:
    """For a method that returns a message."""
    return "" if isinstance(answer, str) else _returns(method, answer, 'a string, "" if nothing is wrong')


def wrong_remedy(method: str, answer: object) -> str:
    """For a method that returns a parameter and how to change it."""
    is_right = isinstance(answer, tuple) and len(answer) == 2 and all(isinstance(part, str) for part in answer)
    return "" if is_right else _returns(method, answer, "a tuple of a parameter's name and a text")


def wrong_data(method: str, answer: object) -> str:
    """For a method that returns data for a file."""
    if not isinstance(answer, dict):
        return _returns(method, answer, "a dict of plain data")
    odd = next(_odd(answer), None)
    wanted = "plain data for a YAML file: numbers, strings, lists and dicts of them"
    return "" if odd is None else f"{method} returns {kind_of(odd)} in its dict, not {wanted}"


def _odd(data: object) -> Iterator[object]:
    """Items of some data that are no plain data."""
    if isinstance(data, dict):
        yield from (each for item in data.items() for part in item for each in _odd(part))
    elif isinstance(data, (list, tuple)):
        yield from (each for part in data for each in _odd(part))
    elif type(data) not in (bool, int, float, str, type(None)):
        yield data


def _returns(method: str, answer: object, wanted: str) -> str:
    if answer is None:
        return f"{method} returns None: is its return statement missing?"
    return f"{method} returns {kind_of(answer)}, not {wanted}"


def kind_of(value: object) -> str:
    """The class of a value; for an array also its type of numbers and its shape."""
    shape, dtype = getattr(value, "shape", None), getattr(value, "dtype", None)
    name = f"{type(value).__module__}.{type(value).__qualname__}".removeprefix("builtins.")
    said = f"{'an' if name[0] in 'aeiou' else 'a'} {name}"
    said += "" if dtype in (None, np.dtype(float)) else f" of {dtype}"
    return said if shape is None else f"{said} of shape {tuple(shape)}"
