# %% [markdown]
# # 03 · Code splitters
#
# A search over code should return a whole function, and say which one. You will split code at its functions and classes.
#
# **Elective.** It adds a splitter for program code. For you if your system will search code.
#
# | You will be able to | Time | Needs |
# |---|---|---|
# | split code at the lines that begin a definition · find the definitions in a syntax tree · put a header above each part of a large definition | about {minutes} min | lab 01 for spans; regular expressions |

# %% tags=["parameters"]
data_dir = "data/code"
embedding_model = ""

# %%
from course_lib.teaching import start  # "No module named 'course_lib'"? Open the lab with: make lab

lab = start("03", data_dir=data_dir, embedding_model=embedding_model)
files = lab.documents()
lab.show.pipeline("chunks")

# %% [markdown]
# ## A torn answer
#
# `files` holds the source code of Heron, a small platform in Python, Go and shell.
#
# The simplest splitter cuts every 512 characters. For a question, the search compares [embeddings](../labs/GLOSSARY.md#embedding) (lab 05)
# and shows the best piece.

# %%
from course_lib.loader.languages import LANGUAGES
from course_lib.records import Span
from course_lib.teaching.lab.code_files import asking


def fixed_cuts(text, language, size=512):
    parts = [(at, text[at : at + size]) for at in range(0, len(text), size)]
    return [Span(at, at + len(part), part) for at, part in parts]


question = "Why does a column with few values today raise no alarm?"
lab.interact(asking(files, fixed_cuts, lab.encode), question=question)

# %% tags=["claim"]
(torn,) = [
    one for one in fixed_cuts(files["heron/drift.py"], "python") if "def inspect" in one.text
]
assert torn.text.endswith("wolf is swit"), "the piece ends in the middle of a word"
assert torn.text.startswith(" return sum("), "The piece begins with the end of another function"

# %% [markdown]
# The answer begins in this piece. But two things are wrong:
#
# - You cannot read the whole reason: the piece ends in the middle of a word.
# - The piece begins with the end of another function.
#
# ## How much is torn?
#
# `drift.py` has seven functions and classes. Only `inspect` (grey in the figure) is larger than a piece. The other six would fit. A
# definition is *torn* if it is not whole in any piece.
#
# The figure compares cuts every 512 characters with lab 01's [recursive splitter](../labs/GLOSSARY.md#recursive-splitter), which has no
# rule for Python.
#
# > **Predict.** How many of the six does each splitter tear?

# %%
from course_lib.loader import split_text
from course_lib.teaching.lab.code_files import definitions


def recursive(text, language):
    return split_text(text, 512, 64)


drift = files["heron/drift.py"]
outer = [(one.name, one.span) for one in definitions(drift) if one.outer]  # by Python's own parser
splits = {"every 512": fixed_cuts(drift, "python"), "recursive": recursive(drift, "python")}
lab.show.torn(outer, splits, "heron/drift.py")

# %% tags=["claim"]
assert len(outer) == 7, "drift.py has seven functions and classes"
title = lab.show.torn(outer, splits, "heron/drift.py").alt
assert "of 6 that fit, every 512 tears 4, recursive tears 1." in title, (
    "Cuts every 512 characters tear four of the six"
)

# %% [markdown]
# <details><summary>The answer</summary>
#
# Cuts every 512 characters tear four of the six. The recursive splitter tears only one. It prefers to cut at blank lines.
#
# </details>
#
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
# A first rule: cut above each line that begins with `def` or `class`.
#
# > **Predict.** Where would *you* cut this file? Where does the rule cut it?

# %% tags=["nbval-check-output"]
import re

tiny = (
    'import os\n\nPAGE = """\ndef no():\n    pass\n"""\n\n'
    "# Says yes.\n@cached\ndef yes():\n    return PAGE\n"
)
print("-------- cut\n".join(re.split(r"^(?=def |class )", tiny, flags=re.MULTILINE)))

