# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""One grammar for all verbs: one meaning an option, defaults and whole names in help."""

import re
from argparse import SUPPRESS
from pathlib import Path

import pytest

from robodyn_ros.cli.main import VERBS, command_parser, main, parse, verb_parsers
from robodyn_ros.cli.verb import SHARED, VerbParser

ROOT = Path(__file__).parents[1]
PRR = str(ROOT / "urdf/prr.urdf")

MANY = {"--out", "--of", "--report", "--format", "--time"}
"""Options that are about whatever the verb makes: a file, a folder, some of its parts."""


def parsers() -> dict[str, VerbParser]:
    """Verb → its parser."""
    return verb_parsers(command_parser())


PARSERS = parsers()


def test_an_option_means_the_same_in_every_verb():
    meanings = {}
    for verb, parser in PARSERS.items():
        for action in parser._actions:
            for option in set(action.option_strings) - MANY:
                meanings.setdefault(option, {}).setdefault((str(action.metavar), action.nargs == 0), []).append(verb)
    assert {option: found for option, found in meanings.items() if len(found) > 1} == {}


@pytest.mark.parametrize("verb", VERBS)
def test_own_options_stand_before_shared_ones(verb):
    titles = [group.title for group in PARSERS[verb]._action_groups if group._group_actions]
    shared = [title in SHARED for title in titles]
    assert shared == sorted(shared)
    own = {"--joints", "--params"} & {name for action in PARSERS[verb]._actions for name in action.option_strings}
    assert sum(shared) == len(own)


@pytest.mark.parametrize("verb", VERBS)
def test_every_default_is_said(verb):
    parser = PARSERS[verb]
    for action in parser._actions:
        if action.option_strings and action.nargs != 0 and not action.required and action.help != SUPPRESS:
            text = parser._get_formatter()._expand_help(action)
            assert "default" in text, f"{verb} {action.option_strings}: {text}"


@pytest.mark.parametrize("verb", ["plan", "excite"])
def test_the_start_of_a_motion_is_said_as_it_is(verb):
    """Limits may exclude 0, as those of the Panda's fourth joint do."""
    (action,) = (action for action in PARSERS[verb]._actions if "--from" in action.option_strings)
    assert "default: the nearest to 0 within" in action.help


def test_the_viewer_is_said_to_move_an_arm_that_runs_already():
    (action,) = (action for action in PARSERS["view"]._actions if "--attach" in action.option_strings)
    assert "and move, the arm" in action.help


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("columns", ["60", "80", "132"])
def test_help_breaks_no_name(verb, columns, monkeypatch):
    monkeypatch.setenv("COLUMNS", columns)
    parser = parsers()[verb]
    text = parser.format_help()
    for action in parser._actions:
        if action.help and action.help != SUPPRESS:
            words = parser._get_formatter()._expand_help(action).split()
            for word in words:
                if re.fullmatch(r"\W*\w+(_\w+)+\W*", word):
                    assert word in text, f"{verb} {action.dest}: {word}"


@pytest.mark.parametrize("verb", VERBS)
def test_the_arm_comes_first(verb):
    positional = [action.dest for action in PARSERS[verb]._actions if not action.option_strings]
    if "urdf" in positional:
        assert positional[0] == "urdf"
    assert not any(action.dest == "urdf" and action.option_strings for action in PARSERS[verb]._actions)


def test_an_option_is_written_out(capsys):
    """``--mass`` must not be ``--mass-scale``, nor ``--dur`` be ``--duration``."""
    for line in (["compare", PRR, "--friction", "2"], ["simulate", PRR, "--dur", "1"]):
        with pytest.raises(SystemExit):
            main(line)
        assert f"unrecognized arguments: {line[2]}" in capsys.readouterr().err


