# %% [markdown]
# # 05 · Meaning as numbers
#
# A model turns a text into 384 numbers, and texts that mean the same get numbers that are alike. You will take the model apart, build its
# last steps yourself, and find out what its numbers do not show.
#
# | You will be able to | Time | Needs |
# |---|---|---|
# | compare texts by cosine, and say what the number does not tell · get from word pieces to one vector by hand · encode quickly, and notice what the model never read | about {minutes} min | a little NumPy |

# %% tags=["parameters"]
data_dir = "data/documents"
embedding_model = ""

# %%
import numpy as np

from course_lib.teaching import start  # "No module named 'course_lib'"? Open the lab with: make lab

lab = start("05", data_dir=data_dir, embedding_model=embedding_model)
lab.show.pipeline("vectors")

# %% [markdown]
# ## Words that are not there
#
# You want to know which alarms are important enough to wake somebody. You type a question. The simplest search ranks
# [chunks](../labs/GLOSSARY.md#chunk) by the number of words that they share with the question ([lexical
# retrieval](../labs/GLOSSARY.md#lexical-retrieval)).
#
# A section alone often does not say what it is about. So `split_document` cuts a page at its headings, and `embedded_text` begins with
# the page's title and the headings above the piece.
#
# > **Predict.** Which of the six words below will lead to the answer?

# %% tags=["nbval-check-output"]
import re
from types import SimpleNamespace

from course_lib.loader import read_documents, split_document, split_text
from course_lib.retriever.excerpts import excerpt

question = "Which warnings deserve waking someone up?"
passages = [
    SimpleNamespace(document_name=chunk.source_path, chunk_index=index, content=chunk.content, text=chunk.embedded_text)
    for page in read_documents(lab.data_dir)
    for index, chunk in enumerate(split_document(page))
]
texts = [passage.text for passage in passages]


def words(text):
    return set(re.findall(r"\w+", text.lower()))


for word in sorted(words(question)):
    print(f"{word:8} in {sum(word in words(text) for text in texts):2} of {len(texts)} chunks")


# %% tags=["nbval-check-output"]
def shared_words(asked):
    return np.array([len(words(asked) & words(text)) for text in texts])


first = passages[shared_words(question).argmax()]
print(first.document_name, sorted(words(question) & words(first.content)))
print(excerpt(first, most=96))

answer = "Page somebody at night for symptoms that users feel"
print(*{p.document_name for p in passages if answer in p.content}, words(question) & words(answer))

# %% [markdown]
# The first hit is about rollbacks and shares *which* and *up*. The answer is on another page. It has no word in common with the question.
# Counting words, in any way, cannot find it. We need something in which *waking someone up* and *page somebody at night* are alike.

# %% [markdown]
# ## By hand: two numbers for each text
#
# Read four notes and rate each: how much is it about *releases*, how much about *alarms*? Two numbers make a
# [vector](../labs/GLOSSARY.md#vector) of [dimension](../labs/GLOSSARY.md#dimension) 2.
#
# | | note | releases | alarms |
# |---|---|---|---|
# | a | Ship it, and keep an eye on the alarms. | 4 | 3 |
# | b | An alarm stops the release. | 3 | 4 |
# | c | the text of a, twice in a row | 8 | 6 |
# | d | Who is on call tonight? | 0 | 5 |
#
# > **Predict.** Each note is an arrow from (0, 0). Which of b, c and d is nearest to note a, if you measure with a ruler? Which if you measure the angle between the arrows?

# %%
from math import dist, hypot

notes = {"a": (4, 3), "b": (3, 4), "c": (8, 6), "d": (0, 5)}


def cosine_by_hand(a, b):
    inner = sum(x * y for x, y in zip(a, b, strict=True))
    return inner / (hypot(*a) * hypot(*b))


for name in "bcd":
    one, other = notes["a"], notes[name]
    print(f"a and {name}: ruler {dist(one, other):.2f}, cosine {cosine_by_hand(one, other):.2f}")
lab.show.arrows(notes, "Four notes as arrows", across="releases", up="alarms")

# %% tags=["claim"]
a, b, c = (notes[name] for name in "abc")
assert max(notes.values(), key=lambda other: dist(a, other)) == c and round(cosine_by_hand(a, c), 2) == 1, "puts note c last, although it says the same as note a"
assert round(cosine_by_hand(a, b), 2) == 0.96, "is 24 / (5 · 5) = 0.96"

