# %% [markdown]
# # 01 · Where to cut
#
# A model reads a few hundred words at a time, but a document has thousands. You will write the splitter that decides where to cut: first
# as textbooks have it, then as this course runs it.
#
# | You will be able to | Time | Needs |
# |---|---|---|
# | write a recursive splitter, and say what it cannot promise · write one on offsets that keeps these promises · test that nothing is lost | about {minutes} min | only this notebook |

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
# cuts a page every 300 characters.
#
# > **Predict.** How many of its cuts go through a word: few, half, or most?

# %%
page = lab.document("ci-cd-for-ml.md")
fixed = [page[at : at + 300] for at in range(0, len(page), 300)]

# %%
here = page.index("real traffic") // 300
print(fixed[here][-42:], "✂", fixed[here + 1][:42])
print(sum("real traffic" in chunk for chunk in fixed), "chunks hold 'real traffic'")
lab.show.cuts(page, fixed)

# %% tags=["claim"]
inside = [left[-1].isalpha() and right[0].isalpha() for left, right in zip(fixed, fixed[1:], strict=False)]
assert 0.4 < sum(inside) / len(inside) < 0.6, "About half of the cuts go through a word"
assert "real traffic" in page and not any("real traffic" in chunk for chunk in fixed), "a search for it finds nothing"

# %% [markdown]
# About half of the cuts go through a word. One of these words is in *real traffic*, so a search for it finds nothing.

# %% [markdown]
# ## The recursive splitter, by hand
#
# A text is cut at [separators](../labs/GLOSSARY.md#separator), from the strongest to the weakest: a blank line, a line end, a sentence
# end, a space, and last `""`, which is everywhere. A [recursive splitter](../labs/GLOSSARY.md#recursive-splitter) splits at the
# strongest, and each piece that is still too long at weaker ones. Then it joins small neighbours.
#
# > **Predict.** The [chunk size](../labs/GLOSSARY.md#chunk-size) is 16 characters. Into which chunks would you cut this text?
#
# ```
# "One.\n\nTwo three four. Five."
# ├── "One.\n\n"                     fits
# └── "Two three four. Five."        has 21 characters: split it at ". "
#     ├── "Two three four. "         fits
#     └── "Five."                    fits, but not together with the one before
# ```
#
# Each separator stays with the piece that it ends, so the chunks together are the text.

# %% [markdown]
# ## Exercise 1.1: the recursive version
#
# In an [exercise](../labs/GLOSSARY.md#exercise) you complete a [stub](../labs/GLOSSARY.md#stub). Its docstring says what it must do.
# A [check](../labs/GLOSSARY.md#check) and [hints](../labs/GLOSSARY.md#hint) follow. What is given explains itself: `help(name)`.
#
# ```
# split_recursively("ab cd. ef gh", 8)  →  ["ab cd. ", "ef gh"]
# split_recursively("abcdefgh ij", 6)   →  ["abcdef", "gh ij"]        "ij" joins "gh "
# split_recursively("a\nb cdefg", 4)    →  ["a\n", "b ", "cdef", "g"]  "b " does not join "a\n"
# ```

# %% exercise="1.1"
from course_lib.loader.recursive import SEPARATORS  # ("\n\n", "\n", ". ", " ", "")


def split_after(text, separator):
    """Split a text after each separator: "a. b" at ". " gives ["a. ", "b"], at "" each character."""
    *ended, last = text.split(separator) if separator else [*text, ""]
    return [piece + separator for piece in ended] + [last] * bool(last)


