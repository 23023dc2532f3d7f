# %% [markdown]
# # 05 · Meaning as numbers
#
# You ask which warnings deserve waking someone up. A search by words shows a text about platforms. A model turns each text into 384
# numbers, and these lead to the right page. What do the numbers say about a text, and what not?
#
# | You will be able to | Time | Needs |
# |---|---|---|
# | compare texts by the cosine of their vectors, and say what it does not tell · make one vector from the vectors of word pieces · encode in batches, and find what the model never reads | about {minutes} min | a little NumPy |

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
# Two searches rank the [chunks](../labs/GLOSSARY.md#chunk) of five pages:
#
# - *By words* ([BM25](../labs/GLOSSARY.md#bm25)): rare words count more. We leave out words like *which*, and cut off endings.
# - *By vectors*: a model turns each text into numbers, and we compare these.
#
# > **Predict.** The question is *Which warnings deserve waking someone up?* Which word leads the first search to a wrong page?

# %%
import numpy as np
import pandas as pd

from course_lib.loader import read_documents, split_document, split_text
from course_lib.teaching.lab.retrieval import score_words, stems

pd.set_option("display.max_colwidth", None)
question = "Which warnings deserve waking someone up?"
chunks = [chunk for page in read_documents(lab.data_dir) for chunk in split_document(page)]
texts = [chunk.embedded_text for chunk in chunks]  # under the page's title and the headings above
similarity = lab.encode(texts) @ lab.encode(question)
first = {"by words": score_words([question], texts)[0].argmax(), "by vectors": similarity.argmax()}
rows = {}
for way, at in first.items():
    shared = {*stems(question)} & {*stems(texts[at])}
    rows[way] = chunks[at].source_path, shared, chunks[at].content[:150]
pd.DataFrame(rows, index=["page", "shared words", "begins with"]).T

# %% tags=["claim"]
answer = "Page somebody at night for symptoms that users feel"
assert rows["by words"][:2] == ("what-is-mlops.md", {"deserv"}), (
    "Deserve leads the first search to another page"
)
assert rows["by words"][2].count("Not every model deserves a platform") == 1
assert answer in chunks[first["by vectors"]].content, "The vectors find the answer"
assert not {*stems(question)} & {*stems(answer)}, (
    "This rule has no word in common with the question"
)

# %% [markdown]
# <details><summary>The answer</summary>
#
# *Deserve* leads the first search to another page: *Not every model deserves a platform*. The vectors find the answer: *Page somebody at
# night for symptoms that users feel*. This rule has no word in common with the question.
#
# </details>
#
# ## By hand: two numbers for each text
#
# How much is each note about *releases*, and how much about *alarms*? These two numbers are its [vector](../labs/GLOSSARY.md#vector), of
# [dimension](../labs/GLOSSARY.md#dimension) 2.
#
# - a: *Ship it, and watch the alarms.* (4, 3)
# - b: *An alarm stops the release.* (3, 4)
# - c: note a, written twice (8, 6)
# - d: *Who is on call tonight?* (0, 5)
#
# Draw each vector as an arrow. Compare two arrows by the distance between their tips (a *ruler*), or by their angle.
#
# > **Predict.** Which of b, c and d is farthest from a by the ruler? Which has the smallest angle to a?

# %%
from math import dist, hypot

import matplotlib.pyplot as plt

notes = {"a": (4, 3), "b": (3, 4), "c": (8, 6), "d": (0, 5)}
cosines = {other: (4 * x + 3 * y) / (5 * hypot(x, y)) for other, (x, y) in notes.items()}
figure, axes = plt.subplots(figsize=(4, 3.4))
for name, end in notes.items():
    axes.annotate(name, (0, 0), end, arrowprops={"arrowstyle": "<|-"}, weight="bold")
