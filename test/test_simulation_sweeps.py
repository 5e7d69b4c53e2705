# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Sweeps: samples, figures and statistics beside closed forms; whoever tries the cases, the results are the same."""

import os
import sys
from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest
import sweep_laws
from numpy.testing import assert_allclose
from pyarrow import parquet

import robodyn_ros as rd
from robodyn_ros import plugins
from robodyn_ros.document.text import text
from robodyn_ros.errors import InputError
from robodyn_ros.robot.urdf import load_robot
from robodyn_ros.simulation.sweeps import backends, tuning
from robodyn_ros.simulation.sweeps.backends import Workers, in_process
from robodyn_ros.simulation.sweeps.report import draw, report
from robodyn_ros.simulation.sweeps.runner import CaseRunner, arm_quantities, chunks, varied_arm
from robodyn_ros.simulation.sweeps.study import CaseLimits, Distribution, MotionSettings, Sampling, Specification, Study
from robodyn_ros.simulation.sweeps.summary import confidence, sensitivity, summarise
from robodyn_ros.simulation.sweeps.sweep import column, schema, sweep
from robodyn_ros.simulation.trial import Trial, TrialSamples, figures, tracking_error

TEST = Path(__file__).parent
URDF = (TEST.parent / "urdf" / "rr.urdf").read_text()
ROBOT = load_robot(URDF)
FIRST, SECOND = ROBOT.joint_names


def study(**changes):
    """A quick one, of an arm with two joints."""
    plain = Study(
        "quick",
        URDF,
        poses=((0.5, -0.4),),
        motion=MotionSettings(0.2, 0.1, 0.05),
        vary={
            f"arm.{SECOND}.friction": Distribution("uniform", (0.8, 1.2)),
            f"simulator.sensors.{SECOND}.position_noise": Distribution("uniform", (0.0, 1e-4)),
            "simulator.state_delay": Distribution("choice", (0.0, 0.002)),
        },
        sampling=Sampling(cases=20, seed=3),
        specification=Specification({("peak_error", FIRST): 0.02}, {FIRST: 0.05, SECOND: 0.06}),
    )
    return replace(plain, **changes)


def test_uniform_normal_and_choice():
    assert Distribution("uniform", (2, 4)).at(0.25) == 2.5
    assert_allclose(Distribution("normal", (1.0, 2.0)).at(0.975), 1.0 + 2.0 * 1.959963984540054, rtol=1e-12)
    assert_allclose(Distribution("log_uniform", (2.0, 200.0)).at(0.5), 20.0, rtol=1e-12)
    assert [Distribution("choice", ("a", "b", "c")).at(p) for p in (0.0, 0.34, 0.99, 1.0)] == ["a", "b", "c", "c"]
    assert Distribution("uniform", (0.0, 1.0), 5).probabilities().tolist() == [0.0, 0.25, 0.5, 0.75, 1.0]
    one = {"controller.law": Distribution("choice", ("pd",)), "controller.on": Distribution("choice", (True,))}
    assert [str(column.type) for column in schema(study(vary=one), ())][3:5] == ["string", "bool"]
    for kind, levels in (("uniform", 1), ("normal", 1000)):
        assert Distribution(kind, (0.0, 0.0), levels).probabilities().mean() == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("kind", "ends"), [("log_uniform", (0.01, 10.0)), ("log_uniform", (0.1, 0.3)), ("uniform", (-0.1, 0.3))]
)
def test_rounding_leads_to_no_value_beyond_the_ends(kind, ends):
    """They may be the bounds of a parameter, such as the lag of a drive, which is 10 s at most."""
    found = Distribution(kind, ends).ends()
    assert_allclose(found, ends, rtol=1e-14)
    assert ends[0] <= found[0] and found[1] <= ends[1]


@pytest.mark.parametrize(
    "wrong",
    [
        ("uniform", (2, 1)),
        ("uniform", (1,)),
        ("uniform", (True, 2)),
        ("uniform", (0, np.inf)),
        ("normal", (0, -1)),
        ("log_uniform", (0, 1)),
        ("uniform", (0, 1), 0),
        ("uniform", (0, 1), 1001),
        ("uniform", (0, 1), True),
        ("choice", ()),
        ("choice", (1, "a")),
        ("g", (1,)),
    ],
)
def test_a_distribution_that_is_none_is_refused(wrong):
    with pytest.raises(InputError):
        Distribution(*wrong)


