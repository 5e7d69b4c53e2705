# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The numbers of one arm as C, for an exported controller: ``arm.h`` has sizes and the struct of the parameters,
``arm_data.h`` with the initial data of ``parameters.c``: settings of the loop, parameters, numbers of the model, texts.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from types import SimpleNamespace
from typing import Any

import numpy as np

from robodyn_ros.control import limits
from robodyn_ros.control.core_library import CODES, core_structs
from robodyn_ros.control.export.controller_parameters import FINAL_COMMANDS, ExportedParameter, members
from robodyn_ros.control.faults import sampling
from robodyn_ros.control.faults.active_fault import FaultCause
from robodyn_ros.control.faults.consistency import SETTINGS, uncertainty_of
from robodyn_ros.control.faults.settings import SafetySettings
from robodyn_ros.control.faults.table import KINDS, PROBLEMS
from robodyn_ros.control.laws.base import Controller, Efforts, Reference
from robodyn_ros.control.laws.gains import JointGains, gains_by_inertia
from robodyn_ros.control.laws.traced import law_numbers
from robodyn_ros.control.loop import ControlLoop
from robodyn_ros.control.loop_settings import NO_LIMIT, inertia_of, law_feedback
from robodyn_ros.control.motion.goals import HELD_THERE, VIOLATIONS, Refused, violation_text
from robodyn_ros.control.motion.streams import OLDEST_FRAME, StreamedTool
from robodyn_ros.control.step import StepSettings, joined
from robodyn_ros.dynamics.compiled import CompiledDynamics
from robodyn_ros.dynamics.parameters import BASIS, moved, parameters_of, to_parameters
from robodyn_ros.engine.listing import c_number
from robodyn_ros.engine.program import Program, digest
from robodyn_ros.engine.tracing import TracedArray, column, elements_of, symbols
from robodyn_ros.errors import ConfigurationError
from robodyn_ros.robot import Array, Inertial, Link, Robot, random_positions

ODD_STEPS = 20  #: Number of steps after which every number of a law's memory has changed.
PER_LINE = 4  #: Elements in a line of a table.
TEXTS = "const char* const"  #: Type of texts in C.


class Mark(float):
    """A number that is written as a mark, which C replaces by the number itself."""

    mark: str

    def __new__(cls, mark: str) -> Mark:
        """A number for a mark."""
        made = super().__new__(cls, 1.0)
        made.mark = mark
        return made

    def __format__(self, spec: str) -> str:
        return self.mark

    def __repr__(self) -> str:
        return self.mark

    def __neg__(self) -> Mark:
        return Mark(f"-{self.mark}")

    def __abs__(self) -> Mark:
        return Mark("%4")


def problem_texts(robot: Robot) -> list[list[str]]:
    """The message for each problem of the core and each joint (:class:`.FaultCause`)."""
    causes = [[FaultCause(kind, i, Mark("%1"), Mark("%2")) for i in range(robot.n)] for kind in range(len(PROBLEMS))]
    return [[cause.text(robot).replace(SETTINGS[0], "%3") for cause in row] for row in causes]


def refusal_texts(robot: Robot) -> list[list[str]]:
    """The message for each reason of a refusal (``core.h``) and each joint (:class:`.Refused`)."""
    rows = [[""] * robot.n for _ in range(CODES["CORE_NO_MEMORY"] + 1)]
    rows[CODES["CORE_FAULT"]] = ["a fault is active: references are refused until it ends"] * robot.n
    rows[CODES["CORE_NOT_HELD"]] = [
        f"the limits do not hold the arm where it is: joint {joint.name!r} takes %1 {joint.effort_unit} "
        f"(or as much per s), and %2 is its limit: raise effort_limits.{joint.name} or effort_rate_limits.{joint.name}"
        for joint in robot.joints
    ]
    rows[CODES["CORE_NOT_RISING"]] = ["times must be finite and rise strictly, not %1"] * robot.n
    numbers = Mark("%1"), Mark("%2")
    for why in VIOLATIONS:
        rows[why] = [violation_text(robot, why, joint, *numbers) + HELD_THERE for joint in range(robot.n)]
    for why, row in enumerate(rows):
        if why != CODES["CORE_OK"] and not row[0]:
            row[:] = [str(Refused(why, joint, *numbers).error("", robot)) for joint in range(robot.n)]
    return [[text.removeprefix(": ").removeprefix(", ") for text in row] for row in rows]


