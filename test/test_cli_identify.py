# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""``robodyn identify``: what it writes is right, what it prints is what it found, and what is wrong is said."""

import csv
import re
from contextlib import redirect_stdout
from dataclasses import replace
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from recordings import Bag, moved, table

import robodyn_ros as rd
from robodyn_ros.cli.main import main
from robodyn_ros.dynamics.parameters import standard_parameters
from robodyn_ros.dynamics.rnea import RNEA
from robodyn_ros.identification.estimation.base_parameters import parameter_names
from robodyn_ros.identification.recording import read_recording
from robodyn_ros.identification.report import improved, verdict
from robodyn_ros.simulation import Mismatch

URDF = Path(__file__).parents[1] / "urdf" / "prr.urdf"
ROBOT = rd.load_robot(URDF)
TRUTH = Mismatch(mass_spread=0.2, com_spread=0.02, inertia_spread=0.3).draw(ROBOT, seed=4).inertial
FRICTION = {"viscous": [20.0, 0.7, 0.2], "coulomb": [9.0, 0.8, 0.3]}
T = np.arange(0.0, 8.4, 0.004)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """Two motions of an arm that is not its URDF, with noise on the efforts and encoders, and one with a payload."""
    folder, rng = tmp_path_factory.mktemp("recorded"), np.random.default_rng(1)

    def motion(seed, **parameters):
        (q, _, _), effort = moved(ROBOT, T, seed, **{"inertial": TRUTH} | FRICTION | parameters)
        noise = 0.01 * np.sqrt(np.mean(effort**2, axis=0)) * rng.normal(size=effort.shape)
        return 1e-5 * np.round(q / 1e-5), effort + noise

    for name, seed in (("train.mcap", 1), ("unseen", 2)):
        q, effort = motion(seed)
        Bag().states("/arm/joint_states", ROBOT.joint_names, T, position=q, effort=effort).write(folder / name)
    bag = Bag().states("/joint_states", ROBOT.joint_names, T, position=q).arrays("/commands", T, effort)
    bag.write(folder / "commanded")
    held = rd.Payload("hand", 1.3, (0.03, 0.0, 0.11))
    q, effort = motion(3, payload=held, inertial=RNEA(ROBOT).parameters.inertial)
    table(folder / "held.csv", ROBOT.joint_names, T, position=q, effort=effort)
    text = URDF.read_text()
    for joint, viscous, coulomb in zip(ROBOT.joint_names, *FRICTION.values(), strict=True):
        tag = f'<dynamics damping="{viscous}" friction="{coulomb}"/>'
        text = re.sub(f'(<joint name="{joint}".*?)(</joint>)', rf"\1{tag}\2", text, count=1, flags=re.DOTALL)
    (folder / "known.urdf").write_text(text)
    return folder


@pytest.fixture(scope="module")
def result(recorded):
    """Of one call with a path and a recording."""
    both = recorded / "train.mcap", read_recording(recorded / "unseen", ROBOT.joint_names)
    return rd.identify(URDF, both, armature=False, effort="measured")


def test_one_call_identifies_and_plots(result):
    from matplotlib import pyplot

    truth = result.base.values(np.concatenate([TRUTH, np.zeros(3), FRICTION["viscous"], FRICTION["coulomb"]]))
    assert (np.abs(result.base_values - truth) < 0.02 * np.abs(truth).max()).all()
    grid = result.plot()
    assert [axes.get_ylabel() for axes in grid[:, 0]] == ["elevator [N]", "shoulder [N·m]", "wrist [N·m]"]
    assert [axes.get_title() for axes in grid[0]] == ["Effort", "Measured minus predicted"]
    assert [axes.get_xlabel() for axes in grid.flat] == [""] * 4 + ["time [s]"] * 2
    pyplot.close(grid[0][0].figure)


