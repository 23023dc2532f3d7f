# %% [markdown]
# # 05 · Meaning as numbers
#
# You ask which alarms justify waking somebody, and the search shows advice about rollbacks. A model's 384 numbers lead to the right page. What
# do they say about a text, and what not?
#
# | You will be able to | Time | Needs |
# |---|---|---|
# | compare texts by cosine, and say what it does not tell · get from word pieces to one vector · encode in batches, and notice what was never read | about {minutes} min | a little NumPy |

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
# Two searches rank the [chunks](../labs/GLOSSARY.md#chunk) of five pages. One counts the words that a chunk shares with your question. The
# other compares vectors, the numbers that a model gives each text.
#
# > **Predict.** The question is *Which warnings deserve waking someone up?* Which of its words lead the first search to the wrong page?

# %%
import re
from textwrap import shorten

import numpy as np
import pandas as pd
from IPython.display import display

from course_lib.loader import read_documents, split_document, split_text

pd.set_option("display.max_colwidth", None)
question = "Which warnings deserve waking someone up?"
chunks = [chunk for page in read_documents(lab.data_dir) for chunk in split_document(page)]
texts = [chunk.embedded_text for chunk in chunks]  # under the page's title and the headings above


# %%
def words(text):
    return set(re.findall(r"\w+", text.lower()))


shared = [words(question) & words(text) for text in texts]
chunk_vectors, question_vector = lab.encode(texts), lab.encode(question)
similarity = chunk_vectors @ question_vector
first = {"by words": np.argmax([len(both) for both in shared]), "by vectors": similarity.argmax()}
rows = {way: (chunks[at].source_path, ", ".join(sorted(shared[at])), shorten(chunks[at].content, 150, placeholder=" …")) for way, at in first.items()}
display(pd.DataFrame(rows, index=["page", "shared words", "begins with"]).T)
chart = lab.show.map_2d(chunk_vectors, [chunk.source_path for chunk in chunks], question_vector, title="The question (star) is among the chunks of the right page")
chart

# %% tags=["claim"]
answer = "Page somebody at night for symptoms that users feel"
assert shared[first["by words"]] == {"which", "up"}, "Which and up lead the first search"
assert answer in chunks[first["by vectors"]].content, "The vectors find the answer"
assert not words(question) & words(answer), "This rule has no word in common with the question"
assert "nearest to model-monitoring.md" in chart.alt, "the question is among those of the right page"

# %% [markdown]
# *Which* and *up* lead the first search to advice about rollbacks. The vectors find the answer: *Page somebody at night for symptoms that
# users feel*. This rule has no word in common with the question.
#
# In the map, each point is a chunk. Chunks with similar numbers are near each other, and the question is among those of the right page. How
# can a number tell that two texts are near?
#
# ## By hand: two numbers for each text
#
# How much is each note about *releases*, and how much about *alarms*? The two numbers are its
# [vector](../labs/GLOSSARY.md#vector), of [dimension](../labs/GLOSSARY.md#dimension) 2.
#
# - a: *Ship it, and watch the alarms.* (4, 3)
# - b: *An alarm stops the release.* (3, 4)
# - c: note a, written twice (8, 6)
# - d: *Who is on call tonight?* (0, 5)
#
# Draw each vector as an arrow. Compare two arrows by the distance between their tips (a ruler), or by the angle between them.
#
# > **Predict.** Which of b, c and d is farthest from a by the ruler? Which is nearest by the angle?

# %%
from math import dist, hypot

notes = {"a": (4, 3), "b": (3, 4), "c": (8, 6), "d": (0, 5)}
cosines = {other: (4 * x + 3 * y) / (5 * hypot(x, y)) for other, (x, y) in notes.items()}
display(lab.show.arrows(notes, "a and c point the same way", across="releases", up="alarms"))
rows = {f"a and {other}": (dist(notes["a"], notes[other]), cosines[other]) for other in "bcd"}
pd.DataFrame(rows, index=["ruler", "cosine"]).T.round(2)

# %% tags=["claim"]
assert max("bcd", key=lambda other: dist(notes["a"], notes[other])) == "c", "The ruler puts note c farthest from a"
assert max("bcd", key=cosines.get) == "c", "by the angle, c is nearest"
assert round(cosines["b"], 2) == 0.96, "24 / (5 · 5) = 0.96"

