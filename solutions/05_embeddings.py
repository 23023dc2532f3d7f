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
from course_lib.teaching.lab.retrieval import first_by_both, score_words

pd.set_option("display.max_colwidth", None)
chunks = [chunk for page in read_documents(lab.data_dir) for chunk in split_document(page)]
first_by_both("Which warnings deserve waking someone up?", chunks, lab.encode)

# %% tags=["claim"]
both = first_by_both("Which warnings deserve waking someone up?", chunks, lab.encode)
assert list(both.loc["by words"])[:2] == ["what-is-mlops.md", "deserv"], (
    "Deserve leads the first search to another page"
)
assert both.text["by words"].startswith("Not every model deserves a platform")
assert "Page somebody at night for symptoms that users feel" in both.text["by vectors"], (
    "The vectors find the answer"
)
assert both["shared words"]["by vectors"] == "none", "no word in common with the question"

# %% [markdown]
# <details><summary>The answer</summary>
#
# *Deserve* leads the first search to another page: *Not every model deserves a platform*. The vectors find the answer: *Page somebody at
# night for symptoms that users feel*. This text has no word in common with the question.
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
# ![Four arrows from the origin. The arrows of a and c have the same direction.](../labs/figures/note_arrows.svg)
#
# Compare two arrows by the distance between their tips (a *ruler*), or by their angle. Its *cosine* is 1 for the same direction.
#
# > **Predict.** Which of b, c and d is farthest from a by the ruler? Which has the smallest angle to a?

# %%
notes = pd.DataFrame({"releases": [4, 3, 8, 0], "alarms": [3, 4, 6, 5]}, list("abcd"))
lengths = np.hypot(notes.releases, notes.alarms)  # √(releases² + alarms²)
notes["ruler, from a"] = np.hypot(notes.releases - 4, notes.alarms - 3)
notes["cosine with a"] = (4 * notes.releases + 3 * notes.alarms) / (5 * lengths)
notes.round(2)

# %% tags=["claim"]
assert notes["ruler, from a"].idxmax() == "c", "The ruler puts note c farthest from a"
assert notes["cosine with a"].drop("a").idxmax() == "c", "by the angle, c is nearest"
assert round(notes["cosine with a"]["b"], 2) == 0.96, "24 / (5 · 5) = 0.96"

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
# The mistake to remember is to call `np.linalg.norm(a)` without an axis. It divides all rows by *one* length, that of the whole table.

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
    ("Undo the release.", "Roll back to the version before."),
    ("The index has 50 rows.", "The index has 50,000 rows."),
    ("Kim reports to Lee.", "Lee reports to Kim."),
]


def compare(one, other):
    every = [(one, other), *pairs]
    cosines = {"\n".join(pair): cosine_similarity(*lab.encode(pair)) for pair in every}
    return lab.show.bars(pd.Series(cosines).to_frame(), "cosine similarity", digits=2)


cosine_similarity = lab.use("cosine_similarity")  # yours if its check passed
lab.interact(compare, one="The model was deployed.", other="The model was not deployed.")

# %% tags=["claim"]
opposite = float(lab.encode("The model was deployed.") @ lab.encode("The model was not deployed."))
like = [float(lab.encode(one) @ lab.encode(other)) for one, other in pairs]
assert max(like[:2]) < 0.7 < 0.79 < min(opposite, *like[2:]), "Their bars are the shortest"
assert [round(one, 2) for one in like[:2]] == [0.32, 0.68], "they have 0.32 and 0.68"

# %% [markdown]
# <details><summary>The answer</summary>
#
# The opposite is nearer than the paraphrase.
#
# The second and the third pair have the same meaning, but share only *the*. Their bars are the shortest: they have 0.32 and 0.68. The
# other pairs differ by a word, a number or an order, and have about 0.8 or more. So a high cosine does not mean that two texts say the same.
#
# A likely reason, not tested here: such a model is trained on pairs of texts that belong together
# ([contrastive loss](../labs/GLOSSARY.md#contrastive-loss)). Two texts of one subject are then near.
#
# </details>
#
# ## How a text becomes a vector
#
# 1. The [tokenizer](../labs/GLOSSARY.md#tokenizer) cuts the text into [word pieces](../labs/GLOSSARY.md#word-piece) of a fixed
#    [vocabulary](../labs/GLOSSARY.md#vocabulary). A rare word becomes several pieces: `##` marks those that continue it.
# 2. The tokenizer puts two special [tokens](../labs/GLOSSARY.md#token) around the text.
# 3. A [transformer](../labs/GLOSSARY.md#transformer) computes a vector for each piece, using all other pieces.
#
# For n texts, `piece_vectors` returns the vectors of their pieces (n × length × 384) and a *mask*, explained below.


