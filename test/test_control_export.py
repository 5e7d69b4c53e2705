"""A controller of ros2_control that the export writes: compiled here, and compared with the loop that the node runs.

Its C++ is compiled against the small declarations in ``ros2_control_declarations/``. It goes through random histories:
states as good as they come, references, trajectories, changes of parameters, faults. The loop in Python goes through
the same ones, and both send the same efforts.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

import arms
import industrial
import numpy as np
import pytest
import yaml
from once import kept_folder, once
from robodyn_ros.control.reference.manager import StoppingReference, TrajectoryReference

import robodyn_ros as rd
from robodyn_ros.cli.main import main
from robodyn_ros.control import ControlLoop, Reference, Trajectory
from robodyn_ros.control.export.controller_parameters import known_defaults
from robodyn_ros.control.export.ros2_control import ExportedFiles, export_package, write_package
from robodyn_ros.control.loop_settings import make_loop_settings, model_parameters
from robodyn_ros.control.motion.mit_mode import MitSettings
from robodyn_ros.control.motion.tool_stream import LONGEST_PERIOD, StreamSettings, ToolStream
from robodyn_ros.control.parameter_file import FileParameters
from robodyn_ros.control.reference.stream_velocity import StreamVelocity
from robodyn_ros.engine import find_compiler
from robodyn_ros.errors import ConfigurationError, EffortError, HoldingError, InputError, RobodynError
from robodyn_ros.kinematics import Kinematics, so3

HERE = Path(__file__).parent
DECLARATIONS, TF = HERE / "ros2_control_declarations", HERE / "tf2_declarations"
WARNINGS = ("-Wall", "-Wextra", "-Wpedantic", "-Werror")
SANITIZERS = ("-O0", "-g1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
"""They find at least as much in code that is not optimised, which compiles in a third of the time."""
PERIOD = 0.001
PACKAGE = "some_arm_controllers"
FEW = 3000
"""Periods of a history in the gate."""

MANY = 100_000
"""Periods that are compared without sanitizers, and that run with them."""

PERIODS = int(os.environ.get("ROBODYN_PERIODS", "20000"))
"""Periods that the thorough tests compare, with sanitizers less; `make soak-loop` has more."""

NOTHING, REFERENCE, TRAJECTORY, HOLD, CHANGE, PUBLISHERS, CHAINED, CYCLE, POSE, TWIST, WRENCH, TARE, SPEED = range(13)
"""What is asked of the arm before an update, as in exported_controller.cpp."""

PRR = re.sub('effort="[^"]*"', 'effort="300"', arms.mechanism("PRR", (13, 1.5, 6), (1, 0.5, 0.34), (0.1, 0.2, 0.15)))
TURNING = arms.mechanism("PRR", (11, 2.5, 1.6), (1, 0.4, 0.3), (0.1, 0.2, 0.13)).replace("revolute", "continuous")
BRANCHED = re.sub('(<joint name="joint[46]" type=)"revolute"', r'\1"continuous"', arms.random_robot(12, 8, mimic=0.35))
"""Eight joints in a tree: two of the six coordinates turn without limits, and two joints follow others."""

FRAMES = ("camera", "stopped", "elsewhere")
"""Frames besides the links, as in exported_controller.cpp: one that tf knows, one that it knew long ago, and none."""

CAMERA = np.array([[0.28, 0.0, 0.96, 0.3], [0.0, 1.0, 0.0, -0.2], [-0.96, 0.0, 0.28, 0.5], [0.0, 0.0, 0.0, 1.0]])
"""Where the camera is: turned about y by the quaternion (0, 0.6, 0, 0.8)."""

GREATEST = 300.0
"""Effort limit of each joint [N·m] or [N]."""

needs_compiler = pytest.mark.skipif(find_compiler() is None, reason="there is no C compiler")


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
        "ramp_time": 0.02, "blend_time": 0.03, "ramp_down_time": 0.06, "soft_limit_margin": 0.3,
        "reference_lead": 0.05, "reference_timeout": 0.05, "recurrences": 4, "recurrence_time": 2.0,
        "quiet_time": 0.2, "state_timeout": 0.03, "following_tolerance": 0.6, "cmd_timeout": 0.3,
        "allow_sagging": True, "plausibility": True, "constraints.goal_time": 0.2,
        "constraints.stopped_velocity_tolerance": 0.5,
        "faults.speed.expiry": 0.1, "faults.states.expiry": 0.05, "faults.law.answer": "damp",
        "faults.following.expiry": 0.15, "faults.publisher.answer": "damp", "faults.publisher.expiry": 0.08,
        "gravity": [0.3, -0.2, -9.7],
        "contact.observe": "joints", "contact.gain": 20.0, "contact.touch_force": 400.0,
        "contact.collision_force": 900.0,
        "contact.touch_torque": 150.0, "contact.energy": 9.0, "faults.collision.answer": "float",
        "faults.collision.expiry": 0.1, "faults.touch.answer": "retreat", "faults.touch.expiry": 0.2,
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
    folder: Path, urdf: str, given: dict[str, Any], law: str = "computed_torque", flags: tuple[str, ...] = ("-O1",)
) -> Exported:
    """Write a package, and compile it with warnings as errors."""
    package, objects_folder = folder / PACKAGE, kept_folder("test-objects")
    files = exported(urdf, given, law)
    write_package(package, files)
    entries = flat(
        yaml.safe_load((package / "config/parameters.yaml").read_text(encoding="utf-8"))[f"{PACKAGE}_parameters"]
    )
    defaults = {name: entry["default_value"] for name, entry in entries.items() if "default_value" in entry}
    (folder / "parameters.txt").write_text(lines_of(defaults), encoding="utf-8")
    header = package / "build" / PACKAGE / f"{PACKAGE}_parameters.hpp"
    header.parent.mkdir(parents=True)
    lines = (
        f"#define PARAMETERS_NAMESPACE {PACKAGE}_parameters",
        '#include "parameters.hpp"',
        "#undef PARAMETERS_NAMESPACE",
    )
    header.write_text("\n".join(lines) + "\n", encoding="utf-8")
    names = ("core", "step", "contact", "contact_link", "tool", "links", "forward", "gravity", "inverse", "mass_matrix")
    places = (f"-I{DECLARATIONS}", f"-I{TF}", f"-I{package / 'build'}", f"-I{package / 'src'}")
    counts = () if any("sanitize" in flag for flag in flags) else ("-DCOUNT_CALLS",)
    c = ("gcc", "-std=c11", "-fvisibility=hidden", "-Wno-psabi", *flags)
    cpp = ("g++", "-std=c++17", *flags)
    objects = [compiled(objects_folder, *c, source=package / f"src/{name}.c") for name in names]
    own, sources = HERE / "exported_controller.cpp", [package / f"src/{name}.cpp" for name in ("controller", "topics")]
    objects += [compiled(objects_folder, *cpp, places=places, source=source) for source in sources]
    objects.append(compiled(objects_folder, *cpp, places=(*places, *counts), source=own))
    program = folder / "arm"
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


class ControllerHistory:
    """A random history of an arm, for the exported controller and for the loop that the node runs."""

    def __init__(self, made: Exported, seed: int, mit: bool = False) -> None:
        self.rng, self.more = np.random.default_rng(seed), np.random.default_rng([seed, 1])
        self.made, self.mit = made, mit
        self.robot = robot = rd.load_robot(made.urdf)
        self.given = dict(made.given)
        self.defaults = known_defaults(robot, made.given, made.law)
        self.dynamics = rd.create_dynamics("rnea", robot)
        self.loop = ControlLoop.from_settings(self.settings())
        self.n = n = robot.n
        self.t, self.q, self.qd = 5.0, robot.home + self.rng.uniform(-0.1, 0.1, n), np.zeros(n)
        self.commands = np.full((5 if mit else 1, n), np.nan)
        self.numbers: list[Any] = []
        self.changes: list[tuple[str, Any]] = []
        self.expected: list[np.ndarray] = []
        self.velocity, self.chained_velocity = StreamVelocity(robot), StreamVelocity(robot)
        self.wrong, self.conflict, self.chained, self.was_chained, self.lasts = 1.0, False, 0, False, 0
        self.chained_q = self.q
        self.seen: set[str] = set()
        stream = {name[7:]: value for name, value in made.given.items() if name.startswith("stream.")}
        limits = self.loop.settings.limits.velocity
        self.stream = ToolStream(self.dynamics, made.given.get("tool", ""), StreamSettings(**stream), limits)
        self.kinematics = Kinematics(robot)
        self.tool_runs = self.tool_tracks = False
        self.tool_time = 0.0
        self.wrenches: dict[float, np.ndarray] = {}

    payloads = streams = True
    calm = False  # True if nothing is asked of the arm but what is streamed to its tool
    stops = was_gap = False
    last: Any = None
    begun = 0.0
    steepest = 0.0  # greatest acceleration of the reference so far

    def watch_stream(self) -> None:
        """A stream of positions that has fallen silent stands still, as the node has it."""
        if self.last is not None and self.velocity.is_silent(self.t - self.begun):
            reference, names = self.last
            self.last = None
            self.velocity.stop()
            if self.loop.mode == "track" and not self.was_chained and not self.tool_runs:
                still = reference._replace(qd=np.zeros(len(names)))
                self.attempt(lambda: self.loop.track(still, self.begun, names))

    def settings(self) -> Any:
        values = FileParameters(self.given, self.defaults)
        self.dynamics.configure(**model_parameters(values, self.robot))
        return make_loop_settings(values, self.dynamics, self.made.law)

    def attempt(self, act: Callable[[], Any]) -> bool:
        try:
            act()
        except RobodynError as problem:
            self.seen.add(type(problem).__name__)
            return False
        return True

    def period(self, asked: list[Any], q: np.ndarray, qd: np.ndarray) -> None:
        """One period: what is asked was done to the loop before."""
        self.numbers += [self.t, *q, *qd, *asked]
        loop, t, command, sends = self.loop, self.t, None, True
        try:
            command = loop.update(t, t, q, qd)
        except HoldingError:
            sends = False
        except EffortError:
            pass
        except RobodynError as problem:
            self.seen.add(type(problem).__name__)
            waits = loop.mode == "waiting" or not t - loop._references.time > loop.settings.safety.state_timeout
            command = loop.watch(t)
            sends = command is not None or not waits
        if sends:
            self.commands[0] = 0.0 if command is None else command.effort
            if self.mit:
                self.mit_command(command, q)
        if command is not None and command.external is not None and command.state is not None and self.contact_link:
            axes = self.kinematics.pose(self.contact_link, command.state[0])[:3, :3].T
            wrench = command.external[self.n : self.n + 6]
            self.wrenches[t] = np.concatenate((axes @ wrench[:3], axes @ wrench[3:]))
        if command is not None:
            self.seen.add(command.fault or "law")
            if command.reference is not None:
                self.steepest = max(self.steepest, float(np.abs(command.reference.qdd).max()))
            self.seen |= {"limited"} if command.rate_limited.any() or command.saturated.any() else set()
        self.seen |= {loop.mode, loop.fault.phase if loop.fault else "well"}
        self.note_motion(loop._references._source)
        self.expected.append(self.commands.copy())

    def note_motion(self, source: Any) -> None:
        """What kinds of trajectories there are."""
        self.stops |= isinstance(source, StoppingReference)
        if isinstance(source, TrajectoryReference):
            self.seen |= {"scaled"} if source.time is not None else set()
            self.seen |= {"planned"} if source.planned(self.t) is not None else set()

    @property
    def contact_link(self) -> str:
        """Where the wrench from outside acts; "" if none is observed."""
        contact = self.loop.settings.contact
        return "" if contact is None else contact.observer.link

    def mit_command(self, command: Any, q: np.ndarray) -> None:
        if command is None:
            self.commands[2:] = 0.0
            return
        finite = q if np.isfinite(q).all() else None
        found = self.loop.in_mit_mode(command, self.t, MitSettings("mit"), finite)
        self.commands[:] = found.effort, found.position, found.velocity, found.stiffness, found.damping

    def step(self) -> None:
        rng, n = self.rng, self.n
        self.before, self.t = self.t, round(self.t + PERIOD, 9)
        chance, other = rng.random(), rng.uniform(-1.0, 1.0, n)
        self.qd = np.clip(0.98 * self.qd + 0.06 * rng.uniform(-1.0, 1.0, n), -1.0, 1.0)
        self.q = np.clip(self.q + PERIOD * self.qd, self.robot.lower + 0.01, self.robot.upper - 0.01)
        q, qd = self.q.copy(), self.wrong * self.qd
        asked: list[Any] = [NOTHING]
        is_gap = False
        if self.calm:
            chance = 0.075 if (self.t * 10.0) % 4.0 < 1.5 and chance < 0.05 else 1.0
        self.lasts = max(self.lasts - 1, 0)
        if self.lasts == 0 and (self.conflict or self.wrong != 1.0):
            self.wrong = 1.0
            chance = 0.055 if self.conflict and self.chained == 0 else chance
        if self.chained > 0:
            self.chained -= 1
            asked = self.chained_reference(other)
        elif chance < 0.004 and not self.was_chained:
            self.chained = 40
            self.chained_q = self.q + 0.02 * other
            self.switch_off()
            self.chained_velocity = StreamVelocity(self.robot)
            asked = self.chained_reference(other)
        elif chance < 0.03:
            asked = self.reference(other)
        elif chance < 0.045:
            asked = self.trajectory(other)
        elif chance < 0.05:
            self.attempt(lambda: self.loop.hold(self.t))
            asked = [HOLD]
        elif chance < 0.053:
            asked = self.change(other)
        elif chance < 0.056:
            self.conflict, self.lasts = not self.conflict, 60
            asked = [PUBLISHERS, 1 + self.conflict]
        elif chance < 0.057:
            self.switch_off()
            asked = [CYCLE]
        elif chance < 0.060:
            q = q + 0.4 * other  # it jumps
        elif chance < 0.063:
            q = q * np.where(other > 0.0, 1.0, np.nan)
        elif chance < 0.066:
            qd = 9.0 * other
        elif chance < 0.068:
            self.wrong, self.lasts = float(rng.choice([-1.0, 0.0, 40.0])), 60
        elif chance < 0.070 and not self.was_gap:
            # Longer than state_timeout, and not two in a row: by periods that last the node lowers the gains of its
            # reactions. The exported controller judges its period once.
            self.t = round(self.t + rng.uniform(0.035, 0.2), 6)
            is_gap = True
        elif chance < 0.072:
            self.q = self.q + 0.3 * other * (np.abs(other) < 0.5)  # it is elsewhere
        elif chance < 0.073:
            qd = qd * np.nan
        elif chance < 0.080:
            asked = self.tool(other) if self.streams else asked
        elif chance < 0.081 and not self.was_chained:
            self.attempt(self.loop.tare)
            asked = [TARE]
        elif chance < 0.084:
            part = float(self.more.choice([0.0, 1.0, 0.7, -0.1, np.nan], p=[0.1, 0.6, 0.2, 0.05, 0.05]))
            self.attempt(lambda: self.loop.scale_speed(part))
            asked = [SPEED, part]
        if self.chained == 0 and asked[0] != CHAINED and self.numbers and self.was_chained:
            self.switch_off()  # the mode changes while the controller is inactive
        self.was_chained = asked[0] == CHAINED
        self.loop.set_publisher_conflict("two of them" if self.conflict and not self.was_chained else "")
        self.was_gap = is_gap
        self.watch_stream()
        self.renew_tool()
        self.period(asked, q, qd)

    def tool(self, other: np.ndarray) -> list[Any]:
        """Something is streamed to the tool."""
        kind, numbers = int(self.rng.choice([POSE, POSE, TWIST, WRENCH])), self.rng.uniform(-1.0, 1.0, 6)
        if kind == POSE:
            robot = self.robot
            pose = self.kinematics.pose(self.stream.link, np.clip(self.q + 0.2 * other, robot.lower, robot.upper))
            w, *v = so3.quaternion(pose[:3, :3]).tolist()
            numbers = np.array([*pose[:3, 3], *v, w])
        elif kind == TWIST:
            numbers = 0.3 * numbers
        else:
            numbers = 10.0 * numbers
        links = [link.name for link in self.robot.links]
        place = int(self.more.integers(len(links) + 1 + len(FRAMES)))
        name = ["", *links, *FRAMES][place]
        self.loop._take_back()
        if name in links and self.loop.mode != "waiting":
            frame = self.kinematics.pose(name, self.loop._q)
        else:
            frame = CAMERA if name == "camera" else np.eye(4)
        told = self.in_frame(frame, kind, numbers)
        self.seen.add("in a link" if name in links else f"in {name!r}")
        if name not in FRAMES[1:]:  # the others are refused
            self.attempt(lambda: self.take_tool(kind, frame, told))
        return [kind, place, *told]

    @staticmethod
    def in_frame(frame: np.ndarray, kind: int, numbers: np.ndarray) -> np.ndarray:
        """What is streamed to the tool, told in a frame (4, 4)."""
        turn = frame[:3, :3].T
        if kind != POSE:
            return np.concatenate((turn @ numbers[:3], turn @ numbers[3:]))
        w, *v = so3.quaternion(turn @ rotation_of(numbers[3:])).tolist()
        return np.array([*turn @ (numbers[:3] - frame[:3, 3]), *v, w])

    def take_tool(self, kind: int, frame: np.ndarray, numbers: np.ndarray) -> None:
        """As the node takes it."""
        if not self.tool_runs:
            _, reference = self.loop.expected(0.0)
            self.stream.begin(reference.q, reference.qd)
            self.tool_runs, self.tool_tracks, self.tool_time = True, False, self.t
        if kind == POSE:
            pose = np.eye(4)
            pose[:3, :3], pose[:3, 3] = rotation_of(numbers[3:]), numbers[:3]
            self.stream.take_pose(self.t, frame @ pose)
            return
        turned = np.concatenate((frame[:3, :3] @ numbers[:3], frame[:3, :3] @ numbers[3:]))
        (self.stream.take_twist if kind == TWIST else self.stream.take_wrench)(self.t, turned)

    def renew_tool(self) -> None:
        """The reference goes on with what is streamed to the tool, as the node has it, but in every period."""
        dt = self.t - self.tool_time
        if not self.tool_runs or dt == 0.0:
            return
        if self.tool_tracks and self.loop.mode != "track":
            self.tool_runs = False
            return
        self.tool_time, self.tool_tracks = self.t, True
        reference = self.stream.advance(self.t, min(dt, LONGEST_PERIOD))
        limit = self.loop.settings.limits.effort
        reference = reference._replace(effort=np.clip(reference.effort, -limit, limit))
        self.tool_runs = self.attempt(lambda: self.loop.track(reference, self.t))
        self.seen.add("tool")
        if self.tool_runs and self.stream.is_over(self.t):
            self.loop.hold(self.t)
            self.tool_runs = False
            self.seen.add("the stream is over")

    def switch_off(self) -> None:
        """The controller is deactivated: the last command carries the arm where it was."""
        self.tool_runs = False
        loop = self.loop
        if loop.part(self.t) is not None:
            limit = loop.settings.limits.effort
            self.commands[0] = np.clip(loop.dynamics.gravity(loop._q), -limit, limit)
            self.commands[2:] = 0.0
        loop.stop()

    def reference(self, other: np.ndarray) -> list[Any]:
        joints = self.rng.random(self.n) < 0.8
        has_velocity = bool(self.rng.random() < 0.7)
        q = self.q + 0.06 * other + (0.3 if self.rng.random() < 0.1 else 0.0)
        qd, effort = 0.2 * other, 3.0 * other
        if self.rng.random() < 0.05:
            q = q + 9.0
        columns = np.flatnonzero(joints).tolist()
        # As the harness names them, the last joint first.
        names = [self.robot.joint_names[index] for index in columns]
        given = np.where(joints, qd, 0.0)
        if not has_velocity:
            safety = self.loop.settings.safety
            given[columns] = self.velocity.update(
                self.t, q[columns], columns, self.loop.settings.limits.velocity, filter_time=0.005,
                timeout=safety.reference_timeout, jump=safety.reference_jump,
            )  # fmt: skip
        reference = Reference(q[columns], given[columns], np.zeros(len(columns)), effort[columns])
        followed = self.attempt(lambda: self.loop.track(reference, self.t, names))
        self.tool_runs = self.tool_runs and not followed  # the newest request counts
        self.begun = self.t
        self.last = None if has_velocity else (reference, names) if followed else self.last
        return [REFERENCE, has_velocity, *joints, *q, *qd, *effort]

    def chained_reference(self, other: np.ndarray) -> list[Any]:
        self.chained_q = self.chained_q + 0.0005 * other
        rows = np.array([self.chained_q, 0.1 * other, other, other])
        rows[1, 0] = rows[2, -1] = rows[3, 0] = np.nan
        rows[0, other > 0.9] = np.nan
        joints = ~np.isnan(rows[0])
        columns = np.flatnonzero(joints).tolist()
        if columns:
            safety = self.loop.settings.safety
            own = self.chained_velocity.update(
                self.t, rows[0, columns], columns, self.loop.settings.limits.velocity, filter_time=0.005,
                timeout=safety.reference_timeout, jump=safety.reference_jump,
            )  # fmt: skip
            part = rows[:, columns]
            qd = np.where(np.isnan(part[1]), own, part[1])
            names = [self.robot.joint_names[index] for index in columns]
            reference = Reference(part[0], qd, np.nan_to_num(part[2]), np.nan_to_num(part[3]))
            self.attempt(lambda: self.loop.track(reference, self.t, names))
        return [CHAINED, *rows.ravel()]

    def trajectory(self, other: np.ndarray) -> list[Any]:
        rng, n = self.rng, self.n
        degree = int(rng.choice([1, 3, 5]))
        columns = [*range(n)] if rng.random() < 0.6 else sorted(rng.permutation(n)[: max(1, n - 1)].tolist())
        points = int(rng.integers(1, 4))
        times = np.round(np.cumsum(rng.uniform(0.03, 0.2, points)), 9)
        positions = self.q + np.cumsum(0.03 * rng.uniform(-1.0, 1.0, (points, n)), axis=0)
        velocities = 0.2 * rng.uniform(-1.0, 1.0, (points, n))
        if velocities[0, 0] < 0.1:  # others end in motion: a set-point of a stream if short, else refused
            velocities[-1] = 0.0
        accelerations = rng.uniform(-1.0, 1.0, (points, n))
        rows = [positions[:, columns]]
        rows += [velocities[:, columns]] if degree > 1 else []
        rows += [accelerations[:, columns]] if degree > 3 else []
        names = [self.robot.joint_names[index] for index in columns]
        has_efforts = bool(self.more.random() < 0.5)
        if has_efforts and points > 1:  # they count from the first point on
            times = np.round(times - times[0], 9)
        efforts = self.loop.settings.limits.effort * self.more.uniform(-1.0, 1.0, (points, n))
        efforts = efforts[:, columns] * self.more.choice([0.2, 0.9, 2.0], p=[0.5, 0.4, 0.1])  # or too great
        offset = float(self.more.choice([np.nan, np.nan, 0.01, -0.02]))
        # By the clock of the nodes, which is at the period that comes; the loop knows the one before.
        start = None if np.isnan(offset) else self.before + (round(1e9 * (self.t + offset)) / 1e9 - self.t)
        self.attempt(
            lambda: self.loop.follow(
                Trajectory(times, *rows, *[None] * (3 - len(rows)), efforts if has_efforts else None), start, names
            )
        )
        rows += [efforts] if has_efforts else []
        table = [number for k in range(points) for number in (times[k], *(x for row in rows for x in row[k]))]
        return [TRAJECTORY, points, len(columns), degree, has_efforts, offset, *columns, *table]

    def change(self, other: np.ndarray) -> list[Any]:
        rng = self.rng
        name = str(rng.choice(self.robot.joint_names))
        links = [link.name for link in self.robot.links if link.body >= 0]
        options: list[dict[str, Any]] = [
            {f"gains.{name}.natural_frequency": float(rng.uniform(4.0, 12.0))},
            {f"gains.{name}.stiffness": float(rng.uniform(0.0, 30.0)), f"gains.{name}.integral_rate": 1.0},
            {"payload.link": str(rng.choice(links)), "payload.mass": float(rng.uniform(0.0, 0.5)),
             "payload.com": [0.01, -0.02, 0.03], "payload.inertia": [2e-3, 1e-4, 0.0, 3e-3, -1e-4, 2.5e-3]},
            {f"effort_limits.{name}": float(0.4 * self.made.given[f"effort_limits.{name}"])},
            {"blend_time": float(rng.choice([0.0, 0.05])), "ramp_time": 0.01},
            {"plausibility": bool(rng.random() < 0.5), "following_tolerance": float(rng.choice([0.0, 0.3]))},
            {"faults.speed.answer": str(rng.choice(["hold", "damp", "ramp"])), "faults.states.expiry": 0.1},
            {"gravity": [0.0, 0.1, -9.81]},
            {"contact.gain": float(rng.uniform(5.0, 50.0)),
             "faults.touch.answer": str(rng.choice(["wait", "retreat"]))},
        ]  # fmt: skip
        changed = options[int(rng.integers(len(options)))]
        if self.more.random() < 0.1:
            changed = {"speed_scaling": float(self.more.choice([0.4, 1.0]))}
        if "payload.link" in changed and not self.payloads:
            changed = options[0]
        self.changes += changed.items()
        if not self.made.frozen & {parameter.partition(".")[0] for parameter in changed}:  # else it is refused
            self.given |= changed
            self.loop.apply(self.settings())
        return [CHANGE, len(changed)]

    def run(self, periods: int) -> tuple[np.ndarray, np.ndarray, str]:
        """The commands of the exported controller, those expected, and what it says at its end."""
        for _ in range(periods):
            self.step()
        folder = self.made.program.parent
        np.array(self.numbers, dtype=np.float64).tofile(folder / "history.bin")
        (folder / "changes.txt").write_text(changes_text(self.changes), "utf-8")
        options = ["mit"] if self.mit else []
        done = subprocess.run([str(self.made.program), *options], cwd=folder, capture_output=True, check=False)
        said = done.stderr.decode()
        assert done.returncode == 0, said[-3000:]
        found = np.frombuffer(done.stdout).reshape(periods, -1)
        return found, np.array(self.expected).reshape(periods, -1), said

    def repeat(self, times: int) -> int:
        """Run the exported controller through the same history again and again; the number of periods."""
        command = [str(self.made.program), f"repeat:{times}"]
        done = subprocess.run(command, cwd=self.made.program.parent, capture_output=True, check=False)
        said = done.stderr.decode()
        assert done.returncode == 0, said[-3000:]
        return int(said.split("periods ")[-1].split()[0])


def rotation_of(quaternion: np.ndarray) -> np.ndarray:
    """The matrix of a unit quaternion (x, y, z, w)."""
    skew = so3.hat(quaternion[:3])
    return np.eye(3) + 2.0 * quaternion[3] * skew + 2.0 * skew @ skew


def close_wrenches(history: ControllerHistory) -> None:
    """The wrenches that are published are those that the node would publish."""
    found = np.fromfile(history.made.program.parent / "wrenches.bin").reshape(-1, 7)
    expected = np.array([history.wrenches[round(t, 9)] for t in found[:, 0]])
    assert len(found) == len(history.wrenches) and (np.abs(expected) > 1.0).any()
    np.testing.assert_allclose(found[:, 1:], expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())


def changes_text(changes: list[tuple[str, Any]]) -> str:
    return "".join(lines_of({name: value}) for name, value in changes)


def close(
    found: np.ndarray, expected: np.ndarray, history: ControllerHistory, drift: float = 1.0, rarely: float = 1.0
) -> None:
    """They are equal to 1e-12 of the greatest effort, times ``drift`` where a law adds up what it remembers.

    Of what is streamed to the tool, C works out the velocities of the joints by another algorithm, which rounds in
    other ways. Their change over a millisecond is an acceleration, and a stop from there has segments of a millisecond:
    in those the rounding of a position, 1e-16, is 1e-10 of an acceleration. So one period in a thousand may be off by
    ``rarely`` times that.
    """
    greatest = max(min(joint.effort, GREATEST) for joint in history.robot.joints)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))
    off = np.nan_to_num(np.abs(found - expected) / np.maximum(greatest, np.abs(expected))).max(axis=1)
    assert off.max() <= 1e-12 * drift * rarely, (int(off.argmax()), off.max())
    assert np.mean(off > 1e-12 * drift) <= 1e-3, np.flatnonzero(off > 1e-12 * drift)[:10]


@pytest.fixture(scope="module")
def prr(tmp_path_factory: pytest.TempPathFactory) -> Exported:
    robot = rd.load_robot(PRR)
    return build(tmp_path_factory.mktemp("prr"), PRR, given_for(robot, np.random.default_rng(1)))


TOOL_LAWS = ("cartesian_impedance", "operational_space", "hand_guiding", "free_drive")
"""Laws about the tool, and laws by hand."""

SEEN = {"law", "limited", "states", "speed", "publisher", "sensor", "following", "hold", "damp", "ramp", "silent"}
SEEN |= {"collision", "touch", "float", "retreat", "tool", "scaled", "planned"}
SEEN |= {"follow", "track", "JumpError", "LimitError", "InputError", "NotReadyError"}


@needs_compiler
def test_efforts_are_those_of_the_node(prr: Exported) -> None:
    seen: set[str] = set()
    for seed in (3, 4, 5):
        history = ControllerHistory(prr, seed)
        found, expected, said = history.run(FEW)
        close(found, expected, history)
        assert said.endswith("allocations 0 locks 0\n")
        assert "longer than state_timeout: the arm is held where it was found" in said
        seen |= history.seen
    assert seen >= SEEN


@needs_compiler
def test_a_clock_that_is_set_stops_no_motion(prr: Exported) -> None:
    """The controller_manager gives the nodes' time, which an operator or NTP may set, and periods by a steady clock."""
    folder, n, periods, duration = prr.program.parent, 3, 2600, 2.4
    start, goal = 0.1 + np.zeros(n), np.array([0.15, 0.0, 0.18])
    rows: list[float] = []
    for k in range(periods):
        asked = [TRAJECTORY, 1, n, 3, 0, np.nan, 0, 1, 2, duration, *goal, *np.zeros(n)] if k == 20 else [NOTHING]
        part = min(max(PERIOD * (k - 20) / duration, 0.0), 1.0)
        q = start + (goal - start) * part**2 * (3.0 - 2.0 * part)
        qd = (goal - start) * 6.0 * part * (1.0 - part) / duration
        rows += [round(5.0 + PERIOD * k, 9), *q, *qd, *asked]
    np.array(rows, dtype=np.float64).tofile(folder / "history.bin")
    (folder / "changes.txt").write_text("", encoding="utf-8")
    outputs = [
        subprocess.run([str(prr.program), *option], cwd=folder, capture_output=True, check=True)
        for option in ([], ["clock"], ["unheard"])
    ]
    expected, found, unheard = (np.frombuffer(done.stdout).reshape(periods, n) for done in outputs)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(unheard, expected)
    assert len(np.unique(expected[100:], axis=0)) > 300  # it moves
    assert b"fault" not in outputs[1].stderr
    published = [int(done.stderr.split(b"published ")[1].split()[0]) for done in outputs]
    assert published[0] == published[1] > 2000 and published[2] == 0  # nobody is woken for what nobody reads


