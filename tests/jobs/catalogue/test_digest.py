"""Digest of an app. It changes with the work or the dependencies of the app, and not with its policy."""

import json
from textwrap import dedent

import pytest

from sluice.jobs.catalogue import load
from tests.jobs.catalogue.sources import write

pytestmark = pytest.mark.usefixtures("here")


def _digest(text: str, app: str = "a") -> str:
    return load([write("a.py", "from sluice import app\n" + dedent(text))]).app(app).digest


def test_the_digest_depends_on_the_work_of_the_app() -> None:
    base = _digest("@app(job_id='{n}')\ndef a(n): return 1")
    assert base == _digest("# A comment.\n\n@app(job_id='{n}')\ndef a(n): return 1")
    assert base != _digest("@app(job_id='{n}')\ndef a(n): return 2")
    isolated = [
        _digest(f"@app(job_id='{{n}}', isolate=True, env={{'A': '{text}'}})\ndef a(n): ...") for text in "12"
    ]
    assert isolated[0] != isolated[1]
    assert base != _digest("@app(job_id='{m}')\ndef a(n): return 1")


def test_the_digest_does_not_depend_on_the_policy() -> None:
    base = _digest("@app(job_id='{n}')\ndef a(n): return 1")
    policy = "max_fails=3, timeout='2s', priority=5, retry={'rule': 'random', 'seconds': 1}"
    assert base == _digest(f"@app(job_id='{{n}}', {policy})\ndef a(n): return 1")


def _declared(**words: object) -> str:
    return load([write("a.json", json.dumps({"a": {"job_id": "{n}", **words}}))]).app("a").digest


def test_the_digest_depends_on_the_code_of_the_job_manager(monkeypatch: pytest.MonkeyPatch) -> None:
    grid = """
        class Grid:
            def run(self, job): return {}
            def check(self, handle): ...
            def cancel(self, handle): ...
    """

    def digest(folder: str, text: str) -> str:
        write(f"{folder}/grid.py", text)
        monkeypatch.chdir(folder)
        try:
            return _declared(job_type="grid.py:Grid")
        finally:
            monkeypatch.chdir("..")

    base = digest("one", grid.format(1))
    assert base == digest("two", f"\n        # Moved.\n{grid.format(1)}")
    assert base != digest("three", grid.format(2))


def test_the_digest_depends_on_the_module_and_options_of_a_spark_job() -> None:
    def digest(text: str, **words: object) -> str:
        return _declared(job_type="pyspark", pymodule=write("m.py", text), **words)

    base = digest("def main(sc): return 1")
    assert base == digest("def main(sc): return 1")
    assert base != digest("def main(sc): return 2")
    assert base != digest("def main(sc): return 1", spark_conf={"spark.cores.max": "4"})


def test_the_digest_depends_on_the_options_of_a_program_but_not_its_limits() -> None:
    digests = [
        _declared(source="file:/a/run.sh"),
        _declared(source="file:/b/run.sh"),
        _declared(source="file:/a/run.sh", program="other"),
        _declared(source="file:/a/run.sh", input="{n}"),
        _declared(source="file:/a/run.sh", sha256="0" * 64),
        _declared(source="file:/a/run.sh", fail_on="exit"),
    ]
    assert len(set(digests)) == len(digests)
    limited = _declared(source="file:/a/run.sh", limits={"cpu": 5}, keep_output=True)
    assert limited == digests[0] == _declared(job_type="program", source="file:/a/run.sh")


def test_the_digest_depends_on_the_order_of_groups_but_not_of_options() -> None:
    def digest(depends_on: str, *words: str) -> str:
        text = f'{{"p": {{"job_id": "{{n}}"}}, "c": {{"depends_on": {depends_on}, {", ".join(words)}}}}}'
        return load([write("a.json", text)]).app("c").digest

    one, other = '"g": {"app_name": ["p"]}', '"h": {"app_name": ["p"], "n": ["1"]}'
    words = ('"job_id": "{n}"', '"bash_cmd": "true"')
    base = digest(f"{{{one}, {other}}}", *words)
    assert base == digest(f"{{{one}, {other}}}", *reversed(words))
    assert base != digest(f"{{{other}, {one}}}", *words)
    assert base == digest(f"{{{one}, {other}}}", words[0].replace("job_id", "job_id_template"), words[1])


def test_the_digest_depends_on_max_lag() -> None:
    """A job keeps the dependencies that it was planned with. Its digest shows that these have changed since."""

    def digest(**lag: object) -> str:
        apps = {"p": {"job_id": "{n}"}, "c": {"job_id": "{n}", "depends_on": {"app_name": ["p"], **lag}}}
        return load([write("a.json", json.dumps(apps))]).app("c").digest

    assert len({digest(), digest(max_lag=0), digest(max_lag="6h"), digest(max_lag="7h")}) == 4
