"""Random definitions, and random messages of users."""

import random
from collections.abc import Callable
from typing import Any

import msgspec

from sluice.broker.messages import Cancel, Message, Submit
from tests.simulation.breakers import with_drawn_breakers
from tests.simulation.chunk_readers import needs_work_ids, with_drawn_chunk_readers
from tests.simulation.chunks import drawn_chunk_apps, drawn_chunk_words
from tests.simulation.days import is_dated, with_drawn_days
from tests.simulation.expansions import with_drawn_expansions
from tests.simulation.notifications import TOLD, with_drawn_notify, with_drawn_rules
from tests.simulation.partitions import (
    OUTSIDE,
    drawn_dated_words,
    drawn_landing,
    drawn_partition_apps,
    drawn_partition_words,
    is_by_partition,
)
from tests.simulation.pools import with_drawn_pools
from tests.simulation.readers import with_drawn_readers
from tests.simulation.sagas import (
    failing_saga,
    undoes,
    with_drawn_mode,
    with_drawn_sagas,
    with_drawn_undoing,
)
from tests.simulation.slices import with_drawn_slices

KEYS = ("1", "2")
#: Mostly long after everything has ended, and sometimes in the middle of it.
END_BEFORE = ("2026-02-01T00:00:00Z", "2026-03-01T00:00:00Z", "2026-01-01T00:00:40Z")


def drawn_apps(rng: random.Random) -> dict[str, Any]:
    """Draw two to six apps in an acyclic graph. Some enumerate values of their own, some have several alternatives."""
    return with_drawn_tables(rng, _drawn_kinds(rng))


def drawn_breakers(rng: random.Random) -> dict[str, Any]:
    """Draw apps of any kind, most of which have a breaker."""
    return with_drawn_breakers(rng, _drawn_kinds(rng))


def drawn_templates(rng: random.Random) -> dict[str, Any]:
    return _drawn_graph(rng, rng.randint(2, 6))


def drawn_chunks(rng: random.Random) -> dict[str, Any]:
    return with_drawn_chunk_readers(rng, _some(drawn_chunk_apps, rng))


def drawn_partitions(rng: random.Random) -> dict[str, Any]:
    return with_drawn_tables(rng, _some(drawn_partition_apps, rng))


def with_drawn_tables(rng: random.Random, apps: dict[str, Any]) -> dict[str, Any]:
    """Return the apps, some with jobs with keys that make or read tables, and some with slices."""
    apps = with_drawn_readers(rng, with_drawn_days(rng, apps, OUTSIDE), OUTSIDE)
    return with_drawn_slices(rng, apps, OUTSIDE)


def drawn_sagas(rng: random.Random) -> dict[str, Any]:
    """Draw one to four apps, most of which are sagas or can be undone."""
    return with_drawn_pools(rng, with_drawn_sagas(rng, _drawn_graph(rng, rng.randint(1, 4))))


def drawn_expansions(rng: random.Random) -> dict[str, Any]:
    """Draw one to three apps, and apps whose jobs add jobs."""
    return with_drawn_pools(rng, with_drawn_expansions(rng, _drawn_graph(rng, rng.randint(1, 3))))


def drawn_notifications(rng: random.Random) -> dict[str, Any]:
    """Draw two to five apps, most of which notify receivers."""
    return with_drawn_rules(rng, with_drawn_pools(rng, _drawn_graph(rng, rng.randint(2, 5))))


def drawn_removals(rng: random.Random) -> dict[str, Any]:
    """Draw apps of any theme that does not depend on removed history."""
    themes = (
        drawn_apps,
        drawn_templates,
        drawn_chunks,
        drawn_partitions,
        drawn_sagas,
        drawn_trips,
        drawn_breakers,
        drawn_expansions,
    )
    return rng.choice(themes)(rng)


def changed_apps(rng: random.Random, apps: dict[str, Any]) -> dict[str, Any]:
    """Return the same apps with the same keys, but with other dependencies and another command for a single app."""
    earlier = [
        name
        for name in apps
        if "job_id" in apps[name]
        and not is_dated(apps[name])
        and not needs_work_ids(apps[name])
        and not undoes(name)
        and name != TOLD
    ]
    if not earlier:
        return apps
    name = rng.choice(earlier)
    app = {**apps[name], **({"bash_cmd": "true again"} if "bash_cmd" in apps[name] else {})}
    parents = [parent for parent in earlier[: earlier.index(name)] if rng.random() < 0.5]
    app.pop("depends_on", None)
    if parents:
        app["depends_on"] = _drawn_dependency(rng, parents, apps)
    return {**apps, name: app}


