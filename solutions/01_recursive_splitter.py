# %% [markdown]
# # 01 · Where to cut
#
# A model reads a few hundred words at a time, but a document has thousands. So the document must be cut. You will write a splitter
# that decides where.
#
# | You will be able to | Time | Needs |
# |---|---|---|
# | explain what a bad cut breaks · write a recursive splitter that works on offsets · prove that it loses nothing | about {minutes} min | only this notebook |

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
# The pieces that a document is cut into are its [chunks](../labs/GLOSSARY.md#chunk). The shortest splitter is one line of code: it
# cuts every 300 characters. Here we use it on a page about CI/CD.

# %% tags=["nbval-check-output"]
page = lab.document("ci-cd-for-ml.md")
fixed = [page[at : at + 300] for at in range(0, len(page), 300)]

here = page.index("real traffic") // 300
print(fixed[here][-42:], "✂", fixed[here + 1][:42])

# %% [markdown]
# This sentence says what a canary release is. The cut goes through a word in it.
#
# > **Predict.** How many chunks does a search for the words *real traffic* find? And how many of all the cuts on this page go
# > through a word? Write down two numbers.

# %%
hits = [chunk for chunk in fixed if "real traffic" in chunk]
print(f"{len(hits)} of {len(fixed)} chunks hold 'real traffic'")
lab.show.cuts(page, fixed)

# %% [markdown]
# The number of broken words is above the text. In the text, orange scissors mark them. Look at the other cuts: are they between
# sentences or inside sentences?
#
# ## By hand, once
#
# Take this text, and chunks of at most 8 characters. Below each character is its [offset](../labs/GLOSSARY.md#offset), its
# position counted from 0.
#
# ```
#  a  b     c  d  .     e  f     g  h
#  0  1  2  3  4  5  6  7  8  9 10 11
# ```
#
# > **Predict.** The first chunk begins at 0 and must end at 8 or before. Where would you end it?
#
# The best place is 7, after the full stop and its space: the chunks are `"ab cd. "` and `"ef gh"`. Two rules decide this:
#
# 1. Take the strongest boundary within reach. A blank line is the strongest, then a line end, a sentence end and a space. If there is
#    none of them, cut anywhere.
# 2. Among boundaries of one kind, take the last one that fits.
#
# Such a boundary is a [separator](../labs/GLOSSARY.md#separator). Python's `rfind` finds the last one in a part of a text:

# %% tags=["nbval-check-output"]
text = "ab cd. ef gh"
for separator in ("\n", ". ", " "):
    print(repr(separator), "begins at", text.rfind(separator, 0, 8))

# %% [markdown]
# `-1` means "not there". `". "` begins at 5 and has 2 characters, so the cut is at 7: a separator stays with the chunk that it ends.
#
# ## Exercise 1.1 · find the cut
#
# In an [exercise](../labs/GLOSSARY.md#exercise) you complete a [stub](../labs/GLOSSARY.md#stub). Its docstring says what it must
# do. A [check](../labs/GLOSSARY.md#check) and [hints](../labs/GLOSSARY.md#hint) follow. This function returns where a chunk ends.
# Only cuts *after* `floor` count. Exercise 1.3 shows why a floor is needed.
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
# The order of the separators is the first rule, and `rfind` is the second. Nothing is copied: `rfind` searches one window backwards
# and stops when it finds the separator. A separator may begin before the floor if it ends after the floor. Therefore the search
# begins at `floor + 1 - width`.

# %%
find_cut = lab.use("find_cut")  # your function if its check passed, otherwise the course's
chunks, begin = [], 0
while begin < len(page):
    end = find_cut(page, begin, begin + 300)
    chunks.append(page[begin:end])
    begin = end

pauses = sum(chunk.endswith(("\n", ". ")) for chunk in chunks)
print(f"{pauses} of {len(chunks)} chunks end with a line or a sentence")
lab.show.cuts(page, chunks, most=1_500)

