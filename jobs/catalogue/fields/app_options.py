"""Options of one app: their names and accepted values. Each wrong option is a fault of its own."""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from sluice.jobs.catalogue.errors import At, DefinitionFaults, unknown
from sluice.jobs.catalogue.fields import chunk_options, partition_options
from sluice.jobs.catalogue.fields.chunk_options import (
    CHUNK_WORDS,
    any_key,
    read_chunking,
    read_groups_of_work_ids,
)
from sluice.jobs.catalogue.fields.compensation_option import read_compensate
from sluice.jobs.catalogue.fields.dependency_grammar import read_groups
from sluice.jobs.catalogue.fields.draft import Draft, Mention, UnreadApp
from sluice.jobs.catalogue.fields.literals import read_autofill, read_kinds, read_values
from sluice.jobs.catalogue.fields.notify_option import read_notify
from sluice.jobs.catalogue.fields.partition_options import (
    DAILY_WORDS,
    PARTITION_WORDS,
    read_days,
    read_partitioning,
    read_readings,
)
from sluice.jobs.catalogue.fields.policy_options import (
    NOTES,
    POLICY_WORDS,
    check_keys,
    read_breaker,
    read_policy,
    read_retry_budget,
)
from sluice.jobs.catalogue.fields.rate_limit_option import read_rate_limit
from sluice.jobs.catalogue.fields.signature_options import has_day, with_signature
from sluice.jobs.catalogue.fields.work_options import WORK_WORDS, default_policy, read_work
from sluice.jobs.catalogue.sources.functions import find_function
from sluice.jobs.keys.chunks import Chunking
from sluice.jobs.keys.partitions import Partitioning
from sluice.jobs.keys.template import Template
from sluice.jobs.model.queues import CONTROL
from sluice.jobs.policy.policy import Policy
from sluice.jobs.policy.tenants import DEFAULT_TENANT, NAME_ADVICE, is_tenant_name

TEMPLATE_WORDS = ("job_id", "job_id_template", "identifiers", "autofill_values", "depends_on", "valid_if_or")
#: Options that an app with chunks cannot have.
_KEY_WORDS = tuple(word for word in TEMPLATE_WORDS if word != "depends_on")
WORDS = (
    *(*TEMPLATE_WORDS, *CHUNK_WORDS, *PARTITION_WORDS, *WORK_WORDS),
    *("compensate", "breaker", "retry_budget", "rate_limit", "notify", "tenant"),
    *(*POLICY_WORDS, *NOTES),
)

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*")
#: Suffixes of queues that brokers use: dead letters are in x.XQ, dramatiq's delayed messages in x.DQ.
_ENDINGS = (".DQ", ".XQ")
_NAME_CHARACTERS_MAX = 200


def read_app(entry: UnreadApp, default_job_id: str | None, delimiter: str, faults: DefinitionFaults) -> Draft:
    """Return the app as far as it can be read."""
    at = At(faults, entry.origin, entry.name)
    default_job_id = entry.default_job_id or default_job_id
    words = with_signature(_options(entry, at), entry, default_job_id, delimiter, at)
    chunking = read_chunking(words, entry, at)
    partitioning, days = _table(words, entry, at)
    policy = _policy(words, entry, chunking, at)
    rate_limit = read_rate_limit(words, at)
    template = any_key(delimiter) if chunking or partitioning else None
    if template is None and isinstance(entry.words, Mapping):
        template = _template(words, default_job_id, delimiter, at)
    if template:
        identifiers = () if chunking or partitioning else template.names
        check_keys({"concurrency": policy.concurrency, "rate_limit": rate_limit}, identifiers, at)
    work = read_work(words, entry, _placeholders(chunking, partitioning, template), at)
    path, function, filtered = _filter(words, at.inside("valid_if_or"))
    return Draft(
        name=entry.name,
        at=at,
        words=words,
        template=template,
        declared=read_kinds(words.get("identifiers", {}), at.inside("identifiers")),
        autofill=read_autofill(words.get("autofill_values", {}), at.inside("autofill_values")),
        groups=_groups(words, chunking, at.inside("depends_on")),
        filtered=filtered,
        filter_path=path,
        filter_function=function,
        work=work,
        policy=policy,
        compensate=read_compensate(words, at),
        breaker=read_breaker(words, at, unbounded=work.unbounded),
        retry_budget=read_retry_budget(words, at, unbounded=work.unbounded),
        rate_limit=rate_limit,
        tenant=_tenant(words, at),
        chunking=chunking,
        partitioning=partitioning,
        days=days,
        readings=read_readings(words, partitioning or days, at),
    )


def _policy(words: Mapping[str, object], entry: UnreadApp, chunking: Chunking | None, at: At) -> Policy:
    fields = read_policy(words, at.add) | {"notify": read_notify(words, at)}
    policy = default_policy(words, entry).overridden(fields)
    if policy.on_failure == "bisect" and chunking is None:
        at.add("on_failure: bisect splits work IDs, and an app without chunk_size has none")
    return policy


def _tenant(words: Mapping[str, object], at: At) -> str:
    written = words.get("tenant", DEFAULT_TENANT)
    if isinstance(written, str) and is_tenant_name(written):
        return written
    at.add(f"tenant: {written!r} is no name; {NAME_ADVICE}")
    return DEFAULT_TENANT


def _groups(
    words: Mapping[str, object], chunking: Chunking | None, at: At
) -> Mapping[str, tuple[Mention, ...]]:
    if "depends_on" not in words:
        return {}
    if chunking:
        return read_groups_of_work_ids(words["depends_on"], at)
    return read_groups(words["depends_on"], at)


