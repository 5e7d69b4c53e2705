"""A controller of ros2_control for one arm: ``robodyn export --ros2-control``.

The package that is written needs neither Python nor CasADi at run time. It has the files of ``ros2_control/`` beside
this file, which are the same for all arms, the loop in C (``../loop.c``), and what is the arm's own: the control
step and the model as C, numbers, names and defaults. In files that end in ``.in`` the words between ``@`` are replaced.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from robodyn_ros import __version__
from robodyn_ros.control.compiled_loop import CODE, KINDS, LEVELS, CompiledLoop, structs_for
from robodyn_ros.control.compiled_step import FLAGS, CompiledStep
from robodyn_ros.control.contact.settings import Contact
from robodyn_ros.control.export.controller_parameters import (
    ExportedParameter,
    exported_parameters,
    frozen_groups,
    known_defaults,
    members,
    parameter_file,
    step_of,
    with_fixed,
)
from robodyn_ros.control.faults import holding, plausibility, sampling, supervisor
from robodyn_ros.control.faults.settings import PHASES, FaultReactions, SafetySettings
from robodyn_ros.control.laws.base import Controller, Efforts, Reference
from robodyn_ros.control.limits import EFFORT_TOLERANCE, FARTHEST, SPEED_TOLERANCE
from robodyn_ros.control.loop import ControlLoop
from robodyn_ros.control.loop_settings import NO_LIMIT, law_feedback, make_loop_settings, model_parameters
from robodyn_ros.control.motion import tool_stream
from robodyn_ros.control.motion.trajectory import GREATEST_EFFORT
from robodyn_ros.control.parameter_file import FileParameters
from robodyn_ros.control.reference import manager, stream_velocity
from robodyn_ros.control.step_numbers import StepMemory, StepSettings, width
from robodyn_ros.dynamics.base import Dynamics
from robodyn_ros.dynamics.compiled import CompiledDynamics
from robodyn_ros.dynamics.inertial_parameters import BASIS, moved, to_parameters, to_pseudo
from robodyn_ros.dynamics.symbolic.export.listing import facts, plain
from robodyn_ros.engine.c_structs import Record
from robodyn_ros.engine.codegen import scalar_source
from robodyn_ros.engine.tracing import TraceError
from robodyn_ros.errors import ConfigurationError, InputError, NotReadyError
from robodyn_ros.kinematics import Kinematics, so3
from robodyn_ros.kinematics.workspace import random_positions
from robodyn_ros.robot import Robot
from robodyn_ros.robot.pose import Array

TEMPLATES = Path(__file__).with_name("ros2_control")

PACKAGE_NAME = re.compile(r"[a-z](?:[a-z0-9]|_(?!_))*[a-z0-9]")
"""Names of ROS 2 packages (REP 144)."""

MANIFEST = ".robodyn_export"
"""File with a checksum of each file as it was written."""

GENERATED = ("src/", "config/parameters.yaml")
"""Files that belong together and must not be changed by hand; all others may be."""

QUANTITIES = ("forward", "gravity", "inverse", "mass_matrix")
"""Quantities of the model that the loop asks for."""

TOOL_NUMBERS = (
    "CLOSING", "POSTURE", "SPEED", "SLOPE_POSITION", "SLOPE_VELOCITY", "BRAKING", "RISE", "FASTEST", "MARGIN", "STILL",
    "LONGEST_PERIOD",
)  # fmt: skip
"""Constants of motion/tool_stream.py that tool_stream.c needs."""

ODD_STEPS = 20
"""Steps after which every number of a law's memory is another one than at first."""

KEYWORDS = {
    "alignas", "alignof", "and", "asm", "auto", "bool", "break", "case", "catch", "char", "class", "const",
    "constexpr", "continue", "decltype", "default", "delete", "do", "double", "else", "enum", "explicit", "export",
    "extern", "false", "float", "for", "friend", "goto", "if", "inline", "int", "long", "mutable", "namespace", "new",
    "not", "operator", "or", "private", "protected", "public", "register", "requires", "return", "short", "signed",
    "sizeof", "static", "struct", "switch", "template", "this", "throw", "true", "try", "typedef", "typename",
    "union", "unsigned", "using", "virtual", "void", "volatile", "while", "xor",
}  # fmt: skip
"""Words that can be no name in C++, and so no joint in generate_parameter_library."""

