# %% [markdown]
# # 01 · Where to cut
#
# A model reads a few hundred words at a time; a document has thousands. So it has to be cut: you will write a splitter that
# decides where.
#
# | You will be able to | Time | Needs |
# |---|---|---|
# | say what a bad cut costs · write a recursive splitter that works on offsets · prove that it loses nothing | about {minutes} min | nothing but this notebook |

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
# The pieces that a document is cut into are its [chunks](../labs/GLOSSARY.md#chunk). The shortest splitter there is takes one
# line: cut every 300 characters. Here it is, on a page about CI/CD.

# %% tags=["nbval-check-output"]
page = lab.document("ci-cd-for-ml.md")
fixed = [page[at : at + 300] for at in range(0, len(page), 300)]

here = page.index("real traffic") // 300
print(fixed[here][-42:], "✂", fixed[here + 1][:42])

# %% [markdown]
# Read the two ends aloud. This sentence says what a canary release is, and the cut goes through a word in it.
#
# > **Predict.** How many chunks does a search for the words *real traffic* find? And how many of all the cuts on this page go
# > through a word? Write down two numbers.

# %%
hits = [chunk for chunk in fixed if "real traffic" in chunk]
print(f"{len(hits)} of {len(fixed)} chunks hold 'real traffic'")
lab.show.cuts(page, fixed)

# %% [markdown]
# The count is above the text; the orange scissors in it mark broken words. Where do the other cuts fall: between sentences, or
# inside one?
#
# ## By hand, once
#
# Take this text, and chunks of at most 8 characters. Below each character is its [offset](../labs/GLOSSARY.md#offset), its
# place counted from 0.
#
# ```
#  a  b     c  d  .     e  f     g  h
#  0  1  2  3  4  5  6  7  8  9 10 11
# ```
#
# > **Predict.** The first chunk begins at 0 and has to end at 8 or before. Where would you end it?

# %% [markdown]
# At 7, after the full stop and its space: `"ab cd. "` and `"ef gh"`. Two rules were at work, and there are no others:
#
# 1. take the strongest boundary within reach: a blank line, else a line end, a sentence end, a space, and only then anywhere;
# 2. among boundaries of one kind, take the last that fits.
#
# Such a boundary is a [separator](../labs/GLOSSARY.md#separator). Python finds the last one in a stretch of text with `rfind`:

# %% tags=["nbval-check-output"]
text = "ab cd. ef gh"
for separator in ("\n", ". ", " "):
    print(repr(separator), "begins at", text.rfind(separator, 0, 8))

# %% [markdown]
# `-1` means "not there". `". "` begins at 5 and is 2 wide, so the cut is at 7: a separator stays with the chunk that it ends.
#
# ## Exercise 1.1 · find the cut
#
# In an [exercise](../labs/GLOSSARY.md#exercise) you complete a [stub](../labs/GLOSSARY.md#stub); its docstring says what it must
# do, and a [check](../labs/GLOSSARY.md#check) and [hints](../labs/GLOSSARY.md#hint) follow. This one returns where a chunk ends.
# Only cuts *after* `floor` count; exercise 1.3 shows what that is good for.
#
# ```
# find_cut("ab cd. ef gh", 0, 8)    →  7    "ab cd. " | "ef gh"
# find_cut("abcdefghij", 0, 8)      →  8    no boundary: cut at the limit
# find_cut("ab cdefghij", 0, 8, 2)  →  3    the space ends at 3, after the floor
# find_cut("ab cdefghij", 0, 8, 3)  →  8    3 is not after 3
# ```

# %% exercise="1.1"
from course_lib.loader.recursive import find_cut

# %%
lab.check("1.1", find_cut)

# %%
lab.hint("1.1")  # run again for the next hint

# %% [markdown] tags=["solution"]
# The order of the separators is the first rule, `rfind` is the second. Nothing is copied: `rfind` walks backwards through one
# window and stops at its first hit. A separator may begin before the floor as long as it ends after it, hence
# `floor + 1 - width`.

# %%
find_cut = lab.use("find_cut")  # yours where its check passed, else the course's
chunks, begin = [], 0
while begin < len(page):
    end = find_cut(page, begin, begin + 300)
    chunks.append(page[begin:end])
    begin = end