# %% [markdown]
# The ruler puts note c farthest from a, although c says the same as a. But by the angle, c is nearest. So the angle tells what a text is
# about, however often the text says so.
#
# The number for the angle is the [cosine similarity](../labs/GLOSSARY.md#cosine-similarity). It is 1 for the same direction, 0 for a right
# angle, and −1 for opposite directions. For a and b, 4·3 + 3·4 = 24 is the [inner
# product](../labs/GLOSSARY.md#inner-product). Each arrow has the [length](../labs/GLOSSARY.md#norm) √(16 + 9) = 5. So the cosine is
# 24 / (5 · 5) = 0.96.

# %% [markdown]
# ## Exercise 5.1 · cosine for whole tables
#
# A search compares a question with every chunk, and a loop over them is slow. So write the cosine for single vectors and whole tables,
# without a loop.
#
# The length of a vector of zeros is 0, and you cannot divide by 0. So decide what to divide by.

# %% exercise="5.1"
from course_lib.embedder.vectors import cosine_similarity

# %%
lab.check("5.1", cosine_similarity)

# %%
lab.hint("5.1")  # run again for the next hint

# %% [markdown] tags=["solution"]
# The mistake to remember: to call `np.linalg.norm(a)` without an axis. It gives *one* length for the whole table, so each number depends on
# all other rows. To add 1e-8 to each length is wrong, too: it changes the cosines, above all those of short vectors.

# %% [markdown]
# ## What the number does not tell
#
# Now a model gives the numbers. [MiniLM](../labs/GLOSSARY.md#minilm) rates a text by 384
# qualities without names, which it learned. The result is the text's
# [embedding](../labs/GLOSSARY.md#embedding).
#
# Does a high cosine mean that two texts *say* the same?
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
    table = pd.DataFrame([(one, other), *pairs], columns=["one", "other"])
    table["similarity"] = [float(cosine_similarity(*lab.encode(list(pair)))) for pair in [(one, other), *pairs]]
    return table.round(2)


# %%
cosine_similarity = lab.use("cosine_similarity")  # your function if its check passed, otherwise the course's
lab.interact(compare, one="The model was deployed.", other="The model was not deployed.")  # try sentences of your own, too

# %% tags=["claim"]
opposite, paraphrase, *rest = compare("The model was deployed.", "The model was not deployed.")["similarity"]
assert opposite > paraphrase, "The opposite is nearer than the paraphrase"
assert paraphrase < 0.4 and min(opposite, *rest) >= 0.8, "All four such pairs have 0.8 or more"

# %% [markdown]
# No. The opposite is nearer than the paraphrase. A vector holds what a text is *about*. Small changes of a text hardly change it: a *not*,
# *rose* or *fell*, a number, or who does what to whom. All four such pairs have 0.8 or more. So where such words matter, read the text that
# was found.
#
# ## What is inside
#
# How does a text become a vector?


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
# First, the [tokenizer](../labs/GLOSSARY.md#tokenizer) cuts the text into [word pieces](../labs/GLOSSARY.md#word-piece) of a fixed
# [vocabulary](../labs/GLOSSARY.md#vocabulary). A rare word becomes several pieces, and `##` marks those that continue it. Two special
# [tokens](../labs/GLOSSARY.md#token) are put around the text.
#
# Then a [transformer](../labs/GLOSSARY.md#transformer) computes a vector for each piece, and uses all other pieces for it. The mean
# of these vectors is the simplest vector for the whole text.
#
# > **Predict.** Will *page* have the same vector in the three sentences below? And will the first sentence have the same mean if it is
# > encoded alone?


# %%
def piece_vectors(texts):
    import torch

    limit = {"padding": True, "truncation": True, "max_length": model.max_seq_length}
    batch = model.tokenizer(texts, **limit, return_tensors="pt")
    with torch.inference_mode():  # nothing is trained here
        vectors = model[0](dict(batch))["token_embeddings"]
    return vectors.numpy(), batch["attention_mask"].numpy()  # shapes (n, length, 384) and (n, length)


# %% tags=["nbval-check-output"]
batch = ["They page the engineer.", "We page somebody at night.", "The page has a table of idempotent upserts, most of them old."]
print(model.tokenizer.tokenize(batch[2]))
vectors, mask = piece_vectors(batch)
print("page, the first compared with all three:", cosine_similarity(vectors[0, 2], vectors[:, 2]).round(2))  # the third piece
alone = piece_vectors(batch[:1])[0].mean(axis=1)[0]
print(f"the mean of the first sentence, alone and here: {cosine_similarity(alone, vectors[0].mean(axis=0)):.2f}")
print(mask)  # 1 is text, 0 is padding

