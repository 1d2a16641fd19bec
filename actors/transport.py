"""What goes over a network so that others can read it, or answer in the server's place.

Plain text to another machine is warned of, by workers when they start and by ``sluice doctor``, and not refused unless
``SLUICE_PLAIN_TEXT=refuse``: between the containers of one machine, or behind a mesh that encrypts, that is no
fault, and whoever upgrades must not find that nothing starts.
"""

import logging
from collections.abc import Iterator

from msgspec import Struct

from sluice.actors.settings import Settings
from sluice.broker import address
from sluice.jobs.address import without_password
from sluice.jobs.errors import BadSetting

_LOG = logging.getLogger("sluice.transport")
_LEDGER, _BROKER, _APPS = "SLUICE_LEDGER_URL", "SLUICE_BROKER_URL", "SLUICE_APPS"
_ALLOW = "set SLUICE_PLAIN_TEXT=allow where the network may be trusted."
_ADVICE = {
    _LEDGER: "Add ?sslmode=verify-full to the address, and sslrootcert= where the authority is your own.",
    _BROKER: f"Use amqps:// or rediss:// as they stand, or {_ALLOW}",
    _APPS: f"Use rediss:// as it stands, or {_ALLOW}",
}
_IN_REDIS = ("redis://", "rediss://")


class Weak(Struct, frozen=True):
    """An address by which more can be read than should be."""

    setting: str
    where: str
    why: str

    @property
    def advice(self) -> str:
        return _ADVICE[self.setting]


def weak(settings: Settings) -> Iterator[Weak]:
    """Those of these settings; none where it is allowed."""
    if settings.plain_text != "allow":
        for setting in _ADVICE:
            yield from _weak(settings, setting)


def require(settings: Settings, setting: str) -> None:
    """BadSetting where a server that ``setting`` names must not be spoken to so. Whoever connects asks this first."""
    if settings.plain_text == "refuse":
        for each in _weak(settings, setting):
            raise BadSetting(f"{setting}: {each.why}.", where=each.where, advice=each.advice)


def warn(settings: Settings) -> None:
    """A line in the log for each."""
    for each in weak(settings):
        _LOG.warning("%s (%s): %s. %s", each.setting, each.where, each.why, each.advice)


def _weak(settings: Settings, setting: str) -> Iterator[Weak]:
    for url in _addresses(settings, setting):
        if why := _weakness(setting, url):
            yield Weak(setting, without_password(url), why)


def _addresses(settings: Settings, setting: str) -> tuple[str, ...]:
    if setting == _LEDGER:
        return (settings.ledger_url,) if settings.ledger_url else ()
    if setting == _BROKER:
        return (settings.broker_url,)
    return tuple(source for source in settings.apps if source.startswith(_IN_REDIS))


def _weakness(setting: str, url: str) -> str:
    if setting != _LEDGER:
        return address.weakness(url)
    # Whoever loads definitions asks too, and has no other use for a driver of Postgres.
    from sluice.ledger import transport  # noqa: PLC0415 - it takes longer to load than many a command to run

    return transport.weakness(url)
