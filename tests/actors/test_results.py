"""Results as other jobs and clients read them."""

from pathlib import Path

import pytest

from sluice.actors.client import Client
from sluice.actors.results import NoResult
from sluice.broker.messages import Executed
from sluice.jobs.catalogue import load
from sluice.jobs.errors import BadRequest
from sluice.jobs.model.names import JobName
from sluice.jobs.states import State
from sluice.ledger.retention import removal
from tests.actors.bench import Bench

SOURCE = """
from dataclasses import dataclass

from sluice import app

WORDS = {"identifiers": {"day": "date"}}


@dataclass
class Sales:
    shop: str
    orders: int


@app(job_id="{shop}_{day}", autofill_values={"shop": ["graz", "oslo"]}, **WORDS)
def sales(shop, day) -> Sales:
    return Sales(shop, len(shop))


@app(job_id="{shop}_{day}", **WORDS)
async def large(shop, day):
    return "x" * 300_000


@app(job_id="{shop}_{day}", **WORDS)
def empty(shop, day):
    return None


def looks(job, how):
    found = eval(how, {"job": job, "sales": sales, "large": large})
    return [type(found).__name__, found]


@app(job_id="{day}_{shop}", **WORDS)
def reads(job, how):
    return looks(job, how)


@app(job_id="{day}_{shop}", isolate=True, **WORDS)
def reads_apart(job, how):
    return looks(job, how)


@app(job_id="{day}", depends_on={"app_name": ["sales"], "shop": "all"}, **WORDS)
def total(job):
    return [sum(each.orders for each in job.results(sales).values()), sorted(job.results("sales"))]


@app(job_id="{day}", isolate=True, depends_on={"app_name": ["sales"], "shop": "all"}, **WORDS)
def total_apart(job):
    return [sum(each.orders for each in job.results(sales).values()), sorted(job.results("sales"))]


@app(job_id="{day}", depends_on={"app_name": ["sales"], "shop": ["graz"], "when": "finished"}, **WORDS)
def about_any(job):
    return job.results(sales)


@app(job_id="{n}")
def lonely(job):
    return job.result_of(sales)


@app(chunk_size=10)
def chunk(work_ids):
    return work_ids


@app(output_table="days")
def days(partitions):
    return partitions
"""
GRAZ, OSLO = "graz_20261120", "oslo_20261120"


@pytest.fixture
def shop(bench: Bench, tmp_path: Path) -> Bench:
    source = tmp_path / "shop.py"
    source.write_text(SOURCE)
    bench.world.catalogue = load([str(source)])
    return bench


@pytest.fixture
def client(shop: Bench) -> Client:
    return Client(shop.world.ledger, lambda _: None, blobs=shop.stores.blobs)


def done(shop: Bench, app: str, key: str, **words: object) -> None:
    shop.world.submit(app, key, **words)
    shop.hint(app, key)


def answer(shop: Bench, app: str, how: str) -> object:
    """Run a job that evaluates this text, and return the name of the type and the value."""
    done(shop, app, "20261120_graz", kwargs={"how": how})
    return Client(shop.world.ledger, lambda _: None).result(app, "20261120_graz")


def refusal(shop: Bench, app: str, how: str) -> str:
    """Run a job that evaluates this text, and return its error."""
    done(shop, app, "20261120_graz", kwargs={"how": how})
    return (shop.round_of(f"{app}/20261120_graz").error or "").splitlines()[0]


@pytest.mark.parametrize("reader", ["reads", "reads_apart"])
@pytest.mark.parametrize(
    ("how", "found"),
    [
        ("job.result_of(sales)", ["Sales", {"shop": "graz", "orders": 4}]),
        ("job.result_of('sales')", ["dict", {"shop": "graz", "orders": 4}]),
        ("job.result_of(sales, shop='graz', day='2026-11-20')", ["Sales", {"shop": "graz", "orders": 4}]),
        ("job.result_of('sales', 'graz_2026-11-20')['orders']", ["int", 4]),
        ("len(job.result_of(large))", ["int", 300_000]),
        ("job.result_of('empty')", ["NoneType", None]),
        ("[job.result_of('sales')['orders'] for _ in range(3)]", ["list", [4, 4, 4]]),
    ],
)
def test_a_job_reads_the_result_of_another_job(shop: Bench, reader: str, how: str, found: object) -> None:
    for app in ("sales", "large", "empty"):
        done(shop, app, GRAZ)
    assert answer(shop, reader, how) == found


