"""``keep_output``: output that the ledger cannot hold completely is stored whole, and no other output is stored."""

import resource
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from sluice.jobs.blobs import BlobStore, BlobsUnavailable
from sluice.jobs.model.job import KEPT_BYTES, Ending, Outcome
from sluice.jobs.policy.policy import Policy
from sluice.jobs.policy.tenants import Tenant
from sluice.jobs.runners import output
from sluice.jobs.runners.process import process
from tests.jobs.runners.programs import Programs
from tests.jobs.runners.runner_bench import Bench, Clock, eventually

KEEP = Policy(keep_output=True, fail_on="exit")
NOISE = "head -c 10000000 /dev/urandom"
LONG = "yes 0123456789 | head -c 100000"


def whole(bench: Bench, blob: str | None) -> bytes:
    assert blob is not None
    return b"".join(bench.stores.blobs.read(blob))


def blobs(bench: Bench) -> list[Path]:
    return [path for path in (bench.folder / "blobs").rglob("*") if path.is_file()]


def test_ten_megabytes_of_random_output_are_kept_unchanged(programs: Programs, tmp_path: Path) -> None:
    outcome = programs.run(f"{NOISE} | tee {tmp_path}/printed; echo end >&2", policy=KEEP)
    assert outcome.ending is Ending.DONE
    assert whole(programs.bench, outcome.output_blob) == (tmp_path / "printed").read_bytes()
    assert len(outcome.output) <= 2 * KEPT_BYTES
    assert "bytes left out" in outcome.output
    assert "\x00" not in outcome.output
    outcome.output.encode()
    assert (outcome.stderr, outcome.stderr_blob, outcome.log.count("not kept")) == ("end\n", None, 0)


def test_without_keep_output_only_both_ends_are_kept(programs: Programs) -> None:
    outcome = programs.run(NOISE)
    assert (outcome.ending, outcome.output_blob) == (Ending.DONE, None)
    assert "bytes left out" in outcome.output
    assert blobs(programs.bench) == []


@pytest.mark.parametrize(
    ("command", "stored"),
    [
        ("echo fine", None),
        ("printf 'gr\\303\\274\\303\\237e'", None),
        ("printf 'a\\377b'", b"a\xffb"),
        ("printf 'a\\000b'", b"a\0b"),
        (LONG, (b"0123456789\n" * 10_000)[:100_000]),
    ],
)
def test_output_that_the_ledger_holds_completely_is_not_stored_again(
    bench: Bench, command: str, stored: bytes | None
) -> None:
    outcome = bench.bash(command, policy=KEEP)
    assert (outcome.output_blob is None) == (stored is None)
    if stored is not None:
        assert whole(bench, outcome.output_blob) == stored


def test_stderr_is_kept_like_stdout(bench: Bench) -> None:
    outcome = bench.bash(f"{LONG} >&2; exit 3", policy=KEEP)
    assert outcome.ending is Ending.ERROR
    assert len(whole(bench, outcome.stderr_blob)) == 100_000
    assert outcome.output_blob is None


def test_the_output_of_an_isolated_function_is_kept(bench: Bench) -> None:
    outcome = bench.isolate("prints_much", policy=KEEP)
    assert len(whole(bench, outcome.output_blob)) == 1_000_000


def test_output_before_a_timeout_is_kept(programs: Programs, clock: Clock) -> None:
    printed = programs.bench.folder / "printed"
    policy = Policy(keep_output=True, timeout_s=3600)
    text = f"{LONG}; touch {printed}; sleep 600"
    running = programs.bench.meanwhile(lambda: programs.run(text, policy=policy))
    eventually(printed.exists)
    clock.ahead_s = 3600
    outcome = running.result()
    assert outcome.ending is Ending.TIMED_OUT
    assert len(whole(programs.bench, outcome.output_blob)) == 100_000


def test_the_output_of_a_run_that_is_handed_back_is_not_stored(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "LOOK_S", 0.01)
    command = f"{LONG}; touch {bench.folder}/printed; sleep 600"
    running = bench.meanwhile(lambda: bench.bash(command, policy=KEEP))
    eventually((bench.folder / "printed").exists)
    bench.stop.set()
    outcome = running.result()
    assert (outcome.ending, outcome.output_blob, blobs(bench)) == (Ending.HANDED_BACK, None, [])


