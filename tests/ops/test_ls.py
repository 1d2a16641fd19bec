"""``sluice ls`` by conditions and page by page, as an operator types it."""

import pytest

from sluice.ops.cli.main import main
from tests.ops.site import WORDS, Site

APPS = {
    "cart": {"job_id": "{n}_{shop}", "identifiers": {"n": "int"}, "bash_cmd": "true", "max_fails": 0},
    "trip": WORDS,
}


@pytest.fixture
def carts(site: Site) -> Site:
    site.define(APPS)
    for n, num in enumerate([5, 10, "9"]):
        site.world.submit("cart", f"{n}_oslo", kwargs={"num": num})
    site.world.submit("trip", "x")
    site.world.finish("cart/1_oslo")
    return site


def keys(document: object) -> list[str]:
    jobs = document["jobs"] if isinstance(document, dict) else document
    assert isinstance(jobs, list)
    return [job["key"] for job in jobs]


@pytest.mark.parametrize(
    ("where", "found"),
    [
        ("inputs.n >= 1 and inputs.shop = oslo", {"1_oslo", "2_oslo"}),
        ("ended is not null and ended > 10m", {"1_oslo"}),
    ],
)
def test_conditions_select_jobs_in_a_plain_list(carts: Site, where: str, found: set[str]) -> None:
    document = carts.says("ls", "--where", where)
    assert isinstance(document, list)
    assert set(keys(document)) == found


def test_a_condition_narrows_the_result_of_the_other_options(carts: Site) -> None:
    assert keys(carts.says("ls", "--app", "cart", "--state", "ready", "--where", "inputs.num = '9'")) == [
        "2_oslo"
    ]


def test_orders(carts: Site) -> None:
    assert keys(carts.says("ls", "--order", "created", "--asc")) == ["0_oslo", "1_oslo", "2_oslo", "x"]
    assert keys(carts.says("ls", "--order", "created")) == ["x", "2_oslo", "1_oslo", "0_oslo"]
    assert keys(carts.says("ls", "--asc", "--limit", "2")) == keys(carts.says("ls", "--limit", "9"))[::-1][:2]


def test_pages_follow_one_after_the_other(carts: Site) -> None:
    words = ("ls", "--order", "created", "--desc", "--limit", "3", "--page")
    first = carts.says(*words, "first")
    assert (keys(first), first["total"]) == (["x", "2_oslo", "1_oslo"], 4)
    second = carts.says(*words, first["next"])
    assert (keys(second), second["total"], second["next"]) == (["0_oslo"], 4, None)


def test_the_token_of_the_next_page_is_printed(carts: Site, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["ls", "--limit", "3", "--page", "first"]) == 0
    said = capfd.readouterr()
    assert "3 of 4. The next page: --page p1." in said.err
    token = said.err.split("--page ")[1].strip()
    assert main(["ls", "--limit", "3", "--page", token]) == 0
    assert "1 of 4.\n" in capfd.readouterr().err


def test_without_definitions_conditions_see_the_kwargs_alone(
    carts: Site, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SLUICE_APPS", "")
    assert main(["ls", "--where", "inputs.num > 9 or inputs.shop = oslo"]) == 0
    said = capfd.readouterr()
    assert "1_oslo" in said.out
    assert "0_oslo" not in said.out
    assert "check only kwargs" in said.err
    assert main(["ls", "--where", "type = bash"]) == 2
    assert "--apps FILE" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--where", "state = faild"), ["'faild' is no state", "fatal", "character 9, at 'faild'"]),
        (
            ("--where", "state = failed and"),
            ["the end is no field of a condition", "character 19, where it ends"],
        ),
        (("--where", "inputs.a = 'x"), ["quote is never closed", "character 12"]),
        (("--page", "zzz"), ["does not begin with p1.", "start again with the first page"]),
        (("--page", "first", "--limit", "0"), ["1 to 10000 jobs"]),
        (("--since", "1e300"), ["'1e300'", "neither a time"]),
    ],
)
def test_faults_are_reported_with_their_position(
    carts: Site, words: tuple[str, ...], told: list[str]
) -> None:
    error = carts.says("ls", *words, code=2)["error"]
    said = " ".join(error.values())
    assert [word for word in told if word not in said] == []