@pytest.mark.parametrize("method", ["sobol", "latin_hypercube", "factorial"])
def test_a_case_is_the_same_by_itself(method):
    several = study(sampling=Sampling(method, 37, 5), controllers=("pd", "computed_torque"))
    whole = several.cases(0, several.size)
    assert [case.number for case in whole] == list(range(several.size))
    for first, count in ((0, 1), (5, 3), (several.size - 1, 1)):
        assert several.cases(first, count) == whole[first : first + count]
    assert whole[4].inputs == whole[5].inputs and whole[4].controller != whole[5].controller
    assert len({case.seed for case in whole}) == several.samples


def test_samples_cover_what_they_should():
    inputs = tuple(Distribution("uniform", (0.0, 1.0), levels) for levels in (2, 3, 4))
    factorial = Sampling("factorial").probabilities(inputs, 0, 24)
    assert len(np.unique(factorial, axis=0)) == 24
    # One point in each of N strips, whatever the input.
    hypercube = Sampling("latin_hypercube", 50, 1).probabilities(inputs, 0, 50)
    assert (np.sort((hypercube * 50).astype(int), axis=0) == np.arange(50)[:, None]).all()
    # A Sobol sequence is so for powers of two, and in two dimensions in squares as well.
    sobol = Sampling("sobol", 256, 1).probabilities(inputs, 0, 256)
    assert (np.sort((sobol * 256).astype(int), axis=0) == np.arange(256)[:, None]).all()
    assert np.bincount((sobol[:, 0] * 16).astype(int) * 16 + (sobol[:, 1] * 16).astype(int)).tolist() == [1] * 256


def test_an_arm_with_other_numbers(prr):
    arm = varied_arm(prr, {"hand.mass": 9.0, "hand.com.x": 0.02, "arm.inertia_scale": 3.0, "wrist.effort": 7.0})
    before = load_robot(prr)
    hand, old = arm.link("hand").inertial, before.link("hand").inertial
    assert (hand.mass, hand.com.tolist()) == (9.0, [0.02, 0.0, 0.14])
    assert_allclose(hand.inertia, 1.5 * old.inertia)
    assert_allclose(arm.link("arm").inertial.inertia, 3.0 * before.link("arm").inertial.inertia)
    assert arm.effort_limit.tolist() == [600.0, 96.0, 7.0]
    for name in ("wrist.effort", "wrist.velocity"):
        with pytest.raises(rd.RobodynError, match="must be above 0, not 0: in a URDF"):
            varied_arm(prr, {name: 0.0})
    assert "hand.mass" in arm_quantities(before) and "base.mass" not in arm_quantities(before)


def test_each_case_has_limits_of_its_own(prr):
    limits = {f"arm.shoulder.{name}": Distribution("uniform", (3.0, 9.0)) for name in ("effort", "velocity")}
    study = Study("limits", prr, poses=((1.0, 1.2, -0.9),), vary=limits, sampling=Sampling(cases=2))
    runner = CaseRunner(study)
    for case in study.cases(0, 2):
        setup = runner.setup(case)
        plant = setup.hardware.assemble(setup.dynamics).plant
        assert plant.effort_limit.tolist() == [600.0, case.inputs["arm.shoulder.effort"], 36.0]
        assert plant.velocity_limit.tolist() == [2.0, case.inputs["arm.shoulder.velocity"], 8.0]
        assert runner.row(case)["peak_effort/shoulder"] <= case.inputs["arm.shoulder.effort"]


def test_an_impossible_inertia_that_was_taken_as_it_is_stays_while_others_are_varied(prr):
    flat = prr.replace(
        "</robot>",
        """<link name="odd"><inertial><mass value="0.1"/>
      <inertia ixx="1e-4" iyy="1e-4" izz="9e-4" ixy="0" ixz="0" iyz="0"/></inertial></link>
      <joint name="glue" type="fixed"><parent link="hand"/><child link="odd"/></joint></robot>""",
    )
    assert varied_arm(flat, {"hand.mass": 9.0}).link("hand").inertial.mass == 9.0
    with pytest.raises(rd.RobodynError, match=r"arm.*(impossible|positive)"):
        varied_arm(flat, {"arm.inertia_scale": -1.0})


