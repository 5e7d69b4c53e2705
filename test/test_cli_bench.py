# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""``robodyn bench``: every figure is there, and is a time that was measured."""

import sys

import numpy as np
import pytest

import robodyn_ros as rd
from robodyn_ros.cli.bench import computer
from robodyn_ros.cli.bench.computer import Timing, allowance, is_enough, verdict
from robodyn_ros.control import JointGains
from robodyn_ros.control.faults.sampling import spectral_radius
from robodyn_ros.control.laws.base import AccelerationGains
from robodyn_ros.errors import NotReadyError
from robodyn_ros.files import find

ARM = str(find("urdf/prr.urdf"))


def test_json_has_every_figure(command):
    found = command.json("bench", ARM, "--rounds", "1")
    assert (found["robot"], found["joints"], found["dynamics"]) == ("prr", 3, "rnea")
    for quantity in ("inverse", "forward", "mass_matrix", "gravity"):
        times = found["calls"][quantity]  # which of them is less, `make bench` shows: this machine may be busy
        assert times["in place"] > 0.0 and times["plain"] > 0.0
    assert found["batch"]["ours"] > 100.0  # 100,000 states in 100 µs would be a lie
    assert found["rollout"]["ours"] > 0.0 and found["rollout"]["Python on ours"] > 0.0
    assert all(found["first"][key] > 0.0 for key in ("import", "cold", "warm"))


def test_the_table_fits_a_terminal_and_names_who_is_there(command):
    pytest.importorskip("pinocchio", reason="Pinocchio (pip install pin) is not installed")
    lines = command.out("bench", ARM.replace("prr", "r"), "--rounds", "1", "--dynamics", "lagrangian").splitlines()
    assert max(map(len, lines)) <= 80
    assert "Pinocchio" in lines[2] and "lagrangian" in lines[0]


def test_nobody_else_needs_to_be_installed(command, monkeypatch):
    for name in ("pinocchio", "mujoco", "roboticstoolbox"):
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setattr("robodyn_ros.cli.bench.dynamics.first_call", lambda *_: {})  # with a compilation of its own
    found = command.json("bench", ARM.replace("prr", "r"), "--rounds", "1")
    assert set(found["calls"]["inverse"]) == {"in place", "plain"}
    assert set(found["batch"]) == {"ours"}


def timing(rate=500.0, late=1e-4, latency=2e-4, count=3000, scheduling="ordinary"):
    return Timing(rate, scheduling, np.full(count, late), np.full(count, latency))


def test_what_is_safe_is_stable_with_twice_the_gains_and_not_with_more():
    """By the spectral radius of the sampled and delayed feedback, at the border."""
    found = timing(late=3e-4, latency=6e-4)
    for rate in (250.0, 500.0):
        here = allowance(found, rate)
        assert here.keeps
        for factor, stable in ((0.999, True), (1.001, False)):
            omega = factor * here.frequency
            gains = AccelerationGains(*(2.0 * gain * np.eye(1) for gain in (omega**2, 2.0 * omega, 0.0)))
            delays = (0.0, 1.5e-4, 3e-4, 4.5e-4, 6e-4)
            radius = max(spectral_radius(1.0 / rate + 3e-4, delay, gains) for delay in delays)
            assert (radius < 1.0) == stable


def test_a_rate_is_kept_while_states_and_efforts_take_half_of_the_period():
    assert allowance(timing(late=2e-4, latency=7.9e-4), 500.0).keeps
    assert allowance(timing(late=2e-4, latency=8.1e-4), 500.0) == (500.0, False, 0.0)


def test_single_late_periods_do_not_judge_and_lost_states_do():
    found = timing()
    found.late[:2], found.latency[2:4] = 0.05, np.nan
    assert found.lost == 2 and allowance(found, 500.0).keeps  # 2 of 3000 are less than 0.1 %
    found.latency[:5] = np.nan
    assert found.lost == 5 and not allowance(found, 500.0).keeps


def test_the_verdict_rounds_a_safe_frequency_down(monkeypatch):
    monkeypatch.setattr(computer, "allowance", lambda timing, rate: computer.Allowance(rate, True, 29.7))
    assert "natural frequencies of up to 29 rad/s" in verdict(timing())


@pytest.mark.parametrize(
    ("found", "enough", "said"),
    [
        (timing(), True, "Good enough for 500 Hz: natural frequencies of up to"),
        (timing(20.0), False, "Good enough for 20 Hz with lower gains"),
        (timing(latency=3e-3), False, "Not good enough for 500 Hz: efforts come late; 125 Hz is kept"),
        (
            timing(latency=np.nan),
            False,
            "Not good enough for 500 Hz: 3,000 of 3,000 states had no effort; no usual rate",
        ),
        (timing(latency=5e-3), False, "Allow real-time priority"),
    ],
)
def test_the_verdict_is_in_words(found, enough, said):
    assert is_enough(found) == enough
    assert said in verdict(found)


def test_the_verdict_names_gains_that_are_safe_and_the_wait_that_the_arm_would_not_survive():
    rare = timing(20.0, scheduling="SCHED_FIFO 50")
    frequency = allowance(rare, 20.0).frequency
    assert 0.0 < frequency < JointGains().natural_frequency
    assert f"natural_frequency to {int(frequency)} or less" in verdict(rare) and "limits.conf" not in verdict(rare)
    once = timing()
    once.late[7] = 0.2
    assert "The longest wait was 0.2 s: with a state_timeout of 0.1 s the arm would have been held" in verdict(once)
    assert is_enough(once)


def test_both_processes_run_and_every_state_is_accounted_for():
    """However slow this machine is: each state has a time, and an effort, because the end is waited for."""
    found = computer.measure(200.0, 0.2, rd.load_robot(ARM))
    assert len(found.late) == len(found.latency) == 40
    assert found.lost == 0 and found.late.min() >= 0.0 and found.latency.min() > 0.0
    assert found.scheduling == "ordinary" or found.scheduling.startswith("SCHED_FIFO")


def test_a_process_that_fails_is_told_by_its_code_at_once(monkeypatch):
    monkeypatch.setattr(computer.sys, "executable", "/bin/false")
    with pytest.raises(NotReadyError, match="the process that stands for the arm has ended with code 1"):
        computer.measure(200.0, 0.2, rd.load_robot(ARM))


def test_the_command_says_it_in_words_and_as_json(monkeypatch, command):
    monkeypatch.setattr(computer, "measure", lambda rate, seconds, robot: timing(rate))
    said = command.out("bench", "--computer", "--seconds", "1")
    assert "Good enough for 500 Hz" in said.replace("\n", " ") and "0 of 3,000 states lost" in said
    assert max(map(len, said.splitlines())) <= 80
    found = command.json("bench", ARM, "--computer", "--rate", "20", code=1)
    assert found["rate"] == 20.0 and not found["enough"] and found["late"]["most"] == pytest.approx(1e-4)
    assert [one["rate"] for one in found["rates"]] == [20.0, *computer.RATES]
