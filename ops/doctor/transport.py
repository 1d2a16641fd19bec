"""What goes over a network so that others can read it, or answer in the server's place."""

from collections.abc import Iterator
from urllib.parse import urlsplit

from sluice.actors.settings import Settings
from sluice.actors.transport import weak
from sluice.jobs.address import is_here, without_password
from sluice.jobs.errors import BadSetting
from sluice.ops.doctor.finding import Finding, warn

ABOUT = "transport"


def judge(settings: Settings) -> Iterator[Finding]:
    for each in weak(settings):
        yield warn(ABOUT, f"{each.setting}: {each.why}.", each.advice, where=each.where)


def require_management(settings: Settings, place: str | None) -> None:
    """BadSetting where the broker's password would go to this place for all to read, and nothing may."""
    if settings.plain_text != "refuse" or place is None or not place.lower().startswith("http:"):
        return
    try:
        host = urlsplit(place).hostname or ""
    except ValueError:
        return  # Whoever asks there says what is wrong with it, and does not.
    if not is_here(host):
        raise BadSetting(
            "--management: http:// is plain text.",
            where=without_password(place),
            advice="Say where it is by https://, or set SLUICE_PLAIN_TEXT=allow where the network may be trusted.",
        )
