# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Inertias that no body has: refused, taken or repaired; the nearest possible one; the repaired text."""

import re
import warnings
from argparse import ArgumentParser
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from arms import joint, link, robot
from numpy.testing import assert_allclose
from scipy.optimize import minimize

import robodyn_ros as rd
from robodyn_ros.cli import view
from robodyn_ros.dynamics.parameters import parameters_of
from robodyn_ros.errors import RobotDescriptionError, RobotDescriptionWarning
from robodyn_ros.robot import load_robot, reload_robot
from robodyn_ros.robot.robot import Inertial
from robodyn_ros.robot.tree import check_inertial, nearest_possible

WRONG = (0.013, 0.002, -0.001, 0.011, 0.003, 0.041)
RIGHT = (0.031, 0.001, 0.002, 0.027, 0.003, 0.019)
COM, TURNED = (0.03, -0.02, 0.21), (0.4, -0.7, 1.1)


def arm(base: tuple[float, ...] = RIGHT, upper: tuple[float, ...] = WRONG, fore: tuple[float, ...] = RIGHT) -> str:
    return robot(
        "arm",
        link("base", 4.0, COM, base),
        "<!-- kept -->",
        link("upper", 2.0, COM, upper, TURNED),
        link("fore", 1.5, (0.05, 0.01, 0.13), fore),
        joint("shoulder", "revolute", "base", "upper", (0, 1, 0.2), (0, 0.1, 0.3)),
        joint("elbow", "revolute", "upper", "fore", (1, 0, 0.1), (0.02, 0, 0.4)),
    )


def matrix(six: tuple[float, ...]) -> np.ndarray:
    xx, xy, xz, yy, yz, zz = six
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def second(inertia: np.ndarray) -> np.ndarray:
    return 0.5 * np.trace(inertia) * np.eye(3) - inertia


def test_it_is_refused_with_the_remedy() -> None:
    with pytest.raises(RobotDescriptionError, match="triangle inequality") as error:
        load_robot(arm())
    assert error.value.element == "link 'upper'"
    for word in ("repaired_inertia", "impossible_inertia", "robodyn check"):
        assert word in str(error.value)
    with pytest.raises(RobotDescriptionError, match="one of 2 links"):
        load_robot(arm(fore=WRONG))


def test_with_a_warning_it_is_taken_as_it_is() -> None:
    with pytest.warns(RobotDescriptionWarning, match="link 'upper': inertia breaks the triangle"):
        found = load_robot(arm(), accept=["impossible_inertia"])
    assert found.urdf == arm()
    own = np.linalg.eigvalsh(found.link("upper").inertial.inertia)
    assert_allclose(own, np.linalg.eigvalsh(matrix(WRONG)))
    M = rd.create_dynamics("rnea", found, compiled=False).mass_matrix(np.array([0.3, -0.8]))
    assert np.linalg.eigvalsh(M)[0] > 0.0


def test_repaired_the_moments_are_the_nearest_possible_ones() -> None:
    with pytest.warns(RobotDescriptionWarning, match="link 'upper': repaired: principal moments .* → .*") as said:
        found = load_robot(arm(), accept=["repaired_inertia"])
    assert len(said) == 1
    link = found.link("upper").inertial
    assert (link.mass, link.com.tolist()) == (2.0, pytest.approx(list(COM)))
    values, vectors = np.linalg.eigh(second(matrix(WRONG)))
    assert values[0] < 0.0
    expected = vectors @ np.diag([1e-6 * values[2], *values[1:]]) @ vectors.T
    assert_allclose(np.linalg.eigvalsh(second(link.inertia)), np.linalg.eigvalsh(expected), atol=1e-15)
    check_inertial("upper", link)


