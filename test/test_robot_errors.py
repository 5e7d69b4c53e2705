# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Every URDF that does not describe an arm is answered with one error that names the culprit."""

import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from arms import BODY, joint, link, robot

from robodyn_ros import create_dynamics
from robodyn_ros.errors import (
    FutureStateError,
    InputError,
    LimitError,
    OrderError,
    Place,
    PluginError,
    RobodynError,
    RobotDescriptionError,
    RobotDescriptionWarning,
)
from robodyn_ros.robot import load_robot

HEAVY = (2.0, (0.1, 0.2, 0.3), BODY)
BASE = link("base")
ARM = link("arm", *HEAVY)
HAND = link("hand", *HEAVY)
HINGE = joint("hinge", "revolute", "base", "arm")
WRIST = joint("wrist", "revolute", "arm", "hand")


def one(**tags: object) -> str:
    """A robot of one joint."""
    return robot("one", BASE, ARM, joint("hinge", str(tags.pop("kind", "revolute")), "base", "arm", **tags))  # type: ignore[arg-type]


def beside(*parts: str) -> str:
    """A robot of one joint, and more parts."""
    return robot("x", BASE, ARM, HINGE, *parts)


def weld(parent: str, child: str, **tags: object) -> str:
    """A fixed joint of this name."""
    return joint("weld", "fixed", parent, child, **tags)  # type: ignore[arg-type]


def weighing(inertial: str) -> str:
    """A robot whose one moving link has this inside its <inertial>."""
    return robot("one", BASE, f'<link name="arm"><inertial>{inertial}</inertial></link>', HINGE)


def shaped(*moments: float) -> str:
    """A robot whose one moving link has this inertia."""
    return robot("one", BASE, link("arm", 2.0, (0.1, 0.2, 0.3), moments), HINGE)


def following(mimic: str, *more: str, hinge: str = "") -> str:
    """Hinge and wrist, the wrist mimicking something, the hinge too if that is given."""
    first = joint("hinge", "revolute", "base", "arm", extra=hinge)
    return robot("x", BASE, ARM, HAND, first, joint("wrist", "revolute", "arm", "hand", extra=mimic), *more)


TIP = link("tip")
MIMIC = '<mimic joint="first" multiplier="{}"/>'
POINT = link("point", 1.0, (0, 0, 0.4))
FIRST, SLIDE = (joint("first", kind, "base", "tip") for kind in ("revolute", "prismatic"))


def upon_tip(*parts: str) -> str:
    """A robot with a link without mass, and more parts."""
    return robot("x", BASE, TIP, *parts)


def last(parent: str, child: str, kind: str = "revolute", **tags: object) -> str:
    """The joint of this name."""
    return joint("last", kind, parent, child, **tags)  # type: ignore[arg-type]


