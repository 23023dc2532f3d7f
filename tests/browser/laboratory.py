"""A JupyterLab as `make lab` opens it, with a `my/` of its own, driven by Playwright."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
from playwright.sync_api import Page, expect

from course_lib.settings import project_root, state_dir

ROOT = project_root()
LABS = [path.stem for path in sorted((ROOT / "labs").glob("[0-9]*.ipynb"))]
PICTURES = ROOT / "build" / "browser"
"""The screenshots of a run."""

TOKEN = "browser"
expect.set_options(timeout=60_000)
IGNORED = "Failed to load resource|favicon"
WIDTH, HEIGHT, FULL = 1280, 900, 16_000
"""Pixels of the screen; Chromium can take a picture of little more than the last height."""

UNFINISHED = """() => [...document.querySelectorAll('.jp-CodeCell .jp-InputPrompt')]
    .some(prompt => prompt.textContent.includes('*'))"""
TO = {
    "bottom": "panel => panel.scrollTo(0, panel.scrollHeight)",
    "top": "panel => panel.scrollTo(0, 0)",
}
CUT_OFF = """() => [...document.querySelectorAll('.jp-Cell-outputArea .jp-OutputArea-output')]
    .filter(output => output.querySelector('img, svg, figure, .jupyter-widgets'))
    .filter(output => output.scrollWidth > output.clientWidth + 1
        || output.closest('.jp-mod-outputsScrolled'))
    .map(output => output.textContent.slice(0, 80))"""
BROKEN = """() => [...document.querySelectorAll('.jp-Notebook img')]
    .filter(image => image.complete && !image.naturalWidth).map(image => image.alt)"""


@contextmanager
def jupyterlab(root: Path) -> Iterator[str]:
    """Run `course lab` on a folder like the course's; give its address."""
    for name in ("course_lib", "data", "infra", "pyproject.toml", "solutions"):
        (root / name).symlink_to(ROOT / name)
    shutil.copytree(ROOT / "labs", root / "labs")  # Jupyter gives no pictures from elsewhere
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    variables = {
        **os.environ,
        "COURSE_ROOT": str(root),
        "COURSE_STATE": str(state_dir()),
        "JUPYTER_TOKEN": TOKEN,
    }
    command = [Path(sys.executable).with_name("course"), "lab", f"--port={port}", "--no-browser"]
    with (root / "log").open("w+", encoding="utf-8") as log:
        process = subprocess.Popen(command, env=variables, stdout=log, stderr=log)
        try:
            wait_for(f"http://127.0.0.1:{port}/api", process)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait(60)


def wait_for(url: str, process: subprocess.Popen[bytes]) -> None:
    """Wait until a server answers."""
    deadline = time.monotonic() + 300
    while True:
        with suppress(httpx.TransportError):
            if httpx.get(url).is_success:  # a proxy answers before the server behind it
                return
        assert process.poll() is None and time.monotonic() < deadline, "JupyterLab does not start"
        time.sleep(0.2)


def meant_to_fail(cell: dict[str, Any]) -> bool:
    """Return whether a cell shows an error on purpose."""
    return "raises-exception" in cell["metadata"].get("tags", [])