pauses = sum(chunk.endswith(("\n", ". ")) for chunk in chunks)
print(f"{pauses} of {len(chunks)} chunks end with a line or a sentence")
lab.show.cuts(page, chunks, most=1_500)

# %% [markdown]
# Every word is whole, and most chunks end where a person would pause. There are more of them, too: a strong boundary far back
# beats a weak one near the limit.
#
# ## The usual way: split, then join
#
# You will often meet another way. Split at the strongest separator, split what is still too long at the next, and so on: that is
# the recursion in [recursive splitter](../labs/GLOSSARY.md#recursive-splitter). Then join small pieces up to the
# [chunk size](../labs/GLOSSARY.md#chunk-size). For the [overlap](../labs/GLOSSARY.md#chunk-overlap), which is to keep whole what
# a cut tears, repeat as many whole pieces as fit into it.


# %%
def total(pieces):
    return sum(map(len, pieces))


def join(pieces, size, overlap):
    chunks, window = [], []
    for piece in pieces:
        if window and total(window) + len(piece) > size:
            chunks.append("".join(window))
            while total(window) > overlap or total(window) + len(piece) > size:
                window.pop(0)  # what stays is repeated: whole pieces that fit into the overlap
        window.append(piece)
    return chunks + ["".join(window)] * bool(window)


# %% tags=["nbval-check-output"]
from course_lib.loader.recursive import SEPARATORS


def usual_way(text, size, overlap, separators=SEPARATORS):
    separator, *weaker = [one for one in separators if one in text]
    *pieces, tail = text.split(separator) if separator else [*text, ""]
    pieces = [piece + separator for piece in pieces] + [tail] * bool(tail)
    chunks, short = [], []
    for piece in pieces:
        if len(piece) < size:
            short.append(piece)
        else:
            chunks += join(short, size, overlap) + usual_way(piece, size, overlap, weaker)
            short = []
    return chunks + join(short, size, overlap)


usual_way("ab cd. ef gh", 8, 3)

# %% [markdown]
# Three shared characters were asked for, and there are none: the one piece that could be repeated, `"ab cd. "`, is longer.
#
# > **Predict.** Now five real documents, chunks of 512 characters and an overlap of 64. In what share of the neighbouring pairs
# > do you get any overlap at all?

# %% tags=["nbval-check-output"]
from itertools import pairwise


def shared(left, right, most=64):
    longest = min(most, len(right))
    return max(n for n in range(longest + 1) if left.endswith(right[:n]))


documents = lab.documents()
pairs = [pair for text in documents.values() for pair in pairwise(usual_way(text, 512, 64))]
overlaps = [shared(left, right) for left, right in pairs]
none = overlaps.count(0)
print(f"{none} of {len(pairs)} pairs share nothing: {none / len(pairs):.0%}")

# %%
lab.show.histogram(overlaps, "What neighbours share (64 asked for)", "characters", limit=64)

# %% [markdown]
# Most pairs get nothing, and none gets 64. Only whole pieces can be shared, and a piece of more than 64 characters is too long
# for it. And a long paragraph is split on its own: its first chunk shares nothing with the text before, nor its last with the
# text after.
#
# The address is gone, too, and a citation needs one. Can it be looked up? Not if the text repeats itself, nor if the splitter
# changed it, like those that count words and put single spaces between them.
#
# > **Predict.** The log gives four chunks. Where does `find` place them? And how many of the chunks of 80 words are in the page?

# %% tags=["nbval-check-output"]
log = "Retry in 5 s.\n" * 8
print([log.find(chunk) for chunk in usual_way(log, 30, 0)])

words = page.split()
by_words = [" ".join(words[at : at + 80]) for at in range(0, len(words), 80)]
print(f"{sum(chunk in page for chunk in by_words)} of {len(by_words)} chunks are in the page")

# %% [markdown]
# ## Cut on offsets
#
# All this has one cure: work with numbers, and copy characters at the very end. A chunk is then a
# [span](../labs/GLOSSARY.md#span): its start, its end and the text between. Overlap becomes a subtraction: the next chunk begins
# `chunk_overlap` characters before this one ends. (Characters are [code points](../labs/GLOSSARY.md#code-point) here, not bytes
# of [UTF-8](../labs/GLOSSARY.md#utf-8).)