# %% [markdown]
# Every word is whole, and most chunks end where a reader would pause. There are also more chunks than before, because a strong
# boundary wins even if a weaker one is nearer to the limit. So chunks are shorter.
#
# ## The usual way: split, then join
#
# Many libraries do this in another way. They split at the strongest separator, then split each piece that is still too long at the
# next separator, and so on. This is the recursion in the name [recursive splitter](../labs/GLOSSARY.md#recursive-splitter). Then
# they join small pieces up to the [chunk size](../labs/GLOSSARY.md#chunk-size). For the
# [overlap](../labs/GLOSSARY.md#chunk-overlap) they repeat as many whole pieces as fit into it. Overlap is there so that a phrase that
# is cut in one chunk is whole in the next.


# %%
def total(pieces):
    return sum(map(len, pieces))


def join(pieces, size, overlap):
    chunks, window = [], []
    for piece in pieces:
        if window and total(window) + len(piece) > size:
            chunks.append("".join(window))
            while total(window) > overlap or total(window) + len(piece) > size:
                window.pop(0)  # the pieces that stay are repeated; together they fit into the overlap
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
# We asked for three shared characters, but there are none: the only piece that could be repeated, `"ab cd. "`, is longer than three.
#
# > **Predict.** Now we split five real documents into chunks of 512 characters with an overlap of 64. What share of the neighbouring
# > chunks overlap at all?

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
# Most pairs share nothing, and no pair shares 64 characters. Only whole pieces can be shared, and a piece of more than 64 characters
# is too long. Also, a long paragraph is split separately: its first chunk shares nothing with the text before the paragraph, and its
# last chunk shares nothing with the text after it.
#
# The offsets are lost, too, but a citation needs them. Can we search for the chunk in the text? This fails if the text repeats
# itself. It also fails if the splitter changed the text, for example if it counts words and joins them with single spaces.
#
# > **Predict.** The log below gives four chunks. At which offsets does `find` find them? And how many of the chunks of 80 words does it
# > find in the page?

# %% tags=["nbval-check-output"]
log = "Retry in 5 s.\n" * 8
print([log.find(chunk) for chunk in usual_way(log, 30, 0)])

words = page.split()
by_words = [" ".join(words[at : at + 80]) for at in range(0, len(words), 80)]
print(f"{sum(chunk in page for chunk in by_words)} of {len(by_words)} chunks are in the page")

# %% [markdown]
# ## Cut on offsets
#
# One change solves all of this: work with offsets, and copy characters only at the end. A chunk is then a
# [span](../labs/GLOSSARY.md#span): its start, its end and the text between them. Overlap is then a subtraction: the next chunk begins
# `chunk_overlap` characters before this chunk ends. (Here, characters are [code points](../labs/GLOSSARY.md#code-point), not bytes
# of [UTF-8](../labs/GLOSSARY.md#utf-8).)
#
# ## Exercise 1.2 · where the next chunk begins
#
# Write `next_start`. With `snap_to_words=True` the overlap begins at a word
# ([snap to words](../labs/GLOSSARY.md#snap-to-words)).
#
# ```
# next_start("abcdefghij", 8, 3)                                →   5   "fgh" is shared
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
# One subtraction does the work. If no word starts in the overlap, the function returns the plain start: an overlap that begins
# inside a word is better than no overlap.

# %% [markdown]
# ## Exercise 1.3 · the whole splitter
#
# The splitter finds the end of a chunk, notes the span, finds the next start, and repeats this. There is one problem. Take
# `"ab cdefghij"`, chunks of 8 and an overlap of 3, and follow the steps by hand:
#
# > **Predict.** The first chunk ends at 3, after the space. Where does the second chunk begin, and where does it end?

# %% tags=["nbval-check-output"]
next_start = lab.use("next_start")
for floor in (0, 3):
    end = find_cut("ab cdefghij", 0, 8, floor)
    begin = next_start("ab cdefghij", end, 3)
    print(f"floor {floor}: the first ends at {end}, so the second begins at {begin}")

