"""A quantity that a formulation gives: what goes in, what comes out, and how it is called."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from robodyn_ros.dynamics.compiled import CompiledDynamics


@dataclass
class Quantity:
    """An attribute of ``CompiledDynamics`` that becomes a compiled function when it is first asked for, and is that
    function from then on (as ``functools.cached_property`` does it): nothing stands between a caller and the kernel.

    Attributes:
        inputs: names of the inputs, each (n,), separated by spaces.
        results: axes of each result: ``n`` joints, ``p`` parameters, a digit for itself; an empty string is a scalar.
        doc: what it is.
        kind: a NamedTuple for several results.
    """

    inputs: str
    results: tuple[str, ...]
    doc: str
    kind: Callable[..., Any] | None = None
    name: str = ""

    def __post_init__(self) -> None:
        self.__doc__ = self.doc

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, dynamics: CompiledDynamics | None, owner: type) -> Any:
        if dynamics is None:
            return self
        made: dict[str, Any] = dynamics.__dict__.setdefault("_functions", {})
        function = made[self.name] = made.get(self.name) or self._function(dynamics)
        if getattr(type(dynamics), self.name) is self:  # else a subclass has its own, which must stay in sight
            dynamics.__dict__[self.name] = function
        return function

    def shapes(self, n: int, p: int) -> tuple[tuple[int, ...], ...]:
        """Shape of each result for n joints and p parameters."""
        length = {"n": n, "p": p}
        return tuple(tuple(length.get(axis, 0) or int(axis) for axis in axes) for axes in self.results)

    def _function(self, dynamics: CompiledDynamics) -> Callable[..., Any]:
        call, kind = dynamics.kernel(self.name).call, self.kind
        if kind is None:
            return call

        def named(*values: Any) -> Any:
            return kind(*call(*values))

        return named
