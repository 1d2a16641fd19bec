"""Named tokens of the console: their file, their sessions, and the users of a trusted proxy."""

import json
import logging
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.actors.settings.settings import read_settings
from sluice.jobs.errors import BadSetting
from sluice.ops.console.access import AccessControl
from sluice.ops.console.background import check_tokens
from sluice.ops.console.http_message import Request
from sluice.ops.console.identity.proxy import TrustedProxy
from sluice.ops.console.identity.roles import Role
from sluice.ops.console.identity.sessions import LASTS, digest_of
from sluice.ops.console.identity.token_file import AccessList, Grant, NamedToken, TokenFile, read_access
from sluice.ops.console.server import ListenAddress
from tests.ops.caller import Caller, console
from tests.ops.typist import Typist

BEGAN = datetime(2026, 11, 20, tzinfo=UTC)
HERE = ListenAddress("127.0.0.1", 8484)
#: Texts of tokens, two of which a test compares.
SECRETS = ("first secret", "second secret", "third secret")


def named(token: str, role: Role = Role.OPERATE, tenant: str | None = None) -> NamedToken:
    return NamedToken(role=role, tenant=tenant, sha256=digest_of(token))


def asks(address: str = "192.0.2.1", **headers: str) -> Request:
    told = {name.replace("_", "-"): text for name, text in headers.items()}
    return Request(method="GET", path="/", headers=told, address=address)


def entry(token: str, role: str, tenant: str | None = None) -> str:
    of = "" if tenant is None else f", tenant: {tenant}"
    return f'{{role: {role}{of}, sha256: "{digest_of(token)}"}}'


class TestRoles:
    def test_each_role_may_do_what_the_roles_before_it_may(self) -> None:
        assert [[role.may(needed) for needed in Role] for role in Role] == [
            [True, False, False],
            [True, True, False],
            [True, True, True],
        ]

    def test_a_named_token_has_its_role_its_tenant_and_its_name_in_the_audit(self) -> None:
        listed = AccessList(tokens={"ci-risk": named("secret", Role.SUBMIT, "risk")})
        gate = AccessControl("an operator", listed=lambda: listed)
        who = gate.who(asks("10.0.0.7", authorization="Bearer secret"))
        assert who is not None
        assert (str(who), who.role, who.tenant) == ("ci-risk from 10.0.0.7", Role.SUBMIT, "risk")
        assert gate.who(asks(authorization="Bearer secrets")) is None
        assert gate.who(asks(authorization=f"Bearer {digest_of('secret')}")) is None
        operator = gate.who(asks(authorization="Bearer an operator"))
        assert operator is not None
        assert (str(operator), operator.tenant) == ("operate from 192.0.2.1", None)


