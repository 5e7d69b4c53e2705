# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A mistake in a URDF is answered with file, line and element."""

import pytest
from arms import joint, link, robot

from robodyn_ros.control.parameter_file import read_parameters
from robodyn_ros.errors import RobotDescriptionError
from robodyn_ros.files import find
from robodyn_ros.kinematics.inverse.planar import planar_arm
from robodyn_ros.robot import load_robot

GOOD = robot("arm", link("a"), link("b", 1.0), joint("j", "revolute", "a", "b"))


@pytest.fixture
def told(command, tmp_path):
    """What a verb says of a URDF, without the folder."""

    def read(text: str) -> str:
        path = tmp_path / "arm.urdf"
        path.write_text(text)
        return command.error("compile", path).replace(str(tmp_path), "")

    return read


TYPE, OTHER = ('type="revolute"', 'type="x"'), '<transmission name="t"><joint name="j"/></transmission>'
BLANK = ("<robot ", "\n\n<?xml version='1.0'?>\n<robot ")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ([('mass value="1.0"', 'mass value="-1.0"')], ":3: link 'b': mass -1 kg is negative"),
        ([TYPE], ":4: joint 'j': type 'x' is not supported; it must be"),
        ([('link="b"', 'link="c"')], ":4: joint 'j': its child link 'c' does not exist"),
        ([('type="revolute"', 'type="fixed"')], ":1: robot 'arm': has no joint that moves"),
        ([('<link name="a"/>', '<link name="a"/>\n<link name="a"/>')], ":3: link 'a': there is another link"),
        ([("</robot>", "")], ": malformed XML at line 5"),
        ([TYPE, ('"j"', '"it&apos;s"')], ":4: joint \"it's\": type 'x'"),
        ([TYPE, ("</robot>", f"{OTHER}\n</robot>")], ":4: joint 'j': type 'x'"),  # other programs use the name, too
        ([TYPE, BLANK], ":7: joint 'j': type 'x'"),
        ([BLANK, ("</robot>", "")], ": malformed XML at line 8"),
    ],
)
def test_mistakes(changes: list[tuple[str, str]], message: str, told) -> None:
    text = GOOD
    for right, wrong in changes:
        assert right in text
        text = text.replace(right, wrong)
    assert told(text).startswith(f"error: /arm.urdf{message}")


PARAMETERS = """simulator:
  ros__parameters:
    friction:
      wrist: {coulomb: 1.0}
      shoulder:
        viscous: 0.1
        coulomb: 2.0
controller:
  ros__parameters:
    settled_time: 1.0
"""


def for_any(*lines: str) -> str:
    """A parameter file for any node."""
    return "\n    ".join(("/**:\n  ros__parameters:", *lines))


GROUPS = for_any("transmission: [1, 2]", "gains: [1, 2]")
MISSPELT = for_any("some_thing_else: 1", "state_timeot: 0.5")


@pytest.mark.parametrize(
    ("line", "content", "message"),
    [
        (
            "simulate",
            PARAMETERS.replace(" 2.0", " -2.0"),
            ":7: friction.shoulder.coulomb: must be within [0, 1e+09] N·m",
        ),
        (
            "simulate",
            PARAMETERS.replace("1.0\n", "fast\n"),
            ":10: settled_time: must be within [0, 3600] s, not 'fast'",
        ),
        ("simulate -p friction.shoulder.coulomb:=-3", PARAMETERS, "error: friction.shoulder.coulomb: must be within"),
        ("simulate", PARAMETERS.replace("0.1", "{0.1"), "error: parameter file: arm.yaml cannot be read"),
        *(
            (verb, MISSPELT, ":4: 'state_timeot' is no parameter (is it 'state_timeout'?)")
            for verb in ("simulate", "compare")
        ),
        (
            "commission",
            for_any("some_thing_else: 1", "sped_limit: 0.5"),
            ":4: 'sped_limit' is no parameter (is it 'speed_limit'?)",
        ),
        *((verb, GROUPS, ":4: 'gains' is no parameter but holds others") for verb in ("simulate", "compare", "view")),
        ("commission --yes", GROUPS, ":3: 'transmission' is no parameter but holds others, such as "),
        ("commission", for_any("overspeed: 0.5"), ":3: there is no such parameter any more: use 'speed_limit'"),
        ("simulate", for_any("stream: {turn_speed: 1}"), ":3: there is no such parameter any more: use 'stream.speed'"),
    ],
)
def test_mistakes_in_a_parameter_file(line, content, message, tmp_path, command):
    path = tmp_path / "arm.yaml"
    path.write_text(content)
    verb, *more = line.split()
    err = command.error(verb, find("urdf/prr.urdf"), *more, "--params", path)
    assert err.startswith("error: ") and message in err.replace(f"{tmp_path}/", "")


def test_errors_carry_their_place(tmp_path):
    path = tmp_path / "arm.urdf"
    path.write_text(GOOD.replace("<parent", "\n<parent").replace('type="revolute"', 'type="revolut"'))
    with pytest.raises(RobotDescriptionError) as error:
        load_robot(path)
    assert error.value.place == (str(path), 4)
    assert error.value.located == f"{path}:4: {error.value}"
    with pytest.raises(RobotDescriptionError) as error:
        load_robot(path.read_text())
    assert error.value.place is None and error.value.located == str(error.value)


def test_errors_of_a_whole_robot_carry_their_place(tmp_path):
    path = tmp_path / "arm.urdf"
    path.write_text(robot("arm", link("a"), link("b", 1.0, (0.1, 0.2, 0.3)), joint("j", "revolute", "a", "b")))
    with pytest.raises(RobotDescriptionError, match="not by RR or PRR alone") as error:
        planar_arm(load_robot(path), "b")
    assert error.value.place == (str(path), 3)


def test_the_place_of_a_parameter_follows_its_value(tmp_path):
    one, other = tmp_path / "one.yaml", tmp_path / "other.yaml"
    one.write_text(PARAMETERS)
    other.write_text("controller:\n  ros__parameters: {settled_time: 2.0, ki: 1.0}\n")
    given = read_parameters(one, "controller")
    assert given.places == {"settled_time": (str(one), 10)}
    given = given | read_parameters(other, "controller") | {"ki": 2.0}
    assert given == {"settled_time": 2.0, "ki": 2.0}
    assert given.places == {"settled_time": (str(other), 2)}
    assert "friction.shoulder.coulomb" in read_parameters(one, "simulator").places