def test_no_possible_inertia_is_nearer() -> None:
    """The projection against a minimum that is found by search over L Lᵀ."""
    wrong = second(matrix(WRONG))
    lower = np.tril_indices(3)

    def distance(entries: np.ndarray) -> float:
        L = np.zeros((3, 3))
        L[lower] = entries
        return float(np.linalg.norm(L @ L.T - wrong))

    start = np.linalg.cholesky(wrong + 0.02 * np.eye(3))[lower]
    least = minimize(distance, start, method="BFGS", options={"gtol": 1e-10}).fun
    nearest = nearest_possible(Inertial(1.0, np.zeros(3), matrix(WRONG))).inertia
    assert_allclose(np.linalg.norm(second(nearest) - wrong), least, rtol=1e-5)


def test_what_is_possible_stays() -> None:
    for six in (RIGHT, (0.02, 0, 0, 0.03, 0, 0.0499)):
        inertia = nearest_possible(Inertial(1.0, np.zeros(3), matrix(six))).inertia
        assert_allclose(inertia, matrix(six), atol=1e-16)


def test_a_great_inertia_is_repaired_as_a_small_one(tmp_path: Path, command) -> None:
    """Of the moments a, b and c > a + b, with a and b far below c, the nearest are c / 2, c / 2 and c."""
    path, out = tmp_path / "great.urdf", tmp_path / "right.urdf"
    path.write_text(arm(upper=(0.02, 0.0, 0.0, 1.4e308, 0.0, 0.03)), encoding="utf-8")
    code, printed, said = command("check", path, "--repair", out)
    assert "principal moments 0.02, 0.03, 1.4e+308 → 7e+307, 7e+307, 1.4e+308 kg m²" in said
    assert code == 1 and "beyond the range of numbers" in " ".join(printed.split())
    none = arm(upper=(1.7e308, 0.0, 0.0, 1.7e308, 0.0, -1.7e308))
    with pytest.raises(RobotDescriptionError, match=r"izz = -1\.7e\+308 kg m² is negative.*; the nearest is no number"):
        load_robot(none, accept=["repaired_inertia"])


@pytest.mark.parametrize("given", [(1e308, COM), (2.0, COM, (0.02, 0, 0, 1e307, 0, 1e307)), (2.0, (0.1, 1e308, 0.0))])
def test_check_has_findings_about_great_numbers(given, tmp_path: Path, command) -> None:
    """No overflow of its own numbers is in the way."""
    path = tmp_path / "great.urdf"
    path.write_text(arm().replace(link("upper", 2.0, COM, WRONG, TURNED), link("upper", *given)), encoding="utf-8")
    said = command.out("check", path, code=1)
    assert "error: robot 'arm'" in said and "beyond the range of numbers" in " ".join(said.split())


def test_a_negative_mass_becomes_none() -> None:
    assert nearest_possible(Inertial(-0.4, np.zeros(3), matrix(RIGHT))).mass == 0.0
    text = arm(upper=RIGHT).replace('mass value="1.5"', 'mass value="-1.5"')
    with pytest.warns(RobotDescriptionWarning, match=r"mass -1.5 → 0 kg"):
        assert load_robot(text, accept=["repaired_inertia"]).n == 2


@pytest.mark.parametrize("masses", [(1.0, 0.4), (-1.0, 0.4), (-0.3, 0.0), (0.0, 0.0)])
def test_welded_bodies_have_the_sum_of_their_parameters(masses: tuple[float, float]) -> None:
    """Mass, first moment and inertia about the origin add up, whatever the sign of the mass that was accepted."""
    places = np.array([(0.2, -0.1, 0.3), (0.1, 0.5, -0.4)])
    parts = [Inertial(mass, place, matrix(RIGHT)) for mass, place in zip(masses, places, strict=True)]
    whole = parameters_of(Inertial.combined(parts))
    assert_allclose(whole, sum(map(parameters_of, parts)), rtol=1e-14, atol=1e-16)


