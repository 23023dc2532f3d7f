"""The retrieval API over HTTP: what it answers, to whom, and how it refuses."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from tests.blackbox.course import Course
from tests.blackbox.golden import hold_golden
from tests.blackbox.places import Place
from tests.blackbox.refused_calls import FILE, KEYED, MADE_UP, REFUSED
from tests.blackbox.serving import serving
from tests.blackbox.surface import EmbeddingClient

PROBLEM = "application/problem+json"
DRIFT = "How is drift measured?"
SPOTIFY = "fetch top charts from Spotify"
GENERATED = ("operationId", "summary", "title")
INSIDES = re.compile(r"Traceback|psycopg|SELECT |File \"|/work|/home|/tmp|127\.0\.0\.1|\.py\b|0x")
"""What a client has no business to read."""


@dataclass(frozen=True)
class Served:
    """A service over an index of data/, the keys of two tenants, and the same index's `course`."""

    client: httpx.Client
    place: Place
    course: Course
    acme: dict[str, str]
    beta: dict[str, str]

    def search(self, headers: dict[str, str] | None = None, **asked: Any) -> list[dict[str, Any]]:
        """Return what a search finds."""
        answer = self.client.post("/search", json={"query": DRIFT, **asked}, headers=headers)
        assert answer.status_code == 200, answer.text
        results: list[dict[str, Any]] = answer.json()["results"]
        return results

    def push(self, headers: dict[str, str], *files: Any, **others: Any) -> httpx.Response:
        """Send files or records of a repository."""
        body = {"repo": "animals", "files": list(files), **others}
        return self.client.post("/ingest/source-files", json=body, headers=headers)


@pytest.fixture(scope="module")
def served(filled_to_write: Place) -> Iterator[Served]:
    """`course serve` over the index of data/, with keys that `course api-key` made."""
    # The service is given its database in one piece: the URL that `course db url` prints.
    url = filled_to_write.course("db", "url").ok().strip()
    course = Course({"DATABASE_URL": url})
    made = [course("api-key", tenant, "--json").json() for tenant in ("acme", "beta")]
    acme, beta = ({"X-API-Key": one["key"]} for one in made)
    keys = ",".join(one["entry"] for one in made)
    with serving(course, RAG_API_KEYS=keys) as service:
        yield Served(service.client, filled_to_write, course, acme, beta)


def test_the_description_of_the_api_is_the_one_that_clients_were_made_for(served: Served) -> None:
    """Paths, parameters, schemas, statuses and content types stay what they are."""
    described = served.client.get("/openapi.json").json()
    info = {name: described["info"][name] for name in ("title", "description")}
    records = [{"info": info}]
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            records.append({"path": path, "method": method, **_without(operation, GENERATED)})
    for kind, listed in described["components"].items():
        for name, schema in listed.items():
            # A property may be called "title", and is not a generated title then.
            properties = {
                key: _without(value, GENERATED)
                for key, value in schema.get("properties", {}).items()
            }
            rest = {key: value for key, value in schema.items() if key != "properties"}
            records.append({kind: name, **_without(rest, GENERATED), "properties": properties})
    hold_golden("service/openapi", records)


def test_a_search_answers_with_these_fields_and_values(served: Served) -> None:
    """The whole answer for one question, as clients read it."""
    answer = served.client.post("/search", json={"query": DRIFT, "top_k": 2})
    found = answer.json()
    times = {name: found.pop(name) for name in ("embedding_time_ms", "search_time_ms")}
    assert all(isinstance(value, float) and value > 0 for value in times.values())
    for result in found["results"]:
        assert 0 < result.pop("similarity_score") <= 1 and result["metadata"].pop("score") > 0
        assert re.fullmatch("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", result.pop("chunk_id"))
    assert answer.headers["content-type"] == "application/json"
    hold_golden("service/search", [found])


