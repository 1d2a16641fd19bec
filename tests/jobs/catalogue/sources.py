"""Sources of definitions: the same two apps in each format, and the faults of a faulty source."""

from pathlib import Path
from textwrap import dedent

import pytest

from sluice.jobs.catalogue import load
from sluice.jobs.errors import DefinitionError

JSON = """
    {"default_job_id": "{day}_{n}",
     "p": {"bash_cmd": "echo {n}"},
     "c": {"depends_on": {"app_name": ["p"]}, "autofill_values": {"n": "10:20:2"}, "max_fails": 2}}
"""
TOML = """
    default_job_id = "{day}_{n}"
    [p]
    bash_cmd = "echo {n}"
    [c]
    depends_on = { app_name = ["p"] }
    autofill_values = { n = "10:20:2" }
    max_fails = 2
"""
YAML = """
    default_job_id: "{day}_{n}"
    p: {bash_cmd: "echo {n}"}
    c:
      depends_on: {app_name: [p]}
      autofill_values: {n: 10:20:2}
      max_fails: 2
"""
DECORATED = """
    from sluice import app

    @app(job_id="{day}_{n}", identifiers={"day": "date", "n": "int"})
    def first(day, n):
        return (day, n)

    @app(name="second.app", job_id="{day}_{n}", depends_on={"app_name": ["first"]}, isolate=True, timeout=2)
    async def second(job): ...
"""


def write(path: str, text: str) -> str:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(dedent(text))
    return path


def faults(*sources: str) -> list[tuple[str, str, str]]:
    with pytest.raises(DefinitionError) as caught:
        load(sources)
    return [(fault.source, fault.app, fault.what) for fault in caught.value.faults]
