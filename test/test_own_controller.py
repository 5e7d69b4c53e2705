# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The law of docs/how-to/own-controller.md: written once in Python, it gives the same efforts wherever it runs."""

import ast
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from installed_package import install_guide

import robodyn_ros as rd
from robodyn_ros import plugins
from robodyn_ros.control import ControlLoop, rest_to_rest
from robodyn_ros.control.compiled_step import trace_problem
from robodyn_ros.control.loop_settings import MODEL, loop_default_values, make_loop_settings
from robodyn_ros.control.parameter_file import FileParameters
from robodyn_ros.simulation.hardware import default_values, make_hardware_settings
from robodyn_ros.simulation.trial_run import run_until_fault

ROOT = Path(__file__).parents[1]
PRR = rd.load_robot("prr")
START = {"elevator": 0.3, "shoulder": -0.9, "wrist": 0.4}


@pytest.fixture(scope="module", autouse=True)
def installed(tmp_path_factory):
    """A folder that is, for Python, the package of the page, installed."""
    folder = tmp_path_factory.mktemp("installed")
    code = install_guide(folder, "own-controller.md", "scaled_pd")
    (law,) = (part for part in ast.parse(code).body if isinstance(part, ast.ClassDef))
    assert law.end_lineno - law.lineno < 12
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        patch.setenv("PYTHONPATH", str(folder))
        plugins._found.cache_clear()
        yield folder
    plugins._found.cache_clear()
    sys.modules.pop("scaled_pd", None)


def settings():
    """Of a loop under the law, with the limits and gains that the node has by default."""
    values = FileParameters({"controller": "scaled_pd"}, MODEL | loop_default_values(PRR))
    return make_loop_settings(values, rd.create_dynamics("rnea", PRR))


def in_python(stamps, states, motion=None):
    """The efforts for states (q, q̇), by the loop and the law in Python."""
    loop = ControlLoop.from_settings(settings())
    loop.controller.traced = False
    loop.apply(loop.settings)
    assert loop.compiled_step is None
    if motion is not None:
        loop.start(0.0, states[0][0])
        loop.follow(motion, 0.0)
    return np.array([loop.update(t, t, *state).effort for t, state in zip(stamps, states, strict=True)])


def close(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-11)


def test_it_is_found_and_traced():
    law = settings().controller
    assert type(law).__name__ == "ScaledPD"
    assert "scaled_pd" in rd.available("controllers")
    assert trace_problem(law) == ""


def test_a_sweep_runs_it_in_c():
    hardware = make_hardware_settings(
        FileParameters({f"initial_position.{name}": q for name, q in START.items()}, MODEL | default_values(PRR)), PRR
    )
    motion = rest_to_rest(np.array([hardware.start, [0.6, 0.2, -0.3]]), np.array([0.0, 0.5]))
    ran = run_until_fault(hardware, rd.create_dynamics("rnea", PRR), ControlLoop.from_settings(settings()), motion, 0.6)
    assert ran.compiled and not ran.trial.faults
    states, commands = ran.trial.states, ran.trial.commands
    assert np.array_equal(states.stamp, commands.stamp) and len(states.t) > 250
    rows = [*zip(states.values["q"], states.values["qd"], strict=True)]
    close(commands.values["effort"], in_python(states.stamp, rows, motion))


def test_the_exported_c_is_the_same_law(tmp_path):
    from test_control_step_export import check_main_loop

    check_main_loop(settings(), tmp_path)


def stamp(message):
    return message.header.stamp.sec, message.header.stamp.nanosec


def test_the_node_runs_it_in_its_thread_of_c(graph, prr):
    """In lockstep with the simulator, so that no state is lost, and the time of each is known."""
    from rclpy.qos import QoSProfile
    from sensor_msgs.msg import JointState
    from std_srvs.srv import SetBool

    every = QoSProfile(depth=100_000)
    states = graph.listen(JointState, "joint_states", every)
    commands = graph.listen(JointState, "controller/joint_commands", every)
    given = {"robot_description": prr}
    wiring = ("-r", "joint_commands:=controller/joint_commands")
    graph.start("simulator", *wiring, initial_position=START, lockstep=True, **given)
    # No answer comes yet, so time stands still; from the first answer on it is the pause that holds it up.
    assert graph.call(SetBool, "simulator/pause", data=True).success
    graph.wait(lambda: states, "a state")
    graph.start("controller", use_sim_time=True, controller="scaled_pd", realtime="on", **given)
    graph.wait(lambda: "realtime" in graph.diagnostics("controller"), "an active controller")
    assert graph.call(SetBool, "simulator/pause", data=False).success
    graph.wait(lambda: graph.diagnostics("controller").get("realtime", "").startswith("on"), "a loop in C")
    before = len(commands)
    graph.wait(lambda: len(commands) > before + 1000, "commands of the thread")
    answers = {stamp(one): one.effort for one in commands}
    graph.wait(lambda: answers.keys() <= {stamp(one) for one in states}, "the states that were answered")
    rows = {stamp(one): (one.position, one.velocity) for one in states}
    keys = sorted(key for key in rows if (0, 0) < key <= max(answers))
    assert len(answers) > 900
    expected = in_python([sec + nanosec / 1e9 for sec, nanosec in keys], [rows[key] for key in keys])
    known = [key in answers for key in keys]
    assert sum(known) == len(answers)
    close([answers[key] for key in keys if key in answers], expected[known])


def test_the_page_ends_in_a_test_that_passes(installed, monkeypatch):
    page = (ROOT / "docs/how-to/own-controller.md").read_text(encoding="utf-8")
    code = re.search(r"cat > scaled_pd/test_scaled_pd\.py <<'END'\n(.*?)END\n", page, re.DOTALL)[1]
    names = {}
    monkeypatch.chdir(ROOT)
    exec(code, names)
    names["test_it_arrives"]()


def test_the_page_has_the_fields_of_a_reference():
    page = (ROOT / "docs/how-to/own-controller.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| `reference\.(\w+)` \|", page, re.MULTILINE) == list(rd.control.Reference._fields)
