# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The published formulas of small arms; and reads those back that the project writes in LaTeX."""

import re

TOKEN = re.compile(
    r"\s*(?:(?P<number>\d+(?:\.\d+)?(?: \\cdot 10\^\{-?\d+\})?)|(?P<frac>\\frac\{\d+\}\{\d+\})|(?P<power>\^\{\d+\})"
    r"|(?P<open>\()|(?P<close>\))|(?P<sign>[-+])"
    r"|(?P<name>(?:\\operatorname\{sgn\})?(?:\\mathrm\{[cs]\}|\\d?dot\{q\}|\\theta|[A-Za-z])_\{[^}]*\}|[gKP]))"
)


WAVE = re.compile(r"\$([cs]_\{[^}]*\}) = \\(sin|cos) ?\(?([^$)]*)\)?\$")


def evaluated(text: str, at: dict[str, float]) -> float:
    """The value of a formula as it stands in the document."""
    code, position, follows = "", 0, False
    while position < len(text.rstrip()):
        found = TOKEN.match(text, position)
        assert found, text[position:]
        kind, token = found.lastgroup, found.group().strip()
        position = found.end()
        if kind in {"number", "frac", "open", "name"} and follows:
            code += "*"
        follows = kind not in {"sign", "open"}
        code += {
            "number": lambda t: t.replace(r" \cdot 10^{", "e").rstrip("}"),
            "frac": lambda t: "({}/{})".format(*re.findall(r"\d+", t)),
            "power": lambda t: f"**{t[2:-1]}",
            "open": lambda _: "(",
            "close": lambda _: ")",
            "sign": lambda t: t,
            "name": lambda t: f"at[{t!r}]",
        }[kind](token)
    return float(eval(code, {"at": at}))


REFERENCE = {
    "r": {"M11": "m1*lc1**2 + I1", "G1": "-m1*lc1*s1*g"},
    "pr": {
        "M11": "m1 + m2",
        "M12": "-m2*lc2*s2",
        "M22": "m2*lc2**2 + I2",
        "C12": "-m2*lc2*c2*v2",
        "G1": "(m1 + m2)*g",
        "G2": "-m2*lc2*s2*g",
    },
    "rr": {
        "M11": "m1*lc1**2 + I1 + m2*(l1**2 + 2*l1*lc2*c2 + lc2**2) + I2",
        "M12": "m2*(lc2**2 + l1*lc2*c2) + I2",
        "M22": "m2*lc2**2 + I2",
        "C11": "-m2*l1*lc2*s2*v2",
        "C12": "-m2*l1*lc2*s2*(v1 + v2)",
        "C21": "m2*l1*lc2*s2*v1",
        "G1": "-(m1*lc1 + m2*l1)*s1*g - m2*lc2*s12*g",
        "G2": "-m2*lc2*s12*g",
    },
    "prr": {
        "M11": "m1 + m2 + m3",
        "M12": "-(m2*lc2 + m3*l2)*s2 - m3*lc3*s23",
        "M13": "-m3*lc3*s23",
        "M22": "m2*lc2**2 + I2 + m3*(l2**2 + 2*l2*lc3*c3 + lc3**2) + I3",
        "M23": "m3*(lc3**2 + l2*lc3*c3) + I3",
        "M33": "m3*lc3**2 + I3",
        "C12": "-(m2*lc2 + m3*l2)*c2*v2 - m3*lc3*c23*(v2 + v3)",
        "C13": "-m3*lc3*c23*(v2 + v3)",
        "C22": "-m3*l2*lc3*s3*v3",
        "C23": "-m3*l2*lc3*s3*(v2 + v3)",
        "C32": "m3*l2*lc3*s3*v2",
        "G1": "(m1 + m2 + m3)*g",
        "G2": "-(m2*lc2 + m3*l2)*s2*g - m3*lc3*s23*g",
        "G3": "-m3*lc3*s23*g",
    },
}
"""M, C and G of the reference, section 1, and what is left of them without elevator or wrist; v is q̇."""


def published(text: str) -> object:
    """A formula of the reference, its names turned into those of the document."""
    import sympy

    def name(found: re.Match[str]) -> str:
        kind, index = found.groups()
        made = {"lc": f"l_{{c{index}}}", "v": rf"\dot{{q}}_{{{index}}}"}.get(kind, f"{kind}_{{{index}}}")
        return f"S({made!r})"

    return eval(re.sub(r"\b(lc|[a-zA-Z])(\d+)\b", name, text).replace("g", "S('g')"), {"S": sympy.Symbol})
