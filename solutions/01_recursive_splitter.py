# %% [markdown]
# # 01 · Where to cut
#
# A model reads a few hundred words at a time; a document has thousands. Somebody has to decide where to cut. In this lab that is you: you will write the splitter that the rest of the course runs on.
#
# | You will be able to | Time | Needs |
# |---|---|---|
# | say what a bad cut costs · write a recursive splitter that works on offsets · prove that it loses nothing | 35 min | nothing but this notebook |

# %% tags=["parameters"]
data_dir = "data/documents"
embedding_model = ""

# %%
from course_lib.teaching import start

lab = start("01", data_dir=data_dir, embedding_model=embedding_model)

# %%
lab.show.pipeline("chunks")

# %% [markdown]
# ## A cut in the wrong place
#
# The pieces that a document is cut into are its [chunks](../labs/GLOSSARY.md#chunk). The shortest splitter there is takes one line: cut every 300 characters. Here it is, on a page about CI/CD.

# %% tags=["nbval-check-output"]
page = lab.document("ci-cd-for-ml.md")
fixed = [page[at : at + 300] for at in range(0, len(page), 300)]

here = page.index("real traffic") // 300
print(fixed[here][-42:], "✂", fixed[here + 1][:42])

# %% [markdown]
# Read the two ends aloud. This is the sentence that says what a canary release is, and a word in the middle of it is broken.
#
# > **Predict.** How many of the chunks does a search for the words *real traffic* find? And how many of all the cuts on this page go through a word? Write down two numbers.

# %% tags=["nbval-check-output"]
hits = [chunk for chunk in fixed if "real traffic" in chunk]
print(f"{len(hits)} of {len(fixed)} chunks hold 'real traffic'")

# %%
lab.show.cuts(page, fixed)

# %% [markdown]
# Orange scissors mark a broken word; the count stands above the text. The other cuts are not harmless either: most of them leave half a sentence on each side.

# %% [markdown]
# ## By hand, once
#
# Take this text, and chunks of at most 8 characters. Below each character stands its [offset](../labs/GLOSSARY.md#offset), its place counted from 0.
#
# ```
#  a  b     c  d  .     e  f     g  h
#  0  1  2  3  4  5  6  7  8  9 10 11
# ```
#
# > **Predict.** The first chunk begins at 0 and has to end at 8 or before. Where would you end it?

# %% [markdown]
# At 7, behind the full stop and its space: `"ab cd. "` and `"ef gh"`. Two rules were at work, and there are no others:
#
# 1. take the strongest boundary within reach: a blank line, else a line end, a sentence end, a space, and only then anywhere;
# 2. among boundaries of one kind, take the last that fits.
#
# Such a boundary is called a [separator](../labs/GLOSSARY.md#separator). Python finds the last one in a stretch of text with `rfind`:

# %% tags=["nbval-check-output"]
text = "ab cd. ef gh"
for separator in ("\n", ". ", " "):
    print(repr(separator), "begins at", text.rfind(separator, 0, 8))

# %% [markdown]
# `-1` means "not there". `". "` begins at 5 and is 2 wide, so the chunk ends at 5 + 2 = 7: the separator stays with the chunk that it ends, and no character is lost.

# %% [markdown]
# ## Exercise 1.1 · find the cut
#
# Write `find_cut`: it gets the text, the offset where the chunk starts and the largest offset where it may end, and returns where it ends. A cut counts only *behind* `floor`; what that is good for you will see in exercise 1.3.
#
# ```
# find_cut("ab cd. ef gh", 0, 8)    →  7    "ab cd. " | "ef gh"
# find_cut("abcdefghij", 0, 8)      →  8    no boundary: cut at the limit
# find_cut("ab cdefghij", 0, 8, 2)  →  3    the space ends at 3, behind the floor
# find_cut("ab cdefghij", 0, 8, 3)  →  8    3 does not lie behind 3
# ```

# %% exercise="1.1"
from course_lib.loader.recursive import find_cut

# %%
lab.check("1.1", find_cut)

# %%
lab.hint("1.1")  # run it again for the next hint

