"""Where there is no browser, one line says how to get one."""

import pytest

from tests import browser


def test_where_none_can_be_had_one_line_says_how(monkeypatch: pytest.MonkeyPatch) -> None:
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
