# %% [markdown]
# # 03 · Code splitters
#
# You will cut source code where its authors would cut it: at its functions and classes.
#
# | You will be able to | Time | Needs |
# |---|---|---|
# | split Python, Go and shell at the lines that begin a definition · find the definitions in a syntax tree · tell each part of a large definition where it is from | about {minutes} min | lab 01 for spans; regular expressions |

# %% tags=["parameters"]
data_dir = "data/code"
embedding_model = ""

# %%
from course_lib.teaching import start  # "No module named 'course_lib'"? Open the lab with: make lab

lab = start("03", data_dir=data_dir, embedding_model=embedding_model)
files = lab.documents()
lab.show.pipeline("chunks")

# %% [markdown]
# ## A function in two pieces
#
# `files` holds the sources of Heron, a small platform that forecasts hired bicycles: Python, Go and shell. The shortest splitter
# cuts them every 512 characters. Here are both sides of each cut through `heron/drift.py`.

# %% tags=["nbval-check-output"]
from itertools import pairwise

from course_lib.records import Span
from course_lib.teaching.lab.code_files import search_over


def fixed_cuts(text, language, size=512):
    return [Span(at, min(at + size, len(text)), text[at : at + size]) for at in range(0, len(text), size)]


drift = files["heron/drift.py"]
for left, right in pairwise(fixed_cuts(drift, "python")):
    print(repr(left.text[-32:]), "✂", repr(right.text[:32]))

# %% [markdown]
# A decorator is cut in the middle, a name in two, and an alarm is *swit* and *ched off*. The question below is answered by this
# last sentence. The search compares [embeddings](../labs/GLOSSARY.md#embedding). As in lab 01 they only measure here; lab 05
# shows what they are.
#
# > **Predict.** Will one of the two halves be among the first five?

# %%
question = "Why does a column with few values today raise no alarm?"
answer = "an alarm that cries wolf is switched off"
search = search_over(files, fixed_cuts, lab.encode)
print("holds the whole answer:", [answer in found.content for found in search(question)])
lab.show.ranking(search(question), question, most=230, mark="cries wolf")

# %% [markdown]
# Whatever the list says, the answer cannot be quoted: no piece holds all of it.
#
# Which definitions does a cut tear? Python's own parser knows where they are. It is our judge here; why it is not our splitter you
# will see below. Beside the fixed cuts is lab 01's [recursive splitter](../labs/GLOSSARY.md#recursive-splitter), which knows
# no Python at all.

# %%
from course_lib.loader import split_text
from course_lib.teaching.lab.code_files import definitions


def recursive(text, language):
    return split_text(text, 512, 64)


outer = [(one.name, one.span) for one in definitions(drift) if one.outer]
splits = {"every 512": fixed_cuts(drift, "python"), "recursive": recursive(drift, "python")}
lab.show.torn(outer, splits, "heron/drift.py")

# %% [markdown]
# There are blank lines between functions, so a splitter that likes blank lines does well by accident. The rest of the lab is about
# doing it on purpose.
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
# > **Predict.** A definition begins with `def` or `class` at the left margin. Where would *you* cut, and where would that rule?

# %% tags=["nbval-check-output"]
from re import MULTILINE, findall

tiny = 'import os\n\nPAGE = """\ndef no():\n    pass\n"""\n\n# Says yes.\n@cached\ndef yes():\n    return PAGE\n'
rule = r"^(?:async )?(?:def|class) (\w+)"
print("by the rule:", findall(rule, tiny, MULTILINE))

scaffold = files["heron/scaffold.py"]
print("by the rule:", findall(rule, scaffold, MULTILINE))
print("in truth:   ", [one.name for one in definitions(scaffold) if one.outer])

# %% [markdown]
# You cut above line 8: what is in quotes is text, and a comment or decorator belongs to what is below it. The rule falls for line
# 4, and in Heron's real file most of what it finds is text.
#
# ## Lines that look like definitions
#
# The rule is wrong now and then, and needs nothing but a [regular expression](https://docs.python.org/3/library/re.html) for each
# language. So it comes first: it is what a splitter can fall back on. The course keeps a table, `LANGUAGES`, with a row for each
# language; `LANGUAGES["python"].starts` is the rule from above, in which the name is a group called `name`.
#
# ## Exercise 3.1 · split at definitions
#
# Find the lines that begin a definition, then move up: a line directly above that begins with a comment or a decorator (`ABOVE`)
# belongs to it, and so does the line above that.
#
# ```
# split_definitions("import os\n\n# Says yes.\n@cached\ndef yes():\n    pass\n", LANGUAGES["python"].starts)
#   →  [("",    Span(0, 11, "import os\n\n")),
#       ("yes", Span(11, 51, "# Says yes.\n@cached\ndef yes():\n    pass\n"))]
# ```
#
# Two methods save you loops: `text.rfind("\n", 0, at)` looks backwards, and `text.startswith(ABOVE, at)` tests all three at an
# offset.

