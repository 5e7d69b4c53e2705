# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A mistake in a command line, of any verb: one line says what would be right, exit code 2, and nothing is written."""

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from robodyn_ros.cli.main import VERBS
from robodyn_ros.errors import pip_install

PRR = str(Path(__file__).parents[1] / "urdf" / "prr.urdf")

MISTAKES = {
    "--hepl": "unrecognized arguments: --hepl (is it '--help'?)",
    "bench": "robodyn bench --computer",
    "bench PRR --rounds 0": "--rounds",
    "bench PRR --rate 1000": "--rate: is of use with --computer only",
    "bench --computer --rounds 3": "--rounds: is of use without --computer only",
    "bench PRR --dynamics rrnea": "available: lagrangian, rnea",
    "bench --computer --joints a": "--joints: is of use with an arm only",
    "bench --computer --rate 0": "--rate",
    "bench --computer --seconds -1": "--seconds",
    "check PRRf": "prr.urdff: cannot be read: No such file or directory (is it 'prr.urdf'?)",
    "check PRR side=left": "side=left; an argument of a .xacro file is NAME:=VALUE",
    "check PRR --at 1,2": "--at",
    "check PRR --at x=": "--at",
    "check PRR --at =1,2,3": "--at",
    "check PRR --at 0,9,0": "--at",
    "commission PRR -p sped_limit:=0.1": "'sped_limit' (is it 'speed_limit'?)",
    "commission PRR -p commissioner:overspeed:=0.5": "there is no such parameter any more: use 'speed_limit'",
    "commission PRR -p speed_limit:=fast": "speed_limit: must be within [0.01, 10]",
    "compare PRR --controller free_drive": "follows no reference",
    "compare PRR --controller ,": "names none",
    "compare PRR --controller nobody": "unknown",
    "compare PRR --friction 2": "unrecognized arguments: --friction",
    "compare PRR --rate 0": "--rate: must be above 0 and at most 100000, not 0",
    "compare PRR --natural-frequency -1": "--natural-frequency: must not",
    "compare PRR -p dynamics:=magic": "dynamics plugin 'magic': unknown (available: lagrangian, rnea)",
    "compare PRR --mass-scale 0": "error: --mass-scale: must be within [0.01, 100], not 0.0",
    "compare PRR --controller pd --plot laws.nothing": "--plot",
    "compare PRR -p 'simulator:gravity:=[0.0, 0.0, -1.6]'": "is used here is named 'simulator:gravity'",
    "compare PRR -p seed:=3": "is named 'seed'\n",
    "compare PRR -p gains.wrist.dampng_ratio:=1": "(is it 'gains.wrist.damping_ratio'?)",
    "compile PRR --dynamics kane": "--dynamics: must be one of lagrangian, rnea, not 'kane'",
    "compile PRR --dynamics ,": "--dynamics: name at least one of lagrangian, rnea",
    "compile PRR --tool hnd": "error: --tool: 'hnd' is not in the robot",
    "compile PRR --of gravity --tool hand": "--tool: is of use with --of tool or contact only",
    "compile PRR --of gravity --controller pd": "--controller: is of use with --of step only",
    "compile PRR --of gravty": "(is it 'gravity'?)",
    "contact PRR none.csv": "none.csv",
    "contact PRR none.csv --gain 0": "--gain",
    "contact PRR none.csv --tool hnd": "error: --tool: 'hnd' is not in the robot",
    "demo --controller ,": "error: --controller: name at least one of adaptive, ",
    "demo --plot PRR/demo.png": "demo.png' cannot be written",
    "demo --plot demo.gif": "error: --plot: must end in .png, .svg or .pdf, not '.gif'",
    "demo --speed 5": "error: argument --speed: must be a number from 0.1 to 1.2, not '5'",
    "demo --speed nan": "error: argument --speed: must be a number from 0.1 to 1.2, not 'nan'",
    "demo --speed fast": "error: argument --speed: must be a number from 0.1 to 1.2, not 'fast'",
    "demo --view 65536": "error: cannot listen at 127.0.0.1:65536: bind(): port must be 0-65535",
    "demo -p simulator:integrater:=rk4": "'integrater' (is it 'integrator'?)",
    "demo --controller pd,computed_torqe": "(is it 'computed_torque'?)",
    "demo --qqq": "--qqq; robodyn demo --help lists the options, and -p NAME:=VALUE gives a parameter",
    "derive PRR --of ,": "--of: name at least one of arm, frames",
    "derive PRR --of pose": "--of: pose is a step with --at POSE only",
    "derive PRR --velocity 1,1,1": "--velocity: is of use with --at only",
    "derive PRR --format word": "--format: must be one of text, markdown, html, latex, pdf, json, not 'word'",
    "derive PRR --out arm.doc": "--out: 'arm.doc' ends in none of .txt, .md, .html, .tex, .pdf, .json",
    "derive PRR --out PRR/arm.md": f"--out: '{PRR}/arm.md' cannot be written: {PRR} is no folder",
    "derive PRR --at 0.1,0.2": "--at: '0.1,0.2' is neither 3 positions (elevator, shoulder, wrist)",
    "derive PRR --gravity 0 0 nan": "--gravity: must be 3 finite numbers",
    "derive PRR --of lagrangean": "(is it 'lagrangian'?)",
    "excite PRR --from HOEM": "error: --from: 'HOEM' is neither",
    "excite PRR --gravity 0 0 -60": "error: start: is beyond the limits: effort of joint 'elevator' is at",
    "excite PRR --floor nan": "error: --floor: has a bound that is no number",
    "excite PRR --box 0 0 0 1 1 1 --floor 2": "error: --box and --floor: has nothing between",
    "excite PRR --floor 3": "error: --floor: is beyond the limits: place of link 'carriage'",
    "excite arm.urdf --params arm.yaml": "its settings are options: robodyn excite --help",
    "excite PRR --velocity-ratio 3": "--velocity-ratio: must be within",
    "excite PRR --from 9,0,0": "--from: is beyond the limits",
    "export nowhere.urdf --language c": "nowhere.urdf: cannot be read: No such file",
    "export PRR --language c --dynamics magic": "dynamics plugin 'magic': unknown",
    "export PRR --language c --gravity 0 0 nan": "--gravity: must be 3 finite numbers",
    "export PRR --language c --out arm.py": "--out: 'arm.py' is neither a folder nor a file that ends in .c or .h",
    "export PRR --language c --out PRR/a.c": f"--out: '{PRR}/a.h' cannot be written: {PRR} is no folder",
    "export PRR --language c --params prr.yaml": "--params: is of use with --of step",
    "export PRR --language c --controller pd": "--controller: is of use with --of step",
    "export PRR --language python --real float": "--real: is of use with --language c only",
    "export PRR --language c --maintainer-name Ada": "--maintainer-name: is of use with --ros2-control only",
    "export PRR --ros2-control package --language c": "--language: is of use without --ros2-control",
    "export PRR --ros2-control package --params none.yaml": "parameter file: none.yaml cannot be read",
    "export PRR --language latex --dynamics lagrangian": "--dynamics: is of use with --language c or python only",
    "export PRR --language latex --of forward": "quantity: 'forward' has no closed form to read",
    "export PRR --language pyton": "(is it 'python'?)",
    "export PRR --language c --of step -p state_timeoute:=1": "(is it 'state_timeout'?)",
    "help simulat": "is it 'simulate'?",
    "identfy a.csv": "there is no verb 'identfy' (is it 'identify'?)",
    "identify PRR none.csv --payload-link hnd": "error: --payload-link: 'hnd' is not in the robot",
    "identify PRR a.csv --joint-states left/joint_states": "--joint-states: is of use with a bag only",
    "identify PRR a.csv --validate b.csv --times received": "--times: is of use with a bag only",
    "plan PRR": "--to",
    "plan PRR --to PICK --to-tool 1,0,1": "--to, --to-tool: give one of the two",
    "plan PRR --to-tool 1,x": "x,y,z",
    "plan PRR --to PICK --cost money": "money",
    "plan PRR --to PICK --method time-scaling --cost effort": "--method",
    "plan PRR --to PICK --plot plan.gif": ".png",
    "plan PRR --to PICK --out PRR/plan.json": "prr.urdf is no folder",
    "plan PRR --to PICK --obstacles none.yaml": "none.yaml",
    "plan PRR --to PICK --limit-ratio 2": "--limit-ratio",
    "plan PRR --to PICK --margin 0.1": "--margin: is of use with --obstacles only",
    "plan PRR --to PICK --method time-scaling --limit-margin 0.1": "is of use with --method collocation only",
    "plan PRR --to PICK --limit-margin inf": "--limit-margin: must be a finite number from 0 up, not inf",
    "plan PRR --to HOEM": "(is it 'HOME'?)",
    "plan PRR --to HOME --via CLIM": "error: --via: 'CLIM' is neither",
    "plan PRR --to HOME --tool hand": "--tool: is of use with --to-tool or --payload only",
    "plan PRR --to HOME --payload 1 --tool hnd": "error: --tool: 'hnd' is not in the robot",
    "plan PRR --to HOME --cost time+0.1*efort": "(is it 'effort'?)",
    "plan PRR --to elevater=0.3": "'elevater' is no joint (is it 'elevator'?)",
    "plan arm.urdf --time-limt=3": "--time-limt=3 (is it '--time-limit'?)",
    "plan arm.urdf -p margn:=0.1": "its settings are options (is it '--margin'?)",
    "plan arm.urdf -p tolerence=1": "its settings are options: robodyn plan --help",
    "plan arm.urdf -p=limit_margn=1": "its settings are options (is it '--limit-margin'?)",
    "qqqq": "the verbs are demo, simulate",
    "plugins --colour": "unrecognized arguments: --colour",
    "plugins dynamcs": "(is it 'dynamics'?)",
    "simulate PRR --accept repired_inertia": "(is it 'repaired_inertia'?)",
    "simulate PRR --dur 1": "unrecognized arguments: --dur",
    "simulate PRR --format csv": "--format: is of use with --out only",
    "simulate PRR --out run.xls": ".mcap",
    "simulate PRR --out PRR/run.csv": "prr.urdf is no folder",
    "simulate PRR --plot run.gif": "--plot",
    "simulate PRR --to 1,2": "elevator, shoulder, wrist",
    "simulate PRR --to elbow=1": "elbow=1",
    "simulate PRR --to 9,0,0": "--to: joint 'elevator' at 9 is outside its limits [0, 2.1] m",
    "simulate PRR --to 0,45,0": "--to: joint 'shoulder' at 45 is outside its limits [-2, 2] rad",
    "simulate PRR --to shoulder=1 --duration 9 -p controller:velocity_limits.shoulder:=0.01": "limits [-0.01, 0.01]",
    "simulate PRR --to elevator=1 --duration 0.5": "--duration: is too short for this motion: trajectory, speed from "
    "the arm to its points: joint 'elevator' at 3.75 is outside its limits [-2, 2] m/s",
    "simulate PRR --controller none -p controller:state_timeout:=1": "is named 'controller:state_timeout'",
    "simulate PRR --controller none --tour": "--controller",
    "simulate PRR --duration -1": "--duration",
    "simulate PRR --duration -1 --to 0.5,1,0": "--duration: must be above 0 s",
    "simulate PRR --duration 0.1 --out .": "not overwritten",
    "simulate PRR --params none.yaml": "none.yaml",
    "simulate PRR -p seed:=much": "seed",
    "simulate PRR -p controller:faults.speed.reaction:=panic": "faults.speed.reaction",
    "simulate PRR -p command_delay:=9.0": "command_delay",
    "simulate PRR -p controller:effort_limits.elevator:=150.0": "150 N is below what holds the arm: gravity takes 196",
    "simulate PRR -p effort_limits.wrist:=500": "effort_limits.wrist: must be within [0, 36], not 500",
    "simulate PRR -p velocity_limits.wrist:=fast": "velocity_limits.wrist: must be within [0, 8], not 'fast'",
    "simulate PRR -p simulator:gravity:=9.81": "gravity: must be 3 finite numbers [m/s²], not (9.81,)",
    "simulate PRR -p initial_position.wrist:=up": "initial_position.wrist: must be real numbers",
    "simulate PRR -p initial_position.wrist:=9.0": "initial_position: joint 'wrist' at 9 is outside its limits",
    "simulate PRR -p state_rate:=300.0": "take 333.333333333 Hz, or a step of 0.000833333333333 s",
    "simulate PRR -p simulator:sede:=3": "'sede' (is it 'seed'?)",
    "simulate PRR -p robot:seed:=3": "named 'robot:seed'",
    "simulate PRR -p controller:seed:=3": "named 'controller:seed'\n",
    "simulate PRR -p tolerence=1": "'tolerence' (is it 'following_tolerance'?)",
    "simulate PRR -p integrator:=rk44": "(is it 'rk4'?)",
    "simulate PRR --controller impedence": "(is it 'impedance'?)",
    "simulate PRR --joints wirst": "(is it 'wrist'?)",
    "simulate PRR --tip hnd": "error: --tip: 'hnd' is not in the robot",
    "simulate PRR --lock wrist": "--lock: must be a joint's name and its position",
    "simulate PRR --lock wrist=2.2": "error: --lock: joint 'wrist'",
    "simulate PRR --lock wirst=0.1": "error: --lock: 'wirst' is not in the robot",
    "simulate PRR --to shoulder=nan": "--to: the position of 'shoulder' must be a finite number, not 'nan'",
    "simulate PRR --to 0.3,l,0": "--to: the position of 'shoulder' must be a finite number, not 'l'",
    "simulate PRR -p controller.state_timeout=3": "(is it 'controller:state_timeout'?)",
    "simulate PRR --to shoulder=-1,0.5": "nor joint=position of some of them, each once",
    "simulate PRR --to shoulder=-1,wrist=": "nor joint=position of some of them, each once",
    "simulate PRR --to shoulder=-1,shoulder=0.5": "nor joint=position of some of them, each once",
    "simulate PRR --to shouldr=1,wrist=0": "'shouldr' is no joint (is it 'shoulder'?)",
    "simulate arm.urdf --controler pd": "--controler pd (is it '--controller'?)",
    "teach PRR --play a.json --recording a.csv": "--recording: is of use without --play only",
    "teach PRR --recording a.csv --controller pd": "--controller: is of use without --recording only",
    "teach PRR --recording a.csv --speed 2": "--speed: is of use with --play only",
    "teach PRR --recording a.csv -p tolerence:=1": "'tolerence' (is it 'tolerance'?)",
    "validate PRR --states 0": "states: must be a whole number within [1,",
    "validate PRR --step 0.0003": "step: must go into 0.001 s",
    "view PRR -p simulator:sede:=3": "'sede' (is it 'seed'?)",
    "view nowhere.urdf": "error: nowhere.urdf: cannot be read",
    "view --namespace left": "--namespace: is of use with --attach only",
    "view --attach arm.urdf": "error: --attach: takes the arm from the topic robot_description",
    "view --attach -p damping:=1.0 --controller pd --joints a": "error: --joints: is of use without --attach",
    "view PRR --controller impedence": "(is it 'impedance'?)",
    "view PRR --dynamics lagrangean": "(is it 'lagrangian'?)",
    "workspace PRR --out map.png": "must end in .ply (a picture: --plot)",
    "workspace PRR --plot map.txt": "must end in .png, .svg or .pdf",
    "workspace PRR --plot map.png --of beauty": "must be one of manipulability, payload",
    "workspace PRR --samples 0": "--samples: must be from 1 to 1000000000, not 0",
    "workspace PRR --samples 99999999999999999999": "--samples: must be from 1 to 1000000000, not 9999",
    "workspace PRR --cell 3e-4 --samples 100": "--cell: 0.0003 m makes more than 1e+07 cells in a plane",
    "workspace PRR --cell 0": "--cell: must be a length above 0 m, not 0",
    "workspace PRR --cell inf": "--cell: must be a length above 0 m, not inf",
    "workspace PRR --payload -1": "--payload: must be 0 kg or more, not -1",
    "workspace PRR --plane xx": "two of x, y, z",
    "workspace PRR --plane=": "two of x, y, z",
    "workspace PRR --plane xz --slice -1": "--slice: must be a length above 0 m, not -1",
    "workspace PRR --samples 5000 --cell 0.1 --plot PRR/map.png": "cannot be written",
    "workspace PRR --samples 5000 --cell 0.1 --out PRR/map.ply": "cannot be written",
    "workspace PRR --out cloud.ply --slice 0.1": "--slice: is of use with --plot only",
    "workspace PRR --tool hnd": "error: --tool: 'hnd' is not in the robot",
}
"""Command line → part of its error message."""


