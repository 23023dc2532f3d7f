# %% [markdown]
# # 14 · Choosing passages
#
# You will choose the passages that a language model gets, and see how the answers of a small model change.
#
# **Elective.** It adds the step between a search and a language model. For you if a model will write answers from your search.
#
# | You will be able to | Builds | Time | Needs |
# |---|---|---|---|
# | measure how many passages a model should get · choose passages that do not repeat each other · fit passages into a budget of tokens | `answers/` | about {minutes} min | lab 08 for the search |

# %% tags=["parameters"]
data_dir = "data/documents"
database_url = ""
embedding_model = ""

# %%
from course_lib.teaching import start  # "No module named 'course_lib'"? Open the lab with: make lab

lab = start("14", data_dir=data_dir, database_url=database_url, embedding_model=embedding_model)
conn = lab.connect(autocommit=True)
lab.show.pipeline("answers")

# %% [markdown]
# ## The answer to another question
#
# The search of lab 08 finds passages, and a language model writes an answer from them. These passages are its *context*. It gets nothing
# else of your documents.
#
# All answers in this lab were recorded from one small model, *Qwen2.5 Coder 1.5B Instruct*. It answered 33 questions about the
# documents, each from several contexts. (Its passages were chosen by MMR with a diversity of 0.3, explained below.)

# %%
import pandas as pd

from course_lib.settings import project_root

answers = project_root() / "data/answers"


def recorded(condition):
    records = pd.read_json(answers / f"{condition}.jsonl", lines=True).set_index("id")
    return records.query("set == 'documents' and half == 'tuning'").sort_index()


three = recorded("numbered_3")  # from three of the passages that the search found
one = three.loc["q20"]
print(one.question, one.answer, sep="\n\n")
print("In passage 1, word for word:", one.answer.removesuffix(" [1]") in one.passages[0]["text"])

# %% [markdown]
# > **Predict.** All this is in passage 1, word for word. What is wrong with the answer?

# %%
print(*(passage["text"].splitlines()[0] for passage in one.passages), sep="\n")
print("A right passage says:", *one.answer_contains)

# %% tags=["claim"]
assert not any(phrase in passage["text"] for phrase in one.answer_contains for passage in one.passages), "no passage of the context answers it"
assert one.answer.removesuffix(" [1]") in one.passages[0]["text"], "All this is in passage 1, word for word"

# %% [markdown]
# <details><summary>The answer</summary>
#
# The answer is about values from the future. The question is about evaluation data, and no passage of the context answers it.
#
# </details>
#
# How often does this happen? For each question, we wrote phrases. A passage that contains one of them counts as right. (If it uses other words, it is missed.)
# A program marks three things:
#
# - *in the context*: a right passage is in the context.
# - *cited*: the answer cites a right passage.
# - *refused*: the answer begins with "I don't know".

# %%
from course_lib.answers.answering import is_refusal
from course_lib.answers.citations import read_citations


def holds(text, phrases):
    return any(phrase in " ".join(text.split()) for phrase in phrases)


def marked(one):
    right = {each["number"] for each in one.passages if holds(each["text"], one.answer_contains)}
    cited = right & {citation.number for citation in read_citations(one.answer)}
    refused = is_refusal(one.answer)
    marks = {"in the context": right, "cited": cited and not refused, "refused": refused}
    return pd.Series(marks).astype(bool)


marks = three.apply(marked, axis=1)
marks.assign(answers=1).groupby("in the context")[["answers", "cited", "refused"]].sum()

# %% tags=["claim"]
has, none = marks[marks["in the context"]], marks[~marks["in the context"]]
assert len(marks) == 33 and len(none) == 5 and none.refused.sum() == 2, "Five contexts have no right passage, and only two of these answers refuse"
assert len(has) == 28 and has.cited.sum() == 17, "Of the 28 others, 17 cite a right passage"
assert three.answer["q22"].startswith("Yes, it is safe") and marks.cited["q22"], "Yes, it is safe"
assert {round(each["diversity"], 1) for each in three.made} == {0.3}, "chosen by MMR with a diversity of 0.3"