SEARCHES: dict[str, tuple[dict[str, Any], list[str]]] = {
    "by default": ({}, ["--top-k", "5"]),
    "many": ({"top_k": 50}, ["--top-k", "50"]),
    "dense": ({"mode": "dense", "top_k": 8}, ["--mode", "dense", "--top-k", "8"]),
    "threshold": (
        {"similarity_threshold": 0.45, "top_k": 50},
        ["--threshold", "0.45", "--top-k", "50"],
    ),
    "one partition": (
        {"partitions": ["code_manifests"], "top_k": 5},
        ["--partition", "code_manifests", "--top-k", "5"],
    ),
    "two partitions": (
        {"partitions": ["documentation", "code_pipelines"], "top_k": 12},
        ["-p", "documentation", "-p", "code_pipelines", "--top-k", "12"],
    ),
    "a repository": ({"repo": "code", "top_k": 7}, ["--repo", "code", "--top-k", "7"]),
    "a kind": (
        {"kind": "Deployment", "top_k": 9},
        ["--kind", "Deployment", "--top-k", "9"],
    ),
    "a namespace": (
        {"namespace": "heron-registry", "top_k": 4},
        ["--namespace", "heron-registry", "--top-k", "4"],
    ),
    "all of it": (
        {"partitions": ["documentation"], "repo": "documents", "mode": "dense", "top_k": 3},
        [*("-p", "documentation", "-r", "documents", "--mode", "dense"), "--top-k", "3"],
    ),
    "nothing": ({"branch": "v9"}, ["--branch", "v9", "--top-k", "5"]),
}


@pytest.mark.parametrize("case", SEARCHES)
def test_the_service_finds_what_the_command_finds(served: Served, case: str) -> None:
    """Every parameter of /search means what the option of `course search` means."""
    asked, options = SEARCHES[case]
    command = served.course("search", DRIFT, *options, "--json").json()
    answered = served.search(**asked)
    assert [one["chunk_id"] for one in answered] == [one["chunk_id"] for one in command]
    assert bool(answered) == (case != "nothing")
    for one, other in zip(answered, command, strict=True):
        for name in ("document_name", "content", "citation_url"):
            assert one[name] == other[name]
        assert one["similarity_score"] == pytest.approx(other["similarity_score"], abs=0.002)
        metadata = dict(one["metadata"])
        assert metadata.pop("score") == pytest.approx(other["score"], abs=0.002)
        assert metadata == {
            **{name: other[name] for name in ("partition", "branch", "kind", "name", "namespace")},
            **{"repo": other["repo_slug"], "chunk_index": other["chunk_index"]},
            "also_in": other["also_in"],
            **other["metadata"],
        }
    if "similarity_threshold" in asked:
        assert 0 < len(answered) < 50
        assert min(one["similarity_score"] for one in answered) >= 0.45 - 1e-6


def record(path: str, **changed: Any) -> dict[str, Any]:
    """Return a parsed-chunk-v1 record that claims another tenant and repository."""
    return {
        **{"schemaVersion": "1.0.0", "tenantId": "somebody-else", "repoSlug": "elsewhere"},
        **{"rootKind": "external-source", "sourcePath": path, "hashInputs": ["content"]},
        **{"content": f"Zebras sleep standing, says {path}.", "parserId": "mine"},
        **{"parserVersion": "1.0.0", "kind": "doc-section", "name": "Zebras", "customMeta": {}},
        **changed,
    }


