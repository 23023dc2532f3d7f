# %% [markdown]
# # 03 · Code splitters
#
# You will split source code where its authors would split it: at its functions and classes.
#
# | You will be able to | Time | Needs |
# |---|---|---|
# | split Python, Go and shell at the lines that begin a definition · find the definitions in a syntax tree · put a header above each part of a large definition | about {minutes} min | lab 01 for spans; regular expressions |

# %% tags=["parameters"]
data_dir = "data/code"
embedding_model = ""

# %%
from course_lib.teaching import start  # "No module named 'course_lib'"? Open the lab with: make lab

lab = start("03", data_dir=data_dir, embedding_model=embedding_model)
files = lab.documents()
lab.show.pipeline("chunks")

# %% [markdown]
# ## Ask the code
#
# `files` holds the source code of Heron, a small platform that forecasts how many bicycles will be hired, in Python, Go and shell. The
# course's `split_code` splits it; you will write the three functions that decide where. The search compares
# [embeddings](../labs/GLOSSARY.md#embedding), which lab 05 explains.

# %%
import pandas as pd

from course_lib.loader import split_code
from course_lib.loader.languages import language_of

spans = [(name, span) for name, text in files.items() for span in split_code(text, language_of(name))]
vectors = lab.encode([span.header + span.text for _, span in spans])


pd.set_option("display.max_colwidth", None)


def ask(question):
    table = pd.DataFrame([(name, one.line_start, one.kind, one.name, one.text[:230]) for name, one in spans])
    table.columns = ["file", "from line", "kind", "name", "text"]
    return table.assign(similarity=vectors @ lab.encode(question)).nlargest(3, "similarity")


# %%
question = "Why does a column with few values today raise no alarm?"
lab.interact(ask, question=question)

# %% tags=["claim"]
assert ask(question).iloc[0][["file", "name"]].to_list() == ["heron/drift.py", "inspect"], "The answer is in the function inspect"
assert "an alarm that cries wolf is switched off" in ask(question).iloc[0].text, "an alarm that cries wolf is switched off"

# %% [markdown]
# The answer is in the function `inspect`: "an alarm that cries wolf is switched off". Type your own.
#
# ## A function in two pieces
#
# The simplest splitter cuts every 512 characters. Lab 01's [recursive splitter](../labs/GLOSSARY.md#recursive-splitter) has no rule for
# Python. The table shows the text at each cut; the figure shows the torn definitions, which no piece holds whole.
#
# > **Predict.** With cuts every 512 characters, how many of the first five results hold the sentence whole?

# %%
from itertools import pairwise

from IPython.display import display

from course_lib.loader import split_text
from course_lib.records import Span
from course_lib.teaching.lab.code_files import definitions, search_over


def fixed_cuts(text, language, size=512):
    return [Span(at, min(at + size, len(text)), text[at : at + size]) for at in range(0, len(text), size)]


def recursive(text, language):
    return split_text(text, 512, 64)


# %%
found = search_over(files, fixed_cuts, lab.encode)(question)
holds = ["an alarm that cries wolf is switched off" in one.content for one in found]
print(sum(holds), "of the first five results hold the sentence whole")
drift = files["heron/drift.py"]
outer = [(one.name, one.span) for one in definitions(drift) if one.outer]  # by Python's own parser
splits = {"every 512": fixed_cuts(drift, "python"), "recursive": recursive(drift, "python")}
sides = [(repr(left.text[-36:]), repr(right.text[:36])) for left, right in pairwise(splits["every 512"])]
display(pd.DataFrame(sides, columns=["a piece ends with", "and the next begins with"]))
lab.show.torn(outer, splits, "heron/drift.py")


# %% tags=["claim"]
def whole_in(pieces):
    return sum(any(piece.start <= one.start and one.end <= piece.end for piece in pieces) for _, one in outer)


assert not any(holds) and any(one.text.endswith("wolf is swit") for one in splits["every 512"]), "None: a cut goes through the word switched"
ends = [one.text for one in splits["every 512"]]
assert ends[0].endswith("@dataclass(frozen") and ends[1].endswith("def qu"), "others through a decorator and a name"
assert whole_in(splits["recursive"]) > len(outer) / 2 > whole_in(splits["every 512"]), "keeps most definitions whole, but only by accident"

