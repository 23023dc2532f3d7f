"""What the set-up says while it works.

One line a step, with a bar on a terminal; what pip says goes to a log and is shown where it fails.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from course_lib.installer.processes import SetupError, clean_environment
from course_lib.installer.venvs import site_packages, venv_python

_WIDTH = 24


class Steps:
    """The steps of one set-up.

    Parameters
    ----------
    root
        The folder that holds `.venv`.
    total
        How many steps there are.
    """

    def __init__(self, root: Path, total: int) -> None:
        self.root = root
        self.total = total
        self.log = root / "build" / "setup.log"
        self.log.write_text("", encoding="utf-8")
        self._label = ""
        self._started = 0.0
        self._terminal = sys.stdout.isatty() and not os.environ.get("CI")

    def begin(self, number: int, label: str) -> None:
        """End the running step with its time, and announce the next."""
        self.end()
        self._label = f"  [{number}/{self.total}] {label}"
        self._started = time.monotonic()
        print(self._label, end="", flush=True)

    def end(self) -> None:
        """End the running step, if there is one, with its time."""
        if self._label:
            print(f"{self._again()}  {time.monotonic() - self._started:.0f} s", flush=True)
            self._label = ""

    def pip(self, arguments: list[str], *, packages: int = 0, required: bool = True) -> bool:
        """Run the pip of `.venv`.

        Parameters
        ----------
        arguments
            Of pip.
        packages
            How many packages it will install; 0 where that is not worth a bar.
        required
            Raise where it fails.

        Returns
        -------
        bool
            Whether it succeeded.

        Raises
        ------
        SetupError
            With the end of what pip said.
        """
        command = [str(venv_python(self.root)), "-I", "-m", "pip", *arguments]
        site = site_packages(self.root)

        def done() -> float:
            if not packages:
                return 0.0
            said = self.log.read_text(encoding="utf-8", errors="replace")
            line = r"^(?:Collecting|Processing|Requirement already)"
            fetched = len(re.findall(line, said, re.MULTILINE))
            installed = sum(1 for _ in site.glob("*.dist-info"))
            return min((fetched + installed) / (2 * packages), 1.0)

        return self.run([*command, "--progress-bar", "off"], done, required=required)

    def run(
        self,
        command: list[str],
        done: Callable[[], float] = lambda: 0.0,
        *,
        required: bool = True,
    ) -> bool:
        """Run a command with its output in the log; `done` tells which share of it is done."""
        before = self.log.stat().st_size
        with self.log.open("ab") as out:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                env=clean_environment(),
            )
            try:
                while _still_runs(process, 0.3):
                    self._draw(done())
            except BaseException:
                process.terminate()
                process.wait()
                raise
        if process.returncode and required:
            said = self.log.read_bytes()[before:].decode("utf-8", errors="replace")
            raise SetupError(failure(said, self.log))
        return process.returncode == 0

    def _again(self) -> str:
        return f"\r\x1b[K{self._label}" if self._terminal else ""

    def _draw(self, share: float) -> None:
        if not self._terminal:
            return
        filled = round(_WIDTH * share)
        bar = f"[{'#' * filled}{'.' * (_WIDTH - filled)}] " if share else ""
        seconds = time.monotonic() - self._started
        print(f"{self._again()}  {bar}{seconds:.0f} s", end="", flush=True)


def failure(said: str, log: Path) -> str:
    """Return the message for a command that failed: the end of what it said, and what to do.

    Examples
    --------
    >>> print(failure("OSError: [Errno 28] No space left on device", Path("setup.log")))
    a step failed:
        OSError: [Errno 28] No space left on device
    The disk is full. Free some space and try again; what was installed is kept.
    The whole output is in setup.log.
    """
    advice = {
        r"No space left on device|not enough space": "The disk is full. Free some space and try "
        "again; what was installed is kept.",
        r"CERTIFICATE_VERIFY_FAILED": "A proxy here replaces certificates: set PIP_CERT to the "
        "file with your organisation's.",
        r"NewConnectionError|name resolution|timed out|ConnectTimeout|getaddrinfo": "The package "
        "index cannot be reached. Check the network (behind a proxy: HTTPS_PROXY) and try again; "
        "what was installed is kept.",
        r"Permission denied|Access is denied": "A file cannot be written. Close notebooks and "
        "programs that use .venv, and check who owns the folder.",
    }
    lines = ["a step failed:", *(f"    {line}" for line in said.strip().splitlines()[-15:])]
    lines += [text for pattern, text in advice.items() if re.search(pattern, said)][:1]
    return "\n".join([*lines, f"The whole output is in {log}."])


def _still_runs(process: subprocess.Popen[bytes], seconds: float) -> bool:
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        return True
    return False