# %% exercise="3.1"
from course_lib.loader.languages import split_definitions

# %%
lab.check("3.1", split_definitions)

# %%
lab.hint("3.1")  # run again for the next hint

# %% [markdown] tags=["solution"]
# A dict from start to name keeps the order, and a definition at offset 0 simply takes the place of the empty name. Each piece ends
# where the next one begins, so nothing can get lost.

# %%
from course_lib.loader.languages import LANGUAGES, parse_source

split_definitions = lab.use("split_definitions")
for path, language in {"operator/explain.go": "go", "scripts/backup.sh": "shell"}.items():
    pieces = split_definitions(files[path], LANGUAGES[language].starts)
    print(path, "split at:", [definition for definition, _ in pieces])

pieces = split_definitions(drift, LANGUAGES["python"].starts)
lab.show.pieces(drift, [span for _, span in pieces], [name or "before" for name, _ in pieces], mark="cries wolf")

# %% [markdown]
# `drift.py` is cut well. But `fake`, `Fake` and `pretend` do not exist: two are in a string of Go, and one is in a *heredoc*, the
# shell's way to write a text over several lines. To know that, one has to know the language.
#
# ## Ask a parser
#
# Python's `ast` knows Python, and nothing but valid files in this Python's syntax. [tree-sitter](https://tree-sitter.github.io) has a
# grammar for nearly every language, and always gives a [syntax tree](../labs/GLOSSARY.md#syntax-tree): what breaks the grammar
# becomes a node called `ERROR`, and the rest stays what it is.
#
# > **Predict.** What are the nodes at the left margin of `tiny`? And of a file in which a bracket is never closed?

# %% tags=["nbval-check-output"]
for source in (tiny, "def a():\n    return (\n\ndef b():\n    pass\n"):
    root = parse_source(source, "python")
    for node in root.named_children:
        print(f"{node.start_point.row + 1:2}-{node.end_point.row + 1:<2} {node.type:22} {node.has_error}")
    print("broken" if root.has_error else "valid")

# %% [markdown]
# The string is one node, and the decorator is in one node with its function. In the broken file `b` is found all the same.
#
# ## Exercise 3.2 · find the definitions
#
# A definition may be further in: below an `if`, a `try`, a loop. `types` says which nodes are definitions;
# `LANGUAGES["python"].definitions` has them for Python. `node.named_children` are the nodes directly below a node, in order.
#
# ```
# root = parse_source("if x:\n    def turn(): pass\nclass Mill:\n    def grind(self): pass\n", "python")
# find_definitions(root, LANGUAGES["python"].definitions)
#   →  [the function_definition of turn, the class_definition of Mill]    grind is in Mill
# ```

# %% exercise="3.2"
from course_lib.loader.languages import find_definitions

# %%
lab.check("3.2", find_definitions)

# %%
lab.hint("3.2")  # run again for the next hint

# %% [markdown] tags=["solution"]
# A list does the work of a function that calls itself, and Python's limit of calls in calls does not bind it. What is put on it in
# reverse comes off in order.

# %% tags=["nbval-check-output"]
find_definitions = lab.use("find_definitions")
for path, language in {"operator/explain.go": "go", "scripts/backup.sh": "shell", "heron/scaffold.py": "python"}.items():
    found = find_definitions(parse_source(files[path], language), LANGUAGES[language].definitions)
    print(path, [node.text.decode().splitlines()[0] for node in found])

# %% [markdown]
# What is in strings and heredocs is text now.
#
# ## Too large, and out of context
#
# Definitions are as large as their authors liked, but MiniLM reads 256 [word pieces](../labs/GLOSSARY.md#word-piece) and
# [ignores the rest](../labs/GLOSSARY.md#truncation). Our limit is 512 characters.
#
# > **Predict.** What share of your pieces is larger than 512 characters?

# %% tags=["nbval-check-output"]
from course_lib.loader.languages import language_of

every = [(name, split_definitions(text, LANGUAGES[language_of(name)].starts)) for name, text in files.items()]
sizes = [len(span.text) for _, pieces in every for _, span in pieces]
print(f"{sum(size > 512 for size in sizes)} of {len(sizes)} are larger, the largest has {max(sizes):,}")

