"""Recording of commands in one shell, and its animation as an SVG without scripts."""

import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from html import escape
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

#: Longest pause in the animation, and the time for which the last lines stay, in seconds.
_PAUSE_MAX_S, _END_S = 1.6, 6.0
_LINE, _CHAR, _MARGIN = 20, 8.43, 18
_END = "end of the output: "
_STYLE = """
    rect { fill: #14181d; }
    text { font: 14px ui-monospace, "DejaVu Sans Mono", monospace; fill: #d5dbe1; white-space: pre; }
    .command { fill: #ffffff; font-weight: 600; }
    .remark { fill: #8b97a3; font-weight: 400; }
"""


class Line(NamedTuple):
    """Command or line of output, with the seconds since the beginning of the recording."""

    at_s: float
    text: str
    is_command: bool = False


def record(
    commands: Sequence[str],
    environment: Mapping[str, str],
    folder: Path,
    before_each: Callable[[str], None],
) -> list[Line]:
    """Run the commands in one shell, one after another. Return them with their output.

    ``before_each`` is called before each command runs. Background processes are ended afterwards.
    """
    began = time.monotonic()
    lines: list[Line] = []
    with subprocess.Popen(
        ["bash"],
        cwd=folder,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as shell:
        assert shell.stdin is not None
        assert shell.stdout is not None
        shell.stdin.write("set -m\n")
        try:
            for place, command in enumerate(commands):
                before_each(command)
                lines.append(Line(time.monotonic() - began, command, is_command=True))
                shell.stdin.write(f"{command}\necho '{_END}'{place}\n")
                shell.stdin.flush()
                while (text := shell.stdout.readline().rstrip("\n")) != f"{_END}{place}":
                    assert shell.poll() is None, lines
                    lines.append(Line(time.monotonic() - began, text))
        finally:
            shell.stdin.write("kill $(jobs -p); wait\n")
            shell.stdin.close()
    return lines


def animation(lines: Sequence[Line], title: str) -> str:
    """Return an SVG in which each line appears at its time. Longer pauses are shortened.

    All lines are visible if the reader prefers reduced motion, or if the program that shows it does not animate.
    """
    times = _times(lines)
    whole_s = times[-1] + _END_S
    width = round(2 * _MARGIN + _CHAR * max(len(_shown(line)) for line in lines))
    height = 2 * _MARGIN + _LINE * len(lines)
    styles, texts = [], []
    for place, (line, at_s) in enumerate(zip(lines, times, strict=True)):
        percent = f"{100 * at_s / whole_s:.2f}%"
        styles.append(f"@keyframes l{place} {{ 0% {{ opacity: 0; }} {percent}, 100% {{ opacity: 1; }} }}")
        styles.append(f"#l{place} {{ animation: l{place} {whole_s:.1f}s step-end infinite; }}")
        y = _MARGIN + _LINE * place + 14
        texts.append(f'<text id="l{place}" x="{_MARGIN}" y="{y}">{_markup(line)}</text>')
    size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-labelledby="title">',
            f'<title id="title">{escape(title)}</title>',
            f"<style>{_STYLE}@media (prefers-reduced-motion: no-preference) {{",
            *styles,
            "}</style>",
            f'<rect width="{width}" height="{height}" rx="8"/>',
            *texts,
            "</svg>\n",
        ]
    )


def _times(lines: Sequence[Line]) -> list[float]:
    """Return the time of each line in the animation, with shortened pauses. The first line is there at once."""
    times = [0.0]
    for before, line in pairwise(lines):
        times.append(times[-1] + min(line.at_s - before.at_s, _PAUSE_MAX_S))
    return times


def _shown(line: Line) -> str:
    return f"$ {line.text}" if line.is_command else line.text


def _markup(line: Line) -> str:
    if not line.is_command:
        return escape(line.text)
    command, mark, remark = _shown(line).partition("  #")
    return f'<tspan class="command">{escape(command)}</tspan><tspan class="remark">{escape(mark + remark)}</tspan>'
