"""The options ``notify`` and ``due_within``: receivers of a job's events, and the time after which a job is late."""

from collections.abc import Mapping
from typing import Any, TypeAlias, get_args
from urllib.parse import urlsplit

from msgspec.structs import replace

from sluice.jobs.catalogue.errors import (
    At,
    DefinitionFaults,
    Words,
    name_of_app,
    nearest,
    one_of,
    read_mapping,
)
from sluice.jobs.keys.identifiers import Text
from sluice.jobs.model.app import App
from sluice.jobs.notifications.rules import TROUBLE, BodyFormat, JobEvent, NotifyRule, Receiver, references
from sluice.jobs.runners.command.environment import WITHHELD, is_withheld
from sluice.jobs.schedules.schedule import Schedule
from sluice.jobs.text.units import read_duration_s

#: Rules of one definition, at most. Each event is compared with every rule.
RULES_MAX = 20

#: Bytes of a webhook or a command, at most. Both are in an index of the ledger, which has no longer entries.
TARGET_BYTES_MAX = 2000
#: Definitions of receivers by name, as their source has them. None is one with a fault.
NamedReceivers: TypeAlias = Mapping[str, Mapping[str, object] | None]

_FORM = '[{"on": ["failed"], "webhook": "${ALERT_URL}"}]'
_RECEIVERS_FORM = '{"oncall": {"webhook": "${ALERT_URL}"}}'
_RECEIVER = "receiver"


def read_notify(words: Mapping[str, object], at: At) -> tuple[NotifyRule, ...]:
    """Return the rules of ``notify``. Each invalid one adds a fault and is left out."""
    try:
        return parse_rules(words.get("notify", ()))
    except ValueError as error:
        at.add(f"notify: {error}")
        return ()


def parse_rules(value: object) -> tuple[NotifyRule, ...]:
    """Return the rules. ValueError with all of their errors."""
    if not isinstance(value, list | tuple):
        raise ValueError(f"{value!r} is not a list of rules; write {_FORM}")
    if len(value) > RULES_MAX:
        raise ValueError(f"it has {len(value)} rules, more than the {RULES_MAX} that are allowed")
    rules: list[NotifyRule] = []
    wrong: list[str] = []
    for number, each in enumerate(value, 1):
        try:
            rules.append(_read_rule(each))
        except ValueError as error:
            wrong.append(f"rule {number}: {error}")
    if wrong:
        raise ValueError("; ".join(wrong))
    return tuple(rules)


def submitted_rules(value: object) -> tuple[NotifyRule, ...]:
    """Return the rules of a submission. ValueError if they have any other receiver than an app: a submitter may not
    have a request sent."""
    listed = value if isinstance(value, list | tuple) else ()
    has_named = any(isinstance(each, Mapping) and _RECEIVER in each for each in listed)
    rules = () if has_named else parse_rules(value)
    if has_named or any(rule.to.app is None for rule in rules):
        raise ValueError("a submission may only notify an app; other receivers belong into the definitions")
    return rules


def read_receivers(value: object, at: At) -> NamedReceivers:
    """Return the receivers that a source defines for its rules. An invalid one adds a fault."""
    if not isinstance(value, Mapping):
        at.add(f"receivers: {value!r} is not a mapping of names to receivers; write {_RECEIVERS_FORM}")
        return {}
    found: dict[str, Mapping[str, object] | None] = {}
    for name, each in value.items():
        try:
            _read_receiver(each)
            found[name] = each
        except ValueError as error:
            at.add(f"receivers: {name}: {error}")
            found[name] = None
    return found


def with_named_receivers(words: object, receivers: NamedReceivers, at: At) -> object:
    """Return the options of an app or a schedule with the receivers that its rules name.

    They are replaced before the options are read, so that stored definitions are complete. An unknown name adds a
    fault, and its rule is left out.
    """
    if not isinstance(words, Mapping) or not isinstance(words.get("notify"), list):
        return words
    rules: list[object] = []
    for number, rule in enumerate(words["notify"], 1):
        if not isinstance(rule, Mapping) or _RECEIVER not in rule:
            rules.append(rule)
        elif rule[_RECEIVER] not in [*receivers]:
            names = nearest(rule[_RECEIVER], receivers) or "; define it in receivers of the same source"
            at.add(f"notify: rule {number}: there is no receiver {rule[_RECEIVER]!r}{names}")
        elif (named := receivers[rule[_RECEIVER]]) is not None:
            rules.append({**named, **{word: text for word, text in rule.items() if word != _RECEIVER}})
    return {**words, "notify": rules}


