"""One tab of Debian's Chromium, driven by Playwright."""

import contextlib
import shutil
from collections.abc import Iterator

from playwright.sync_api import Page, sync_playwright


@contextlib.contextmanager
def browser() -> Iterator[Page]:
    """Start Chromium and give one tab of it, in which a page's own rules bind no test."""
    with sync_playwright() as play:
        chromium = play.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        tab = chromium.new_page(bypass_csp=True)
        tab.set_default_timeout(60_000)
        yield tab
        chromium.close()
