# %% [markdown]
# # 16 · Measuring retrieval
#
# Is one search better than another? You will compute numbers, measure how far you can trust them, and decide with them whether a change
# stays.
#
# | You will be able to | Builds | Time | Needs |
# |---|---|---|---|
# | compute MRR and nDCG, and say what each of them does not show · compute an interval for a result · decide by a paired comparison whether to keep a change | `evaluation/` | about {minutes} min | any search; labs 01 and 08 |

# %% tags=["parameters"]
data_dir = "data/documents"
database_url = ""
embedding_model = ""

# %%
from course_lib.teaching import start  # "No module named 'course_lib'"? Open the lab with: make lab

lab = start("16", data_dir=data_dir, database_url=database_url, embedding_model=embedding_model)
conn = lab.connect(autocommit=True)
lab.show.pipeline("search")

# %% [markdown]
# ## Two halves of the questions, two results
#
# Lab 01 cut a page into pieces of up to 512 characters (*plain*). Later, `split_document` cut it at its headings, and put these above
# each piece (*sections*). Does this make the search better?
#
# We ask questions with known answers, the [gold](../labs/GLOSSARY.md#gold). Every third question is held back until the end. (Earlier
# labs asked them all, so they are not new.)

# %%
from course_lib.loader import read_documents, split_document, split_text
from course_lib.store import create_schema
from course_lib.teaching.lab.retrieval import index_pages, pieces_of

pages, everything = read_documents(lab.data_dir), lab.questions()
held_out = everything[::3]
questions = [each for each in everything if each not in held_out]
create_schema(conn, lab.embedder.dimension)


def index(repo, split):  # split all pages in one way, and store the pieces as a corpus of this name
    index_pages(conn, lab.embedder, pages, repo, split)


def by_length(page):
    return pieces_of(page, [span.text for span in split_text(page.content, 512, 64)])


index("plain-512", by_length)
index("sections-512", split_document)

# %% [markdown]
# First, decide what counts as found. Here: a passage that is from a gold file *and* contains a phrase of the answer.

# %%
from course_lib.retriever import Query, search
from course_lib.teaching.lab.retrieval import rank_passages


def ask(repo, mode, about=questions):
    ranked = []  # ten results of each question: `answer` for one that counts, otherwise its place
    for asked, vector in zip(about, lab.encode([one.question for one in about]), strict=True):
        query = Query(asked.question, top_k=10, threshold=-1, mode=mode, repo=repo)
        ranked.append(rank_passages(search(conn, vector, query), asked))
    return ranked


plain, sections = ask("plain-512", "dense"), ask("sections-512", "dense")

# %% [markdown]
# An answer at place 1 counts 1. At place 2, it counts 1/2, and at place 3, 1/3. The mean is the [MRR](../labs/GLOSSARY.md#mrr).
#
# Two colleagues share the questions: each takes every second one.
#
# > **Predict.** Will the two agree on which way is better?

# %% tags=["nbval-check-output"]
import numpy as np
import pandas as pd


def first_guess(found):
    return np.mean([1 / (names.index("answer") + 1) if "answer" in names else 0 for names in found])


halves = [(first_guess(plain[n::2]), first_guess(sections[n::2])) for n in (0, 1)]
pd.DataFrame(halves, ["colleague 1", "colleague 2"], ["plain", "sections"]).round(2)

# %% [markdown]
# <details><summary>The answer</summary>
#
# The two do not agree: one reports a gain, and the other a loss.
#
# </details>
#
# So a mean alone does not say how far you can trust it.

# %% [markdown]
# ## By hand: five results
#
# A question has two gold files, *a* and *b*. A search returns five passages, best first, from the files x, x, b, y and a. Here we rank
# files, so x counts once: x, b, y, a.
#
# - [Recall](../labs/GLOSSARY.md#recallk)@3 is 1/2, because one of the two gold files is among the first three.
# - Hit@1 is 0, because the first file is not gold.
# - The reciprocal rank is 1/2, because the first gold file is at place 2.

# %% [markdown]
# ## Exercise 16.1: reciprocal rank
#
# Recall@10 is the same for an answer at place 1 and at place 10. For a reader, place 1 is much better.

