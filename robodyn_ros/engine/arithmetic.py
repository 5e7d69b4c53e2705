"""C text: the numbers of the generated code, and its sines and cosines.

``lanes`` are ``LANES`` doubles, which the processor's vector instructions work on at once. In the code for one state
they hold its angles; in the code for many states each number of a state is one lane.

The sine has one kernel for any vector. The angle, less a multiple n of π/2 (Cody and Waite, Software Manual for the
Elementary Functions, 1980; π/2 in three parts, as in fdlibm's e_rem_pio2.c, so that n times the first two is exact), is
the argument of an odd polynomial on [-π/2, π/2], with a relative error of 2.8e-19 the best of its degree (Remez). For
the sine n is even, for the cosine odd, and its second bit is the sign: no branch, no table. With rounding the error is
below 2.5 units in the last place. Angles beyond 2¹⁹, and what is not finite, take the way through the C library.
"""

from __future__ import annotations

from collections.abc import Iterable

from robodyn_ros.engine.nodes import BINARY, UNARY

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

_TERMS = {
    "sign": "copysign(x != 0 ? 1.0 : 0.0, x)",
    "not": "!x",
    "constpow": "pow(x, y)",
    "lt": "x < y",
    "le": "x <= y",
    "eq": "x == y",
    "ne": "x != y",
    "and": "x && y",
    "or": "x || y",
    "if_else_zero": "x ? y : 0",
}
"""Functions that the C library has not, or under another name."""


def definitions(functions: Iterable[str]) -> str:
    """``one_…`` for a double and ``each_…`` for a ``real`` of each of these functions."""
    lines = []
    for name in sorted(functions):
        given = ("x",) if name in UNARY else ("x", "y")
        assert len(given) == 1 or name in BINARY
        term = _TERMS.get(name, f"{name}({', '.join(given)})")
        lines.append(f"static inline double one_{name}(double {', double '.join(given)}) {{ return {term}; }}")
        lines.append(f"EACH{len(given)}({name})")
    return "\n".join(lines)
