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
# ## A function in two pieces
#
# `files` holds the source code of Heron, a small platform that forecasts how many bicycles will be hired. It is written in Python,
# Go and shell. The simplest splitter cuts every 512 characters. The next cell prints the text on both sides of each cut in
# `heron/drift.py`.

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
# One cut goes through a decorator, one through a name, and one through the word *switched*. The sentence with *switched off* is the
# answer to the question below. The search compares [embeddings](../labs/GLOSSARY.md#embedding). As in lab 01, we only use them to
# measure; lab 05 explains them.
#
# > **Predict.** Will one of the two halves of this sentence be among the first five results?

# %%
question = "Why does a column with few values today raise no alarm?"
answer = "an alarm that cries wolf is switched off"
search = search_over(files, fixed_cuts, lab.encode)
holds = [answer in found.content for found in search(question)]
print("holds the whole answer:", holds)
lab.show.ranking(search(question), question, most=230, mark="cries wolf")

# %% tags=["claim"]
assert holds == [False] * 5, "no piece holds the whole answer"

# %% [markdown]
# The search cannot quote the answer, whatever its order is: no piece holds the whole answer.
#
# Which definitions are torn, so that no piece holds them whole? Python's own parser tells us where each definition is. We use it
# only to check the splitters; below you will see why it is not a good splitter itself. The figure compares the fixed cuts with lab
# 01's [recursive splitter](../labs/GLOSSARY.md#recursive-splitter), which has no rule for Python.

# %%
from course_lib.loader import split_text
from course_lib.teaching.lab.code_files import definitions


def recursive(text, language):
    return split_text(text, 512, 64)


outer = [(one.name, one.span) for one in definitions(drift) if one.outer]
splits = {"every 512": fixed_cuts(drift, "python"), "recursive": recursive(drift, "python")}
lab.show.torn(outer, splits, "heron/drift.py")

# %% tags=["claim"]
def whole_in(pieces):
    return sum(any(piece.start <= one.start and one.end <= piece.end for piece in pieces) for _, one in outer)


assert whole_in(splits["recursive"]) > len(outer) / 2 > whole_in(splits["every 512"]), "So it keeps most definitions whole, but only by accident"

# %% [markdown]
# The recursive splitter prefers blank lines, and there are blank lines between functions. So it keeps most definitions whole, but
# only by accident. In the rest of the lab, you write a splitter that looks for definitions.
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
# Take this rule: a line that begins with `def` or `class` at the left margin begins a definition.
#
# > **Predict.** Where would *you* cut this file? Where does the rule cut it?

# %% tags=["nbval-check-output"]
from re import MULTILINE, findall

tiny = 'import os\n\nPAGE = """\ndef no():\n    pass\n"""\n\n# Says yes.\n@cached\ndef yes():\n    return PAGE\n'
rule = r"^(?:async )?(?:def|class) (\w+)"
print("by the rule:", findall(rule, tiny, MULTILINE))

scaffold = files["heron/scaffold.py"]
print("by the rule:", findall(rule, scaffold, MULTILINE))
print("by ast:     ", [one.name for one in definitions(scaffold) if one.outer])

# %% [markdown]
# The best cut is above line 8: the quotes hold text, and a comment or decorator belongs to the definition below it. The rule takes
# line 4 for a definition, too. In Heron's real file, most lines that it finds are text.
#
# ## Lines that look like definitions
#
# The rule is sometimes wrong, but it needs only one [regular expression](https://docs.python.org/3/library/re.html) for each
# language. We build it first, because a splitter can use it where there is no parser. The course has a table, `LANGUAGES`, with a
# row for each language. `LANGUAGES["python"].starts` is the rule from above; its group `name` matches the name of the definition.
#
# ## Exercise 3.1 · split at definitions
#
# First find the lines that begin a definition; in Go, `const` and `var` begin one, too. Then go up from each: if the line directly
# above begins with one of `ABOVE` (a comment or a decorator), it belongs to the definition. Go on with the line above that one, until
# a line does not belong, and stop at the start of the text. `ABOVE` is the tuple `("#", "@", "//")`.
#
# ```
# split_definitions("import os\n\n# Says yes.\n@cached\ndef yes():\n    pass\n", LANGUAGES["python"].starts)
#   →  [("",    Span(0, 11, "import os\n\n")),
#       ("yes", Span(11, 51, "# Says yes.\n@cached\ndef yes():\n    pass\n"))]
# ```
#
# Two methods are useful: `text.rfind("\n", 0, at)` searches backwards, and `text.startswith(ABOVE, at)` tests whether the text at an
# offset begins with one of `ABOVE`.

