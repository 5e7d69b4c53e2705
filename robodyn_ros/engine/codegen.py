"""C code of a program: for one state, and for many at once.

Both are the same statements (:mod:`.listing`) on different numbers (:mod:`.arithmetic`): a ``real`` is a double, or a
vector of eight, one state a lane. Two functions hold them, for other loops in C to call as well::

    static inline void prepare(const double* p, double* k);
    static inline void compute(const real* x0, …, const double* p, const double* k, real* y0, …);

``k`` takes ``CONSTANTS`` numbers that depend on the parameters ``p`` alone. x are the inputs, y the results and, last,
the check: finite if all inputs are.
"""

from __future__ import annotations

import re

from robodyn_ros.engine.arithmetic import BATCH, HEADER, SCALAR, definitions
from robodyn_ros.engine.listing import Angles, Listing
from robodyn_ros.engine.program import Program

LANES = 8
"""Doubles in a vector: those of the widest vector registers."""


def scalar_source(program: Program) -> str:
    """``prepare`` and ``compute`` for one state: what a loop in C is written around."""
    listing = Listing(program.function())
    angles = max((len(s.angles) for s in listing.statements if isinstance(s, Angles)), default=1)
    lanes = next(width for width in (2, 4, LANES) if width >= angles or width == LANES)
    return f"#define LANES {lanes}\n{HEADER}{SCALAR}\n{_functions(program, listing, lanes, packed=True)}"


def kernel_source(program: Program) -> str:
    """``{program.name}_python``, a function of CPython without arguments: see :mod:`.native`."""
    count = len(program.inputs)
    given = _arguments(program, [f"x[{i}]" for i in range(count)], f"x[{count}]", f"x[{count + 1} + {{}}]")
    return f"""{scalar_source(program)}
extern void* PyCapsule_GetPointer(void*, const char*);
extern void Py_IncRef(void*);
extern char _Py_NoneStruct;

void* {program.name}_python(void* capsule, void* none) {{
  double **x = PyCapsule_GetPointer(capsule, 0), k[CONSTANTS];
  prepare(x[{count}], k);
  compute({given});
  Py_IncRef(&_Py_NoneStruct);
  return &_Py_NoneStruct;
}}
"""


def batch_source(program: Program) -> str:
    """The function ``{program.name}_batch(count, arg, res)``; it returns whether an input was not finite."""
    widths_in, widths_out = program.widths
    last = len(widths_in)
    inputs = " ".join(f"lanes in{i}[{max(width, 1)}];" for i, width in enumerate(widths_in))
    outputs = " ".join(f"lanes out{i}[{max(width, 1)}];" for i, width in enumerate(widths_out))
    given = _arguments(program, [f"in{i}" for i in range(last)], f"arg[{last}]", "out{}")
    check = f"out{len(widths_out) - 1}[0]"

    def gather(row: str) -> str:
        return " ".join(
            _each(width, "LANES", f"in{i}[j][l] = arg[{i}][(i + {row}) * {width} + j];")
            for i, width in enumerate(widths_in)
        )

    def scatter(lanes: str) -> str:
        return " ".join(
            _each(width, lanes, f"res[{i}][(i + l) * {width} + j] = out{i}[j][l];")
            for i, width in enumerate(widths_out[:-1])
        )

    return f"""#define LANES {LANES}
{HEADER}{BATCH}
{_functions(program, Listing(program.function()), LANES, packed=False)}
int {program.name}_batch(long long count, const double** arg, double** res) {{
  double k[CONSTANTS];
  {inputs} {outputs}
  lanes bad = {{}};
  long long i = 0;
  prepare(arg[{last}], k);
  for (; i + LANES <= count; i += LANES) {{
    {gather("l")}
    compute({given});
    {scatter("LANES")}
    bad += {check} - {check};
  }}
  if (i < count) {{ /* the lanes that are left over repeat the first of them */
    const int left = (int)(count - i);
    {gather("(l < left ? l : 0)")}
    compute({given});
    {scatter("left")}
    bad += {check} - {check};
  }}
  for (int l = 0; l < LANES; ++l) if (!(bad[l] == 0)) return 1;
  return 0;
}}
"""


def _functions(program: Program, listing: Listing, lanes: int, *, packed: bool) -> str:
    """What prepares, and what computes."""
    lines = [line for s in listing.statements for line in (_angles(s, lanes, packed) if isinstance(s, Angles) else [s])]
    words = set(re.findall(r"\w+", " ".join(lines)))
    shared = [name for name, _ in listing.constants if name in words]
    prepare = [f"const double {name} = {term};" for name, term in listing.constants]
    prepare += [f"k[{i}] = {name};" for i, name in enumerate(shared)]
    lines = [f"const double {name} = k[{i}];" for i, name in enumerate(shared)] + lines
    inputs = "".join(f"const real* x{i}, " for i in range(len(program.inputs)))
    results = "".join(f", real* restrict y{i}" for i in range(len(program.outputs) + 1))
    return f"""#define CONSTANTS {max(len(shared), 1)}
{definitions(listing.functions)}
static inline void prepare(const double* p, double* k) {{
{_indented(prepare)}
}}

static inline void compute({inputs}const double* p, const double* k{results}) {{
{_indented(lines)}
}}
"""


def _arguments(program: Program, inputs: list[str], parameters: str, result: str) -> str:
    return ", ".join([*inputs, parameters, "k", *(result.format(i) for i in range(len(program.outputs) + 1))])


def _angles(group: Angles, lanes: int, packed: bool) -> list[str]:
    """All sines and cosines of a group, the check of the range first."""
    size = lanes if packed else 1
    first = group.sines[0]
    parts = [group.angles[i : i + size] for i in range(0, len(group.angles), size)]
    names = [f"{first}_{i}" for i in range(len(parts))]
    lines = [
        f"lanes x{name} = {{{', '.join(part)}}};" if packed else f"lanes x{name} = {part[0]};"
        for name, part in zip(names, parts, strict=True)
    ]
    lines.append(f"if (!everywhere({' & '.join(f'INSIDE(x{name})' for name in names)})) {{")
    lines += [f"  x{name} = turned_back(x{name});" for name in names]
    lines.append("}")
    lines += [f"const lanes s{name} = sine(x{name}, 0), c{name} = sine(x{name}, 1);" for name in names]
    for i, (sine, cosine) in enumerate(zip(group.sines, group.cosines, strict=True)):
        at = f"_{i // size}" + (f"[{i % size}]" if packed else "")
        lines.append(f"const real {sine} = s{first}{at}, {cosine} = c{first}{at};")
    return lines


def _indented(lines: list[str]) -> str:
    return "\n".join(f"  {line}" for line in lines)


def _each(width: int, lanes: str, statement: str) -> str:
    return f"for (int j = 0; j < {width}; ++j) for (int l = 0; l < {lanes}; ++l) {statement}"
