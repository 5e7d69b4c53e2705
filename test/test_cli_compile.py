# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""``robodyn compile``, and robots that run what was compiled elsewhere: without a compiler, without CasADi."""

import json
import os
import re
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import fork_server
import numpy as np
import pytest
from numpy.testing import assert_allclose

import robodyn_ros as rd
from robodyn_ros.cli.compile import CONTRACT, LOOPS, STEP, TRIALS, find_jobs
from robodyn_ros.control.contact import contact_of
from robodyn_ros.control.loop_settings import loop_default_values
from robodyn_ros.control.parameter_file import FileParameters
from robodyn_ros.dynamics.compiled import CompiledDynamics
from robodyn_ros.engine.library import cache_folder, only_listed
from robodyn_ros.errors import NotReadyError

PRR = Path(__file__).parent.parent / "urdf" / "prr.urdf"
STATES = np.random.default_rng(4).uniform(-2, 2, (3, 11, 3))  # q, q̇, q̈ or τ of eleven states

SCRIPT = """
import json, sys
if "CasADi" in sys.argv[3:]:
    sys.modules["casadi"] = None  # as if it were not installed: not found, and not to be imported
import robodyn_ros as rd
from robodyn_ros.kinematics import Kinematics
from robodyn_ros.simulation import Plant
from robodyn_ros.simulation.rollout import rollout
if "processor" in sys.argv[3:]:
    from robodyn_ros.engine import library
    library.processor = lambda: "another one"
states = json.loads(sys.argv[2])
answers = {}
for name in ("rnea", "lagrangian"):
    dynamics = rd.create_dynamics(name, rd.load_robot(sys.argv[1]))
    dynamics.configure(armature=(0.1, 0.2, 0.3))
    for method, count in (("inverse", 3), ("forward", 3), ("mass_matrix", 1), ("gravity", 1)):
        call = getattr(dynamics, method)
        one, many = call(*(rows[0] for rows in states[:count])), call(*states[:count])
        answers[f"{name} {method}"] = [one.tolist(), many.tolist()]
    motion = rollout(dynamics, states[0][0], states[1][0], states[2][0], 1e-3, 20)
    answers[f"{name} motion"] = [motion.q[-1].tolist(), motion.q.tolist()]
    try:
        plant = Plant(dynamics)
        plant.step()
        answers[f"{name} plant"] = [plant.q.tolist(), plant.qd.tolist()]
    except rd.RobodynError as problem:
        print(problem, file=sys.stderr)
kinematics = Kinematics(dynamics.robot)
for method in ("pose", "jacobian"):
    call = getattr(kinematics, method)
    answers[method] = [call("tool", states[0][0]).tolist(), call("tool", states[0]).tolist()]
from robodyn_ros.control.limits import Limits
from robodyn_ros.control.motion.own_motions import PoseGoal, ToolMotion
from robodyn_ros.control.motion.trajectory import Sample
from robodyn_ros.kinematics.inverse import InverseKinematics, Task
robot, start = dynamics.robot, [0.3, -0.9, 0.4]
target, rest = kinematics.pose("tool", [0.6, 0.8, -0.5]), Sample(*(dynamics.gravity(start) * 0 for _ in range(3)))
solution = InverseKinematics(kinematics, "tool").solve(target, start, Task.planar())
goal = PoseGoal(target, rest, Limits.of(robot, robot.effort_limit), dynamics.parameters)
motion = ToolMotion(robot, "tool").plan(goal)
answers["inverse kinematics"] = [solution.q.tolist(), motion.positions.tolist()]
from robodyn_ros.control import ControlLoop
law = rd.create_controller("computed_torque", rd.create_dynamics("rnea", robot), 10.0, 5.0)
try:
    loop = ControlLoop(law, robot.effort_limit)
    efforts = [loop.update(0.001 * k, 0.001 * k, start, [0.0] * 3).effort.tolist() for k in range(3)]
    answers["control loop"] = [efforts[0], efforts]
except rd.RobodynError as problem:
    print(problem, file=sys.stderr)
print(json.dumps(answers))
"""


MANY = """
import sys
sys.modules["casadi"] = None
import numpy as np, robodyn_ros as rd
from robodyn_ros.engine.kernel import FEW
dynamics, states = rd.create_dynamics("lagrangian", rd.load_robot(sys.argv[1])), np.ones((3, FEW + 1, 3))
np.testing.assert_allclose(dynamics.inverse(*states)[-1], dynamics.inverse(*states[:, 0]), rtol=1e-12)
"""


