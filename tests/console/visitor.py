"""Visitor of the console with a browser. All errors that the browser reports are collected."""

import re
from collections.abc import Sequence
from pathlib import Path

from playwright.sync_api import BrowserContext, ConsoleMessage, Dialog, Locator, Page, Response, expect

#: Milliseconds to wait for the page. Machines that run tests are busy.
PATIENCE_MS = 20_000
WIDE, NARROW = (1280, 860), (390, 844)
#: A changed size is painted in the next frame.
_PAINTED = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"


class Visitor:
    """One page of a browser.

    ``troubles`` collects all errors: failed scripts, violations of the page's policy, and error responses. A test
    declares expected ones by ``forgives``.
    """

    def __init__(self, context: BrowserContext, size: tuple[int, int] = WIDE) -> None:
        self.page: Page = context.new_page()
        self.page.set_viewport_size({"width": size[0], "height": size[1]})
        self.page.set_default_timeout(PATIENCE_MS)
        self.troubles: list[str] = []
        self._forgiven: list[str] = []
        self.page.on("console", self._heard)
        self.page.on("pageerror", lambda error: self.troubles.append(f"a script failed: {error}"))
        self.page.on("response", self._answered)
        self.page.on("dialog", self._asked)

    def goes(self, address: str) -> None:
        """Open an address, and wait until the screen is complete."""
        self.page.goto(address)
        self.settles()

    def settles(self) -> None:
        expect(self.page.locator(".screen:not([aria-busy])")).to_be_visible(timeout=PATIENCE_MS)

    def paints(self) -> None:
        """Wait until the changes of the page are painted, also in canvases."""
        self.page.evaluate(_PAINTED)

    def sees(self, text: str | re.Pattern[str], where: str = "main") -> None:
        expect(self.page.locator(where).first).to_contain_text(text, timeout=PATIENCE_MS)

    def sees_not(self, text: str, where: str = "main") -> None:
        expect(self.page.locator(where).first).not_to_contain_text(text, timeout=PATIENCE_MS)

    def presses(self, name: str, *, within: str = "main", exact: bool = False) -> None:
        """Click a button or a link with this text."""
        place = self.page.locator(within).first
        role = place.get_by_role("button", name=name, exact=exact)
        (role.or_(place.get_by_role("link", name=name, exact=exact))).first.click()

    def agrees(self, verb: str, **filled: str) -> str:
        """Answer the open dialog with this verb. ``filled`` are the values of its fields. Return its text."""
        dialog = self.page.locator("dialog[open]")
        question = dialog.inner_text()
        for name, text in filled.items():
            field = dialog.locator(f'[name="{name}"]')
            if field.first.get_attribute("type") == "radio":
                dialog.locator(f'[name="{name}"][value="{text}"]').check()
            else:
                field.fill(text)
        dialog.get_by_role("button", name=verb, exact=True).click()
        return question

    def is_told(self, text: str | re.Pattern[str]) -> None:
        """Wait for this text in the corner that shows results."""
        expect(self.page.locator(".toast").filter(has_text=text).first).to_be_visible(timeout=PATIENCE_MS)

    def row(self, text: str) -> Locator:
        return self.page.locator("main tbody tr").filter(has_text=text).first

    def state(self, word: str) -> None:
        """Wait until the job, submission or saga that is shown is in this state, without a reload."""
        expect(self.page.locator('[data-key="state"]')).to_have_text(word, timeout=PATIENCE_MS)

    def forgives(self, *parts: str) -> None:
        """Ignore troubles that the test causes itself."""
        self._forgiven += parts

    def pictures(self, folder: Path, name: str) -> None:
        """Take pictures of the screen at both widths, in the light and the dark theme."""
        for width, (wide, high) in {"wide": WIDE, "narrow": NARROW}.items():
            self.page.set_viewport_size({"width": wide, "height": high})
            for theme in ("light", "dark"):
                self.page.emulate_media(color_scheme=theme, reduced_motion="reduce")
                self.paints()
                self.page.screenshot(path=folder / f"{name}-{width}-{theme}.png", full_page=True)
            over = self.page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
            assert over <= 0, f"{name} is {over} pixels wider than {wide}"
        self.page.set_viewport_size({"width": WIDE[0], "height": WIDE[1]})

    def leaves(self) -> Sequence[str]:
        """Close the page. Return the unexpected troubles."""
        self.page.close()
        return [trouble for trouble in self.troubles if not any(part in trouble for part in self._forgiven)]

    def _heard(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.troubles.append(f"{message.type}: {message.text} ({message.location.get('url', '')})")

    def _answered(self, response: Response) -> None:
        if response.status >= 400:
            self.troubles.append(f"answered {response.status}: {response.url}")

    def _asked(self, dialog: Dialog) -> None:
        self.troubles.append(f"the browser's own dialog: {dialog.message}")
        dialog.dismiss()
