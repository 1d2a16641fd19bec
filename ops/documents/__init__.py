"""JSON documents of jobs, apps, plans, sagas and workers, as commands and calls return them.

Each document is one type, and the OpenAPI description derives its schema from that type.
"""

from msgspec import Struct


class Document(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Document with these fields and no others."""