TRIAL = """
import json, sys
if "CasADi" in sys.argv[2:]:
    sys.modules["casadi"] = None
import robodyn_ros as rd
from robodyn_ros.control.loop import ControlLoop
from robodyn_ros.control.parameter_file import FileParameters
from robodyn_ros.control.loop_settings import make_loop_settings
from robodyn_ros.simulation.trial_run import run_until_fault
from robodyn_ros.control.loop_settings import MODEL, loop_default_values
from robodyn_ros.simulation.hardware import default_values, make_hardware_settings
robot = rd.load_robot(sys.argv[1])
rig = make_hardware_settings(FileParameters({}, MODEL | default_values(robot)), robot)
dynamics = rd.create_dynamics("rnea", robot)
loop = ControlLoop.from_settings(make_loop_settings(FileParameters({}, loop_default_values(robot)), dynamics))
made = rig.assemble()  # as the simulator has it
made.command(made.plant.dynamics.gravity(made.plant.q))
made.advance(100)
ran = run_until_fault(rig, rd.create_dynamics(rig.dynamics, robot, **rig.parameters), loop, None, 0.1)
print(json.dumps([ran.compiled, ran.trial.truth.values["q"][-1].tolist()]))
"""

MISSING = re.compile(r"CasADi is not installed: \S*python\S* -m pip install casadi \(.+\)$", re.MULTILINE)
"""How a line ends that says what is wrong without CasADi."""


def robodyn(cache: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """The command, as a process with a cache of its own."""
    env = {**os.environ, "XDG_CACHE_HOME": str(cache), "COLUMNS": "80", **environment}
    return fork_server.robodyn("compile", *arguments, env=env)


def python(
    cache: Path, script: str, *arguments: str, cwd: Path | None = None, **environment: str
) -> subprocess.CompletedProcess[str]:
    """A script, as a process with a cache of its own."""
    env = {**os.environ, "XDG_CACHE_HOME": str(cache), **environment}
    command = [sys.executable, "-c", script, *arguments]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, env=env, timeout=100, check=False)


def answers(cache: Path, *missing: str, script: str = SCRIPT) -> subprocess.CompletedProcess[str]:
    """Dynamics of the PRR in a process that misses a compiler, CasADi, or the processor that compiled."""
    states = [json.dumps(STATES.tolist())] if script is SCRIPT else []
    environment = {"PATH": "/nonexistent", "CC": ""} if "compiler" in missing else {}
    return python(cache, script, str(PRR), *states, *missing, **environment)


def share_code(cache: Path) -> None:
    """Have an empty cache take C code that is compiled from the run's own: what is in it by name stays its own."""
    own, shared = cache / "robodyn_ros", cache_folder() / "code"
    for folder in (own, shared):
        folder.mkdir(mode=0o700, exist_ok=True)
    (own / "code").symlink_to(shared)


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache that the command has filled, and that was copied from where it was made."""
    made, copied = tmp_path_factory.mktemp("made"), tmp_path_factory.mktemp("copied")
    share_code(made)
    done = robodyn(made, str(PRR), "--dynamics", "rnea,lagrangian", "--batch")
    assert done.returncode == 0, done.stderr
    shutil.copytree(made / "robodyn_ros", copied / "robodyn_ros", ignore=shutil.ignore_patterns("code"))
    (copied / "listed").write_text("\n".join(sorted(path.name for path in (copied / "robodyn_ros").iterdir())))
    return copied


@pytest.fixture(scope="module")
def expected(filled: Path) -> dict[str, list[object]]:
    """What a process with everything answers."""
    done = answers(filled)
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


def test_everything_was_compiled_ahead(filled: Path, expected: dict[str, list[object]]) -> None:
    """Nothing came to the cache when it was used; and the answers are right."""
    assert len(expected) == 2 * 6 + 4
    stored = sorted(path.name for path in (filled / "robodyn_ros").iterdir())
    assert len(stored) >= 2 * (2 * 2 * len(CONTRACT) + 2)  # each with its checksum
    assert stored == (filled / "listed").read_text().split("\n")
    assert {"core", "runner"} <= {name.split("-")[0] for name in stored}
    dynamics = rd.create_dynamics("rnea", rd.load_robot(PRR), armature=(0.1, 0.2, 0.3), compiled=False)
    for found in (expected["inverse kinematics"][0], expected["inverse kinematics"][1][-1]):
        assert_allclose(found, [0.6, 0.8, -0.5], atol=1e-6)
    assert_allclose(expected["rnea inverse"][1], dynamics.inverse(*STATES), rtol=1e-12)


def test_what_was_compiled_elsewhere_runs(filled: Path, expected: dict[str, list[object]]) -> None:
    """One state and many, the very same numbers, and not a word about what is missing."""
    done = answers(filled, "compiler", "CasADi")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == expected
    assert done.stderr == ""


@pytest.mark.thorough
def test_without_the_loops_many_states_run_one_by_one(tmp_path: Path, expected: dict[str, list[object]]) -> None:
    assert robodyn(tmp_path, str(PRR), "--dynamics", "rnea,lagrangian").returncode == 0
    done = answers(tmp_path, "compiler", "CasADi")
    assert done.returncode == 0, done.stderr
    for name, (one, many) in json.loads(done.stdout).items():
        assert one == expected[name][0]
        assert_allclose(many, expected[name][1], rtol=1e-12, atol=1e-12)
    assert done.stderr == "", "few states need no loop"
    many = answers(tmp_path, "compiler", "CasADi", script=MANY)
    assert many.returncode == 0, many.stderr
    assert "inverse_batch" in many.stderr


@pytest.mark.parametrize("missing", [("compiler", "CasADi"), ("CasADi", "processor")], ids=" and ".join)
def test_without_casadi_nothing_else_runs_and_the_error_says_what_to_do(
    filled: Path, tmp_path: Path, missing: tuple[str, ...]
) -> None:
    """An empty cache, or one that another processor's code is in."""
    done = answers(filled if "processor" in missing else tmp_path, *missing)
    assert done.returncode == 1
    last = done.stderr.strip().splitlines()[-1]
    assert "NotReadyError: inverse of this arm cannot run: the cache folder holds nothing" in last
    assert "`robodyn compile`" in last
    assert MISSING.search(last)
    assert "ModuleNotFoundError" not in done.stderr


