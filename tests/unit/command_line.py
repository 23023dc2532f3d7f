"""`course …` as a person calls it, and how it ended."""

import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.blackbox import course


@dataclass
class Course:
    """The command line, with a database of its own."""

    environment: dict[str, str]

    def __call__(
        self, *arguments: str | Path, **environment: str
    ) -> subprocess.CompletedProcess[str]:
        """Run `course …` and return how it ended; a traceback is never right.

        It runs in this process; in one of its own where PYTHONPATH names other code.
        """
        call = course.Course(self.environment)
        is_other_code = "PYTHONPATH" in self.environment | environment
        done = (call.in_a_process if is_other_code else call)(*arguments, **environment)
        assert "Traceback" not in done.err, done.err
        return subprocess.CompletedProcess(list(arguments), done.code, done.out, done.err)

    def fails(self, *arguments: str | Path, **environment: str) -> str:
        """Run it, expect the exit code 1 and nothing on stdout, and return what it said."""
        done = self(*arguments, **environment)
        assert (done.returncode, done.stdout) == (1, ""), done.stderr
        assert done.stderr.count("error: ") == 1
        return done.stderr
