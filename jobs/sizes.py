"""Parsing and formatting of sizes."""

import re

_UNITS_BYTES = {
    "": 1,
    "B": 1,
    **{f"{prefix}B": 1000**power for power, prefix in enumerate("KMGT", start=1)},
    **{f"{prefix}IB": 1024**power for power, prefix in enumerate("KMGT", start=1)},
}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([A-Za-z]*)")
_ROUND = (
    ("GiB", 1024**3),
    ("GB", 1000**3),
    ("MiB", 1024**2),
    ("MB", 1000**2),
    ("KiB", 1024),
    ("KB", 1000),
)


def parse_size_bytes(value: str | int) -> int:
    """Return the bytes of ``"2GB"``, ``"512MiB"`` or a number of bytes. Raises ValueError with the accepted forms."""
    if isinstance(value, bool) or (isinstance(value, int) and value < 0):
        raise ValueError(_complaint(value))
    if isinstance(value, int):
        return value
    found = _SIZE.fullmatch(value.strip())
    if found is None or found[2].upper() not in _UNITS_BYTES:
        raise ValueError(_complaint(value))
    return int(float(found[1]) * _UNITS_BYTES[found[2].upper()]) if found[2] else _plain(found[1], value)


def size_text(size_bytes: int) -> str:
    """Return the size as a person would write it: ``512 MiB``, ``2 GB``, ``1000001 bytes``."""
    for unit, unit_bytes in _ROUND:
        if size_bytes >= unit_bytes and size_bytes % unit_bytes == 0:
            return f"{size_bytes // unit_bytes} {unit}"
    return f"{size_bytes} bytes"


def _plain(digits: str, value: str) -> int:
    if "." in digits:
        raise ValueError(_complaint(value))
    return int(digits)


def _complaint(value: object) -> str:
    return f'{value!r} is not a size; write "2GB", "512MiB" or a number of bytes'
