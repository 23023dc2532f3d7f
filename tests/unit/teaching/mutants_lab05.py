"""Wrong answers to lab 05 that a learner would plausibly write; see `mutants_lab01.py`."""

import numpy as np

from course_lib.embedder.vectors import cosine_similarity, encode_in_batches, mean_pool, unread
from tests.unit.teaching.edits import edits


def unit(rows):
    length = np.linalg.norm(rows, axis=-1, keepdims=True)
    return rows / np.where(length == 0, 1, length)


# --- 5.1 cosine_similarity ---


def divides_by_zero(a, b):
    with np.errstate(all="ignore"):
        a = a / np.linalg.norm(a, axis=-1, keepdims=True)
        b = b / np.linalg.norm(b, axis=-1, keepdims=True)
        return a @ b.T


def guards_one_side(a, b):
    with np.errstate(all="ignore"):
        return unit(a) @ (b / np.linalg.norm(b, axis=-1, keepdims=True)).T


def guards_single_vectors_alone(a, b):
    if not a.any() or not b.any():
        return 0.0
    with np.errstate(all="ignore"):
        a = a / np.linalg.norm(a, axis=-1, keepdims=True)
        b = b / np.linalg.norm(b, axis=-1, keepdims=True)
        return a @ b.T


# --- 5.2 mean_pool ---


def takes_the_largest(token_vectors, mask):
    return np.where(mask[:, :, None] == 1, token_vectors, -np.inf).max(axis=1)


def expects_padding_at_the_end(token_vectors, mask):
    return np.stack([v[: m.sum()].mean(axis=0) for v, m in zip(token_vectors, mask, strict=True)])


def makes_it_a_unit_vector(token_vectors, mask):
    total = (token_vectors * mask[:, :, None]).sum(axis=1)
    return unit(total / mask.sum(axis=1, keepdims=True))


def expects_no_padding_in_the_middle(token_vectors, mask):
    starts, counts = mask.argmax(axis=1), mask.sum(axis=1)
    rows = zip(token_vectors, starts, counts, strict=True)
    return np.stack([v[start : start + count].mean(axis=0) for v, start, count in rows])


def takes_zeros_for_padding(token_vectors, mask):
    kept = token_vectors * mask[:, :, None]
    return kept.sum(axis=1) / kept.any(axis=2).sum(axis=1, keepdims=True)


# --- 5.3 encode_in_batches ---


def encodes_one_by_one(encode_batch, texts, batch_size=32):
    return np.concatenate([encode_batch([text]) for text in texts])


def encodes_all_at_once(encode_batch, texts, batch_size=32):
    return encode_batch(list(texts))


