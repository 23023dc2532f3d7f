# %% [markdown]
# # 05 · Meaning as numbers
#
# A model turns a text into 384 numbers, its vector. What does a vector say about a text, and what not?
#
# | You will be able to | Time | Needs |
# |---|---|---|
# | compare texts by cosine, and say what the number does not tell · get from word pieces to one vector by hand · encode in batches, and notice what the model never read | about {minutes} min | a little NumPy |

# %% tags=["parameters"]
data_dir = "data/documents"
embedding_model = ""

# %%
from course_lib.teaching import start  # "No module named 'course_lib'"? Open the lab with: make lab

lab = start("05", data_dir=data_dir, embedding_model=embedding_model)
lab.show.pipeline("vectors")

# %% [markdown]
# ## Words that are not there
#
# You want to know which alarms may wake somebody. One search ranks [chunks](../labs/GLOSSARY.md#chunk) by the words that they share with
# your question, the other by vectors.
#
# > **Predict.** Which search finds the answer, a rule about *paging somebody at night*?

# %%
import re

import numpy as np
import pandas as pd

from course_lib.loader import read_documents, split_document, split_text

pd.set_option("display.max_colwidth", None)
question = "Which warnings deserve waking someone up?"
chunks = [chunk for page in read_documents(lab.data_dir) for chunk in split_document(page)]
texts = [chunk.embedded_text for chunk in chunks]  # under the page's title and the headings above


# %% tags=["nbval-check-output"]
def words(text):
    return set(re.findall(r"\w+", text.lower()))


shared = [words(question) & words(text) for text in texts]
similarity = lab.encode(texts) @ lab.encode(question)
first = {"shared words": np.argmax([len(both) for both in shared]), "vectors": similarity.argmax()}
rows = {way: (chunks[at].source_path, ", ".join(sorted(shared[at])), chunks[at].content[:130]) for way, at in first.items()}
pd.DataFrame(rows, index=["page", "shared words", "begins with"]).T

# %% tags=["claim"]
answer = "Page somebody at night for symptoms that users feel"
assert answer in chunks[first["vectors"]].content, "The vectors find the answer"
assert not words(question) & words(answer), "This rule has no word in common with the question"

# %% [markdown]
# The vectors find the answer: *Page somebody at night for symptoms that users feel*. This rule has no word in common with the question, so
# counting words cannot find it.
#
# ## By hand: two numbers for each text
#
# Rate four notes: how much is each about *releases*, how much about *alarms*? They make a
# [vector](../labs/GLOSSARY.md#vector) of [dimension](../labs/GLOSSARY.md#dimension) 2.
#
# | | note | releases | alarms |
# |---|---|---|---|
# | a | Ship it, and watch the alarms. | 4 | 3 |
# | b | An alarm stops the release. | 3 | 4 |
# | c | a, written twice | 8 | 6 |
# | d | Who is on call tonight? | 0 | 5 |
#
# > **Predict.** Which of b, c and d is farthest from a by the ruler? Which is nearest by the angle?

# %%
notes = {"a": (4, 3), "b": (3, 4), "c": (8, 6), "d": (0, 5)}
lab.show.arrows(notes, "Four notes as arrows", across="releases", up="alarms")

# %% tags=["claim"]
from math import dist

assert max("bcd", key=lambda other: dist(notes["a"], notes[other])) == "c", "puts note c last, although it says the same as note a"

# %% [markdown]
# The ruler ([Euclidean distance](../labs/GLOSSARY.md#euclidean-distance)) puts note c last, although it says the same as note a. The angle
# puts it first. With a pen, for a and b: 4·3 + 3·4 = 24 is the [inner product](../labs/GLOSSARY.md#inner-product). Each arrow has the
# [length](../labs/GLOSSARY.md#norm) √(16 + 9) = 5. The [cosine similarity](../labs/GLOSSARY.md#cosine-similarity) is 24 / (5 · 5) = 0.96. It
# is 1 for the same direction, 0 for a right angle, −1 for opposite directions.

# %% [markdown]
# ## Exercise 5.1 · cosine for whole tables
#
# Write the cosine for single vectors and for tables of them, without a loop.
#
# - `np.linalg.norm(rows, axis=-1, keepdims=True)`: the length of each row, or of a single vector.
# - `a @ b.T`: the inner product of each row of `a` with each row of `b`.
# - `np.where(length == 0, 1, length)`: a 1 in place of each 0.

# %% exercise="5.1"
from course_lib.embedder.vectors import cosine_similarity

# %%
lab.check("5.1", cosine_similarity)

# %%
lab.hint("5.1")  # run again for the next hint

