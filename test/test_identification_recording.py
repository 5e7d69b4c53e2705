# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Recordings are read as they were written, whatever they are written as; what is wrong with one is said."""

import shutil
from pathlib import Path
from threading import Thread

import numpy as np
import pytest
from numpy.testing import assert_allclose
from recordings import JOINTS, Bag, fourier, table
from rosbags.rosbag2 import storage_mcap

from robodyn_ros.errors import InputError
from robodyn_ros.identification.recording import RecordingSource, read_recording
from robodyn_ros.identification.recording.bag import within_limit

T = 100.0 + np.arange(400) * 0.004
Q = fourier(T, 3, seed=1)[0]
TAU = fourier(T, 3, seed=2)[0]


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    """A good recording, in every form."""
    folder = tmp_path_factory.mktemp("good")
    turned = [2, 0, 1]
    made = {}
    for name in ("run", "run.mcap"):
        bag = Bag().text("/robot_description", "<robot/>")
        others = [JOINTS[k] for k in turned] + ["finger"]
        q, effort = (np.column_stack([values[:, turned], T]) for values in (Q, TAU))
        bag.states("/joint_states", others, T, late=0.003, position=q, effort=effort)
        bag.states("/joint_states", ["other"], T + 0.001, position=T[:, None])
        bag.states("/controller/joint_commands", JOINTS, T, late=0.004, effort=2.0 * TAU)
        made[name] = bag.write(folder / name)
    made["run.db3"] = next(made["run"].glob("*.db3"))
    made["run.csv"] = table(folder / "run.csv", JOINTS, T, position=Q, effort=TAU, command=2.0 * TAU)
    made["semicolons.csv"] = table(folder / "semicolons.csv", JOINTS, T, ";", position=Q, effort=TAU, command=2.0 * TAU)
    return made


@pytest.mark.parametrize("name", ["run", "run.mcap", "run.db3", "run.csv", "semicolons.csv"])
def test_every_form_holds_the_same_numbers(good, name):
    found = read_recording(good[name], JOINTS)
    assert found.measured is not None and found.commanded is not None
    for track, values in ((found.position, Q), (found.measured, TAU), (found.commanded, 2.0 * TAU)):
        assert np.array_equal(track.values, values)
        np.testing.assert_allclose(track.t - track.t[0], T - T[0], atol=1e-9, rtol=0.0)
    assert found.duration == pytest.approx(T[-1] - T[0])


@pytest.mark.parametrize(("late", "count"), [(0.0, len(T)), (0.004, len(T) - 1)])  # no state is later than the last
def test_commands_without_names_and_stamps_are_put_on_the_clock_of_the_states(tmp_path, late, count):
    """Stamps of a simulation at half speed, received by a wall clock: what is received between is measured between."""
    wall = 1.7e9 + 2.0 * (T - T[0])
    order = ("wrist", "elevator", "shoulder")
    turned = [JOINTS.index(name) for name in order]
    bag = Bag().states("/arm/joint_states", JOINTS, wall, stamp=T, position=Q)
    bag.arrays("/arm/forward_effort_controller/commands", wall + late, TAU[:, turned])
    path = bag.write(tmp_path / "run")
    found = read_recording(path, JOINTS, RecordingSource(order=order))
    assert found.measured is None and found.commanded is not None
    np.testing.assert_allclose(found.commanded.t, (T - T[0] + late / 2.0)[:count], atol=1e-6)
    assert np.array_equal(found.commanded.values, TAU[:count])
    received = read_recording(path, JOINTS, RecordingSource(order=order, times="received"))
    np.testing.assert_allclose(received.position.t, 2.0 * (T - T[0]), atol=1e-6)
    assert received.commanded is not None and len(received.commanded.t) == len(T)


def test_without_stamps_the_receipt_counts(tmp_path):
    path = Bag().states("/joint_states", JOINTS, T, stamp=0.0 * T, position=Q, effort=TAU).write(tmp_path / "run.mcap")
    np.testing.assert_allclose(read_recording(path, JOINTS).position.t, T - T[0], atol=1e-9)
    with pytest.raises(InputError, match="400 of 400 states have no stamp"):
        read_recording(path, JOINTS, RecordingSource(times="stamp"))


