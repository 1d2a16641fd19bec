"""Options of an app that follow from the signature of its decorated function.

``job_id``, ``identifiers`` and ``autofill_values`` are taken from the parameters if they are not written. A written
option that contradicts the signature is a fault.
"""

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

from sluice.jobs.api.signature import UNKNOWN, Each, Parameter, Signature, read_signature
from sluice.jobs.catalogue.errors import At, nearest
from sluice.jobs.catalogue.fields.chunk_options import CHUNK_WORDS
from sluice.jobs.catalogue.fields.draft import UnreadApp
from sluice.jobs.catalogue.fields.partition_options import DAILY_WORDS, PARTITION_WORDS
from sluice.jobs.keys.template import Template


def with_signature(
    words: Mapping[str, Any], entry: UnreadApp, default_job_id: str | None, delimiter: str, at: At
) -> Mapping[str, Any]:
    """Return the options, completed from the signature if the app is a function or a saga with a key template."""
    if entry.function is None or not _has_signature(words, entry):
        return words
    signature = read_signature(entry.function, of_saga=words.get("job_type") == "saga")
    template = words.get("job_id", words.get("job_id_template", default_job_id))
    names: Sequence[str]
    if template is None:
        names = [it.name for it in signature.identifiers]
        template = delimiter.join(f"{{{name}}}" for name in names)
        words = {**words, "job_id": template}
        _refuse_defaults(signature.identifiers, at)
    else:
        names = _names(template, delimiter)
        _refuse_misspelt(signature, names, at)
    keyed = [it for it in signature.parameters if it.name in names]
    _refuse_unused_values(signature, names, at)
    return {
        **words,
        **_merged("identifiers", _kinds(keyed, at), words, at),
        **_merged("autofill_values", _values(keyed), words, at),
    }


def has_day(words: Mapping[str, Any], entry: UnreadApp) -> bool:
    """Return whether the app is a function with a parameter that is an identifier and a day."""
    if entry.function is None or isinstance(entry.function, type) or "function" in words:
        return False
    return any(it.annotation is date for it in read_signature(entry.function).identifiers)


def _has_signature(words: Mapping[str, Any], entry: UnreadApp) -> bool:
    if isinstance(entry.function, type) or "function" in words:
        return False
    other_keys = {word for word in (*CHUNK_WORDS, *PARTITION_WORDS) if word in words}
    is_of_template = not other_keys or (other_keys.issubset(DAILY_WORDS) and has_day(words, entry))
    return is_of_template and words.get("job_type", "python") in {"python", "saga"}


def _names(template: object, delimiter: str) -> Sequence[str]:
    """Return the identifiers of a template. The fault of an invalid one is added where it is read."""
    try:
        return Template.parse(template, delimiter).names if isinstance(template, str) else ()
    except ValueError:
        return ()


def _kinds(keyed: Sequence[Parameter], at: At) -> dict[str, Any]:
    kinds: dict[str, Any] = {}
    for it in keyed:
        try:
            if (kind := it.kind) is not None:
                kinds[it.name] = kind
        except ValueError as error:
            at.add(f"parameter {it.name}: {error}")
    return kinds


def _values(keyed: Sequence[Parameter]) -> dict[str, Any]:
    each = {it.name: it.default.values for it in keyed if isinstance(it.default, Each)}
    return {name: values if isinstance(values, str) else list(values) for name, values in each.items()}


def _merged(option: str, found: Mapping[str, Any], words: Mapping[str, Any], at: At) -> dict[str, Any]:
    """Return the option, completed from the signature. Empty if neither has a value."""
    written = words.get(option, {})
    if not isinstance(written, Mapping):
        return {}
    for name in found.keys() & written.keys():
        if not _fits(found[name], written[name]):
            at.add(
                f"{option}: {name} is {written[name]!r} here and {found[name]!r} in the function's signature;"
                " write it only there"
            )
    return {option: {**found, **written}} if found or written else {}


def _fits(found: Any, written: Any) -> bool:
    """Return whether an annotation fits a written kind. A list is more exact than the type of its values, and a
    function may return values of any type.
    """
    if isinstance(written, list | tuple) and isinstance(found, str):
        return all(type(value).__name__ == found for value in written)
    return found == written or (isinstance(written, str) and ":" in written)


def _refuse_defaults(identifiers: Sequence[Parameter], at: At) -> None:
    for it in identifiers:
        if it.default is not UNKNOWN and not isinstance(it.default, Each):
            at.add(
                f"parameter {it.name}: it is an identifier of the key, which has no default; write each([…]) for"
                " its values, or make it keyword-only, so that it receives a kwarg"
            )


def _refuse_misspelt(signature: Signature, names: Sequence[str], at: At) -> None:
    """Add a fault for each required parameter that is nearly the name of an identifier that the function lacks."""
    taken = {it.name for it in signature.parameters}
    lacking = [name for name in names if name not in taken]
    for it in signature.identifiers:
        if it.name not in names and it.required and (near := nearest(it.name, lacking)):
            at.add(f"parameter {it.name}: the key has no such identifier{near}")


def _refuse_unused_values(signature: Signature, names: Sequence[str], at: At) -> None:
    for it in signature.parameters:
        if isinstance(it.default, Each) and it.name not in names:
            at.add(f"parameter {it.name}: only an identifier of the key has the values of each(…)")
