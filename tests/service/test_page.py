"""The search page in a browser: it fits a phone and works by keyboard; what it marks."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page

from course_lib.service.page import highlighted
from tests.needs import needs
from tests.service.browser import browser
from tests.service.conftest import Index, record
from tests.service.running import Running


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


needs_chromium = needs("chromium")


@pytest.fixture(scope="module")
def tab() -> Iterator[Page]:
    with browser() as found:
        yield found


@needs_chromium
@pytest.mark.parametrize("width", [320, 1200])
def test_the_page_fits_every_screen(tab: Page, service: Running, width: int) -> None:
    tab.set_viewport_size({"width": width, "height": 900})
    tab.goto(f"{service.url}/?q=How+is+drift+measured%3F&top_k=20")
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    outside = (
        "[...document.querySelectorAll('input, select, button, article')]"
        f".filter(e => e.getBoundingClientRect().right > {width}).length"
    )
    assert tab.evaluate(outside) == 0
    assert tab.evaluate("document.querySelectorAll('article').length") == 20


@needs_chromium
def test_the_page_works_by_keyboard_and_fields_have_names(tab: Page, service: Running) -> None:
    tab.set_viewport_size({"width": 800, "height": 900})
    tab.goto(service.url)
    names = "[...document.querySelectorAll('input, select')].map(e => e.labels[0]?.textContent)"
    assert len(tab.evaluate(names)) == 6 and all(name.strip() for name in tab.evaluate(names))
    focused = "document.activeElement.name || document.activeElement.type"
    assert tab.evaluate(focused) == "q"
    tab.keyboard.insert_text("How is drift measured?")
    order = []
    for _ in range(6):
        tab.keyboard.press("Tab")
        order.append(tab.evaluate(focused))
    assert order == ["submit", "partition", "repo", "kind", "mode", "top_k"]
    tab.keyboard.press("Enter")
    tab.wait_for_function("document.querySelectorAll('article').length === 5")
    assert tab.evaluate("document.querySelector('[role=status]').textContent").startswith(
        "5 results"
    )
    assert tab.evaluate("document.querySelector('#q').value") == "How is drift measured?"


@needs_chromium
def test_nothing_that_a_record_holds_runs_or_turns_what_is_beside_it(
    tab: Page, service: Running, index: Index
) -> None:
    """Tags are text, and an override of the writing direction ends with the name that holds it."""
    script = "<script>document.title = 'run'</script><img src=x onerror=\"document.title = 'run'\">"
    text = f"Narwhals write {script} and \u202e backwards."
    sent = record(name=f"turned \u202e {script}", content=text)
    body = {"repo": "narwhals", "branch": "main", "visibility": "public", "files": [sent]}
    headers = {"X-API-Key": index.beta}
    answer = service.client.post("/ingest/source-files", json=body, headers=headers)
    assert answer.json()["rejections"] == []
    tab.set_viewport_size({"width": 1200, "height": 900})
    tab.goto(f"{service.url}/?q=narwhals+write&repo=narwhals&top_k=1")
    assert tab.evaluate("document.querySelector('pre').textContent").startswith(
        "Narwhals write <scr"
    )
    assert tab.evaluate("document.querySelectorAll('script, img').length") == 0
    assert tab.evaluate("document.title").startswith("narwhals write")
    beside = "[...document.querySelectorAll('.meta > bdi')].slice(1)"
    lefts = tab.evaluate(f"{beside}.map(e => e.getBoundingClientRect().left)")
    assert len(lefts) == 3 and lefts == sorted(lefts)
