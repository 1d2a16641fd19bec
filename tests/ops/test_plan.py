"""``sluice plan``: the jobs that a submission would run."""

import json
from typing import Any, NamedTuple

import pytest
from msgspec import to_builtins

from sluice.jobs.model.submission import Submission
from sluice.ops.documents.plan_document import as_document
from tests.ops.typist import Typist
from tests.planner.definitions import NOW, catalogue_of, previewed

DAY = "20260201"
OSLO, GRAZ, REPORT = f"fetch/{DAY}_oslo", f"fetch/{DAY}_graz", f"report/{DAY}"


class Case(NamedTuple):
    """Known states and a request, and the expected plan: jobs with their state and the jobs that they wait for."""

    known: dict[str, str]
    asked: str
    jobs: dict[str, str]
    satisfied: tuple[str, ...] = ()
    waits_for: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()


PUBLISH, MAIL = f"publish/{DAY}", f"mail/{DAY}"
FETCHED = {OSLO: "succeeded", GRAZ: "succeeded"}
CHAIN = {REPORT: "ready ", PUBLISH: "waiting report#1", MAIL: "waiting publish#1"}
BOTH = {GRAZ: "ready", OSLO: "ready", REPORT: "waiting fetch#1 fetch#2"}
CASES = [
    Case({}, "report", BOTH),
    Case({OSLO: "cancelled"}, "report", BOTH),
    Case({OSLO: "succeeded"}, "report", {GRAZ: "ready", REPORT: "waiting fetch#1"}, satisfied=(OSLO,)),
    Case({OSLO: "succeeded", GRAZ: "succeeded"}, "report", {REPORT: "ready "}, satisfied=(GRAZ, OSLO)),
    Case({OSLO: "running"}, "report", {GRAZ: "ready", REPORT: "waiting fetch#1 fetch#2"}, waits_for=(OSLO,)),
    Case({OSLO: "failed"}, "report", {GRAZ: "ready"}, errors=(REPORT,)),
    Case({REPORT: "succeeded"}, "report", {}, satisfied=(REPORT,)),
    Case({REPORT: "failed"}, "report", {}, errors=(REPORT,)),
    Case(
        {REPORT: "waiting", OSLO: "expected", GRAZ: "ready"},
        "report",
        {OSLO: "ready"},
        waits_for=(GRAZ, REPORT),
    ),
    Case(
        {REPORT: "failed", OSLO: "failed", GRAZ: "succeeded"},
        "report --rerun job",
        {OSLO: "ready", REPORT: "waiting fetch#1"},
        satisfied=(GRAZ,),
    ),
    Case(
        FETCHED | {REPORT: "failed", PUBLISH: "upstream_failed", MAIL: "upstream_failed"},
        "mail --rerun job",
        CHAIN,
        satisfied=(GRAZ, OSLO),
    ),
    Case(
        FETCHED | {REPORT: "failed", PUBLISH: "upstream_failed", MAIL: "upstream_failed"},
        "report --rerun job",
        CHAIN,
        satisfied=(GRAZ, OSLO),
    ),
    Case(
        FETCHED | {REPORT: "succeeded", PUBLISH: "succeeded", MAIL: "succeeded"},
        "report --rerun job",
        {REPORT: "ready "},
        satisfied=(GRAZ, OSLO),
    ),
    Case(
        FETCHED | {REPORT: "succeeded", PUBLISH: "succeeded", MAIL: "failed"},
        "report --rerun downstream",
        CHAIN,
        satisfied=(GRAZ, OSLO),
    ),
]


def plan_on(typist: Typist, known: dict[str, str], asked: str) -> Any:
    app, *options = asked.split()
    jobs = [
        {"app": name.split("/")[0], "key": name.split("/")[1], "state": state}
        for name, state in known.items()
    ]
    facts = json.dumps({"jobs": jobs})
    said = typist.types("plan", app, DAY, *options, "--facts", "-", "--json", given=facts)
    assert said.code == 0, said.err
    return said.document


@pytest.mark.parametrize("case", CASES)
def test_a_plan_follows_from_the_facts(offline: Typist, case: Case) -> None:
    document = plan_on(offline, case.known, case.asked)
    told = {f"{each['app']}/{each['key']}": _told(each) for each in document["jobs"]}
    assert told == case.jobs
    assert "estimated_s" not in document
    for word in ("satisfied", "waits_for", "errors"):
        assert tuple(f"{each['app']}/{each['key']}" for each in document[word]) == getattr(case, word)


def _told(job: dict[str, Any]) -> str:
    """Return the state of a job, and the needs of its only gate."""
    return " ".join([job["state"], *(" ".join(gate["needs"]) for gate in job["gates"])])


def test_the_document_of_a_plan_has_all_parts(offline: Typist) -> None:
    assert plan_on(offline, {OSLO: "succeeded", GRAZ: "running"}, 'report --kwargs {"a":1}') == {
        "jobs": [
            {
                "ref": "report#1",
                "app": "report",
                "key": DAY,
                "kwargs": {"a": 1},
                "state": "waiting",
                "gates": [{"name": "default", "needs": ["fetch#1"]}],
            }
        ],
        "satisfied": [{"app": "fetch", "key": f"{DAY}_oslo", "why": "succeeded: the ledger has it"}],
        "waits_for": [
            {
                "ref": "fetch#1",
                "app": "fetch",
                "key": f"{DAY}_graz",
                "why": "running: already requested",
                "state": "running",
            }
        ],
        "errors": [],
        "pushed": [
            {
                "ref": f"{app}#1",
                "app": app,
                "key": DAY,
                "kwargs": {"a": 1},
                "state": "waiting",
                "gates": [{"name": "default", "needs": [f"{parent}#1"]}],
                "pushed": True,
            }
            for app, parent in (("publish", "report"), ("mail", "publish"))
        ],
        "critical_path": {"jobs": ["report#1", "publish#1", "mail#1"]},
        "widest_level": 1,
    }


