"""Look at a built site for dead links, pictures without words, and what is fetched from afar."""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """Names, links and faults of one page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.links: list[str] = []
        self.faults: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep what a tag names or leads to."""
        found = {name: value or "" for name, value in attrs}
        self.names |= {found[name] for name in ("id", "name") if found.get(name)}
        if tag == "img" and not found.get("alt", "").strip():
            self.faults.append(f"a picture without words: {found.get('src')}")
        loaded = found.get("src") or (found.get("href") if tag == "link" else None)
        if loaded and urlsplit(loaded).netloc:
            self.faults.append(f"fetched from elsewhere: {loaded}")
        self.links += [found[name] for name in ("href", "src") if found.get(name)]


def faults(site: Path) -> list[str]:
    """All that is wrong with the pages of a folder."""
    static = site / "_static"  # has templates of the theme
    paths = [path for path in site.rglob("*.html") if static not in path.parents]
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in paths}
    found = [
        f"{path.relative_to(site)}: {fault}" for path, p in pages.items() for fault in p.faults
    ]
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            named = pages.get(target) if parts.fragment else None
            if not target.exists():
                found.append(f"{path.relative_to(site)}: leads nowhere: {link}")
            elif named and unquote(parts.fragment) not in named.names:
                found.append(f"{path.relative_to(site)}: no such place: {link}")
    return found


if __name__ == "__main__":
    wrong = faults(Path(sys.argv[1]).resolve())
    print("\n".join(wrong) or "The site is whole.")
    sys.exit(bool(wrong))
