"""The site builds without a warning, its links lead somewhere, and it loads nothing from afar."""

import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from reference import needs_sphinx

needs_sphinx()

pytestmark = pytest.mark.full

#: elements that a browser loads by itself, and the attribute that says from where
LOADED = {
    "audio": "src", "embed": "src", "iframe": "src", "img": "src", "link": "href",
    "object": "data", "script": "src", "source": "src", "video": "src",
}  # fmt: skip
LOADED_BY_STYLES = re.compile(r"""(?:url\(\s*['"]?|@import\s+['"])\s*([^'")]+)""")


class Page(HTMLParser):
    """The anchors of a page, what it links to, and what it loads."""

    def __init__(self, path):
        super().__init__()
        self.anchors, self.links, self.loaded = set(), [], []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.anchors.update(values[name] for name in ("id", "name") if values.get(name))
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        if values.get(LOADED.get(tag)):
            self.loaded.append(values[LOADED[tag]])
        self.loaded += LOADED_BY_STYLES.findall(values.get("style") or "")


@pytest.fixture(scope="module")
def pages(built):
    templates = built / "_static"  # of the theme, which are no pages
    return {path: Page(path) for path in built.rglob("*.html") if templates not in path.parents}


def is_outside(address):
    return bool(urlsplit(address).netloc) or address.startswith("//")


def broken(pages, page, address):
    """Whether a link to a page, a file or an anchor of the site leads nowhere."""
    link = urlsplit(address)
    if link.scheme or link.netloc:
        return False
    target = Path(page.parent / unquote(link.path)).resolve() if link.path else page
    anchor = unquote(link.fragment)
    missing_anchor = anchor and target in pages and anchor not in pages[target].anchors
    return not target.exists() or missing_anchor


def test_every_link_leads_to_a_page_a_file_or_an_anchor(built, pages):
    dead = [
        f"{page.relative_to(built)}: {address}"
        for page, contents in pages.items()
        for address in (*contents.links, *contents.loaded)
        if broken(pages, page, address)
    ]
    assert not dead


def test_nothing_is_loaded_from_other_places(built, pages):
    addresses = [
        (page.relative_to(built), each) for page, read in pages.items() for each in read.loaded
    ]
    for styles in built.rglob("*.css"):
        loaded = LOADED_BY_STYLES.findall(styles.read_text(encoding="utf-8"))
        addresses += [(styles.relative_to(built), each) for each in loaded]
    assert len(addresses) > 100
    assert [pair for pair in addresses if is_outside(pair[1])] == []