# %% [markdown]
# <details><summary>The answer</summary>
#
# The best cut is above line 8, because the comment and the decorator belong to `yes`. The rule makes two mistakes:
#
# 1. It cuts above line 10. The comment and the decorator of `yes` stay in the piece before.
# 2. It cuts above line 4, which is text in quotes and not a definition.
#
# </details>
#
# ## Exercise 3.1: split at definitions
#
# Repair the first mistake: the comments and decorators above a definition belong to it. Such lines begin with one of `ABOVE`, which is
# `("#", "@", "//")`.
#
# Each language has its own rule, so your function gets the rule as a [regular expression](https://docs.python.org/3/library/re.html), such
# as `LANGUAGES["python"].starts`.

# %% exercise="3.1"
from course_lib.loader.languages import split_definitions

# %%
lab.check("3.1", split_definitions)

# %%
lab.hint("3.1")  # run again for the next hint

# %% [markdown] tags=["solution"]
# The mistake to remember is to look only at the one line above. A definition often has a comment *and* decorators, so go up until a line
# does not belong.

# %% [markdown]
# Your function cuts the small file:

# %%
split_definitions = lab.use("split_definitions")
found = split_definitions(tiny, LANGUAGES["python"].starts)
print("-------- cut\n".join(piece.text for _, piece in found))

# %% tags=["claim"]
by_rule = [piece.text for _, piece in split_definitions(tiny, LANGUAGES["python"].starts)]
assert by_rule[-1].startswith("# Says yes.\n@cached\ndef yes"), (
    "The comment and the decorator are now with yes"
)
assert by_rule[1].startswith("def no"), "the cut above line 4 is still there"

# %% [markdown]
# The comment and the decorator are now with `yes`. But the cut above line 4 is still there.
#
# ## Ask a parser
#
# The rule looks at one line, so it cannot know that line 4 is in quotes. A parser can, for example
# [tree-sitter](https://tree-sitter.github.io). It turns a text into a [syntax tree](../labs/GLOSSARY.md#syntax-tree). Each node is a part
# of the text, such as a class. The nodes below it are its parts.
#
# > **Predict.** The next cell shows the nodes directly below the root of `tiny`. At which lines do they begin?

# %%
import pandas as pd

from course_lib.loader.languages import parse_source

rows = [
    (one.start_point.row + 1, one.end_point.row + 1, one.type, one.text.decode().partition("\n")[0])
    for one in parse_source(tiny, "python").named_children
]
nodes = pd.DataFrame(rows, columns=["from line", "to line", "type", "begins with"])
nodes

# %% tags=["claim"]
assert nodes["from line"].to_list() == [1, 3, 8, 9], "The nodes begin at lines 1, 3, 8 and 9"
assert nodes.iloc[1, :3].to_list() == [3, 6, "expression_statement"], (
    "the text in quotes is part of the node that begins at line 3"
)
assert nodes.iloc[-1, :3].to_list() == [9, 11, "decorated_definition"], (
    "Decorator and function are one node"
)

# %% [markdown]
# <details><summary>The answer</summary>
#
# The nodes begin at lines 1, 3, 8 and 9. No node begins at line 4, because the text in quotes is part of the node that begins at line 3.
# Decorator and function are one node, so they stay together. The comment is a separate node.
#
# </details>
#
# ## Exercise 3.2: find the definitions
#
# Which nodes should become pieces? In the example below, the function `turn` is inside an `if`, and the method `grind` is inside the class
# `Mill`. Two simple answers fail there:
#
# - *Only the definitions directly below the root.* Then `turn` is not found.
# - *All definitions.* Then the lines of `grind` are in two pieces: in that of `grind` and in that of `Mill`.
#
# So decide where to look, and where to stop. `node.named_children` is the list of the nodes directly below a node.

# %% exercise="3.2"
from course_lib.loader.languages import find_definitions

# %%
lab.check("3.2", find_definitions)

# %%
lab.hint("3.2")  # run again for the next hint

# %% [markdown] tags=["solution"]
# The mistake to remember is a function that calls itself for each child. It fails on a file with thousands of nested brackets. A list of
# waiting nodes has no such limit.

