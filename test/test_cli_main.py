# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The command ``robodyn``: its verbs, its help, and how it ends."""

import json
import os
import pkgutil
import signal
import subprocess
import sys
from argparse import Namespace
from functools import cache
from pathlib import Path

import fork_server
import pytest
from rich import box
from rich.table import Table

import robodyn_ros as rd
from robodyn_ros import cli
from robodyn_ros.cli import main as command
from robodyn_ros.cli import plugins
from robodyn_ros.cli.console import WIDTH, console, simple_table
from robodyn_ros.cli.verb import ExitCode, verb_help
from robodyn_ros.errors import ConfigurationError, PluginError
from robodyn_ros.files import find
from robodyn_ros.plugins import GROUPS, load

ROBODYN = [sys.executable, "-m", "robodyn_ros.cli.main"]
CHECK = [*ROBODYN, "check", str(find("urdf/r.urdf"))]


def robodyn(*arguments):
    """Run the command as a process, piped."""
    return fork_server.robodyn(*arguments, env={**os.environ, "COLUMNS": "80"})


@cache
def help_of(*verb):
    """The help of the command or of a verb, in 80 columns."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", "80")
        whole = command.command_parser(verb)
        return (command.verb_parsers(whole)[verb[0]] if verb else whole).format_help()


@pytest.fixture
def verb(monkeypatch):
    """Make ``plugins`` do something else."""

    def replace(run):
        monkeypatch.setattr(plugins, "run", run)

    return replace


def test_every_file_with_a_verb_is_listed_and_no_other():
    modules = [(Path(folder), module) for folder in cli.__path__ for module in pkgutil.iter_modules([folder])]
    files = {m.name: folder / (f"{m.name}/__init__.py" if m.ispkg else f"{m.name}.py") for folder, m in modules}
    verbs = {name for name, file in files.items() if "\ndef add_arguments(" in file.read_text(encoding="utf-8")}
    assert verbs == set(command.VERBS)


def test_help_names_every_verb_and_the_exit_codes():
    said = help_of()
    for name in command.VERBS:
        assert f"    {name} " in said
    for code in ExitCode:
        assert f"\n  {int(code)}" in said


@pytest.mark.parametrize("arguments", [[], *([name] for name in command.VERBS)])
def test_help_fits_80_columns(arguments):
    assert max(map(len, help_of(*arguments).splitlines())) <= 80


@pytest.mark.parametrize("name", command.VERBS)
def test_help_of_a_verb_has_examples_that_its_parser_takes(name):
    examples = verb_help(name)[2].splitlines()[1:]
    assert len(examples) >= 3
    for line in examples:
        assert line in help_of(name)
        program, *arguments = line.strip().partition("  ")[0].split()
        assert program == "robodyn"
        assert command.parse(command.command_parser([name]), arguments).verb == name


def test_help_imports_no_library_that_only_verbs_need():
    """Importing these takes seconds; the merge of two modules may import them unseen. No verb is imported either."""
    slow = ("casadi", "scipy", "matplotlib", "rclpy", "mujoco", "pinocchio", "viser")
    program = "import sys; from robodyn_ros.cli.main import VERBS, command_parser; command_parser(()); "
    program += f"names = {slow} + tuple(f'robodyn_ros.cli.{{name}}' for name in VERBS); "
    program += "print([name for name in names if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "[]\n"


def test_version_is_the_package_s():
    assert robodyn("--version").stdout == f"robodyn {rd.__version__}\n"


@pytest.mark.parametrize(
    ("problem", "code", "said"),
    [
        (ConfigurationError("mass: must be above zero, not -1"), 2, "error: mass: must be above zero, not -1\n"),
        (KeyboardInterrupt(), 130, "interrupted\n"),
    ],
)
def test_an_error_of_the_library_and_an_interrupt_are_one_line(problem, code, said, verb, capsys):
    def run(args):
        raise problem

    verb(run)
    assert command.main(["plugins"]) == code
    assert capsys.readouterr() == ("", said)


INTERRUPTED = """
import sys
class Interruption:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interruption())
sys.modules.pop("typing", None)
from robodyn_ros.cli.main import main
sys.exit(main(["plugins"]))
"""


@pytest.mark.parametrize("module", ["typing", "robodyn_ros.errors", "numpy", "robodyn_ros.cli.plugins"])
def test_an_interrupt_while_the_command_is_imported_ends_with_130_and_no_traceback(module):
    found = subprocess.run(
        [sys.executable, "-c", INTERRUPTED.format(module=module)], capture_output=True, text=True, check=False
    )
    assert found.returncode == 130
    assert found.stderr in ("", "interrupted\n")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_other_signals_unwind_too(verb, number):
    cleaned = []

    def run(args):
        try:
            signal.raise_signal(number)
        finally:
            cleaned.append(True)

    verb(run)
    before = signal.getsignal(number)
    try:
        with pytest.raises(SystemExit) as end:
            command.main(["plugins"])
    finally:
        signal.signal(number, before)
    assert end.value.code == 128 + number
    assert cleaned


@pytest.mark.parametrize(
    ("problem", "said"),
    [
        (ZeroDivisionError("of this package"), "Traceback (most recent call last):\n"),
        (OSError(28, "No space left on device", "run.png"), "error: [Errno 28] No space left on device: 'run.png'\n"),
        (MemoryError("Unable to allocate 7 TiB"), "error: too little memory; Unable to allocate 7 TiB\n"),
    ],
)
def test_what_could_not_be_done_has_code_2_and_a_traceback_if_the_package_is_wrong(problem, said, verb, capsys):
    def run(args):
        print("so far")
        raise problem

    verb(run)
    assert command.main(["plugins"]) == 2
    out, err = capsys.readouterr()
    assert out == "so far\n"
    assert err.startswith(said) if said.startswith("T") else err == said


def test_a_disk_that_is_full_for_the_output_is_one_line():
    with open("/dev/full", "w") as full:
        done = subprocess.run(CHECK, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, "error: [Errno 28] No space left on device\n")


def test_a_character_that_the_terminal_lacks_is_a_question_mark():
    env = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(CHECK, env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "") and "?" in done.stdout


def test_a_reader_that_goes_away_is_no_error_to_talk_about():
    with subprocess.Popen(CHECK, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        process.stdout.close()
        assert process.stderr.read() == ""
        assert process.wait(60) == 2


@pytest.mark.parametrize("line", ["simulate {urdf} --duration 1e4", "bench --computer --seconds 3600"])
def test_ctrl_c_ends_what_runs_in_c_or_waits_for_a_process(line):
    """It comes to both processes of the measurement, as in a terminal."""
    words = [*ROBODYN, *line.format(urdf=find("urdf/prr.urdf")).split()]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(words, start_new_session=True, **pipes) as process:
        begun = process.stderr.readline()  # the first line of the progress
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert "10000 s" in begun or "measuring" in begun
    assert (process.returncode, out) == (130, "")
    assert err.splitlines()[-1] == "interrupted" and "Traceback" not in err


def test_plugins_lists_what_the_registry_has(command):
    listed = command.json("plugins")
    assert {(plugin["kind"], plugin["name"]) for plugin in listed} == {
        (kind, name) for kind in GROUPS for name in rd.available(kind)
    }
    for plugin in listed:
        module, _, name = plugin["origin"].partition(":")
        found = load(plugin["kind"], plugin["name"])
        assert (module, name) == (found.__module__, found.__qualname__)
        assert plugin["summary"]
        assert not plugin["problem"]


def test_plugins_of_one_kind(command):
    assert tuple(plugin["name"] for plugin in command.json("plugins", "dynamics")) == rd.available("dynamics")


def test_table_of_plugins_is_plain_and_fits_80_columns_when_piped():
    done = robodyn("plugins")
    assert done.returncode == 0
    assert "\x1b" not in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80
    for kind in GROUPS:
        for name in rd.available(kind):
            assert name in done.stdout
            assert load(kind, name).__module__ in done.stdout, "a module's name is not broken over two lines"


def test_a_long_module_is_broken_at_dots_only():
    name = "a_package_with_a_long_name.with_a_long_module.and_another_one"
    assert plugins._broken_at_dots(name, 50) == "a_package_with_a_long_name.with_a_long_module.\nand_another_one"
    assert plugins._broken_at_dots(name, 100) == name


def test_a_broken_plugin_is_shown_and_the_answer_is_no(monkeypatch, capsys):
    def broken(kind, name):
        raise PluginError(kind, name, "cannot be imported: ImportError: no libfoo", rd.available(kind))

    monkeypatch.setattr(plugins, "load", broken)
    assert plugins.run(Namespace(kind="dynamics", json=True)) == ExitCode.NO
    listed = json.loads(capsys.readouterr().out)
    assert all("no libfoo" in plugin["problem"] for plugin in listed)
    assert plugins.run(Namespace(kind="dynamics", json=False)) == ExitCode.NO
    assert "no libfoo" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("words", ["", "--help", "help", "plan --help", "help plan"])
def test_help_is_printed_without_a_verb_and_asked_for_by_its_name_too(words, command, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert command(*words.split()) == (0, help_of(*(["plan"] if "plan" in words else [])), "")


@pytest.mark.parametrize("no_wrap", [True, False])
def test_a_table_never_breaks_a_name(no_wrap, capsys):
    names = [f"{side}_gripper_finger_joint_of_the_{where}_hand" for side in ("left", "right") for where in ("upper",)]
    table = Table(box=None)
    for head in ("Joint", "From", "To", "Greatest speed", "Of its limit"):
        table.add_column(head, no_wrap=no_wrap)
    for name in names:
        table.add_row(name, *(f"{name}/{k}" for k in range(2)), "0.25 rad/s", "12 %")
    console().print(table)
    out = capsys.readouterr().out
    assert all(word in out for name in names for word in (name, f"{name}/0", f"{name}/1"))
    assert max(map(len, out.splitlines())) > WIDTH


@pytest.mark.parametrize(("columns", "width"), [("0", WIDTH), ("40", 40), ("many", WIDTH), ("200", 100)])
def test_the_width_is_that_of_columns_if_it_is_one(columns, width, monkeypatch):
    monkeypatch.setenv("COLUMNS", columns)
    assert console().width == width


@pytest.mark.parametrize("columns", [60, 80, 100])
def test_a_table_that_is_too_wide_is_printed_in_parts(columns, monkeypatch, capsys):
    """Each part names its rows, and no name or number is broken; what fits is one table."""
    monkeypatch.setenv("COLUMNS", str(columns))
    long = "a_name_of_a_joint_that_is_as_long_as_names_are"[: columns // 2]
    numbers = [f"{k}.25 rad/s" for k in range(9)]
    table = Table("", "Joint", title="Once", box=box.SIMPLE_HEAD)
    for k in range(9):
        table.add_column(f"Heading {k}", justify="right", no_wrap=True)
    table.add_column("Words")
    table.add_row("·", long, *numbers, "some words that may be broken between them")
    console().print(table)
    out = capsys.readouterr().out
    assert max(len(line.rstrip()) for line in out.splitlines()) <= columns
    assert out.count("Once") == 1
    assert out.count(long) == out.count("·") == out.count("Joint") > 1
    for k in range(9):
        assert out.count(f"Heading {k}") == out.count(numbers[k]) == 1
    # A heading is broken before a number is cut: the last column is as wide as the longer word of its heading.
    narrow = simple_table(("Name", "Of the effort"), [("n" * (columns - 10), "46.3%")])
    console().print(narrow)
    out = capsys.readouterr().out
    assert "46.3%" in out and "Of the\n" in out.replace(" \n", "\n") and "effort" in out
    words = Table("", "Joint", "Words")
    words.add_row("·", long, "some words that may be broken between them")
    console().print(words)
    assert capsys.readouterr().out.count(long) == 1