def test_figures_by_hand():
    t = np.array([0.0, 0.1, 0.2, 0.3])
    q, asked = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([[0.0], [1.5], [2.0], [2.0]])
    truth = TrialSamples(t, t, {"q": q, "qd": q, "effort": np.array([[3.0], [-4.0], [0.0], [0.0]])})
    commands = TrialSamples(t, t, {"q": asked, "qd": q, "effort": np.array([[5.0], [-5.0], [4.9], [5.0]])})
    found = figures(Trial(truth, truth, commands, {}, np.array([5.0])), 0.15)
    expected = {"rms_error": np.sqrt(1.25 / 4), "peak_error": 1.0, "final_error": 1.0, "rms_effort": 2.5}
    expected |= {"peak_effort": 4.0, "saturated": 0.75}
    assert {name: value.item() for name, value in found.items()} == pytest.approx(expected)
    bounds = Specification({("final_error", "a"): 0.01}, {"a": 0.05, "b": 0.02}, settled=True).all_bounds()
    assert bounds == {("final_error", "a"): 0.01, ("final_error", "b"): 0.02}
    nothing = TrialSamples(t[:0], t[:0], {name: values[:0] for name, values in truth.values.items()})
    silent = commands._replace(values=commands.values | {"q": np.full_like(q, np.nan)})
    for arm, sent in ((nothing, commands), (truth, silent)):
        trial = Trial(arm, arm, sent, {}, np.array([5.0]))
        assert [each.shape for each in tracking_error(trial)] == [(0,), (0, 1)]
        assert np.isnan(figures(trial)["rms_error"]).all()


def test_sensitivities_of_the_ishigami_function():
    """Y = sin x₁ + 7 sin² x₂ + 0.1 x₃⁴ sin x₁ (Ishigami and Homma, 1990): S = 0.3139, 0.4424, 0 in closed form."""
    x = (
        2 * np.pi * Sampling("sobol", 2**14, 1).probabilities((Distribution("uniform", (0.0, 1.0)),) * 3, 0, 2**14)
        - np.pi
    )
    y = np.sin(x[:, 0]) + 7.0 * np.sin(x[:, 1]) ** 2 + 0.1 * x[:, 2] ** 4 * np.sin(x[:, 0])
    variance = 49 / 8 + 0.1 * np.pi**4 / 5 + 0.01 * np.pi**8 / 18 + 0.5
    exact = [0.5 * (1 + 0.1 * np.pi**4 / 5) ** 2 / variance, 49 / 8 / variance, 0.0]
    found = [sensitivity(x[:, i], y) for i in range(3)]
    assert_allclose([each.first_order for each in found], exact, atol=0.01)
    assert [each.first_order > each.noise for each in found] == [True, True, False]


def test_a_score_is_that_of_the_worst_cases(monkeypatch):
    """Of seven cases 30 % are three, and the least ratio is one case."""
    for name in ("_violation", "_effort"):
        monkeypatch.setattr(tuning, name, lambda *given, name=name: next(x for x in given if isinstance(x, dict))[name])
    rest = {"failed": "", "failed_at": np.nan}
    rows = [{"_violation": x, "_effort": 0.1 * x, "met": x < 3, "case": x, **rest} for x in range(7)]
    assert [tuning._scored(None, rows, worst, None).violation for worst in (0.3, 1e-6)] == [5.0, 6.0]
    assert tuning._scored(None, rows, 1.0, None)[:4] == (3.0, pytest.approx(0.3), 3, 7)


def test_chance_alone_is_taken_for_chance():
    rng = np.random.default_rng(1)
    found = [sensitivity(rng.uniform(size=200), rng.normal(size=200)) for _ in range(300)]
    assert abs(np.mean([each.first_order for each in found])) < 0.005
    assert np.mean([each.first_order > each.noise for each in found]) < 0.03
    ramp, same, few = np.arange(20.0), np.ones(20), np.arange(2.0)
    for x, y in ((ramp, same), (same, ramp), (few, few), (few[:0], few[:0])):  # nothing varies, or each case is a bin
        assert np.isnan(sensitivity(x, y)).all()


@pytest.mark.parametrize("count", [4, 8, 12])
def test_few_cases_have_an_index_as_many_have(count):
    """Of two halves of a ramp of N = 2 h cases, the variances are (h² - 1) / 12 within, and (N² - 1) / 12 in all."""
    half, ramp = count // 2, np.arange(float(count))
    found = sensitivity(ramp, 3.0 * ramp)
    within, whole = (half**2 - 1) / 12 * count / (count - 2), (count**2 - 1) / 12 * count / (count - 1)
    assert_allclose(found.first_order, 1.0 - within / whole)


