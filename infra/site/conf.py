"""How Sphinx makes the site of the course from the repository itself; `make site` calls it.

The source folder is the repository. What is not a page there is added while Sphinx reads: the
tables of contents, what a notebook is, the definition that a link to the glossary shows.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

import fastapi  # noqa: F401  autodoc imports modules with TYPE_CHECKING set, which it cannot bear
from docutils import nodes

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE))

from commands import write_commands  # noqa: E402
from curves import curves_section  # noqa: E402

from course_lib.teaching.notebooks.project import CORE  # noqa: E402

project = "Retrieval, built by hand"
author = "the course's authors"
project_copyright = "the course's authors, Apache-2.0"
html_title = project
language = "en"
smartquotes = False  # or `--option` in a sentence would get a dash

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
root_doc = "README"
include_patterns = [
    "README.md",
    "labs/*",
    "solutions/*.ipynb",
    "course_lib/README.md",
    "data/README.md",
    "infra/*.md",
    "infra/site/*.md",
    "tests/README.md",
    "tests/**/README.md",
    "build/commands/*.md",
    "build/reference/*.rst",
]
exclude_patterns = ["labs/.ipynb_checkpoints"]
suppress_warnings = ["myst.header", "mystnb.unknown_mime_type", "ref.python"]
default_role = "code"
add_module_names = False

nb_execution_mode = "off"
nb_code_prompt_show, nb_code_prompt_hide = "Show the answer", "Hide the answer"
nb_ipywidgets_js: dict[str, dict[str, str]] = {}  # widgets have a static form; no CDN is asked
myst_heading_anchors = 3
myst_enable_extensions = ["colon_fence"]

autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
autodoc_default_options = {"exclude-members": "model_config, model_post_init"}
napoleon_google_docstring = False
napoleon_use_param = False  # or the first names of "start, end, text" would be read as a type
napoleon_custom_sections = [("Attributes", "params_style")]  # "a, b" are two names
python_maximum_signature_line_length = 60

html_theme = "sphinx_book_theme"
html_static_path = ["static"]
html_favicon = "static/favicon.svg"
html_css_files = ["site.css"]
html_js_files = ["site.js"]
html_search_scorer = str(HERE / "scorer.js")
html_show_sourcelink = False
html_copy_source = False
html_theme_options: dict[str, Any] = {
    "logo": {"text": project},
    "show_navbar_depth": 1,
    "navbar_persistent": [],  # the search is in the side bar
    "use_download_button": False,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}

MARKS = r" +# (fmt: skip|noqa: \w+|type: ignore\S*)"
"""Comments for tools, which the pages do not show."""

LABS = {path.name[:2]: f"labs/{path.stem}" for path in sorted(ROOT.glob("labs/[0-9]*.ipynb"))}
PARTS = {
    "The core": ["labs/README", *(page for lab, page in LABS.items() if lab in CORE)],
    "Electives": [page for lab, page in LABS.items() if lab not in CORE],
    "Help": ["labs/GLOSSARY", "infra/site/start", "infra/site/using", "labs/TROUBLESHOOTING"],
    "The commands": ["build/commands/all", "build/commands/*"],
    "The solutions": ["solutions/*"],
    "Teach": [
        *("labs/INSTRUCTORS", "labs/CLASS", "infra/site/jupyterhub"),
    ],
    "The system": ["course_lib/README", "data/README", "infra/README", "infra/THIRD_PARTY"],
    "The tests": ["tests/README", "tests/b*/README", "tests/faults/README"],
    "Reference": ["build/reference/*"],
}
"""The parts of the side bar, and the pages in each, as patterns."""


QUESTIONS = {
    "README": {
        "## Work through it": ("what does the course teach", "what you will learn"),
        "## Where next": ("search as a Python function", "Python search function"),
    },
    "labs/TROUBLESHOOTING": {
        "## Chunk count differs": (
            *("why is my chunk count different", "different number of chunks"),
            "why does my chunk count differ from the lab's",
        ),
    },
    "labs/CLASS": {
        "### Late work": ("how to grade late work", "late submissions", "deadline"),
    },
}
"""Words for the search, by page and by the heading above which they stand."""


def addresses() -> dict[str, str]:
    """Return `project.urls` of pyproject.toml; empty while the repository has no address."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    urls: dict[str, str] = tomllib.loads(text)["project"].get("urls", {})
    return urls