@pytest.fixture(scope="module")
def written(recorded):
    """The folder with the new URDF and the report that the command has written, and what it printed."""
    with redirect_stdout(StringIO()) as out:
        arguments = ["identify", URDF, recorded / "train.mcap", "--validate", recorded / "unseen"]
        arguments += ["--out", recorded / "arm.urdf", "--report", recorded / "report.html"]
        assert main([str(word) for word in arguments]) == 0
    return recorded, out.getvalue()


def test_writes_the_arm_and_a_report(written):
    folder, said = written
    out, report = folder / "arm.urdf", folder / "report.html"
    assert "mean of 2 periods" in said and "13 of 13 base parameters" in " ".join(said.split()) and str(report) in said
    # Friction first; then what changes the efforts, the most first; all digits are in the file.
    assert said.index("viscous(elevator)") < said.index("Changes that affect the control") < said.index("m(carriage)")
    _, control = said.split("Changes that affect the control")
    rows = re.findall(r"^ (\S.*?)  +[\d.]+ +([\d.]+) +[\d.]+ +kg(?: m²?)? +([\d.]+)% $", control, re.MULTILINE)
    now, shares = {name: float(value) for name, value, _ in rows}, [float(share) for *_, share in rows]
    found = [now[name] for name in ("m(carriage) + m(arm) + m(hand)", "mx(hand)", "mz(hand)")]
    np.testing.assert_allclose(found, [TRUTH[::10].sum(), TRUTH[21], TRUTH[23]], rtol=0.01)
    assert len(shares) > 3 and shares == sorted(shares, reverse=True) and min(shares) >= 1.0
    with (folder / "arm.parameters.csv").open(newline="") as file:
        rows = {row["parameter"]: row for row in csv.DictReader(file)}
    assert len(rows) == 10 * 3 + 3 * 3 and "seen only together" in rows["m(carriage)"]["reason"]
    np.testing.assert_allclose(float(rows["coulomb(wrist)"]["now"]), FRICTION["coulomb"][2], rtol=0.03)
    assert re.search(r"to within 0\.\d\d% of the", said) or re.search(r"to within 1\.\d\d% of the", said)
    # The URDF is another arm now, and the same in what it was not asked about.
    found = rd.load_robot(out)
    assert found.joint_names == ROBOT.joint_names and np.array_equal(found.effort_limit, ROBOT.effort_limit)
    np.testing.assert_allclose(found.damping, FRICTION["viscous"], rtol=0.03)
    np.testing.assert_allclose(found.friction, FRICTION["coulomb"], rtol=0.03)
    (q, qd, qdd), effort = moved(ROBOT, T, 2, inertial=TRUTH)
    now = RNEA(found).inverse(q, qd, qdd)
    before = RNEA(ROBOT).inverse(q, qd, qdd)
    rms = [np.sqrt(np.mean((efforts - effort) ** 2, axis=0)) for efforts in (now, before)]
    assert (rms[0] < 0.01 * np.sqrt(np.mean(effort**2, axis=0))).all() and (rms[0] < 0.2 * rms[1]).all()
    assert set(re.findall(r"<!--.*?-->", URDF.read_text(), re.DOTALL)) <= set(
        re.findall(r"<!--.*?-->", out.read_text(), re.DOTALL)
    )
    page = report.read_text()
    for word in ("Identification of prr", "train.mcap", "unseen", "coulomb(wrist)", "seen only together with", "N·m"):
        assert word in page
    faint = [row for row in page.split("<tr>") if '<td class="faint' in row]
    assert faint == [row for row in page.split("<tr>") if ">no: " in row] != []  # what is not identified counts less
    assert page.count("data:image/svg+xml;base64,") == 2 and "http" not in re.sub("www.w3.org", "", page)


def test_the_report_as_a_browser_shows_it(written):
    import browser

    with browser.page(1200, 900) as page:
        page.goto(f"file://{written[0]}/report.html")
        sizes = page.evaluate("[...document.images].map(image => [image.naturalWidth, image.complete])")
        assert len(sizes) == 2 and all(width > 500 and done for width, done in sizes)
        assert not page.elsewhere or all(url.startswith("file:") for url in page.elsewhere)
        assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
        page.locator("summary").click()
        assert page.locator("details tr").count() == 14  # 13 combinations and the heading


