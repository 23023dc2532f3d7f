"""Search, as people and programs ask it: what comes, in which order, to whom, and what does not."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import pytest

from tests.blackbox.course import Course
from tests.blackbox.golden import hold_golden
from tests.blackbox.places import Place
from tests.blackbox.surface import EmbeddingClient, InputError, Query, connect, retrieve, search
from tests.blackbox.ten_best import hold_ten_best, listed, questions

EVERYTHING = ("-k", "500", "-t", "-1", "--json")
DRIFT = "How is drift measured?"
OTHER_MODEL = (
    "error: the index was filled by another-model (1 document) with vectors of 384 dimensions, and "
    "all-MiniLM-L6-v2 with 384 asks it\nUse the model that filled the index "
    "(RAG_EMBED_MODEL=another-model), or ingest with this one into an index of its own: "
    "RAG_COLLECTION=another-name.\n"
)
RRF = 60
COLUMNS = {
    "document": "document_name",
    "partitions": "partition",
    "repo": "repo_slug",
    "tenant": "tenant_id",
}
"""The rows' names of what searches filter by, where they differ."""


@dataclass(frozen=True)
class Library:
    """The public functions over the index of data/: one connection and one model for all tests."""

    conn: psycopg.Connection
    embedder: EmbeddingClient

    def ten_best(self, **how: Any) -> Callable[[str], list[Any]]:
        """Return what asks for ten results."""
        return lambda question: retrieve(
            self.conn, self.embedder, Query(question, **{"top_k": 10, **how})
        )

    def search(self, question: str = DRIFT, mode: Any = "hybrid", **how: Any) -> list[Any]:
        """Search with a question's vector and words."""
        vector = self.embedder.encode([question])[0]
        return search(self.conn, vector, Query(question, mode=mode, **how))


@pytest.fixture(scope="module")
def library(filled: Place) -> Iterator[Library]:
    with connect(filled.url, autocommit=True) as conn:
        yield Library(conn, EmbeddingClient())


@pytest.mark.parametrize("mode", ["dense", "hybrid"])
def test_the_ten_best_for_sixty_questions_are_those_that_they_were(
    library: Library, data: Path, mode: str
) -> None:
    """A search finds as much of what is right as it did, and about the same passages."""
    hold_ten_best(f"search/{mode}", questions(data), library.ten_best(mode=mode), mode)


@pytest.mark.parametrize("mode", ["hybrid", "dense"])
def test_the_command_finds_what_the_library_finds(
    filled: Place, library: Library, data: Path, mode: str
) -> None:
    """What the ten best say about the function is true of `course search`."""
    options = ("-k", "10", "--mode", mode, "--json")
    for one in questions(data, per_corpus=1)[:3]:
        found = filled.course("search", one.question, *options).json()
        expected = library.ten_best(mode=mode)(one.question)
        assert listed(map(_As, found)) == listed(expected), one.question
        assert [each["chunk_id"] for each in found] == [each.chunk_id for each in expected]


class _As:
    """A JSON object's fields as attributes."""

    def __init__(self, fields: dict[str, Any]) -> None:
        self.__dict__.update(fields)


def test_json_has_all_of_a_result_and_it_is_the_rows(filled: Place, library: Library) -> None:
    """Each field is what the row holds; the similarity is the cosine of question and vector."""
    shapes: list[dict[str, Any]] = []
    for question in (DRIFT, "memory limit of the forecast api", "def load_settings"):
        vector = library.embedder.encode([question])[0]
        found = filled.course("search", question, "-k", "4", "--json").json()
        assert len(found) == 4
        for one in found:
            (row,) = filled.rows(
                "SELECT document_name, chunk_index, content, partition, repo_slug, branch, kind, "
                "name, namespace, citation_url, metadata, embedding::real[] AS vector "
                "FROM document_chunks WHERE id = %s",
                one["chunk_id"],
            )
            theirs = np.array(row.pop("vector"))
            cosine = float(vector @ theirs / np.linalg.norm(theirs) / np.linalg.norm(vector))
            assert one["similarity_score"] == pytest.approx(cosine, abs=1e-4)
            assert row == {name: one[name] for name in row}
            assert one["also_in"] == []
        first = found[0] | {"chunk_id": "…", "similarity_score": 0.0, "score": 0.0}
        shapes.append({"question": question, **first})
    hold_golden("search/fields", shapes)