# %%
import torch
from sentence_transformers import SentenceTransformer
from transformers.utils.logging import disable_progress_bar

disable_progress_bar()
model = SentenceTransformer(str(lab.embedder.directory or lab.embedder.model_name), device="cpu")


def piece_vectors(texts):
    batch = model.preprocess(texts)  # steps 1 and 2
    with torch.inference_mode():  # nothing is trained here
        vectors = model(batch)["token_embeddings"]
    return vectors.numpy(), batch["attention_mask"].numpy()


# %% [markdown]
# > **Predict.** Will *page* have the same vector in the three sentences below?

# %% tags=["nbval-check-output"]
batch = ["They page the engineer.", "We page somebody at night."]
batch += ["The page has a table of idempotent upserts, most of them old."]
print(model.tokenizer.tokenize(batch[2]))
vectors, mask = piece_vectors(batch)
thirds = vectors[:, 2]  # page is the third piece of each sentence: the first is the special [CLS]
print("page, the first compared with all three:", cosine_similarity(thirds[0], thirds).round(2))

# %% tags=["claim"]
alike = np.sort(cosine_similarity(thirds, thirds), axis=None)[:-3]  # without each with itself
assert alike.max() < 0.99, "page has a different vector"

# %% [markdown]
# <details><summary>The answer</summary>
#
# *page* has a different vector in each sentence, because the model reads the words around it.
#
# </details>
#
# The mean of these vectors is the simplest vector for the whole text.
#
# > **Predict.** Will the first sentence have the same mean if it is encoded alone?

# %% tags=["nbval-check-output"]
alone = piece_vectors(batch[:1])[0].mean(axis=1)[0]
print(f"the first mean, alone and here: {cosine_similarity(alone, vectors[0].mean(axis=0)):.2f}")
print(mask)  # a row for each sentence: 1 is text, 0 is padding

# %% tags=["claim"]
assert cosine_similarity(alone, vectors[0].mean(axis=0)) < 0.9, "The means differ"

# %% [markdown]
# <details><summary>The answer</summary>
#
# The means differ. This is bad: a vector should not depend on the text's *neighbours*, which are encoded together with it.
#
# </details>
#
# All texts of a [batch](../labs/GLOSSARY.md#batch) need the same number of pieces, so short ones are filled up
# ([padding](../labs/GLOSSARY.md#padding)). The mask has a 0 for each place of padding. A simple mean counts the
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
# Neighbours still cost time: a text of 2 pieces is padded to 30, if its neighbour has 30. Write a function that puts texts of similar
# length into one batch. It may begin with the shortest or the longest.

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
# Does it help? `places` says how many places each line takes in its batch: as many as the longest line has. Their sum for 40 lines is
# what the model computes.
#
# > **Predict.** Which size computes the fewest word pieces: batches of 1, of 4 or of 16?

# %%
def places(texts):
    _, mask = piece_vectors(texts)
    return np.full((len(texts), 1), mask.shape[1])


encode_in_batches = lab.use("encode_in_batches")
lines = [line for line in lab.document("what-is-mlops.md").splitlines() if line][:40]
counts = pd.DataFrame()
for size in (1, 4, 16):
    in_order = [places(lines[at : at + size]).sum() for at in range(0, 40, size)]
    counts.loc[size, "in order"] = sum(in_order)
    counts.loc[size, "by length"] = encode_in_batches(places, lines, size).sum()
lab.show.bars(counts, "word pieces computed, with padding", "lines in a batch")

# %% tags=["claim"]
pieces = counts["by length"]
assert counts.loc[1].nunique() == 1 and pieces.idxmin() == 1, "Batches of 1 compute the fewest pieces"
assert (pieces[[4, 16]] < counts.loc[[4, 16], "in order"]).all(), "sorting saves padding"

# %% [markdown]
# <details><summary>The answer</summary>
#
# Batches of 1 compute the fewest pieces, because they have no padding. But each call of the model may cost time, too.
#
# In larger batches, sorting saves padding.
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
# > **Predict.** You cut all pages with lab 01's splitter, into chunks of at most 512, 1,024 or 2,048 characters, or not at all. What share
# > of the text is never read?