def test_two_arms_in_one_bag(tmp_path):
    bag = Bag()
    for side, factor in (("left", 1.0), ("right", -1.0)):
        bag.states(f"/{side}/joint_states", JOINTS, T, position=factor * Q)
        bag.states(f"/{side}/controller/joint_commands", JOINTS, T, effort=factor * TAU)
    path = bag.write(tmp_path / "run")
    with pytest.raises(InputError, match=r"states may be /left/joint_states or /right/joint_states; choose one"):
        read_recording(path, JOINTS)
    found = read_recording(path, JOINTS, RecordingSource(states="/right/joint_states"))
    assert np.array_equal(found.position.values, -Q)
    assert found.commanded is not None and np.array_equal(found.commanded.values, -TAU)
    other = read_recording(path, JOINTS, RecordingSource("right/joint_states", "left/controller/joint_commands"))
    assert other.commanded is not None and np.array_equal(other.commanded.values, TAU)


def test_messages_that_come_twice_count_once(tmp_path):
    twice = np.repeat(np.arange(len(T)), 2)
    path = Bag().states("/joint_states", JOINTS, T[twice], position=Q[twice]).write(tmp_path / "run")
    assert np.array_equal(read_recording(path, JOINTS).position.values, Q)


@pytest.mark.parametrize("spare", [3, 4, 8])
def test_bytes_behind_a_message_do_not_matter(tmp_path, spare):
    """Publishers of serialized messages leave them, as Fast CDR counts more than it writes."""
    path = Bag(spare).states("/joint_states", JOINTS, T, position=Q, effort=TAU).write(tmp_path / "run")
    found = read_recording(path, JOINTS)
    assert found.measured is not None
    assert np.array_equal(found.position.values, Q) and np.array_equal(found.measured.values, TAU)


def test_efforts_that_are_no_numbers_are_none(tmp_path):
    """As drivers without a sensor of effort publish them."""
    path = Bag().states("/joint_states", JOINTS, T, position=Q, effort=np.nan * TAU).write(tmp_path / "run")
    assert read_recording(path, JOINTS).measured is None


def states(**fields):
    return Bag().states("/joint_states", JOINTS, T, **fields)


def spoilt(values, row, column, number):
    values = values.copy()
    values[row, column] = number
    return values


ORDER = np.r_[0:100, 150:200, 100:150, 200:400]
RESET = np.where(np.arange(400) < 250, T, T - 100.5)