def test_a_filter_leaves_what_sql_says_it_leaves(filled: Place) -> None:
    """Each filter, alone and with the others, lets through all rows that have its value."""
    manifests = ("partition = 'code_manifests'", "--partition", "code_manifests")
    namespaces = "SELECT namespace FROM document_chunks GROUP BY 1 ORDER BY count(*) DESC, 1"
    namespace = next(row["namespace"] for row in filled.rows(namespaces) if row["namespace"])
    in_namespace = (f"namespace = '{namespace}'", "--namespace", namespace)
    cases = [
        [("true",)],
        [manifests],
        [("partition IN ('documentation', 'code_pipelines')",
          "-p", "documentation", "-p", "code_pipelines")],
        [("repo_slug = 'code'", "--repo", "code")],
        [("branch = ''", "--branch", "")],
        [("kind = 'Deployment'", "--kind", "Deployment")],
        [("kind = 'function'", "--kind=function")],
        [in_namespace],
        [("false", "--branch", "v1")],
        [("false", "--kind", "deployment")],
        [("false", "-p", "manifests")],
        [manifests, ("repo_slug = 'manifests'", "-r", "manifests"), ("branch = ''", "--branch", ""),
         ("kind = 'Deployment'", "--kind", "Deployment"), in_namespace],
        [manifests, ("repo_slug = 'code'", "-r", "code")],
    ]  # fmt: skip
    for case in cases:
        where = " AND ".join(condition for condition, *_ in case)
        options = [word for _, *words in case for word in words]
        rows = filled.rows(f"SELECT id::text FROM document_chunks WHERE {where}")
        mode = "dense" if len(case) > 1 else "hybrid"
        found = filled.course("search", DRIFT, "--mode", mode, *EVERYTHING, *options).json()
        ids = [one["chunk_id"] for one in found]
        assert len(set(ids)) == len(ids)
        assert set(ids) == {row["id"] for row in rows}, where


@pytest.mark.parametrize("mode", ["hybrid", "dense"])
def test_the_function_has_the_commands_filters_and_two_more(
    filled: Place, library: Library, mode: str
) -> None:
    """`search` and `retrieve` filter by document and tenant as well."""
    for where in (
        {"partitions": "issues"}, {"partitions": ["code_manifests", "code_pipelines"]},
        {"partitions": []}, {"kind": "Deployment"}, {"repo": "code", "kind": "class"},
        {"document": "what-is-mlops.md"}, {"document": "what-is-mlops.md", "repo": "code"},
        {"tenant": "local"}, {"tenant": "other"}, {"branch": ""}, {"namespace": "forecasting"},
        {"tenant": "local", "document": "heron/config.py", "branch": "", "kind": "function",
         "repo": "code", "partitions": ["code_pipelines"]},
    ):  # fmt: skip
        values = {
            COLUMNS.get(name, name): value if isinstance(value, list) else [value]
            for name, value in where.items()
        }
        given = " AND ".join(f"{name} = ANY(%s::text[])" for name in values)
        query = f"SELECT id::text FROM document_chunks WHERE {given}"
        expected = {row["id"] for row in filled.rows(query, *values.values())}
        found = library.search(mode=mode, top_k=500, threshold=-1, **where)
        assert {one.chunk_id for one in found} == expected, where
        retrieved = library.ten_best(mode=mode, threshold=-1, **where)(DRIFT)
        assert [one.chunk_id for one in retrieved] == [one.chunk_id for one in found[:10]]


