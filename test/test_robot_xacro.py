# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Descriptions that are no URDF yet: .xacro files, names of arms."""

import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

import robodyn_ros as rd
from robodyn_ros.cli.main import main
from robodyn_ros.errors import RobotDescriptionError
from robodyn_ros.robot import load_robot, xacro
from robodyn_ros.robot.xacro import find_package, split_arguments, with_arguments

XMLNS = 'xmlns:xacro="http://www.ros.org/wiki/xacro"'

HAND = f"""<robot {XMLNS}>
  <xacro:macro name="hand" params="side mass">
    <link name="${{side}}_hand"><inertial><mass value="${{mass}}"/><origin xyz="0 0 0.1"/>
      <inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
    <joint name="${{side}}_wrist" type="revolute"><parent link="base"/><child link="${{side}}_hand"/>
      <axis xyz="0 1 0"/><limit lower="${{-pi/2}}" upper="1" velocity="1" effort="9"/></joint>
  </xacro:macro>
</robot>"""

ARM = f"""<robot name="arm" {XMLNS}>
  <xacro:arg name="side" default="left"/>
  <xacro:arg name="mass" default="1.5"/>
  <xacro:include filename="$(find hand_description)/urdf/hand.xacro"/>
  <link name="base"/>
  <xacro:hand side="$(arg side)" mass="$(arg mass)"/>
</robot>"""


@pytest.fixture
def arm(tmp_path: Path) -> Path:
    """A .xacro file in a package, that includes one of another package in the same workspace."""
    for package, name, text in (("arm_description", "arm.urdf.xacro", ARM), ("hand_description", "hand.xacro", HAND)):
        folder = tmp_path / "src" / ("vendor" if package.startswith("hand") else "") / package
        (folder / "urdf").mkdir(parents=True)
        (folder / "package.xml").write_text(f"<package><name>{package}</name></package>", encoding="utf-8")
        (folder / "urdf" / name).write_text(text, encoding="utf-8")
    return tmp_path / "src" / "arm_description" / "urdf" / "arm.urdf.xacro"


def test_a_file_with_arguments(arm: Path) -> None:
    assert load_robot(arm).joint_names == ("left_wrist",)
    right = load_robot(f"{arm} side:=right mass:=2.25")
    assert right.joint_names == ("right_wrist",)
    assert right.link("right_hand").inertial.mass == 2.25
    assert right.lower[0] == pytest.approx(-1.5707963)
    assert load_robot(right.urdf).joint_names == right.joint_names


def test_what_goes_wrong_is_one_error_that_names_the_file(arm: Path) -> None:
    with pytest.raises(RobotDescriptionError, match="no argument weight: the file has mass, side") as error:
        load_robot(f"{arm} weight:=2")
    assert error.value.element == str(arm)
    text = arm.read_text(encoding="utf-8")
    arm.write_text(text.replace("hand_description", "foot_description"), encoding="utf-8")
    with pytest.raises(RobotDescriptionError, match="package 'foot_description' is not found"):
        load_robot(arm)
    arm.write_text(text.replace('<xacro:arg name="mass" default="1.5"/>', ""), encoding="utf-8")
    with pytest.raises(RobotDescriptionError, match="argument mass has no value: give it as mass:="):
        load_robot(arm)
    arm.write_text(text.replace('name="mass" default="1.5"', 'name="mass"'), encoding="utf-8")
    with pytest.raises(RobotDescriptionError, match="missing attribute 'default' in <xacro:arg name=\"mass\"/>"):
        load_robot(arm)
    with pytest.raises(RobotDescriptionError, match="no such file"):
        load_robot(str(arm.with_name("leg.xacro")))
    arm.write_text(text, encoding="utf-8")
    with pytest.raises(RobotDescriptionError, match=r"^link 'left_hand': mass") as error:
        load_robot(f"{arm} mass:=-1")
    assert error.value.located == f"{arm}: {error.value}"


def test_a_file_that_includes_itself_is_told_why(tmp_path: Path) -> None:
    path = tmp_path / "self.xacro"
    path.write_text(f'<robot name="r" {XMLNS}><xacro:include filename="self.xacro"/></robot>', encoding="utf-8")
    with pytest.raises(RobotDescriptionError, match="recursion") as error:
        load_robot(path)
    assert str(error.value).count("included from") == 1


