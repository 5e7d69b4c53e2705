# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The plugin of docs/how-to/own-plugin.md, which serves one arm: installed by the text of the page, it is right."""

import sys
from pathlib import Path

import numpy as np
import pytest
from installed_package import install, install_guide
from test_conformance import cases, run

import robodyn_ros as rd
from robodyn_ros import plugins

ROOT = Path(__file__).parents[1]
RR = ROOT / "urdf/rr.urdf"


@pytest.fixture(scope="module", autouse=True)
def installed(tmp_path_factory):
    """A folder that is, for Python, the package of the page, installed."""
    folder = tmp_path_factory.mktemp("installed")
    install_guide(folder, "own-plugin.md", "hand_rr")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        plugins._found.cache_clear()
        yield folder
    plugins._found.cache_clear()
    sys.modules.pop("hand_rr", None)


def test_it_passes_the_kit_on_its_arm(installed):
    """Only clauses about the kit's own mechanisms are left out; all others run."""
    done, suite = run(installed, "--dynamics", "hand_rr", "--arm", str(RR))
    assert done.returncode == 0, done.stdout[-4000:]
    assert cases(suite, "skipped") == {
        "test_a_payload_is_as_good_as_a_link",
        "test_large_positions_are_angles_like_others",
        "test_numbers_are_in_the_order_of_robot_joints",
    }
    assert int(suite.get("tests", 0)) - int(suite.get("skipped", 0)) > 180


def test_it_moves_the_arm_as_the_built_in_dynamics_do():
    given = {"to": [1.0, -0.5], "duration": 1.0}
    by_hand, known = (rd.simulate(RR, **given, parameters={"dynamics": name}).trial for name in ("hand_rr", "rnea"))
    assert not by_hand.faults
    np.testing.assert_allclose(by_hand.truth.values["q"], known.truth.values["q"], atol=1e-9)


def test_another_arm_is_refused_by_name():
    with pytest.raises(rd.InputError, match=r"two joints about y, as urdf/rr\.urdf"):
        rd.create_dynamics("hand_rr", ROOT / "urdf/pr.urdf")


MESSAGES = {
    "unknown": ("mine", None),
    "cannot be imported": ("mine", "mine = no_such_module:Mine"),
    "is not a class": ("mine", "mine = os:getcwd"),
    "omits": ("mine", "mine = robodyn_ros.dynamics.base:Dynamics"),
    "claimed twice": ("mine", "mine = os:getcwd\nmine = os:listdir"),
}


@pytest.mark.parametrize("said", MESSAGES)
def test_the_messages_of_the_page_are_those_of_the_package(said, tmp_path, monkeypatch):
    name, entries = MESSAGES[said]
    for index, entry in enumerate((entries or "").splitlines()):
        install(tmp_path, f"mine{index}", "robodyn_ros.dynamics", entry)
    monkeypatch.syspath_prepend(tmp_path)
    plugins._found.cache_clear()
    with pytest.raises(rd.PluginError) as raised:
        rd.create_dynamics(name, RR)
    plugins._found.cache_clear()
    assert said in str(raised.value)
    page = (ROOT / "docs/how-to/own-plugin.md").read_text(encoding="utf-8")
    assert said in page.split("## Messages and remedies")[1]