# %% [markdown] tags=["solution"]
# The mistake to remember: `np.linalg.norm(a)` without an axis is *one* length for the whole table. Then each number depends on all other
# rows. Another one is to add 1e-8 to the length against the division by zero: it changes every cosine, and that of short vectors by much.

# %% [markdown]
# ## What the number does not tell
#
# [MiniLM](../labs/GLOSSARY.md#minilm) rates a text by 384 qualities without names, learned from pairs of texts that belong together. The
# result is the text's [embedding](../labs/GLOSSARY.md#embedding).
#
# > **Predict.** Which is more similar to *The model was deployed*: its opposite, or *We put the network into production*? Then try sentences
# > of your own (**Enter**): find two that contradict each other, above 0.9.


# %%
pairs = [
    ("The model was deployed.", "We put the network into production."),
    ("Accuracy rose by 2 per cent.", "Accuracy fell by 2 per cent."),
    ("The index has 50 rows.", "The index has 50,000 rows."),
    ("Kim reports to Lee.", "Lee reports to Kim."),
]


def compare(one, other):
    table = pd.DataFrame([(one, other), *pairs], columns=["one", "other"])
    table["similarity"] = [float(cosine_similarity(*lab.encode(list(pair)))) for pair in [(one, other), *pairs]]
    return table.round(2)


# %%
cosine_similarity = lab.use("cosine_similarity")  # your function if its check passed, otherwise the course's
lab.interact(compare, one="The model was deployed.", other="The model was not deployed.")

# %% tags=["claim"]
opposite, paraphrase, *rest = compare("The model was deployed.", "The model was not deployed.")["similarity"]
assert opposite > paraphrase, "The opposite is nearer than the paraphrase"
assert paraphrase < 0.4 and min(opposite, *rest) > 0.79, "hardly change it: these pairs stay at 0.8 or above"

# %% [markdown]
# The opposite is nearer than the paraphrase. What a text is *about* goes into the vector. *Not*, numbers, and who does what to whom hardly
# change it: these pairs stay at 0.8 or above. Chosen pairs show that it happens, not how often. Where such words matter, read the text.
#
# ## What is inside
#
# The library *sentence-transformers* runs the model.


# %%
def load_model(folder):
    import torch  # the import takes seconds, so it comes only when it is needed
    from sentence_transformers import SentenceTransformer
    from transformers.utils.logging import disable_progress_bar

    disable_progress_bar()
    torch.set_num_threads(1)  # one core, so that what is measured below can be compared
    return SentenceTransformer(str(folder), device="cpu")


model = load_model(lab.embedder.directory or lab.embedder.model_name)

# %% [markdown]
# The [tokenizer](../labs/GLOSSARY.md#tokenizer) cuts a text into [word pieces](../labs/GLOSSARY.md#word-piece) of a fixed
# [vocabulary](../labs/GLOSSARY.md#vocabulary), and puts the special [tokens](../labs/GLOSSARY.md#token) `[CLS]` and `[SEP]` around it. A
# [transformer](../labs/GLOSSARY.md#transformer) then computes a vector for each piece, and uses all other pieces for it. Their mean should
# be the vector of the text.
#
# > **Predict.** Will *page* have the same vector in three sentences? Is the mean of a sentence the same if it is encoded alone?


# %%
def piece_vectors(texts):
    """Return the vectors of all pieces, (n, length, 384), and the mask, (n, length)."""
    import torch

    limit = {"padding": True, "truncation": True, "max_length": model.max_seq_length}
    batch = model.tokenizer(texts, **limit, return_tensors="pt")
    with torch.inference_mode():  # nothing is trained here
        vectors = model[0](dict(batch))["token_embeddings"]
    return vectors.numpy(), batch["attention_mask"].numpy()


# %% tags=["nbval-check-output"]
batch = ["They page the engineer.", "We page somebody at night.", "The page has a table of idempotent upserts, most of them old."]
print(model.tokenizer.tokenize(batch[2]))
vectors, mask = piece_vectors(batch)
print("page and page:", cosine_similarity(vectors[0, 2], vectors[:, 2]).round(2))  # the third piece
alone = piece_vectors(batch[:1])[0].mean(axis=1)[0]
print(f"the first sentence, alone and here: {cosine_similarity(alone, vectors[0].mean(axis=0)):.2f}")
print(mask)  # 1 is text, 0 is padding

# %% tags=["claim"]
verb, noun = cosine_similarity(vectors[0, 2], vectors[1:, 2])
assert verb > noun, "The two verbs are more alike than verb and noun"
assert cosine_similarity(alone, vectors[0].mean(axis=0)) < 0.9, "No, and the means differ, too"

