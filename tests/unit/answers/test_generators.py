"""Each generator against a server that speaks its protocol; keys are never shown.

Refusals, limits and broken answers as users see them are in tests/blackbox/test_answers.py.
"""

from __future__ import annotations

import json
import logging
import traceback
from typing import Any, get_args

import pytest

from course_lib.answers import GenerationError, Prompt, Request, generator
from course_lib.answers.generators import MAKERS
from course_lib.answers.generators.ollama import Ollama
from course_lib.answers.generators.openai_compatible import OpenAICompatible
from course_lib.settings import GeneratorName, Settings
from tests.blackbox.language_models import (
    COMPLETIONS,
    SHOW,
    TAGS,
    Reply,
    models,
    nobody,
    openai,
)

KEY = "sk-very-secret-key-4711"
EVENTS = {"Content-Type": "text/event-stream"}


def to_ollama(url: str, **how: Any) -> Ollama:
    return Ollama(url, "m", **{"timeout": 60, **how})


def to_openai(url: str, **how: Any) -> OpenAICompatible:
    how = {"timeout": 60, "retries": 0, "api_key": KEY, "model": "m", **how}
    return OpenAICompatible(base_url=f"{url}/v1", **how)


def request(**fields: Any) -> Request:
    prompt = Prompt("Be brief.", "What is drift?")
    return Request(**{"prompt": prompt, "question": "", "passages": (), "max_output": 50,
                      "window": 900, **fields})  # fmt: skip


def fails(chosen: Any) -> tuple[list[str], GenerationError]:
    """Ask, expect an error, and return what came before it; the key is nowhere to be seen."""
    pieces: list[str] = []
    with pytest.raises(GenerationError) as caught:
        for piece in chosen.stream(request()):
            pieces.append(piece)
    seen = (
        "".join(traceback.format_exception(caught.value)) + repr(chosen) + repr(vars(caught.value))
    )
    assert KEY not in seen
    assert "--backend extractive" in caught.value.hint
    return pieces, caught.value


# --- what goes wrong ---


def test_an_error_in_the_middle_of_an_answer_hides_the_key_from_its_traceback_too() -> None:
    said = f"Incorrect API key provided: {KEY}"
    event = f'data: {{"error": {{"message": "{said}", "code": "server_error"}}}}\n\n'.encode()
    pieces = [*openai("Drift ", end="cut").pieces, event]
    with models({COMPLETIONS: Reply(pieces, headers=EVENTS)}) as server:
        assert fails(to_openai(server.url))[0] == ["Drift "]


# --- windows ---


def test_a_window_that_ollama_does_not_say_is_taken_from_the_name() -> None:
    odd = b'{"model_info": {"a.context_length": "x"}}'
    bodies = [Reply([body]) for body in (b"{}", b"[]", b"<html>", odd)]
    with models({SHOW: bodies}) as server:
        for _ in bodies:
            assert Ollama(server.url, "llama3:8b").window == 8_192


# --- keys and addresses ---


def test_other_servers_need_no_key_and_its_line_end_is_no_part_of_one() -> None:
    with models({COMPLETIONS: openai("x")}) as server:
        for key in (None, " \n"):
            assert list(to_openai(server.url, api_key=key).stream(request())) == ["x"]
        list(to_openai(server.url, api_key=f"{KEY}\r\n").stream(request()))
        assert server.asked[-1][1]["authorization"] == f"Bearer {KEY}"


def test_the_login_of_a_server_that_is_not_there_is_not_shown() -> None:
    fails(to_ollama(nobody().replace("//", f"//ada:{KEY}@")))


def test_a_key_is_in_no_log_and_no_repr(caplog: pytest.LogCaptureFixture) -> None:
    settings = Settings(OPENAI_API_KEY=KEY, RAG_GENERATOR="openai")
    with models({COMPLETIONS: openai("x")}) as server, caplog.at_level(logging.DEBUG):
        chosen = generator(Settings(OPENAI_API_KEY=KEY, OPENAI_BASE_URL=f"{server.url}/v1"),
                           backend="openai")  # fmt: skip
        list(chosen.stream(request()))
    assert server.asked[0][1]["authorization"] == f"Bearer {KEY}"
    assert caplog.text
    assert KEY not in caplog.text + repr(settings) + str(settings) + repr(chosen)


# --- choosing ---


def test_each_generator_that_a_setting_can_name_can_be_made() -> None:
    assert get_args(GeneratorName) == (*MAKERS, "auto")


def test_auto_takes_what_is_there() -> None:
    """Ollama with the model that is wanted, or with another; else OpenAI's protocol; else none."""

    def chosen(url: str, model: str | None = None, **settings: str) -> tuple[str, str]:
        made = generator(Settings(OLLAMA_URL=url, **settings), backend="auto", model=model)
        return made.name, made.model

    tags = [{"name": "phi3:mini"}, {"name": "llama3:latest"}]
    with models({TAGS: Reply([json.dumps({"models": tags}).encode()])}) as server:
        assert chosen(server.url) == ("ollama", "llama3")
        assert chosen(server.url, RAG_OLLAMA_MODEL="mistral") == ("ollama", "phi3:mini")
        assert chosen(server.url, "gemma") == ("ollama", "gemma")
    for reply in (Reply([b"[]"]), Reply([b"<html>"]), Reply([b'{"models": []}'])):
        with models({TAGS: reply}) as server:
            assert chosen(server.url, OPENAI_API_KEY=KEY) == ("openai", "gpt-4o-mini")
    assert chosen(nobody(), "m", OPENAI_BASE_URL="http://127.0.0.1:9/v1") == ("openai", "m")
    assert chosen(nobody())[0] == "extractive"
