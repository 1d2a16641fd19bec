"""How the key of a job is put together: identifiers, joined by one delimiter."""

import re
from collections.abc import Iterable

from msgspec import Struct

_BRACES = re.compile(r"\{([^{}]*)\}")

#: These are words of ``depends_on`` and of commands, so no identifier can be called so.
RESERVED = frozenset({"app_name", "job_id", "when", "max_lag", "_func"})


class Template(Struct, frozen=True):
    """``{date}_{client_id}``: ``text`` as written, the ``names`` in it, the ``delimiter`` between them.

    Only the last identifier may contain the delimiter, so a key can be taken apart in one way alone.
    """

    text: str
    names: tuple[str, ...]
    delimiter: str = "_"

    @classmethod
    def parse(cls, text: str, delimiter: str = "_") -> "Template":
        """ValueError says what keeps the text from being a template."""
        literals, names = _BRACES.split(text)[::2], _BRACES.findall(text)
        if not names:
            raise ValueError(f"template {text!r} has no identifier in braces, such as {{date}}")
        for name in names:
            _check_name(text, name)
        if repeated := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"template {text!r} repeats {', '.join(repeated)}")
        if literals != ["", *[delimiter] * (len(names) - 1), ""]:
            raise ValueError(f"template {text!r} has other text than {delimiter!r} between its identifiers")
        return cls(text, tuple(names), delimiter)

    def split(self, key: str) -> list[str]:
        """The text of each identifier; ValueError where there are too few."""
        parts = key.split(self.delimiter, len(self.names) - 1)
        if len(parts) < len(self.names):
            raise ValueError(f"it has {len(parts)} of {len(self.names)} identifiers")
        return parts

    def join(self, texts: Iterable[str]) -> str:
        """The key of these texts, each of which must ``fit``."""
        return self.delimiter.join(texts)

    def fits(self, name: str, text: str) -> bool:
        """Whether a key with this text at this identifier is taken apart again as it was put together."""
        return name == self.names[-1] or (text + self.delimiter).find(self.delimiter) == len(text)


def _check_name(text: str, name: str) -> None:
    if not name:
        raise ValueError(f"template {text!r} has nothing in a pair of braces")
    if not name.isidentifier():
        raise ValueError(f"template {text!r} has {name!r} in braces; an identifier is letters, digits and _")
    if name in RESERVED:
        raise ValueError(f"template {text!r} calls an identifier {name}, which is a word of the definitions")
