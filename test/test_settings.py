# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The settings of the library: each is described and checked by its name, with the approved default and range.

After an intended change: ROBODYN_APPROVE=1 make test TEST=test/test_settings.py, and look at the difference.
"""

import os
import pkgutil
import re
from dataclasses import fields
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import robodyn_ros as rd
from robodyn_ros.errors import ConfigurationError
from robodyn_ros.settings import CheckedSettings, check_value

APPROVED = Path(__file__).with_name("approved") / "settings.txt"

LIBRARY = re.compile(r"robodyn_ros\.(?!nodes|cli|.*conformance)")

for found in pkgutil.walk_packages(rd.__path__, "robodyn_ros."):
    if LIBRARY.match(found.name):
        import_module(found.name)
KINDS = CheckedSettings.__subclasses__()
for kind in KINDS:
    KINDS += kind.__subclasses__()
SETTINGS = {
    f"{kind.__name__}.{item.name}": (kind, item)
    for kind in sorted(KINDS, key=lambda kind: kind.__name__)
    if LIBRARY.match(kind.__module__)
    for item in fields(kind)
}


def test_defaults_and_ranges_are_the_approved_ones() -> None:
    lines = (f"{name} {item.default!r} {item.metadata.get('range')}\n" for name, (_, item) in SETTINGS.items())
    text = "".join(lines)
    if os.environ.get("ROBODYN_APPROVE"):
        APPROVED.write_text(text, encoding="utf-8")
    assert text == APPROVED.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", SETTINGS)
def test_a_setting_is_described_and_checked_by_its_name(name: str) -> None:
    kind, item = SETTINGS[name]
    assert item.metadata["description"]
    wrong: list[object] = [3, 1, None]
    if limits := item.metadata.get("range"):
        assert item.metadata["unit"] or isinstance(item.default, int)
        wrong = [limits[0] - 1e-9 * max(1.0, abs(limits[0])), 1.001 * limits[1], np.nan, np.inf, True, "much", None]
    count = len(item.default) if limits and isinstance(item.default, tuple) else 0
    for value in limits or ():
        check_value(name, item, (value,) * count if count else value)
    for value in wrong:
        with pytest.raises(ConfigurationError, match=f"^{item.name}: must be "):
            kind(**{item.name: (value,) * count if count else value})