# %% [markdown]
# ## Exercise 1.2 · where the next chunk begins
#
# Write `next_start`. Windows ends its lines with two characters, `\r\n`, called [CRLF](../labs/GLOSSARY.md#crlf), and no chunk
# should begin between them; `keep_crlf(text, offset)` is imported for you and moves an offset out of such a pair. With
# `snap_to_words=True` the overlap begins at a word ([snap to words](../labs/GLOSSARY.md#snap-to-words)).
#
# ```
# keep_crlf("ab\r\ncdef", 3)                                    →   4   3 is inside the pair
#
# next_start("abcdefghij", 8, 3)                                →   5   "fgh" is shared
# next_start("ab\r\ncdef", 6, 3)                                →   4   "cd", one fewer
# next_start("the quick brown fox", 16, 8)                      →   8   "k brown " is shared
# next_start("the quick brown fox", 16, 8, snap_to_words=True)  →  10   "brown " is shared
# ```

# %% exercise="1.2"
from course_lib.loader.recursive import next_start

# %%
lab.check("1.2", next_start)

# %%
lab.hint("1.2")  # run again for the next hint

# %% [markdown] tags=["solution"]
# One subtraction does the work. `min` is for a cut inside a CRLF pair without overlap: past `end`, the line feed would be in no
# chunk. If no word starts within the overlap, the plain start remains: an overlap that begins in a word is better than none.

# %% [markdown]
# ## Exercise 1.3 · the whole splitter
#
# Find the end, note the span, find the next start, repeat. One trap is left. Take `"ab cdefghij"`, chunks of 8 and an overlap of
# 3, and follow it by hand:
#
# > **Predict.** The first chunk ends at 3, after the space. Where does the second one begin, and where does it end?

# %% tags=["nbval-check-output"]
next_start = lab.use("next_start")
for floor in (0, 3):
    end = find_cut("ab cdefghij", 0, 8, floor)
    begin = next_start("ab cdefghij", end, 3)
    print(f"floor {floor}: the first ends at {end}, so the second begins at {begin}")

# %% [markdown]
# Without a floor the second chunk is the first one again, for ever. So a chunk that begins at `start` has to end *after*
# `start + chunk_overlap`.
#
# ![A text as a bar. The first chunk ends at its cut; the next chunk begins one overlap before the cut. Cuts count only after the floor, which is the start plus the overlap, up to the start plus the size.](../labs/figures/overlap_and_floor.svg)
#
# Now write `split_text`, and mind four things:
#
# - what is left of the text is the last chunk as soon as it fits, and needs no cut;
# - a cut inside a CRLF pair moves by one: forward, or backward where that would exceed the size, but never back to the floor;
# - a text may be as long as a book: use a loop (Python soon stops a function that calls itself), and copy no more than the chunks;
# - `check_arguments(text, chunk_size, chunk_overlap, separators)` is imported for you and raises the errors; call it first.
#
# ```
# split_text("ab cd. ef gh", 8, 0)  →  [Span(0, 7, "ab cd. "), Span(7, 12, "ef gh")]
# split_text("ab cd. ef gh", 8, 3)  →  [Span(0, 7, "ab cd. "), Span(4, 12, "d. ef gh")]
# ```

# %% exercise="1.3"
from course_lib.loader.recursive import split_text

# %%
lab.check("1.3", split_text)

# %%
lab.hint("1.3")  # run again for the next hint

# %% [markdown] tags=["solution"]
# All it remembers is where the present chunk starts; the functions that you have written do the rest. A chunk's characters are copied
# once, when its `Span` is made.

# %%
split_text = lab.use("split_text")
lab.show.spans_slider(page, split_text, sizes=(128, 256, 512, 1024), overlaps=(0, 32, 64, 96))

# %% [markdown]
# Violet text is in two chunks, the same amount at every cut. Notice the price: a chunk may begin within a word, since overlap
# counts characters. With `snap_to_words=True` it begins at a word, and is a few characters shorter.
#
# ## Exercise 1.4 · prove it
#
# A splitter that drops a sentence raises no error; a question is never answered again, that is all. So write the test.
#
# ```
# lossless("abcd", [Span(0, 2, "ab"), Span(2, 4, "cd")])   →  True
# lossless("abcd", [Span(0, 3, "abc"), Span(2, 4, "cd")])  →  True    "c" is in both
# lossless("abcd", [Span(0, 2, "ab"), Span(3, 4, "d")])    →  False   "c" is in none
# lossless("abcd", [Span(0, 2, "ab"), Span(2, 4, "c")])    →  False   2:4 is "cd"
# ```


