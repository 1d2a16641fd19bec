"""Working map: the values that the steps of a flight leave for each other."""

from collections.abc import Iterator, Mapping, MutableMapping
from typing import Any

import msgspec

from sluice.jobs.json_value import as_json
from sluice.jobs.submission import JSON

#: Maximum size in bytes. Each entry of the journal has the whole map, so larger data belong elsewhere, with only their
#: name in the map.
BYTES_MAX = 16 * 1024 * 1024


class Working(MutableMapping[str, JSON]):
    """Name → JSON value. Values are copied on the way in and out, so later changes of a value do not change the map.

    A value that the journal cannot store is refused when it is set, and the map stays unchanged.
    """

    def __init__(self, values: Mapping[str, JSON] = {}) -> None:
        self._texts: dict[str, bytes] = {}
        self._bytes = 0
        self.update(values)

    def __getitem__(self, name: str) -> Any:
        return msgspec.json.decode(self._texts[name])

    def __setitem__(self, name: str, value: JSON) -> None:
        if not isinstance(name, str):
            raise TypeError(f"{name!r} is no name; the working map has texts as names")
        try:
            as_json(name)
            text = msgspec.json.encode(as_json(value))
        except ValueError as error:
            raise ValueError(f"{name!r:.80} cannot be kept in the journal: {error}") from None
        grown = self._bytes - self._size(name) + len(name.encode()) + len(text)
        if grown > BYTES_MAX:
            raise ValueError(f"with {name!r:.80} the working map would have more than {BYTES_MAX:,} bytes")
        self._texts[name], self._bytes = text, grown

    def __delitem__(self, name: str) -> None:
        self._bytes -= self._size(name)
        del self._texts[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts)

    def __len__(self) -> int:
        return len(self._texts)

    def __repr__(self) -> str:
        return f"Working({self.kept()!r})"

    def kept(self) -> dict[str, JSON]:
        """Return the whole map for the journal. A thread that a step has left behind may change the map at the same
        time.
        """
        return {name: msgspec.json.decode(text) for name, text in self._texts.copy().items()}

    def _size(self, name: str) -> int:
        return len(name.encode()) + len(self._texts[name]) if name in self._texts else 0