# %% [markdown]
# Five contexts have no right passage, and only two of these answers refuse. Of the 28 others, 17 cite a right passage.
#
# A right citation does not make an answer right. [Lab 15](../labs/15_checking_an_answer.ipynb) begins with one of the 17: "Yes, it is
# safe to open the pickled network".
#
# ## How many passages?
#
# > **Predict.** The model gets one passage, three, or six. How many of the 33 contexts have a right passage? How many answers cite one?

# %%
records = {1: recorded("numbered_1"), 3: three, 6: recorded("numbered")}
results = {number: each.apply(marked, axis=1) for number, each in records.items()}
by_number = pd.DataFrame({number: each.sum() for number, each in results.items()}).T
by_number = by_number.drop(columns="refused")
axes = by_number.plot.line(xlabel="passages", ylabel="of 33 questions", ylim=(0, 33))
lab.alt(axes, f"By the number of passages, of 33 questions: {by_number.to_dict()}.")

# %% tags=["claim"]
assert by_number["in the context"].to_list() == [23, 28, 30] and by_number["cited"].to_list() == [19, 17, 13], "More contexts have a right passage (23, 28, 30), and fewer answers cite one (19, 17, 13)"

# %% [markdown]
# <details><summary>The answer</summary>
#
# More contexts have a right passage (23, 28, 30), and fewer answers cite one (19, 17, 13).
#
# </details>
#
# A [paired interval](../labs/GLOSSARY.md#confidence-interval) compares the answers to the same questions. If it contains 0, no difference
# is shown. *1 to 6* is six passages instead of one. *First right* takes only the 23
# questions whose first passage is right.

# %%
one, three_of, six = results.values()
first = one["in the context"]
compared = {
    "right passage, 1 to 6": (one["in the context"], six["in the context"]),
    "cited, 1 to 6": (one["cited"], six["cited"]),
    "cited, first right, 1 to 6": (one["cited"][first], six["cited"][first]),
    "cited, first right, 3 to 6": (three_of["cited"][first], six["cited"][first]),
}
lab.show.changes(compared, "change in the share of questions")

# %% tags=["claim"]
from course_lib.evaluation.statistics import paired_interval


def change(pair):
    return paired_interval(*(marks * 1.0 for marks in pair)), [int(marks.sum()) for marks in pair]


(has_right, _), (over_all, _), (alone, alone_counts), (fair, fair_counts) = map(change, compared.values())
assert has_right.low > 0, "Six passages contain a right one more often than one passage does"
assert over_all.low < 0 <= over_all.high, "Over all questions, the interval of *cited* contains 0"
assert alone_counts == [19, 11] and alone.high < 0 and first.sum() == 23, "Where the first passage is right, 19 of 23 answers cite a right one if it is alone, and 11 if five others follow"
assert records[1].passages.str.len().eq(1).all(), "with one passage, there is only one number to cite"
assert fair_counts == [14, 11] and fair.low < 0 < fair.high, "Between three passages (14 answers) and six (11), no difference is shown"

# %% [markdown]
# Six passages contain a right one more often than one passage does. Over all questions, the interval of *cited* contains 0.
#
# Where the first passage is right, 19 of 23 answers cite a right one if it is alone, and 11 if five others follow.
# But with one passage, there is only one number to cite. Between three passages (14 answers) and six (11), no difference is shown. So
# more passages did not help our model.
#
# For larger models, ["Lost in the Middle"](https://arxiv.org/abs/2307.03172) (2023) found worse answers with the right passage in the
# middle than at the beginning or end.
#
# ## Which end?
#
# > **Predict.** The best of three passages can be first, or last, just above the question. Which is better for our model? Do 33 questions
# > show it?

# %%
last = recorded("numbered_3_last").apply(marked, axis=1)
has = marks["in the context"]
compared = {
    "cited": (marks["cited"], last["cited"]),
    "refused": (marks["refused"], last["refused"]),
    "refused, with a right passage": (marks["refused"][has], last["refused"][has]),
}
lab.show.changes(compared, "change from first to last, in the share of questions")

# %% tags=["claim"]
(cites, _), (refusals, refused), (mistaken, wrongly) = map(change, compared.values())
assert refusals.low > 0 and refused == [5, 9], "The model refuses nine times if the best passage is last, and five times if it is first. The interval is above 0"
assert mistaken.low <= 0 <= mistaken.high and wrongly == [3, 6] and has.sum() == 28, "In these 28 contexts, no difference is shown (six, not three)"
assert cites.low < 0 < cites.high, "For right citations, too, no difference is shown"

