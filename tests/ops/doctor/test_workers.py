"""The doctor's findings about workers, definitions, settings and the console."""

import socket
from http import HTTPStatus
from pathlib import Path
from uuid import uuid4

import pytest

from sluice.jobs.catalogue.resolve.digest import KnownDefinitions, known
from sluice.ledger.recovery import leases
from sluice.ops.console.http_message import Response, problem
from sluice.ops.observe.doctor.finding import FindingLevel
from tests.ops.console_client import serving
from tests.ops.site import WORDS, Site
from tests.ops.typist import Typist

NIGHTLY = {"nightly": {"app": "b", "key": "1", "cron": "30 2 * * *"}}
NAMES = {"planner", "groomer", "scheduler"}


def _said(site: Site, level: FindingLevel, *, code: int = 0) -> str:
    findings = site.says("doctor", code=code)["findings"]
    return "\n".join(
        f"[{each['where']}] {each['what']} {each['advice']}"
        for each in findings
        if each["level"] == level and each["about"] == "workers"
    )


def test_a_worker_that_serves_all_queues_causes_no_bad_finding(site: Site) -> None:
    site.chain("a -> b")
    site.world.submit("a")
    assert "1 worker with 1 thread." in _said(site, FindingLevel.OK)
    assert not _said(site, FindingLevel.BAD)


def test_ready_jobs_without_a_worker_are_reported(site: Site) -> None:
    site.chain("a -> b")
    site.dismiss()
    site.world.ledger.transact(lambda tx: tx.write("UPDATE worker SET left_at = now() WHERE left_at IS NULL"))
    assert "No worker is running; no job runs until one is started. Start one: sluice up" in _said(
        site, FindingLevel.WARN
    )
    site.world.submit("a")
    assert "1 job is ready, and no worker is running." in _said(site, FindingLevel.BAD, code=1)


def _only(site: Site, *queues: str) -> None:
    """Replace all workers by a single worker of these queues."""
    site.world.ledger.transact(lambda tx: tx.write("UPDATE worker SET left_at = now()"))
    site.hire(queues=list(queues), threads=2)


def test_a_queue_without_a_worker_is_reported(site: Site) -> None:
    site.chain("a -> b")
    _only(site, "b", *NAMES)
    site.world.submit("a")
    said = _said(site, FindingLevel.BAD, code=1)
    assert "[queue a] 1 job is ready, the first since" in said
    assert "sluice worker --queues a" in said
    _only(site, "a")
    said = _said(site, FindingLevel.BAD, code=1)
    assert "[queue planner] No worker serves the queue planner." in said
    assert "[queue groomer]" in said
    assert "[queue scheduler]" not in said, "there is no schedule"


def test_schedules_without_a_worker_are_reported(site: Site) -> None:
    site.define({"a": WORDS, "b": WORDS, "schedules": NIGHTLY})
    _only(site, "a", *NAMES)
    said = _said(site, FindingLevel.WARN)
    assert "[queue b] It is submitted by a schedule, and no worker serves its queue." in said
    _only(site, "a", "b", "planner", "groomer")
    assert "[queue scheduler] No worker serves" in _said(site, FindingLevel.BAD, code=1)


def test_a_worker_with_an_ended_lease_is_reported(site: Site) -> None:
    site.chain("a")
    site.world.ledger.transact(
        lambda tx: tx.write("UPDATE worker SET lease_until = clock_timestamp() - interval '1 minute'")
    )
    assert "[site:7] It was lost: its lease ended at" in _said(site, FindingLevel.WARN)