def test_each_run_has_a_blob_of_its_own(bench: Bench) -> None:
    names = {bench.bash(LONG, policy=KEEP, claim=claim).output_blob for claim in (1, 2, 2)}
    assert len(names) == 3
    assert all(name and name.startswith("etl/") for name in names)


def _broken(outcome: Outcome) -> None:
    assert (outcome.ending, outcome.exit_code, outcome.output_blob) == (Ending.DONE, 0, None)
    (line,) = outcome.log.splitlines()
    assert " WARNING the complete output was not kept: " in line
    assert "bytes left out" in outcome.output


@pytest.mark.parametrize("url", ["{folder}/file/below", "nosuch://bucket/x", "s3://bucket/x"])
def test_a_failing_blob_store_does_not_fail_the_job(bench: Bench, url: str) -> None:
    (bench.folder / "file").write_text("where a folder should be")
    bench.stores = bench.stores._replace(blobs=BlobStore(url.replace("{folder}", str(bench.folder))))
    _broken(bench.bash(LONG, policy=KEEP))
    assert bench.stores.blobs.losses == 1


def test_a_full_disk_does_not_fail_the_job(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(shutil, "copyfileobj", full)
    _broken(bench.bash(LONG, policy=KEEP))
    assert blobs(bench) == []


@pytest.fixture
def short_files() -> Iterator[None]:
    """Limit every file to 70,000 bytes, as a disk does that is full by then."""
    own = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (70_000, own[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, own)


@pytest.mark.usefixtures("short_files")
@pytest.mark.parametrize("size", [1, 1000, 4096, 65_536, 200_000])
def test_output_written_before_the_disk_was_full_is_kept(size: int) -> None:
    full = output.Spool()
    for _ in range(200_000 // size):
        full.add(b"x" * size)
    assert full.trouble == "it could not be written while the job ran: File too large"
    assert full.read().read() == b"x" * 70_000
    full.close()


def test_output_above_the_storage_limit_is_cut_and_logged(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(output, "SPOOLED_BYTES_MAX", 70_000)
    outcome = bench.bash(LONG, policy=KEEP)
    assert len(whole(bench, outcome.output_blob)) == 70_000
    assert "it is longer than 70000 bytes" in outcome.log
    assert bench.stores.blobs.losses == 1


def test_memory_does_not_grow_with_the_output(bench: Bench) -> None:
    before = psutil.Process().memory_info().rss
    outcome = bench.bash("yes x | head -c 300000000", policy=KEEP)
    assert psutil.Process().memory_info().rss - before < 64 * 1024 * 1024
    assert sum(map(len, bench.stores.blobs.read(str(outcome.output_blob)))) == 300_000_000


def test_a_missing_blob_is_an_error_without_the_password_of_the_store(tmp_path: Path) -> None:
    with pytest.raises(BlobsUnavailable, match="nothing could not be read"):
        list(BlobStore(str(tmp_path)).read("nothing"))
    with pytest.raises(BlobsUnavailable) as caught:
        list(BlobStore("nosuch://me:s3cr3t@host/x").read("nothing"))
    assert "s3cr3t" not in str(caught.value)


def test_keep_output_is_refused_for_a_function_in_a_thread(bench: Bench) -> None:
    assert "which a thread cannot have" in str(bench.call(lambda: None, policy=KEEP).error)


def test_output_above_the_quota_of_the_tenant_is_not_stored_and_the_log_names_the_limit(bench: Bench) -> None:
    outcome = bench.bash(LONG, policy=KEEP, quota=Tenant(output_bytes=99_999))
    assert (outcome.ending, outcome.output_blob, blobs(bench)) == (Ending.DONE, None, [])
    assert "the complete output of 100 KB was not kept: its tenant default has a limit of" in outcome.log
    within = bench.bash(LONG, policy=KEEP, quota=Tenant(output_bytes=100_000))
    assert len(whole(bench, within.output_blob)) == 100_000