PER_LINE = 4
"""Numbers in a line of a table."""


class ExportedFiles(NamedTuple):
    """A package, not yet written."""

    texts: dict[str, str]  # path in the package → text
    frozen: set[str]  # first words of the names of parameters that this law cannot change at run time


def export_package(
    dynamics: Dynamics, given: Mapping[str, Any], law: str, package: str, urdf: str = ""
) -> ExportedFiles:
    """The files of a package with a controller for an arm.

    Args:
        dynamics: the model.
        given: name → value of the parameters that differ from the defaults.
        law: name of the control law.
        package: name of the package.
        urdf: the arm's description, for the launch file and the test with mock hardware.

    Raises:
        InputError: a name cannot be used in C++ or in ROS 2.
        ConfigurationError: the law cannot be traced, or there is no compiler to try it out.
        RobodynError: a parameter is wrong.
    """
    robot = dynamics.robot
    _check_names(robot, package)
    if not isinstance(dynamics, CompiledDynamics):
        raise ConfigurationError(f"the model {type(dynamics).__name__} has no expressions that could be written as C")
    defaults = known_defaults(robot, given, law)
    values = FileParameters(given, defaults)
    model = model_parameters(values, robot)
    dynamics.configure(**model | {"payload": None})
    bare = dynamics.symbols.copy()
    dynamics.configure(**model)
    try:
        frozen = frozen_groups(given, defaults, dynamics, law)
    except (TraceError, NotReadyError) as cause:
        raise ConfigurationError(f"{law} cannot be written as C: {cause}") from cause
    settings = make_loop_settings(values, dynamics, law)
    loop = ControlLoop.from_settings(settings)
    step = loop.compiled_step
    if step is None:
        raise ConfigurationError(f"{law} cannot be written as C: it runs as Python")
    parameters = with_fixed(exported_parameters(robot, given, law), frozen)
    stream = tool_stream.ToolStream(
        dynamics, values[tool_stream.TOOL.name], tool_stream.StreamSettings(), settings.limits.velocity
    )
    twins = (step_of(make_loop_settings(values, dynamics, law)) for _ in range(2))
    arm = Arm(robot, settings.controller, step, parameters, bare, settings.contact, stream, resumed(*twins))
    try:
        data = arm.data(CompiledLoop(loop))
    except NotReadyError as cause:
        raise ConfigurationError(f"{law} cannot be written as C: {cause}") from cause
    comment = "\n".join(["/*", *(f" * {line}".rstrip() for line in facts(dynamics)), " */", ""])
    words = {
        "PACKAGE": package,
        "LAW": law,
        "ARM": plain(robot.name),
        "VERSION": __version__,
        "JOINTS": ", ".join(robot.joint_names),
        "JOINT_LIST": json.dumps(list(robot.joint_names)),
        "COMMAND_JOINTS": json.dumps([f"arm_controller/{name}" for name in robot.joint_names]),
        "FIRST_JOINT": robot.joint_names[0],
        "ROOT": robot.root,
        "TOOL": stream.link,
        "FROZEN": ", ".join(f"`{name}.…`" if name != "gravity" else "`gravity`" for name in sorted(frozen)) or "none",
    }
    observer = None if settings.contact is None else settings.contact.observer.program
    kinematics, felt = Kinematics(robot), arm.contact_link
    found = {
        "src/arm.h": comment + arm.header(),
        "src/arm_data.h": comment + data,
        "src/step_code.h": scalar_source(step.program),
        **{f"src/{name}_code.h": scalar_source(dynamics.program(name)) for name in QUANTITIES},
        "src/contact_code.h": "" if observer is None else scalar_source(observer),
        "src/contact_link_code.h": scalar_source(kinematics.program(felt)) if felt else "",
        "src/tool_code.h": scalar_source(kinematics.program(stream.link)),
        "src/links_code.h": scalar_source(kinematics.poses_program()),
        "src/loop.c": CODE.read_text(encoding="utf-8"),
        "config/parameters.yaml": parameter_file(parameters, f"{package}_parameters"),
        "description/arm.urdf": with_mock_hardware(urdf, robot) if urdf else "",
    }
    for path in sorted(TEMPLATES.rglob("*.*")):
        name = path.relative_to(TEMPLATES).as_posix()
        if path.is_file() and "__pycache__" not in name:
            found[name.removesuffix(".in")] = _replaced(path, words)
    found = {name: text for name, text in found.items() if text}
    return ExportedFiles(found, frozen)