# %% [markdown]
# So a large class has to be cut after all: at its methods, and a large method at its blank lines. Then a line such as
# `return [forecast for part in parts …]` is alone in its part. Of which method is it, and of which class? A reader cannot know that,
# and neither can the model.
#
# The remedy is a *header*: the lines that introduce what the part was cut out of, called its *signatures*. The header is embedded
# together with the part, so it needs room within the same 512 characters.
#
# ## Exercise 3.3 · choose the header
#
# `signatures` has the signature of the class, then the signature of the method in it; the outermost comes first. A signature may have
# several lines. Where there is little room, decide what to leave out: the innermost signature says most about a part, and of this
# signature the first line, which has the name.
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
# The candidates are in a tuple, from the longest to the shortest, and the first one that fits is taken. A header has whole lines or is
# not there at all: half a line would name something that does not exist.

# %% tags=["nbval-check-output"]
choose_header = lab.use("choose_header")
in_scorer = ["class Scorer:\n", "    async def _score_batch(self, batch: list[int], hours: int) -> list[Forecast]:\n"]
for room in (256, 90, 60):
    print(f"{room:3} characters:", repr(choose_header(in_scorer, room)))

# %% [markdown]
# The course's `split_code` puts your three functions together. What fits into the limit stays whole. Where something does not fit,
# `find_definitions` is called again: a class is cut at its methods. What has no definitions in it is cut as in lab 01, at blank lines,
# else at line ends or words, with overlap. Each part gets the header that `choose_header` gives. And where a file breaks the grammar,
# or its language has no grammar, `split_code` calls `split_definitions` and reads each piece alone, so that one mistake harms one
# definition only.
#
# > **Predict.** In Heron's `scoring.py` the method `_score_batch` is cut into several parts. What is above its second part?

# %% tags=["nbval-check-output"]
from course_lib.loader import split_code

for span in split_code(files["heron/scoring.py"], "python"):
    header = " ".join(span.header.split())
    print(f"{span.line_start:2}-{span.line_end:2}  {span.kind:8} {span.name:12} {header:.64}")

# %% [markdown]
# Above the second part are two signatures: the class, and the method itself.
#
# Does it matter on code that was not written for this course? You have Python's standard library and the `kfp` package: take
# every fifth file, and all definitions of at most 512 characters, methods and inner functions included. `by lines` cuts with
# `split_definitions`, and what is still too large with lab 01's splitter.
#
# > **Predict.** Four splitters, one limit. What share of the definitions does each keep whole?

# %%
from course_lib.teaching.lab.code_files import kept_whole, real_sources


def by_lines(text, language):
    for _, piece in split_definitions(text, LANGUAGES[language].starts):
        for part in split_text(piece.text, 512, 64):
            yield Span(piece.start + part.start, piece.start + part.end, part.text)


sources = real_sources()
splitters = {"every 512": fixed_cuts, "recursive": recursive, "by lines": by_lines, "split_code": split_code}
shares = {name: kept_whole(split, sources) for name, split in splitters.items()}
for name, (whole, at_margin) in shares.items():
    print(f"{name:10}  {whole:5.1f} % of all definitions, {at_margin:5.1f} % of those at the left margin")
lab.show.bars({name: whole for name, (whole, _) in shares.items()}, "Definitions kept whole", "%")

# %% [markdown]
# A regular expression keeps nearly every definition at the margin whole; what it still loses is inside of large classes and
# functions, and the parser keeps those, too. And blank lines alone, which know nothing of Python, come a long way.

# %% [markdown]
# ## In the field
#
# [LangChain's text splitters](https://docs.langchain.com/oss/python/integrations/splitters) have a list of separators for each of
# some twenty languages: for Python `"\nclass "`, `"\ndef "`, `"\n\tdef "`, and then blank lines. It is lab 01's algorithm with other
# separators, so it is quick and needs no grammar.
#
# > **Predict.** Which of the four splitters above is it nearest to?

# %%
try:
    from langchain_text_splitters import Language, RecursiveCharacterTextSplitter
except ImportError:
    print("not installed: pip install langchain-text-splitters, then run this cell again")
else:

    def by_langchain(text, language):
        splitter = RecursiveCharacterTextSplitter.from_language(
            Language(language), chunk_size=512, chunk_overlap=64, add_start_index=True
        )
        for found in splitter.create_documents([text]):
            start = found.metadata["start_index"]
            yield Span(start, start + len(found.page_content), found.page_content)

    whole, at_margin = kept_whole(by_langchain, sources)
    print(f"LangChain   {whole:5.1f} % of all definitions, {at_margin:5.1f} % of those at the left margin")
    print([span.text.splitlines()[-1] for span in by_langchain(drift, "python") if span.text.splitlines()[-1][0] in "@#"])

