"""The options ``notify`` and ``due_within``: receivers of a job's events, and the time after which a job is late."""

from collections.abc import Mapping
from typing import get_args
from urllib.parse import urlsplit

from sluice.jobs.catalogue.errors import At, Words, one_of, read_mapping
from sluice.jobs.notifications.rules import TROUBLE, BodyFormat, JobEvent, NotifyRule, Receiver, references
from sluice.jobs.runners.command.environment import WITHHELD, is_withheld
from sluice.jobs.text.units import read_duration_s

#: Rules of one definition, at most. Each event is compared with every rule.
RULES_MAX = 20

_FORM = '[{"on": ["failed"], "webhook": "${ALERT_URL}"}]'


def read_notify(words: Mapping[str, object], at: At) -> tuple[NotifyRule, ...]:
    """Return the rules of ``notify``. Each invalid one adds a fault and is left out."""
    value = words.get("notify", ())
    if not isinstance(value, list | tuple):
        at.add(f"notify: {value!r} is not a list of rules; write {_FORM}")
        return ()
    if len(value) > RULES_MAX:
        at.add(f"notify: it has {len(value)} rules, more than the {RULES_MAX} that are allowed")
        return ()
    rules: list[NotifyRule] = []
    for number, each in enumerate(value, 1):
        try:
            rules.append(_read_rule(each))
        except ValueError as error:
            at.add(f"notify: rule {number}: {error}")
    return tuple(rules)


def read_due_within_s(value: object) -> float | None:
    """Return the seconds after which a job is late, or None. ValueError for a wrong value."""
    if value is None:
        return None
    seconds = read_duration_s(value)
    if seconds <= 0:
        raise ValueError(f"{value!r} is not longer than 0s")
    return seconds


def _read_rule(value: object) -> NotifyRule:
    if not isinstance(value, Mapping):
        raise ValueError(f"{value!r} is no mapping; write {_FORM}")
    fields = read_mapping(_WORDS, value)
    on: tuple[JobEvent, ...] = fields.pop("on", ())
    if not on:
        raise ValueError(f"there is no on, the list of events; write {_FORM}")
    if "webhook" not in fields:
        raise ValueError(f"there is no receiver; write {_FORM}")
    if JobEvent.RECOVERED in on and not set(TROUBLE) & set(on):
        raise ValueError(
            f"a job recovers from an event that the rule sends; add one of {', '.join(TROUBLE)} to on"
        )
    return NotifyRule(on=on, to=Receiver(**fields))


def _events(value: object) -> tuple[JobEvent, ...]:
    if not isinstance(value, list | tuple):
        raise ValueError(f'{value!r} is not a list of events; write ["failed", "recovered"]')
    return tuple(dict.fromkeys(JobEvent(one_of(each, [*JobEvent])) for each in value))


def _webhook(value: object) -> str:
    if not isinstance(value, str) or not value.isprintable():
        raise ValueError(f"{value!r} is not a text such as https://alerts.example.org/sluice")
    _check_references(value)
    if value.startswith("${"):
        return value
    try:
        url = urlsplit(value)
        port = url.port
    except ValueError:
        raise ValueError("it is not a URL such as https://alerts.example.org/sluice") from None
    if url.scheme not in {"http", "https"} or not url.hostname or port == 0:
        raise ValueError("it is neither an http nor an https URL; a secret URL is written as ${NAME}")
    if "@" in url.netloc:
        raise ValueError("a URL with a user or a password is a secret; write ${NAME}, and set that variable")
    return value


def _check_references(text: str) -> None:
    for name in references(text):
        if is_withheld(name):
            raise ValueError(f"{name} {WITHHELD}")
    if text.count("${") != len(references(text)):
        raise ValueError("a reference to a secret is ${NAME}, with letters, digits and _")


def _format(value: object) -> str:
    return one_of(value, get_args(BodyFormat))


_WORDS: Words = {"on": ("on", _events), "webhook": ("webhook", _webhook), "format": ("format", _format)}
