# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""C code of a program: for one state, and for many at once.

Both are the same statements (:mod:`robodyn_ros.engine.listing`) on different numbers: a ``real`` is a double, or a
vector of eight doubles, one state a lane. Two functions hold them, for other loops in C to call as well::

    static inline void prepare(const double* p, double* k);
    static inline void compute(const real* x0, …, const double* p, const double* k, real* y0, …);

``k`` takes ``CONSTANTS`` numbers that depend on the parameters ``p`` alone. x are the inputs, y the results.

``lanes`` are ``LANES`` doubles, which the processor's vector instructions work on at once. In the code for one state
they hold its angles; in the code for many states each number of a state is one lane.

The sine has one kernel for vectors of any length. A multiple n of π/2 is subtracted from the angle (Cody and Waite,
Software Manual for the Elementary Functions, 1980; π/2 in three parts, as in fdlibm's e_rem_pio2.c, so that n times
the first two is exact). The rest is the argument of an odd polynomial on [-π/2, π/2], the best of its degree (Remez),
with a relative error of 2.8e-19. For the sine n is even, for the cosine odd, and its second bit is the sign: no branch,
no table. With rounding the error is below 2.5 units in the last place. The C library reduces angles beyond 2¹⁹ and
numbers that are not finite.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import chain

from robodyn_ros.engine.library import PAGE
from robodyn_ros.engine.listing import BINARY, UNARY, Angles, Statements
from robodyn_ros.engine.program import Program

LANES = 8
"""Doubles in a vector: those of the widest vector registers."""

WHOLE = 5000
"""Statements that one function may have; with more they are spread over several."""

PART = 500
"""Statements of each of those functions."""

PARTS = 16
"""Functions on a page. More are on several pages, which are compiled in parallel."""

_DEFINED = re.compile(r"(?:^const real |, )(\w+) = ", re.MULTILINE)
"""A named number in a line of ``compute``."""

HEADER = """#include <math.h>
#include <stdint.h>

typedef double lanes __attribute__((vector_size(8 * LANES)));
typedef int64_t bits __attribute__((vector_size(8 * LANES)));

#define INSIDE(x) ((x < 0x1p19) & (x > -0x1p19))

static inline int everywhere(bits inside) {
  int64_t all = -1;
  for (int l = 0; l < LANES; ++l) all &= inside[l];
  return __builtin_expect(all != 0, 1);
}

static __attribute__((noinline, cold)) lanes turned_back(lanes x) {
  for (int l = 0; l < LANES; ++l) x[l] = atan2(sin(x[l]), cos(x[l]));
  return x;
}

/* sin(x + quarter π/2), quarter 0 or 1 */
static inline lanes sine(lanes x, int quarter) {
  const lanes t = (x * 0x1.45f306dc9c883p-1 - (double)quarter) + 0x1.8p53; /* rounds to even numbers */
  const lanes n = quarter ? (t - 0x1.8p53) + 1.0 : t - 0x1.8p53;
  const bits sign = (bits)t << 63;
  lanes r = ((x - n * 0x1.921fb544p+0) - n * 0x1.0b4611a6p-34) - n * 0x1.3198a2e037073p-69;
  r = (lanes)((bits)r ^ (quarter ? ~sign & INT64_MIN : sign));
  const lanes z = r * r, z2 = z * z;
  const lanes p0 = -0x1.5555555555555p-3 + z * 0x1.11111111110c1p-7;
  const lanes p1 = -0x1.a01a01a0148bcp-13 + z * 0x1.71de3a5287c68p-19;
  const lanes p2 = -0x1.ae6454cb56fd5p-26 + z * 0x1.6123cb28f3205p-33;
  const lanes p3 = -0x1.ae431d94faa7ap-41 + z * 0x1.8829a2a363208p-49;
  return r + r * (z * ((p0 + z2 * p1) + (z2 * z2) * (p2 + z2 * p3)));
}
"""

SCALAR = """
typedef double real;
static inline real uniform(double x) { return x; }
#define EACH1(name) static inline real each_##name(real x) { return one_##name(x); }
#define EACH2(name) static inline real each_##name(real x, real y) { return one_##name(x, y); }
"""

BATCH = """
typedef lanes real;
static inline real uniform(double x) { return x - (lanes){}; }
#define EACH1(name) static inline real each_##name(real x) { \\
  real r; for (int l = 0; l < LANES; ++l) r[l] = one_##name(x[l]); return r; }
#define EACH2(name) static inline real each_##name(real x, real y) { \\
  real r; for (int l = 0; l < LANES; ++l) r[l] = one_##name(x[l], y[l]); return r; }
"""

TERMS = {
    "sign": "x > 0 ? 1.0 : x < 0 ? -1.0 : x",
    "not": "!x",
    "constpow": "pow(x, y)",
    "lt": "x < y",
    "le": "x <= y",
    "eq": "x == y",
    "ne": "x != y",
    "and": "x && y",
    "or": "x || y",
    "if_else_zero": "x ? y : 0",
    "fmax": "x >= y || y != y ? x : y",
    "fmin": "x <= y || y != y ? x : y",
}
"""Functions that the C library does not have, has under another name, or of which the compiler makes a call."""


