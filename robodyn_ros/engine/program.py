"""What to compile: named CasADi expressions, their key, and the C code they become."""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from pathlib import Path

import casadi as ca


@dataclass(frozen=True)
class Program:
    """A function of a few vectors and one vector of runtime parameters.

    Attributes:
        name: a C identifier.
        key: tells programs apart; equal keys mean equal code.
        inputs: names and lengths of the inputs that change with every call.
        outputs: shapes of the results; () is a scalar.
        build: makes the expressions: the symbols of the inputs and, last, of the parameters; and the results.
            Called only when there is nothing in the cache.

    """

    name: str
    key: str
    inputs: tuple[tuple[str, int], ...]
    outputs: tuple[tuple[int, ...], ...]
    build: Callable[[], tuple[Sequence[ca.SX], Sequence[ca.SX]]]

    @property
    def widths(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Numbers per state: of each input, and of each output, the check included."""
        return tuple(length for _, length in self.inputs), (*(prod(shape) for shape in self.outputs), 1)

    def function(self) -> ca.Function:
        """The expressions as a CasADi function: inputs, parameters → results in row-major order, check.

        The check is the sum of the inputs: a NaN or an infinity among them is noticed in compiled code, even where the
        results do not depend on it.
        """
        symbols, results = self.build()
        check = ca.sum1(ca.vertcat(*symbols[:-1]))
        return ca.Function(self.name, list(symbols), ca.cse([*(ca.densify(ca.vec(r.T)) for r in results), check]))

    def source(self) -> str:
        """C code: the function as CasADi generates it, and a loop over many states."""
        generator = ca.CodeGenerator(f"{self.name}.c", {"with_header": False})
        generator.add(self.function())
        code = generator.dump()
        # Every argument is there whenever a kernel calls, so nothing need ask.
        code = re.sub(r"arg\[(\d+)\]\? arg\[\1\]\[(\d+)\] : 0", r"arg[\1][\2]", code)
        code = re.sub(r"if \(res\[(\d+)\]!=0\) ", "", code)
        return code + self._batch_source()

    def _batch_source(self) -> str:
        widths_in, widths_out = self.widths
        arguments = ", ".join([*(f"arg[{i}] + k * {w}" for i, w in enumerate(widths_in)), f"arg[{len(widths_in)}]"])
        results = ", ".join(f"res[{i}] + k * {w}" for i, w in enumerate(widths_out))
        return f"""
CASADI_SYMBOL_EXPORT void {self.name}_batch(long long count, const casadi_real** arg, casadi_real** res) {{
  for (long long k = 0; k < count; ++k) {{
    const casadi_real* a[] = {{{arguments}}};
    casadi_real* r[] = {{{results}}};
    {self.name}(a, r, 0, 0, 0);
  }}
}}
"""


def digest(*facts: object, source: str) -> str:
    """A program's key: changes with the facts that it was built from and with the code that builds it.

    Args:
        *facts: anything whose ``repr`` tells all that matters of it.
        source: name of the module, perhaps a third party's, that writes the expressions.

    """
    origin = getattr(sys.modules[source], "__file__", None)
    code = Path(origin).read_bytes() if origin else b""
    return hashlib.sha256(repr(facts).encode() + code + _generator()).hexdigest()[:32]


@lru_cache(maxsize=1)
def _generator() -> bytes:
    """A hash of everything of ours that writes code, and of CasADi's version."""
    package = Path(__file__).parent.parent
    hashed = hashlib.sha256(ca.__version__.encode())
    for room in ("engine", "kinematics", "dynamics"):
        for file in sorted((package / room).glob("*.py")):
            hashed.update(file.read_bytes())
    return hashed.digest()