@pytest.mark.parametrize("reader", ["reads", "reads_apart"])
@pytest.mark.parametrize(
    ("how", "told"),
    [
        ("job.result_of(sales, shop='oslo')", "There is no job sales/oslo_20261120, so it has no result."),
        ("job.result_of('large')", "large/graz_20261120 has no result: it is ready."),
        ("job.result_of('nothing')", "There is no app 'nothing'."),
        ("job.result_of('sales', town='graz')", "sales has no identifier town; it has shop, day."),
        ("job.result_of('sales', day='never')", "No job of sales has this identifier: at day,"),
        ("job.result_of('sales', 'graz_20261120', shop='graz')", "The key 'graz_20261120' of sales has all"),
        ("job.result_of('sales', 'graz')", "'graz' is not a key of sales"),
        ("job.result_of('chunk')", "chunk is not keyed by template."),
        ("job.result_of('days', '2026-11-20')", "There is no job days/2026-11-20"),
        ("job.results('nothing')", "There is no app 'nothing'."),
    ],
)
def test_a_job_that_reads_no_result_fails_with_the_reason(
    shop: Bench, reader: str, how: str, told: str
) -> None:
    shop.world.submit("large", GRAZ)
    error = refusal(shop, reader, how)
    assert told in error


def test_an_identifier_that_neither_is_given_nor_is_the_jobs_own_is_named(shop: Bench) -> None:
    done(shop, "lonely", "7")
    error = shop.round_of("lonely/7").error or ""
    assert "A job of sales needs its identifiers shop, day." in error


@pytest.mark.parametrize("app", ["total", "total_apart"])
def test_a_job_reads_the_results_of_all_jobs_that_it_needs(shop: Bench, client: Client, app: str) -> None:
    """One of them has succeeded before the job is planned, and one job of their app is not needed."""
    done(shop, "sales", GRAZ)
    shop.world.submit(app, "20261120")
    shop.hint("sales", OSLO)
    done(shop, "sales", "rome_20261120")
    shop.judge()
    shop.hint(app, "20261120")
    assert client.result(app, "20261120") == [8, [GRAZ, OSLO]]


def test_a_needed_job_without_success_is_named(shop: Bench) -> None:
    shop.world.submit("about_any", "20261120")
    shop.world.finish(f"sales/{GRAZ}", ending="error")
    shop.hint("about_any", "20261120")
    error = (shop.round_of("about_any/20261120").error or "").splitlines()[0]
    assert error.endswith(f"sales/{GRAZ} has no result: it is failed.")


def test_a_client_reads_results(shop: Bench, client: Client) -> None:
    for app in ("sales", "large", "empty"):
        done(shop, app, GRAZ)
    assert client.result("sales", GRAZ) == {"shop": "graz", "orders": 4}
    assert len(client.result("large", GRAZ)) == 300_000
    assert client.result("empty", GRAZ) is None
    report = client.job("sales", GRAZ)
    assert report is not None
    assert report.result == {"shop": "graz", "orders": 4}


def test_a_client_without_a_blob_store_names_what_it_lacks(shop: Bench) -> None:
    done(shop, "large", GRAZ)
    with pytest.raises(NoResult, match="is in the blob store, which this client does not have"):
        Client(shop.world.ledger, lambda _: None).result("large", GRAZ)


def test_a_rerun_has_no_result_until_it_has_succeeded(shop: Bench, client: Client) -> None:
    done(shop, "sales", GRAZ)
    shop.world.submit("sales", GRAZ, rerun="job")
    with pytest.raises(BadRequest, match=f"sales/{GRAZ} has no result: it is ready."):
        client.result("sales", GRAZ)
    shop.hint("sales", GRAZ)
    assert client.result("sales", GRAZ)["orders"] == 4


def test_a_removed_result_is_no_none(shop: Bench, client: Client) -> None:
    done(shop, "large", GRAZ)
    shop.world.tick(after_s=86_400)
    shop.world.ledger.transact(lambda tx: removal.prune(tx, keep_s=60, limit=10))
    with pytest.raises(NoResult, match="its history was removed because of its age"):
        client.result("large", GRAZ)


def test_a_result_that_was_lost_after_the_commit_is_no_none(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worker dies after the commit, so that it stores no result. Until its lease ends, it might still do it."""
    monkeypatch.setattr("sluice.actors.executor.transactions.complete", lambda *_, **__: [])
    bench.run("banks_and_counts")
    bench.sent.append(Executed(jobs=(bench.world.known("banks_and_counts/1").id,)))
    bench.judge()
    assert bench.world.state("banks_and_counts") is State.SUCCEEDED
    client = Client(bench.world.ledger, lambda _: None)
    with pytest.raises(NoResult, match="its function has not returned yet"):
        client.result("banks_and_counts", "1")
    bench.world.tick(after_s=60)
    with pytest.raises(NoResult, match="its worker died between the commit of its success and the end"):
        client.result("banks_and_counts", "1")
    assert JobName("banks_and_counts", "1") not in bench.world.states()
