# %% [markdown]
# # 01 · Where to cut
#
# The model of this course reads only about 200 words at once, so a *splitter* cuts each page into pieces. If a cut goes through an answer,
# a piece may have only half of it. You will write two splitters: the usual one, and one that knows the place of each piece.
#
# | You will be able to | Time | Needs |
# |---|---|---|
# | write a recursive splitter, and say what it cannot promise · write a splitter that knows the place of each piece · read a test that searches for a splitter's mistakes | about {minutes} min | only this notebook |

# %% tags=["parameters"]
data_dir = "data/documents"
embedding_model = ""

# %%
from course_lib.teaching import start  # "No module named 'course_lib'"? Open the lab with: make lab

lab = start("01", data_dir=data_dir, embedding_model=embedding_model)
lab.show.pipeline("chunks")

# %% [markdown]
# ## A cut in the wrong place
#
# In a *canary release*, a new model gets a small share of the real traffic. A user asks how much. One sentence has the answer: 1 or 5 per
# cent.
#
# The pieces of a document are its [chunks](../labs/GLOSSARY.md#chunk). The shortest splitter cuts a page every 300 characters.
#
# > **Predict.** How many of its cuts go through a word: few, half, or most?

# %%
page = lab.document("ci-cd-for-ml.md")
fixed = [page[at : at + 300] for at in range(0, len(page), 300)]


def answering(chunks):
    return sum("Canary release" in chunk and "1 or 5 per cent" in chunk for chunk in chunks)


here = page.index("real traffic") // 300
print(answering(fixed), "chunks hold the answer")
lab.show.cuts(page, fixed, first=300 * (here - 1), most=1_000)  # from shortly before this cut

# %% tags=["claim"]
inside = [
    left[-1].isalpha() and right[0].isalpha() for left, right in zip(fixed, fixed[1:], strict=False)
]
assert (sum(inside), len(inside)) == (12, 26), "12 of 26 go through a word"
assert "Canary release" in fixed[here] and "1 or 5 per cent" in fixed[here + 1], (
    "One chunk says what a canary release is, the next says the number"
)
assert not answering(fixed)

# %% [markdown]
# <details><summary>The answer</summary>
#
# About half of the cuts: 12 of 26 go through a word. One chunk says what a canary release is, the next says the number.
#
# </details>

# %% [markdown]
# ## The recursive splitter, by hand
#
# A better splitter has a list of [separators](../labs/GLOSSARY.md#separator), from the strongest to the weakest: a blank line, a line end,
# a sentence end, a space, and last `""`, which is between all characters.
#
# A [recursive splitter](../labs/GLOSSARY.md#recursive-splitter) splits the text at the strongest separator that occurs in it. There are two
# kinds of pieces:
#
# - A piece that is too long is split again, with the weaker separators.
# - Any other piece is added to the last chunk if it fits. Otherwise it begins a new chunk.
#
# An example with a [chunk size](../labs/GLOSSARY.md#chunk-size) of 16 characters:
#
# ```
# "One.\n\nTwo three four. Five."
# ├── "One.\n\n"                     short enough
# └── "Two three four. Five."        has 21 characters: split it at ". "
#     ├── "Two three four. "         short enough
#     └── "Five."                    no room: 16 + 5 characters
# ```
#
# Each separator stays with the piece that it ends. So all chunks joined are the text again.

# %% [markdown]
# ## Exercise 1.1: the recursive version
#
# In an [exercise](../labs/GLOSSARY.md#exercise) you complete a [stub](../labs/GLOSSARY.md#stub). Its docstring says what it must do. A
# [check](../labs/GLOSSARY.md#check) and [hints](../labs/GLOSSARY.md#hint) follow. `split_after` is given. Text after the last separator is
# a piece, too.
#
# ```
# split_recursively("ab cd. ef gh", 8)  →  ["ab cd. ", "ef gh"]
# split_recursively("abcdefgh ij", 6)   →  ["abcdef", "gh ij"]        "ij" joins "gh "
# split_recursively("a\nb cdefg", 4)    →  ["a\n", "b ", "cdef", "g"]  "b " does not join "a\n"
# ```

# %% exercise="1.1"
from course_lib.loader.recursive import SEPARATORS  # ("\n\n", "\n", ". ", " ", "")