# %% [markdown] tags=["solution"]
# The order of the separators is the first rule, `rfind` is the second. Nothing is copied: `rfind` walks backwards through one window and stops at its first hit. A separator may begin before the floor as long as it ends behind it, hence `floor + 1 - width`.

# %%
find_cut = lab.use("find_cut")  # yours where its check passed, else the course's
chunks, begin = [], 0
while begin < len(page):
    end = find_cut(page, begin, begin + 300)
    chunks.append(page[begin:end])
    begin = end

lab.show.cuts(page, chunks, most=1_500)

# %% [markdown]
# Four lines of loop, and the words are whole. Scroll through it: nearly every chunk now ends where a person would pause.

# %% [markdown]
# ## What others do: split, then join
#
# Most splitters go another way. Split at the strongest separator; split what is still too long at the next one, and so on (that is the recursion in [recursive splitter](../labs/GLOSSARY.md#recursive-splitter)); join small pieces until the [chunk size](../labs/GLOSSARY.md#chunk-size) is reached.
#
# Neighbours should also share some text, the [overlap](../labs/GLOSSARY.md#chunk-overlap), so that what a cut tears stands whole in one of them. The usual way repeats as many whole pieces as fit into it.

# %%
from course_lib.loader.recursive import SEPARATORS


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


# %%
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
# Three shared characters were asked for, and there are none: the only piece that could be repeated, `"ab cd. "`, is longer than three. A toy, of course.
#
# > **Predict.** Now the course's five documents, chunks of 512 characters, an overlap of 64. In what share of the neighbouring pairs do you get any overlap at all?

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
# No pair gets what was asked for, and most get nothing. There are two reasons: a sentence or a line is usually longer than 64 characters, so no whole piece fits; and what recursion cut out of a long paragraph is never joined to what stands around it.

# %% [markdown]
# Something else went missing: the address. A string does not know where it came from, and a citation needs to. Can it be looked up afterwards?
#
# > **Predict.** What are the four places that the next cell prints?

# %% tags=["nbval-check-output"]
log = "Retry in 5 s.\n" * 8
[log.find(chunk) for chunk in usual_way(log, 30, 0)]

# %% [markdown]
# ## Cut on offsets
#
# Both losses have one cure: work with numbers, and copy the characters at the very end. A chunk is then a [span](../labs/GLOSSARY.md#span): its start, its end and the text between. And overlap is a subtraction: the next chunk begins `chunk_overlap` characters before this one ends.

# %% [markdown]
# Any offset is a fine place for an overlap to begin, but one. Windows ends its lines with two characters, `\r\n`, called [CRLF](../labs/GLOSSARY.md#crlf), and a chunk should not begin with the second. The library has a helper that moves an offset out of such a pair:

# %% tags=["nbval-check-output"]
from course_lib.loader.recursive import keep_crlf

[(offset, keep_crlf("ab\r\ncd", offset)) for offset in (2, 3, 4)]

# %% [markdown]
# ## Exercise 1.2 · where the next chunk begins
#
# Write `next_start`. `keep_crlf` is at hand. With `snap_to_words=True` the overlap begins at the first word that starts inside it: [snap to words](../labs/GLOSSARY.md#snap-to-words).
#
# ```
# next_start("abcdefghij", 8, 3)                               →   5   "fgh" is shared
# next_start("ab\r\ncdef", 6, 3)                               →   4   3 is inside the pair
# next_start("the quick brown fox", 16, 8)                     →   8   "k brown " is shared
# next_start("the quick brown fox", 16, 8, snap_to_words=True) →  10   "brown " is shared
# ```

# %% exercise="1.2"
from course_lib.loader.recursive import next_start

# %%
lab.check("1.2", next_start)

# %%
lab.hint("1.2")

# %% [markdown] tags=["solution"]
# One subtraction does the work; the rest is manners. A word starts where white space is followed by something else, and if no word starts within the overlap the plain start stands: a long overlap is better than none.

# %% [markdown]
# ## Exercise 1.3 · the whole splitter
#
# Find the end, note the span, find the next start, repeat. One trap is left. Take `"ab cdefghij"`, chunks of 8 and an overlap of 3, and follow it by hand:
#
# > **Predict.** The first chunk ends at 3, behind the space. Where does the second one begin, and where does it end?