# %% [markdown]
# It comes close to the split by lines, with one line of code. Take it when you index many languages and want no parser. What it does
# not give you: the names, kinds and headers of its pieces. Two of its pieces of `drift.py` end with a decorator that belongs to the
# next piece, because it cuts right before `class`.
#
# [Chonkie](https://docs.chonkie.ai)'s `CodeChunker` goes by a syntax tree, as you did in 3.2. It joins neighbouring nodes until a chunk
# is full, and its chunks have no headers. On its first call it downloads a grammar, so it is **not run here**:
#
# ```python
# from chonkie import CodeChunker  # pip install "chonkie[code]"
#
# chunker = CodeChunker(tokenizer="character", chunk_size=512, language="python")
# for chunk in chunker.chunk(drift):
#     print(chunk.start_index, chunk.end_index, chunk.text)
# ```

# %% [markdown]
# ## Break it
#
# Here is a decorator over several lines, in a file that is not finished.
#
# > **Predict.** Where does your `split_definitions` put the decorator? What does Python's own parser say about the file?

# %% tags=["nbval-check-output"]
draft = "@task(\n    retries=3,\n)\ndef train(rows):\n    return rows\n\n\ndef evaluate(\n"
pieces = split_definitions(draft, LANGUAGES["python"].starts)
print("by lines  ", [(name, span.text.splitlines()[0]) for name, span in pieces])
print("split_code", [(span.name, span.text.splitlines()[0]) for span in split_code(draft, "python")])
try:
    definitions(draft)
except SyntaxError as error:
    print("ast        ", error.msg)

# %% [markdown]
# Above `def train` is `)`, which is no decorator, so a split by lines leaves the decorator to the piece before. `split_code` does the
# same here: the last line breaks the grammar, so it goes by lines as well. `ast` cannot read a file that is not finished at all.

# %% [markdown]
# ## Measure
#
# Back to the question of the beginning, and to all the labelled ones about Heron. The same search and the same limit of 512
# characters; only the cuts differ. [Recall@5](../labs/GLOSSARY.md#recallk) and [MRR](../labs/GLOSSARY.md#mrr) are those of lab 01.
#
# > **Predict.** By how much does the best beat cuts every 512 characters? By how much do the other three differ?

# %%
from IPython.display import display

print(f"{len(lab.questions())} questions: one of them counts {1 / len(lab.questions()):.3f}\n")
print("cuts        recall@5   MRR")
for name, split in splitters.items():
    search = search_over(files, split, lab.encode)
    measured = lab.measure_retrieval(search)
    print(f"{name:10}  {measured.recall:8.2f}  {measured.mrr:4.2f}")

print("\nholds the whole answer:", [answer in found.content for found in search(question)])
display(lab.show.ranking(search(question), question, most=230, mark="cries wolf"))  # split_code's
lab.score(recall_at_5=measured.recall, mrr=measured.mrr, note="code: cut at definitions, parts under their signatures")

# %% [markdown]
# The question of the beginning has its answer, on top. Whole pieces find more than fixed ones. The other three differ by a few
# questions: too few to build on, and blank lines serve a search well in code that was written with care. The library's pieces
# have something besides: names, lines and kinds, to show, to filter by and to cite.

# %% [markdown]
# ## Recap
#
# - A line that looks like a definition is a good guess; a syntax tree knows. Use the guess where there is no tree.
# - A piece takes its decorators along, and the comments above it if both fit.
# - A part of a large definition takes the signatures it was cut out of, as many as there is room for.
#
# ## Three questions to test yourself
#
# 1. A file of a language without a grammar comes in, with its row in the table. What does `split_code` do, and what may it get wrong?
# 2. Why does `find_definitions` not look into a definition that it has found?
# 3. What would happen if the header did not count towards the limit of 512 characters?
#
# <details><summary>Answers</summary>
#
# 1. It cuts at the lines that look like definitions, and what is too large at blank lines. A line in a string that looks like one
#    becomes a boundary; nothing is lost, but one piece more begins in the middle of a text. Without a tree there are no kinds and
#    no names of definitions either: each piece is a `block`, named after its first line.
# 2. A method would then be in two pieces: in its own, and in that of its class. `split_code` asks for the definitions inside only
#    where a definition does not fit, and then cuts it there.
# 3. Header and part together could be longer than what the model reads. It ignores the rest without an error, so the end of the part
#    could not be found.
#
# </details>

# %% [markdown]
# ## Stretch, and what comes next
#
# A popular trick puts kind and name in front of every piece before it is embedded. Write a splitter that does it with
# `split_code`'s spans; `dataclasses.replace(span, header=…)` makes the new ones, and `search_over` embeds the header. Measure. On
# how many questions does your verdict rest?
#
# Next is [lab 04](../labs/04_chunk_contract.ipynb): in which form these pieces are handed on, and how to tell what has changed.