# %% [markdown]
# With a pen: a · b = 4·3 + 3·4 = 24, the [inner product](../labs/GLOSSARY.md#inner-product). Each arrow has the
# [length](../labs/GLOSSARY.md#norm) √(16 + 9) = 5. The [cosine similarity](../labs/GLOSSARY.md#cosine-similarity) is 24 / (5 · 5) = 0.96.
#
# The ruler ([Euclidean distance](../labs/GLOSSARY.md#euclidean-distance)) puts note c last, although it says the same as note a. The
# cosine uses only the direction: 1 means the same direction, 0 a right angle, −1 the opposite direction.

# %% [markdown]
# ## Exercise 5.1 · cosine for whole tables
#
# A search compares a question with every chunk, so write the cosine for single vectors and for tables of them, without a Python loop. A
# vector of zeros has no direction; say 0 for it.
#
# ```
# cosine_similarity(np.array([4, 3]), np.array([3, 4]))            →  0.96
# cosine_similarity(np.array([[4, 3], [0, 5]]), np.array([3, 4]))  →  array([0.96, 0.8])
# cosine_similarity(np.array([0, 0]), np.array([3, 4]))            →  0.0
# ```

# %% exercise="5.1"
from course_lib.embedder.vectors import cosine_similarity

# %%
lab.check("5.1", cosine_similarity)

# %%
lab.hint("5.1")  # run again for the next hint

# %% [markdown] tags=["solution"]
# Dividing by the lengths first leaves one matrix product for all pairs. `axis=-1` is the last axis, which holds the numbers of a vector
# whether there is one vector or many; `.T` turns a matrix and leaves a single vector as it is.

# %% [markdown]
# ## A model gives the numbers
#
# You rated four notes by two qualities. [MiniLM](../labs/GLOSSARY.md#minilm) rates any text by 384 qualities that have no names. It
# learned them from pairs of texts that belong together. The result is the text's [embedding](../labs/GLOSSARY.md#embedding). The library
# *sentence-transformers* runs it; the weights came with the course.
#
# > **Predict.** Further below are the question, its answer and four more sentences. Which will be nearest to the question?

# %%
def load_model(folder):
    import torch  # the import takes seconds, so it comes only when it is needed
    from sentence_transformers import SentenceTransformer
    from transformers.utils.logging import disable_progress_bar

    disable_progress_bar()
    torch.set_num_threads(1)  # one core, so that what is measured below can be compared
    return SentenceTransformer(str(folder), device="cpu")


model = load_model(lab.embedder.directory or lab.embedder.model_name)

# %%
cosine_similarity = lab.use("cosine_similarity")  # your function if its check passed, otherwise the course's
sentences = [
    question,
    answer,
    "Alert the engineer on call.",
    "Clean up the table at night.",
    "Someone deserves a warning.",
    "How long does one boil an egg?",
]
found = model.encode(sentences)
similar = cosine_similarity(found, found)
for text, value in zip(sentences[1:], similar[0, 1:], strict=True):
    print(f"{value:.2f}  {text}")
lab.show.heat_map(similar, sentences, title="Cosine similarity")

# %% tags=["claim"]
to_answer, to_engineer, to_table, to_warning, to_egg = similar[0, 1:]
assert to_answer > to_table and to_answer - to_egg > 2 * (to_answer - to_table), "Still it comes before the sentence about the table, and far before the one about the egg"
assert to_warning > max(to_answer, to_engineer, to_table, to_egg), "But Someone deserves a warning answers nothing and comes first"

# %% [markdown]
# The answer has no word in common with the question. Still it comes before the sentence about the table, and far before the one about the
# egg. This is [dense retrieval](../labs/GLOSSARY.md#dense-retrieval). But *Someone deserves a warning* answers nothing and comes first:
# shared words still raise the similarity.
#
# ## What is inside
# The model has three parts. The first cuts the text into [word pieces](../labs/GLOSSARY.md#word-piece) of a fixed
# [vocabulary](../labs/GLOSSARY.md#vocabulary); its [tokenizer](../labs/GLOSSARY.md#tokenizer) does that. `##` continues a word.
#
# > **Predict.** *Idempotent* is a rare word, *survive* is not. How many pieces is each?