def _options(entry: UnreadApp, at: At) -> Mapping[str, object]:
    """Return the written options of one way of keying jobs. A wrong name of the app and each unknown option are
    faults."""
    _check_name(entry.name, at)
    words = _mapping(entry.words, at)
    for word in words:
        if word not in WORDS:
            at.add(unknown(word, (*WORDS, *entry.spent)))
    return _of_one_keyspace(words, entry, at)


def _placeholders(
    chunking: Chunking | None, partitioning: Partitioning | None, template: Template | None
) -> tuple[str, ...] | None:
    """Return the placeholders that a command may use, or None if they are unknown."""
    if chunking:
        return chunk_options.PLACEHOLDERS
    if partitioning:
        by = (partitioning.by.name,) if partitioning.by else ()
        return (*partition_options.PLACEHOLDERS, *by)
    return template.names if template else None


def _of_one_keyspace(words: Mapping[str, object], entry: UnreadApp, at: At) -> Mapping[str, object]:
    """Return the options of one way of keying jobs. If options of several ways are mixed, the others are left out."""
    of_template = _written(TEMPLATE_WORDS, words)
    of_keys = _written(_KEY_WORDS, words)
    of_chunks = _written(CHUNK_WORDS, words)
    of_partitions = _written(PARTITION_WORDS, words)
    left_out: list[str] = []
    if of_partitions and (of_template or of_chunks) and not _makes_days(words, entry):
        left_out = [*of_template, *of_chunks]
        at.add(
            f"{', '.join(left_out)}: an app with {', '.join(of_partitions)} is keyed by partition and has no keys of"
            " its own; list the tables that it reads in table_dependencies"
        )
    elif of_chunks and "chunk_size" not in words:
        at.add(f"{', '.join(of_chunks)}: there is no chunk_size, which an app that is keyed by chunk needs")
        left_out = of_chunks if of_template else []
    elif of_chunks and of_keys:
        at.add(f"{', '.join(of_keys)}: an app with chunk_size has no keys of its own")
        left_out = of_keys
    return {word: value for word, value in words.items() if word not in left_out}


def _table(
    words: Mapping[str, object], entry: UnreadApp, at: At
) -> tuple[Partitioning | None, Partitioning | None]:
    """Return the partitioning of an app that is keyed by partition, or the table of which jobs with keys make the
    days."""
    if _makes_days(words, entry):
        return None, read_days(words, entry.name, at)
    return read_partitioning(words, entry.name, at), None


def _makes_days(words: Mapping[str, object], entry: UnreadApp) -> bool:
    """Return whether the app is keyed by template, and its jobs make the days of a table."""
    written = {*_written(PARTITION_WORDS, words), *_written(CHUNK_WORDS, words)}
    if not written or not written.issubset(DAILY_WORDS):
        return False
    return "job_id" in words or "job_id_template" in words or has_day(words, entry)


def _written(options: Iterable[str], words: Mapping[str, object]) -> list[str]:
    """Return those of the options that the definition contains."""
    return [option for option in options if option in words]


def _check_name(name: str, at: At) -> None:
    if not _NAME.fullmatch(name):
        at.add(f"{name!r} is no name; an app's name is a letter, then letters, digits, '_', '.' or '-'")
    if name in CONTROL:
        at.add(f"{name} is the name of one of Sluice's own queues; rename the app")
    if name.endswith(_ENDINGS):
        at.add(f"queue names that end in {name[-3:]} are reserved for the broker; rename the app")
    if len(name) > _NAME_CHARACTERS_MAX:
        at.add(f"an app's name has at most {_NAME_CHARACTERS_MAX} characters: it is the name of its queue")


def _mapping(words: object, at: At) -> Mapping[str, object]:
    if isinstance(words, Mapping):
        return words
    at.add(f"an app is a mapping of options; this is {words!r}")
    return {}


def _template(words: Mapping[str, object], default: str | None, delimiter: str, at: At) -> Template | None:
    if "job_id" in words and "job_id_template" in words:
        at.add("job_id and job_id_template are two names of one option; write only one")
    text = words.get("job_id", words.get("job_id_template", default))
    if text is None:
        at.add(
            "there is no job_id like {date}_{client_id}, and no default:"
            " write default_job_id at the top of the source, or set SLUICE_JOB_ID_DEFAULT_TEMPLATE"
        )
        return None
    try:
        if not isinstance(text, str):
            raise ValueError(f"template {text!r} is not a text like {{date}}_{{client_id}}")
        return Template.parse(text, delimiter)
    except ValueError as error:
        at.add(f"job_id: {error}")
        return None


def _filter(words: Mapping[str, object], at: At) -> tuple[str | None, Callable[..., Any] | None, Any]:
    """Return the path and function of ``_func``, and the listed values. All are None if the app has no filter."""
    if "valid_if_or" not in words:
        return None, None, None
    filter_ = words["valid_if_or"]
    if not isinstance(filter_, Mapping):
        at.add(f"it has to be a mapping of identifiers to lists; this is {filter_!r}")
        return None, None, None
    if not filter_:
        at.add("it is empty, so that every job would be skipped; leave it out, or list the valid values")
    path = filter_.get("_func")
    function = None
    if "_func" in filter_:
        try:
            if not isinstance(path, str):
                raise ValueError(f"{path!r} is not the path of a function; write package.module:name")
            function = find_function(path)
        except ValueError as error:
            at.add(f"_func: {error}")
    listed = {name: values for name, values in filter_.items() if name != "_func"}
    for name, values in listed.items():
        if values in ([], ()):
            at.add(
                f"{name} lists no values, so that no job passes it; leave it out, or list the valid values"
            )
    return path, function, read_values(listed, at)