def test_joints_that_are_locked_stay_joints_of_the_new_urdf(recorded, tmp_path, command):
    new, chosen = tmp_path / "new.urdf", ["--joints", "elevator,shoulder", "--lock", "wrist=0.2"]
    said = command.json("identify", URDF, recorded / "train.mcap", *chosen, "--out", new, code=None)
    numbers = {one["name"]: one["value"] for one in said["parameters"]}
    robot = rd.load_robot(new)
    assert robot.joint_names == ROBOT.joint_names
    found = standard_parameters(robot.reduced(locked={"wrist": 0.2}))
    names = parameter_names(ROBOT.reduced(locked={"wrist": 0.2}))
    np.testing.assert_allclose(found, [numbers[name] for name in names[: len(found)]], rtol=1e-9, atol=1e-12)


def test_a_locked_joint_that_moves_is_named_also_where_commands_have_no_names(recorded, tmp_path, command):
    found = read_recording(recorded / "train.mcap", ROBOT.joint_names)
    bag = Bag().states("/joint_states", ROBOT.joint_names, T, position=found.position.values)
    path = bag.arrays("/commands", T, found.measured.values[:, :2]).write(tmp_path / "run")
    _, _, err = command("identify", URDF, path, "--joints", "elevator,shoulder", "--lock", "wrist=0.2")
    assert re.search(r"run: joint wrist moves by \S+ rad, but the model has it locked", err)


def test_a_locked_joint_that_rests_at_the_seam_of_its_encoder_does_not_move(recorded, tmp_path, command):
    found = read_recording(recorded / "train.mcap", ROBOT.joint_names)
    q = found.position.values.copy()
    q[:, 2] = np.where(np.arange(len(T)) % 3, np.pi, -np.pi)
    path = table(tmp_path / "run.csv", ROBOT.joint_names, T, position=q, effort=found.measured.values)
    arm = tmp_path / "turning.urdf"
    arm.write_text(URDF.read_text().replace('name="wrist" type="revolute"', 'name="wrist" type="continuous"'))
    _, _, err = command("identify", arm, path, "--joints", "elevator,shoulder", "--lock", "wrist=3.14")
    assert "moves by" not in err


def test_json_says_everything(recorded, command):
    arguments = ["identify", URDF, recorded / "train.mcap", "--validate", recorded / "unseen"]
    found = command.json(*arguments, "--no-average")
    assert found["improved"] and found["rank"] == 13 and len(found["combinations"]) == 13
    (recording,), (unseen,) = found["recordings"], found["validated_on"]
    assert recording["effort"] == "measured" and recording["periods"] == 0 and unseen["samples"] > 100
    assert unseen["delay"] == recording["delay"]
    assert abs(recording["delay"]) < 4.0 * recording["delay_error"] < 2e-3
    for joint in ROBOT.joint_names:
        errors = {name: found["errors"][name][joint]["relative"] for name in found["errors"]}
        assert errors["validation"] < 0.02 < errors["validation_urdf"]
        assert errors["cross_validation"] < 0.02 < errors["urdf"]
    parameters = {one["name"]: one for one in found["parameters"]}
    wrist = parameters["coulomb(wrist)"]
    assert wrist["identified"] and abs(wrist["value"] - 0.3) < 5.0 * wrist["standard_error"]
    assert not parameters["m(carriage)"]["identified"] and "m(hand)" in parameters["m(carriage)"]["reason"]


def test_the_delay_that_is_given_is_taken(recorded, command):
    arguments = ["identify", URDF, recorded / "train.mcap", "--delay", "0.05", "--no-average"]
    found = command.json(*arguments)
    assert found["recordings"][0]["delay"] == 0.05
    assert max(one["relative"] for one in found["errors"]["identified"].values()) > 0.03


