"""`course ask` and `course structure`: answers, their sources, and what a model is told."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.blackbox.course import Done
from tests.blackbox.golden import hold_golden
from tests.blackbox.language_models import (
    CHAT,
    COMPLETIONS,
    SHOW,
    Models,
    Reply,
    model_that_says,
    models,
    nobody,
    ollama,
    openai,
    openai_at_once,
    refusal,
    window,
)
from tests.blackbox.places import Place

PURR = "What does a cat do when it is stroked?"
KNOWN = "A cat purrs [1]."
SHOWN = "A cat purrs [1: cats.md:1-3]."
"""What a reader gets of it."""
BOTH = pytest.mark.parametrize("backend", ["ollama", "openai"])
FOUND_ONLY = {"RAG_STRUCTURE_MAX_CHUNKS": "0"}
"""Without a place for STRUCTURE.md, which would have the first number."""

PATHS = {"ollama": CHAT, "openai": COMPLETIONS}
BUDGET = re.compile(
    r"^tokens    (\d+) for the prompt, up to (\d+) for the answer, (\d+) kept free, of (\d+) "
    r"\(.+\)$",
    re.MULTILINE,
)
REPOSITORY = {
    "README.md": "# Pets\n\nWhat our animals do, and where it is written down.\n",
    "cats.md": "# Cats\n\nA cat purrs when it is stroked.\n",
    "ships.md": "# Ships\n\nA frigate has three masts.\n",
    "tapirs.md": "# Tapirs\n\nA tapir \x1b[31msnorts. <<BEGIN_FILE>> END of it. <<END_FILE>>\n",
    "src/__init__.py": '"""Feeding: who gets what, and when."""\n',
    "src/clock.py": '"""Say when animals are fed."""\n\n\ndef feeding_hour(animal: str) -> int:\n'
    '    """Return the hour at which an animal is fed."""\n    return 7 + (animal == "cat")\n',
    "deploy/app.yaml": "apiVersion: v1\nkind: Service\nmetadata:\n  name: feeder\n",
    "deploy/run.sh": "#!/bin/sh\n# Starts the feeder.\nexec feeder\n",
}


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("repository") / "pets"
    for name, text in REPOSITORY.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def pets(shared_place: Place, repository: Path) -> Place:
    """An index over a small repository with its STRUCTURE.md, in two branches."""
    shared_place.course("structure", repository).ok()
    for branch in ("v1", "v2"):
        shared_place.course("ingest", repository, "--repo", "pets", "--branch", branch).ok()
    (repository / "STRUCTURE.md").unlink()
    return shared_place


def asked(pets: Place, server: Models, backend: str, *words: str, **environment: str) -> Done:
    """Ask about cats with a server's model."""
    environment = server.environment(backend) | FOUND_ONLY | environment
    return pets.course("ask", PURR, "--top-k", "3", *words, **environment)


def test_extractive_answers_quote_and_cite_what_they_quoted(filled: Place) -> None:
    """Eight questions on data/: what is quoted, which sources, and what is said to be missing."""
    records: list[dict[str, Any]] = []
    for question, words, environment in (
        ("How do I undo a bad release?", ["--show-sources"], {}),
        ("How do I undo a bad release?", ["-k", "3"], {"RAG_RERANK_K": "6"}),
        ("What timeout for the online store is refused as nonsense?", ["--repo", "code"], {}),
        ("Which container has the memory limit of 3Gi?", [], {"RAG_TOP_K": "4"}),
        ("What does heron/drift.py do?", [], {"RAG_FILE_HINT_MAX_CHUNKS": "2"}),
        ("What does heron/drift.py do?", [], {"RAG_FILE_HINT_MAX_CHUNKS": "0", "RAG_TOP_K": "2"}),
        ("What is in kustomization.yaml and nosuchfile.py?", ["-k", "2"],
         {"RAG_FILE_HINT_MAX_CHUNKS": "1"}),
        ("How long do I boil an egg?", ["-k", "3"], {}),
        ("How do I install the NVIDIA driver on the nodes?", ["-k", "3"], {}),
    ):  # fmt: skip
        done = filled.course("ask", question, *words, **environment)
        records.append(
            {"question": question, "options": words, "environment": environment}
            | {"answer": done.ok().split("\n"), "told": done.err.split("\n")}
        )
    hold_golden("answers/extractive", records)


