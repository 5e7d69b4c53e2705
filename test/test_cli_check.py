# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""robodyn check: every mistake that it knows is made on purpose, and an arm without mistakes stays without a remark."""

import json
import sys
from pathlib import Path

import arms
import numpy as np
import pinocchio as pin
import pytest

from robodyn_ros.cli.main import main

ROOT = Path(__file__).parents[1]
PRR = (ROOT / "urdf/prr.urdf").read_text(encoding="utf-8")

ARM = '<inertia ixx="0.020833333333333332" ixy="0" ixz="0" iyy="0.020833333333333332" iyz="0" izz="0.0003"/>'
HAND = '<inertia ixx="0.0588245" ixy="0" ixz="0" iyy="0.0588245" iyz="0" izz="0.0090"/>'
SHOULDER = '<limit lower="-2" upper="2" velocity="12" effort="96"/>'
WRIST = '<limit lower="-1.5" upper="2.1" velocity="8" effort="36"/>'
LIFT = '<limit lower="0" upper="2.1" velocity="2" effort="600"/>'
ARM_COM = '<inertial>\n      <origin xyz="0 0 0.25"/>'


def changed(*pairs):
    text = PRR
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new, 1)
    return text


def edited(tag, *words):
    """A tag, and what it becomes: each second word takes the place of the one before it."""
    other = tag
    for old, new in zip(words[::2], words[1::2], strict=True):
        other = other.replace(old, new)
    return tag, other


@pytest.fixture
def check(command, tmp_path):
    """Exit code and output of a check of a URDF."""

    def run(text, *arguments):
        path = tmp_path / "arm.urdf"
        path.write_text(text, encoding="utf-8")
        return command("check", path, *arguments)[:2]

    return run


@pytest.fixture
def report(check):
    """Exit code and JSON of a check."""

    def run(text, *arguments):
        code, out = check(text, "--json", *arguments)
        return code, json.loads(out)

    return run


def test_a_robot_without_a_name_has_that_of_its_file_and_a_warning(check):
    code, out = check(changed(('<robot name="prr">', "<robot>")))
    assert code == 1
    assert out.startswith("arm: ") and "0 errors, 1 warning" in out