# %% [markdown]
# None: a cut goes through the word *switched*, others through a decorator and a name. The recursive splitter keeps most definitions whole, but only by accident: it prefers
# blank lines, and there are blank lines between functions.

# %% [markdown]
# ## By hand, once
#
# ```
#  1  import os                      8  # Says yes.
#  2                                 9  @cached
#  3  PAGE = """                    10  def yes():
#  4  def no():                     11      return PAGE
#  5      pass
#  6  """
# ```
#
# Take this rule: a line that begins with `def` or `class` at the left margin begins a definition.
#
# > **Predict.** Where would *you* cut this file? Where does the rule cut it?

# %% tags=["nbval-check-output"]
from re import MULTILINE, findall

tiny = 'import os\n\nPAGE = """\ndef no():\n    pass\n"""\n\n# Says yes.\n@cached\ndef yes():\n    return PAGE\n'
rule = r"^(?:async )?(?:def|class) (\w+)"
print("by the rule:", findall(rule, tiny, MULTILINE))

# %% [markdown]
# The best cut is above line 8: a comment or decorator belongs to the definition below it. The rule cuts at line 10, and also at
# line 4, which is text in quotes.
#
# ## Lines that look like definitions
#
# The rule is sometimes wrong, but it needs only a [regular expression](https://docs.python.org/3/library/re.html) for each language, and
# no parser. `LANGUAGES` has a row for each; `LANGUAGES["python"].starts` is the rule from above. Its group `name` matches the name.
#
# ## Exercise 3.1: split at definitions
#
# You decide where a definition begins. `ABOVE` is `("#", "@", "//")`. `re.finditer` yields matches with `match.start()` and
# `match["name"]`; `text.rfind("\n", 0, at)` searches backwards; `text.startswith(ABOVE, at)` tests the text at an offset.

# %% exercise="3.1"
from course_lib.loader.languages import split_definitions

# %%
lab.check("3.1", split_definitions)

# %%
lab.hint("3.1")  # run again for the next hint

# %% [markdown] tags=["solution"]
# The mistake to remember: to look only at the one line above. A definition often has a comment *and* decorators, so go up until a line
# does not belong. The dict maps the start of each piece to its name. Each piece ends where the next one begins, so no text is lost.

# %%
from course_lib.loader.languages import LANGUAGES, parse_source

split_definitions = lab.use("split_definitions")
split_at = {}
for name in ("operator/explain.go", "scripts/backup.sh"):
    split_at[name] = [one for one, _ in split_definitions(files[name], LANGUAGES[language_of(name)].starts)]
    print(name, "split at:", *split_at[name][1:])

# %% tags=["claim"]
in_go, in_shell = split_at.values()
assert {"fake", "Fake"} <= {*in_go} and "pretend" in in_shell, "three of these definitions do not exist"

# %% [markdown]
# The same function splits Go and shell. But three of these definitions do not exist: `fake` and `Fake` are in a
# [raw string](../labs/GLOSSARY.md#raw-string) of the Go file, and `pretend` is in a [heredoc](../labs/GLOSSARY.md#heredoc), a text over
# several lines in the shell script. Only a parser for the language can tell this.

# %% [markdown]
# ## Ask a parser
#
# [tree-sitter](https://tree-sitter.github.io) has grammars for most languages in use. It returns a
# [syntax tree](../labs/GLOSSARY.md#syntax-tree) for any text: what breaks the grammar becomes a node called `ERROR`, and the rest becomes
# normal nodes.
#
# > **Predict.** Which nodes does `tiny` have at its left margin? Which does a file have if a bracket in it is never closed?

# %%
rows = []
for name, source in {"tiny": tiny, "broken": "def a():\n    return (\n\ndef b():\n    pass\n"}.items():
    for node in parse_source(source, "python").named_children:
        rows.append((name, node.start_point.row + 1, node.end_point.row + 1, node.type, node.has_error))
nodes = pd.DataFrame(rows, columns=["file", "from line", "to line", "type", "contains an ERROR"])
nodes

# %% tags=["claim"]
in_tiny, in_broken = nodes[nodes.file == "tiny"], nodes[nodes.file == "broken"]
assert in_tiny["from line"].to_list() == [1, 3, 8, 9], "The string is part of one node, and decorator and function are another"
assert in_broken["contains an ERROR"].to_list() == [True, False], "In the broken file, b is still found: the ERROR node is inside a"