def test_without_casadi_a_verb_that_needs_it_says_in_one_line_how_to_install_it(tmp_path: Path) -> None:
    arm = str(PRR)
    lines = [["export", arm, "--language", "c"], ["plan", arm, "--to", "0.5,1,-0.5"], ["bench", arm]]
    program = "import sys; sys.modules['casadi'] = None\nfrom robodyn_ros.cli.main import main\n"
    program += f"sys.exit([main(line) for line in {lines}] != [2, 2, 2])"
    done = python(tmp_path, program)
    said = done.stderr.splitlines()
    assert (done.returncode, done.stdout, len(said)) == (0, "", len(lines))
    assert all(map(MISSING.search, said))


@pytest.mark.parametrize("words", [["--language", "c"], ["--ros2-control", "prr_controller"]], ids=" ".join)
def test_without_casadi_an_export_that_was_written_before_is_written_again(words: list[str], tmp_path: Path) -> None:
    texts = []
    for place, missing in (("there", ""), ("here", "sys.modules['casadi'] = None; ")):
        shutil.copy(PRR, tmp_path / f"{place}.urdf")
        (tmp_path / place).mkdir()
        program = f"import sys; {missing}from robodyn_ros.cli.main import main; sys.exit(main())"
        line = ["export", str(tmp_path / f"{place}.urdf"), *words]
        done = python(tmp_path / "cache", program, *line, cwd=tmp_path / place)
        assert (done.returncode, done.stderr) == (0, "")
        written = (path for path in (tmp_path / place).rglob("*") if path.is_file())
        texts.append({str(path.relative_to(tmp_path / place)): path.read_text() for path in written})
    assert texts[0] == texts[1] != {}
    line += ["-p", "state_timeout:=0.07"] if "--ros2-control" in words else ["--of", "energy"]
    done = python(tmp_path / "cache", program, *line, cwd=tmp_path)
    assert done.returncode == 2, "another export is not in the cache"
    assert done.stderr.startswith("error: ")
    assert MISSING.search(done.stderr)
    assert done.stderr.count("\n") == 1


@pytest.mark.thorough
def test_a_sweep_runs_what_was_compiled_elsewhere(tmp_path: Path) -> None:
    names = ",".join((*CONTRACT, LOOPS, STEP, TRIALS))
    done = robodyn(tmp_path, str(PRR), "--of", names)
    assert done.returncode == 0, done.stderr
    # First without, because with a compiler it would put into the cache what is not there.
    without, whole = (answers(tmp_path, *missing, script=TRIAL) for missing in (("compiler", "CasADi"), ()))
    assert without.returncode == 0, without.stderr
    assert json.loads(without.stdout) == json.loads(whole.stdout)
    assert json.loads(without.stdout)[0]
    assert without.stderr == ""


LAW = """
import sys
import robodyn_ros as rd
from robodyn_ros.control.loop import ControlLoop
from robodyn_ros.planning.mpc import MPCSettings
from robodyn_ros.plugins import load
robot = rd.load_robot(sys.argv[1])
config = MPCSettings(budget=60.0)  # however slow the machine is
law = load("controllers", "mpc")(rd.create_dynamics("rnea", robot), 10.0, 5.0, config=config)
loop = ControlLoop(law, robot.effort_limit)
for k in range(3):
    assert loop.update(0.001 * k, 0.001 * k, [0.3, -0.9, 0.4], [0.0] * 3).effort is not None
assert law.solved, law.report()
"""