def receiver_fault(receiver: Receiver, app: App | None) -> str | None:
    """Return the reason why a receiver cannot get events, or None. ``app`` is the app that it names, if it exists."""
    if receiver.app is None:
        return None
    if app is None:
        return f"there is no app {receiver.app!r}"
    if not app.is_keyed_by_template or len(app.template.names) != 1:
        return f"{app.name} has not exactly one identifier, for the id of the event"
    if not isinstance(app.kind(app.template.names[0]), Text):
        return f"the identifier of {app.name} is no text, and the id of an event is one"
    if any(rule.to.app for rule in app.policy.notify):
        return f"{app.name} itself notifies an app, which could go on without end"
    return None


def with_receivers(
    schedules: Mapping[str, Schedule], apps: Mapping[str, App], faults: DefinitionFaults
) -> Mapping[str, Schedule]:
    """Return the schedules, after adding a fault for each rule of them or of the apps with an app that cannot get
    events."""
    places = [(each.name, each.origin, each.policy.notify) for each in apps.values()]
    places += [(each.app, each.source, each.notify) for each in schedules.values()]
    for name, origin, rules in places:
        for rule in rules:
            if fault := receiver_fault(rule.to, apps.get(rule.to.app or "")):
                faults.add(origin, name, f"notify: {fault}")
    return schedules


def with_source_rules(apps: Mapping[str, App], rules: Mapping[str, tuple[NotifyRule, ...]]) -> dict[str, App]:
    """Return the apps with the rules of their sources, by app, in addition to their own.

    An app that gets events has no rules of its source: its own failure would lead to another job of it, without end.
    """
    every = [*rules.values(), *(app.policy.notify for app in apps.values())]
    receiving = {rule.to.app for each in every for rule in each}
    return {
        name: replace(app, policy=replace(app.policy, notify=(*app.policy.notify, *rules[name])))
        if rules.get(name) and name not in receiving
        else app
        for name, app in apps.items()
    }


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
    if JobEvent.RECOVERED in on and not set(TROUBLE) & set(on):
        raise ValueError(
            f"a job recovers from an event that the rule sends; add {' or '.join(TROUBLE)} to on"
        )
    return NotifyRule(on=on, to=_receiver(fields))


def _read_receiver(value: object) -> Receiver:
    if not isinstance(value, Mapping):
        raise ValueError(f"{value!r} is no mapping; write {_RECEIVERS_FORM}")
    return _receiver(read_mapping(_TARGETS, value))


def _receiver(fields: Mapping[str, Any]) -> Receiver:
    if len({"webhook", "command", "app"} & fields.keys()) != 1:
        raise ValueError(f"it has no receiver or two; write {_FORM}")
    if "format" in fields and "webhook" not in fields:
        raise ValueError("format is for a webhook")
    return Receiver(**fields)


def _events(value: object) -> tuple[JobEvent, ...]:
    if not isinstance(value, list | tuple):
        raise ValueError(f'{value!r} is not a list of events; write ["failed", "recovered"]')
    return tuple(dict.fromkeys(JobEvent(one_of(each, [*JobEvent])) for each in value))


def _webhook(value: object) -> str:
    if not isinstance(value, str) or not value.isprintable():
        raise ValueError(f"{value!r} is not a text like https://alerts.example.org/sluice")
    _check_references(value)
    _check_size(value)
    if value.startswith("${"):
        return value
    try:
        url = urlsplit(value)
        port = url.port
    except ValueError:
        raise ValueError("it is not a URL like https://alerts.example.org/sluice") from None
    if url.scheme not in {"http", "https"} or not url.hostname or port == 0:
        raise ValueError("it is neither an http nor an https URL; a secret URL is written as ${NAME}")
    if "@" in url.netloc:
        raise ValueError("a URL with a user or a password is a secret; write ${NAME}, and set that variable")
    return value


def _command(value: object) -> str:
    if not isinstance(value, str) or not value.strip() or "\0" in value:
        raise ValueError(f"{value!r} is not a command; write ./page.sh")
    _check_size(value)
    return value


def _check_size(text: str) -> None:
    size = len(text.encode("utf-8", "replace"))
    if size > TARGET_BYTES_MAX:
        raise ValueError(f"it has {size} bytes, more than the {TARGET_BYTES_MAX} that are allowed")


def _unnamed(value: object) -> str:
    raise ValueError(f"{value!r} is not the name of a receiver of the source")


def _check_references(text: str) -> None:
    for name in references(text):
        if is_withheld(name):
            raise ValueError(f"{name} {WITHHELD}")
    if text.count("${") != len(references(text)):
        raise ValueError("a reference to a secret is ${NAME}, with letters, digits and _")


def _format(value: object) -> str:
    return one_of(value, get_args(BodyFormat))


_TARGETS: Words = {
    "webhook": ("webhook", _webhook),
    "command": ("command", _command),
    "app": ("app", name_of_app),
    "format": ("format", _format),
}
# A valid name has been replaced by its receiver before, so this name is wrong.
_WORDS: Words = {"on": ("on", _events), **_TARGETS, _RECEIVER: (_RECEIVER, _unnamed)}
