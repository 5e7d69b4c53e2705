# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Reads the formulas that the project writes in LaTeX back, and computes what they say."""

import re

TOKEN = re.compile(
    r"\s*(?:(?P<number>\d+(?:\.\d+)?(?: \\cdot 10\^\{-?\d+\})?)|(?P<frac>\\frac\{\d+\}\{\d+\})|(?P<power>\^\{\d+\})"
    r"|(?P<open>\()|(?P<close>\))|(?P<sign>[-+])"
    r"|(?P<name>(?:\\operatorname\{sgn\})?(?:\\mathrm\{[cs]\}|\\d?dot\{q\}|\\theta|[A-Za-z])_\{[^}]*\}|[gKP]))"
)


NAMES = re.compile(r"(?:\\dot\{q\}|[A-Za-z])_\{[^}]*\}|g")
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