if repository := addresses().get("Repository"):
    html_theme_options |= {
        "repository_url": repository,
        "repository_branch": "main",
        "use_repository_button": True,
        "launch_buttons": {
            "binderhub_url": "https://mybinder.org",
            "jupyterhub_url": addresses().get("JupyterHub", ""),
            "notebook_interface": "jupyterlab",
        },
    }


WHERE_IT_IS = (
    f"The course's repository is <{repository}>; `git clone {repository}` brings its folder."
    if repository
    else "You get the course's folder, or the address of its repository, from whoever gave you "
    "this site. It was built without the address, so no lab has the rocket that opens Binder."
)
"""What the site says about where the course is: a reader of the repository is there already."""

WHERE = {
    "README": "```\nmake start LAB=00",
    "infra/site/start": "[What was tried](#what-was-tried) is below",
}
"""The text before which the site says it, by page."""


RUN_IT = "The outputs appear when you [run the lab](../README.md#work-through-it)."


def read_source(app: Any, docname: str, content: list[str]) -> None:
    """Change what Sphinx reads: tables of contents for README, names and folds for solutions."""
    if below := WHERE.get(docname):
        content[0] = content[0].replace(below, f"{WHERE_IT_IS}\n\n{below}", 1)
    if docname == root_doc:
        content[0] = re.sub(r"^\| read all of it as a site\b.*", look_up(), content[0], flags=re.M)
        for caption, listed in PARTS.items():  # a copy for learners lacks some
            pages = [page for page in listed if any(ROOT.glob(f"{page}.*"))]
            tree = ["```{toctree}", ":hidden:", ":glob:", f":caption: {caption}", "", *pages, "```"]
            content[0] += "\n\n" + "\n".join(tree) if pages else ""
    content[0] = add_questions(content[0], docname)
    if docname == "tests/bench/README":
        drawn = Path("build", "reference", "curves.svg")
        content[0] += curves_section(Path("tests/bench/results"), drawn, Path("tests/bench"))
    if docname == "labs/GLOSSARY":
        content[0] = re.sub(r"^\*Lab (\d\d)\.", link_lab, content[0], flags=re.M)
    if (ROOT / f"{docname}.ipynb").exists():
        content[0] = notebook_page(content[0], Path(docname))


def add_questions(text: str, page: str) -> str:
    """Let the search find a page, or a section of it, by the words in which newcomers ask."""
    for heading, questions in QUESTIONS.get(page, {}).items():
        entries = "".join(f"```{{index}} ! {question}\n```\n" for question in questions)
        text = text.replace(f"{heading}\n", f"{entries}\n{heading}\n", 1)
    return text


def look_up() -> str:
    """Return rows of README's table for readers of the site, who have the pages made here."""
    rooms = [path.stem for path in sorted((ROOT / "build" / "reference").glob("*.rst"))]
    links = ", ".join(f"[{room}](build/reference/{room}.rst)" for room in rooms)
    command = "[`course search`](build/commands/your-documents.md#course-search)"
    function = "{py:func}`retriever.search <course_lib.retriever.search>` in Python"
    return (
        "| look up what a command or a function takes | [all commands](build/commands/all.md); "
        f"the library: {links} |\n"
        f"| search | {command} in a terminal, {function} |"
    )


def link_lab(found: re.Match[str]) -> str:
    """Link the number of a lab to its page, if there is one."""
    pages = [path.name for path in ROOT.glob(f"labs/{found[1]}_*.ipynb")]
    return f"*[Lab {found[1]}]({pages[0]})." if pages else found[0]


