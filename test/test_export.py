# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Exported C and Python are built, run and compared with the plugin that they were written from."""

import ctypes
import re
import subprocess
from fractions import Fraction
from itertools import product
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from arms import OURS, awkward, mechanism, random_robot

import robodyn_ros as rd
from robodyn_ros.dynamics import Payload
from robodyn_ros.dynamics.compiled import CompiledDynamics
from robodyn_ros.dynamics.symbolic.export import export
from robodyn_ros.dynamics.symbolic.graph import MEANINGS, routines
from robodyn_ros.engine import find_compiler

ARMS = OURS | awkward() | {"random": random_robot(5, joints=4)}
GRAVITY = (0.4, -1.3, -9.6)  # [m/s²], along no axis
QUANTITIES = tuple(CompiledDynamics.quantities())
STRICT = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-Wconversion", "-Wdouble-promotion", "-Wshadow")
SOLVED = {"forward", "mass_matrix_inverse", "forward_derivatives"}
"""These lose digits in proportion to the condition of M."""


def make(arm: str, plugin: str, **parameters: object) -> CompiledDynamics:
    made = rd.create_dynamics(plugin, rd.load_robot(ARMS[arm]), gravity=GRAVITY, compiled=False, **parameters)
    assert isinstance(made, CompiledDynamics)
    return made


def states(n: int, inputs: str, seed: int = 3) -> list[np.ndarray]:
    return list(np.random.default_rng(seed).uniform(-1.5, 1.5, (len(inputs.split()), n)))


def agree(
    dynamics: CompiledDynamics, quantity: str, found: list[object], given: list[np.ndarray], digits: float
) -> None:
    """Every result to so many digits of its largest element."""
    truth = getattr(dynamics, quantity)(*given)
    truths = truth if isinstance(truth, tuple) else (truth,)
    if quantity in SOLVED:
        digits *= max(1.0, float(np.linalg.cond(dynamics.mass_matrix(given[0]))))
    largest = max(1.0, *(float(np.abs(np.asarray(t)).max(initial=0.0)) for t in truths))
    for value, expected in zip(found, truths, strict=True):
        assert np.shape(value) == np.shape(expected), quantity
        np.testing.assert_allclose(value, expected, rtol=0, atol=digits * largest, err_msg=quantity)


def module_of(files: dict[str, str]) -> ModuleType:
    ((name, text),) = files.items()
    module = ModuleType(name.removesuffix(".py"))
    exec(compile(text, name, "exec"), module.__dict__)
    return module