CASES = {
    "robot description": {
        "malformed": ("<robot name='x'>\n<link name='a'>\n</robot>", "line 3, column 3: mismatched tag"),
        "cut off": ("<robot name='x'>", "line 1, column 17: no element found"),
        "half a surrogate": ("<robot name='\ud800'/>", "not text"),
        "null character": ("<robot name='a\0b'/>", "malformed XML"),
        "two documents": (one() + one(), "malformed XML at line 5"),
        "wrong root": ("<sdf version='1.7'/>", "root tag is <sdf>, a URDF's is <robot>"),
        "document type": ('<!DOCTYPE robot SYSTEM "file:///etc/passwd"><robot name="x"/>', "DOCTYPE"),
        "entities": (
            '<!DOCTYPE r [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]><robot name="&b;"/>',
            "line 1: a document type",
        ),
        "two unresolved macros": (  # the first is named
            '<robot name="x" xmlns:xacro="http://ros.org/xacro">\n<xacro:arm/>\n<xacro:hand/></robot>',
            "line 2: <xacro:arm> is unresolved",
        ),
        "unresolved macro": ('<robot name="x" xmlns:xacro="http://ros.org/xacro"><xacro:arm/></robot>', "run xacro"),
        "quaternion": (one(extra='<origin quat_xyzw="0 0 1 0"/>'), "use rpy"),
        "no robot name": ("<robot><link name='a'/></robot>", "has no name"),
    },
    "joint 'hinge'": {
        "unresolved number": (one(extra='<dynamics damping="${d}"/>'), "run xacro"),
        "no type": (one().replace(' type="revolute"', ""), "has no type"),
        "no parent": (one().replace('<parent link="base"/>', ""), "has no <parent>"),
        "no child": (one().replace('<child link="arm"/>', ""), "has no <child>"),
        "empty parent": (one().replace('<parent link="base"/>', "<parent/>"), "<parent> has no link"),
        "mimic of nothing": (one(extra="<mimic/>"), "<mimic> has no joint"),
        "two origins": (one(extra="<origin/><origin/>"), "more than one <origin>"),
        "nan rotation": (one(extra='<origin rpy="nan 0 0"/>'), "<origin> rpy='nan 0 0'"),
        "infinite place": (one(extra='<origin xyz="0 0 -inf"/>'), "not a finite number"),
        "two numbers": (one(extra='<origin xyz="0 0"/>'), "must be 3 numbers"),
        "four numbers": (one(extra='<axis xyz="0 0 1 0"/>'), "must be 3 numbers"),
        "nan axis": (one(extra='<axis xyz="0 nan 1"/>'), "<axis> xyz="),
        "zero axis": (one(axis=(0, 0, 0)), "axis is zero"),
        "zero sliding axis": (one(kind="prismatic", axis=(0, -0.0, 0)), "axis is zero"),
        "nan limit": (one(limit=(float("nan"), 1, 1, 1)), "<limit> lower='nan'"),
        "infinite limit": (one(limit=(-1, 1, 1, float("inf"))), "<limit> effort='inf' is not a finite number; leave"),
        "limits swapped": (one(limit=(2, 1, 1, 1)), "lower limit 2 is above the upper limit 1"),
        "negative velocity": (one(limit=(-1, 1, -3, 1)), "velocity limit -3 is negative"),
        "negative effort": (one(limit=(-1, 1, 1, -4)), "effort limit -4 is negative"),
        "negative damping": (one(extra='<dynamics damping="-1"/>'), "damping -1 is negative"),
        "negative friction": (one(extra='<dynamics friction="-1"/>'), "friction -1 is negative"),
        "negative rotor": (one(extra='<dynamics armature="-0.1"/>'), "armature -0.1 is negative"),
        "nan damping": (one(extra='<dynamics damping="nan"/>'), "<dynamics> damping="),
        "nan multiplier": (one(extra='<mimic joint="hinge" multiplier="nan"/>'), "<mimic> multiplier="),
        "unknown parent": (robot("x", ARM, HINGE), "parent link 'base' does not exist"),
        "unknown child": (robot("x", BASE, HINGE), "child link 'arm' does not exist"),
        "two joints of a name": (beside(HAND, joint("hinge", "fixed", "arm", "hand")), "another joint of this name"),
        "circle": (
            following('<mimic joint="hinge"/>', hinge='<mimic joint="wrist"/>'),
            "in a circle: hinge → wrist → hinge",
        ),
        **{
            kind: (one(kind=kind), f"type '{kind}' is not supported; it must be one of revolute")
            for kind in ("floating", "planar", "ball", "spherical", "unknown", "Revolute", "screw")
        },
    },
    "link '$(arg prefix)arm'": {
        "unresolved substitution": (one().replace('name="arm"', 'name="$(arg prefix)arm"'), "run xacro"),
    },
    "link at line 2": {"no link name": (robot("x", "<link/>"), "has no name")},
    "joint at line 4": {"empty joint name": (one().replace('"hinge"', '""'), "has no name")},
    "link 'arm'": {
        "no mass": (weighing('<inertia ixx="1" iyy="1" izz="1"/>'), "<inertial> has no <mass>"),
        "empty mass": (weighing("<mass/>"), "<mass> has no value"),
        "two inertials": (
            robot("x", BASE, ARM.replace("</link>", "<inertial><mass value='1'/></inertial></link>"), HINGE),
            "more than one <inertial>",
        ),
        "nan mass": (weighing('<mass value="nan"/>'), "<mass> value='nan' is not a finite number"),
        "infinite mass": (weighing('<mass value="inf"/>'), "not a finite number"),
        "overflowing mass": (weighing('<mass value="1e999"/>'), "not a finite number"),
        "negative mass": (weighing('<mass value="-1"/>'), "mass -1 kg is negative"),
        "word for a mass": (weighing('<mass value="heavy"/>'), "'heavy' is not a finite number"),
        "no number for a mass": (weighing('<mass value=" "/>'), "must be 1 number"),
        "underscore": (weighing('<mass value="1_0"/>'), "not a finite number"),
        "digits of another script": (weighing('<mass value="\u0661"/>'), "is not a finite number"),
        "decimal comma": (weighing('<mass value="1,5"/>'), "not a finite number"),
        "nan inertia": (weighing('<mass value="1"/><inertia ixx="1" iyy="nan" izz="1"/>'), "<inertia> iyy="),
        "nan centre of mass": (weighing('<origin xyz="0 nan 0"/><mass value="1"/>'), "<origin> xyz="),
        "beyond float64": (
            beside(link("tip", 1e300, (1e200, 0, 0)), weld("arm", "tip")),
            "beyond the range of numbers",
        ),
        "negative moment": (shaped(-1e-9, 0, 0, 0.02, 0, 0.02), "ixx = -1e-09 kg m² is negative"),
        "indefinite": (shaped(0.02, 0.03, 0, 0.02, 0, 0.02), "not positive definite"),
        "triangle": (shaped(0.01, 0, 0, 0.01, 0, 0.03), "triangle inequality"),
        "triangle by 2 %": (shaped(1, 0, 0, 1, 0, 2.04), "triangle inequality"),
        "triangle, turned": (shaped(0.02, 0.01, 0.01, 0.02, 0.01, 0.02), "triangle inequality"),
        "only one moment": (shaped(0, 0, 0, 0.1, 0, 0), "triangle inequality"),
        "only a product": (shaped(0, 0.1, 0, 0, 0, 0), "not positive definite"),
        "two links of a name": (robot("x", BASE, ARM, ARM, HINGE), "another link of this name"),
    },
    "joint 'weld'": {
        "nan on a fixed joint": (
            beside(link("tip"), weld("arm", "tip", extra='<origin xyz="nan 0 0"/>')),
            "<origin> xyz=",
        ),
    },
    "link 'tip'": {
        "impossible tool": (beside(link("tip", -0.1), weld("arm", "tip")), "negative"),
        "far away": (beside(link("tip"), weld("arm", "tip", xyz=(0, 1e101, 0))), "beyond the range of numbers"),
    },
    "robot 'x'": {
        "no link": (robot("x"), "has no link"),
        "no joint": (robot("x", BASE), "no joint that moves"),
        "two roots": (beside(HAND), "2 root links, 'base', 'hand'"),
    },
    "robot 'one'": {"only fixed joints": (one(kind="fixed"), "no joint that moves")},
    "joint ": {
        "no root": (robot("x", ARM, HAND, WRIST, joint("back", "revolute", "hand", "arm")), "loop: "),
        "loop beside the arm": (
            beside(HAND, link("tip"), joint("out", "fixed", "hand", "tip"), joint("back", "fixed", "tip", "hand")),
            "loop: back → out → back",
        ),
    },
    "joint 'self'": {"its own parent": (beside(HAND, joint("self", "fixed", "hand", "hand")), "self → self")},
    "link 'hand'": {
        "two parents": (
            beside(HAND, WRIST, joint("other", "fixed", "base", "hand")),
            "both joint 'wrist' and joint 'other'",
        ),
    },
    "joint 'wrist'": {
        "of an unknown joint": (following('<mimic joint="elbow"/>'), "'elbow', which does not exist"),
        "of itself": (following('<mimic joint="wrist"/>'), "wrist → wrist"),
        "of a fixed joint": (
            following('<mimic joint="weld"/>', link("tip"), weld("hand", "tip")),
            "'weld', which is fixed",
        ),
        "overflowing mimic": (
            following(
                '<mimic joint="knob" multiplier="1e200"/>',
                link("k", *HEAVY),
                joint("knob", "revolute", "hand", "k", extra='<mimic joint="hinge" multiplier="1e200"/>'),
            ),
            "beyond all numbers",
        ),
    },
}
"""Element → case → text, and what is said of the element."""