# %% [markdown]
# No, and the means differ, too. `##` continues a word. The two verbs are more alike than verb and noun: the vector of a piece depends on its
# sentence.
#
# The means differ for a bad reason. All rows of a [batch](../labs/GLOSSARY.md#batch) must have the same length, so short texts are filled up
# ([padding](../labs/GLOSSARY.md#padding)), and a simple mean counts the padding. A vector must say nothing
# about a text's neighbours.
#
# ![Seven columns, one for each word piece; the last two are padding, with a 0 in the mask. The mean is of the five with a 1.](../labs/figures/mean_pooling.svg)

# %% [markdown]
# ## Exercise 5.2 · mean pooling
#
# Write the mean that counts only the places where the mask is 1, wherever they are ([mean pooling](../labs/GLOSSARY.md#mean-pooling)).
# `mask[:, :, None]` has a third axis of length 1. If you multiply it with the vectors, NumPy repeats it for all numbers of a vector.

# %% exercise="5.2"
from course_lib.embedder.vectors import mean_pool

# %%
lab.check("5.2", mean_pool)

# %%
lab.hint("5.2")

# %% [markdown] tags=["solution"]
# The mistake to remember: taking the padding out of the sum, and still dividing by the length of the batch. Every vector has the right
# direction, so no cosine shows it. But an inner product is too small for every short text.

# %% tags=["nbval-check-output"]
mean_pool = lab.use("mean_pool")
pooled = mean_pool(vectors, mask)
unit = pooled / np.linalg.norm(pooled, axis=1, keepdims=True)
print("the same as the library's, to 0.000001:", np.allclose(unit, model.encode(batch), rtol=0, atol=1e-6))

# %% [markdown]
# The last step scales each vector to length 1, a [unit vector](../labs/GLOSSARY.md#unit-vector); for these the inner product *is* the
# cosine. You have rebuilt `encode`, to the sixth decimal.
#
# ## Who shares a batch?
#
# Neighbours do not change a vector now, so you may choose them. They change the time: padding is computed, too. Four texts in batches of 2:
#
# | order | lengths | pieces computed |
# |---|---|---|
# | as they come | (2, 30) (3, 28) | 2·30 + 2·28 = 116 |
# | by length | (30, 28) (3, 2) | 2·30 + 2·3 = 66 |

# %% [markdown]
# ## Exercise 5.3 · batches by length
#
# Put texts of similar length into the same batch (count characters). Return the vectors in the order of the texts.
# The shortest or the longest may come first.
#
# `sorted(range(len(texts)), key=…)` sorts *places*. `np.concatenate(parts)` joins tables, `np.empty_like(table)` makes one of the same shape,
# and `table[[2, 0]] = rows` writes the first row to place 2, the second to place 0.
#
# > **Predict.** Which will be quickest on your machine: batches of 1, of 4 or of 16?

# %% exercise="5.3"
from course_lib.embedder.vectors import encode_in_batches

# %%
lab.check("5.3", encode_in_batches)

# %%
lab.hint("5.3")

# %% [markdown] tags=["solution"]
# The mistake to remember: `vectors[:] = rows[order]` is the wrong way back. It is right if you only swap two texts, so a test with two
# texts passes. `vectors[order] = rows` sends row k to the place it came from. Why the longest first? If the memory does not
# suffice, you learn it at once.


# %%
from time import process_time

computed = []


def encode_batch(texts):
    vectors, mask = piece_vectors(texts)
    computed.append(mask.size)  # with the padding
    return mean_pool(vectors, mask)


def in_order(encode_batch, texts, batch_size):
    starts = range(0, len(texts), batch_size)
    return np.concatenate([encode_batch(texts[at : at + batch_size]) for at in starts])


# %%
encode_in_batches = lab.use("encode_in_batches")
lines = [line for line in lab.document("what-is-mlops.md").splitlines() if line][:40]  # headings and paragraphs
pieces, speed = pd.DataFrame(), pd.DataFrame()
for size in (1, 4, 16):
    for name, way in (("in order", in_order), ("by length", encode_in_batches)):
        computed.clear()
        begun = process_time()  # the CPU time that this process used
        way(encode_batch, lines, size)
        speed.loc[size, name] = len(lines) / (process_time() - begun)
        pieces.loc[size, name] = sum(computed)
axes = speed.plot(marker="o", xlabel="batch size, texts", ylabel="lines a second", figsize=(6, 3), xticks=[1, 4, 16], ylim=(0, None))
lab.alt(axes, "Lines a second on one core, for batches of 1, 4 and 16 lines, in order and by length.")
pieces.astype(int).rename_axis("pieces computed, batches of")

