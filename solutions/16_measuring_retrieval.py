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
lab.show.pipeline("search")

# %% [markdown]
# ## Two halves of the questions, two results
#
# Lab 01 cut a page into pieces of up to 512 characters (*plain*). Later, `split_document` cut it at its headings, and put these above
# each piece (*sections*). Does this make the search better?
#
# We ask questions with known answers, the [gold](../labs/GLOSSARY.md#gold). Every third question is held back until the end. (Earlier
# labs asked them all, so they are not new.)
#
# Each cut is a *corpus* with a name.

# %%
from course_lib.loader import read_documents, split_document, split_text
from course_lib.teaching.lab.retrieval import Corpora, pieces_of

everything = lab.questions()
held_out = everything[::3]
questions = [each for each in everything if each not in held_out]


def by_length(page):
    return pieces_of(page, [span.text for span in split_text(page.content, 512, 64)])


pages = read_documents(lab.data_dir)
corpora = Corpora(lab.connect(autocommit=True), lab.embedder, pages, questions)
corpora.index("plain-512", by_length)
corpora.index("sections-512", split_document)

# %% [markdown]
# First, decide what counts as found. Here: a passage that is from a gold file *and* contains a phrase of the answer. For each question,
# `ask` returns ten names: `answer` if the result counts, otherwise its place. Those of the first question:

# %%
plain, sections = corpora.ask("plain-512", "dense"), corpora.ask("sections-512", "dense")
print(sections[0])

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
# The two do not agree: for one, *sections* is better, and for the other, *plain*.
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
pd.options.display.max_colwidth = 120
ranked = zip(questions, sections, strict=True)
failed = {one.question: one.answer_contains[0] for one, names in ranked if "answer" not in names}
pd.DataFrame(failed.items(), columns=["failed question", "wanted"])

# %% tags=["claim"]
from course_lib.answers.words import stems

assert failed and all(stems(one) & stems(wanted) <= {"them"} for one, wanted in failed.items()), (
    "A wanted phrase and its question share only words such as *it* and *the*"
)

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
# > **Predict.** We draw 2,000 sets of 42 questions. 95 % of the sets have an MRR between two values: which two? How wide is the histogram
# > with four times as many questions?


# %%
reciprocal_rank = lab.use("reciprocal_rank")


def ranks_of(lists):
    return np.array([reciprocal_rank(names, {"answer"}) for names in lists])


def means_of(size):
    random = np.random.default_rng(12)
    return [random.choice(sections_hybrid, size=size).mean() for _ in range(2000)]


sections_hybrid = ranks_of(corpora.ask("sections-512", "hybrid"))
means = pd.DataFrame({f"{size} questions": means_of(size) for size in (42, 168)})
axes = means.plot.hist(bins=30, alpha=0.7, xlim=(0, 1), xlabel="MRR@10", ylabel="redrawn sets")
lab.alt(axes, "Histogram of the MRR of 2,000 redrawn sets: that of 168 questions is half as wide.")
means.quantile([0.025, 0.975]).round(2)

# %% tags=["claim"]
from course_lib.evaluation.metrics import ndcg_at as ndcg
from course_lib.evaluation.metrics import recall_at

wider = means.std()
shown = [
    [reciprocal_rank(one, "ab"), recall_at(one, "ab", 3), ndcg(one, {"a": 2, "b": 1})]
    for one in ("bxya", "xaby", "axyz")
]
assert np.round(shown, 2).tolist() == [[1, 0.5, 0.71], [0.5, 1, 0.67], [1, 0.5, 0.76]], (
    "Metrics can disagree"
)
assert np.allclose(means["42 questions"].quantile([0.025, 0.975]), [0.51, 0.75], atol=0.01), (
    "The MRR of 95 % of the sets is between 0.51 and 0.75, so not even the first decimal is certain"
)
assert 1.8 < wider.iloc[0] / wider.iloc[1] < 2.2, (
    "With four times as many questions, the histogram is half as wide"
)