def _replaced(path: Path, words: Mapping[str, str]) -> str:
    text = path.read_text(encoding="utf-8")
    return re.sub(r"@([A-Z_]+)@", lambda found: words[found[1]], text) if path.suffix == ".in" else text


def write_package(folder: Path, files: ExportedFiles) -> tuple[list[str], list[str]]:
    """Write a package into a folder, which may hold an earlier export.

    Files that were changed by hand since then stay, if that can be: the generated code and what goes with it must not
    have been changed.

    Returns:
        Names of the files that are written, and of those that are kept.

    Raises:
        InputError: a file cannot be written, or must not be changed and was.
    """
    manifest = folder / MANIFEST
    try:
        known = json.loads(manifest.read_text(encoding="utf-8")) if manifest.is_file() else {}
    except (OSError, ValueError) as cause:
        raise InputError("--ros2-control", f"{str(manifest)!r} cannot be read: {cause}", folder) from cause
    kept: list[str] = []
    changed: list[str] = []
    for name, text in files.texts.items():
        path = folder / name
        if path.is_file() and _sum(path.read_bytes()) not in (known.get(name), _sum(text.encode())):
            (changed if name.startswith(GENERATED) or name not in known else kept).append(name)
    if changed:
        said = ", ".join(changed)
        raise InputError(
            "--ros2-control",
            f"{str(folder)!r} has files that were not written by an export, or changed since: {said}; move them away",
            folder,
        )
    written = [name for name in files.texts if name not in kept]
    try:
        for name in written:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(files.texts[name], encoding="utf-8")
        sums = {name: _sum(text.encode()) for name, text in files.texts.items()}
        manifest.write_text(json.dumps(sums, indent=1) + "\n", encoding="utf-8")
    except OSError as cause:
        raise InputError("--ros2-control", f"{cause.filename!r} cannot be written: {cause.strerror}", folder) from cause
    return written, kept


def _sum(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _check_names(robot: Robot, package: str) -> None:
    if not PACKAGE_NAME.fullmatch(package):
        text = "is no name of a ROS 2 package: lower-case letters, digits and single underscores, a letter first"
        raise InputError("--ros2-control", f"{package!r} {text}", package)
    for name in robot.joint_names:
        if not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII) or name in KEYWORDS:
            text = "cannot be a name in C++, which generate_parameter_library makes of it: rename it in the URDF"
            raise InputError("joints", f"{name!r} {text}", name)


def with_mock_hardware(urdf: str, robot: Robot) -> str:
    """A description with mock hardware for ros2_control: an arm that stands still at its home position."""
    states = "\n".join(
        f"""    <joint name="{joint.name}">
      <command_interface name="effort"/>
      <state_interface name="position"><param name="initial_value">{position!r}</param></state_interface>
      <state_interface name="velocity"><param name="initial_value">0.0</param></state_interface>
    </joint>"""
        for joint, position in zip(robot.joints, robot.home.tolist(), strict=True)
    )
    system = f"""  <ros2_control name="mock" type="system">
    <hardware><plugin>mock_components/GenericSystem</plugin></hardware>
{states}
  </ros2_control>
"""
    if "<ros2_control" in urdf:
        return urdf
    place = urdf.rindex("</robot>")
    return urdf[:place] + system + urdf[place:]


