"""Users that a trusted proxy has signed in, for example oauth2-proxy with OIDC.

Invariants:

- The headers count only if the connection comes from an address of ``SLUICE_CONSOLE_PROXY``. From all other addresses
  they are ignored. Without this setting they are ignored from everywhere.
- The proxy must replace these headers in the requests of its clients. A header that arrives twice is joined with a
  comma, and a user with a comma is none.
- A user has the role of its own entry in the file of tokens. Otherwise it has the role of the first entry of a group,
  in the order of the file, among its groups. A user without an entry has no access.
- No user has the name of a token, so an entry of the audit has one meaning.
"""

import re
from collections.abc import Collection
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

from msgspec import Struct

from sluice.ops.console.http_message import Request
from sluice.ops.console.identity.roles import Identity
from sluice.ops.console.identity.token_file import RESERVED, AccessList

_USER = re.compile(r"[^\s,]{1,200}")


class TrustedProxy(Struct, frozen=True, kw_only=True):
    """Addresses of proxies, and the names of their headers, in lower case."""

    networks: Collection[IPv4Network | IPv6Network] = ()
    user_header: str = "x-forwarded-user"
    groups_header: str = "x-forwarded-groups"

    def is_at(self, address: str) -> bool:
        """Return whether the other end of a connection is a trusted proxy."""
        if not self.networks:
            return False
        try:
            found: IPv4Address | IPv6Address = ip_address(address.partition("%")[0])
        except ValueError:
            return False
        if isinstance(found, IPv6Address) and found.ipv4_mapped is not None:
            found = found.ipv4_mapped
        return any(found in network for network in self.networks)

    def identity_of(self, request: Request, access: AccessList) -> Identity | None:
        """Return the user of a request. None without a user with a role, and from other addresses."""
        if not self.is_at(request.address):
            return None
        user = _text(request.headers.get(self.user_header, ""))
        if not _USER.fullmatch(user) or not user.isprintable() or user in RESERVED | access.tokens.keys():
            return None
        groups = {each.strip() for each in _text(request.headers.get(self.groups_header, "")).split(",")}
        grant = access.users.get(user) or next(
            (grant for group, grant in access.groups.items() if group in groups), None
        )
        return None if grant is None else Identity(name=user, role=grant.role, tenant=grant.tenant)


def _text(header: str) -> str:
    """Return a header as UTF-8. Empty if it is not. Headers are read as Latin-1, which has each byte."""
    try:
        return header.strip().encode("latin-1").decode()
    except UnicodeError:
        return ""