class TestTheFile:
    def test_a_removed_token_and_its_session_are_refused_at_once(self, tmp_path: Path) -> None:
        file = tmp_path / "tokens.yaml"
        file.write_text(f"tokens: {{ci: {entry('secret', 'submit', 'risk')}}}")
        gate = AccessControl(None, listed=TokenFile(file).current)
        bearer = asks(authorization="Bearer secret")
        session = asks(cookie=gate.session("ci", bearer).partition(";")[0])
        for request in (bearer, session):
            who = gate.who(request)
            assert who is not None
            assert (who.name, who.role, who.tenant) == ("ci", Role.SUBMIT, "risk")
        # The same size, in the same moment.
        file.write_text(f"tokens: {{ci: {entry('secreT', 'submit', 'risk')}}}")
        assert (gate.who(bearer), gate.who(session)) == (None, None)
        file.write_text(f"tokens: {{ci: {entry('secret', 'view')}}}")
        for request in (bearer, session):
            who = gate.who(request)
            assert who is not None
            assert (who.role, who.tenant) == (Role.VIEW, None), "the role is that of the present entry"
        file.unlink()
        assert (gate.who(bearer), gate.who(session)) == (None, None)
        assert "Max-Age=0" in gate.session("ci", bearer), (
            "removed between the check of the token and the session"
        )

    def test_a_fault_refuses_named_tokens_and_is_logged_once(
        self, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        caplog.set_level(logging.INFO, "sluice.console")
        file = tmp_path / "tokens.yaml"
        right = f"tokens: {{ci: {entry('secret', 'view')}}}"
        file.write_text(right)
        gate = AccessControl("an operator", listed=TokenFile(file).current)
        assert gate.identify("secret")
        file.write_text(f"{right[:-1]}, other: x}}")
        for _ in range(3):
            assert gate.identify("secret") is None
        assert gate.identify("an operator")
        file.write_text(right)
        for _ in range(3):
            assert gate.identify("secret")
        told = [(each.levelname, each.getMessage().partition(": /")[0]) for each in caplog.records]
        assert told == [
            ("ERROR", "no named token is accepted"),
            ("INFO", "named tokens are accepted again"),
        ]

    @pytest.mark.parametrize(
        ("text", "reason"),
        [
            (f"tokens: {{operate: {entry('a', 'view')}}}", "'operate' is no name of a token"),
            (f"tokens: {{A.b: {entry('a', 'view')}}}", "'A.b' is no name of a token"),
            ("tokens: {a: {role: admin, sha256: ''}}", "Invalid enum value 'admin'"),
            ("tokens: {a: {role: view}}", "missing required field `sha256`"),
            ("tokens: {a: {role: view, sha256: abc}}", "matching regex"),
            ("tokens: {a: {role: view, sha: abc}}", "unknown field `sha`"),
            (
                f"tokens: {{a: {entry('x', 'view')}, b: {entry('x', 'operate')}}}",
                "a and b have the same sha256",
            ),
            (f"tokens: {{a: {entry('x', 'view')}, a: {entry('y', 'view')}}}", "a"),
            ("users: {ana: {role: view, tenant: Risk}}", "'Risk' is no name of a tenant"),
            ("token: {}", "unknown field `token`"),
            ("[]", "Expected `object`"),
            ("tokens: {", "not YAML"),
        ],
    )
    def test_a_faulty_file_is_refused_with_its_reason(self, text: str, reason: str, tmp_path: Path) -> None:
        with pytest.raises(ValueError, match=reason):
            read_access(text.encode())
        file = tmp_path / "tokens.yaml"
        file.write_text(text)
        settings = read_settings({"SLUICE_CONSOLE_TOKENS": "tokens.yaml"}, folder=tmp_path)
        with pytest.raises(BadSetting, match="SLUICE_CONSOLE_TOKENS"):
            check_tokens(HERE, settings)

    def test_json_and_an_empty_file_are_accepted(self) -> None:
        found = read_access(b'{"users": {"ana": {"role": "operate"}}}')
        assert found.users == {"ana": Grant(role=Role.OPERATE)}
        assert read_access(b"") == AccessList()

    def test_the_file_is_hidden_from_the_sandbox_of_jobs(self, tmp_path: Path) -> None:
        settings = read_settings({"SLUICE_CONSOLE_TOKENS": "tokens.yaml"}, folder=tmp_path)
        assert str(tmp_path / "tokens.yaml") in settings.fence.hidden


NAMES = st.sampled_from(["a", "b", "a-b"])
TOKENS = st.builds(
    named,
    st.sampled_from(SECRETS),
    st.sampled_from(list(Role)),
    st.sampled_from([None, "risk", "growth"]),
)
LISTS = st.dictionaries(NAMES, TOKENS).map(lambda tokens: AccessList(tokens=tokens))


@given(before=LISTS, after=LISTS, own=st.sampled_from([None, *SECRETS]), data=st.data())
def test_a_session_is_valid_as_long_as_its_token_and_no_longer(
    before: AccessList, after: AccessList, own: str | None, data: st.DataObject
) -> None:
    """A session opens what the token with its name and its secret opens now, until it is 12 hours old."""
    now, listed = BEGAN, before
    gate = AccessControl(own, listed=lambda: listed, clock=lambda: now)
    names = [*before.tokens, *(["operate"] if own else [])]
    if not names:
        return
    name = data.draw(st.sampled_from(names))
    secret = own if name == "operate" else None
    digest = before.tokens[name].sha256 if secret is None else digest_of(secret)
    cookie = gate.session(name, asks()).partition(";")[0]
    now += data.draw(st.timedeltas(timedelta(), 2 * LASTS))
    listed = after
    who = gate.who(asks(cookie=cookie))
    expected = NamedToken(role=Role.OPERATE, sha256=digest) if secret else after.tokens.get(name)
    if expected is None or expected.sha256 != digest or now - BEGAN >= LASTS:
        assert who is None
    else:
        assert who is not None
        assert (who.name, who.role, who.tenant) == (name, expected.role, expected.tenant)
    # No change of the text is valid, except for the session itself.
    forged = data.draw(st.sampled_from([*before.tokens, *after.tokens, "operate", "view"]))
    if forged != name:
        renamed = cookie.replace(f"={name}.", f"={forged}.")
        assert gate.who(asks(cookie=renamed)) is None


PROXY = TrustedProxy(networks=(ip_network("10.0.0.0/29"), ip_network("fd00::/64")))
ACCESS = AccessList(
    tokens={"ci": named("secret", Role.VIEW)},
    users={"ana@example.org": Grant(role=Role.OPERATE), "ci": Grant(role=Role.OPERATE)},
    groups={
        "risk": Grant(role=Role.SUBMIT, tenant="risk"),
        "growth": Grant(role=Role.OPERATE, tenant="growth"),
    },
)


class TestUsersOfAProxy:
    @pytest.fixture
    def gate(self) -> AccessControl:
        return AccessControl("an operator", listed=lambda: ACCESS, proxy=PROXY)

    @pytest.mark.parametrize(
        ("user", "groups", "found"),
        [
            ("ana@example.org", "", (Role.OPERATE, None)),
            ("ana@example.org", "risk", (Role.OPERATE, None)),
            ("eve", "growth, risk", (Role.SUBMIT, "risk")),
            ("eve", "risks,growth", (Role.OPERATE, "growth")),
            ("eve", "", None),
            ("eve", "Risk", None),
            ("", "risk", None),
            ("eve, ana@example.org", "risk", None),
            ("ana@example.org, eve", "", None),
            ("operate from 127.0.0.1", "risk", None),
            ("cli: root@host", "risk", None),
            ("operate", "risk", None),
            ("ci", "risk", None),
            ("jos\u00c3\u00a9", "risk", (Role.SUBMIT, "risk")),
            ("\u00ff", "risk", None),
            ("\u4e00", "risk", None),
            ("x" * 201, "risk", None),
        ],
    )
    def test_a_user_has_the_role_of_its_entry_or_of_its_first_group(
        self, user: str, groups: str, found: tuple[Role, str | None] | None, gate: AccessControl
    ) -> None:
        who = gate.who(asks("10.0.0.7", x_forwarded_user=user, x_forwarded_groups=groups))
        assert (None if who is None else (who.role, who.tenant)) == found

    def test_the_audit_has_the_user_and_the_address_that_the_proxy_reports(self, gate: AccessControl) -> None:
        told = {"x_forwarded_user": "ana@example.org", "x_forwarded_for": "1.2.3.4, 192.0.2.9"}
        assert str(gate.who(asks("10.0.0.7", **told))) == "ana@example.org from 192.0.2.9 by way of 10.0.0.7"
        assert str(gate.who(asks("fd00::1", **told))) == "ana@example.org from 192.0.2.9 by way of fd00::1"

    @pytest.mark.parametrize(
        "address", ["10.0.0.8", "192.0.2.1", "127.0.0.1", "::1", "fd00:0:0:1::1", "", "10.0.0.7.example.org"]
    )
    def test_headers_from_other_addresses_are_ignored(self, address: str, gate: AccessControl) -> None:
        headers = {"x_forwarded_user": "ana@example.org", "x_forwarded_groups": "growth"}
        assert gate.who(asks(address, **headers)) is None
        token = gate.who(asks(address, authorization="Bearer secret", x_forwarded_for="9.9.9.9", **headers))
        assert token is not None
        assert (token.name, token.role) == ("ci", Role.VIEW)
        assert ("9.9.9.9" in token.at) is (address in ("127.0.0.1", "::1"))

    @pytest.mark.parametrize("address", ["10.0.0.7", "::ffff:10.0.0.7"])
    def test_without_the_setting_no_header_counts(self, address: str) -> None:
        headers = {"x_forwarded_user": "ana@example.org"}
        assert AccessControl(None, listed=lambda: ACCESS).who(asks(address, **headers)) is None
        assert AccessControl(None, listed=lambda: ACCESS, proxy=PROXY).who(asks(address, **headers))

    def test_a_token_precedes_the_user_and_the_user_precedes_a_session(self, gate: AccessControl) -> None:
        user = {"x_forwarded_user": "ana@example.org"}
        session = {"cookie": gate.session("ci", asks()).partition(";")[0]}

        def name(**headers: str) -> str | None:
            who = gate.who(asks("10.0.0.7", **headers))
            return None if who is None else who.name

        assert name(**user, authorization="Bearer secret") == "ci"
        assert name(**user, authorization="Bearer a guess") is None
        assert name(**user, authorization="Basic YW5hOg==") == "ana@example.org"
        assert name(authorization="Basic YW5hOg==", **session) is None
        assert name(**user, **session) == "ana@example.org"
        assert name(**session) == "ci"

    def test_a_page_of_another_origin_is_refused_for_users_of_a_proxy(self, gate: AccessControl) -> None:
        headers = {"x_forwarded_user": "ana@example.org", "host": "sluice.example.org"}
        assert gate.turned_away(asks("10.0.0.7", origin="https://elsewhere.example.org", **headers))
        assert not gate.turned_away(asks("10.0.0.7", origin="https://sluice.example.org", **headers))


@pytest.mark.parametrize(
    ("environment", "reason"),
    [
        ({"SLUICE_CONSOLE_PROXY": "0.0.0.0/0"}, "all addresses"),
        ({"SLUICE_CONSOLE_PROXY": "10.0.0.1/8"}, "host bits"),
        ({"SLUICE_CONSOLE_PROXY": "proxy.internal"}, "does not appear to be"),
        ({"SLUICE_CONSOLE_PROXY_HEADER": "X User"}, "is no name of a header"),
    ],
)
def test_a_wrong_setting_is_refused(environment: Mapping[str, str], reason: str, tmp_path: Path) -> None:
    with pytest.raises(BadSetting, match=reason):
        read_settings(environment, folder=tmp_path)


def test_a_proxy_without_roles_for_its_users_is_refused_at_the_start(tmp_path: Path) -> None:
    settings = read_settings({"SLUICE_CONSOLE_PROXY": "10.0.0.7"}, folder=tmp_path)
    with pytest.raises(BadSetting, match="no file has the roles"):
        check_tokens(HERE, settings)


def test_a_made_token_opens_a_console_and_is_revoked_while_it_runs(desk_of_module: Typist) -> None:
    made = desk_of_module.asks("token", "ana", "--role", "submit")
    said = desk_of_module.types("token", "ci", "--role", "view", "--tenant", "risk")
    printed = said.out.partition("tokens:")[2]
    secret = said.out.partition("shown again: ")[2].split()[0]
    assert read_access(f"tokens:{printed}".encode()).tokens == {"ci": named(secret, Role.VIEW, "risk")}
    tokens = {"tokens": {made["name"]: made["entry"]}}
    file = desk_of_module.folder / "tokens.json"
    write(file, tokens)
    with console(desk_of_module, SLUICE_CONSOLE_TOKENS=file.name, SLUICE_CONSOLE_PROXY="127.0.0.1") as caller:
        bearer = Caller(caller.port, Authorization=f"Bearer {made['token']}")
        assert bearer.reads("/api/session") == {"role": "submit", "who": "ana from 127.0.0.1", "tenant": None}
        assert bearer.posts("/api/submissions/none/cancel").status == 403
        wanted = {"app": "nap", "key": "1", "id": "by-ana"}
        assert bearer.posts("/api/submissions", wanted).status == 202
        cookie = caller.posts("/api/session", {"token": made["token"]}).headers["Set-Cookie"]
        session = Caller(caller.port, Cookie=cookie.partition(";")[0])
        assert session.reads("/api/session")["who"] == "ana from 127.0.0.1"
        with session.hears("overview") as events:
            next(events)
            write(file, {"users": {"eve@example.org": {"role": "view"}}})
            for _ in events:
                continue  # The stream ends, because its token is gone.
        assert {session.gets("/api/session").status, bearer.gets("/api/session").status} == {401}
        user = Caller(caller.port, X_Forwarded_User="eve@example.org")
        assert user.reads("/api/session")["who"] == "eve@example.org from 127.0.0.1"
        assert user.posts("/api/submissions/none/cancel").status == 403


def test_a_name_that_is_taken_or_no_name_makes_no_token(desk_of_module: Typist) -> None:
    for words in (("operate",), ("Ana B",), ("ana", "--tenant", "Risk")):
        said = desk_of_module.types("token", *words, "--role", "view")
        assert (said.code, "sluice_" in said.out) == (2, False)


def write(file: Path, document: Any) -> None:
    file.write_text(json.dumps(document))