# %% [markdown]
# Without a floor the second chunk is the first one again, and the loop never ends. So a chunk that begins at `start` must end
# *after* `start + chunk_overlap`.
#
# ![A text as a bar. The first chunk ends at its cut; the next chunk begins one overlap before the cut. Cuts count only after the floor, which is the start plus the overlap, up to the start plus the size.](../labs/figures/overlap_and_floor.svg)
#
# Now write `split_text`:
#
# - As soon as the rest of the text fits into one chunk, it is the last chunk. It needs no cut.
# - A text can be as long as a book. So use a loop: if a function calls itself too often, Python stops it. Copy only the chunks.
# - `check_arguments(text, chunk_size, chunk_overlap, separators)` is imported for you and raises the errors. Call it first.
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
# The loop keeps only one number, the start of the current chunk. Your other two functions do the rest. The characters of a chunk are
# copied once, when its `Span` is made.

# %%
split_text = lab.use("split_text")
lab.show.spans_slider(page, split_text, sizes=(128, 256, 512, 1024), overlaps=(0, 32, 64, 96))

# %% [markdown]
# Violet text is in two chunks. Its length is the same at every cut. The disadvantage is that a chunk can begin inside a word, because
# the overlap counts characters. With `snap_to_words=True` it begins at a word, and the overlap is a few characters shorter.
#
# ## Exercise 1.4 · test it
#
# If a splitter loses a sentence, it raises no error. You only notice that a question is no longer answered. So write a test for it.
#
# ```
# lossless("abcd", [Span(0, 2, "ab"), Span(2, 4, "cd")])   →  True
# lossless("abcd", [Span(0, 3, "abc"), Span(2, 4, "cd")])  →  True    "c" is in both
# lossless("abcd", [Span(0, 2, "ab"), Span(3, 4, "d")])    →  False   "c" is in none
# lossless("abcd", [Span(0, 2, "ab"), Span(2, 4, "c")])    →  False   2:4 is "cd"
# ```


