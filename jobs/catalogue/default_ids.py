"""``default_work_ids`` at the top of a source: work IDs for submissions if neither they nor their app select any."""

from collections.abc import Mapping
from types import ModuleType

from sluice.jobs.catalogue.chunks import read_selector
from sluice.jobs.catalogue.draft import Selector
from sluice.jobs.catalogue.faults import At

_WORD = "default_work_ids"
#: Stau's name for such a function.
_ALIAS = "get_default_work_ids"


def default_of_document(document: dict[str, object], at: At) -> Selector | None:
    """Remove the option from the document and return its function. The remaining entries are apps."""
    return _read(_WORD, document.pop(_WORD, None), at)


def default_of_module(module: ModuleType, at: At) -> Selector | None:
    written = {word: vars(module)[word] for word in (_WORD, _ALIAS) if vars(module).get(word) is not None}
    if len(written) > 1:
        at.add(f"{_WORD} and {_ALIAS} are two names of one option; write only one")
    return next((_read(word, value, at) for word, value in written.items()), None)


def default_of_folder(found: Mapping[str, Selector], at: At) -> Selector | None:
    """Return the one function of the folder's files. A file may import it from another file."""
    if len({_place(selector) for selector in found.values()}) > 1:
        at.add(f"{_WORD}: it is set in {', '.join(found)} and applies to the whole folder; set it once")
    return next(iter(found.values()), None)


def _read(word: str, value: object, at: At) -> Selector | None:
    if value is None:
        return None
    try:
        return read_selector(value)
    except ValueError as error:
        at.add(f"{word}: {error}")
        return None


def _place(selector: Selector) -> tuple[str, str]:
    """Return the place of its text. A file that runs twice, as a job and by an import, creates two
    functions from it.
    """
    code = getattr(selector.function, "__code__", None)
    return (code.co_filename, code.co_qualname) if code else ("", selector.path)
