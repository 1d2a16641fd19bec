"""Upper bound for the length of files.

A file holds one subject, which may take 600 lines; splitting it further would only add hops between files.
"""

from tests.style.sources import Offence, Source

FILE_LINES_MAX = 600


def files_are_short(sources: list[Source]) -> list[Offence]:
    return [
        Offence(source.path, 1, f"{_lines(source)} lines, over {FILE_LINES_MAX}")
        for source in sources
        if _lines(source) > FILE_LINES_MAX and "/migrations/" not in source.path
    ]


def _lines(source: Source) -> int:
    return source.text.count("\n")
