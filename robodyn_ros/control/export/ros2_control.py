# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A controller of ros2_control for one arm: ``robodyn export --ros2-control``.

The exported package needs neither Python nor CasADi at run time. It has the files of ``ros2_control/`` beside this
file, the core of the control loop (``../core/``), and the files of the arm: the control step and the model as C,
numbers, names and defaults. In files that end in ``.in`` the words between ``@`` are replaced.
"""

from __future__ import annotations

import getpass
import hashlib
import json
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple
from xml.sax.saxutils import escape

from robodyn_ros import __version__
from robodyn_ros.about import with_licence
from robodyn_ros.control.core_library import core_files
from robodyn_ros.control.export import controller_parameters
from robodyn_ros.control.export.arm_data import Arm, gains_program, model_program, resumed
from robodyn_ros.control.loop import ControlLoop
from robodyn_ros.control.loop_settings import make_loop_settings, model_parameters, with_streams
from robodyn_ros.control.motion.streams import StreamedTool
from robodyn_ros.control.parameter_file import FileParameters
from robodyn_ros.dynamics import CompiledDynamics, Dynamics
from robodyn_ros.dynamics.sensitivity import sensitivity_program
from robodyn_ros.dynamics.symbolic.listing import facts, plain
from robodyn_ros.engine.codegen import scalar_source
from robodyn_ros.engine.program import Program
from robodyn_ros.engine.tracing import TraceError
from robodyn_ros.errors import ConfigurationError, InputError, NotReadyError
from robodyn_ros.kinematics import Kinematics
from robodyn_ros.robot import Robot
from robodyn_ros.settings import TOOL

TEMPLATES = Path(__file__).with_name("ros2_control")

PACKAGE_NAME = re.compile(r"[a-z](?:[a-z0-9]|_(?!_))*[a-z0-9]")  #: Names of ROS 2 packages (REP 144).
EMAIL = re.compile(r"[-\w.%+]+@[-\w%]+(?:\.[-\w%]+)+")  #: E-mail addresses that ``catkin_pkg.package.Person`` accepts.
MANIFEST = ".robodyn_export"  #: File with a checksum of each file as it was written.
GENERATED = ("src/", "config/parameters.yaml")  #: Files that belong together and must not be changed by hand.
QUANTITIES = ("forward", "gravity", "inverse", "mass_matrix")  #: Quantities of the model that the loop uses.
MODEL = {*QUANTITIES, "sensitivity", "uncertainty", "tool"}  #: Functions with parameters, of model or tool.

GENERATED_CODE = """/* {what}: generated code. */

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wunused-function"
{code}
#pragma GCC diagnostic pop

#include "model.h"

"""
"""Template of a file with generated code, which has the functions ``prepare`` and ``compute``."""

MODEL_HEADER = """/* The arm's model and its control step, one file for each function. `p`: parameters of the model.
   After a pose (4, 4) follows its Jacobian (6, n); matrices are row by row. */

#ifndef MODEL_H
#define MODEL_H

{functions}

/* The control step, and the observer of external efforts, if there is one. `x`: addresses of the inputs, the settings
   and the results. `constants`: count of the numbers that depend on the settings alone, which `prepare` computes. */
extern const int step_constants;
void step_prepare(const double* settings, double* constants);
void step_run(double* const* x, const double* constants);
extern const int contact_constants;
void contact_prepare(const double* settings, double* constants);
void contact_run(double* const* x, const double* constants);

#endif
"""

KEYWORDS = {
    "alignas", "alignof", "and", "asm", "auto", "bool", "break", "case", "catch", "char", "class", "const",
    "constexpr", "continue", "decltype", "default", "delete", "do", "double", "else", "enum", "explicit", "export",
    "extern", "false", "float", "for", "friend", "goto", "if", "inline", "int", "long", "mutable", "namespace", "new",
    "not", "operator", "or", "private", "protected", "public", "register", "requires", "return", "short", "signed",
    "sizeof", "static", "struct", "switch", "template", "this", "throw", "true", "try", "typedef", "typename",
    "union", "unsigned", "using", "virtual", "void", "volatile", "while", "xor",
}  # fmt: skip
"""Keywords of C++, which cannot be names there, and so no joints for generate_parameter_library."""


class Maintainer(NamedTuple):
    """Maintainer of a package (REP 149)."""

    name: str
    email: str

    @classmethod
    def of_user(cls) -> Maintainer:
        """The user in git's configuration; else the login name, as ``ros2 pkg create`` uses it."""
        try:
            login = getpass.getuser()
        except (ImportError, KeyError, OSError):  # a user without a name, as in a container
            login = "user"
        return cls(_git("user.name") or login, _git("user.email") or f"{login}@todo.todo")


