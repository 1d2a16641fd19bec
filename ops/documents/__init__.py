"""JSON documents of jobs, apps, plans, sagas and workers, as commands and calls return them.

Each document is one type, and the OpenAPI description derives its schema from that type.
"""

from typing import Any, Self

from msgspec import Struct


class Document(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Document with these fields and no others."""

    @classmethod
    def of(cls, row: Struct, **others: Any) -> Self:
        """Return the document of a row. Fields that are not in ``others`` are copied from the row."""
        copied = {name: getattr(row, name) for name in cls.__struct_fields__ if name not in others}
        return cls(**copied, **others)