# %% tags=["claim"]
verb, noun = cosine_similarity(vectors[0, 2], vectors[1:, 2])
assert verb > noun, "the two verbs are more alike than verb and noun"
assert cosine_similarity(alone, vectors[0].mean(axis=0)) < 0.9, "The means differ, too"

# %% [markdown]
# *page* has a different vector in each sentence, because the model reads the words around it. This is good: the two verbs are more alike than
# verb and noun.
#
# The means differ, too, and this is bad. The mask at the end of the output shows why. All rows of a [batch](../labs/GLOSSARY.md#batch) must
# have the same length, so short texts are filled up ([padding](../labs/GLOSSARY.md#padding), a 0 in the mask). A simple mean counts these
# places, so the vector depends on the text's neighbours.
#
# ![Seven word pieces. Two are padding, with a 0 in the mask. The mean is of the other five.](../labs/figures/mean_pooling.svg)

# %% [markdown]
# ## Exercise 5.2 · mean pooling
#
# So write the mean that counts only the places where the mask is 1, wherever they are ([mean pooling](../labs/GLOSSARY.md#mean-pooling)).

# %% exercise="5.2"
from course_lib.embedder.vectors import mean_pool

# %%
lab.check("5.2", mean_pool)

# %%
lab.hint("5.2")

# %% [markdown] tags=["solution"]
# The mistake to remember: to take the padding out of the sum, and still divide by the length of the batch. Every vector has the right
# direction, so no cosine shows the mistake. But the vectors of short texts are too short, so their inner products are too small.

# %% [markdown]
# Is the first mean the same now? And are your vectors those of the library, sentence-transformers? It also scales each vector to length 1,
# a [unit vector](../labs/GLOSSARY.md#unit-vector). For unit vectors the inner product *is* the cosine.

# %% tags=["nbval-check-output"]
mean_pool = lab.use("mean_pool")
means, alone = mean_pool(vectors, mask), mean_pool(*piece_vectors(batch[:1]))
print(f"the mean of the first sentence, alone and here: {cosine_similarity(alone[0], means[0]):.2f}")
units = means / np.linalg.norm(means, axis=1, keepdims=True)
print("the same as the library's, to 0.00001:", np.allclose(units, model.encode(batch), rtol=0, atol=1e-5))

# %% tags=["claim"]
assert cosine_similarity(alone[0], means[0]) > 0.9999, "1.00: the neighbours no longer change the vector"
assert np.allclose(units, model.encode(batch), rtol=0, atol=1e-5), "your vectors are the same as the library's"

# %% [markdown]
# 1.00: the neighbours no longer change the vector. And your vectors are the same as the library's.

# %% [markdown]
# ## Exercise 5.3 · batches by length
#
# The neighbours no longer change a vector, but they cost time: a text of 2 pieces beside one of 30 is computed as if it had 30. Write a
# function that puts texts of similar length into one batch. The shortest or the longest may come first.

# %% exercise="5.3"
from course_lib.embedder.vectors import encode_in_batches

# %%
lab.check("5.3", encode_in_batches)

# %%
lab.hint("5.3")

# %% [markdown] tags=["solution"]
# The mistake to remember: to go the wrong way back, with `vectors[:] = rows[order]`. A test with two texts passes.
# `vectors[order] = rows` sends each row to the place it came from. Why are the longest first? If the memory is too small, you learn it at
# once.


# %% [markdown]
# Now encode 40 lines of a page, in order and by length.
#
# > **Predict.** Which size is the quickest on your machine: batches of 1, of 4 or of 16?

# %%
from time import process_time

computed = []


def encode_batch(texts):
    vectors, mask = piece_vectors(texts)
    computed.append(mask.size)  # with the padding
    pooled = mean_pool(vectors, mask)
    return pooled / np.linalg.norm(pooled, axis=1, keepdims=True)


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
axes = speed.plot.bar(rot=0, xlabel="texts in a batch", ylabel="lines a second", title="Sorting saves padding (on a bar: pieces computed)")
for bars, name in zip(axes.containers, pieces, strict=True):
    axes.bar_label(bars, [f"{count:,.0f}" for count in pieces[name]])
