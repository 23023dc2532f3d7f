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
from course_lib.teaching.lab.code_files import asking
from course_lib.teaching.lab.retrieval import cut_fixed


def fixed_cuts(text, language):
    return cut_fixed(text, 512, 0)


question = "Why does a column with few values today raise no alarm?"
lab.interact(asking(files, fixed_cuts, lab.encode), question=question)

# %% tags=["claim"]
(torn,) = [
    one for one in fixed_cuts(files["heron/drift.py"], "python") if "def inspect" in one.text
]
assert torn.text.endswith("wolf is swit"), "the piece ends in the middle of a word"
assert torn.text.startswith(" return sum("), "The piece begins with the end of another function"
from course_lib.teaching.lab.code_files import search_over

shown = search_over(files, fixed_cuts, lab.encode)(question)[0]
assert shown.content == torn.text, "The answer begins in this piece"

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

from course_lib.loader.languages import LANGUAGES

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
from course_lib.loader.languages import parse_source

for node in parse_source(tiny, "python").named_children:
    print(f"lines {node.start_point.row + 1} to {node.end_point.row + 1}: {node.type}")

# %% tags=["claim"]
nodes = parse_source(tiny, "python").named_children
places = [(one.start_point.row + 1, one.end_point.row + 1, one.type) for one in nodes]
assert [first for first, _, _ in places] == [1, 3, 8, 9], "The nodes begin at lines 1, 3, 8 and 9"
assert places[1] == (3, 6, "expression_statement"), (
    "the text in quotes is part of the node that begins at line 3"
)
assert places[-1] == (9, 11, "decorated_definition"), "Decorator and function are one node"

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
# Heron's file `scaffold.py` writes code from templates. We wrote text into it that looks like code.
#
# > **Predict.** The rule finds five definitions. How many of them are really definitions?

# %%
from course_lib.loader.languages import definition_of, name_of

find_definitions = lab.use("find_definitions")
scaffold, python = files["heron/scaffold.py"], LANGUAGES["python"]
print("rule:", [name for name, _ in split_definitions(scaffold, python.starts) if name])
tree = find_definitions(parse_source(scaffold, "python"), python.definitions)
print("tree:", [name_of(definition_of(node)) for node in tree])

# %% tags=["claim"]
by_rule = [name for name, _ in split_definitions(scaffold, python.starts) if name]
in_tree = [name_of(definition_of(node)) for node in tree]
assert len(by_rule) == 5 and in_tree == by_rule[-2:], "Only the last two are definitions"

# %% [markdown]
# <details><summary>The answer</summary>
#
# Only the last two are definitions, because only they are in the tree. The others are only text.
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
# > **Predict.** What does each idea show above a part of the method `_request`?

# %% tags=["nbval-check-output"]
signatures = [
    "class RegistryClient:\n",
    "    def _request(\n"
    '        self, method: str, path: str, body: dict[str, Any] | None = None, *, key: str = ""\n'
    "    ) -> dict[str, Any]:\n",
]
print("cut off:", "".join(signatures)[:90], sep="\n")
print("first one:", signatures[0], sep="\n")

# %% [markdown]
# <details><summary>The answer</summary>
#
# The first idea ends in the middle of a type. The second shows only the class, so all methods of the class get the same header.
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
# The same signatures with your function (move the control):

# %%
choose_header = lab.use("choose_header")
lab.interact(lambda room=90: print(choose_header(signatures, room)), room=(0, 200, 10))

# %% tags=["claim"]
lines = files["heron/client.py"].splitlines(keepends=True)
assert signatures == [lines[47], "".join(lines[84:87])]
assert "".join(signatures)[:90].endswith("dict[s")
assert choose_header(signatures, 90) == "    def _request(\n", (
    "With 90 characters, the part has the name of its method above it, but not of its class"
)

