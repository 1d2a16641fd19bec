"""An app's digest says whether it still does the same."""

from textwrap import dedent

import pytest

from jobs.catalogue import load
from tests.jobs.catalogue.sources import write

pytestmark = pytest.mark.usefixtures("here")


def _digest(text: str, app: str = "a") -> str:
    return load([write("a.py", "from jobs import app\n" + dedent(text))]).app(app).digest


def test_it_follows_what_the_app_does() -> None:
    base = _digest("@app(job_id='{n}')\ndef a(n): return 1")
    assert base == _digest("# A comment.\n\n@app(job_id='{n}')\ndef a(n): return 1")
    assert base != _digest("@app(job_id='{n}')\ndef a(n): return 2")
    assert base != _digest("@app(job_id='{n}', env={'A': '1'})\ndef a(n): return 1")
    assert base != _digest("@app(job_id='{m}')\ndef a(n): return 1")


def test_it_does_not_follow_how_often_or_how_long() -> None:
    base = _digest("@app(job_id='{n}')\ndef a(n): return 1")
    policy = "max_fails=3, timeout='2s', priority=5, retry={'rule': 'random', 'seconds': 1}"
    assert base == _digest(f"@app(job_id='{{n}}', {policy})\ndef a(n): return 1")


def test_it_follows_the_order_of_groups_and_not_of_words() -> None:
    def digest(depends_on: str, *words: str) -> str:
        text = f'{{"p": {{"job_id": "{{n}}"}}, "c": {{"depends_on": {depends_on}, {", ".join(words)}}}}}'
        return load([write("a.json", text)]).app("c").digest

    one, other = '"g": {"app_name": ["p"]}', '"h": {"app_name": ["p"], "n": ["1"]}'
    words = ('"job_id": "{n}"', '"bash_cmd": "true"')
    base = digest(f"{{{one}, {other}}}", *words)
    assert base == digest(f"{{{one}, {other}}}", *reversed(words))
    assert base != digest(f"{{{other}, {one}}}", *words)
    assert base == digest(f"{{{one}, {other}}}", words[0].replace("job_id", "job_id_template"), words[1])
