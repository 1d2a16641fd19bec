"""``sluice apps show``: what the definitions come to."""

import argparse
from collections.abc import Iterable

from msgspec.structs import asdict

from jobs.app import App, Group
from jobs.policy import Policy
from jobs.values import Values
from ops.cli.command import Options
from ops.cli.desk import Desk
from ops.cli.exits import DONE
from ops.cli.page import Block, Line, Table

#: Of an identifier with more values than this, the first and the last are told.
VALUES_MAX = 12


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("app", nargs="?", help="this one alone, with all there is to say of it")


def run(desk: Desk, options: Options) -> int:
    if options.app is None:
        apps = sorted(desk.catalogue.values(), key=lambda app: (desk.catalogue.rank(app.name), app.name))
        desk.output.answer([_document(desk, app) for app in apps], _list(apps))
    else:
        app = desk.catalogue.app(options.app)
        desk.output.answer(_document(desk, app), *_portrait(desk, app))
    return DONE


def _document(desk: Desk, app: App) -> dict[str, object]:
    return {
        "app": app.name,
        "job_type": app.job_type,
        "job_id": app.template.text,
        "identifiers": {name: str(app.kind(name)) for name in app.template.names},
        "autofill_values": {name: _values(values) for name, values in app.autofill.items()},
        "parents": [{"group": group.name, "apps": _apps(group)} for group in app.groups],
        "children": list(desk.catalogue.children_of(app.name)),
        "policy": _policy(app),
        "runs": app.bash_cmd or app.function_path,
        "origin": app.origin,
        "digest": app.digest,
    }


def _list(apps: Iterable[App]) -> Block:
    rows = [(app.name, app.job_type, app.template.text, _needs(app)) for app in apps]
    return Table(("app", "type", "key", "parents"), rows, prose=True, empty="No apps.")


def _portrait(desk: Desk, app: App) -> Iterable[Block]:
    yield Line(app.name, "bold")
    facts = {
        "type": app.job_type,
        "runs": app.bash_cmd or app.function_path,
        "key": f"{app.template.text}, like {app.example_key}",
        "parents": _needs(app),
        "children": ", ".join(desk.catalogue.children_of(app.name)),
        "defined in": app.origin,
    }
    yield from (Line(f"{word}: {fact}", indent=2) for word, fact in facts.items() if fact)
    rows = [
        (name, app.kind(name), ", ".join(map(str, _values(app.autofill.get(name, Values())))))
        for name in app.template.names
    ]
    yield Line()
    yield Table(("identifier", "is", "values"), rows, prose=True)
    default = asdict(Policy())
    changed = {word: value for word, value in _policy(app).items() if value != default[word]}
    yield Line()
    yield Table(("policy", ""), list(changed.items()), prose=True, empty="Its policy is the default.")


def _policy(app: App) -> dict[str, object]:
    """Of the environment the names alone: a value may be a secret."""
    return {**asdict(app.policy), "env": dict.fromkeys(app.policy.env, "…")}


def _apps(group: Group) -> list[str]:
    return list(dict.fromkeys(name for parents in group.all_of for name in parents.apps))


def _needs(app: App) -> str:
    """Groups are alternatives, and each needs all of its apps."""
    return " or ".join(", ".join(_apps(group)) for group in app.groups)


def _values(values: Values) -> list[object]:
    """All of them, or the ends of many: a range may hold a million."""
    if len(values) <= VALUES_MAX:
        return list(values)
    *_, last = values
    return [next(iter(values)), "…", last]