# %% tags=["nbval-check-output"]
print([type(part).__name__ for part in model])
print(model.tokenizer.tokenize("Idempotent upserts survive a rollback."))

ids = model.tokenizer("Roll it back.")["input_ids"]
print(ids, model.tokenizer.convert_ids_to_tokens(ids))

# %% [markdown]
# `[CLS]` and `[SEP]` are special [tokens](../labs/GLOSSARY.md#token) that are put around every text. Then a
# [transformer](../labs/GLOSSARY.md#transformer) computes one vector for each piece, and uses all other pieces for it. These are the token
# vectors.
#
# > **Predict.** The piece *page* in three sentences. Will its vector be the same in all of them?


# %% tags=["nbval-check-output"]
def piece_vectors(texts):
    """Return the vectors of all pieces, (n, length, 384), and the mask, (n, length)."""
    import torch

    limit = {"padding": True, "truncation": True, "max_length": model.max_seq_length}
    batch = model.tokenizer(texts, **limit, return_tensors="pt")
    with torch.inference_mode():  # nothing is trained here
        vectors = model[0](dict(batch))["token_embeddings"]  # the first part
    return vectors.numpy(), batch["attention_mask"].numpy()


pages = ["They page the engineer.", "We page somebody at night.", "The page has a table."]
vectors, mask = piece_vectors(pages)
print(vectors.shape)
print(cosine_similarity(vectors[0, 2], vectors[:, 2]).round(2))  # "page" is the third piece

# %% [markdown]
# *page* is a verb in two of the sentences and a noun in one. The piece is the same, but its vectors differ. This is how *page* can mean
# *wake up*.
#
# One vector for the whole text is still missing. The obvious way is the mean of its pieces' vectors.
#
# > **Predict.** The same short text, encoded alone and beside a longer one. Is its mean the same?

# %% tags=["nbval-check-output"]
short = "Roll it back."
batch = [short, "Keep the last three versions.", "Rehearse the way back before you need it."]
alone = piece_vectors([short])[0].mean(axis=1)[0]
vectors, mask = piece_vectors(batch)
beside = vectors.mean(axis=1)[0]
print(f"cosine of the two means: {cosine_similarity(alone, beside):.2f}")
print(mask)  # 1 is text, 0 is padding

# %% [markdown]
# No: the two means are very different. All rows of a [batch](../labs/GLOSSARY.md#batch) must have the same length, so short texts are
# filled up ([padding](../labs/GLOSSARY.md#padding)). A simple mean counts this padding, too. What a text means must not depend on its
# neighbours.
#
# ## Exercise 5.2 · mean pooling
#
# Write the mean that counts only the places where the mask is 1, wherever they are ([mean pooling](../labs/GLOSSARY.md#mean-pooling)).
#
# ```
# token_vectors  [[[1, 2], [3, 4], [90, 90]]]      one text, three places, two numbers each
# mask           [[  1,      1,       0    ]]
# mean_pool      [[2, 3]]                          (1 + 3) / 2 and (2 + 4) / 2
# ```
#
# ![Seven columns of numbers, one for each word piece; the last two are padding and have a 0 in the mask. The mean is made of the five columns with a 1.](../labs/figures/mean_pooling.svg)

# %% exercise="5.2"
from course_lib.embedder.vectors import mean_pool

# %%
lab.check("5.2", mean_pool)

# %%
lab.hint("5.2")

# %% [markdown] tags=["solution"]
# `mask[:, :, None]` has shape (n, length, 1), and NumPy stretches its last axis over all numbers of a vector. Multiplying by 0 takes the
# padding out of the sum; dividing by the number of ones takes it out of the count.

# %% tags=["nbval-check-output"]
mean_pool = lab.use("mean_pool")
pooled = mean_pool(vectors, mask)
print("lengths:", np.linalg.norm(pooled, axis=1).round(2))

unit = pooled / np.linalg.norm(pooled, axis=1, keepdims=True)
print("the same as the library's, to 0.000001:", np.allclose(unit, model.encode(batch), rtol=0, atol=1e-6))

