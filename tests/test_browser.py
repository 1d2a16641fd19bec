"""A missing browser is reported in one line."""

import pytest

from tests import browser


def test_a_missing_browser_is_reported_with_ways_to_get_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("SLUICE_TEST_CHROMIUM", raising=False)
    monkeypatch.setenv("CI", "false")
    with pytest.raises(
        pytest.skip.Exception, match="install the package chromium, or set SLUICE_TEST_CHROMIUM"
    ):
        browser.chromium().__enter__()
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="install the package chromium"):
        browser.chromium().__enter__()
