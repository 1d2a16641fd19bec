"""Access control of a console: the tokens of two roles, sessions, and origins."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Thread

import pytest

from sluice.jobs.errors import BadSetting
from sluice.ops.console.access import AccessControl
from sluice.ops.console.http_message import Request
from sluice.ops.console.identity.roles import Role
from sluice.ops.console.identity.sessions import COOKIE, LASTS
from sluice.ops.console.own_token import FILE, kept_token, own_token
from tests.ops.caller import Caller, console, printed
from tests.ops.typist import Typist, ended

OPERATE, VIEW = "a token of an operator", "another token for viewers"


@pytest.fixture(scope="module")
def guarded(desk_of_module: Typist) -> Iterator[Caller]:
    with console(desk_of_module, SLUICE_CONSOLE_TOKEN=OPERATE, SLUICE_CONSOLE_VIEW_TOKEN=VIEW) as caller:
        yield caller


def of(caller: Caller, token: str) -> Caller:
    return Caller(caller.port, Authorization=f"Bearer {token}")


def signed_in(caller: Caller, token: str, **headers: str) -> tuple[Caller, str]:
    """Return a client with the cookie of a session, and the cookie as it was set."""
    told = caller.posts("/api/session", {"token": token}, **headers)
    assert told.status == 200, told
    cookie = told.headers["Set-Cookie"]
    return Caller(caller.port, Cookie=cookie.partition(";")[0]), cookie


def test_without_a_token_every_call_is_refused(guarded: Caller) -> None:
    paths = ("/api/session", "/api/overview", "/api/openapi.json", "/api/events?watch=overview", "/api/none")
    assert {guarded.gets(path).status for path in paths} == {401}
    assert guarded.posts("/api/submissions/none/cancel").status == 401


def test_the_view_role_may_read_but_not_act(guarded: Caller) -> None:
    viewer = of(guarded, VIEW)
    assert viewer.reads("/api/session")["role"] == "view"
    assert viewer.gets("/api/submissions").status == 200
    told = viewer.posts("/api/submissions/none/cancel")
    assert (told.status, told.headers["Content-Type"]) == (403, "application/problem+json")
    operator = of(guarded, OPERATE)
    assert operator.reads("/api/session")["role"] == "operate"
    assert operator.posts("/api/submissions/none/cancel").status == 422


@pytest.mark.parametrize(("token", "role", "status"), [(VIEW, "view", 403), (OPERATE, "operate", 422)])
def test_a_session_has_the_role_of_its_token(token: str, role: str, status: int, guarded: Caller) -> None:
    session, cookie = signed_in(guarded, token)
    assert cookie.endswith("; Path=/; HttpOnly; SameSite=Strict")
    assert token not in cookie
    assert session.reads("/api/session") == {
        "role": role,
        "who": f"{role} from 127.0.0.1",
        "tenant": None,
    }
    assert session.posts("/api/submissions/none/cancel").status == status
    signed_out = session.calls("DELETE", "/api/session", None)
    assert f"{COOKIE}=;" in signed_out.headers["Set-Cookie"]
    assert "Max-Age=0" in signed_out.headers["Set-Cookie"]


def test_a_session_is_valid_at_every_console_with_its_token(guarded: Caller, desk_of_module: Typist) -> None:
    viewer, _ = signed_in(guarded, VIEW)
    forged = viewer.headers["Cookie"].replace("view.", "operate.")
    assert Caller(guarded.port, Cookie=forged).gets("/api/session").status == 401
    with console(desk_of_module, SLUICE_CONSOLE_TOKEN=OPERATE, SLUICE_CONSOLE_VIEW_TOKEN=VIEW) as other:
        assert Caller(other.port, **viewer.headers).reads("/api/session")["role"] == "view"
    with console(
        desk_of_module, SLUICE_CONSOLE_TOKEN=OPERATE, SLUICE_CONSOLE_VIEW_TOKEN="changed to another"
    ) as other:
        assert Caller(other.port, **viewer.headers).gets("/api/session").status == 401


BEGAN = datetime(2026, 11, 20, tzinfo=UTC)


@pytest.mark.parametrize(
    ("after", "is_good"),
    [
        (timedelta(0), True),
        (LASTS - timedelta(seconds=1), True),
        (LASTS, False),
        # The clock of another machine may be ahead by minutes, but not by an hour.
        (timedelta(minutes=-4), True),
        (timedelta(hours=-1), False),
    ],
)
def test_a_session_expires(after: timedelta, is_good: bool) -> None:
    now = BEGAN
    gate = AccessControl(OPERATE, VIEW, clock=lambda: now)
    cookie = gate.session(Role.VIEW, Request(method="POST", path="/")).partition(";")[0]
    now += after
    who = gate.who(Request(method="GET", path="/", headers={"cookie": cookie}))
    assert (who is not None and who.role is Role.VIEW) is is_good


def test_a_forged_session_is_paused_like_a_wrong_token() -> None:
    """Otherwise a client could guess tokens by signing sessions with them. An expired session is not a guess."""
    now = BEGAN
    gate, guessed = (
        AccessControl(OPERATE, VIEW, clock=lambda: now),
        AccessControl("a guess", clock=lambda: now),
    )
    ask = Request(method="POST", path="/")
    ours, theirs = (each.session(Role.OPERATE, ask).partition(";")[0] for each in (gate, guessed))
    now += timedelta(days=1)

    def waits_s(cookie: str) -> float:
        return gate.stranger(Request(method="GET", path="/", headers={"cookie": cookie})).after_s

    assert [waits_s(cookie) for cookie in ("", f"{COOKIE}=", ours)] == [0, 0, 0]
    assert waits_s(theirs) > 0


@pytest.mark.parametrize(
    "cookie",
    [
        "",
        "sluice_session",
        f"{COOKIE}=",
        f"{COOKIE}=view",
        f"{COOKIE}=view.",
        f"{COOKIE}=operate.00",
        f"{COOKIE}=operate.1795140000.00",
        f"{COOKIE}=operate..",
        f"{COOKIE}=\u00fc.\u00fc.\u00fc",
        f'{COOKIE}="',
    ],
)
def test_a_malformed_session_is_refused(cookie: str, guarded: Caller) -> None:
    assert Caller(guarded.port, Cookie=cookie).gets("/api/session").status == 401


@pytest.mark.parametrize(
    "around",
    ['foo={"a":1}; %s', "flag; %s", "theme=a b; %s", "=; %s", ";;%s", f"{COOKIE}=older; %s", "%s; [bad]=\\"],
)
def test_unrelated_cookies_are_ignored(around: str, guarded: Caller) -> None:
    session, _ = signed_in(guarded, VIEW)
    sent = around % session.headers["Cookie"]
    assert Caller(guarded.port, Cookie=sent).reads("/api/session")["role"] == "view"


def test_a_wrong_token_is_refused(guarded: Caller) -> None:
    assert guarded.posts("/api/session", {"token": "another"}).status == 401
    assert guarded.posts("/api/session", {"token": ""}).status == 401
    assert guarded.posts("/api/session", {}).status == 400
    assert of(guarded, "another").gets("/api/session").status == 401


def test_behind_an_https_proxy_the_cookie_is_secure(guarded: Caller) -> None:
    _, cookie = signed_in(guarded, VIEW, X_Forwarded_Proto="https")
    assert cookie.endswith("; Secure")


def test_a_page_of_another_origin_is_refused_even_with_a_session(guarded: Caller) -> None:
    session, _ = signed_in(guarded, OPERATE)
    told = session.posts("/api/submissions/none/cancel", Origin="https://elsewhere.example.org")
    assert told.status == 403
    assert guarded.posts("/api/session", {"token": OPERATE}, Origin="null").status == 403
    assert guarded.gets("/api/session", Origin="http://[").status == 403
    assert session.gets("/api/session", Origin="http://[", Host="[").status == 403


def test_every_answer_has_the_security_headers(guarded: Caller) -> None:
    for told in (guarded.gets("/"), guarded.gets("/api/session"), of(guarded, VIEW).gets("/api/submissions")):
        policy = told.headers["Content-Security-Policy"]
        assert policy.startswith("default-src 'self'; ")
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert told.headers["X-Content-Type-Options"] == "nosniff"
        assert told.headers["Referrer-Policy"] == "no-referrer"


def test_with_a_view_token_only_no_client_may_act(desk_of_module: Typist) -> None:
    with console(desk_of_module, SLUICE_CONSOLE_VIEW_TOKEN=VIEW) as caller:
        assert of(caller, VIEW).posts("/api/submissions/none/cancel").status == 403
        assert caller.posts("/api/submissions/none/cancel").status == 401


def test_a_console_without_a_setting_makes_a_private_token(
    desk_of_module: Typist,
) -> None:
    with console(desk_of_module) as caller:
        assert caller.reads("/api/session")["role"] == "operate"
        assert Caller(caller.port).gets("/api/session").status == 401
        assert Caller(caller.port).posts("/api/submissions", {"app": "nap", "key": "1"}).status == 401
        kept = Path(desk_of_module.environment["SLUICE_HOME"]) / FILE
        assert kept.stat().st_mode & 0o777 == 0o600
        assert caller.headers["Authorization"] == f"Bearer {kept.read_text().strip()}"
    with console(desk_of_module) as other:
        assert other.headers == caller.headers, "sessions and kept addresses outlive a restart"


def test_a_token_file_that_other_users_can_read_is_refused(tmp_path: Path) -> None:
    made = own_token(tmp_path)
    assert (own_token(tmp_path), kept_token(tmp_path)) == (made, made)
    (tmp_path / FILE).chmod(0o644)
    with pytest.raises(BadSetting, match="is accessible to other users"):
        own_token(tmp_path)


def test_consoles_that_start_at_the_same_time_make_one_token(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as several:
        assert len({*several.map(lambda _: own_token(tmp_path / "home"), range(8))}) == 1
    assert [each.name for each in (tmp_path / "home").iterdir()] == [FILE]


def test_a_short_token_is_refused_at_the_start(desk_of_module: Typist) -> None:
    for name in ("SLUICE_CONSOLE_TOKEN", "SLUICE_CONSOLE_VIEW_TOKEN"):
        said = desk_of_module.types("console", "--listen", "127.0.0.1:0", **{name: "fifteen letters"})
        assert (said.code, said.out) == (2, "")
        assert f"{name} has 15 characters, fewer than 16" in said.err
        assert "openssl rand -hex 32" in said.err
        assert "fifteen" not in said.err


def test_a_proxy_on_this_machine_forwards_the_address_of_the_client(guarded: Caller) -> None:
    operator = of(guarded, OPERATE)
    told = operator.gets("/api/session", X_Forwarded_For="10.0.0.1, 192.0.2.7").document
    assert told["who"] == "operate from 192.0.2.7 by way of 127.0.0.1"
    told = operator.gets("/api/session", X_Forwarded_For="2001:DB8:0::1").document
    assert told["who"] == "operate from 2001:db8::1 by way of 127.0.0.1"
    for text in ("<script>", "fe80::1%any text", "fe80::1%eth0"):
        told = operator.gets("/api/session", X_Forwarded_For=text).document
        assert told["who"] == "operate from 127.0.0.1"


def test_wrong_tokens_are_logged_and_delay_no_right_token(desk_of_module: Typist) -> None:
    with desk_of_module.starts("console", "--listen", "127.0.0.1:0", SLUICE_CONSOLE_TOKEN=OPERATE) as process:
        assert process.stdout
        caller = printed(process.stdout.readline())
        wrong = [
            Thread(target=caller.posts, args=("/api/session", {"token": f"a guess {n}"})) for n in range(40)
        ]
        for each in wrong:
            each.start()
        assert of(caller, OPERATE).gets("/api/session").status == 200
        assert caller.posts("/api/session", {"token": OPERATE}).status == 200
        assert any(each.is_alive() for each in wrong)
        for each in wrong:
            each.join()
        process.terminate()
        said = ended(process)
    assert said.code == 0
    assert said.err.count("a token was refused, from 127.0.0.1") == 1
    assert "guess" not in said.err


def test_one_token_for_both_roles_has_the_operate_role() -> None:
    found = AccessControl("a", "a").identify("a")
    assert found is not None
    assert found.role is Role.OPERATE