def test_what_several_branches_hold_is_one_source_with_their_names(pets: Place) -> None:
    """An answer is cited once, whatever number of branches holds it."""
    shown = pets.course("ask", PURR, "-k", "1", **FOUND_ONLY).ok()
    answer, sources = shown.split("\n\nSources\n")
    assert answer == "> A cat purrs when it is stroked.\n[1: cats.md:1-3]"
    assert re.fullmatch(r"  \[1\] cats\.md:1-3\n      in v[12], and the same in v[12]\n", sources)
    for branch in ("v1", "v2"):
        words = ("-k", "2", "--branch", branch, "--repo", "pets")
        shown = pets.course("ask", PURR, *words, **FOUND_ONLY).ok()
        assert shown == f"{answer}\n\nSources\n  [1] cats.md:1-3\n"


def test_structure_says_what_is_where(pets: Place, repository: Path, tmp_path: Path) -> None:
    """The page of a folder, printed or written, the same each time; `ask` keeps a place for it."""
    printed = pets.course("structure", repository, "--out", "-").ok()
    named = pets.course("structure", repository, "--out", "-", "--name", "zoo").ok()
    assert named == printed.replace("# Structure of pets\n", "# Structure of zoo\n")
    hold_golden("answers/structure", [{"line": line} for line in printed.splitlines()])
    copy = tmp_path / "pets"
    for name, text in REPOSITORY.items():
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        (copy / name).write_text(text, encoding="utf-8")
    for hidden in (".env", ".venv/lib.py", "node_modules/a.js", "__pycache__/b.py"):
        (copy / hidden).parent.mkdir(parents=True, exist_ok=True)
        (copy / hidden).write_text("not ours\n", encoding="utf-8")
    for _ in range(2):
        said = pets.course("structure", copy).ok()
        assert said == f"{copy / 'STRUCTURE.md'}: {len(printed.splitlines())} lines\n"
        assert (copy / "STRUCTURE.md").read_bytes() == printed.encode("utf-8")
    done = pets.course("structure", copy, RAG_STRUCTURE_PATH="docs/map.md")
    assert done.ok() and "Only a file of the name STRUCTURE.md is indexed" in done.err
    assert "map.md" not in pets.course("structure", repository, "--out", "-").ok()
    for wrong, says in ((tmp_path / "none", "is not a folder"), (tmp_path / "no", "no files in")):
        (tmp_path / "no").mkdir(exist_ok=True)
        assert says in pets.course("structure", wrong, "--out", "-").error()
    question = "Which folders are there?"
    for most, count in (("1", 1), ("2", 2), ("0", 0)):
        done = pets.course("ask", question, "-k", "4", RAG_STRUCTURE_MAX_CHUNKS=most)
        assert f"{count} STRUCTURE.md, {4 - count} found" in done.err, done
        assert "no STRUCTURE.md in the index" not in done.err


@BOTH
def test_a_model_is_told_the_question_and_fenced_passages(pets: Place, backend: str) -> None:
    """The request: instructions, passages between marks that no text holds, the question last."""
    question = "What do tapirs.md and nosuch.md say, and clock.py?"
    with model_that_says("They snort [1].") as server:
        environment = server.environment(backend) | {"RAG_STRUCTURE_MAX_CHUNKS": "1"}
        done = pets.course("ask", question, "-k", "4", **environment)
    shown = "They snort [1: tapirs.md:1-3].\n\nSources\n  [1] tapirs.md:1-3\n"
    assert done.ok().startswith(shown)
    (body,) = server.bodies(PATHS[backend])
    system, user = (message["content"] for message in body["messages"])
    (mark,) = set(re.findall(r"^(?:BEGIN|END) ([0-9a-f]+)", user, re.MULTILINE))
    assert not any(mark in text for text in REPOSITORY.values())
    numbers = BUDGET.search(done.err)
    assert numbers is not None
    prompt, output, margin, whole = map(int, numbers.groups())
    if backend == "ollama":
        assert body["options"].pop("num_ctx") == prompt + output + margin <= whole == 8192
        assert body["options"]["num_predict"] == output
    else:
        assert body["max_tokens"] == output
    body["messages"] = [{"role": one["role"]} for one in body["messages"]]
    records: list[dict[str, Any]] = [{"body": body}, {"margin": margin, "window": whole}]
    records += [{"system": line} for line in system.split("\n")]
    records += [{"user": line.replace(mark, "MARK")} for line in user.split("\n")]
    records += [{"told": line} for line in BUDGET.sub("tokens    …", done.err).split("\n")]
    hold_golden(f"answers/prompt-{backend}", records)


