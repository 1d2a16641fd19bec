"""Secrets that must appear nowhere. Each secret is a unique word, and all visible output is searched for it.

The output of an app's own code is not searched. A password in a key is shown, because the key is the job's name.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, urlsplit

import psutil
import pytest

from sluice.broker.signing import SECRET_LENGTH_MIN
from sluice.jobs.states import State
from sluice.ledger.database.connection import Ledger
from tests.live.collector import Collector, collecting
from tests.live.fleet import ROOT, Fleet, fleet, wait_until
from tests.ops.caller import Caller, console
from tests.ops.typist import Typist
from tests.world import empty

SECRETS = {
    name: f"canary{name}7b3f9d"
    for name in (
        "broker",
        "token",
        "view",
        "lineage",
        "trace",
        "env",
        "os",
        "source",
        "query",
        "kwarg",
        "typed",
    )
}
#: Padded to the required length of the secret of a key.
SECRETS["signing"] = "canarysigning".ljust(SECRET_LENGTH_MIN, "5")
#: No server answers at port 1.
SOURCE = f"http://me:{SECRETS['source']}@127.0.0.1:1/a.zip?signature={SECRETS['query']}"
#: Contents of a submission: a URL with a password, and a value for the environment.
KWARGS = json.dumps({"page": f"http://me:{SECRETS['kwarg']}@host/"}).replace(" ", "")
FETCHED = json.dumps({"source": SOURCE}).replace(" ", "")
POLICY = json.dumps({"env": {"OTHER_KEY": SECRETS["env"]}}).replace(" ", "")
COMMANDS = [
    "ls",
    "show held 1",
    "show fetched 1",
    "show raises 1",
    "why held 1",
    "why fetched 1",
    "logs fetched 1",
    "logs raises_apart 1",
    "logs --course raises 1",
    "plan held 2",
    "submissions",
    "workers",
    "graph held 1",
    "apps show held",
    "apps show fetched",
    "metrics",
    "audit",
    "doctor",
    "config show",
]


class Scene:
    """A worker that holds one job, while others have failed, and a command line to query it."""

    def __init__(self, kind: str, desk: Typist, workers: Fleet, secrets: dict[str, str]) -> None:
        self.kind = kind
        self.desk = desk
        self.workers = workers
        self.secrets = secrets

    def plays(self) -> None:
        """Submit all jobs. Wait until the failing jobs have failed and the waiting job runs."""
        for words in (
            f"submit held 1 --policy {POLICY} --kwargs {KWARGS}",
            f"submit fetched 1 --kwargs {FETCHED}",
            f"submit raises 1 --kwargs {KWARGS}",
            f"submit raises_apart 1 --kwargs {KWARGS}",
        ):
            said = self.desk.runs(*_split(words))
            assert said.code == 0, said.err
        for app in ("fetched", "raises", "raises_apart"):
            self.desk.waits_until(app, "1", State.FAILED)
        self.desk.waits_until("held", "1", State.RUNNING)
        wait_until((self.desk.folder / "held").exists, within_s=30)

    def told(self, text: str) -> list[str]:
        """Return the names of the secrets in a text, plain or quoted as in a URL."""
        return [name for name, word in self.secrets.items() if word in text or quote(word) in text]


@pytest.fixture(scope="module")
def collector() -> Iterator[Collector]:
    with collecting() as made:
        yield made


@pytest.fixture(scope="module", params=["text", "json"])
def scene(
    request: pytest.FixtureRequest,
    live_ledger_url: str,
    redis: str,
    tmp_path_factory: pytest.TempPathFactory,
    collector: Collector,
) -> Iterator[Scene]:
    folder = tmp_path_factory.mktemp("scene")
    servers = {
        "SLUICE_LEDGER_URL": live_ledger_url,
        "SLUICE_BROKER_URL": redis.replace("redis://", f"redis://default:{SECRETS['broker']}@"),
    }
    words = {
        "SLUICE_CONSOLE_TOKEN": SECRETS["token"],
        "SLUICE_CONSOLE_VIEW_TOKEN": SECRETS["view"],
        "SLUICE_LINEAGE_URL": "http://127.0.0.1:1",
        "SLUICE_LINEAGE_TOKEN": SECRETS["lineage"],
        "SLUICE_MESSAGE_KEYS": f"now:{SECRETS['signing']}",
        "SLUICE_PROGRAM_HOSTS": "127.0.0.1",
        "SLUICE_LOG": request.param,
        "SLUICE_TRACE": "on",
        "SLUICE_TRACE_HEADERS": f"authorization=Bearer%20{SECRETS['trace']}",
        "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url,
        "OTEL_BSP_SCHEDULE_DELAY": "100",
        "FROM_OS": SECRETS["os"],
    }
    ledger, broker = servers.values()
    apps = str(_definitions(folder))
    desk = Typist(folder, SLUICE_APPS=apps, **servers, **words)
    desk.ledger = Ledger(ledger)
    desk.ledger.transact(empty)
    with fleet(1, folder, ledger=ledger, broker=broker, apps=apps, **words) as workers:
        made = Scene(request.param, desk, workers, SECRETS | {"ledger": urlsplit(ledger).password or ""})
        made.plays()
        yield made
    desk.ledger.close()


def _definitions(folder: Path) -> Path:
    talkative = Path(__file__).with_name("talkative.py")
    document = {
        "held": {
            "job_id": "{n}",
            "bash_cmd": f"touch {folder}/held; while ! [ -e {folder}/go ]; do sleep 0.1; done; exit 3",
            "env": {"API_KEY": SECRETS["env"]},
            "env_from_os": ["FROM_OS"],
            "submitters_may_set": ["env"],
        },
        "fetched": {"job_id": "{n}", "job_type": "program", "env": {"API_KEY": SECRETS["env"]}},
        "raises": {"job_id": "{n}", "function": f"{talkative}:raises", "max_fails": 1},
        "raises_apart": {
            "job_id": "{n}",
            "function": f"{talkative}:raises",
            "isolate": True,
            "env": {"API_KEY": SECRETS["env"]},
            "env_from_os": ["FROM_OS"],
        },
    }
    path = folder / "apps.json"
    path.write_text(json.dumps(document))
    return path


def _split(words: str) -> list[str]:
    return words.split(" ")


@pytest.mark.timeout(900)
def test_no_command_shows_a_secret(scene: Scene) -> None:
    told: dict[str, list[str]] = {}
    for command in COMMANDS:
        said = scene.desk.runs(*_split(command), "--json" if scene.kind == "json" else "--verbose")
        assert said.code in {0, 1}, (command, said)
        told[command] = scene.told(said.out + said.err)
    assert {command: names for command, names in told.items() if names} == {}


def test_the_console_shows_no_secret(scene: Scene) -> None:
    """Request each page and document. Parameters in a path are filled with the names of one job."""
    with console(scene.desk) as caller:
        asker = Caller(caller.port, Authorization=f"Bearer {SECRETS['token']}")
        paths = asker.reads("/api/openapi.json")["paths"]
        places = [path for path, methods in paths.items() if "get" in methods and path != "/api/events"]
        values = {"app": "held", "key": "1", "format": "json"}
        told: dict[str, list[str]] = {}
        seen = 0
        for place in ["/", *places]:
            for app in ("held", "fetched", "raises"):
                known = values | {"app": app}
                path = re.sub(r"\{(\w+)\}", lambda found, known=known: known.get(found[1], "1"), place)
                answer = asker.gets(path)
                seen += answer.status == 200
                told[path] = scene.told(answer.body.decode("utf-8", "replace") + str(answer.headers))
        refused = asker.gets("/api/jobs", Authorization=f"Bearer {SECRETS['typed']}")
        told["refused"] = scene.told(refused.body.decode())
        assert refused.status == 401
    assert seen > len(places)
    assert {path: names for path, names in told.items() if names} == {}


def test_no_process_has_a_secret_in_its_title(scene: Scene) -> None:
    """List the processes of the whole machine while a job runs, as any logged-in user can."""
    with console(scene.desk):
        titles = {each.pid: " ".join(each.info["cmdline"] or []) for each in psutil.process_iter(["cmdline"])}
    own = f"{scene.desk.folder}/held; while"
    (job,) = {pid for pid, title in titles.items() if own in title and "bash -c" in title}
    environment = str(psutil.Process(job).environ())
    assert sorted(scene.told(environment)) == ["env", "os"], "the job itself must get its secrets"
    assert {pid: scene.told(title) for pid, title in titles.items() if scene.told(title)} == {}


def test_no_trace_contains_a_secret(scene: Scene, collector: Collector) -> None:
    wait_until(lambda: collector.named("run raises") or len(collector.bodies) > 3, within_s=30)
    assert scene.told(b"".join(collector.bodies).decode("utf-8", "replace")) == []


def test_no_log_contains_a_secret(scene: Scene) -> None:
    """Search all levels of all libraries: the definitions enable them.

    The worker is stopped to get its last lines, too.
    """
    log = scene.workers.log()
    assert "DEBUG" in log or '"level":"debug"' in log
    assert scene.told(log) == []
    scene.workers.terminate()
    assert scene.told(scene.workers.log()) == []


@pytest.mark.parametrize(
    "words",
    [
        ["--ledger", "postgresql://me:{typed}@127.0.0.1:1/x", "ls"],
        ["--ledger", "postgresql://me:{typed}@no.such.host.invalid/x", "ls"],
        ["--ledger", "postgresql://me:{typed}@host:port/x", "ls"],
        ["--ledger", "mysql://me:{typed}@host/x", "ls"],
        ["--broker", "amqp://me:{typed}@127.0.0.1:1/x", "doctor"],
        ["--broker", "amqp://guest:{typed}@127.0.0.1/x", "doctor"],
        ["--broker", "amqp://me:{typed}@host:port/x", "doctor"],
        ["--broker", "redis://me:{typed}@127.0.0.1:1/0", "doctor"],
        ["--broker", "redis://me:{typed}@127.0.0.1:6379/x", "doctor"],
        ["--broker", "kafka://me:{typed}@host/x", "doctor"],
        ["--apps", "redis://me:{typed}@127.0.0.1:1/0/key", "apps", "check"],
        ["--apps", "https://me:{typed}@127.0.0.1:1/x.json", "apps", "check"],
    ],
)
def test_no_error_shows_a_password_from_the_command_line(
    words: list[str], live_ledger_url: str, folder: Path
) -> None:
    """Search the traceback, too. It ends with messages of drivers, which quote their arguments."""
    secret = SECRETS["typed"]
    outer = {name: text for name, text in os.environ.items() if not name.startswith("SLUICE_")}
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "sluice.ops.cli.main",
            *(word.format(typed=secret) for word in words),
            "--debug",
        ],
        cwd=folder,
        env=outer | {"PYTHONPATH": str(ROOT), "SLUICE_LEDGER_URL": live_ledger_url},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode in {1, 2, 3}, done
    assert done.stdout + done.stderr
    assert secret not in done.stdout + done.stderr
