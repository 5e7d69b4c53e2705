# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A plugin that omits something, or returns the wrong thing, is told what and where."""

import inspect
import re
import sys
from importlib.metadata import EntryPoint

import numpy as np
import pytest

import robodyn_ros as rd
from robodyn_ros import plugins
from robodyn_ros.cli.main import main
from robodyn_ros.control import Controller, ControlLoop, Efforts
from robodyn_ros.control.faults.dry_run import check_model
from robodyn_ros.control.laws.base import RESULTS
from robodyn_ros.control.laws.pd import PD
from robodyn_ros.control.loop_settings import loop_default_values, make_loop_settings
from robodyn_ros.control.parameter_file import FileParameters
from robodyn_ros.dynamics import Energy
from robodyn_ros.dynamics.rnea import RNEA
from robodyn_ros.errors import EffortError, ModelError, PluginError, SimulationError
from robodyn_ros.simulation import Plant, PlantBase
from robodyn_ros.simulation.comparison import compare
from robodyn_ros.simulation.integrators import Integrator
from robodyn_ros.simulation.rollout import rollout

PRR = "urdf/prr.urdf"


class Tensor:
    """As a tensor of another library: it has a shape and no numbers for NumPy."""

    shape = (3,)

    def __array__(self, *args, **more):
        raise RuntimeError("Can't call numpy() on Tensor that requires grad.")


def returning(made):
    """A law whose ``compute`` returns what a function makes of the right efforts."""

    class Law(PD):
        traced = False

        def compute(self, q, qd, reference, integral=None):
            return made(super().compute(q, qd, reference, integral))

    return Law


def totals(made):
    """Efforts whose total is made of the right one."""
    return lambda right: right._replace(total=made(right.total))


WRONG = {
    "nothing": (lambda right: None, "compute returns None: is its return statement missing?"),
    "an array": (lambda right: right.total, "compute returns a numpy.ndarray of shape (3,), not Efforts(gravity, "),
    "a list": (totals(np.ndarray.tolist), "the term total of compute is a list, not an"),
    "a short one": (totals(lambda total: total[:2]), "the term total of compute has shape (2,), not"),
    "a row": (totals(lambda total: total[None]), "the term total of compute has shape (1, 3), not (3,)"),
    "NaN": (totals(lambda total: np.nan * total), "the term total of compute is not finite: [nan"),
    "complex": (totals(lambda total: 1j * total), "term total of compute is a numpy.ndarray of complex128 of shape"),
    "a tensor": (totals(lambda total: Tensor()), "test_plugin_contract.Tensor of shape (3,), not an array"),
    "objects": (totals(lambda total: total.astype(object)), "total of compute is a numpy.ndarray of object of"),
}


REAL = {group: plugins.entry_points(group=group) for group in plugins.GROUPS.values()}
"""Group → what is installed, read once."""


@pytest.fixture
def install(monkeypatch):
    """Install classes of this module as plugins of a kind, beside the others."""

    def put(kind, **classes):
        before = plugins.entry_points

        def entry_points(group: str) -> list[EntryPoint]:
            own = classes if group == plugins.GROUPS[kind] else ()
            return [*before(group=group), *(EntryPoint(name, f"{__name__}:{name}", group) for name in own)]

        for name, cls in classes.items():
            monkeypatch.setitem(globals(), name, cls)
        monkeypatch.setattr(plugins, "entry_points", entry_points)
        plugins._found.cache_clear()
        assert set(classes) <= set(plugins.available(kind)), kind

    monkeypatch.setattr(plugins, "entry_points", lambda group: REAL[group])
    yield put
    monkeypatch.undo()
    plugins._found.cache_clear()


@pytest.fixture(scope="module")
def model():
    return rd.create_dynamics("rnea", rd.load_robot(PRR))


EFFORT, COMPUTE = {"feedback": "effort"}, {"compute": PD.compute}
NO_SUPER = {"__init__": lambda self, dynamics, kp, kd, ki=0.0: setattr(self, "dynamics", dynamics)}


