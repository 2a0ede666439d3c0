"""What the site needs beyond Sphinx: formulas without a server, links, pages that are made."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.utils.math import latex2mathml

ROOT = Path(__file__).parent.parent
GENERATED = ROOT / "docs" / "site" / "generated"
# Tables that the experiments write have no title of their own.
TITLES = {
    "paper/table": "The paper's table",
    "paper/claims": "The paper's claims",
    "paper/ablation/ablation": "What the batches are worth: table",
}
THUMBNAIL = re.compile(
    r'(:alt:)\n((?:(?!:alt:).)*?<div class="sphx-glr-thumbnail-title">(.*?)</div>)', re.DOTALL
)
LINK = re.compile(r"(?<!!)\[([^\]]+)\]\(([^)#:\s]+)(#[^)\s]*)?\)")


def setup(app: Any) -> dict[str, bool]:
    """Called by Sphinx."""
    app.add_html_math_renderer(
        "mathml", inline_renderers=(visit_math, None), block_renderers=(visit_math_block, None)
    )
    app.connect("builder-inited", make_pages)
    app.connect("source-read", drop_links_to_folders)
    app.connect("source-read", list_pages)
    app.connect("source-read", describe_thumbnails)
    app.connect("build-finished", send_home)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def visit_math(translator: Any, node: nodes.math) -> None:
    """A formula within a line, as MathML, which browsers draw themselves."""
    translator.body.append(_mathml(node.astext(), block=False))
    raise nodes.SkipNode


def visit_math_block(translator: Any, node: nodes.math_block) -> None:
    """A formula on lines of its own, which scrolls where the screen is narrow."""
    translator.body.append(f'<div class="formula">{_mathml(node.astext(), block=True)}</div>')
    raise nodes.SkipNode


def _mathml(text: str, *, block: bool) -> str:
    tree = latex2mathml.tex2mathml(text.strip(), as_block=block)
    return tree if isinstance(tree, str) else tree.toxml()


def drop_links_to_folders(app: Any, name: str, source: list[str]) -> None:
    """A code host shows folders and the README, the site does not: the words stay."""
    folder = (ROOT / name).parent

    def plain(link: re.Match[str]) -> str:
        there = folder / link[2]
        return link[1] if there.is_dir() or there.resolve() == ROOT / "README.md" else link[0]

    source[0] = LINK.sub(plain, source[0])


def list_pages(app: Any, name: str, source: list[str]) -> None:
    """Every page of docs/ is in the side bar of the list that docs/README.md is."""
    if name == "docs/README":
        source[0] += "\n```{toctree}\n:hidden:\n:glob:\n\n*\n```\n"
    elif name in TITLES:
        source[0] = f"# {TITLES[name]}\n\n{source[0]}"


def describe_thumbnails(app: Any, name: str, source: list[str]) -> None:
    """Small pictures of the gallery are told by the titles of their scripts."""
    if name == "docs/site/gallery/index":
        source[0] = THUMBNAIL.sub(r"\1 \3\n\2", source[0])


def make_pages(app: Any) -> None:
    """The command line's own help, and the annealing that the slider shows."""
    from site_cooling import cooling_script

    GENERATED.mkdir(exist_ok=True)
    program = str(Path(sys.executable).with_name("safdr"))
    plain = {**os.environ, "COLUMNS": "88", "NO_COLOR": "1", "TERM": "dumb"}
    for name, flag in (("select", "--help-all"), ("compare", "--help")):
        command = [program, name, flag]
        told = subprocess.run(command, env=plain, capture_output=True, text=True, check=True)
        (GENERATED / f"{name}.txt").write_text(told.stdout, encoding="utf-8")
    static = Path(app.outdir, "_static")
    static.mkdir(parents=True, exist_ok=True)
    (static / "cooling-data.js").write_text(cooling_script(), encoding="utf-8")


def send_home(app: Any, error: Exception | None) -> None:
    """The folder itself opens the first page."""
    if error is None:
        home = "docs/site/index.html"
        page = '<!doctype html><html lang="en"><meta charset="utf-8"><title>safdr</title>'
        page += (
            f'<meta http-equiv="refresh" content="0; url={home}"><a href="{home}">safdr</a></html>'
        )
        Path(app.outdir, "index.html").write_text(page, encoding="utf-8")
