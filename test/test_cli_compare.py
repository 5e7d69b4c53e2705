"""robodyn compare: the ranking that theory says, figures that can be checked, and the published table's command."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import robodyn_ros as rd
from robodyn_ros.cli.main import main
from robodyn_ros.simulation.comparison import LASTING, ComparedMotion, ComparedRun
from robodyn_ros.simulation.comparison import LAWS as DEFAULT

ROOT = Path(__file__).parents[1]
PRR = str(ROOT / "urdf/prr.urdf")
LAWS = ["pd", "gravity_compensation", "computed_torque", "impedance"]
LEARNING = ["disturbance_observer", "adaptive"]


def compared(capsys, *arguments):
    assert main(["compare", PRR, "--json", *arguments]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.fixture(scope="module")
def exact():
    """Of an arm that is its model."""
    from contextlib import redirect_stdout
    from io import StringIO

    with redirect_stdout(StringIO()) as out:
        assert main(["compare", PRR, "--json"]) == 0
    return json.loads(out.getvalue())


def figure(found, motion, law, name):
    return np.array(found[motion][law][name], dtype=float)


def test_an_exact_model_leaves_nothing_but_pd_sags(exact):
    best, *_, worst = (law for law in exact["scores"] if law not in LEARNING)
    assert (best, worst) == ("computed_torque", "pd")
    assert all(exact["scores"][law] < 2.0 * exact["scores"]["computed_torque"] for law in LEARNING)
    for law in LAWS[1:]:
        assert (figure(exact, "step", law, "lasting_error") < 1e-5).all()
        assert np.isfinite(figure(exact, "step", law, "settling_time")).all()
    # PD holds with a spring alone: at rest K e = g(q), the elevator's 196.2 N on 20 kg · 12² 1/s² are 68.1 mm.
    np.testing.assert_allclose(figure(exact, "step", "pd", "lasting_error")[0], 196.2 / (20 * 144), rtol=1e-4)
    for law in ("computed_torque", "impedance"):
        assert (figure(exact, "trajectory", law, "rms_error") < 1e-3).all()


def test_the_table_under_wrong_masses_and_an_unknown_payload(capsys):
    """What lasts of the elevator's error follows by hand: load that the law does not know over stiffness."""
    found = compared(capsys, "--mass-scale", "1.1", "--payload", "1")
    assert list(found["trajectory"]) == LAWS + LEARNING
    assert all(found["scores"][law] < 0.5 * found["scores"]["computed_torque"] for law in LEARNING)
    load = (20 * 1.1 + 1) * 9.81
    stiffness = 20 * 144.0
    lasting = {law: figure(found, "step", law, "lasting_error")[0] for law in LAWS}
    np.testing.assert_allclose(lasting["pd"], load / stiffness, rtol=1e-4)
    np.testing.assert_allclose(lasting["impedance"], (load - 196.2) / stiffness, rtol=1e-3)
    assert (
        figure(found, "trajectory", "pd", "rms_error") > figure(found, "trajectory", "impedance", "rms_error")
    ).all()
    assert list(found["scores"])[-1] == "pd"
    assert "does not know" in found["arm"]


def test_an_integral_takes_away_what_lasts(capsys):
    wrong = ("--mass-scale", "1.1", "--payload", "1", "--controllers", "impedance")
    without = figure(compared(capsys, *wrong), "step", "impedance", "lasting_error")
    with_it = figure(compared(capsys, *wrong, "--integral-rate", "3"), "step", "impedance", "lasting_error")
    assert (with_it < 0.05 * without).all()


def test_tables_verdict_and_picture(capsys, tmp_path):
    picture = tmp_path / "laws.png"
    arguments = ["--controllers", "gravity_compensation,impedance", "--plot", str(picture)]
    assert main(["compare", str(ROOT / "urdf/rr.urdf"), *arguments]) == 0
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines()[:-1])) <= 80  # the last is the path of the picture
    assert "follows best" in out
    assert "gravity_compensation" in out  # in one piece
    from PIL import Image

    with Image.open(picture) as image:
        colours = image.convert("RGB").getcolors(1 << 24)
        assert image.width > 1000
    drawn = {colour for _, colour in colours}
    assert {(0xD5, 0x5E, 0x00), (0xE6, 0x9F, 0x00)} <= drawn  # a line for each law


def test_figures_of_a_run():
    """By hand: an error that decays as exp(-t) is below 2 % of the step from ln 50 on."""
    t = np.linspace(0.0, 8.0, 8001)
    error = np.exp(-t)[:, None]
    run = ComparedRun(t, 1.0 - error, np.ones((8001, 1)), 3.0 * error, np.zeros(1))
    motion = ComparedMotion("step", np.zeros(1), 8.0, None, np.ones(1))
    figures = {name: values[0] for name, values in run.figures(motion).items()}
    assert figures["settling_time"] == pytest.approx(np.log(50.0), abs=2e-3)
    assert figures["rms_error"] == pytest.approx(np.sqrt(0.5 / 8.0), rel=1e-2)
    assert figures["peak_error"] == 1.0
    assert figures["lasting_error"] == pytest.approx((np.exp(LASTING) - 1) / LASTING * np.exp(-8.0), rel=1e-2)
    assert figures["peak_effort"] == 3.0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--controllers", "free_drive"), "follows no reference"),
        (("--controllers", ","), "names none"),
        (("--controllers", "nobody"), "unknown"),
        (("--rate", "0"), "--rate"),
        (("--natural-frequency", "-1"), "natural_frequency"),
        (("--mass-scale", "0"), "mass_scale"),
        (("--controllers", "pd", "--plot", "laws.nothing"), "--plot"),
    ],
)
def test_what_is_wrong_is_said(capsys, arguments, said):
    assert main(["compare", PRR, *arguments]) == 2
    assert said in capsys.readouterr().err


def test_every_law_that_follows_is_compared_by_default():
    from robodyn_ros.plugins import load

    own = {name for name in rd.available("controllers") if load("controllers", name).follows}
    own.remove("mpc")  # what it answers depends on the time it has to think: compared when asked for
    own -= {"cartesian_impedance", "operational_space"}  # their gains are the tool's: compared when asked for
    assert sorted(own) == sorted(DEFAULT)
