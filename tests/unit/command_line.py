"""`course …` as a person calls it: a process of its own, and how it ended."""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path


@dataclass
class Course:
    """The command line, with a database of its own."""

    environment: dict[str, str]

    def __call__(
        self, *arguments: str | Path, **environment: str
    ) -> subprocess.CompletedProcess[str]:
        """Run `course …` and return how it ended; a traceback is never right."""
        done = subprocess.run(
            [sys.executable, "-c", "from course_lib.cli import main; main()", *map(str, arguments)],
            env=os.environ
            | {"COLUMNS": "120", "PYTHONIOENCODING": "utf-8"}
            | self.environment
            | environment,
            capture_output=True,
            encoding="utf-8",
            timeout=120,
            check=False,
        )
        assert "Traceback" not in done.stderr, done.stderr
        return done

    def fails(self, *arguments: str | Path, **environment: str) -> str:
        """Run it, expect the exit code 1 and nothing on stdout, and return what it said."""
        done = self(*arguments, **environment)
        assert (done.returncode, done.stdout) == (1, ""), done.stderr
        assert done.stderr.count("error: ") == 1
        return done.stderr