NOTHING = {
    "joint 'last'": {
        "massless child": beside(TIP, last("arm", "tip")),
        "massless slide": beside(TIP, last("arm", "tip", "prismatic")),
        "massless fixed tool": beside(TIP, link("t"), last("arm", "tip"), weld("tip", "t", xyz=(1, 0, 0))),
        "point on the axis": beside(POINT, last("arm", "point", axis=(0, 0, 1))),
        "point on an axis elsewhere": beside(POINT, last("arm", "point", axis=(0, 0, 1), xyz=(0.3, 0.2, 0))),
        "point on a rounded axis": beside(POINT, last("arm", "point", axis=(0, 1, 0))).replace(
            'xyz="0.0 0.0 0.4"', 'xyz="0.0 0.4 1.5e-6"'
        ),
        "rod on the axis": beside(
            link("rod", 1.0, (0, 0, 0.4), (0.1, 0, 0, 0.1, 0, 0)), last("arm", "rod", axis=(0, 0, 1))
        ),
    },
    "robot 'x'": {"massless chain": robot("x", BASE, TIP, last("base", "tip"))},
    "joints 'first', 'last'": {
        "two on one axis": upon_tip(ARM, FIRST, last("tip", "arm")),
        "two slides in one direction": upon_tip(ARM, SLIDE, last("tip", "arm", "prismatic", axis=(-2, 0, 0))),
    },
    "joint 'first'": {
        "a mimic that undoes it": upon_tip(ARM, FIRST, last("tip", "arm", extra=MIMIC.format(-1))),
        "a mimic that stands still": upon_tip(HAND, FIRST, last("base", "hand", extra=MIMIC.format(0))),
    },
}