def split_recursively(text, size, separators=SEPARATORS):
    """Split a text into a list of chunks of at most `size` characters.

    1. Take the first separator that occurs in the text. The last one, "", always does.
    2. Split the text after each place at which it occurs.
    3. If a piece is too long, split it with weaker separators, and append its chunks.
    4. If it is not, and fits into the last chunk, add it there. Otherwise it is a new chunk.

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
# The mistake to remember: to pass on all separators. A piece that is too long ends with its separator. If it is split there again, it
# stays as it is, and this never ends. `separators[1:]` has one separator less at every step. It may still hold the one that the piece
# ends with. Then the piece stays as it is once more, and a later step splits it at a weaker one.

# %%
import pandas as pd
from IPython.display import display

split_recursively = lab.use("split_recursively")  # your function if its check passed, otherwise the course's
documents = lab.documents()
chunks = {name: split_recursively(text, 512) for name, text in documents.items()}
cut = pd.DataFrame({"chunks": {name: len(parts) for name, parts in chunks.items()}})
cut["longest"] = {name: max(map(len, parts)) for name, parts in chunks.items()}
cut["nothing lost"] = {name: "".join(parts) == documents[name] for name, parts in chunks.items()}
display(cut)
lab.show.cuts(page, split_recursively(page, 300), most=1_500)

# %% tags=["claim"]
again = split_recursively(page, 300)
assert not any(left[-1].isalpha() and right[0].isalpha() for left, right in zip(again, again[1:], strict=False)), "no cut goes through a word"
assert cut["nothing lost"].all() and cut["longest"].max() <= 512, "Nothing is lost, and every chunk fits"

# %% [markdown]
# Nothing is lost, and every chunk fits. At 300 characters, no cut goes through a word.
#
# ## What it cannot promise
#
# **Overlap.** Sometimes a phrase is cut in two. So neighbours share some text, the [overlap](../labs/GLOSSARY.md#chunk-overlap): what
# one chunk cuts off, the next has whole. A splitter that works on pieces can only repeat whole pieces: as many sentences and lines from
# the end of a chunk as fit.
#
# > **Predict.** We ask for 64 characters. How many do chunks repeat?

# %%
import re


def can_repeat(chunk, overlap=64):
    repeated = 0
    for piece in reversed(re.split(r"(?<=\n)|(?<=\. )", chunk)):
        if repeated + len(piece) > overlap:
            break
        repeated += len(piece)
    return repeated


# %%
repeated = pd.Series([can_repeat(chunk) for parts in chunks.values() for chunk in parts])
axes = repeated.plot.hist(bins=range(0, 70, 2), title="What a chunk can repeat, if 64 are asked for")
axes.set(xlabel="characters", ylabel="chunks")
lab.alt(axes, f"Of {len(repeated)} chunks, {sum(repeated <= 1)} repeat at most one character, and none repeats 64.")

# %% tags=["claim"]
assert (repeated <= 1).mean() > 0.4, "Nearly half of them repeat nothing or one line end"
assert repeated.max() < 64, "no chunk repeats the 64"

# %% [markdown]
# Nearly half of them repeat nothing or one line end, and no chunk repeats the 64: a last sentence is often longer.
#
# **Offsets.** A citation needs a chunk's [offset](../labs/GLOSSARY.md#offset), its position counted from 0. Without overlap, the lengths
# of the chunks add up to it. With such an overlap they do not, and many programs search the text for the chunk.
#
# > **Predict.** At which offsets does `find` find these four chunks?

# %% tags=["nbval-check-output"]
log = "Retry in 5 s.\n" * 8
[log.find(chunk) for chunk in split_recursively(log, 30)]

# %% [markdown]
# It finds all four at 0, because the text repeats itself. Three citations would be wrong.

# %% [markdown]
# ## Cut on offsets
#
# One change solves both: work with offsets, and copy characters only at the end. A chunk is then a
# [span](../labs/GLOSSARY.md#span): its start, its end, and the text between them. The overlap is a subtraction.
# (Offsets count [code points](../labs/GLOSSARY.md#code-point), not bytes of [UTF-8](../labs/GLOSSARY.md#utf-8).)
#
# There are no pieces to join. Look at as much text as one chunk can hold, and cut it after the last of its strongest separators.
# `"ab cd. ef gh".rfind(". ", 0, 8)` is 5: between 0 and 8, the last `". "` begins there. It is -1 if there is none.
#
# ```
#  a  b  ␣  c  d  .  ␣  e  f  ␣  g  h
#  0  1  2  3  4  5  6  7  8  9 10 11        the first chunk ends at 5 + 2 = 7
# ```
#
# ## Exercise 1.2: find the cut
#
# Exercise 1.3 shows why you need a `floor`.
#
# ```
# find_cut("abcdefghij", 0, 8)      →  8    only "" counts: cut at the limit
# find_cut("ab cdefghij", 0, 8, 2)  →  3    the space ends at 3, after the floor
# find_cut("ab cdefghij", 0, 8, 3)  →  8    3 is not after 3
# find_cut("ab", 0, 8)              →  2    the last "" is at the end of the text
# find_cut("ab", 0, 8, 0, (";",))   →  8    no separator counts: the limit
# ```

# %% exercise="1.2"
from course_lib.loader.recursive import find_cut

# %%
lab.check("1.2", find_cut)

# %%
lab.hint("1.2")  # run again for the next hint

# %% [markdown] tags=["solution"]
# The mistake to remember: to give up at a separator that is found before the floor. It does not count, so the next one has its turn. A
# search from `floor + 1 - len(separator)` finds only what counts: a separator may begin before the floor if it ends after it. The order of the
# separators is the first rule, `rfind` is the second, and nothing is copied.

# %% [markdown]
# ## Exercise 1.3: the whole splitter
#
# The splitter finds the end of a chunk, notes the span, finds the next start, and repeats this. The call
# `next_start(text, end, chunk_overlap, snap_to_words=snap_to_words)` is given. It returns `end - chunk_overlap`, or with
# [`snap_to_words`](../labs/GLOSSARY.md#snap-to-words) the first word that begins in the overlap.
#
# > **Predict.** Take `"ab cdefghij"`, chunks of 8 and an overlap of 3. Without a floor, the first chunk ends at 3. Where does the second
# > one begin, and where does it end?

# %% tags=["nbval-check-output"]
from course_lib.loader.recursive import next_start

find_cut = lab.use("find_cut")
for floor in (0, 3):
    end = find_cut("ab cdefghij", 0, 8, floor)
    print(f"floor {floor}: the first ends at {end}, the second begins at {next_start('ab cdefghij', end, 3)}")

# %% [markdown]
# Without a floor the second chunk is the first one again, and this never ends. So a chunk that begins at `start` must end *after*
# `start + chunk_overlap`.
#
# ![A text as a bar: the next chunk begins one overlap before the cut. Cuts count only after the floor.](../labs/figures/overlap_and_floor.svg)
#
# - First call `check_arguments(text, chunk_size, chunk_overlap, separators)`.
# - If the rest of the text fits into one chunk, it is the last one and needs no cut.
# - Use a loop: Python allows about 1,000 nested calls, and a book has more chunks.
# - Copy only the chunks, never the rest of the text.

# %% exercise="1.3"
from course_lib.loader.recursive import split_text

# %%
lab.check("1.3", split_text)

# %%
lab.hint("1.3")  # run again for the next hint

# %% [markdown] tags=["solution"]
# The mistake to remember: a loop that runs while `start` is before the end of the text makes one more chunk of what the last one already
# holds, and may never end. The loop ends as soon as the rest fits. It keeps one number, the start of the current chunk, and copies characters
# only when a `Span` is made.

# %% [markdown]
# > **Predict.** A longer overlap is safer. What is its price? Move the controls to a size of 100 and an overlap of 96.

# %%
split_text = lab.use("split_text")


def look(size=300, overlap=64):
    return lab.show.spans(page, split_text(page, size, overlap), most=1_500)


lab.interact(look, size=(100, 1000, 50), overlap=(0, 96, 16))

# %% tags=["claim"]
spans = split_text(page, 300, 64)
shared = {left.end - right.start for left, right in zip(spans, spans[1:], strict=False)}
assert shared == {64}, "Violet text is in two chunks, at every cut as much as we asked for"
dense, plain = split_text(page, 100, 96), split_text(page, 100, 0)
assert (len(dense), len(plain)) == (2398, 122), "More chunks: 2,398 instead of 122"

# %% [markdown]
# More chunks: 2,398 instead of 122, all to be encoded and stored. Violet text is in two chunks, at every
# cut as much as we asked for. But a chunk can begin inside a word, unless it snaps to words.

# %% [markdown]
# ## Break it
#
# A splitter that loses a sentence raises no error. So we write down what must be true of *every* text, and let the computer search for
# one for which it is false: a [property-based test](../labs/GLOSSARY.md#property-based-test).
#
# > **Predict.** A colleague strips the white space at both ends of each chunk. For how many of 5,000 random texts is
# > something lost?

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
random, splitters = Random(1), {"split_text": split_text, "stripped": stripped}
failures = {name: [] for name in splitters}
for _ in range(5_000):
    text = "".join(random.choices("ab. \n", k=random.randrange(40)))
    size = random.randint(1, 12)
    overlap = random.randrange(size)
    for name, split in splitters.items():
        if not lossless(text, split(text, size, overlap)):
            failures[name].append(text)
for name, texts in failures.items():
    print(f"{name}: {len(texts)} of 5,000 texts are not whole; the shortest is {min(texts, key=len, default=None)!r}")

# %% [markdown]
# Your splitter loses nothing. With stripped chunks, nine of ten texts are not whole: offsets and text no longer match, and a citation
# shows other words than the chunk.
#
# ## In the field
#
# The best-known recursive splitter is LangChain's
# [`RecursiveCharacterTextSplitter`](https://docs.langchain.com/oss/python/integrations/splitters). It works on pieces, as your first
# version does.
#
# > **Predict.** Is it lossless? How many neighbours overlap?

# %%
from course_lib.records import Span

found = {"split_text": split_text(page, 512, 64)}
try:
    from langchain_text_splitters import RecursiveCharacterTextSplitter
except ImportError:
    print("not installed: pip install langchain-text-splitters, then run this cell again")
else:
    splitter = RecursiveCharacterTextSplitter(chunk_size=512, chunk_overlap=64, add_start_index=True)
    starts = [(one.metadata["start_index"], one.page_content) for one in splitter.create_documents([page])]
    found["LangChain"] = [Span(start, start + len(text), text) for start, text in starts]

# %%
field = pd.DataFrame({"chunks": {name: len(spans) for name, spans in found.items()}})
field["overlaps"] = {name: sum(a.end > b.start for a, b in zip(spans, spans[1:], strict=False)) for name, spans in found.items()}
field["lost characters"] = {name: len(page) - len({at for s in spans for at in range(s.start, s.end)}) for name, spans in found.items()}
field

# %% tags=["claim"]
assert field.loc["split_text", "lost characters"] == 0
if "LangChain" in found:
    assert field.loc["LangChain", "lost characters"] > 0, "removes white space at both ends of each chunk"
    assert field.loc["LangChain", "overlaps"] < field.loc["LangChain", "chunks"] / 2, "most of its neighbours share nothing"

# %% [markdown]
# LangChain removes white space at both ends of each chunk (`strip_whitespace=False` keeps it), and most of its neighbours share
# nothing. Take it if your program uses LangChain already: it knows many languages, and can count
# [tokens](../labs/GLOSSARY.md#token). If you need exact offsets or overlaps, check them.

# %% [markdown]
# ## Measure: which splitter tears sentences?
#
# We call a sentence *torn* if it is whole in no chunk: then no chunk can show it.
#
# > **Predict.** What helps more, good cuts or overlap?

# %%
ends = r"(?<=[.!?:])\s+|\s*\n\s*"
sentences = {(name, one) for name, text in documents.items() for one in re.split(ends, text) if 0 < len(one) <= 128}


# %%
def every(text, size, overlap):
    return [text[at : at + size] for at in range(0, len(text) - overlap, size - overlap)]


def torn(split, *settings):
    whole = {name: [getattr(one, "text", one) for one in split(text, *settings)] for name, text in documents.items()}
    return sum(not any(one in chunk for chunk in whole[name]) for name, one in sentences)


# %%
table = pd.DataFrame(index=pd.Index([128, 256, 512, 1024], name="size"))
for name, split, *overlap in (
    ("fixed", every, 0), ("fixed, overlap 64", every, 64), ("recursive", split_recursively),
    ("on offsets", split_text, 0), ("on offsets, overlap 64", split_text, 64),
):  # fmt: skip
    table[name] = [torn(split, size, *overlap) for size in table.index]
axes = table.plot.line(xlabel="chunk size, characters", ylabel="torn sentences", title=f"Of {len(sentences)} sentences of up to 128 characters")
told = "; ".join(f"{name}: {', '.join(map(str, table[name]))}" for name in table)
lab.alt(axes, f"Torn sentences at sizes of 128, 256, 512 and 1,024 characters. {told}.")
table

# %% tags=["claim"]
assert (table["fixed, overlap 64"] < table["fixed"]).all(), "Overlap repairs many bad cuts"
assert (2 * table["recursive"] < table["fixed, overlap 64"]).all(), "good cuts repair more"
assert (table["recursive"] == table["on offsets"]).all(), "Both of your versions tear the same number"
assert table.loc[256, "on offsets"] < table.loc[256, "on offsets, overlap 64"], "overlap also moves the cuts: at 256 it tears sentences that were whole"

# %% [markdown]
# Overlap repairs many bad cuts, and good cuts repair more: chunks end where a reader would pause. Both of your versions tear the same
# number. But overlap also moves the cuts: at 256 it tears sentences that were whole.
#
# Why then overlap? With 64, a phrase of up to 65 characters is whole in some chunk *wherever* the cuts are, even without full
# stops.
#
# > **Predict.** Does a search find more with good cuts? And with overlap? [Recall@5](../labs/GLOSSARY.md#recallk) is the share of questions
# > with an answer among the first five chunks; *gain* is what `on offsets, 512` adds.

# %%
from types import SimpleNamespace

from course_lib.evaluation.statistics import paired_interval


def passages_of(split, *settings):
    found = [(name, one) for name, text in documents.items() for one in split(text, *settings)]
    return [SimpleNamespace(document_name=name, content=getattr(one, "text", one)) for name, one in found]


# %%
def measure(passages):
    vectors = lab.encode([one.content for one in passages])  # numbers for what each is about: lab 05
    return lab.measure_retrieval(lambda asked: [passages[at] for at in (-vectors @ lab.encode(asked)).argsort(kind="stable")])


# %%
ways = {f"fixed, {size}": (every, size, 0) for size in (380, 400, 512)}
ways |= {"on offsets, 512": (split_text, 512, 0), "on offsets, 512, overlap 64": (split_text, 512, 64)}
passages = {way: passages_of(*how) for way, how in ways.items()}

# %%
results = {way: measure(found) for way, found in passages.items()}
hits = pd.DataFrame({way: [float(one not in result.missed) for one in lab.questions()] for way, result in results.items()})
hits["fixed, mean of the three"] = hits.filter(like="fixed").mean(axis=1)
gains = {way: paired_interval(hits[way], hits["on offsets, 512"]) for way in hits if way != "on offsets, 512"}

# %%
searched = pd.DataFrame({"recall@5": hits.mean().map("{:.2f}".format)})
searched["gain"] = pd.Series({way: str(gain) for way, gain in gains.items()})
searched["chunks"] = pd.Series({way: str(len(found)) for way, found in passages.items()})
searched.fillna("")

# %% tags=["claim"]
assert gains["fixed, mean of the three"].low > 0, "Good cuts find more than the three fixed ones in the mean: the whole interval is above 0"
assert max(gains[way].mean for way in list(ways)[:3]) - min(gains[way].mean for way in list(ways)[:3]) > 0.03, "How much more than one of them is luck"
overlap = gains["on offsets, 512, overlap 64"]
assert overlap.low < 0 < overlap.high, "contains 0: these questions do not decide"

# %% [markdown]
# Good cuts find more than the three fixed ones in the mean: the whole interval is above 0. How much more than one of them is luck. For
# overlap the [interval](../labs/GLOSSARY.md#confidence-interval) contains 0: these questions do not decide. Begin with 512, and
# measure with questions of your own ([lab 16](../labs/16_measuring_retrieval.ipynb)).

# %% [markdown]
# ## Recap
#
# - A recursive splitter splits what is too long at weaker separators. It promises neither overlap nor offsets.
# - On offsets, the overlap is exact, and every chunk has its true place. A floor lets each chunk start later than the one before.
# - Write down what is true for every text, and let the computer search for a counterexample.
# - `course mine split FILE` cuts a file with your functions.
#
# ## Three questions
#
# 1. You split with `chunk_overlap=64`. How long is the longest phrase that is always whole in some chunk, wherever the cuts are?
# 2. Why does the separator stay with the chunk that it ends? What goes wrong if the splitter drops it?
# 3. A program needs the offset of the third chunk of your recursive version. How does it get it?
#
# <details><summary>Answers</summary>
#
# 1. 65 characters. A chunk that cuts it off ends before its last character, so the next one starts at its first, or before.
# 2. Blank lines and full stops would be in no chunk, and a reader could not read on without a gap.
# 3. It adds up the lengths of the first two. With overlap or stripped chunks this is wrong, and `find` may return another place.
#
# </details>

# %% [markdown]
# ## Stretch
#
# 1. Write `lossless` yourself, without looking.
# 2. Windows ends a line with `"\r\n"` ([CRLF](../labs/GLOSSARY.md#crlf)). Count the chunks of `page.replace("\n", "\r\n")` that end at a
#    blank line: what went wrong? Then write `keep_crlf(text, spans)`, so that no span starts or ends between `\r` and `\n`.
# 3. Time `split_text` on up to a megabyte: does it work in [linear time](../labs/GLOSSARY.md#linear-time)? And if you keep the rest of the text
#    after each cut?
#
# **Next.** In a manifest, each line belongs to another line above it, and a cut can separate the two: [lab 02](../labs/02_resource_splitter.ipynb).
# If you only want to search documents, continue with [lab 05](../labs/05_embeddings.ipynb).
