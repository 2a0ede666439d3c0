"""Check the words of pages, docstrings and names: phrases, lengths of sentences, budgets."""

import ast
import re
import sys
from pathlib import Path
from statistics import mean

ROOT = Path(__file__).parent.parent
# Words for each page, for all pages, and for the docstrings of the package.
BUDGETS = {"README.md": 900, "CONTRIBUTING.md": 500, "CHANGELOG.md": 300}
MAX_PAGES, MAX_DOCSTRINGS = 15_500, 20_000
# Words of a sentence: the mean of a page, and the longest.
MAX_MEAN, MAX_SENTENCE = 18, 34

PHRASES = (
    r"rows? that pass", r"at hand\b", r"\btold\b", r"\banew\b", r"\bdear(er|est)?\b", r"hangs? on",
    r"made[- ]up", r"so many (rows|features)", r"some (hundred|thousand)", r"\bcommonest\b",
    r"\bstand(s)? in for\b", r"\bgives? away the target", r"\bnear[- ]ties?\b", r"\buphill\b",
    r"\bclimb(s|ed|ing)?\b", r"\bcontenders?\b", r"\brivals?\b", r"on the wall\b", r"\bhouse rule",
    r"of (one's|their|its|your) own\b(?! (criterion|model|subsets|random|file))", r"right to 1e-",
    r"as good as the best", r"\bwild\b", r"\bin turn\b", r"\bnobody\b", r"\bthe hunt\b",
    r"processor seconds", r"written whole", r"what is left of", r"measured outputs?\b",
)  # fmt: skip
# Names that say nothing, in the package.
NAMES = {"told", "theirs", "ours", "words", "turn", "seen", "besides", "again", "its", "whose"}
# First words of a docstring that are no verbs.
NO_VERBS = {
    "what", "whether", "of", "those", "the", "a", "an", "that", "how", "where", "who", "which",
    "all", "each", "some", "it", "its", "one", "as", "in", "with", "without", "only", "no", "from",
}  # fmt: skip


def main() -> None:
    """Print every finding and exit with 1 if there is one."""
    findings = [*check_pages(), *check_sources()]
    print("\n".join(findings) or "The words are fine.")
    sys.exit(bool(findings))


def pages() -> list[Path]:
    """Return all pages that people read."""
    found = [ROOT / name for name in BUDGETS]
    found += [ROOT / "tests" / "README.md", ROOT / "benchmarks" / "README.md"]
    found += [ROOT / "paper" / "README.md"]
    written = (ROOT / "docs").rglob("*.md")
    return found + sorted(p for p in written if {"gallery", "generated"}.isdisjoint(p.parts))


def check_pages() -> list[str]:
    """Check phrases, sentences and budgets."""
    findings, total = [], 0
    for page in pages():
        text, name = page.read_text(encoding="utf-8"), str(page.relative_to(ROOT))
        n_words = len(text.split())
        total += n_words
        if n_words > BUDGETS.get(name, n_words):
            findings.append(f"{name}: {n_words} words; at most {BUDGETS[name]}")
        prose = prose_of(text)
        findings += [f"{name}: {phrase!r}" for phrase in phrases_in(prose)]
        lengths = {sentence: len(sentence.split()) for sentence in sentences_of(prose)}
        findings += [
            f"{name}: {n} words in: {sentence}"
            for sentence, n in lengths.items()
            if n > MAX_SENTENCE
        ]
        if lengths and mean(lengths.values()) > MAX_MEAN:
            findings.append(f"{name}: sentences have {mean(lengths.values()):.1f} words on average")
    if total > MAX_PAGES:
        findings.append(f"all pages: {total} words; at most {MAX_PAGES}")
    return findings


def prose_of(text: str) -> str:
    """Return a page without code, tables, quotations and addresses."""
    text = re.sub(r"```.*?```", "\n", text, flags=re.S)
    lines = [
        line for line in text.splitlines() if not line.lstrip().startswith(("|", ">", "<", "!"))
    ]
    text = re.sub(r"`[^`]*`", "code", "\n".join(lines)).replace("**", "")
    return re.sub(r"\]\([^)]*\)", "]", text)


def sentences_of(prose: str) -> list[str]:
    """Return the sentences; a list item or a heading ends one."""
    blocks = re.split(r"\n\s*\n|\n\s*(?:[-*]|\d+\.)\s|\n#+ ", prose)
    parts = (re.split(r"(?<=[.!?:;])\s+", " ".join(block.split())) for block in blocks)
    return [sentence for part in parts for sentence in part if len(sentence.split()) > 3]


def phrases_in(text: str) -> list[str]:
    """Return the phrases of the list that a text has."""
    found = (re.search(phrase, text, flags=re.I) for phrase in PHRASES)
    return [match.group() for match in found if match]


def check_sources() -> list[str]:
    """Check docstrings, comments and names of the package."""
    findings, total = [], 0
    for path in sorted((ROOT / "src").rglob("*.py")):
        text, name = path.read_text(encoding="utf-8"), str(path.relative_to(ROOT))
        findings += [f"{name}: {phrase!r}" for phrase in phrases_in(text)]
        for node in ast.walk(ast.parse(text)):
            docstring = ""
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                docstring = ast.get_docstring(node) or ""
                total += len(docstring.split())
            if isinstance(node, ast.FunctionDef) and docstring:
                is_property = any("property" in ast.unparse(each) for each in node.decorator_list)
                first = docstring.split()[0].strip(",.").lower()
                if first in NO_VERBS and not is_property:
                    findings.append(f"{name}:{node.lineno}: {node.name} starts with {first!r}")
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id in NAMES:
                findings.append(f"{name}:{node.lineno}: the name {node.id!r}")
            if isinstance(node, ast.arg) and node.arg in NAMES:
                findings.append(f"{name}:{node.lineno}: the name {node.arg!r}")
    for path in sorted((ROOT / "src").rglob("*.[ch]pp")):
        text = path.read_text(encoding="utf-8")
        findings += [f"{path.relative_to(ROOT)}: {phrase!r}" for phrase in phrases_in(text)]
    if total > MAX_DOCSTRINGS:
        findings.append(f"docstrings: {total} words; at most {MAX_DOCSTRINGS}")
    return findings


if __name__ == "__main__":
    main()