@pytest.mark.parametrize(
    ("base", "own", "said"),
    [
        (Controller, EFFORT, "test_plugin_contract.Mine omits compute"),
        (Controller, COMPUTE, "omits the class attribute 'feedback', which must be 'effort' or 'acceleration'"),
        (Controller, COMPUTE | {"feedback": "torque"}, "has feedback = 'torque', which must be 'effort' or 'accelerat"),
        (PD, NO_SUPER, "has no attribute 'kp' after its constructor: call super().__init__"),
        (PD, {"__init__": lambda self, dynamics: None}, "has a constructor whose arguments differ from those of "),
        (object, EFFORT | COMPUTE, "does not derive from robodyn_ros.control.laws.base.Controller"),
    ],
)
def test_a_law_that_omits_something(install, model, base, own, said):
    install("controllers", Mine=type("Mine", (base,), {"__module__": __name__, **own}))
    values = FileParameters({"controller": "Mine"}, loop_default_values(model.robot))
    for make in (
        lambda: rd.create_controller("Mine", model, 1.0, 1.0),
        lambda: make_loop_settings(values, model),
        lambda: compare(model.robot, ["Mine"]),
    ):
        with pytest.raises(PluginError, match=f"controllers plugin 'Mine': .*{re.escape(said)}"):
            make()


@pytest.mark.parametrize("kind", WRONG)
def test_a_law_that_returns_the_wrong_thing(install, model, kind):
    made, said = WRONG[kind]
    law = returning(made)
    install("controllers", Mine=law)
    with pytest.raises(EffortError, match=re.escape(said)):  # a law is tried where it is made
        rd.create_controller("Mine", model, 1.0, 1.0)
    with pytest.raises(EffortError, match=re.escape(said)):  # a loop tries its law at once
        ControlLoop(law(model, 1.0, 1.0), model.robot.effort_limit)
    comparison = compare(model.robot, ["Mine", "pd"])
    assert said in comparison.failures["Mine"]
    assert list(comparison.scores()) == ["pd"]


WRONG_METHODS = {
    "remedy": [
        (lambda right: None, "remedy returns None: is its return statement missing?"),
        (lambda right: right[1], "remedy returns a str, not a tuple of a parameter's name and a text"),
        (lambda right: (right[0], 1.0), "remedy returns a tuple, not a tuple of a parameter's name and a text"),
    ],
    "correction": [
        (lambda right: None, "correction returns None: is its return statement missing?"),
        (lambda right: right.tolist(), "correction returns a list, not an array of floats of shape (3,)"),
        (lambda right: right[:2], "the result of correction has shape (2,), not (3,)"),
        (lambda right: np.nan * right, "the result of correction is not finite: [nan"),
        (lambda right: right.astype(str), "the result of correction is a numpy.ndarray of <U"),
    ],
    "acceleration_gains": [
        (lambda right: None, "acceleration_gains returns None: is its return statement missing?"),
        (lambda right: np.stack(right), "acceleration_gains returns a numpy.ndarray of shape (3, 3, 3), not Accelera"),
        (lambda right: right._replace(velocity=np.ones(3)), "the term velocity of acceleration_gains has shape (3,), "),
        (lambda right: right._replace(integral=0.0), "the term integral of acceleration_gains is a float, not an arr"),
        (lambda right: right._replace(position=np.full((3, 3), np.inf)), "the term position of acceleration_gains is"),
    ],
    "estimates": [
        (lambda right: None, "estimates returns None: is its return statement missing?"),
        (lambda right: [1.0, 2.0], "estimates returns a list, not a dict of names with units and finite numbers"),
        (lambda right: {"mass [kg]": "1"}, "estimates returns a str as 'mass [kg]', not a number"),
        (lambda right: {"mass [kg]": np.nan}, "estimates returns nan as 'mass [kg]', which is not finite"),
        (lambda right: {1: 1.0}, "estimates returns the name 1, which is an int, not a string"),
    ],
    "report": [
        (lambda right: None, "report returns None: is its return statement missing?"),
        (lambda right: "well", "report returns a str, not a dict of names with units and finite numbers"),
        (lambda right: {"steps": np.ones(2)}, "report returns a numpy.ndarray of shape (2,) as 'steps', not a number"),
    ],
    "complaint": [
        (lambda right: None, "complaint returns None: is its return statement missing?"),
        (lambda right: 0.0, "complaint returns a float, not a string"),
        (lambda right: ["late"], "complaint returns a list, not a string"),
    ],
    "memory": [
        (lambda right: None, "memory returns None: is its return statement missing?"),
        (lambda right: [1.0], "memory returns a list, not a dict of plain data"),
        (lambda right: {"mass": [{"of": np.ones(3)}]}, "memory returns a numpy.ndarray of shape (3,) in its dict, "),
    ],
}  # fmt: skip


