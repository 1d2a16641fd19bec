"""The option ``debug``: steps at which a flight must fail, so that its author can test the consequences."""

from collections.abc import Mapping
from typing import get_args

from sluice.jobs.catalogue.faults import Words, one_of, read_mapping, truth
from sluice.jobs.sagas.debug import Debug, Injected

_FORM = '{"fail_at": {"1": "fatal"}}'
_INDEX_MAX = 2**31 - 1


def read_debug(value: object) -> Debug:
    """Return the debug options. Raises ValueError with the reason if they are invalid.

    An empty mapping in a submission removes the app's options.
    """
    if isinstance(value, Debug):
        return value
    if not isinstance(value, Mapping):
        raise ValueError(f"{value!r} is no mapping; write {_FORM}")
    return Debug(**read_mapping(_WORDS, value))


def _by_index(value: object) -> dict[int, str]:
    """Return answers by step index. A number may be a text, because JSON and TOML have only texts as names."""
    answers = {_index(index): _answer(answer) for index, answer in _mapping(value).items()}
    if len(answers) < len(_mapping(value)):
        raise ValueError("one step is listed twice")
    return answers


def _by_name(value: object) -> dict[str, str]:
    answers: dict[str, str] = {}
    for name, answer in _mapping(value).items():
        if not isinstance(name, str) or not name:
            raise ValueError(f"{name!r} is not the name of a step")
        answers[name] = _answer(answer)
    return answers


def _mapping(value: object) -> Mapping[object, object]:
    if not isinstance(value, Mapping):
        raise ValueError(f"{value!r} is no mapping of steps to retry or fatal")
    return value


def _index(value: object) -> int:
    if isinstance(value, str) and value.isascii() and value.isdigit():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= _INDEX_MAX:
        raise ValueError(f"{value!r} is not the index of a step; the first is 0")
    return value


def _answer(value: object) -> str:
    return one_of(value, get_args(Injected))


_WORDS: Words = {
    "restart_each_step": ("restart_each_step", truth),
    "fail_at": ("fail_at", _by_index),
    "fail_do": ("fail_do", _by_name),
    "fail_undo": ("fail_undo", _by_name),
    "fail_last": ("fail_last", truth),
}
