# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The plugin registry: entry points → classes.

A plugin is one class and one line in a package's ``entry_points``; the built-in plugins are found in the same way::

    entry_points={"robodyn_ros.dynamics": ["mine = my_package.mine:MyDynamics"]}
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from importlib.metadata import EntryPoint, entry_points
from inspect import Parameter, Signature, getattr_static, signature
from pathlib import Path
from traceback import walk_tb
from types import FrameType, FunctionType
from typing import Any, NamedTuple

from robodyn_ros.errors import Place, PluginError

_signature: Callable[..., Signature] = cache(signature)

GROUPS = {
    "dynamics": "robodyn_ros.dynamics",
    "controllers": "robodyn_ros.controllers",
    "integrators": "robodyn_ros.integrators",
    "plants": "robodyn_ros.plants",
}
"""Plugin kind → entry-point group."""


def available(kind: str) -> tuple[str, ...]:
    """Names of the installed plugins of a kind (``dynamics``, ``controllers``, ``integrators`` or ``plants``), sorted.

    Raises:
        PluginError: the kind does not exist.
    """
    return tuple(sorted(_found(kind)))


def find(kind: str, name: str) -> EntryPoint:
    """The entry point of a plugin; nothing is imported, because an import may take long.

    Raises:
        PluginError: the name is unknown, or two packages claim it.
    """
    found = _found(kind)
    if name not in found:
        raise PluginError(kind, name, "unknown", sorted(found))
    claims = found[name]
    if len(claims) > 1:
        values = " and ".join(sorted(claim.value for claim in claims))
        raise PluginError(kind, name, f"claimed twice, by {values}; uninstall one", sorted(found))
    return claims[0]


def load(kind: str, name: str) -> type[Any]:
    """The class of a plugin.

    Raises:
        PluginError: the name is unknown, two packages claim it, or importing it failed; the cause is chained.
    """
    claim = find(kind, name)
    try:
        plugin = claim.load()
    except Exception as cause:
        problem = f"{claim.value} cannot be imported: {type(cause).__name__}: {cause}"
        raise PluginError(kind, name, problem, available(kind)) from cause
    if not isinstance(plugin, type):
        raise PluginError(kind, name, f"{claim.value} is not a class", available(kind))
    return plugin


def load_whole(kind: str, name: str) -> type[Any]:
    """The class of a plugin, checked against the contract of its kind as far as a class shows it.

    Raises:
        PluginError: as :func:`load`, or the class breaks the contract; the message says how.
    """
    plugin = load(kind, name)
    problem = _omission(plugin, _contracts.get(kind))
    if problem:
        raise PluginError(kind, name, f"{_place(plugin)} {problem}", available(kind))
    return plugin


def create(kind: str, name: str, *args: Any, **kwargs: Any) -> Any:
    """Make an object of a plugin's class; errors of its constructor come through unchanged.

    Raises:
        PluginError: as :func:`load`, or the class omits a part of its contract; the message says which.
        RobodynError: a method of the object returns a wrong shape or type.
    """
    plugin, contract = load_whole(kind, name), _contracts.get(kind)
    if contract is not None:
        try:
            _signature(plugin).bind(*args, **kwargs)
        except TypeError as cause:
            problem = f"has a constructor whose arguments differ from those of {_place(contract.base)}: {cause}"
            raise PluginError(kind, name, f"{_place(plugin)} {problem}", available(kind)) from cause
    made = plugin(*args, **kwargs)
    if contract is not None:
        missing = [attribute for attribute in contract.sets if not hasattr(made, attribute)]
        if missing:
            problem = f"has no attribute {missing[0]!r} after its constructor: call super().__init__ there"
            raise PluginError(kind, name, f"{_place(plugin)} {problem}", available(kind))
        if contract.check is not None:
            contract.check(made)
    return made


def raised(problem: BaseException) -> str:
    """An exception in words, with method and line if it was raised in a plugin."""
    said, where = f"{type(problem).__name__}: {problem}", origin(problem)
    return said if where is None else f"{said}, in {where.method} ({where.place})"


class Origin(NamedTuple):
    """Where in a plugin an exception was raised."""

    kind: str  # of the plugin
    plugin: str  # module and class
    method: str  # that was called
    place: Place  # the last line of the plugin