def test_a_key_opens_its_own_tenants_documents_and_the_public_ones(served: Served) -> None:
    """What one tenant sends is found with its key alone, unless it is public."""
    everyone: list[dict[str, str]] = [{}, served.acme, served.beta]

    def found(**asked: Any) -> list[list[str]]:
        return [
            sorted({one["document_name"] for one in served.search(headers, **asked)})
            for headers in everyone
        ]

    done = served.push(served.acme, FILE)
    counts = {"documents": 1, "chunks": 1, "inserted": 1, "updated": 0, "unchanged": 0}
    assert done.json() == {**counts, "deleted": 0, "rejections": []}
    again = served.push(served.acme, FILE)
    assert again.json() == {**counts, "inserted": 0, "unchanged": 1, "deleted": 0, "rejections": []}
    open_to_all = {"sourcePath": "open.md", "content": "# Zebra\n\nThe open zebra.\n"}
    served.push(served.acme, open_to_all, repo="open-animals", visibility="public")
    asked = {"query": "zebra", "top_k": 50}
    assert found(**asked, repo="animals") == [[], ["a.md"], []]
    assert found(**asked, repo="open-animals") == [["open.md"]] * 3
    # Who has a key does not see what is read without one, and nobody names a tenant.
    assert [bool(names) for names in found(repo="documents")] == [True, False, False]
    forged = {**served.beta, "X-Tenant": "acme", "X-Tenant-ID": "acme"}
    assert served.search(forged, **asked, repo="animals") == []
    answer = served.client.post("/search?tenant=acme", json=asked, headers=served.beta)
    assert {one["document_name"] for one in answer.json()["results"]} == {"open.md"}
    bearer = {"Authorization": f"Bearer {served.acme['X-API-Key']}"}
    assert served.search(bearer, **asked, repo="animals")
    stats = [served.client.get("/documents/stats", headers=one).json() for one in everyone]
    # The owner of all, one tenant, another; each with what is public.
    rows = served.place.rows(
        "SELECT partition AS name, count(DISTINCT document_name) AS documents, count(*) AS chunks "
        "FROM document_chunks WHERE tenant_id = 'local' OR visibility = 'public' GROUP BY 1"
    )
    assert [one["partitions"] for one in stats] == [
        {row["name"]: {key: row[key] for key in ("documents", "chunks")} for row in rows},
        {"documentation": {"documents": 2, "chunks": 2}},
        {"documentation": {"documents": 1, "chunks": 1}},
    ]
    assert {one["embedding_dimension"] for one in stats} == {384}
    assert {one["model_name"] for one in stats} == {"all-MiniLM-L6-v2"}
    # Both are taken back to what nobody sees.
    served.push(served.acme, {**open_to_all, "content": "# Z\n"}, repo="open-animals")
    assert found(query="zebra", repo="open-animals") == [[], ["open.md"], []]


def test_records_from_outside_are_judged_one_by_one_and_belong_to_the_key(served: Served) -> None:
    """Each refusal has its code, record and field; its siblings are stored as the key's."""
    sent = [
        record("one.md"),
        record("one.md", content="The second of them.", customMeta={"chunkIndex": 1}),
        record("bad/version.md", schemaVersion="9.9.9"),
        record("bad/embedding.md", embedding=[0.1] * 384),
        record("bad/unknown.md", mood="good"),
        {key: value for key, value in record("bad/missing.md").items() if key != "kind"},
        record("bad/tenant.md", tenantId="Not Kebab"),
        record("bad/empty.md", content=""),
        record("bad/hash.md", hashInputs=["name"]),
        record("bad/link.md", customMeta={"citationUrl": "javascript:alert(1)"}),
        record("../above.md"),
        {"sourcePath": "two.md", "content": "# Two\n\nA second zebra.\n"},
        {"sourcePath": "c.x", "content": "x", "parserId": "unknown"},
        {"sourcePath": "three.md", "parsedChunks": [record("three.md"), record("other.md")]},
        {"sourcePath": "../d.md", "content": "x"},
        {"sourcePath": "nul.md", "content": "a\0b"},
        {"sourcePath": "no-content.md"},
        {"sourcePath": "a-number.md", "content": 3},
        {"sourcePath": "a" * 1001, "content": " "},
        {"sourcePath": "a" * 1001, "parsedChunks": []},
        {"nothing": 1},
    ]
    done = served.push(served.beta, *sent, repo="contract", branch="v1", partition="issues")
    assert done.status_code == 200, done.text
    rows = served.place.rows(CONTRACT)
    ids = [row.pop("id") for row in rows]
    assert {row["tenant_id"] for row in rows} == {"beta"}
    hold_golden("service/ingest", [done.json(), *rows])
    again = served.push(served.beta, *sent, repo="contract", branch="v1", partition="issues").json()
    first = done.json()
    assert again == {**first, "inserted": 0, "unchanged": first["inserted"]}
    assert ids == [row["id"] for row in served.place.rows(CONTRACT)]