def test_workers_with_other_code_are_reported(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    site.chain("a")
    monkeypatch.setenv("SLUICE_CODE_VERSION", "now")
    assert "[site:7] It has the code then; the local code is now." in _said(site, FindingLevel.WARN)
    monkeypatch.setenv("SLUICE_CODE_VERSION", "then")
    assert "code" not in _said(site, FindingLevel.WARN)
    terms = {"host": "site", "pid": 8, "queues": [], "threads": 1, "code": "later", "lease_s": 3600.0}
    site.world.ledger.transact(lambda tx: leases.join(tx, uuid4(), **terms))
    assert "Workers have different code: later (1), then (1)." in _said(site, FindingLevel.WARN)


def test_a_worker_that_runs_jobs_by_another_definition_is_reported(site: Site) -> None:
    site.chain("a")
    site.world.submit("a")
    site.world.claim("a")
    assert "definition" not in _said(site, FindingLevel.WARN)
    here = {"a": WORDS | {"bash_cmd": "echo something else"}}
    site.world.catalogue, defined = site.world.catalogue, site.world.catalogue
    site.define(here)
    site.world.catalogue = defined
    assert "[site:7] It runs 1 job of a by a definition that differs from the local one." in _said(
        site, FindingLevel.WARN
    )


def test_workers_with_different_definitions_are_reported(site: Site) -> None:
    site.chain("a")
    digest = known(site.world.catalogue).apps["a"]
    site.world.ledger.transact(
        lambda tx: leases.record_definitions(tx, site.world.worker, KnownDefinitions(apps={"a": digest}))
    )
    assert "definitions" not in _said(site, FindingLevel.WARN)
    stale = KnownDefinitions(apps={"a": "0123456789abcdef"}, problem="apps.json: a: it needs itself")
    site.world.ledger.transact(
        lambda tx: leases.record_definitions(tx, site.hire(queues=[], threads=1), stale)
    )
    said = _said(site, FindingLevel.WARN)
    assert "There are 2 definitions of a in use: " in said
    assert f"{digest[:8]} 1 worker (site:7) and here" in said
    assert "[site:7] It still uses its previous definitions: apps.json: a: it needs itself." in said


def test_missing_and_faulty_definitions_are_reported(tmp_path: Path) -> None:
    typist = Typist(tmp_path)
    assert "None were given." in typist.types("doctor").out
    typist.apps(
        "apps.json", {"a": {"job_id": "{x}", "bash_cmd": "true", "max_fial": 1}, "b": {"depends_on": {}}}
    )
    said = typist.types("doctor", SLUICE_APPS="apps.json")
    assert said.code == 1
    assert "did you mean max_fails?" in said.out
    assert "apps.json: a" in said.out
    assert "apps.json: b" in said.out, "every fault is reported"


def test_settings_are_listed_by_source_and_misspelled_ones_are_reported(tmp_path: Path) -> None:
    typist = Typist(tmp_path, SLUICE_LEDGR_URL="postgresql://there/sluice")
    typist.write(".env", "SLUICE_TIKC=2s\nOTHERS=1\nSLUICE_LEASE=20s\n")
    typist.write("sluice.toml", 'tick = "3s"\nlogs = "json"\n')
    said = typist.types("doctor", "--broker", "memory://").out
    assert "SLUICE_LEDGR_URL is no setting (did you mean SLUICE_LEDGER_URL?)" in said
    assert "[the environment]" in said
    assert "SLUICE_TIKC is no setting (did you mean SLUICE_TICK?)" in said
    assert "SLUICE_LOGS is no setting (did you mean SLUICE_LOG?)" in said
    assert "1 setting: SLUICE_TICK.  [sluice.toml]" in said
    assert "1 setting: SLUICE_LEASE.  [.env]" in said
    assert "1 setting: SLUICE_BROKER_URL.  [the command line]" in said
    assert "OTHERS" not in said


def test_the_tokens_of_a_console_on_a_public_address_are_checked(tmp_path: Path) -> None:
    typist = Typist(tmp_path)
    open_ = typist.types("doctor", "--listen", "0.0.0.0:8484")
    assert open_.code == 1
    assert "Other machines can reach the console at http://0.0.0.0:8484, and there is no token." in open_.out
    short = typist.types("doctor", "--listen", "0.0.0.0:8484", SLUICE_CONSOLE_TOKEN="short")
    assert short.code == 1
    assert "SLUICE_CONSOLE_TOKEN has 5 characters" in short.out
    looking = typist.types("doctor", "--listen", "0.0.0.0:8484", SLUICE_CONSOLE_VIEW_TOKEN="0123456789abcdef")
    assert looking.code == 0
    assert "is set: users can view, and cannot act" in looking.out


def test_the_doctor_checks_whether_a_console_answers(tmp_path: Path) -> None:
    typist = Typist(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        place = f"127.0.0.1:{taken.getsockname()[1]}"
    nobody = typist.types("doctor", "--listen", place)
    assert "no console answers there now (Connection refused)" in nobody.out
    with serving(lambda _: Response(document={"role": "view"})) as own:
        assert (
            "It answers, with the role `view`."
            in typist.types("doctor", "--listen", f"127.0.0.1:{own.port}").out
        )
    with serving(lambda _: problem(HTTPStatus.UNAUTHORIZED, "no")) as own:
        said = typist.types("doctor", "--listen", f"127.0.0.1:{own.port}").out
        assert "refuses the token of these settings" in said
    with serving(lambda _: Response(document=["another"])) as own:
        assert "Another program answers" in typist.types("doctor", "--listen", f"127.0.0.1:{own.port}").out