# %% [markdown]
# ## Break it
#
# Heron's file `scaffold.py` writes code from templates. We wrote text into it that looks like code. The next cell finds each line that the
# rule takes for a definition, and asks the tree.
#
# > **Predict.** The rule takes five lines. How many of them really begin a definition?

# %%
from course_lib.loader.languages import definition_of

find_definitions = lab.use("find_definitions")
scaffold, python = files["heron/scaffold.py"], LANGUAGES["python"]
tree = find_definitions(parse_source(scaffold, "python"), python.definitions)
real = {definition_of(node).start_point.row + 1 for node in tree}
rows = {}
for match in re.finditer(python.starts, scaffold, re.MULTILINE):
    number = scaffold.count("\n", 0, match.start()) + 1
    text = scaffold.splitlines()[number - 1]
    rows[number] = text[:60], "a definition" if number in real else "only text"
pd.DataFrame(rows, index=["line that matches the rule", "in the tree"]).T

# %% tags=["claim"]
assert [verdict for _, verdict in rows.values()].count("a definition") == 2 and len(rows) == 5, (
    "Two of the five lines are definitions"
)

# %% [markdown]
# <details><summary>The answer</summary>
#
# Two of the five lines are definitions. The others are only text.
#
# </details>
#
# ## Too large, and without context
#
# So far, a piece is a whole definition, even a very long one. But a model [ignores](../labs/GLOSSARY.md#truncation) the end of a text that
# is too long for it. To stay below this, the course's limit is 512 characters. A larger class is cut at its methods, and a larger method at
# its blank lines.
#
# But nothing in a later part says which method it is from. So we put a [header](../labs/GLOSSARY.md#header) above the part. It consists of
# *signatures*: the lines that introduce the class and the method.
#
# Header and part together must fit into 512 characters, so some signatures may not fit. Suppose that the header may have 90 characters. Two
# simple ideas: cut the signatures off there, or take only the first one.
#
# > **Predict.** What does each idea show of the method `_score_batch` of the class `Scorer`?


# %%
def lines_of(name, first, last):
    return "".join(files[name].splitlines(keepends=True)[first - 1 : last])


signatures = {
    "_score_batch": [lines_of("heron/scoring.py", 38, 38), lines_of("heron/scoring.py", 62, 62)],
    "_request": [lines_of("heron/client.py", 48, 48), lines_of("heron/client.py", 85, 87)],
}


# %%
def cut_off(signatures, room):
    return "".join(signatures)[:room] + "\n"


def first_only(signatures, room):
    return signatures[0]


def show_headers(choose, room=90):
    for name, given in signatures.items():
        print(f"--- {choose.__name__}, above a part of {name}\n{choose(given, room)}")


show_headers(cut_off)
show_headers(first_only)

# %% tags=["claim"]
at_90 = {name: (cut_off(given, 90), first_only(given, 90)) for name, given in signatures.items()}
assert at_90["_score_batch"][0].endswith("-> list[Forec\n"), (
    "The first idea ends in the middle of a name"
)
assert at_90["_score_batch"][1] == "class Scorer:\n", "The second shows only the class"

# %% [markdown]
# <details><summary>The answer</summary>
#
# The first idea ends in the middle of a name. The second shows only the class, so all methods of the class get the same header.
#
# </details>
#
# ## Exercise 3.3: choose the header
#
# Your function decides what a header keeps when there is little room. The *innermost* signature is the one directly around a part.

# %% exercise="3.3"
from course_lib.loader.code import choose_header

# %%
lab.check("3.3", choose_header)

# %%
lab.hint("3.3")  # run again for the next hint

# %% [markdown] tags=["solution"]
# The candidates become shorter and shorter: take the first one that fits. The mistake to remember is to return the first line without its
# line end. Then the part begins on the same line.

# %% [markdown]
# The same parts with your function (move the control):

# %%
choose_header = lab.use("choose_header")
lab.interact(lambda room=90: show_headers(choose_header, room), room=(0, 200, 10))