# %% [markdown]
# <details><summary>The answer</summary>
#
# - The model refuses nine times if the best passage is last, and five times if it is first. The interval is above 0.
# - A refusal is a mistake only if the context has a right passage. In these 28 contexts, no difference is shown (six, not three).
# - For right citations, too, no difference is shown.
#
# </details>
#
# ## A copy of the pages
#
# In our index, a second team, *shop-team*, has a copy of each page, with lines of 80 characters, so its chunks end at other places.

# %%
from course_lib.answers import extract_file_hints, file_manifest
from course_lib.teaching.lab.copied import index_with_copy

index_with_copy(conn, lab.embedder, lab.documents())
manifest = file_manifest(conn)
manifest["feature-stores.md"]

# %% [markdown]
# ## Exercise 14.1: which file is meant
#
# If a question names a file, the passages of this file come first in the context (a gain was not measured). But the name
# `feature-stores.md` now means two files.
#
# `extract_file_hints` finds the *hints*: words of a question that look like a file's name. Your function decides which files a hint means:
#
# ```
# "docs/shop-team/a.md"  in  ["a.md", "shop-team/a.md"]  →  ["shop-team/a.md"], which shares the folder shop-team
# "docs/a.md"            in  ["a.md", "shop-team/a.md"]  →  ["a.md"]: the index may begin in docs
# ```

# %% exercise="14.1"
from course_lib.answers.hints import find_hinted

# %%
lab.check("14.1", find_hinted)

# %%
lab.hint("14.1")  # run again for the next hint

# %% [markdown] tags=["solution"]
# The mistake to remember: a rule that always finds something. The context must not begin with a file that the question did not name.

# %%
find_hinted = lab.use("find_hinted")
asked = "Do feature-stores.md and Shop-Team/FEATURE-STORES.md differ? And old/setup.py?"
hints = extract_file_hints(asked, {".md", ".py"})
{hint: find_hinted(hint, manifest) for hint in hints}

# %% [markdown]
# ## Passages that repeat each other
#
# The context is chosen from the twenty best passages, without exact copies. Here is how similar the first six are, for *What is the
# difference between a split experiment with user groups and a safe roll-out?*

# %%
from course_lib.answers import retrieve_context
from course_lib.retriever import Query


def candidates(question):
    passages = retrieve_context(conn, lab.embedder, Query(question, top_k=20)).passages
    return passages, lab.encode([one.text for one in passages])


found = three.question.map(candidates)
passages, vectors = found["q16"]
places = [f"{one.index} {one.place}" for one in passages[:6]]
likeness = pd.DataFrame(vectors[:6] @ vectors[:6].T, places, range(1, 7))
likeness.style.set_uuid("alike").background_gradient("Blues", vmin=0, vmax=1).format("{:.2f}")

# %% tags=["claim"]
assert f"{likeness.iloc[0, 1]:.2f}" == "0.94" and places[0].startswith("1 ci-cd") and places[1].startswith("2 shop-team/ci-cd"), "Passage 2 is a copy of 1, cut at another place: their similarity is 0.94"

# %% [markdown]
# Passage 2 is a copy of 1, cut at another place: their similarity is 0.94.
#
# A usual remedy is [maximal marginal relevance](../labs/GLOSSARY.md#maximal-marginal-relevance) (MMR). It takes passages one by one, each
# time the one that *adds* most:
#
# (1 − diversity) · relevance − diversity · similarity to the most similar passage already taken
#
# By hand, with a *diversity* of 0.5:
#
# - Passages a, b and c have the relevances 1.0, 0.9 and 0.6. Passage b is a copy of a. Passage c has nothing in common with them.
# - First, a is taken.
# - Now b adds 0.45 − 0.5 = −0.05, and c adds 0.3 − 0 = 0.3. So c is next.
#
# ## Exercise 14.2: the passage that adds most
#
# Why is a candidate compared with the most similar passage taken, not with the mean of all?
#
# The passages of named files are in the context already: `taken` has their vectors. All vectors have length 1, so an inner product is a
# similarity.

# %% exercise="14.2"
from course_lib.answers.selection import maximal_marginal_relevance

