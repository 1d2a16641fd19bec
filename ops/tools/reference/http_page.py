"""``docs/http.md``: every call of the console, made from its table of routes."""

from typing import Any

import msgspec

from sluice.ops.console.calls.routes import ROUTES
from sluice.ops.console.route import NoParameters, Route

_HEAD = """# HTTP

`sluice console` serves these calls at `http://127.0.0.1:8484`. Requests and answers are JSON. An error is problem
details (RFC 9457, `application/problem+json`) with an `advice`. A call that changes anything needs the content type
`application/json`, even if its body is empty.

```sh
curl -s localhost:8484/api/submissions -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' \\
     -d '{"app": "report", "key": "2026-11-20"}'
```

A submission whose `id` belongs to a submission with [other content](submissions.md#repeat-a-submission) is answered
with 409.

Every call but the [probes](console.md#probes) needs a [token](console.md#access-control), sent as
`Authorization: Bearer TOKEN`: a configured token, or the token that the console made, in `.sluice/console.token`. The
column *role* has the least role: *view* may read, *submit* may also submit jobs, and *operate* may carry out all acts.
A [token of a tenant](tenants.md#tokens-of-a-tenant) gets only objects of its apps, and may not make the calls with
*installation*. This page is generated from the table of calls.

| call | role | parameters | effect |
|---|---|---|---|
"""


def page() -> str:
    return _HEAD + "\n".join(map(_row, ROUTES)) + "\n"


def _row(route: Route) -> str:
    words = [*(f"`?{name}`" for name in _words(route.query)), *(f"`{name}`" for name in _words(route.body))]
    who = "any" if route.role is None else route.role.name.lower()
    if route.tenancy is None or route.tenancy.is_whole:
        who += ", installation"
    return f"| `{route.method} {route.path}` | {who} | {' '.join(words)} | {route.summary} |".replace(
        "  ", " "
    )


def _words(kind: Any) -> list[str]:
    """Return the fields of a query or body. Empty for types that are no struct."""
    if kind is NoParameters or not (isinstance(kind, type) and issubclass(kind, msgspec.Struct)):
        return []
    return [field.encode_name for field in msgspec.structs.fields(kind)]
