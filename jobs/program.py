"""What an app of the type ``program`` says of its program; the rest comes with each submission."""

from collections.abc import Iterator

from msgspec import Struct

#: The words, which are also the kwargs of a submission that says what the app does not.
PROGRAM_WORDS = ("program", "source", "input", "sha256")


class Program(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Texts in which placeholders stand for the identifiers. None: the app leaves it to the submission.

    ``program`` is the name, ``source`` where it is to be had, ``input`` what follows ``./run.sh``, parted at white
    space, and ``sha256`` the digest of what the source has to give.
    """

    program: str | None = None
    source: str | None = None
    input: str | None = None
    sha256: str | None = None

    @property
    def stated(self) -> Iterator[tuple[str, str]]:
        """What the app says, by its words."""
        for word in PROGRAM_WORDS:
            text = getattr(self, word)
            if text is not None:
                yield word, text


def check_digest(text: str) -> str:
    """The digest in lower case; ValueError where it is none."""
    if len(text) != 64 or not set(text.lower()) <= set("0123456789abcdef"):
        raise ValueError(f"{text!r} is no SHA-256; it is 64 hexadecimal digits")
    return text.lower()