# %% [markdown]
# The last part scales each vector to length 1, a [unit vector](../labs/GLOSSARY.md#unit-vector). You have rebuilt `encode`, to the sixth
# decimal. For unit vectors the inner product *is* the cosine.
#
# ## One by one, or in batches?
#
# We take the lines of a page. Some are headings of two or three words, others are paragraphs of fifty or more.
#
# > **Predict.** With batches of 16: how many pieces of padding are computed for each real word piece?


# %% tags=["nbval-check-output"]
def in_order(encode_batch, texts, batch_size):
    starts = range(0, len(texts), batch_size)
    return np.concatenate([encode_batch(texts[at : at + batch_size]) for at in starts])


def count_only(batch):
    lengths = [len(model.tokenizer(text)["input_ids"]) for text in batch]
    computed.append(max(lengths) * len(batch))  # all rows have the same length
    return np.zeros((len(batch), 1))  # used instead of the vectors


lines = [line for line in lab.document("what-is-mlops.md").splitlines() if line][:40]
for size in (1, 4, 16):
    computed = []
    in_order(count_only, lines, size)
    print(f"batches of {size:2}: {sum(computed):5,} pieces computed")

# %% [markdown]
# A batch of 1 needs no padding, so the first number counts only the pieces of the text. All the rest is work for nothing: a heading that
# shares its batch with a paragraph costs as much as the paragraph.
#
# ## Exercise 5.3 · batches by length
#
# Put texts of similar length into the same batch (count characters; that is good enough). Return the vectors in the order of the texts.
# All batches are full. Only the last one may be smaller.
#
# > **Predict.** Once it is done: which will be quickest on your machine, batches of 1, of 4 or of 16?
#
# ```
# encode_in_batches(encode_batch, ["ccc", "a", "bb"], 2)
# encode_batch gets        ["a", "bb"], then ["ccc"]     or ["ccc", "bb"], then ["a"]
# the result has the rows  of "ccc", "a", "bb"
# ```

# %% exercise="5.3"
from course_lib.embedder.vectors import encode_in_batches

# %%
lab.check("5.3", encode_in_batches)

# %%
lab.hint("5.3")

# %% [markdown] tags=["solution"]
# `order` is what was sorted: places, not texts. `vectors[order] = rows` sends each row back to the place it came from. Longest first is
# what libraries do: if the memory does not suffice, you learn it at once and not after an hour.

# %%
from time import process_time

encode_in_batches = lab.use("encode_in_batches")


def encode_batch(texts):
    return mean_pool(*piece_vectors(texts))


curves, counts = {"in order": [], "sorted": []}, {}
for name, way in (("in order", in_order), ("sorted", encode_in_batches)):
    for size in (1, 4, 16):
        computed = []
        way(count_only, lines, size)
        begun = process_time()  # the CPU time that this process used
        way(encode_batch, lines, size)
        curves[name].append((size, len(lines) / (process_time() - begun)))
        counts[name, size] = sum(computed)
        print(f"{name}, batches of {size:2}: {counts[name, size]:5,} pieces computed")
lab.show.lines(curves, "Lines encoded, on one core", across="batch size", up="lines a second")

# %% tags=["claim"]
assert all(counts["sorted", size] < counts["in order", size] for size in (4, 16)), "Sorting saves padding"
assert counts["sorted", 16] > 1.5 * counts["sorted", 4], "sorted batches of 16 still have more padding than sorted batches of 4"

# %% [markdown]
# It is often said that larger batches are faster. Sorting saves padding. But sorted batches of 16 still have more padding than sorted
# batches of 4. A GPU computes many pieces at once and can afford that; one core cannot. Which size was the quickest on your machine?
# (`model.encode` sorts as well, within one call.)
#
# ## Break it: after the limit
#
# The model reads 256 word pieces, the two special ones included; the rest is cut off ([truncation](../labs/GLOSSARY.md#truncation)). It
# reads 256 pieces, but this does not mean that it reads them well: it was trained on texts of at most 128.
#
# > **Predict.** You replace the second half of a page by a recipe for boiled eggs. How similar are the two? Will there be a warning?