# %% [markdown]
# The string is part of one node, and decorator and function are another. In the broken file, `b` is still found: the `ERROR` node is
# inside `a`.

# %% [markdown]
# ## Exercise 3.2: find the definitions
#
# You decide which nodes are pieces. A definition can also be inside an `if`, a `try` or a loop. `node.named_children` is the list of
# the nodes directly below a node. `LANGUAGES["python"].definitions` has the types for Python.

# %% exercise="3.2"
from course_lib.loader.languages import find_definitions

# %%
lab.check("3.2", find_definitions)

# %%
lab.hint("3.2")  # run again for the next hint

# %% [markdown] tags=["solution"]
# The mistake to remember: a function that calls itself for each child. It is shorter, and fails on a file with thousands of
# nested brackets. A list of waiting nodes has no such limit. The children are added in reverse order, so that `pop()` returns them in the
# order of the text.

# %%
find_definitions = lab.use("find_definitions")
counts = {}
for name in ("operator/explain.go", "scripts/backup.sh", "heron/scaffold.py"):
    language = LANGUAGES[language_of(name)]
    by_tree = find_definitions(parse_source(files[name], language_of(name)), language.definitions)
    counts[name] = len(findall(language.starts, files[name], MULTILINE)), len(by_tree)
counts = pd.DataFrame(counts, index=["lines that match the rule", "definitions in the tree"]).T
counts

# %% tags=["claim"]
assert (counts.iloc[:, 0] > counts.iloc[:, 1]).all() and counts.iloc[2, 0] > 2 * counts.iloc[2, 1], "most lines that match are text"

# %% [markdown]
# The tree has only the real definitions. In `scaffold.py`, which writes code from templates, most lines that match are text.
#
# ## Too large, and without context
#
# MiniLM reads only 256 [word pieces](../labs/GLOSSARY.md#word-piece) and [ignores the rest](../labs/GLOSSARY.md#truncation). 512
# characters of code are nearly always fewer, so this is our limit. A larger class is cut at its methods, a larger method at
# blank lines. Then a part can begin with `return [forecast for part in parts …]`. From which class is it?
#
# A [header](../labs/GLOSSARY.md#header) above the part says so. It holds *signatures*, the lines that introduce the class and the
# method. Both are embedded together, so together they must fit.

# %% [markdown]
# ## Exercise 3.3: choose the header
#
# You decide what a header keeps when there is little room. It has whole lines only: half a line could show a wrong name.
#
# ```
# signatures = ["class Mill:\n", "    def grind(\n        self, corn\n    ):\n"]
# choose_header(signatures, 80)  →  all four lines
# choose_header(signatures, 50)  →  "    def grind(\n        self, corn\n    ):\n"
# choose_header(signatures, 20)  →  "    def grind(\n"
# choose_header(signatures, 10)  →  ""
# ```

# %% exercise="3.3"
from course_lib.loader.code import choose_header

# %%
lab.check("3.3", choose_header)

# %%
lab.hint("3.3")  # run again for the next hint

# %% [markdown] tags=["solution"]
# The mistake to remember: to shorten the joined signatures from the end, or to keep the first of them. Then only the class is left, and all
# parts of its methods have the same header. The innermost signature says most about the part.

# %% [markdown]
# These are signatures from Heron's code. Move the control.
#
# > **Predict.** Of the three headers, which show a class if there is room for 100 characters?


# %%
def lines(name, first, last):
    return "".join(files[name].splitlines(keepends=True)[first - 1 : last])


signatures = {
    "_score_batch": [lines("heron/scoring.py", 38, 38), lines("heron/scoring.py", 62, 62)],
    "_request": [lines("heron/client.py", 48, 48), lines("heron/client.py", 85, 87)],
    "inspect": [lines("heron/drift.py", 71, 77)],
}


# %%
choose_header = lab.use("choose_header")


def headers(room=100):
    for name, given in signatures.items():
        header = choose_header(given, room)
        print(f"--- {name}: {len(header)} characters, {512 - len(header)} are left for the part\n{header}")


lab.interact(headers, room=(0, 240, 10))

# %% tags=["claim"]
at_100 = [choose_header(given, 100) for given in signatures.values()]
assert ["class" in header for header in at_100] == [True, False, False], "Only the first one shows its class"
assert at_100[1:] == ["    def _request(\n", "def inspect(\n"], "the others have room for one line"

