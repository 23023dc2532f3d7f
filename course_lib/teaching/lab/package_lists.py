"""What the lab about packages shows: code that a model wrote, and what lists of packages cost."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from course_lib.embedder import EmbeddingClient
from course_lib.evaluation.statistics import paired_interval
from course_lib.settings import project_root
from course_lib.teaching.lab.figures.base import PAPER, Figure, picture
from course_lib.teaching.lab.retrieval import score_words
from course_lib.xray import LockFiles, TableDescriber, find_lock_files, sync_project
from course_lib.xray.catalogue import embedded_text
from course_lib.xray.descriptions import TABLE
from course_lib.xray.measure import Instruction

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pandas as pd
    import psycopg

Encode = Callable[..., "npt.NDArray[np.float32]"]

RECORDS = "data/answers/packages.jsonl"
BYTES_PER_TOKEN = 3
"""An estimate. The recorded model read 111 names in 353 tokens, which are 384 by this."""

MODULES = {
    "argon2-cffi": "argon2", "attrs": "attr", "dnspython": "dns", "fonttools": "fontTools",
    "google-auth": "google", "ipython": "IPython", "markdown-it-py": "markdown_it",
    "paho-mqtt": "paho", "pillow": "PIL", "protobuf": "google", "pyjwt": "jwt",
    "python-dateutil": "dateutil", "python-dotenv": "dotenv", "python-multipart": "multipart",
    "pyyaml": "yaml", "pyzmq": "zmq", "rpds-py": "rpds", "scikit-learn": "sklearn",
}  # fmt: skip
"""Package → what is imported, where the names differ by more than a dash."""

_IMPORT = re.compile(r"^[ \t]*(?:from[ \t]+(\S+)[ \t]+import\b.*|import[ \t]+(.+))$", re.M)


def imported(code: str) -> set[str]:
    r"""Return the modules that Python code imports.

    It is read line by line, because an answer may end in the middle.

    Examples
    --------
    >>> sorted(imported("import os.path, charset-normalizer\nfrom PIL import Image as I\nI.open("))
    ['PIL', 'charset-normalizer', 'os']
    """
    found = set()
    for line in _IMPORT.finditer(_parts(code)[0]):
        names = [line[1]] if line[1] else line[2].split(",")
        found |= {name.split(" as ")[0].split(".")[0].strip() for name in names}
    return found - {""}


def _parts(code: str) -> tuple[str, str]:
    """Return code without comments and fences, and then also without its imports."""
    code = re.sub(r"#.*|^```.*", "", code, flags=re.MULTILINE)
    return code, _IMPORT.sub("", code)


def judged(record: Mapping[str, Any], locked: Iterable[str]) -> dict[str, bool]:
    r"""Return what became of a recorded answer.

    Parameters
    ----------
    record
        With `answer` and `gold_packages`.
    locked
        The project's Python packages. A module of none of them, and not of the standard library, is
        missing.

    Examples
    --------
    >>> answer = {"answer": "import pandas as pd\nimport jwt", "gold_packages": ["pyjwt"]}
    >>> judged(answer, ["pyjwt"])["a module is missing"]
    True
    """
    packages = imported(record["answer"]) - sys.stdlib_module_names
    is_cut = record.get("ended") == "length"  # then the last line is not whole
    whole = record["answer"].rpartition("\n")[0] if is_cut else record["answer"]
    return {
        "imports a package": bool(packages),
        "a needed one": not packages.isdisjoint(map(_module, record["gold_packages"])),
        "a module is missing": bool(failing(record, locked)),
        "only imports": not _parts(whole)[1].strip(),
    }


def failing(record: Mapping[str, Any], locked: Iterable[str]) -> set[str]:
    """Return the modules that a recorded answer imports, and that the project does not have."""
    modules = {_module(name) for name in locked}
    return imported(record["answer"]) - sys.stdlib_module_names - modules


def _module(package: str) -> str:
    return MODULES.get(package, package.replace("-", "_"))


def recorded() -> list[dict[str, Any]]:
    """Return the recorded answers to the instructions."""
    lines = (project_root() / RECORDS).read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def judged_records() -> pd.DataFrame:
    """Return to how many recorded answers each thing happened, by need and list."""
    import pandas as pd

    records = recorded()
    folder = project_root() / "data" / "lockfiles"
    locked = {
        project: find_lock_files(folder / project).packages("python")
        for project in {one["project"] for one in records}
    }
    table = pd.DataFrame([judged(one, locked[one["project"]]) for one in records])
    table.insert(0, "list", [one["condition"] for one in records])
    table.insert(0, "the task", ["needs a package" if one["gold_packages"] else "needs none"
                                 for one in records])  # fmt: skip
    groups = table.groupby(["the task", "list"])
    counts = groups.sum().reindex(["no list", "all names", "nearest five"], level="list")
    counts.insert(0, "answers", groups.size())
    return counts


def is_tuning(question_id: str) -> bool:
    """Return whether a question is in the half on which thresholds are chosen.

    Examples
    --------
    >>> is_tuning("q01"), is_tuning("q03")
    (False, True)
    """
    return int(sha256(question_id.encode()).hexdigest(), 16) % 2 == 0


@dataclass(frozen=True)
class Shelf:
    """The packages that a project may use, in the order of the alphabet.

    Attributes
    ----------
    names
        Of the packages.
    lines
        Name and description of each.
    vectors
        What the lines mean.
    """

    names: Sequence[str]
    lines: Sequence[str]
    vectors: npt.NDArray[np.float32]

    def nearest(self, vector: npt.NDArray[np.float32], count: int) -> list[int]:
        """Return the places of the packages that are nearest to a vector."""
        import numpy as np

        order = np.argsort(-(self.vectors @ vector), kind="stable")
        return [int(at) for at in order[:count]]

    def by_words(self, texts: Sequence[str]) -> list[list[int]]:
        """Return for each text the places of at most fifty packages that share words with it."""
        import numpy as np

        scores = score_words(texts, self.lines)
        orders = np.argsort(-scores, axis=1, kind="stable")[:, :50]
        return [
            [int(at) for at in order if row[at] > 0]
            for row, order in zip(scores, orders, strict=True)
        ]


def shelf_of(names: Iterable[str], encode: Encode) -> Shelf:
    """Return Python packages with what the course's table says of them.

    Parameters
    ----------
    names
        Of the packages.
    encode
        Texts → unit vectors, such as ``lab.encode``.
    """
    ordered, about = sorted(names), descriptions("python")
    lines = [embedded_text(name, about.get(name)) for name in ordered]
    return Shelf(ordered, lines, encode(lines))


def with_made_up(shelf: Shelf, count: int) -> Shelf:
    """Return a shelf with made-up packages on it, the same ones on every run.

    The vector of each is one of the shelf's, changed a little in the directions in which these
    differ; its description is that package's.

    Parameters
    ----------
    shelf
        Real packages.
    count
        How many are made up.
    """
    import numpy as np

    random = np.random.default_rng(13)
    like = random.integers(0, len(shelf.names), count)
    directions = (shelf.vectors - shelf.vectors.mean(axis=0)) / np.sqrt(len(shelf.names))
    made = shelf.vectors[like] + random.normal(size=(count, len(shelf.names))) @ directions
    made = (made / np.linalg.norm(made, axis=1, keepdims=True)).astype(np.float32)
    names = [*shelf.names, *(f"{shelf.names[at]}-{number}" for number, at in enumerate(like))]
    about = [shelf.lines[at].partition(": ")[2] for at in like]
    lines = [*shelf.lines, *map(": ".join, zip(names[len(shelf.names) :], about, strict=True))]
    vectors = np.concatenate([shelf.vectors, made])
    order = sorted(range(len(names)), key=names.__getitem__)
    return Shelf([names[at] for at in order], [lines[at] for at in order], vectors[order])


def ladder(
    shelves: Mapping[str, Shelf], instructions: Sequence[Instruction], encode: Encode
) -> pd.DataFrame:
    """Return what each list of packages costs in a prompt, and how much it contains.

    A list by words has the packages that share words with the instruction, the best first (BM25).

    Parameters
    ----------
    shelves
        Project → what it may use.
    instructions
        What has to be programmed.
    encode
        Texts → unit vectors.

    Returns
    -------
    pandas.DataFrame
        A row for each list, with its tokens, and the share of the needed packages that are in it.
        By meaning also how much more than by words, and the interval of this gain.
    """
    import pandas as pd

    asked = [one.instruction for one in instructions]
    vectors = dict(zip(asked, encode(asked), strict=True))
    by_words = {
        id(shelf): dict(zip(asked, shelf.by_words(asked), strict=True))
        for shelf in shelves.values()
    }

    def nearest(count: int) -> Callable[[Shelf, str], list[int]]:
        return lambda shelf, text: shelf.nearest(vectors[text], count)

    def words(count: int) -> Callable[[Shelf, str], list[int]]:
        return lambda shelf, text: by_words[id(shelf)][text][:count]

    def first(count: int | None) -> Callable[[Shelf, str], list[int]]:
        return lambda shelf, _: list(range(len(shelf.names)))[:count]

    rungs = {
        "first fifty, described": (first(50), True),
        "all names": (first(None), False),
        "all, described": (first(None), True),
        "fifty names by words": (words(50), False),
        "nearest fifty names": (nearest(50), False),
        "five by words, described": (words(5), True),
        "nearest five, described": (nearest(5), True),
    }
    rows: dict[str, dict[str, Any]] = {}
    shares: dict[str, list[float]] = {}
    for rung, (choose, described) in rungs.items():
        sizes: list[float] = []
        shares[rung] = []
        for one in instructions:
            shelf = shelves[one.project]
            places = choose(shelf, one.instruction)
            names = {shelf.names[at] for at in places}
            text = "\n".join(shelf.lines[at] for at in places) if described else ", ".join(names)
            sizes.append(len(text.encode()) / BYTES_PER_TOKEN)
            shares[rung].append(len(names & {*one.gold_packages}) / len(one.gold_packages))
        rows[rung] = {
            "tokens": round(sum(sizes) / len(sizes)),
            "contains": sum(shares[rung]) / len(sizes),
            "more than by words": "",
        }
    for rung, rival in AGAINST.items():
        gain = paired_interval(shares[rival], shares[rung])
        rows[rung]["more than by words"] = f"{gain.mean:.2f} [{gain.low:.2f}, {gain.high:.2f}]"
    return pd.DataFrame(rows).T.astype({"tokens": int, "contains": float})


AGAINST = {
    "nearest fifty names": "fifty names by words",
    "nearest five, described": "five by words, described",
}
"""A list by meaning → the list by words that is as long."""


def plot_ladder(ladders: Mapping[str, pd.DataFrame], window: int) -> Figure:
    """Draw for each list what it contains, and its tokens.

    Parameters
    ----------
    ladders
        Whose packages → what `ladder` returns.
    window
        Tokens that a model reads at most.
    """
    from matplotlib.figure import Figure as Chart

    figure = Chart(figsize=(8, 3.8), layout="constrained", facecolor=PAPER)
    contains, costs = figure.subplots(1, 2, sharey=True)
    told, lists = [], []
    for (whose, table), apart, marker in zip(ladders.items(), (-0.17, 0.17), "oD", strict=True):
        lists = list(table.index)
        places = [row + apart for row in range(len(table))]
        points = {"label": whose, "marker": marker, "s": 30}
        contains.scatter(table["contains"], places, **points)
        costs.scatter(table["tokens"], places, **points)
        for place, (name, tokens, share) in zip(
            places, table[["tokens", "contains"]].itertuples(), strict=True
        ):
            beside = {"xytext": (6, 0), "textcoords": "offset points", "va": "center", "size": 8}
            contains.annotate(f"{share:.2f}", (share, place), **beside)
            costs.annotate(f"{tokens:,}", (tokens, place), **beside)
            told.append(f"{whose}, {name}: {share:.2f} for {tokens} tokens")
    costs.axvspan(window, 4_000_000, color="#e2e2e2", zorder=0)
    costs.set_title(f"grey: over {window:,} tokens", loc="right", size=10)
    costs.set(xscale="log", xlabel="tokens", xlim=(10, 4_000_000))
    contains.set(xlabel="share of the needed packages", xlim=(-0.05, 1.2))
    contains.set_yticks(range(len(lists)), lists)
    contains.invert_yaxis()
    for axes in (contains, costs):
        axes.grid(axis="y", color="#eeeeee")
        axes.spines[["top", "right"]].set_visible(False)
    handles, names = costs.get_legend_handles_labels()
    figure.legend(handles, names, ncols=2, frameon=False, loc="outside lower center")
    return picture(figure, "; ".join(told))


def descriptions(language: str) -> dict[str, str]:
    """Return what the course's table says of the packages of a language."""
    lines = (project_root() / TABLE).read_text(encoding="utf-8").splitlines()
    rows = map(json.loads, lines)
    return {row["name"]: row["description"] for row in rows if row["language"] == language}