# %% exercise="1.4"
def lossless(text, spans):
    """Tell whether `spans` hold the whole of `text`, each at the place where it says it is.

    Parameters
    ----------
    text
        What was split.
    spans
        A list of Span (each has `start`, `end` and `text`), in the order of the text. They may
        overlap.

    Returns
    -------
    bool
        True if every span's text is what stands at its offsets, and every character of the text
        is in at least one span.

    Examples
    --------
    >>> lossless("", [])
    True
    """
    ### BEGIN SOLUTION
    covered = 0
    for span in spans:
        if span.start > covered or text[span.start : span.end] != span.text:
            return False
        covered = max(covered, span.end)
    return covered == len(text)
    ### END SOLUTION


# %%
lab.check("1.4", lossless)

# %%
lab.hint("1.4")  # run again for the next hint

# %% [markdown] tags=["solution"]
# One number, `covered`, says how far the text is accounted for. A span that begins after it leaves a gap. Comparing lengths, or
# joining the texts, would not do: overlaps add up to more than the text, and a passage that occurs twice can take the place of
# one that is missing.

# %% tags=["nbval-check-output"]
lossless = lab.use("lossless")
for name, text in documents.items():
    splits = [split_text(text, size, overlap) for size in (128, 512, 1024) for overlap in (0, 64)]
    steps = {left.end - right.start for left, right in pairwise(splits[3])}
    print(f"{all(lossless(text, spans) for spans in splits)}  neighbours share {steps}  {name}")

# %% [markdown]
# Nothing lost, and at 512 with 64 every pair shares exactly 64. But these texts behave. Better to state what must hold for
# *every* text, and let the machine look for one where it does not: a
# [property-based test](../labs/GLOSSARY.md#property-based-test).

# %% tags=["nbval-check-output"]
from random import Random

random, failures = Random(1), []
for _ in range(5_000):
    text = "".join(random.choices("ab. \r\n", k=random.randrange(40)))
    size = random.randint(1, 12)
    spans = split_text(text, size, random.randrange(size))
    if not lossless(text, spans) or any(len(span.text) > size for span in spans):
        failures.append((text, size))
print(f"{len(failures)} failures in 5,000 texts")

# %% [markdown]
# ## Break it
#
# The same page, saved on Windows: every `\n` has become `\r\n`. The next cell counts the chunks that end at a blank line.
#
# > **Predict.** Nothing gets lost, you have just tested that. What changes all the same?

# %% tags=["nbval-check-output"]
windows = page.replace("\n", "\r\n")


def blank_line_ends(text, separators=SEPARATORS):
    spans = split_text(text, 512, 64, separators)
    ends = sum(span.text.endswith(("\n\n", "\n\r\n")) for span in spans)
    return f"{ends} of {len(spans)} chunks"


print("Unix           ", blank_line_ends(page))
print("Windows        ", blank_line_ends(windows))
print("its separators ", blank_line_ends(windows, ("\r\n\r\n", "\r\n", ". ", " ", "")))

# %% [markdown]
# `"\n\n"` does not occur in `"\r\n\r\n"`: on Windows text the strongest separator is never found, and nothing warns you. Where a
# chunk ends at a blank line all the same, its line end was the last that fitted. Where such files come in, give their own separators.
#
# Two more texts without any separator: one letter again and again, and two letters. The first list holds the true starts, the
# second what `find` takes for them.

# %% tags=["nbval-check-output"]
for text in ("x" * 1_000, "ab" * 500):
    spans = split_text(text, 300, 50)
    looked_up = [text.find(span.text) for span in spans]
    print([span.start for span in spans], looked_up, lossless(text, spans))

# %% [markdown]
# And a long text? Here are the documents again and again, up to a megabyte. `split_text` moves a start through the text. The
# function below does the same work in another way: it cuts a chunk off and keeps *the rest of the text*.
#
# > **Predict.** Twice the text: how many times as many characters does `split_text` copy, and how many does `keeps_the_rest`?

