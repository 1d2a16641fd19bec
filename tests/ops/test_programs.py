"""Programs, from the server that offers them to the output of their runs."""

import hashlib
import io
import tarfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.ops.typist import Typist

RUN = """#!/bin/sh
. ./words.sh
echo "$greeting $*"
case "$2" in
  long) yes 0123456789 | head -c 200000; echo; echo the end;;
  warn) echo "careful" >&2;;
esac
"""
APPS = {
    "greet": {"job_id": "{name}_{how}", "input": "{name} {how}", "keep_output": True},
    "anything": {"job_id": "{n}", "job_type": "program", "limits": {"processes": 20}, "timeout": "1m"},
}


class Shop:
    """Server of one archive, which counts its downloads."""

    def __init__(self, port: int, archive: bytes) -> None:
        self.source = f"http://127.0.0.1:{port}/greeter-1.2.tar.gz"
        self.digest = hashlib.sha256(archive).hexdigest()
        self.visits = 0


def _archive() -> bytes:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w:gz") as archive:
        for name, text in (("run.sh", RUN), ("words.sh", "greeting=hello\n")):
            member = tarfile.TarInfo(name)
            member.size, member.mode = len(text), 0o755
            archive.addfile(member, io.BytesIO(text.encode()))
    return content.getvalue()


@contextmanager
def _shop() -> Iterator[Shop]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            shop.visits += 1
            self.send_response(200)
            self.send_header("Content-Length", str(len(archive)))
            self.end_headers()
            self.wfile.write(archive)

        def log_request(self, *_: object) -> None:
            """Log nothing, because people read the output of the tests."""

    archive = _archive()
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        shop = Shop(server.server_port, archive)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield shop
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def shop() -> Iterator[Shop]:
    with _shop() as shop:
        yield shop


@pytest.fixture
def programs(desk: Typist, shop: Shop) -> Typist:
    greet = APPS["greet"] | {"source": shop.source, "sha256": shop.digest}
    desk.apps("programs.json", APPS | {"greet": greet})
    typist = Typist(
        desk.folder, **{name: text for name, text in desk.environment.items() if "SLUICE" in name}
    )
    typist.environment |= {"SLUICE_APPS": "programs.json", "SLUICE_PROGRAM_HOSTS": "127.0.0.1"}
    return typist


def test_a_program_is_fetched_once_and_its_output_is_shown(programs: Typist, shop: Shop) -> None:
    said = programs.types("run", "greet", "ann_kindly", "bob_kindly", "--json")
    assert (said.code, said.document["jobs"]) == (0, {"succeeded": 2}), said
    assert programs.types("run", "greet", "cid_kindly").code == 0
    assert shop.visits == 1
    (once,) = programs.asks("show", "greet", "bob_kindly")["rounds"]
    assert (once["output"], once["stderr"], once["exit_code"]) == ("hello bob kindly\n", "", 0)
    assert (once["output_blob"], once["stderr_blob"]) == (None, None)
    rounds = [programs.asks("show", "greet", f"{name}_kindly")["rounds"] for name in ("ann", "bob")]
    log = "".join(each["log"] or "" for (each,) in rounds)
    assert "attempting to fetch program 'greet' from" in log
    assert "fetched program 'greet'" in log
    told = programs.types("logs", "greet", "ann_kindly").out
    assert "hello ann kindly" in told


def test_text_on_stderr_fails_a_program_by_default(programs: Typist) -> None:
    assert programs.types("run", "greet", "ann_warn").code == 1
    (once,) = programs.asks("show", "greet", "ann_warn")["rounds"]
    assert (once["exit_code"], once["error"]) == (0, "wrote to stderr: careful")
    assert programs.types("run", "greet", "bob_warn", "--fail-on", "exit").code == 0


def test_an_output_that_is_too_long_for_the_ledger_is_printed_whole(programs: Typist) -> None:
    assert programs.types("run", "greet", "ann_long").code == 0
    (once,) = programs.asks("show", "greet", "ann_long")["rounds"]
    assert "bytes left out" in once["output"]
    assert once["output_blob"].startswith("greet/")
    told = programs.types("logs", "greet", "ann_long").out
    body = ("0123456789\n" * 20_000)[:200_000]
    assert told.partition("hello ann long\n")[2] == f"{body}\nthe end\n"
    assert "bytes left out" not in told
    (same,) = programs.asks("logs", "greet", "ann_long")["rounds"]
    assert (same["output"], same["output_blob"]) == (once["output"], once["output_blob"])

    elsewhere = programs.types("logs", "greet", "ann_long", SLUICE_BLOBS_URL=f"{programs.folder}/not-there")
    assert elsewhere.code == 0
    assert "bytes left out" in elsewhere.out
    assert "could not be read" in elsewhere.err


def test_a_submission_can_name_its_own_program(programs: Typist, tmp_path: Path) -> None:
    script = tmp_path / "run.sh"
    script.write_text('#!/bin/sh\necho "$# of $*"\n')
    script.chmod(0o755)
    kwargs = f'{{"source": "file:{script}", "input": "a; echo pwn"}}'
    assert programs.types("submit", "anything", "1", "--kwargs", kwargs).code == 0
    assert programs.types("submit", "anything", "2", "--kwargs", '{"source": "rsync:a/b.rar"}').code == 0
    assert programs.types("up", "--drain").code == 0
    (once,) = programs.asks("show", "anything", "1")["rounds"]
    assert once["output"] == "3 of a; echo pwn\n"
    (once,) = programs.asks("show", "anything", "2")["rounds"]
    assert once["error"] == "invalid type of archive / program: rsync:a/b.rar"


def test_a_program_on_a_host_that_is_not_allowed_is_not_fetched(programs: Typist, shop: Shop) -> None:
    before = shop.visits
    said = programs.types(
        "run",
        "--bypass",
        "greet",
        "ann_kindly",
        "--json",
        SLUICE_PROGRAM_HOSTS="",
        SLUICE_PROGRAMS_DIR="other",
    )
    (job,) = said.document["jobs"]
    assert said.code == 1
    assert "127.0.0.1" in job["error"]
    assert shop.visits == before


def test_a_program_runs_without_the_ledger(programs: Typist) -> None:
    said = programs.types("run", "--bypass", "greet", "ann_kindly")
    assert (said.code, said.out) == (0, "hello ann kindly\n")


def test_an_app_shows_its_program_without_the_password_of_its_source(programs: Typist) -> None:
    app = {
        "job_id": "{n}",
        "source": "https://me:s3cr3t@host/{n}.zip",
        "input": "{n}",
        "limits": {"cpu": "1m", "memory": "1KB"},
    }
    programs.apps("secret.json", {"a": app})
    shown = programs.asks("--apps", "secret.json", "apps", "show", "a")
    assert shown["program"]["input"] == "{n}"
    assert shown["policy"]["limits"] == {"cpu_s": 60.0, "memory_bytes": 1000}
    told = programs.types("--apps", "secret.json", "apps", "show", "a").out
    assert "host/{n}.zip" in told
    assert '  {"cpu": "1m", "memory": "1KB"}' in told
    assert "s3cr3t" not in told + str(shown)
    assert "limits" not in programs.types("apps", "show", "greet").out