def test_finds_a_payload(recorded, command):
    arguments = ["identify", str(recorded / "known.urdf"), str(recorded / "held.csv"), "--payload-link", "hand"]
    found = command.json(*arguments)
    assert found["mass"] == pytest.approx(1.3, rel=0.02) and found["mass_error"] < 0.02
    np.testing.assert_allclose(np.array(found["com"])[[0, 2]], [0.03, 0.11], atol=0.003)
    assert max(found["rms"][name] / found["rms_without"][name] for name in ROBOT.joint_names) < 0.3
    assert re.search(r"Centre of mass in hand +(?:\([\d.]+, –, [\d.]+\) mm +){2}\n", command.out(*arguments))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([URDF, "nowhere"], "nowhere: there is no such file"),
        ([URDF, "train.mcap", "--joint-states", "x"], "has no topic /x; it has /arm/joint_states"),
        ([URDF, "train.mcap", "--report", "report.pdf"], "must end in .html"),
        ([URDF, "train.mcap", "--out", "train.mcap/x.urdf"], "cannot be written"),
        (["known.urdf", "train.mcap", "--out", "known.urdf"], "is read here, and not overwritten"),
        (["prr", "train.mcap", "--out", URDF], "is read here, and not overwritten"),
        (["prr", "nowhere", "--out", "known.urdf"], "nowhere: there is no such file"),
        (["pqr", "train.mcap", "--out", "known.urdf"], "no arm of this package"),
        ([URDF, "train.mcap", "--payload-link", "hand", "--out", "x.urdf"], "--out: is of use for the arm's numbers"),
        ([URDF, "train.mcap", "--payload-link", "hand", "--armature"], "--armature: is of use for the arm's numbers"),
        ([URDF, "train.mcap", "--gap", "0"], "gap: must be within"),
        ([URDF, "train.mcap", "--command-joints", "lift,wrist"], "--command-joints: has no joint elevator, shoulder"),
        ([URDF, "train.mcap", "--effort", "commanded"], "there are no commands"),
        ([URDF, "commanded", "--validate", "unseen"], "unseen: there are no commands"),
    ],
)
def test_what_is_wrong_is_said(recorded, monkeypatch, command, arguments, said):
    monkeypatch.chdir(recorded)
    assert said in command.error("identify", *arguments)


def test_no_is_the_answer_where_the_urdf_is_as_good(recorded, tmp_path, command):
    """The arm is its URDF, and what is identified from noise predicts another motion no better."""
    rng = np.random.default_rng(2)
    for name, seed in (("a.csv", 1), ("b.csv", 2)):
        (q, _, _), effort = moved(ROBOT, T, seed)
        noise = 0.05 * np.sqrt(np.mean(effort**2, axis=0)) * rng.normal(size=effort.shape)
        table(tmp_path / name, ROBOT.joint_names, T, position=q, effort=effort + noise)
    arguments = ["identify", URDF, tmp_path / "a.csv", "--validate", tmp_path / "b.csv"]
    assert "no better than the URDF" in command.out(*arguments, code=1)


def test_what_predicts_worse_than_no_model_is_not_called_better(result):
    """As for a recording that ends in the middle of the motion: the URDF's efforts are even further off."""
    measured = result.before.samples.effort
    for wrist, better in ((0.98, True), (1.02, True), (1.2, False), (14.0, False)):
        left = measured * [0.1, 0.1 * wrist, wrist]
        found, before = (replace(result.cross_validation, effort=measured - k * left) for k in (1.0, 20.0))
        worse = replace(result, cross_validation=found, before=before)
        assert improved(worse) is better
        assert not improved(replace(worse, before=found))  # as good is not better
        assert ("does not predict" in verdict(worse)) is not better
        lost = f"effort of joint 'wrist', {wrist:.0%} stays unexplained (100% without a model)"
        assert better or lost in verdict(worse)