@pytest.mark.parametrize("line", MISTAKES)
def test_a_mistake_is_one_line_and_exit_code_2(line, tmp_path, monkeypatch, command):
    words = shlex.split(line.replace("PRR", PRR))
    monkeypatch.chdir(tmp_path)
    if words[0] == "demo":
        monkeypatch.setattr(subprocess, "Popen", None)  # it is found before anything starts
    code, out, err = command(*words)
    assert (code, out) == (2, "")
    assert MISTAKES[line] in err
    *usage, last = err.splitlines()
    if usage:  # of argparse
        program = f"robodyn {words[0]}" if words[0] in VERBS else "robodyn"
        assert usage[0].startswith(f"usage: {program} ") and last.startswith(f"{program}: error: ")
    else:
        assert last.startswith("error: ")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "line",
    [
        "simulate ARM --duration 0.02 --plot full.png",
        "excite ARM --tries 1 --harmonics 2 --periods 1 --out full.json",
        "workspace ARM --samples 500 --out full.ply",
        "check ARM --repair full.urdf",
    ],
)
def test_a_file_that_cannot_be_written_to_its_end_is_one_line(line, tmp_path, monkeypatch, command):
    *_, option, name = line.split()
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).symlink_to("/dev/full")
    err = command.error(*line.replace("ARM", PRR.replace("prr", "r")).split())
    assert err.endswith(f"error: {option}: '{name}' cannot be written: No space left on device\n")


