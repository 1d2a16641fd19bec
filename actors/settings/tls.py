"""Insecure connections: others on the network could read them, or answer in the server's place.

Workers, when they start, and ``sluice doctor`` warn of plain text to another machine. It is refused only if
``SLUICE_PLAINTEXT=refuse``. Between the containers of one machine, or behind a mesh that encrypts, it is no fault, and
after an upgrade everything must still start.
"""

import logging
from collections.abc import Iterator

from msgspec import Struct

from sluice.actors.settings.settings import Settings
from sluice.broker import address
from sluice.jobs.errors import BadSetting
from sluice.jobs.text.server_address import without_password

_LOG = logging.getLogger("sluice.transport")
_LEDGER, _POOLER = "SLUICE_LEDGER_URL", "SLUICE_LEDGER_POOLER_URL"
_BROKER, _APPS = "SLUICE_BROKER_URL", "SLUICE_APPS"
_ALLOW = "set SLUICE_PLAINTEXT=allow if the network can be trusted."
_FOR_POSTGRES = "Add ?sslmode=verify-full to the address, and sslrootcert= if the authority is your own."
_ADVICE = {
    _LEDGER: _FOR_POSTGRES,
    _POOLER: _FOR_POSTGRES,
    _BROKER: f"Use amqps:// or rediss:// without options that weaken the check of the server, or {_ALLOW}",
    _APPS: f"Use rediss:// without options that weaken the check of the server, or {_ALLOW}",
}
_IN_REDIS = ("redis://", "rediss://")


class Weak(Struct, frozen=True):
    """An address with an insecure connection."""

    setting: str
    where: str
    why: str

    @property
    def advice(self) -> str:
        return _ADVICE[self.setting]


def weak(settings: Settings) -> Iterator[Weak]:
    """Yield the insecure addresses of these settings, or none if plain text is allowed."""
    if settings.plaintext != "allow":
        for setting in _ADVICE:
            yield from _weak(settings, setting)


def require(settings: Settings, setting: str) -> None:
    """Raise BadSetting if the settings refuse an insecure connection to the server that ``setting`` names. Called
    before each connection."""
    if settings.plaintext == "refuse":
        for each in _weak(settings, setting):
            raise BadSetting(f"{setting}: {each.why}.", where=each.where, advice=each.advice)


def warn(settings: Settings) -> None:
    """Log a line for each insecure address."""
    for each in weak(settings):
        _LOG.warning("%s (%s): %s. %s", each.setting, each.where, each.why, each.advice)


def _weak(settings: Settings, setting: str) -> Iterator[Weak]:
    for url in _addresses(settings, setting):
        if why := _weakness(setting, url):
            yield Weak(setting, without_password(url), why)


def _addresses(settings: Settings, setting: str) -> tuple[str, ...]:
    if setting == _LEDGER:
        return (settings.ledger_url,) if settings.ledger_url else ()
    if setting == _POOLER:
        return (settings.ledger_pooler_url,) if settings.ledger_pooler_url else ()
    if setting == _BROKER:
        return (settings.broker_url,)
    return tuple(source for source in settings.apps if source.startswith(_IN_REDIS))


def _weakness(setting: str, url: str) -> str:
    if setting not in (_LEDGER, _POOLER):
        return address.weakness(url)
    # Loading definitions calls this too, and has no other need for a Postgres driver.
    from sluice.ledger.database import conninfo  # noqa: PLC0415 - it takes longer to load than many a command to run

    return conninfo.weakness(url)