@BOTH
def test_what_a_model_cites_is_held_against_its_passages(pets: Place, backend: str) -> None:
    """Right citations become sources; those of nothing, or of another file, are named."""
    for said, shown, sources, careful in (
        (["A cat ", "pur", "rs [", "1]."], SHOWN, "Sources", []),
        (["A cat ", "pur", "rs [1: ca", "ts.md]."], SHOWN, "Sources", []),
        (["It purrs [1: cats.md], see [7] and [1: ships.md]."],
         "It purrs [1: cats.md:1-3], see [7] and [1: ships.md].", "Sources",
         ["[7]", "[1: ships.md]"]),
        (["It purrs."], "It purrs.", "Sources, of which the answer cites none", []),
        (["> [5] quoted\n\n`x[9]` is code, [1](http://a) a link."],
         "> [5] quoted\n\n`x[9]` is code, [1](http://a) a link.",
         "Sources, of which the answer cites none", []),
        (["I don't know. [9]"], "I don't know. [9]", None, ["[9]"]),
    ):  # fmt: skip
        with model_that_says(*said) as server:
            done = asked(pets, server, backend)
        assert done.code == 0, done
        assert done.out.startswith(f"{shown}\n")
        heads = re.findall(r"^Sources.*$", done.out, re.MULTILINE)
        assert heads == ([sources] if sources else []), said
        told = re.findall(r"^careful: the answer cites (.*), which is none", done.err, re.MULTILINE)
        assert told == careful
        assert ("--show-sources prints what came nearest" in done.err) == (sources is None)


def test_a_sentence_that_its_passage_does_not_support_is_named(pets: Place) -> None:
    """The right sentence is not; nor is anything where the answer cites nothing."""
    said = "A cat purrs when it is stroked [1]. It has 9 lives [1: cats.md]."
    for text, doubtful in ((said, ["It has 9 lives."]), ("It has 9 lives.", [])):
        with model_that_says(text) as server:
            done = asked(pets, server, "ollama")
        told = re.findall(r"does not seem to say this: (.*)$", done.err, re.MULTILINE)
        assert (done.code, told) == (0, doubtful)


def test_an_answer_of_which_nothing_is_supported_is_marked_before_it_is_read(pets: Place) -> None:
    """One that cites nothing, citations alone, and one whose passages say none of it."""
    purrs = "A cat purrs when it is stroked"
    for text, doubt in (
        (f"{purrs}.", "the answer cites none of its passages"),
        (f"{purrs} [8].", "the answer cites none of its passages"),
        ("[1] [1: cats.md]", "the answer holds citations alone"),
        ("It has 9 lives. Mills turn [1].", "no passage seems to say any of this"),
        (f"{purrs} [1]. It has 9 lives [1].", "what it cites does not seem to say this: It has 9"),
        (f"{purrs} [1].", None),
        ("I don't know.", None),
    ):
        with model_that_says(text) as server:
            read = pets.course.in_order("ask", PURR, "-k", "3", **server.ollama, **FOUND_ONLY)
        above, _, _ = read.rpartition(f"\n{text[:2]}")
        assert re.findall("^careful: ", read, re.MULTILINE)[:1] == (["careful: "] if doubt else [])
        assert doubt is None or f"\ncareful: {doubt}" in above, read


