"""``docker-compose.yml`` as Compose reads it."""

import re
from collections.abc import Mapping
from typing import Any

import yaml

from tests.ops.typist import ROOT

GIVEN = {"SLUICE_APPS": "pipelines.json"}
#: Variables that ``docker compose`` reads, not Sluice.
CHOICES = {
    *("SLUICE_STOP", "SLUICE_WORKER_MEMORY"),
    *("SLUICE_POSTGRES_IMAGE", "SLUICE_RABBITMQ_IMAGE", "SLUICE_REDIS_IMAGE"),
}
_VARIABLE = re.compile(r"\$\{([A-Z_]+)(?:(:-|:\?)((?:[^{}]|\$\{[^{}]*\})*))?\}")


def text() -> str:
    return (ROOT / "docker-compose.yml").read_text()


def filled(text: str, given: Mapping[str, str]) -> str:
    """Substitute variables as Compose does: ``${A}``, ``${A:-another}`` and ``${A:?message}``."""

    def value(found: re.Match[str]) -> str:
        name, kind, other = found.groups()
        if given.get(name):
            return given[name]
        assert kind == ":-", f"{name} is asked for: {other}"
        return filled(other, given)

    return _VARIABLE.sub(value, text)


def read_secrets() -> dict[str, str]:
    """Return the file of each secret."""
    found: dict[str, dict[str, str]] = yaml.safe_load(filled(text(), GIVEN))["secrets"]
    return {name: each["file"] for name, each in found.items()}


def read_services() -> dict[str, Any]:
    """Return the services, with the required variables set as in ``GIVEN``."""
    found: dict[str, Any] = yaml.safe_load(filled(text(), GIVEN))["services"]
    return found