def definition(head: str, name: str) -> str:
    """A function of doubles, one of :data:`UNARY` or :data:`BINARY`, under its name behind a head such as ``one_``."""
    given = ("x",) if name in UNARY else ("x", "y")
    term = TERMS.get(name, f"{name}({', '.join(given)})")
    return f"static {head}{name}(double {', double '.join(given)}) {{ return {term}; }}"


def definitions(functions: Iterable[str]) -> str:
    """``one_…`` for a double and ``each_…`` for a ``real`` of each of these functions."""
    lines = []
    for name in sorted(functions):
        assert name in UNARY or name in BINARY
        lines += [definition("inline double one_", name), f"EACH{1 if name in UNARY else 2}({name})"]
    return "\n".join(lines)


def scalar_source(program: Program) -> str:
    """``prepare`` and ``compute`` for one state, for a loop in C that calls them."""
    listing = Statements(program.function())
    angles = max((len(s.angles) for s in listing.statements if isinstance(s, Angles)), default=1)
    lanes = next(width for width in (2, 4, LANES) if width >= angles or width == LANES)
    return f"#define LANES {lanes}\n{HEADER}{SCALAR}\n{_functions(program, listing, lanes, packed=True)}"


def kernel_source(program: Program) -> str:
    """The functions of a library.

    - ``{program.name}_python``, a function of CPython without arguments, which the kernel binds to its arrays: inputs,
      parameters, results, and the check, which is finite if all inputs are.
    - ``{program.name}_run(x, k)`` for loops in C: x are the addresses of the inputs, the parameters and the results; k
      takes the ``{program.name}_constants`` numbers that ``{program.name}_prepare`` works out of the parameters, once
      for as long as they stay.
    - ``{program.name}_plain(x0, …, p, y0, …)``, likewise for loops in C, without arrays of addresses.
    """
    count = len(program.inputs)
    given = _arguments(program, [f"x[{i}]" for i in range(count)], f"x[{count}]", f"x[{count + 1} + {{}}]")
    summed = _sums(program, "check", "x[{}]")
    inputs, results = [f"x{i}" for i in range(count)], [f"y{i}" for i in range(len(program.outputs))]
    taken = [*(f"const double* {name}" for name in (*inputs, "p")), *(f"double* {name}" for name in results)]
    return f"""{scalar_source(program)}
extern void* PyCapsule_GetPointer(void*, const char*);
extern void Py_IncRef(void*);
extern char _Py_NoneStruct;

const int {program.name}_constants = CONSTANTS;

void {program.name}_prepare(const double* p, double* k) {{ prepare(p, k); }}

__attribute__((noinline)) void {program.name}_run(double* const* x, const double* k) {{ compute({given}); }}

void* {program.name}_python(void* capsule, void* none) {{
  double **x = PyCapsule_GetPointer(capsule, 0), k[CONSTANTS], check = 0;
  prepare(x[{count}], k);
  {program.name}_run(x, k);
  {summed}
  *x[{count + 1 + len(program.outputs)}] = check;
  Py_IncRef(&_Py_NoneStruct);
  return &_Py_NoneStruct;
}}

void {program.name}_plain({", ".join(taken)}) {{
  double k[CONSTANTS];
  prepare(p, k);
  compute({_arguments(program, inputs, "p", "y{}")});
}}
"""


def batch_source(program: Program) -> str:
    """The function ``{program.name}_batch(count, arg, res)``; it returns 1 if an input is not finite, else 0."""
    widths_in, widths_out = program.widths
    last = len(widths_in)
    inputs = " ".join(f"lanes in{i}[{max(width, 1)}];" for i, width in enumerate(widths_in))
    outputs = " ".join(f"lanes out{i}[{max(width, 1)}];" for i, width in enumerate(widths_out))
    given = _arguments(program, [f"in{i}" for i in range(last)], f"arg[{last}]", "out{}")
    check = _sums(program, "bad", "in{}")

    def gather(row: str) -> str:
        return " ".join(
            _each(width, "LANES", f"in{i}[j][l] = arg[{i}][(i + {row}) * {width} + j];")
            for i, width in enumerate(widths_in)
        )

    def scatter(lanes: str) -> str:
        return " ".join(
            _each(width, lanes, f"res[{i}][(i + l) * {width} + j] = out{i}[j][l];")
            for i, width in enumerate(widths_out)
        )

    return f"""#define LANES {LANES}
{HEADER}{BATCH}
{_functions(program, Statements(program.function()), LANES, packed=False)}
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
    {check}
  }}
  if (i < count) {{ /* the unused lanes repeat the first of the rest */
    const int left = (int)(count - i);
    {gather("(l < left ? l : 0)")}
    compute({given});
    {scatter("left")}
    {check}
  }}
  for (int l = 0; l < LANES; ++l) if (!(bad[l] == 0)) return 1;
  return 0;
}}
"""