def split_after(text, separator):
    """Split after each separator: "a. b" at ". " gives ["a. ", "b"]."""
    *ended, last = text.split(separator) if separator else [*text, ""]
    return [piece + separator for piece in ended] + [last] * bool(last)


def split_recursively(text, size, separators=SEPARATORS):
    """Split a text into a list of chunks of at most `size` characters.

    Split it after the strongest separator that occurs in it; the last one, "", always does. For each
    piece, the first rule that applies decides:

    1. It is longer than `size`: split it with weaker separators, and append its chunks as they are.
    2. It fits into the last chunk: add it there.
    3. Otherwise it begins a new chunk.

    No chunk is empty.
    """
    ### BEGIN SOLUTION
    separator = next(one for one in separators if one in text)
    chunks = [""]
    for piece in split_after(text, separator):
        if len(piece) > size:
            chunks += split_recursively(piece, size, separators[1:])
        elif len(chunks[-1]) + len(piece) <= size:
            chunks[-1] += piece
        else:
            chunks.append(piece)
    return [chunk for chunk in chunks if chunk]
    ### END SOLUTION


# %%
lab.check("1.1", split_recursively)

# %%
lab.hint("1.1")  # run again for the next hint

# %% [markdown] tags=["solution"]
# The mistake to remember: to pass on all separators. A long piece ends with its separator. It would be split there again, without end.
# `separators[1:]` has one separator less at every step.

# %%
# Your function if its check passed, otherwise the course's.
split_recursively = lab.use("split_recursively")
at_300 = split_recursively(page, 300)
print(answering(at_300), "chunk holds the answer")
lab.show.cuts(page, at_300, first=page.index("real traffic") - 500, most=1_000)

# %% tags=["claim"]
assert not any(
    left[-1].isalpha() and right[0].isalpha()
    for left, right in zip(at_300, at_300[1:], strict=False)
), "No cut goes through a word"
assert answering(at_300) == 1, "one chunk holds the whole answer"

# %% [markdown]
# No cut goes through a word, and one chunk holds the whole answer.
#
# ## What it cannot promise
#
# **Overlap.** Neighbouring chunks can share some text, the [overlap](../labs/GLOSSARY.md#chunk-overlap). A short phrase at the cut is then
# whole in one of them. But your splitter can repeat only whole pieces.
#
# > **Predict.** The next chunk may repeat up to 64 characters. How many can it repeat at each cut of this page?

# %% tags=["nbval-check-output"]
from course_lib.teaching.lab.retrieval import can_repeat

repeated = [can_repeat(chunk, 64) for chunk in at_300[:-1]]  # the last chunk has no neighbour
print(repeated)
print("at most one character:", sum(count <= 1 for count in repeated), "of", len(repeated))

# %% tags=["claim"]
assert 0.5 < sum(count <= 1 for count in repeated) / len(repeated) < 0.7, (
    "At more than half of the cuts, it can repeat nothing, or one line end"
)
assert all(
    chunk.endswith("\n") for chunk, count in zip(at_300, repeated, strict=False) if count == 1
)
assert max(repeated) < 64, "It never repeats all 64"

# %% [markdown]
# <details><summary>The answer</summary>
#
# At more than half of the cuts, it can repeat nothing, or one line end. It never repeats all 64.
#
# </details>
#
# **Offsets.** A citation needs a chunk's [offset](../labs/GLOSSARY.md#offset), its position in the document, counted from 0. Your chunks do
# not have it. With overlap, you cannot add up their lengths. You could search the text for each chunk, from its beginning.
#
# > **Predict.** Here are four chunks of a log. At which offsets does `find` find them?

# %% tags=["nbval-check-output"]
log = "Retry in 5 s.\n" * 8
[log.find(chunk) for chunk in split_recursively(log, 30)]

# %% [markdown]
# <details><summary>The answer</summary>
#
# `find` finds all four chunks at 0, because the text repeats itself.
#
# </details>
#
# ## Cut on offsets
#
# One change solves both problems: work with offsets instead of pieces. A chunk is then a [span](../labs/GLOSSARY.md#span): its start, its
# end, and the text between them. With an overlap of 64, the next chunk begins 64 characters before this one ends.
#
# Where does a chunk end? Find the strongest separator in the text that fits into the chunk. Cut after the place where it occurs last.
# Python's `rfind` finds this place: `"ab cd. ef gh".rfind(". ", 0, 8)` is 5. The separator has two characters, so the first chunk ends at
# 7.
#
# ## Exercise 1.2: find the cut
#
# Write `find_cut`, which returns where a chunk ends. Only cuts after `floor` count. Exercise 1.3 shows why.
#
# ```
# find_cut("ab cdefghij", 0, 8, 2)  →  3    the space ends at 3, after the floor
# find_cut("ab cdefghij", 0, 8, 3)  →  8    3 is not after 3
# find_cut("ab", 0, 8, 0, (";",))   →  8    no separator counts: the limit
# ```

