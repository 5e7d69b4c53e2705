# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""``robodyn export``: write an arm's equations as C, Python or LaTeX, or its controller for ros2_control.

Writes the equations of motion of an arm as source code that needs nothing of
this package:

  c       C99 with <math.h> alone and no memory but the stack, for the smallest
          processors too
  python  a module that imports math alone
  latex   a document with the closed form, for arms of up to four joints

With --ros2-control it writes a complete package instead: a controller that a
controller_manager loads, with the law, limits and reactions to faults of the
node.

Order of joints, units, gravity and the number of operations are in the files.

Examples:
    robodyn export arm.urdf --language c                    arm.c and arm.h
    robodyn export arm.urdf --language c --real float       in single precision
    robodyn export arm.urdf --language python --of forward  one function
    robodyn export arm.urdf --language c --of step          the control step
    robodyn export arm.urdf --language latex --out -        on the screen
    robodyn export arm.urdf --ros2-control my_arm           a controller package
"""

from __future__ import annotations

import hashlib
import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Any

import robodyn_ros
from robodyn_ros.about import with_licence
from robodyn_ros.cli.arm import add_arm, arm_source, read_arm
from robodyn_ros.cli.console import write_file
from robodyn_ros.cli.verb import ExitCode, add_gravity, add_option, add_parameters, gather, names, only_with, values_of
from robodyn_ros.control import loop_settings
from robodyn_ros.control.export.controller_parameters import known_defaults
from robodyn_ros.control.export.ros2_control import ExportedFiles, Maintainer, export_package, write_package
from robodyn_ros.control.export.step_export import export_step
from robodyn_ros.control.parameter_file import LoadedParameters
from robodyn_ros.dynamics import STANDARD_GRAVITY, CompiledDynamics, Dynamics
from robodyn_ros.dynamics.symbolic.export import REALS, export
from robodyn_ros.engine.library import remembered_texts
from robodyn_ros.errors import InputError
from robodyn_ros.files import read_bytes
from robodyn_ros.robot.description import read_document
from robodyn_ros.settings import split_names

QUANTITIES = "inverse,mass_matrix,coriolis_matrix,gravity"
"""Quantities that are written by default."""

STEP = "step"
"""Name of the control step, which is no quantity of the dynamics."""

LANGUAGES = {"c": (".c", ".h"), "python": (".py",), "latex": (".tex",)}
"""Language → endings of its files."""


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of this verb."""
    add_arm(parser)
    add_option(parser, "--language NAME", ", ".join(LANGUAGES))
    text = "functions, separated by commas: methods of the dynamics, or step, the control step"
    add_option(parser, "--of NAMES", text, QUANTITIES)
    text = "dynamics plugin whose expressions are written in C and Python (default: that of the parameters, or rnea)"
    add_option(parser, "--dynamics NAME", text)
    add_gravity(parser)
    add_option(parser, "--controller NAME", "law of the control step or controller (default: that of the parameters)")
    add_parameters(parser, "the controller node, for its step or controller: gains, limits", "state_timeout:=0.05")
    add_option(parser, "--real TYPE", "type of a number in C, double or float", "double")
    text = "write a controller of ros2_control instead: the folder of the package, which has the package's name"
    add_option(parser, "--ros2-control FOLDER", text, Path)
    for what in ("name", "email"):
        text = f"with --ros2-control: {what} of the package's maintainer (default: git's user.{what})"
        add_option(parser, f"--maintainer-{what} {what.upper()}", text)
    text = "folder or file to write; - is standard output (default: files named after the arm, here)"
    add_option(parser, "--out PATH", text, ".")


def run(args: Namespace) -> ExitCode:
    """Write the files, and print their names.

    Raises:
        InputError: an option or a name is wrong, or a file cannot be written.
    """
    names(args.real, "--real", REALS)
    if args.ros2_control is not None:
        return _controller(args)
    folder, stem = _place(args.out, args.language)
    step = STEP in split_names(args.of)
    only_with(args, step, f"with --of {STEP}, the control step, or --ros2-control", "params", "given", "controller")
    only_with(args, args.language == "c", "with --language c", "real")
    only_with(args, args.language != "latex", "with --language c or python", "dynamics")
    only_with(args, False, "with --ros2-control", "maintainer_name", "maintainer_email")
    (given,) = gather(args.params, args.given, ("controller",)).values()
    dynamics = robodyn_ros.create_dynamics(_plugin(args, given), read_arm(args, given), gravity=args.gravity)
    known = dynamics.quantities() if isinstance(dynamics, CompiledDynamics) else ()
    quantities = names(args.of, "--of", (*known, STEP) if known else ())

    def write() -> dict[str, str]:
        if STEP in quantities:
            return _step(args, dynamics, given, quantities, stem)
        return export(dynamics, args.language, quantities, real=args.real, stem=stem)

    files = remembered_texts("export", _key(args, stem), write)
    if args.out == "-":
        sys.stdout.write(with_licence(next(iter(files)), _joined(files)))
        return ExitCode.YES
    for name, text in files.items():
        write_file("--out", folder / name, with_licence(name, text))
        print(folder / name)
    return ExitCode.YES