# %% exercise="3.1"
from course_lib.loader.languages import split_definitions

# %%
lab.check("3.1", split_definitions)

# %%
lab.hint("3.1")  # run again for the next hint

# %% [markdown] tags=["solution"]
# The dict maps the start of each piece to its name, in order. A definition at offset 0 replaces the empty name. Each piece ends where
# the next one begins, so no text is lost.

# %%
from course_lib.loader.languages import LANGUAGES, parse_source

split_definitions = lab.use("split_definitions")
split_at = {}
for path, language in {"operator/explain.go": "go", "scripts/backup.sh": "shell"}.items():
    split_at[path] = [name for name, _ in split_definitions(files[path], LANGUAGES[language].starts)]
    print(path, "split at:", split_at[path])

pieces = split_definitions(drift, LANGUAGES["python"].starts)
lab.show.pieces(drift, [span for _, span in pieces], [name or "before the first" for name, _ in pieces], mark="cries wolf")

# %% tags=["claim"]
in_go, in_shell = split_at.values()
assert {"fake", "Fake"} <= {*in_go} and "pretend" in in_shell, "the definitions fake, Fake and pretend do not exist"
assert len({"fake", "Fake", "pretend"} & {*in_go}) == 2, "two are in a raw string of the Go file"

# %% [markdown]
# `drift.py` is split well. But the definitions `fake`, `Fake` and `pretend` do not exist: two are in a
# [raw string](../labs/GLOSSARY.md#raw-string) of the Go file, and one is in a [heredoc](../labs/GLOSSARY.md#heredoc), a text over
# several lines in the shell script. Only a parser for the language can tell this.
#
# ## Ask a parser
#
# Python's `ast` reads only Python, and only files that are valid for the installed Python version. [tree-sitter](https://tree-sitter.github.io)
# has a grammar for nearly every language. It returns a [syntax tree](../labs/GLOSSARY.md#syntax-tree) for any text: the part that
# breaks the grammar becomes a node called `ERROR`, and the other parts become normal nodes.
#
# > **Predict.** Which nodes does `tiny` have at its left margin? Which nodes does a file have if a bracket in it is never closed?

# %% tags=["nbval-check-output"]
for source in (tiny, "def a():\n    return (\n\ndef b():\n    pass\n"):
    root = parse_source(source, "python")
    for node in root.named_children:
        print(f"{node.start_point.row + 1:2}-{node.end_point.row + 1:<2} {node.type:22} {node.has_error}")
    print("broken" if root.has_error else "valid")

# %% [markdown]
# The string is one node. The decorator and its function are together in one node. In the broken file, `b` is still found.
# The `ERROR` node is inside `a`; the last column says whether a node contains one.
#
# ## Exercise 3.2 · find the definitions
#
# A definition can also be inside an `if`, a `try` or a loop. A node is a definition if its `type` is one of `types`;
# `LANGUAGES["python"].definitions` has the types for Python. `node.named_children` are the nodes directly below a node, in order.
# Return the outermost definitions only, so do not search inside a definition. A tree can have thousands of levels, and
# Python limits recursion: use a loop instead.
#
# ```
# root = parse_source("if x:\n    def turn(): pass\nclass Mill:\n    def grind(self): pass\n", "python")
# find_definitions(root, LANGUAGES["python"].definitions)
#   →  [the function_definition of turn, the class_definition of Mill]    without grind, which is inside Mill
# ```

