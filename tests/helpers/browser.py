"""Fixtures: Chromium, one for all tests, and pages in it that tell what goes wrong there."""

import os
import shutil

import pytest

REQUIRED = os.environ.get("SAFDR_REQUIRE_BROWSER") == "1"


def missing(what):
    """Skip with a clear word, or fail where the browser is required."""
    message = f"The browser tests need {what}."
    if REQUIRED:
        pytest.fail(f"{message} SAFDR_REQUIRE_BROWSER=1 says that it must be there.")
    pytest.skip(message)


@pytest.fixture(scope="session")
def browser():
    try:
        from playwright.sync_api import sync_playwright
    except ModuleNotFoundError:
        missing("playwright (pip install playwright)")
    path = shutil.which("chromium")
    if path is None:
        missing("chromium (on Debian: apt-get install chromium)")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
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