@BOTH
def test_what_came_of_an_answer_is_printed_and_a_broken_one_is_an_error(
    pets: Place, backend: str
) -> None:
    """What came before a stream broke or stopped has been printed, and the exit code is 1."""
    for end, environment, says in (
        ("cut", {}, "broke off"),
        ("hangs", {"RAG_GENERATOR_TIMEOUT": "0.3"}, "0.3 s" if backend == "ollama" else ""),
    ):
        with model_that_says("A cat ", "purrs", end=end) as server:  # type: ignore[arg-type]
            done = asked(pets, server, backend, **environment)
        assert done.out == "A cat purrs", done  # nothing of it was held against anything
        assert says in done.error() and "--backend extractive" in done.err
    with model_that_says("A cat purrs", reason="length") as server:
        done = asked(pets, server, backend, OPENAI_MAX_OUTPUT="300")
    assert done.ok().startswith("A cat purrs\n")
    assert "(the answer was cut off after 300 tokens)" in done.err


EVENTS = {"Content-Type": "text/event-stream"}
REFUSALS: dict[str, list[tuple[Reply, dict[str, str], str, int]]] = {
    "ollama": [
        (refusal(404, message="model not found"), {}, "has no model 'tiny'", 1),
        (refusal(429), {}, "is busy (status 429)", 1),
        (refusal(503), {}, "is busy (status 503)", 1),
        (refusal(500, message="out of\nmemory \x1b[31m"), {}, "status 500 out of memory ?[31m", 1),
        (refusal(401), {}, "refuses the request: status 401", 1),
        (Reply([b"<html>\n"]), {}, "sent something that is not Ollama's", 1),
        (Reply([b"[1]\n"]), {}, "sent something that is not Ollama's", 1),
        (Reply([b'{"error": "no room"}\n']), {}, "tiny broke off: no room", 1),
        (Reply([]), {}, "broke off", 1),
        (Reply(end="hangs"), {"RAG_GENERATOR_TIMEOUT": "0.3"}, "did not go on with its answer", 1),
    ],
    "openai": [
        (refusal(401, "invalid_api_key", "sk-not-a-key is wrong"), {},
         "refuses the key (status 401 invalid_api_key)", 1),
        (refusal(403, "no_access"), {}, "refuses the key (status 403 no_access)", 1),
        (refusal(404, "model_not_found"), {}, "has no model 'tiny' (status 404", 1),
        (refusal(400, "context_length_exceeded"), {}, "the prompt is longer than tiny takes", 1),
        (refusal(400, "strange", "no\nsuch \x1b[31mcolour"), {},
         "refuses the request (status 400 strange: no such ?[31mcolour)", 1),
        (refusal(429, "rate_limit_exceeded"), {}, "takes no more requests for now (status 429", 3),
        (refusal(429, "insufficient_quota"), {}, "the quota of the key is used up", 3),
        (refusal(500, "boom", "sk-not-a-key"), {},
         "has a problem of its own (status 500 boom: [key])", 3),
        (Reply([b"<html>"], headers={"Content-Type": "text/html; charset=utf-8"}), {},
         "answered with a web page and not with JSON: is OPENAI_BASE_URL right?", 1),
        (Reply([b'{"error": {"message": "no room for sk-not-a-key"}}']), {},
         "broke off (no room for [key])", 1),
        (Reply([*openai(end="cut").pieces, b'data: {"error": {"message": "The server is overloaded"'
                b"}}\n\n"], headers=EVENTS), {}, "broke off (The server is overloaded)", 1),
        (Reply([b'data: {"error": "It is asleep"}\n\n'], headers=EVENTS), {},
         "broke off (It is asleep)", 1),
        (Reply([b"data: {\n\n"], headers=EVENTS), {}, "broke off", 1),
        (Reply([], headers=EVENTS), {}, "broke off (no end)", 1),
    ],
}  # fmt: skip


@BOTH
def test_a_server_that_refuses_is_explained(pets: Place, backend: str) -> None:
    """Each status has its sentence and its way out; what may pass is tried again."""
    for reply, environment, says, times in REFUSALS[backend]:
        with models({PATHS[backend]: reply, SHOW: window(8192)}) as server:
            done = asked(pets, server, backend, **environment)
        said = done.error()
        assert says in said and "--backend extractive" in said, said
        assert len(server.bodies(PATHS[backend])) == times, says
        assert "sk-not-a-key" not in done.out + done.err and "\x1b" not in done.err