@pytest.mark.parametrize(
    ("bag", "source", "said"),
    [
        (lambda: Bag().text("/robot_description", "x"), {}, r"has no topic joint_states of sensor_msgs/msg/JointState; "
         r"it has /robot_description \(std_msgs/msg/String\)"),
        (lambda: Bag(), {}, "has no topic joint_states .* it has no messages at all"),
        (lambda: states(position=Q), {"states": "arm/states"}, r"has no topic /arm/states; it has /joint_states"),
        (lambda: states(position=Q).text("/d", "x"), {"states": "d"}, "topic /d is of std_msgs/msg/String, and must"),
        (lambda: states(position=Q), {"commands": "efforts"}, "has no topic /efforts; it has /joint_states"),
        (lambda: Bag().states("/joint_states", ["a", "b"], T, position=Q[:, :2]), {},
         "no message on /joint_states is of the arm's joints elevator, shoulder, wrist"),
        (lambda: Bag().states("/joint_states", ["wrist", "b"], T, position=Q[:, :2]), {},
         "topic /joint_states has no joint elevator, shoulder; its messages name wrist, b"),
        (lambda: states(effort=TAU), {}, "400 of 400 messages on /joint_states have no positions"),
        (lambda: states(position=Q[:, :2]), {}, r"position has 2 values for 3 joints"),
        (lambda: states(position=spoilt(Q, 7, 1, np.nan)), {}, r"position of joint 'shoulder' is nan at 0.028000 s"),
        (lambda: states(position=Q, effort=spoilt(TAU, 9, 2, np.inf)), {},
         "effort on /joint_states of joint 'wrist' is inf"),
        (lambda: states(position=Q, stamp=T[ORDER]), {}, r"time goes back by 0.396 s after 0.796000 s .* out of order"),
        (lambda: states(position=Q, stamp=RESET), {}, r"time goes back by 100.496 s .* a simulation was reset"),
        (lambda: states(position=Q).states("/joint_commands", JOINTS, T, stamp=T + 500.0, effort=TAU), {},
         "states and commands have no time in common"),
        (lambda: states(position=Q).arrays("/commands", T, TAU[:, :2]), {}, r"data has 2 values for 3 joints"),
        (lambda: states(position=Q).arrays("/commands", T, TAU), {"order": ("wrist", "a", "b")},
         "topic /commands has no joint elevator, shoulder; its messages name wrist, a, b"),
        (lambda: states(position=Q).arrays("/a/commands", T, TAU).arrays("/b/commands", T, TAU), {},
         "commands may be /a/commands or /b/commands; choose one"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_bag_is_said(tmp_path, bag, source, said):
    path = bag().write(tmp_path / "run")
    with pytest.raises(InputError, match=said) as caught:
        read_recording(path, JOINTS, RecordingSource(**source))
    assert str(path) in str(caught.value)


HEAD = "time,elevator/position,shoulder/position,wrist/position\n"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "is empty"),
        ("time,elevator/position\n", "has a heading and no rows"),
        ("when,x\n1,2\n", "has no column time or t or timestamp or stamp; it has when, x"),
        ("time,shoulder/position,wrist/position\n0,1,2\n", "has no column elevator/position"),
        ("time,a,b\n0,1,2\n", "has no columns elevator/position, shoulder/position, wrist/position; it has time, a, b"),
        (
            HEAD.replace(",sh", " [mm],sh") + "0,1,2,3\n",
            r"column 'elevator/position \[mm\]' is in mm, and must be in rad or m",
        ),
        *(
            (HEAD.replace("time", f"{name} [ms]") + "0,1,2,3\n", rf"column '{name} \[ms\]' is in ms, and must be in s")
            for name in ("time", "t", "timestamp", "stamp")
        ),
        (HEAD.replace("time", "time,wrist/position") + "0,1,2,3,4\n", "has two columns 'wrist/position'"),
        (HEAD + "0,1,2,3\n1,1,", "line 3 has 3 cells .* truncated"),
        (HEAD + "0,1,2,x\n", "line 2, wrist/position: 'x' is not a number"),
        (HEAD + "0,1,2,3\n,1,2,3\n", "line 3 has no time"),
        (HEAD + "0,1,2,3\n1e999,1,2,3\n", "line 3 has no time"),
        (HEAD + "0,1,2,3\n2,1,,3\n", "joint 'shoulder' is nan at 2.0"),
        (HEAD + "0,,,\n2,,,\n", "has no positions"),
        (HEAD + "0,1,2,3\n2,1,2,3\n1,1,2,3\n", "time goes back by 1 s"),
    ],
)
def test_what_is_wrong_with_a_table_is_said(tmp_path, content, said):
    path = tmp_path / "run.csv"
    path.write_text(content)
    with pytest.raises(InputError, match=said):
        read_recording(path, JOINTS)


def test_other_columns_of_a_table_are_ignored(tmp_path: Path) -> None:
    others = "stamp [ns],gripper/position [mm],state/text,run_time [ms],,,wrist/desired_position [deg]"
    (tmp_path / "run.csv").write_text(f"{others},{HEAD}9,x,ok,1,,,x,0,1,2,3\n9,x,ok,1,,,x,1,4,5,6\n")
    recording = read_recording(tmp_path / "run.csv", JOINTS)
    np.testing.assert_array_equal(recording.position.values, [[1, 2, 3], [4, 5, 6]])
    np.testing.assert_array_equal(recording.position.t, [0, 1])


@pytest.mark.parametrize("names", [("/arm/a", "b"), ("a [0]", "[1]"), ("a b", "ä: 'b'")])
def test_names_of_joints_may_have_slashes_and_brackets(tmp_path: Path, names: tuple[str, ...]) -> None:
    heading = ",".join(f"{name}/position [rad]" for name in names)
    (tmp_path / "run.csv").write_text(f"time [s],{heading}\n0,1,2\n1,3,4\n", encoding="utf-8")
    recording = read_recording(tmp_path / "run.csv", names)
    np.testing.assert_array_equal(recording.position.values, [[1, 2], [3, 4]])