def drawn_wish(rng: random.Random, apps: dict[str, Any], number: int, known: list[str]) -> Message:
    """Draw a message: mostly a submission, sometimes a cancellation, a repetition, or nonsense."""
    drawn = rng.random()
    if drawn < 0.12 and known:
        return Cancel(submission=rng.choice(known))
    if drawn < 0.2 and known:
        return _submit(rng.choice(known), {"app": "app0", "key": "1"})
    id_ = f"s{number}"
    known.append(id_)
    if drawn < 0.25:
        return _submit(id_, rng.choice(({"app": "nobody"}, {"app": "app0", "key": "a_b_c"}, {"key": 7})))
    app = rng.choice([name for name in apps if not undoes(name)])
    if is_by_partition(apps[app]) and rng.random() < 0.25:
        return drawn_landing(rng, apps)
    words = with_drawn_notify(rng, apps, _drawn_words(rng, app, apps[app]))
    return _submit(id_, with_drawn_mode(rng, apps, words))


def _drawn_words(rng: random.Random, name: str, app: dict[str, Any]) -> dict[str, Any]:
    if "chunk_size" in app:
        return drawn_chunk_words(rng, name)
    if is_by_partition(app):
        return drawn_partition_words(rng, name, app)
    if is_dated(app):
        return drawn_dated_words(rng, name, app)
    words: dict[str, Any] = {"app": name, "key": _drawn_key(rng, app)}
    if rng.random() < 0.3:
        words["push"] = "wanted"
    if rng.random() < 0.25:
        words["rerun"] = rng.choice(("job", "downstream"))
    if policy := _drawn_urgency(rng):
        words["policy"] = policy
    return words


def _drawn_urgency(rng: random.Random) -> dict[str, Any]:
    urgency: dict[str, Any] = {}
    if rng.random() < 0.3:
        urgency["priority"] = rng.choice((-3, 2, 7))
    if rng.random() < 0.2:
        urgency["end_before"] = rng.choice(END_BEFORE)
    return urgency


def _submit(id_: str, words: dict[str, Any]) -> Submit:
    return Submit(id=id_, submission=msgspec.Raw(msgspec.json.encode(words)))


def drawn_trips(rng: random.Random) -> dict[str, Any]:
    """Draw apps that can be undone, and an app that depends on them, mostly on their success, and fails."""
    apps = _drawn_graph(rng, rng.randint(2, 4))
    needs = _drawn_dependency(rng, [*apps], apps)
    return with_drawn_undoing(rng, apps) | {"last": failing_saga(rng) | {"depends_on": needs}}


def _drawn_kinds(rng: random.Random) -> dict[str, Any]:
    apps = _drawn_graph(rng, rng.randint(2, 6)) | drawn_chunk_apps(rng) | drawn_partition_apps(rng)
    return with_drawn_pools(rng, with_drawn_sagas(rng, apps) if rng.random() < 0.2 else apps)


def _some(drawn: Callable[[random.Random], dict[str, Any]], rng: random.Random) -> dict[str, Any]:
    """Draw until there is at least one app."""
    while not (apps := drawn(rng)):
        pass
    return apps


def _drawn_graph(rng: random.Random, size: int) -> dict[str, Any]:
    apps: dict[str, Any] = {}
    for place in range(size):
        apps[f"app{place}"] = _drawn_app(rng, [*apps], apps)
    return apps


def _drawn_app(rng: random.Random, earlier: list[str], apps: dict[str, Any]) -> dict[str, Any]:
    wide = rng.random() < 0.4
    app: dict[str, Any] = {
        "job_id": "{x}_{y}" if wide else "{x}",
        "job_type": "bash",
        "bash_cmd": "true",
        "max_fails": rng.choice((0, 1, 3)),
        "max_timeouts": rng.choice((0, 1)),
        "max_losses": rng.choice((0, 2, 50)),
        "timeout": rng.choice((None, 8, 60)),
        "priority": rng.choice((0, 0, 4)),
        "pull": rng.choice(("first", "first", "all")),
        "retry": rng.choice(({"rule": "fixed", "seconds": 0}, {"rule": "exponential", "seconds": 3})),
    }
    if app["timeout"] is None:
        del app["timeout"]
    if wide:
        app["autofill_values"] = {"y": ["p", "q"]}
    parents = [name for name in earlier if rng.random() < 0.5]
    if parents:
        app["depends_on"] = _drawn_dependency(rng, parents, apps)
    return app


def _drawn_dependency(rng: random.Random, parents: list[str], apps: dict[str, Any]) -> dict[str, Any]:
    def group(names: list[str]) -> dict[str, Any]:
        wide = any("autofill_values" in apps[name] for name in names)
        when = {"when": rng.choice(("failed", "finished", "running"))} if rng.random() < 0.2 else {}
        return {"app_name": names} | ({"y": "all"} if wide else {}) | when

    if len(parents) > 1 and rng.random() < 0.5:
        cut = rng.randrange(1, len(parents))
        return {"one": group(parents[:cut]), "two": group(parents[cut:])}
    return group(parents)


def _drawn_key(rng: random.Random, app: dict[str, Any]) -> str:
    x = rng.choice(KEYS)
    values = app.get("autofill_values", {})
    return "_".join([x, *(rng.choice(each) for each in values.values())])
