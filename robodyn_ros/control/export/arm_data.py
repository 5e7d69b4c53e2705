"""The numbers of one arm as C, for an exported controller: ``arm.h`` and ``arm_data.h``.

``arm.h`` has its sizes and the struct of the parameters. ``arm_data.h`` has what ``core.c`` starts from: the first
state and settings of the loop, the parameters with their ranges and defaults, and the numbers of the model.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import numpy as np

from robodyn_ros.control.compiled_loop import KINDS, LEVELS, CompiledLoop, structs_for
from robodyn_ros.control.compiled_step import FLAGS, CompiledStep
from robodyn_ros.control.contact.settings import Contact
from robodyn_ros.control.export.controller_parameters import ExportedParameter, members
from robodyn_ros.control.faults import holding, plausibility, sampling, supervisor
from robodyn_ros.control.faults.settings import PHASES, FaultReactions, SafetySettings
from robodyn_ros.control.laws.base import Controller, Efforts, Reference
from robodyn_ros.control.limits import EFFORT_TOLERANCE, FARTHEST, SPEED_TOLERANCE
from robodyn_ros.control.loop_settings import NO_LIMIT, law_feedback
from robodyn_ros.control.motion import tool_stream
from robodyn_ros.control.motion.trajectory import GREATEST_EFFORT
from robodyn_ros.control.reference import manager, stream_velocity
from robodyn_ros.control.step_numbers import StepMemory, StepSettings, width
from robodyn_ros.dynamics.compiled import CompiledDynamics
from robodyn_ros.dynamics.inertial_parameters import BASIS, moved, to_parameters, to_pseudo
from robodyn_ros.engine.c_structs import Record
from robodyn_ros.errors import ConfigurationError
from robodyn_ros.kinematics import so3
from robodyn_ros.kinematics.workspace import random_positions
from robodyn_ros.robot import Robot
from robodyn_ros.robot.pose import Array

TOOL_NUMBERS = (
    "CLOSING", "POSTURE", "SPEED", "SLOPE_POSITION", "SLOPE_VELOCITY", "BRAKING", "RISE", "FASTEST", "MARGIN", "STILL",
    "LONGEST_PERIOD",
)  # fmt: skip
"""Constants of motion/tool_stream.py that tool_stream.c needs."""

ODD_STEPS = 20
"""Steps after which every number of a law's memory is another one than at first."""

PER_LINE = 4
"""Numbers in a line of a table."""


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
