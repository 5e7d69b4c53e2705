# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""``robodyn <verb>``: finds the verb, runs it and turns its outcome into an exit code."""

from __future__ import annotations

import sys

try:  # Ctrl-C may come while the command is still being imported
    import os
    import signal
    import traceback
    import warnings
    from argparse import SUPPRESS, Action, ArgumentParser, Namespace, RawDescriptionHelpFormatter
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from io import TextIOWrapper
    from typing import Any

    from robodyn_ros import __version__
    from robodyn_ros.cli.verb import ExitCode, VerbHelp, VerbParser, verb_help, verb_module
    from robodyn_ros.errors import InputError, RobodynError, RobotDescriptionWarning, is_it, nearest
    from robodyn_ros.plugins import origin
    from robodyn_ros.robot.description import read_document
    from robodyn_ros.robot.xacro import is_argument
except KeyboardInterrupt:
    sys.exit(130)

VERBS = (
    *("demo", "simulate", "plan", "view", "workspace"),  # an arm on this machine
    *("check", "commission", "excite", "identify", "teach", "contact"),  # a real arm, and its model
    *("compare", "sweep", "tune"),  # control laws
    *("compile", "export", "derive", "validate", "bench"),  # the equations as code
    *("plugins", "completion"),
)
"""The modules of this folder that are verbs, in the order of the help."""

EPILOG = """\
exit codes:
  0    done, with a good result
  1    done, with a bad result: the help of each verb says which
  2    not done: a wrong command line or input, or a process that failed
  130  interrupted by Ctrl-C

`robodyn <verb> --help` explains a verb and gives examples."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command.

    Args:
        arguments: the command line after the command's name (default: that of the process).

    Returns:
        The exit code, an :class:`ExitCode`.
    """
    for number in (signal.SIGTERM, signal.SIGHUP):  # unwind the stack as Ctrl-C does, so that started processes end
        signal.signal(number, lambda number, _: sys.exit(128 + number))  # the shell's exit code for a signal
    warnings.simplefilter("ignore", RobotDescriptionWarning)  # a verb prints them
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # of a terminal that lacks a character, as one of Latin-1 lacks θ
    try:
        code = _run(list(sys.argv[1:] if arguments is None else arguments))
        print(end="", flush=True)
        return code
    except RobodynError as problem:
        print(f"error: {problem.located}", file=sys.stderr)
        return ExitCode.ERROR
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return ExitCode.INTERRUPTED
    except Exception as problem:
        return _failed(problem)


def _failed(problem: Exception) -> ExitCode:
    """Report an error that is none of the library: of a plugin, of the machine, or of this package."""
    if failed := origin(problem):
        said = f"{failed.kind} plugin {failed.plugin}: {failed.method} raises {type(problem).__name__}: {problem}"
        print(f"error: {failed.place}: {said}", file=sys.stderr)
    elif isinstance(problem, OSError):
        try:
            sys.stdout.flush()
        except OSError:
            # Its reader has gone, as `head` does, or its disk is full. The interpreter flushes it once more at exit;
            # the null device keeps that from failing too.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(problem, BrokenPipeError):
            print(f"error: {problem}", file=sys.stderr)
    elif isinstance(problem, MemoryError):
        print(f"error: too little memory; {problem}", file=sys.stderr)
    else:  # of this package: its traceback is needed to correct it
        traceback.print_exc()
    return ExitCode.ERROR


def _run(line: list[str]) -> int:
    """Find the verb of a command line, and run it."""
    if line[:1] == ["help"]:
        line = [*line[1:], "--help"]
    parser = command_parser(line[:1])
    if not line:
        parser.print_help()
        return ExitCode.YES
    if line[0].startswith("-") and line[0] not in parser._option_string_actions:
        parser.error(f"unrecognized arguments: {line[0]}{is_it(line[0], parser._option_string_actions)}")
    if not line[0].startswith("-") and line[0] not in VERBS:
        hint = is_it(line[0], VERBS) or f"; the verbs are {', '.join(VERBS)}"
        parser.error(f"there is no verb {line[0]!r}{hint}")
    given = parse(parser, line)
    _refuse_overwriting(given)
    try:
        return int(verb_module(given.verb).run(given))
    except RobodynError as problem:  # a message begins with the name of the wrong argument
        name, _, said = str(problem).partition(": ")
        option = "" if problem.place else option_of(verb_parsers(parser)[given.verb], given, name)
        if not option:
            raise
        raise InputError(option, said) from problem


