"""Parsing of sources, valid and invalid."""

import pytest

from sluice.jobs.programs.errors import Unfit
from sluice.jobs.programs.source import parse_source
from tests.jobs.programs.archives import FORMS, archive
from tests.jobs.programs.shop import Shop
from tests.jobs.programs.web_server import WebServer

INVALID = "invalid type of archive / program: "
POSSIBLE = " (a source begins with http://, https://, rsync: or file:)"

SOURCES = {
    "http://bla.fasel/program-v1.zip": ("http", "zip", "bla.fasel"),
    "https://bla.fasel/program-v2.tar": ("https", "tar", "bla.fasel"),
    "https://bla.fasel:8443/crawler-1.tar.gz": ("https", "tar.gz", "bla.fasel"),
    "https://bla.fasel/x/run.sh": ("https", "run.sh", "bla.fasel"),
    "http://bla.fasel/run.sh?version=2": ("http", "run.sh", "bla.fasel"),
    "http://bla.fasel/a.tgz?as=b.zip": ("http", "tar.gz", "bla.fasel"),
    "http://BLA.fasel./a.ZIP": ("http", "zip", "bla.fasel"),
    "http://[::1]:8000/a.tar.xz": ("http", "tar.xz", "::1"),
    "http://bücher.example/a.zip": ("http", "zip", "xn--bcher-kva.example"),
    "rsync:bla.fasel:program-v1.zip": ("rsync", "zip", "bla.fasel"),
    "rsync:me@bla.fasel:/srv/crawler.tar.bz": ("rsync", "tar.bz2", "bla.fasel"),
    "rsync:bla.fasel:run.sh": ("rsync", "run.sh", "bla.fasel"),
    "rsync:/local/crawler-1.tar.gz": ("rsync", "tar.gz", ""),
    "rsync:also-local/crawler--2.tar.bz2": ("rsync", "tar.bz2", ""),
    "rsync:also-local/fasel/bla/run.sh": ("rsync", "run.sh", ""),
    "rsync:./with:colon.zip": ("rsync", "zip", ""),
    "file:run.sh": ("file", "run.sh", ""),
    "file:/srv/a.zip": ("file", "zip", ""),
    "file:///srv/a%20b.tgz": ("file", "tar.gz", ""),
    "file://localhost/srv/a.tar": ("file", "tar", ""),
}

NO_SOURCES = {
    "": INVALID,
    "rsync:a/b.rar": INVALID + "rsync:a/b.rar",
    "rsync:this/path/is/invalid/program.wrongExtension": INVALID
    + "rsync:this/path/is/invalid/program.wrongExtension",
    "http://h/a.rar?x=.zip": INVALID + "http://h/a.rar?***",
    "http://h/prerun.sh": INVALID + "http://h/prerun.sh",
    "http://h": INVALID + "http://h",
    "http:a.zip": INVALID + "http:a.zip",
    "http:///a.zip": INVALID + "http:///a.zip",
    "http://h:99999/a.zip": INVALID + "http://h:99999/a.zip",
    "http://h:0/a.zip": INVALID + "http://h:0/a.zip",
    "http://h/a b.zip": INVALID + "http://h/a b.zip",
    "ftp://me:secret@h/a.zip": INVALID + "ftp://***@h/a.zip" + POSSIBLE,
    "a.zip": INVALID + "a.zip" + POSSIBLE,
    "/srv/run.sh": INVALID + "/srv/run.sh" + POSSIBLE,
    "rsync:-e sh:a.zip": INVALID + "rsync:-e sh:a.zip",
    "rsync:-eh.zip": INVALID + "rsync:-eh.zip",
    "rsync:h:-a.zip": INVALID + "rsync:h:-a.zip",
    "rsync:-oProxyCommand=x@h:a.zip": INVALID + "rsync:-oProxyCommand=x@h:a.zip",
    "rsync:h;id:a.zip": INVALID + "rsync:h;id:a.zip",
    "rsync:h::module/a.zip": INVALID + "rsync:h::module/a.zip",
    "rsync://h/a.zip": INVALID + "rsync://h/a.zip (of an rsync daemon; write rsync:HOST:PATH or rsync:/PATH)",
    "file://elsewhere/a.zip": INVALID + "file://elsewhere/a.zip (file: cannot name another machine)",
    "file:": INVALID + "file:",
    "file:-a.zip": INVALID + "file:-a.zip",
    "file:/a\nb.zip": INVALID + "file:/a b.zip",
    " file:/a.zip": INVALID + "file:/a.zip",
    "file:/" + "a" * 3000 + ".zip": INVALID + "file:/" + "a" * 193 + "…",
}


@pytest.mark.parametrize("text", SOURCES)
def test_a_source_is_parsed_into_scheme_form_and_host(text: str) -> None:
    source = parse_source(text)
    assert (source.scheme, source.form, source.host) == SOURCES[text]


@pytest.mark.parametrize("text", NO_SOURCES)
def test_an_invalid_source_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(Unfit) as caught:
        parse_source(text)
    assert str(caught.value) == NO_SOURCES[text]


def test_secrets_in_a_url_are_not_shown() -> None:
    source = parse_source("https://me:pass@word@h:8443/a/b.zip?signature=secret#part")
    assert source.shown == "https://***@h:8443/a/b.zip?***"
    assert source.host == "h"


@pytest.mark.parametrize("form", [*FORMS, "run.sh"])
@pytest.mark.parametrize("scheme", ["file", "rsync", "http"])
def test_every_form_is_fetched_by_every_scheme(shop: Shop, web: WebServer, form: str, scheme: str) -> None:
    name, content = ("run.sh", archive("tar")) if form == "run.sh" else (f"crawler-1.{form}", archive(form))
    content = b"#!/bin/sh\necho ran\n" if form == "run.sh" else content
    path = shop.put(name, content, mode=0o755).removeprefix("file:")
    source = web.put(f"/x/{name}", content) if scheme == "http" else f"{scheme}:{path}"
    assert shop.run(source, name="crawler-1.1.23") == ("ran\n")
    assert shop.said[0] == f"attempting to fetch program 'crawler-1.1.23' from {source}"


NO_NAMES = ["", ".", "..", ".hidden", "-rf", "a/b", "a\\b", "a b", "a\nb", "a\0b", "ü", "a" * 101, "$(id)"]


@pytest.mark.parametrize("name", NO_NAMES)
def test_an_invalid_name_of_a_program_is_refused(shop: Shop, name: str) -> None:
    shown = repr(name if len(name) <= 80 else name[:79] + "…")
    assert shop.refusal(shop.put("a.zip", archive("zip")), name=name) == (
        f"{shown} cannot be the name of a program; it is made of letters, digits and ._+@=-, "
        "begins with a letter, a digit or _, and has at most 100 characters"
    )
