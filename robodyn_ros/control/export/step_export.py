# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The control step of an arm as C99 for any compiler, also for microcontrollers: ``robodyn export --of step``.

The files need nothing but ``<math.h>``, and use only the stack and a struct that the caller owns, by the functions
``init``, ``set`` and ``step``. They are made from the expressions that the control loop runs
(:func:`robodyn_ros.control.compiled_step.step_program`), so the efforts are the same.
"""

from __future__ import annotations

import re

import numpy as np

from robodyn_ros.control.compiled_step import FLAGS, ROWS, CompiledStep
from robodyn_ros.control.export.arm_data import table
from robodyn_ros.control.loop_settings import LoopSettings
from robodyn_ros.control.step import first_memory
from robodyn_ros.dynamics.compiled import CompiledDynamics
from robodyn_ros.dynamics.symbolic.listing import facts, identifier, plain
from robodyn_ros.engine.codegen import definition
from robodyn_ros.engine.listing import Angles, Statements
from robodyn_ros.engine.tracing import TraceError
from robodyn_ros.errors import ConfigurationError


def export_step(settings: LoopSettings, stem: str = "") -> dict[str, str]:
    """A source file and its header: name → text. ``init`` starts with the settings of the loop; ``stem`` is the files'
    name without the ending; the arm's, with ``_step``, unless given. ConfigurationError: the law cannot be traced.
    """
    law, dynamics = settings.controller, settings.controller.dynamics
    robot = dynamics.robot
    try:
        step = CompiledStep(settings)
    except TraceError as cause:
        raise ConfigurationError(f"{type(law).__name__} cannot be written as C: {cause}") from cause
    assert isinstance(dynamics, CompiledDynamics)
    prefix = identifier(robot.name)
    stem = stem or f"{prefix}_step"
    head = [
        f"Control step of the arm {plain(robot.name)}: {type(law).__name__}, with its limits.",
        *facts(dynamics)[1:],
        "",
        "The law, integral action, soft position limits, limits of the effort and of its rate.",
        "The caller checks the states, and keeps references within the limits.",
    ]
    comment = "\n".join(["/*", *(f" * {line}".rstrip() for line in head), " */"])
    return {f"{stem}.h": f"{comment}\n{_header(step, prefix, stem)}", f"{stem}.c": _source(step, prefix, stem, head[0])}


def _header(step: CompiledStep, prefix: str, stem: str) -> str:
    names, sizes = _settings(step)
    memory, remembered = step.program.widths[0][-2:]
    guard, upper, n = f"{identifier(stem).upper()}_H", prefix.upper(), step.n
    enum = ",\n  ".join(
        f"{upper}_{name} /* {size} */" if size > 1 else f"{upper}_{name}"
        for name, size in zip(names, sizes, strict=True)
    )
    return f"""#ifndef {guard}
#define {guard}

#ifdef __cplusplus
extern "C" {{
#endif

/* Memory and settings of a step; filled by init. */
typedef struct {{
  double time;                  /* since init [s] */
  double memory[{memory}];
  double law_memory[{max(remembered, 1)}];
  double settings[{len(step.parameters)}];
}} {prefix}_step_t;

/* Settings that may change while the arm moves, with the count of numbers of each if it is not one. Those that begin
 * with LAW are attributes of the law, the others limits. */
typedef enum {{
  {enum}
}} {prefix}_setting_t;

/* Begin with the exported settings. The next step is the first. */
void {prefix}_init({prefix}_step_t *step);

/* Change a setting; values has the count of numbers that stands in the list. */
void {prefix}_set({prefix}_step_t *step, {prefix}_setting_t setting, const double *values);

/* One control period: dt is the time since the step before [s], 0 in the first; arrays have {n} numbers. q and qd are
 * position and velocity, the next four the reference and its feed-forward effort. Returns 1, or 0 if the efforts are
 * not finite: do not send them then. */
int {prefix}_step({prefix}_step_t *step, double dt, const double *q, const double *qd, const double *reference_q,
    const double *reference_qd, const double *reference_qdd, const double *reference_effort, double *effort);

#ifdef __cplusplus
}}
#endif