@pytest.mark.parametrize(("element", "case"), [(element, case) for element, cases in CASES.items() for case in cases])
def test_each_error_names_its_element(element: str, case: str) -> None:
    source, problem = CASES[element][case]
    with pytest.raises(RobotDescriptionError) as error:
        load_robot(source)
    assert error.value.element.startswith(element)
    assert str(error.value).startswith(error.value.element + ": ")
    assert problem in str(error.value)


@pytest.mark.parametrize(("element", "case"), [(element, case) for element, cases in NOTHING.items() for case in cases])
def test_a_motion_that_moves_no_inertia_is_an_error_of_the_dynamics(element: str, case: str) -> None:
    arm = load_robot(NOTHING[element][case])
    with pytest.raises(RobotDescriptionError, match="inertia") as error:
        create_dynamics("rnea", arm)
    assert error.value.element == element


@pytest.mark.parametrize(
    "given", [(1.0, (1e200, 0, 0)), (1e101, (1, 0, 0)), (1.0, (1, 0, 0), (0, 0, 0, 1e101, 0, 1e101))]
)
def test_an_arm_whose_inertia_is_beyond_all_numbers(given: tuple[Any, ...]) -> None:
    """Or so great that products of it are."""
    parts = (BASE, link("arm", *given), joint("hinge", "revolute", "base", "arm", (0, 1, 0)))
    arm = load_robot(robot("x", *parts))
    with pytest.raises(RobotDescriptionError, match="beyond the range of numbers") as error:
        create_dynamics("rnea", arm)
    assert error.value.element == "robot 'x'"