def uncertainty_in_c(dynamics: CompiledDynamics, names: list[str]) -> tuple[Program, str]:
    """The uncertainty of states and efforts, computed from parameters at run time: traced from Python. The program goes
    from limits of effort and velocity, numbers of safety, and the model to the members of the struct ``Uncertainty``;
    the function ``find_uncertainty`` in C calls it.
    """
    robot, n, members = dynamics.robot, dynamics.robot.n, list[str]()

    def formula(effort: Any, velocity: Any, safety: Any, model: Any) -> list[Any]:
        viscous, coulomb = (model[3 + (1 + k) * n : 3 + (2 + k) * n] for k in range(2))
        numbers: dict[str, Any] = {name: safety[place] for place, name in enumerate(names)}
        numbers["estimates_velocity"] = numbers["missing_velocity"]  # as its place in MISSING_VELOCITY
        stand_ins: Any = (
            SimpleNamespace(robot=robot, parameters=SimpleNamespace(viscous=viscous, coulomb=coulomb)),
            SimpleNamespace(effort=effort, velocity=velocity),
            SimpleNamespace(**numbers),
        )
        found = uncertainty_of(*stand_ins)
        members[:] = found
        return list(found.values())

    inputs, model = {"effort": (n,), "velocity": (n,), "safety": (len(names),)}, {"model": (len(dynamics.symbols),)}
    program = _traced("uncertainty", inputs, formula, model, (dynamics.key, type(dynamics).__qualname__, names))
    told = ",\n    ".join(f"p->{name}" for name in names)
    places = ",\n    ".join(f"(double*)&u->{name}" for name in members)
    return program, (
        "static void find_uncertainty(Settings* s, const Parameters* p, const double* model) {\n"
        f"  Uncertainty* u = &s->uncertainty;\n  const double safety[] = {{{told}}};\n"
        f"  model_uncertainty(s->effort_limit, s->velocity_limit, safety, model,\n    {places});\n}}"
    )


def gains_program(n: int) -> Program:
    """The gains of n joints, computed from parameters at run time: traced from Python."""
    joints = dict.fromkeys(("inertia", "scale", *(item.name for item in fields(JointGains))), (n,))
    return _traced("gains", joints, gains_by_inertia)


def model_program(dynamics: CompiledDynamics, tool: Link) -> Program:
    """The parameters of the model and of its sensitivity (:func:`.sensitivity_parameters`), computed at run time from
    gravity and the payload of the tool: traced from Python.
    """
    own, mapping, place = dynamics.parameters, dynamics.inertial_map, slice(10 * tool.body, 10 * tool.body + 10)
    joints = [*own.armature, *own.viscous, *own.coulomb]
    seen = np.array([to_parameters(moved(part, tool.pose)) for part in BASIS]).T  # (10, 10), from the tool's frame

    def formula(gravity: Any, mass: Any, com: Any, moments: Any) -> list[Any]:
        inertia: Any = TracedArray(elements_of(moments)[np.array(inertia_of(range(6)))])
        held = seen @ parameters_of(Inertial(mass, com, inertia))
        bodies: Any = TracedArray(elements_of(own.inertial))
        bodies[place] += held
        numbers = mapping @ own.inertial + mapping[:, place] @ held  # to the last bit as in the node without a payload
        return [np.concatenate([dynamics._tree.base.T @ gravity, joints, numbers, bodies])]

    key = dynamics.key, type(dynamics).__qualname__, tool.name, joints, own.inertial.tolist()
    return _traced("numbers", {"gravity": (3,), "mass": (), "com": (3,), "moments": (6,)}, formula, key=key)


Shapes = Mapping[str, tuple[int, ...]]


def _traced(
    name: str, inputs: Shapes, formula: Callable[..., Sequence[Any]], model: Shapes | None = None, key: Any = ()
) -> Program:
    """A formula of named arrays as a program; the last ones are the parameters of the model, if it takes any."""
    given = {each: symbols(each, shape) for each, shape in inputs.items()}
    known = {each: symbols(each, shape) for each, shape in (model or {}).items()}
    results = [elements_of(value) for value in formula(**given, **known)]
    parameters = known or {"none": symbols("none", (3,))}
    values = [column([value]) for value in (given | parameters).values()], [column([each]) for each in results]
    sizes = tuple((each, elements_of(value).size) for each, value in given.items())
    return Program(name, digest(sizes, key, source=__name__), sizes, tuple((r.size,) for r in results), lambda: values)