@pytest.mark.parametrize("joined", [True, False])
def test_a_value_may_begin_with_a_minus(joined):
    for option, value in (("--to", "-0.5,1,0"), ("--to", "-.5,1,0"), ("--motion", "-1.json")):
        words = [f"{option}={value}"] if joined else [option, value]
        found = vars(parse(command_parser(), ["simulate", PRR, *words]))[option[2:]]
        assert [str(found)] == [value] if option == "--motion" else found == [value]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["commission", PRR, "-p", "sped_limit=0.1"], "error: sped_limit=0.1: no parameter"),
        (["commission", PRR, "-p", "sped_limit=0.1"], "'sped_limit' (is it 'speed_limit'?)"),
        (["commission", PRR, "-p", "sped_limit:=0.1"], "'sped_limit' (is it 'speed_limit'?)"),
        (["commission", PRR, "-p", "speed_limit:=fast"], "speed_limit: must be within [0.01, 10]"),
        (["simulate", PRR, "-p", "sede:=3"], "'sede' (is it 'seed'?)"),
        (["simulate", PRR, "-p", "simulator:sede:=3"], "'sede' (is it 'seed'?)"),
        (["simulate", PRR, "-p", "robot:seed:=3"], "named 'robot:seed'"),
        (["simulate", PRR, "-p", "controller:seed:=3"], "named 'controller:seed'\n"),
        (["view", PRR, "-p", "controller:seed:=3"], "named 'controller:seed'\n"),
        (["view", PRR, "-p", "simulator:sede:=3"], "'sede' (is it 'seed'?)"),
        (["view", PRR, "-p", "robot:seed:=3"], "named 'robot:seed'"),
        (["view", PRR, "-p", "command_dely:=0.1"], "'command_dely' (is it 'command_delay'?)"),
        (["view", PRR, "--controller", "impedence"], "(is it 'impedance'?)"),
        (["view", PRR, "--dynamics", "lagrangean"], "(is it 'lagrangian'?)"),
        (["demo", "-p", "simulator:integrater:=rk4"], "'integrater' (is it 'integrator'?)"),
        (["demo", "--controller", "pd,computed_torqe"], "(is it 'computed_torque'?)"),
        (["simulate", PRR, "-p", "tolerence=1"], "'tolerence' (is it 'following_tolerance'?)"),
        (["compare", PRR, "-p", "seed:=3"], "is named 'seed'\n"),
        (["teach", PRR, "--recording", "a.csv", "-p", "tolerence:=1"], "'tolerence' (is it 'tolerance'?)"),
        (["simulate", PRR, "-p", "integrator:=rk44"], "(is it 'rk4'?)"),
        (["simulate", PRR, "--controller", "impedence"], "(is it 'impedance'?)"),
        (["simulate", PRR, "--joints", "wirst"], "(is it 'wrist'?)"),
        (["simulate", PRR, "--tip", "hnd"], "error: --tip: 'hnd' is not in the robot"),
        (["simulate", PRR, "--lock", "wirst=0.1"], "error: --lock: 'wirst' is not in the robot"),
        (
            ["simulate", PRR, "--to", "shoulder=nan"],
            "--to: the position of 'shoulder' must be a finite number, not 'nan'",
        ),
        (["simulate", PRR, "--to", "0.3,l,0"], "--to: the position of 'shoulder' must be a finite number, not 'l'"),
        (["simulate", PRR, "-p", "controller.state_timeout=3"], "(is it 'controller:state_timeout'?)"),
        (["plan", PRR, "--to", "HOEM"], "(is it 'HOME'?)"),
        (["simulate", PRR, "--to", "shoulder=-1,0.5"], "nor joint=position of some of them, each once"),
        (["simulate", PRR, "--to", "shoulder=-1,wrist="], "nor joint=position of some of them, each once"),
        (["simulate", PRR, "--to", "shoulder=-1,shoulder=0.5"], "nor joint=position of some of them, each once"),
        (["plan", PRR, "--to", "HOME", "--via", "CLIM"], "error: --via: 'CLIM' is neither"),
        (["excite", PRR, "--from", "HOEM"], "error: --from: 'HOEM' is neither"),
        (["excite", PRR, "--floor", "nan"], "error: --floor: has a bound that is no number"),
        (["excite", PRR, "--box", *"000111", "--floor", "2"], "error: --box and --floor: has nothing between"),
        (["excite", PRR, "--gravity", *"00", "-60"], "error: start: is beyond the limits: effort is at"),
        (["excite", PRR, "--floor", "3"], "error: --floor: is beyond the limits: place of link 'carriage'"),
        (["plan", PRR, "--to", "HOME", "--tool", "hnd"], "error: --tool: 'hnd' is not in the robot"),
        (["identify", PRR, "none.csv", "--payload-link", "hnd"], "error: --payload-link: 'hnd' is not in the robot"),
        (["contact", PRR, "none.csv", "--tool", "hnd"], "error: --tool: 'hnd' is not in the robot"),
        (["workspace", PRR, "--tool", "hnd"], "error: --tool: 'hnd' is not in the robot"),
        (["compile", PRR, "--tool", "hnd"], "error: --tool: 'hnd' is not in the robot"),
        (["plan", PRR, "--to", "HOME", "--cost", "time+0.1*efort"], "(is it 'effort'?)"),
        (["export", PRR, "--language", "pyton"], "(is it 'python'?)"),
        (["compile", PRR, "--of", "gravty"], "(is it 'gravity'?)"),
        (["derive", PRR, "--of", "lagrangean"], "(is it 'lagrangian'?)"),
        (["simulate", PRR, "--to", "shouldr=1,wrist=0"], "'shouldr' is no joint (is it 'shoulder'?)"),
        (["plan", PRR, "--to", "elevater=0.3"], "'elevater' is no joint (is it 'elevator'?)"),
        (["compare", PRR, "-p", "gains.wrist.dampng_ratio:=1"], "(is it 'gains.wrist.damping_ratio'?)"),
        (["export", PRR, "--language", "c", "--of", "step", "-p", "state_timeoute:=1"], "(is it 'state_timeout'?)"),
    ],
)
def test_an_unknown_parameter_is_an_error_with_the_nearest_name(arguments, said, capsys):
    assert main(arguments) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("verb", ["sweep", "tune"])
