"""Texts as people may see them: a URL in one may hold a password.

Whoever runs a job gets what was given; whoever is told of it (commands, their JSON, errors, logs) gets this.
"""

import re
from collections.abc import Mapping

from sluice.jobs.submission import JSON

#: The kwarg that may say where a program comes from.
_SOURCE = "source"
# A password that ought to have been escaped may hold anything but white space, so behind a colon it goes on to the last
# at sign. What follows a host's colon is a port, and no password.
_USER = re.compile(r"(?<=://)(?:[^\s/?#:@]*:(?!\d{1,5}[/?#])(?:(?!://)\S)*|[^\s/?#]*)@")
_BEHIND = re.compile(r"[?#].*", re.DOTALL)
_WEB = re.compile(r"\s*https?:", re.IGNORECASE)


def masked(text: str) -> str:
    """The text, without the user and password of any URL in it."""
    return _USER.sub("***@", text) if "://" in text else text


def masked_url(text: str) -> str:
    """A text that ought to be one URL, without what may be secret in it: the user, the password and the query."""
    slashes, at = text.find("//"), text.rfind("@")
    if 0 <= slashes < at - 1:  # An expression would look for the at sign behind each of the slashes.
        text = f"{text[:slashes]}//***{text[at:]}"
    return _BEHIND.sub(lambda found: "?***" if found[0][0] == "?" else "", text)


def masked_value(value: JSON) -> JSON:
    """A value with all texts in it ``masked``."""
    match value:
        case str():
            return masked(value)
        case Mapping():
            return {masked(name): masked_value(each) for name, each in value.items()}
        case list() | tuple():
            return [masked_value(each) for each in value]
    return value


def masked_kwargs(kwargs: Mapping[str, JSON]) -> dict[str, JSON]:
    """What a job was given. The query of a source says who may fetch it, so that is masked as well."""
    return {masked(name): _of_kwarg(name, value) for name, value in kwargs.items()}


def masked_policy(policy: Mapping[str, JSON]) -> dict[str, JSON]:
    """Return a policy, or a definition's words, with the names alone of ``env``, whose values may be secret."""
    told = {masked(name): masked_value(value) for name, value in policy.items()}
    env = policy.get("env")
    if env is None:
        return told
    return told | {"env": {masked(name): "…" for name in env} if isinstance(env, Mapping) else "…"}


def _of_kwarg(name: str, value: JSON) -> JSON:
    if name == _SOURCE and isinstance(value, str) and _WEB.match(value):
        return masked_url(value)
    return masked_value(value)