# %% exercise="3.2"
from course_lib.loader.languages import find_definitions

# %%
lab.check("3.2", find_definitions)

# %%
lab.hint("3.2")  # run again for the next hint

# %% [markdown] tags=["solution"]
# The list of waiting nodes replaces recursion, so Python's recursion limit does not matter. The children are added in reverse order, so
# that `pop()` returns them in the order of the text.

# %% tags=["nbval-check-output"]
find_definitions = lab.use("find_definitions")
for path, language in {"operator/explain.go": "go", "scripts/backup.sh": "shell", "heron/scaffold.py": "python"}.items():
    found = find_definitions(parse_source(files[path], language), LANGUAGES[language].definitions)
    print(path, [node.text.decode().splitlines()[0] for node in found])

# %% [markdown]
# No definition is found inside a string or a heredoc any more.
#
# ## Too large, and without context
#
# A definition can have any length, but MiniLM reads only 256 [word pieces](../labs/GLOSSARY.md#word-piece) and
# [ignores the rest](../labs/GLOSSARY.md#truncation). Our limit is 512 characters: a word piece usually has
# several characters, so 512 characters of code are fewer than 256 word pieces in nearly every case.
#
# > **Predict.** What share of your pieces is larger than 512 characters?

# %% tags=["nbval-check-output"]
from course_lib.loader.languages import language_of

every = [(name, split_definitions(text, LANGUAGES[language_of(name)].starts)) for name, text in files.items()]
sizes = [len(span.text) for _, pieces in every for _, span in pieces]
larger = sum(size > 512 for size in sizes)
print(f"{larger} of {len(sizes)} are larger: {larger / len(sizes):.0%}; the largest has {max(sizes):,} characters")

# %% [markdown]
# So we must also cut a large class at its methods, and a large method at its blank lines. Then a part can begin with a line such as
# `return [forecast for part in parts …]`. Which method is it from, and which class? The part does not say, so neither a reader nor the
# model can know.
#
# The solution is a *header* above the part. It holds *signatures*: the lines that introduce the class and the method from which the
# part was cut. The header is embedded together with the part, so both together must fit into 512 characters.
#
# ## Exercise 3.3 · choose the header
#
# `signatures` lists the outermost signature first: for example that of the class, then that of the method in it. There can also be fewer or
# more than two. A signature may have several lines. If all of them together do not fit, take the innermost one alone, because it says most
# about the part. If that one is too long, take only its first line, which has the name. Never cut inside a line; line ends count as
# characters.
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
# The tuple holds the candidates from the longest to the shortest, and the function returns the first one that fits. A header has whole
# lines or is empty, because half a line could show a name that does not exist.

# %% tags=["nbval-check-output"]
choose_header = lab.use("choose_header")
in_scorer = ["class Scorer:\n", "    async def _score_batch(self, batch: list[int], hours: int) -> list[Forecast]:\n"]
for room in (224, 90, 60):  # where split_code cuts a method, a header gets 224 at most
    print(f"{room:3} characters:", repr(choose_header(in_scorer, room)))

# %% [markdown]
# The course's `split_code` uses your three functions. A definition that fits into the limit stays whole, and so do the comments above
# it if both together fit. Inside a definition that does not fit, `split_code` calls `find_definitions` again: so a class is cut at its
# methods. A definition without other definitions in it is cut as in lab 01, with overlap: at blank lines, otherwise at line ends or
# words. Each part gets the header that `choose_header` returns. If a file breaks the grammar, or its language has no grammar,
# `split_code` first calls `split_definitions` and then splits each piece separately. Otherwise one mistake could hide the definitions
# after it: the `ERROR` node of a bracket that is never closed can reach to the end of the file.
#
# > **Predict.** In Heron's `scoring.py` the method `_score_batch` is cut into several parts. Which header does the part that
# > begins at line 67 have?

