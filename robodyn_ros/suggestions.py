# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The name that a mistyped one was meant to be. Every message that refuses a name ends with :func:`is_it`.

Two names are near by the number of slips of the keyboard between them: a letter too many, one missing, another one,
two exchanged (F. J. Damerau, A technique for computer detection and correction of spelling errors, 1964). A part of a
name is near it too: ``ramp`` is ``ramp_down_time``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from math import inf

LETTERS_A_SLIP = 4
"""Letters of a name for each slip in it that is forgiven, after the first [-]."""

SHORTEST = 3
"""Letters that the beginning of a word must have to stand for the word."""

MISSING_WORD = 0.5
"""What counts as much as a slip: a word of the name that is missing [-]."""


def is_it(name: object, known: Iterable[str]) -> str:
    """The end of a message about an unknown name: `` (is it 'wrist'?)``, or nothing if no name is near.

    Args:
        name: the unknown one.
        known: the names that there are in its place, and no others.
    """
    near = nearest(str(name), known)
    return f" (is it {near!r}?)" if near else ""


def nearest(name: str, known: Iterable[str]) -> str:
    """The name that is the nearest to another one; the first of several, "" if none is near."""
    best, found = inf, ""
    for one in known if len(name) > 1 else ():
        count = min(_slips_in(name.lower(), one.lower()), _slips_in_words(name, one))
        if count < best:
            best, found = count, one
    return found


def misspelt(name: str, known: Iterable[str]) -> str:
    """The whole name that another one is with slips; "" if none. What differs in a number is another thing."""
    numbers = re.findall(r"\d+", name)
    alike = [one for one in known if re.findall(r"\d+", one) == numbers and one.count(".") == name.count(".")]
    return next((one for one in [nearest(name, alike)] if one and _slips_in(name.lower(), one.lower()) < inf), "")


def _slips_in(name: str, meant: str) -> float:
    """The number of slips in a word, infinite for more than are forgiven."""
    if name == meant:
        return 0
    allowed = max(1, round(len(name) / LETTERS_A_SLIP))
    if abs(len(name) - len(meant)) > allowed or len(Counter(name) - Counter(meant)) > allowed:
        return inf  # without the work of counting
    count = slips(name, meant)
    return count if count <= allowed and count < max(len(name), len(meant)) - 1 else inf


def _slips_in_words(name: str, meant: str) -> float:
    """The number of slips where each word of a name is one of another name, or its beginning; infinite where not."""
    left, count = _words(meant), 0.0
    for word in _words(name):
        each = {one: _slips_in_part(word, one) for one in left}
        one = min(each, key=lambda one: each[one], default="")
        if not one or each[one] == inf:
            return inf
        count += each[one]
        left.remove(one)
    return count + MISSING_WORD * len(left)


def _slips_in_part(word: str, meant: str) -> float:
    """As :func:`_slips_in`, in a word that is not all of a name: none in a short one, whose beginning may be enough."""
    if meant == word or (meant.startswith(word) and len(word) >= SHORTEST):
        return 0.0
    return _slips_in(word, meant) if len(word) > LETTERS_A_SLIP else inf


def _words(name: str) -> list[str]:
    return [word for word in re.split(r"[\W_]+", name.lower()) if word]


def slips(name: str, meant: str) -> int:
    """The least number of letters too many, missing, wrong, or exchanged with the next, between two words.

    The optimal string alignment of L. Boytsov, Indexing methods for approximate dictionary searching (2011), 2.2.
    """
    before, row = [0] * (len(meant) + 1), list(range(len(meant) + 1))
    for i, letter in enumerate(name, 1):
        last, before, row = before, row, [i, *([0] * len(meant))]
        for j, other in enumerate(meant, 1):
            row[j] = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != other))
            if i > 1 and j > 1 and letter == meant[j - 2] and name[i - 2] == other:
                row[j] = min(row[j], last[j - 2] + 1)
    return row[-1]