def _git(key: str) -> str:
    """A value of git's configuration; empty without one, or without git."""
    try:
        done = subprocess.run(["git", "config", key], capture_output=True, text=True, timeout=10.0, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip()


class ExportedFiles(NamedTuple):
    """The files of a package, not yet written."""

    texts: dict[str, str]  # path in the package → text
    frozen: set[str]  # first words of the names of parameters that cannot change at run time with this law


def export_package(
    dynamics: Dynamics,
    given: Mapping[str, Any],
    law: str,
    package: str,
    urdf: str = "",
    maintainer: Maintainer | None = None,
) -> ExportedFiles:
    """The files of a package with a controller for an arm.

    Args:
        dynamics: the model.
        given: name → value of the parameters that differ from the defaults.
        law, package: names of the control law and of the package.
        urdf: the arm's description, for the launch file and the test with mock hardware.
        maintainer: of the package (default: the user).

    Raises:
        InputError: a name cannot be used in C++ or in ROS 2, or the e-mail address is not valid.
        ConfigurationError: the law cannot be traced, or there is no compiler to try it out.
        RobodynError: a parameter is wrong.
    """
    robot = dynamics.robot
    _check_names(robot, package)
    words = _words(robot, maintainer)
    if not isinstance(dynamics, CompiledDynamics):
        raise ConfigurationError(f"the model {type(dynamics).__name__} has no expressions that could be written as C")
    defaults = controller_parameters.known_defaults(robot, given, law)
    values = FileParameters(given, defaults)
    dynamics.configure(**model_parameters(values, robot))
    try:
        frozen = controller_parameters.frozen_groups(given, defaults, dynamics, law)
        settings = with_streams(make_loop_settings(values, dynamics, law), values)
        loop = ControlLoop.from_settings(settings)
        if (step := loop.compiled_step) is None:
            raise ConfigurationError(f"{law} cannot be written as C: it runs as Python")
        parameters = controller_parameters.exported_parameters(robot, given, law, frozen)
        stream = StreamedTool.of(robot, values[TOOL.name])
        twins = (make_loop_settings(values, dynamics, law).controller for _ in range(2))
        arm = Arm(loop, parameters, stream, resumed(*twins))
        data = arm.data()
    except (TraceError, NotReadyError) as cause:
        raise ConfigurationError(f"{law} cannot be written as C: {cause}") from cause
    comment = "\n".join(["/*", *(f" * {line}".rstrip() for line in facts(dynamics)), " */", ""])
    observer = None if settings.contact is None else settings.contact.observer.program
    model = _model_files(dynamics, arm, stream)
    fixed = ", ".join(f"`{name}.…`" if name != "gravity" else "`gravity`" for name in sorted(frozen)) or "none"
    words |= {
        "PACKAGE": package,
        "LAW": law,
        "TOOL": stream.link,
        "FROZEN": fixed,
        "SOURCES": "\n  ".join(sorted(name for name in model if name.endswith(".c"))),
    }
    found = {
        "src/arm.h": comment + arm.header(),
        "src/arm_data.h": comment + data,
        "src/step.c": run_file("step", step.program),
        "src/contact.c": run_file("contact", observer),
        "config/parameters.yaml": controller_parameters.parameter_file(parameters, f"{package}_parameters"),
        "description/arm.urdf": with_mock_hardware(urdf, robot) if urdf else "",
        **model,
        **_from_templates(words),
    }
    return ExportedFiles({name: with_licence(name, text) for name, text in found.items() if text}, frozen)


def _words(robot: Robot, maintainer: Maintainer | None) -> dict[str, str]:
    """Words of the templates → their texts, of an arm and a maintainer (the user unless given)."""
    maintainer = maintainer or Maintainer.of_user()
    if not EMAIL.fullmatch(maintainer.email):
        raise InputError("--maintainer-email", f"{maintainer.email!r} is no e-mail address", maintainer.email)
    return {
        "MAINTAINER": escape(maintainer.name),
        "EMAIL": escape(maintainer.email),
        "ARM": plain(robot.name),
        "VERSION": __version__,
        "JOINTS": ", ".join(robot.joint_names),
        "JOINT_LIST": json.dumps(list(robot.joint_names)),
        "JOINT_LINES": "\n".join(f"    {name!r}," for name in robot.joint_names),
        "COMMAND_JOINTS": json.dumps([f"arm_controller/{name}" for name in robot.joint_names]),
        "FIRST_JOINT": robot.joint_names[0],
        "FIRST_POSITION": f"{_near_home(robot):.6g}",
        "ROOT": robot.root,
    }


def _near_home(robot: Robot) -> float:
    """A position of the first joint [rad] or [m]: 0.1 from home, or half as far as its limits allow."""
    home, lower, upper = (float(values[0]) for values in (robot.home, robot.lower, robot.upper))
    return home + (min(0.1, 0.5 * (upper - home)) if upper > home else -min(0.1, 0.5 * (home - lower)))


def _model_files(dynamics: CompiledDynamics, arm: Arm, tool: StreamedTool) -> dict[str, str]:
    """The functions of the model and their header: name in the package → text; ``tool`` is the streamed link."""
    kinematics = Kinematics(dynamics.robot)
    functions = {name: dynamics.program(name) for name in QUANTITIES} | {
        "sensitivity": sensitivity_program(dynamics),
        "uncertainty": arm.uncertainty,
        "gains": gains_program(dynamics.robot.n),
        "numbers": model_program(dynamics, dynamics.robot.link(tool.link)),
        "tool": tool.program,
        "links": kinematics.poses_program(),
        "contact_link": kinematics.program(arm.contact_link or tool.link),
    }
    made = {name: model_file(name, program, has_model=name in MODEL) for name, program in functions.items()}
    header = MODEL_HEADER.format(functions="\n".join(f"{head};" for head, _ in made.values()))
    return {f"src/{name}.c": code for name, (_, code) in made.items()} | {"src/model.h": header}


def _from_templates(words: Mapping[str, str]) -> dict[str, str]:
    """The files that are the same for all arms, the core among them: name in the package → text."""
    files = [path for path in sorted(TEMPLATES.rglob("*")) if path.is_file() and path.parent.name != "__pycache__"]
    found = {}
    for path in files:
        text = path.read_text(encoding="utf-8")
        text = re.sub(r"@([A-Z_]+)@", lambda word: words[word[1]], text) if path.suffix == ".in" else text
        found[path.relative_to(TEMPLATES).as_posix().removesuffix(".in")] = text
    return found | {f"src/core/{name}": text for name, text in core_files().items()}


def model_file(name: str, program: Program, *, has_model: bool) -> tuple[str, str]:
    """The head and the C file of a function ``model_<name>``, which computes a program, perhaps of the model."""
    inputs = [name for name, _ in program.inputs]
    results = [f"y{place}" for place in range(len(program.outputs))]
    given = [f"const double* {name}" for name in (*inputs, *(["p"] if has_model else []))]
    head = f"void model_{name}({', '.join([*given, *(f'double* {name}' for name in results)])})"
    none = "" if has_model else "  const double p[3] = {0, 0, 0};\n"
    body = f"{none}  double k[CONSTANTS];\n  prepare(p, k);\n"
    call = f"  compute({', '.join([*inputs, 'p', 'k', *results])});\n"
    return head, f"{GENERATED_CODE.format(what=name, code=scalar_source(program))}{head} {{\n{body}{call}}}\n"


def run_file(name: str, program: Program | None) -> str:
    """The C file of a program of the loop: ``constants``, ``prepare`` and ``run``; without code if there is none."""
    if program is None:
        unused = "(void)x;\n  (void)k;\n"
        return (
            f'#include "model.h"\n\nconst int {name}_constants = 1;\n\n'
            f"void {name}_prepare(const double* x, double* k) {{\n  {unused}}}\n\n"
            f"void {name}_run(double* const* x, const double* k) {{\n  {unused}}}\n"
        )
    count = len(program.inputs)
    places = [f"x[{place}]" for place in range(count + len(program.outputs) + 1)]
    call = f"compute({', '.join([*places[: count + 1], 'k', *places[count + 1 :]])});"
    return (
        f"{GENERATED_CODE.format(what=name, code=scalar_source(program))}const int {name}_constants = CONSTANTS;\n\n"
        f"void {name}_prepare(const double* p, double* k) {{ prepare(p, k); }}\n\n"
        f"void {name}_run(double* const* x, const double* k) {{ {call} }}\n"
    )


def write_package(folder: Path, files: ExportedFiles) -> tuple[list[str], list[str]]:
    """Write a package into a folder, which may have an earlier export; names of the written files, and of those that
    are kept, because they were changed by hand. InputError: a file cannot be written, or a file in ``GENERATED`` was
    changed.
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
        said = f"has files that were not written by an export, or changed since: {', '.join(changed)}; move them away"
        raise InputError("--ros2-control", f"{str(folder)!r} {said}", folder)
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
    """A description with mock hardware for ros2_control: an arm at rest at its home position."""
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
    shown = re.sub(r"<!--.*?-->", lambda comment: " " * len(comment[0]), urdf, flags=re.DOTALL)
    if "<ros2_control" in shown:
        return urdf
    place = shown.rindex("</robot")
    return urdf[:place] + system + urdf[place:]