# %% exercise="16.1"
from course_lib.evaluation.metrics import reciprocal_rank

# %%
lab.check("16.1", reciprocal_rank)

# %%
lab.hint("16.1")  # run again for the next hint

# %% [markdown] tags=["solution"]
# The mistake to remember: counting passages where the reader counts files. Then a search looks worse because it found two passages of the
# same file.
#
# MRR hardly shows late places: from place 1 to 2, an answer loses 1/2, but from 9 to 10 only 1/90.

# %% [markdown]
# A mean does not show what to improve. So always read what failed. Here are the questions for which *sections* found no answer.

# %%
reciprocal_rank = lab.use("reciprocal_rank")
pd.options.display.max_colwidth = 120
found = zip(questions, sections, strict=True)
failed = [one for one, names in found if reciprocal_rank(names, {"answer"}) == 0]
rows = [(one.question, one.answer_contains[0]) for one in failed]
pd.DataFrame(rows, columns=["failed question", "wanted"])

# %% tags=["claim"]
assert 0 < len(failed) < 8, "So always read what failed"

# %% [markdown]
# A wanted phrase and its question share only words such as *it* and *the*.

# %% [markdown]
# ## Several right answers, better and worse ones
#
# So far, a result was right or wrong. But one file may answer a question better than another. The metric for this is
# [nDCG](../labs/GLOSSARY.md#ndcg). Each file has a *gain*: how good it is. The gain is divided by log2(place + 1), so a good file counts
# less if it comes late.
#
# For example, *a* has the gain 2, *b* has 1, and the search found b, a:
#
# - found: 1/1 + 2/1.58 = 2.26
# - the best order, a, b: 2/1 + 1/1.58 = 2.63
# - nDCG: 2.26 / 2.63 = 0.86

# %% [markdown]
# ## Exercise 16.2: nDCG

# %% exercise="16.2"
from course_lib.evaluation.metrics import ndcg_at

# %%
lab.check("16.2", ndcg_at)

# %%
lab.hint("16.2")  # run again for the next hint

# %% [markdown] tags=["solution"]
# The mistake to remember: the best order of only what was *found*. Then a search that found one poor file and missed all the good ones
# gets 1.
#
# The best order has only `k` places, too. Otherwise a question with many good answers could never reach 1.

# %% [markdown]
# Metrics can disagree. With the same gains:
#
# |ranking|MRR|recall@3|nDCG|
# |---|---|---|---|
# |b, x, y, a|**1.00**|0.50|0.71|
# |x, a, b, y|0.50|**1.00**|0.67|
# |a, x, y, z|**1.00**|0.50|**0.76**|
#
# Choose by who reads the results:
#
# - hit@1: an assistant quotes the first hit.
# - MRR: a reader stops at the first good hit.
# - recall@5: an assistant reads five passages.
# - nDCG: people read a page of results.
#
# ## The bootstrap: draw new sets from the same questions
#
# How much would a mean change with other questions? We draw new sets from ours. Each draw takes any question, also one that was drawn
# before. This is the [bootstrap](../labs/GLOSSARY.md#bootstrap).
#
# ![Twelve questions, three draws of twelve with their means, and a histogram of 10,000 means.](../labs/figures/bootstrap.svg)
#
# > **Predict.** We draw 2,000 sets of 42 questions. 95 % of the sets have an MRR between two values: which two? How many questions would
# > make the histogram half as wide?


# %%
def ranks_of(lists):
    return np.array([reciprocal_rank(names, {"answer"}) for names in lists])


def means_of(size):
    random = np.random.default_rng(12)
    return pd.Series([random.choice(sections_hybrid, size=size).mean() for _ in range(2000)])


def redraw(size=168):
    means = pd.DataFrame({f"{count} questions": means_of(count) for count in (42, size)})
    axes = means.plot.hist(bins=30, alpha=0.7, xlim=(0, 1), xlabel="MRR@10 of a redrawn set")
    ends = means.quantile([0.025, 0.975]).round(2)
    lab.alt(axes, f"Histogram of the MRR of 2,000 redrawn sets.\n{ends.to_string()}")
    return ends


