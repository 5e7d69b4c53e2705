# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A controller of ros2_control that the export writes.

Its core is the one of the node, so what is held here is what is the export's own: settings of parameters, the C++
around the core, words, and the final command to the drives. The C++ is compiled against the small declarations in
``ros2_control_declarations/``.
"""

import ctypes
import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

import arms
import industrial
import numpy as np
import pytest
import yaml
from exported_arm import BLIND, KEEP, SEND, ExportedArm, library
from heap import heap_size
from once import kept_folder, once
from scipy.spatial.transform import Rotation

import robodyn_ros as rd
from robodyn_ros.about import COPYRIGHT, LICENCE
from robodyn_ros.cli.main import main
from robodyn_ros.control import ControlLoop, Reference, Trajectory, loop, running_core
from robodyn_ros.control.export.controller_parameters import known_defaults
from robodyn_ros.control.export.ros2_control import ExportedFiles, export_package, with_mock_hardware, write_package
from robodyn_ros.control.faults.table import REACTIONS
from robodyn_ros.control.limits import RISE, StaticLoad
from robodyn_ros.control.loop_settings import make_loop_settings, model_parameters, with_streams
from robodyn_ros.control.motion.streams import StreamedTool
from robodyn_ros.control.parameter_file import FileParameters
from robodyn_ros.dynamics.sensitivity import sensitivity_parameters
from robodyn_ros.errors import ConfigurationError, InputError, RobodynError
from robodyn_ros.kinematics import Kinematics
from robodyn_ros.settings import parameter_specs

HERE = Path(__file__).parent
DECLARATIONS, TF = HERE / "ros2_control_declarations", HERE / "tf2_declarations"
WARNINGS = ("-Wall", "-Wextra", "-Wpedantic", "-Werror")
SANITIZERS = ("-O0", "-g1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
"""They find at least as much in code that is not optimised, which compiles in a third of the time."""

PERIOD = 0.001
PACKAGE = "some_arm_controllers"

(
    NOTHING,
    REFERENCE,
    TRAJECTORY,
    HOLD,
    CHANGE,
    PUBLISHERS,
    CHAINED,
    CYCLE,
    POSE,
    TWIST,
    WRENCH,
    TARE,
    SPEED,
    STOPPED,
    HALTED,
) = range(15)
"""What is asked of the arm before an update, as in exported_controller.cpp."""

FELT = {"contact.observe": "tool"}
"""What is compiled for the tests that need no more than some arm."""

PRR = re.sub('effort="[^"]*"', 'effort="300"', arms.PRR)
SLIDE = arms.mechanism("P", (3.1,))
TURNING = arms.mechanism("PRR", (11, 2.5, 1.6), (1, 0.4, 0.3), (0.1, 0.2, 0.13)).replace("revolute", "continuous")


class Exported(NamedTuple):
    """A package that is compiled, and what it was written with."""

    program: Path
    urdf: str
    given: dict[str, Any]
    law: str
    frozen: set[str]  # first words of the names of parameters that are fixed


def given_for(robot: rd.Robot, rng: np.random.Generator) -> dict[str, Any]:
    """Parameters that make faults, limits, ramps and blends frequent."""
    given: dict[str, Any] = {
        "blend_time": 0.03, "soft_limit_margin": 0.3,
        "stream.timeout": 0.1,
        "settled_time": 0.2, "state_timeout": 0.03, "following_tolerance": 0.6, "cmd_timeout": 0.3,
        "externally_supported": True, "plausibility": True, "constraints.goal_time": 0.2,
        "constraints.stopped_velocity_tolerance": 0.5,
        "faults.speed.max_duration": 0.1, "faults.states.max_duration": 0.05, "faults.law.reaction": "damp",
        "faults.following.max_duration": 0.15,
        "faults.publisher.reaction": "damp", "faults.publisher.max_duration": 0.08,
        "gravity": [0.3, -0.2, -9.7],
        "contact.observe": "joints", "contact.gain": 20.0, "contact.touch_wrench": [400.0, 150.0],
        "contact.collision_wrench": [900.0, 0.0], "contact.energy": 9.0, "faults.collision.reaction": "float",
        "faults.collision.max_duration": 0.1, "faults.touch.reaction": "retreat", "faults.touch.max_duration": 0.2,
    }  # fmt: skip
    for index, joint in enumerate(robot.joints):
        effort = float(min(joint.effort, 300.0))
        given |= {
            f"effort_limits.{joint.name}": effort * rng.uniform(0.5, 1.0),
            f"effort_rate_limits.{joint.name}": effort * 20.0,
            f"velocity_limits.{joint.name}": min(joint.velocity or 3.0, 2.0 + 0.3 * index),
            f"gains.{joint.name}.natural_frequency": 7.0 + index,
            f"gains.{joint.name}.damping_ratio": 0.9 + 0.05 * index,
            f"gains.{joint.name}.integral_rate": 0.5 * index,
            f"constraints.{joint.name}.trajectory": 0.2 + 0.1 * index,
            f"constraints.{joint.name}.goal": 0.05,
            f"contact.{joint.name}.touch": effort * 0.6,
            f"contact.{joint.name}.collision": effort * 1.2,
            f"constraints.{joint.name}.max_deceleration_on_cancel": 4.0 + index if index else 0.0,
        }
    return given


def exported(urdf: str, given: dict[str, Any], law: str, package: str = PACKAGE) -> ExportedFiles:
    robot = rd.load_robot(urdf)
    return export_package(rd.create_dynamics("rnea", robot), given, law, package, urdf)


def lines_of(values: dict[str, Any]) -> str:
    """Parameters as the declarations read them."""
    kinds = {float: "double", int: "int", bool: "bool", str: "string"}
    lines = []
    for name, value in values.items():
        if isinstance(value, list):
            kind = "double_array" if value and not isinstance(value[0], str) else "string_array"
        else:
            kind = kinds[type(value)]
        parts = value if isinstance(value, list) else [value]
        texts = [str(part).lower() if isinstance(part, bool) else str(part) for part in parts]
        lines.append("\t".join([name, kind, *texts]))
    return "".join(f"{line}\n" for line in lines)


def flat(tree: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """The entries of a parameter file of generate_parameter_library, by name."""
    found: dict[str, Any] = {}
    for name, part in tree.items():
        if "type" in part and not isinstance(part["type"], dict):
            found[prefix + name] = part
        else:
            found |= flat(part, f"{prefix}{name}.")
    return found


def build(
    folder: Path,
    urdf: str,
    given: dict[str, Any],
    law: str = "computed_torque",
    flags: tuple[str, ...] = ("-O1",),
    name: str = PACKAGE,
    target: str = "",
    alone: bool = False,
) -> Exported:
    """Write a package, compile it with warnings as errors, by a cross compiler if its prefix is given, and a program
    around it unless ``alone``.
    """
    package, objects_folder = folder / name, kept_folder("test-objects")
    files = exported(urdf, given, law, name)
    write_package(package, files)
    entries = flat(
        yaml.safe_load((package / "config/parameters.yaml").read_text(encoding="utf-8"))[f"{name}_parameters"]
    )
    defaults = {name: entry["default_value"] for name, entry in entries.items() if "default_value" in entry}
    (folder / "parameters.txt").write_text(lines_of(defaults), encoding="utf-8")
    header = package / "build" / name / f"{name}_parameters.hpp"
    header.parent.mkdir(parents=True)
    lines = (
        f"#define PARAMETERS_NAMESPACE {name}_parameters",
        '#include "parameters.hpp"',
        "#undef PARAMETERS_NAMESPACE",
    )
    header.write_text("\n".join(lines) + "\n", encoding="utf-8")
    places = (f"-I{DECLARATIONS}", f"-I{TF}", f"-I{package / 'build'}", f"-I{package / 'src'}")
    counts = () if any("sanitize" in flag for flag in flags) else ("-DCOUNT_CALLS",)
    c = (f"{target}gcc", "-std=c11", "-fvisibility=hidden", "-fPIC", "-Wno-psabi", *flags)
    cpp = (f"{target}g++", "-std=c++17", "-fPIC", *flags)
    own_text = {"parameters.c"}  # arm_loop.c includes it
    sources_in_c = [path for path in sorted((package / "src").glob("*.c")) if path.name not in own_text]
    objects = [compiled(objects_folder, *c, source=path) for path in sources_in_c]
    own, sources = HERE / "exported_controller.cpp", [package / f"src/{part}.cpp" for part in ("controller", "topics")]
    objects += [compiled(objects_folder, *cpp, places=places, source=source) for source in sources]
    run(*cpp, "-shared", *objects, "-o", folder / "arm.so")
    program = folder / "arm"
    if not alone:
        objects.append(compiled(objects_folder, *cpp, places=(*places, *counts), source=own))
        run(*cpp, *objects, "-o", program, "-ldl", "-lpthread")
    return Exported(program, urdf, given, law, files.frozen)


def compiled(folder: Path, *command: str, source: Path, places: tuple[str, ...] = ()) -> Path:
    """The object file of a source file, compiled once for all that the same compiler reads the same of.

    Most of a package is the same for every law, and much for every arm.
    """
    warned = (*command, *WARNINGS)
    read = run(*warned, *places, "-E", "-P", source)
    key = hashlib.sha256(repr((compiler(command[0]), warned, read)).encode()).hexdigest()
    return once(folder / f"{key}.o", lambda target: run(*warned, *places, "-c", source, "-o", target))


@cache
def compiler(command: str) -> str:
    """What a compiler says that it is."""
    return run(command, "--version")


def run(*command: Any) -> str:
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and not done.stderr, done.stderr[:3000]
    return done.stdout


def settings_of(robot: rd.Robot, dynamics: Any, values: Mapping[str, Any], law: str) -> Any:
    """The settings of the node for the same parameters."""
    named = FileParameters(dict(values), known_defaults(robot, values, law))
    dynamics.configure(**model_parameters(named, robot))
    return with_streams(make_loop_settings(named, dynamics, law), named)


def industrial_arm(name: str) -> str:
    if name in ("prr", "turning"):
        return PRR if name == "prr" else TURNING
    text = industrial.urdfs()[name].read_text(encoding="utf-8")
    return re.sub(r'(<joint name="panda_finger_joint\d" type=)"prismatic"', r'\1"fixed"', text)


class Twins:
    """The exported loop and that of Python, which get the same."""

    def __init__(self, name: str, law: str, given: dict[str, Any] | None = None, seed: int = 1) -> None:
        urdf = industrial_arm(name)
        self.rng, self.law = np.random.default_rng(seed), law
        self.robot = robot = rd.load_robot(urdf)
        self.given = given_for(robot, self.rng) if given is None else given
        self.defaults = known_defaults(robot, self.given, law) | {"on_deactivate": "gravity"}
        # What can be set later need not be in the text, which is compiled once for all that leave it out.
        fixed = {name: value for name, value in self.given.items() if name.startswith(("contact.", "gains."))}
        files = exported(urdf, fixed, law)
        self.frozen = files.frozen
        self.exported = ExportedArm(library(files.texts), robot.n)
        self.dynamics = rd.create_dynamics("rnea", robot)
        self.loop = ControlLoop.from_settings(settings_of(robot, self.dynamics, self.given, law))
        self.exported.apply(self.prepared(self.given))

    def prepared(self, values: Mapping[str, Any]) -> Any:
        settings, problem = self.exported.prepare(finite(self.defaults | dict(values)))
        assert problem == ""
        return settings

    def change(self, values: dict[str, Any]) -> None:
        """Other parameters for both."""
        self.given |= values
        self.loop.apply(settings_of(self.robot, self.dynamics, self.given, self.law))
        self.exported.apply(self.prepared(self.given))

    def update(self, t: float, q: np.ndarray, qd: np.ndarray) -> tuple[int, Any]:
        """A period of both; what the exported loop sends has to be what Python sends, to the last bit."""
        before = self.loop.mode
        try:
            command = self.loop.update(t, t, q, qd)
            is_used = True
        except RobodynError:
            command, is_used = self.loop.watch(t), False
        what = self.exported.update(t, q, qd)
        if command is None:
            assert what != SEND and (is_used or what in (KEEP, BLIND) or before != "waiting")
        else:
            assert what == SEND
            np.testing.assert_array_equal(self.exported.effort, command.effort)
            if command.fault:
                texts = self.exported.fault_words(), f"{command.fault}: {command.problem}"
                told, known = (text.partition(" (latched")[:2] for text in texts)
                assert told == known
        return what, command


def finite(values: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters as ROS has them: a limit that there is not is a great number."""
    return {name: 1e12 if isinstance(value, float) and np.isinf(value) else value for name, value in values.items()}


