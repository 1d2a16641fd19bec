"""Submissions with more rights than submitters may have, or that no planner can read."""

import json
from typing import Any

from sluice.jobs.model.request_limits import BYTES_MAX
from tests.attacks.attack import attack
from tests.attacks.installation import SECRET, Installation, line

#: Options that determine which code runs, or with which rights.
_POLICIES: tuple[dict[str, Any], ...] = (
    {"env": {"BASH_FUNC_echo%%": "() { env | grep ^SLUICE_; }"}},
    {"env_from_os": ["SLUICE_LEDGER_URL", "SLUICE_MESSAGE_KEYS", "HOME"]},
    {"cwd": "/etc"},
    {"limits": {"memory": "100GB"}},
    {"concurrency": 1000},
    {"timeout": "100d"},
)


def _wanted(number: int, policy: dict[str, Any]) -> dict[str, Any]:
    return {"app": "nightly", "key": f"policy-{number}", "policy": policy}


@attack("environment, folder and limits in a submission by SQL")
def policies_by_sql(place: Installation) -> str:
    ids = [place.submits(json.dumps(_wanted(*each))) for each in enumerate(_POLICIES)]
    refusals = [place.refused(id_, "policy") for id_ in ids]
    return refusals[0]


@attack("environment, folder and limits in a submission by HTTP")
def policies_by_http(place: Installation) -> str:
    refusals = [place.refused_by_http(_wanted(*each)) for each in enumerate(_POLICIES, start=10)]
    return refusals[0]


@attack("environment, folder and limits in a submission by message")
def policies_by_message(place: Installation) -> str:
    with place.sender() as sender:
        ids = [sender.submits(_wanted(*each)) for each in enumerate(_POLICIES, start=20)]
    refusals = [place.refused(id_, "policy") for id_ in ids]
    return refusals[2]


@attack("the worker's own variables, of an app that lends its environment")
def own_variables(place: Installation) -> str:
    names = ["SLUICE_LEDGER_URL", "SLUICE_BROKER_URL", "SLUICE_LINEAGE_TOKEN", "PGPASSWORD"]
    asked = {"app": "lent", "key": "1", "policy": {"env_from_os": names}}
    refusal = place.refused(place.submits(json.dumps(asked)), "SLUICE_LEDGER_URL")
    trick = {"BASH_FUNC_env%%": "() { /usr/bin/env; }", "BASH_ENV": "/proc/self/environ"}
    id_ = place.submits(json.dumps({"app": "lent", "key": "2", "policy": {"env": trick}}))
    state, _ = place.settled(id_)
    told = place.operator.gets("/api/jobs/lent/2/rounds/1/output?download=1").body.decode()
    assert state == "succeeded", state
    assert "SLUICE_JOB" in told, told
    assert SECRET not in told, told
    assert "SLUICE_LEDGER_URL" not in told, told
    return refusal


@attack("requests by SQL that are no objects")
def no_objects(place: Installation) -> str:
    refusals = [place.refused_by_sql("submitter", _SUBMIT, text) for text in ("[]", '"x"', "null", "7")]
    assert all("is refused" in each for each in refusals), refusals
    return refusals[0]


@attack("a number of 5,000 digits by SQL")
def huge_number(place: Installation) -> str:
    return place.refused_by_sql("submitter", _SUBMIT, '{"app": "nightly", "kwargs": {"a": 1e5000}}')


@attack("kwargs of 2,000 levels by SQL")
def deep_by_sql(place: Installation) -> str:
    return place.refused_by_sql("submitter", _SUBMIT, _nested(2000))


@attack("a request of more than 1 MiB by SQL")
def large_by_sql(place: Installation) -> str:
    large = json.dumps({"app": "nightly", "key": "x" * BYTES_MAX})
    return place.refused_by_sql("submitter", _SUBMIT, large)


@attack("unreadable rows, written past the function with the worker's role")
def unreadable_rows(place: Installation) -> str:
    rows = {"list": "[]", "text": '"x"', "null": "null", "number": '{"kwargs": {"a": 1e5000}}'}
    rows["deep"] = _nested(2000)
    with place.connect("worker") as connection:
        for name, request in rows.items():
            connection.execute(
                "INSERT INTO submission (id, app, state, request, push, received_at)"
                " VALUES (%s, 'nightly', 'received', %s::jsonb, true, now())",
                (f"row-{name}", request),
            )
    refusals = [place.refused(f"row-{name}", "") for name in rows]
    return refusals[0]


