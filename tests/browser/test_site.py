"""The site as a reader has it: built without a warning, and each page opened in Chromium."""

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote_plus, unquote

import pytest
from playwright.sync_api import ConsoleMessage, Page

from course_lib.cli.commands import COMMANDS
from course_lib.settings import project_root
from infra.course.site import build_site
from tests.needs import needs
from tests.service.browser import browser

ROOT = project_root()
AXE = ROOT / "build" / "axe" / "node_modules" / "axe-core" / "axe.min.js"
PHONE = 390
LOOKED_AT = (
    *("index.html", "labs/01_recursive_splitter.html", "solutions/07_search_query.html"),
    *("labs/GLOSSARY.html", "labs/INSTRUCTORS.html", "build/reference/retriever.html"),
)
"""A page of each kind, which axe looks at in light and in dark."""

FIRST_VISIT = "Resetting to auto."
"""What the theme complains of where it has not kept yet whether a reader likes it dark."""

pytestmark = pytest.mark.long
needs_chromium = needs("chromium")


@pytest.fixture(scope="module")
def site() -> Path:
    """Build the site; any warning is an error."""
    return build_site().parent


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[str, str]:
    """Return the text of each page by its path."""
    found = {path.relative_to(site).as_posix(): path for path in sorted(site.rglob("*.html"))}
    return {
        name: path.read_text(encoding="utf-8")
        for name, path in found.items()
        if not name.startswith("_static/")
    }


@pytest.fixture(scope="module")
def tab() -> Iterator[Page]:
    """Give a tab of Chromium."""
    with browser() as one:
        yield one


def test_a_solutions_page_shows_no_claim(pages: dict[str, str]) -> None:
    page = pages["solutions/00_first_search.html"]
    assert "lab.show.passages" in re.sub(r"<[^>]+>", "", page) and ">assert<" not in page


def test_each_command_is_on_a_page_with_its_arguments(pages: dict[str, str]) -> None:
    helps = {name: text for name, text in pages.items() if name.startswith("build/commands/")}
    for name in [name for group in COMMANDS.values() for name in group]:
        [text] = [text for text in helps.values() if f'id="course-{name}"' in text]
        assert f"course {name}" in re.sub(r"<[^>]+>", "", text)
    assert "--threshold" in helps["build/commands/your-documents.html"]


@pytest.mark.parametrize("name", ["index.html", "infra/site/start.html"])
def test_a_page_on_which_readers_start_says_where_the_course_is(
    pages: dict[str, str], name: str
) -> None:
    assert re.search("repository is <a|of its repository, from whoever", pages[name])


def test_a_term_shows_its_definition_where_it_is_linked(pages: dict[str, str]) -> None:
    links = re.findall(r"<a [^>]*GLOSSARY\.html#[^>]*>", pages["labs/00_first_search.html"])
    assert len(links) > 5
    assert all(re.search(r'data-definition="\w[^"]{20,}"', link) for link in links), links


def test_every_link_within_the_site_leads_somewhere(site: Path, pages: dict[str, str]) -> None:
    ids = {name: set(re.findall(r'\bid="([^"]+)"', text)) for name, text in pages.items()}
    broken = []
    for name, text in pages.items():
        for link in re.findall(r'<(?:a|link|script|img)\b[^>]*?\s(?:href|src)="([^"]+)"', text):
            if re.match(r"[a-z]+:", link) or link == "#":
                continue
            path, _, anchor = unquote(link).partition("#")
            target = (site / name).parent / path.partition("?")[0] if path else site / name
            page = target.resolve().relative_to(site).as_posix()
            if not target.exists() or (anchor and page in ids and anchor not in ids[page]):
                broken.append((name, link))
    assert broken == []


def test_the_site_loads_nothing_from_elsewhere(pages: dict[str, str]) -> None:
    loads = r'<(?:script|img|iframe)\b[^>]*\ssrc="(https?:[^"]+)"|<link\b[^>]*href="(https?:[^"]+)"'
    assert {name: found for name, text in pages.items() if (found := re.findall(loads, text))} == {}


@needs_chromium
@pytest.mark.parametrize("width", [PHONE, 1280])
def test_every_page_opens_without_an_error_and_fits(
    site: Path, pages: dict[str, str], tab: Page, width: int
) -> None:
    tab.set_viewport_size({"width": width, "height": 900})
    wrong: list[object] = []
    told: list[str] = []

    def note(one: ConsoleMessage) -> None:
        if one.type == "error" and not one.text.endswith(FIRST_VISIT):
            told.append(one.text)

    tab.on("console", note)
    tab.on("pageerror", lambda error: told.append(str(error)))
    for name in pages:
        told.clear()
        tab.goto((site / name).as_uri())
        wide = tab.evaluate("document.documentElement.scrollWidth")
        silent = tab.evaluate("document.querySelectorAll('img:not([alt]), img[alt=\"\"]').length")
        if wide > width or silent or told:
            wrong.append((name, wide, silent, [*told]))
    assert wrong == []


@needs_chromium
@pytest.mark.parametrize(
    ("asked", "page"),
    [
        ("lab 06", "labs/06_pgvector_schema.html"),
        ("without installing", "infra/site/start.html"),
        ("chunk count differs", "labs/TROUBLESHOOTING.html#chunk-count-differs"),
        ("late work", "labs/CLASS.html#late-work"),
        ("course search", "build/commands/your-documents.html#course-search"),
        ("search arguments", "build/commands/your-documents.html"),
    ],
)
def test_the_search_gives_a_newcomer_the_page_first(
    site: Path, tab: Page, asked: str, page: str
) -> None:
    tab.goto(f"{(site / 'search.html').as_uri()}?q={quote_plus(asked)}")
    found = "[...document.querySelectorAll('#search-results li > a')].map(a => a.href)"
    tab.wait_for_function(f"{found}.length > 0")
    first = [link.partition("?")[0] for link in tab.evaluate(found)[:2]]
    assert any(link.startswith(f"{site.as_uri()}/{page}") for link in first), first


@needs_chromium
@pytest.mark.skipif(not AXE.exists(), reason="no axe: npm install --prefix build/axe axe-core")
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_serious(site: Path, tab: Page, theme: str) -> None:
    tab.set_viewport_size({"width": 1280, "height": 900})
    for name in LOOKED_AT:
        tab.goto((site / name).as_uri())
        tab.evaluate(f"document.documentElement.dataset.theme = '{theme}'")
        tab.evaluate("new Promise(done => setTimeout(done, 500))")  # colours change gradually
        tab.evaluate(AXE.read_text(encoding="utf-8") + "; 0")
        rules = "{runOnly: ['color-contrast', 'image-alt', 'link-name', 'button-name', 'label']}"
        told = tab.evaluate(
            f"axe.run(document, {rules}).then(r => r.violations.map("
            "v => [v.id, v.nodes.length, v.nodes[0].html.slice(0, 120)]))"
        )
        assert told == [], name