sections_hybrid = ranks_of(ask("sections-512", "hybrid"))
lab.interact(redraw, size=(10, 640, 2))

# %% tags=["claim"]
from course_lib.evaluation.metrics import ndcg_at as ndcg
from course_lib.evaluation.metrics import recall_at

means, wider = means_of(len(questions)), [np.std(means_of(size)) for size in (42, 168)]
shown = [
    [reciprocal_rank(one, "ab"), recall_at(one, "ab", 3), ndcg(one, {"a": 2, "b": 1})]
    for one in ("bxya", "xaby", "axyz")
]
assert np.round(shown, 2).tolist() == [[1, 0.5, 0.71], [0.5, 1, 0.67], [1, 0.5, 0.76]], (
    "Metrics can disagree"
)
assert np.allclose(means.quantile([0.025, 0.975]), [0.51, 0.75], atol=0.01), (
    "The MRR of 95 % of the sets is between 0.51 and 0.75. The second decimal means nothing, and even the first one is not certain"
)
assert 1.6 < wider[0] / wider[1] < 2.4, (
    "With four times as many questions, the histogram is half as wide"
)

# %% [markdown]
# <details><summary>The answer</summary>
#
# The MRR of 95 % of the sets is between 0.51 and 0.75. The second decimal means nothing, and even the first one is not certain. With four
# times as many questions, the histogram is half as wide.
#
# </details>
#
# These two values are the ends of an [interval](../labs/GLOSSARY.md#confidence-interval) of 95 %. With new questions each time, about 95
# of 100 such intervals should contain the true mean.

# %% [markdown]
# ## Exercise 16.3: the interval

# %% exercise="16.3"
from course_lib.evaluation.statistics import bootstrap_interval

# %%
lab.check("16.3", bootstrap_interval)

# %%
lab.hint("16.3")  # run again for the next hint

# %% [markdown] tags=["solution"]
# The mistake to remember: drawing without replacement. Then every set has the same questions, and so the same mean.
#
# The bootstrap knows only your questions: if all of them are easy, so are the redrawn ones. And an interval from few questions is a
# little too narrow, because their results usually vary less than those of all possible questions.

# %% [markdown]
# We compare six systems: three ways to cut, each with dense and with [hybrid](../labs/GLOSSARY.md#hybrid-retrieval) search. The simplest
# way, *fixed*, cuts every 512 characters, even inside a word. It is the [baseline](../labs/GLOSSARY.md#baseline).
#
# > **Predict.** Will the six intervals show which system is best?

# %%
from IPython.display import display


def fixed(page, size=512):
    starts = range(0, len(page.content), size)
    return pieces_of(page, [page.content[at : at + size] for at in starts])


index("fixed-512", fixed)
index("sections-1024", lambda page: split_document(page, chunk_size=1024))
repos = ("fixed-512", "sections-512", "sections-1024")
found = {f"{repo}, {mode}": ask(repo, mode) for repo in repos for mode in ("dense", "hybrid")}
ranks = {name: ranks_of(lists) for name, lists in found.items()}

bootstrap_interval = lab.use("bootstrap_interval")
measured = {name: bootstrap_interval(values) for name, values in ranks.items()}
intervals = pd.DataFrame(measured, index=["mean", "low", "high"]).T.sort_values("mean")
dense, hybrid = ranks["sections-512, dense"], ranks["sections-512, hybrid"]
display(lab.show.intervals(intervals, "MRR@10"))
lab.show.pairs(dense, hybrid, ("dense", "hybrid"), "reciprocal rank")

# %% tags=["claim"]
from itertools import combinations

overlaps = [
    one.low < other.high and other.low < one.high
    for one, other in combinations(intervals.itertuples(), 2)
]
assert np.mean(overlaps) > 0.85, "nearly every interval overlaps with every other"
counts = [int(some.sum()) for some in (hybrid > dense, hybrid == dense, hybrid < dense)]
assert counts == [13, 18, 11], "18 of 42 are on the line"
assert (dense[hybrid == dense] == 1).all(), "both searches have the answer at place 1"