#endif
"""


def _source(step: CompiledStep, prefix: str, stem: str, title: str) -> str:
    listing = Statements(step.program.function())
    lines = [f"const double {name} = {term};" for name, term in listing.constants]
    for part in listing.statements:
        rows = zip(part.angles, part.sines, part.cosines, strict=True) if isinstance(part, Angles) else ()
        lines += [f"const double {sine} = sin({angle}), {cosine} = cos({angle});" for angle, sine, cosine in rows]
        lines += [] if isinstance(part, Angles) else [part]
    body = "\n".join(f"  {line}" for line in lines)
    functions = sorted(set(re.findall(r"\b(?:one|each)_(\w+)\(", body)))
    helpers = "\n".join(definition("double each_", name) for name in functions)
    body = re.sub(r"\bone_(\w+)\(", r"each_\1(", body).replace("const real ", "const double ")
    widths_in, widths_out = step.program.widths
    inputs, results = len(widths_in), len(widths_out)
    arrays = [*(f"x{k}" for k in range(inputs)), *(f"y{k}" for k in range(results))]
    unused = "".join(f"  (void){name};\n" for name in arrays if f"{name}[" not in body)
    given = ", ".join(f"const double *x{k}" for k in range(inputs))
    taken = ", ".join(f"double *y{k}" for k in range(results))
    memory, remembered = widths_in[-2:]
    names, sizes = _settings(step)
    starts = np.cumsum([0, *sizes])[: len(names)]
    n = step.n
    return f"""/* {title} */
#include "{stem}.h"

#include <math.h>
#include <string.h>

#define uniform(x) (x)

{helpers}

static void compute({given}, const double *p, {taken}) {{
{unused}{body}
}}

{table("first_memory", first_memory(n))}

{table("first_law_memory", step.law_memory if remembered else np.zeros(1))}

{table("first_settings", step.parameters)}

/* For each setting its begin, and its count of numbers. */
{table("places", list(zip(starts.tolist(), sizes, strict=True)), "static const int")}

void {prefix}_init({prefix}_step_t *step) {{
  step->time = 0.0;
  memcpy(step->memory, first_memory, sizeof first_memory);
  memcpy(step->law_memory, first_law_memory, sizeof first_law_memory);
  memcpy(step->settings, first_settings, sizeof first_settings);
}}

void {prefix}_set({prefix}_step_t *step, {prefix}_setting_t setting, const double *values) {{
  memcpy(step->settings + places[setting][0], values, (size_t)places[setting][1] * sizeof *values);
}}

int {prefix}_step({prefix}_step_t *step, double dt, const double *q, const double *qd, const double *reference_q,
    const double *reference_qd, const double *reference_qdd, const double *reference_effort, double *effort) {{
  double times[2], results[{len(ROWS) * n}], flags[{len(FLAGS)}];
  double memory[{memory}], law_memory[{max(remembered, 1)}];
  step->time += dt;
  times[0] = step->time;
  times[1] = dt;
  compute(times, q, qd, reference_q, reference_qd, reference_qdd, reference_effort, step->memory, step->law_memory,
      step->settings, results, flags, memory, law_memory);
  if (flags[0] == 0.0) return 0;
  {"memcpy(step->law_memory, law_memory, sizeof law_memory);" if remembered else "(void)law_memory;"}
  memcpy(step->memory, memory, sizeof memory);
  memcpy(effort, results, {n} * sizeof *effort);
  return 1;
}}
"""


def _settings(step: CompiledStep) -> tuple[list[str], list[int]]:
    """Names of the settings in C, and the count of numbers of each."""
    names: list[str] = []
    for name in step.setting_sizes:
        short = re.sub(r"[\W_]+", "_", name, flags=re.ASCII).strip("_").upper()
        names.append(short if short not in names else f"{short}_{len(names)}")
    return names, list(step.setting_sizes.values())