def origin(problem: BaseException) -> Origin | None:
    """The place in a plugin of another package where an exception was raised; None if it was in none.

    If one plugin calls another, it is the last of them. Methods that a plugin inherits from this package count only if
    no code of its own was running.
    """
    frames = [(frame.f_code, line, *_plugin_of(frame)) for frame, line in walk_tb(problem.__traceback__)]
    running = [one for one in frames if one[-1] is not None]
    running = [one for one in running if not one[0].co_filename.startswith(_PACKAGE)] or running
    if not running:
        return None
    last, _, kind, plugin = running[-1]
    method = next(code.co_name for code, _, _, one in running if one is plugin)
    lines = [line for code, line, *_ in frames if code.co_filename == last.co_filename]
    return Origin(kind, _place(type(plugin)), method, Place(last.co_filename, lines[-1]))


def _plugin_of(frame: FrameType) -> tuple[str, Any]:
    """Kind and object of the plugin of another package whose method this is; "" and None if it is none."""
    code = frame.f_code
    one = frame.f_locals.get(code.co_varnames[0]) if code.co_argcount else None
    if not type(one).__module__.startswith(f"{__package__}."):
        for kind, contract in _contracts.items():
            if isinstance(one, contract.base):
                return kind, one
    return "", None


_PACKAGE = f"{Path(__file__).parent}{os.sep}"


class PluginContract(NamedTuple):
    """The contract of a kind of plugin, besides its abstract methods."""

    base: type[Any]  # class that it derives from
    states: Mapping[str, tuple[Any, ...]]  # attribute of the class → the values that it may have; () for any
    sets: tuple[str, ...]  # attributes that the constructor of the base sets
    check: Callable[[Any], None] | None  # raises for an object whose methods return a wrong shape or type


def require(
    kind: str,
    base: type[Any],
    states: Mapping[str, tuple[Any, ...]],
    *sets: str,
    check: Callable[[Any], None] | None = None,
) -> None:
    """State the contract of a kind; the module of its base class calls this."""
    _contracts[kind] = PluginContract(base, states, sets, check)


_contracts: dict[str, PluginContract] = {}


def _omission(plugin: type[Any], contract: PluginContract | None) -> str:
    """How a class breaks the contract, and what would be right; "" if it keeps it."""
    omitted = sorted(getattr(plugin, "__abstractmethods__", ()))
    if omitted:
        return f"omits {', '.join(omitted)}, which every plugin of this kind must have"
    if contract is None:
        return ""
    if not issubclass(plugin, contract.base):
        return f"does not derive from {_place(contract.base)}"
    for attribute, values in contract.states.items():
        allowed = " or ".join(map(repr, values))
        if not hasattr(plugin, attribute):
            return f"omits the class attribute {attribute!r}" + (f", which must be {allowed}" if values else "")
        if values and getattr(plugin, attribute) not in values:
            return f"has {attribute} = {getattr(plugin, attribute)!r}, which must be {allowed}"
    return _compared(plugin, contract.base)


def _wrong_method(plugin: type[Any], base: type[Any]) -> str:
    """The method of a class that does not take the arguments of its base; "" if none."""
    for name, method in vars(base).items():
        own = getattr_static(plugin, name)
        if name.startswith("_") or not isinstance(method, FunctionType) or own is method:
            continue
        if not hasattr(own, "__get__"):
            return f"has {name} = {own!r}, which is no method"
        if not isinstance(own, FunctionType):
            continue
        taken = _signature(method).parameters.values()
        for given in (taken, [one for one in taken if one.default is Parameter.empty]):
            placed = [one.name for one in given if one.kind is Parameter.POSITIONAL_OR_KEYWORD]
            try:
                _signature(own).bind(*placed)
            except TypeError as cause:
                return f"has {name}{_signature(own)}, whose arguments differ from those of the base class: {cause}"
    return ""


_compared: Callable[..., str] = lru_cache(maxsize=64)(_wrong_method)


def _place(plugin: type[Any]) -> str:
    return f"{plugin.__module__}.{plugin.__qualname__}"


@cache
def _found(kind: str) -> dict[str, tuple[EntryPoint, ...]]:
    if kind not in GROUPS:
        raise PluginError(kind, "", "there is no such kind of plugin", sorted(GROUPS))
    found: dict[str, dict[str, EntryPoint]] = {}
    for entry in entry_points(group=GROUPS[kind]):
        # A package that is on the path twice (an overlay, an editable install) claims a name once.
        found.setdefault(entry.name, {})[entry.value] = entry
    return {name: tuple(claims.values()) for name, claims in found.items()}
