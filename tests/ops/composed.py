"""``docker-compose.yml`` as Compose reads it."""

import re
from collections.abc import Mapping
from typing import Any

import yaml

from tests.ops.typist import ROOT

GIVEN = {
    "SLUICE_PASSWORD": "p4ssword",
    "SLUICE_LEDGER_PASSWORD": "l3dger",
    "SLUICE_BROKER_PASSWORD": "br0ker",
    "SLUICE_CONSOLE_TOKEN": "t0ken",
    "SLUICE_APPS": "pipelines.json",
}
_VARIABLE = re.compile(r"\$\{([A-Z_]+)(?:(:-|:\?)((?:[^{}]|\$\{[^{}]*\})*))?\}")


def text() -> str:
    return (ROOT / "docker-compose.yml").read_text()


def filled(text: str, given: Mapping[str, str]) -> str:
    """As Compose does it: ``${A}``, ``${A:-another}`` and ``${A:?what is missing}``."""

    def value(found: re.Match[str]) -> str:
        name, kind, other = found.groups()
        if given.get(name):
            return given[name]
        assert kind == ":-", f"{name} is asked for: {other}"
        return filled(other, given)

    return _VARIABLE.sub(value, text)


def read_services() -> dict[str, Any]:
    """The services, with what has to be chosen as in ``GIVEN``."""
    found: dict[str, Any] = yaml.safe_load(filled(text(), GIVEN))["services"]
    return found