axes.set(xlim=(0, 9), ylim=(0, 7), aspect="equal", xlabel="releases", ylabel="alarms")
lab.alt(figure, f"Arrows from the origin to {notes}: a and c have the same direction.")
rows = {f"a and {other}": (dist(notes["a"], notes[other]), cosines[other]) for other in "bcd"}
pd.DataFrame(rows, index=["ruler", "cosine"]).T.round(2)

# %% tags=["claim"]
assert max("bcd", key=lambda other: dist(notes["a"], notes[other])) == "c", (
    "The ruler puts note c farthest from a"
)
assert max("bcd", key=cosines.get) == "c", "by the angle, c is nearest"
assert round(cosines["b"], 2) == 0.96, "24 / (5 · 5) = 0.96"

# %% [markdown]
# <details><summary>The answer</summary>
#
# The ruler puts note c farthest from a, although c only repeats a. But by the angle, c is nearest: it has the same direction.
#
# </details>
#
# The number for the angle is the [cosine similarity](../labs/GLOSSARY.md#cosine-similarity). It is 1 for the same direction, 0 for a right
# angle, and −1 for opposite directions. For a and b:
#
# - The [inner product](../labs/GLOSSARY.md#inner-product) is 4·3 + 3·4 = 24.
# - Each arrow has the [length](../labs/GLOSSARY.md#norm) √(16 + 9) = 5.
# - The cosine is 24 / (5 · 5) = 0.96.

# %% [markdown]
# ## Exercise 5.1 · cosine for whole tables
#
# A search compares a question with every chunk, and a loop over them is slow. Write the cosine for single vectors and whole tables, without
# a loop.
#
# A vector of zeros has the length 0. You cannot divide by 0, so decide what to divide by.

# %% exercise="5.1"
from course_lib.embedder.vectors import cosine_similarity

# %%
lab.check("5.1", cosine_similarity)

# %%
lab.hint("5.1")  # run again for the next hint

# %% [markdown] tags=["solution"]
# The mistake to remember is to call `np.linalg.norm(a)` without an axis. It gives *one* length for the whole table, so each result depends
# on all rows.

# %% [markdown]
# ## What the number does not tell
#
# The model [MiniLM](../labs/GLOSSARY.md#minilm) turns a text into 384 numbers, its [embedding](../labs/GLOSSARY.md#embedding). Does a high
# cosine mean that two texts *say* the same?
#
# > **Predict.** Which is more similar to *The model was deployed*: its opposite, or *We put the network into production*?


# %%
pairs = [
    ("The model was deployed.", "We put the network into production."),
    ("Accuracy rose by 2 per cent.", "Accuracy fell by 2 per cent."),
    ("The index has 50 rows.", "The index has 50,000 rows."),
    ("Kim reports to Lee.", "Lee reports to Kim."),
]


def compare(one, other):
    compared = [(one, other), *pairs]
    table = pd.DataFrame(compared, columns=["one", "other"])
    table["similarity"] = [float(cosine_similarity(*lab.encode([*pair]))) for pair in compared]
    return table.round(2)


cosine_similarity = lab.use("cosine_similarity")  # yours if its check passed
lab.interact(compare, one="The model was deployed.", other="The model was not deployed.")

# %% tags=["claim"]
rated = compare("The model was deployed.", "The model was not deployed.")["similarity"]
opposite, paraphrase, *rest = rated
assert opposite > paraphrase, "The opposite is nearer than the paraphrase"
assert paraphrase < 0.4 and min(opposite, *rest) > 0.78, "All four such pairs have about 0.8 or more"