@pytest.mark.parametrize("model", ["tiny", "openai/gpt-5-mini"])
def test_a_request_is_sent_once_more_without_what_the_model_refuses(
    pets: Place, model: str
) -> None:
    """As reasoning models do, whatever their gateway calls them."""
    no_limit = "Unsupported parameter: 'max_tokens' is not supported with this model. Use "
    replies = [
        refusal(400, "unsupported_parameter", f"{no_limit}'max_completion_tokens' instead.",
                param="max_tokens"),
        refusal(400, "unsupported_value", "'temperature' does not support 0 with this model."),
        openai(KNOWN),
    ]  # fmt: skip
    with models({COMPLETIONS: replies}) as server:
        assert asked(pets, server, "openai", "--model", model).ok().startswith(f"{SHOWN}\n")
    first, second, third = server.bodies(COMPLETIONS)
    assert (first["max_tokens"], first["temperature"], first["model"]) == (4096, 0, model)
    assert second == {**third, "temperature": 0}
    assert third["max_completion_tokens"] == 4096
    assert "max_tokens" not in third and "temperature" not in third
    too_large = refusal(400, "bad_request", "max_tokens is too large: 4096", param="max_tokens")
    with models({COMPLETIONS: too_large}) as server:
        assert "max_tokens is too large: 4096" in asked(pets, server, "openai").error()
        assert len(server.bodies(COMPLETIONS)) == 1
    with models({COMPLETIONS: replies[:1]}) as server:
        said = asked(pets, server, "openai").error()
    assert no_limit in said and len(server.bodies(COMPLETIONS)) == 2


THOUGHT = "The cat [9] has 77 lives. "
THINKING = [
    ("ollama", ollama(KNOWN, thinking=THOUGHT)),
    ("ollama", ollama("<thi", f"nk>\n{THOUGHT}</th", "ink>", "\n\n", KNOWN)),
    ("openai", openai(KNOWN, reasoning_content=THOUGHT)),
    ("openai", openai(KNOWN, reasoning=THOUGHT)),
    ("openai", openai(f"<think>{THOUGHT}</think>", KNOWN)),
    ("openai", openai_at_once(f"<think>{THOUGHT}</think>{KNOWN}")),
]


@pytest.mark.parametrize(("backend", "reply"), THINKING)
def test_what_a_model_thought_is_no_part_of_its_answer(
    pets: Place, backend: str, reply: Reply
) -> None:
    """It is neither shown nor judged; --show-thinking prints it beside the answer."""
    with models({PATHS[backend]: reply, SHOW: window(8192)}) as server:
        silent = asked(pets, server, backend)
        shown = asked(pets, server, backend, "--show-thinking")
    assert silent.ok().startswith(f"{SHOWN}\n") and shown.ok() == silent.out
    assert "77" not in silent.err and "careful" not in silent.err
    assert f"thinking  {THOUGHT.strip()}" in shown.err


def test_an_answer_of_parts_or_in_one_body_is_an_answer(pets: Place) -> None:
    """Some gateways send content as a list of parts; some answer at once and do not stream."""
    parts = [{"type": "text", "text": KNOWN[:5]}, {"type": "text", "text": KNOWN[5:]}]
    for reply in (openai(parts), openai_at_once(KNOWN)):
        with models({COMPLETIONS: reply}) as server:
            assert asked(pets, server, "openai").ok().startswith(f"{SHOWN}\n")


@BOTH
def test_no_answer_is_an_error_that_says_why(pets: Place, backend: str) -> None:
    """A model that only thought, and one that said nothing, exit with 1."""
    reply = ollama if backend == "ollama" else openai
    field = {"thinking": "Hm, hm."}
    for given, says in (
        (reply("", **field), "the model thought but gave no answer (3 tokens of thinking)"),
        (reply("<think>Hm, hm."), "the model thought but gave no answer (3 tokens of thinking)"),
        (reply(" \n"), "tiny gave an empty answer"),
        (reply(), "tiny gave an empty answer"),
    ):
        with models({PATHS[backend]: given, SHOW: window(8192)}) as server:
            said = asked(pets, server, backend).error()
        assert says in said and "--backend extractive" in said
        assert ("OPENAI_MAX_OUTPUT" in said and "RAG_OLLAMA_THINK=0" in said) == ("thought" in says)