class Arm:
    """The part of an exported controller that depends on the arm, as C."""

    def __init__(
        self, loop: ControlLoop, parameters: list[ExportedParameter], stream: StreamedTool, law_keeps: Array
    ) -> None:
        """``loop`` runs in C; ``law_keeps`` is 1 for each number of the law's memory that new settings keep."""
        settings, step = loop.settings, loop.compiled_step
        law, dynamics = settings.controller, settings.controller.dynamics
        assert step is not None and isinstance(dynamics, CompiledDynamics)
        self._control, self._law, self._step, self._contact = loop, law, step, settings.contact
        self._dynamics, self._robot = dynamics, dynamics.robot
        self._parameters, self._stream, self._law_keeps = parameters, stream, law_keeps
        self._members = members(parameters)
        self._safety = [name for name in SafetySettings.__dataclass_fields__ if name in self._members]
        self.uncertainty, self._find_uncertainty = uncertainty_in_c(self._dynamics, self._safety)

    @property
    def contact_link(self) -> str:
        """The link at which the external wrench is estimated; "" if it is not."""
        return "" if self._contact is None else self._contact.observer.link

    def header(self) -> str:
        """``arm.h``: the number of joints, and the parameters."""
        lines = "\n".join(f"  double {name}{f'[{size}]' if size else ''};" for name, size in self._sized())
        return f"""#ifndef ARM_H
#define ARM_H

#define CORE_JOINTS {self._robot.n}
#define ARM_LINKS {len(self._robot.links)}
#define ARM_TERMS {len(Efforts._fields)} /* of the effort */
#define ARM_OLDEST_FRAME {OLDEST_FRAME} /* of tf [s] */
#define ARM_OBSERVES {int(self._contact is not None)} /* 1: external efforts are observed */
#define ARM_FEELS_WRENCH {int(bool(self.contact_link))} /* 1: also the wrench at a link */

/* The parameters: numbers; texts as their index among the choices. */
typedef struct {{
{lines}
}} Parameters;

#endif
"""

    def _sized(self) -> list[tuple[str, int | None]]:
        """The members of the struct of the parameters, and the length of each; None for one that is no array."""
        wide = {item.member: self._robot.n for item in self._parameters if "_limits." in item.spec.name}
        wide |= {item.member: self._robot.n for item in self._parameters if item.spec.name.count(".") == 2}
        wide |= {name: len(KINDS) for name in self._members if name.startswith("faults_")}
        return [(name, wide.get(name, size if size > 1 else None)) for name, size in self._members.items()]

    def data(self) -> str:
        """``arm_data.h``: numbers, first state and settings. ConfigurationError: the law has no gains to set."""
        return "\n\n".join([self._constants(), *self._words(), *self._loop(), *self._model()]) + "\n"

    def _step_places(self) -> dict[str, int]:
        """Name → index among the settings of the step, for those that are computed at run time."""
        sizes = self._step.setting_sizes
        places = dict(zip(sizes, np.cumsum([0, *sizes.values()]).tolist(), strict=False))
        wanted = {name: name for name in StepSettings._fields} | {
            "kp": "law.kp", "kd": "law.kd", "ki": "law.ki", "model": "law.dynamics.symbols"
        }  # fmt: skip
        if missing := [path for path in wanted.values() if path not in places]:
            raise ConfigurationError(f"{type(self._law).__name__} cannot be exported: it does not use its {missing[0]}")
        return {name: places[path] for name, path in wanted.items()}

    def _observer(self) -> tuple[list[int], Array]:
        """The lengths of the observer's arrays, and its numbers; one of each if there is no observer."""
        observer = None if self._contact is None else self._contact.observer
        if observer is None or observer.program is None:
            return [1], np.zeros(1)
        return array_widths(observer.program, len(observer.parameters)), observer.parameters

    def _constants(self) -> str:
        """Named numbers and sizes for the C code."""
        step, dynamics = self._step, self._dynamics
        step_widths, observer_widths = array_widths(step.program, len(step.parameters)), self._observer()[0]
        numbers = {
            "NO_LIMIT": NO_LIMIT,
            "NO_WORSE": limits.NO_WORSE,
            "PERIODS_IN_TIMEOUT": sampling.PERIODS_IN_TIMEOUT,
            "GREATEST_PERIOD": greatest_period(self._law, self._robot),
        }
        whole = {
            "LAW_ACCELERATES": int(self._law.feedback == "acceleration"),
            "LAW_WIDTH": len(step.law_memory),
            "STEP_ARRAYS": len(step_widths),
            "STEP_NUMBERS": sum(step_widths),
            "OBSERVER_ARRAYS": len(observer_widths),
            "OBSERVER_NUMBERS": sum(observer_widths),
            "MODEL_WIDTH": len(dynamics.symbols),
            "BODIES_WIDTH": len(dynamics.parameters.inertial),
            "POSES": limits.POSES,
            "HELD_POSES": round(limits.HELD * limits.POSES),
            **{f"LEAVE_{name.upper()}": place for place, name in enumerate(FINAL_COMMANDS)},
            **{f"STEP_{name}": place for name, place in self._step_places().items()},
        }
        defined = "\n".join(f"#define {name} {c_number(value)}" for name, value in numbers.items())
        return f"{defined}\n\nenum {{\n" + ",\n".join(f"  {name} = {value}" for name, value in whole.items()) + "\n};"

    def _words(self) -> list[str]:
        """Names and texts, and the parameters."""
        robot = self._robot
        return [
            table("arm_joints", robot.joint_names, TEXTS),
            table("arm_terms", Efforts._fields, TEXTS),
            table("arm_fault_names", KINDS, TEXTS),
            table("arm_frames", [link.name for link in robot.links], TEXTS),
            table("arm_links", (robot.root, self._stream.link, self.contact_link), TEXTS),
            "/* Messages of refusals and of problems for each joint; %1 and %2 stand for numbers. */",
            table("REFUSAL_TEXTS", refusal_texts(robot), f"static {TEXTS}"),
            table("PROBLEM_TEXTS", problem_texts(robot), f"static {TEXTS}"),
            table("UNCERTAINTIES", SETTINGS, f"static {TEXTS}"),
            "/* --- the parameters */",
            self._choices(),
            self._entries(),
            f"static const Parameters FIRST_PARAMETERS = {{\n{self._first()}\n}};",
        ]

    def _loop(self) -> list[str]:
        """The first settings of the loop, its step and its observer, and the code that sets them by parameters."""
        step, settings = self._step, self._control.core_settings.record
        observer_widths, observer_numbers = self._observer()
        has_memory, none = len(step.law_memory) > 0, np.zeros(1)
        kinds = {name: settings.array.dtype[name].kind for name in vars(settings.fields) if name in self._safety}
        safety = [f"s->{name} = {'(int64_t)' if kind == 'i' else ''}p->{name}" for name, kind in kinds.items()]
        scalars = [f"y[STEP_{name}] = p->{name}" for name in StepSettings._fields if name in self._members]
        first = ",\n".join(_members(settings.array, core_structs(self._robot.n).pointers, "  "))
        return [
            "/* --- the loop */",
            f"static const Settings FIRST_SETTINGS = {{\n{first}\n}};",
            table("FIRST_LAW_MEMORY", step.law_memory if has_memory else none),
            "/* 1 for each number of the law's memory that is kept when its settings change. */",
            table("LAW_KEEPS", self._law_keeps if has_memory else none),
            table("FIRST_STEP", step.parameters),
            table("FIRST_OBSERVER", observer_numbers),
            table("STEP_WIDTHS", array_widths(step.program, len(step.parameters)), "static const int"),
            table("OBSERVER_WIDTHS", observer_widths, "static const int"),
            _statements("copy_safety(Settings* s, const Parameters* p)", safety),
            _statements("copy_step(double* y, const Parameters* p)", scalars),
            self._find_uncertainty,
        ]

    def _model(self) -> list[str]:
        """The numbers of the model, and the poses in which the limits must hold the arm."""
        dynamics, robot = self._dynamics, self._robot
        inertia, feedback = np.diagonal(dynamics.mass_matrix(robot.home)), law_feedback(self._law)
        frequency = np.maximum(np.sqrt(feedback.stiffness / inertia), 0.5 * feedback.damping / inertia)
        poses = np.array([robot.home, *random_positions(robot, limits.POSES - 1)])
        return [
            "/* --- the model */",
            table("HOME", robot.home),
            table("FIRST_FREQUENCY", frequency),
            table("POSITIONS", poses),
        ]

    def _choices(self) -> str:
        lines = []
        for index, item in enumerate(self._parameters):
            if item.choices:
                texts = "".join(f"{{{initial(text)}, {value:g}}}, " for text, value in item.choices)
                lines.append(f"static const ArmChoice CHOICES_{index}[] = {{{texts}{{0, 0}}}};")
        return "\n".join(lines)

    def _entries(self) -> str:
        counts = {name: size or 1 for name, size in self._sized()}
        places = dict(zip(counts, np.cumsum([0, *counts.values()]).tolist(), strict=False))
        lines = []
        for index, item in enumerate(self._parameters):
            least, greatest = _bounds(item)
            start = places[item.member] + item.place if item.member else 0
            choices = f"CHOICES_{index}" if item.choices else "0"
            lines.append(
                f"  {{{initial(item.spec.name)}, '{item.kind}', {int(item.fixed)}, {start}, {len(item.numbers)}, "
                f"{c_number(least)}, {c_number(greatest)}, {choices}}}"
            )
        return "static const ArmParameter PARAMETERS[] = {\n" + ",\n".join(lines) + "\n};"

    def _first(self) -> str:
        values = {name: np.zeros(size or ()) for name, size in self._sized()}
        for item in self._parameters:
            if item.member:
                np.ravel(values[item.member])[item.place : item.place + len(item.numbers)] = item.numbers
        return ",\n".join(f"  .{name} = {initial(value)}" for name, value in values.items())