@pytest.mark.parametrize(
    "line",
    [
        "check arm.urdf --repair arm.urdf",
        "check link.urdf --repair arm.urdf",
        "contact arm.urdf free.csv --params arm.yaml --out arm.yaml",
        "excite arm.urdf --out ./arm.urdf",
        "plan arm.urdf --to 1 --obstacles arm.yaml --out arm.yaml",
        "teach arm.urdf --recording free.csv --out free.csv",
        "tune arm.yaml --out arm.yaml",
    ],
)
def test_a_file_that_is_read_is_not_overwritten(line, tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    for name in ("arm.urdf", "arm.yaml", "free.csv"):
        Path(name).write_text(name)
    Path("link.urdf").symlink_to("arm.urdf")
    *_, option, name = line.split()
    assert command.error(*line.split()) == f"error: {option}: '{Path(name)}' is read here, and not overwritten\n"
    assert Path(name).read_text() == Path(name).name


@pytest.mark.parametrize("line", ["plan PRR --to PICK --view 0", "view PRR --port 0", "demo --view 0"])
def test_a_missing_viewer_is_said_before_the_work(line, monkeypatch, command):
    monkeypatch.setitem(sys.modules, "viser", None)
    monkeypatch.setattr(subprocess, "Popen", None)
    monkeypatch.setattr("robodyn_ros.cli.plan._solve", None)
    said = f"error: the viewer needs viser: {pip_install('robodyn_ros[viewer]')}\n"
    assert command.error(*line.replace("PRR", PRR).split()) == said