def _functions(program: Program, listing: Statements, lanes: int, *, packed: bool) -> str:
    """The functions ``prepare`` and ``compute``."""
    units = [_angles(s, lanes, packed) if isinstance(s, Angles) else [s] for s in listing.statements]
    words = set(re.findall(r"\w+", " ".join(line for unit in units for line in unit)))
    shared = {name: i for i, name in enumerate(name for name, _ in listing.constants if name in words)}
    prepare = [f"const double {name} = {term};" for name, term in listing.constants]
    prepare += [f"k[{i}] = {name};" for name, i in shared.items()]
    known = {name: f"const double {name} = k[{i}];" for name, i in shared.items()}
    taken = _taken(program)
    parts, lines = "", [*known.values(), *(line for unit in units for line in unit)]
    if len(units) > WHOLE:
        parts, lines = _parts(program, units, known, taken)
    return f"""#define CONSTANTS {max(len(shared), 1)}
{definitions(listing.functions)}
{parts}
static inline void prepare(const double* p, double* k) {{
{_indented(prepare)}
}}

static inline void compute({taken}) {{
{_indented(lines)}
}}
"""


def _taken(program: Program) -> str:
    """The parameters of ``compute``, in C."""
    inputs = "".join(f"const real* x{i}, " for i in range(len(program.inputs)))
    results = "".join(f", real* restrict y{i}" for i in range(len(program.outputs)))
    return f"{inputs}const double* p, const double* k{results}"


def _parts(program: Program, units: list[list[str]], known: dict[str, str], taken: str) -> tuple[str, list[str]]:
    """Functions that hold the statements of a long ``compute`` in turn, and the lines of ``compute`` that call them.

    Compilers take time and memory that grow with the square of a function's length; this keeps to the sum. A number
    that is needed in a later part than its own goes through the array ``w``.

    Args:
        program: that is computed.
        units: lines that stay together.
        known: name → line that reads a number of ``prepare``.
        taken: the parameters of ``compute``, in C.
    """
    parts = [list(chain(*units[i : i + PART])) for i in range(0, len(units), PART)]
    heads = [f"void {program.name}_part{k}({taken}, real* restrict w)" for k in range(len(parts))]
    words = [set(re.findall(r"\w+", " ".join(part))) for part in parts]
    home = {name: k for k, part in enumerate(parts) for name in _DEFINED.findall("\n".join(part))}
    carried = sorted({name for k, used in enumerate(words) for name in used & home.keys() if home[name] != k})
    place = {name: f"w[{i}]" for i, name in enumerate(carried)}

    def body(k: int) -> list[str]:
        constants = [line for name, line in known.items() if name in words[k]]
        before = [name for name in carried if name in words[k] and home[name] != k]
        handed_on = [f"{place[name]} = {name};" for name in carried if home[name] == k]
        return [*constants, *(f"const real {name} = {place[name]};" for name in before), *parts[k], *handed_on]

    bodies = [f"{head} {{\n{_indented(body(k))}\n}}\n" for k, head in enumerate(heads)]
    lines = [f"real w[{max(len(carried), 1)}];", *_calls(program, heads)]
    if len(bodies) <= PARTS:
        return "\n".join(f"static __attribute__((noinline)) {each}" for each in bodies), lines
    declared = "\n".join(f'__attribute__((visibility("hidden"))) {head};' for head in heads)
    pages = ["\n".join(bodies[i : i + PARTS]) for i in range(0, len(bodies), PARTS)]
    return PAGE.join([declared, *pages, ""]), lines


def _calls(program: Program, heads: list[str]) -> list[str]:
    given = _arguments(program, [f"x{i}" for i in range(len(program.inputs))], "p", "y{}")
    return [f"{program.name}_part{k}({given}, w);" for k in range(len(heads))]


def _arguments(program: Program, inputs: list[str], parameters: str, result: str) -> str:
    """The arguments of ``compute``."""
    return ", ".join([*inputs, parameters, "k", *(result.format(i) for i in range(len(program.outputs)))])


def _angles(group: Angles, lanes: int, packed: bool) -> list[str]:
    """The statements of all sines and cosines of a group; the check of the range comes first."""
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


def _sums(program: Program, total: str, name: str) -> str:
    """Loops that add to a total, which stays finite if all inputs are."""
    names = map(name.format, range(len(program.inputs)))
    return " ".join(
        f"for (int j = 0; j < {width}; ++j) {total} += {each}[j] - {each}[j];"
        for each, width in zip(names, program.widths[0], strict=True)
    )


def _each(width: int, lanes: str, statement: str) -> str:
    return f"for (int j = 0; j < {width}; ++j) for (int l = 0; l < {lanes}; ++l) {statement}"