# %% tags=["claim"]
chosen = [choose_header(given, 90) for given in signatures.values()]
assert all(name in header for name, header in zip(signatures, chosen, strict=True)), (
    "With 90 characters, each part has the name of its method above it"
)
assert not any("class" in header for header in chosen), "but not of its class"

# %% [markdown]
# With 90 characters, each part has the name of its method above it, but not of its class.
#
# ## The whole splitter
#
# `split_code` does all of this. A definition that fits into 512 characters stays whole. In a larger one, it looks for definitions again. If
# there are none, it cuts as in lab 01.
#
# A parser needs a file without syntax errors. Suppose that `drift.py` begins with an unfinished line, `x = f(`.
#
# > **Predict.** The file has seven functions and classes. How many of them are in the tree? How many does `split_definitions` find?

# %% tags=["nbval-check-output"]
from course_lib.loader import split_code

broken = "x = f(\n" + drift
print("tree:", len(find_definitions(parse_source(broken, "python"), python.definitions)))
print("split_definitions:", sum(bool(name) for name, _ in split_definitions(broken, python.starts)))

# %% [markdown]
# <details><summary>The answer</summary>
#
# Here, the tree has none of the seven: the open bracket hides all code after it. `split_definitions` finds all seven. So for a file with a
# syntax error, `split_code` first uses `split_definitions`.
#
# </details>
#
# > **Predict.** `inspect` is too large for one piece. What is above the part with the answer?

# %%
lab.interact(asking(files, split_code, lab.encode), question=question)

# %% tags=["claim"]
parts = [one for one in split_code(drift, "python") if one.name == "inspect"]
answer = parts[1]
assert "an alarm that cries wolf is switched off." in answer.text, (
    "Now you can read the sentence to its end"
)
assert answer.header == lines_of("heron/drift.py", 71, 77), "The whole signature of inspect"

# %% [markdown]
# <details><summary>The answer</summary>
#
# The whole signature of `inspect` is above this part, in the lines with `>`. Now you can read the sentence to its end.
#
# </details>
#
# ## Measure: how much stays whole?
#
# The field has three more splitters:
#
# - `by lines` is your `split_definitions`. Lab 01's splitter then cuts the pieces that are too large.
# - `no header` has the pieces of `split_code`, without headers.
# - [LangChain's text splitters](https://docs.langchain.com/oss/python/integrations/splitters) use lab 01's algorithm with other separators.
#
# Only `every 512` never repeats text.


# %%
def by_lines(text, language):
    for _, piece in split_definitions(text, LANGUAGES[language].starts):
        for part in split_text(piece.text, 512, 64):
            yield Span(piece.start + part.start, piece.start + part.end, part.text)


def no_header(text, language):
    return [Span(one.start, one.end, one.text) for one in split_code(text, language)]


field = {"every 512": fixed_cuts, "recursive": recursive, "by lines": by_lines}
field |= {"no header": no_header, "split_code": split_code}

# %%
try:
    from langchain_text_splitters import RecursiveCharacterTextSplitter
except ImportError:
    print("not installed: pip install langchain-text-splitters, then run this cell again")
else:

    def by_langchain(text, language):
        sizes = {"chunk_size": 512, "chunk_overlap": 64, "add_start_index": True}
        if language == "shell":  # LangChain has no separators for shell
            made = RecursiveCharacterTextSplitter(**sizes)
        else:
            made = RecursiveCharacterTextSplitter.from_language(language, **sizes)
        for found in made.create_documents([text]):
            start = found.metadata["start_index"]
            yield Span(start, start + len(found.page_content), found.page_content)

    field["LangChain"] = by_langchain

# %% [markdown]
# The figure is about Python's standard library and the package `kfp`. Of the definitions that fit into a piece, it shows how many stay
# whole. *At the margin* counts only those that are not indented.
#
# > **Predict.** Which splitter keeps most definitions whole?

# %%
from course_lib.teaching.lab.code_files import kept_whole, real_sources

sources, columns = real_sources(), ["all definitions", "at the margin"]
whole = pd.DataFrame({name: kept_whole(split, sources) for name, split in field.items()}, columns).T
lab.show.bars(whole.drop("no header"), "definitions that stay whole, %", digits=1)

