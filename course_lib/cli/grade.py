"""Commands of the instructor: make a class, collect, grade, release a notebook to learners."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from course_lib.cli.printing import say, show
from course_lib.errors import InputError
from course_lib.files import told_if_not_written, write_atomically

if TYPE_CHECKING:
    from course_lib.teaching.classroom import Classroom, Collected
    from course_lib.teaching.grade import GradeReport, Master
    from course_lib.teaching.grade.overview import Person

Class = Annotated[
    Path, typer.Option("--class", help="The class's folder.", show_default="the current one")
]
Lab = Annotated[str | None, typer.Option("--lab", help="A lab of this course, such as 01.")]
MasterPath = Annotated[
    Path | None,
    typer.Option("--master", help="A notebook of your own with nbgrader's metadata."),
]


def make(
    folder: Path,
    roster: Path | None = None,
    labs: Annotated[list[str] | None, typer.Option("--lab")] = None,
) -> None:
    """Make a class: nbgrader's configuration and gradebook, one assignment a lab, the roster.

    Example: course class init my-class --roster roster.csv

    Parameters
    ----------
    folder
        The class's folder; a new one, or a class.
    roster
        A CSV: login, name, email, lms_user_id; or Canvas's or Moodle's.
    labs : all
        A lab, such as 01; may be given again.
    """
    from course_lib.teaching import classroom
    from course_lib.teaching.checks import load
    from course_lib.teaching.grade import lab_masters, read_master
    from course_lib.teaching.grade.provisioner import install_kernel

    learners = classroom.read_roster(roster) if roster else []
    paths = [path for path in lab_masters(labs) if labs or load(path.stem[:2])]
    masters = [read_master(path, lab=path.stem[:2]) for path in paths]
    room = classroom.make_class(folder)
    install_kernel()
    for master in masters:
        classroom.add_assignment(room, master)
    with room.gradebook() as book:
        added = classroom.add_to_roster(book, learners)
        count = len(book.students)
    show(f"{room.root}: assignments: {len(masters)}, learners: {count}, new: {added}")


def update_class(lab: Lab = None, master: MasterPath = None, room: Class = Path(".")) -> None:
    """Bring a class up to what the course has now, where no grade is touched; say what is new.

    Example: course class update --class my-class
    """
    from course_lib.teaching.classroom import find_class, missing_settings, update_assignment
    from course_lib.teaching.classroom.versions import what_is_needed
    from course_lib.teaching.grade import lab_masters, read_master
    from course_lib.teaching.version import course_version

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
        if one.graded:
            show(what_is_needed(one.version))
    changed = sum(bool(one.changes) for one in done)
    show(f"{len(done)} assignments, {changed} of them changed; the course is {course_version()}")
    if lacking := missing_settings(found):
        show(f"a new class's nbgrader_config.py also sets {', '.join(lacking)}")
    if any(one.graded for one in done):
        raise typer.Exit(1)


def collect_submissions(
    given: list[Path],
    lab: Lab = None,
    master: MasterPath = None,
    room: Class = Path("."),
    pattern: str = "",
) -> None:
    """Put what an LMS gives for download into the class's folder.

    Example: course class collect submissions.zip --lab 01 --class my-class

    Parameters
    ----------
    given
        Zip files of an LMS, or folders.
    pattern
        A regular expression with the group student_id, as in zip_collect.
    """
    from course_lib.teaching.classroom import add_assignment, find_class

    found, read = find_class(room), _master(lab, master)
    add_assignment(found, read)
    said = _collect(found, read.name, given, pattern)
    if said.unknown or said.kept:
        raise typer.Exit(1)


def accept_points(
    learners: Annotated[list[str], typer.Argument(metavar="LOGIN...")],
    lab: Lab = None,
    master: MasterPath = None,
    room: Class = Path("."),
) -> None:
    """Take the points of flagged submissions as they are: their grades are exported from now on.

    Example: course class accept ada bob --lab 01 --class my-class

    Parameters
    ----------
    learners
        Whose submissions you have looked at.
    """
    from course_lib.teaching.classroom import accept, find_class

    name = _master(lab, master).name
    with find_class(room).gradebook() as book:
        for learner in learners:
            show(f"{learner}: {accept(book, name, learner):g} points")


def report_times(logs: list[Path], room: Class = Path(".")) -> None:
    """Show which exercise takes how long and fails how often; write it into the class's reports/.

    Example: course class report logs/*.jsonl --class my-class

    Parameters
    ----------
    logs
        Logs that learners gave you: their my/attempts.jsonl.
    """
    from course_lib.teaching.classroom import find_class
    from course_lib.teaching.classroom.times import class_times

    target, table = find_class(room).root / "reports" / "times.csv", class_times(logs)
    if table.empty:
        show("No exercise was checked in these logs.")
        return
    show(table.round(1).to_string(na_rep=""))
    show("median, slowest: minutes from the first check to the first that passed, breaks included")
    with told_if_not_written(target):
        write_atomically(target, table.round(1).to_csv())
    show(f"table: {target}")


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


def set_due_date(
    when: str,
    learners: Annotated[list[str] | None, typer.Argument(metavar="[LOGIN]...")] = None,
    lab: Lab = None,
    master: MasterPath = None,
    room: Class = Path("."),
) -> None:
    """Set when a lab is due, for all or for some; what late work loses is worked out again.

    Example: course class due "2026-12-03 23:59" ada --lab 01 --class my-class

    Parameters
    ----------
    when
        Such as "2026-12-01 23:59" or "2026-12-01 23:59 UTC"; or none.
    learners : everybody
        Whose date it is.
    """
    from course_lib.teaching.classroom import find_class, parse_due, set_due

    name, due = _master(lab, master).name, parse_due(when)
    changed = set_due(find_class(room), name, due, learners or [])
    told = f"{due:%Y-%m-%d %H:%M} UTC" if due else "without a due date"
    show(f"{name}: {', '.join([*(learners or ['all']), told])}")
    _show_changes(changed)


def grade(
    submissions: Annotated[list[Path] | None, typer.Argument()] = None,
    lab: Lab = None,
    master: MasterPath = None,
    room: Class = Path("."),
    jobs: Annotated[int, typer.Option(min=1)] = 2,
    cell_timeout: Annotated[float, typer.Option(min=0.1)] = 10,
    budget: Annotated[float, typer.Option(min=1)] = 60,
    resume: bool = False,
    seed: str = "",
    sandbox: bool = True,
) -> None:
    """Grade submissions with nbval, fenced in, and write nbgrader's gradebook.

    Example: course grade submissions.zip --lab 01 --class my-class

    Parameters
    ----------
    submissions
        Folders or zip files to collect first, as `course class collect`.
    jobs
        Submissions at a time.
    cell_timeout
        Seconds of processor time that a cell may take.
    budget
        Seconds of processor time that a submission may take.
    resume
        Grade only what has changed since the last run.
    seed : random
        What the audits' arguments are drawn with.
    sandbox
        Fence submissions in.
    """
    from course_lib.teaching import classroom
    from course_lib.teaching.grade import Limits, Options, find_fence

    fence = find_fence(sandbox=sandbox)
    if fence.kind == "none":
        say(fence.says)
    read = _master(lab, master)
    found = classroom.find_class(room)
    if submissions:
        classroom.add_assignment(found, read)
        _collect(found, read.name, submissions, "")
    options = Options(fence, Limits(cell=cell_timeout, budget=budget), jobs, resume, seed)
    page = found.report(read.name) / "index.html"
    report = classroom.grade_assignment(found, read, options)
    with found.gradebook() as book:
        people = classroom.people_of(found, book, read.name)
    show(_summary(report, people, page))
    _show_changes(report.changes)
    if any(one.why for one in people):
        show(classroom.RELEASE)
    if report.waiting:  # Ctrl-C came
        raise typer.Exit(130)


def release(
    labs: Annotated[list[str] | None, typer.Argument()] = None,
    out: Path = Path("released"),
    repository: Path | None = None,
) -> None:
    """Write the learner's versions of labs, or of your own notebooks, without the solutions.

    Example: course release own/regression.ipynb --out for-learners

    Parameters
    ----------
    labs
        Labs such as 01, or notebooks; all when left out.
    out
        Where the learner's versions go.
    repository
        A new folder for the whole course without answers.
    """
    if repository:
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
    unset = ", which costs nothing yet: set the date with `course class due` and collect again"
    unfit = "not taken: the pattern does not fit, and they are not as the lab was given"
    for names, told, most in (
        (said.unfit, unfit, None),
        (said.late, f"late{unset if said.due_unknown else ''}", 5),
        (said.new, "not in the roster, taken as logins", 5),
        (said.left_out, "left out", 5),
        (said.older, "older than what is there, which stays", None),
        (said.kept, "not taken, and what was there stays", None),
        (said.unknown, "not taken, because the roster does not say whose they are", None),
    ):
        if names:
            show(f"{len(names)} {told}: {_some(names, most)}")
    return said


def _summary(report: GradeReport, people: Sequence[Person], page: Path) -> str:
    """Return what a run has come to: whom it is about, and what waits, by the gradebook."""
    handed_in = [one for one in people if one.points is not None]
    person = [one.login for one in handed_in if one.why == "not decided"]
    said = {
        "handed in nothing": [one.called for one in people if one.points is None],
        "need a person, and are kept back": person,
        "have flags, and are kept back": [o.login for o in handed_in if o.why == "flagged"],
    }
    lines = [
        f"{len(handed_in) - len(person)} of {len(handed_in)} graded; this run took "
        f"{report.seconds:.1f} s ({report.fence.kind}, --seed {report.seed})"
    ]
    lines += [f"{len(who)} {told}: {_some(who)}" for told, who in said.items() if who]
    if report.waiting:
        lines.append(f"{len(report.waiting)} were not reached; --resume continues with them")
    return "\n".join([*lines, f"report: {page}"])


def _show_changes(changed: Mapping[str, tuple[float, float]]) -> None:
    if changed:
        show(f"{len(changed)} have other points than before:")
    for who, (before, after) in sorted(changed.items()):
        show(f"  {who}: {before:g}, now {after:g}")


def _some(names: list[str], most: int | None = 5) -> str:
    return ", ".join([*names[:most], *(["…"] if names[:most] != names else [])])