# %% [markdown]
# <details><summary>The answer</summary>
#
# The opposite is nearer than the paraphrase. So a high cosine does not mean that two texts say the same.
#
# The opposite differs only by *not*, and the last three pairs by a word, a number or the order of two names. All four such pairs have about
# 0.8 or more. If such a difference matters, read the text.
#
# A likely reason, not tested here, is the training on pairs of texts that belong together. It moves the two vectors of a pair nearer to
# each other, and away from those of other pairs ([contrastive loss](../labs/GLOSSARY.md#contrastive-loss)). Most other pairs have another
# *subject*, so subjects may count most.
#
# </details>
#
# ## How a text becomes a vector
#
# 1. The [tokenizer](../labs/GLOSSARY.md#tokenizer) cuts the text into [word pieces](../labs/GLOSSARY.md#word-piece) of a fixed
#    [vocabulary](../labs/GLOSSARY.md#vocabulary). A rare word becomes several pieces: `##` marks those that continue it.
# 2. The tokenizer puts two special [tokens](../labs/GLOSSARY.md#token) around the text.
# 3. A [transformer](../labs/GLOSSARY.md#transformer) computes a vector for each piece, using all other pieces.
# 4. The mean of these vectors is the simplest vector for the whole text.
#
# > **Predict.** Will *page* have the same vector in the three sentences below? Will the first sentence have the same mean if it is encoded
# > alone?


# %%
import torch
from sentence_transformers import SentenceTransformer
from transformers.utils.logging import disable_progress_bar

disable_progress_bar()
torch.set_num_threads(1)  # one core, so that what is measured below can be compared
model = SentenceTransformer(str(lab.embedder.directory or lab.embedder.model_name), device="cpu")


def piece_vectors(texts):
    limit = {"padding": True, "truncation": True, "max_length": model.max_seq_length}
    batch = model.tokenizer(texts, **limit, return_tensors="pt")
    with torch.inference_mode():  # nothing is trained here
        vectors = model[0](dict(batch))["token_embeddings"]
    # Their shapes are (n, length, 384) and (n, length).
    return vectors.numpy(), batch["attention_mask"].numpy()


# %% tags=["nbval-check-output"]
batch = ["They page the engineer.", "We page somebody at night."]
batch += ["The page has a table of idempotent upserts, most of them old."]
print(model.tokenizer.tokenize(batch[2]))
vectors, mask = piece_vectors(batch)
thirds = vectors[:, 2]  # page is the third piece of each sentence
print("page, the first compared with all three:", cosine_similarity(thirds[0], thirds).round(2))
alone = piece_vectors(batch[:1])[0].mean(axis=1)[0]
print(f"the first mean, alone and here: {cosine_similarity(alone, vectors[0].mean(axis=0)):.2f}")
print(mask)  # 1 is text, 0 is padding

# %% tags=["claim"]
verb, noun = cosine_similarity(vectors[0, 2], vectors[1:, 2])
assert verb > noun, "the two verbs are more alike than verb and noun"
assert cosine_similarity(alone, vectors[0].mean(axis=0)) < 0.9, "The means differ, too"

# %% [markdown]
# <details><summary>The answer</summary>
#
# *page* has a different vector in each sentence, because the model reads the words around it. Here, the two verbs are more alike than verb
# and noun.
#
# The means differ, too. This is bad: a vector should not depend on the text's *neighbours*, which are encoded together with it.
#
# </details>
#
# All texts of a [batch](../labs/GLOSSARY.md#batch) need the same number of pieces, so short ones are filled up
# ([padding](../labs/GLOSSARY.md#padding)). The mask, at the end of the output, has a 0 for each place of padding. A simple mean counts the
# padding, too.
#
# ![Seven word pieces. Two are padding, with a 0 in the mask. The mean is of the other five.](../labs/figures/mean_pooling.svg)

# %% [markdown]
# ## Exercise 5.2 · mean pooling
#
# Write the mean that counts only the places where the mask is 1, wherever they are ([mean pooling](../labs/GLOSSARY.md#mean-pooling)).

# %% exercise="5.2"
from course_lib.embedder.vectors import mean_pool

# %%
lab.check("5.2", mean_pool)

# %%
lab.hint("5.2")

# %% [markdown] tags=["solution"]
# The mistake to remember is to divide the right sum by the number of *all* places. The vectors of short texts become too short, so their
# inner products are wrong. No cosine shows this, because each direction is right.

