# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Which failures become skips: those for want of an optional package, and no other."""

from __future__ import annotations

import re
from importlib.metadata import requires

import pytest
import without_extras


def test_where_the_extra_test_is_installed_no_failure_is_a_skip():
    brought = {
        re.split(r"[^\w-]", one)[0] for one in requires("robodyn_ros") or () if re.search(r"extra == .test.", one)
    }
    assert brought > without_extras.OPTIONAL


@pytest.mark.parametrize(
    ("text", "package"),
    [
        ("plots need matplotlib: pip install 'robodyn_ros[plot]'", "matplotlib"),
        ("ModuleNotFoundError: No module named 'rosbags.highlevel'", "rosbags"),
        ("PackageNotFoundError: No package metadata was found for example-robot-data", "example-robot-data"),
        ("this plant needs MuJoCo: pip install mujoco", "mujoco"),
    ],
)
def test_an_optional_package_that_is_missing_is_named(monkeypatch, text, package):
    assert without_extras.missing(text) in ("", package)  # "" where it is installed
    monkeypatch.setattr(without_extras, "is_installed", lambda name: name != package)
    assert without_extras.missing(text) == package


@pytest.mark.parametrize("text", ["assert 2 + 2 == 5", "No module named 'robodyn_ros.plots'", "robodyn_ros[none]"])
def test_another_failure_stays_one(monkeypatch, text):
    monkeypatch.setattr(without_extras, "is_installed", lambda name: False)
    assert without_extras.missing(text) == ""