# %% tags=["nbval-check-output"]
from course_lib.loader import split_code

for span in split_code(files["heron/scoring.py"], "python"):
    header = " ".join(span.header.split())
    print(f"{span.line_start:2}-{span.line_end:2}  {span.kind:8} {span.name:12} {header}")

# %% [markdown]
# The header of the part at line 67 has two signatures: the one of the class and the one of the method itself.
#
# How do the splitters compare on code that was not written for this course? Python's standard library and the `kfp` package are
# installed on your machine. We take every fifth file, and in it all definitions of at most 512 characters, also methods and inner
# functions. The splitter `by lines` calls `split_definitions`, and lab 01's splitter for each piece that is still too large.
#
# > **Predict.** All four splitters have the same limit. What share of the definitions does each keep whole?

# %%
from course_lib.teaching.lab.code_files import kept_whole, real_sources


def by_lines(text, language):
    for _, piece in split_definitions(text, LANGUAGES[language].starts):
        for part in split_text(piece.text, 512, 64):
            yield Span(piece.start + part.start, piece.start + part.end, part.text)


sources = real_sources()
splitters = {"every 512": fixed_cuts, "recursive": recursive, "by lines": by_lines, "split_code": split_code}
shares = {name: kept_whole(split, sources) for name, split in splitters.items()}  # takes 10 to 20 seconds
for name, (whole, at_margin) in shares.items():
    print(f"{name:10}  {whole:5.1f} % of all definitions, {at_margin:5.1f} % of those at the left margin")
lab.show.bars({name: whole for name, (whole, _) in shares.items()}, "Definitions kept whole", "%")

# %% tags=["claim"]
fixed, blank_lines, parser = (shares[name][0] for name in ("every 512", "recursive", "split_code"))
everywhere, margin = shares["by lines"]
assert margin > 98, "A regular expression keeps nearly every definition at the left margin whole"
assert 100 - everywhere > 5 * (100 - margin), "Most definitions that it tears are inside large classes and functions"
assert parser > 99, "with the parser, those stay whole, too"
assert blank_lines - fixed > (parser - fixed) / 2, "The recursive splitter, which has no rule for Python, is also much better than fixed cuts"

# %% [markdown]
# A regular expression keeps nearly every definition at the left margin whole. Most definitions that it tears are inside large classes and
# functions; with the parser, those stay whole, too. The recursive splitter, which has no rule for Python, is also much better than fixed cuts.

# %% [markdown]
# ## In the field
#
# [LangChain's text splitters](https://docs.langchain.com/oss/python/integrations/splitters) have a list of separators for each of
# about twenty languages: for Python `"\nclass "`, `"\ndef "`, `"\n\tdef "`, and then blank lines. The algorithm is that of lab 01 with
# other separators, so it is fast and needs no grammar.
#
# > **Predict.** Which of the four splitters above will give the most similar result?

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
    last_lines = [span.text.splitlines()[-1] for span in by_langchain(drift, "python")]
    print([line for line in last_lines if line[0] in "@#"])

# %% tags=["claim"]
assert min(shares, key=lambda name: abs(shares[name][0] - whole)) == "by lines", "Its result is close to that of by lines"
assert sum(line.startswith("@dataclass") for line in last_lines) == 2, "Two of its pieces of drift.py end with a decorator that belongs to the next piece"

# %% [markdown]
# Its result is close to that of `by lines`, with one line of code. Use it if you index many languages and do not want a parser. Its pieces
# have no names, kinds or headers. Two of its pieces of `drift.py` end with a decorator that belongs to the next piece, because it cuts
# directly before `class`.
#
# [Chonkie](https://docs.chonkie.ai)'s `CodeChunker` uses a syntax tree, as you did in 3.2. It joins neighbouring nodes until a chunk
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
# This file has a decorator of three lines, and its last function is not finished.
#
# > **Predict.** In which piece does your `split_definitions` put the decorator? What does Python's own parser say about the file?

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
# The line above `def train` is `)`, which does not begin with one of `ABOVE`. So `split_definitions` leaves the decorator in the piece
# before. `split_code` does the same here: the last line breaks the grammar, so `split_code` calls `split_definitions`. `ast` cannot read
# an unfinished file at all.

