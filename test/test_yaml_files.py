# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Hostile files: YAML that means more than it says, and paths that are no files. Each gets one line of error."""

import os
import resource
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from robodyn_ros import load_robot
from robodyn_ros.control.laws.memory_file import restore_memory
from robodyn_ros.control.motion.trajectory import read_trajectory
from robodyn_ros.control.parameter_file import parse_parameter, read_parameters
from robodyn_ros.errors import InputError, RobodynError, RobotDescriptionError
from robodyn_ros.files import DEEPEST, YamlError, compose, construct, read_bytes
from robodyn_ros.planning.obstacles import read_obstacles
from robodyn_ros.simulation.sweeps.study_yaml import read_study_file

PRR = Path(__file__).parents[1] / "urdf" / "prr.urdf"

NAMES = "abcdefghijklmnopqrstuvwxyz"
LAUGHS = "a: &a [x, x]\n" + "".join(f"{new}: &{new} [*{old}, *{old}]\n" for old, new in pairwise(NAMES))
MERGES = "a: &a {k: v}\n" + "".join(f"{b}: &{b} {{<<: [{','.join([f'*{a}'] * 9)}]}}\n" for a, b in pairwise(NAMES[:10]))
DEEP = "".join(f"{b}: &{b} {'[' * 40}{f'*{a}' if a > 'a' else 1}{']' * 40}\n" for a, b in pairwise("abcd"))

BAD = {
    "an alias bomb": (LAUGHS, "stands for more than 1000000 values"),
    "a bomb of merged mappings": (MERGES, "stands for more than 1000000 values"),
    "a list that contains itself": ("a: &a [*a]", "contains itself, by an alias"),
    "a mapping that contains itself": ("&a {b: {c: *a}}", "contains itself, by an alias"),
    "an unknown alias": ("a: *b", "line 1: found undefined alias 'b'"),
    "an object of Python": ("a: !!python/object/apply:os.system [true]", "line 1: has a value of the type !!python"),
    "a tag of one's own": ("a: !thing 1", "has a value of the type !thing, not null, bool,"),
    "bytes": ("a: !!binary aGVsbG8=", "of the type !!binary"),
    "a set": ("a: !!set {x, y}", "of the type !!set"),
    "a date by its tag": ("a: !!timestamp 2024-01-01", "of the type !!timestamp"),
    "lists in lists": ("a: " + "[" * 300, f"is nested deeper than {DEEPEST}"),
    "mappings in mappings": ("".join(f"{' ' * k}a:\n" for k in range(60)), f"is nested deeper than {DEEPEST}"),
    "depth by aliases": (DEEP, f"is nested deeper than {DEEPEST}, by aliases"),
    "a number without end": ("a: " + "9" * 5000, "is no number"),
    "a number of 65 bits": (f"a: {2**63}", "has more than 64 bits"),
    "a tag that does not fit": ("a: !!int one", "'one' is no number"),
    "the same for a float": ("a: !!float one", "'one' is no number"),
    "a list as a key": ("? [a, b]\n: 1", "has a key that is no text"),
    "a key twice": ("a: {b: 1,\n  c: 2,\n  b: 3}", "line 3: 'b' is given twice, first in line 1"),
    "a key twice in a line": ("a: {b: 1, b: 2}", "line 1: 'b' is given twice, first in line 1"),
    "a control character": ("a: \x07", "special characters are not allowed"),
    "no YAML": ("a: [1, 2", "expected ',' or ']'"),
    "two documents": ("a: 1\n---\na: 2", "expected a single document"),
}  # fmt: skip


@pytest.mark.parametrize("what", BAD)
def test_yaml_that_means_more_than_it_says_gets_one_line_of_error(what, tmp_path):
    text, said = BAD[what]
    with pytest.raises(YamlError) as found:
        construct(compose(text))
    assert said in str(found.value)
    assert "\n" not in str(found.value)
    file = tmp_path / "hostile.yaml"
    file.write_text(f"robot: x\n{text}" if what == "an alias bomb" else text)
    readers = {read_parameters: ["controller"], read_trajectory: [load_robot(PRR)], restore_memory: [Learnt()]}
    for read, more in (readers | {read_obstacles: [], read_study_file: []}).items():
        with pytest.raises(RobodynError) as found:
            read(file, *more)
        assert "\n" not in str(found.value)
        assert "hostile.yaml" in str(found.value)
    if "\n" not in text and ": " in text:
        with pytest.raises(InputError, match="must be name:=value"):
            parse_parameter(f"a:={text.partition(': ')[2]}")


class Learnt:
    """A law that has something to restore."""

    class dynamics:
        robot = load_robot(PRR)

    def memory(self):
        return {"x": 1.0}


def test_what_ros_takes_for_a_text_is_one():
    """A date is none; it was an object of Python, on which `settings` failed with a traceback."""
    given = "{a: 2024-01-01, b: 2024-13-45, c: 1.5, d: [1, 2], e: yes, f: ~, g: {h: -3}, i: 2001-12-14t21:59:43}"
    date = {"a": "2024-01-01", "b": "2024-13-45", "i": "2001-12-14t21:59:43"}
    assert construct(compose(given)) == {**date, "c": 1.5, "d": [1, 2], "e": True, "f": None, "g": {"h": -3}}
    merged = {"a": {"x": 1}, "b": {"x": 1}, "c": {"x": 1, "y": 2}}
    assert construct(compose("a: &a {x: 1}\nb: *a\nc: {<<: *a, y: 2}")) == merged
    assert construct(compose("")) is None
    assert parse_parameter("when:=2024-01-01") == ("when", "2024-01-01")


def test_an_endless_file_is_refused_at_once(tmp_path):
    """A device and a pipe that nobody writes to: each would be read for ever."""
    pipe = tmp_path / "pipe.yaml"
    os.mkfifo(pipe)
    for path in ("/dev/zero", "/dev/full", str(pipe), str(tmp_path)):
        with pytest.raises(OSError, match=r"is not a file|Is a directory"):
            read_bytes(path)
        with pytest.raises(RobotDescriptionError):
            load_robot(path)
        with pytest.raises(InputError, match="cannot be read"):
            read_parameters(Path(path), "controller")
    huge = tmp_path / "huge.urdf"
    with open(huge, "wb") as file:
        file.truncate(2**33)  # no block of it is on the disk
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(RobotDescriptionError, match="is larger than 64 MB"):
        load_robot(huge)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300_000  # [kB]


def test_what_a_shell_puts_in_place_of_a_file_is_read():
    program = "import sys; from robodyn_ros import load_robot; print(load_robot(sys.argv[1]).name)"
    command = f"{sys.executable} -c '{program}' <(cat {PRR})"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
    assert done.stdout == "prr\n"


def test_a_verb_says_it_in_one_line(tmp_path, command):
    file = tmp_path / "hostile.yaml"
    file.write_text(LAUGHS)
    error = command.error("simulate", PRR, "--params", file, "--to", "0,0,0")
    assert error.count("\n") <= 2
    assert "stands for more than 1000000 values" in error