def _bounds(item: ExportedParameter) -> tuple[float, float]:
    if item.spec.bounds is not None:
        return float(item.spec.bounds[0]), float(item.spec.bounds[1])
    return (0.0, 1.0) if item.kind == "b" else (-float(np.finfo(float).max), float(np.finfo(float).max))


def resumed(before: Controller, after: Controller) -> Array:
    """1 for each number of a law's memory that another law of its class takes over, else 0 (``Controller.resume``),
    found by some steps at arbitrary states; the memory of both is changed.
    """
    home, n = before.dynamics.robot.home, before.dynamics.robot.n
    reference = Reference(home, *np.zeros((3, n)))
    for count in range(1, ODD_STEPS + 1):
        q, qd = home + 0.03 * np.sin(count + np.arange(n)), 0.2 * np.cos(count * np.arange(1.0, n + 1.0))
        effort = before.compute(q, qd, reference).total
        before.advance(0.01, q, qd, reference, effort, effort)
    after.resume(before)
    known, taken = (joined(law_numbers(law).memory.values()) for law in (before, after))
    return np.isclose(taken, known, rtol=1e-9).astype(np.float64)


def greatest_period(law: Controller, robot: Robot) -> float:
    """The longest period of the states that allows the gains of a law at home, without delay [s]."""

    def is_carried(period: float) -> bool:
        gains = law.acceleration_gains(robot.home, period)
        return sampling.stable_ratio(period, 0.0, gains, sampling.GAIN_MARGIN) == 1.0

    least, most = 1e-6, 10.0
    if is_carried(most):
        return most
    for _ in range(60):
        middle = (least * most) ** 0.5
        least, most = (middle, most) if is_carried(middle) else (least, middle)
    return least