# %%
def offsets(text):  # without the two special pieces
    return model.tokenizer(text, return_offsets_mapping=True, verbose=False).offset_mapping[1:-1]


unread, never = lab.use("unread"), {}
for name, size in {"512": 512, "1,024": 1_024, "2,048": 2_048, "whole pages": 99_999}.items():
    spans = [span.text for text in lab.documents().values() for span in split_text(text, size, 0)]
    lost = sum(len(unread(text, offsets(text))) for text in spans)
    never[name] = 100 * lost / sum(map(len, spans))
lab.show.bars(pd.Series(never).to_frame(), "% of the text never read", "characters of a chunk")

# %% tags=["claim"]
assert never["512"] == 0 and round(never["1,024"]) == 1, (
    "With 512 characters nothing is lost here, with 1,024 one per cent"
)
assert round(never["whole pages"]) == 85, "of whole pages 85 per cent"

# %% [markdown]
# <details><summary>The answer</summary>
#
# With 512 characters nothing is lost here, with 1,024 one per cent. But of whole pages 85 per cent is lost. This is one reason to cut
# documents into chunks.
#
# </details>
#
# ## Measure: words or vectors?
#
# [recall@5](../labs/GLOSSARY.md#recallk) is the share of questions for which a chunk with the answer is among the first five. The next cell
# prints it for both searches, and the gain of the vectors with its [interval](../labs/GLOSSARY.md#confidence-interval).
#
# > **Predict.** Which search finds more? Does it find all that the other one finds?

# %%
from course_lib.evaluation.statistics import paired_interval
from course_lib.teaching.lab.retrieval import find_right, hit_in_five

questions = lab.questions()
asked, texts = [one.question for one in questions], [chunk.embedded_text for chunk in chunks]
cosines = cosine_similarity(lab.encode(asked), lab.encode(texts))
scores = {"by words": score_words(asked, texts), "by vectors": cosines}
right = find_right(questions, chunks)
hits = pd.DataFrame({way: hit_in_five(score, right) for way, score in scores.items()})  # 1 or 0
gain = paired_interval(hits["by words"], hits["by vectors"])
print("recall@5:", hits.mean().round(2).to_dict(), "· gain of the vectors:", gain)
by_words = np.array(asked)[hits["by words"] > hits["by vectors"]]
print("\nfound only by words:", *by_words, sep="\n- ")

# %% tags=["claim"]
assert gain.low > 0, "The whole interval is above 0"
assert gain.low < 0.05, "but it begins near 0"
assert any("CACE" in one for one in by_words), "One of them has the rare word CACE"

# %% [markdown]
# <details><summary>The answer</summary>
#
# Here, vectors find more. The whole interval is above 0, but it begins near 0.
#
# But the list has questions that only the words find. One of them has the rare word *CACE*.
# [Lab 08](../labs/08_words_and_meaning.ipynb) combines both.
#
# </details>
#
# Is a cosine a probability? The next figure shows in what share of all pairs of question and chunk the chunk has the answer.
#
# > **Predict.** What share of pairs with a cosine between 0.3 and 0.4 has the answer?

# %%
ranges = pd.cut(cosines.ravel(), [-1, 0.2, 0.3, 0.4, 0.5, 1])
share = pd.Series(right.ravel()).groupby(ranges, observed=True).agg(["mean", "sum", "size"])
labels = [f"{found} of {size}" for found, size in zip(share["sum"], share["size"], strict=True)]
lab.show.bars(share[["mean"]], "share with the answer", "cosine", labels=labels, digits=2)

# %% tags=["claim"]
assert 0.09 < share["mean"].iloc[2] < 0.11, (
    "Between 0.3 and 0.4, about one pair in ten has the answer"
)
assert share["mean"].is_monotonic_increasing, "a higher cosine is right more often"

# %% [markdown]
# <details><summary>The answer</summary>
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
# - **Your questions** decide: measure two models as above. Does the interval of the gain contain 0? Ask more questions, or take the smaller
#   model.
#
# ## Recap
#
# - The cosine compares directions. It orders texts, but it is not a probability.
# - MiniLM's embedding is the mean of the pieces' vectors, without padding and scaled to length 1.
# - MiniLM reads at most 254 word pieces of a text, without a warning.

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