# %% tags=["nbval-check-output"]
next_start = lab.use("next_start")
for floor in (0, 3):
    end = find_cut("ab cdefghij", 0, 8, floor)
    begin = next_start("ab cdefghij", end, 3)
    print(f"floor {floor}: the first ends at {end}, so the second begins at {begin}")

# %% [markdown]
# Without a floor the second chunk is the first one again, and so on for ever. So a chunk that starts at `start` has to end *behind* `start + chunk_overlap`: then the next one starts later than this one did.

# %% [markdown]
# Now write `split_text`. Three things to mind:
#
# - when the rest of the text fits, it is the last chunk and needs no cut;
# - a cut that falls inside a CRLF pair moves by one: forward, or backward where that would exceed the size;
# - wrong arguments raise an error that names them. `_check_arguments(text, chunk_size, chunk_overlap, separators)` is imported for you and does that; call it first.
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
lab.hint("1.3")

# %% [markdown] tags=["solution"]
# All state is two numbers, `start` and `end`. `careful` is false for most texts: where nothing can fall into a CRLF pair and no word is asked for, the next start is a plain subtraction. The list at the end makes the spans in one go, which is why this is quick.

# %%
split_text = lab.use("split_text")
lab.show.spans_slider(page, split_text, sizes=(128, 256, 512, 1024), overlaps=(0, 32, 64, 96))

# %% [markdown]
# Violet text is in two chunks, and there is the same amount of it at every cut. Notice the price: a chunk may begin in the middle of a word, because the overlap is counted in characters. `snap_to_words=True` trades a few of them for a clean start.

# %% [markdown]
# ## Exercise 1.4 · prove it
#
# A splitter that drops a sentence raises no error; some question is never answered again, that is all. So write the test: `lossless` is true when every span says the truth about its place and no character is left out. Spans come in the order of the text and may overlap.
#
# ```
# lossless("abcd", [Span(0, 2, "ab"), Span(2, 4, "cd")])   →  True
# lossless("abcd", [Span(0, 3, "abc"), Span(2, 4, "cd")])  →  True    "c" is in both
# lossless("abcd", [Span(0, 2, "ab"), Span(3, 4, "d")])    →  False   "c" is in none
# ```