# %%
lab.check("14.2", maximal_marginal_relevance)

# %%
lab.hint("14.2")  # run again for the next hint

# %% [markdown] tags=["solution"]
# The mistake to remember: comparing only with the passage that was taken last. Then every second passage may be a copy. A mean over all is
# wrong, too: a copy of one of them can have a low mean similarity.

# %% [markdown]
# Your function chooses three of the twenty passages. Here, relevance is the *place* in the search: the first of 20 passages has 1, the
# second 0.95.
#
# We compare your function with a simple rule: take the best passages, but none with a similarity above 0.9 to one already taken.

# %%
from functools import partial

from course_lib.answers.selection import by_place
from course_lib.evaluation.statistics import paired_interval
from course_lib.teaching.lab.rivals import none_above

maximal_marginal_relevance = lab.use("maximal_marginal_relevance")


def choices(vectors):  # way of choosing → three places
    mmr = partial(maximal_marginal_relevance, by_place(len(vectors)), vectors, 3)
    ways = {"search alone": [0, 1, 2], "none above 0.9": none_above(0.9, vectors)[:3]}
    return ways | {f"MMR, {diversity}": mmr(diversity=diversity) for diversity in (0.3, 0.5)}


pd.DataFrame(choices(vectors), ["first passage", "second", "third"]) + 1

# %% tags=["claim"]
assert [[*chosen] for chosen in choices(vectors).values()] == [[0, 1, 2]] + [[0, 2, 3]] * 3, "All ways but the first leave out the copy"

# %% [markdown]
# The numbers are places in the search. All ways but the first leave out the copy, place 2.
#
# > **Predict.** Over all 33 questions, which way most often has a right passage among its three? Which ways keep no copy?

# %%
rows = []
for question, (passages, vectors) in found.items():
    for way, chosen in choices(vectors).items():
        right = any(holds(passages[i].text, three.answer_contains[question]) for i in chosen)
        is_copied = (vectors[chosen] @ vectors[chosen].T > 0.9).sum() > 3  # each is like itself
        rows.append([way, right, is_copied])
measured = pd.DataFrame(rows, columns=["way", "right passage", "with a copy"])
right = {way: each["right passage"].to_numpy() * 1.0 for way, each in measured.groupby("way")}
table = measured.groupby("way", sort=False).sum()
table["change"] = [str(paired_interval(right["search alone"], right[way])) for way in table.index]
table

# %% tags=["claim"]
assert table["right passage"].to_list() == [31, 31, 29, 29], "The search alone and the simple rule have a right passage 31 times, MMR 29 times"
assert table["with a copy"].to_list() == [5, 0, 2, 0], "The simple rule and MMR with 0.5 keep no copy; MMR with 0.3 keeps two of five"
assert all(paired_interval(right["search alone"], right[way]).high >= 0 for way in ("MMR, 0.3", "MMR, 0.5")), "Both intervals of MMR contain 0, so its difference of two may be chance"

# %% [markdown]
# <details><summary>The answer</summary>
#
# The search alone and the simple rule have a right passage 31 times, MMR 29 times. The simple rule and MMR with 0.5 keep no copy; MMR with
# 0.3 keeps two of five.
#
# </details>
#
# *With a copy* means a similarity above 0.9, which the simple rule forbids.
#
# *Change* is the difference in shares. Both intervals of MMR contain 0, so its difference of two may be chance. So these questions give
# no reason to use it. (Before, there was no copy, and MMR with 0.3 had 28.)
#
# ## Alike is not equal
#
# Now the passages are methods of `kfp`, lab 11's library. The two that the search found first:

# %%
extra = pd.read_json(answers / "choosing.jsonl", lines=True)
memory = extra.query("case == 'memory'")
print(memory.question.iloc[0])
first_two = memory.passages.iloc[0][:2]
for method in first_two:
    print(f"{method['name']}:", method["text"].partition('"""')[2].splitlines()[0])
vectors = lab.encode([method["text"] for method in first_two])
print(f"similarity: {vectors[0] @ vectors[1]:.2f}")

# %% [markdown]
# Both methods say nearly the same, but one sets the least memory of a task, and the other the most.
#
# The model was asked with three contexts, in this order: of the search alone, of MMR with 0.3, and of MMR with 0.5.
#
# > **Predict.** What does the model say if it sees both methods, and what if only one?