@pytest.mark.parametrize(
    ("method", "made", "said"), [(method, *one) for method, every in WRONG_METHODS.items() for one in every]
)
def test_a_law_is_told_what_each_of_its_methods_returns_where_it_is_made(install, model, method, made, said, capsys):
    def answer(self, *given):
        return made(getattr(PD, method)(self, *given))

    install("controllers", Mine=type("Mine", (PD,), {"__module__": __name__, method: answer}))
    with pytest.raises(EffortError, match=re.escape(f"Mine: {said}")):
        rd.create_controller("Mine", model, 1.0, 1.0)
    assert main(["simulate", PRR, "--duration", "0.1", "--controller", "Mine"]) == 2
    assert f"error: Mine: {said}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("remembers", "said"),
    [
        (("nothing",), "remembers names 'nothing', but the law has no such attribute after its constructor"),
        (("count",), "remembers names 'count', which is an int, not a float or an array of floats"),
        (("names",), "remembers names 'names', which is a tuple, not a float or an array of floats"),
        ("momentum", "remembers is a str, not a tuple of names of attributes"),
    ],
)
def test_a_law_that_remembers_what_is_not_there(install, model, remembers, said):
    class Mine(PD):
        def __init__(self, *given):
            super().__init__(*given)
            self.count, self.names, self.momentum = 0, ("a", "b"), np.zeros(3)

    install("controllers", Mine=type("Mine", (Mine,), {"__module__": __name__, "remembers": remembers}))
    with pytest.raises(EffortError, match=re.escape(f"Mine: {said}")):
        rd.create_controller("Mine", model, 1.0, 1.0)


def test_every_method_that_gives_something_is_looked_at():
    hints = {name: inspect.signature(one).return_annotation for name, one in vars(Controller).items()
             if inspect.isfunction(one) and not name.startswith("_")}  # fmt: skip
    giving = {name for name, hint in hints.items() if hint != "None"}
    assert giving - {"summary"} == set(RESULTS) == {*WRONG_METHODS, "compute"}


RAISING = """
from robodyn_ros.control.laws.pd import PD
from robodyn_ros.dynamics.rnea import RNEA
from robodyn_ros.simulation.integrators.rk4 import RK4

class Law(PD):
    calls = 0
    def {method}(self, *given, **named):
        return self._helped(*given, **named)
    def _helped(self, *given, **named):
        type(self).calls += 1
        if self.calls > {after}:
            raise KeyError("gain")  # here
        return super().{method}(*given, **named)

class Model(RNEA):
    {model}

class Rule(RK4):
    {rule}
"""


@pytest.fixture
def raising(install, monkeypatch, tmp_path):
    """Install plugins of another package, from a file; the line that raises."""

    def put(method="correction", after=100, model="pass", rule="pass"):
        text = RAISING.format(method=method, after=after, model=model, rule=rule)
        path = tmp_path / "somebodys_plugins.py"
        path.write_text(text)
        monkeypatch.syspath_prepend(tmp_path)
        monkeypatch.delitem(sys.modules, path.stem, raising=False)
        made = __import__(path.stem)
        for kind, name in (("controllers", "Law"), ("dynamics", "Model"), ("integrators", "Rule")):
            install(kind, **{name: getattr(made, name)})
        line = next(at for at, code in enumerate(text.splitlines(), 1) if "# here" in code)
        return f"{path}:{line}"

    yield put
    sys.modules.pop("somebodys_plugins", None)


@pytest.mark.parametrize("method", ["__init__", *WRONG_METHODS])
def test_a_law_that_raises_ends_a_verb_with_its_method_and_line(raising, method, capsys):
    place = raising(method, after=0)
    assert main(["simulate", PRR, "--duration", "0.1", "--controller", "Law"]) == 2
    said = f"error: {place}: controllers plugin somebodys_plugins.Law: {method} raises KeyError: 'gain'\n"
    assert capsys.readouterr().err.endswith(said)
    comparison = compare(rd.load_robot(PRR), ["Law", "pd"])
    assert comparison.failures == {"Law": f"KeyError: 'gain', in {method} ({place})"}
    assert list(comparison.scores()) == ["pd"]


@pytest.mark.parametrize("method", ["compute", "advance"])
def test_a_law_that_raises_on_the_way_is_a_fault_that_says_where(raising, model, method):
    place = raising(method, after=5)
    law = rd.create_controller("Law", model, 50.0, 9.0)
    law.traced = False
    loop = ControlLoop(law, model.robot.effort_limit)
    loop.start(0.0, model.robot.home)
    commands = [loop.update(t, t, model.robot.home, np.zeros(3)) for t in np.arange(20) / 500]
    problem = f"Law: KeyError: 'gain', in {method} ({place})"
    assert {command.problem for command in commands if command.fault} == {problem}
    assert commands[-1].fault == "law"
    assert np.isfinite(commands[-1].effort).all()


