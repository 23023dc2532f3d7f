"""Word pieces: a text that was counted is not cut again to be encoded."""

from __future__ import annotations

from course_lib.embedder.bert import read_bert
from course_lib.embedder.bert_backend import LONGEST_REMEMBERED, BertBackend
from course_lib.embedder.weights import DEFAULT_MODEL, model_directory


def backend() -> BertBackend:
    bert = read_bert(model_directory(DEFAULT_MODEL))
    assert bert is not None
    return BertBackend(bert, "onnx-f32", threads=1)


def test_a_text_that_was_counted_is_cut_once() -> None:
    counted, fresh = backend(), backend()
    texts = ["one two three", "word " * 300, "one two three"]
    assert [counted.count_tokens(text) for text in texts] == [5, 302, 5]
    assert counted.prepare(texts) == fresh.prepare(texts)
    assert counted.prepare(texts)[1] == fresh.prepare(texts)[1]  # what is remembered stays whole
    assert counted.count_tokens(texts[1]) == 302
    remembered = counted._remembered.cache_info()
    assert (remembered.misses, remembered.currsize) == (2, 2)


def test_a_huge_text_is_not_remembered() -> None:
    one = backend()
    assert one.count_tokens("word " * LONGEST_REMEMBERED) == LONGEST_REMEMBERED + 2
    assert one._remembered.cache_info().currsize == 0
