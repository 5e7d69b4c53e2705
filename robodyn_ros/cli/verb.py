"""What a verb of the command is.

A verb is one file in this folder that defines ``VERB``, and its name in the list of :mod:`robodyn_ros.cli.main`. What
it imports at the top, everyone pays for who only asks for help; so what is heavy is imported where it is used.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum


class ExitCode(IntEnum):
    """How the command ends; scripts may rely on it."""

    YES = 0  # the job is done, and the answer is yes
    NO = 1  # the job is done, and the answer is no
    ERROR = 2  # the job could not be done as asked: the command line, an input or the machine
    INTERRUPTED = 130  # by Ctrl-C


@dataclass(frozen=True)
class Verb:
    """See the module.

    Attributes:
        summary: one line for the list of verbs.
        description: what the verb does, for its own help.
        examples: (command line, what it does), for its own help.
        add_arguments: adds its arguments to its parser.
        run: does the job.
    """

    summary: str
    description: str
    examples: tuple[tuple[str, str], ...]
    add_arguments: Callable[[ArgumentParser], None]
    run: Callable[[Namespace], ExitCode]

    @property
    def epilog(self) -> str:
        """The examples, for the foot of the help."""
        width = max(len(command) for command, _ in self.examples)
        lines = [f"  {command:<{width}}  {effect}" for command, effect in self.examples]
        return "\n".join(["examples:", *lines])