# %% [markdown]
# <details><summary>The answer</summary>
#
# The MRR of 95 % of the sets is between 0.51 and 0.75, so not even the first decimal is certain. With four times as many questions, the
# histogram is half as wide.
#
# </details>
#
# These two values (in the rows 0.025 and 0.975) are the ends of an [interval](../labs/GLOSSARY.md#confidence-interval) of 95 %. With new questions each time, about 95
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
# The bootstrap knows only your questions: if all of them are easy, so are the redrawn ones.

# %% [markdown]
# We compare six systems: three ways to cut, each with dense and with [hybrid](../labs/GLOSSARY.md#hybrid-retrieval) search. The simplest
# way, *fixed*, cuts every 512 characters, even inside a word. It is the [baseline](../labs/GLOSSARY.md#baseline).
#
# > **Predict.** Will the six intervals show which system is best?


# %%
def fixed(page, size=512):
    starts = range(0, len(page.content), size)
    return pieces_of(page, [page.content[at : at + size] for at in starts])


corpora.index("fixed-512", fixed)
corpora.index("sections-1024", lambda page: split_document(page, chunk_size=1024))
repos = ("fixed-512", "sections-512", "sections-1024")
found = {
    f"{repo}, {mode}": corpora.ask(repo, mode) for repo in repos for mode in ("dense", "hybrid")
}
ranks = {name: ranks_of(lists) for name, lists in found.items()}
bootstrap_interval = lab.use("bootstrap_interval")
measured = {name: bootstrap_interval(values) for name, values in ranks.items()}
intervals = pd.DataFrame(measured, index=["mean", "low", "high"]).T.sort_values("mean")
lab.show.intervals(intervals, "MRR@10", zero=False)

# %% tags=["claim"]
from itertools import combinations

overlaps = [
    one.low < other.high and other.low < one.high
    for one, other in combinations(intervals.itertuples(), 2)
]
assert np.mean(overlaps) > 0.9, "nearly every interval overlaps with every other"
# %% [markdown]
# <details><summary>The answer</summary>
#
# The six intervals do not show which system is best: nearly every interval overlaps with every other. (Overlapping
# systems can still differ.)
#
# </details>
#
# ## Paired comparison
#
# The intervals are wide because some questions are easy and some are hard. Here are the colleagues' two ways, question by question:

# %%
lab.show.pairs(ranks_of(plain), ranks_of(sections), ("plain", "sections"), "reciprocal rank")

# %% tags=["claim"]
both = ranks_of(plain), ranks_of(sections)
counts = [int(some.sum()) for some in (both[1] > both[0], both[1] == both[0], both[1] < both[0])]
assert counts == [13, 19, 10], "19 of 42 are on the line"
assert (both[0][both[0] == both[1]] == 1).sum() == 17, "most of them in one large point"

# %% [markdown]
# 19 of 42 are on the line, most of them in one large point: both ways have the answer at place 1.
#
# So compare in pairs. If a question is easy or hard for both, its difference is small, and the interval is often
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
# Now decide about three changes. The rule is fixed in advance: keep a change if its whole paired interval is above 0. *Separate* ignores
# the pairs: each system gets its own draws of the questions.
#
# > **Predict.** Which of the three changes will be kept?

# %%
from course_lib.teaching.lab.rivals import separate_interval

paired_interval = lab.use("paired_interval")
changes = {
    "plain → sections": (ranks_of(plain), ranks["sections-512, dense"]),
    "fixed → sections": (ranks["fixed-512, dense"], ranks["sections-512, dense"]),
    "512 → 1024, hybrid": (ranks["sections-512, hybrid"], ranks["sections-1024, hybrid"]),
}
gains = {}
for change, both in changes.items():
    gains[change, "paired"] = paired_interval(*both)
    gains[change, "separate"] = separate_interval(*both)
gains = pd.DataFrame(gains, index=["mean", "low", "high"]).T
lab.show.intervals(gains[::-1], "gain in MRR@10")