def test_the_repaired_text_is_that_of_the_repaired_arm() -> None:
    with pytest.warns(RobotDescriptionWarning):
        found = load_robot(arm(), accept=["repaired_inertia"])
    again = load_robot(found.urdf)
    assert "<!-- kept -->" in found.urdf
    for one, other in zip(found.bodies, again.bodies, strict=True):
        assert_allclose(one.inertial.inertia, other.inertial.inertia, rtol=1e-12, atol=1e-16)
    blank = re.compile(r'i[xyz]{2}="[^"]*"')
    assert blank.sub("", found.urdf) == blank.sub("", arm())


def test_on_a_link_that_cannot_move_it_is_a_note() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = load_robot(arm(base=WRONG, upper=RIGHT))
    assert [(one.severity, one.element) for one in found.findings] == [("note", "link 'base'")]


def test_rounding_noise_is_zero_and_what_is_small_is_no_noise() -> None:
    for six in (
        (-1.2e-35, 0, 0, 0, 0, 2.4e-35),
        (0, 0, 0, 4.07592e-18, -2.71051e-20, 0),
        (1e-35, 3e-36, 0, -1e-35, 0, 1e-36),
        (0.02, 0, 0, 0.02, 0, -1e-19),
    ):
        assert load_robot(arm(upper=six)).n == 2
    for six in ((1e-7, 0, 0, 1e-7, 0, 3e-7), (0.02, 0, 0, 0.02, 0, -1e-6)):
        with pytest.raises(RobotDescriptionError, match=r"impossible|positive"):
            load_robot(arm(upper=six))


def test_what_was_accepted_is_loaded_again_without_a_word() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert reload_robot(arm()).n == 2


@pytest.fixture
def wrong(tmp_path: Path) -> Path:
    """An arm whose base and upper arm no body can have."""
    path = tmp_path / "wrong.urdf"
    path.write_text(arm(base=WRONG), encoding="utf-8")
    return path


def test_check_names_the_remedy_and_writes_the_repaired_urdf(wrong: Path, command) -> None:
    said = " ".join(command.out("check", wrong, code=1).split())
    assert "robodyn check ARM --repair FILE" in said
    assert said.count("error: ") == 1
    assert "does not move, so this has no effect" in said
    out = wrong.with_name("right.urdf")
    _, printed, said = command("check", wrong, "--repair", out)
    assert "link 'base': repaired" in said
    assert "link 'upper': repaired" in said
    assert "triangle" not in printed
    assert "<!-- kept -->" in out.read_text(encoding="utf-8")
    assert load_robot(out).findings == ()
    assert "is read here, and not overwritten" in command.error("check", wrong, "--repair", wrong)


def test_verbs_take_the_option(wrong: Path, command) -> None:
    export = "export", wrong, "--language", "latex", "--out", "-"
    assert "repair" in command.error(*export)
    code, _, said = command(*export, "--accept", "movable_base, repaired_inertia")
    assert code == 0
    assert f"warning: {wrong}:4: link 'upper': repaired" in said


def test_the_nodes_of_view_accept_what_the_verb_accepts(wrong: Path) -> None:
    """The text that they get still has an inertia that is accepted as it is."""
    parser = ArgumentParser()
    view.add_arguments(parser)
    start = view._arm(parser.parse_args([str(wrong), "--accept", "impossible_inertia"]))[1]
    assert isinstance(start, partial)
    given = start.keywords["parameters"]
    with pytest.warns(RobotDescriptionWarning):
        assert load_robot(given["robot_description"], accept=given.get("accept", ())).n == 2


@pytest.mark.parametrize(
    ("names", "why"),
    [
        (("mended_inertia",), "'mended_inertia' is none of impossible"),
        (("none", "movable_base"), "must be none alone, or names without it"),
        (("impossible_inertia", "repaired_inertia"), "an impossible_inertia cannot be a repaired_inertia too"),
    ],
)
def test_names_that_there_are_not_or_that_exclude_each_other(names: tuple[str, ...], why: str) -> None:
    with pytest.raises(rd.ConfigurationError, match=f"accept: {why}"):
        load_robot(arm(), accept=names)
