# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The registry: what is there, and what is said of what is not."""

from importlib.metadata import EntryPoint

import pytest

import robodyn_ros as rd
from robodyn_ros import plugins


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch):
    """Replaces what is installed by the given name → value pairs."""

    def install(*claims: tuple[str, str]) -> None:
        def entry_points(group: str) -> list[EntryPoint]:
            return [EntryPoint(name, value, group) for name, value in claims]

        monkeypatch.setattr(plugins, "entry_points", entry_points)
        plugins._found.cache_clear()

    yield install
    monkeypatch.undo()
    plugins._found.cache_clear()


def test_built_in_plugins_come_by_the_same_route() -> None:
    """The README names them all: test_readme.py."""
    assert rd.available("dynamics") == ("lagrangian", "rnea")
    assert {"computed_torque", "mpc", "pd"} < set(rd.available("controllers"))


def test_the_first_line_of_a_plugin_is_a_sentence_without_markup() -> None:
    """Terminal and site show it."""
    for kind in plugins.GROUPS:
        for name in rd.available(kind):
            summary = (plugins.load(kind, name).__doc__ or "").strip().partition("\n")[0]
            assert summary.endswith("."), name
            assert not set("`*_") & set(summary), summary


def test_an_unknown_plugin_names_the_choices() -> None:
    with pytest.raises(rd.PluginError, match=r"'kane': unknown \(available: lagrangian, rnea\)") as caught:
        plugins.load("dynamics", "kane")
    assert caught.value.available == ("lagrangian", "rnea")
    with pytest.raises(rd.PluginError, match=r"^'kinematics': .*no such kind .*\(available: controllers, dynamics, "):
        rd.available("kinematics")


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (("a.b:C", "d.e:F"), r"claimed twice, by a\.b:C and d\.e:F"),
        (("no_such_module_at_all:X",), "cannot be imported: ModuleNotFoundError"),
        (("fractions:NoSuchClass",), "cannot be imported: AttributeError"),
        (("math:pi",), "is not a class"),
    ],
)
def test_a_broken_plugin_gives_its_cause(installed, values: tuple[str, ...], said: str) -> None:
    installed(*(("mine", value) for value in values))
    with pytest.raises(rd.PluginError, match=said) as caught:
        plugins.load("dynamics", "mine")
    assert (caught.value.__cause__ is not None) == ("imported" in said)


def test_one_package_that_is_on_the_path_twice(installed) -> None:
    installed(("mine", "fractions:Fraction"), ("mine", "fractions:Fraction"))
    assert plugins.load("dynamics", "mine").__name__ == "Fraction"