# %% tags=["claim"]
paired, separate = gains[::2], gains[1::2]
assert [*(paired.low > 0)] == [False, True, True], (
    "The rule keeps *sections* over *fixed*, and the larger pieces"
)
assert paired.low.iloc[0] < 0 < paired.high.iloc[0], "stays undecided"
assert intervals["mean"].idxmax() == "sections-1024, hybrid", "had the best of six means"
widths = [[*(some.high - some.low)] for some in (paired, separate)]
assert all(one < other for one, other in zip(*widths, strict=True)), (
    "Each paired interval is narrower"
)
assert all(separate.low.iloc[row] <= 0 < separate.high.iloc[row] for row in range(3)), (
    "With separate draws, all three would be undecided"
)

# %% [markdown]
# <details><summary>The answer</summary>
#
# The rule keeps *sections* over *fixed*, and the larger pieces. The colleagues' question, *plain* or *sections*, stays undecided. Each paired
# interval is narrower. With separate draws, all three would be undecided.
#
# </details>
#
# But the larger pieces had the best of six means, and the best of several is often lucky.
#
# Four times as many questions make an interval half as wide. So from its width, the next cell computes how many give ±0.05.
#
# > **Predict.** Do other metrics keep the larger pieces, too? How many questions would you need for an interval of ±0.05?

# %%
from course_lib.evaluation.metrics import hit_at

ndcg_at = lab.use("ndcg_at")
both = found["sections-512, hybrid"], found["sections-1024, hybrid"]
by_hit = [[hit_at(names, {"answer"}, 10) for names in lists] for lists in both]
by_ndcg = [[ndcg_at(names, {"answer": 1}) for names in lists] for lists in both]  # gain 1
for metric, lists in {"hit@10": by_hit, "nDCG@10": by_ndcg}.items():
    gain = paired_interval(*lists)
    needed = len(questions) * ((gain.high - gain.low) / 0.1) ** 2
    print(f"{metric}: {gain}, ±0.05 with about {needed:.0f} questions")

# %% tags=["claim"]
hit, graded = paired_interval(*by_hit), paired_interval(*by_ndcg)
assert graded.low > 0 and hit.low <= 0 <= hit.high, "By hit@10, the larger pieces are undecided"
needs = [42 * ((gain.high - gain.low) / 0.1) ** 2 for gain in (hit, graded)]
assert 42 < min(needs) and max(needs) < 168, "An interval of ±0.05 needs more than our 42 questions"

# %% [markdown]
# <details><summary>The answer</summary>
#
# By hit@10, the larger pieces are undecided. So fix the metric in advance. An interval of ±0.05 needs more than our 42 questions.
#
# </details>
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


def read(repo, pieces):  # the mean number of characters in these pieces
    results = corpora.search(repo, "hybrid")
    return np.mean([sum(len(one.content) for one in some[:pieces]) for some in results])


larger = answered("sections-1024", 3)
print(f"three of 1,024: {read('sections-1024', 3):,.0f} characters")
for pieces in (3, 6):
    gain = paired_interval(answered("sections-512", pieces), larger)
    print(f"{pieces} of 512: {read('sections-512', pieces):,.0f}. Gain of the larger pieces: {gain}")

# %% tags=["claim"]
assert gain.low < 0 < gain.high and round(gain.mean, 3) == 0.024, (
    "the gain is only 0.024, and its interval contains 0"
)
shares = [np.mean(answered(repo, 3)) for repo in ("sections-512", "sections-1024")]
assert round(shares[1] - shares[0], 2) == 0.14, (
    "With three pieces of each, the larger ones find 0.14 more"
)
shown = read("sections-1024", 3)
assert 1.8 < shown / read("sections-512", 3) < 2, "show nearly twice as much text"
assert 0.95 < shown / read("sections-512", 6) < 1.05, "With nearly the same number of characters"

# %% [markdown]
# <details><summary>The answer</summary>
#
# With three pieces of each, the larger ones find 0.14 more, but show nearly twice as much text. With nearly the same number of characters, the gain
# is only 0.024, and its interval contains 0.
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
    return paired_interval(*(ranks_of(corpora.ask(repo, mode, half)) for repo in (before, after)))


corpora.index("mine", my_split)
print("to try on:", gain_on(questions, "fixed-512", "mine", "dense"))