def test_every_package_that_is_found_is_linked() -> None:
    """By targets: ament_target_dependencies is deprecated since Kilted."""
    text = exported(PRR, {}, "pd").texts["CMakeLists.txt"]
    found = text.split("set(DEPENDENCIES ")[1].split(")")[0].split()
    linked = text.split("target_link_libraries(")[1].split(")")[0].split()
    assert {name.split("::")[0].removeprefix("${").removesuffix("_TARGETS}") for name in linked} >= set(found)
    assert "ament_target_dependencies" not in text


@needs_compiler
def test_streams_for_the_tool(tmp_path: Path) -> None:
    given = given_for(rd.load_robot(PRR), np.random.default_rng(4)) | {
        "contact.observe": "tool", "contact.touch_force": 0.0, "contact.collision_force": 0.0, "contact.energy": 0.0,
        "contact.touch_torque": 0.0, "stream.filter_time": 0.01, "stream.timeout": 0.03, "stream.speed": 0.3,
        "tool": "link2", "plausibility": False, "following_tolerance": 0.0,
    }  # fmt: skip
    history = ControllerHistory(build(tmp_path, PRR, given), 7)
    history.calm = True
    found, expected, said = history.run(FEW)
    close(found, expected, history)
    close_wrenches(history)
    assert history.seen >= {"tool", "the stream is over", "track", "hold"}
    assert history.seen >= {"in a link", "in ''", *(f"in {name!r}" for name in FRAMES)}
    assert said.endswith("allocations 0 locks 0\n")
    assert "the frame 'elsewhere' is no link of the arm, and tf does not know it" in said
    assert re.search(r"what tf says of the frame 'stopped' is \d+\.\d+ s old", said)


