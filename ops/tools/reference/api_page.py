"""``docs/api.md``: the public names of Python, with their signatures, docstrings and examples.

A name is public if ``sluice.__all__`` or ``sluice.testing.__all__`` has it, or if it is a rule of ``sluice.retry``. The
page also describes the classes of the objects that these names return. ``OF_SLUICE`` lists the members that only other
parts of Sluice use.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from textwrap import fill

from msgspec import Struct

from sluice.jobs import errors
from sluice.jobs.errors import SluiceError
from sluice.ops.tools.reference.api_examples import EXAMPLES
from sluice.ops.tools.reference.api_source import ApiParameter, Call, Routine, Shape, alias, routine, shape

_HEAD = """# Python API

Every name is imported from `sluice`, helpers for tests from `sluice.testing`. [Functions](functions.md) explains how to
write jobs, and [Options of definitions](definitions.md) lists the options of `@app`, `@saga` and `schedule`. All calls
with a `timeout` without a unit in their name count seconds. This page is generated from the code.

| you want to | names |
|---|---|
"""


class Entry(Struct, frozen=True, kw_only=True):
    """Function or class of the page.

    ``title`` is the heading, and the way in which the name is written. ``receiver`` is the name of an object of the
    class in signatures of its methods. ``is_made`` classes are constructed by users. A ``decorator`` has options.
    """

    module: str
    name: str
    title: str = ""
    receiver: str = ""
    is_made: bool = False
    decorator: bool = False

    @property
    def heading(self) -> str:
        return self.title or self.name

    @property
    def is_class(self) -> bool:
        return self.name[0].isupper()


class Section(Struct, frozen=True, kw_only=True):
    """Entries for one purpose of the reader."""

    title: str
    about: str
    entries: Sequence[Entry]


_API = "sluice.jobs.api"
_SAGAS = "sluice.jobs.sagas"
_MODEL = "sluice.jobs.model"
_DEFINITION = f"{_API}.definition"
_ANSWERS = f"{_SAGAS}.answers"
_TESTING = "sluice.testing"
_CLIENT = "sluice.actors.client"
_ASYNC_CLIENT = "sluice.actors.async_client"

SECTIONS = (
    Section(
        title="Define",
        about="Decorators and functions for files with definitions.",
        entries=(
            Entry(module=f"{_API}.decorators", name="app", decorator=True),
            Entry(module=_DEFINITION, name="Definition", title="The decorated function", receiver="fetch"),
            Entry(module=_DEFINITION, name="AppDependency", title="A dependency", receiver="dependency"),
            Entry(module=_DEFINITION, name="each"),
            Entry(module=_DEFINITION, name="any_of"),
            Entry(module="sluice.jobs.retry", name="fixed", title="retry.fixed"),
            Entry(module="sluice.jobs.retry", name="exponential", title="retry.exponential"),
            Entry(module="sluice.jobs.retry", name="random", title="retry.random"),
            Entry(module="sluice.jobs.retry", name="none", title="retry.none"),
            Entry(module=f"{_API}.decorators", name="schedule"),
            Entry(module=f"{_API}.hooks", name="Hooks", receiver="hooks"),
        ),
    ),
    Section(
        title="Inside a job",
        about="The object that a function receives, the answers that it may give, and work outside of Sluice.",
        entries=(
            Entry(module=f"{_MODEL}.job", name="Job", receiver="job"),
            Entry(module=_ANSWERS, name="Retry", is_made=True),
            Entry(module=_ANSWERS, name="Fatal", is_made=True),
            Entry(module=f"{_MODEL}.external_work", name="ManagesJobs", receiver="manager"),
            Entry(module=f"{_MODEL}.external_work", name="Status", is_made=True),
        ),
    ),
    Section(
        title="Sagas",
        about="Steps that can be undone, and their answers. `Retry` and `Fatal` are [above](#retry).",
        entries=(
            Entry(module=f"{_API}.decorators", name="saga", decorator=True),
            Entry(module=f"{_SAGAS}.step", name="Step", receiver="step"),
            Entry(module=f"{_SAGAS}.flight", name="Flight", receiver="flight"),
            Entry(module=_ANSWERS, name="Success", is_made=True),
            Entry(module=_ANSWERS, name="Rerun", is_made=True),
            Entry(module=_ANSWERS, name="Wait", is_made=True),
            Entry(module=_ANSWERS, name="Stop", is_made=True),
        ),
    ),
    Section(
        title="Submit and wait",
        about="Clients for programs: they submit jobs, read them, and wait for their results.",
        entries=(
            Entry(module="sluice.actors.connect", name="connect"),
            Entry(module=_CLIENT, name="Client", receiver="client"),
            Entry(module=f"{_MODEL}.results", name="JobRequest", is_made=True),
            Entry(module=f"{_MODEL}.submission", name="Submission", is_made=True),
            Entry(module=_CLIENT, name="Handle", receiver="handle"),
            Entry(module=_ASYNC_CLIENT, name="AsyncClient", receiver="client", is_made=True),
            Entry(module=_ASYNC_CLIENT, name="AsyncHandle", receiver="handle"),
            Entry(module=_CLIENT, name="HandleStatus"),
            Entry(module="sluice.ledger.reads.submission_progress", name="SubmissionStatus"),
            Entry(module=f"{_MODEL}.history", name="JobReport"),
            Entry(module="sluice.jobs.model.names", name="JobName"),
            Entry(module="sluice.jobs.errors", name="JobFailed"),
        ),
    ),
    Section(
        title="Test",
        about="Names of `sluice.testing`. The fixture `pipeline` is described in [Testing](testing.md).",
        entries=(
            Entry(module=_TESTING, name="run"),
            Entry(module=f"{_MODEL}.job", name="Outcome"),
            Entry(module=_TESTING, name="fly"),
            Entry(module=_TESTING, name="fly_everywhere"),
            Entry(module=f"{_SAGAS}.rehearsal", name="Flown"),
            Entry(module=f"{_SAGAS}.rehearsal", name="Report"),
            Entry(module=f"{_SAGAS}.debug", name="Debug", is_made=True),
            Entry(module="sluice.jobs.simulated", name="Took", is_made=True),
            Entry(module="sluice.jobs.simulated", name="Faults", is_made=True),
            Entry(module="sluice.ops.simulation.plugin", name="Pipelines"),
        ),
    ),
)

#: Members of the classes above that only other parts of Sluice use.
OF_SLUICE: Mapping[str, Collection[str]] = {
    "AppDependency": {"app", "condition", "every", "lag", "values"},
    "AsyncClient": {"ended", "run"},
    "Client": {"beside", "close", "end_of", "have_planned", "progress", "read_result"},
    "Definition": {"options"},
    "Handle": {"awaited", "result_of"},
    "Job": {"claimed", "told"},
    "Retry": {"after_s"},
    "Status": {"stage"},
    "Submission": {
        "compensates",
        "has_span",
        "is_saga",
        "layout_mode",
        "named_keys",
        "require_id",
        "words_of",
    },
    "Wait": {"timeout_s"},
}

#: Names in signatures that stand for other types.
ALIASES = (
    (_DEFINITION, "AppRef"),
    (_DEFINITION, "Need"),
    (_DEFINITION, "Choice"),
    (_DEFINITION, "KeyValue"),
    (_DEFINITION, "Duration"),
    (f"{_API}.decorators", "Build"),
    (f"{_MODEL}.submission", "JSON"),
)


def page() -> str:
    """Return the page."""
    rows = "".join(
        f"| [{each.title.lower()}](#{_anchor(each.title)}) | {_names(each)} |\n" for each in SECTIONS
    )
    return "".join([_HEAD, rows, *map(_section, SECTIONS), _errors(), _types()])


def undescribed() -> list[str]:
    """Return the names, methods, attributes and parameters of the page that have no description."""
    return [missing for section in SECTIONS for entry in section.entries for missing in _undescribed(entry)]


def _section(section: Section) -> str:
    return f"\n## {section.title}\n\n{section.about}\n" + "".join(map(_entry, section.entries))


def _entry(entry: Entry) -> str:
    parts = _class(entry, shape_of(entry)) if entry.is_class else _function(entry)
    example = EXAMPLES.get(entry.heading)
    return (
        "\n".join(
            [f"\n### {entry.heading}", *parts, *([f"\n```python\n{example.strip()}\n```"] if example else [])]
        )
        + "\n"
    )


def _function(entry: Entry) -> Iterator[str]:
    found = routine(entry.module, entry.name)
    calls = _decorators(entry, found) if entry.decorator else _lines(found, entry.heading)
    yield _code(calls)
    yield _prose(found.about)


def _decorators(entry: Entry, found: Routine) -> list[str]:
    """Return the forms of a decorator: with options, and without parentheses."""
    options = [each for call in found.calls for each in call.parameters if each.name.startswith("**")]
    return [f"@{entry.heading}", *(f"@{entry.heading}({option})" for option in options)]


def _class(entry: Entry, found: Shape) -> Iterator[str]:
    has_table = bool(found.fields) and all(field.about for field in found.fields)
    if entry.is_made or (found.fields and not has_table):
        short = has_table and len(found.fields) > _FIELDS_IN_LINE
        yield _code([f"{entry.name}(…)" if short else found.constructor.text(entry.name)])
    yield _prose(found.about)
    if has_table:
        yield _fields(found.fields)
    if found.attributes:
        yield _attributes(found.attributes)
    for method in found.methods:
        yield _code(_lines(method, f"{entry.receiver}.{method.name}"))
        yield _prose(method.about)


_PARAGRAPH = "\n\n"
#: By type of a field: the type of the values that it is set to, if that is another one.
_SET_TO = {"AppName": "AppRef"}
#: More fields than this are only in the table of fields.
_FIELDS_IN_LINE = 8


def shape_of(entry: Entry) -> Shape:
    """Return the class of an entry without the members that only other parts of Sluice use."""
    found = shape(entry.module, entry.name)
    hidden = {*OF_SLUICE.get(entry.name, ())}
    given = {each.name.strip("*") for each in found.constructor.parameters} if entry.is_made else set()
    return Shape(
        name=found.name,
        about=found.about,
        constructor=Call(parameters=found.constructor.parameters),
        fields=[each for each in found.fields if each.name not in hidden],
        attributes=[each for each in found.attributes if each.name not in hidden | given],
        methods=[each for each in found.methods if each.name not in hidden],
    )


def _lines(found: Routine, name: str) -> list[str]:
    return [call.text(name) for call in _shown(found)]


def _shown(found: Routine) -> list[Call]:
    """Return the signatures without those for coroutine functions, which differ from the others by a type only."""
    return [call for call in found.calls if not any("Coroutine[" in each.type for each in call.parameters)]


def _fields(fields: Sequence[ApiParameter]) -> str:
    rows = "".join(
        f"| `{each.name}` | {_cell(kind)} | {_cell(each.default)} | {_flat(each.about)} |\n"
        for each in fields
        for kind in [_SET_TO.get(each.type, each.type)]
    )
    return f"\n| field | type | default | meaning |\n|---|---|---|---|\n{rows}".rstrip()


def _attributes(attributes: Sequence[ApiParameter]) -> str:
    rows = "".join(f"| `{each.name}` | {_cell(each.type)} | {_flat(each.about)} |\n" for each in attributes)
    return f"\n| attribute | type | meaning |\n|---|---|---|\n{rows}".rstrip()


def _errors() -> str:
    kinds = [
        each for each in vars(errors).values() if isinstance(each, type) and issubclass(each, SluiceError)
    ]
    rows = "".join(
        f"| `{kind.__name__}` | `{kind.__bases__[0].__name__}` | {_first(kind)} |\n" for kind in kinds
    )
    return (
        "\n## Errors\n\nErrors that Sluice raises on purpose. All except `JobFailed` are imported from "
        f"`sluice.jobs.errors`.\n\n| error | subclass of | meaning |\n|---|---|---|\n{rows}"
    )


def _first(kind: type) -> str:
    """Return the first paragraph of a docstring."""
    return _flat((kind.__doc__ or "").partition(_PARAGRAPH)[0])


def _types() -> str:
    found = [alias(module, name) for module, name in ALIASES]
    rows = "".join(f"| `{each.name}` | {_cell(each.type)} | {_flat(each.about)} |\n" for each in found)
    return (
        "\n## Types in signatures\n\n`R` is the type of a job's result, and `P` are the parameters of the decorated "
        f"function.\n\n| name | type | meaning |\n|---|---|---|\n{rows}"
    )


def _undescribed(entry: Entry) -> Iterator[str]:
    if not entry.is_class:
        yield from _missing(routine(entry.module, entry.name), entry.heading)
        return
    found = shape_of(entry)
    if not found.about:
        yield entry.heading
    if entry.is_made or found.fields:
        yield from _unnamed(found.fields or found.constructor.parameters, found.about, entry.heading)
    yield from (f"{entry.heading}.{each.name}" for each in found.attributes if not each.about)
    for method in found.methods:
        yield from _missing(method, f"{entry.heading}.{method.name}")


def _missing(found: Routine, name: str) -> Iterator[str]:
    if not found.about:
        yield name
    for call in _shown(found):
        yield from _unnamed(call.parameters, found.about, name)


def _unnamed(parameters: Sequence[ApiParameter], about: str, name: str) -> Iterator[str]:
    """Yield the parameters that neither a comment nor the docstring describes. ``*`` and ``/`` are not parameters."""
    code = " ".join(re.findall(r"``(.+?)``", about, re.DOTALL))
    for each in parameters:
        word = each.name.strip("*/")
        if word and not each.about and not re.search(rf"\b{word}\b", code):
            yield f"{name}({each.name})"


def _code(lines: Sequence[str]) -> str:
    return "\n```py\n" + "\n".join(dict.fromkeys(lines)) + "\n```"


def _prose(about: str) -> str:
    paragraphs = about.replace("``", "`").split(_PARAGRAPH)
    return "\n" + _PARAGRAPH.join(
        fill(each, 120, break_long_words=False, break_on_hyphens=False) for each in paragraphs
    )


def _flat(about: str) -> str:
    """Return a description as a cell of a table."""
    return " ".join(about.replace("``", "`").replace("|", "\\|").split())


def _cell(code: str) -> str:
    return "`" + code.replace("|", "\\|") + "`" if code else ""


def _anchor(title: str) -> str:
    return title.lower().replace(" ", "-").replace(".", "")


def _names(section: Section) -> str:
    return ", ".join(f"[{_label(each)}](#{_anchor(each.heading)})" for each in section.entries)


def _label(entry: Entry) -> str:
    return entry.heading.lower() if " " in entry.heading else f"`{entry.heading}`"
