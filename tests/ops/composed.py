"""``docker-compose.yml`` as Compose reads it."""

import re
from collections.abc import Mapping
from typing import Any

import yaml

from tests.ops.typist import ROOT

GIVEN = {"SLUICE_APPS": "pipelines.json"}
#: What is asked of ``docker compose``, not of Sluice.
CHOICES = {
    *("SLUICE_STOP", "SLUICE_WORKER_MEMORY"),
    *("SLUICE_POSTGRES_IMAGE", "SLUICE_RABBITMQ_IMAGE", "SLUICE_REDIS_IMAGE"),
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


def read_secrets() -> dict[str, str]:
    """The file of each secret."""
    found: dict[str, dict[str, str]] = yaml.safe_load(filled(text(), GIVEN))["secrets"]
    return {name: each["file"] for name, each in found.items()}


def read_services() -> dict[str, Any]:
    """The services, with what has to be chosen as in ``GIVEN``."""
    found: dict[str, Any] = yaml.safe_load(filled(text(), GIVEN))["services"]
    return found
