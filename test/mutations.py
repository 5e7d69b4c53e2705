# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Ways to spoil a URDF. Each takes the text and two numbers that choose where and how, and gives another text."""

import re
from collections.abc import Callable

TAG = re.compile(r"<[^<>]*>")
ATTRIBUTE = re.compile(r"""\s[\w:.-]+\s*=\s*("[^"]*"|'[^']*')""")
VALUE = re.compile(r"""(?<==)\s*("[^"]*"|'[^']*')""")
NUMBER = re.compile(r"-?\d+\.?\d*(?:[eE][-+]?\d+)?")
ELEMENT = re.compile(r"<(link|joint)\b[^<>]*(?:/>|>.*?</\1>)", re.DOTALL)

VALUES = (
    *("nan", "inf", "-inf", "1e400", "-1e400", "1e308", "-1e308", "1e-320", "0", "-0.0", "-1", "1e200", "0x1p3", "1_0"),
    *("", " ", "\t", "one", "1,5", "1 2", "1 2 3 4", "nan nan nan", "1e308 1e308 1e308", "0 0 0", "٣", "１", "½"),
    *(
        "\u0000",
        "\ufffe",
        "\U0001f916",
        "é" * 50,
        "base",
        "link0",
        "fixed",
        "floating",
        "planar",
        "revolute",
        "prismatic",
    ),
    *("${x}", "$(find x)", "&lt;", "&amp;", "&#0;", "&#x110000;", "&undefined;", "<", ">", '"', "'", "--", "]]>"),
    *("9" * 5000, "a" * 100_000, "../../../etc/passwd", "file:///etc/passwd", "1" + " 0" * 10_000),
)
NAMES = (
    "name",
    "type",
    "xyz",
    "rpy",
    "value",
    "link",
    "joint",
    "robot",
    "inertial",
    "mass",
    "xmlns",
    "a:b",
    "x" * 5000,
)
DOCTYPES = (
    '<!DOCTYPE robot [<!ENTITY x SYSTEM "file:///etc/passwd">]>',
    '<!DOCTYPE robot SYSTEM "http://localhost:9/x.dtd">',
    '<!DOCTYPE robot [<!ENTITY % p SYSTEM "file:///dev/zero"> %p;]>',
    '<!DOCTYPE robot [<!ENTITY a "aaaaaaaaaa">'
    + "".join(f'<!ENTITY {chr(98 + i)} "{f"&{chr(97 + i)};" * 10}">' for i in range(20))
    + "]>",
    '<!DOCTYPE robot [<!ENTITY a "' + "a" * 100_000 + '">]>',
    "<!DOCTYPE robot>",
    "<!DOCTYPE robot [<!ATTLIST link name CDATA #REQUIRED>]>",
)
REFUSED = re.compile(r"<!DOCTYPE")


def _swap(text: str, pattern: re.Pattern[str], a: int, b: int) -> str:
    found = list(pattern.finditer(text))
    if len(found) < 2:
        return text
    first, second = sorted((found[a % len(found)], found[b % len(found)]), key=lambda match: match.start())
    if first is second or first.end() > second.start():
        return text
    middle = text[first.end() : second.start()]
    return text[: first.start()] + second[0] + middle + first[0] + text[second.end() :]


def _put(text: str, pattern: re.Pattern[str], a: int, change: Callable[[str], str]) -> str:
    found = list(pattern.finditer(text))
    if not found:
        return text
    match = found[a % len(found)]
    return text[: match.start()] + change(match[0]) + text[match.end() :]


def _at(text: str, a: int, what: str) -> str:
    place = a % (len(text) + 1)
    return text[:place] + what + text[place:]


def _after_declaration(text: str, what: str) -> str:
    head = re.match(r"\s*<\?xml.*?\?>", text, re.DOTALL)
    return text[: head.end()] + what + text[head.end() :] if head else what + text


def _renamed(tag: str, name: str) -> str:
    return re.sub(r"^(</?)[\w:.-]+", lambda match: match[1] + name, tag)


def _nested(text: str, a: int, depth: int) -> str:
    name = ("a", "robot", "link", "joint", "origin", "visual")[a % 6]
    return _put(text, TAG, a, lambda tag: tag + f"<{name}>" * depth + f"</{name}>" * depth)


MUTATIONS: dict[str, Callable[[str, int, int], str]] = {
    "delete a tag": lambda text, a, b: _put(text, TAG, a, lambda tag: ""),
    "delete an attribute": lambda text, a, b: _put(text, ATTRIBUTE, a, lambda attribute: ""),
    "delete an element": lambda text, a, b: _put(text, ELEMENT, a, lambda element: ""),
    "delete a piece": lambda text, a, b: text[: a % (len(text) + 1)] + text[a % (len(text) + 1) + b % 200 :],
    "duplicate a tag": lambda text, a, b: _put(text, TAG, a, lambda tag: tag * (2 + b % 3)),
    "duplicate an attribute": lambda text, a, b: _put(text, ATTRIBUTE, a, lambda attribute: attribute * 2),
    "duplicate an element": lambda text, a, b: _put(text, ELEMENT, a, lambda element: element * (2 + b % 200)),
    "swap tags": lambda text, a, b: _swap(text, TAG, a, b),
    "swap attributes": lambda text, a, b: _swap(text, ATTRIBUTE, a, b),
    "swap values": lambda text, a, b: _swap(text, VALUE, a, b),
    "swap elements": lambda text, a, b: _swap(text, ELEMENT, a, b),
    "replace a value": lambda text, a, b: _put(text, VALUE, a, lambda value: f'"{VALUES[b % len(VALUES)]}"'),
    "replace a number": lambda text, a, b: _put(text, NUMBER, a, lambda number: VALUES[b % len(VALUES)]),
    "negate a number": lambda text, a, b: _put(text, NUMBER, a, lambda number: f"-{number}"),
    "scale a number": lambda text, a, b: _put(text, NUMBER, a, lambda number: f"{number}e{b % 700 - 350}"),
    "rename a tag": lambda text, a, b: _put(text, TAG, a, lambda tag: _renamed(tag, NAMES[b % len(NAMES)])),
    "rename an attribute": lambda text, a, b: _put(
        text, ATTRIBUTE, a, lambda attribute: f" {NAMES[b % len(NAMES)]}={attribute.split('=', 1)[1]}"
    ),
    "insert a character": lambda text, a, b: _at(text, a, chr(b % 0xD800)),
    "insert markup": lambda text, a, b: _at(
        text, a, ("<!--", "-->", "<![CDATA[", "]]>", "<?x ?>", "<?xml version='1.0'?>", "</robot>", "<robot>")[b % 8]
    ),
    "flip a character": lambda text, a, b: (
        text and text[: a % len(text)] + chr(ord(text[a % len(text)]) ^ 1 << b % 7) + text[a % len(text) + 1 :]
    ),
    "truncate": lambda text, a, b: text[: a % (len(text) + 1)],
    "nest": lambda text, a, b: _nested(text, a, (10, 300, 5000)[b % 3]),
    "declare a document type": lambda text, a, b: _after_declaration(text, DOCTYPES[a % len(DOCTYPES)]),
    "use an entity": lambda text, a, b: _put(text, VALUE, a, lambda value: '"&' + "xatz"[b % 4] + ';"'),
    "declare an encoding": lambda text, a, b: (
        f'<?xml version="1.{b % 3}" encoding="{("utf-16", "latin-1", "utf-7", "ebcdic", "")[a % 5]}"?>'
        + re.sub(r"^\s*<\?xml.*?\?>", "", text)
    ),
}
