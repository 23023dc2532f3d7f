"""The labs in a real JupyterLab in a real browser, opened as `make lab` opens them in `my/`.

The labs are found by listing. Pictures of each are in build/browser after the run.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from typing import Any

import pytest

from course_lib.teaching.copies import start_lab
from tests.needs import needs

pytest.importorskip("playwright", reason="playwright is not here: make setup")

from playwright.sync_api import expect, sync_playwright

from tests.browser.laboratory import HEIGHT, LABS, ROOT, WIDTH, Laboratory, jupyterlab

pytestmark = [pytest.mark.browser, needs("chromium")]
THREE = {LABS[1], LABS[len(LABS) // 2], LABS[-2]}
"""Labs of the first, middle and last third: splitting, the service or the query, answers."""


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Run one JupyterLab whose `my/` has a copy of each lab, and solutions that were not run."""
    root = tmp_path_factory.mktemp("course")
    with jupyterlab(root) as address:
        start_lab(LABS[0], root)
        for lab in LABS:
            notebook = json.loads((ROOT / "solutions" / f"{lab}.ipynb").read_text("utf-8"))
            for cell in notebook["cells"]:
                if cell["cell_type"] == "code":
                    cell |= {"outputs": [], "execution_count": None}
            solved = root / "my" / f"solved_{lab}.ipynb"
            solved.write_text(json.dumps(notebook), encoding="utf-8")
        yield address


@pytest.fixture
def laboratory(address: str) -> Iterator[Laboratory]:
    """Give a tab of a new browser."""
    with sync_playwright() as play:
        chromium = shutil.which("chromium")
        browser = play.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        page.set_default_timeout(60_000)
        laboratory = Laboratory(page, address)
        yield laboratory
        laboratory.shut_down()
        browser.close()


@pytest.mark.parametrize(
    "lab", [pytest.param(lab, marks=[pytest.mark.long] if lab in THREE else []) for lab in LABS]
)
def test_the_solution_runs_to_its_end_without_an_error(laboratory: Laboratory, lab: str) -> None:
    laboratory.open(f"my/solved_{lab}.ipynb")
    laboratory.run("Run All Cells")
    assert (laboratory.failed(), laboratory.not_run()) == ({}, [])
    assert laboratory.look(lab) == []
    assert laboratory.errors == []


@pytest.mark.long
def test_sliders_move_hints_fold_and_a_restart_in_the_middle_works(laboratory: Laboratory) -> None:
    page = laboratory.page
    laboratory.open(f"my/solved_{LABS[1]}.ipynb")
    laboratory.menu("Run", "Run All Cells")
    expect(page.locator(".jp-CodeCell .jp-InputPrompt").nth(5)).to_contain_text("6")
    laboratory.menu("Kernel", "Restart Kernel and Run All Cells")
    page.locator(".jp-Dialog button.jp-mod-accept").click()
    last = page.locator(".jp-CodeCell .jp-InputPrompt").last  # between two runs no cell has a star
    expect(last).to_contain_text(re.compile(r"\d"), timeout=300_000)
    laboratory.finish()
    assert (laboratory.failed(), laboratory.not_run()) == ({}, [])

    slider = page.locator(".widget-slider [role=slider], .widget-slider .noUi-handle").first
    output = page.locator(".widget-interact").first
    before = output.locator("figure").inner_html()
    slider.focus()
    page.keyboard.press("ArrowRight")
    expect(output.locator(".widget-readout").first).not_to_have_text("300")
    expect(output.locator("figure")).not_to_have_js_property("innerHTML", before)

    hint = page.locator(".jp-OutputArea details:has-text('has passed: no hint')").first
    is_open = hint.evaluate("details => details.open")
    hint.locator("summary").click()
    assert hint.evaluate("details => details.open") != is_open
    assert laboratory.errors == []


@pytest.mark.long
def test_a_question_that_is_typed_into_the_box_of_lab_00_is_answered(
    laboratory: Laboratory,
) -> None:
    laboratory.open(f"my/solved_{LABS[0]}.ipynb")
    laboratory.run("Run All Cells")
    answers = laboratory.page.locator(".widget-interact").first
    expect(answers.locator("tbody tr").first).to_contain_text("model-monitoring.md")
    box = answers.locator("input[type=text]")
    box.fill("How do I get the value that a feature had in the past?")
    box.press("Enter")
    expect(answers.locator("tbody tr").first).to_contain_text("feature-stores.md")
    assert laboratory.errors == []


@pytest.mark.long
def test_links_open_the_glossary_and_the_learners_copy_of_the_next_lab(
    laboratory: Laboratory,
) -> None:
    page = laboratory.page
    laboratory.open(f"my/{LABS[1]}.ipynb")
    page.locator(".jp-Notebook a[href*='GLOSSARY']").first.click()
    expect(page.locator(".jp-MarkdownViewer")).to_be_visible()
    assert "/lab/tree/labs/GLOSSARY.md" in page.url
    laboratory.open(f"my/{LABS[1]}.ipynb")
    page.locator(f".jp-Notebook a:has-text('lab {LABS[2][:2]}')").last.click()
    expect(page.locator(f"#jp-main-dock-panel [title*='my/{LABS[2]}.ipynb']").first).to_be_visible()
    assert laboratory.errors == []


@pytest.mark.long
def test_it_opens_with_line_numbers_and_without_news_or_menus_for_instructors(
    laboratory: Laboratory,
) -> None:
    laboratory.open(f"my/{LABS[0]}.ipynb")
    page = laboratory.page
    expect(page.locator(".jp-CodeCell .cm-lineNumbers").first).to_be_visible()
    page.wait_for_timeout(2_000)
    assert page.locator(".Toastify__toast").count() == 0
    assert "Nbgrader" not in page.locator("#jp-MainMenu").inner_text()


@pytest.mark.long
@pytest.mark.parametrize("lab", sorted(THREE))
def test_an_untouched_lab_says_what_is_not_attempted_and_the_rest_runs(
    laboratory: Laboratory, lab: str
) -> None:
    laboratory.open(f"my/{lab}.ipynb")
    laboratory.run("Run All Cells")
    checks = [cell["id"] for cell in laboratory.cells() if is_check(cell)]
    # Last of this file: a saved copy has widgets that only its kernel knew.
    for _ in checks:  # one stops Run All, but for cells that come to the kernel after the stop
        if left := laboratory.not_run():
            laboratory.select(left[0])
            laboratory.run("Run Selected Cell and All Below")
    failed = laboratory.failed()
    assert (list(failed), laboratory.not_run()) == (checks, [])
    assert all(re.search(r"not attempted yet|waits for", said) for said in failed.values()), failed
    assert laboratory.look(f"{lab}_untouched") == []
    assert laboratory.errors == []


def is_check(cell: dict[str, Any]) -> bool:
    """Return whether a cell is the check of an exercise."""
    return bool(cell["metadata"].get("nbgrader", {}).get("grade"))
