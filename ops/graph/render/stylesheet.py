"""Style of a picture and colour of each state, in light and in dark mode."""

from collections.abc import Iterator, Set
from typing import NamedTuple

from sluice.jobs.states import State
from sluice.ops.graph.layout.chart import FONT_SIZE


class Colour(NamedTuple):
    """Fill colour of a box, on white and on black paper."""

    light: str
    dark: str


APP = Colour("#eceff3", "#30353c")
_UNDER_WAY = Colour("#a5d8f3", "#17557a")
_DEAD = Colour("#f29d9d", "#8a2727")
_GONE = Colour("#dcdcdc", "#4a4a4a")
COLOURS = {
    State.EXPECTED: Colour("#fdf6dc", "#3b3724"),
    State.WAITING: Colour("#f7e09a", "#665410"),
    State.READY: Colour("#c0cbf8", "#38468f"),
    State.RUNNING: _UNDER_WAY,
    State.SUSPENDED: Colour("#e0c2f0", "#5a3570"),
    State.EXECUTED: _UNDER_WAY,
    State.SUCCEEDED: Colour("#a9dfb4", "#1f5f33"),
    State.FAILED: _DEAD,
    State.FATAL: _DEAD,
    State.TIMED_OUT: _DEAD,
    State.EXPIRED: _DEAD,
    State.SKIPPED: _GONE,
    State.CANCELLED: _GONE,
    State.UPSTREAM_FAILED: Colour("#f8d5cb", "#5b362d"),
    State.SPLIT: _GONE,
}


def colour(state: State | None) -> Colour:
    """Return the colour of a state. An app has no state and a colour of its own."""
    return APP if state is None else COLOURS[state]


TITLE_SIZE = 13
#: Dash pattern for each alternative of a child.
DASHES = ("7 4", "2 3", "10 3 2 3")

_FONT = 'ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace'
_PAPER, _INK, _FAINT = (
    Colour("#ffffff", "#15181c"),
    Colour("#1d2126", "#e8eaed"),
    Colour("#5b636e", "#a7b0bb"),
)
_LINE, _POINTED_AT = Colour("#757d88", "#8b949f"), Colour("#d6336c", "#ff7eb0")


def stylesheet(states: Set[State]) -> str:
    """Return a style sheet with rules for these states. Programs without dark mode use the light colours."""
    dashes = [f".alternative{place}{{stroke-dasharray:{dash}}}" for place, dash in enumerate(DASHES)]
    by_night = "".join(_colours(states, dark=True))
    return "\n".join(
        [
            f"svg{{font:{FONT_SIZE}px {_FONT}}}",
            f".title{{font-size:{TITLE_SIZE}px}}.title,.head{{font-weight:bold}}.state{{text-anchor:end}}",
            ".focus{stroke-width:2.5}.frame{fill:none;stroke-dasharray:3 3}",
            ".line{fill:none;stroke-width:1.2}.hit{fill:none;stroke:transparent;stroke-width:9}",
            ".label{stroke-width:4;paint-order:stroke;text-anchor:middle;pointer-events:none}",
            "g:hover>.line{stroke-width:2.6}",
            *dashes,
            ".added{stroke-dasharray:0 4;stroke-width:2;stroke-linecap:round}",
            *_colours(states, dark=False),
            f"@media (prefers-color-scheme:dark){{{by_night}}}",
        ]
    )


def _colours(states: Set[State], *, dark: bool) -> Iterator[str]:
    paper, ink, faint, line, pointed_at, app = (
        colour.dark if dark else colour.light for colour in (_PAPER, _INK, _FAINT, _LINE, _POINTED_AT, APP)
    )
    yield f"text{{fill:{ink}}}.faint{{fill:{faint}}}.paper{{fill:{paper}}}.label{{stroke:{paper}}}"
    yield f".box{{fill:{app}}}.box,.frame,.line{{stroke:{line}}}.arrow{{fill:{line}}}"
    yield f"g:hover>.line{{stroke:{pointed_at}}}"
    for state in State:
        if state in states:
            yield f".{state}{{fill:{COLOURS[state].dark if dark else COLOURS[state].light}}}"