@pytest.mark.parametrize(
    ("given", "plugin", "kind"),
    [
        ({"model": "def gravity(self, q): raise KeyError('gain')  # here"}, "Model: gravity", "dynamics"),
        ({"rule": "def step(self, *given): return given[99]  # here"}, "Rule: step", "integrators"),
        ({"rule": "code = ''\n    def step(self, *given): return {}['gain']  # here"}, "Rule: step", "integrators"),
    ],
)
def test_a_model_or_an_integrator_that_raises_ends_a_verb_likewise(raising, given, plugin, kind, capsys):
    place = raising(after=0, **given)
    option = "dynamics:=Model" if kind == "dynamics" else "integrator:=Rule"
    assert main(["simulate", PRR, "--duration", "0.1", "-p", option]) == 2
    path, said = place.rpartition(":")[0], capsys.readouterr().err
    assert f"error: {path}:" in said
    assert f"{kind} plugin somebodys_plugins.{plugin} raises" in said


def test_an_error_of_this_package_keeps_its_traceback(monkeypatch, capsys):
    monkeypatch.setattr(PD, "compute", lambda self, *given: {}["gain"])
    assert main(["simulate", PRR, "--duration", "0.1", "--controller", "pd"]) == 2
    assert "Traceback" in (said := capsys.readouterr().err) and "KeyError: 'gain'" in said


def test_single_precision_is_taken(model):
    law = returning(lambda right: Efforts(*(term.astype(np.float32) for term in right)))(model, 50.0, 9.0)
    loop, right = (ControlLoop(each, model.robot.effort_limit) for each in (law, PD(model, 50.0, 9.0)))
    for each in (loop, right):
        each.start(0.0, model.robot.home + [0.5, 0.0, 0.0])
    found, known = (
        each.update(0.0, 0.0, model.robot.home + [0.5, 0.1, 0.0], np.zeros(3)).effort for each in (loop, right)
    )
    np.testing.assert_allclose(found, known, rtol=1e-6)
    assert found.dtype == np.float64


@pytest.mark.parametrize(
    ("result", "said"),
    [
        (None, "gravity returns None: is its return statement missing?"),
        (np.zeros(2), "gravity gives no finite numbers of shape (3,)"),
        (np.full(3, np.nan), "gravity gives no finite numbers of shape (3,)"),
        (Tensor(), "gravity gives no array, but a Tensor: Can't call numpy() on Tensor"),
    ],
)
def test_a_model_that_returns_the_wrong_thing(model, result, said):
    class Mine(RNEA):
        def gravity(self, q):
            return result

    with pytest.raises(ModelError, match=re.escape(said)):
        check_model(Mine(model.robot))


WRONG_RESULTS = {
    "nothing": (lambda found: None, "returns None: is|gives NoneType, not Energy"),
    "a list": (lambda found: np.asarray(found).tolist(), "gives no array, but a list|gives list, not Energy"),
    "NaN": (lambda found: _each(found, lambda part: np.nan * part), "gives no finite numbers of shape"),
    "one too few": (lambda found: _each(found, lambda part: part[..., :-1] if np.ndim(part) else np.ones(2)), "shape"),
    "no batch": (lambda found: _each(found, lambda part: part[0]), r"shape \(2"),
}


def _each(found, change):
    return Energy(*map(change, found)) if isinstance(found, Energy) else change(found)


WRONG_MODELS = [(method, "no batch") for method in ("inverse", "forward", "mass_matrix", "coriolis_matrix", "gravity")]
WRONG_MODELS += [(method, kind) for method in ("forward", "energy") for kind in WRONG_RESULTS]


@pytest.mark.parametrize(("method", "kind"), dict.fromkeys(WRONG_MODELS))
def test_a_model_is_told_what_it_returns_before_anything_computes_with_it(install, model, method, kind, capsys):
    made, said = WRONG_RESULTS[kind]

    def answer(self, *states):
        found = getattr(model, method)(*states)
        return found if kind == "no batch" and states[0].ndim == 1 else made(found)

    install("dynamics", Mine=type("Mine", (RNEA,), {"__module__": __name__, method: answer}))
    with pytest.raises(ModelError, match=f"dynamics plugin: {method}.*({said})"):
        rd.create_dynamics("Mine", model.robot)
    assert main(["simulate", PRR, "--duration", "0.1", "-p", "dynamics:=Mine"]) == 2
    assert f"dynamics plugin: {method}" in " ".join(capsys.readouterr().err.split())


CREATE = {
    "controllers": lambda model: rd.create_controller("Mine", model, 1.0, 1.0),
    "dynamics": lambda model: rd.create_dynamics("Mine", model.robot),
    "integrators": lambda model: Plant(model, integrator="Mine"),
    "plants": lambda model: plugins.create("plants", "Mine", model),
}
"""Kind → how a plugin of it, ``Mine``, is made."""