axes.margins(y=0.15)
lab.alt(axes, f"Lines a second on one core: {speed.round().to_dict()}. Pieces computed: {pieces.to_dict()}.")

# %% tags=["claim"]
assert (pieces["by length"] < pieces["in order"])[[4, 16]].all(), "Sorting saves padding"
assert pieces.loc[4, "by length"] > pieces.loc[1, "by length"], "although they compute more pieces"
assert 1.5 < pieces.loc[16, "by length"] / pieces.loc[4, "by length"] < 2, "Batches of 16 compute nearly twice as many"

# %% [markdown]
# Sorting saves padding. Which size won on your machine? Each call of the model costs time, too. So sorted batches of 4 can beat single
# texts, although they compute more pieces. Batches of 16 compute nearly twice as many, and usually lose on one core. On a GPU large batches
# usually win, because it computes many pieces at once.

# %% [markdown]
# ## Break it: after the limit
#
# So far the texts were short. But the model reads only 256 word pieces. The rest is cut off ([truncation](../labs/GLOSSARY.md#truncation)).
#
# > **Predict.** You replace the second half of a page by a recipe for eggs. How similar are the two pages?

# %% tags=["nbval-check-output"]
page = lab.document("model-monitoring.md")
spoilt = page[: len(page) // 2] + "Boil the egg for six minutes. " * 100
print("the page has", len(model.tokenizer(page, verbose=False)["input_ids"]), "word pieces")
print("every number is the same:", np.array_equal(model.encode(page), model.encode(spoilt)))

# %% [markdown]
# And there is no warning.

# %% [markdown]
# ## Exercise 5.4 · what was never read
#
# Find out what is lost. The tokenizer returns where each piece begins and ends in the text
# ([offsets](../labs/GLOSSARY.md#offset)).

# %% exercise="5.4"
from course_lib.embedder.vectors import unread

# %%
lab.check("5.4", unread)

# %%
lab.hint("5.4")

# %% [markdown] tags=["solution"]
# The mistake to remember: to forget the two special pieces. Then a text of 255 pieces seems to fit, but its last piece is lost.


# %%
def offsets(text):
    plain = {"add_special_tokens": False, "verbose": False, "return_offsets_mapping": True}
    return model.tokenizer(text, **plain)["offset_mapping"]


# %% [markdown]
# > **Predict.** You cut all pages into chunks of 512, 1,024 or 2,048 characters, or not at all. What share of the text is never read?

# %% tags=["nbval-check-output"]
unread = lab.use("unread")
cut_off = pd.DataFrame()
for name, size in {"512": 512, "1,024": 1_024, "2,048": 2_048, "whole pages": 99_999}.items():
    # By length alone. (Above, split_document also began a new chunk at each heading.)
    spans = [span.text for text in lab.documents().values() for span in split_text(text, size)]
    lost = [len(unread(text, offsets(text))) for text in spans]
    share = sum(lost) / sum(map(len, spans))
    cut_off.loc[name, ["chunks", "cut off", "% never read"]] = (len(spans), np.count_nonzero(lost), round(100 * share))
stops, begins = len(page) - len(unread(page, offsets(page))), page.index("Page somebody at night for symptoms")
print(f"model-monitoring.md: the model stops at character {stops:,}, the answer begins at {begins:,}")
cut_off.astype(int).rename_axis("characters")

# %% tags=["claim"]
assert cut_off.loc["512", "cut off"] == 0 and cut_off.loc["1,024", "% never read"] == 1, "With 512 characters nothing is lost here, with 1,024 one per cent"
assert cut_off.loc["whole pages", "% never read"] == 85, "of whole pages 85 per cent"
assert begins > 5 * stops and begins == page.index(answer), "In our page, the answer begins long after the model stops"

# %% [markdown]
# With 512 characters nothing is lost here, with 1,024 one per cent. But of whole pages 85 per cent is lost. In our page, the answer begins
# long after the model stops. This is why documents are cut into chunks.
#
# The course takes 512, not the largest size with 0 %, for two reasons. The title and headings above a chunk take pieces, too. And MiniLM
# was trained on at most 128 pieces, so it may read longer texts less well.
#
# ## Measure: words or vectors?
#
# One question proves little. [Recall@5](../labs/GLOSSARY.md#recallk) is the share of questions for
# which a chunk with the answer is among the first five.
#
# > **Predict.** Which search finds more? And of all pairs of question and chunk with a cosine between 0.3 and 0.4, what share has the answer?

# %%
from course_lib.evaluation.statistics import paired_interval

questions = lab.questions()
counts = np.array([[len(words(one.question) & words(text)) for text in texts] for one in questions])
asked, vectors = (encode_in_batches(encode_batch, some, 4) for some in ([one.question for one in questions], texts))
scores = {"by words": counts, "by vectors": cosine_similarity(asked, vectors)}  # a row for each question, a column for each chunk
right = np.array([[one.is_answered_by(chunk.source_path, chunk.content) for chunk in chunks] for one in questions]).astype(int)


# %% [markdown]
# Now count the answers found.

# %%
def answered(score):
    # Return 1 for each question that has a right chunk among the five with the highest score, else 0.
    five = (-score).argsort(axis=1, kind="stable")[:, :5]
    return np.take_along_axis(right, five, axis=1).max(axis=1)


hits = {way: answered(score) for way, score in scores.items()}
gain = paired_interval(hits["by words"], hits["by vectors"])
words_alone = np.count_nonzero(hits["by words"] > hits["by vectors"])
for way, hit in hits.items():
    print(f"recall@5 {way}: {hit.mean():.2f}")
print(f"gain of the vectors: {gain}\nfound by words alone: {words_alone}")
ranges = pd.cut(scores["by vectors"].ravel(), [-1, 0.2, 0.3, 0.4, 0.5, 1])
share = pd.Series(right.ravel()).groupby(ranges, observed=True).agg(["mean", "sum", "size"])
labels = [f"{at.left} to {at.right}: {one['sum']:.0f} of {one['size']:,.0f}" for at, one in share.iterrows()]
axes = (100 * share["mean"]).set_axis(labels).plot.barh(xlabel="pairs with the answer, %", ylabel="cosine", title="A cosine of 0.3 to 0.4: one pair in ten has the answer")
lab.alt(axes, f"Pairs with the answer, by cosine. {'; '.join(labels)}.")

# %% tags=["claim"]
assert gain.low > 0, "The whole interval is above 0"
assert words_alone > 0, "some answers are found by words alone"
assert 0.07 < share["mean"].iloc[2] < 0.13, "Between 0.3 and 0.4, about one pair in ten has the answer"
assert share["mean"].is_monotonic_increasing, "a higher cosine is right more often"

# %% [markdown]
# Vectors find more. In brackets is the gain's 95 % [interval](../labs/GLOSSARY.md#confidence-interval): the mean gain over all questions of
# this kind is probably inside. The whole interval is above 0. But some answers are found by words alone, so [lab
# 08](../labs/08_words_and_meaning.ipynb) combines both.
#
# Between 0.3 and 0.4, about one pair in ten has the answer. So a cosine of 0.35 does not mean 35 per cent. But a higher cosine is right
# more often, so you can sort by it. Measure like this before you choose a [threshold](../labs/GLOSSARY.md#threshold).

# %% [markdown]
# ## In the field
#
# At work, call `SentenceTransformer.encode` with `normalize_embeddings=True`.
#
# To choose a model, drop those with the wrong language or licence, and take two of the rest. Write 30 questions with their answers. Compare
# recall as above, with an interval. If the interval contains 0, 30 questions do not show which model is better. Then take the one with
# fewer numbers: at 4 bytes each, a million vectors of 384 need 1.5 GB, and of 1,024 they need 4.1 GB.
#
# ## Recap
#
# - The cosine compares directions. It orders texts, but it is not a probability.
# - MiniLM's embedding is the mean of the pieces' vectors without the padding, scaled to length 1. It covers only the first 256 pieces,
#   without a warning.

# %% [markdown]
# ## Three questions to test yourself
#
# 1. Two long texts have the same vector. Are they the same?
# 2. In two batches, one chunk gets two vectors with a cosine of 0.6. Where do you look first?
# 3. You change the model. Why must you also choose a new threshold?
#
# <details><summary>Answers</summary>
#
# 1. Not always. They may differ after the limit.
# 2. At the pooling: it may count padding.
# 3. With another model, unrelated texts get other similarities.
#
# </details>
#
# **Next.** In [lab 06](../labs/06_pgvector_schema.ipynb) the vectors get a table.