# %% [markdown]
# <details><summary>The answer</summary>
#
# The six intervals do not show which system is best: nearly every interval overlaps with every other.
#
# </details>
#
# ## Paired comparison
#
# The intervals are wide because some questions are easy and some are hard. In the second picture, 18 of 42 are on the line, in one large
# point: for them, both searches have the answer at place 1.
#
# So compare the systems question by question. If a question is easy or hard for both, its difference is small, and the interval is often
# narrower.

# %% [markdown]
# ## Exercise 16.4: the paired interval

# %% exercise="16.4"
from course_lib.evaluation.statistics import paired_interval

# %%
lab.check("16.4", paired_interval)

# %%
lab.hint("16.4")  # run again for the next hint

# %% [markdown] tags=["solution"]
# The mistake to remember: subtracting one interval from another. This ignores the pairs, so the result is often too wide.
#
# `zip` alone stops at the end of the shorter list. If one search failed for a question, every later pair would be of two different
# questions.

# %% [markdown]
# Now decide about four changes. The rule is fixed in advance: keep a change if its whole interval is above 0. The last column
# estimates how many questions an interval of ±0.05 needs.
#
# > **Predict.** Which of the four changes will be kept?

# %%
from course_lib.evaluation.metrics import hit_at

found["plain-512, dense"] = plain
changes = {
    "plain → sections": ("plain-512, dense", "sections-512, dense"),
    "fixed → sections": ("fixed-512, dense", "sections-512, dense"),
    "dense → hybrid": ("sections-512, dense", "sections-512, hybrid"),
    "512 → 1024, hybrid": ("sections-512, hybrid", "sections-1024, hybrid"),
}
metric_at = {
    "MRR": lambda names, k: reciprocal_rank(names, {"answer"}, k),
    "hit": lambda names, k: hit_at(names, {"answer"}, k),
    "nDCG": lambda names, k: ndcg_at(names, {"answer": 1}, k),  # the gain of an answer is 1
}


def decide(metric="MRR", k=10):
    rows, score = {}, metric_at[metric]
    for change, pair in changes.items():
        before, after = (np.array([score(names, k) for names in found[name]]) for name in pair)
        signs = pd.Series(np.sign(after - before)).map({1: "better", 0: "same", -1: "worse"})
        rows[change] = {**signs.value_counts(), **paired_interval(before, after)._asdict()}
    decided = pd.DataFrame.from_dict(rows, orient="index").fillna(0)
    decided["verdict"] = np.where(decided.low > 0, "keep", "undecided: leave it")
    decided["for ±0.05"] = (len(questions) * ((decided.high - decided.low) / 0.1) ** 2).round(-1)
    return decided.round(2)


paired_interval, ndcg_at = lab.use("paired_interval"), lab.use("ndcg_at")
lab.interact(decide, metric=["MRR", "hit", "nDCG"], k=(1, 10, 1))

# %% tags=["claim"]
decided, by_hit = decide(), decide("hit", 10)
assert decided.verdict.iloc[0] == "undecided: leave it", "stays undecided"
assert list(decided.verdict)[1:] == ["keep", "undecided: leave it", "keep"], (
    "The rule keeps sections over fixed, and the larger pieces"
)
assert decided[["better", "worse"]].iloc[0].to_list() == [13, 10], (
    "13 questions got better and 10 worse"
)
assert intervals["mean"].idxmax() == "sections-1024, hybrid", "as the best of six means"
assert by_hit.verdict.iloc[3] != "keep", "the larger pieces are undecided"
widths = (intervals.high - intervals.low)[[*changes["fixed → sections"]]]
assert abs(np.hypot(*widths) - 0.34) < 0.02, (
    "two separate means would give an interval about 0.34 wide"
)
assert abs(decided.high.iloc[1] - decided.low.iloc[1] - 0.26) < 0.02, "Paired, it is 0.26"
needed = decided["for ±0.05"]
assert abs(needed.min() - 130) <= 10 and abs(needed.max() - 290) <= 10, (
    "these changes need about 130 to 290"
)

