"""A strict parser of pages, and texts that would do harm if a page took them for markup."""

from html.parser import HTMLParser

VOID = {"meta", "img", "br", "hr", "input", "link"}

HOSTILE = [
    "<script>document.title = 'hacked'; alert(1)</script>",
    "</svg></style></title><img src=x onerror=alert(2)>",
    "\"double\" and 'single' & ampersand",
    "{{ 7 * 7 }} {% raw %}",
    "emoji 🧬 👩‍🔬 中文名字",
    "שלום עולם طول العمر",
    "\u202egnirts desrever",
    "two\nlines\tand\rmore",
    "same",
    "same",
    "",
    "\ud83d lone \x00 null",
    "n" * 300,
    "W" * 300,
]


class Elements(HTMLParser):
    """Every element with its attributes; fails where tags don't match."""

    def __init__(self):
        super().__init__()
        self.found, self.open, self.text = [], [], []

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "script" not in self.open:
            self.text.append(data)


def parsed(page):
    elements = Elements()
    elements.feed(page)
    elements.close()
    assert not elements.open
    return elements