def test_the_law_mpc_is_compiled_ahead(tmp_path: Path) -> None:
    share_code(tmp_path)
    done = robodyn(tmp_path, str(PRR), "--of", "step", "--controller", "mpc")
    assert done.returncode == 0, done.stderr
    listed = sorted(path.name for path in (tmp_path / "robodyn_ros").iterdir())
    ran = answers(tmp_path, "compiler", script=LAW)
    assert ran.returncode == 0, ran.stderr
    assert ran.stderr == ""
    assert sorted(path.name for path in (tmp_path / "robodyn_ros").iterdir()) == listed


@pytest.mark.parametrize("observe", ["joints", "tool"])
def test_what_observes_contacts_is_compiled_ahead(observe: str) -> None:
    """Without a compiler and CasADi, a controller with ``contact.observe`` could not be configured."""
    arm = rd.create_dynamics("rnea", rd.load_robot(PRR))
    jobs = {job.wanted.key for job in find_jobs(arm.robot, [("rnea", arm)], "contact", False, ["hand"])}
    values = FileParameters({"contact.observe": observe, "tool": "hand"}, loop_default_values(arm.robot))
    with only_listed() as found, suppress(NotReadyError):
        contact_of(values, arm)
    assert "contact" in {wanted.name for wanted in found}
    assert {wanted.key for wanted in found} <= jobs


def test_without_a_compiler_an_empty_cache_is_no_error(tmp_path: Path, expected: dict[str, list[object]]) -> None:
    done = answers(tmp_path, "compiler")
    assert done.returncode == 0, done.stderr
    slower, *plants, loop = done.stderr.splitlines()
    assert "no C compiler found" in slower
    assert len(plants) == 2
    assert all(line.startswith("the simulation needs a C compiler, and none was found: install one") for line in plants)
    assert loop.startswith("the control loop needs a C compiler, and none was found: install one")
    found = json.loads(done.stdout)
    assert {*found} == {*expected} - {"control loop", "rnea plant", "lagrangian plant"}
    for name, (one, _) in found.items():
        assert_allclose(one, expected[name][0], rtol=1e-11, atol=1e-11)


def test_the_second_time_everything_was_there(tmp_path: Path) -> None:
    listed = [json.loads(robodyn(tmp_path, str(PRR), "--of", "gravity, inverse", "--json").stdout) for _ in range(2)]
    for round_, report in enumerate(listed):
        assert report["robot"] == "prr"
        assert report["folder"] == str(tmp_path / "robodyn_ros")
        assert [item["function"] for item in report["functions"]] == ["gravity", "inverse"]
        for item in report["functions"]:
            assert item["cached"] == bool(round_)
            assert item["seconds"] > 0
            assert item["dynamics"] == "rnea"
    sizes = sorted(path.stat().st_size for path in (tmp_path / "robodyn_ros").glob("*.so"))
    assert sorted(item["size"] for item in listed[0]["functions"]) == sizes


@pytest.mark.thorough
def test_all_is_every_quantity(tmp_path: Path) -> None:
    report = json.loads(robodyn(tmp_path, str(PRR), "--of", "all", "--batch", "--json").stdout)
    names = [item["function"] for item in report["functions"]]
    quantities = [name for quantity in CompiledDynamics.quantities() for name in (quantity, f"{quantity}_batch")]
    assert names[: len(quantities)] == quantities
    assert {"motion", "trial"} <= set(names)
    assert "kinematics_aligned tool" in names
    assert "kinematics_aligned_batch tool" in names
    assert names[-1] == "inverse_step tool"


def test_the_table_fits_and_names_the_folder(tmp_path: Path) -> None:
    done = robodyn(tmp_path, str(PRR), "--of", "coriolis_matrix", "--dynamics", "lagrangian", "--batch")
    assert done.returncode == 0
    assert done.stderr == ""
    assert str(tmp_path / "robodyn_ros") in done.stdout
    lines = [line for line in done.stdout.splitlines() if str(tmp_path) not in line]
    assert max(map(len, lines)) <= 80
    assert sum("coriolis_matrix" in line and "compiled" in line for line in lines) == 2


@pytest.mark.parametrize(
    ("compiler", "message"),
    [
        ("no-such-compiler", "there is no C compiler here"),
        ('"', "is not a command"),
    ],
)
def test_what_cannot_be_done_is_one_line(tmp_path: Path, compiler: str, message: str) -> None:
    done = robodyn(tmp_path, str(PRR), CC=compiler)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1