# %% [markdown]
# <details><summary>The answer</summary>
#
# The rule keeps *sections* over *fixed*, and the larger pieces. The colleagues' question, *plain* or *sections*, stays undecided. 13
# questions got better and 10 worse.
#
# </details>
#
# But we chose the larger pieces as the best of six means, which is often lucky.
#
# For *fixed* → *sections*, two separate means would give an interval about 0.34 wide. Paired, it is 0.26. For ±0.05, these changes need
# about 130 to 290 questions.
#
# Now choose *hit* above. By hit@10, the larger pieces are undecided. So fix the metric in advance.
#
# ## The same number of characters
#
# Larger pieces show more text. Now both sizes get the same 3,072 characters at most: six pieces of 512, or three of 1,024. We compare the
# shares of questions with an answer in these pieces.
#
# > **Predict.** Do the larger pieces still find more?


# %%
def answered(repo, pieces):  # for each question: is an answer in the first pieces?
    return [float("answer" in names[:pieces]) for names in found[f"{repo}, hybrid"]]


same_characters = paired_interval(answered("sections-512", 6), answered("sections-1024", 3))
print("six pieces of 512 → three of 1,024:", same_characters)
print("three of each:", paired_interval(answered("sections-512", 3), answered("sections-1024", 3)))

# %% tags=["claim"]
assert abs(same_characters.mean - 0.024) < 0.001, (
    "With the same 3,072 characters, the gain is only 0.024"
)
assert same_characters.low < 0 < same_characters.high, "its interval contains 0"
shares = [np.mean(answered(repo, 3)) for repo in ("sections-512", "sections-1024")]
assert round(shares[1] - shares[0], 2) == 0.14, "With three pieces of each, the larger ones find 0.14 more"

# %% [markdown]
# <details><summary>The answer</summary>
#
# With three pieces of each, the larger ones find 0.14 more. With the same 3,072 characters, the gain is only 0.024, and its interval
# contains 0.
#
# </details>
#
# ## Your turn: beat the baseline
#
# Write down a hypothesis with a reason. Then change **one** thing in `my_split`: a size, an overlap or the splitter.


# %%
def my_split(page):
    return fixed(page, size=800)  # the course's hypothesis: larger pieces cut fewer answers in two


def gain_on(half, before, after, mode):
    return paired_interval(*(ranks_of(ask(repo, mode, half)) for repo in (before, after)))


index("mine", my_split)
tried = gain_on(questions, "fixed-512", "mine", "dense")
print("to try on:", tried)

# %% tags=["claim"]
assert tried.low > 0, "The rule would keep the course's change"

# %% [markdown]
# The rule would keep the course's change. But larger pieces also show more text. And by chance, the rule keeps about 2.5 % of the changes
# without any effect, and more if questions are few.
#
# So [hold out](../labs/GLOSSARY.md#held-out) some questions while you choose. Now measure two changes on them, each *once*: yours, and
# the larger pieces.
#
# > **Predict.** Which of the two will you keep?

# %%
confirmed = gain_on(held_out, "fixed-512", "mine", "dense")
looked_back = gain_on(held_out, "sections-512", "sections-1024", "hybrid")
print("held out, your change:   ", confirmed, "\nheld out, larger pieces: ", looked_back)

# %% tags=["claim"]
assert confirmed.low < 0 < confirmed.high and looked_back.low < 0 < looked_back.high, (
    "You keep neither change: both intervals contain 0"
)
assert looked_back.mean < 0.02, "The gain of the larger pieces is not confirmed"
assert len(held_out) == 21, "with 21 questions, we could not show a gain"

# %% [markdown]
# <details><summary>The answer</summary>
#
# You keep neither change: both intervals contain 0. The gain of the larger pieces is not confirmed, and not refuted: its interval also
# contains 0.12. (*fixed* → *sections* was not measured again.)
#
# </details>
#
# Report this, too: "with 21 questions, we could not show a gain" is a result.
#
# ## Measure: a judge
#
# Two readers judged 57 answers of lab 15's model as *right*, *partly*, *wrong* or *refused*.
#
# Readers also agree by chance. Suppose that each calls nine of ten answers wrong, without reading: they agree on 0.9² + 0.1² = 0.82 of
# them. *Cohen's kappa* is (agreed − chance) / (1 − chance): 0 if they agree only by chance, and 1 if they always agree.
#
# A third judge is lab 15's check. The check *marks* an answer if none of its sentences passes.
#
# > **Predict.** Both readers are runs of one kind of language model. How often do they agree? What share of the wrong answers does the
# > check mark, and of the right ones?

