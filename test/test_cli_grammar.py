# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""One grammar for all verbs: one meaning an option, defaults and whole names in help."""

import re
from argparse import SUPPRESS
from pathlib import Path

import pytest

from robodyn_ros.cli.main import VERBS, command_parser, parse, verb_parsers
from robodyn_ros.cli.verb import SHARED, VerbParser

ROOT = Path(__file__).parents[1]
PRR = str(ROOT / "urdf/prr.urdf")

MANY = {"--out", "--of", "--report", "--format", "--time"}
"""Options that are about whatever the verb makes: a file, a folder, some of its parts."""


PARSERS: dict[str, VerbParser] = verb_parsers(command_parser())


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
def test_help_breaks_no_name_and_its_sentences_fit(verb, columns, monkeypatch):
    monkeypatch.setenv("COLUMNS", columns)
    parser = PARSERS[verb]
    text = parser.format_help()
    assert not [line for line in text.splitlines() if len(line) > int(columns) and not line.startswith((" ", "usage"))]
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


@pytest.mark.parametrize("joined", [True, False])
def test_a_value_may_begin_with_a_minus(joined):
    for option, value in (("--to", "-0.5,1,0"), ("--to", "-.5,1,0"), ("--motion", "-1.json")):
        words = [f"{option}={value}"] if joined else [option, value]
        found = vars(parse(command_parser(), ["simulate", PRR, *words]))[option[2:]]
        assert [str(found)] == [value] if option == "--motion" else found == [value]


@pytest.mark.parametrize("verb", ["sweep", "tune"])
def test_parameters_win_over_those_of_a_study(verb, tmp_path, command):
    study = tmp_path / "study.yaml"
    study.write_text(
        f"arm: {PRR}\nsimulator: {{command_delay: 0.001}}\nsampling: {{cases: 1}}\n"
        "motion: {to: [[0.3, -0.2, 0.1]], duration: 0.2}\nspecification: {rms_error: 1.0}\n"
        "tune: {damping_ratio: [0.7, 0.7001], population: 5, generations: 1, cases: 1, unseen: 1}\n"
    )
    assert "'command_dely' (is it 'command_delay'?)" in command.error(verb, study, "-p", "command_dely:=0.001")
    assert "command_delay: must be within" in command.error(verb, study, "-p", "command_delay:=-1")
