"""Reasons why a program is not available."""

from sluice.jobs.errors import SluiceError


class Unfit(SluiceError):
    """Raised when the program cannot be run as requested. The text is one line and contains no secret of a source."""


class Away(Unfit):
    """Raised when the source cannot be reached now. The program may be valid, and an earlier version may be used."""


class FetchStopped(Unfit):
    """Raised when ``stop`` was set during the fetch. Nothing is wrong with the program."""


def one_line(text: str, chars_max: int = 200) -> str:
    """Return foreign text, for example a server's, in a form that fits into a sentence."""
    line = " ".join("".join(each if each.isprintable() else " " for each in text).split())
    return line if len(line) <= chars_max else f"{line[: chars_max - 1]}…"


def reason_of(error: OSError) -> str:
    """Return the system's error text without the path, because that is an internal folder."""
    return error.strerror or one_line(str(error)) or type(error).__name__