@pytest.mark.parametrize("mode", ["hybrid", "dense"])
@pytest.mark.parametrize("walk", ["as it is", "gives up early"])
def test_as_many_come_as_are_asked_for_wherever_that_many_qualify(
    filled: Place, library: Library, mode: str, walk: str
) -> None:
    """No filter is too narrow, and no vector index that gives up costs a result."""
    narrow: list[dict[str, str]] = [{}, {"kind": "Deployment"}, {"kind": "class", "repo": "code"}]
    paths = filled.rows(
        "SELECT document_name, count(*) AS n FROM document_chunks GROUP BY 1 ORDER BY n, 1"
    )
    narrow += [{"document": paths[0]["document_name"]}, {"document": paths[-1]["document_name"]}]
    with connect(filled.url, autocommit=True) as conn:
        if walk == "gives up early":
            for setting in ("enable_seqscan = off", "enable_sort = off", "enable_bitmapscan = off"):
                conn.execute(f"SET {setting}".encode())
            conn.execute("SET hnsw.max_scan_tuples = 1")
        ef_search = None if walk == "as it is" else 1
        own = Library(conn, library.embedder)
        for where in narrow:
            given = " AND ".join(f"{COLUMNS.get(name, name)} = %s" for name in where) or "true"
            there = filled.one(
                f"SELECT count(*) FROM document_chunks WHERE {given}", *where.values()
            )
            for top_k in (1, 2, 5, 10, 50) if walk == "as it is" else (5, 300):
                found = own.search(
                    mode=mode, top_k=top_k, threshold=-1, ef_search=ef_search, **where
                )
                assert len(found) == min(top_k, there), (where, top_k)


@pytest.mark.parametrize("mode", ["hybrid", "dense"])
def test_a_threshold_is_a_cosine_similarity(filled: Place, library: Library, mode: str) -> None:
    """Below it nothing comes, above it all, and the best first, in either mode."""
    full = library.search(mode=mode, top_k=500, threshold=-1)
    assert len(full) == filled.one("SELECT count(*) FROM document_chunks")
    for threshold in (-0.02, 0.2, 0.35, 0.9):
        expected = [one.chunk_id for one in full if one.similarity_score >= threshold]
        every = library.search(mode=mode, top_k=500, threshold=threshold)
        assert [one.chunk_id for one in every] == expected
        first = library.search(mode=mode, top_k=100, threshold=threshold)
        assert [one.chunk_id for one in first[:5]] == expected[:5]
    # The command's own default is 0.
    default = filled.course("search", DRIFT, "-k", "500", "--json", "--mode", mode).json()
    at_zero = library.search(mode=mode, top_k=500, threshold=0)
    assert [one["chunk_id"] for one in default] == [one.chunk_id for one in at_zero]
    edge = full[3].similarity_score  # what is exactly at the threshold is in
    assert full[3].chunk_id in {
        one.chunk_id for one in library.search(mode=mode, top_k=500, threshold=edge)
    }


def test_results_come_by_score_and_a_hybrid_score_is_that_of_two_places(library: Library) -> None:
    """Dense: the cosine. Hybrid: 1/(60 + place by meaning) + 1/(60 + place by words)."""
    dense = library.search(mode="dense", top_k=500, threshold=-1)
    assert [one.score for one in dense] == [one.similarity_score for one in dense]
    by_meaning = {one.chunk_id: place for place, one in enumerate(dense, 1)}
    hybrid = library.search(mode="hybrid", top_k=500, threshold=-1)
    for results in (dense, hybrid):
        keys = [(-round(one.score, 9), one.document_name, one.chunk_index) for one in results]
        assert keys == sorted(keys)
    by_words: list[int] = []
    for one in hybrid:
        rest = one.score - 1 / (RRF + by_meaning[one.chunk_id])
        if rest > 1e-9:
            place = 1 / rest - RRF
            assert place == pytest.approx(round(place), abs=1e-3)
            by_words.append(round(place))
    assert sorted(by_words) == list(range(1, len(by_words) + 1))
    assert 3 < len(by_words) < len(hybrid)


