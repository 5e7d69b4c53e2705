"""A CasADi function of scalars as a list of nodes: each an operation on others before it."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from robodyn_ros.errors import RobodynError

if TYPE_CHECKING:
    import casadi as ca

SIGNS = {"add": "+", "sub": "-", "mul": "*"}
"""Operations that C has a sign for."""
UNARY = (
    *("tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh"),
    *("sqrt", "exp", "log", "log1p", "expm1", "erf", "fabs", "floor", "ceil", "sign", "not"),
)
BINARY = (
    *("atan2", "pow", "constpow", "fmin", "fmax", "fmod", "copysign", "hypot", "remainder"),
    *("lt", "le", "eq", "ne", "and", "or", "if_else_zero"),
)
"""CasADi's names of functions of one and of two numbers; the C code defines each as ``each_…``."""


class Node(NamedTuple):
    """An operation on other nodes, a ``const`` or an ``input``."""

    name: str
    operands: tuple[int, ...] = ()
    value: float = 0.0  # of a const
    place: tuple[int, int] = (-1, -1)  # of an input: which, and which element


@lru_cache(maxsize=1)
def _names() -> dict[int, tuple[str, int]]:
    """CasADi's number of an operation → its name, and how many operands it has."""
    import casadi as ca

    unary, binary = ("neg", "sq", "twice", "inv", "sin", "cos", *UNARY), (*SIGNS, "div", *BINARY)
    return {getattr(ca, f"OP_{name.upper()}"): (name, 1) for name in unary} | {
        getattr(ca, f"OP_{name.upper()}"): (name, 2) for name in binary
    }


def read(function: ca.Function) -> tuple[list[Node], list[tuple[int, int, int]]]:
    """The nodes, operands first, and of each output: which, which element, which node.

    Raises:
        RobodynError: an operation that is none of those above.
    """
    import casadi as ca

    nodes: list[Node] = []
    outputs: list[tuple[int, int, int]] = []
    work: dict[int, int] = {}
    for k in range(function.n_instructions()):
        op, given, put = function.instruction_id(k), function.instruction_input(k), function.instruction_output(k)
        if op == ca.OP_OUTPUT:
            outputs.append((put[0], put[1], work[given[0]]))
            continue
        if op == ca.OP_INPUT:
            node = Node("input", place=(given[0], given[1]))
        elif op == ca.OP_CONST:
            node = Node("const", value=function.instruction_constant(k))
        elif op in _names():
            name, count = _names()[op]
            node = Node(name, tuple(work[i] for i in given[:count]))
        else:
            raise RobodynError(f"CasADi's operation {op} in {function.name()} has no counterpart in the generated code")
        work[put[0]] = len(nodes)
        nodes.append(node)
    return nodes, outputs
