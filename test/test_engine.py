# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The cache of compiled arms, and what happens without a compiler."""

import ctypes
import importlib
import logging
import os
import re
import shutil
import stat
import subprocess
import sys
import threading
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from arms import random_robot
from numpy.testing import assert_allclose

import robodyn_ros as rd
from robodyn_ros.dynamics.rnea import RNEA
from robodyn_ros.engine import library
from robodyn_ros.engine.kernel import FEW
from robodyn_ros.engine.library import CacheError, load_library, make_library
from robodyn_ros.engine.program import class_key, hash_sources
from robodyn_ros.errors import NotReadyError
from robodyn_ros.simulation import Plant


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> Path:
    """An empty cache of the test's own; warnings are kept."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    caplog.set_level(logging.WARNING, "robodyn_ros")
    library.say_once.cache_clear()
    return tmp_path / "robodyn_ros"


def gravity(compiled: bool = True) -> np.ndarray:
    """As a process computes it that has loaded no library yet."""
    library._loaded.clear()
    robot = rd.load_robot(random_robot(3, joints=4))
    return rd.create_dynamics("rnea", robot, compiled=compiled).gravity(np.array([0.1, -0.2, 0.3, -0.4]))


def test_compiled_once(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = gravity()
    (entry,) = cache.glob("*.so")
    assert stat.S_IMODE(cache.stat().st_mode) == 0o700
    monkeypatch.setattr(library.Compiler, "compile", None)  # a second compilation would fail
    assert_allclose(gravity(), first, rtol=0)
    assert [*cache.glob("*.so")] == [entry]
    assert not [*cache.glob(".*")], "temporary files are left behind"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative"), monkeypatch.setenv("HOME", str(cache))
    assert library.cache_folder() == cache / ".cache" / "robodyn_ros"


@pytest.mark.parametrize(
    "damage", ["truncated", "other content", "no checksum", "checksum is no text", "writable by others", "a link"]
)
def test_a_damaged_entry_is_rebuilt(cache: Path, damage: str, tmp_path: Path) -> None:
    expected = gravity()
    (entry,) = cache.glob("*.so")
    (checksum,) = cache.glob("*.sha256")
    whole = entry.read_bytes()
    entry.unlink()  # a fresh file: the old one is mapped into this process
    entry.write_bytes(whole[: len(whole) // 2] if damage == "truncated" else b"no library" * 100)
    entry.chmod(0o600)
    if damage == "no checksum":
        checksum.unlink()
    if damage == "checksum is no text":
        checksum.write_bytes(b"\xff\xfe")
    if damage == "writable by others":
        entry.write_bytes(whole)
        entry.chmod(0o666)
    if damage == "a link":
        entry.unlink()
        (tmp_path / "elsewhere.so").write_bytes(whole)
        entry.symlink_to(tmp_path / "elsewhere.so")
    assert_allclose(gravity(), expected, rtol=0)
    assert entry.read_bytes() == whole
    assert not entry.is_symlink()
    assert not entry.stat().st_mode & 0o022


@pytest.mark.parametrize("folder", ["", "code"])
@pytest.mark.parametrize("mode", [0o777, 0o770])
def test_a_folder_that_others_can_write_to_is_not_used(
    cache: Path, folder: str, mode: int, caplog: pytest.LogCaptureFixture
) -> None:
    expected = gravity(compiled=False)
    (cache / folder).mkdir(parents=True)
    cache.chmod(0o700)
    (cache / folder).chmod(mode)
    with pytest.raises(CacheError, match=f"{folder} is not safe .* must belong to you and be writable by you alone"):
        make_library("answer", "one", lambda: CODE)
    assert_allclose(gravity(), expected, rtol=1e-12)
    assert not [*(cache / folder).iterdir()]
    assert len(caplog.records) == 1
    assert "virtual machine" in caplog.text


def test_no_compiler_or_one_that_fails_is_said_once_and_works(
    cache: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    expected = gravity(compiled=False)
    monkeypatch.setenv("PATH", "/nonexistent")
    monkeypatch.delenv("CC", raising=False)
    for _ in range(3):
        assert_allclose(gravity(), expected, rtol=1e-12)
    assert [record.getMessage().count("\n") for record in caplog.records] == [0]
    assert "no C compiler found (cc, gcc, clang)" in caplog.text
    for compiler, said in (
        ("gcc-99", "no C compiler found (gcc-99)"),
        ("/bin/false", "false failed"),
        ("/bin/sh -c 'kill -INT $$'", "was ended by SIGINT"),
    ):
        monkeypatch.setenv("CC", compiler)
        assert_allclose(gravity(), expected, rtol=1e-12)
        assert said in caplog.text


def test_a_library_that_the_system_does_not_load_is_named_with_the_remedy(
    cache: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """As on a file system from which no program may run."""
    monkeypatch.setattr(library.Compiler, "compile", lambda self, source: b"no library")
    assert np.isfinite(gravity()).all()
    said = r"cannot be loaded \(.*\); set XDG_CACHE_HOME to a folder of yours from which programs may run"
    assert re.search(f"{said}: running on CasADi's virtual machine", caplog.text)
    caplog.clear()
    with pytest.raises(NotReadyError, match=f"the simulation cannot be compiled: .*{said}"):
        Plant(rd.create_dynamics("rnea", rd.load_robot("r"), compiled=False))
    assert not caplog.records, "no virtual machine does what only a library can do"


@pytest.mark.parametrize("cause", [PermissionError, OSError])
def test_where_no_lock_can_be_had_each_compiles(cache: Path, monkeypatch: pytest.MonkeyPatch, cause: type) -> None:
    """As with a file of locks that is another user's: nobody waits for a lock that nobody has."""

    def refused(folder: Path) -> int:
        raise cause("locks")

    monkeypatch.setattr(library, "_locks", refused)
    monkeypatch.setattr(library, "sleep", lambda duration: pytest.fail("waits for ever"))
    assert_allclose(gravity(), gravity(compiled=False), rtol=1e-12)
    assert len([*cache.glob("*.so")]) == 1