# %% tags=["claim"]
of_all, margin = whole["all definitions"], whole["at the margin"]
assert margin["by lines"] > 98 and 85 < of_all["by lines"] < 95, (
    "by lines keeps nearly every definition at the left margin, but of all definitions only nine of ten"
)
assert of_all["recursive"] > 80, "it kept more than four fifths of the definitions whole"
assert of_all["split_code"] > 99, "`split_code` keeps nearly all definitions whole"

# %% [markdown]
# <details><summary>The answer</summary>
#
# `split_code` keeps nearly all definitions whole, because it was made to. `by lines` keeps nearly every definition at the left margin, but
# of all definitions only nine of ten. `recursive` does not know definitions, and still keeps more than four fifths of them whole.
#
# </details>
#
# ## Measure: does it find more?
#
# The next cell asks 54 questions about Heron. How often is the answer among a splitter's first five pieces
# ([recall@5](../labs/GLOSSARY.md#recallk))? The figure shows what `split_code` gains over each of the others, with
# [intervals](../labs/GLOSSARY.md#confidence-interval).
#
# > **Predict.** Over which splitters is the whole interval of its gain above 0?

# %%
from course_lib.evaluation.statistics import paired_interval
from course_lib.teaching.lab.code_files import search_over

asked, hits = lab.questions(), {}
for name, split in field.items():
    missed = lab.measure_retrieval(search_over(files, split, lab.encode)).missed
    hits[name] = [one not in missed for one in asked]
print(f"found, of {len(asked)}:", {name: sum(hit) for name, hit in hits.items()})
ours = hits.pop("split_code")
gains = {f"over {name}": paired_interval(hit, ours) for name, hit in hits.items()}
gains = pd.DataFrame(gains, index=["mean", "low", "high"]).T
lab.show.intervals(gains, "gain of split_code in recall@5")

# %% tags=["claim"]
assert len(asked) == 54
assert gains.low["over every 512"] > 0, "`split_code` finds more than `every 512`"
over = gains.drop(["over every 512", "over LangChain"], errors="ignore")
assert (over.low <= 0).all(), "Its intervals over the others reach 0"
assert sum(ours) - sum(hits["no header"]) == 1, "The headers alone gain one question"
if "LangChain" in hits:
    assert gains.low["over LangChain"] > 0, "and than LangChain"

# %% [markdown]
# <details><summary>The answer</summary>
#
# `split_code` finds more than `every 512` and than LangChain: these two intervals are above 0. But of several intervals, one can be above 0
# by luck.
#
# Its intervals over the others reach 0. So these questions cannot tell whether it finds more than `recursive`, which needs no parser. The
# headers alone gain one question: compare `no header` with `split_code`.
#
# </details>

# %% [markdown]
# ## Recap
#
# - **At work**, begin with lab 01's splitter: it kept more than four fifths of the definitions whole, and with these 54 questions
#   `split_code` does not surely find more.
# - For a language without a grammar, use a regular expression.
# - A syntax tree needs one more package, and a grammar for each language. Use it if methods must stay whole, or if code contains code as
#   text.
# - If you cut a definition, a header says where each part is from.

# %% [markdown]
# ## Three questions to test yourself
#
# 1. A decorator has three lines, so the line directly above `def train` is `)`. In which piece does `split_definitions` put the decorator?
# 2. Why does `find_definitions` not search inside a definition?
# 3. What would happen if the header did not count towards the limit?
#
# <details><summary>Answers</summary>
#
# 1. It puts the decorator in the piece before `train`, because `)` does not begin with one of `ABOVE`.
# 2. Otherwise a method would be in two pieces: its own and that of its class.
# 3. Some texts would be too long. A model could ignore their end.
#
# </details>

# %% [markdown]
# ## Stretch
#
# Split a file of your own: `split_code(open("…", encoding="utf-8").read(), "python")`.
#
# **Next.** [Lab 04](../labs/04_chunk_contract.ipynb): when an index is made again every night, what may be skipped?