# %% [markdown]
# Does the first sentence have the same mean now? Are your vectors the same as those of the library, sentence-transformers? The library also
# scales each vector to length 1, a [unit vector](../labs/GLOSSARY.md#unit-vector). For unit vectors, the inner product *is* the cosine.

# %% tags=["nbval-check-output"]
mean_pool = lab.use("mean_pool")
means, alone = mean_pool(vectors, mask), mean_pool(*piece_vectors(batch[:1]))
print(f"the first mean, alone and here: {cosine_similarity(alone[0], means[0]):.2f}")
units = means / np.linalg.norm(means, axis=1, keepdims=True)
equal = np.allclose(units, model.encode(batch), rtol=0, atol=1e-5)
print("the same as the library's, to 0.00001:", equal)

# %% tags=["claim"]
assert cosine_similarity(alone[0], means[0]) > 0.9999, (
    "The cosine is 1.00: the neighbours no longer change the vector"
)
assert np.allclose(units, model.encode(batch), rtol=0, atol=1e-5), (
    "your vectors are the same as the library's"
)

# %% [markdown]
# The cosine is 1.00: the neighbours no longer change the vector. And your vectors are the same as the library's.

# %% [markdown]
# ## Exercise 5.3 · batches by length
#
# Neighbours still cost time: beside a text of 30 pieces, a text of 2 is padded to 30. Write a function that puts texts of similar length
# into one batch. It may begin with the shortest or the longest.

# %% exercise="5.3"
from course_lib.embedder.vectors import encode_in_batches

# %%
lab.check("5.3", encode_in_batches)

# %%
lab.hint("5.3")

# %% [markdown] tags=["solution"]
# The mistake to remember is `vectors[:] = rows[order]`. It puts vectors in the wrong places, but a test with two texts passes.
# `vectors[order] = rows` sends each row to its place.


# %% [markdown]
# Now encode 40 lines, in order and by length.
#
# > **Predict.** Which size is the quickest on your machine: batches of 1, of 4 or of 16?

# %%
from functools import partial
from time import process_time
from timeit import repeat

computed = []


def encode_batch(texts):
    vectors, mask = piece_vectors(texts)
    computed.append(mask.size)  # with the padding
    pooled = mean_pool(vectors, mask)
    return pooled / np.linalg.norm(pooled, axis=1, keepdims=True)


def in_order(encode_batch, texts, batch_size):
    starts = range(0, len(texts), batch_size)
    return np.concatenate([encode_batch(texts[at : at + batch_size]) for at in starts])


encode_in_batches = lab.use("encode_in_batches")
lines = [line for line in lab.document("what-is-mlops.md").splitlines() if line][:40]
table = pd.DataFrame()
for size in (1, 4, 16):
    for name, way in (("in order", in_order), ("by length", encode_in_batches)):
        computed.clear()
        run = partial(way, encode_batch, lines, size)
        seconds = repeat(run, timer=process_time, repeat=3, number=1)
        rate = " to ".join(f"{40 / one:.0f}" for one in (max(seconds), min(seconds)))
        row = f"{size} in a batch, {name}"
        table.loc[row, ["pieces computed", "lines a second, three runs"]] = sum(computed) // 3, rate
table.astype({"pieces computed": int})

# %% tags=["claim"]
pieces = table["pieces computed"]
assert all(
    pieces[f"{size} in a batch, by length"] < pieces[f"{size} in a batch, in order"]
    for size in (4, 16)
), "Sorting saves padding"
assert pieces["4 in a batch, by length"] > pieces["1 in a batch, by length"], (
    "although they compute more pieces"
)
assert 1.8 < pieces["16 in a batch, by length"] / pieces["4 in a batch, by length"] < 2, (
    "Batches of 16 compute nearly twice as many"
)

# %% [markdown]
# <details><summary>The answer</summary>
#
# Sorted batches of 4 can be the quickest, although they compute more pieces than single texts: each call of the model costs time, too.
#
# Sorting saves padding. Batches of 16 compute nearly twice as many pieces as batches of 4, both sorted.
#
# </details>

