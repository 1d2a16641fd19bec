"""Why a program cannot be had."""

from sluice.jobs.errors import SluiceError


class Unfit(SluiceError):
    """The program cannot be run as it was asked for. The text is one line and names no secret of a source."""


class Away(Unfit):
    """Its source cannot be reached now, which says nothing about the program; an earlier version may do."""


class Stopped(Unfit):
    """Somebody set ``stop`` while the program was being fetched; nothing is wrong with the program."""


def one_line(text: str, chars_max: int = 200) -> str:
    """Foreign words, such as a server's, as part of a sentence of ours."""
    line = " ".join("".join(each if each.isprintable() else " " for each in text).split())
    return line if len(line) <= chars_max else f"{line[: chars_max - 1]}…"


def reason_of(error: OSError) -> str:
    """What the system said, without the path: that one is in folders which nobody asked about."""
    return error.strerror or one_line(str(error)) or type(error).__name__