@attack("400 rows that no planner can read, at once")
def many_unreadable_rows(place: Installation) -> str:
    with place.connect("worker") as connection:
        connection.execute(
            "INSERT INTO submission (id, app, state, request, push, received_at)"
            " SELECT 'rows-' || n, 'nightly', 'received', '[]'::jsonb, true, now() FROM generate_series(1, 400) n"
        )
    refusals = [place.refused(f"rows-{number}", "") for number in range(1, 401)]
    return refusals[0]


@attack("kwargs as deep as decoders fail at, by message")
def deep_by_message(place: Installation) -> str:
    refusals = []
    with place.sender() as sender:
        for levels in (70, 200):
            refusals.append(place.refused(sender.submits(json.loads(_nested(levels))), "deeper than"))
        before = place.dead_letters()
        for levels in (972, 981, 984, 987, 100_000):
            sender.puts(_enveloped(_nested(levels)))
        place.wait(lambda: place.dead_letters() == before + 5, within_s=30)
    return refusals[0]


@attack("bytes that are no message")
def no_messages(place: Installation) -> str:
    before = place.dead_letters()
    bodies = (b"\x80\x04\x95cos\nsystem\n(S'id'\ntR.", b"\xff" * 1000, b"[" * 100_000, b"{}", b"\x00")
    with place.sender() as sender:
        for body in bodies:
            sender.puts(body)
    place.wait(lambda: place.dead_letters() == before + len(bodies), within_s=30)
    told = [each for each in place.log("control").splitlines() if "goes to the dead letters" in each]
    return line(told[-1])


@attack("ids of schedules and compensations, taken in advance")
def foretold_ids(place: Installation) -> str:
    wanted = {"app": "nightly", "key": "foretold", "id": "schedule:nightly:2030-01-01T00:00:00+00:00"}
    place.refused_by_http(wanted)
    with place.sender() as sender:
        sender.submits(wanted)
    refusal = place.refused_by_sql("submitter", _SUBMIT, json.dumps(wanted))
    place.refused_by_sql("submitter", _SUBMIT, json.dumps(wanted | {"id": "x/compensation"}))
    assert place.asks("SELECT 1 FROM job WHERE app = 'nightly' AND key = 'foretold'") == []
    return refusal


@attack("an id of 5,000 characters")
def long_id(place: Installation) -> str:
    wanted = {"app": "nightly", "key": "long", "id": "x" * 5000}
    place.refused_by_http(wanted)
    return place.refused_by_sql("submitter", _SUBMIT, json.dumps(wanted))


@attack("keys . and .., which no page can address")
def dots(place: Installation) -> str:
    wanted = [{"app": "dotted", "key": key} for key in (".", "..")]
    with place.sender() as sender:
        ids = [way(each) for each in wanted for way in (place.submits_by_http, sender.submits)]
    refusals = [place.refused(id_, "") for id_ in ids]
    assert place.asks("SELECT 1 FROM job WHERE app = 'dotted'") == []
    return refusals[0]


@attack("keys that are written as code")
def keys_as_code(place: Installation) -> str:
    made = place.probes / "PWN"
    tricks = [f"a[$(touch {made})]", f"$(touch {made})", f"`touch {made}`", f"'; touch {made} #", "$((1+1))"]
    state, _ = place.settled(place.submits(json.dumps({"app": "safe", "keys": tricks})))
    assert state == "succeeded", state
    assert not made.exists()
    told = place.operator.reads("/api/jobs?app=safe")["jobs"]
    assert len(told) == len(tricks), told
    return "each key was printed as it stands, and none was run"


_SUBMIT = "SELECT sluice.submit(%s::jsonb)"


def _nested(levels: int) -> str:
    return '{"app": "nightly", "key": "deep", "kwargs": {"x": ' + "[" * levels + "]" * levels + "}}"


def _enveloped(kwargs: str) -> bytes:
    return (
        '{"queue_name": "planner", "actor_name": "submit", "args": [], "options": {}, "message_id": "deep",'
        f' "message_timestamp": 1770000000000, "kwargs": {kwargs}}}'
    ).encode()
