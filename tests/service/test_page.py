"""The search page: what it shows, that nothing of what was found runs, and that it fits a phone."""

import re
from collections.abc import Iterator
from html import unescape

import httpx
import pytest

from course_lib.embedder import EmbeddingClient
from course_lib.records import Chunk
from course_lib.service.page import highlighted
from course_lib.settings import project_root
from course_lib.store import connect, write_chunks
from tests.service.browser import CHROMIUM, Browser, browser
from tests.service.conftest import Index
from tests.service.running import Running


def test_the_empty_page_has_a_labelled_form_and_no_outside_asset(client: httpx.Client) -> None:
    answer = client.get("/")
    html = answer.text
    assert answer.status_code == 200 and answer.headers["content-type"].startswith("text/html")
    assert '<label class="hidden" for="q">' in html and "<html lang=" in html
    assert "<script" not in html and not re.findall(r'(?:src|href)="(?:https?:)?//', html)
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy and "script" not in policy


def test_a_question_shows_results_with_marked_words_and_scores(client: httpx.Client) -> None:
    html = client.get("/", params={"q": "How is drift measured?", "top_k": "3"}).text
    assert html.count("<article") == 3 and "model-monitoring.md:" in html
    assert "<mark>drift</mark>" in html and "similarity 0." in html and "3 results" in html
    assert '<option value="hybrid" selected>' in html


def test_a_result_on_the_page_begins_with_a_word(client: httpx.Client) -> None:
    asked = {"q": "How is drift measured?", "top_k": "50", "repo": "documents"}
    html = client.get("/", params=asked).text
    texts = re.findall(r"<pre[^>]*>(.*?)</pre>", html, re.DOTALL)
    firsts = [re.findall(r"\w+", unescape(re.sub(r"<[^>]+>", "", text)))[0] for text in texts]
    assert len(firsts) == 50 and set(firsts) <= words_of_the_documents()


def words_of_the_documents() -> set[str]:
    pages = (project_root() / "data" / "documents").glob("*.md")
    return {word for page in pages for word in re.findall(r"\w+", page.read_text("utf-8"))}


def test_filters_are_kept_and_applied(client: httpx.Client) -> None:
    asked = {"q": "drift", "partition": "issues", "mode": "dense", "repo": "documents"}
    html = client.get("/", params=asked).text
    assert "Nothing was found" in html and "<option selected>issues</option>" in html
    assert 'value="documents"' in html


@pytest.mark.parametrize("top_k", ["0", "51", "many", "9" * 30])
def test_a_wrong_number_of_results_is_explained(client: httpx.Client, top_k: str) -> None:
    answer = client.get("/", params={"q": "drift", "top_k": top_k})
    assert answer.status_code == 422 and "the number of results" in answer.text


def test_what_was_asked_is_shown_as_text(client: httpx.Client) -> None:
    html = client.get("/", params={"q": '"><script>alert(1)</script>'}).text
    assert "<script" not in html and "&lt;script&gt;" in html


def test_nothing_of_a_found_text_runs_and_only_web_addresses_are_links(
    client: httpx.Client, index: Index, embedder: EmbeddingClient
) -> None:
    chunk = Chunk(
        tenant_id="local",
        repo_slug="hostile",
        root_kind="external-source",
        source_path="evil.md",
        content='<img src=x onerror="alert(1)"> zebra',
        hash_inputs=["content"],
        parser_id="markdown",
        parser_version="1.0.0",
        kind="doc-section",
        name="<b>name</b>",
    )
    with connect(index.url, autocommit=True) as conn:
        write_chunks(conn, [chunk], embedder.encode([chunk.content]), partition="issues")
        conn.execute(
            "UPDATE document_chunks SET citation_url = 'javascript:alert(1)' "
            "WHERE repo_slug = 'hostile'"
        )
        html = client.get("/", params={"q": "zebra", "repo": "hostile"}).text
        conn.execute("DELETE FROM document_chunks WHERE repo_slug = 'hostile'")
    assert "&lt;img src=x" in html and "<img" not in html
    assert "<b>name</b></b>" not in html and "&lt;b&gt;name" in html
    assert "javascript:" not in html


@pytest.mark.parametrize(
    ("text", "question", "marked"),
    [
        ("The drift.", "the drift", "The <mark>drift</mark>."),
        ("a < b & c", "b", "a &lt; <mark>b</mark> &amp; c"),
        ("drifting spindrift", "drift", "<mark>drifting</mark> spindrift"),
        ("(x)*", "(x)*", "(<mark>x</mark>)*"),
        ("text", "", "text"),
        ("text", "?!", "text"),
    ],
)
def test_whole_words_of_the_question_are_marked(text: str, question: str, marked: str) -> None:
    assert str(highlighted(text, question)) == marked


needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browser(tmp_path_factory.mktemp("profile")) as found:
        yield found


@needs_chromium
@pytest.mark.parametrize("width", [320, 375, 1200])
@pytest.mark.parametrize("query", ["", "?q=How+is+drift+measured%3F&top_k=20"])
def test_the_page_fits_every_screen(tab: Browser, service: Running, width: int, query: str) -> None:
    tab.size(width)
    tab.open(f"{service.url}/{query}")
    assert tab.value("document.documentElement.scrollWidth") <= width
    outside = (
        "[...document.querySelectorAll('input, select, button, article')]"
        f".filter(e => e.getBoundingClientRect().right > {width}).length"
    )
    assert tab.value(outside) == 0
    assert tab.value("document.querySelectorAll('article').length") == (20 if query else 0)


@needs_chromium
def test_the_page_works_by_keyboard(tab: Browser, service: Running) -> None:
    tab.size(800)
    tab.open(service.url)
    focused = "document.activeElement.name || document.activeElement.type"
    assert tab.value(focused) == "q"
    tab.write("How is drift measured?")
    order = []
    for _ in range(7):
        tab.press("Tab")
        order.append(tab.value(focused))
    assert order == ["submit", "partition", "repo", "kind", "mode", "rerank", "top_k"]
    tab.press("Enter")
    tab.until("document.querySelectorAll('article').length === 5")
    assert tab.value("document.querySelector('[role=status]').textContent").startswith("5 results")
    assert tab.value("document.querySelector('#q').value") == "How is drift measured?"


@needs_chromium
def test_every_field_has_a_name_for_who_does_not_see_it(tab: Browser, service: Running) -> None:
    tab.open(service.url)
    names = tab.value(
        "[...document.querySelectorAll('input, select')].map(e => e.labels[0]?.textContent.trim())"
    )
    assert len(names) == 7 and all(names)