def test_a_verb_takes_arguments_wherever_they_stand(arm: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words in ([str(arm), "side:=right", "mass:=0", "--json"], [str(arm), "--json", "side:=right", "mass:=0"]):
        main(["check", *words])
        found = json.loads(capsys.readouterr().out)
        assert [link["name"] for link in found["links"]] == ["base", "right_hand"]
        assert {each["line"] for each in found["findings"]} == {None}  # that of a text that nobody sees
    with pytest.raises(SystemExit):
        main(["demo", "side:=right"])
    assert "unrecognized arguments: side:=right" in capsys.readouterr().err


def test_a_file_that_takes_too_long_is_given_up(arm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("xacro", reason="the extra xacro is not installed")
    monkeypatch.setattr("robodyn_ros.robot.xacro.PROGRAM", "import signal; signal.pause()")
    monkeypatch.setattr("robodyn_ros.robot.xacro.TIMEOUT", 0.1)
    with pytest.raises(RobotDescriptionError, match=r"xacro did not end within 0\.1 s"):
        rd.load_robot(arm)


def test_without_xacro_the_message_says_how_to_get_it(arm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xacro, "find_spec", lambda name: None)
    with pytest.raises(RobotDescriptionError, match=r"pip install 'robodyn_ros\[xacro\]'"):
        load_robot(arm)


def test_a_urdf_takes_no_arguments(tmp_path: Path) -> None:
    with pytest.raises(RobotDescriptionError, match=r"it is no \.xacro file"):
        load_robot(f"{tmp_path / 'arm.urdf'} side:=left")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("arm.xacro", ("arm.xacro", {})),
        ("my arm.xacro", ("my arm.xacro", {})),
        ("arm.xacro side:=left n:=", ("arm.xacro", {"side": "left", "n": ""})),
        ("arm.xacro title:='my arm' at:='0 0 1'", ("arm.xacro", {"title": "my arm", "at": "0 0 1"})),
        ("'my arm.xacro' a:=b:=c", ("my arm.xacro", {"a": "b:=c"})),
        ("a:=b", ("a:=b", {})),
        ("arm.xacro it's:=1", ("arm.xacro it's:=1", {})),
    ],
)
def test_a_path_and_its_arguments(text: str, expected: tuple[str, dict[str, str]]) -> None:
    assert split_arguments(text) == expected
    path, arguments = expected
    assert split_arguments(with_arguments(path, [f"{k}:={v}" for k, v in arguments.items()])) == expected


def test_packages(arm: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The nearest package.xml, neighbours, the ament index, ROS_PACKAGE_PATH; by the name in package.xml."""
    assert find_package("arm_description", str(arm)) == str(arm.parents[1])
    assert find_package("hand_description", str(arm)) == str(arm.parents[2] / "vendor" / "hand_description")
    with pytest.raises(LookupError, match="leg_description"):
        find_package("leg_description", str(arm))
    share = tmp_path / "install" / "share" / "leg_description"
    share.mkdir(parents=True)
    monkeypatch.setenv("AMENT_PREFIX_PATH", f"/nowhere:{tmp_path / 'install'}")
    assert find_package("leg_description", str(arm)) == str(share)
    monkeypatch.delenv("AMENT_PREFIX_PATH")
    monkeypatch.setenv("ROS_PACKAGE_PATH", str(share))
    assert find_package("leg_description") == str(share)
    arm.parents[1].rename(arm.parents[2] / "folder")
    renamed = arm.parents[2] / "folder" / "urdf" / arm.name
    assert find_package("arm_description", str(renamed)) == str(renamed.parents[1])


def test_names_of_arms(monkeypatch: pytest.MonkeyPatch, arm: Path) -> None:
    assert load_robot("prr").joint_names == ("elevator", "shoulder", "wrist")
    monkeypatch.chdir(arm.parents[1])
    with pytest.raises(RobotDescriptionError, match="urdf: cannot be read: Is a directory"):
        load_robot("urdf")
    with pytest.raises(RobotDescriptionError, match=r"no arm of this package \(pr, prr, r, rr, two_link\)"):
        load_robot("leg")
    monkeypatch.chdir(arm.parent)
    Path("my_leg.png").touch()
    Path("my_leg.urdf").touch()
    with pytest.raises(RobotDescriptionError, match=r"\(is it 'my_leg\.urdf'\?\)"):
        load_robot("my_leg")
    family, member = ModuleType("robot_descriptions"), ModuleType("robot_descriptions.my_description")
    family.__path__ = [str(arm.parent)]
    (arm.parent / "far_description.py").write_text("raise OSError('no network')")
    family.__spec__ = rd.__spec__
    member.URDF_PATH = str(Path(__file__).parents[1] / "urdf" / "rr.urdf")
    monkeypatch.setitem(sys.modules, "robot_descriptions", family)
    monkeypatch.setitem(sys.modules, "robot_descriptions.my_description", member)
    assert load_robot("my_description").n == 2
    with pytest.raises(RobotDescriptionError, match="none of the package robot_descriptions"):
        load_robot("your_description")
    with pytest.raises(RobotDescriptionError, match="far_description: robot_descriptions cannot get it: no network"):
        load_robot("far_description")
    del member.URDF_PATH
    member.XACRO_PATH, member.XACRO_ARGS = str(arm), {"side": "middle"}
    assert load_robot("my_description").joint_names == ("middle_wrist",)
    assert load_robot("my_description side:=right").joint_names == ("right_wrist",)