# %% exercise="1.2"
from course_lib.loader.recursive import find_cut

# %%
lab.check("1.2", find_cut)

# %%
lab.hint("1.2")  # run again for the next hint

# %% [markdown] tags=["solution"]
# The mistake to remember: to give up at a separator that does not end after the floor. Try the next one. With a floor of 5, `". "` may
# begin at 4, because it ends at 6. So search from `floor + 1 - len(separator)`.

# %% [markdown]
# ## Exercise 1.3: the whole splitter
#
# The splitter finds the end of a chunk, notes the span, and finds the next start, again and again. The next start is given:
# `next_start(text, end, chunk_overlap, snap_to_words=snap_to_words)` returns `end - chunk_overlap`, or with
# [`snap_to_words`](../labs/GLOSSARY.md#snap-to-words) the first word that begins in the overlap.
#
# Take `"ab cdefghij"`, chunks of 8 and an overlap of 3.
#
# > **Predict.** Without a floor, where does the second chunk begin?

# %% tags=["nbval-check-output"]
from course_lib.loader.recursive import next_start

find_cut = lab.use("find_cut")
end = find_cut("ab cdefghij", 0, 8, floor=0)
print("the first ends at", end, "and the second begins at", next_start("ab cdefghij", end, 3))

# %% [markdown]
# <details><summary>The answer</summary>
#
# Without a floor, the second chunk begins at 0: it is the first chunk again, and this never ends.
#
# </details>
#
# A chunk that begins at `start` must end *after* `start + chunk_overlap`: this is the floor. Then the next chunk begins after `start`, and
# the splitter always ends.
#
# ![A text as a bar: the next chunk begins one overlap before the cut. Cuts count only after the floor.](../labs/figures/overlap_and_floor.svg)
#
# - If the rest of the text fits into one chunk, it needs no cut.
# - Use a loop, not recursion: a book has thousands of chunks. Copy only the chunks, never the rest.

# %% exercise="1.3"
# Given up to: spans, start = [], 0
from course_lib.loader.recursive import split_text

# %%
lab.check("1.3", split_text)

# %%
lab.hint("1.3")  # run again for the next hint

# %% [markdown] tags=["solution"]
# The mistake to remember: a loop that runs while `start` is before the end of the text. It makes one more chunk, although the last one has
# the rest of the text. It may never end.

# %% [markdown]
# Violet text is in more than one of your chunks.
#
# > **Predict.** What is the price of a longer overlap? Then try size 100, with overlap 96 and with 0.

# %%
split_text = lab.use("split_text")
print("chunks, by overlap:", {n: len(split_text(page, 300, n)) for n in (0, 64, 128, 192)})


def look(size=300, overlap=64):
    return lab.show.spans(page, split_text(page, size, overlap), most=1_500)


lab.interact(look, size=(100, 1000, 50), overlap=(0, 96, 16))

# %% tags=["claim"]
spans = split_text(page, 300, 64)
shared = {left.end - right.start for left, right in zip(spans, spans[1:], strict=False)}
assert shared == {64}, "At every cut, neighbours share as much as we asked for"
count = [len(split_text(page, 300, overlap)) for overlap in (0, 64, 128, 192)]
assert count == sorted(count), "The price is more chunks"
assert 2.5 < count[-1] / count[0] < 2.7, "with 192, more than two and a half times as many"

# %% [markdown]
# <details><summary>The answer</summary>
#
# The price is more chunks: with 192, more than two and a half times as many as without overlap.
#
# </details>
#
# At every cut, neighbours share as much as we asked for. So a chunk may begin inside a word, if you do not use `snap_to_words`.

# %% [markdown]
# ## Break it
#
# A splitter that loses a sentence raises no error. So write down what must be true of *every* text. The computer searches for a text where
# it is false: a [property-based test](../labs/GLOSSARY.md#property-based-test).
#
# > **Predict.** A colleague strips the white space at both ends of each chunk, and keeps the offsets. How many of 5,000 random texts does
# > this break?

