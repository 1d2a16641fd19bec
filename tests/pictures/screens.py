"""Pictures of screens of the console, in the light and the dark theme."""

import base64
from pathlib import Path

from playwright.sync_api import Browser, BrowserContext

from tests.console.conftest import TOKEN
from tests.console.visitor import Visitor
from tests.pictures.scene import DAY, FIRST, LAST

#: Name of each picture, and its screen.
SCREENS = {
    "overview": "/",
    "job": f"/jobs/publish/{DAY}",
    "partitions": f"/partitions?from={FIRST}&to={LAST}&table=sales&partition={LAST}",
}
THEMES = ("light", "dark")
SIZE = {"overview": (1240, 980), "job": (1240, 900), "partitions": (1240, 620)}
#: Pixels of the picture per pixel of the page, and quality of WebP, of at most 100.
_SCALE, _QUALITY = 1.5, 82
#: Replaces the page by a copy that no longer changes, without times, durations and addresses that differ in each run.
_FREEZE = r"""
() => {
    const canvases = [...document.querySelectorAll("canvas")];
    const copy = document.body.cloneNode(true);
    copy.querySelectorAll("canvas").forEach((each, at) => each.getContext("2d").drawImage(canvases[at], 0, 0));
    const rules = [
        [/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d/g, "2026-11-20 02:04:00"],
        [/^in \d+ \w+$/, "in 14 s"],
        [/^\d+ [smh]$/, "2 m"],
        [/\b\d+(\.\d+)? ms\b/g, "40 ms"],
        [/\b\d+(\.\d+)? s\b/g, "2 s"],
        [/\b\d+ m \d+ s\b/g, "2 m"],
        [/[\w.-]+:\d{3,7}\b/g, "worker-1:4711"],
    ];
    const texts = document.createTreeWalker(copy, NodeFilter.SHOW_TEXT);
    while (texts.nextNode())
        for (const [from, to] of rules) texts.currentNode.data = texts.currentNode.data.replace(from, to);
    copy.querySelectorAll(".chart-times span").forEach((each, at) => {
        each.textContent = ["01:04", "01:34", "02:04"][at];
    });
    const stretches = [...copy.querySelectorAll(".stretches .bar span")];
    for (const each of stretches) each.style.setProperty("--part", `${100 / stretches.length}%`);
    document.body.replaceWith(copy);
    window.scrollTo(0, 0);
}
"""


def take(browser: Browser, address: str, folder: Path) -> None:
    """Write a picture of each screen in each theme to the folder."""
    for name, path in SCREENS.items():
        width, height = SIZE[name]
        for theme in THEMES:
            context = browser.new_context(
                base_url=address,
                color_scheme=theme,
                reduced_motion="reduce",
                device_scale_factor=_SCALE,
            )
            try:
                (folder / f"{name}-{theme}.webp").write_bytes(_picture(context, path, (width, height)))
            finally:
                context.close()


def _picture(context: BrowserContext, path: str, size: tuple[int, int]) -> bytes:
    assert context.request.post("/api/session", data={"token": TOKEN}).ok
    visitor = Visitor(context, size)
    visitor.goes(path)
    visitor.sees("live", ".lamp")
    visitor.paints()
    visitor.page.evaluate(_FREEZE)
    # Playwright itself writes only PNG and JPEG.
    session = context.new_cdp_session(visitor.page)
    answer = session.send("Page.captureScreenshot", {"format": "webp", "quality": _QUALITY})
    troubles = visitor.leaves()
    assert not troubles, troubles
    return base64.b64decode(answer["data"])