# %% tags=["claim"]
assert gain_on(questions, "fixed-512", "mine", "dense").low > 0, (
    "The rule would keep the course's change"
)

# %% [markdown]
# The rule would keep the course's change. But larger pieces also show more text. And with intervals of 95 %, the rule keeps about one of
# forty changes without any effect.
#
# So [hold out](../labs/GLOSSARY.md#held-out) some questions while you choose. Now measure two changes on them, each *once*: yours, and
# the larger pieces.
#
# > **Predict.** Which of the two will you keep?

# %%
print("your change:  ", gain_on(held_out, "fixed-512", "mine", "dense"))
print("larger pieces:", gain_on(held_out, "sections-512", "sections-1024", "hybrid"))

# %% tags=["claim"]
confirmed = gain_on(held_out, "fixed-512", "mine", "dense")
looked_back = gain_on(held_out, "sections-512", "sections-1024", "hybrid")
assert confirmed.low < 0 < confirmed.high and looked_back.low < 0 < looked_back.high, (
    "You keep neither change: both intervals contain 0"
)
assert looked_back.mean < 0.02, "The gain of the larger pieces is not confirmed"
assert round(gains["mean"].iloc[4], 2) == 0.12 and looked_back.low < 0.12 < looked_back.high, (
    "its interval also contains 0.12"
)
assert len(held_out) == 21, "With 21 questions, we could not show a gain"

# %% [markdown]
# <details><summary>The answer</summary>
#
# You keep neither change: both intervals contain 0. The gain of the larger pieces is not confirmed, and not refuted: its interval also
# contains 0.12. (*fixed* → *sections* was not measured again.)
#
# </details>
#
# "With 21 questions, we could not show a gain" is a result, too.
#
# ## Measure: a judge
#
# Two readers, both language models of one kind, judged 57 answers of lab 15's model as *right*, *partly*, *wrong* or *refused*.
#
# Lab 15's check is a third judge. It *marks* an answer if none of its sentences passes.
#
# > **Predict.** How often do the readers agree? What share of the wrong answers does the check mark, and of the right ones?

# %%
from course_lib.teaching.lab.recorded import is_marked, recorded

answers = [one for one in recorded("numbered 3") if one["set"] != "unanswerable"]
said = [[each["verdict"] for each in one["judgements"]] for one in answers]
said = pd.DataFrame(said, columns=["first", "second"])
print("agreed:", bootstrap_interval((said["first"] == said["second"]).to_numpy() * 1.0))

marked = np.array([is_marked(one, lab.encode) for one in answers]) * 1.0
right, wrong = (marked[said["first"] == verdict] for verdict in ("right", "wrong"))
print("marked, of the wrong ones:", bootstrap_interval(wrong))
print("marked, of the right ones:", bootstrap_interval(right))
print("the difference:", separate_interval(right, wrong))  # there are no pairs

# %% tags=["claim"]
assert [sum(said["first"] == said["second"]), len(said)] == [54, 57], (
    "The readers agree on 95 % of the answers"
)
counts = [int(marked[said["first"] == v].sum()) for v in ("wrong", "right")]
assert counts == [13, 10] and [*said["first"].value_counts()[["wrong", "right"]]] == [18, 18], (
    "The check marks 0.72 of the wrong answers, and 0.56 of the right ones"
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
# The readers agree on 95 % of the answers. The check marks 0.72 of the wrong answers, and 0.56 of the right ones (first reader).
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
# 3. You wrote your questions while you looked at the chunks. Will the metrics be too high or too low?
#
# <details><summary>Answers</summary>
#
# 1. Some questions are easy and some are hard, for both systems. This makes both intervals wide, but not that of the differences.
# 2. Ask how much it gains on new questions.
# 3. They will probably be too high, because such questions use the chunks' own words.
#
# </details>

# %% [markdown]
# ## Stretch, and what comes next
#
# [ir-measures](https://ir-measur.es) is the field's library, with `RR` and `nDCG`.
#
# This was the last lab: your system answers questions, and you can measure how well.
