"""Faults in definitions, collected so that all of them are reported together."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, TypeAlias

from sluice.jobs.errors import DefinitionError, Fault

#: By option: the field that it sets, and the function that reads its value. It raises ValueError for a wrong value.
Words: TypeAlias = Mapping[str, tuple[str, Callable[[object], Any]]]


class DefinitionFaults:
    """Faults of one load. Code that finds a fault adds it and continues."""

    def __init__(self) -> None:
        self._found: set[Fault] = set()
        self._apps: set[str] = set()

    def add(self, source: str, app: str, what: str) -> None:
        """Add a fault. Unprintable characters, which users' texts may contain, are escaped."""
        self._found.add(Fault(_printable(source), _printable(app), _printable(what)))
        self._apps.add(app)

    def raise_any(self) -> None:
        """Raise DefinitionError with all distinct faults, sorted by source and app, if any were found."""
        if self._found:
            raise DefinitionError(tuple(sorted(self._found)))

    def about(self, app: str) -> bool:
        """Return whether this app has a fault so far."""
        return app in self._apps


class At:
    """A place in the definitions. Code that reads it can add a fault with only a text."""

    def __init__(self, faults: DefinitionFaults, source: str, app: str = "", within: str = "") -> None:
        self._faults = faults
        self.source = source
        self.app = app
        self._within = within

    def add(self, what: str) -> None:
        self._faults.add(self.source, self.app, f"{self._within}: {what}" if self._within else what)

    def of_app(self, app: str) -> "At":
        """Return the place of one app in the same source."""
        return At(self._faults, self.source, app)

    def inside(self, word: str) -> "At":
        """Return the place of an option inside this place."""
        return At(self._faults, self.source, self.app, f"{self._within}: {word}" if self._within else word)


def _printable(text: str) -> str:
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)


def unknown(word: object, known: Iterable[str]) -> str:
    """Return a message, for example ``unknown option 'max_fail' (did you mean max_fails?)``."""
    return f"unknown option {word!r}{nearest(word, known)}"


def nearest(word: object, known: Iterable[str]) -> str:
    """Return a suggestion to append to an unknown word, or "" if no known word is similar."""
    matches = get_close_matches(str(word), list(known), n=1)
    return f" (did you mean {matches[0]}?)" if matches else ""


def one_of(value: object, words: Sequence[str]) -> str:
    """Return the value if it is among the words. Raises ValueError with the words and the most similar word."""
    if not isinstance(value, str) or value not in words:
        raise ValueError(f"{value!r} is none of {', '.join(words)}{nearest(value, words)}")
    return value


def name_of_app(value: object) -> str:
    """Return the name of an app. Raises ValueError if it is no text, or empty."""
    if not isinstance(value, str) or not value:
        raise ValueError(f"{value!r} is not the name of an app")
    return value


def truth(value: object) -> bool:
    """Return a boolean. Raises ValueError for anything else, including 0, 1 and the text "yes"."""
    if not isinstance(value, bool):
        raise ValueError(f"{value!r} is neither true nor false")
    return value


def read_fields(
    known: Words, words: Mapping[Any, object], complain: Callable[[str], object]
) -> dict[str, Any]:
    """Return the fields of the known options that exist and can be read. Complain about each unreadable one."""
    fields: dict[str, Any] = {}
    for word, (field, read) in known.items():
        if word in words:
            try:
                fields[field] = read(words[word])
            except (ValueError, OverflowError, OSError, RecursionError) as error:
                complain(f"{word}: {error}")
    return fields


def read_mapping(known: Words, words: Mapping[Any, object]) -> dict[str, Any]:
    """Return the fields of a mapping that may contain only known options. Raises ValueError with all its errors."""
    wrong = [unknown(word, known) for word in words if word not in known]
    fields = read_fields(known, words, wrong.append)
    if wrong:
        raise ValueError("; ".join(wrong))
    return fields