@pytest.mark.parametrize(
    ("kind", "base", "own", "said"),
    [
        ("controllers", PD, {"compute": lambda self, q, qd: None}, "has compute(self, q, qd), whose arguments differ"),
        ("plants", PlantBase, {"_place": abs, "step": lambda self, effort: None}, "has step(self, effort), whose arg"),
        ("controllers", PD, {"advance": lambda self, dt: None}, "has advance(self, dt), whose arguments differ from"),
        ("dynamics", RNEA, {"gravity": lambda self: None}, "has gravity(self), whose arguments differ from"),
        ("dynamics", RNEA, {"apply": None}, "has apply = None, which is no method"),
        ("dynamics", RNEA, {"__init__": lambda self, robot: None}, "has no attribute 'robot' after its constructor"),
        ("dynamics", rd.Dynamics, {"apply": None}, "omits coriolis_matrix, energy, forward, gravity, inverse, mass_ma"),
        ("integrators", Integrator, {"order": 1}, "omits step"),
        ("integrators", Integrator, {"step": lambda self, *given: given[:2]}, "omits the class attribute 'order'"),
        ("plants", PlantBase, {"_place": lambda self, q, qd: self._keep(q, qd)}, "omits step"),
    ],
)
def test_a_plugin_that_omits_something_or_takes_other_arguments(install, model, kind, base, own, said):
    install(kind, Mine=type("Mine", (base,), {"__module__": __name__, **own}))
    with pytest.raises(PluginError, match=re.escape(f"test_plugin_contract.Mine {said}")):
        CREATE[kind](model)


@pytest.mark.parametrize(
    ("result", "said"),
    [
        (lambda q, qd: None, "step returns NoneType of shape none, not two arrays of shape (3,)"),
        (lambda q, qd: q, "step returns ndarray of shape (3,), not two arrays"),
        (lambda q, qd: (q[:2], qd), "step returns ndarray of shape (2,) and ndarray of shape (3,)"),
        (lambda q, qd: (q.tolist(), qd), "step returns list of shape none and"),
        (lambda q, qd: (q, np.array(["a", "b", "c"])), "step returns ndarray of shape (3,) and ndarray of shape (3,)"),
        (lambda q, qd: np.zeros((2, 3)), "step returns ndarray of shape (2, 3)"),
    ],
)
def test_an_integrator_that_returns_the_wrong_thing(install, model, result, said):
    class Mine(Integrator):
        order = 1

        def step(self, acceleration, q, qd, dt):
            return result(q, qd)

    install("integrators", Mine=Mine)
    with pytest.raises(SimulationError, match="integrator Mine: step "):
        Plant(model, integrator="Mine")
    with pytest.raises(SimulationError, match=re.escape(f"integrator Mine: {said}")):
        Plant(model, integrator=Mine()).step()
    with pytest.raises(SimulationError, match=re.escape(f"integrator Mine: {said}")):
        rollout(model, np.zeros(3), np.zeros(3), np.zeros(3), 1e-3, 4, Mine())


@pytest.mark.parametrize(
    ("order", "result", "said"),
    [
        ("two", lambda q, qd, dt: (q + dt * qd, qd - dt * q), "order is 'two', not a whole number from 1 up"),
        (1, lambda q, qd, dt: (qd - dt * q, q + dt * qd), "step gives positions [0.0997 0.4002] for q̈ = -q after 0.0"),
        (1, lambda q, qd, dt: (q + qd, qd), "step gives positions"),
        (1, lambda q, qd, dt: (q + dt * qd, np.nan * qd), "step gives velocities [nan nan]"),
    ],
)
def test_an_integrator_that_integrates_nothing(install, model, order, result, said):
    class Mine(Integrator):
        def step(self, acceleration, q, qd, dt):
            return result(q, qd, dt)

    Mine.order = order
    install("integrators", Mine=Mine)
    with pytest.raises(SimulationError, match=re.escape(f"integrator Mine: {said}")):
        Plant(model, integrator="Mine")


def test_a_plant_that_keeps_the_wrong_thing(model):
    class Mine(PlantBase):
        def step(self, count=1):
            self._keep(*self.wrong)

        def _place(self, q, qd):
            self._keep(q.copy(), qd.copy())

    plant = Mine(model)
    plant.reset()
    for plant.wrong, said in (
        ((None, np.zeros(3)), "q is a NoneType of shape none"),
        ((np.zeros(3), np.zeros(2)), "qd is a ndarray of shape (2,)"),
    ):
        with pytest.raises(SimulationError, match=re.escape(f"plant Mine: {said}")):
            plant.step()