def loses_the_last_batch(encode_batch, texts, batch_size=32):
    order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
    result = np.zeros((len(texts), 2), dtype="f4")
    for number in range(len(texts) // batch_size):
        places = order[number * batch_size : (number + 1) * batch_size]
        result[places] = encode_batch([texts[i] for i in places])
    return result


def leaves_blank_texts_out(encode_batch, texts, batch_size=32):
    return encode_in_batches(encode_batch, [text for text in texts if text.strip()], batch_size)


def gives_blank_texts_no_vector(encode_batch, texts, batch_size=32):
    rows = encode_in_batches(encode_batch, texts, batch_size)
    rows[[not text.strip() for text in texts]] = 0
    return rows


def strips_the_texts(encode_batch, texts, batch_size=32):
    return encode_in_batches(encode_batch, [text.strip() or text for text in texts], batch_size)


def encodes_equal_texts_once(encode_batch, texts, batch_size=32):
    different = list(dict.fromkeys(texts))
    return encode_in_batches(encode_batch, different, batch_size)[
        [different.index(text) for text in texts]
    ]


def sorts_two_batches_at_a_time(encode_batch, texts, batch_size=32):
    some = range(0, len(texts), 2 * batch_size)
    parts = [texts[at : at + 2 * batch_size] for at in some]
    return np.concatenate([encode_in_batches(encode_batch, part, batch_size) for part in parts])


# --- 5.4 unread ---


def counts_characters(text, offsets, limit=256):
    return text[limit - 2 :]


def counts_words(text, offsets, limit=256):
    return " ".join(text.split()[limit - 2 :])


def begins_behind_the_last_piece_read(text, offsets, limit=256):
    read = offsets[: limit - 2]
    return text[read[-1][1] :] if read else text


def returns_what_is_read(text, offsets, limit=256):
    return text[: offsets[limit - 2][0]] if len(offsets) > limit - 2 else text


def joins_the_pieces(text, offsets, limit=256):
    return " ".join(text[start:end] for start, end in offsets[limit - 2 :])


def looks_the_piece_up(text, offsets, limit=256):
    rest = offsets[limit - 2 :]
    return text[text.find(text[slice(*rest[0])]) :] if rest else ""


def counts_offsets_in_bytes(text, offsets, limit=256):
    rest = offsets[limit - 2 :]
    return text.encode()[rest[0][0] :].decode() if rest else ""


# --- found by playing learners ---


def scales_what_it_was_given(a, b):
    if a.dtype == float and np.any(a):
        a /= np.linalg.norm(a, axis=-1, keepdims=True)
    return cosine_similarity(a, b)


def empties_the_offsets(text, offsets, limit=256):
    del offsets[: limit - 2]
    return text[offsets[0][0] :] if offsets else ""


def goes_through_all_pairs(a, b):
    if a.ndim < 2 or b.ndim < 2:
        return cosine_similarity(a, b)
    left, right = unit(a), unit(b)
    return np.array([[float(one @ other) for other in right] for one in left])


def loses_small_numbers(a, b):
    return cosine_similarity(np.asarray(a, "f4"), np.asarray(b, "f4"))


def fills_an_array_like_the_first(token_vectors, mask):
    result = np.zeros_like(token_vectors[:, 0])
    for at, row in enumerate(mean_pool(token_vectors, mask)):
        result[at] = row
    return result


def keeps_vectors_by_text(encode_batch, texts, batch_size=32):
    rows = encode_in_batches(encode_batch, texts, batch_size)
    found = dict(zip(texts, rows, strict=True))
    return np.array([found[text] for text in texts])


def returns_the_text_where_nothing_fits(text, offsets, limit=256):
    return text if limit == 2 else unread(text, offsets, limit)


MUTANTS = {
    "5.1": edits(
        cosine_similarity,
        forgets_the_lengths=("unit(a) @ unit(b) -> a @ b", "24 / (5 · 5)"),
        divides_by_one_length=("@ unit(b) -> @ b", "24 / (5 · 5)"),
        returns_the_distance=("return unit -> return 1 - unit", "24 / (5 · 5)"),
        takes_the_absolute_value=(
            "unit(a) @ unit(b).T -> abs(unit(a) @ unit(b).T)",
            "opposite directions",
        ),
        turns_the_result_round=("unit(a) @ unit(b) -> unit(b) @ unit(a)", "shape (3, 2)"),
        makes_matrices_of_vectors=(
            "unit(a) @ unit(b) -> unit(np.atleast_2d(a)) @ unit(np.atleast_2d(b))",
            "24 / (5 · 5)",
        ),
        drops_axes_of_length_one=(
            "unit(a) @ unit(b).T -> np.squeeze(unit(a) @ unit(b).T)",
            "a matrix of one row",
        ),
        adds_a_little_to_the_length=(
            "np.where(length == 0, 1, length) -> (length + 1e-8)",
            "nothing is added to its length",
        ),
        takes_one_length_for_the_matrix=(
            "(rows, axis=-1, keepdims=True) -> (rows)",
            "np.where(length == 0, 1, length) -> length",
            "every row of a is compared",
        ),
        pairs_the_rows_up=(
            "unit(a) @ unit(b).T -> (unit(a) * unit(b)).sum(axis=-1)",
            "row i of a with row j of b",
        ),
        pairs_up_where_the_shapes_are_equal=(
            "return unit(a) @ -> if a.ndim == 2 and a.shape == b.shape:\n"
            "        return (unit(a) * unit(b)).sum(axis=-1)\n    return unit(a) @",
            "result[i, j] compares",
        ),
        takes_short_vectors_for_zeros=(
            "rows / np.where(length == 0, 1, length)"
            " -> np.where(length < 1e-9, 0, rows / np.maximum(length, 1e-9))",
            "only a vector of zeros has none",
        ),
    )
    | {
        divides_by_zero: "points nowhere",
        guards_one_side: "as b too",
        guards_single_vectors_alone: "must not spoil the others",
        goes_through_all_pairs: "a loop over vectors is slow",
        loses_small_numbers: "only a vector of zeros has none",
        scales_what_it_was_given: "its caller still needs it",
    },
    "5.2": edits(
        mean_pool,
        averages_everything=(
            "(token_vectors * counted).sum(axis=1) / counted.sum(axis=1)"
            " -> token_vectors.mean(axis=1)",
            "the third place is padding",
        ),
        divides_by_the_padded_length=(
            "sum(axis=1) / counted.sum(axis=1) -> mean(axis=1)",
            "the third place is padding",
        ),
        adds_up_only=(" / counted.sum(axis=1) -> ", "without padding"),
        divides_by_the_whole_mask=("/ counted.sum(axis=1) -> / mask.sum()", "the second has one"),
        takes_the_first_token=(
            "(token_vectors * counted).sum(axis=1) / counted.sum(axis=1) -> token_vectors[:, 0]",
            "without padding",
        ),
        divides_without_a_rest=(" /  ->  // ", "is 3.5"),
    )
    | {
        takes_the_largest: "without padding",
        expects_padding_at_the_end: "also not at the beginning",
        makes_it_a_unit_vector: "without padding",
        expects_no_padding_in_the_middle: "also not in the middle",
        fills_an_array_like_the_first: "of whole numbers, too",
        takes_zeros_for_padding: "the mask says what counts",
    },
    "5.3": edits(
        encode_in_batches,
        does_not_sort=(
            "sorted(range(len(texts)), key=lambda place: len(texts[place]), reverse=True)"
            " -> list(range(len(texts)))",
            "batches of like length",
        ),
        does_not_find_its_way_back=(
            "vectors[order] = rows -> vectors[:] = rows",
            "row i belongs to texts[i]",
        ),
        goes_back_the_wrong_way=(
            "vectors[order] = rows -> vectors[:] = rows[order]",
            "row i belongs to texts[i]",
        ),
        sorts_by_the_alphabet=("len(texts[place]) -> texts[place]", "batches of like length"),
        sorts_the_caller_s_list=(
            "ordered = [ -> texts.sort(key=len, reverse=True)\n    ordered = texts or [",
            "its caller still needs it",
        ),
        ignores_the_default=(
            "batch_size: int = 32 -> batch_size: int = 8",
            "33 texts in batches of 32",
        ),
        returns_a_list=("return vectors -> return list(vectors)", "expected  ndarray"),
        begins_with_the_small_batch=(
            "range(0,  -> range(-(-len(ordered) % batch_size), ",
            "ordered[at : at -> ordered[max(at, 0) : at",
            "only the last may hold fewer",
        ),
        passes_arrays_of_texts=(
            "[texts[place] for place in order] -> np.array(texts)[order]",
            "encode_batch gets lists of strings",
        ),
        sorts_by_words=("len(texts[place]) -> len(texts[place].split())", "batches of like length"),
        adds_up_characters=(
            "len(texts[place]) -> len(''.join(texts[place]))",
            "batches of like length",
        ),
        looks_its_places_up=(
            "empty_like -> zeros_like",
            "vectors[order] -> vectors[[texts.index(one) for one in ordered]]",
            "equal texts are texts like any others",
        ),
    )
    | {
        encodes_one_by_one: "3 texts in batches of 2, of which only the last may hold fewer",
        encodes_all_at_once: "3 texts in batches of 2",
        loses_the_last_batch: "3 texts in batches of 2",
        leaves_blank_texts_out: "equal and blank ones too",
        gives_blank_texts_no_vector: "a blank text is one of the texts",
        strips_the_texts: "the texts are encoded as they are",
        encodes_equal_texts_once: "equal and blank ones too",
        sorts_two_batches_at_a_time: "batches of like length",
        keeps_vectors_by_text: "as long as it has pieces",
    },
    "5.4": edits(
        unread,
        forgets_the_special_pieces=("limit - 2 -> limit", "'one' and 'two' are read"),
        stops_one_piece_too_late=("limit - 2 -> limit - 1", "'one' and 'two' are read"),
        breaks_on_short_texts=(' if len(offsets) > most else "" -> ', "IndexError"),
    )
    | {
        counts_characters: "'one' and 'two' are read",
        counts_words: "several pieces",
        begins_behind_the_last_piece_read: "' three four'",
        returns_what_is_read: "'one two '",
        joins_the_pieces: "to the end of the text, not of the last piece",
        looks_the_piece_up: "the same word is read twice before",
        counts_offsets_in_bytes: "offsets count characters",
        returns_the_text_where_nothing_fits: "from the start of the first piece",
        empties_the_offsets: "its caller still needs it",
    },
}