# %% exercise="1.4"
def lossless(text, spans):
    """Tell whether `spans` hold the whole of `text`, and whether their offsets are right.

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
        True if the text of each span is the text at its offsets, and every character of `text`
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
# `covered` is the offset up to which every character is in a span. If a span begins after it, there is a gap. It is not enough
# to compare lengths or to join the texts: with overlaps, the spans together are longer than the text. And if a passage occurs twice,
# one copy can hide that the other is missing.

# %% tags=["nbval-check-output"]
lossless = lab.use("lossless")
for name, text in documents.items():
    splits = [split_text(text, size, overlap) for size in (128, 512, 1024) for overlap in (0, 64)]
    steps = {left.end - right.start for left, right in pairwise(splits[3])}
    print(f"{all(lossless(text, spans) for spans in splits)}  neighbours share {steps}  {name}")

# %% [markdown]
# Nothing is lost, and at 512 with 64 every pair shares exactly 64. But these are only five ordinary texts. It is better to write down
# what must be true for *every* text, and to let the computer search for a text for which it is false. This is a
# [property-based test](../labs/GLOSSARY.md#property-based-test).

# %% tags=["nbval-check-output"]
from random import Random

random, failures = Random(1), []
for _ in range(5_000):
    text = "".join(random.choices("ab. \n", k=random.randrange(40)))
    size = random.randint(1, 12)
    spans = split_text(text, size, random.randrange(size))
    if not lossless(text, spans) or any(len(span.text) > size for span in spans):
        failures.append((text, size))
print(f"{len(failures)} failures in 5,000 texts")

# %% [markdown]
# ## Break it
#
# Windows ends a line with two characters, `\r\n`, called [CRLF](../labs/GLOSSARY.md#crlf). Here is the same page, saved on Windows. The
# next cell counts the chunks that end at a blank line.
#
# > **Predict.** You have just tested that nothing is lost. But what changes?

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
# `"\n\n"` does not occur in `"\r\n\r\n"`. So the strongest separator is never found in Windows text, and there is no warning. Some
# chunks still end at a blank line, because its line end was the last one that fitted. If you have such files, give their own
# separators.
#
# Here are two more texts, without any separator: one letter repeated, and two letters repeated. The first list holds the true
# starts. The second list holds the starts that `find` returns.

# %% tags=["nbval-check-output"]
for text in ("x" * 1_000, "ab" * 500):
    spans = split_text(text, 300, 50)
    looked_up = [text.find(span.text) for span in spans]
    print([span.start for span in spans], looked_up, lossless(text, spans))

# %% [markdown]
# And long texts? The next cell repeats the documents, up to a megabyte. `split_text` moves a start through the text. The
# function below does the same work in another way: it cuts off a chunk and keeps *the rest of the text*.
#
# > **Predict.** The text becomes twice as long. How many times as many characters does `split_text` copy? And `keeps_the_rest`?

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
print("Characters copied if the text is twice as long:")
print(f"split_text {kept[2] / kept[1]:.1f} times, keeps_the_rest {rests[2] / rests[1]:.1f} times as many")

curves = {
    "split_text": [(len(book), seconds(split_text, book)) for book in books],
    "the usual way": [(len(book), seconds(usual_way, book, 512, 64)) for book in books],
    "keeps the rest": [(len(book), seconds(keeps_the_rest, book)) for book in books],
}
lab.show.lines(curves, "Time to split", across="characters", up="seconds")

# %% [markdown]
# `keeps_the_rest` copies the rest at every cut. For twice the text, that is about four times the work. `split_text` copies each chunk
# once and works in [linear time](../labs/GLOSSARY.md#linear-time). Which curve is steepest on your machine?
#
# ## In the field
#
# The best-known recursive splitter is LangChain's
# [`RecursiveCharacterTextSplitter`](https://docs.langchain.com/oss/python/integrations/splitters). It splits and joins, as
# `usual_way` does. With `add_start_index=True` it also gives offsets.
#
# > **Predict.** Is it lossless?

# %%
from course_lib.records import Span


def describe(name, spans):
    inside = {at for span in spans for at in range(span.start, span.end)}
    missing = "".join(page[at] for at in range(len(page)) if at not in inside)
    overlapping = sum(left.end > right.start for left, right in pairwise(spans))
    print(f"{name}: {len(spans)} chunks, {overlapping} of {len(spans) - 1} pairs overlap")
    print(f"  {len(missing)} characters are in no chunk: {sorted(set(missing))}")


try:
    from langchain_text_splitters import RecursiveCharacterTextSplitter
except ImportError:
    print("not installed: pip install langchain-text-splitters, then run this cell again")
else:
    splitter = RecursiveCharacterTextSplitter(
        chunk_size=512, chunk_overlap=64, add_start_index=True
    )
    found = [
        (one.metadata["start_index"], one.page_content) for one in splitter.create_documents([page])
    ]
    describe("LangChain", [Span(start, start + len(chunk), chunk) for start, chunk in found])
    describe("split_text", split_text(page, 512, 64))

# %% [markdown]
# LangChain's splitter removes white space at both ends of each chunk, so these characters are in no chunk
# (`strip_whitespace=False` keeps them). And most of its neighbours share nothing, for the reason that you have seen. Take it if your
# program uses LangChain already: it knows separators for many languages, and it can count [tokens](../labs/GLOSSARY.md#token). If you
# need exact offsets or a guaranteed overlap, check them, as here.
#
# ## Measure: which splitter tears answers?
#
# The course has questions with labels. A label holds phrases from the answer. If a phrase is whole in no chunk, we call it *torn*: no
# chunk can show it.
#
# > **Predict.** *Fixed* cuts overlap by 64, and no phrase is longer than that. How many phrases do they tear?

# %%
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

print("fixed, 512, no overlap, all cuts moved by 0, 64, 128, …")
print([torn(answers, fixed_cuts, 512, 0, shift) for shift in range(0, 512, 64)])

# %% [markdown]
# So there are two kinds of protection. If a phrase is not longer than the overlap, at least one chunk has it whole, wherever the cut is.
# Good cuts keep sentences and paragraphs whole. It is luck which phrases the fixed cuts tear, as the last line shows. Whole sentences are
# often longer than 64 characters. With them you see the difference between overlap and good cuts:

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
# Now we measure the search. A model turns each chunk and each question into an [embedding](../labs/GLOSSARY.md#embedding), which is a
# vector. The search compares the directions of the vectors: the chunks that are most similar to the question come first. Lab 05 shows
# how this works. Here we only use it to compare cuts.

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
# [Recall@5](../labs/GLOSSARY.md#recallk) is the share of questions with an answering chunk among the first five results.
# [MRR](../labs/GLOSSARY.md#mrr) is higher if that chunk is nearer to the top.
#
# > **Predict.** The chunks have at most 512 characters. What helps more, better cuts or overlap? And is it best to have both?

# %%
print(f"One question of {len(questions)} counts {1 / len(questions):.2f}.\n")
print("cuts       overlap  recall@5   MRR")
for name, split in splitters.items():
    for overlap in (0, 64):
        measured = quality(split, 512, overlap)
        print(f"{name:9}  {overlap:7}  {measured.recall:8.2f}  {measured.mrr:4.2f}")

moved = [quality(fixed_cuts, 512, 0, shift).recall for shift in (128, 256, 384)]
print("\nrecall@5, fixed, no overlap, cuts moved by 128, 256, 384:", *(f"{recall:.2f}" for recall in moved))
note = "recursive splitter, 512 characters, 64 of overlap"
lab.score(recall_at_5=measured.recall, mrr=measured.mrr, note=note)

# %% [markdown]
# Good cuts help most. Overlap helps the fixed cuts, because it makes up for bad cuts. It does not help the recursive cuts: those
# chunks end with a sentence already, and with overlap each chunk begins with the end of something else. But a few hundredths are
# only a few questions, and another `shift` changes the first row by several hundredths.
#
# Why does the course still use an overlap of 64? Overlap keeps a short phrase whole wherever the cut is. Good cuts need full stops
# and line ends, and some texts have none.

# %% [markdown]
# ## Recap
#
# - Cut at the strongest separator within reach. If there are several of this kind, take the last.
# - Work with offsets. Then the overlap is exact, every chunk has its true place, and the time is linear.
# - Each chunk must start later than the one before. The floor guarantees this.
# - Write down what is true for every text, and let the computer search for a counterexample.
# - Good cuts and overlap protect different things. Measure both.
#
# ## Three questions
#
# 1. You split with `chunk_overlap=64`. How long is the longest phrase that is always whole in some chunk, wherever the cuts are?
#    (With an overlap of 0 it is a single character.)
# 2. Why does the separator stay with the chunk that it ends? What goes wrong if the splitter drops it?
# 3. A colleague removes the white space at both ends of each chunk, "to save space", and keeps the offsets. Which test fails? What is
#    lost?
#
# <details><summary>Answers</summary>
#
# 1. 65 characters. Take the first chunk that reaches the end of the phrase. The chunk before it ends at least one character before
#    the end of the phrase. This chunk starts 64 characters before that point, so it starts where the phrase starts, or before.
# 2. Blank lines and full stops would be in no chunk. `lossless` would be false, and a reader could not read from one chunk to
#    the next without a gap.
# 3. `lossless` is false, because `text[span.start:span.end]` is no longer `span.text`. The search is hardly worse, but
#    citations are: their offsets no longer match their words.
#
# </details>

# %% [markdown]
# ## Stretch
#
# 1. In Windows text, `split_text` can end or begin a chunk between `\r` and `\n`. Write `keep_crlf(text, spans)`. It returns the spans,
#    with all such starts and ends moved out of the pair. Is the result still lossless? Do neighbours still share 64 characters? Does a
#    chunk become longer than the chunk size? The course's `keep_crlf` is in `course_lib/loader/recursive.py`. `course split` and
#    `course ingest` call it after `split_text`.
# 2. Count the chunks that end with a Markdown heading. Their section is in the next chunk. Write a `find_cut` that cuts before the
#    heading if the floor allows it. Is the splitter still lossless? Do recall@5 and MRR change by more than chance?
#    `fixed_cuts(…, shift=…)` shows how much luck can change them.
#
# Later labs import the course's `split_text`, so each of them runs alone.
#
# **Next.** A text has blank lines to cut at. In a manifest, each line belongs to another line above it, and a cut can separate the
# two. That is [lab 02](../labs/02_resource_splitter.ipynb). If you only want to search documents, continue with their vectors, in
# [lab 05](../labs/05_embeddings.ipynb). The [table of labs](../README.md#work-through-it) shows all labs.
