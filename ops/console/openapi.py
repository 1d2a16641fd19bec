"""Description of the calls (OpenAPI 3.1), made from the routes and from the types that they take and return."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from sluice.jobs.release import release
from sluice.ops.console.http_message import JSON_TYPE, PROBLEM_TYPE, Problem
from sluice.ops.console.identity.sessions import COOKIE
from sluice.ops.console.route import Route, is_name

Description = Mapping[str, Any]

_REF = "#/components/schemas/{name}"
#: Statuses that any call may return, in addition to its own status.
_BAD, _UNKNOWN_ASKER, _NOT_FOR_YOU, _AWAY, _FULL = 400, 401, 403, 404, 503
_CONFLICT, _REFUSED = 409, 422


def described(routes: Sequence[Route]) -> Description:
    kinds = [*_kinds(routes)]
    schemas, components = msgspec.json.schema_components(kinds, ref_template=_REF)
    known = dict(zip(map(_key, kinds), schemas, strict=True))
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, known, components)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Sluice",
            "version": release(),
            "description": "The operations of messages and commands, as HTTP calls.",
        },
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer"},
                "session": {"type": "apiKey", "in": "cookie", "name": COOKIE},
            },
        },
        "security": [{}, {"token": []}, {"session": []}],
    }


def _kinds(routes: Sequence[Route]) -> Iterator[Any]:
    """Yield each type once, even if several routes use it."""
    yield Problem
    seen = {_key(Problem)}
    for route in routes:
        for kind in (route.query, route.body, route.answers):
            if _key(kind) not in seen:
                seen.add(_key(kind))
                yield kind


def _key(kind: Any) -> str:
    return f"{getattr(kind, '__module__', '')}.{kind!r}"


def _operation(route: Route, known: Mapping[str, Any], components: Description) -> Description:
    told: dict[str, Any] = {
        "operationId": _id(route),
        "summary": route.summary,
        "tags": [route.parts[1] if len(route.parts) > 1 else route.parts[0]],
        "parameters": [*_in_path(route), *_in_query(route, known, components)],
        "responses": _responses(route, known),
    }
    if route.method == "POST":
        schema = known[_key(route.body)]
        told["requestBody"] = {"required": True, "content": {JSON_TYPE: {"schema": schema}}}
    if route.role is None:
        told["security"] = [{}]
    return told


def _id(route: Route) -> str:
    """Return the operation ID. It is unique."""
    words = [part.strip("{}") if is_name(part) else part for part in route.parts if part != "api"]
    return "_".join([route.method.lower(), *words]).replace(".", "_").replace("-", "_")


def _in_path(route: Route) -> Iterator[Description]:
    for part in route.parts:
        if is_name(part):
            name = part.strip("{}")
            # Path parameters are never empty.
            schema: dict[str, Any] = {"type": "string", "minLength": 1}
            if name in route.words:
                schema["enum"] = [*route.words[name]]
            yield {"name": name, "in": "path", "required": True, "schema": schema}


def _in_query(route: Route, known: Mapping[str, Any], components: Description) -> Iterator[Description]:
    """Yield a parameter for each field of the query's type."""
    whole = components[known[_key(route.query)]["$ref"].rpartition("/")[2]]
    for name, schema in whole["properties"].items():
        yield {
            "name": name,
            "in": "query",
            "required": name in whole["required"],
            "schema": _without_null(schema),
        }


def _without_null(schema: Description) -> dict[str, Any]:
    """Return the schema without null and default. A query has no null: a parameter without a value is left out."""
    kinds = [kind for kind in schema.get("anyOf", []) if kind != {"type": "null"}]
    words = {word: value for word, value in schema.items() if word not in ("anyOf", "default")}
    return words | (kinds[0] if len(kinds) == 1 else {})


def _responses(route: Route, known: Mapping[str, Any]) -> Description:
    told: dict[str, Any] = {
        str(route.status.value): {
            "description": route.summary,
            "content": {route.kind: {"schema": known[_key(route.answers)]}},
        }
    }
    problem = {"content": {PROBLEM_TYPE: {"schema": known[_key(Problem)]}}}
    for status, words in _problems(route):
        told[str(status)] = {"description": words, **problem}
    return told


def _problems(route: Route) -> Iterator[tuple[int, str]]:
    yield _BAD, "The call does not accept this query or body"
    yield _UNKNOWN_ASKER, "The token is missing or wrong"
    yield _NOT_FOR_YOU, "The role may not do this, or the request is from a page of another origin"
    yield _AWAY, "No object has this name"
    if route.method != "GET":
        yield 415, f"The Content-Type must be {JSON_TYPE}"
        yield _CONFLICT, "The id belongs to a submission with other content"
        yield _REFUSED, "The request cannot be carried out"
    yield _FULL, "The ledger does not answer, or all places are in use"
