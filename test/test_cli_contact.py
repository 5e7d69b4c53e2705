# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""``robodyn contact`` and what it is made of: thresholds from free motion, which free motion does not pass."""

from pathlib import Path

import numpy as np
import pytest
import yaml
from numpy.testing import assert_allclose
from recordings import table

from robodyn_ros.cli.main import main
from robodyn_ros.cli.verb import ExitCode
from robodyn_ros.control.contact import BLOCK, block_maxima, extreme, propose_thresholds
from robodyn_ros.errors import InputError
from robodyn_ros.identification.recording import read_recording

PRR = str(Path(__file__).parents[1] / "urdf" / "prr.urdf")


@pytest.fixture(scope="module")
def recording(tmp_path_factory) -> str:
    path = tmp_path_factory.mktemp("free") / "free.csv"
    arguments = ["simulate", PRR, "--tour", "-p", "friction.shoulder.coulomb:=2.0", "--out", str(path)]
    assert main(arguments) in (ExitCode.YES, ExitCode.NO)
    return str(path)


def test_the_extreme_of_a_gumbel_distribution_is_found() -> None:
    from scipy.stats import gumbel_r  # it takes long to import, and every process collects every test

    """The level that the greatest of a million blocks passes with 1 %, by SciPy's quantiles of the distribution."""
    maxima = gumbel_r.rvs(3.0, 0.4, size=(20000, 2), random_state=1)
    expected = gumbel_r.ppf(np.exp(np.log(0.99) / 1e6), 3.0, 0.4)
    assert_allclose(extreme(maxima, 1e6, 0.01), expected, rtol=0.02)


def test_a_threshold_is_above_all_that_was_seen() -> None:
    t = np.arange(0.0, 20.0, 0.002)
    found = np.random.default_rng(2).normal(size=(len(t), 11)) * np.linspace(1.0, 2.0, 11)
    proposed = propose_thresholds(t, found, hours=1e-3, chance=0.9)
    assert (proposed.touch >= 1.1 * np.abs(found[:-250, :3]).max(axis=0) - 1e-12).all()
    assert (proposed.collision > proposed.touch).all()
    more = propose_thresholds(t, found, hours=1000.0)
    assert (more.touch > proposed.touch).all()


def test_blocks_are_of_one_length() -> None:
    t = np.arange(0.0, 10.0 * BLOCK + 0.1, 0.01)
    assert_allclose(block_maxima(t, t[:, None])[:, 0], np.arange(1, 11) * BLOCK, atol=0.011)
    with pytest.raises(InputError, match="lasts"):
        block_maxima(t[:100], t[:100, None])
    for hours, chance in ((0.0, 0.1), (np.inf, 0.1), (1.0, 0.0), (1.0, 1.0)):
        with pytest.raises(InputError, match="chance"):
            propose_thresholds(t, np.zeros((len(t), 11)), hours, chance)


def test_thresholds_are_proposed_and_written(recording: str, tmp_path: Path, command) -> None:
    out = tmp_path / "contact.yaml"
    found = command.json("contact", PRR, recording, "--hours", "8", "--out", out)
    (contact,) = yaml.safe_load(out.read_text())["/**/controller"]["ros__parameters"].values()  # with any tool
    assert found["joints"] == ["elevator", "shoulder", "wrist"]
    likely = tmp_path / "likely.yaml"
    text = command.out("contact", PRR, recording, "--hours", "8", "--chance", "0.5", "--out", likely)
    assert "false alarm in 8 h" in text
    (more,) = yaml.safe_load(likely.read_text())["/**/controller"]["ros__parameters"].values()
    assert more["elevator"]["touch"] < contact["elevator"]["touch"]
    # Friction of 2 N·m that the model does not know is what the shoulder feels, and the law overcomes.
    assert found["seen"][1] == pytest.approx(2.0, abs=0.4)
    for name, touch, collision in zip(found["joints"], found["touch"], found["collision"], strict=True):
        assert contact[name]["touch"] == pytest.approx(touch, rel=0.01)
        assert contact[name]["collision"] == pytest.approx(collision, rel=0.01)
        assert collision > touch
    # The file is one that the controller takes.
    assert not command.json("simulate", PRR, "--tour", "--params", out, code=None).get("faults")


def test_a_simulation_heeds_the_thresholds(tmp_path: Path, command) -> None:
    """Friction that the model does not know passes a threshold that is too low; the arm is held."""
    low = ["-p", "contact.observe:=joints", "-p", "contact.shoulder.touch:=1.0"]
    arguments = ["simulate", PRR, "--tour", "-p", "friction.shoulder.coulomb:=2.0"]
    assert "touch" in str(command.json(*arguments, *low, code=1)["faults"])


def test_drives_that_carry_the_arm_are_no_contact(tmp_path: Path, command) -> None:
    """Their gravity was seen as a push, and thresholds above it find no contact."""
    free, carried = tmp_path / "free.csv", ["-p", "drive_compensates:=[gravity]"]
    command.out("simulate", PRR, "--tour", "-p", "drive_adds:=[gravity]", *carried, "--out", free, code=None)
    seen = [command.json("contact", PRR, free, *given)["seen"] for given in (carried, [])]
    assert seen[0][0] < 20.0 < 150.0 < seen[1][0]  # [N] at the elevator, which carries 196 N
    names = ("elevator", "shoulder", "wrist")
    found = read_recording(free, names)
    t, commanded = found.commanded
    table(free, names, t, position=found.position.values[: len(t)], effort=commanded)
    assert command.json("contact", PRR, free, *carried)["seen"][0] > 150.0  # what is measured has it already