def compare_ways(
    ways: Mapping[str, Callable[[str], Iterable[Sequence[Any]]]],
    instructions: Sequence[Instruction],
) -> pd.DataFrame:
    """Return how well ways of searching suggest the packages of a project.

    Parameters
    ----------
    ways
        Name → instruction → rows, each of which begins with the name of a package of the project.
    instructions
        Of the project.

    Returns
    -------
    pandas.DataFrame
        For each way, the share of the needed packages that it found, and how many packages it
        found for an instruction, on average.
    """
    import pandas as pd

    rows = {}
    for way, find in ways.items():
        found = [{name for name, *_ in find(one.instruction)} for one in instructions]
        shares = [
            name in names
            for one, names in zip(instructions, found, strict=True)
            for name in one.gold_packages
        ]
        rows[way] = sum(shares) / len(shares), sum(map(len, found)) / len(found)
    return pd.DataFrame(rows, index=["needed found", "places filled"]).T


def thresholds(
    near: Mapping[str, Iterable[Sequence[Any]]],
    instructions: Iterable[Instruction],
    *,
    tuning: bool,
) -> pd.DataFrame:
    """Return what each least similarity keeps of what is needed, and how often it is noise.

    Parameters
    ----------
    near
        Id of an instruction → rows, with a package's name first and its similarity last.
    instructions
        Some that need packages, and some that need none.
    tuning
        Of which half.
    """
    import pandas as pd

    kept: list[float] = []
    noise: list[float] = []
    for one in instructions:
        if is_tuning(one.id) == tuning:
            found = {row[0]: row[-1] for row in near[one.id]}
            kept += [found.get(name, -1) for name in one.gold_packages]
            noise += [] if one.gold_packages else [max(found.values())]
    steps = [step / 100 for step in range(71)]
    shares = {
        "needed packages kept": [sum(s >= at for s in kept) / len(kept) for at in steps],
        "suggests where nothing is needed": [
            sum(s >= at for s in noise) / len(noise) for at in steps
        ],
    }
    return pd.DataFrame(shares, index=pd.Index(steps, name="least similarity"))


