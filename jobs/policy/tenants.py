"""Tenants: the teams that share an installation. Each app belongs to one.

An app without the option ``tenant`` belongs to ``DEFAULT_TENANT``. An installation with one tenant needs no settings:
no order of queues and no statement depends on tenants then.
"""

import re
from collections.abc import Mapping
from typing import Annotated

from msgspec import Meta, Struct

#: Tenant of apps that name none.
DEFAULT_TENANT = "default"
#: Longest name of a tenant: 60, which fits into a label of Kubernetes.
_CHARACTERS_MAX = 60
_NAME = re.compile(r"[a-z][a-z0-9-]*")
#: Advice to a user whose name of a tenant is refused.
NAME_ADVICE = "write lower-case letters, digits and hyphens, for example risk"


class Tenant(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings of one tenant.

    ``weight`` is its share of the workers, in proportion to the weights of the other tenants with work. The others are
    quotas: with ``active_jobs`` jobs, further submissions wait; above ``submissions_per_minute``, they are refused.
    ``result_bytes`` and ``output_bytes`` limit the result of one job, and each complete output that is kept of it.
    ``prefix`` begins the names of all its apps, and of no other tenant's.
    """

    weight: Annotated[float, Meta(gt=0, le=1000)] = 1.0
    active_jobs: Annotated[int, Meta(ge=1)] | None = None
    submissions_per_minute: Annotated[int, Meta(ge=1)] | None = None
    result_bytes: Annotated[int, Meta(ge=1)] | None = None
    output_bytes: Annotated[int, Meta(ge=1)] | None = None
    prefix: Annotated[str, Meta(min_length=1)] | None = None


#: Settings of a tenant that is not configured.
UNLIMITED = Tenant()


class Tenants(Struct, frozen=True):
    """The configured tenants by name. A tenant that is not configured has the default settings."""

    by_name: Mapping[str, Tenant] = {}

    def of(self, name: str) -> Tenant:
        return self.by_name.get(name, UNLIMITED)

    def fault_of_name(self, app: str, tenant: str) -> str | None:
        """Return why an app of this tenant may not have this name, or None. The longest prefix decides."""
        prefixes = {each.prefix: name for name, each in self.by_name.items() if each.prefix is not None}
        begun = [prefix for prefix in prefixes if app.startswith(prefix)]
        owner = prefixes[max(begun, key=len)] if begun else None
        own = self.of(tenant).prefix
        if owner == tenant or (owner is None and own is None):
            return None
        if own is not None:
            return f"the name of an app of the tenant {tenant} begins with {own!r}"
        return f"a name that begins with {max(begun, key=len)!r} is for apps of the tenant {owner}, not of {tenant}"


#: No tenant is configured.
NO_SETTINGS = Tenants()


def is_tenant_name(text: str) -> bool:
    return len(text) <= _CHARACTERS_MAX and _NAME.fullmatch(text) is not None