CONTRACT = (
    "SELECT tenant_id, repo_slug, branch, partition, document_name, chunk_index, kind, name, "
    "visibility, content, id::text FROM document_chunks WHERE repo_slug = 'contract' "
    "ORDER BY document_name, chunk_index"
)


def test_what_cannot_be_answered_is_a_problem_document_that_tells_nothing_of_the_inside(
    served: Served,
) -> None:
    """Status, title, detail and fields of each refusal; no path, no SQL, no stack, no key."""
    before = served.place.one("SELECT count(*) FROM document_chunks")
    records = []
    for call in REFUSED:
        sent = replace(call, headers=served.acme) if call.headers is KEYED else call
        answer = sent.send(served.client)
        assert answer.headers["content-type"] == PROBLEM, (call.name, answer.text)
        assert re.fullmatch("[0-9a-f]{32}", answer.headers["x-request-id"])
        problem = answer.json()
        assert (problem["status"], problem["type"]) == (answer.status_code, "about:blank")
        assert not INSIDES.search(answer.text) and "made-up" not in answer.text, call.name
        told = {
            name: answer.headers[name]
            for name in ("allow", "www-authenticate", "retry-after")
            if name in answer.headers
        }
        records.append({"call": f"{call.method} {call.path}: {call.name}", **told, **problem})
    hold_golden("service/refused", records)
    assert served.place.one("SELECT count(*) FROM document_chunks") == before


JSON = "application/json"
ASKED = b'{"query": "drift", "top_k": 1}'
STRANGE = """{"query": "日本語 🙂 %s {} '; DROP TABLE documents; --", "top_k": 1}""".encode()


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (ASKED, f"{JSON}; charset=utf-8"),
        (ASKED, "application/vnd.api+json"),
        (lambda: iter([ASKED[:12], ASKED[12:]]), JSON),
        (ASKED + b" " * 900_000, JSON),
        (STRANGE, JSON),
    ],
    ids=["charset", "kind of JSON", "in parts", "large", "strange words"],
)
def test_a_body_is_read_however_it_comes(
    served: Served, content: bytes | Callable[[], Iterator[bytes]], kind: str
) -> None:
    """JSON with a charset, of a special kind, in parts, up to a megabyte, with any words in it."""
    body = content if isinstance(content, bytes) else content()
    answer = served.client.post("/search", content=body, headers={"content-type": kind})
    assert (answer.status_code, len(answer.json()["results"])) == (200, 1)


def test_embeddings_are_those_of_the_model_in_the_order_of_the_texts(served: Served) -> None:
    """256 texts at most, each a unit vector; what the model does not read is cut off."""
    texts = ["drift", "", "a " * 5000, *(f"text {number}" for number in range(13))]
    answer = served.client.post("/embeddings", json={"texts": texts}).json()
    assert {key: answer[key] for key in ("model_name", "dimension")} == {
        "model_name": "all-MiniLM-L6-v2",
        "dimension": 384,
    }
    vectors = np.array(answer["embeddings"], np.float32)
    assert vectors.shape == (16, 384)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1, abs=1e-3)
    assert (vectors * EmbeddingClient().encode(texts)).sum(axis=1).min() > 0.999


