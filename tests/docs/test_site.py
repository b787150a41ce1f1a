"""The site builds without a warning, its links lead somewhere, and it loads nothing from afar."""

import importlib
import inspect
import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from browser import chromium
from reference import PUBLIC, listed, needs_sphinx

import phinmf

needs_sphinx()

#: elements that a browser loads by itself, and the attribute that says from where
LOADED = {
    "audio": "src", "embed": "src", "iframe": "src", "img": "src", "link": "href",
    "object": "data", "script": "src", "source": "src", "video": "src",
}  # fmt: skip
#: of the page, and of the text in its column, which the theme would let scroll
WIDTH = """Math.max(document.documentElement.scrollWidth,
    document.querySelector(".bd-article-container").scrollWidth)"""
#: pages with pictures, equations, long words and long signatures
NARROW = (
    "index",
    "method",
    "estimator",
    "reference/generated/phinmf.tl_nmf",
    "reference/generated/phinmf.inits.INITS",
)
#: tables that are wider than the text; those of measured numbers may scroll
WIDE_TABLES = """[...document.querySelectorAll(".bd-article table")]
    .filter((table) => table.scrollWidth > table.parentElement.clientWidth + 1)
    .map((table) => table.innerText.slice(0, 60))"""
MEASURED = ("choosing", "gallery", "reliability")
LOADED_BY_STYLES = re.compile(r"""(?:url\(\s*['"]?|@import\s+['"])\s*([^'")]+)""")


class Page(HTMLParser):
    """The anchors of a page, what it links to, and what it loads."""

    def __init__(self, path):
        super().__init__()
        self.anchors, self.links, self.loaded = set(), [], []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.anchors.update(given[name] for name in ("id", "name") if given.get(name))
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if given.get(LOADED.get(tag)):
            self.loaded.append(given[LOADED[tag]])
        self.loaded += LOADED_BY_STYLES.findall(given.get("style") or "")


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
    found = [
        f"{page.relative_to(built)}: {address}"
        for page, contents in pages.items()
        for address in (*contents.links, *contents.loaded)
        if broken(pages, page, address)
    ]
    assert not found


def test_nothing_is_loaded_from_other_places(built, pages):
    addresses = [
        (page.relative_to(built), each) for page, read in pages.items() for each in read.loaded
    ]
    for styles in built.rglob("*.css"):
        loaded = LOADED_BY_STYLES.findall(styles.read_text(encoding="utf-8"))
        addresses += [(styles.relative_to(built), each) for each in loaded]
    assert len(addresses) > 100
    assert [found for found in addresses if is_outside(found[1])] == []


def test_equations_are_mathml(built):
    equations = re.findall(r"<math.*?</math>", (built / "method.html").read_text(), re.S)
    assert len(equations) > 100
    assert not [found for found in equations if "\\" in found]


def test_hats_are_accents(built):
    """The character of ASCII would be stretched over the letter as a roof."""
    text = (built / "method.html").read_text()
    assert "&#x002C6;</mo></mover>" in text
    assert "&#x0005E;" not in text


def test_the_reference_lists_every_public_name():
    documented = {id(value) for value in listed().values()}
    for module in PUBLIC:
        for name in importlib.import_module(module).__all__:
            value = getattr(importlib.import_module(module), name)
            assert name == "__version__" or id(value) in documented, f"{module}.{name}"


@pytest.mark.parametrize("name", ["DIVERGENCES", "INITS", "PAPER"])
def test_data_are_described(built, name):
    for page in built.glob("reference/generated/*.html"):
        if page.stem.endswith(f".{name}"):
            described = re.search(r"<dl class=\"py data.*?<dd>(.*?)</dd>", page.read_text(), re.S)
            assert re.search(r"\w+ \w+ \w+", re.sub(r"<[^>]+>", "", described[1]))
            return
    raise AssertionError(f"there is no page of {name}")


@pytest.mark.parametrize(
    ("page", "name"),
    [
        ("phinmf.tl_nmf", "Divergence"),  # as the type of a parameter
        ("phinmf.tl_nmf", "Beta"),  # in a sentence
        ("phinmf.Result", "Penalty"),
        ("phinmf.History", "Row"),
    ],
)
def test_names_of_classes_are_links(built, page, name):
    text = (built / f"reference/generated/{page}.html").read_text()
    assert re.search(rf'<a [^>]*href="phinmf[\w.]*\.{name}\.html[^>]*>(<[^>]+>)*{name}<', text)


def test_quotes_of_types_can_be_copied(built):
    text = (built / "reference/generated/phinmf.tl_nmf.html").read_text()
    assert "“" not in text
    assert "’" not in text


@pytest.mark.parametrize("name", ["tl_nmf", "learn_transform", "unmix", "to_frames", "TLNMF"])
def test_signatures_have_all_arguments_and_defaults(built, name):
    text = (built / f"reference/generated/phinmf.{name}.html").read_text()
    shown = re.sub(r"<[^>]+>", "", re.search(r"<dt class=\"sig.*?</dt>", text, re.S)[0])
    for argument in inspect.signature(getattr(phinmf, name)).parameters.values():
        default = "" if argument.default is argument.empty else f"={argument.default}"
        assert f"{argument.name}{default}" in shown.replace("'", "").replace("&#39;", "")


@pytest.mark.parametrize(
    ("name", "members"),
    [
        ("TLNMF", ["fit", "transform", "partial_fit", "score", "save", "load"]),
        ("Result", ["converged", "n_iter", "save", "load", "plot", "separate", "to_sound"]),
        ("Status", ["SMALL_GRADIENT", "converged"]),
    ],
)
def test_classes_have_their_members(built, name, members):
    text = (built / f"reference/generated/phinmf.{name}.html").read_text()
    assert [member for member in members if f'id="phinmf.{name}.{member}"' not in text] == []
    assert "set_fit_request" not in text


def test_tables_of_guides_are_not_cut(built):
    guides = [page for page in built.glob("*.html") if page.stem not in MEASURED]
    with chromium() as browser:
        browser.look(1200, 900)
        for page in (page for page in guides if "<table" in page.read_text(encoding="utf-8")):
            browser.open(page)
            assert browser.js(WIDE_TABLES) == [], page.stem


def test_pages_fit_the_window_and_ask_for_nothing(built):
    with chromium() as browser:
        for width in (400, 1280):
            browser.look(width, 900)
            for page in NARROW:
                browser.open(built / f"{page}.html")
                assert browser.js(WIDTH) <= width, page
                asked = browser.requests()
                assert [address for address in asked if not address.startswith("file:")] == []