# %%
from time import perf_counter


def keeps_the_rest(text, size=512):
    copied = 0
    while len(text) > size:
        text = text[find_cut(text, 0, size) :]
        copied += len(text)
    return copied


def seconds(work, *arguments):
    begun = perf_counter()
    work(*arguments)
    return perf_counter() - begun


books = ["\n\n".join(documents.values()) * times for times in (5, 10, 20, 30)]
kept = [sum(len(span.text) for span in split_text(book)) for book in books]
rests = [keeps_the_rest(book) for book in books]
print(f"split_text copies {kept[2] / kept[1]:.1f} times as much, keeps_the_rest {rests[2] / rests[1]:.1f}")

curves = {
    "split_text": [(len(book), seconds(split_text, book)) for book in books],
    "the usual way": [(len(book), seconds(usual_way, book, 512, 64)) for book in books],
    "keeps the rest": [(len(book), seconds(keeps_the_rest, book)) for book in books],
}
lab.show.lines(curves, "Time to split", across="characters", up="seconds")

# %% [markdown]
# Copying the rest at every cut is work that grows with the text: twice the text, about four times the work. `split_text` copies
# each chunk once, and works in [linear time](../labs/GLOSSARY.md#linear-time). Which curve is steepest on your machine?
#
# ## Measure: who tears the answers apart?
#
# The course's labelled questions name phrases that their answers contain. A phrase that is whole in no chunk cannot be quoted.
#
# > **Predict.** How many phrases do *fixed* cuts tear when they overlap by 64? No phrase is longer than that.

# %%
from course_lib.records import Span


def fixed_cuts(text, size, overlap=0, shift=0):
    starts = range(-shift, len(text) - overlap, size - overlap)
    places = [(max(at, 0), min(at + size, len(text))) for at in starts]
    return [Span(begin, end, text[begin:end]) for begin, end in places]


def torn(phrases, split, *settings):
    spans = {name: split(text, *settings) for name, text in documents.items()}
    return sum(not any(phrase in span.text for span in spans[name]) for name, phrase in phrases)


# %% tags=["nbval-check-output"]
splitters = {"fixed": fixed_cuts, "recursive": split_text}
sizes = (128, 256, 512, 1024)
answers = {(q.gold_paths[0], phrase) for q in lab.questions() for phrase in q.answer_contains}
longest = max(len(phrase) for _, phrase in answers)
print(f"torn, of {len(answers)} phrases of up to {longest} characters, at sizes {sizes}")
for name, split in splitters.items():
    for overlap in (0, 64):
        counts = [torn(answers, split, size, overlap) for size in sizes]
        print(f"{name:9}  overlap {overlap:2}  {counts}")

print("fixed, 512, no overlap, the grid moved on by 64 each time")
print([torn(answers, fixed_cuts, 512, 0, shift) for shift in range(0, 512, 64)])

# %% [markdown]
# Two kinds of protection, then. Overlap saves whatever is not longer than itself, wherever the cut falls; good cuts save what
# people wrote as a unit. And what a fixed grid tears is luck, as the last line shows. Whole sentences, often longer than 64
# characters, tell the two apart:

# %%
import re

sentence_end = r"(?<=[.!?:])\s+|\s*\n\s*"
parts = [(name, part) for name in documents for part in re.split(sentence_end, documents[name])]
sentences = {(name, part) for name, part in parts if 0 < len(part) <= 128}

curves = {}
for name, split in splitters.items():
    for overlap in (0, 64):
        counts = [(size, torn(sentences, split, size, overlap)) for size in sizes]
        curves[f"{name}, overlap {overlap}"] = counts

long = sum(len(sentence) > 64 for _, sentence in sentences)
print(f"{long} of {len(sentences)} sentences are longer than 64 characters")
title = f"Torn, of {len(sentences)} sentences of up to 128 characters"
lab.show.lines(curves, title, across="chunk size", up="sentences")

# %% [markdown]
# Now the search itself. A model turns each chunk and each question into an [embedding](../labs/GLOSSARY.md#embedding), a vector;
# the chunks whose vectors point most nearly the same way as the question's come first. Lab 05 shows how. Here it is a way to
# measure cuts.

