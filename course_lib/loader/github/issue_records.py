"""An issue with its comments as a text to read, and as records to search.

The text is one document an issue: the title, the body, and every comment under the name of who
wrote it. A record never holds parts of two comments. It is cut as a page is, and embedded under the
issue's title, without which few comments say what they are about.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from course_lib.loader.github.issues import Comment, Issue
from course_lib.loader.markdown import BETWEEN, Section, find_sections, join_small
from course_lib.loader.pieces import ParserInfo, Piece, make_chunks, shortened
from course_lib.loader.recursive import split_prose
from course_lib.records import LOCAL, Chunk, Document, Scope
from course_lib.settings import CHUNK_OVERLAP, CHUNK_SIZE

PARSER = ParserInfo("github-issue", "2.0.0", ("kind", "name"))
EXTENSION = ".issue.md"
PARTITION = "issues"
"""Where issues belong in the index, whichever repository they are of."""


def issue_document(issue: Issue) -> Document:
    r"""Return an issue as a document in Markdown.

    Its metadata says where each part begins and ends (`parts`), so that no heading in a comment can
    pass for a part of its own.

    Examples
    --------
    >>> comment = Comment(7, "tomas", "2026-06-09T18:30:00Z", "", "Seen here, too.", "")
    >>> issue = Issue(1, "It stops", "At night.", "open", ("bug",), "ines",
    ...               "2026-06-09T17:48:00Z", "", "", (comment,))
    >>> print(issue_document(issue).content)
    # It stops
    <BLANKLINE>
    Issue #1, open, bug. Written by ines on 2026-06-09.
    <BLANKLINE>
    At night.
    <BLANKLINE>
    ## tomas on 2026-06-09
    <BLANKLINE>
    Seen here, too.
    <BLANKLINE>
    """
    about = ", ".join((f"Issue #{issue.number}", issue.state, *issue.labels))
    top = f"# {issue.title}\n\n{about}. Written by {_by(issue.author, issue.created_at)}.\n"
    content = top + (f"\n{issue.body.strip()}\n" if issue.body.strip() else "")
    parts: list[dict[str, Any]] = [
        {"start": 0, "end": len(content), "kind": "issue", "author": issue.author}
        | {"createdAt": issue.created_at, "updatedAt": issue.updated_at, "url": issue.url}
    ]
    for comment in issue.comments:
        start = len(content) + 1
        content += f"\n{_comment_text(comment)}"
        parts.append(
            {"start": start, "end": len(content), "kind": "issue-comment"}
            | {"author": comment.author, "createdAt": comment.created_at}
            | {"updatedAt": comment.updated_at, "url": comment.url}
        )
    name = f"issues/{issue.number}{EXTENSION}"
    return Document(
        Path(name),
        name,
        content,
        {
            "extension": EXTENSION,
            "size": len(content.encode("utf-8")),
            "relative_path": name,
            "number": issue.number,
            "title": issue.title,
            "state": issue.state,
            "labels": list(issue.labels),
            "citation_url": issue.url,
            "parts": parts,
        },
    )


def parse_issue(
    document: Document,
    *,
    scope: Scope = LOCAL,
    chunk_size: int = CHUNK_SIZE,
    chunk_overlap: int = CHUNK_OVERLAP,
) -> list[Chunk]:
    r"""Split an issue into records: the body and each comment by itself.

    Parameters and errors are those of `split_document`. `kind` is ``issue`` or ``issue-comment``,
    `name` the number and the title. `custom_meta` holds `number`, `state`, `labels`, `author`,
    `createdAt`, `updatedAt`, `citationUrl` (of the comment, where it is one), the offsets and the
    header. A document that says nothing of parts is one part.

    Examples
    --------
    >>> comment = Comment(7, "tomas", "2026-06-09T18:30:00Z", "", "Seen here, too.", "")
    >>> issue = Issue(1, "It stops", "At night.", "open", ("bug",), "ines",
    ...               "2026-06-09T17:48:00Z", "", "", (comment,))
    >>> pieces = parse_issue(issue_document(issue))
    >>> [(piece.kind, piece.name, piece.line_start) for piece in pieces]
    [('issue', '#1 It stops', 1), ('issue-comment', '#1 It stops', 7)]
    >>> pieces[1].custom_meta["header"]
    'Issue #1: It stops\n'
    """
    text, about = document.content, document.metadata
    number, title = about.get("number"), str(about.get("title", ""))
    name = f"#{number} {title}".strip() if number else document.name.rsplit("/", 1)[-1]
    shared = {key: about[key] for key in ("number", "state", "labels") if key in about}
    parts = about.get("parts") or [{"start": 0, "end": len(text), "kind": "issue"}]
    pieces = []
    for part in parts:
        start, kind = int(part["start"]), str(part["kind"])
        told = {key: part[key] for key in ("author", "createdAt", "updatedAt") if part.get(key)}
        meta = shared | told | {"citationUrl": part.get("url")}
        for begin, end, headings in _sections_of(text[start : int(part["end"])], chunk_size):
            header = BETWEEN.join([f"Issue #{number}: {title}", *headings]) if number else ""
            for span in split_prose(text[start + begin : start + end], chunk_size, chunk_overlap):
                first, last = start + begin + span.start, start + begin + span.end
                if span.text.strip():
                    # The first piece of the body begins with the title itself.
                    above = f"{shortened(header)}\n" if header and first > 0 else ""
                    pieces.append(Piece(first, last, kind, name, above, meta=meta))
    return make_chunks(document, scope, pieces, PARSER)


def _sections_of(text: str, size: int) -> list[Section]:
    """Return the sections of a body or a comment, without the heading that we gave it ourselves."""
    sections = find_sections(text)
    ours = sections[0].headings[:1] if sections else ()
    return [
        one._replace(headings=tuple(heading for heading in one.headings if heading not in ours))
        for one in join_small(sections, size)
    ]


def _comment_text(comment: Comment) -> str:
    body = comment.body.strip()
    return f"## {_by(comment.author, comment.created_at)}\n" + (f"\n{body}\n" if body else "")


def _by(author: str, when: str) -> str:
    return f"{author or 'somebody'} on {when[:10]}"