class Arm:
    """What of an exported controller is the arm's own, as C."""

    def __init__(
        self,
        robot: Robot,
        law: Controller,
        step: CompiledStep,
        parameters: list[ExportedParameter],
        bare: Array,
        contact: Contact | None,
        stream: tool_stream.ToolStream,
        law_keeps: Array,
    ) -> None:
        """
        Args:
            robot: the arm.
            law: its control law.
            step: the control step.
            parameters: of the controller.
            bare: the parameters of the model without a payload.
            contact: what is observed of contacts; None if nothing is.
            stream: what is streamed to the tool.
            law_keeps: 1 for each number of the law's memory that stays when settings change.
        """
        self._contact, self._stream, self._law_keeps = contact, stream, law_keeps
        self._robot, self._law, self._step, self._parameters = robot, law, step, parameters
        self._bare = bare
        assert isinstance(law.dynamics, CompiledDynamics)
        self._dynamics: CompiledDynamics = law.dynamics
        self._members = members(parameters)

    @property
    def contact_link(self) -> str:
        """The link that feels a wrench from outside; "" if none is asked for."""
        return "" if self._contact is None else self._contact.observer.link

    def header(self) -> str:
        """``arm.h``: the number of joints, and the parameters."""
        lines = [f"  double {name}{f'[{size}]' if size else ''};" for name, size in self._sized()]
        return "\n".join(
            [
                "#ifndef ARM_H",
                "#define ARM_H",
                "",
                f"#define ARM_JOINTS {self._robot.n}",
                f"#define ARM_LINKS {len(self._robot.links)}",
                f"#define ARM_TERMS {len(Efforts._fields)} /* of the effort */",
                f"#define ARM_OLDEST_FRAME {tool_stream.OLDEST_FRAME} /* of tf [s] */",
                f"#define ARM_OBSERVES {int(self._contact is not None)} /* 1: the efforts from outside are observed */",
                f"#define ARM_FEELS_WRENCH {int(bool(self.contact_link))} /* 1: and the wrench at a link */",
                "",
                "/* The parameters: numbers; texts as their place among the choices. */",
                "typedef struct {",
                *lines,
                "} Parameters;",
                "",
                "#endif",
                "",
            ]
        )

    def _sized(self) -> list[tuple[str, int | None]]:
        """The members of the struct of the parameters, and how many numbers each has; None for one that is no array."""
        wide = {item.member: self._robot.n for item in self._parameters if item.member.endswith("_limits")}
        wide |= {item.member: self._robot.n for item in self._parameters if item.spec.name.count(".") == 2}
        wide |= {name: len(KINDS) for name in self._members if name.startswith("faults_")}
        return [(name, wide.get(name, size if size > 1 else None)) for name, size in self._members.items()]

    def data(self, loop: CompiledLoop) -> str:
        """``arm_data.h``: the numbers of the arm, and the first state and settings of the loop.

        Raises:
            ConfigurationError: the law has no gains that could be set.
        """
        step, dynamics, robot = self._step, self._dynamics, self._robot
        loop.lend()
        sizes = step.setting_sizes
        places = dict(zip(sizes, np.cumsum([0, *sizes.values()]).tolist(), strict=False))
        wanted = {"kp": "law.kp", "kd": "law.kd", "ki": "law.ki", "model": "law.dynamics.symbols"}
        missing = [name for name in wanted.values() if name not in places]
        if missing:
            raise ConfigurationError(f"{type(self._law).__name__} cannot be exported: it does not use its {missing[0]}")
        own = {name: places[name] for name in StepSettings._fields} | {
            name: places[path] for name, path in wanted.items()
        }
        maps = [self._payload_map(link.name) for link in robot.links if link.body >= 0]
        observer = np.zeros(len(dynamics.symbols)) if self._contact is None else self._contact.observer.parameters
        structs, fields = structs_for(robot.n), vars(loop.settings.record.fields)
        safety = [name for name in fields if name in SafetySettings.__dataclass_fields__ and name in self._members]
        scalars = [name for name in StepSettings._fields if name in self._members]
        settings = loop.settings.record
        first_settings = initializer(settings, structs.pointers)
        inertia = np.diagonal(dynamics.mass_matrix(robot.home))
        feedback = law_feedback(self._law)
        frequency = np.maximum(np.sqrt(feedback.stiffness / inertia), 0.5 * feedback.damping / inertia)
        held = round(holding.HELD * holding.POSES)
        poses = np.array([robot.home, *random_positions(robot, holding.POSES - 1)])
        numbers = {
            "NO_LIMIT": NO_LIMIT,
            **{name: getattr(plausibility, name) for name in ("SPEED_ERROR", "UNSURE", "KNOWN", "STUCK", "FAST")},
            **{name: getattr(plausibility, name) for name in ("MOVES", "BEYOND", "PART")},
            "LACKING_SPEED": plausibility.SPEED,
            "FAR_ACCELERATION": supervisor.ACCELERATION,
            "FAR_EFFORT": supervisor.EFFORT,
            **{name: getattr(holding, name) for name in ("RISE", "START", "NO_WORSE")},
            "SPEED_TOLERANCE": SPEED_TOLERANCE,
            "EFFORT_TOLERANCE": EFFORT_TOLERANCE,
            "FARTHEST": FARTHEST,
            "GREATEST_EFFORT": GREATEST_EFFORT,
            "POSITION_ROUNDING": manager.ROUNDING,
            "AT_REST": manager.AT_REST,
            **{name: getattr(manager, name) for name in ("TICK", "SET_POINT", "REST", "LEAST_REST")},
            **{name: getattr(stream_velocity, name) for name in ("SILENCE", "OVERTAKEN", "SILENT_PERIODS")},
            "GREATEST_PERIOD": greatest_period(self._law, robot),
            "SMALL_ANGLE": so3.SERIES,
            "TOOL_FLOOR": self._stream.floor,
            "TOOL_LEAD": tool_stream.LEAD[0],
            "TOOL_LEAD_ANGLE": tool_stream.LEAD[1],
            **{f"TOOL_{name}": getattr(tool_stream, name) for name in TOOL_NUMBERS},
        }
        whole = {
            "LAW_ACCELERATES": int(self._law.feedback == "acceleration"),
            "LAW_WIDTH": len(step.law_memory),
            "OBSERVER_WIDTH": len(observer),
            "FLAGS_WIDTH": len(FLAGS),
            "STEP_WIDTH": len(step.parameters),
            "MODEL_WIDTH": len(dynamics.symbols),
            "INERTIAL_WIDTH": len(dynamics.inertial_map),
            "POSES": holding.POSES,
            "HELD_POSES": held,
            "TOOL_DIRECTIONS": len(self._stream.axes),
            **{f"STEP_{name}": place for name, place in own.items()},
        }
        sections = [
            *(f"#define {name} {_number(value)}" for name, value in numbers.items()),
            "",
            "enum {\n" + ",\n".join(f"  {name} = {value}" for name, value in whole.items()) + "\n};",
            _texts("core_joints", robot.joint_names),
            _texts("core_terms", Efforts._fields),
            _texts("core_fault_names", KINDS),
            _texts("core_frames", [link.name for link in robot.links]),
            _texts("core_links", (robot.root, self._stream.link, self.contact_link)),
            "/* --- the parameters */",
            self._choices(),
            self._entries(),
            f"static const Parameters FIRST_PARAMETERS = {{\n{self._first()}\n}};",
            "/* --- the loop */",
            f"static const Settings FIRST_SETTINGS = {{\n{first_settings}\n}};",
            f"static const State FIRST_STATE = {{\n{initializer(loop.state, structs.pointers)}\n}};",
            table("FIRST_LAW_MEMORY", step.law_memory if len(step.law_memory) else np.zeros(1)),
            "/* 1 for what the law goes on with when its settings change. */",
            table("LAW_KEEPS", self._law_keeps if len(step.law_memory) else np.zeros(1)),
            table("FIRST_STEP", step.parameters),
            table("FIRST_OBSERVER", observer),
            "/* For each kind of faults and each answer that may be chosen: the answers of all levels. */",
            _escalation(),
            "static void copy_safety(Settings* s, const Parameters* p) {\n"
            + "\n".join(f"  s->{name} = {_cast(settings, name)}p->{name};" for name in safety)
            + "\n}",
            "static void copy_step(double* y, const Parameters* p) {\n"
            + "\n".join(f"  y[STEP_{name}] = p->{name};" for name in scalars)
            + "\n}",
            "/* --- the model */",
            "/* Gravity in the base's frame of that in the root link's. */",
            table("ROOT_TO_BASE", dynamics._tree.base.T),
            "/* The parameters of the model without a payload. */",
            table("FIRST_MODEL", self._bare),
            "/* For each link: the parameters of the model of the ten inertial parameters of what the link holds. */",
            f"static const double LINKS[][{maps[0].size}] = {{\n"
            + ",\n".join(f"{{\n{_table(item)}\n}}" for item in maps)
            + "\n};",
            "/* What a twist of the tool is in the directions that the arm has. */",
            table("TOOL_AXES", self._stream.axes),
            table("ROBOT_FRICTION", robot.friction),
            table("HOME", robot.home),
            table("FIRST_FREQUENCY", frequency),
            f"static const double POSITIONS[][{robot.n}] = {{\n"
            + ",\n".join(f"  {{{', '.join(map(_number, row))}}}" for row in poses.tolist())
            + "\n};",
        ]
        return "\n\n".join(sections) + "\n"

    def _payload_map(self, name: str) -> Array:
        """The matrix from the standard parameters of what a link holds to the model's own (width, 10)."""
        link = self._robot.link(name)
        columns = [to_parameters(moved(part, link.pose.rotation, link.pose.translation)) for part in BASIS]
        np.testing.assert_allclose(to_pseudo(np.eye(10)), BASIS)
        place = slice(10 * link.body, 10 * link.body + 10)
        found: Array = self._dynamics.inertial_map[:, place] @ np.array(columns).T
        return found

    def _choices(self) -> str:
        lines = []
        for index, item in enumerate(self._parameters):
            if item.choices:
                texts = "".join(f"{{{_quoted(text)}, {value:g}}}, " for text, value in item.choices)
                lines.append(f"static const CoreChoice CHOICES_{index}[] = {{{texts}{{0, 0}}}};")
        return "\n".join(lines)

    def _entries(self) -> str:
        place, sizes = 0, {}
        for name, size in self._sized():
            sizes[name] = place
            place += size or 1
        lines = []
        for index, item in enumerate(self._parameters):
            least, greatest = _bounds(item)
            start = sizes[item.member] + item.place if item.member else 0
            choices = f"CHOICES_{index}" if item.choices else "0"
            lines.append(
                f"  {{{_quoted(item.spec.name)}, '{item.kind}', {int(item.fixed)}, {start}, {len(item.numbers)}, "
                f"{_number(least)}, {_number(greatest)}, {choices}}}"
            )
        return "static const CoreParameter PARAMETERS[] = {\n" + ",\n".join(lines) + "\n};"

    def _first(self) -> str:
        values = {name: np.zeros(size or ()) for name, size in self._sized()}
        for item in self._parameters:
            if item.member:
                np.ravel(values[item.member])[item.place : item.place + len(item.numbers)] = item.numbers
        return ",\n".join(f"  .{name} = {_braced(value)}" for name, value in values.items())


