"""Call a compiled function from Python at the price of a built-in function: about 0.02 µs.

``casadi.Function.buffer()`` does the same for 0.06 µs, because CasADi 3.8 lets go of the interpreter's lock and takes
it again around each call. That is longer than the arithmetic of a small arm takes, and invites another thread to take
over in the middle of a control period.

The function is one of CPython's stable ABI: ``PyObject* f(PyObject* self, PyObject* none)`` where ``self`` is a capsule
with the addresses of the arrays that it works on (https://docs.python.org/3/c-api/structures.html, ``PyMethodDef`` and
``METH_NOARGS``).
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from robodyn_ros.robot.pose import Array

_NO_ARGUMENTS = 0x0004  # METH_NOARGS


class _Method(ctypes.Structure):
    """PyMethodDef."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


class _Module(str):
    """The name of this module, with what must not go before the function does."""

    memory: tuple[object, ...]


def bind(library: Path, name: str, arrays: Sequence[Array]) -> Callable[[], None]:
    """A function of a library as a Python function without arguments. It keeps the arrays, its memory, alive.

    Args:
        library: where it is.
        name: of the function.
        arrays: what it works on.
    """
    new_capsule = _from_python("PyCapsule_New", ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    new_function = _from_python("PyCFunction_NewEx", ctypes.c_void_p, ctypes.py_object, ctypes.py_object)
    function = ctypes.cast(ctypes.CDLL(str(library))[name], ctypes.c_void_p)
    method = _Method(name.encode(), function.value, _NO_ARGUMENTS, b"Run on the arrays that it was bound to.")
    addresses = (ctypes.c_void_p * len(arrays))(*(array.ctypes.data for array in arrays))
    capsule = new_capsule(ctypes.addressof(addresses), None, None)
    module = _Module(__name__)  # the function's __module__, which may be any object and lives as long as it does
    module.memory = (method, addresses, *arrays)
    bound: Callable[[], None] = new_function(ctypes.addressof(method), capsule, module)
    return bound


def _from_python(name: str, *arguments: type) -> Callable[..., Any]:
    """A function of CPython that gives a new object."""
    return ctypes.PYFUNCTYPE(ctypes.py_object, *arguments)((name, ctypes.pythonapi))