def test_what_is_no_recording_is_said(tmp_path, good):
    for name, said in (
        ("nowhere", "no such file"),
        ("a.bag", "ROS 1; rosbags-convert"),
        ("a.txt", "must be the folder"),
    ):
        if name != "nowhere":
            (tmp_path / name).write_text("x")
        with pytest.raises(InputError, match=said):
            read_recording(tmp_path / name, JOINTS)
    with pytest.raises(InputError, match=r"metadata.yaml is missing in the folder: this is not a rosbag2"):
        read_recording(tmp_path, JOINTS)
    killed = tmp_path / "killed"
    killed.mkdir()
    (killed / "killed_0.db3").write_bytes(good["run.db3"].read_bytes())
    with pytest.raises(InputError, match=r"`ros2 bag reindex` makes it anew, or read killed_0\.db3 itself"):
        read_recording(killed, JOINTS)
    assert np.array_equal(read_recording(killed / "killed_0.db3", JOINTS).position.values, Q)
    for ending in ("mcap", "db3"):
        empty = tmp_path / f"empty.{ending}"
        empty.write_bytes(b"")
        with pytest.raises(InputError, match="is empty"):
            read_recording(empty, JOINTS)
    (killed / "metadata.yaml").write_text("rosbag2_bagfile_information: {version: 9")
    with pytest.raises(InputError, match="cannot be read as a bag"):
        read_recording(killed, JOINTS)


@pytest.mark.parametrize("name", ["run.mcap", "run.db3", "run.csv"])
def test_truncated_and_corrupt_files_are_errors_or_read(tmp_path, good, name):
    """Whatever the bytes are: an error of this package, or the numbers that are there."""
    rng = np.random.default_rng(3)
    whole = good[name].read_bytes()
    path = tmp_path / name
    failed = 0
    for trial in range(16):
        data = bytearray(whole)
        if trial % 2:
            del data[int(rng.integers(len(data))) :]
        else:
            for place in rng.integers(len(data), size=20):
                data[place] ^= 1 << int(rng.integers(8))
        path.write_bytes(bytes(data))
        try:
            found = read_recording(path, JOINTS)
        except InputError:
            failed += 1
        else:
            assert np.isfinite(found.position.values).all()
    assert failed >= 6
    cut = tmp_path / f"cut.{name.rpartition('.')[2]}"
    cut.write_bytes(whole[: len(whole) // 2])
    if name != "run.csv":
        with pytest.raises(InputError, match="truncated"):
            read_recording(cut, JOINTS)


@pytest.mark.parametrize(("name", "compression"), [("run", "file"), ("run", "message"), ("run.mcap", "storage")])
def test_a_compressed_recording_is_unpacked_within_a_limit(tmp_path, monkeypatch, name, compression):
    """A bag of 192 kB filled the temporary folder with 6 GB. Nothing remains there."""
    packed = Bag().states("/joint_states", JOINTS, T, position=0.0 * Q, effort=TAU).write(tmp_path / name, compression)
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    assert_allclose(read_recording(packed, JOINTS).measured.values, TAU)
    monkeypatch.setattr("robodyn_ros.identification.recording.bag.LARGEST", 20_000)
    with pytest.raises(InputError, match=r"recording: .*run.*: unpacks to more than .* GB, the most that is read"):
        read_recording(packed, JOINTS)
    assert not list(temporary.iterdir())


def test_threads_unpack_one_after_the_other():
    """Each puts functions into rosbags, and then those back that were there."""

    def unpack():
        with within_limit(Path("a.mcap")):
            pass

    before, thread = storage_mcap.zstd, Thread(target=unpack)
    with within_limit(Path("a.mcap")):
        thread.start()
        thread.join(0.05)
        assert thread.is_alive()
    thread.join(10.0)
    assert storage_mcap.zstd is before


def test_the_metadata_of_a_bag_is_plain_yaml(tmp_path, good):
    folder = tmp_path / "run"
    shutil.copytree(good["run"], folder)
    file = folder / "metadata.yaml"
    for more in ("a: " + "[" * 100 + "]" * 100 + "\n", "c: !!python/name:os.system ''\n", "a: &a [*a]\n"):
        file.write_text((good["run"] / "metadata.yaml").read_text() + more)
        with pytest.raises(InputError, match=r"metadata.yaml: line \d+: "):
            read_recording(folder, JOINTS)