# %% [markdown]
# Only the first one shows its class; the others have room for one line (`inspect` is in no class). A long header says more, but leaves less for the part, so there
# are more parts. `split_code` gives a header up to 224 of the 512 characters.
#
# ## The whole splitter
#
# `split_code` calls these three functions. A definition that fits stays whole, with the comments above it if they fit, too. Inside a
# larger one, it looks for definitions again; if there are none, it cuts as in lab 01. If a file breaks the grammar, it first calls
# `split_definitions` and then splits each piece separately: an `ERROR` node can reach to the end of the file.
#
# > **Predict.** Heron's method `_score_batch` is cut into parts. What is the header of the part at line 67?

# %%
scoring = pd.DataFrame(split_code(files["heron/scoring.py"], "python"))
cut_short = [[line.split("(")[0].strip() for line in header.splitlines()] for header in scoring.header]
scoring[["line_start", "line_end", "kind", "name"]].assign(header=cut_short)

# %% tags=["claim"]
assert dict(zip(scoring.line_start, cut_short, strict=True))[67] == ["class Scorer:", "async def _score_batch"], (
    "It has two signatures, here cut short: the class and the method"
)

# %% [markdown]
# It has two signatures, here cut short: the class and the method.

# %% [markdown]
# ## In the field
#
# [LangChain's text splitters](https://docs.langchain.com/oss/python/integrations/splitters) use lab 01's algorithm with other
# separators: for Python `"\nclass "`, `"\ndef "`, `"\n\tdef "`, then blank lines. `by lines` is your `split_definitions`, with lab
# 01's splitter for each piece that is still too large.
#
# We compare them on code that was not written for this course, from Python's standard library and the `kfp` package. We count the
# definitions of at most 512 characters, methods and inner functions too.
#
# > **Predict.** What share does each splitter keep whole? Which one is LangChain most similar to?


# %%
def by_lines(text, language):
    for _, piece in split_definitions(text, LANGUAGES[language].starts):
        for part in split_text(piece.text, 512, 64):
            yield Span(piece.start + part.start, piece.start + part.end, part.text)


splitters = {"every 512": fixed_cuts, "recursive": recursive, "by lines": by_lines, "split_code": split_code}
field = dict(splitters)

# %%
try:
    from langchain_text_splitters import RecursiveCharacterTextSplitter
except ImportError:
    print("not installed: pip install langchain-text-splitters, then run this cell again")
else:

    def by_langchain(text, language):
        made = RecursiveCharacterTextSplitter.from_language(language, chunk_size=512, chunk_overlap=64, add_start_index=True)
        for found in made.create_documents([text]):
            start = found.metadata["start_index"]
            yield Span(start, start + len(found.page_content), found.page_content)

    field["LangChain"] = by_langchain

# %%
from course_lib.teaching.lab.code_files import kept_whole, real_sources

sources = real_sources()
kept = {name: kept_whole(split, sources) for name, split in field.items()}  # takes 10 to 20 seconds
kept = pd.DataFrame(kept, index=["all definitions", "at the left margin"]).T
axes = kept[::-1].plot.barh(xlabel="kept whole, % of the definitions")
told = "; ".join(f"{name}: {row.iloc[0]:.0f} and {row.iloc[1]:.0f}" for name, row in kept.iterrows())
lab.alt(axes, f"Definitions kept whole in per cent, of all and of those at the left margin. {told}.")

# %% tags=["claim"]
of_all, margin = kept["all definitions"], kept["at the left margin"]
assert margin["by lines"] > 98 and of_all["by lines"] < 95, "A regular expression keeps nearly every definition at the left margin whole"
assert of_all["split_code"] > 99, "with the tree, those stay whole"
assert of_all["recursive"] - of_all["every 512"] > (of_all["split_code"] - of_all["every 512"]) / 2, (
    "Blank lines alone do more than half of the work"
)
if "LangChain" in field:
    assert (of_all.drop("LangChain") - of_all["LangChain"]).abs().idxmin() == "by lines", "LangChain is close to by lines"

# %% [markdown]
# A regular expression keeps nearly every definition at the left margin whole, and tears some inside classes; with the tree, those stay
# whole. Blank lines alone do more than half of the work. LangChain is close to `by lines`, with one line of code: take it for many
# languages without a parser. Its pieces have no names, kinds or headers.

