"""A study's file as plain values that know their lines, so that what is wrong in it can be found."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from robodyn_ros.errors import RobodynError


class StudyError(RobodynError):
    """Something in a study's file is wrong; the message begins with file, line and key.

    Attributes:
        line: where, counted from 1; 0 if nowhere in particular.
        key: what, for example ``vary.arm.hand.mass``.
    """

    def __init__(self, file: str, line: int, key: str, problem: str) -> None:
        super().__init__(f"{file}:{line}: {key}: {problem}" if line else f"{file}: {key}: {problem}")
        self.line = line
        self.key = key


class Section:
    """A mapping of the file, or the whole of it.

    Attributes:
        key: names that lead to it.
        values: name → value; a mapping is one too, for what asks for plain values.
    """

    def __init__(self, file: str, key: str, line: int, values: dict[str, Any], lines: dict[str, int]) -> None:
        """See :func:`read_study_file`."""
        self.key = key
        self.values = values
        self._file, self._line, self._lines = file, line, lines

    def error(self, name: str, problem: str) -> StudyError:
        """An error about what stands under a name."""
        key = f"{self.key}.{name}".strip(".")
        return StudyError(self._file, self._lines.get(name, self._line), key, problem)

    def section(self, name: str) -> Section:
        """The mapping under a name; empty if there is none.

        Raises:
            StudyError: it is something else.
        """
        found = self.values.get(name)
        if found is None:
            return Section(self._file, f"{self.key}.{name}".strip("."), self._lines.get(name, self._line), {}, {})
        if not isinstance(found, Section):
            raise self.error(name, f"must be a mapping, not {found!r}")
        return found

    def only(self, names: Iterable[str]) -> None:
        """See that there are no other names.

        Raises:
            StudyError: there are.
        """
        known = list(names)
        for name in self.values:
            if name not in known:
                raise self.error(name, unknown(name, known))

    def flat(self) -> dict[str, Any]:
        """All values, by the names that lead to them joined with dots."""
        return {name: value for name, (value, _) in self._walk("")}

    def where(self, name: str) -> Section:
        """The mapping in which a name of :meth:`flat` stands, under which its last part is known."""
        return next(holder for found, (_, holder) in self._walk("") if found == name)

    def _walk(self, prefix: str) -> Iterable[tuple[str, tuple[Any, Section]]]:
        for name, value in self.values.items():
            if isinstance(value, Section):
                yield from value._walk(f"{prefix}{name}.")
            else:
                yield f"{prefix}{name}", (value, self)


def unknown(name: str, known: Iterable[str]) -> str:
    """What to say of a name that does not exist."""
    names = list(known)
    close = get_close_matches(name, names, 3)
    if close:
        return f"is unknown; did you mean {' or '.join(close)}?"
    return f"is unknown; there are {', '.join(names[:20])}{', …' if len(names) > 20 else ''}"


def read_study_file(path: Path) -> Section:
    """The file.

    Raises:
        StudyError: it cannot be read, or is no mapping.
    """
    import yaml

    try:
        node = yaml.compose(path.read_text(encoding="utf-8"), Loader=yaml.SafeLoader)
    except (OSError, UnicodeDecodeError) as cause:
        raise StudyError(str(path), 0, "study", f"cannot be read: {cause}") from cause
    except yaml.YAMLError as cause:
        mark = getattr(cause, "problem_mark", None)
        said = getattr(cause, "problem", None) or " ".join(str(cause).split())
        raise StudyError(str(path), mark.line + 1 if mark else 0, "YAML", said) from cause
    if not isinstance(node, yaml.MappingNode):
        raise StudyError(str(path), 1, "study", "must be a mapping, of arm, motion, vary and so on")
    section = _value(str(path), "", node)
    assert isinstance(section, Section)
    return section


def _value(file: str, key: str, node: Any) -> Any:
    import yaml

    if not isinstance(node, yaml.MappingNode):
        constructor = yaml.SafeLoader("")
        return constructor.construct_object(node, deep=True)
    values: dict[str, Any] = {}
    lines: dict[str, int] = {}
    for name_node, value_node in node.value:
        name, line = str(name_node.value), name_node.start_mark.line + 1
        if name in values:
            raise StudyError(file, line, f"{key}.{name}".strip("."), f"stands twice, first in line {lines[name]}")
        lines[name] = line
        values[name] = _value(file, f"{key}.{name}".strip("."), value_node)
    return Section(file, key, node.start_mark.line + 1, values, lines)