def test_confidence_of_a_probability():
    """10 of 10: the lower end is (α/2)^(1/n) (Clopper and Pearson)."""
    low, high = confidence(10, 10)
    assert high == 1.0
    assert_allclose(low, 0.025**0.1, rtol=1e-12)


def test_whoever_tries_the_cases_the_file_is_the_same(tmp_path, monkeypatch):
    """A worker that is killed in the middle is replaced.

    A cluster of Dask is in this process, to be quick; what happens when its parts die, benchmarks/sweep.py shows.
    """
    import distributed

    wanted, more = study(), {"threads_per_worker": 1, "processes": False, "dashboard_address": None, "protocol": "tcp"}
    files, killed, start = [sweep(wanted, tmp_path / "here", in_process)], [], backends._start

    def doomed():
        process, connection = start()
        if not killed:
            killed.append(process)
            process.kill()
        return process, connection

    monkeypatch.setattr(backends, "_start", doomed)
    with Workers(2) as two:
        files.append(sweep(wanted, tmp_path / "workers", two))
    with distributed.LocalCluster(n_workers=1, **more) as made:
        files.append(sweep(wanted, tmp_path / "cluster", backends.cluster(made.scheduler_address)))
    while backends._idle:
        backends._idle.pop().end()
    assert files[0].read_bytes() == files[1].read_bytes() == files[2].read_bytes()
    assert killed
    assert column(files[0], "case").tolist() == list(range(wanted.size))
    assert not (tmp_path / "here" / "parts").exists()
    bench = CaseRunner(wanted)
    row = parquet.read_table(files[0]).to_pylist()[7]
    assert repr(row) == repr(bench.row(*wanted.cases(7, 1)))  # to the last bit, and NaN is NaN
    assert column(files[0], "compiled").all()
    peak = np.sort(column(files[0], f"peak_error/{FIRST}"))
    bound = (peak[6] + peak[7]) / 2.0
    (summary,) = summarise(study(specification=Specification({("peak_error", FIRST): bound})), files[0])
    assert (summary.bounds[0].kept, summary.bounds[0].bound) == (7, bound)
    assert (summary.cases > 10) and len(summary.worst) == 10


def test_what_was_done_is_done(tmp_path):
    """After an interruption only the rest is tried; the file is that of a sweep without one."""
    wanted, tried = study(), []

    def breaks_off(given, todo):
        for done in in_process(given, todo):
            tried.append(done.chunk)
            yield done
            if len(tried) == 2:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sweep(wanted, tmp_path / "broken", breaks_off)
    with pytest.raises(InputError, match="--resume"):
        sweep(wanted, tmp_path / "broken", in_process)
    with pytest.raises(InputError, match="another study"):
        sweep(study(poses=()), tmp_path / "broken", in_process, resume=True)
    again = []
    file = sweep(
        wanted, tmp_path / "broken", lambda s, todo: in_process(s, (again.append(c) or c for c in todo)), resume=True
    )
    assert again == chunks(wanted)[2:]
    assert chunks(study(sampling=Sampling(cases=10**6)))[0].size == 128
    assert file.read_bytes() == sweep(wanted, tmp_path / "whole", in_process).read_bytes()
    again.clear()
    renamed = replace(wanted, name="another", limits=CaseLimits(9.0))
    sweep(renamed, tmp_path / "broken", lambda s, todo: in_process(s, again.extend(todo) or []), resume=True)
    assert again == []


def test_a_case_whose_gains_cannot_be_carried_and_one_that_is_impossible(prr, tmp_path):
    """They are recorded as such, and the others are as if those were not there."""
    mass = Distribution("choice", (6.0, -6.0))
    frequency = Distribution("choice", (10.0, 100.0))
    slow = {f"gains.{name}.natural_frequency": 10.0 for name in ("elevator", "wrist")}
    bands = dict.fromkeys(("elevator", "shoulder", "wrist"), 9.0)
    wanted = Study(
        "wild",
        prr,
        poses=((0.3, -1.0, 0.4),),
        motion=MotionSettings(0.7, 0.1, 0.1),
        given={"simulator": {"state_delay": 0.03}, "controller": slow | {"gains.shoulder.natural_frequency": 90.0}},
        vary={"arm.hand.mass": mass, "controller.gains.shoulder.natural_frequency": frequency},
        sampling=Sampling("factorial"),
        specification=Specification({("peak_error", "elevator"): 1e-9}, settle_band=bands),
    )
    file = sweep(wanted, tmp_path, in_process)
    good, wild, *impossible = column(file, "failed").tolist()
    assert good == ""
    assert wild.startswith("rate: a state every 0.002 s, 0.03 s old, allows")
    whole, broken = (CaseRunner(wanted).run(case).trial for case in wanted.cases(0, 2))
    assert column(file, "failed_at")[1] == broken.truth.t[-1]
    assert column(file, "final_error/elevator")[0] == figures(whole, wanted.motion.window)["final_error"][0]
    assert column(file, "settled").tolist() == [True, False, False, False]
    assert all("mass -6 kg is negative" in why for why in impossible)
    summary = summarise(wanted, file)[0]
    assert summary.cases == 4 and sum(summary.failed.values()) == 3
    assert [number for number, _, _ in summary.worst[:3]] == [1, 2, 3]
    assert summary.compiled == summary.cases
    # All combinations are no sample, from which chance would have to be told.
    draw(tmp_path / "report.svg", wanted, [summary])
    pages = text(report(wanted, [summary])), (tmp_path / "report.svg").read_text(encoding="utf-8")
    assert np.isnan([summary.low, summary.high]).all()
    assert ["confidence" in page for page in pages] == [False, False]
    assert "has no interval" in pages[0]