def _escalation() -> str:
    rows = []
    for reaction in FaultReactions():
        levels = [
            [PHASES.index(type(reaction)(answer).escalated(level)) for level in range(LEVELS)]
            if answer in type(reaction).__dataclass_fields__["answer"].metadata["choices"]()
            else [0] * LEVELS
            for answer in PHASES
        ]
        rows.append("  {" + ", ".join(f"{{{', '.join(map(str, item))}}}" for item in levels) + "}")
    size = f"[{len(rows)}][{len(PHASES)}][{LEVELS}]"
    return f"static const int64_t ESCALATION{size} = {{\n" + ",\n".join(rows) + "\n};"


def _bounds(item: ExportedParameter) -> tuple[float, float]:
    if item.spec.bounds is not None:
        return float(item.spec.bounds[0]), float(item.spec.bounds[1])
    return (0.0, 1.0) if item.kind == "b" else (-float(np.finfo(float).max), float(np.finfo(float).max))


def resumed(before: CompiledStep, after: CompiledStep) -> Array:
    """1 for each number of the memory of a law that another one of its kind takes over, else 0 (``Controller.resume``).

    It is found out by some steps at odd states.

    Args:
        before: a step; it is left with another memory.
        after: another one, of the same law with the same settings; likewise.
    """
    robot, rest = before.robot, np.zeros(before.n)
    memory = np.zeros(width(StepMemory, before.n))
    for count in range(1, ODD_STEPS + 1):
        q = robot.home + 0.03 * np.sin(count + np.arange(before.n))
        qd = 0.2 * np.cos(count * np.arange(1.0, before.n + 1.0))
        before.run(0.01 * count, 0.01, q, qd, Reference(robot.home, rest, rest, rest), memory)
    after.law.resume(before.law)
    found: Array = np.isclose(after.law_memory, before.law_memory, rtol=1e-9).astype(np.float64)
    return found


