"""Masking of secrets in texts for people: a URL may contain a password.

A running job gets its input unmasked. Commands, their JSON, errors and logs show masked texts.
"""

import re
from collections.abc import Mapping

from sluice.jobs.model.submission import JSON

#: Kwarg that may contain the URL of a program's archive.
_SOURCE = "source"
# A password may contain any character except white space if it was not escaped. So after a colon the match extends to
# the last at sign. A colon that follows a host precedes a port, not a password.
_USER = re.compile(r"(?<=://)(?:[^\s/?#:@]*:(?!\d{1,5}[/?#])(?:(?!://)\S)*|[^\s/?#]*)@")
_BEHIND = re.compile(r"[?#].*", re.DOTALL)
_WEB = re.compile(r"\s*https?:", re.IGNORECASE)


def masked(text: str) -> str:
    """Return the text without the user and password of any URL in it."""
    return _USER.sub("***@", text) if "://" in text else text


def masked_url(text: str) -> str:
    """Return a text that should be one URL, without its possible secrets: user, password, query and fragment."""
    slashes, at = text.find("//"), text.rfind("@")
    if 0 <= slashes < at - 1:  # A regular expression would search for the at sign after each of the slashes.
        text = f"{text[:slashes]}//***{text[at:]}"
    return _BEHIND.sub(lambda found: "?***" if found[0][0] == "?" else "", text)


def masked_value(value: JSON) -> JSON:
    """Return a value with all texts in it masked (``masked``)."""
    match value:
        case str():
            return masked(value)
        case Mapping():
            return {masked(name): masked_value(each) for name, each in value.items()}
        case list() | tuple():
            return [masked_value(each) for each in value]
    return value


def masked_kwargs(kwargs: Mapping[str, JSON]) -> dict[str, JSON]:
    """Return the kwargs of a job, masked. The query of a ``source`` may grant access to it, so it is masked as well."""
    return {masked(name): _of_kwarg(name, value) for name, value in kwargs.items()}


def masked_policy(policy: Mapping[str, JSON]) -> dict[str, JSON]:
    """Return a policy, or the options of a definition, with only the names of ``env``. Its values may be secret."""
    told = {masked(name): masked_value(value) for name, value in policy.items()}
    env = policy.get("env")
    if env is None:
        return told
    return told | {"env": {masked(name): "…" for name in env} if isinstance(env, Mapping) else "…"}


def _of_kwarg(name: str, value: JSON) -> JSON:
    if name == _SOURCE and isinstance(value, str) and _WEB.match(value):
        return masked_url(value)
    return masked_value(value)