# %% [markdown]
# ## Break it
#
# This file has a decorator of three lines, and its last function is not finished.
#
# > **Predict.** In which piece does your `split_definitions` put the decorator? What does `ast`, Python's own parser, say about the file?

# %% tags=["nbval-check-output"]
draft = "@task(\n    retries=3,\n)\ndef train(rows):\n    return rows\n\n\ndef evaluate(\n"
for name, piece in split_definitions(draft, LANGUAGES["python"].starts):
    print(f"by lines    {name!r}: {piece.text!r}")
for span in split_code(draft, "python"):
    print(f"split_code  {span.name!r}: {span.text!r}")
try:
    definitions(draft)
except SyntaxError as error:
    print("ast        ", error.msg)

# %% [markdown]
# In the piece before: the line above `def train` is `)`, which does not begin with one of `ABOVE`. `split_code` does the same here,
# because the last line breaks the grammar. `ast` cannot read an unfinished file at all.

# %% [markdown]
# ## Measure
#
# We ask all labelled questions about Heron; only the splitter differs. [Recall@5](../labs/GLOSSARY.md#recallk) is the share with an
# answer among the first five results, and [MRR](../labs/GLOSSARY.md#mrr) is higher if it is further up. The questions are the same, so
# we compare question by question. If the [interval](../labs/GLOSSARY.md#confidence-interval) (lab 16) of the mean difference contains
# 0, the questions do not decide.
#
# > **Predict.** Which splitters are better than cuts every 512 characters, with the whole interval above 0?

# %%
results = {name: lab.measure_retrieval(search_over(files, split, lab.encode)) for name, split in splitters.items()}
hits = {name: [one not in result.missed for one in lab.questions()] for name, result in results.items()}

# %%
from course_lib.evaluation.statistics import paired_interval

measured = pd.DataFrame({name: (result.recall, result.mrr) for name, result in results.items()}, index=["recall@5", "MRR"]).T
gain = {(base, name): paired_interval(hits[base], hits[name]) for base in ("every 512", "recursive") for name in splitters}
for base in ("every 512", "recursive"):
    measured[f"recall gained on {base}"] = pd.Series({name: str(gain[base, name]) for name in splitters if name != base})
measured.round(2).fillna("")

# %% tags=["claim"]
on_fixed = {name: gain["every 512", name] for name in splitters}
assert on_fixed["split_code"].low > 0 and on_fixed["recursive"].low < 0 and on_fixed["by lines"].low < 0, "Only split_code"
assert gain["recursive", "split_code"].low < 0 < gain["recursive", "split_code"].high, "On recursive, its gain has an interval that contains 0"

# %% [markdown]
# Only `split_code`. On `recursive`, its gain has an interval that contains 0: between these two, the questions do not decide. But the pieces
# of `split_code` also have names, lines and kinds, which you can show, filter by and cite.

# %% [markdown]
# ## Recap
#
# - A regular expression finds lines that look like definitions; a syntax tree finds the real ones.
# - A piece includes the comments and decorators directly above its definition.
# - A part of a large definition gets a header: the signatures of its class and method, as many as fit.
#
# ## Three questions to test yourself
#
# 1. A language has a row in `LANGUAGES`, but no grammar. What can go wrong with a file in this language?
# 2. Why does `find_definitions` not search inside a definition that it has found?
# 3. What would happen if the header did not count towards the limit of 512 characters?
#
# <details><summary>Answers</summary>
#
# 1. If a line in a string looks like a definition, `split_code` cuts there. No text is lost, but a piece begins inside the string.
# 2. Otherwise a method would be in two pieces: its own and that of its class.
# 3. The model would ignore the end of some parts, without an error, and a search could not find it.
#
# </details>

# %% [markdown]
# ## Stretch
#
# 1. Put kind and name above *every* piece: `dataclasses.replace(span, header=…)` makes the new spans of `split_code`, and
#    `search_over` embeds the header. Does the interval contain 0?
# 2. Which of LangChain's pieces of `drift.py` end with a decorator that belongs to the next piece? Why?
# 3. How many of your pieces are larger than 512 characters?
#
# **Next.** [Lab 04](../labs/04_chunk_contract.ipynb) shows the record format of these pieces, and how to find out which pieces have changed.
