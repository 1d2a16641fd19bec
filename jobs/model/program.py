"""Options of an app of type ``program``. Each submission gives the missing ones."""

from collections.abc import Iterator

from msgspec import Struct

#: The options. They are also the kwargs of a submission, which gives the options that the app does not set.
PROGRAM_WORDS = ("program", "source", "input", "sha256")


class Program(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Program options, with placeholders for the identifiers. None leaves an option to the submission.

    ``program`` is the name. ``source`` is the location of the archive. ``input`` has the arguments of ``./run.sh``,
    split at white space. ``sha256`` is the expected digest of the archive.
    """

    program: str | None = None
    source: str | None = None
    input: str | None = None
    sha256: str | None = None

    @property
    def stated(self) -> Iterator[tuple[str, str]]:
        """The options that the app sets, by name."""
        for word in PROGRAM_WORDS:
            text = getattr(self, word)
            if text is not None:
                yield word, text


def check_digest(text: str) -> str:
    """Return the digest in lower case. Raises ValueError if it is not a SHA-256."""
    if len(text) != 64 or not set(text.lower()) <= set("0123456789abcdef"):
        raise ValueError(f"{text!r} is no SHA-256; it is 64 hexadecimal digits")
    return text.lower()
