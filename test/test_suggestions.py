# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The name that a mistyped one was meant to be."""

import pytest

from robodyn_ros.errors import is_it, misspelt, nearest

POSES = ("HOME", "PICK", "CLIMB", "STATION", "PROCESSOR", "ALGAE", "L1")
PARAMETERS = (
    *("following_tolerance", "seed", "overspeed", "speed_scaling", "blend_time", "unknown_payload"),
    *("gains.wrist.damping_ratio", "transmission.wrist.gear_ratio", "gains.joint1.damping_ratio", "command_delay"),
)


@pytest.mark.parametrize(
    ("name", "known", "meant"),
    [
        ("HOEM", POSES, "HOME"),
        ("pik", POSES, "PICK"),
        ("L2", POSES, ""),
        ("overspead", PARAMETERS, "overspeed"),
        ("sede", PARAMETERS, "seed"),
        ("seed", [name for name in PARAMETERS if name != "seed"], ""),
        ("blend", PARAMETERS, "blend_time"),
        ("tolerence", PARAMETERS, "following_tolerance"),
        ("gains.wrist.dampng_ratio", PARAMETERS, "gains.wrist.damping_ratio"),
        ("gains.wrist.dampng_ratio", ["transmission.wrist.gear_ratio"], ""),
        ("set", ["send", "cost", "to"], ""),
        ("euler", ["rk4", "explicit_euler"], "explicit_euler"),
        ("rk44", ["rk4", "dop853"], "rk4"),
        ("Plan", ["plan", "plugins"], "plan"),
        ("wrist_3", ["wrist_1_link", "wrist_3_link"], "wrist_3_link"),
        ("x", ["xy"], ""),
        ("anything", [], ""),
    ],
)
def test_the_nearest_name(name, known, meant):
    assert nearest(name, known) == meant
    assert is_it(name, known) == (f" (is it {meant!r}?)" if meant else "")


@pytest.mark.parametrize("name", [*POSES, *PARAMETERS])
def test_a_name_is_the_nearest_to_itself_and_to_each_of_its_exchanges(name):
    assert nearest(name, (*POSES, *PARAMETERS)) == (name if len(name) > 1 else "")
    if len(name) > 3:
        for k in range(len(name) - 1):
            typed = name[:k] + name[k + 1] + name[k] + name[k + 2 :]
            assert nearest(typed, (*POSES, *PARAMETERS)) == name


def test_what_differs_in_a_number_is_not_misspelt():
    assert misspelt("gains.joint2.damping_ratio", PARAMETERS) == ""
    assert misspelt("gains.joint1.dampin_ratio", PARAMETERS) == "gains.joint1.damping_ratio"
    assert misspelt("blend", PARAMETERS) == "", "a part of a name may be another node's parameter"