@pytest.fixture
def moody(tmp_path, monkeypatch):
    """A law of one's own, installed for this process and those that it starts."""
    sweep_laws.install(tmp_path / "site")
    monkeypatch.syspath_prepend(tmp_path / "site")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(map(str, (tmp_path / "site", TEST, *filter(None, sys.path)))))
    plugins._found.cache_clear()
    yield
    plugins._found.cache_clear()


def test_a_case_that_hangs_or_dies_stops_nobody_else(moody, tmp_path):
    choices = (1.0, sweep_laws.HANGS, sweep_laws.RAISES, 1.5, sweep_laws.DIES)
    wanted = study(
        controllers=("moody",),
        vary={f"controller.gains.{SECOND}.damping_ratio": Distribution("choice", choices)},
        given={"controller": {f"gains.{SECOND}.natural_frequency": sweep_laws.FREQUENCY}},
        sampling=Sampling("factorial"),
        limits=CaseLimits(4.0),
    )
    CaseRunner(wanted).row(*wanted.cases(0, 1))  # so that nothing need be compiled within the limit
    with Workers(1) as one:
        file = sweep(wanted, tmp_path / "out", one)
    good, hung, raised, last, died = column(file, "failed").tolist()
    assert (good, last) == ("", "")
    assert hung.startswith("out of time")
    assert died == "its process ended by SIGKILL"
    assert "ZeroDivisionError: told to" in raised
    assert not column(file, "compiled").any()  # and the results say so
    plain = CaseRunner(replace(wanted, controllers=("pd",)))
    for row in parquet.read_table(file).to_pylist()[:4:3]:
        twin = plain.row(plain.study.cases(row["case"], 1)[0])
        for name in ("rms_error", "peak_effort"):
            assert_allclose(row[f"{name}/{SECOND}"], twin[f"{name}/{SECOND}"], rtol=1e-9)


@pytest.mark.parametrize("law", sorted({"adaptive", "disturbance_observer"} & set(plugins.available("controllers"))))
def test_what_a_law_has_learned_or_carried_in_one_case_it_has_not_in_the_next(law):
    payload = "simulator.mismatch.payload_mass"
    wanted = study(controllers=(law,), vary=study().vary | {payload: Distribution("choice", (0.0, 0.1))})
    one, other = (next(case for case in wanted.cases(0, 20) if case.inputs[payload] == mass) for mass in (0.0, 0.1))
    bench = CaseRunner(wanted)
    rows = [bench.row(case) for case in (one, other, one)]
    assert repr(rows[0]) == repr(rows[2]) != repr(rows[1])
    assert not rows[0]["failed"] and rows[0]["compiled"]


def test_chunks_that_a_cluster_lost_are_run_again():
    from distributed import KilledWorker

    chunks, killed = backends._SubmittedChunks(study()), Mock(return_value=KilledWorker("task", None, 3))
    states = ("pending", "finished", "error", "cancelled", "lost")
    chunks._futures = {Mock(status=state, exception=killed): state for state in states}
    assert (chunks.lost(), len(chunks)) == (["error", "cancelled", "lost"], 2)
    assert (chunks.withdraw(), len(chunks)) == (["pending", "finished"], 0)
    chunks._futures = {Mock(status="error", exception=Mock(return_value=OSError("of the task"))): "error"}
    with pytest.raises(OSError, match="of the task"):
        chunks.lost()