# %% [markdown]
# ## Measure
#
# Now we ask the first question again, and all labelled questions about Heron. The search and the limit of 512 characters are always the
# same; only the splitter differs. [Recall@5](../labs/GLOSSARY.md#recallk) and [MRR](../labs/GLOSSARY.md#mrr) are measured as in lab 01.
#
# > **Predict.** How much better is the best splitter than cuts every 512 characters? How much do the other three differ?

# %%
from IPython.display import display

print(f"{len(lab.questions())} questions: each adds at most {1 / len(lab.questions()):.3f} to the recall\n")
print("cuts        recall@5   MRR")
recall = {}
for name, split in splitters.items():
    search = search_over(files, split, lab.encode)
    measured = lab.measure_retrieval(search)
    recall[name] = measured.recall
    print(f"{name:10}  {measured.recall:8.2f}  {measured.mrr:4.2f}")

holds = [answer in found.content for found in search(question)]
print("\nholds the whole answer:", holds)
display(lab.show.ranking(search(question), question, most=230, mark="cries wolf"))  # the pieces of split_code
lab.score(recall_at_5=measured.recall, mrr=measured.mrr, note="code: split at definitions, parts under their signatures")

# %% tags=["claim"]
assert holds[0], "The first question now has its answer, in the first result"
fixed, *others = recall.values()
assert fixed < min(others), "All three other splitters find more than the fixed cuts"
assert max(others) - min(others) < 6 / len(lab.questions()), "they differ by only a few questions, which is too little to choose one of them"

# %% [markdown]
# The first question now has its answer, in the first result. All three other splitters find more than the fixed cuts. Among themselves,
# they differ by only a few questions, which is too little to choose one of them. In code with a blank line between its parts, blank lines
# are good places to cut. But the pieces of `split_code` also have names, lines and kinds, which you can show, filter by and cite.

# %% [markdown]
# ## Recap
#
# - A regular expression finds lines that look like definitions; a syntax tree finds the real ones. Use the regular expression where there is no tree.
# - A piece includes the decorators of its definition, and the comments above it if they fit.
# - A part of a large definition gets a header: the signatures of its class and method, as many as fit.
#
# ## Three questions to test yourself
#
# 1. A language has a row in `LANGUAGES`, but no grammar. What does `split_code` do with a file in this language, and what can go wrong?
# 2. Why does `find_definitions` not search inside a definition that it has found?
# 3. What would happen if the header did not count towards the limit of 512 characters?
#
# <details><summary>Answers</summary>
#
# 1. It cuts at the lines that look like definitions, and cuts pieces that are too large at blank lines. If a line in a string looks like
#    a definition, `split_code` cuts there, too. No text is lost, but one piece begins in the middle of the string. Without a tree,
#    the pieces also lack the kind and name of their definition: each is a `block`, named after its first line.
# 2. Otherwise a method would be in two pieces: in its own piece and in the piece of its class. `split_code` searches inside a
#    definition only if the definition does not fit, and then cuts it there.
# 3. Header and part together could be longer than the text that the model reads. The model ignores the rest without an error, so a search
#    could not find the end of the part.
#
# </details>

# %% [markdown]
# ## Stretch, and what comes next
#
# A popular method is to put kind and name above every piece before it is embedded. Write a splitter that does this with the spans of
# `split_code`: `dataclasses.replace(span, header=…)` makes the new spans, and `search_over` embeds the header. Measure it. By how many
# questions do the results differ?
#
# Next is [lab 04](../labs/04_chunk_contract.ipynb). It shows the record format of these pieces, and how to find out which pieces have changed.