def test_packages_are_scanned_and_suggested_as_by_the_command(served: Served, data: Path) -> None:
    """/xray/scan and /xray/suggest, for the key's tenant and for nobody else."""
    client = served.client

    def scan(headers: dict[str, str], **files: str) -> dict[str, Any]:
        listed = [{"path": path.replace("__", "/"), "content": files[path]} for path in files]
        body = {"project": "app", "files": listed}
        answer = client.post("/xray/scan", json=body, headers=headers)
        assert answer.status_code == 200, answer.text
        told: dict[str, Any] = answer.json()
        return told

    def suggest(headers: dict[str, str], **others: Any) -> dict[str, Any]:
        body = {"project": "app", "language": "python", "instruction": SPOTIFY, **others}
        answer = client.post("/xray/suggest", json=body, headers=headers)
        told: dict[str, Any] = answer.json()
        return told

    lock = (data / "lockfiles/rider-app/api/requirements.txt").read_text(encoding="utf-8")
    few = "rich==1.0\ntyper==2.0\nprivate-thing==1.0\n-r more.txt\n"
    told = [
        scan(served.acme, **{"api__requirements.txt": lock}),
        scan(served.acme, **{"api__requirements.txt": lock}),
        scan(served.beta, **{"requirements.txt": few, "README.md": "Hello."}),
        scan(served.beta, **{"requirements.txt": "rich==2.0\n", "go.sum": "a.b/c v1.0.0 h1:00=\n"}),
        scan(served.beta, **{"requirements.txt": "=broken=\n", "go.sum": "a.b/c v1.0.0 h1:00=\n"}),
    ]
    found = suggest(served.acme, k=3)
    for one in found["packages"]:
        assert 0 < one.pop("similarity") <= 1
    others = [suggest(served.beta), suggest({}), suggest(served.acme, project="none")]
    for one in others[0]["packages"]:
        one.pop("similarity")
    hold_golden("service/xray", [*told, found, *others])
    command = served.course(
        *("xray", "suggest", SPOTIFY, "-p", "app", "-l", "python", "-k", "20", "--json"),
        RAG_TENANT="acme",
    ).json()
    answered = suggest(served.acme, k=20)
    assert [one["name"] for one in answered["packages"]] == [
        one["name"] for one in command["packages"]
    ]