def test_who_waits_long_for_another_process_names_it(
    cache: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It may be stopped while it compiles; then it keeps the lock."""
    (cache / "code").mkdir(parents=True, mode=0o700)
    cache.chmod(0o700)
    script = (
        "import fcntl, sys; locks = open(sys.argv[1], 'w'); fcntl.lockf(locks, fcntl.LOCK_EX); "
        "print(flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", script, str(cache / "code" / "locks")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        other.stdout.readline()
        monkeypatch.setattr(library, "PATIENCE", -1.0)
        monkeypatch.setattr(library, "sleep", lambda duration: other.communicate())
        assert answers(make_library("answer", "one", lambda: CODE))
    assert f"waiting for process {other.pid}, which is compiling answer-" in caplog.text


def test_nodes_that_start_at_once_share_the_cache(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes race for the same cold entry; one compiles it, and each gets the right answer."""
    compiler, calls = tmp_path / "compiler", tmp_path / "calls"
    compiler.write_text(f'#!/bin/sh\necho >> {calls}\nexec cc "$@"\n')
    compiler.chmod(0o700)
    monkeypatch.setenv("CC", str(compiler))
    script = (
        "import sys, numpy as np, robodyn_ros as rd; sys.path.insert(0, sys.argv[1]); from arms import random_robot;"
        "d = rd.create_dynamics('rnea', rd.load_robot(random_robot(3, joints=4)));"
        "print(repr(d.gravity(np.array([0.1, -0.2, 0.3, -0.4])).tolist()))"
    )
    command = [sys.executable, "-c", script, str(Path(__file__).parent)]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ) for _ in range(2)]
    answers = {process.communicate(timeout=60)[0] for process in processes}
    assert [process.returncode for process in processes] == [0] * 2
    assert answers == {f"{gravity().tolist()!r}\n"}
    assert len([*cache.glob("*.so")]) == len(calls.read_text()) == 1


def test_the_key_tells_arms_formulations_and_code_apart(cache: Path) -> None:
    robots = [rd.load_robot(random_robot(seed, joints=2)) for seed in (1, 2)]
    for robot in robots:
        for name in ("lagrangian", "rnea"):
            rd.create_dynamics(name, robot).gravity(np.zeros(2))
    assert len([*cache.glob("*.so")]) == 4
    # Masses and gravity are inputs, not code: changing them compiles nothing.
    rd.create_dynamics("rnea", robots[0], gravity=(1, 2, 3)).gravity(np.zeros(2))
    assert len([*cache.glob("*.so")]) == 4


CELL = """
from robodyn_ros.dynamics.rnea import RNEA, NewtonEuler

class Scaled(NewtonEuler):
    def efforts(self, q, qd, qdd, p):
        return FACTOR * super().efforts(q, qd, qdd, p)

class Model(RNEA):
    def equations(self):
        return Scaled(self._tree, self.inertial_map)
"""