def greatest_period(law: Controller, robot: Robot) -> float:
    """The longest period of the states that carries the gains of a law at home, without delay [s]."""

    def is_carried(period: float) -> bool:
        gains = law.acceleration_gains(robot.home, period)
        return sampling.carried_part(period, 0.0, gains, sampling.GAIN_MARGIN) == 1.0

    least, most = 1e-6, 10.0
    if is_carried(most):
        return most
    for _ in range(60):
        middle = (least * most) ** 0.5
        least, most = (middle, most) if is_carried(middle) else (least, middle)
    return least


def initializer(record: Record, pointers: set[str]) -> str:
    """A struct as a list of its members and their values, without those that are pointers."""
    return ",\n".join(_members(record.array, pointers, "  "))


def _members(array: Any, pointers: set[str], indent: str) -> Iterable[str]:
    for name in array.dtype.names:
        value = array[name]
        if name in pointers:
            continue
        if value.dtype.names is not None:
            yield f"{indent}.{name} = {{\n" + ",\n".join(_members(value, pointers, indent + "  ")) + f"\n{indent}}}"
        else:
            yield f"{indent}.{name} = {_braced(value)}"


def _braced(values: Any) -> str:
    """A number, or numbers of an array."""
    texts = [_number(value) for value in np.ravel(values).tolist()]
    return f"{{{', '.join(texts)}}}" if np.ndim(values) else texts[0]


def table(name: str, values: Array) -> str:
    """An array of numbers."""
    flat = np.ravel(values)
    return f"static const double {name}[{len(flat)}] = {{\n{_table(flat)}\n}};"


def _table(values: Array) -> str:
    texts = [_number(value) for value in np.ravel(values).tolist()]
    return ",\n".join("  " + ", ".join(texts[k : k + PER_LINE]) for k in range(0, len(texts), PER_LINE))


def _texts(name: str, texts: Iterable[str]) -> str:
    return f"const char* const {name}[] = {{{', '.join(map(_quoted, texts))}}};"


def _quoted(text: str) -> str:
    return json.dumps(text)


def _number(value: float) -> str:
    if isinstance(value, int):
        return str(value)
    if np.isnan(value):
        return "NAN"
    return repr(value) if np.isfinite(value) else ("-" if value < 0.0 else "") + "INFINITY"


def _cast(record: Record, name: str) -> str:
    return "(int64_t)" if record.array.dtype[name].kind == "i" else ""
