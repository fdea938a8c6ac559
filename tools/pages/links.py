"""Whether every link of a finished site leads somewhere inside it, and nothing of it is loaded from elsewhere."""

from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# Attributes that make a browser load something without being asked.
_LOADED = {("script", "src"), ("img", "src"), ("link", "href"), ("iframe", "src")}


class Page(HTMLParser):
    """The links of a page, and the anchors that others may lead to."""

    def __init__(self, text):
        super().__init__()
        self.links, self.loaded, self.anchors = [], [], set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name in ("id", "name") and value:
                self.anchors.add(value)
            elif (tag, name) in _LOADED and value:
                self.loaded.append(value)
            elif (tag, name) == ("a", "href") and value:
                self.links.append(value)


def faults(folder):
    """Lines that say which page links what that is not there."""
    pages = {
        path: Page(path.read_text(encoding="utf-8"))
        for path in sorted(Path(folder).rglob("*.html"))
    }
    for path, page in pages.items():
        where = path.relative_to(folder)
        for link in page.loaded:
            if urlsplit(link).netloc:
                yield f"{where} loads {link}, which is not part of the site"
        for link in page.links + page.loaded:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path.resolve()
            if not target.is_file():
                yield f"{where} links {link}, which is not there"
            elif parts.fragment and target in pages:
                if unquote(parts.fragment) not in pages[target].anchors:
                    yield f"{where} links {link}, which has no such place"