# %%
from random import Random


def lossless(text, spans):
    covered = 0  # every character before this offset is in a span
    for span in spans:
        if span.start > covered or text[span.start : span.end] != span.text:
            return False
        covered = max(covered, span.end)
    return covered == len(text)


def stripped(text, size, overlap):
    return [span._replace(text=span.text.strip()) for span in split_text(text, size, overlap)]


# %% tags=["nbval-check-output"]
random = Random(1)
texts = ["".join(random.choices("ab. \n", k=random.randrange(40))) for _ in range(5_000)]
for split in (split_text, stripped):
    failing = [text for text in texts if not lossless(text, split(text, 8, 3))]
    shortest = min(failing, key=len, default=None)
    print(f"{split.__name__}: {len(failing)} of 5,000 texts fail; the shortest is {shortest!r}")

# %% [markdown]
# <details><summary>The answer</summary>
#
# Stripping breaks nine of ten of these texts with much white space: a chunk differs from the text at its offsets. Your splitter breaks
# none.
#
# </details>
#
# ## In the field
#
# A well-known recursive splitter is LangChain's
# [`RecursiveCharacterTextSplitter`](https://docs.langchain.com/oss/python/integrations/splitters).
#
# > **Predict.** We ask it for an overlap of 64. How many pairs of neighbouring chunks overlap: few, half, or most?

# %%
from itertools import pairwise

try:
    from langchain_text_splitters import RecursiveCharacterTextSplitter
except ImportError:
    print("not installed: pip install langchain-text-splitters, then run this cell again")
else:
    options = {"chunk_size": 512, "chunk_overlap": 64, "add_start_index": True}
    made = RecursiveCharacterTextSplitter(**options).create_documents([page])
    found = [(at := one.metadata["start_index"], at + len(one.page_content)) for one in made]
    overlaps = [start < end for (_, end), (start, _) in pairwise(found)]
    print(f"{sum(overlaps)} of {len(overlaps)} pairs of neighbours overlap")

# %% tags=["claim"]
if "RecursiveCharacterTextSplitter" in globals():
    assert (sum(overlaps), len(overlaps)) == (3, 22), "Few pairs overlap: 3 of 22"

# %% [markdown]
# <details><summary>The answer</summary>
#
# Few pairs overlap: 3 of 22. Like your first splitter, this one repeats only whole pieces.
#
# </details>
#
# Take this splitter if you need no exact overlap.

# %% [markdown]
# ## Measure: cuts, overlap, and size
#
# Which of these help the search: good cuts, an overlap, or larger chunks? We compare three splitters with the same four sizes:
#
# - *fixed* cuts by length alone.
# - *at spaces* cuts at the last space before the limit.
# - *on offsets* is your function, which makes *good cuts*.
#
# For a reader, we count the *torn* sentences: of the 563 sentences of up to 128 characters, how many are not whole in any chunk. The
# table has a column for each size.
#
# > **Predict.** How many sentences do good cuts tear?

# %%
import pandas as pd

from course_lib.teaching.lab.retrieval import answered, count_torn, cut_all, cut_fixed


def at_spaces(text, size, overlap):
    return split_text(text, size, overlap, (" ", ""))


ways = {"fixed": (cut_fixed, 0), "at spaces": (at_spaces, 0), "on offsets": (split_text, 0)}
ways["on offsets, overlap 64"] = split_text, 64
documents, hits, torn = lab.documents(), {}, {}
for way, (split, overlap) in ways.items():
    for size in (300, 500, 700, 900):
        chunks = cut_all(documents, split, size, overlap)
        hits[way, size] = answered(lab.questions(), chunks, lab.encode)
        torn[way, size] = count_torn(documents, chunks)
pd.Series(torn).unstack()

# %% tags=["claim"]
assert count_torn(documents, []) == 563, "563 sentences of up to 128 characters"
lost = pd.Series(torn).unstack()
each = lost.loc["at spaces"] / lost.loc["fixed"]
assert 0.8 < each.min() < each.max() < 1.2 and 0.95 < each.mean() < 1.05, (
    "Cuts at spaces tear about as many as fixed ones"
)
assert (lost.loc["on offsets"] == 0).all(), "Good cuts tear none"