# %% [markdown]
# ## Break it: after the limit
#
# The model reads only 256 word pieces. The rest is cut off ([truncation](../labs/GLOSSARY.md#truncation)).
#
# > **Predict.** You replace the second half of a page by a recipe for eggs. How similar are the two pages?

# %% tags=["nbval-check-output"]
page = lab.document("model-monitoring.md")
spoilt = page[: len(page) // 2] + "Boil the egg for six minutes. " * 100
print("the page has", len(model.tokenizer(page, verbose=False)["input_ids"]), "word pieces")
print("every number is the same:", np.array_equal(model.encode(page), model.encode(spoilt)))

# %% [markdown]
# <details><summary>The answer</summary>
#
# The two pages have the same vector, and there is no warning.
#
# </details>

# %% [markdown]
# ## Exercise 5.4 · what was never read
#
# The tokenizer returns the [offsets](../labs/GLOSSARY.md#offset) of each piece, its start and end in the text. With them, find the part of
# a text that the model does not read.

# %% exercise="5.4"
from course_lib.embedder.vectors import unread

# %%
lab.check("5.4", unread)

# %%
lab.hint("5.4")

# %% [markdown] tags=["solution"]
# The mistake to remember is to forget the two special pieces. Then a text of 255 pieces seems to fit, but its last piece is lost.

# %% [markdown]
# > **Predict.** You cut all pages into chunks of 512, 1,024 or 2,048 characters, or not at all. What share of the text is never read?


# %% tags=["nbval-check-output"]
def offsets(text):
    plain = {"add_special_tokens": False, "verbose": False, "return_offsets_mapping": True}
    return model.tokenizer(text, **plain)["offset_mapping"]


unread = lab.use("unread")
cut_off = pd.DataFrame()
for name, size in {"512": 512, "1,024": 1_024, "2,048": 2_048, "whole pages": 99_999}.items():
    # By length alone. (Above, split_document also began a new chunk at each heading.)
    spans = [span.text for text in lab.documents().values() for span in split_text(text, size)]
    lost = [len(unread(text, offsets(text))) for text in spans]
    share = sum(lost) / sum(map(len, spans))
    row = len(spans), np.count_nonzero(lost), round(100 * share)
    cut_off.loc[name, ["chunks", "cut off", "% never read"]] = row
cut_off.astype(int).rename_axis("characters")

# %% tags=["claim"]
assert cut_off.loc["512", "cut off"] == 0 and cut_off.loc["1,024", "% never read"] == 1, (
    "With 512 characters nothing is lost here, with 1,024 one per cent"
)
assert cut_off.loc["whole pages", "% never read"] == 85, "of whole pages 85 per cent"

# %% [markdown]
# <details><summary>The answer</summary>
#
# With 512 characters nothing is lost here, with 1,024 one per cent. But of whole pages 85 per cent is lost. This is one reason to cut
# documents into chunks.
#
# </details>
#
# The course takes 512.
#
# ## Measure: words or vectors?
#
# The next cell measures:
#
# - [recall@5](../labs/GLOSSARY.md#recallk): the share of questions for which a chunk with the answer is among the first five;
# - the gain of the vectors in recall@5, with its [interval](../labs/GLOSSARY.md#confidence-interval);
# - recall@5 of two groups of questions: *3 shared words* (at least three words are also in the answer's chunk), and *fewer*;
# - for each range of the cosine: of all pairs of question and chunk, the share where the chunk has the answer.
#
# > **Predict.** Which search finds more? What share of pairs with a cosine between 0.3 and 0.4 has the answer?

# %%
from course_lib.evaluation.statistics import paired_interval
from course_lib.teaching.lab.retrieval import find_right, hit_in_five

questions = lab.questions()
asked = encode_in_batches(encode_batch, [one.question for one in questions], 4)
vectors = encode_in_batches(encode_batch, texts, 4)
scores = {"by vectors": cosine_similarity(asked, vectors)}
scores["by words"] = score_words([one.question for one in questions], texts)
right = find_right(questions, chunks)
hits = {way: hit_in_five(score, right) for way, score in scores.items()}  # 1 or 0 each
gain = paired_interval(hits["by words"], hits["by vectors"])
print("recall@5", {way: f"{hit.mean():.2f}" for way, hit in hits.items()})
known = [{*stems(text)} for text in texts]
shared = [[len({*stems(one.question)} & each) for each in known] for one in questions]
many = (shared * right).max(axis=1) >= 3
parts = pd.DataFrame(hits).groupby(np.where(many, "3 shared words", "fewer"))
print(f"gain of the vectors: {gain}", parts.mean().round(2), sep="\n")
ranges = pd.cut(scores["by vectors"].ravel(), [-1, 0.2, 0.3, 0.4, 0.5, 1])
share = pd.Series(right.ravel()).groupby(ranges, observed=True).agg(["sum", "size", "mean"])
share.set_axis(["pairs with the answer", "of", "share"], axis=1)

# %% tags=["claim"]
assert gain.low > 0, "The whole interval is above 0"
assert gain.low < 0.05, "but it begins near 0"
few = parts.get_group("fewer"), parts.get_group("3 shared words")
apart = [paired_interval(one["by words"], one["by vectors"]) for one in few]
assert apart[0].low > 0, "The gain comes from questions that share fewer than three words with their answer"
assert few[1].sum().nunique() == 1, "For the others, words find as many"
assert (few[1]["by words"] > few[1]["by vectors"]).any(), "and some that vectors miss"
assert 0.09 < share["mean"].iloc[2] < 0.11, (
    "Between 0.3 and 0.4, about one pair in ten has the answer"
)
assert share["mean"].is_monotonic_increasing, "a higher cosine is right more often"

# %% [markdown]
# <details><summary>The answer</summary>
#
# Here, vectors find more. The whole interval is above 0, but it begins near 0. The gain comes from questions that share fewer than three
# words with their answer. For the others, words find as many, and some that vectors miss. [Lab 08](../labs/08_words_and_meaning.ipynb)
# combines both.
#
# Between 0.3 and 0.4, about one pair in ten has the answer. So a cosine of 0.35 is not a probability of 0.35. But a higher cosine is right
# more often, so sort by it.
#
# </details>

# %% [markdown]
# ## In the field
#
# At work, call `SentenceTransformer.encode` with `normalize_embeddings=True`. How do you choose a model?
#
# - A **benchmark** such as [MTEB](https://huggingface.co/spaces/mteb/leaderboard) gives a short list. Look at *retrieval* in your language.
# - The **model's card** tells the licence, the longest input and the prefixes, such as `query: ` before a question.
# - The **dimension** costs memory. A million vectors of 384 numbers need 1.5 GB (4 bytes a number), and of 1,024 numbers 4.1 GB.
# - **Your questions** decide: measure two models as above. If the interval of the gain contains 0, ask more questions, or take the smaller
#   model.
#
# ## Recap
#
# - The cosine compares directions. It orders texts, but it is not a probability.
# - MiniLM's embedding is the mean of the pieces' vectors, without padding and scaled to length 1.
# - MiniLM reads only the first 256 pieces of a text, without a warning.

# %% [markdown]
# ## Three questions to test yourself
#
# 1. Two long texts have the same vector. Are they the same?
# 2. One chunk is encoded in two batches. Its two vectors have a cosine of 0.6. Where do you look first?
# 3. You change the model. Why must you also choose a new threshold?
#
# <details><summary>Answers</summary>
#
# 1. They may differ after the limit: the model reads nothing there.
# 2. Look at the pooling first: it may count padding.
# 3. With another model, unrelated texts get other similarities.
#
# </details>
#
# **Next.** In [lab 06](../labs/06_pgvector_schema.ipynb) the vectors get a table.
