# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""``robodyn completion``: print the tab completion of a shell.

Prints a script for a shell: the tab key then completes verbs, options, the
names of the plugins that are installed now, and files. Write it to:

  bash  ~/.local/share/bash-completion/completions/robodyn
  zsh   a file _robodyn in a folder of $fpath
  fish  ~/.config/fish/completions/robodyn.fish
  tcsh  ~/.tcshrc

Examples:
    robodyn completion bash  for bash
    robodyn completion zsh   for zsh
    robodyn completion fish  for fish
"""

from __future__ import annotations

import sys
from argparse import Action, ArgumentParser, Namespace, _SubParsersAction
from collections.abc import Iterator
from pathlib import Path

from robodyn_ros.cli.derive import FORMATS
from robodyn_ros.cli.verb import ExitCode
from robodyn_ros.dynamics.symbolic.export import LANGUAGES, REALS
from robodyn_ros.errors import need
from robodyn_ros.plugins import available

SHELLS = ("bash", "zsh", "fish", "tcsh")

FILE_METAVARS = {"FILE", "PATH", "RECORDING"}
"""Names of option arguments that are files."""


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of this verb."""
    parser.add_argument("shell", choices=SHELLS, help="the shell")


def run(args: Namespace) -> ExitCode:
    """Print the completion script."""
    from robodyn_ros.cli.main import command_parser

    shtab = need("shtab", "the script is written by shtab", "robodyn_ros[completion]")
    parser = command_parser()
    # Option → its choices, for options whose choices the verb checks and not the parser.
    choices = {"controller": available("controllers"), "dynamics": available("dynamics")}
    choices |= {"language": LANGUAGES, "format": tuple(FORMATS), "real": tuple(REALS)}
    for action in _actions(parser):
        if action.type is Path or action.metavar in FILE_METAVARS or action.dest == "urdf":
            action.complete = shtab.FILE  # type: ignore[attr-defined]
        elif action.choices is None and action.dest in choices:
            action.choices = choices[action.dest]
    sys.stdout.write(shtab.complete(parser, args.shell))
    return ExitCode.YES


def _actions(parser: ArgumentParser) -> Iterator[Action]:
    """Yield the actions of a parser and of the verbs in it."""
    for action in parser._actions:
        if isinstance(action, _SubParsersAction):
            for verb in action.choices.values():
                yield from _actions(verb)
        else:
            yield action
