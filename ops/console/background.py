"""Console that runs beside the other work of its process."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread
from typing import NamedTuple

from sluice.actors.settings.settings import Settings
from sluice.jobs.errors import BadSetting
from sluice.ops.console.access import TOKEN_CHARS_MIN, AccessControl
from sluice.ops.console.calls.routes import ROUTES
from sluice.ops.console.context import ConsoleContext
from sluice.ops.console.dispatch import Answering
from sluice.ops.console.files import Files
from sluice.ops.console.identity.proxy import TrustedProxy
from sluice.ops.console.identity.token_file import AccessList, TokenFile
from sluice.ops.console.own_token import own_token
from sluice.ops.console.server import ListenAddress, Server
from sluice.ops.operations.context import OperatorContext
from sluice.ops.operations.installation import Installation


class ConsoleKeys(NamedTuple):
    """Gate of a console, and the token that the console made itself, which the caller must print."""

    gate: AccessControl
    own_token: str | None

    def address(self, place: ListenAddress) -> str:
        """Return the address to open in a browser.

        The page opens a session with the token and removes it from the address. The part after the # is sent to no
        server, so it is in no server's log.
        """
        return f"{place}/#token={self.own_token}" if self.own_token else str(place)


def keys_for(place: ListenAddress, settings: Settings) -> ConsoleKeys:
    """Return the gate for the configured tokens. If none is configured, the console uses a token of its own.
    BadSetting as in ``check_tokens``.
    """
    check_tokens(place, settings)
    access, own = settings.console_access, None
    if not _has_tokens(settings):
        own = own_token(settings.home)
    gate = AccessControl(
        settings.console_token or own,
        settings.console_view_token,
        listed=AccessList if access.tokens is None else TokenFile(access.tokens).current,
        proxy=TrustedProxy(
            networks=access.proxies,
            user_header=access.user_header.lower(),
            groups_header=access.groups_header.lower(),
        ),
    )
    return ConsoleKeys(gate, own)


def check_tokens(place: ListenAddress, settings: Settings) -> None:
    """Raise BadSetting if a token can be guessed, if the file of tokens is invalid, or if other machines can reach the
    console and no token is set.
    """
    operate, view = settings.console_token, settings.console_view_token
    for name, token in (("SLUICE_CONSOLE_TOKEN", operate), ("SLUICE_CONSOLE_VIEW_TOKEN", view)):
        if token is not None and len(token) < TOKEN_CHARS_MIN:
            raise BadSetting(
                f"{name} has {len(token)} characters, fewer than {TOKEN_CHARS_MIN}: it can be guessed.",
                advice="Make one: openssl rand -hex 32",
            )
    if settings.console_access.tokens is not None:
        TokenFile(settings.console_access.tokens).require_valid()
    elif settings.console_access.proxies:
        raise BadSetting(
            "SLUICE_CONSOLE_PROXY is set, and no file has the roles of the proxy's users.",
            advice="Set SLUICE_CONSOLE_TOKENS to a file with `users` or `groups`.",
        )
    if not _has_tokens(settings) and not place.is_loopback:
        raise BadSetting(
            f"Other machines can reach the console at {place}, and there is no token.",
            advice="Set SLUICE_CONSOLE_TOKEN, or listen at 127.0.0.1.",
        )


def _has_tokens(settings: Settings) -> bool:
    given = (settings.console_token, settings.console_view_token, settings.console_access.tokens)
    return any(each is not None for each in given)


@contextmanager
def console(
    context: OperatorContext, installation: Installation, place: ListenAddress, gate: AccessControl
) -> Iterator[Server]:
    """Answer requests until the block ends. BadSetting if the address cannot be used."""
    console = ConsoleContext(context, installation)
    console.open()
    answering = Answering(console, gate, ROUTES, Files())
    server = Server(place, answering.answer, answering.refuse, answering.is_bounded)
    thread = Thread(target=server.serve_forever, name="sluice-console")
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        console.streams.close()
        server.server_close()
        thread.join()