class Laboratory:
    """A tab with JupyterLab, and what went wrong in its page and its console."""

    def __init__(self, page: Page, address: str, token: str = TOKEN) -> None:
        self.page = page
        self.address = address
        self.token = token
        self.headers = {"Authorization": f"token {token}"}
        self.path = ""
        self.errors: list[str] = []
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("console", lambda said: self._hear(said.type, said.text))

    def _hear(self, kind: str, text: str) -> None:
        if kind == "error" and not re.search(IGNORED, text):
            self.errors.append(text)

    def open(self, path: str) -> None:
        """Open a notebook, and nothing else, and wait until all of its cells are on the page."""
        self.errors.clear()
        self.path = path
        self._without_outputs()
        self.page.goto(f"{self.address}/lab/tree/{path}?token={self.token}&reset")
        self.page.wait_for_selector(".jp-Notebook .jp-CodeCell .cm-line", timeout=60_000)
        expect(self.page.locator(".jp-Notebook .jp-Cell")).to_have_count(len(self.cells()))
        self.ready()

    def _without_outputs(self) -> None:
        """Empty the outputs that an earlier test saved: their widgets have no kernel any more."""
        address = f"{self.address}/api/contents/{self.path}"
        model = httpx.get(address, headers=self.headers, timeout=60).raise_for_status().json()
        for cell in model["content"]["cells"]:
            if cell["cell_type"] == "code":
                cell |= {"outputs": [], "execution_count": None}
        httpx.put(address, headers=self.headers, json=model, timeout=60).raise_for_status()

    def ready(self) -> None:
        """Wait until the kernel has nothing to do."""
        idle = self.page.locator(".jp-Notebook-ExecutionIndicator[data-status=idle]")
        expect(idle.first).to_be_attached(timeout=120_000)

    def menu(self, name: str, entry: str) -> None:
        """Choose an entry of a menu."""
        self.page.locator("#jp-MainMenu").get_by_role("menuitem", name=name, exact=True).click()
        self.page.get_by_role("menuitem", name=entry).first.click()

    def run(self, entry: str) -> None:
        """Choose an entry of the menu Run, wait until no cell runs or waits, and save."""
        self.menu("Run", entry)
        self.finish()

    def finish(self) -> None:
        """Wait until no cell runs or waits, and save the notebook."""
        self.page.wait_for_timeout(500)
        self.page.wait_for_function(f"() => !({UNFINISHED})()", timeout=300_000)
        self.ready()
        self.menu("File", "Save Notebook")
        expect(self.page.locator("#jp-main-dock-panel .jp-mod-dirty")).to_have_count(0)

    def select(self, index: int) -> None:
        """Select the cell of this index."""
        cell = f".jp-Cell[data-windowed-list-index='{index}']"
        self.page.locator(f"{cell} .jp-InputPrompt").click()

    def cells(self) -> list[dict[str, Any]]:
        """Return the cells of the notebook as it was saved last."""
        contents = f"{self.address}/api/contents/{self.path}"
        answer = self.page.request.get(contents, headers=self.headers).json()
        cells: list[dict[str, Any]] = answer["content"]["cells"]
        return cells

    def not_run(self) -> list[int]:
        """Return the indexes of the code cells that have no number."""
        numbered = [(i, cell.get("execution_count", 0)) for i, cell in enumerate(self.cells())]
        return [index for index, number in numbered if number is None]

    def failed(self) -> dict[str, str]:
        """Return the cells that failed where that is not meant, and what they said, by id."""
        return {
            cell["id"]: output["evalue"]
            for cell in self.cells()
            for output in cell.get("outputs", [])
            if output["output_type"] == "error" and not meant_to_fail(cell)
        }

    def shut_down(self) -> None:
        """End the kernels, whose models take memory."""
        kernels = f"{self.address}/api/kernels"
        for kernel in self.page.request.get(kernels, headers=self.headers).json():
            self.page.request.delete(f"{kernels}/{kernel['id']}", headers=self.headers)

    def look(self, name: str) -> list[str]:
        """Save what the notebook looks like, and return what is cut off and pictures not shown."""
        PICTURES.mkdir(parents=True, exist_ok=True)
        self.page.set_viewport_size({"width": WIDTH, "height": FULL})
        for where in ("bottom", "top"):  # what was never seen has no height yet
            self.page.locator(".jp-WindowedPanel-outer").evaluate(TO[where])
            self.page.wait_for_timeout(1_000)
        last = self.page.locator(".jp-Notebook .jp-Cell").last.bounding_box()
        bottom = min(FULL, round(last["y"] + last["height"]) + 40 if last else FULL)
        clip = {"x": 0.0, "y": 0.0, "width": float(WIDTH), "height": float(bottom)}
        self.page.screenshot(path=PICTURES / f"{name}.png", clip=clip)  # type: ignore[arg-type]
        wrong: list[str] = self.page.evaluate(CUT_OFF) + self.page.evaluate(BROKEN)
        self.page.set_viewport_size({"width": WIDTH, "height": HEIGHT})
        return wrong