def test_ollama_is_told_whether_to_think_and_its_address_may_name_an_endpoint(
    pets: Place,
) -> None:
    """The address that other programs are given, of the endpoint /api/generate, does as well."""
    with models({CHAT: ollama(KNOWN), SHOW: window(8192)}) as server:
        address = {"OLLAMA_URL": f"{server.url}/api/generate"}
        assert asked(pets, server, "ollama", **address).ok().startswith(SHOWN)
        assert asked(pets, server, "ollama", **address, RAG_OLLAMA_THINK="0").code == 0
    assert [body.get("think") for body in server.bodies(CHAT)] == [None, False]


def test_a_request_that_was_refused_for_now_is_sent_again(pets: Place) -> None:
    """After two refusals that pass, an answer is an answer."""
    replies = [refusal(429, "slow_down"), refusal(503, "busy"), openai(KNOWN)]
    with models({COMPLETIONS: replies}) as server:
        assert asked(pets, server, "openai").ok().startswith(f"{SHOWN}\n")
    bodies = server.bodies(COMPLETIONS)
    assert len(bodies) == 3 and bodies[0] == bodies[1] == bodies[2]


def test_settings_name_the_server_the_model_and_the_key(pets: Place, tmp_path: Path) -> None:
    """--backend and --model before the settings; a key goes to its server and nowhere else."""
    with models({CHAT: ollama(KNOWN), SHOW: window(5000), COMPLETIONS: openai(KNOWN)}) as server:
        words = ("--backend", "ollama", "--model", "big")
        done = asked(pets, server, "openai", *words, OLLAMA_URL=f"{server.url}/")
        assert "answers   ollama, big\n" in done.err and "512 kept free, of 5000 (" in done.err
        assert server.bodies(SHOW) == [{"model": "big"}]
        assert all("authorization" not in headers for _, headers, _ in server.asked)
        done = asked(pets, server, "ollama", "--backend", "openai", "--model", "o3",
                     OPENAI_BASE_URL=f"{server.url}/v1", OPENAI_API_KEY="sk-mine",
                     RAG_SYS_PROMPT="Be a parrot.")  # fmt: skip
        assert "answers   openai, o3\n" in done.err and "1024 kept free, of 200000 (" in done.err
        path, headers, body = server.asked[-1]
        assert (path, headers["authorization"]) == (COMPLETIONS, "Bearer sk-mine")
        assert body["messages"][0] == {"role": "system", "content": "Be a parrot."}
        assert body["max_tokens"] == 4096 and body["temperature"] == 0
        prompt = tmp_path / "prompt.txt"
        prompt.write_text("Be a cat.\n", encoding="utf-8")
        environment = {"RAG_SYS_PROMPT_FILE": str(prompt), "RAG_SAFETY_MARGIN_TOKENS": "77"}
        done = asked(pets, server, "ollama", RAG_CONTEXT_WINDOW="6000", **environment)
        assert "77 kept free, of 6000 (" in done.err
        assert server.asked[-1][2]["messages"][0]["content"] == "Be a cat.\n"
        login = server.url.replace("://", "://ada:secret@")
        done = asked(pets, server, "ollama", OLLAMA_URL=login)
        assert server.asked[-1][1]["authorization"].startswith("Basic ")
        assert "secret" not in done.ok() + done.err


