"""``from jobs import …`` is all that users write, and costs them little."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import jobs

#: What a worker or a display needs, and a definition does not.
SLOW = {
    "alembic",
    "apscheduler",
    "asyncio",
    "dramatiq",
    "networkx",
    "pika",
    "psycopg",
    "redis",
    "rich",
    "sqlalchemy",
    "sqlite3",
    "yaml",
}
ROOMS = {"actors", "broker", "ledger", "ops", "planner", "scheduler"}


def _printed(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=Path(jobs.__file__).parent.parent,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return done.stdout


def test_every_name_is_there() -> None:
    names = sorted(jobs.__all__)
    assert {"Step", "saga", "retry", "Success", "Retry", "Fatal", "Rerun", "Wait", "Stop"} <= set(names)
    said = f"from jobs import {', '.join(names)}; print(*({', '.join(f'{n}.__name__' for n in names)},))"
    assert _printed(said).split() == ["jobs.retry" if name == "retry" else name for name in names]


@pytest.mark.parametrize(
    "loaded",
    [
        "import jobs.app, jobs.schedule, jobs.retry, jobs.sagas.saga, jobs.sagas.step",
        "import jobs.catalogue, jobs.runners",
        "from jobs.retry import fixed",
        "",
    ],
)
def test_no_module_takes_the_place_of_what_is_called_like_it(loaded: str) -> None:
    """A module that is loaded late would be put there by the import."""
    said = (
        f"{loaded}\nimport jobs, types\nfrom jobs import app, retry, saga, schedule\n"
        "print(type(app).__name__, type(saga).__name__, type(schedule).__name__, type(retry).__name__)\n"
        "print(jobs.retry is retry, retry.fixed(seconds=1, times=2).begin(0.0).next_s(0.0, 0.5))"
    )
    assert _printed(said).split() == ["function", "function", "function", "module", "True", "1.0"]


def test_it_loads_no_driver_and_no_other_room() -> None:
    code = "import json, sys, jobs; print(json.dumps([name.partition('.')[0] for name in sys.modules]))"
    assert set(json.loads(_printed(code))) & (SLOW | ROOMS) == set()