# %% tags=["claim"]
assert (pieces["by length"] < pieces["in order"])[[4, 16]].all(), "Sorting saves padding"
assert pieces.loc[16, "by length"] > 1.5 * pieces.loc[4, "by length"], (
    "sorted batches of 16 still have more padding than sorted batches of 4"
)
assert np.allclose(in_order(encode_batch, lines, 1), encode_in_batches(encode_batch, lines, 16), atol=1e-4), "The vectors are the same"

# %% [markdown]
# Sorting saves padding. The vectors are the same. A batch of 1 has no padding, and sorted batches of 16 still have more padding than sorted
# batches of 4. So on one core large batches need not be the fastest: the chart shows your machine. With a GPU, or thousands of texts, measure
# again.

# %% [markdown]
# ## Break it: after the limit
#
# The model reads 256 word pieces, the two special ones included ([truncation](../labs/GLOSSARY.md#truncation)).
#
# > **Predict.** You replace the second half of a page by a recipe for eggs. How similar are the two?

# %% tags=["nbval-check-output"]
page = lab.document("model-monitoring.md")
spoilt = page[: len(page) // 2] + "Boil the egg for six minutes. " * 100
print("the page has", len(model.tokenizer(page, verbose=False)["input_ids"]), "word pieces")
print("every number is the same:", np.array_equal(model.encode(page), model.encode(spoilt)))

# %% [markdown]
# Every number is the same, and there is no warning. A vector says nothing about what was cut off.

# %% [markdown]
# ## Exercise 5.4 · what was never read
#
# So write the warning yourself. The tokenizer also returns where each piece begins and ends ([offsets](../labs/GLOSSARY.md#offset)).

# %% exercise="5.4"
from course_lib.embedder.vectors import unread

# %%
lab.check("5.4", unread)

# %%
lab.hint("5.4")

# %% [markdown] tags=["solution"]
# The mistake to remember: forgetting the two special pieces. Then a text of 255 pieces seems to fit, and its last piece is lost. Counting
# characters or words instead would be a guess: code and names fall into more pieces than prose does.


# %%
def offsets(text):
    plain = {"add_special_tokens": False, "verbose": False, "return_offsets_mapping": True}
    return model.tokenizer(text, **plain)["offset_mapping"]


# %% [markdown]
# > **Predict.** Chunks of 512, 1,024 and 2,048 characters, or whole pages: what share of the text is never read?

# %% tags=["nbval-check-output"]
unread = lab.use("unread")
cut_off = pd.DataFrame()
for name, size in {"512": 512, "1,024": 1_024, "2,048": 2_048, "whole pages": 99_999}.items():
    spans = [span.text for text in lab.documents().values() for span in split_text(text, size)]
    lost = [len(unread(text, offsets(text))) for text in spans]
    share = sum(lost) / sum(map(len, spans))
    cut_off.loc[name, ["chunks", "cut off", "% never read"]] = (len(spans), np.count_nonzero(lost), round(100 * share))
cut_off.astype(int).rename_axis("characters")

# %% tags=["claim"]
assert cut_off.loc["512", "cut off"] == 0 and cut_off.loc["1,024", "% never read"] == 1, "With 512 characters nothing is lost here, with 1,024 one per cent"
assert cut_off.loc["whole pages", "% never read"] == 85, "of whole pages 85 per cent"
assert page.index(answer) > len(page) - len(unread(page, offsets(page))), "our answer is in the part that is not read"

# %% [markdown]
# With 512 characters nothing is lost here, with 1,024 one per cent, and of whole pages 85 per cent: our answer
# is in the part that is not read. This is why documents are cut into chunks. For code, count again.
#
# ## Measure: words or vectors?
#
# Back to the two searches, with all questions. A pair of question and chunk is right if the chunk holds the answer.
# [Recall@5](../labs/GLOSSARY.md#recallk) is the share of questions with a right chunk among the first five. If the
# [interval](../labs/GLOSSARY.md#confidence-interval) of a gain contains 0, the questions do not decide.
#
# > **Predict.** Which finds more, and what do unit vectors gain? What share of the pairs with a cosine between 0.3 and 0.4 is right?

# %%
from types import SimpleNamespace

from course_lib.evaluation.statistics import paired_interval

questions, vectors = lab.questions(), encode_in_batches(encode_batch, texts, 4)  # not scaled
asked = model.encode([one.question for one in questions])
counts = np.array([[len(words(one.question) & words(text)) for text in texts] for one in questions])
ways = {"shared words": counts, "inner product": asked @ vectors.T, "cosine": cosine_similarity(asked, vectors)}


# %%
def measure(scores):
    passages = [SimpleNamespace(document_name=chunk.source_path, content=chunk.content) for chunk in chunks]
    row = {one.question: list(order) for one, order in zip(questions, (-scores).argsort(kind="stable"), strict=True)}
    return lab.measure_retrieval(lambda question: [passages[at] for at in row[question]])


# %%
from IPython.display import display

measured = {way: measure(scores) for way, scores in ways.items()}
hits = {way: [one not in result.missed for one in questions] for way, result in measured.items()}
table = pd.DataFrame({way: {"recall@5": result.recall, "MRR": result.mrr} for way, result in measured.items()}).T.round(2)
table["gain of cosine"] = [str(paired_interval(hits[way], hits["cosine"])) if way != "cosine" else "" for way in ways]
display(table)
print("found by words alone:", sum(word > vector for word, vector in zip(hits["shared words"], hits["cosine"], strict=True)))

right = [one.is_answered_by(chunk.source_path, chunk.content) for one in questions for chunk in chunks]
found = pd.DataFrame({"right": right, "range": pd.cut(ways["cosine"].ravel(), [-1, 0.2, 0.3, 0.4, 0.5, 1])})
share = found.groupby("range", observed=True).right.agg(["mean", "sum", "size"])
labels = [f"{at.left} to {at.right}: {one['sum']:.0f} of {one['size']:,.0f}" for at, one in share.iterrows()]
axes = (100 * share["mean"]).set_axis(labels).plot.barh(xlabel="right, % of the pairs", ylabel="cosine", figsize=(6, 3))
lab.alt(axes, f"Right pairs by cosine. {'; '.join(labels)}.")

# %% tags=["claim"]
gains = {way: paired_interval(hits[way], hits["cosine"]) for way in ways}
assert gains["shared words"].low > 0 and gains["inner product"].low > 0, "Vectors find more, and unit vectors gain a little"
assert any(word > vector for word, vector in zip(hits["shared words"], hits["cosine"], strict=True)), "some answers are found by words alone"
assert 0.07 < share["mean"].iloc[2] < 0.13, "Between 0.3 and 0.4, about one pair in ten is right"
assert share["mean"].is_monotonic_increasing, "A higher cosine is right more often"

# %% [markdown]
# Vectors find more, and unit vectors gain a little. But some answers are found by words alone:
# [lab 08](../labs/08_words_and_meaning.ipynb) combines both. Between 0.3 and 0.4, about one pair in ten is right. A higher cosine is right
# more often, but it is not a probability: with more chunks, there would be more wrong pairs for each right one. So sort by it; for a
# [threshold](../labs/GLOSSARY.md#threshold), measure.

# %% [markdown]
# ## In the field
#
# `SentenceTransformer.encode` does all this, and gives no warning either. The course's `EmbeddingClient` calls `mean_pool`,
# `encode_in_batches` and `unread`, and adds a [cache](../labs/GLOSSARY.md#cache).
#
# ## Recap
#
# - A vector says roughly what a text is about. *Not*, numbers and who did what hardly change it.
# - Cosine compares directions. It orders texts, and is not a probability.
# - An embedding is the mean of its pieces' vectors, whatever the batch.
# - The model reads 256 pieces and gives no warning. Count them yourself.

# %% [markdown]
# ## Three questions to test yourself
#
# 1. Two different texts have a cosine of 1.00. Name two ways in which this happens.
# 2. A chunk is encoded in two batches, and the two vectors have a cosine of 0.6. Where do you look first?
# 3. You change the model. Why must you replace both the stored vectors and the threshold?
#
# <details><summary>Answers</summary>
#
# 1. They differ only after the limit, or only in what MiniLM's tokenizer drops: capitals, line ends, repeated spaces.
# 2. At the pooling: it may count padding.
# 3. The numbers of another model mean something else, and unrelated texts get other similarities.
#
# </details>
#
# ## Stretch, and what comes next
#
# - Which chunk does the inner product find too often, and why is it short?
# - Encode an empty text. Which questions is it near to?
# - Draw `lab.show.map_2d(vectors, [chunk.source_path for chunk in chunks], model.encode(question))`. What do its axes show?
# - MiniLM was trained on 128 pieces. How many chunks are longer?
# - Give `encode_in_batches` lists of word pieces. What does it save?
#
# **Next.** In [lab 06](../labs/06_pgvector_schema.ipynb) the vectors get a table.