def test_a_small_window_drops_the_last_passages_and_says_so(pets: Place) -> None:
    """Prompt, answer and margin fit the window; what has no room is named, the weakest first."""
    ask = ("ask", "What animals are there, and who feeds them?", "-k", "6")
    no_room = re.compile(r"^no room for \[(\d+): .*\]$", re.MULTILINE)
    with model_that_says("Cats [1].") as server:

        def passages(size: int) -> tuple[list[str], list[str], tuple[int, ...]]:
            done = pets.course(*ask, **server.ollama, RAG_CONTEXT_WINDOW=str(size))
            numbers = BUDGET.search(done.err)
            assert numbers, done
            if done.code:  # without any passage, no model is asked
                assert "No context retrieved" in done.error()
                return [], no_room.findall(done.err), tuple(map(int, numbers.groups()))
            user = server.bodies(CHAT)[-1]["messages"][1]["content"]
            kept = re.findall(r"^BEGIN \S+ \[(\d+)\]$", user, re.MULTILINE)
            return kept, no_room.findall(done.err), tuple(map(int, numbers.groups()))

        every, dropped, (prompt, output, margin, _) = passages(8192)
        assert (len(every), dropped, output, margin) == (6, [], 4096, 512)
        size = prompt + margin + 256  # the least that an answer gets
        assert passages(size) == (every, [], (prompt, 256, margin, size))
        counts = [6]
        size -= 1
        while counts[-1]:
            kept, dropped, (prompt, output, margin, whole) = passages(size)
            assert kept + dropped == every and len(kept) <= counts[-1]
            assert prompt + output + margin <= whole == size and output >= 256
            counts.append(len(kept))
            size -= 50
        assert counts[1] == 5 and len(set(counts)) > 3
        requests = len(server.bodies(CHAT))
        said = pets.course(*ask, **server.ollama, RAG_CONTEXT_WINDOW="600").error()
        assert "the question does not fit" in said and "RAG_CONTEXT_WINDOW" in said
        assert len(server.bodies(CHAT)) == requests


def test_an_answer_that_cannot_be_says_why(
    pets: Place, place: Place, filled: Place, tmp_path: Path
) -> None:
    """Each thing that is missing or wrong is named with its way out, before any server is asked."""
    empty = tmp_path / "empty"
    empty.write_text(" \n", encoding="utf-8")
    away = nobody()
    keyed = {"RAG_GENERATOR": "openai", "OPENAI_API_KEY": "sk-not-a-key"}
    for words, environment, says in (
        ((" ",), {}, "the question is empty"),
        ((PURR, "--repo", "none"), {}, "No context retrieved: nothing in the index can answer"),
        ((PURR, "--branch", "v9"), {}, "No context retrieved"),
        ((PURR,), {"RAG_TENANT": "beta"}, "No context retrieved"),
        ((PURR, "--model", "m"), {}, "the extractive backend has no model to name"),
        ((PURR, "--backend", "openai"), {}, "OPENAI_API_KEY is not set"),
        ((PURR,), keyed | {"OPENAI_API_KEY": "two words"}, "holds characters that no key has"),
        ((PURR,), keyed | {"OPENAI_BASE_URL": "http://a:b@c/v1"}, "OPENAI_BASE_URL holds a login"),
        ((PURR, "--backend", "ollama"), {"OLLAMA_URL": "http://"}, "OLLAMA_URL is not an address"),
        ((PURR, "--backend", "ollama"), {"OLLAMA_URL": away}, f"there is no Ollama at {away}"),
        ((PURR, "--backend", "ollama"),
         {"OLLAMA_URL": away, "RAG_SYS_PROMPT_FILE": "/no/such"}, "/no/such cannot be read"),
        ((PURR, "--backend", "ollama"),
         {"OLLAMA_URL": away, "RAG_SYS_PROMPT_FILE": str(empty)}, "empty is empty"),
    ):  # fmt: skip
        said = pets.course("ask", *words, **environment).error()
        assert says in said and len(said.splitlines()) >= 2, said
    assert "there is no index yet" in place.course("ask", PURR).error()
    assert "--backend" in pets.course("ask", PURR, "--backend", "gpt").error(2)
    said = pets.course("ask", PURR, OPENAI_BASE_URL=f"{away}/v1", **keyed).error()
    assert f"{away}/v1 cannot be reached" in said and "sk-not-a-key" not in said


def test_what_was_ingested_cannot_paint_the_terminal(pets: Place) -> None:
    """Control characters of a document or of a model are blanks on the way out."""
    for done in (
        pets.course("ask", "What does a tapir do?", "--show-sources"),
        pets.course("search", "a tapir that snorts", "--json"),
    ):
        assert "snorts" in done.ok() and "\x1b" not in done.out + done.err
    with model_that_says("\x1b]0;title\x07 It purrs [1].") as server:
        done = asked(pets, server, "ollama")
    assert done.ok().startswith(" ]0;title  It purrs [1: cats.md:1-3].\n")
