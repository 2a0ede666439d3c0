"""Fixtures: one Chromium for all tests, and pages that record their console messages."""

import os
import shutil

import pytest

from helpers.optional import optional


@pytest.fixture(scope="session")
def browser():
    playwright = optional("playwright.sync_api")
    path = shutil.which("chromium")
    if path is None and not os.environ.get("SAFDR_REQUIRE_ALL"):
        pytest.skip("chromium is not installed (on Debian: apt-get install chromium)")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def open_page(browser, tmp_path_factory):
    """Open a report in a page of its own; what goes wrong there is in `page.complaints`."""
    folder = tmp_path_factory.mktemp("pages")
    # One for all pages, since each costs a process; they keep nothing, so that none sees another.
    context = browser.new_context(offline=True)

    def open_page(name, report, width=1280, scheme="light"):
        path = folder / f"{name}.html"
        report.save(path)
        page = context.new_page()
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme)
        page.complaints = complaints = []
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: (complaints.append("dialog"), dialog.dismiss()))
        page.on("request", lambda asked: complaints.append(asked.url))
        page.goto(path.as_uri())
        page.complaints.remove(path.as_uri())  # the page itself
        return page

    yield open_page
    context.close()