def store_catalogue(
    conn: psycopg.Connection[Any],
    projects: Mapping[str, LockFiles],
    company: Shelf,
    embedder: EmbeddingClient,
) -> None:
    """Write the packages of projects, and of a company's others that one more project uses.

    Parameters
    ----------
    conn
        A connection from `connect`.
    projects
        Project → its lock files.
    company
        Python packages. Those that the catalogue lacks are used by a project called fleet.
    embedder
        What made their vectors.

    Examples
    --------
    >>> store_catalogue(conn, {"app": find_lock_files("app")}, company, client)  # doctest: +SKIP
    """
    for project, files in projects.items():
        sync_project(conn, project, files, embedder=embedder, describer=TableDescriber())
    there = conn.execute("SELECT name FROM xray_packages WHERE language = 'python'").fetchall()
    known = {name for (name,) in there}
    rows = [
        ("python", name, line.partition(": ")[2], embedder.model_name, str(vector.tolist()))
        for name, line, vector in zip(company.names, company.lines, company.vectors, strict=True)
        if name not in known
    ]
    with conn.transaction(), conn.cursor() as cursor:
        columns = "language, name, description, model, embedding"
        with cursor.copy(f"COPY xray_packages ({columns}) FROM STDIN") as copy:
            for row in rows:
                copy.write_row(row)
        cursor.execute(
            "INSERT INTO xray_report_packages (tenant_id, project, language, name, version) "
            "SELECT 'local', 'fleet', 'python', unnest(%s::text[]), '1.0'",
            [[name for _, name, *_ in rows]],
        )
    conn.execute("ANALYZE xray_packages, xray_report_packages")