# %%
for one in memory.itertuples():
    print(", ".join(each["name"] for each in one.passages), one.answer, sep="\n", end="\n\n")

# %% tags=["claim"]
both, apart, only = memory.answer
assert "set_memory_request" not in only and "set_memory_limit" in only and only.endswith("I don't know."), 'With only set_memory_limit, the model uses it for both, and ends with "I don\'t know."'
assert "set_memory_limit" not in both and "set_memory_limit" in apart and "set_memory_request" in apart, "With both methods side by side, it uses set_memory_request for both; with another one between them, it names the right ones"
from inspect import getsource

from kfp import dsl

task = vars(dsl.PipelineTask)
methods = pd.Series({name: getsource(task[name]) for name in task if name.startswith("set_")})
every = lab.encode(methods.to_list())
best = (-(every @ lab.encode(memory.question.iloc[0]))).argsort()
names, chosen = methods.index[best], choices(every[best])
assert [[each["name"] for each in some] for some in memory.passages] == [[*names[chosen[way]]] for way in ("search alone", "MMR, 0.3", "MMR, 0.5")], "of the search alone, of MMR with 0.3, and of MMR with 0.5"
assert [*names[:2]] == ["set_memory_limit", "set_memory_request"] and "set_memory_request" not in names[chosen["none above 0.9"]] and "set_memory_request" not in names[chosen["MMR, 0.5"]], "the simple rule drops one of them, as MMR with 0.5 does"
assert vectors[0] @ vectors[1] > 0.9, "the simple rule drops one of them"
assert "(maximum)" in first_two[0]["text"] and "(minimum)" in first_two[1]["text"], "one sets the least memory of a task, and the other the most"

# %% [markdown]
# <details><summary>The answer</summary>
#
# - With only `set_memory_limit`, the model uses it for both, and ends with "I don't know."
# - With both methods side by side, it uses `set_memory_request` for both; with another one between them, it names the right ones.
#
# </details>
#
# One question says little. But these two methods are not copies, and the simple rule drops one of them, as MMR with 0.5 does.
#
# A copy can also be an old *version*. For six questions, the model got the right passage and a made-up older version with another number.
# Each question was asked twice: with the new number first, and with the old one first. The prompt does not say which is newer.
#
# > **Predict.** Which of the two numbers does the model say: the new one, or the one that comes first?

# %%
versions = extra.query("case == 'versions'").rename(columns={"first": "came first"})


def says(one):
    places = {one["came first"]: "first", {"new": "old", "old": "new"}[one["came first"]]: "second"}
    return " and ".join(places[each] for each in places if one[each] in one.answer) or "neither"


pd.crosstab(versions["came first"], versions.apply(says, axis=1).rename("says the"), margins=True)

# %% tags=["claim"]
assert versions.apply(says, axis=1).value_counts().to_dict() == {"first": 7, "first and second": 2, "neither": 2, "second": 1}, "In seven of twelve answers, the model says only the number that comes first, and in two it says both"

# %% [markdown]
# <details><summary>The answer</summary>
#
# In seven of twelve answers, the model says only the number that comes first, and in two it says both.
#
# </details>
#
# So read similar passages before you drop one. MMR and the simple rule do not know which is newer.
#
# ## The window
#
# What a model reads and what it writes share one [context window](../labs/GLOSSARY.md#context-window). Its size is a number of
# [tokens](../labs/GLOSSARY.md#token): words, or pieces of words. Only the model's own tokenizer counts them exactly. The course estimates
# them: three bytes count as one token.
#
# Our model counted the tokens of its [prompts](../labs/GLOSSARY.md#prompt): instructions, passages, question.
#
# > **Predict.** Is our estimate too high or too low?

# %%
from course_lib.answers import count_tokens

estimated = (three.prompt.str["system"] + three.prompt.str["user"]).map(count_tokens).sum()
counted = three.tokens.str["prompt"].sum()
print(f"estimated: {estimated}, by the model: {counted}, ratio: {estimated / counted:.2f}")

# %% tags=["claim"]
assert round(estimated / counted, 1) == 1.3, "The estimate is too high, by about 30 %"