def _controller(args: Namespace) -> ExitCode:
    """Write a controller of ros2_control, and print the next step."""
    only_with(args, False, "without --ros2-control, a whole package,", "language", "of", "out", "real")
    folder: Path = args.ros2_control
    user, package = Maintainer.of_user(), folder.resolve().name
    maintainer = Maintainer(args.maintainer_name or user.name, args.maintainer_email or user.email)
    (given,) = gather(args.params, args.given, ("controller",)).values()
    key = _key(args, package, *maintainer)
    texts = remembered_texts("package", key, lambda: _package(args, given, package, maintainer))
    written, kept = write_package(folder, ExportedFiles(texts, set()))
    print(f"{folder}: {len(written)} files written")
    if kept:
        print(f"kept with your changes: {', '.join(kept)}")
    print(f"Next: {folder / 'README.md'}")
    return ExitCode.YES


def _package(args: Namespace, given: LoadedParameters, package: str, maintainer: Maintainer) -> dict[str, str]:
    """The files of the package with the controller."""
    robot = read_arm(args, given)
    law = args.controller or given.get("controller", "computed_torque")
    known = loop_settings.loop_default_values(robot) | known_defaults(robot, given, law)
    given |= _gravity(args)
    with values_of(args, given, known):
        loop_settings.check_limits(given, robot)
        plugin = _plugin(args, given)
        dynamics = robodyn_ros.create_dynamics(plugin, robot)
        values = {name: value for name, value in given.items() if name in known and name != "controller"}
        urdf = read_document(arm_source(args)).text
        return export_package(dynamics, values | {"dynamics": plugin}, law, package, urdf, maintainer).texts


def _plugin(args: Namespace, given: LoadedParameters) -> str:
    """The dynamics plugin: that of the option, else that of the parameters."""
    return args.dynamics or given.get("dynamics", loop_settings.MODEL["dynamics"])


def _gravity(args: Namespace) -> dict[str, Any]:
    """The parameter ``gravity`` of the option, if it is given."""
    return {"gravity": list(args.gravity)} if tuple(args.gravity) != STANDARD_GRAVITY else {}


PLACES = {"urdf", "params", "out", "ros2_control", "maintainer_name", "maintainer_email", "verb", "own"}
"""Arguments that are places, or that other arguments contain."""


def _key(args: Namespace, *named: str) -> str:
    """A key that changes with every input of an export: the arguments, the content of files, this package."""
    options = {name: value for name, value in sorted(vars(args).items()) if name not in PLACES}
    facts = [named, options, read_document(arm_source(args)).text, [read_bytes(path) for path in args.params]]
    hashed = hashlib.sha256(repr(facts).encode())
    for file in sorted(Path(robodyn_ros.__file__).parent.rglob("*")):
        if file.is_file() and "__pycache__" not in file.parts:
            hashed.update(file.read_bytes())
    return hashed.hexdigest()[:32]


def _step(
    args: Namespace, dynamics: Dynamics, given: LoadedParameters, quantities: list[str], stem: str
) -> dict[str, str]:
    """The files of the control step."""
    if quantities != [STEP] or args.language != "c" or args.real != "double":
        raise InputError("--of", "step is written alone, in C, and with numbers of type double: it keeps the time")
    given |= _gravity(args)
    with values_of(args, given, loop_settings.loop_default_values(dynamics.robot)) as values:
        loop_settings.check_limits(given, dynamics.robot)
        dynamics.configure(**loop_settings.model_parameters(values, dynamics.robot))
        return export_step(loop_settings.make_loop_settings(values, dynamics, args.controller), stem)


def _place(out: str, language: str | None) -> tuple[Path, str]:
    """Return folder and stem of the files; an empty stem stands for the arm's name."""
    if language is None:
        raise InputError("--language", f"must be given, one of {', '.join(LANGUAGES)}; or --ros2-control FOLDER")
    names(language, "--language", LANGUAGES)
    path = Path(out)
    if out == "-" or path.is_dir() or not path.suffix:
        return path, ""
    if path.suffix not in LANGUAGES[language]:
        wanted = " or ".join(LANGUAGES[language])
        raise InputError("--out", f"{out!r} is neither a folder nor a file that ends in {wanted}", out)
    return path.parent, path.stem


def _joined(files: dict[str, str]) -> str:
    """Join the files to one text; the header is then in front of the C source instead of being included."""
    text = "\n".join(files.values())
    for name in files:
        text = text.replace(f'#include "{name}"\n\n', "")
    return text
