"""The plugin registry: entry points → classes.

A plugin is one class and one line in a package's ``entry_points``; the built-in plugins are found in the same way::

    entry_points={"robodyn_ros.dynamics": ["mine = my_package.mine:MyDynamics"]}
"""

from __future__ import annotations

from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from robodyn_ros.errors import PluginError

GROUPS = {
    "dynamics": "robodyn_ros.dynamics",
    "controllers": "robodyn_ros.controllers",
    "integrators": "robodyn_ros.integrators",
    "plants": "robodyn_ros.plants",
}
"""Plugin kind → entry-point group."""


def available(kind: str) -> tuple[str, ...]:
    """Names of the installed plugins of a kind, sorted.

    Raises:
        PluginError: the kind does not exist.
    """
    return tuple(sorted(_found(kind)))


def find(kind: str, name: str) -> EntryPoint:
    """Where a plugin is; nothing is imported, which may take any time.

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


def create(kind: str, name: str, *args: Any, **kwargs: Any) -> Any:
    """Make an object of a plugin's class; errors of its constructor come through unchanged."""
    return load(kind, name)(*args, **kwargs)


@cache
def _found(kind: str) -> dict[str, tuple[EntryPoint, ...]]:
    if kind not in GROUPS:
        raise PluginError(kind, "", "there is no such kind of plugin", sorted(GROUPS))
    found: dict[str, dict[str, EntryPoint]] = {}
    for entry in entry_points(group=GROUPS[kind]):
        # A package that is on the path twice (an overlay, an editable install) claims a name once.
        found.setdefault(entry.name, {})[entry.value] = entry
    return {name: tuple(claims.values()) for name, claims in found.items()}