def test_an_identifier_is_found_by_its_letters(course: Course, tmp_path: Path) -> None:
    """Hybrid puts the passage with the very word first, dense others that are like it."""
    for number in range(5):
        text = f"# Incidents\n\nWho was on call when QRV-441{number} came.\n"
        (tmp_path / f"{number}.md").write_text(text, encoding="utf-8")
    boats = "# Boats\n\nQXV-4471 sails on Sunday, with nine children and a dog on board.\n"
    (tmp_path / "boats.md").write_text(boats, encoding="utf-8")
    course("ingest", tmp_path, "--repo", "mine").ok()
    first = {
        mode: course("search", "QXV-4471", "--json", "--mode", mode).json()[0]["document_name"]
        for mode in ("hybrid", "dense")
    }
    assert first["hybrid"] == "boats.md" != first["dense"]


@pytest.fixture(scope="module")
def shared_index(shared_place: Place, tmp_path_factory: pytest.TempPathFactory) -> Place:
    """Two tenants with like pages, and three branches of one of them."""
    folder = tmp_path_factory.mktemp("pages")
    for name, text in {
        "cats.md": "# Cats\n\nA cat is a purring animal of the house.\n",
        "dogs.md": "# Dogs\n\nA dog is a barking animal of the yard.\n",
        "ship.md": "# Ships\n\nA frigate has three masts.\n",
    }.items():
        (folder / name).write_text(text, encoding="utf-8")
    mine, theirs = shared_place.course, shared_place.course.with_(RAG_TENANT="beta")
    for branch in ("v1.9", "v1.10"):
        mine("ingest", folder, "--repo", "pets", "--branch", branch).ok()
    (folder / "dogs.md").write_text("# Dogs\n\nA dog is a sleeping animal.\n", encoding="utf-8")
    mine("ingest", folder, "--repo", "pets", "--branch", "main").ok()
    for number in range(30):
        page = folder / f"more{number:02}.md"
        page.write_text(f"# Cats\n\nA cat is a purring animal, {number}.\n", encoding="utf-8")
    theirs("ingest", folder, "--repo", "pets", "--branch", "main").ok()
    theirs("ingest", folder / "ship.md", "--repo", "harbour").ok()
    return shared_place


def test_another_tenants_rows_never_come_and_take_no_place(shared_index: Place) -> None:
    """Thirty better rows of somebody else change nothing, whatever is asked and how."""
    mine = {row["id"] for row in shared_index.rows(
        "SELECT id::text FROM document_chunks WHERE tenant_id = 'local'")}  # fmt: skip
    assert len(mine) == 9
    for options in (
        ["--mode", "hybrid"], ["--mode", "dense"],
        ["--repo", "pets"], ["--repo", "pets", "--mode", "dense"], ["-p", "documentation"],
        ["--kind", "doc-section"], ["--branch", "main"], ["--branch", "main", "--mode", "dense"],
    ):  # fmt: skip
        found = shared_index.course(
            "search", "a purring cat, an animal", "-k", "3", "-t", "-1", "--json", *options
        ).json()
        assert {one["chunk_id"] for one in found} <= mine, options
        assert len(found) == 3, options
    beta = shared_index.course.with_(RAG_TENANT="beta")
    found = beta("search", "a purring cat", *EVERYTHING).json()
    assert len(found) == 34 and not {one["chunk_id"] for one in found} & mine
    nobody = shared_index.course.with_(RAG_TENANT="nobody")
    assert nobody("search", "a purring cat", *EVERYTHING).json() == []
    said = shared_index.course("search", "a ship", "--repo", "harbour").error()
    assert said == "error: there is no repo 'harbour' in the index\nIn it: pets\n"
    said = nobody("search", "a ship", "--repo", "pets").error()
    assert said.endswith("Make an index first: course ingest DIRECTORY\n")


