"""Template of a job's key: identifiers that are joined by one delimiter."""

import re
from collections.abc import Iterable

from msgspec import Struct

_BRACES = re.compile(r"\{([^{}]*)\}")

#: Options of ``depends_on`` and of commands, which no identifier may be called.
RESERVED = frozenset({"app_name", "job_id", "when", "max_lag", "_func"})


class Template(Struct, frozen=True):
    """Key template, for example ``{date}_{client_id}``.

    ``text`` is the template as written, ``names`` are the identifiers in it, ``delimiter`` is the text between them.
    Only the last identifier may contain the delimiter, so a key can be split in only one way. An empty template has no
    identifiers, and its only key is empty.
    """

    text: str
    names: tuple[str, ...]
    delimiter: str = "_"

    @classmethod
    def parse(cls, text: str, delimiter: str = "_") -> "Template":
        """Parse a template. Raises ValueError with the reason if the text is not one."""
        literals, names = _BRACES.split(text)[::2], _BRACES.findall(text)
        if not names and text:
            raise ValueError(f"template {text!r} has no identifier in braces like {{date}}")
        for name in names:
            _check_name(text, name)
        if repeated := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"template {text!r} repeats {', '.join(repeated)}")
        if names and literals != ["", *[delimiter] * (len(names) - 1), ""]:
            raise ValueError(f"template {text!r} has other text than {delimiter!r} between its identifiers")
        return cls(text, tuple(names), delimiter)

    def split(self, key: str) -> list[str]:
        """Return the text of each identifier. Raises ValueError if there are too few."""
        if not self.names:
            if key:
                raise ValueError("it has no identifiers, so its only key is empty")
            return []
        parts = key.split(self.delimiter, len(self.names) - 1)
        if len(parts) < len(self.names):
            raise ValueError(f"it has {len(parts)} of {len(self.names)} identifiers")
        return parts

    def join(self, texts: Iterable[str]) -> str:
        """Return the key of these texts. Each must fit (``fits``)."""
        return self.delimiter.join(texts)

    def fits(self, name: str, text: str) -> bool:
        """Return whether a key with this text for this identifier is split again as it was joined."""
        return name == self.names[-1] or (text + self.delimiter).find(self.delimiter) == len(text)


def _check_name(text: str, name: str) -> None:
    if not name:
        raise ValueError(f"template {text!r} has nothing in a pair of braces")
    if not name.isidentifier():
        raise ValueError(f"template {text!r} has {name!r} in braces; an identifier is letters, digits and _")
    if name in RESERVED:
        raise ValueError(
            f"template {text!r} names an identifier {name}, which is an option of the definitions"
        )
