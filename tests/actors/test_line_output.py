"""Output of threads that print at the same time: whole lines, and no text is lost."""

import io
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from sluice.actors.worker.logs import Lines, whole_lines


def test_pieces_from_two_threads_make_two_whole_lines() -> None:
    """Both threads write the text of their lines before either writes the end of its line."""
    stream, both = io.StringIO(), Barrier(2)
    lines = Lines(stream)

    def says(text: str) -> None:
        lines.write(text)
        both.wait(timeout=10)
        lines.write("\n")

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(says, ["Hello 1", "Hello 2"])) == [None, None]
    assert sorted(stream.getvalue().splitlines(keepends=True)) == ["Hello 1\n", "Hello 2\n"]


def test_a_flush_writes_the_unfinished_line() -> None:
    stream = io.StringIO()
    lines = Lines(stream)
    print("Name", end="? ", file=lines)
    assert stream.getvalue() == ""
    lines.flush()
    assert stream.getvalue() == "Name? "
    print("Ada\nLovelace", end="", file=lines)
    assert stream.getvalue() == "Name? Ada\n"
    lines.writelines([" of", " Ockham\n"])
    assert stream.getvalue() == "Name? Ada\nLovelace of Ockham\n"


def test_an_unfinished_line_is_written_when_the_block_ends(capsys: pytest.CaptureFixture[str]) -> None:
    before = sys.stdout
    with whole_lines():
        sys.stdout.write("half a line")
        assert sys.stdout.encoding == before.encoding
        assert capsys.readouterr().out == ""
    assert sys.stdout is before
    assert capsys.readouterr().out == "half a line"
