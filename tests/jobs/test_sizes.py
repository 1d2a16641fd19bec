"""Sizes as text: parsing and writing."""

import pytest

from sluice.jobs.text.units import parse_size_bytes, size_text


@pytest.mark.parametrize(
    ("written", "size_bytes"),
    [
        (0, 0),
        (1234, 1234),
        ("1234", 1234),
        ("10 B", 10),
        ("2GB", 2_000_000_000),
        ("2gb", 2_000_000_000),
        (" 512MiB ", 512 * 1024**2),
        ("1.5 KiB", 1536),
        ("1TB", 10**12),
    ],
)
def test_a_size_is_parsed_into_bytes(written: str | int, size_bytes: int) -> None:
    assert parse_size_bytes(written) == size_bytes


@pytest.mark.parametrize("written", ["", "GB", "-1", -1, True, "1.5", "1e6", "2 GBs", "2 parsecs", "1,5GB"])
def test_an_invalid_size_is_refused_with_an_example(written: str | int) -> None:
    with pytest.raises(ValueError, match='write "2GB", "512MiB" or a number of bytes'):
        parse_size_bytes(written)


@pytest.mark.parametrize(
    ("size_bytes", "text"),
    [(0, "0 bytes"), (1023, "1023 bytes"), (65536, "64 KiB"), (2 * 10**9, "2 GB"), (1024**3, "1 GiB")],
)
def test_a_size_is_written_in_the_largest_exact_unit(size_bytes: int, text: str) -> None:
    assert size_text(size_bytes) == text
