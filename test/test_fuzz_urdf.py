# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Spoilt URDFs by the thousand: each loads, as a robot that makes sense, or is refused with the project's own error.

``ROBODYN_FUZZ=200000`` (``make fuzz``) tries that many, new ones with every run, instead of the same few thousand.
"""

import gc
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from arms import OURS, awkward, random_robot
from fuzzed import TRIES, fuzzed, in_time
from hypothesis import given
from hypothesis import strategies as st
from industrial import urdfs
from mutations import DOCTYPES, MUTATIONS, REFUSED

import robodyn_ros as rd

LIMIT = 1.0  # [s] of the processor for one file, in this thread: other work on the machine does not count
LENGTH = 20_000  # longer files only cost time; they are tried when many are

THEIRS = {name: path.read_text(encoding="utf-8") for name, path in urdfs().items()}
WHOLE = {**OURS, **awkward(), "random": random_robot(7, joints=6, mimic=0.3), **THEIRS}
SEEDS = {name: text for name, text in WHOLE.items() if TRIES or len(text) < LENGTH}

pytestmark = in_time
number = st.integers(0, 1 << 20)


def load(source: str | Path) -> rd.Robot | None:
    """The robot, None if it is refused; anything else, more than a second, or one without sense is a failure."""
    begin = time.thread_time()
    try:
        robot = rd.load_robot(source)
    except rd.RobodynError:
        robot = None
    assert time.thread_time() - begin < LIMIT
    if robot is not None:
        check_sense(robot)
    return robot


def check_sense(robot: rd.Robot) -> None:
    """What every other room takes for granted of a Robot."""
    assert robot.n >= 1
    assert len(set(robot.joint_names)) == robot.n
    assert (robot.lower <= robot.upper).all()
    for limit in (robot.velocity_limit, robot.effort_limit):
        assert (limit >= 0).all()
    for body in robot.bodies:
        inertial, place = body.inertial, body.placement
        numbers = (inertial.mass, inertial.com, inertial.inertia, place.rotation, place.translation)
        assert all(np.isfinite(value).all() for value in (*numbers, body.ratio, body.offset))
        assert body.inertial.mass >= 0
        assert abs(np.linalg.norm(body.joint.axis) - 1) < 1e-12


@pytest.mark.parametrize("name", WHOLE)
def test_seeds_are_read_or_refused(name: str) -> None:
    assert load(WHOLE[name]) is not None or name in THEIRS


@fuzzed(150)
@given(
    st.sampled_from(sorted(SEEDS)),
    st.lists(st.tuples(st.sampled_from(sorted(MUTATIONS)), number, number), min_size=1, max_size=4),
)
def test_spoilt_text(name: str, mutations: list[tuple[str, int, int]]) -> None:
    text = SEEDS[name]
    for kind, a, b in mutations:
        text = MUTATIONS[kind](text, a, b)
    load(text)


@fuzzed(100)
@given(st.sampled_from(sorted(SEEDS)), st.lists(st.tuples(number, st.integers(0, 255)), min_size=1, max_size=8))
def test_spoilt_bytes(name: str, flips: list[tuple[int, int]]) -> None:
    content = bytearray(SEEDS[name].encode())
    for place, value in flips:
        content[place % len(content)] = value
    path = FOLDER / "spoilt.urdf"
    path.write_bytes(bytes(content))
    load(path)


@fuzzed(100)
@given(st.one_of(st.text(max_size=300), st.text("<>/=\"' &;![]-robtlinkj0", max_size=300).map("<robot {}".format)))
def test_noise(text: str) -> None:
    assert load(text) is None


@fuzzed(300)
@given(st.binary(max_size=300))
def test_noise_in_a_file(content: bytes) -> None:
    path = FOLDER / "noise.urdf"
    path.write_bytes(content)
    assert load(path) is None


@pytest.mark.parametrize("doctype", DOCTYPES, ids=range(len(DOCTYPES)))
@pytest.mark.parametrize("head", ["", "<?xml version='1.0'?>", "<?xml version='1.0'?>\n<!-- c -->\n", "\ufeff", "\n\n"])
def test_document_types_are_refused_unread(doctype: str, head: str) -> None:
    """With them every entity, internal or external, and every bomb."""
    assert REFUSED.search(doctype)
    with pytest.raises(rd.RobotDescriptionError, match="document type"):
        rd.load_robot(f'{head}{doctype}<robot name="&x;&u;"/>')


@pytest.mark.parametrize("tag", ["a", "robot", "link", "joint", "inertial"])
def test_depth_costs_nothing_but_its_length(tag: str) -> None:
    """No recursion: 100,000 levels, whole or not, among what is read and among what is skipped."""
    for end in (f"</{tag}>" * 100_000 + "</robot>", ""):
        assert load(f'<robot name="deep">{f"<{tag}>" * 100_000}{end}') is None


def test_a_long_chain_is_read_in_time() -> None:
    robot = load(random_robot(1, joints=300, branching=0.0))
    assert robot is not None
    assert robot.n == 300


@pytest.fixture(scope="module", autouse=True)
def _folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    global FOLDER  # hypothesis wants no fixture that is made anew for every example
    FOLDER = tmp_path_factory.mktemp("fuzz")
    gc.collect()
    gc.freeze()  # the time measured is that of the file, not of collecting what other tests have left
    yield
    gc.unfreeze()
