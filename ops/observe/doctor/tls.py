"""Findings about connections over a network on which others can read the data or answer in place of the server."""

from collections.abc import Iterator
from urllib.parse import urlsplit

from sluice.actors.settings.settings import Settings
from sluice.actors.settings.tls import weak
from sluice.jobs.errors import BadSetting
from sluice.jobs.text.server_address import is_here, without_password
from sluice.ops.observe.doctor.finding import Finding, warn

ABOUT = "transport"


def judge(settings: Settings) -> Iterator[Finding]:
    for each in weak(settings):
        yield warn(ABOUT, f"{each.setting}: {each.why}.", each.advice, where=each.where)


def require_management(settings: Settings, place: str | None) -> None:
    """Raise BadSetting if the broker's password would be sent in plain text to this address, and the settings forbid
    that.
    """
    if settings.plaintext != "refuse" or place is None or not place.lower().startswith("http:"):
        return
    try:
        host = urlsplit(place).hostname or ""
    except ValueError:
        return  # The broker probe reports the wrong address, and sends nothing to it.
    if not is_here(host):
        raise BadSetting(
            "--management: http:// is plain text.",
            where=without_password(place),
            advice="Use an https:// address, or set SLUICE_PLAINTEXT=allow if the network can be trusted.",
        )