def test_motions_that_do_move_inertia_are_not() -> None:
    sphere = link("point", 1.0, (0, 0, 0.4), (1e-4, 0, 0, 1e-4, 0, 1e-4))
    for parts in (
        (ARM, HINGE, sphere, joint("last", "revolute", "arm", "point", (0, 0, 1))),
        (ARM, HINGE, POINT, joint("last", "revolute", "arm", "point", (0.01, 0, 1))),
        (TIP, SLIDE, ARM, joint("last", "prismatic", "tip", "arm", (0, 1, 0))),
        (TIP, FIRST, ARM, joint("last", "revolute", "tip", "arm", xyz=(0, 1, 0))),
    ):
        assert create_dynamics("rnea", load_robot(robot("x", BASE, *parts))).robot.n == 2


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    page = "<!DOCTYPE html>\n<html><body>Not found<br></body></html>"
    for text, problem in (
        (" \n", "is empty"),
        ("<robot name='Füße'/>", "is not UTF-8 text: .* at byte 14"),
        ("<robot name='x'>\n<link></robot>", "malformed XML at line 2"),
        (page, "line 1: a document type .<!DOCTYPE html>. is refused: a URDF has none"),
        ("\nversion https://git-lfs.github.com/spec/v1\n", "is no XML: it begins with 'version https://git-lfs"),
    ):
        (tmp_path / "arm.urdf").write_text(text, encoding="latin-1")
        with pytest.raises(RobotDescriptionError, match=f"arm.urdf: {problem}"):
            load_robot(tmp_path / "arm.urdf")
    for source, problem in (
        (tmp_path / "missing.urdf", "missing.urdf: cannot be read: No such file"),
        (tmp_path, "cannot be read: Is a directory"),
        ("", "robot description: is empty"),
        (" \n", "robot description: is empty"),
        ("a" * 5000, "cannot be read: File name too long"),
        ("a\0b", "is not a path"),
    ):
        with pytest.raises(RobotDescriptionError, match=problem):
            load_robot(source)


@pytest.mark.parametrize("source", [None, 3, b"<robot/>", ["prr.urdf"]])
def test_what_is_neither_a_path_nor_text(source: object) -> None:
    with pytest.raises(InputError, match="must be a path or an XML string"):
        load_robot(source)  # type: ignore[arg-type]


@pytest.mark.parametrize("mimic", ['<mimic joint="elbow" multiplier="2"/>', '<mimic joint="elbow">\n  </mimic >'])
def test_a_joint_that_mimics_no_joint_moves_by_itself_where_the_option_says_so(mimic: str) -> None:
    text = following(f"<!-- kept -->{mimic}<!-- too -->")
    with pytest.raises(RobotDescriptionError, match=r"accept 'closed_loops' to have it move by itself"):
        load_robot(text)
    said = "joint 'wrist': mimics joint 'elbow', which does not exist; it moves"
    with pytest.warns(RobotDescriptionWarning, match=said):
        arm = load_robot(text, accept=["closed_loops"])
    assert arm.joint_names == ("hinge", "wrist")
    assert arm.urdf == text.replace(mimic, "")  # so that every other node reads the same arm


def test_a_file_without_a_name_gives_the_robot_its_own(tmp_path: Path) -> None:
    path = tmp_path / "my arm.urdf"
    text = '<?xml version="1.0"?>\n<!-- <robot> -->' + one().replace(' name="one"', "", 1)
    path.write_text(text)
    with pytest.warns(RobotDescriptionWarning, match="robot 'my_arm': has no name in the URDF"):
        arm = load_robot(path)
    head, tail = text.rsplit("<robot>", 1)
    assert (arm.name, arm.urdf) == ("my_arm", f'{head}<robot name="my_arm">{tail}')
    assert load_robot(arm.urdf).name == "my_arm"
    path.write_text(one().replace('name="one"', 'name=""'))
    with pytest.warns(RobotDescriptionWarning):
        assert load_robot(path).name == "my_arm"


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda error: pickle.loads(pickle.dumps(error))])
def test_an_error_is_copied_and_pickled_whole(copied: Callable[[RobodynError], RobodynError]) -> None:
    """As from a worker process to the one that started it."""
    for error in (
        InputError("q", "must be finite", [1.0]),
        RobotDescriptionError("joint 'a'", "has no parent", Place("arm.urdf", 3)),
        PluginError("dynamics", "rnae", "is unknown", ("rnea", "lagrangian")),
        LimitError("q", "a", 3.0, -1.0, 2.0),
        FutureStateError(-1.0, 0.1),
        OrderError("came twice"),
    ):
        again = copied(error)
        assert type(again) is type(error) and str(again) == str(error) and again.located == error.located
        assert vars(again) == vars(error)