def test_parameters_win_over_those_of_a_study(verb, tmp_path, capsys):
    study = tmp_path / "study.yaml"
    study.write_text(
        f"arm: {PRR}\nsimulator: {{command_delay: 0.001}}\nsampling: {{cases: 1}}\n"
        "motion: {to: [[0.3, -0.2, 0.1]], duration: 0.2}\nspecification: {rms_error: 1.0}\n"
        "tune: {damping_ratio: [0.7, 0.7001], population: 5, generations: 1, cases: 1, unseen: 1}\n"
    )
    assert main([verb, str(study), "-p", "command_dely:=0.001"]) == 2
    assert "'command_dely' (is it 'command_delay'?)" in capsys.readouterr().err
    assert main([verb, str(study), "-p", "command_delay:=-1"]) == 2
    assert "command_delay: must be within" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["simulate", PRR, "--accept", "repired_inertia"], ["plugins", "dynamcs"]])
def test_a_wrong_choice_is_an_error_with_the_nearest_one(arguments, capsys):
    try:
        code: object = main(arguments)
    except SystemExit as end:  # of argparse
        code = end.code
    assert code == 2
    assert f"(is it '{'repaired_inertia' if arguments[0] == 'simulate' else 'dynamics'}'?)" in capsys.readouterr().err


@pytest.mark.parametrize("verb", ["compare", "simulate", "commission"])
def test_a_misspelt_name_in_a_file_is_an_error_with_its_line(verb, tmp_path, capsys):
    name = "sped_limit: 0.5" if verb == "commission" else "state_timeot: 0.5"
    (tmp_path / "own.yaml").write_text(f"/**:\n  ros__parameters:\n    some_thing_else: 1\n    {name}\n")
    assert main([verb, PRR, "--params", str(tmp_path / "own.yaml")]) == 2
    said = capsys.readouterr().err
    assert "own.yaml:4" in said
    assert "is it 'speed_limit'?" in said if verb == "commission" else "is it 'state_timeout'?" in said