def library_of(files: dict[str, str], folder: Path, *flags: str) -> ctypes.CDLL:
    compiler = find_compiler()
    for name, text in files.items():
        (folder / name).write_text(text, encoding="ascii")
    source = next(folder / name for name in files if name.endswith(".c"))
    command = [*compiler.command, *STRICT, *flags, "-fPIC", "-shared", str(source), "-o", str(folder / "arm.so"), "-lm"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return ctypes.CDLL(str(folder / "arm.so"))


def call(library: ctypes.CDLL, name: str, real: str, given: list[np.ndarray], shapes: list[tuple[int, ...]]) -> list:
    kind = np.float64 if real == "double" else np.float32
    arrays = [np.ascontiguousarray(array, dtype=kind) for array in given]
    # What lies behind a result must stay as it is.
    results = [np.full(int(np.prod(shape)) + 1, 7.25, dtype=kind) for shape in shapes]
    getattr(library, name)(*(ctypes.c_void_p(array.ctypes.data) for array in (*arrays, *results)))
    assert all(result[-1] == 7.25 for result in results)
    return [result[:-1].reshape(shape) for result, shape in zip(results, shapes, strict=True)]


VARIANTS = [("rnea", "double"), ("lagrangian", "double"), ("rnea", "float")]
SOON = {"prr", "random"}
CASES = []
for arm, variant in product(ARMS, VARIANTS):
    is_soon = arm in SOON and (variant == VARIANTS[0] or arm == "prr")
    CASES.append(pytest.param(arm, *variant, marks=[] if is_soon else [pytest.mark.thorough]))


@pytest.mark.parametrize(("arm", "plugin", "real"), CASES)
def test_c(arm: str, plugin: str, real: str, tmp_path: Path) -> None:
    dynamics = make(arm, plugin)
    library = library_of(export(dynamics, "c", QUANTITIES, real=real), tmp_path, "-O0")
    n, p = dynamics.robot.n, len(dynamics.theta())
    for quantity, known in dynamics.quantities().items():
        given = states(n, known.inputs)
        found = call(library, f"{dynamics.robot.name}_{quantity}", real, given, list(known.shapes(n, p)))
        agree(dynamics, quantity, found, given, 1e-12 if real == "double" else 1e-5)


@pytest.mark.parametrize(
    ("arm", "plugin"), [pytest.param(*case.values[:2], marks=case.marks) for case in CASES if "double" in case.values]
)
def test_python(arm: str, plugin: str) -> None:
    dynamics = make(arm, plugin)
    module = module_of(export(dynamics, "python", QUANTITIES))
    assert dynamics.robot.joint_names == module.JOINTS
    for quantity, known in dynamics.quantities().items():
        given = states(dynamics.robot.n, known.inputs)
        result = getattr(module, quantity)(*([float(x) for x in array] for array in given))
        agree(dynamics, quantity, list(result) if len(known.results) > 1 else [result], given, 1e-12)


def test_parameters_are_written_as_they_are(tmp_path: Path) -> None:
    dynamics = make("tilted", "rnea", payload=Payload("c", 0.7, (0.01, 0.02, 0.03)), armature=[0.1, 0.2, 0.3])
    dynamics.configure(viscous=[0.4, 0.5, 0.6], coulomb=[0.7, 0.8, 0.9])
    module = module_of(export(dynamics, "python", ["inverse", "bias"]))
    library = library_of(export(dynamics, "c", ["inverse"]), tmp_path)
    for seed in range(3):
        given = states(3, "q qd qdd", seed)
        given[1][seed] = 0.0  # where the sign of a rate is 0
        agree(dynamics, "inverse", [module.inverse(*given)], given, 1e-12)
        agree(dynamics, "inverse", call(library, "tilted_inverse", "double", given, [(3,)]), given, 1e-12)
        agree(dynamics, "bias", [module.bias(*given[:2])], given[:2], 1e-12)
    text = export(dynamics, "c", ["inverse"])["tilted.h"]
    assert "payload of 0.7 kg on link c" in text


def test_the_file_says_what_one_must_know() -> None:
    files = export(make("prr", "rnea"), "c", ["inverse", "gravity"], real="float")
    assert list(files) == ["prr.h", "prr.c"]
    joints = "0  elevator (prismatic): [m], N", "1  shoulder (revolute): [rad], N m", "2  wrist (revolute): [rad], N m"
    inverse = "void prr_inverse(const float q[3], const float qd[3], const float qdd[3], float tau[3]);"
    facts = rd.__version__, "(0.4, -1.3, -9.6) m/s^2", "row by row", "void prr_gravity(const float q[3], float g[3]);"
    for fact in ("arm prr", *joints, inverse, *facts):
        assert fact in files["prr.h"]
    code = files["prr.c"]
    assert re.findall(r"#include .*", code) == ['#include "prr.h"', "#include <math.h>"]
    assert "double" not in code
    assert "malloc" not in code
    assert "sinf(" in code
    assert not re.search(r"\d\.\d+(e[-+]?\d+)?(?![\df])", code.split("math.h>")[1]), "a number without the suffix f"


def test_operations_of_the_prr_arm() -> None:
    """The issue allows 29 multiplications; the stated number is that of the signs in the code."""
    dynamics = rd.create_dynamics("rnea", rd.load_robot(OURS["prr"]), compiled=False)
    (routine,) = routines(dynamics, ["inverse"])
    code = export(dynamics, "c", ["inverse"])["prr.c"].split("{")[1]
    assert routine.operations == "26 multiplications, 19 additions, 2 sines, 2 cosines"
    assert code.count(" * ") == 26
    assert not re.search(r"double \w+ = [\w.\[\]]+;", code), "a name for what has one"
    assert code.count(" + ") + code.count(" - ") == 19
    (weight,) = routines(dynamics, ["gravity"])
    assert weight.operations == "6 multiplications, 3 additions, 2 sines, 2 cosines"  # and nothing that is not there


@pytest.mark.parametrize("name", ['*/ #error "', '"""\nraise', "2 & 3", "Grüße", "int", "\\"])
def test_names_that_could_end_a_comment(name: str, tmp_path: Path) -> None:
    xml = mechanism("RR").replace('name="rr"', f'name="{name.replace("&", "&amp;").replace(chr(34), "&quot;")}"')
    dynamics = rd.create_dynamics("rnea", rd.load_robot(xml.replace("joint1", "a*/b")), compiled=False)
    library_of(export(dynamics, "c", ["gravity"]), tmp_path)
    files = export(dynamics, "python", ["gravity"])
    assert all(Path(file).stem.isidentifier() and file.isascii() for file in files)
    assert module_of(files).JOINTS == ("a*/b", "joint2")


def test_every_quantity_has_a_meaning() -> None:
    assert tuple(MEANINGS) == QUANTITIES


@pytest.mark.parametrize(
    ("language", "quantities", "real", "problem"),
    [
        ("rust", ["inverse"], "double", "c, python, latex"),
        ("c", ["inverse", "momentun"], "double", "must be one of inverse, forward"),
        ("c", [], "double", "name at least one of"),
        ("c", ["inverse"], "half", "double, float"),
    ],
)
def test_wrong_arguments(language: str, quantities: list[str], real: str, problem: str) -> None:
    with pytest.raises(rd.InputError, match=problem):
        export(make("r", "rnea"), language, quantities, real=real)


def test_a_plugin_without_expressions_cannot_be_exported() -> None:
    with pytest.raises(rd.ConfigurationError, match="Fraction computes numbers only"):
        export(Fraction(), "c", ["inverse"])  # type: ignore[arg-type]