def test_a_job_waits_until_its_start_after(offline: Typist) -> None:
    words = ("plan", "nap", "1", "--facts", "-", "--start-after", "2026-02-01T12:00:00Z", "--json", "--now")
    before, after = (offline.types(*words, now, given="{}") for now in ("2026-02-01", "2026-02-02T00:00:00"))
    assert before.document["jobs"][0]["state"] == "waiting"
    assert after.document["jobs"][0]["state"] == "ready"


def test_a_printed_plan_has_the_order_and_the_estimated_time(desk: Typist) -> None:
    desk.types("run", "nap", "0", "--push", "wanted")
    said = desk.types("plan", "nap", "2")
    assert said.out.splitlines()[-1].startswith("1 job would run, about ")
    said = desk.types("plan", "mail", "20260202")
    assert [line.split() for line in said.out.splitlines()] == [
        ["job", "key", "state", "after"],
        ["fetch#1", "20260202_graz", "ready"],
        ["fetch#2", "20260202_oslo", "ready"],
        ["report#1", "20260202", "waiting", "fetch#1-2"],
        ["publish#1", "20260202", "waiting", "report#1"],
        ["mail#1", "20260202", "waiting", "publish#1"],
        ["5", "jobs", "would", "run."],
        ["Critical", "path:", "fetch#1", "->", "report#1", "->", "publish#1", "->", "mail#1", "(4", "jobs)."],
        ["Widest", "level:", "2", "jobs,", "which", "can", "run", "at", "once."],
    ]


def test_pushed_children_are_marked(desk: Typist) -> None:
    said = desk.types("plan", "fetch", "20260203_graz")
    assert (
        "report/20260203 would be pushed (it waits for fetch/20260203_oslo, which is not requested)"
        in said.out
    )
    lines = desk.types("plan", "report", "20260203").out.splitlines()
    assert lines[4].split() == ["publish#1", "20260203", "waiting,", "pushed", "report#1"]
    assert lines[6].startswith("5 jobs would run, 2 of them pushed")
    assert "pushed" not in desk.types("plan", "report", "20260203", "--push", "wanted").out


def test_the_critical_path_follows_the_run_times_if_all_are_known() -> None:
    app = {"job_id": "{n}"}
    apps = {"quick": app, "slow": app, "both": app | {"depends_on": {"app_name": ["quick", "slow"]}}}
    found = previewed(catalogue_of(apps), Submission(app="both", key="1"))
    document = to_builtins(as_document(found, {"quick": 1.0, "slow": 20.0, "both": 300.0}, now=NOW))
    assert document["critical_path"] == {"jobs": ["slow#1", "both#1"], "estimated_s": 320.0}
    assert (document["widest_level"], document["estimated_s"]) == (2, 321.0)
    document = to_builtins(as_document(found, {"quick": 1.0, "slow": 20.0}, now=NOW))
    assert "estimated_s" not in document["critical_path"]


def test_of_a_long_critical_path_both_ends_are_shown(offline: Typist) -> None:
    apps: dict[str, Any] = {"a0": {"job_id": "{n}", "bash_cmd": "true"}}
    for place in range(1, 9):
        apps[f"a{place}"] = apps["a0"] | {"depends_on": {"app_name": [f"a{place - 1}"]}}
    offline.apps("long.json", apps)
    words = ("--apps", "long.json", "plan", "a8", "1", "--facts", "-")
    ends = "a0#1 -> a1#1 -> a2#1 -> … 3 more … -> a6#1 -> a7#1 -> a8#1 (9 jobs)."
    assert offline.types(*words, given="{}").out.splitlines()[-2] == f"Critical path: {ends}"
    assert "… " not in offline.types(*words, "--all", given="{}").out
    assert len(offline.types(*words, "--json", given="{}").document["critical_path"]["jobs"]) == 9


def test_a_plan_names_the_pools_of_its_jobs(desk: Typist) -> None:
    """The pools include the ``concurrency`` of the submission."""
    words = {
        "job_id": "{date}_{shop}",
        "bash_cmd": "true",
        "autofill_values": {"shop": ["graz", "oslo"]},
        "submitters_may_set": ["concurrency"],
    }
    apps = {
        "pull": words | {"identifiers": {"date": "date"}, "concurrency": {"key": "{shop}", "limit": 2}},
        "push": words | {"identifiers": {"date": "date"}, "concurrency": {"pool": "till", "limit": 1}},
        "free": {"job_id": "{n}", "bash_cmd": "true"},
    }
    apps["push"]["depends_on"] = {"app_name": ["pull"]}
    desk.apps("pools.json", apps)
    keys = ("20260201_graz", "20260201_oslo")
    document = desk.asks("--apps", "pools.json", "plan", "push", *keys)
    pools = {job["ref"]: (job["pool"], job["pool_limit"]) for job in document["jobs"]}
    assert pools == {
        "pull#1": ("pull:graz", 2),
        "pull#2": ("pull:oslo", 2),
        "push#1": ("pool till", 1),
        "push#2": ("pool till", 1),
    }
    said = desk.types("--apps", "pools.json", "plan", "push", *keys).out
    assert "pull#1: 2 at once in the pool of pull:graz" in said
    assert "push#1-2: 1 at once in pool till" in said
    limited = desk.asks("--apps", "pools.json", "plan", "push", keys[0], "--concurrency", "5")
    assert {job["pool_limit"] for job in limited["jobs"]} == {5}
    assert "pool" not in desk.asks("--apps", "pools.json", "plan", "free", "1")["jobs"][0]