# %%
from course_lib.teaching.lab.recorded import is_marked, recorded

answers = [one for one in recorded("numbered 3") if one["set"] != "unanswerable"]
said = [[each["verdict"] for each in one["judgements"]] for one in answers]
said = pd.DataFrame(said, columns=["first", "second"])
agreed = bootstrap_interval((said["first"] == said["second"]).to_numpy() * 1.0)
chance = said.apply(pd.Series.value_counts, normalize=True).fillna(0).prod(axis=1).sum()
print("agreed:", agreed, "\nkappa:", round((agreed.mean - chance) / (1 - chance), 2))

marked = np.array([is_marked(one, lab.encode) for one in answers]) * 1.0
shares = {v: bootstrap_interval(marked[said["first"] == v]) for v in ("wrong", "right")}
pd.DataFrame(shares, index=["marked", "low", "high"]).T.round(2)

# %% tags=["claim"]
assert [sum(said["first"] == said["second"]), len(said)] == [54, 57], "agree on 54 of 57 answers"
assert round((agreed.mean - chance) / (1 - chance), 2) == 0.93, "kappa is 0.93"
counts = [int(marked[said["first"] == v].sum()) for v in ("wrong", "right")]
assert counts == [13, 10] and [*said["first"].value_counts()[["wrong", "right"]]] == [18, 18], (
    "The check marks 13 of 18 wrong answers, and 10 of 18 right ones"
)
random = np.random.default_rng(1)
for reader in said:
    pair = [marked[said[reader] == verdict] for verdict in ("wrong", "right")]
    means = [[random.choice(some, len(some)).mean() for some in pair] for _ in range(2000)]
    low, high = np.quantile([wrong - right for wrong, right in means], [0.025, 0.975])
    assert low < 0 < high, "do not show that the check marks wrong ones more often"

# %% [markdown]
# <details><summary>The answer</summary>
#
# The readers agree on 54 of 57 answers, and kappa is 0.93. The check marks 13 of 18 wrong answers, and 10 of 18 right ones (first reader).
#
# </details>
#
# But runs of one kind of model may share a mistake. These answers do not show that the check marks wrong ones more often: the interval of
# the difference contains 0.
#
# ## A project of your own
#
# Ingest a folder that you know (`course mine ingest`), write 20 questions (`course mine eval`), and improve one thing. `course capstone`
# puts a report into `my/`.

# %% [markdown]
# ## Recap
#
# - Decide what counts as found, and choose a metric, before you see results.
# - An interval shows how far you can trust a mean.
# - Compare systems question by question, at the same number of characters read.
# - Hold out questions before you begin, and ask them once.
# - Measure a judge on right answers and on wrong ones.

# %% [markdown]
# ## Three questions to test yourself
#
# 1. The intervals of two systems overlap, but the paired interval is above 0. How is this possible?
# 2. A colleague tried thirty prompts on fifty questions, and the best one gained 0.04. What do you ask?
# 3. A model wrote your questions from the chunks. Will the metrics be too high or too low?
#
# <details><summary>Answers</summary>
#
# 1. Some questions are easy and some are hard, for both systems. This makes both intervals wide, but not that of the differences.
# 2. Ask how much it gains on new questions.
# 3. They will be too high, because such questions use the chunk's own words.
#
# </details>

# %% [markdown]
# ## Stretch, and what comes next
#
# [ir-measures](https://ir-measur.es) is the field's library, with `RR` and `nDCG`. `course eval` computes nDCG with graded labels: 2 for
# a gold file, 1 for one of `also_acceptable_paths`.
#
# This was the last lab: your system answers questions, and you can measure how well.