def _members(array: Any, pointers: set[str], indent: str) -> Iterable[str]:
    """The members of a struct and their values, without those that are pointers."""
    for name in [each for each in array.dtype.names if each not in pointers]:
        value = array[name]
        if value.dtype.names is not None:
            yield f"{indent}.{name} = {{\n" + ",\n".join(_members(value, pointers, indent + "  ")) + f"\n{indent}}}"
        else:
            yield f"{indent}.{name} = {initial(value)}"


def table(name: str, values: Any, kind: str = "static const double") -> str:
    """The declaration of an array of numbers or texts, or of an array of arrays of one length."""
    size = "".join(f"[{count}]" for count in np.shape(values))
    return f"{kind} {name}{size} = {initial(values)};"


def initial(values: Any) -> str:
    """A number or a text in C; arrays, also of arrays, in braces."""
    if isinstance(values, str):
        return json.dumps(values, ensure_ascii=False)
    if np.ndim(values) == 0:
        return c_number(np.asarray(values).item())
    texts = [initial(value) for value in values]
    lines = [", ".join(texts[k : k + PER_LINE]) for k in range(0, len(texts), PER_LINE)]
    return f"{{{lines[0]}}}" if len(lines) == 1 else "{\n  " + ",\n  ".join(lines) + "\n}"


def _statements(head: str, lines: Sequence[str]) -> str:
    return f"static void {head} {{\n" + "\n".join(f"  {line};" for line in lines) + "\n}"


def array_widths(program: Program, parameters: int) -> list[int]:
    """Lengths of the arrays of a program in the loop in C, in their order; each at least 1."""
    widths_in, widths_out = program.widths
    return [max(width, 1) for width in (*widths_in, parameters, *widths_out)]