def test_what_several_branches_hold_comes_once_with_their_names(shared_index: Place) -> None:
    """Copies take no other passage's place; what differs in one branch comes by itself."""
    ask = shared_index.course
    for options in ([], ["--mode", "dense"]):
        found = ask("search", "an animal", "-k", "4", "-t", "-1", "--json", *options).json()
        held = {
            (one["document_name"], frozenset({one["branch"], *one["also_in"]})) for one in found
        }
        every = frozenset({"main", "v1.9", "v1.10"})
        assert held == {("cats.md", every), ("ship.md", every), ("dogs.md", frozenset({"main"})),
                        ("dogs.md", frozenset({"v1.9", "v1.10"}))}, options  # fmt: skip
    cats = next(one for one in found if one["document_name"] == "cats.md")
    natural = [name for name in ("main", "v1.9", "v1.10") if name != cats["branch"]]
    assert sorted(cats["also_in"]) == sorted(natural)
    assert natural != ["v1.9", "v1.10"] or cats["also_in"] == ["v1.9", "v1.10"]
    one = ask("search", "an animal", "--branch", "v1.9", "-t", "-1", "--json").json()
    assert {(each["branch"], tuple(each["also_in"])) for each in one} == {("v1.9", ())}
    shown = ask("search", "a frigate", "-k", "2").ok()
    assert re.search(r"^   in \S+, and the same in \S+, \S+$", shown, re.MULTILINE)


def test_people_are_shown_where_a_passage_is_and_what_of_it_matched(filled: Place) -> None:
    """Text output: place, lines, name, numbers, an excerpt, and what the order is by."""
    asked = [
        (DRIFT, "-k", "3"),
        ("def load_settings", "-k", "2", "--repo", "code", "--mode", "dense"),
        ("memory limit of 3Gi", "-k", "2", "--kind", "Deployment"),
        ("recipe for a chocolate cake", "-t", "0.95"),
    ]
    shown = []
    for words in asked:
        text = filled.course("search", *words).ok()
        found = filled.course("search", *words, "--json").json()
        pattern = r"similarity (-?\d\.\d{3})"
        numbers = [float(number) for number in re.findall(pattern, text)]
        assert numbers == pytest.approx([one["similarity_score"] for one in found], abs=6e-4)
        text = re.sub(pattern, "similarity #", re.sub(r"score -?\d+\.\d{4}", "score #", text))
        shown.append({"words": words, "lines": text.split("\n")})
    hold_golden("search/shown", shown)


@pytest.mark.parametrize(
    "question",
    [
        *("what is it?", "the of and", "?!…", "🐘", "什么是漂移？", "ما هو الانجراف؟", "дрейф"),
        *("'; DROP TABLE document_chunks; --", "x' OR '1'='1", "%s %(query)s {} $1"),
        *("a & b | !c:*", "\\", '"'),
        *("a\0b", "half \udcff of a pair", "drift\n\n\tdrift", "drift " * 20_000),
    ],
)  # fmt: skip
def test_any_text_is_a_question(filled: Place, library: Library, question: str) -> None:
    """Stop words, other scripts, quotes and novels are asked, and nothing but rows comes back."""
    for mode in ("hybrid", "dense"):
        found = library.search(question, mode=mode, top_k=7, threshold=-1)
        assert len(found) == 7
    assert filled.one("SELECT count(*) FROM document_chunks") > 400