# %% [markdown]
# <details><summary>The answer</summary>
#
# Good cuts tear none: they look for sentence ends, and these sentences are short enough. Cuts at spaces tear about as many as fixed ones.
#
# </details>
#
# The search gets lab 00's 63 questions. The picture shows gains in [recall@5](../labs/GLOSSARY.md#recallk), with their
# [intervals](../labs/GLOSSARY.md#confidence-interval). The first three are means of the four sizes, and the fourth is a mean of the four
# ways. In the fifth, fifteen chunks of 300 have room for as much text as five of 900.
#
# > **Predict.** Do good cuts find more than cuts at spaces?

# %%
found = pd.DataFrame(hits)  # 63 rows; a column for each way and size
mean = {way: found[way].mean(axis=1) for way in ways}
mean |= {size: found.xs(size, axis=1, level=1).mean(axis=1) for size in (300, 900)}
fifteen = answered(lab.questions(), cut_all(documents, split_text, 300, 0), lab.encode, k=15)
compared = {
    "good cuts instead of fixed": (mean["fixed"], mean["on offsets"]),
    "good cuts instead of cuts at spaces": (mean["at spaces"], mean["on offsets"]),
    "overlap 64 instead of none": (mean["on offsets"], mean["on offsets, overlap 64"]),
    "900 characters instead of 300": (mean[300], mean[900]),
    "five of 900 instead of fifteen of 300": (fifteen, found["on offsets", 900]),
}
lab.show.changes(compared, "gain in recall")

# %% tags=["claim"]
from course_lib.evaluation.statistics import paired_interval

cuts, spaces, overlap, larger, as_much = [paired_interval(*both) for both in compared.values()]
assert cuts.low > 0 and round(cuts.mean, 2) == 0.08, (
    "Good cuts gain 0.08 over fixed ones, and this interval is above 0"
)
assert all(one.low < 0 < one.high for one in (spaces, overlap)), (
    "these questions do not decide whether good cuts find more than cuts at spaces"
)
assert larger.low > 0, "chunks of 900 characters find more than chunks of 300"
assert as_much.low < 0 < as_much.high, "These questions do not decide which of the two finds more"

# %% [markdown]
# <details><summary>The answer</summary>
#
# Good cuts gain 0.08 over fixed ones, and this interval is above 0. But these questions do not decide whether good cuts find more than cuts
# at spaces. Nor do they decide whether an overlap helps.
#
# </details>
#
# With five chunks each, chunks of 900 characters find more than chunks of 300. But five of 900 show as much text as fifteen of 300. These
# questions do not decide which of the two finds more.
#
# If a phrase must stay whole, make the overlap as long as it is (question 1).

# %% [markdown]
# ## Recap
#
# - A recursive splitter splits what is too long at weaker separators. Yours cannot promise an overlap, and has no offsets.
# - A splitter on offsets has both, and both are exact. The floor makes sure that it ends.
# - **At work**, cut prose like this. Begin with 900 characters, which found more than 300 here. Try three sizes, and measure recall with your own questions
#   ([lab 16](../labs/16_measuring_retrieval.ipynb)). A model's limit is in [tokens](../labs/GLOSSARY.md#token), so count tokens, too.
#
# ## Three questions
#
# 1. With an overlap of 64, why is a phrase of 65 characters always whole in some chunk?
# 2. What goes wrong if a splitter drops the separators?
# 3. In a text, all lines end with `"\r\n"`, as on Windows. Which separator is never found, and what warns you?
#
# <details><summary>Answers</summary>
#
# 1. Take the last chunk that ends inside the phrase. At most 64 characters of the phrase are before this end, so the next chunk has them,
#    too. The next chunk does not end inside the phrase, so it also has the rest.
# 2. Blank lines and full stops are in no chunk, so a citation shows a text with gaps.
# 3. The separator `"\n\n"` is never found, and nothing warns you.
#
# </details>

# %% [markdown]
# ## Stretch
#
# Lines from Windows end with `"\r\n"` ([CRLF](../labs/GLOSSARY.md#crlf)). Write `keep_crlf(text, spans)`, so that no span starts or ends
# between these two characters.
#
# **Next.** In a manifest, a line often belongs to one far above it, and a cut can separate the two:
# [lab 02](../labs/02_resource_splitter.ipynb).
