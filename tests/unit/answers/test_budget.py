"""Tokens are counted without a network, and a prompt always fits its window."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from course_lib.answers import (
    Passage,
    Prompt,
    build_prompt,
    count_tokens,
    ensure_prompt_fits,
    resolve_context_window,
    tokenizer_name,
)
from course_lib.answers import tokens as tokens_module
from course_lib.errors import InputError
from tests.unit.answers.made import make_passage


@pytest.mark.parametrize("model", ["", "gpt-4o", "../etc"])
def test_without_any_data_there_is_an_estimate_that_says_so(model: str) -> None:
    assert tokenizer_name(model) == "an estimate: 3 bytes a token"
    assert count_tokens("abcdefg", model) == 3
    assert count_tokens("数", model) == 1
    assert count_tokens("\ud800", model) == 1


def test_tiktoken_counts_where_its_encoding_is_on_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A package in its place, which splits at blanks: the real one would ask the network."""

    class Encoding:
        def encode(self, text: str, *, disallowed_special: tuple[str, ...]) -> list[str]:
            return text.split()

    asked: list[str] = []

    def get_encoding(name: str) -> Encoding:
        asked.append(name)
        return Encoding()

    names = {"gpt-4o": "o200k_base"}
    package = SimpleNamespace(encoding_name_for_model=names.__getitem__, get_encoding=get_encoding)
    monkeypatch.setitem(sys.modules, "tiktoken", package)
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    tokens_module._counter.cache_clear()
    for model in ("gpt-4o", "llama3"):
        assert tokenizer_name(model).startswith("an estimate") and not asked
    # As tiktoken itself names the file of this encoding.
    (tmp_path / "fb374d419588a4632f3f557e76b4b70aebbca790").write_bytes(b"")
    tokens_module._counter.cache_clear()
    assert tokenizer_name("openai/gpt-4o") == "tiktoken, o200k_base"
    assert count_tokens("drift is slow <|endoftext|>", "gpt-4o") == 4
    tokens_module._counter.cache_clear()


@pytest.mark.parametrize(
    ("model", "window"),
    [
        ("gpt-4o-mini", 128_000),
        ("GPT-4.1-nano", 1_047_576),
        ("llama3.1:70b", 131_072),
        ("registry.local/library/qwen2.5-coder:7b", 32_768),
        ("", 8_192),
    ],
)
def test_a_window_is_known_by_the_beginning_of_the_name(model: str, window: int) -> None:
    assert resolve_context_window(model) == window
    assert resolve_context_window(model, given=5) == 5


# --- fitting ---

PASSAGES = [
    make_passage(number, "word " * 60, f"{number}.md", score=score)
    for number, score in [(1, 0.9), (2, 0.2), (3, 0.7), (4, 0.2), (5, 0.5)]
]


def build(passages: Sequence[Passage]) -> Prompt:
    return build_prompt("What is drift?", passages, system="Be brief.")


def fit(window: int, **how: int) -> tuple[list[int], list[int], int]:
    """Return the passages that are kept, those that are dropped, and the room of the answer."""
    fitted = ensure_prompt_fits(
        build, PASSAGES, model="", window=window, **{"margin": 100, "max_output": 400, **how}
    )
    budget = fitted.budget
    assert fitted.prompt == build(fitted.passages)
    assert budget.input + budget.output + budget.margin <= window
    assert budget.needed + budget.free == window
    assert len(budget.passages) == len(fitted.passages)
    assert min(budget.passages, default=1) > 0
    kept = [one.index for one in fitted.passages]
    return kept, [one.index for one in fitted.dropped], budget.output


def test_the_weakest_go_first_and_of_equals_the_last() -> None:
    whole = ensure_prompt_fits(build, PASSAGES, model="", window=10_000, margin=0).budget
    one = max(whole.passages)
    needed = whole.input + 100 + 256
    assert fit(needed)[1] == []
    assert fit(needed - 1)[1] == [4]
    assert fit(needed - one - 1)[:2] == ([1, 3, 5], [2, 4])
    assert fit(whole.fixed + 100 + 256)[:2] == ([], [1, 2, 3, 4, 5])


def test_where_there_is_no_room_at_all_the_error_says_so() -> None:
    with pytest.raises(InputError, match="has room for 0 beside"):
        fit(99)
    with pytest.raises(InputError, match="needs room"):
        fit(1_000, max_output=0)


@given(st.integers(0, 3_000), st.integers(0, 500), st.integers(1, 900), st.integers(1, 900))
def test_whatever_the_numbers_the_prompt_fits_or_is_refused(
    window: int, margin: int, most: int, least: int
) -> None:
    try:
        kept, dropped, output = fit(window, margin=margin, max_output=most, least_output=least)
    except InputError:
        return
    assert sorted(kept + dropped) == [1, 2, 3, 4, 5]
    assert min(most, least) <= output <= most
