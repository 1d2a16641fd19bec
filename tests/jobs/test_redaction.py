"""Masking of secrets in texts that contain URLs."""

import time

import pytest

from sluice.jobs.model.pool import pool_of, spoken
from sluice.jobs.programs.errors import Unfit
from sluice.jobs.programs.source import parse_source
from sluice.jobs.text.redaction import masked, masked_kwargs, masked_url, masked_value
from tests.world import catalogue_of

TEXTS = {
    "https://me:s3cr3t@host/a.zip": "https://***@host/a.zip",
    "postgresql+psycopg://me:s3cr3t@host:5432/db?x=1": "postgresql+psycopg://***@host:5432/db?x=1",
    "ssh://s3cr3t@host/x": "ssh://***@host/x",
    "http://:s3cr3t@host/": "http://***@host/",
    "http://me:s3c@r3t@host/": "http://***@host/",
    "http://me:s3c/r3t@host/": "http://***@host/",
    "http://me:12/s3cr3t@host/": "http://me:12/s3cr3t@host/",
    "http://me:s3c?r#3t@host/": "http://***@host/",
    "from http://a:s3cr3t@b/ to http://c:s3cr3t@d/.": "from http://***@b/ to http://***@d/.",
    "http://a:s3cr3t@b/,http://c:s3cr3t@d/": "http://***@b/,http://***@d/",
    "https://host/@user/post": "https://host/@user/post",
    "https://host:8080/@user/post": "https://host:8080/@user/post",
    "me:no@host": "me:no@host",
    "https://host/x?page=3#top": "https://host/x?page=3#top",
}


@pytest.mark.parametrize("text", TEXTS)
def test_a_text_is_shown_without_the_passwords_of_its_urls(text: str) -> None:
    assert masked(text) == TEXTS[text]


def test_a_nested_value_is_shown_without_the_passwords_in_its_urls() -> None:
    value = {"a": ["http://u:p@h/", 1, None, {"b": 2.5, "http://u:p@h/": True}]}
    assert masked_value(value) == {"a": ["http://***@h/", 1, None, {"b": 2.5, "http://***@h/": True}]}


def test_the_query_of_a_source_is_masked_too() -> None:
    shown = masked_kwargs({"source": "https://h/a.zip?signature=x", "page": "https://h/?page=3"})
    assert shown == {"source": "https://h/a.zip?***", "page": "https://h/?page=3"}
    assert masked_kwargs({"source": "a question? yes", "n": 1}) == {"source": "a question? yes", "n": 1}


def test_the_cost_of_a_long_text_grows_with_its_length() -> None:
    """All three take 0.2 seconds of CPU. If the cost grew with the square, each would take 40 or more."""
    begun = time.process_time()
    for mask, text in (
        (masked, "://a:" * 200_000),
        (masked, "http://a:" + "x" * 250_000),  # The regular expression needs 60 bytes for each x.
        (masked_url, "@https:" + "//" * 1_000_000),
    ):
        is_unchanged = mask(text) == text  # A failed comparison of the texts would print them.
        assert is_unchanged
    assert time.process_time() - begun < 10


@pytest.mark.parametrize(
    "text",
    [
        "rsync://me:s3cr3t@host/a.zip",
        "rsync:host://me:s3cr3t@host/a.zip",
        "rsync:/x://me:s3cr3t@host/a.rar",
        "file://me:s3cr3t@host/a.zip",
        "file:x://me:s3cr3t@host/a.rar",
        "ftp://me:s3cr3t@host/a.zip",
        "http://me:s3cr3t@host/a.rar",
        "http://me:s3cr3t@host:99999/a.zip",
        "http://me:s3cr3t\n@host/a.zip",
        " http://me:s3c/r3t@host/a.zip",
    ],
)
def test_the_error_for_an_invalid_source_hides_its_password(text: str) -> None:
    with pytest.raises(Unfit) as caught:
        parse_source(text)
    assert "s3c" not in str(caught.value)


@pytest.mark.parametrize("length", [10, 300])
def test_the_shown_name_of_a_pool_hides_passwords_in_its_key(length: int) -> None:
    url = f"https://me:s3cr3t{'x' * length}@host/"
    names = [_pool(f"{url}{path}") for path in "ab"]
    assert names[0] != names[1]
    assert "s3c" not in "".join(map(spoken, names))


def _pool(url: str) -> str:
    words = {"job_id": "{n}", "bash_cmd": "true", "concurrency": {"key": "{kwargs.url}", "limit": 1}}
    app = catalogue_of({"a": words})["a"]
    return pool_of(app, app.policy, "1", {"url": url}) or ""