def test_a_filters_value_is_a_value(filled: Place, library: Library) -> None:
    """What looks like SQL, a pattern or a number is compared, and finds nothing."""
    strange = ("' OR true --", "%", "_", "NULL", "1", "code;DROP TABLE documents", "ко́д")
    for value in strange:
        for name in ("partitions", "branch", "kind", "namespace", "repo", "document", "tenant"):
            for mode in ("hybrid", "dense"):
                assert library.search(mode=mode, threshold=-1, **{name: value}) == []
    for option in ("--partition", "--branch", "--kind", "--namespace"):
        said = filled.course("search", DRIFT, option, strange[0]).ok()
        assert said == "nothing found: lower --threshold, or take away a filter\n"
    said = filled.course("search", DRIFT, "--repo", strange[0]).error()
    assert said == (
        f'error: there is no repo "{strange[0]}" in the index\nIn it: code, documents, manifests\n'
    )


def test_a_search_that_cannot_be_says_why(place: Place, filled: Place, tmp_path: Path) -> None:
    """No index, no question, wrong options, another model's index: each with its way out."""
    assert place.course("search", DRIFT).error() == (
        "error: there is no index yet\nMake one first: course ingest data/documents\n"
    )
    for empty in ("", "  \n"):
        assert filled.course("search", empty).error() == (
            'error: the question is empty\nExample: course search "what is drift?"\n'
        )
    for wrong in (
        ["-k", "0"], ["-k", "many"], ["-t", "1.5"], ["-t", "-1.1"], ["--mode", "words"],
        ["--rerank"], ["--colour", "red"], ["twice"], ["--partition"],
    ):  # fmt: skip
        said = filled.course("search", DRIFT, *wrong).error(2)
        assert wrong[0].split("=")[0] in said, wrong
    assert "Missing argument 'question'" in filled.course("search").error(2)
    (tmp_path / "page.md").write_text("# Drift\n\nDrift is measured daily.\n", encoding="utf-8")
    place.course("ingest", tmp_path).ok()
    place.rows("UPDATE documents SET model = 'another-model' RETURNING model")
    assert place.course("search", DRIFT).error() == OTHER_MODEL
    # What another tenant's rows were made by is not a hindrance.
    assert place.course("search", DRIFT, "--json", RAG_TENANT="beta").json() == []


def test_how_many_come_is_set_once_or_for_each_question(filled: Place) -> None:
    """Six by default, RAG_TOP_K of one's own, and --top-k before both."""
    counts = [
        len(filled.course("search", DRIFT, "--json", *words, **environment).json())
        for words, environment in (
            ((), {}), ((), {"RAG_TOP_K": "3"}), (("-k", "4"), {"RAG_TOP_K": "3"}), (("-k9",), {}),
        )
    ]  # fmt: skip
    assert counts == [6, 3, 4, 9]


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"query_vector": [1.0, 2.0]}, "different vector dimensions"),
        ({"query_vector": [float("nan")] * 384}, "NaN or infinity"),
        ({"query_vector": [0.0] * 384}, "only zeros"),
        ({"query_vector": [[1.0] * 384]}, "has shape (1, 384)"),
        ({"query_vector": "drift"}, "is not a vector"),
        ({"top_k": 0}, "top_k is 0"),
        ({"top_k": 10**12}, "top_k is 1000000000000"),
        ({"threshold": 1.5}, "threshold is 1.5"),
        ({"ef_search": 0}, "ef_search is 0"),
        ({"mode": "hybrid"}, "needs the question's words"),
        ({"mode": "words"}, "there is no mode 'words'"),
    ],
)
def test_the_function_refuses_what_it_cannot_search_for(
    library: Library, wrong: dict[str, Any], says: str
) -> None:
    """`search` names the argument and what to give instead, and the connection stays usable."""
    given = {"query_vector": [1.0] * 384} | wrong
    vector = given.pop("query_vector")
    with pytest.raises(InputError) as caught:
        search(library.conn, vector, Query(**given))
    assert says in str(caught.value) and caught.value.hint
    assert len(search(library.conn, [1.0] * 384, Query(threshold=-1))) == 5
