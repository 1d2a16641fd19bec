"""File of access: named tokens by their SHA-256, and the roles of the users and groups of a trusted proxy.

Invariants:

- The file is read for each request, and parsed again if its content differs. So a token is accepted only if the file
  has it at that moment: a removed token, and each of its sessions, is refused with the next request. Reading costs
  less than a tenth of a millisecond. Times and sizes of files are not compared, because two writes within one tick of
  the file system's clock may have the same.
- If the file is missing or faulty, none of its entries is accepted, and the log has one line. The tokens of
  ``SLUICE_CONSOLE_TOKEN`` and ``SLUICE_CONSOLE_VIEW_TOKEN`` remain valid. Keeping the previous entries would keep a
  token that an operator has just removed with a typing error beside it.
- No two tokens have one SHA-256, so a token has one name in the audit.
"""

import logging
import re
from collections import Counter
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from sluice.jobs.errors import BadSetting
from sluice.jobs.policy.tenants import is_tenant_name
from sluice.ops.console.identity.roles import Role

_LOG = logging.getLogger("sluice.console")

#: Names of the tokens of the two settings.
RESERVED = frozenset({"operate", "view"})
#: Largest file: 1 MiB, some 5,000 entries.
_BYTES_MAX = 1024 * 1024
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,59}")


class Grant(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Role of a user or a group. Without ``tenant`` it is for the whole installation."""

    role: Role
    tenant: str | None = None


class NamedToken(Grant, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Token by its SHA-256 in hexadecimal digits."""

    sha256: Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]


class AccessList(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Content of the file. The order of ``groups`` counts: a user has the role of the first one."""

    tokens: dict[str, NamedToken] = {}
    users: dict[str, Grant] = {}
    groups: dict[str, Grant] = {}


_NO_ACCESS = AccessList()


class TokenFile:
    """File of access at this path. Several threads may use it at the same time."""

    def __init__(self, path: Path) -> None:
        self._path = path
        # Replaced as a whole, so that no thread sees the text of one reading with the entries of another one.
        self._read: tuple[bytes | None, AccessList] = (None, _NO_ACCESS)
        self._fault = ""

    def require_valid(self) -> None:
        """Raise BadSetting if the file cannot be read or is invalid."""
        try:
            read_access(self._content())
        except ValueError as error:
            raise BadSetting(
                f"SLUICE_CONSOLE_TOKENS: {self._path}: {error}.",
                advice="`sluice token NAME --role view` prints an entry.",
            ) from None

    def current(self) -> AccessList:
        """Return the present entries. None of them while the file cannot be read or is invalid."""
        try:
            content = self._content()
            known, found = self._read
            if content != known:
                found = read_access(content)
                self._read = (content, found)
        except ValueError as error:
            self._report(str(error))
            return _NO_ACCESS
        self._report("")
        return found

    def _content(self) -> bytes:
        try:
            with self._path.open("rb") as file:
                content = file.read(_BYTES_MAX + 1)
        except OSError as error:
            raise ValueError(f"it cannot be read: {error.strerror}") from None
        if len(content) > _BYTES_MAX:
            raise ValueError(f"it has more than {_BYTES_MAX} bytes")
        return content

    def _report(self, fault: str) -> None:
        """Log the beginning and the end of a fault, once each. Two threads may log the same line."""
        before, self._fault = self._fault, fault
        if fault and fault != before:
            _LOG.error("no named token is accepted: %s: %s", self._path, fault)
        elif before and not fault:
            _LOG.info("named tokens are accepted again: %s", self._path)


def is_token_name(text: str) -> bool:
    """Return whether a named token may have this name. ``operate`` and ``view`` are the tokens of the settings."""
    return text not in RESERVED and _NAME.fullmatch(text) is not None


def read_access(content: bytes) -> AccessList:
    """Return the entries in the text of a file. ValueError names its fault, and contains no SHA-256."""
    from sluice.jobs.catalogue.sources.yaml_format import read_yaml  # noqa: PLC0415 - PyYAML, only where it is used

    try:
        told = read_yaml(content.decode())
        found = msgspec.convert({} if told is None else told, AccessList)
    except UnicodeDecodeError:
        raise ValueError("it is not UTF-8") from None
    for name in found.tokens:
        if not is_token_name(name):
            raise ValueError(
                f"{name!r} is no name of a token; write lower-case letters, digits, - and _, but not view or operate"
            )
    for grant in (*found.tokens.values(), *found.users.values(), *found.groups.values()):
        if grant.tenant is not None and not is_tenant_name(grant.tenant):
            raise ValueError(f"{grant.tenant!r} is no name of a tenant")
    digests = Counter(token.sha256 for token in found.tokens.values())
    if twice := [name for name, token in found.tokens.items() if digests[token.sha256] > 1]:
        raise ValueError(f"{' and '.join(twice)} have the same sha256")
    return found