def test_a_class_without_a_file_has_code_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cell of a notebook that is run again, a function that makes classes: names tell them not apart."""
    robot = rd.load_robot(random_robot(1, joints=2))
    notebook = ModuleType("notebook")
    monkeypatch.setitem(sys.modules, "notebook", notebook)

    def model(factor: str) -> type[RNEA]:
        exec(CELL.replace("FACTOR", factor), notebook.__dict__)
        return notebook.Model

    def made(factor: str) -> type[RNEA]:
        class Model(model(factor)):
            pass

        return Model

    expected = RNEA(robot, compiled=False).gravity([0.3, -0.4])
    for make in (model, made):
        for factor in ("1.0", "2.0"):
            found = make(factor)(robot, compiled=False).gravity([0.3, -0.4])
            assert_allclose(found, float(factor) * expected, rtol=1e-12)


@pytest.mark.parametrize("package", ["ones_own.", ""], ids=["in a package", "beside a script"])
def test_the_key_of_a_class_changes_with_the_files_around_it(
    package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its equations may be in another one."""
    folder = tmp_path / package.rstrip(".")
    folder.mkdir(exist_ok=True)
    if package:
        (folder / "__init__.py").write_text("")
    (folder / "one_model.py").write_text("from robodyn_ros.dynamics.rnea import RNEA\nclass Model(RNEA):\n    pass\n")
    monkeypatch.syspath_prepend(tmp_path)
    keys = []
    for equations in ("1", "2", "1"):
        (folder / "equations.py").write_text(equations)
        for name in ("ones_own", f"{package}one_model"):
            sys.modules.pop(name, None)
        keys.append(class_key(importlib.import_module(f"{package}one_model").Model))
    assert keys[0] == keys[2] != keys[1]
    assert class_key(RNEA) not in keys


def test_few_states_need_no_code_of_their_own_and_many_give_the_same(cache: Path) -> None:
    library._loaded.clear()
    dynamics = rd.create_dynamics("rnea", rd.load_robot(random_robot(3, joints=4)))
    states = np.random.default_rng(1).uniform(-2.0, 2.0, (3, FEW + 1, 4))
    kernel = dynamics.kernel("inverse")
    kernel.inputs[1][:] = kernel.results[0][:] = 7.0
    few = kernel.call(*states[:, :FEW])
    assert_allclose(kernel.inputs[1], 7.0), assert_allclose(kernel.results[0], 7.0)
    assert [path.name.split("-")[0] for path in cache.glob("*.so")] == ["inverse"]
    many = dynamics.inverse(*states)
    assert {path.name.split("-")[0] for path in cache.glob("*.so")} == {"inverse", "inverse_batch"}
    assert_allclose(many[:FEW], few, rtol=1e-12, atol=1e-12)
    with pytest.raises(rd.RobodynError, match="q"):
        dynamics.inverse(np.where(np.arange(4) == 2, np.nan, states[0, :3]), *states[1:, :3])


CODE = "int answer(void) { return 42; }"


def answers(path: Path | None) -> bool:
    return path is not None and ctypes.CDLL(str(path)).answer() == 42


