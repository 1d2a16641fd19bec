"""Who may ask a console, and for what: by the tokens of two roles, by a session, and from where."""

from collections.abc import Iterator

import pytest

from ops.console.gate import COOKIE, Gate, Role
from tests.ops.caller import Caller, console
from tests.ops.typist import Typist

OPERATE, VIEW = "a word that nobody guesses", "another that nobody does"


@pytest.fixture(scope="module")
def guarded(desk_of_module: Typist) -> Iterator[Caller]:
    with console(desk_of_module, SLUICE_CONSOLE_TOKEN=OPERATE, SLUICE_CONSOLE_VIEW_TOKEN=VIEW) as caller:
        yield caller


def of(caller: Caller, token: str) -> Caller:
    return Caller(caller.port, Authorization=f"Bearer {token}")


def signed_in(caller: Caller, token: str, **headers: str) -> tuple[Caller, str]:
    """Somebody who has the cookie of a session, and that cookie as it was set."""
    told = caller.posts("/api/session", {"token": token}, **headers)
    assert told.status == 200, told
    cookie = told.headers["Set-Cookie"]
    return Caller(caller.port, Cookie=cookie.partition(";")[0]), cookie


def test_without_a_token_nobody_is_told_anything(guarded: Caller) -> None:
    paths = ("/api/session", "/api/overview", "/api/openapi.json", "/api/events?watch=overview", "/api/none")
    assert {guarded.gets(path).status for path in paths} == {401}
    assert guarded.posts("/api/submissions/none/cancel").status == 401


def test_who_looks_may_not_act(guarded: Caller) -> None:
    viewer = of(guarded, VIEW)
    assert viewer.reads("/api/session")["role"] == "view"
    assert viewer.gets("/api/submissions").status == 200
    told = viewer.posts("/api/submissions/none/cancel")
    assert (told.status, told.headers["Content-Type"]) == (403, "application/problem+json")
    operator = of(guarded, OPERATE)
    assert operator.reads("/api/session")["role"] == "operate"
    assert operator.posts("/api/submissions/none/cancel").status == 422


@pytest.mark.parametrize(("token", "role", "status"), [(VIEW, "view", 403), (OPERATE, "operate", 422)])
def test_a_session_stands_for_the_token(token: str, role: str, status: int, guarded: Caller) -> None:
    session, cookie = signed_in(guarded, token)
    assert cookie.endswith("; Path=/; HttpOnly; SameSite=Strict")
    assert token not in cookie
    assert session.reads("/api/session") == {
        "role": role,
        "needs_token": True,
        "who": f"{role} from 127.0.0.1",
    }
    assert session.posts("/api/submissions/none/cancel").status == status
    signed_out = session.calls("DELETE", "/api/session", None)
    assert f"{COOKIE}=;" in signed_out.headers["Set-Cookie"]
    assert "Max-Age=0" in signed_out.headers["Set-Cookie"]


def test_a_session_is_of_its_role_and_of_its_console(guarded: Caller, desk_of_module: Typist) -> None:
    viewer, _ = signed_in(guarded, VIEW)
    forged = viewer.headers["Cookie"].replace("view.", "operate.")
    assert Caller(guarded.port, Cookie=forged).gets("/api/session").status == 401
    with console(desk_of_module, SLUICE_CONSOLE_TOKEN=OPERATE, SLUICE_CONSOLE_VIEW_TOKEN=VIEW) as other:
        assert Caller(other.port, **viewer.headers).gets("/api/session").status == 401


@pytest.mark.parametrize(
    "cookie",
    [
        "",
        "sluice_session",
        f"{COOKIE}=",
        f"{COOKIE}=view",
        f"{COOKIE}=view.",
        f"{COOKIE}=operate.00",
        f'{COOKIE}="',
    ],
)
def test_what_is_no_session_is_none(cookie: str, guarded: Caller) -> None:
    assert Caller(guarded.port, Cookie=cookie).gets("/api/session").status == 401


def test_a_wrong_token_is_told_so(guarded: Caller) -> None:
    assert guarded.posts("/api/session", {"token": "another"}).status == 401
    assert guarded.posts("/api/session", {"token": ""}).status == 401
    assert guarded.posts("/api/session", {}).status == 400
    assert of(guarded, "another").gets("/api/session").status == 401


def test_behind_a_proxy_that_has_https_the_cookie_is_for_that_alone(guarded: Caller) -> None:
    _, cookie = signed_in(guarded, VIEW, X_Forwarded_Proto="https")
    assert cookie.endswith("; Secure")


def test_a_page_of_another_origin_is_turned_away_with_a_session_too(guarded: Caller) -> None:
    session, _ = signed_in(guarded, OPERATE)
    told = session.posts("/api/submissions/none/cancel", Origin="https://elsewhere.example.org")
    assert told.status == 403
    assert guarded.posts("/api/session", {"token": OPERATE}, Origin="null").status == 403


def test_every_answer_says_what_a_page_may_do_with_it(guarded: Caller) -> None:
    for told in (guarded.gets("/"), guarded.gets("/api/session"), of(guarded, VIEW).gets("/api/submissions")):
        policy = told.headers["Content-Security-Policy"]
        assert policy.startswith("default-src 'self'; ")
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert told.headers["X-Content-Type-Options"] == "nosniff"
        assert told.headers["Referrer-Policy"] == "no-referrer"


def test_with_a_token_for_looking_alone_nobody_acts(desk_of_module: Typist) -> None:
    with console(desk_of_module, SLUICE_CONSOLE_VIEW_TOKEN=VIEW) as caller:
        assert of(caller, VIEW).posts("/api/submissions/none/cancel").status == 403
        assert caller.posts("/api/submissions/none/cancel").status == 401


def test_where_no_token_is_needed_there_is_nothing_to_sign_in_for(desk_of_module: Typist) -> None:
    with console(desk_of_module) as caller:
        told = caller.posts("/api/session", {"token": "whatever"})
        assert (told.status, "Set-Cookie" in told.headers) == (200, False)
        assert caller.reads("/api/session")["needs_token"] is False


def test_a_proxy_on_this_machine_says_for_whom_it_asks(guarded: Caller) -> None:
    operator = of(guarded, OPERATE)
    told = operator.gets("/api/session", X_Forwarded_For="10.0.0.1, 192.0.2.7").document
    assert told["who"] == "operate from 192.0.2.7 by way of 127.0.0.1"
    told = operator.gets("/api/session", X_Forwarded_For="<script>").document
    assert told["who"] == "operate from 127.0.0.1"


def test_one_word_for_both_roles_has_the_greater() -> None:
    assert Gate("a", "a").role_for("a") is Role.OPERATE
