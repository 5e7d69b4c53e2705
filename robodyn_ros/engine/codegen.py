"""C code of a program: for one state, and for many at once.

CasADi writes straight-line code, one operation a line. For many states the same lines are compiled once more with a
vector of ``LANES`` doubles in the place of each double, one state a lane; sines and cosines come from the vector
library of glibc where there is one. Parameters and constants are the same for all states.
"""

from __future__ import annotations

import re

from robodyn_ros.engine.program import Program

LANES = 8


def scalar_source(program: Program) -> str:
    """The function ``program.name`` as ``casadi.external`` takes it."""
    import casadi as ca  # what is compiled runs without it

    generator = ca.CodeGenerator(f"{program.name}.c", {"with_header": False})
    generator.add(program.function())
    # Every argument is there whenever a kernel calls, so nothing need ask.
    code = re.sub(r"arg\[(\d+)\]\? arg\[\1\]\[(\d+)\] : 0", r"arg[\1][\2]", generator.dump())
    return re.sub(r"if \(res\[(\d+)\]!=0\) ", "", code)


def batch_source(program: Program) -> str:
    """The function ``{program.name}_batch(count, arg, res)``; it returns whether an input was not finite."""
    found = re.search(r"static int casadi_f0\(.*?\{\n(.*?)\n  return 0;\n\}", scalar_source(program), re.DOTALL)
    assert found is not None, "CasADi writes its code in another form"
    body = found.group(1).replace("casadi_real", "lanes")
    last = len(program.inputs)
    body = re.sub(rf"arg\[{last}\]\[(\d+)\]", r"ALL(parameters[\1])", body)
    body = re.sub(r"=(-?\d[^;]*);", r"=ALL(\1);", body)
    widths_in, widths_out = program.widths
    inputs = " ".join(f"lanes in{i}[{max(width, 1)}];" for i, width in enumerate(widths_in))
    outputs = " ".join(f"lanes out{i}[{width}];" for i, width in enumerate(widths_out))
    ins = ", ".join(f"in{i}" for i in range(len(widths_in)))
    outs = ", ".join(f"out{i}" for i in range(len(widths_out)))
    check = f"out{len(widths_out) - 1}[0]"

    def gather(row: str) -> str:
        return " ".join(
            _each(width, "LANES", f"in{i}[j][l] = arg[{i}][(k + {row}) * {width} + j];")
            for i, width in enumerate(widths_in)
        )

    def scatter(lanes: str) -> str:
        return " ".join(
            _each(width, lanes, f"res[{i}][(k + l) * {width} + j] = out{i}[j][l];")
            for i, width in enumerate(widths_out[:-1])
        )

    return f"""{_PREAMBLE}
static void compute(const lanes** arg, lanes** res, const double* parameters) {{
{body}
}}

int {program.name}_batch(long long count, const double** arg, double** res) {{
  {inputs} {outputs}
  const lanes* in[] = {{{ins}}};
  lanes* out[] = {{{outs}}};
  lanes bad = {{}};
  long long k = 0;
  for (; k + LANES <= count; k += LANES) {{
    {gather("l")}
    compute(in, out, arg[{last}]);
    {scatter("LANES")}
    bad += {check} - {check};
  }}
  if (k < count) {{ /* the lanes that are left over repeat the first of them */
    const int left = (int)(count - k);
    {gather("(l < left ? l : 0)")}
    compute(in, out, arg[{last}]);
    {scatter("left")}
    bad += {check} - {check};
  }}
  for (int l = 0; l < LANES; ++l) if (!(bad[l] == 0)) return 1;
  return 0;
}}
"""


def _each(width: int, lanes: str, statement: str) -> str:
    return f"for (int j = 0; j < {width}; ++j) for (int l = 0; l < {lanes}; ++l) {statement}"


_PREAMBLE = f"""#include <math.h>
#define LANES {LANES}
typedef double lanes __attribute__((vector_size(8 * LANES)));
#define ALL(x) ((x) - (lanes){{}})
#define casadi_sq(x) ((x) * (x))
static inline lanes casadi_sign(lanes x) {{ return __builtin_convertvector((x < 0) - (x > 0), lanes); }}
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__AVX512F__)
lanes _ZGVeN8v_sin(lanes);
lanes _ZGVeN8v_cos(lanes);
#define sin(x) _ZGVeN8v_sin(x)
#define cos(x) _ZGVeN8v_cos(x)
#else
static inline lanes lanes_sin(lanes x) {{ lanes y; for (int l = 0; l < LANES; ++l) y[l] = sin(x[l]); return y; }}
static inline lanes lanes_cos(lanes x) {{ lanes y; for (int l = 0; l < LANES; ++l) y[l] = cos(x[l]); return y; }}
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__AVX2__)
typedef double quad __attribute__((vector_size(32)));
typedef union {{ lanes whole; quad part[2]; }} split;
quad _ZGVdN4v_sin(quad);
quad _ZGVdN4v_cos(quad);
static inline lanes quads_sin(lanes x) {{
  split y = {{x}}; y.part[0] = _ZGVdN4v_sin(y.part[0]); y.part[1] = _ZGVdN4v_sin(y.part[1]); return y.whole;
}}
static inline lanes quads_cos(lanes x) {{
  split y = {{x}}; y.part[0] = _ZGVdN4v_cos(y.part[0]); y.part[1] = _ZGVdN4v_cos(y.part[1]); return y.whole;
}}
#define sin(x) quads_sin(x)
#define cos(x) quads_cos(x)
#else
#define sin(x) lanes_sin(x)
#define cos(x) lanes_cos(x)
#endif
#endif
"""