OUTPUTS = ("out", "plot", "report", "repair")
"""Values that are files to write."""


def _refuse_overwriting(args: Namespace) -> None:
    """Refuse to write into a file that the verb reads.

    Raises:
        InputError: an output is an input.
    """
    values = {action: getattr(args, action.dest, action.default) for action in args.own._actions}
    given = {action: value for action, value in values.items() if value != action.default}
    for action, path in given.items():
        is_there = action.dest in OUTPUTS and os.path.isfile(path)
        if is_there and any(os.path.samefile(path, one) for one in _inputs(given)):
            raise InputError(action.option_strings[0], f"{str(path)!r} is read here, and not overwritten", path)


def _inputs(given: Mapping[Action, Any]) -> Iterator[str]:
    """The files that the values of arguments name, but for outputs."""
    for action, value in given.items():
        if action.dest not in OUTPUTS:
            each = map(str, value if isinstance(value, list) else [value])
            yield from filter(os.path.isfile, each)
        if action.dest == "urdf" and not os.path.exists(value):  # an arm's name
            yield read_document(value).label


def option_of(parser: ArgumentParser, given: Namespace, name: str) -> str:
    """The option of a verb for an argument of that name: ``--gap`` for ``gap``; "" if it was not given."""
    for action in parser._actions:
        options = [option for option in action.option_strings if option.startswith("--")]
        is_given = vars(given).get(action.dest, action.default) != action.default
        if options and is_given and name in (action.dest, options[0][2:].replace("-", "_")):
            return options[0]
    return ""


def parse(parser: ArgumentParser, words: Sequence[str]) -> Namespace:
    """The values of a command line; ``name:=value`` may be anywhere, if the verb reads an arm."""
    given, left = parser.parse_known_args(words)
    own: ArgumentParser = given.own
    if left and not (hasattr(given, "arguments") and all(map(is_argument, left))):
        own.error(_unknown(own, left))
    given.arguments = left
    return given


def _unknown(parser: ArgumentParser, left: Sequence[str]) -> str:
    """The error message for arguments that a verb does not have, with the nearest of its options.

    A verb that takes no parameters has its settings as options.
    """
    shown = [action for action in parser._actions if action.help != SUPPRESS]
    options = [option[2:] for action in shown for option in action.option_strings if option.startswith("--")]
    wrong, _, value = next((word for word in left if word.startswith("-")), "").partition("=")
    if wrong in PARAMETER_OPTIONS:
        given = value or "".join(left[left.index(wrong) + 1 :][:1])
        name = nearest(given.partition("=")[0].rstrip(":").replace("_", "-"), options)
        hint = f" (is it '--{name}'?)" if name else f": {parser.prog} --help"
        return f"{wrong} {given}: this verb has no parameters, its settings are options{hint}"
    name = nearest(wrong.strip("-"), options)
    near, help_ = f" (is it '--{name}'?)", f"; {parser.prog} --help lists the options"
    if "-p" in parser._option_string_actions:
        help_ += ", and -p NAME:=VALUE gives a parameter of the nodes"
    word = "an argument of a .xacro file is NAME:=VALUE" if "=" in left[0] else "an option's value is one word: a,b,c"
    hint = near if name else help_ if wrong else f"; {word}"
    return f"unrecognized arguments: {' '.join(left)}{hint}"


PARAMETER_OPTIONS = ("-p", "--params")
"""Options by which verbs take parameters."""


def command_parser(wanted: Collection[str] = VERBS) -> ArgumentParser:
    """Return the parser of the command line.

    Args:
        wanted: the verbs whose modules are imported and whose arguments are added; of the others it has the help's
            summary alone.
    """
    text = "Dynamics and control of robot arms, derived from their URDF."
    parser = VerbParser("robodyn", description=text, epilog=EPILOG, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("-V", "--version", action="version", version=f"robodyn {__version__}")
    subparsers = parser.add_subparsers(title="verbs", dest="verb", metavar="<verb>", required=True)
    for name in VERBS:
        summary, text, epilog = verb_help(name)
        own = subparsers.add_parser(name, help=summary, description=text, epilog=epilog, formatter_class=VerbHelp)
        if name in wanted:
            verb_module(name).add_arguments(own)
            own.order()
    return parser


def verb_parsers(parser: ArgumentParser) -> dict[str, VerbParser]:
    """Verb → its parser, in the parser of the whole command line."""
    return next(dict(action.choices) for action in parser._actions if isinstance(action.choices, dict))


if __name__ == "__main__":
    sys.exit(main())