@pytest.mark.parametrize("name", ["prr", "pr", "rr", "r"])
def test_the_arms_of_the_package_are_in_order(capsys, name, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert main(["check", str(ROOT / f"urdf/{name}.urdf")]) == 0
    assert not list(tmp_path.rglob("*.so"))  # nothing is worth a compilation
    out = capsys.readouterr().out
    weak = name in ("r", "pr")  # somebody may push harder than their drives
    assert ("0 errors, 0 warnings, 1 note" if weak else "Nothing suspicious.") in out
    assert ("push_force" in out) is weak
    assert max(map(len, out.splitlines())) <= 80


MOST, LEAST = f'"{sys.float_info.max!r}"', f'"-{sys.float_info.max!r}"'
UPSIDE_DOWN = 'xyz="0 0 1"', 'xyz="0 0 -1"'
NO_MASS, WRIST_PLACE = ('<mass value="6"/>', '<mass value="0"/>'), '<origin xyz="0 0 0.5"/>\n    <axis'
IN_MM = (
    ('<box size="0.05 0.04 0.5"/>', '<box size="50 40 500"/>'),
    ('radius="0.035" length="0.07"', 'radius="35" length="70"'),
)

MISTAKES = {
    "mass in g": ("arm", "is the mass in g", ('<mass value="1"/>', '<mass value="1000"/>')),
    "shapes in mm": ("arm", "are the shapes in mm", *IN_MM),
    "com left out": ("arm", "no <origin>", (ARM_COM, "<inertial>")),
    "kg mm²": ("arm", "kg·mm²", edited(ARM, "0.0208", "20800.8", "0.0003", "300")),
    "g mm²": ("arm", "g·mm²", edited(ARM, "0.0208", "20800000.8", "0.0003", "300000")),
    "triangle": ("hand", "error: triangle inequality", edited(HAND, "0.0090", "0.2")),
    "placeholder": ("arm", "looks like a placeholder; it is that of arm, hand", (ARM, HAND)),
    "unit inertia": ("hand", "placeholder", edited(HAND, "0.0588245", "1", "0.0090", "1")),
    "no number": ("hand", "error: 'six' is not a finite", ('<mass value="6"/>', '<mass value="six"/>')),
    "no effort": ("shoulder", "no effort limit", edited(SHOULDER, ' effort="96"', "")),
    "effort 0": ("shoulder", "means none", edited(SHOULDER, "96", "0")),
    "effort below 0": ("shoulder", "error: is negative", edited(SHOULDER, "96", "-2")),
    "effort -1": ("shoulder", "is -1, which means none", edited(SHOULDER, "96", "-1")),
    "velocity 0": ("shoulder", "means none", edited(SHOULDER, '"12"', '"0"')),
    "no velocity": ("shoulder", "velocity limit", edited(SHOULDER, 'velocity="12"', "")),
    "no range": ("elevator", "means none", edited(LIFT, "2.1", "0")),
    "no limit": ("shoulder", "no position limits", (SHOULDER, "")),
    "limits at the greatest number": (
        "shoulder",
        "no position limits",
        edited(SHOULDER, '"-2"', LEAST, '"2"', MOST),
    ),
    "no speed but the greatest number": ("shoulder", "has no velocity limit", edited(SHOULDER, '"12"', MOST)),
    "too weak": ("elevator", "error: takes 196.2 N of 150 N", edited(LIFT, "600", "150"), UPSIDE_DOWN),
    "massless, drawn": ("hand", "has no mass", NO_MASS),
    "massless": ("hand", "has no mass", NO_MASS, (HAND, "")),
    "massless, with one that moves": ("arm", "has no mass", ('<mass value="1"/>', '<mass value="0"/>'), (ARM, "")),
    "unknown link": ("wrist", "error: 'hnd' does not exist", ('<child link="hand"/>', '<child link="hnd"/>')),
    "unknown type": ("elevator", "error: must be one of", ('type="prismatic"', 'type="linear"')),
}
"""Mistake → the link or the joint that it is said of; severity, a warning without one, and words; and the changes."""


def remarks_on(found, part, words):
    """What a report says of a link or a joint with these words."""
    element = f"{'link' if part in ('arm', 'hand') else 'joint'} '{part}'"
    return [finding for finding in found["findings"] if finding["element"] == element and words in finding["text"]]


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_found(report, name):
    part, said, *changes = MISTAKES[name]
    severity, text = said.split(": ") if ": " in said else ("warning", said)
    code, found = report(changed(*changes))
    remarks = remarks_on(found, part, text)
    assert [f["severity"] for f in remarks] == [severity], found["findings"]
    assert code == 1
    line = remarks[0]["line"]
    if line is not None:
        words = changed(*changes).splitlines()[line - 1]
        assert part in words or "six" in words


MESH = '<mesh filename="arm.stl"/>'
BY_JOINTS = ('<box size="0.05 0.04 0.5"/>', MESH), ('<cylinder radius="0.035" length="0.07"/>', MESH)  # 0.5 m apart
LIGHT = ('izz="0.0003"', 'izz="0.0001"')
HIGH, ASIDE = edited(ARM_COM, "0.25", "0.2"), edited(ARM_COM, "0 0 0.25", "0.03 0 0.167")

BOUNDS = {
    "outside the link": ("arm", -0.058, -0.061, edited(ARM_COM, "0.25", "{}")),
    "outside the link, by its joints": ("arm", -0.59, -0.61, edited(ARM_COM, "0.25", "{}"), *BY_JOINTS),
    "mm outside the link: is it in mm": ("arm", -54, -55, edited(ARM_COM, "0.25", "{}")),
    "heavier than any metal": ("arm", 78, 79, ('<mass value="1"/>', '<mass value="{}"/>')),
    "lighter than foam": ("arm", 0.0053, 0.0052, ('<mass value="1"/>', '<mass value="{}"/>')),
    "is that in g?, by its joints": ("arm", 999, 1001, ('<mass value="1"/>', '<mass value="{}"/>'), *BY_JOINTS),
    "looks as if taken about": ("arm", 0.0793, 0.0799, edited(ARM, "0.020833333333333332", "{}")),
    "looks as if taken about the joint": ("arm", 0.0947, 0.0941, edited(ARM, "0.020833333333333332", "{}")),
    "as if taken about the joint": ("arm", 0.0611, 0.0619, edited(ARM, "0.020833333333333332", "{}"), HIGH),
    "reaches only": ("arm", 0.139, 0.142, edited(ARM, "0.020833333333333332", "{}"), ASIDE),
    "reaches only, by its joints": ("arm", 0.80, 0.82, edited(ARM, "0.020833333333333332", "{}"), *BY_JOINTS),
    "is it in g·m²": ("arm", 63, 61, edited(ARM, "0.020833333333333332", "{}")),
    "too small": ("arm", 2.2e-4, 2.1e-4, edited(ARM, "0.020833333333333332", "{}"), LIGHT),
    "is that in mm?": ("wrist", 9.9, 10.1, edited(WRIST_PLACE, "0.5", "{}")),
    "are they in mm?": ("elevator", 9.9, 10.1, edited(LIFT, "2.1", "{}")),
    "are they in degrees?": ("shoulder", 12.5, 12.6, edited(SHOULDER, '"2"', '"{}"')),
    "in degrees per second": ("shoulder", 99, 101, edited(SHOULDER, "12", "{}")),
    "its axis has the length": ("shoulder", 1.0009, 1.0011, ('<axis xyz="0 1 0"/>', '<axis xyz="0 {} 0"/>')),
    "of its effort limit": ("shoulder", 51, 50, edited(SHOULDER, "96", "{}")),
}
"""What is said → of whom, the last number that is taken and the first that is not, and the changes to have it.

The arm's shapes have the diagonal D = 0.544 m and a volume of 2.6 litres, its mass is 1 kg, and its inertia 2 I + Izz
puts the mass k² = I + Izz / 2 from its centre at z; a solid box has k² = D²/12. Its load on the shoulder is 40 N·m.
"""


@pytest.mark.parametrize("said", BOUNDS)
def test_a_suspicion_begins_at_its_bound(report, said):
    (part, *values, (old, new)), others = BOUNDS[said][:4], BOUNDS[said][4:]
    severity = "note" if "axis" in said else "warning"
    for value, expected in zip(values, ([], [severity]), strict=True):
        code, found = report(changed((old, new.replace("{}", str(value))), *others))
        remarks = remarks_on(found, part, said.removesuffix(", by its joints"))
        assert [each["severity"] for each in remarks] == expected, found["findings"]
    assert code == (severity == "warning")


def test_effort_limits_that_no_pose_needs_are_doubted(report):
    """The load on the shoulder is 40 N·m, a tenth of which the controller takes for friction."""
    strong = edited(LIFT, "600", "60000"), ('effort="36"', 'effort="3600"')
    for limit, gravity, doubted in ((395, "-9.81", False), (415, "-9.81", True), (415, "0", False)):
        text = changed(*strong, edited(SHOULDER, "96", str(limit)))
        _, found = report(text, "--gravity", "0", "0", gravity)
        doubts = [one for one in found["findings"] if "no joint takes more" in one["text"]]
        assert [one["severity"] for one in doubts] == ["note"] * doubted, found["findings"]
        assert all("more than 9.7% of its effort limit" in one["text"] for one in doubts)


def test_links_in_a_circle_are_found(check):
    """They hang from each other, and nothing moves them."""
    circle = "".join(arms.link(name) for name in "xy") + "".join(
        arms.joint(f"{parent}{child}", "fixed", parent, child) for parent, child in ("xy", "yx")
    )
    code, out = check(changed(("</robot>", f"{circle}</robot>")))
    assert code == 1 and "joint 'yx'" in out


def test_a_link_without_mass_may_carry_one(report):
    welded = '<joint name="weld" type="fixed"><parent link="hand"/><child link="tip"/></joint>'
    weight = f'<link name="tip"><inertial><mass value="6"/>{HAND}</inertial></link>'
    no_center = '<origin xyz="0 0 0.14"/>', ""
    _, found = report(changed(NO_MASS, (HAND, ""), no_center, ("</robot>", f"{welded}{weight}</robot>")))
    said = [each["text"] for each in found["findings"] if each["element"] == "link 'hand'"]
    assert said == ["has an <inertial> with mass 0"]


def test_rows_of_what_is_suspicious_are_marked(check):
    _, out = check(changed(edited(SHOULDER, ' effort="96"', "")))
    rows = [line.split() for line in out.splitlines()]
    assert [row[:3] for row in rows if row and row[0] in "✗!·"] == [["!", "2", "shoulder"]]


@pytest.mark.parametrize("limits", ["lower='-1e16' upper='1e16'", "effort='9'"])
def test_a_joint_without_position_limits_is_unlimited(check, limits):
    _, out = check(changed((SHOULDER, f"<limit {limits}/>")))
    (row,) = (line for line in out.splitlines() if " 2  shoulder" in line)
    assert "  unlimited  " in row


def test_where_no_robot_can_be_made_the_rest_is_still_shown(check):
    code, out = check(changed(edited(HAND, "0.0090", "0.2")))
    assert code == 1
    assert "triangle" in out
    assert "shoulder" in out
    line = PRR.partition('<link name="hand"')[0].count("\n") + 1
    assert out.count("error: ") == out.count(f"error: link 'hand', line {line}: ") == 1
    assert max(map(len, out.splitlines())) <= 80


def test_all_incomplete_parts_are_shown_each_once(report):
    text = changed(('<mass value="6"/>', ""), ('<child link="hand"/>', ""), edited(SHOULDER, "96", "x"))
    code, found = report(text)
    assert (code, found["order"]) == (1, None)
    assert [(one["element"], one["text"]) for one in found["findings"] if one["severity"] == "error"] == [
        ("joint 'shoulder'", "<limit> effort='x' is not a finite number"),
        ("joint 'wrist'", "has no <child>"),
        ("link 'hand'", "<inertial> has no <mass>"),
    ]
    assert not any("effort limit" in one["text"] for one in found["findings"])  # it has one, in another form
    findings = report(changed(('<mass value="6"/>', '<mass value="6,0"/>')))[1]["findings"]
    assert [one["severity"] for one in findings] == ["error"]  # it has a mass, in another form


FLOATS = (
    "type 'floating' is not supported; it must be one of revolute, continuous, prismatic, fixed; "
    "only a joint at the base can be welded"
)
FLOATING = ('name="wrist" type="revolute"', 'name="wrist" type="floating"'), (WRIST, "")


@pytest.mark.parametrize(
    ("name", "said", "changes"),
    [
        ("shoulder", "axis is zero and has no direction", [('<axis xyz="0 1 0"/>', '<axis xyz="0 0 0"/>')]),
        ("wrist", FLOATS, FLOATING),
    ],
)
def test_a_joint_that_cannot_be_one_is_one_finding(report, check, name, said, changes):
    """It is counted nevertheless, and what only a supported type has is not missed."""
    code, found = report(changed(*changes))
    assert code == 1
    assert [(one["element"], one["text"]) for one in found["findings"]] == [(f"joint '{name}'", said)]
    assert check(changed(*changes))[1].startswith("prr: 5 links, 3 joints")


def test_what_cannot_be_read_ends_with_2(command, tmp_path):
    path = tmp_path / "arm.urdf"
    path.write_text("<robot", encoding="utf-8")
    assert "malformed XML at line 1" in command.error("check", path)


def test_a_pose_is_named_in_full_and_its_joints_may_have_spaces(check):
    out = check(PRR.replace('"wrist"', '"wrist 1"'), "--at", "shoulder=-1.2345,wrist 1=0.5")[1]
    assert "shoulder=-1.2345," in out and "1=0.5 " in out


def test_loads_are_those_of_pinocchio(report):
    code, found = report(PRR, "--at", "pick=0.3,-1.83,-0.12", "--at", "1,0.5,0.4")
    assert code == 0
    loads = found["loads"]
    model = pin.buildModelFromXML(PRR)
    data = model.createData()
    assert list(loads["poses"]) == ["home", "pick", "1,0.5,0.4"]
    for name, pose in loads["poses"].items():
        q = np.array(pose)
        np.testing.assert_allclose(loads["efforts"][name], pin.computeGeneralizedGravity(model, data, q), atol=1e-9)
        M = np.array(pin.crba(model, data, q))
        M = np.triu(M) + np.triu(M, 1).T
        scale = np.sqrt(np.diag(M))
        np.testing.assert_allclose(loads["condition"][name], np.linalg.cond(M / np.outer(scale, scale)), rtol=1e-9)
    # Level arm, level hand: (m2 lc2 + m3 (l2 + lc3)) g and m3 lc3 g; poses taken at random come near.
    np.testing.assert_allclose(np.abs(loads["worst"]), [196.2, (0.25 + 6 * 0.64) * 9.81, 6 * 0.14 * 9.81], rtol=2e-3)
    for joint, pose in enumerate(loads["worst_poses"]):
        found_there = pin.computeGeneralizedGravity(model, data, np.array(pose))[joint]
        np.testing.assert_allclose(found_there, loads["worst"][joint], rtol=1e-9)
    bends = np.linspace(model.lowerPositionLimit[2], model.upperPositionLimit[2], 300)
    felt = np.array([np.diag(pin.crba(model, data, np.array([0.0, 0.0, bend]))) for bend in bends])
    np.testing.assert_allclose(loads["reflected_inertia"], (felt.min(axis=0), felt.max(axis=0)), rtol=1e-3)


def test_gravity_may_point_elsewhere(report):
    _, found = report(PRR, "--gravity", "0", "0", "0")
    assert not np.any(found["loads"]["worst"])


def test_no_number_is_minus_nothing_and_velocities_have_units(check):
    words = check(changed(edited(ARM_COM, '"0 0 0.25"', '"-0.0001 -0 0.25"')))[1].split()
    assert "-0" not in words and "-0.0" not in words
    assert [unit for unit in words if unit.endswith("/s")] == ["m/s", "rad/s", "rad/s"]


def test_it_is_a_program_of_its_own(capsys, monkeypatch):
    """For ``ros2 run robodyn_ros check``."""
    from robodyn_ros.cli.check import main as check

    monkeypatch.setattr("sys.argv", ["check", str(ROOT / "urdf/prr.urdf")])
    assert check() == 0
    assert "Nothing suspicious." in capsys.readouterr().out


def test_stiff_damping_is_mentioned(report):
    """Damping of 0.5 on 3e-4 kg m²: a note, with inertia, time and step; the arm is no worse for it."""
    urdf = arms.robot(
        "wheel",
        arms.link("base", 1.0, (0, 0, 0), (0.01, 0, 0, 0.01, 0, 0.01)),
        arms.link("disc", 0.3, (0, 0, 0), (2e-4, 0, 0, 2.5e-4, 0, 3e-4)),
        arms.joint("hub", "revolute", "base", "disc", (0, 0, 1), extra='<dynamics damping="0.5"/>'),
    )
    texts = [finding["text"] for finding in report(urdf)[1]["findings"]]
    (said,) = (text for text in texts if "damping of 0.5" in text)
    assert "down to 0.0003 kg m²: speed decays in 600 µs, 1.67 times in a step of 1 ms" in said


@pytest.mark.parametrize(("multiplier", "offset", "where"), [(0.9, 0.3, []), (-0.5, 0.6, []), (2.0, -0.1, [-4.1, 3.9])])
def test_a_mimic_joint_that_leaves_its_limits_is_found(report, multiplier, offset, where):
    mimic = f'<mimic joint="shoulder" multiplier="{multiplier}" offset="{offset}"/>'
    text = changed((WRIST, WRIST + mimic))
    code, found = report(text)
    remarks = [one for one in found["findings"] if "leaves its limits" in one["text"]]
    assert all(one["text"].endswith(f"it is at {q:g}") for one, q in zip(remarks, where, strict=True))
    assert {(one["severity"], one["element"]) for one in remarks} <= {("warning", "joint 'wrist'")}
    assert all("wrist" in text.splitlines()[one["line"] - 1] for one in remarks)
    assert code == bool(where)


def wrist(inertia, effort=28.0, dynamics=""):
    """An arm of two joints whose second link has little inertia about its axis [kg m²]."""
    limit = (-2.0, 2.0, 3.0, effort)
    return arms.robot(
        "wrist",
        arms.link("base", 1.0, (0, 0, 0), (0.01, 0, 0, 0.01, 0, 0.01)),
        arms.link("fore", 4.0, (0.2, 0, 0), (0.05, 0, 0, 0.09, 0, 0.09)),
        arms.link("hand", 0.3, (0, 0, 0.04), (1.1 * inertia, 0, 0, 1.2 * inertia, 0, inertia)),
        arms.joint("elbow", "revolute", "base", "fore", (0, 1, 0), limit=(-2.0, 2.0, 3.0, 150.0)),
        arms.joint("turn", "revolute", "fore", "hand", (0, 0, 1), (0.4, 0, 0), limit=limit, extra=dynamics),
    )


def motors(found):
    return [one for one in found["findings"] if "motor is missing" in one["text"]]


@pytest.mark.parametrize(
    ("inertia", "effort", "dynamics", "said"),
    [
        (2e-4, 28.0, "", '<dynamics damping="5" friction="1" armature="0.1"/>'),
        (2e-4, 200.0, "", '<dynamics damping="10" friction="1" armature="0.1"/>'),
        (2e-4, 10.0, "", '<dynamics damping="2" friction="1" armature="0.1"/>'),
        (2e-4, 28.0, '<dynamics damping="0.4"/>', 'damping="0.4" friction="0" armature="0.1"/>'),
        (2e-4, 9.9, "", '<dynamics damping="0" armature="…"/> [kg m²]'),  # a drive that none of the similar arms has
        (2e-4, 28.0, '<dynamics armature="0.1"/>', None),
        (28.0 / 30.0**2 * 1.01, 28.0, "", None),  # an error of a radian calls up the effort limit
        (28.0 / 30.0**2 * 0.99, 28.0, "", 'friction="1"'),
    ],
)
def test_a_missing_motor_is_found_where_the_default_gains_feel_it(report, inertia, effort, dynamics, said):
    text = wrist(inertia, effort, dynamics)
    found = motors(report(text)[1])
    assert [one["element"] for one in found] == ["joint 'turn'"] * (said is not None)
    for one in found:
        assert ("damping and friction of the xArm7" in one["text"]) == ('friction="1"' in said)
        assert said in one["text"] and f"{inertia:.2g} kg m²" in one["text"]
        assert 'name="turn"' in text.splitlines()[one["line"] - 1]


def test_what_it_says_to_add_mends_it(report):
    """One finding for the three joints of a UR5e's wrist; with the line in each there is none."""
    import airo_models as models

    text = Path(models.get_urdf_path("ur5e")).read_text(encoding="utf-8")
    code, found = report(text)
    (one,) = motors(found)
    assert (code, one["severity"], one["element"]) == (1, "warning", "joint 'wrist_3_joint'")
    assert "as those of wrist_1_joint, wrist_2_joint" in one["text"] and "UR5e" in one["text"]
    line = one["text"].split("Add to the joint ")[1].split(" (")[0]
    mended = text.replace('<dynamics damping="0" friction="0"/>', line)
    assert mended.count(line) == 6
    assert not motors(report(mended)[1])
