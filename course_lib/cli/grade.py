"""Commands of the instructor: make a class, collect, grade, release a notebook to learners."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from course_lib.cli.printing import say, show

if TYPE_CHECKING:
    from course_lib.teaching.classroom import Classroom, Collected
    from course_lib.teaching.grade import Master, Report
    from course_lib.teaching.grade.overview import Person

app = typer.Typer(
    help="A class in nbgrader's folders: make it, collect what was handed in.", no_args_is_help=True
)

Class = Annotated[
    Path, typer.Option("--class", help="The class's folder.", show_default="the current one")
]
Lab = Annotated[str | None, typer.Option("--lab", help="A lab of this course, such as 01.")]
MasterPath = Annotated[
    Path | None,
    typer.Option("--master", help="A notebook of your own with nbgrader's metadata."),
]


@app.command("init")
def make(
    folder: Annotated[Path, typer.Argument(help="The class's folder; a new one, or a class.")],
    roster: Annotated[
        Path | None,
        typer.Option(help="A CSV: login, name, email, lms_user_id; or Canvas's or Moodle's."),
    ] = None,
    labs: Annotated[
        list[str] | None,
        typer.Option("--lab", help="A lab, such as 01; may be given again.", show_default="all"),
    ] = None,
) -> None:
    """Make a class: nbgrader's configuration and gradebook, one assignment a lab, the roster.

    Example: course class init my-class --roster roster.csv
    """
    from course_lib.teaching.checks import load
    from course_lib.teaching.classroom import (
        add_assignment,
        add_to_roster,
        make_class,
        read_roster,
    )
    from course_lib.teaching.grade import lab_masters, read_master

    learners = read_roster(roster) if roster else []
    paths = [path for path in lab_masters(labs) if labs or load(path.stem[:2])]
    masters = [read_master(path, lab=path.stem[:2]) for path in paths]
    room = make_class(folder)
    for master in masters:
        add_assignment(room, master)
    with room.gradebook() as book:
        added = add_to_roster(book, learners)
        count = len(book.students)
    show(f"{room.root}: assignments: {len(masters)}, learners: {count}, new: {added}")


@app.command("update")
def update_class(lab: Lab = None, master: MasterPath = None, room: Class = Path(".")) -> None:
    """Bring a class up to what the course has now, where no grade is touched; say what is new.

    Example: course class update --class my-class
    """
    from course_lib.teaching.classroom import find_class, missing_settings, update_assignment
    from course_lib.teaching.grade import lab_masters, read_master

    found = find_class(room)
    if lab or master:
        masters = [_master(lab, master)]
    else:
        with found.gradebook() as book:
            names = {str(one.name) for one in book.assignments}
        paths = [path for path in lab_masters() if path.stem in names]
        masters = [read_master(path, lab=path.stem[:2]) for path in paths]
        if others := sorted(names - {path.stem for path in paths}):
            show(f"not labs of this course, and left as they are: {', '.join(others)}")
    done = [update_assignment(found, one) for one in masters]
    for one in done:
        if one.graded:
            show(f"{one.name} stays as it is, because {one.graded} submissions are graded with it:")
        elif one.changes:
            show(f"{one.name} is up to date now:")
        for change in one.changes:
            show(f"  {change}")
    show(f"{len(done)} assignments, {sum(bool(one.changes) for one in done)} of them changed")
    if lacking := missing_settings(found):
        show(f"a new class's nbgrader_config.py also sets {', '.join(lacking)}")
    if any(one.graded for one in done):
        show("Grade those with the version of the course they were released with, or make a class.")
        raise typer.Exit(1)


@app.command("collect")
def collect_submissions(
    given: Annotated[list[Path], typer.Argument(help="Zip files of an LMS, or folders.")],
    lab: Lab = None,
    master: MasterPath = None,
    room: Class = Path("."),
    pattern: Annotated[
        str,
        typer.Option(help="A regular expression with the group student_id, as in zip_collect."),
    ] = "",
) -> None:
    """Put what an LMS gives for download into the class's folder.

    Example: course class collect submissions.zip --lab 01 --class my-class
    """
    from course_lib.teaching.classroom import add_assignment, find_class

    found, read = find_class(room), _master(lab, master)
    add_assignment(found, read)
    said = _collect(found, read.name, given, pattern)
    if said.unknown or said.kept:
        raise typer.Exit(1)


@app.command("accept")
def accept_points(
    learners: Annotated[
        list[str], typer.Argument(metavar="LOGIN...", help="Whose submissions you have looked at.")
    ],
    lab: Lab = None,
    master: MasterPath = None,
    room: Class = Path("."),
) -> None:
    """Take the points of flagged submissions as they are: their grades are exported from now on.

    Example: course class accept ada bob --lab 01 --class my-class
    """
    from course_lib.teaching.classroom import accept, find_class

    name = _master(lab, master).name
    with find_class(room).gradebook() as book:
        for learner in learners:
            show(f"{learner}: {accept(book, name, learner):g} points")


@app.command("report")
def report_times(
    logs: Annotated[
        list[Path], typer.Argument(help="Logs that learners gave you: their my/attempts.jsonl.")
    ],
    picture: Annotated[Path, typer.Option(help="The picture to write.")] = Path("times.png"),
) -> None:
    """Show which exercise takes how long and fails how often, from the logs of a class.

    Example: course class report logs/*.jsonl
    """
    from course_lib.files import told_if_not_written
    from course_lib.teaching.classroom.times import class_times, draw_times

    table = class_times(logs)
    if table.empty:
        show("No exercise was checked in these logs.")
        return
    show(table.round(1).to_string(na_rep=""))
    show("median, slowest: minutes from the first check to the first that passed, breaks included")
    with told_if_not_written(picture):
        draw_times(table, picture)
    show(f"picture: {picture}")


@app.command("feedback")
def give_feedback(lab: Lab = None, master: MasterPath = None, room: Class = Path(".")) -> None:
    """Make a page for each learner whose grade is decided, and a zip of them for Canvas or Moodle.

    Example: course class feedback --lab 01 --class my-class
    """
    from course_lib.teaching.classroom import find_class
    from course_lib.teaching.classroom.feedback import make_feedback

    found = find_class(room)
    made = make_feedback(found, _master(lab, master).name)
    show(f"{len(made.pages)} pages are in {found.root / 'feedback'}")
    if made.archive:
        show(f"for Canvas (Upload Submissions) or Moodle (feedback files in a zip): {made.archive}")
        if made.not_in_it:
            show(f"{len(made.not_in_it)} not in it, from no LMS: {_some([*made.not_in_it])}")
    if made.kept_back:
        said = [f"{login} ({why})" for login, why in made.kept_back.items()]
        show(f"{len(said)} kept back until you have looked: {', '.join(said)}")


@app.command("due")
def set_due_date(
    when: Annotated[
        str, typer.Argument(help='Such as "2026-12-01 23:59" or "2026-12-01 23:59 UTC"; or none.')
    ],
    learners: Annotated[
        list[str] | None,
        typer.Argument(metavar="[LOGIN]...", help="Whose date it is.", show_default="everybody"),
    ] = None,
    lab: Lab = None,
    master: MasterPath = None,
    room: Class = Path("."),
) -> None:
    """Set when a lab is due, for all or for some; what late work loses is worked out again.

    Example: course class due "2026-12-03 23:59" ada --lab 01 --class my-class
    """
    from course_lib.teaching.classroom import find_class, parse_due, set_due

    name, due = _master(lab, master).name, parse_due(when)
    changed = set_due(find_class(room), name, due, learners or [])
    told = f"{due:%Y-%m-%d %H:%M} UTC" if due else "without a due date"
    show(f"{name}: {', '.join([*(learners or ['all']), told])}")
    _show_changes(changed)


def grade(
    submissions: Annotated[
        list[Path] | None,
        typer.Argument(help="Folders or zip files to collect first, as `course class collect`."),
    ] = None,
    lab: Lab = None,
    master: MasterPath = None,
    room: Class = Path("."),
    jobs: Annotated[int, typer.Option(min=1, help="Submissions at a time.")] = 2,
    cell_timeout: Annotated[float, typer.Option(min=0.1, help="Seconds a cell may take.")] = 10,
    budget: Annotated[float, typer.Option(min=1, help="Seconds a submission may take.")] = 60,
    resume: Annotated[
        bool, typer.Option("--resume", help="Grade only what has changed since the last run.")
    ] = False,
    seed: Annotated[
        str, typer.Option(help="What the audits' arguments are drawn with.", show_default="random")
    ] = "",
    sandbox: Annotated[
        bool, typer.Option("--sandbox/--no-sandbox", help="Fence submissions in.")
    ] = True,
) -> None:
    """Grade submissions with nbval, fenced in, and write nbgrader's gradebook.

    Example: course grade submissions.zip --lab 01 --class my-class
    """
    from course_lib.teaching.classroom import (
        RELEASE,
        add_assignment,
        find_class,
        grade_assignment,
        people_of,
    )
    from course_lib.teaching.grade import Limits, Options, find_fence

    fence = find_fence(sandbox=sandbox)
    if fence.kind == "none":
        say(fence.says)
    read = _master(lab, master)
    found = find_class(room)
    if submissions:
        add_assignment(found, read)
        _collect(found, read.name, submissions, "")
    limits = Limits(cell=cell_timeout, budget=budget)
    options = Options(fence, limits, jobs, resume, seed)
    page = found.report(read.name) / "index.html"
    report = grade_assignment(found, read, options)
    with found.gradebook() as book:
        people = people_of(found, book, read.name)
    show(_summary(report, people, page))
    _show_changes(report.changes)
    if any(one.why for one in people):
        show(RELEASE)
    if report.waiting:  # Ctrl-C came
        raise typer.Exit(130)


def release(
    labs: Annotated[
        list[str] | None, typer.Argument(help="Labs such as 01, or notebooks; all when left out.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Where the learner's versions go.")] = Path("released"),
    repository: Annotated[
        Path | None, typer.Option(help="A new folder for the whole course without answers.")
    ] = None,
) -> None:
    """Write the learner's versions of labs, or of your own notebooks, without the solutions.

    Example: course release own/regression.ipynb --out for-learners
    """
    if repository:
        from course_lib.errors import InputError
        from course_lib.files import told_if_not_written
        from course_lib.teaching.notebooks.repository import release_repository

        if labs:
            raise InputError("--repository takes the whole course", hint="Name no labs.")
        with told_if_not_written(repository):
            show(str(release_repository(repository)))
        return
    from course_lib.teaching.grade import lab_masters, release_masters

    given = labs or []
    paths = [Path(one) for one in given if one.endswith(".ipynb")]
    numbers = [one for one in given if not one.endswith(".ipynb")]
    if numbers or not paths:
        paths += lab_masters(numbers or None)
    for path in release_masters(paths, out):
        show(str(path))


def _master(lab: str | None, path: Path | None) -> Master:
    from course_lib.errors import InputError
    from course_lib.teaching.checks import lab_number
    from course_lib.teaching.grade import lab_masters, read_master

    if (lab is None) == (path is None):
        raise InputError("say what to grade with", hint="Either --lab 01 or --master NOTEBOOK.")
    if path is None:
        (path,) = lab_masters([lab or ""])
        return read_master(path, lab=lab_number(path.stem[:2]))
    return read_master(path)


def _collect(room: Classroom, assignment: str, given: list[Path], pattern: str) -> Collected:
    from course_lib.teaching.classroom import collect

    said = collect(room, assignment, given, pattern=pattern)
    show(f"{len(said.placed)} submissions of {assignment} are in {room.root / 'submitted'}")
    if said.unfit:
        told = "not taken: the pattern does not fit, and they are not as the lab was given"
        show(f"{len(said.unfit)} {told}: {', '.join(said.unfit)}")
    late = "late"
    if said.due_unknown:
        late += ", which costs nothing yet: set the date with `course class due` and collect again"
    for names, told in (
        (said.late, late),
        (said.new, "not in the roster, taken as logins"),
        (said.left_out, "left out"),
    ):
        if names:
            show(f"{len(names)} {told}: {_some(names)}")
    for names, told in (
        (said.older, "older than what is there, which stays"),
        (said.kept, "not taken, and what was there stays"),
        (said.unknown, "not taken, because the roster does not say whose they are"),
    ):
        if names:
            show(f"{len(names)} {told}: {', '.join(names)}")
    return said


def _summary(report: Report, people: Sequence[Person], page: Path) -> str:
    """Return what a run has come to: whom it is about, and what waits, by the gradebook."""
    handed_in = [one for one in people if one.points is not None]
    person = [one.login for one in handed_in if one.why == "not decided"]
    flagged = [one.login for one in handed_in if one.why == "flagged"]
    absent = [one.called for one in people if one.points is None]
    lines = [
        f"{len(handed_in) - len(person)} of {len(handed_in)} graded; this run took "
        f"{report.seconds:.1f} s ({report.fence.kind}, --seed {report.seed})"
    ]
    if absent:
        lines.append(f"{len(absent)} handed in nothing: {_some(absent)}")
    if person:
        lines.append(f"{len(person)} need a person, and are kept back: {_some(person)}")
    if flagged:
        lines.append(f"{len(flagged)} have flags, and are kept back: {_some(flagged)}")
    if report.waiting:
        lines.append(f"{len(report.waiting)} were not reached; --resume continues with them")
    return "\n".join([*lines, f"report: {page}"])


def _show_changes(changed: Mapping[str, tuple[float, float]]) -> None:
    if changed:
        show(f"{len(changed)} have other points than before:")
    for who, (before, after) in sorted(changed.items()):
        show(f"  {who}: {before:g}, now {after:g}")


def _some(names: list[str]) -> str:
    return ", ".join(names[:5]) + (", …" if len(names) > 5 else "")
