"""Draw the pictures of the pages: python docs/pictures/make.py."""

import shutil
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from safdr import AnnealingSelector, AnnealingSelectorCV, PathDisplay, Report, TraceDisplay

HERE = Path(__file__).parent


def main() -> None:
    """Write path.png, how-it-works.png and report.png."""
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X, X_test, y, y_test = train_test_split(X, y, stratify=y, random_state=0)
    search = AnnealingSelectorCV(15, random_state=0).fit(X, y)

    PathDisplay.from_estimator(search).plot().figure_.savefig(HERE / "path.png", dpi=110)

    figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    selector = AnnealingSelector(5, random_state=0).fit(X, y)
    TraceDisplay.from_estimator(selector).plot(ax=axes[0])
    axes[0].set_title("Replicas are annealed at each size")
    PathDisplay.from_estimator(search).plot(ax=axes[1])
    axes[1].set_title("Cross-validation chooses the size")
    figure.savefig(HERE / "how-it-works.png", dpi=110)

    report = Report.from_estimator(search, X, y, X_test, y_test)
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "report.html"
        report.save(page)
        photograph(page, HERE / "report.png")


def photograph(page: Path, picture: Path) -> None:
    """Save the top of a page as a picture, with Chromium."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        path = shutil.which("chromium")
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        tab = browser.new_page(viewport={"width": 820, "height": 1100})
        tab.goto(page.as_uri())
        tab.screenshot(path=picture)
        browser.close()


if __name__ == "__main__":
    main()
