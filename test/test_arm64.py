# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The C of this package on arm64: compiled by a cross compiler, run by qemu-user, compared with this machine.

Functions that are compiled for an arm have fused multiply-adds there, which round less. The core has none anywhere.
"""

import platform
import re
import shutil
import struct
import subprocess
from pathlib import Path

import numpy as np
import pytest
import test_control_export as export
import test_control_thread as thread
from industrial import urdfs

import robodyn_ros as rd
from robodyn_ros.cli.compile import GROUPS, TRIALS, find_jobs
from robodyn_ros.control.core_library import core_source
from robodyn_ros.engine.codegen import batch_source, kernel_source
from robodyn_ros.engine.library import FLAGS, NATIVE, PAGE

TARGET = "aarch64-linux-gnu-"
EMULATOR = ("qemu-aarch64", "-L", "/usr/aarch64-linux-gnu")
PACKAGES = {
    f"{TARGET}gcc": "gcc-aarch64-linux-gnu",
    f"{TARGET}g++": "g++-aarch64-linux-gnu",
    "qemu-aarch64": "qemu-user",
}
MISSING = sorted({package for command, package in PACKAGES.items() if shutil.which(command) is None})

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.timeout(900),
    pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)} (packages of Debian and Ubuntu)"),
]

PLAIN = tuple(flag for flag in FLAGS if flag not in NATIVE.get(platform.machine(), ()))
"""The flags of compiled functions, without those for the processor of this machine."""

AARCH64 = 183
"""``e_machine`` of ELF files for arm64."""


def cross(folder: Path, source: str, *flags: str) -> Path:
    """The program or the object file of C code, for arm64."""
    file, made = folder / "code.c", folder / "code"
    first, *pages = source.split(PAGE)
    file.write_text(first + "".join(pages), encoding="utf-8")
    command = [
        f"{TARGET}gcc",
        *PLAIN,
        *flags,
        str(file),
        "-o",
        str(made),
        *(() if "-c" in flags else ("-lm", "-lpthread")),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:3000]
    assert struct.unpack_from("<H", made.read_bytes(), 18) == (AARCH64,)
    return made


def test_every_function_that_nodes_compile_compiles_for_arm64(tmp_path):
    robot = rd.load_robot("prr")
    plugins = [("rnea", rd.create_dynamics("rnea", robot))]
    jobs = find_jobs(robot, plugins, ",".join(("inverse", "forward", *GROUPS, TRIALS)), True, ["tool"])
    assert len(jobs) > 10
    for job in jobs:
        cross(tmp_path, job.wanted.source(), "-c", "-std=gnu11")
    core = cross(tmp_path, core_source(7), "-c", "-std=gnu11")
    code = subprocess.run([f"{TARGET}objdump", "-d", str(core)], capture_output=True, text=True, check=True).stdout
    assert len(re.findall(r"\tf(add|mul)\t", code)) > 300
    assert not re.findall(r"\tfn?m(?:add|sub|la|ls)\t", code), "the core rounds products and sums one by one"


DRIVER = """
#include <stdio.h>
#include <stdlib.h>
void* PyCapsule_GetPointer(void* a, const char* b) { (void)a; (void)b; return 0; }
void Py_IncRef(void* a) { (void)a; }
char _Py_NoneStruct;
static double* numbers(size_t count) {
  double* made = calloc(count + 1, sizeof(double));
  if (!made || fread(made, sizeof(double), count, stdin) != count) exit(9);
  return made;
}
"""


def computed(folder: Path, dynamics, quantity: str, states: list[np.ndarray], batch: bool) -> np.ndarray:
    """A function of the dynamics at states, each (count, width), by the emulator."""
    program, count = dynamics.program(quantity), len(states[0])
    widths_in, widths_out = program.widths
    parameters = np.asarray(dynamics.symbols, dtype=np.float64)
    read = [f"numbers({count} * {width})" for width in widths_in]
    last, wide = len(widths_in), widths_out[0]
    if batch:
        source, call = batch_source(program), f"{program.name}_batch({count}, (const double**)x, r)"
        body = f"double* r[1] = {{calloc({count} * {wide}, sizeof(double))}}; if ({call}) return 8;"
    else:
        source = kernel_source(program)
        moved = " ".join(f"each[{i}] = x[{i}] + k * {width};" for i, width in enumerate(widths_in))
        body = f"""double* r[1] = {{calloc({count} * {wide}, sizeof(double))}};
  double check[1], constants[{program.name}_constants];
  {program.name}_prepare(x[{last}], constants);
  for (int k = 0; k < {count}; ++k) {{
    double* each[] = {{{", ".join(["0"] * last)}, x[{last}], r[0] + k * {wide}, check}};
    {moved}
    {program.name}_run(each, constants);
  }}"""
    main = f"""int main(void) {{
  double* x[] = {{{", ".join([*read, f"numbers({len(parameters)})"])}}};
  {body}
  return fwrite(r[0], sizeof(double), {count} * {wide}, stdout) == {count} * {wide} ? 0 : 7;
}}"""
    made = cross(folder, source.replace(PAGE, "") + DRIVER + main, "-std=gnu11")
    given = b"".join(np.ascontiguousarray(part, dtype=np.float64).tobytes() for part in (*states, parameters))
    done = subprocess.run([*EMULATOR, str(made)], input=given, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    return np.frombuffer(done.stdout).reshape(count, wide)


@pytest.mark.parametrize("batch", [False, True], ids=["one state", "many states"])
@pytest.mark.parametrize("name", ["prr", "panda"])
def test_compiled_functions_give_the_numbers_of_this_machine(tmp_path, name, batch):
    if name != "prr" and name not in urdfs():
        pytest.skip(f"the URDF of {name} is not installed")
    robot = rd.load_robot("prr" if name == "prr" else urdfs()["panda"])
    dynamics, rng = rd.create_dynamics("rnea", robot), np.random.default_rng(3)
    turns = np.array([1.0, 1e3, 1e9])[rng.integers(0, 3, 43)][:, np.newaxis]  # far turns: the C library reduces them
    states = [rng.normal(size=(43, robot.n)) * scale for scale in (turns, 2.0, 5.0)]
    for quantity in ("inverse", "forward"):
        found = computed(tmp_path, dynamics, quantity, states, batch)
        if quantity == "forward":  # by the efforts that it needs: light fingers make the inverse of M ill-conditioned
            found, wanted = dynamics.inverse(*states[:2], found), states[2]
        else:
            wanted = dynamics.inverse(*states)
        scale = np.abs(dynamics.inverse(*states)).max(axis=1, keepdims=True)
        assert (np.abs(found - wanted) / scale).max() < 1e-12


def test_the_exported_loop_commands_what_it_commands_on_this_machine(tmp_path):
    given = export.given_for(rd.load_robot(export.PRR), np.random.default_rng(2))
    asked = {
        10: [export.REFERENCE, 1, 1, 1, 1, 0.12, 0.1, 0.1, *np.zeros(6)],
        100: [export.TRAJECTORY, 1, 3, 3, 0, np.nan, 0, 1, 2, 0.3, 0.15, 0.1, 0.1, 0.0, 0.0, 0.0],
        250: [export.SPEED, 0.5], 400: [export.HOLD], 450: [export.POSE, 0, 0.1, 0.2, 0.3, 0.0, 0.0, 0.0, 1.0],
        600: [export.CHANGE, 1], 650: [export.TWIST, 1, 0.01, 0.0, 0.0, 0.0, 0.0, 0.0], 900: [export.CYCLE],
        950: [export.CHAINED, *np.tile(export.STANDS, 4)],
    }  # fmt: skip
    found = []
    for folder, target, emulator in ((tmp_path / "here", "", ()), (tmp_path / "there", TARGET, EMULATOR)):
        folder.mkdir()
        made = export.build(folder, export.PRR, given, target=target)
        rows = export.standing(1500, asked)
        found.append(export.history_of(made, rows, changes="blend_time\tdouble\t0.1\n", emulator=emulator))
    (here, said, code), (there, also_said, also_code) = found
    assert code == also_code == 0, also_said
    assert here.shape == there.shape == (1500, 3)
    assert len(np.unique(there, axis=0)) > 400
    np.testing.assert_allclose(there, here, rtol=1e-9, atol=1e-9)
    assert also_said.splitlines()[:-1] == said.splitlines()[:-1]


@pytest.mark.alone
def test_the_thread_serves_states_and_requests(tmp_path):
    flags = ("-std=gnu11", "-O1", *thread.WARNINGS)
    done = thread.compiled(tmp_path, thread.THREAD.read_text(encoding="utf-8"), (f"{TARGET}gcc", *flags))
    assert (done.returncode, done.stderr) == (0, "")
    ran = subprocess.run([*EMULATOR, str(tmp_path / "all")], capture_output=True, text=True, check=False, timeout=300.0)
    assert (ran.returncode, ran.stderr) == (0, ""), ran.stdout
    assert ran.stdout.startswith("4000 states, 4000 efforts")