# %% [markdown]
# <details><summary>The answer</summary>
#
# The estimate is too high, by about 30 %.
#
# </details>
#
# For other texts, it may be too low, so a *margin* of the window stays free.
#
# By hand: the window has 1,000 tokens, the margin 100, and the answer may take 200. So there is `room` for 700. Instructions and question
# take 250 of it. The other 450 are the [budget](../labs/GLOSSARY.md#context-budget) of the passages.
#
# ## Exercise 14.3: what goes
#
# If the passages need more than the budget, whole ones have to go. One rule is to drop the longest, so that few have to go. Another is to
# keep as many tokens as possible. Why does your function follow neither?

# %% exercise="14.3"
from course_lib.answers.budget import fit_passages

# %%
lab.check("14.3", fit_passages)

# %%
lab.hint("14.3")  # run again for the next hint

# %% [markdown] tags=["solution"]
# Both rules ignore the scores, so both can drop the best passage.
#
# The mistake to remember: letting a dropped passage back in because it is short. Then a worse passage stays, and a better one is gone.
# (Below, this changes no result.)

# %% [markdown]
# We compare your rule with four others. Two take the best first. One *stops* at the first that does not fit: this is your rule in other
# words. One *goes on* with shorter ones.
#
# > **Predict.** With room for 500 tokens, how many of the 33 contexts keep a right passage under each rule? Which rules keep as many as
# > yours?

# %%
from course_lib.teaching.lab.rivals import other_rules

fit_passages = lab.use("fit_passages")
rows = []
for one in records[6].itertuples():
    right = [holds(each["text"], one.answer_contains) for each in one.passages]
    scores = [each["score"] for each in one.passages]
    costs = [count_tokens(each["text"]) for each in one.passages]
    kept = {"yours": fit_passages(0, costs, scores, 500)} | other_rules(costs, scores, 500)
    rows.append({rule: any(right[i] for i in places) for rule, places in kept.items()})
table = pd.DataFrame(rows)
compared = {rule: (table["yours"], table[rule]) for rule in table.columns[1:]}
lab.show.changes(compared, "change from your rule, in the share of contexts")

# %% tags=["claim"]
assert table.sum().to_list() == [28, 28, 28, 19, 14], "Your rule keeps a right passage in 28 contexts, and so do both rules that take the best first. *The longest goes* keeps one in 19, and *most tokens* in 14"
stops, goes_on, longest, most = (change(pair)[0] for pair in compared.values())
assert stops == goes_on == (0, 0, 0), "Letting short passages back in changed no result here"
assert longest.high < 0 and most.high < 0, "The two rules that look only at the lengths lose: their intervals are below 0"

# %% [markdown]
# <details><summary>The answer</summary>
#
# Your rule keeps a right passage in 28 contexts, and so do both rules that take the best first. *The longest goes* keeps one in 19, and
# *most tokens* in 14.
#
# </details>
#
# The two rules that look only at the lengths lose: their intervals are below 0. Letting short passages back in changed no result here.
#
# ## In the field
#
# Choose the number of passages (`RAG_TOP_K`) with *your* questions and *your* model. Log the tokens: Ollama may cut off the beginning of a
# long prompt, and [report nothing](https://github.com/ollama/ollama/issues/3839).
#
# ## Recap
#
# - Without a right passage, our model refused in only two of five answers.
# - Six passages contained a right one more often than one did. But where the first was right, fewer answers cited a right one.
# - Similarity finds copies. It can also take two different methods for copies.
# - Prompt, answer and a margin share one window. Drop whole passages, the worst first.
#
# ## Three questions to test yourself
#
# 1. With six passages instead of one, more contexts have a right one. What else do you count before you choose six?
# 2. Two passages have a similarity of 0.98. Which one may go?
# 3. A question names `kfp/dsl/executor.py`, and the index has `executor.py` and `tests/executor.py`. What does your function return?
#
# <details><summary>Answers</summary>
#
# 1. Count the answers that cite a right passage: where the first was right, 11 with six, 19 with one.
# 2. Perhaps neither may go: look at what is different.
# 3. `executor.py`: no path shares a folder with the hint, and only this path has no folder.
#
# </details>
#
# ## What comes next
#
# Next is [lab 15](../labs/15_checking_an_answer.ipynb): does an answer say what its passages say?
