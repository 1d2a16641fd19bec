"""Documents of the effective settings, and texts for their defaults."""

from collections.abc import Iterator
from pathlib import Path

from sluice.actors.settings.sources import FoundSettings, SettingDefinition
from sluice.jobs.text.redaction import masked_url
from sluice.jobs.text.units import duration_text, parse_duration_s, size_text
from sluice.ops.documents import Document

#: Settings whose value is a secret as a whole. In other values, the user and password of URLs are masked.
SECRETS = frozenset(
    {
        "SLUICE_CONSOLE_TOKEN",
        "SLUICE_CONSOLE_VIEW_TOKEN",
        "SLUICE_LINEAGE_TOKEN",
        "SLUICE_MESSAGE_KEYS",
        "SLUICE_TRACE_HEADERS",
    }
)
#: Value that is shown in place of a secret.
MASK = "***"
#: Origin of a value that is not set.
DEFAULT = "default"
#: Descriptions of defaults that have no value, or that depend on other settings or on the machine.
UNSET = {
    "SLUICE_HOOKS": "none",
    "SLUICE_APPS": "none",
    "SLUICE_LEDGER_URL": "embedded Postgres",
    "SLUICE_LEDGER_POOLER_URL": "none",
    "SLUICE_HEALTH_PATH": "none",
    "SLUICE_CODE_VERSION": "the commit, or none",
    "SLUICE_MESSAGE_KEYS": "none",
    "SLUICE_BLOBS_URL": "under `SLUICE_HOME`",
    "SLUICE_PROGRAMS_DIR": "under `SLUICE_HOME`",
    "SLUICE_PROGRAM_HOSTS": "public hosts only",
    "SLUICE_NOTIFY_HOSTS": "public hosts only",
    "SLUICE_CONSOLE_URL": "none",
    "SLUICE_SANDBOX_WRITE": "none",
    "SLUICE_SANDBOX_HIDE": "Sluice's own files, and keys",
    "SLUICE_JOB_ID_DEFAULT_TEMPLATE": "none",
    "SLUICE_CONSOLE_TOKEN": "generated, for this user only",
    "SLUICE_CONSOLE_VIEW_TOKEN": "none",
    "SLUICE_CONSOLE_TOKENS": "none",
    "SLUICE_CONSOLE_PROXY": "none",
    "SLUICE_TENANTS": "none",
    "SLUICE_TRACE_HEADERS": "none",
    "SLUICE_LINEAGE_URL": "none",
    "SLUICE_LINEAGE_TOKEN": "none",
    "SLUICE_LINEAGE_DATASET_NAMESPACE": "`SLUICE_LINEAGE_NAMESPACE`",
    "SLUICE_KEEP_JOBS": "`off`",
    "SLUICE_FAILPOINT": "none",
}


class SettingDocument(Document, frozen=True, kw_only=True):
    """Setting with its value as text, which is None if it has none, and the place that determined the value."""

    name: str
    value: str | None
    origin: str


def settings_documents(found: FoundSettings) -> Iterator[SettingDocument]:
    """Yield a document for each setting. ``found`` must have been read, so that it has all of them."""
    for name, definition in found.asked.items():
        if text := found.texts.get(name):
            yield SettingDocument(name=name, value=_masked(name, text), origin=found.origins[name])
        else:
            yield SettingDocument(name=name, value=default_text(definition) or None, origin=DEFAULT)


def default_text(definition: SettingDefinition) -> str:
    """Return the default as people write it. Empty if there is none."""
    value, example = definition.default, definition.example
    if isinstance(value, float) and _is_duration(example):
        return duration_text(value)
    if isinstance(value, int) and "iB" in example:
        return size_text(value).replace(" ", "")
    return str(value) if isinstance(value, str | int | float | Path) else ""


def _masked(name: str, text: str) -> str:
    if name in SECRETS:
        return MASK
    # The text is not divided at its commas, because a password may contain one.
    return masked_url(text) if "://" in text else text


def _is_duration(example: str) -> bool:
    try:
        parse_duration_s(example)
    except ValueError:
        return False
    return True