# %% [markdown]
# With 90 characters, the part has the name of its method above it, but not of its class.
#
# ## The whole splitter
#
# `split_code` does all of this. A definition that fits into 512 characters stays whole. In a larger one, it looks for definitions again. If
# there are none, it cuts as in lab 01.
#
# A syntax error can hide much of the tree. Suppose that `drift.py` begins with an unfinished line, `x = f(`.
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
shown = search_over(files, split_code, lab.encode)(question)[0]
assert shown.content == answer.text, "is above this part"
assert "an alarm that cries wolf is switched off." in answer.text, (
    "Now you can read the sentence to its end"
)
assert answer.header == "".join(drift.splitlines(keepends=True)[70:77]), "The whole signature of inspect"

# %% [markdown]
# <details><summary>The answer</summary>
#
# The whole signature of `inspect` is above this part, in the lines with `>`. Now you can read the sentence to its end.
#
# </details>
#
# ## Measure: how much stays whole?
#
# Two more splitters:
#
# - `by lines` is your `split_definitions`. Lab 01's splitter then cuts the pieces that are too large.
# - `no header` has the pieces of `split_code`, without headers.
#
# Only `every 512` never repeats text.

# %%
from course_lib.records import Span


def by_lines(text, language):
    for _, piece in split_definitions(text, LANGUAGES[language].starts):
        for part in split_text(piece.text, 512, 64):
            yield Span(piece.start + part.start, piece.start + part.end, part.text)


def no_header(text, language):
    return [Span(one.start, one.end, one.text) for one in split_code(text, language)]


splitters = {"every 512": fixed_cuts, "recursive": recursive, "by lines": by_lines}
splitters |= {"no header": no_header, "split_code": split_code}

# %% [markdown]
# The figure is about Python's standard library and the package `kfp`. Of the definitions that fit into a piece, it shows how many stay
# whole. *At the margin* counts only those that are not indented.
#
# > **Predict.** Which splitter keeps most definitions whole?

# %%
import pandas as pd

from course_lib.teaching.lab.code_files import kept_whole, real_sources

sources = real_sources()
whole = {name: kept_whole(split, sources) for name, split in splitters.items()}
whole = pd.DataFrame(whole, ["all definitions", "at the margin"]).T.drop("no header")
lab.show.bars(whole, "definitions that stay whole, %", digits=1)

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
# [intervals](../labs/GLOSSARY.md#confidence-interval). The numbers count the questions found.
#
# > **Predict.** Over which splitters is the whole interval of its gain above 0?

# %%
from course_lib.teaching.lab.code_files import search_over

hits = {}
for name, split in splitters.items():
    missed = lab.measure_retrieval(search_over(files, split, lab.encode)).missed
    hits[name] = [one not in missed for one in lab.questions()]
ours = hits.pop("split_code")
compared = {f"split_code instead of {name}": (hit, ours) for name, hit in hits.items()}
lab.show.changes(compared, "gain in recall@5")

# %% tags=["claim"]
from course_lib.evaluation.statistics import paired_interval

assert len(ours) == 54
gains = {name: paired_interval(hit, ours) for name, hit in hits.items()}
assert gains.pop("every 512").low > 0, "`split_code` finds more than `every 512`"
assert len(gains) == 3 and all(one.low <= 0 <= one.high for one in gains.values()), (
    "The other three intervals reach 0"
)
assert sum(ours) - sum(hits["no header"]) == 1, "The headers alone gain one question"

# %% [markdown]
# <details><summary>The answer</summary>
#
# `split_code` finds more than `every 512`: this interval is above 0. But of four intervals, one can be above 0 by luck.
#
# The other three intervals reach 0. So these questions cannot tell whether it finds more than `recursive`, which needs no parser. The
# headers alone gain one question: compare `no header` with `split_code`.
#
# </details>

# %% [markdown]
# ## Recap
#
# - **At work**, begin with lab 01's splitter: it kept more than four fifths of the definitions whole, and with these 54 questions
#   `split_code` does not surely find more.
# - For a language without a grammar, use a regular expression. LangChain's `RecursiveCharacterTextSplitter.from_language` works like this:
#   it cuts at keywords such as `class` (not measured here).
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