# %% exercise="1.4"
def lossless(text, spans):
    """Tell whether `spans` hold the whole of `text`, each at the place where it says it is.

    Parameters
    ----------
    text
        What was split.
    spans
        A list of Span, in the order of the text; they may overlap.

    Returns
    -------
    bool

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
lab.hint("1.4")

# %% [markdown] tags=["solution"]
# One number, `covered`, says how far the text is accounted for. A span that begins behind it leaves a gap. Comparing lengths, or joining the texts, would not do: overlaps add up to more than the text, and a repeated passage can make up for a missing one.

# %% tags=["nbval-check-output"]
lossless = lab.use("lossless")
for name, text in documents.items():
    splits = [split_text(text, size, overlap) for size in (128, 512, 1024) for overlap in (0, 64)]
    steps = {left.end - right.start for left, right in pairwise(splits[3])}
    print(f"{all(lossless(text, spans) for spans in splits)}  neighbours share {steps}  {name}")

# %% [markdown]
# Nothing lost, at six settings; and at 512 with 64, neighbours share exactly 64, always. But these are texts that behave. Better to state what must hold for *every* text and let the machine look for one where it does not: a [property-based test](../labs/GLOSSARY.md#property-based-test).

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
# The same page, saved on Windows: every `\n` has become `\r\n`.
#
# > **Predict.** Nothing gets lost, you have just tested that. What changes all the same?

# %% tags=["nbval-check-output"]
windows = page.replace("\n", "\r\n")


def blank_line_ends(text, separators=SEPARATORS):
    spans = split_text(text, 512, 64, separators)
    return sum(span.text.endswith(("\n\n", "\n\r\n")) for span in spans), len(spans)


print("Unix           ", blank_line_ends(page))
print("Windows        ", blank_line_ends(windows))
print("its separators ", blank_line_ends(windows, ("\r\n\r\n", "\r\n", ". ", " ", "")))

# %% [markdown]
# `"\n\n"` does not occur in `"\r\n\r\n"`: on Windows text the strongest separator is blind, and chunks that end at a blank line become rare. Nothing warns you. Where such files come in, put their own separators in front.

# %% [markdown]
# Two texts without any help: one wall of letters, and one that repeats itself for ever, where every chunk looks like the first. The second column asks `find` for the places, as before.

# %% tags=["nbval-check-output"]
wall, abab = "x" * 1_000, "ab" * 500
for text in (wall, abab):
    spans = split_text(text, 300, 50)
    looked_up = [text.find(span.text) for span in spans]
    print([span.start for span in spans], looked_up, lossless(text, spans))

# %% [markdown]
# Offsets count [code points](../labs/GLOSSARY.md#code-point), Python's characters, and not the bytes of [UTF-8](../labs/GLOSSARY.md#utf-8). Hand them to a program that counts bytes, and they point elsewhere from the first accent on:

# %% tags=["nbval-check-output"]
text = documents["vector-databases-and-embeddings.md"]
last = split_text(text)[-1]
as_bytes = text.encode("utf-8")
print(len(text), "characters,", len(as_bytes), "bytes")
print(last.text[:40], "≠", as_bytes[last.start :][:40].decode("utf-8", "replace"))

# %% [markdown]
# And a long text? The documents, again and again, up to a megabyte and a half. The third line is the loop from above with a small difference: it cuts the chunk off and keeps *the rest of the text*.
#
# > **Predict.** Which of the three curves is not straight?

# %%
from time import perf_counter


def keeps_the_rest(text, size=512):
    while len(text) > size:
        text = text[find_cut(text, 0, size) :]


def seconds(work, text):
    begun = perf_counter()
    work(text)
    return perf_counter() - begun


everything = "\n\n".join(documents.values())
ways = {
    "split_text": split_text,
    "the usual way": lambda text: usual_way(text, 512, 64),
    "keeps the rest": keeps_the_rest,
}
books = [everything * times for times in (5, 10, 20, 30)]
curves = {name: [(len(book), seconds(way, book)) for book in books] for name, way in ways.items()}
lab.show.lines(curves, "Time to split", across="characters", up="seconds")

# %% [markdown]
# Copying the rest at every cut is work that grows with the text: twice the text takes four times as long, or worse. The other two run in [linear time](../labs/GLOSSARY.md#linear-time). These are your machine's curves, a little different on each run.

# %% [markdown]
# ## Measure: who tears the answers apart?
#
# The course comes with labelled questions; each names phrases that its answer contains. A phrase that is whole in no chunk can be found and quoted by nobody. Count those, for fixed cuts and for yours.
#
# > **Predict.** How many do *fixed* cuts tear when they overlap by 64 characters? No phrase is longer than that.

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
answers = {(q.gold_paths[0], phrase) for q in lab.questions() for phrase in q.answer_contains}
print(f"torn, of {len(answers)} phrases, at sizes 128, 256, 512 and 1024")
for name, split in splitters.items():
    for overlap in (0, 64):
        counts = [torn(answers, split, size, overlap) for size in (128, 256, 512, 1024)]
        print(f"{name:9}  overlap {overlap:2}  {counts}")

print("fixed, 512, the grid moved on by 64 each time")
print([torn(answers, fixed_cuts, 512, 0, shift) for shift in range(0, 512, 64)])

# %% [markdown]
# Two insurances, then. Overlap saves whatever is not longer than itself, wherever the cut falls. Good cuts save what people wrote as a unit. And a fixed grid is a lottery, as the last line shows. Whole sentences, often longer than 64 characters, tell the two apart:

# %%
import re

sizes = (128, 256, 512, 1024)
sentence_end = r"(?<=[.!?:])\s+|\s*\n\s*"
parts = [(name, part) for name in documents for part in re.split(sentence_end, documents[name])]
sentences = {(name, part) for name, part in parts if 0 < len(part) <= 128}

curves = {}
for name, split in splitters.items():
    for overlap in (0, 64):
        counts = [(size, torn(sentences, split, size, overlap)) for size in sizes]
        curves[f"{name}, overlap {overlap}"] = counts

title = f"Torn, of {len(sentences)} sentences of up to 128 characters"
lab.show.lines(curves, title, across="chunk size", up="sentences")

# %% [markdown]
# Now the search itself. A model turns each chunk and each question into an [embedding](../labs/GLOSSARY.md#embedding), a vector; the chunks whose vectors point most nearly the same way as the question's come first. Lab 04 opens that box. Here it is a yardstick.

# %%
from types import SimpleNamespace

questions = [question.question for question in lab.questions()]
asked = dict(zip(questions, lab.encode(questions), strict=True))


def passages(split, *settings):
    return [
        SimpleNamespace(document_name=name, content=span.text)
        for name, text in documents.items()
        for span in split(text, *settings)
    ]


def quality(found):
    vectors = lab.encode([passage.content for passage in found])

    def search(question):
        order = (-vectors @ asked[question]).argsort(kind="stable")
        return [found[i] for i in order[:5]]

    return lab.measure_retrieval(search)


# %% [markdown]
# [Recall@5](../labs/GLOSSARY.md#recallk) is the share of the questions with an answering chunk among the first five results; [MRR](../labs/GLOSSARY.md#mrr) rewards having it on top.
#
# > **Predict.** Chunks of 512. What helps more, the better cuts or the overlap? And do both together help most?

# %%
print("cuts       overlap  chunks  recall@5   MRR")
for name, split in splitters.items():
    for overlap in (0, 64):
        found = passages(split, 512, overlap)
        measured = quality(found)
        figures = f"{len(found):6}  {measured.recall:8.2f}  {measured.mrr:4.2f}"
        print(f"{name:9}  {overlap:7}  {figures}")
print(f"One question of {len(questions)} counts {1 / len(questions):.2f}.")

# %% [markdown]
# Good cuts help most. Overlap helps the fixed cuts, which need mending; the recursive ones it does not help here. Their chunks already end with a sentence, and with overlap each one opens with the tail of something else.

# %% [markdown]
# So why does the course overlap by 64? Because it is a guarantee, and the cuts are a habit of these documents: in a text without full stops they are no better than fixed ones. Mind the last line, too: a few hundredths are a few questions.

# %%
lab.score(
    recall_at_5=measured.recall,
    mrr=measured.mrr,
    note="recursive splitter, 512 characters, 64 of overlap",
)

# %% [markdown]
# That is the baseline for what follows. The column for [latency](../labs/GLOSSARY.md#latency) stays empty: the vectors lay in memory, and speed is a matter for the database of lab 05.

# %% [markdown]
# ## Recap
#
# - A cut belongs at the strongest separator within reach, and at the last of its kind.
# - Work on offsets: exact overlap and true addresses come for free, and time stays linear.
# - The next chunk must start later than this one did. That is what the floor is for.
# - State what holds for every text, and let the machine look for a counterexample.
# - Measure: good cuts and overlap protect different things.

# %% [markdown]
# ## Three questions
#
# 1. Your splitter is told `chunk_overlap=64`. What is the longest phrase that is surely whole in some chunk, wherever the cuts fall? (With an overlap of 0 it is a single character.)
# 2. Why does the separator stay with the chunk that it ends? What would break if it were dropped?
# 3. A colleague strips the white space off each chunk, "to save space". Which of your tests fails, and what did the search lose?
#
# <details><summary>Answers</summary>
#
# 1. 65 characters. Take the first chunk that reaches the phrase's end. The chunk before it ends at least one character short of that, and this one starts 64 before there: no later than the phrase. (One less where a CRLF pair takes a character of the overlap.)
# 2. `lossless` would be false: blank lines and full stops would be in no chunk. Nor could a reader go from one chunk to the next without a gap.
# 3. `lossless`, because `text[span.start:span.end]` is no longer `span.text`. The search loses next to nothing; the citation does, since its offsets now point beside the text.
#
# </details>

# %% [markdown]
# ## Stretch
#
# Count the chunks that end with a Markdown heading: its section stands in the next chunk. Write a `find_cut` that steps back to before the heading where the floor allows it. Is it still lossless? Do recall@5 and MRR move by more than luck? `fixed_cuts(…, shift=…)` shows how large luck is.
#
# **Next.** Text has blank lines to cut at; Kubernetes manifests have a structure of their own, and lab 02 cuts along it. The [table of labs](../README.md) has them all.