def notebook_page(text: str, page: Path) -> str:
    """Return a notebook whose title begins with its kind; a solution's answers are folded.

    Below the title are links to what belongs together: the lab, its solution. The
    search leaves out numbers, but finds "lab 06" where the index has it.
    """
    notebook = json.loads(text)
    kind, other = ("Lab", "solutions") if page.parent.name == "labs" else ("Solution", "labs")
    links = f"\n{RUN_IT}\n" if kind == "Lab" else ""
    if (ROOT / "solutions" / f"{page.name}.ipynb").exists():  # a copy for learners has none
        words = "The solution" if kind == "Lab" else "The lab without answers"
        links += f"\n[{words}](../{other}/{page.name}.ipynb)\n"
    for cell in notebook["cells"]:
        if "claim" in cell["metadata"].get("tags", []):
            cell["metadata"]["tags"].append("remove-cell")
        source = cell["source"] = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            index = f"```{{index}} ! {kind.lower()} \\1\n```\n"
            if kind == "Lab":
                index += "```{index} ! how long lab \\1 takes\n```\n"
            named = rf"# {kind} \1 · \2\n\n{index}{links}"
            cell["source"] = re.sub(r"\A# (\d\d) · (.*)\n", named, source)
            continue
        cell["source"] = re.sub(MARKS, "", source)
        if kind == "Solution" and cell["metadata"].get("nbgrader", {}).get("solution"):
            cell["metadata"].setdefault("tags", []).append("hide-input")
    return json.dumps(notebook)


def show_definitions(app: Any, doctree: nodes.document, docname: str) -> None:
    """Give each link to a term of the glossary its definition, and a class for the style sheet."""
    if not hasattr(app.env, "course_terms"):
        app.env.course_terms = terms()
    for link in list(doctree.findall(nodes.reference)):
        if link.get("refuri", "").startswith("mailto:"):  # recall@10 is not an address
            link.replace_self(nodes.Text(link.astext()))
            continue
        page, _, anchor = link.get("refuri", "").partition("#")
        here = docname == "labs/GLOSSARY" and (anchor := anchor or link.get("refid", ""))
        if here or page.endswith("GLOSSARY.html"):
            link["reftitle"] = app.env.course_terms.get(anchor, "")
            link["classes"].append("term")


def keep_definitions(app: Any, page: str, template: str, context: Any, tree: Any) -> None:
    """Put the definitions where the style sheet shows them; a title shows late, and to mice only.

    It is done in the page, because docutils writes no attributes of this kind.
    """
    if page == root_doc:
        context["docstitle"] = ""  # the page's own title is the site's
    links = r'(<a class="[^"]*\bterm\b[^>]*?) title='
    context["body"] = re.sub(links, r"\1 data-definition=", context.get("body", ""))
    context["body"] = re.sub('<span class="pre">([^<]*)', break_code, context["body"])


def break_code(found: re.Match[str]) -> str:
    """Let a path go on in the next line after a slash, and keep an option or `---` whole."""
    kind = "pre option" if re.fullmatch(r"-[\w-]{1,25}", found[1]) else "pre"
    return f'<span class="{kind}">' + re.sub(r"(?<=\w)/(?=\w)", "/<wbr>", found[1])


def terms() -> dict[str, str]:
    """Return the definition of each term of the glossary by the anchor of its heading."""
    text = (ROOT / "labs" / "GLOSSARY.md").read_text(encoding="utf-8")
    found = re.findall(r"^### (.+)\n\n(.+)$", text, re.MULTILINE)
    return {nodes.make_id(term): re.sub(r"[`*]|\]\([^)]*\)|\[", "", said) for term, said in found}


def prepare_docstring(
    app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]
) -> None:
    """Make a docstring what reStructuredText and napoleon expect."""
    # No blanks at the ends of code.
    lines[:] = [re.sub("`([^`]*)`", lambda code: f"`{code[1].strip()}`", line) for line in lines]
    if what in ("attribute", "data", "property"):
        # What is before a colon in the first line is not a type: a comment takes that line's place.
        lines[:0] = ["..", ""]
    if name.startswith("course_lib.settings.Settings.") and what == "attribute":
        lines += ["", in_environment(name.rpartition(".")[2])]


def in_environment(setting: str) -> str:
    """Return what a setting is called in the environment, and its default."""
    from course_lib.settings import Settings

    field = Settings.model_fields[setting]
    return f"``{field.alias}``, default: ``{field.default!r}``"


def setup(app: Any) -> None:
    """Write the pages of the commands, and connect the functions above to Sphinx."""
    write_commands(ROOT / "build" / "commands")
    # What an earlier build read is read again when one of these files has changed.
    made_by = "".join(path.read_text(encoding="utf-8") for path in sorted(HERE.glob("*.py")))
    app.add_config_value("made_by", made_by, "env", types=[str])
    app.connect("source-read", read_source)
    app.connect("autodoc-process-docstring", prepare_docstring, priority=400)
    app.connect("doctree-resolved", show_definitions)
    app.connect("html-page-context", keep_definitions)