# %% tags=["nbval-check-output"]
page = lab.document("model-monitoring.md")
spoilt = page[: len(page) // 2] + "Boil the egg for six minutes. " * 100

print("the page has", len(model.tokenizer(page, verbose=False)["input_ids"]), "word pieces")
print("every number is the same:", np.array_equal(model.encode(page), model.encode(spoilt)))
print(f"the answer begins at character {page.index(answer):,} of {len(page):,}")

# %% [markdown]
# There is no difference at all, and no warning. The answer from the beginning of this lab is in the part that was cut off.
#
# ## Exercise 5.4 · what was never read
#
# So write the warning yourself: which part of a text does the model not read? For each piece except the special ones, the tokenizer
# returns where it begins and ends in the text ([offsets](../labs/GLOSSARY.md#offset)).
#
# ```
# unread("one two three four", [(0, 3), (4, 7), (8, 13), (14, 18)], limit=4)  →  "three four"
# unread("one two three four", [(0, 3), (4, 7), (8, 13), (14, 18)], limit=6)  →  ""
# ```

# %% exercise="5.4"
from course_lib.embedder.vectors import unread

# %%
lab.check("5.4", unread)

# %%
lab.hint("5.4")

# %% [markdown] tags=["solution"]
# Two pieces of the limit are spent before the text begins. Counting characters or words instead would be a guess: code and names fall
# into more pieces than prose does.


# %%
def offsets(text):
    plain = {"add_special_tokens": False, "verbose": False, "return_offsets_mapping": True}
    return model.tokenizer(text, **plain)["offset_mapping"]


unread = lab.use("unread")
cut_off = {}
for size in (512, 1024, 2048, 99_999):
    spans = [span for text in lab.documents().values() for span in split_text(text, size)]
    lost = [unread(span.text, offsets(span.text)) for span in spans]
    share = sum(map(len, lost)) / sum(len(span.text) for span in spans)
    cut_off[size] = sum(map(bool, lost))
    print(f"size {size:6,}: {cut_off[size]:2} of {len(spans):3} cut off, {share:3.0%} lost")

end = len(page) - len(unread(page, offsets(page)))
print(f"read to character {end:,}:", page[end - 44 : end], "✂", page[end : end + 44])
pieces = [len(offsets(text)) + 2 for text in texts]
longer = sum(count > 128 for count in pieces)
print(longer, "of", len(pieces), "chunks have more than 128 word pieces")
lab.show.histogram(pieces, "Chunks of 512 characters", "word pieces", limit=model.max_seq_length)

# %% tags=["claim"]
assert page.index(answer) > end, "The answer from the beginning of this lab is in the part that was cut off"
assert cut_off[512] == 0 < cut_off[1024], "With 512 characters nothing is lost; with 1,024 some text is lost"
assert 0 < longer < len(pieces) / 5, "few of the chunks are longer than what the model was trained on"

# %% [markdown]
# The model stopped reading at the ✂ sign. This is why documents are cut into chunks first. With 512 characters nothing is lost; with
# 1,024 some text is lost. And few of the chunks are longer than what the model was trained on. The map below shows all chunks, encoded by
# your functions. The star is the question.

# %%
begun = process_time()
raw = encode_in_batches(encode_batch, texts, 4)
yours = process_time() - begun

vectors = raw / np.linalg.norm(raw, axis=1, keepdims=True)
names = [passage.document_name for passage in passages]
lab.show.map_2d(vectors, groups=names, query=model.encode(question))

# %% tags=["claim"]
from course_lib.teaching.lab.figures.vectors import plane

*_, shown = plane(vectors, model.encode(question))
assert shown < 0.25, "its two axes show less than a quarter of the variance"

# %% [markdown]
# Are the chunks of one page close together? The model does not know which chunk is from which page. And do not trust distances in the
# figure too much: its two axes show less than a quarter of the variance.
#
# Now the other end of the scale: a text of no characters at all.
#
# > **Predict.** Does the empty text have a vector? If so, how long is it, and what is it near to?

# %% tags=["nbval-check-output"]
empty = model.encode("")
print(f"its length is {np.linalg.norm(empty):.2f}")
for asked in ("?", "ok", question):
    query = model.encode(asked)
    print(f"best chunk {(vectors @ query).max():.2f}, empty text {empty @ query:.2f}: {asked}")

# %% [markdown]
# It has a vector like any other text. It is nearer to the two shortest questions than any chunk is. If the index held an empty file, that
# file would be the best hit for the question *ok*. So an index takes no empty texts. (The code that fills the index leaves them out;
# `encode_in_batches` returns a row for every text.)
#
# ## What the number cannot tell
#
# > **Predict.** Which is more similar to *The model was deployed*: its opposite, or *We put the network into production*?

# %% tags=["nbval-check-output"]
pairs = [
    ("The model was deployed.", "The model was not deployed."),
    ("The model was deployed.", "We put the network into production."),
    ("Accuracy rose by 2 per cent.", "Accuracy fell by 2 per cent."),
    ("The index has 50 rows.", "The index has 50,000 rows."),
    ("Kim reports to Lee.", "Lee reports to Kim."),
]
for one, other in pairs:
    similarity = cosine_similarity(*model.encode([one, other]))
    print(f"{similarity:.2f}  {one:28}  {other}")

# %% [markdown]
# The opposite is nearer than the paraphrase. What a text is *about* goes into the vector; *not*, numbers, and who does what to whom
# hardly change it. Where they matter, the text has to be read after it was found.
#
# A similarity is not a probability either. Compare every question of the course with every chunk.
#
# > **Predict.** Among the pairs with a similarity of 0.4 to 0.5, what share is right?

# %%
questions = lab.questions()
queries = model.encode([q.question for q in questions])
scores = cosine_similarity(queries, vectors)
rows = [[q.is_answered_by(p.document_name, p.content) for p in passages] for q in questions]
right = np.array(rows)  # [i, j]: does chunk j answer question i?

share = {}
for low in (0.2, 0.3, 0.4, 0.5):
    inside = right[(scores >= low) & (scores < low + 0.1)]
    share[low] = inside.mean()
    print(f"{low:.1f} to {low + 0.1:.1f}: {share[low]:3.0%} of {inside.size:3} pairs are right")
usual = float(np.median(scores[right]))
title = f"{(~right).sum():,} wrong pairs; dashed: the median of {right.sum()} right ones"
lab.show.histogram(scores[~right], title, "cosine similarity", limit=usual)

# %% tags=["claim"]
beyond = scores > usual
assert (beyond & ~right).sum() > (beyond & right).sum(), "The number of wrong pairs there is larger"
assert share[0.3] < 0.2, "A similarity of 0.3 does not mean 30 %"
assert [*share.values()] == sorted({*share.values()}), "You can sort by similarity"

# %% [markdown]
# Half of the right pairs are to the right of the dashed line. The number of wrong pairs there is larger. A similarity of 0.3 does not
# mean 30 %. With ten times as many chunks, there would be more wrong pairs for each right one. You can sort by similarity, but you have
# to measure to find a good [threshold](../labs/GLOSSARY.md#threshold).

# %% [markdown]
# ## Measure
#
# Were unit vectors worth the trouble? `raw` still holds the means with their own lengths.
#
# > **Predict.** The plain inner product favours long *vectors*. Do these belong to long texts or to short ones?

# %% tags=["nbval-check-output"]
lengths = np.linalg.norm(raw, axis=1)
longest = lengths.argmax()
print(f"longest vector {lengths[longest]:.2f} (median {np.median(lengths):.2f}), of a chunk with")
print(f"{len(texts[longest])} characters (median {np.median([len(text) for text in texts]):.0f})")

for name, table in (("inner product", queries @ raw.T), ("cosine", scores)):
    hits = (np.argsort(-table, axis=1)[:, :5] == longest).sum()
    print(f"{name}: among the first five for {hits} of {len(questions)} questions")

# %% [markdown]
# The longest vector belongs to a very short chunk. In a mean of few vectors, fewer opposite values cancel each other. With the inner
# product, this chunk is among the hits for many questions. Now we compare all three methods on the same questions, by
# [recall@5](../labs/GLOSSARY.md#recallk) and [MRR](../labs/GLOSSARY.md#mrr).


# %% tags=["nbval-check-output"]
def quality(scores):
    rows = {q.question: row for q, row in zip(questions, scores, strict=True)}

    def search(asked):
        return [passages[i] for i in np.argsort(-rows[asked], kind="stable")[:5]]

    return lab.measure_retrieval(search)


shared = np.array([shared_words(q.question) for q in questions])
tables = {"shared words": shared, "inner product": queries @ raw.T, "cosine": scores}
measured = {name: quality(table) for name, table in tables.items()}
for name, found in measured.items():
    print(f"{name:13}  recall@5 {found.recall:.2f}  MRR {found.mrr:.2f}")
missed = {name: set(found.missed) for name, found in measured.items()}
print("found by words alone:", len(missed["cosine"] - missed["shared words"]))

# %% [markdown]
# The questions found by words alone are a reason to combine both methods. A later lab does this.
#
# Now speed. The course's `EmbeddingClient` calls its own `mean_pool`, `encode_in_batches` and `unread`, scales each vector to length
# 1, and adds a [cache](../labs/GLOSSARY.md#cache). It runs the model's layers on OpenVINO instead of torch. The course has converted
# them once for this. How much faster is it, and how similar are the results?

# %%
from course_lib.embedder import EmbeddingClient

client = EmbeddingClient(lab.embedder.model_name, backend="auto", threads=1)
client.encode(texts[:1])  # loads it
begun = process_time()
fast = client.encode(texts)
theirs = process_time() - begun

others = client.encode([q.question for q in questions]) @ fast.T
ten_best = [np.argsort(-table, axis=1)[:, :10] for table in (scores, others)]
kept = np.mean([np.isin(one, other).mean() for one, other in zip(*ten_best, strict=True)])
print(f"{kept:.1%} of the ten best chunks are the same")
rates = {"yours, torch": len(texts) / yours, client.backend.name: len(texts) / theirs}
lab.show.bars(rates, "Chunks a second, on one core")

# %% tags=["claim"]
assert kept > 0.99, "the vectors are equal except for rounding"

# %%
best = measured["cosine"]
lab.score(recall_at_5=best.recall, mrr=best.mrr, note="vectors by hand; chunks under their headings")

# %% [markdown]
# OpenVINO uses the same precision, so the vectors are equal except for rounding. It also saves the seconds for importing torch. All other
# labs use this client. The functions that you wrote are, in the course's version, in `course_lib/embedder/vectors.py`; `model.py` and
# `openvino_backend.py` beside it call them.
#
# ## In the field
#
# `SentenceTransformer.encode` is the standard tool, and you have compared your functions with it in the whole lab. Three of its options do what you
# did by hand: `normalize_embeddings=True`, `batch_size=4`, and `model.max_seq_length`. It sorts by length, and gives no warning either.
#
# If even a small transformer is too slow, use [model2vec](https://minish.ai/packages/model2vec/introduction). It computes a vector for
# each word piece once. The vector of a text is then the mean of stored vectors. It is much faster, but *page* has the same vector
# as verb and as noun. **Not run here**, because it downloads a model:
#
# ```python
# from model2vec import StaticModel  # pip install model2vec
#
# vectors = StaticModel.from_pretrained("minishlab/potion-retrieval-32M").encode(texts)
# ```
#
# ## Recap
#
# - Cosine compares directions. With unit vectors it is a plain inner product.
# - Word pieces, a vector for each, their mean without the padding, length 1: that is an embedding.
# - Sort by length before you make batches. A larger batch is not always faster.
# - The model reads 256 word pieces (and was trained on 128), and gives no warning if a text is longer. Count the pieces yourself.
# - A similarity orders texts. It is not a probability, and a *not* in the text hardly changes it.

# %% [markdown]
# ## Three questions to test yourself
#
# 1. Two different texts have a cosine of 1.00. Name two ways in which this happens.
# 2. A colleague encodes one chunk twice, in two batches, and the two vectors have a cosine of 0.6. Where do you look first?
# 3. You change the model. Why must you replace both the stored vectors and the threshold?
#
# <details><summary>Answers</summary>
#
# 1. They differ only after the limit. Or only in what the tokenizer drops: MiniLM's ignores capitals, line ends and repeated spaces.
# 2. At the pooling. If padding counts, a vector depends on the longest text of its batch.
# 3. The 384 numbers of another model mean something else, so vectors of two models cannot be compared. And what unrelated texts
#    get differs from model to model.
#
# </details>
#
# ## Stretch, and what comes next
#
# Sort by word pieces instead of characters: `encode_in_batches` also takes lists of word pieces, and `len` then counts these. How many
# pieces are computed now? Then read `_encode` in `course_lib/embedder/model.py`, which does just that.
#
# **Next.** These vectors are gone when the kernel stops. In [lab 06](../labs/06_pgvector_schema.ipynb) they get a table.