class _Seen(HTMLParser):
    """The tags of a page, its links, its texts of `article`s' headings."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.links: list[str] = []
        self.fields: list[str] = []
        self.articles = 0
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.tags.add(tag)
        self.articles += tag == "article"
        self.links += [given[name] or "" for name in ("src", "href") if name in given]
        if given.get("name") and tag in ("input", "select"):
            self.fields.append(str(given["name"]))


def test_the_page_answers_a_question_and_loads_nothing_from_elsewhere(served: Served) -> None:
    """One form, the results of /search below it with the words marked, and no outside asset."""
    empty = served.client.get("/")
    seen = _Seen(empty.text)
    assert (empty.status_code, seen.articles) == (200, 0)
    assert not seen.tags & {"script", "link", "img", "iframe"} and seen.links == OWN
    assert seen.fields == ["q", "partition", "repo", "kind", "mode", "top_k"]
    told = {name: empty.headers[name] for name in SECURITY}
    assert told == SECURITY
    asked = {"q": DRIFT, "top_k": "3", "repo": "documents", "mode": "dense"}
    answer = served.client.get("/", params=asked)
    page = answer.text
    names = [one["document_name"] for one in served.search(top_k=3, repo="documents", mode="dense")]
    assert _Seen(page).articles == 3 and "<mark>drift</mark>" in page and "3 results" in page
    assert re.findall(r"([\w.-]+\.md):\d+-\d+", page) == names
    assert 'value="documents"' in page and '<option value="dense" selected>' in page
    hostile = served.client.get("/", params={"q": '"><script>alert(1)</script>'}).text
    assert "<script" not in hostile and "&lt;script&gt;" in hostile
    nothing = served.client.get("/", params={"q": DRIFT, "kind": "None"})
    assert nothing.status_code == 200 and "Nothing was found" in nothing.text
    for top_k in ("0", "51", "many"):
        refused = served.client.get("/", params={"q": DRIFT, "top_k": top_k})
        assert refused.status_code == 422 and "the number of results" in refused.text
    assert served.client.get("/", params={"q": DRIFT}, headers=MADE_UP).status_code == 401


OWN = ["/documents/stats", "/openapi.json"]
"""Where the page leads to, besides what it found."""

SECURITY = {
    "content-type": "text/html; charset=utf-8",
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
}


def test_nothing_of_a_found_text_runs_and_only_web_addresses_are_links(served: Served) -> None:
    """What a tenant sent is shown as text; its address is a link where it is one of the web."""
    evil = '<img src=x onerror="alert(1)"> zebra'
    page = {"citationUrl": "https://example.com/a?b=1&c=2"}
    sent = [
        record("evil.md", content=evil, name="<b>name</b>"),
        record("link.md", content="a zebra with a link", customMeta=page),
    ]
    assert served.push(served.acme, *sent, repo="hostile").json()["inserted"] == 2
    shown = served.client.get("/", params={"q": "zebra", "repo": "hostile"}, headers=served.acme)
    assert "&lt;img src=x" in shown.text and "&lt;b&gt;name" in shown.text
    assert "img" not in _Seen(shown.text).tags
    assert _Seen(shown.text).links == ["https://example.com/a?b=1&c=2", *OWN]


def test_requests_have_numbers_and_are_counted_by_route(served: Served) -> None:
    """A sensible X-Request-ID comes back, another is replaced; /metrics never names a path."""
    given = served.client.get("/health", headers={"X-Request-ID": "abc-1.x_Y"})
    assert (given.json(), given.headers["x-request-id"]) == ({"status": "ok"}, "abc-1.x_Y")
    for strange in (b"a b", "é".encode("latin-1"), b"x" * 65, b""):
        forged = served.client.get("/health", headers=[(b"X-Request-ID", strange)])
        assert re.fullmatch("[0-9a-f]{32}", forged.headers["x-request-id"])
    assert served.client.get("/ready").json() == {
        "status": "ready",
        "database": "ready",
        "model": "ready",
    }
    served.client.get("/made/up/path")
    answer = served.client.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=")
    kinds = dict(re.findall(r"^# TYPE (\w+) (\w+)$", answer.text, re.MULTILINE))
    hold_golden("service/metrics", [{"name": name, "type": kinds[name]} for name in sorted(kinds)])
    counted = re.search(r'http_requests_total\{handler="/health",status="200"\} (\S+)', answer.text)
    assert counted and float(counted[1]) >= 5
    assert 'handler="none",status="404"' in answer.text and "made/up" not in answer.text


def test_a_head_is_answered_as_a_get_without_its_body(served: Served) -> None:
    """As uptime monitors ask; what takes no GET takes no HEAD."""
    for path in ("/health", "/ready", "/openapi.json", "/", "/documents/stats"):
        asked, got = served.client.head(path), served.client.get(path)
        assert (asked.status_code, asked.content) == (got.status_code, b"") == (200, b""), path
        assert asked.headers["content-length"] == got.headers["content-length"]
        assert asked.headers["content-type"] == got.headers["content-type"]
    refused = served.client.head("/search")
    assert (refused.status_code, refused.headers["allow"]) == (405, "POST")
    assert served.client.head("/made/up").status_code == 404
    for method in ("GET", "HEAD"):
        moved = served.client.request(method, "/health/", follow_redirects=True)
        assert (moved.status_code, moved.url.path) == (200, "/health")


def _without(value: Any, names: tuple[str, ...]) -> Any:
    if isinstance(value, dict):
        return {key: _without(one, names) for key, one in value.items() if key not in names}
    if isinstance(value, list):
        return [_without(one, names) for one in value]
    return value
