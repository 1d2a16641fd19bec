"""What is found wrong while definitions are read, gathered so that all of it is told at once."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, TypeAlias

from sluice.jobs.errors import DefinitionError, Fault

#: Each word, the field that it sets, and how its value is read; what does not do is a ValueError.
Words: TypeAlias = Mapping[str, tuple[str, Callable[[object], Any]]]


class Faults:
    """The faults of one load. Whoever finds one adds it and goes on."""

    def __init__(self) -> None:
        self._found: set[Fault] = set()
        self._apps: set[str] = set()

    def add(self, source: str, app: str, what: str) -> None:
        """Of users' own words, which may hold anything, what cannot be printed is spelled out."""
        self._found.add(Fault(_printable(source), _printable(app), _printable(what)))
        self._apps.add(app)

    def raise_any(self) -> None:
        """DefinitionError with everything found, by source and app, each once."""
        if self._found:
            raise DefinitionError(tuple(sorted(self._found)))

    def about(self, app: str) -> bool:
        """Whether anything is wrong with this app so far."""
        return app in self._apps


class At:
    """A place in the definitions, for the code that reads it: adding a fault needs only the words."""

    def __init__(self, faults: Faults, source: str, app: str = "", within: str = "") -> None:
        self._faults = faults
        self.source = source
        self.app = app
        self._within = within

    def add(self, what: str) -> None:
        self._faults.add(self.source, self.app, f"{self._within}: {what}" if self._within else what)

    def of_app(self, app: str) -> "At":
        """The same source, at one of its apps."""
        return At(self._faults, self.source, app)

    def inside(self, word: str) -> "At":
        """The same place, one word deeper."""
        return At(self._faults, self.source, self.app, f"{self._within}: {word}" if self._within else word)


def _printable(text: str) -> str:
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)


def unknown(word: object, known: Iterable[str]) -> str:
    """``unknown word 'max_fail' (did you mean max_fails?)``."""
    return f"unknown word {word!r}{nearest(word, known)}"


def nearest(word: object, known: Iterable[str]) -> str:
    """A hint to put behind an unknown word, or nothing where no known one resembles it."""
    matches = get_close_matches(str(word), list(known), n=1)
    return f" (did you mean {matches[0]}?)" if matches else ""


def one_of(value: object, words: Sequence[str]) -> str:
    """The value, which is one of the words; ValueError lists them, and names the nearest."""
    if not isinstance(value, str) or value not in words:
        raise ValueError(f"{value!r} is none of {', '.join(words)}{nearest(value, words)}")
    return value


def truth(value: object) -> bool:
    """ValueError for what is none, also for 0, 1 and words that mean it."""
    if not isinstance(value, bool):
        raise ValueError(f"{value!r} is neither true nor false")
    return value


def read_fields(
    known: Words, words: Mapping[Any, object], complain: Callable[[str], object]
) -> dict[str, Any]:
    """The fields of those words that are there and can be read; a complaint about each of the others."""
    fields: dict[str, Any] = {}
    for word, (field, read) in known.items():
        if word in words:
            try:
                fields[field] = read(words[word])
            except (ValueError, OverflowError, OSError, RecursionError) as error:
                complain(f"{word}: {error}")
    return fields


def read_mapping(known: Words, words: Mapping[Any, object]) -> dict[str, Any]:
    """The same of a mapping in which no other words may stand; ValueError with all that is wrong with it."""
    wrong = [unknown(word, known) for word in words if word not in known]
    fields = read_fields(known, words, wrong.append)
    if wrong:
        raise ValueError("; ".join(wrong))
    return fields
