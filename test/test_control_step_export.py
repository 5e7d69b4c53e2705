# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The control step outside the loop: as C99 on a microcontroller's main loop, in place, and for many arms at once."""

import subprocess
from pathlib import Path

import numpy as np
import pytest
from test_control_tracing import Branching, Remembering

import robodyn_ros as rd
from robodyn_ros.control.compiled_step import LawStep
from robodyn_ros.control.export.step_export import export_step
from robodyn_ros.control.laws.base import Reference
from robodyn_ros.control.loop_settings import MODEL, loop_default_values, make_loop_settings
from robodyn_ros.control.parameter_file import FileParameters
from robodyn_ros.control.step import Law, StepMemory, control_step, first_memory, step_settings, views
from robodyn_ros.engine import find_compiler
from robodyn_ros.errors import ConfigurationError

ROOT = Path(__file__).parents[1]
PRR = rd.load_robot("prr")
BOARD = ROOT / "examples/microcontroller"
STRICT = ("-std=c99", "-O2", "-Wall", "-Wextra", "-Werror", "-pedantic")
PERIOD = 0.001
RATE_LIMIT = np.array([20e3, 4e3, 1e3])


def settings_of(name: str):
    """The settings of a loop under a law, one of its own memory included."""
    given = {"drive_compensates": ["gravity.wrist", "friction", "coriolis.shoulder"]}
    values = FileParameters(given, MODEL | loop_default_values(PRR))
    dynamics = rd.create_dynamics("rnea", PRR, viscous=[0.3, 0.1, 0.2], coulomb=[0.5, 0.2, 0.1])
    if name == "of one's own":
        found = make_loop_settings(values, dynamics, "pd")
        return found._replace(controller=Remembering(dynamics, [900.0, 40.0, 20.0], [90.0, 9.0, 3.0], [5.0, 4.0, 3.0]))
    return make_loop_settings(values, dynamics, name)


def motion(count: int, seed: int = 4):
    """Rows of q, q̇ and the reference (q, q̇, q̈): an arm that wanders about, near a limit now and then."""
    rng = np.random.default_rng(seed)
    q, qd, rows = rng.uniform(-0.3, 0.3, 3), np.zeros(3), []
    for _ in range(count):
        qd = np.clip(qd + rng.normal(0.0, 0.3, 3), -2.0, 2.0)
        q = np.clip(q + 5 * PERIOD * qd, PRR.lower + 0.001, PRR.upper - 0.001)
        goal = q + rng.normal(0.0, 0.2, 3), rng.normal(0.0, 1.0, 3), rng.normal(0.0, 3.0, 3)
        rows.append(np.concatenate([q, qd, *goal]))
    return np.array(rows)


def in_numbers(settings, rows, dts, rate_limit=None):
    """The efforts of the step in Python, and the results."""
    law, numbers = settings.controller, step_settings(settings)
    if rate_limit is not None:
        numbers = numbers._replace(rate_limit=rate_limit)
    plain, memory = Law(law), views(StepMemory, first_memory(PRR.n), PRR.n)
    t, found = 0.0, []
    for row, dt in zip(rows, dts, strict=True):
        t += dt
        q, qd, *reference = row.reshape(5, 3)
        result, memory = control_step(plain, t, dt, q, qd, Reference(*reference, np.zeros(3)), memory, numbers)
        found.append(result)
    return found


def close(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-11)


def in_the_main_loop(settings, folder: Path, rows):
    """The lines that the main loop of examples/microcontroller prints with the exported step: efforts, 0 for off."""
    for file, text in export_step(settings).items():
        (folder / file).write_text(text, encoding="ascii")
    sources = [str(BOARD / "main.c"), str(BOARD / "board.c"), str(folder / "prr_step.c")]
    compiler = find_compiler()
    command = [*compiler.command, *STRICT, f"-I{folder}", *sources, "-o", str(folder / "arm"), "-lm"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    given = "\n".join(" ".join(map(repr, row.tolist())) for row in rows)
    done = subprocess.run([str(folder / "arm")], input=given, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def check_main_loop(settings, folder: Path):
    """Check the efforts of the exported step against the step in numbers, and return the results of that."""
    rows = motion(150)
    found = [list(map(float, line.split())) for line in in_the_main_loop(settings, folder, rows)]
    results = in_numbers(settings, rows, [0.0, *[PERIOD] * (len(rows) - 1)], RATE_LIMIT)
    close(found, [result.effort for result in results])
    return results


@pytest.mark.parametrize("name", ["computed_torque", "disturbance_observer", "adaptive", "of one's own"])
def test_the_main_loop_of_a_microcontroller(name: str, tmp_path: Path) -> None:
    results = check_main_loop(settings_of(name), tmp_path)
    assert any(result.saturated.any() for result in results) and any(result.rate_limited.any() for result in results)


def test_one_state_beyond_all_numbers_leaves_what_was_learnt(tmp_path: Path) -> None:
    """The memory of the law was no number from then on, and the drives stayed off."""
    rows = motion(40)
    rows[20, 3:6] = 1e200
    lines = in_the_main_loop(settings_of("adaptive"), tmp_path, rows)
    assert [index for index, line in enumerate(lines) if not any(map(float, line.split()))] == [20]


def test_a_law_that_is_not_traced_is_not_written() -> None:
    settings = settings_of("pd")
    law = Branching(settings.controller.dynamics, 90.0, 18.0)
    with pytest.raises(ConfigurationError, match="Branching cannot be written as C: it asks for a value"):
        export_step(settings._replace(controller=law))


@pytest.mark.parametrize("name", ["impedance", "disturbance_observer"])
def test_in_place_and_for_many_arms(name: str) -> None:
    settings, rows = settings_of(name), motion(40)
    dts = np.random.default_rng(2).choice([0.0, 0.001, 0.004], len(rows))
    step = LawStep(settings.controller, settings.limits.effort, RATE_LIMIT, settings.safety, settings.drives)
    count = 5
    t, memory, law_memory = np.zeros(count), np.tile(step.memory, (count, 1)), np.tile(step.law_memory, (count, 1))
    placed, many = [], []
    for row, dt in zip(rows, dts, strict=True):
        step.q[:], step.qd[:], step.reference.q[:], step.reference.qd[:], step.reference.qdd[:] = row.reshape(5, 3)
        step.evaluate(dt)
        placed.append(step.effort.copy())
        t = t + dt
        states = [np.tile(part, (count, 1)) for part in row.reshape(5, 3)]
        reference = Reference(*states[2:], np.zeros((count, 3)))
        result, memory, law_memory = step.many(t, np.full(count, dt), *states[:2], reference, memory, law_memory)
        many.append(result.effort)
    feedback = settings.feedback
    settings = settings._replace(feedback=type(feedback)(*_feedback(settings.controller)))
    expected = np.array([result.effort for result in in_numbers(settings, rows, dts, RATE_LIMIT)])
    close(placed, expected)
    for k in range(count):
        close(np.array(many)[:, k], expected)


def _feedback(law):
    """Gains as effort gains; those of acceleration are multiplied by the diagonal of M at home."""
    inertia = np.diagonal(law.dynamics.mass_matrix(PRR.home)) if law.feedback == "acceleration" else 1.0
    return inertia * law.kp, inertia * law.kd