# %%
from types import SimpleNamespace

questions = [question.question for question in lab.questions()]
asked = dict(zip(questions, lab.encode(questions), strict=True))


def quality(split, *settings):
    found = [
        SimpleNamespace(document_name=name, content=span.text)
        for name, text in documents.items()
        for span in split(text, *settings)
    ]
    vectors = lab.encode([passage.content for passage in found])

    def search(question):
        order = (-vectors @ asked[question]).argsort(kind="stable")
        return [found[i] for i in order[:5]]

    return lab.measure_retrieval(search)


# %% [markdown]
# [Recall@5](../labs/GLOSSARY.md#recallk) is the share of the questions with an answering chunk among the first five results;
# [MRR](../labs/GLOSSARY.md#mrr) rewards having it on top.
#
# > **Predict.** Chunks of 512. What helps more, the better cuts or the overlap? And do both together help most?

# %%
print(f"One question of {len(questions)} counts {1 / len(questions):.2f}.\n")
print("cuts       overlap  recall@5   MRR")
for name, split in splitters.items():
    for overlap in (0, 64):
        measured = quality(split, 512, overlap)
        print(f"{name:9}  {overlap:7}  {measured.recall:8.2f}  {measured.mrr:4.2f}")

moved = [quality(fixed_cuts, 512, 0, shift).recall for shift in (128, 256, 384)]
print("\nfixed, no overlap, moved on by 128, 256, 384:", *(f"{recall:.2f}" for recall in moved))
note = "recursive splitter, 512 characters, 64 of overlap"
lab.score(recall_at_5=measured.recall, mrr=measured.mrr, note=note)

# %% [markdown]
# Good cuts help most. Overlap helps the fixed ones, which need mending, and not the recursive ones: those end with a sentence
# anyway, and with overlap each chunk opens with the tail of something else. But a few hundredths are a few questions, and
# another `shift` moves the first row by several.
#
# Why does the course overlap by 64 all the same? Overlap keeps a short phrase whole wherever the cut falls; good cuts need a text
# that has places for them, and without full stops and line ends there are none.

# %% [markdown]
# ## Recap
#
# - Cut at the strongest separator within reach, and at the last of its kind.
# - Work on offsets: overlap is exact, addresses are true, and time stays linear.
# - The next chunk must start later than this one did. That is what the floor is for.
# - State what holds for every text, and let the machine look for a counterexample.
# - Good cuts and overlap protect different things. Measure both.
#
# ## Three questions
#
# 1. You split with `chunk_overlap=64`. What is the longest phrase that is surely whole in some chunk, wherever the cuts fall?
#    (With an overlap of 0 it is a single character.)
# 2. Why does the separator stay with the chunk that it ends? What would break if it were dropped?
# 3. A colleague strips the white space off each chunk, "to save space", and keeps the offsets. What notices? What is lost?
#
# <details><summary>Answers</summary>
#
# 1. 65 characters. Take the first chunk that reaches the phrase's end. The chunk before it ends at least one character short of
#    that, and this one starts 64 before there: no later than the phrase. (One fewer where a CRLF pair shortens the overlap.)
# 2. Blank lines and full stops would be in no chunk: `lossless` would be false, and a reader could not go from one chunk to
#    the next without a gap.
# 3. `lossless` does, since `text[span.start:span.end]` is no longer `span.text`. The search hardly suffers; a citation does,
#    for its offsets no longer fit its words.
#
# </details>

# %% [markdown]
# ## Stretch
#
# Count the chunks that end with a Markdown heading: its section is in the next chunk. Write a `find_cut` that steps back to
# before the heading where the floor allows it. Is the splitter still lossless? Do recall@5 and MRR move by more than luck?
# `fixed_cuts(…, shift=…)` shows how large luck is.
#
# Later labs import the course's `split_text`, so that each of them runs alone.
#
# **Next.** Text has blank lines to cut at. A manifest has owners instead, and a cut can part a line from its own: that is
# [lab 02](../labs/02_resource_splitter.ipynb). If documents are all you want to search, go on to their vectors, in
# [lab 05](../labs/05_embeddings.ipynb). The [table of labs](../README.md#work-through-it) says what is there.
