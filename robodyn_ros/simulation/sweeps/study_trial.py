"""Whether the cases of a study can be set up at all, found out before any is tried."""

from __future__ import annotations

from robodyn_ros.errors import RobodynError
from robodyn_ros.simulation.sweeps.bench import Bench
from robodyn_ros.simulation.sweeps.study import ARM, NODES, Case, Study
from robodyn_ros.simulation.sweeps.study_file import Section, unknown


def try_inputs(study: Study, file: Section) -> None:
    """Set up each input at its ends, and all in the middle: those whom they are for check names, types and ranges.

    Raises:
        StudyError: a parameter does not exist, or cannot be what the study has it be.
    """
    bench = Bench(study)
    for node in NODES:
        known = bench.known(node)
        for name in file.section(node).flat():
            if name not in known:
                raise _where(file, f"{node}.{name}", unknown(name, known))
        for name in study.vary:
            if name.startswith(f"{node}.") and name.removeprefix(f"{node}.") not in known:
                raise _where(file, f"vary.{name}", unknown(name, [f"{node}.{each}" for each in known]))
    inputs = {name: each for name, each in study.vary.items() if not name.startswith(f"{ARM}.")}
    first = study.controllers[0]
    tries = [Case(0, first, 0, {name: value}) for name, each in inputs.items() for value in each.ends()]
    tries += [Case(0, name, 0, {key: each.at(0.5) for key, each in inputs.items()}) for name in study.controllers]
    for case in tries:
        try:
            bench.setup(case).rig.assemble()
        except RobodynError as problem:
            raise _blamed(file, case, problem) from problem


def _blamed(file: Section, case: Case, problem: RobodynError) -> RobodynError:
    """The same, with the place of the parameter that the message begins with."""
    name, _, rest = str(problem).partition(": ")
    name = name.partition(",")[0]
    for node in NODES:
        if f"{node}.{name}" in case.inputs:
            return _where(file, f"vary.{node}.{name}", rest)
        if name in file.section(node).flat():
            return _where(file, f"{node}.{name}", rest)
    return file.error("study", str(problem))


def _where(file: Section, name: str, problem: str) -> RobodynError:
    """An error about a name, however it is put into parts."""
    section, rest = file, name
    while rest not in section.values:
        inner = next((key for key in section.values if rest.startswith(f"{key}.")), None)
        if inner is None or not isinstance(section.values[inner], Section):
            break
        section, rest = section.section(inner), rest.removeprefix(f"{inner}.")
    return section.error(rest, problem)