@needs_compiler
def test_in_mit_mode(prr: Exported) -> None:
    text = (prr.program.parent / "parameters.txt").read_text(encoding="utf-8")
    assert "output\tstring\teffort\n" in text
    (prr.program.parent / "parameters.txt").write_text(text.replace("output\tstring\teffort", "output\tstring\tmit"))
    try:
        history = ControllerHistory(prr, 5, mit=True)
        found, expected, _ = history.run(1000)
    finally:
        (prr.program.parent / "parameters.txt").write_text(text)
    close(found, expected, history)
    assert (np.nan_to_num(found[:, 9:12]) > 0.0).any()


@needs_compiler
@pytest.mark.thorough
@pytest.mark.timeout(1500)
@pytest.mark.parametrize("streams", [False, True])
def test_many_periods(prr: Exported, streams: bool) -> None:
    history = ControllerHistory(prr, 11)
    history.streams = streams
    found, expected, said = history.run(max(MANY // (3 if streams else 1), PERIODS))
    close(found, expected, history, rarely=10.0 if streams else 1.0)
    assert said.endswith("allocations 0 locks 0\n")


def industrial_arm(name: str) -> str:
    if name == "prr":
        return PRR
    if name == "turning":
        return TURNING
    if name == "single":
        return arms.mechanism("P", (3.1,))
    if name == "branched":
        return BRANCHED
    text = industrial.urdfs()[name].read_text(encoding="utf-8")
    return re.sub(r'(<joint name="panda_finger_joint\d" type=)"prismatic"', r'\1"fixed"', text)


ARMS = ["prr", *(name for name in ("ur5_robot", "panda") if name in industrial.urdfs())]
ODD_ARMS = ["turning", "branched", "single"]


@needs_compiler
@pytest.mark.thorough
@pytest.mark.timeout(1500)
@pytest.mark.parametrize("name", ARMS + (ODD_ARMS if "ROBODYN_PERIODS" in os.environ else []))
def test_with_sanitizers(name: str, tmp_path: Path) -> None:
    urdf = industrial_arm(name)
    given = given_for(rd.load_robot(urdf), np.random.default_rng(2)) | {"contact.observe": "tool"}
    made = build(tmp_path, urdf, given, flags=SANITIZERS)
    history = ControllerHistory(made, 21)
    history.payloads = False  # they scale the damping of the wrench, which the package keeps
    compared = PERIODS // (5 if name == "prr" else 20)
    found, expected, _ = history.run(compared)
    close(found, expected, history, rarely=10.0 if name in industrial.urdfs() else 1.0)
    close_wrenches(history)
    assert history.repeat(-(-MANY // compared)) >= MANY


@needs_compiler
@pytest.mark.thorough
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "law", [*TOOL_LAWS, "pd", "impedance", "gravity_compensation", "adaptive", "disturbance_observer"]
)
def test_other_laws(law: str, tmp_path: Path) -> None:
    made = build(tmp_path, PRR, given_for(rd.load_robot(PRR), np.random.default_rng(3)), law)
    history = ControllerHistory(made, 31)
    found, expected, said = history.run(5000)
    assert ("parameters are refused" in said) == bool(made.frozen)
    # What a law remembers adds up rounding.
    close(found, expected, history, 1e3 if history.loop.controller.remembers else 1.0)


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


@needs_compiler
def test_it_compiles_without_tf(prr: Exported) -> None:
    package = prr.program.parent / PACKAGE
    places = (f"-I{folder}" for folder in (DECLARATIONS, package / "build", package / "src"))
    run("g++", "-std=c++17", *WARNINGS, "-fsyntax-only", *places, package / "src/topics.cpp")


def test_parameters_are_those_of_the_node() -> None:
    """Names, defaults, ranges and meanings are those of the page, which is held against the running node."""
    robot = rd.load_robot(PRR)
    page = (HERE.parent / "docs/reference/nodes.md").read_text(encoding="utf-8")
    table = page.split("<!-- parameters of controller -->")[1].split("\n\n")[0]
    rows = {cells[1].strip(" `"): [cell.strip() for cell in cells[2:5]] for cells in
            (line.split(" | ") for line in table.replace("| | ", "|  | ").replace("| `", " | `").splitlines())
            if len(cells) > 4}  # fmt: skip
    found = declared(exported(PRR, {}, "computed_torque"))
    assert found.pop("prefix")["default_value"] == ""
    for name, entry in found.items():
        joint = next((joint for joint in robot.joint_names if joint in name.split(".")), "")
        default, allowed, meaning = rows[name.replace(f".{joint}", ".<joint>") if joint else name]
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
    general = {re.sub(r"\.joint\d", ".<joint>", name) for name in found}
    groups = ("faults.", "gains.", "constraints.", "payload.")
    assert {name for name in rows if name.startswith(groups)} <= general


def test_a_law_that_derives_more_keeps_its_parameters_fixed() -> None:
    files = exported(PRR, {}, "adaptive")
    assert "gains" in files.frozen and "velocity_limits" not in files.frozen
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
    assert kept == ["config/controllers.yaml"] and own.read_text() == "mine" and "src/core.c" in written
    assert (folder / "notes.txt").read_text() == "mine too"
    assert declared(exported(PRR, {"blend_time": 0.1}, "pd"))["blend_time"]["default_value"] == 0.1
    (folder / "src/core.c").write_text("/* better */", encoding="utf-8")
    with pytest.raises(InputError, match=r"changed since: src/core\.c; move them away"):
        write_package(folder, exported(PRR, {}, "pd"))
    assert (folder / "src/core.c").read_text() == "/* better */" and own.read_text() == "mine"
    other = tmp_path / "other"
    other.mkdir()
    (other / "package.xml").write_text("<package/>", encoding="utf-8")
    with pytest.raises(InputError, match=r"not written by an export.*package\.xml"):
        write_package(other, exported(PRR, {}, "pd"))


@pytest.mark.parametrize("name", ["MyArm", "1arm", "my-arm", "my__arm", "arm_"])
def test_a_package_needs_a_name(name: str) -> None:
    with pytest.raises(InputError, match="no name of a ROS 2 package"):
        exported(PRR, {}, "pd", name)


def test_a_joint_needs_a_name() -> None:
    for name in ("left/joint", "class"):
        with pytest.raises(InputError, match="cannot be a name in C"):
            exported(PRR.replace('"joint2"', f'"{name}"'), {}, "pd")


def test_what_cannot_be_exported_says_why() -> None:
    with pytest.raises(ConfigurationError, match="mpc cannot be written as C"):
        exported(PRR, {}, "mpc")


@needs_compiler
def test_other_values_of_fixed_parameters_are_refused(prr: Exported) -> None:
    folder = prr.program.parent
    text = (folder / "parameters.txt").read_text(encoding="utf-8")
    (folder / "history.bin").write_bytes(b"")
    (folder / "changes.txt").write_text("", encoding="utf-8")
    try:
        for before, after, why in (
            (
                "controller\tstring\tcomputed_torque",
                "controller\tstring\tpd",
                "fixed in this package to 'computed_torque'",
            ),
            ("state_timeout\tdouble\t0.03", "state_timeout\tdouble\tnan", "state_timeout: must be a finite number"),
            ("payload.mass\tdouble\t0.0", "payload.mass\tdouble\t1.0", "payload.link: must name the link"),
            (
                "state_timeout\tdouble\t0.03",
                "state_timeout\tdouble\t0.001",
                "state_timeout: a state comes every 0.001 s",
            ),
            ("joint1.natural_frequency\tdouble\t7.0", "joint1.natural_frequency\tdouble\t999.0", "gains: a period of"),
            ("allow_sagging\tbool\ttrue", "allow_sagging\tbool\tfalse", ""),
            ("gravity\tdouble_array\t0.3\t-0.2\t-9.7", "gravity\tdouble_array\t0.0\t0.0\t-60.0", ""),
        ):
            assert text.count(before) == 1
            (folder / "parameters.txt").write_text(text.replace(before, after), encoding="utf-8")
            done = subprocess.run([str(prr.program)], cwd=folder, capture_output=True, text=True, check=False)
            assert (done.returncode, why in done.stderr) == ((3, True) if why else (0, True)), done.stderr
    finally:
        (folder / "parameters.txt").write_text(text, encoding="utf-8")


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "arm.urdf").write_text(PRR, encoding="utf-8")
    folder = tmp_path / "my_controllers"
    line = ["export", str(tmp_path / "arm.urdf"), "--ros2-control", str(folder), "--controller", "impedance"]
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
        assert "my_controllers" in text and "@" not in text.replace("you@example.com", "").replace("@pytest", ""), name
    mock = ElementTree.parse(folder / "description/arm.urdf").getroot()
    assert [joint.get("name") for joint in mock.iter("joint") if joint.find("state_interface") is not None] == [
        "joint1", "joint2", "joint3"
    ]  # fmt: skip
    compile((folder / "launch/arm.launch.py").read_text(encoding="utf-8"), "arm.launch.py", "exec")
    for wrong, why in (
        (["-p", "state_timeot:=1"], "is it 'state_timeout'"),
        (["-p", "gains.joint2.stiffness:=-1"], "gains.joint2.stiffness"),
        (["--of", "step"], "--ros2-control"),
    ):
        assert main([*line, *wrong]) == 2
        assert why in capsys.readouterr().err