def test_the_same_code_under_another_key_compiles_nothing(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = make_library("answer", "one", lambda: CODE)
    monkeypatch.setattr(library.Compiler, "compile", None)  # a second compilation would fail
    second = make_library("answer", "other", lambda: CODE)
    assert first is not None and second is not None and first != second
    assert first.read_bytes() == second.read_bytes()
    assert answers(second)
    assert len([*cache.glob("*.so")]) == 2 and len([*cache.glob("code/*.so")]) == 1
    assert make_library("answer", "other", lambda: pytest.fail("the source is not asked for again")) == second


def test_a_library_that_was_begun_is_waited_for_and_not_made_twice(
    cache: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    compiled, may_go = [], threading.Event()
    compile_ = library.Compiler.compile

    def wait(self: library.Compiler, source: str) -> bytes:
        assert may_go.wait(60.0)
        compiled.append(source)
        return compile_(self, source)

    monkeypatch.setattr(library.Compiler, "compile", wait)
    with caplog.at_level(logging.INFO, "robodyn_ros"):
        for _ in range(2):
            library.start_library("answer", "one", lambda: CODE)
        assert not [*cache.glob("*.so")]
        may_go.set()
        assert answers(make_library("answer", "one", lambda: pytest.fail("it was written before")))
    assert compiled == [CODE]
    assert [record.getMessage() for record in caplog.records] == ["compiling answer for this arm (1 of 1)"]


def test_what_goes_wrong_in_the_background_is_told_to_who_asks(cache: Path) -> None:
    library.start_library("answer", "one", lambda: "no C")
    with pytest.raises(library.CompilationError, match="failed"):
        make_library("answer", "one", lambda: "no C")
    assert answers(make_library("answer", "one", lambda: CODE))


def test_pages_are_one_library(cache: Path) -> None:
    pages = "int part(void) { return 40; }", "int answer(void) { return part() + TWO; }"
    text = library.PAGE.join(["int part(void);\n#define TWO 2\n", *pages])
    assert answers(make_library("answer", "one", lambda: text))


def test_a_file_system_without_hard_links_gets_copies(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "link", refuse)
    assert answers(make_library("answer", "one", lambda: CODE))
    assert make_library("answer", "one", str) is not None
    assert not [*cache.glob(".*")], "temporary files are left behind"


@pytest.mark.parametrize("key", ["one", "other"])
@pytest.mark.parametrize("damage", ["both names of the file", "the library of the code", "the checksum of the code"])
def test_damaged_code_is_compiled_again(cache: Path, key: str, damage: str) -> None:
    made = make_library("answer", "one", lambda: CODE)
    assert made is not None
    whole = made.read_bytes()
    (library_,), (checksum,) = cache.glob("code/*.so"), cache.glob("code/*.sha256")
    if damage == "both names of the file":
        library_.write_bytes(whole[:100])  # they are hard links to one file
        assert made.read_bytes() == whole[:100]
    elif damage == "the library of the code":
        library_.unlink()
        library_.write_bytes(whole[:100])
    else:
        checksum.unlink()
        checksum.write_bytes(b"\xff")
    found = make_library("answer", key, lambda: CODE)
    assert found is not None and found.read_bytes() == whole
    assert answers(found)


def test_what_is_loaded_is_what_was_checked_whatever_its_path_leads_to_then(cache: Path, tmp_path: Path) -> None:
    """Who owns a folder above the cache can exchange a file between the check and dlopen: he won 2 of 70 starts."""
    made = make_library("answer", "one", lambda: CODE)
    assert made is not None
    compiler = library.find_compiler()
    assert compiler is not None
    evil = tmp_path / "evil.so"
    evil.write_bytes(compiler.compile("int answer(void) { return 666; }"))
    good = made.read_bytes()

    class Exchanged(ctypes.CDLL):
        def __init__(self, name: str) -> None:
            os.replace(evil, made)
            super().__init__(name)

    assert load_library(made, Exchanged).answer() == 42
    with pytest.raises(CacheError, match="has changed since it was put there"):
        load_library(made)
    made.unlink()
    made.write_bytes(good)
    made.chmod(0o666)
    with pytest.raises(CacheError, match="writable by you alone"):
        load_library(made)
    made.unlink()
    elsewhere = tmp_path / "elsewhere.so"
    elsewhere.write_bytes(good)
    made.symlink_to(elsewhere)
    with pytest.raises(OSError, match="symbolic links"):
        load_library(made)
    made.unlink()
    os.mkfifo(made)
    with pytest.raises(CacheError, match="not safe"):
        load_library(made)


def test_libraries_that_share_a_descriptor_one_after_the_other_are_told_apart(cache: Path) -> None:
    for number in range(4):
        code = f"int answer(void) {{ return {number}; }}"
        for _ in range(2):
            made = make_library("answer", str(number), lambda code=code: code)
            assert made is not None
            assert load_library(made).answer() == number


@pytest.mark.parametrize("file", ["engine/codegen.py", "kinematics/inverse/solver.py", "dynamics/symbolic/graph.py"])
def test_an_edit_of_a_source_file_changes_the_program_key(file: str, tmp_path: Path) -> None:
    package = Path(rd.__file__).parent
    for room in ("engine", "kinematics", "dynamics"):
        shutil.copytree(package / room, tmp_path / room)
    fresh = hash_sources.__wrapped__  # without the cache of a process
    before = fresh(tmp_path)
    assert before == fresh(package)
    text = (tmp_path / file).read_text(encoding="utf-8")
    (tmp_path / file).write_text(f"{text}\n", encoding="utf-8")
    after = fresh(tmp_path)
    (tmp_path / file).rename((tmp_path / file).with_name("renamed.py"))
    assert len({before, after, fresh(tmp_path)}) == 3
