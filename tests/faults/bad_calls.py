"""Bad calls of the command line: arguments, files, folders and settings of all kinds."""

from __future__ import annotations

import contextlib
import io
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random
from unittest.mock import patch

from course_lib.cli import main
from course_lib.settings import project_root
from tests.faults.bad_texts import bad_json, bad_record, some_bytes, some_text
from tests.faults.ground import Hashed, environment

Call = tuple[list[str], dict[str, str]]

SETTINGS = {
    "RAG_CHUNK_SIZE": ("abc", "-5", "0", "1e9", "9" * 400, ""),
    "RAG_CHUNK_OVERLAP": ("512", "-1", "x"),
    "RAG_TENANT": ("A B", "", "a" * 300, "-a", "é"),
    "RAG_COLLECTION": ("x;drop", "X", "a" * 99, "é"),
    "RAG_CUSTOM_PARSERS": ("no.such:Thing", "os:path", "nowhere.py:X", "x", "a:b:c", ","),
    "RAG_TOP_K": ("0", "many", "1.5"),
    "RAG_THREADS": ("0", "-1", "all"),
    "RAG_EMBED_BACKEND": ("magic", "TORCH"),
    "RAG_USE_DEFAULT_PARSERS": ("perhaps",),
    "RAG_VECTOR_DIM": ("0", "99999", "x"),
    "DATABASE_URL": (
        "garbage",
        "postgresql://nobody@127.0.0.1:1/x",
        "http://x",
        "sqlite:///x",
        " ",
    ),
}
PLAUSIBLE = {
    "--chunk-size": ("0", "-1", "x", "10", "9999999999999999999999"),
    "--chunk-overlap": ("10", "999", "-2", "x"),
    "--parser": ("markdown", "go", "none", ""),
    "--repo": ("", "a b", "é" * 300, "r"),
    "--partition": ("", "no such", "documentation"),
    "--top-k": ("0", "-1", "x", "3"),
    "--threshold": ("2", "nan", "x", "-1"),
    "--mode": ("magic", "dense"),
    "--tenant": ("A B", "", "me"),
    "--branch": ("", "é" * 400),
    "--nonsense": ("1",),
}


COMMANDS = (
    *("split", "validate", "search", "load", "ingest", "embed", "parsers", "nonsense"),
    *("ingest-tenant", "api-key", "settings", "eval", ""),
)


class BadCalls:
    """A folder for files, and the database that is called."""

    def __init__(self, folder: Path, url: str) -> None:
        self.folder, self.url = folder, url

    def make_one(self, rng: Random) -> tuple[str, str]:
        """Make one bad call; return its kind, and how it ended."""
        kind, call = rng.choice((self._with_file, self._with_words, self._with_settings))(rng)
        words, values = call
        out, err = io.StringIO(), io.StringIO()
        given = {"DATABASE_URL": self.url, "COLUMNS": "100"} | values
        with (
            environment({**given}),
            patch("course_lib.embedder.EmbeddingClient", Hashed),
            patch.object(sys, "argv", ["course", *words]),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
        ):
            try:
                main()
                code = 0
            except SystemExit as end:
                code = end.code if isinstance(end.code, int) else int(end.code is not None)
        judge(words, code, out.getvalue(), err.getvalue())
        return kind, f"exit code {code}"

    def _with_file(self, rng: Random) -> tuple[str, Call]:
        """A file or folder that is not what the command reads."""
        number = rng.randrange(10**9)
        ending = rng.choice([".md", ".yaml", ".py", ".jsonl", ".txt", ""])
        file = self.folder / "calls" / f"{number}" / f"file{ending}"
        file.parent.mkdir(parents=True)
        makers: list[Callable[[], tuple[str, bytes]]] = [
            lambda: some_bytes(rng),
            lambda: bad_json(rng, bad_record(rng)[1]),
        ]
        kind, raw = rng.choice(makers)()
        file.write_bytes(raw)
        made: list[list[str]] = [
            ["split", str(file)],
            ["split", str(file), "--jsonl"],
            ["validate", str(file)],
            ["validate", str(file), "--json"],
            ["ingest", str(file)],
            ["ingest", str(file.parent), "--repo", "r"],
            ["load", str(file.parent), "--output-dir", str(file.parent / "out")],
            ["load", str(file.parent), "--output-dir", str(file)],
            ["embed", str(file.parent)],
            ["ingest-tenant", str(file), "--tenant", "local", "--repo", "r"],
            ["xray", "scan", str(file.parent)],
        ]
        return f"file: {kind}", (rng.choice(made), {})

    def _with_words(self, rng: Random) -> tuple[str, Call]:
        """Arguments and options that nobody expects."""
        command = rng.choice(COMMANDS)
        words = [command]
        for _ in range(rng.randint(0, 3)):
            if rng.random() < 0.5:
                option = rng.choice(list(PLAUSIBLE))
                words += [option, rng.choice(PLAUSIBLE[option])]
            else:
                words.append(self._odd_word(rng))
        return "arguments", (words, {})

    def _odd_word(self, rng: Random) -> str:
        return rng.choice(
            [
                "", " ", "-", "--", "---", "-x", "/nonexistent/" + "a" * 300, "\udcff.md", "a\0b",
                "/dev/null", "/proc/self/mem", "~", "*", "$(id)", "a\nb", "é" * 300, "C:\\x",
                str(self.folder / "none"),
                some_text(rng)[1][:100].lstrip("-"),
            ]
        )  # fmt: skip

    def _with_settings(self, rng: Random) -> tuple[str, Call]:
        """A setting that cannot be used."""
        name = rng.choice(list(SETTINGS))
        page = str(project_root() / "data" / "documents" / "feature-stores.md")
        words = rng.choice([["split", page], ["search", "wings"], ["parsers"], ["settings"]])
        return f"setting {name}", (words, {name: rng.choice(SETTINGS[name])})


def judge(words: list[str], code: int, out: str, err: str) -> None:
    """Check how a call ended: 0, or a message that says what to do, and never a traceback."""
    said = (words, code, out[-500:], err[-1500:])
    assert "Traceback" not in out + err, said
    assert code in (0, 1, 2), said
    if code == 2:
        assert "Usage:" in err or "Usage:" in out, said
    elif code == 1 and "error: " in err:
        lines = err[err.index("error: ") :].strip().splitlines()
        assert len(lines) > 1, said
    elif code == 1:
        assert words[0] in ("validate", "ingest-tenant") and out + err, said
