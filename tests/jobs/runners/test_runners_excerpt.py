"""Excerpts of a job's output: its beginning and its end."""

import pytest

from sluice.jobs.model.job import KEPT_BYTES, keep
from sluice.jobs.runners.output import Excerpt, legible


def excerpt_of(*chunks: bytes) -> Excerpt:
    excerpt = Excerpt()
    for chunk in chunks:
        excerpt.add(chunk)
    return excerpt


def test_a_short_output_is_kept_whole() -> None:
    assert excerpt_of(b"one\n", b"two\n").text() == "one\ntwo\n"


def test_an_empty_output_is_an_empty_text() -> None:
    assert (excerpt_of().text(), excerpt_of().size) == ("", 0)


@pytest.mark.parametrize("chunk_bytes", [1, 1000, 65536, 10_000_000])
def test_a_long_output_keeps_both_ends_and_counts_the_omitted_bytes(chunk_bytes: int) -> None:
    whole = b"".join(b"%07d\n" % number for number in range(25_000))
    excerpt = excerpt_of(*(whole[at : at + chunk_bytes] for at in range(0, len(whole), chunk_bytes)))
    text = excerpt.text()
    head, _, rest = text.partition("\n… ")
    note, _, tail = rest.partition(" …\n")
    assert excerpt.size == len(whole)
    assert whole.startswith(head.encode())
    assert whole.endswith(tail.encode())
    assert note == f"{len(whole) - len(head) - len(tail)} bytes left out"
    assert min(len(head), len(tail)) > KEPT_BYTES - 100


def test_an_excerpt_is_not_cut_again() -> None:
    text = excerpt_of(b"x" * 1_000_000).text()
    assert keep(text) == text
    assert len(text) <= 2 * KEPT_BYTES


def test_the_memory_of_many_small_chunks_is_bounded() -> None:
    excerpt = Excerpt()
    for _ in range(200_000):
        excerpt.add(b"x" * 10)
    assert len(excerpt._head) + len(excerpt._tail) <= 3 * KEPT_BYTES


@pytest.mark.parametrize("shift", range(4))
def test_a_cut_leaves_no_part_of_a_character(shift: int) -> None:
    text = excerpt_of(b"x" * shift + "😀".encode() * 50_000).text()
    assert "\ufffd" not in text


def test_a_cut_through_bytes_without_character_boundaries_ends() -> None:
    assert excerpt_of(b"\x80" * 100_000).text()


def test_invalid_utf_8_is_replaced_and_nul_is_removed() -> None:
    assert excerpt_of(b"a\xff\x00b").text() == "a\ufffdb"


def test_text_that_cannot_be_stored_is_made_storable() -> None:
    assert legible("a\udc80\x00b") == "a?b"
    assert len(legible("x" * 1_000_000)) < 3 * KEPT_BYTES