def attempt(act: Any) -> bool:
    try:
        act()
    except RobodynError:
        return False
    return True


ARMS = ["prr", *(name for name in ("ur5_robot", "panda") if name in industrial.urdfs())]
CASES = [("prr", "computed_torque"), *((name, "impedance") for name in ARMS[1:2]), ("turning", "disturbance_observer")]


@pytest.mark.parametrize(("name", "law"), CASES)
def test_the_loop_is_that_of_the_node_to_the_last_bit(name: str, law: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """States as good as they come, references, trajectories, holds, other settings, faults; gains are not judged."""
    monkeypatch.setattr(running_core, "judged", lambda *_: 1 / 0)
    monkeypatch.setattr(loop, "sampling_problem", lambda *_: ("", ""))
    both = Twins(name, law, seed=2 if law == "impedance" else 1)
    rng, robot, n, t = both.rng, both.robot, both.robot.n, 5.0
    q, qd = robot.home + rng.uniform(-0.1, 0.1, n), np.zeros(n)
    joints = np.ones(n, dtype=np.int64)
    seen: set[Any] = set()
    thrown, silent, speed = 0, 0, np.zeros(n)
    for _ in range(4000):
        before, t = t, round(t + PERIOD, 9)
        chance, other = rng.random(), rng.uniform(-1.0, 1.0, n)
        qd = np.clip(0.98 * qd + 0.06 * rng.uniform(-1.0, 1.0, n), -1.0, 1.0)
        qd, thrown, silent = (speed if thrown else qd), max(thrown - 1, 0), max(silent - 1, 0)
        q = np.clip(q + PERIOD * qd, robot.lower + 0.01, robot.upper - 0.01)
        seen_q, seen_qd = q, qd
        if chance < 0.02:
            rows = np.array([q + 0.06 * other + 9.0 * (other[0] > 0.9), 0.2 * other, other, 3.0 * other])
            taken = both.exported.track(t, joints, rows)
            assert attempt(lambda rows=rows, t=t: both.loop.track(Reference(*rows), t)) == taken
        elif chance < 0.035:
            times = np.cumsum(rng.uniform(0.05, 0.2, 3))
            rows = [q + np.cumsum(0.03 * rng.uniform(-1.0, 1.0, (3, n)), axis=0), 0.2 * rng.uniform(-1.0, 1.0, (3, n))]
            rows[1][-1] *= other[0] < 0.8
            taken, _ = both.exported.follow(times, [*rows, None, None], np.nan, before)
            trajectory = Trajectory(times, *rows)
            assert attempt(lambda trajectory=trajectory: both.loop.follow(trajectory)) == taken
        elif chance < 0.04:
            assert both.exported.hold(t) == attempt(lambda t=t: both.loop.hold(t))
        elif chance < 0.043:
            joint = str(rng.choice(robot.joint_names))
            options: list[dict[str, Any]] = [
                {"blend_time": float(rng.choice([0.0, 0.05]))},
                {"plausibility": bool(other[0] > 0.0), "following_tolerance": float(rng.choice([0.0, 0.3]))},
                {f"gains.{joint}.natural_frequency": float(rng.uniform(4.0, 12.0))},
            ]
            both.change(options[int(rng.integers(3 - ("gains" in both.frozen)))])
        elif chance < 0.046:
            seen_q = q + 0.4 * other  # it jumps
        elif chance < 0.049:
            seen_q = np.where(other > 0.0, q, np.nan)
        elif chance < 0.052:
            seen_qd = 9.0 * other
        elif chance < 0.053:
            t = round(t + 0.035, 9)  # longer than state_timeout
        elif chance < 0.054:
            t, silent = round(t + 0.02, 9), 60
        elif chance < 0.0555:
            thrown, speed = 30, 6.0 * np.sign(other) * (other[0] > other)  # joints are thrown
        _, command = both.update(t, q * np.nan if silent else seen_q, seen_qd)
        seen |= {both.loop.mode, "silent" if command is None else command.fault or "law"}
    assert seen >= {"law", "silent", "speed", "states", "sensor", "touch", "hold", "follow", "track"}


def array_at(address: Any, count: int, kind: type = np.float64) -> np.ndarray:
    """Numbers of eight bytes in the memory of C."""
    return np.ndarray((count,), kind, (ctypes.c_char * (8 * count)).from_address(int(address)))


def slender_rod(half: np.ndarray) -> list[float]:
    """Moments of a rod of 0.3 kg, from -half to +half (3,): one is zero, and the others are equal."""
    return (0.1 * (half @ half * np.eye(3) - np.outer(half, half)))[np.triu_indices(3)].tolist()


@pytest.mark.parametrize(
    ("name", "law"), [*((name, dict(CASES).get(name, "computed_torque")) for name in ARMS), ("prr", "impedance")]
)
def test_settings_are_those_of_the_node(name: str, law: str) -> None:
    """For random parameters: every number of the core's settings, and of the control step's."""
    both = Twins(name, law, FELT if law == "computed_torque" else None)
    robot, rng, structs = both.robot, both.rng, both.loop.core.structs
    inertias = both.dynamics.mass_matrix(robot.home).diagonal().tolist()
    for _ in range(20):
        values: dict[str, Any] = dict(both.given)
        for name_, item in both.exported.table.items():
            least, greatest, value = item.least, item.greatest, (both.defaults | values)[name_]
            if item.kind == b"d" and item.fixed == b"\0" and not name_.startswith(("effort_", "payload.", "contact.")):
                values[name_] = float(np.clip(finite({"": value})[""] * rng.uniform(0.7, 1.3), least, greatest))
            elif item.kind == b"b" and name_ != "externally_supported":
                values[name_] = bool(rng.random() < 0.5)
        for joint, inertia in zip(robot.joint_names, inertias, strict=True):
            values[f"gains.{joint}.stiffness"] = inertia * rng.choice([0.0, 100.0])
            values[f"gains.{joint}.damping"] = inertia * rng.choice([0.0, 15.0])
        values |= {f"stream.{what}": rng.uniform(0.1, 2.0, 2).tolist() for what in ("speed", "acceleration")}
        values |= {"gravity": rng.uniform(-9.0, 9.0, 3).tolist(), "payload.mass": 0.3,
                   "payload.com": [0.01, -0.02, 0.03],
                   "payload.inertia": slender_rod(0.1 * rng.normal(size=3))}  # fmt: skip
        settings = settings_of(robot, both.dynamics, values, law)
        both.loop.apply(settings)
        expected = both.loop.core_settings.record
        prepared = both.prepared(values)
        found = vars(both.exported.settings_in_core(prepared))
        members = vars(expected.fields) | vars(expected.fields.uncertainty)
        found |= vars(found["uncertainty"])
        for member in members.keys() - structs.pointers - {"uncertainty"}:
            np.testing.assert_allclose(found[member], members[member], rtol=1e-12, atol=1e-300, err_msg=member)
        parameters = sensitivity_parameters(both.dynamics)
        own = array_at(found["sensitivity_model"], len(parameters))
        np.testing.assert_allclose(own, parameters, rtol=1e-12, atol=1e-13)
        step = both.loop.compiled_step
        assert step is not None
        place = array_at(found["step_arrays"], len(step.program.inputs) + 1, np.uint64)[-1]
        own = np.split(array_at(place, len(step.parameters)), np.cumsum([*step.setting_sizes.values()])[:-1])
        wanted = np.split(step.parameters, np.cumsum([*step.setting_sizes.values()])[:-1])
        for member, value, right in zip(step.setting_sizes, own, wanted, strict=True):
            np.testing.assert_allclose(value, right, rtol=1e-12, atol=1e-13, err_msg=member)
        both.exported.code.arm_settings_destroy(prepared)


@pytest.mark.parametrize(("name", "away"), [*((name, 0.0) for name in ARMS), (ARMS[0], 0.5), (ARMS[0], 1e3)])
def test_a_pose_that_is_streamed_is_reached_as_by_the_node(name: str, away: float) -> None:
    """The arm is where its reference is; both take it from the core, with the numbers of their own texts.

    The target is out of reach for a while, and comes back. Poses for the PRR come in the frame of one link after the
    other.
    """
    given = {"externally_supported": True, "stream.speed": [0.1, 2.0], "blend_time": 0.0, "plausibility": False}
    both = Twins(name, "computed_torque", given | FELT)
    arm, robot, kinematics = both.exported, both.robot, Kinematics(both.robot)
    tool = StreamedTool.of(robot)
    loop = both.loop
    start = np.clip(robot.home + 0.4, robot.lower + 0.2, robot.upper - 0.2)
    target = kinematics.pose(tool.link, start + 0.1 * np.cos(np.arange(robot.n)))
    farther = target.copy()
    farther[:3, 3] += [0.6 * away, -0.48 * away, 0.64 * away]
    q, qd = start, np.zeros(robot.n)
    for k in range(3000):
        t = 1.0 + PERIOD * k
        assert arm.update(t, q.copy(), qd.copy()) == SEND
        command = loop.update(t, t, q.copy(), qd.copy())
        if k % 20 == 0:
            pose = target if k >= 700 else farther
            frame = k // 20 % (len(robot.links) + 1) - 1 if name == "prr" else -1
            axes = np.eye(4) if frame < 0 else kinematics.pose(robot.links[frame].name, q)
            assert arm.stream_pose(t, np.linalg.inv(axes) @ pose, frame)
            loop.move_tool("pose", pose, t)
        expected = arm.expected(t)
        np.testing.assert_allclose(loop.expected(0.0)[1], expected, atol=1e-9)
        assert command is not None
        assert command.fault is None
        q, qd = expected[:2]
    np.testing.assert_allclose(kinematics.pose(tool.link, q), target, atol=1e-4)


@pytest.fixture(scope="module")
def felt() -> Twins:
    return Twins("prr", "computed_torque", FELT)


def test_twists_and_wrenches_of_a_frame_are_turned_and_poses_are_moved_too(felt: Twins) -> None:
    arm = felt.exported
    rng = np.random.default_rng(4)
    turns = Rotation.random(2, random_state=5).as_matrix()
    pose, given = np.eye(4), rng.uniform(-1.0, 1.0, 6)
    pose[:3, :3], pose[:3, 3] = turns[0], [0.3, -0.7, 1.1]
    for what in (TWIST, WRENCH):
        found = arm.in_root(what - POSE, pose, given)
        np.testing.assert_allclose(found.reshape(2, 3), given.reshape(2, 3) @ turns[0].T, rtol=1e-12)
    found = arm.in_root(0, pose, np.concatenate((given[:3], turns[1].ravel())))
    np.testing.assert_allclose(found[:3], turns[0] @ given[:3] + pose[:3, 3], rtol=1e-12)
    np.testing.assert_allclose(found[3:].reshape(3, 3), turns[0] @ turns[1], atol=1e-12)


def test_the_wrench_is_told_in_the_axes_of_the_link(felt: Twins) -> None:
    memory, given = felt.exported.memory(), np.arange(1.0, 7.0)
    memory.q[:], memory.external[felt.robot.n : felt.robot.n + 6] = [0.4, 0.3, -1.1], given
    axes = Kinematics(felt.robot).pose(StreamedTool.of(felt.robot).link, memory.q)[:3, :3]
    np.testing.assert_allclose(felt.exported.wrench().reshape(2, 3), given.reshape(2, 3) @ axes, rtol=1e-12)


def test_an_arm_that_ends_leaves_no_memory_behind(felt: Twins) -> None:
    code, sizes = felt.exported.code, []
    for _ in range(3):
        for _ in range(1000):
            code.arm_destroy(ctypes.c_void_p(code.arm_create()))
        sizes.append(heap_size())
    assert sizes[2] - sizes[1] < 5000  # the smallest part of each has 48 bytes


def test_a_text_that_is_too_long_is_cut_at_the_end_of_its_place(felt: Twins) -> None:
    arm = felt.exported
    _, refusal = arm.follow(np.array([1.0]), [np.full((1, 3), 9.125), None, None, None], np.nan, 5.0)
    whole = arm.words(refusal)
    assert "9.125" in whole
    assert [arm.words(refusal, size) for size in range(1, 100)] == [whole[: size - 1] for size in range(1, 100)]


@pytest.mark.parametrize("q", [None, [0.4, 0.3, -0.2]])
def test_limits_hold_the_arm_from_the_loads_of_the_node_on(q: list[float] | None) -> None:
    """Where those that are in force do not, from such a load on, others may be as low."""
    both = Twins("prr", "computed_torque", FELT | {"gravity": [1.0, -2.0, -9.0]})
    arm, place = both.exported, None if q is None else np.array(q)
    load = (StaticLoad.anywhere if q is None else partial(StaticLoad.at, q=place))(both.dynamics, carried=False)
    where = "in most poses" if q is None else "where the arm is"
    for index, joint in enumerate(both.robot.joint_names):
        effort, rate = load.gravity[index], load.rise[index] / RISE
        assert effort > 0.1
        for name, least, said in (
            (f"effort_limits.{joint}", effort, f"gravity takes {effort:g} or more {where}"),
            (f"effort_rate_limits.{joint}", rate, f"does not hold the arm {where}: make it {rate:g} per s"),
        ):
            enough, less, little, half = (
                both.prepared(both.given | {name: ratio * least}) for ratio in (1.0001, 0.9999, 0.49, 0.5)
            )
            assert arm.does_not_hold(enough, None, place) == ""
            assert re.match(rf"{name}: .*{said}", arm.does_not_hold(less, None, place))
            if q is not None:
                assert [arm.does_not_hold(each, half, place) != "" for each in (less, half, little)] == [0, 0, 1]
            for settings in (enough, less, little, half):
                arm.code.arm_settings_destroy(settings)


def test_a_refusal_has_the_words_of_the_node(felt: Twins) -> None:
    q = felt.robot.home
    felt.exported.update(1.0, q, 0.0 * q)
    for times, far, quick, why in (
        ([0.1, 0.2], 9.0, 0.0, "joint 'joint1' at 9"),
        ([0.1, 0.2], 0.0, 80.0, "speed: joint 'joint1' at 80"),
        ([0.2, 0.1], 0.0, 0.0, "times must be finite and rise strictly, not 0.1"),
        ([0.1, 0.2], np.nan, 0.0, "joint 'joint1' gets no finite numbers"),
    ):
        rows = [np.tile(q, (2, 1)), np.zeros((2, 3))]
        rows[0][0, 0] += far
        rows[1][0, 0] += quick
        taken, refusal = felt.exported.follow(np.array(times), [*rows, None, None], np.nan, 1.0)
        assert not taken and felt.exported.words(refusal).startswith(why)


def history_of(
    made: Exported, rows: list[float], *options: str, changes: str = "", emulator: tuple[str, ...] = ()
) -> tuple[np.ndarray, str, int]:
    """What the controller commands in a history, (periods, numbers), what it says, and its exit code."""
    folder = made.program.parent
    np.array(rows, dtype=np.float64).tofile(folder / "history.bin")
    (folder / "changes.txt").write_text(changes, encoding="utf-8")
    done = subprocess.run([*emulator, str(made.program), *options], cwd=folder, capture_output=True, check=False)
    width = 5 if "mit" in options else 1
    return np.frombuffer(done.stdout).reshape(-1, 3 * width), done.stderr.decode(), done.returncode


def with_parameters(made: Exported, **values: str) -> Exported:
    """The same program where some parameters are others; it has a folder of its own."""
    folder = made.program.parent / "_".join([*values, *values.values()])
    folder.mkdir(exist_ok=True)
    text = (made.program.parent / "parameters.txt").read_text(encoding="utf-8")
    for name, value in values.items():
        text, count = re.subn(rf"(?m)^{name}\t(\w+)\t.*$", rf"{name}\t\1\t{value}", text)
        assert count == 1, name
    (folder / "parameters.txt").write_text(text, encoding="utf-8")
    program = folder / "arm"
    if not program.exists():
        program.symlink_to(made.program)
    return made._replace(program=program)


STANDS = np.array([0.1, 0.1, 0.1])
MOTION: list[float] = [TRAJECTORY, 1, 3, 3, 0, np.nan, 0, 1, 2, 0.3, 0.15, 0.1, 0.1, 0.0, 0.0, 0.0]
LOOSE = {f"constraints.joint{k}.trajectory": "0.0" for k in (1, 2, 3)} | {
    "following_tolerance": "0.0", "plausibility": "false"
}  # fmt: skip
"""Parameters with which an arm may stand while it should move."""


def standing(periods: int, asked: dict[int, list[float]] | None = None, q: np.ndarray = STANDS) -> list[float]:
    """A history of an arm that stands; what is asked of it in some periods."""
    rows: list[float] = []
    for k in range(periods):
        rows += [round(5.0 + PERIOD * k, 9), *q, *np.zeros(3), *(asked or {}).get(k, [NOTHING])]
    return rows


def test_an_update_neither_allocates_nor_locks(prr: Exported) -> None:
    asked: dict[int, list[float]] = {
        10: [REFERENCE, 1, 1, 1, 1, 0.12, 0.1, 0.1, *np.zeros(6)],
        60: MOTION,
        150: [SPEED, 0.5], 200: [HOLD], 250: [POSE, 0, 0.1, 0.2, 0.3, 0.0, 0.0, 0.0, 1.0], 300: [CHANGE, 1],
        350: [TWIST, 1, 0.01, 0.0, 0.0, 0.0, 0.0, 0.0], 400: [WRENCH, 4, *np.ones(6)], 450: [TARE],
        500: [POSE, 5, 0.1, 0.2, 0.3, 0.0, 0.0, 0.0, 1.0], 600: [CYCLE], 700: [CHAINED, *np.tile(STANDS, 4)],
    }  # fmt: skip
    rows = standing(1000, asked)
    efforts, said, code = history_of(prr, rows, changes="blend_time\tdouble\t0.1\n")
    assert code == 0 and said.endswith("allocations 0 locks 0\n"), said
    assert len(np.unique(efforts, axis=0)) > 200
    assert "the transform of the frame" not in said


@pytest.mark.parametrize(
    ("message", "problem"),
    [
        ([REFERENCE, 1, *np.zeros(12)], "reference refused: it needs names"),
        ([TRAJECTORY, 1, 0, 1, 0, np.nan, 0.3], "trajectory refused: it names no joint"),
        ([TRAJECTORY, 1, 2, 1, 1, np.nan, 0, 1, 0.3, 0.1, 0.1, 5.0], "trajectory refused: every point needs"),
        ([POSE, 0, *STANDS, 0.0, 0.0, 0.0, 0.98], "target_pose refused: its orientation must be a quaternion"),
        ([REFERENCE, 1, 1, 1, 1, *STANDS, 0.0, np.nan, *np.zeros(4)], "joint 'joint2' gets no finite numbers"),
    ],
)
def test_a_reference_without_joints_or_numbers_is_refused(prr: Exported, message: list[float], problem: str) -> None:
    expected, *_ = history_of(prr, standing(400, {60: MOTION}))
    efforts, said, code = history_of(prr, standing(400, {60: MOTION, 200: message}))
    assert code == 0 and problem in said
    np.testing.assert_array_equal(efforts, expected)


def test_a_reference_of_positions_alone_has_their_velocity_and_no_effort(prr: Exported) -> None:
    speed, rest = np.full(3, 0.05), np.zeros(3)
    alone, whole = (
        history_of(prr, standing(100, {
            k: [REFERENCE, more, 1, 1, 1, *(STANDS + speed * PERIOD * (k - 20)), *speed, *rest] for k in range(20, 100)
        }))[0][-1]
        for more in (0, 1)
    )  # fmt: skip
    np.testing.assert_allclose(alone, whole, rtol=1e-4)


def test_drives_in_mit_mode_give_the_effort_at_the_state(prr: Exported) -> None:
    rows = standing(500, {60: MOTION})
    effort, _, _ = history_of(prr, rows)
    five, said, code = history_of(with_parameters(prr, mit_limits="500.0\t5.0"), rows, "mit")
    assert code == 0, said
    feed_forward, p, v, k, d = five.reshape(-1, 5, 3).transpose(1, 0, 2)
    np.testing.assert_allclose(feed_forward + k * (p - STANDS) + d * v, effort, rtol=1e-9, atol=1e-9)
    assert k.max() > 0.0 and d.max() > 0.0


def test_no_state_since_the_activation_is_an_error(prr: Exported) -> None:
    """The commands that stood before, 50, do not stay: zero, for no gravity is known."""
    efforts, said, code = history_of(prr, standing(100, q=STANDS * np.nan), "before:50")
    assert code == 7
    stood = round(0.03 / PERIOD)
    assert stood + 2 <= len(efforts) <= stood + 4
    assert (efforts[:-2] == 50.0).all() and (efforts[-2:] == 0.0).all()  # by the update, and after the deactivation
    assert "no usable state has come since the controller was activated" in said


def test_without_states_after_a_switch_the_last_gravity_stays(prr: Exported) -> None:
    shaped = standing(200)
    for k in range(200, 300):
        shaped += [round(5.0 + PERIOD * k, 9), *(STANDS * np.nan), *np.zeros(3), CYCLE if k == 200 else NOTHING]
    efforts, _, code = history_of(prr, shaped)
    assert code == 7
    robot = rd.load_robot(PRR)
    dynamics = rd.create_dynamics("rnea", robot, gravity=prr.given["gravity"])
    np.testing.assert_allclose(efforts[-1], dynamics.gravity(STANDS), rtol=1e-9)


def test_without_usable_states_the_commands_stay_until_a_reaction_is_due_and_are_zero_after_it(prr: Exported) -> None:
    rows = np.array(standing(800)).reshape(800, -1)
    rows[500:, 1:4] = np.nan
    rows[700:, 0] += 0.5
    efforts, said, code = history_of(prr, rows.ravel().tolist())
    assert code == 0 and "published 4500\n" in said and said.count("no update for 0.501 s") == 1
    np.testing.assert_array_equal(efforts[500:505], efforts[495:500])
    assert efforts[550].all() and not efforts[-1].any()


def test_each_part_of_a_chained_reference_counts(prr: Exported) -> None:
    efforts = []
    for changed in np.eye(4):
        given = [CHAINED, *STANDS, *np.repeat(0.01 * changed[1:], 3)]
        found, said, code = history_of(prr, standing(200, dict.fromkeys(range(50, 200), given)))
        assert code == 0 and "fault" not in said
        efforts.append(found[-1])
    assert np.abs(np.subtract(efforts[1:], efforts[0])).min() > 1e-5, efforts


@pytest.mark.parametrize("left", ["gravity", "zero", "damping"])
def test_what_a_deactivation_leaves_on_the_drives(prr: Exported, left: str) -> None:
    made = with_parameters(prr, mit_limits="500.0\t0.2", on_deactivate=left, plausibility="false")
    rows = standing(200)
    moving: list[float] = []
    for k in range(200):
        moving += [round(5.0 + PERIOD * k, 9), *(STANDS + 0.5 * PERIOD * k), *np.full(3, 0.5), NOTHING]
    for history, is_told in ((rows, False), (moving, True)):
        five, said, code = history_of(made, history, "mit", "final")
        assert code == 0, said
        effort, _, velocity, stiffness, damping = five[-1].reshape(5, 3)
        q = STANDS + (0.5 * PERIOD * 199 if is_told else 0.0)
        gravity = rd.create_dynamics("rnea", rd.load_robot(PRR), gravity=prr.given["gravity"]).gravity(q)
        np.testing.assert_allclose(effort, 0.0 if left == "zero" else gravity, rtol=1e-9)
        assert (velocity == 0.0).all() and (stiffness == 0.0).all() and (damping == 0.2 * (left == "damping")).all()
        assert ("deactivated in motion, at 0.5" in said) == is_told


def test_commands_that_are_not_taken_are_an_error(prr: Exported) -> None:
    """A miss is tried again in the next period; misses for state_timeout are the manager's matter."""
    _, said, code = history_of(prr, standing(100), "refuse:20:25")
    assert code == 0 and "command interfaces have not taken commands for" in said
    efforts, said, code = history_of(prr, standing(100), "refuse:20:100")
    assert code == 7 and 20 + round(0.03 / PERIOD) <= len(efforts) <= 25 + round(0.03 / PERIOD)
    active, inactive = said.split("deactivated\n")
    assert "command interfaces have not taken" in active and "command interfaces have not taken" not in inactive


def test_a_target_out_of_reach_is_reported_while_the_controller_is_active(prr: Exported) -> None:
    asked = {k: [POSE, 0, 9.0, 9.0, 9.0, 0.0, 0.0, 0.0, 1.0] for k in range(50, 2500, 20)}
    unfelt = {f"contact.joint{k}.{what}": "0.0" for k in (1, 2, 3) for what in ("touch", "collision")}
    made = with_parameters(prr, following_tolerance="0.0", plausibility="false", **unfelt)
    _, said, code = history_of(made, standing(2500, asked))
    active, inactive = said.split("deactivated\n")
    assert code == 0 and "the tool cannot reach its streamed target" in active, said
    assert "the tool cannot reach its streamed target" not in inactive


def test_a_trajectory_that_cannot_begin_at_its_start_time_is_reported(prr: Exported) -> None:
    """It was accepted where the motion before it was to be by then; that motion is slowed down since."""
    asked: dict[int, list[float]] = {
        20: [TRAJECTORY, 1, 1, 3, 0, np.nan, 2, 1.0, STANDS[2] + 0.2, 0.0],
        30: [TRAJECTORY, 2, 1, 1, 0, 0.49, 2, 0.0, STANDS[2] + 0.1, 0.004, STANDS[2] + 0.1],
        40: [SPEED, 0.5],
    }
    made = with_parameters(prr, **LOOSE)
    for periods, count in ((500, 0), (600, 1)):
        _, said, code = history_of(made, standing(periods, asked))
        assert code == 0 and said.count("request refused: speed: joint 'joint3'") == count, said


@pytest.mark.parametrize(
    ("way", "problem"),
    [
        (1.0, "is 0.40[0-9]+ rad from its reference; its path tolerance is 0.4 rad"),
        (-0.1, "is 0.1 rad from the goal; its goal tolerance is 0.05 rad"),
        (0.04, ""),
    ],
)
def test_an_aborted_trajectory_is_reported(prr: Exported, way: float, problem: str) -> None:
    """The arm stands while its last joint should move; it is reported once."""
    asked: list[float] = [TRAJECTORY, 1, 1, 3, 0, np.nan, 2, 0.8, STANDS[2] + way, 0.0]
    made = with_parameters(prr, following_tolerance="0.0", plausibility="false")
    _, said, code = history_of(made, standing(1200, {20: asked}))
    reports = re.findall(f"trajectory aborted: joint 'joint3' {problem}; the arm is held where it was\n", said)
    assert code == 0 and said.count("aborted") == len(reports) == bool(problem), said


@pytest.mark.parametrize("streamed", [False, True])
def test_a_hold_counts_for_a_trajectory_or_a_reference_that_came_just_before(prr: Exported, streamed: bool) -> None:
    """Both come before the next update, which stops first what it was following."""
    motion: list[float] = [1, 3, 3, 0, np.nan, 0, 1, 2, 0.3, *(STANDS + 0.05), 0.0, 0.0, 0.0]
    if streamed:
        motion = [1, 1, 1, 1, *(STANDS + 0.04), *np.zeros(6)]
    moving, stopping = (REFERENCE, HALTED) if streamed else (TRAJECTORY, STOPPED)
    made = with_parameters(prr, **LOOSE)
    still, moved, stopped = (
        history_of(made, standing(300, {50: asked}))[0] for asked in ([HOLD], [moving, *motion], [stopping, *motion])
    )
    assert np.abs(moved - still).max() > 1.0
    np.testing.assert_array_equal(stopped, still)


def test_what_comes_while_the_controller_is_not_active_is_refused(prr: Exported) -> None:
    _, said, code = history_of(prr, standing(50))
    assert code == 0, said
    assert "the frame 'camera' is unknown, because the controller is not configured" in said.split("cleaned up\n")[1]
    assert "trajectory refused: the controller is not active" in said.split("deactivated\n")[1]


def test_two_arms_in_one_process(prr: Exported, tmp_path: Path) -> None:
    """Both libraries see each other's names, as where a process loads its plugins that way."""
    limits = {"externally_supported": True, "effort_limits.joint1": 100.0}
    build(tmp_path, SLIDE, limits, flags=("-O0",), name="other_arm", alone=True)
    program = tmp_path / "two"
    run("g++", "-std=c++17", *WARNINGS, f"-I{DECLARATIONS}", HERE / "two_controllers.cpp", "-o", program, "-ldl")
    for folders in ((prr.program.parent, tmp_path), (tmp_path, prr.program.parent)):
        done = subprocess.run([program, *folders], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        efforts = dict(line.split(": ") for line in done.stdout.splitlines())
        assert len(efforts[str(prr.program.parent)].split()) == 3 and len(efforts[str(tmp_path)].split()) == 1


@pytest.mark.thorough
@pytest.mark.timeout(600)
@pytest.mark.parametrize("observed", ["tool", "nothing"])
def test_with_sanitizers(observed: str, tmp_path: Path) -> None:
    given = given_for(rd.load_robot(PRR), np.random.default_rng(2)) | {"contact.observe": observed}
    made = build(tmp_path, PRR, given, flags=SANITIZERS)
    asked: dict[int, list[float]] = {250: [POSE, 0, 0.1, 0.2, 0.3, 0.0, 0.0, 0.0, 1.0], 300: [CHANGE, 1], 450: [TARE]}
    asked[600] = MOTION
    _, said, code = history_of(made, standing(5000, asked), changes="blend_time\tdouble\t0.1\n")
    assert code == 0, said


@pytest.fixture(scope="module")
def prr(tmp_path_factory: pytest.TempPathFactory) -> Exported:
    robot = rd.load_robot(PRR)
    return build(tmp_path_factory.mktemp("prr"), PRR, given_for(robot, np.random.default_rng(1)))


def test_a_clock_that_is_set_stops_no_motion(prr: Exported) -> None:
    """The controller_manager gives the nodes' time, which an operator or NTP may set, and periods by a steady clock."""
    n, periods, duration = 3, 2600, 2.4
    start, goal = 0.1 + np.zeros(n), np.array([0.15, 0.0, 0.18])
    rows: list[float] = []
    for k in range(periods):
        asked = [TRAJECTORY, 1, n, 3, 0, 0.0, 0, 1, 2, duration, *goal, *np.zeros(n)] if k == 20 else [NOTHING]
        part = min(max(PERIOD * (k - 20) / duration, 0.0), 1.0)
        q = start + (goal - start) * part**2 * (3.0 - 2.0 * part)
        qd = (goal - start) * 6.0 * part * (1.0 - part) / duration
        rows += [round(5.0 + PERIOD * k, 9), *q, *qd, *asked]
    (expected, said, _), set_back, unheard = (history_of(prr, rows, *option) for option in ([], ["clock"], ["unheard"]))
    for efforts, _, code in (set_back, unheard):
        assert code == 0
        np.testing.assert_array_equal(efforts, expected)
    assert len(np.unique(expected[100:], axis=0)) > 300  # it moves
    assert "fault" not in set_back[1]
    published = [int(text.split("published ")[1].split()[0]) for text in (said, set_back[1], unheard[1])]
    assert published[0] == published[1] > 2000 and published[2] == 0  # nobody is woken for what nobody reads


def test_every_package_that_is_found_is_linked() -> None:
    """By targets: ament_target_dependencies is deprecated since Kilted."""
    text = exported(PRR, {}, "pd").texts["CMakeLists.txt"]
    found = text.split("set(DEPENDENCIES ")[1].split(")")[0].split()
    linked = text.split("target_link_libraries(")[1].split(")")[0].split()
    assert {name.split("::")[0].removeprefix("${").removesuffix("_TARGETS}") for name in linked} >= set(found)
    assert "ament_target_dependencies" not in text


def declared(files: ExportedFiles) -> dict[str, Any]:
    return flat(yaml.safe_load(files.texts["config/parameters.yaml"])[f"{PACKAGE}_parameters"])


REAL = [prefix for prefix in map(Path, os.environ.get("AMENT_PREFIX_PATH", "").split(":"))
        if (prefix / "include/controller_interface").is_dir()]  # fmt: skip


@pytest.mark.skipif(not REAL, reason="ros2_control is not installed")
@pytest.mark.skipif(shutil.which("generate_parameter_library_cpp") is None, reason="generate_parameter_library is not")
def test_it_compiles_against_ros2_control(tmp_path: Path) -> None:
    package = tmp_path / PACKAGE
    write_package(package, exported(PRR, {}, "computed_torque"))
    header = tmp_path / f"include/{PACKAGE}/{PACKAGE}_parameters.hpp"
    header.parent.mkdir(parents=True)
    subprocess.run(["generate_parameter_library_cpp", header, package / "config/parameters.yaml"], check=True)
    folders = [f"-isystem{folder}" for prefix in REAL for folder in (prefix / "include").iterdir()]
    sources, own = sorted((package / "src").glob("*.cpp")), (f"-I{tmp_path / 'include'}", f"-I{package / 'src'}")
    run("g++", "-std=c++17", *WARNINGS, "-fsyntax-only", *own, *folders, *sources)


def test_it_compiles_without_tf(prr: Exported) -> None:
    package = prr.program.parent / PACKAGE
    places = (f"-I{folder}" for folder in (DECLARATIONS, package / "build", package / "src"))
    run("g++", "-std=c++17", *WARNINGS, "-fsyntax-only", *places, package / "src/topics.cpp")


def test_parameters_are_those_of_the_node() -> None:
    """Names, defaults, ranges and meanings are those of the page, which is held against the running node."""
    robot = rd.load_robot(PRR)
    table = (HERE.parent / "docs/reference/nodes/controller-parameters.md").read_text(encoding="utf-8")
    rows = {cells[1].strip(" `"): [cell.strip() for cell in cells[2:5]] for cells in
            (line.split(" | ") for line in table.replace("| | ", "|  | ").replace("| `", " | `").splitlines())
            if len(cells) > 4}  # fmt: skip
    found = declared(exported(PRR, {}, "computed_torque"))
    assert found.pop("prefix")["default_value"] == "" and found.pop("on_deactivate")["default_value"] == "gravity"
    for name, entry in found.items():
        joint = next((joint for joint in robot.joint_names if joint in name.split(".")), "")
        if name.startswith("faults."):  # each kind has what its row says
            _, kind, last = name.split(".")
            item = next(item for item in parameter_specs(REACTIONS[kind]) if item.name == last)
            assert (entry["default_value"], entry["description"]) == (item.default, item.description), name
            assert f"faults.<kind>.{last}" in rows
            continue
        row = name.replace(f".{joint}", ".<joint>") if joint else name
        assert row in rows, f"controller-parameters.md lacks {row}; test_nodes_reference.py prints its row"
        default, allowed, meaning = rows[row]
        said = entry["description"].replace(f"joint {joint}", "the joint") if joint else entry["description"]
        unit = r" \[[^]]*\]"
        assert re.sub(unit, "", said) == re.sub(unit, "", meaning).replace("\\", ""), name
        bounds = entry.get("validation", {}).get("bounds<>")
        if bounds is not None and allowed != "the arm's":
            least, greatest = ("" if abs(value) > 1e300 else f"{value:g}" for value in bounds)
            assert f"{least} … {greatest}".strip() == allowed.strip(), name
        if default != "the arm's" and not isinstance(entry["default_value"], (str, list)):
            value = entry["default_value"]
            assert default == (str(value).lower() if isinstance(value, bool) else f"{value:g}"), name
    general = {re.sub(r"\.joint\d", ".<joint>", re.sub(r"^faults\.\w+", "faults.<kind>", name)) for name in found}
    groups = ("faults.", "gains.", "constraints.", "payload.")
    assert {name for name in rows if name.startswith(groups)} <= general


def test_a_law_that_derives_more_keeps_its_parameters_fixed() -> None:
    files = exported(SLIDE, {}, "adaptive")
    assert "gains" in files.frozen and "velocity_limits" not in files.frozen
    assert "`gains.…`" in files.texts["README.md"]
    found = declared(files)
    assert found["gains.joint1.natural_frequency"]["read_only"] and found["adaptive.rate"]["read_only"]
    assert "read_only" not in found["blend_time"]
    assert exported(PRR, {}, "computed_torque").frozen == set()


def test_an_export_keeps_what_was_changed_by_hand_or_refuses(tmp_path: Path) -> None:
    folder = tmp_path / PACKAGE
    write_package(folder, exported(PRR, {}, "pd"))
    own = folder / "config/controllers.yaml"
    own.write_text("mine", encoding="utf-8")
    (folder / "notes.txt").write_text("mine too", encoding="utf-8")
    written, kept = write_package(folder, exported(PRR, {"blend_time": 0.1}, "pd"))
    assert kept == ["config/controllers.yaml"] and own.read_text() == "mine" and "src/arm_loop.c" in written
    assert (folder / "notes.txt").read_text() == "mine too"
    assert declared(exported(PRR, {"blend_time": 0.1}, "pd"))["blend_time"]["default_value"] == 0.1
    (folder / "src/arm_loop.c").write_text("/* better */", encoding="utf-8")
    with pytest.raises(InputError, match=r"changed since: src/arm_loop\.c; move them away"):
        write_package(folder, exported(PRR, {}, "pd"))
    assert (folder / "src/arm_loop.c").read_text() == "/* better */" and own.read_text() == "mine"
    other = tmp_path / "other"
    other.mkdir()
    (other / "package.xml").write_text("<package/>", encoding="utf-8")
    with pytest.raises(InputError, match=r"not written by an export.*package\.xml"):
        write_package(other, exported(PRR, {}, "pd"))


@pytest.mark.parametrize(
    "urdf",
    [
        PRR.replace("</robot>", "</robot >"),
        f"{PRR}<!-- behind </robot> -->",
        PRR.replace("<robot ", "<!-- <ros2_control> is elsewhere --><robot ", 1),
    ],
)
def test_mock_hardware_is_added_whatever_the_comments_have(urdf: str) -> None:
    robot = rd.load_robot(urdf)
    made = with_mock_hardware(urdf, robot)
    joints = ElementTree.fromstring(made).findall("ros2_control/joint")
    assert [joint.get("name") for joint in joints] == ["joint1", "joint2", "joint3"]
    assert with_mock_hardware(made, robot) == made


def test_what_cannot_be_exported_says_why() -> None:
    for name in ("MyArm", "1arm", "my-arm", "my__arm", "arm_"):
        with pytest.raises(InputError, match="no name of a ROS 2 package"):
            exported(PRR, {}, "pd", name)
    for name in ("left/joint", "class"):
        with pytest.raises(InputError, match="cannot be a name in C"):
            exported(PRR.replace('"joint2"', f'"{name}"'), {}, "pd")
    with pytest.raises(ConfigurationError, match="mpc cannot be written as C"):
        exported(SLIDE, {}, "mpc")


def test_other_values_of_fixed_parameters_are_refused(prr: Exported) -> None:
    for name, value, why in (
        ("controller", "pd", "fixed in this package to 'computed_torque'"),
        ("state_timeout", "nan", "state_timeout: must be a finite number"),
        ("state_timeout", "0.001", "state_timeout: a state comes every 0.001 s"),
        ("blend_time", "-0.1", "blend_time: must be within [0, "),
        ("gains.joint1.natural_frequency", "999.0", "gains: a period of"),
        *(  # one moment is too great, one negative: by two pivots, and by the third
            ("payload.inertia", moments, "payload.inertia: must be positive")
            for moments in ("1\t0\t0\t1\t0\t2.1", "1\t1.1\t0\t1\t0\t1", "1\t0.5\t0.5\t1\t-0.6\t1")
        ),
        ("on_deactivate", "damping", "on_deactivate: 'damping' is that of drives in MIT mode"),
        ("gravity", "0.0\t0.0\t-60.0", ""),
        ("payload.inertia", "1\t0\t0\t0.3\t0\t0.699999999999", ""),  # of a disc, but for rounding
    ):
        _, said, code = history_of(with_parameters(prr, **{name: value}), [])
        assert (code, why in said) == ((3, True) if why else (0, True)), said
    held, weak = with_parameters(prr, externally_supported="false"), "effort_limits.joint1"
    _, said, code = history_of(held, standing(100, {50: [CHANGE, 1]}), changes=f"{weak}\tdouble\t1.0\n")
    assert code == 0 and "parameters are refused" in said
    _, said, code = history_of(with_parameters(prr, externally_supported="false", **{weak: "1.0"}), [])
    assert code == 3 and "is below what holds the arm" in said
    # A damping of 700/s, 100 times the natural frequency, needs a period as short as a natural frequency of 700/s.
    quick = (("natural_frequency", "700.0"), ("damping_ratio", "100.0"), ("natural_frequency", "1000.0"))
    said = [history_of(with_parameters(prr, **{f"gains.joint1.{name}": value}), [])[1] for name, value in quick]
    longest = [float(each) for each in re.findall(r"(\S+) s is the longest", "".join(said))]
    np.testing.assert_allclose(longest, longest[0] * np.array([1.0, 1.0, 0.7]), rtol=1e-4)


@pytest.mark.parametrize("limits", [(-6.28, -1.26), (-1e-4, 0.0), (0.3, 0.31), (-2.0, 2.0)])
def test_the_motion_of_the_readme_is_within_the_limits(limits: tuple[float, float]) -> None:
    limit = (*limits, 3.0, 20.0)
    axle = arms.joint("axle", "revolute", "base", "disc", (0, 0, 1), limit=limit)
    arm = arms.robot("wheel", arms.link("base"), arms.link("disc", 2.0, None, arms.BODY), axle)
    (position,) = re.findall(r"positions: \[(\S+)\]", exported(arm, {}, "pd").texts["README.md"])
    assert limits[0] <= float(position) <= limits[1]
    assert abs(float(position) - rd.load_robot(arm).home[0]) > 1e-5  # it moves


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "arm.urdf").write_text(PRR, encoding="utf-8")
    folder = tmp_path / "my_controllers"
    line = ["export", str(tmp_path / "arm.urdf"), "--ros2-control", str(folder), "--controller", "impedance"]
    line += ["--maintainer-name", "Ada & Bob", "--maintainer-email", "ada@lovelace.org"]
    assert (
        main([*line, "-p", "state_timeout:=0.05", "-p", "gains.joint2.stiffness:=80", "--gravity", "0", "0", "-3"]) == 0
    )
    out = capsys.readouterr().out
    assert f"Next: {folder / 'README.md'}" in out
    text = (folder / "config/parameters.yaml").read_text(encoding="utf-8")
    found = flat(yaml.safe_load(text)["my_controllers_parameters"])
    values = [
        found[name]["default_value"] for name in ("state_timeout", "gains.joint2.stiffness", "gravity", "controller")
    ]
    assert values == [0.05, 80.0, [0.0, 0.0, -3.0], "impedance"]
    for name in (
        "CMakeLists.txt",
        "package.xml",
        "plugin.xml",
        "README.md",
        "launch/arm.launch.py",
        "test/test_mock_hardware.py",
    ):
        text = (folder / name).read_text(encoding="utf-8")
        assert "my_controllers" in text and "@" not in text.replace("ada@lovelace", "").replace("@pytest", ""), name
    maintainer = ElementTree.parse(folder / "package.xml").getroot().find("maintainer")
    assert (maintainer.text, maintainer.get("email")) == ("Ada & Bob", "ada@lovelace.org")
    assert (folder / "LICENSE").read_text(encoding="utf-8") == (HERE.parent / "LICENSE").read_text(encoding="utf-8")
    sources = [
        path for path in folder.rglob("*") if path.suffix in (".c", ".h", ".cpp", ".hpp", ".py", ".txt", ".yaml")
    ]
    assert len(sources) > 30
    for path in sources:
        head = path.read_text(encoding="utf-8").splitlines()[:2]
        assert [line.split(" ", 1)[1] for line in head] == [COPYRIGHT, LICENCE], path
    mock = ElementTree.parse(folder / "description/arm.urdf").getroot()
    assert [joint.get("name") for joint in mock.iter("joint") if joint.find("state_interface") is not None] == [
        "joint1", "joint2", "joint3"
    ]  # fmt: skip
    compile((folder / "launch/arm.launch.py").read_text(encoding="utf-8"), "arm.launch.py", "exec")
    for wrong, why in (
        (["-p", "state_timeot:=1"], "is it 'state_timeout'"),
        (["-p", "gains.joint2.stiffness:=-1"], "gains.joint2.stiffness"),
        (["--of", "step"], "--ros2-control"),
        (["--maintainer-email", "ada"], "--maintainer-email: 'ada' is no e-mail address"),
    ):
        assert main([*line, *wrong]) == 2
        assert why in capsys.readouterr().err
