"""Where an answer is called the course's own: honest ones are not, the course's in disguise are."""

import ast
from collections.abc import Callable, Iterator
from functools import cache

import pytest

from course_lib.teaching.grade import lab_masters, read_master
from course_lib.teaching.grade.plagiarism import (
    COURSE,
    HELD_BACK,
    copies_of_the_course,
    find_copies,
    groups_of,
    normalised,
)
from course_lib.teaching.lab.reference import reference
from tests.grading import sql_variants
from tests.unit.teaching.answers import answers_of, source_of
from tests.unit.teaching.test_exercises import LABS


@cache
def exercises() -> dict[str, tuple[str, str]]:
    """Return the course's answer to each exercise, and what learners were given."""
    masters = [
        read_master(path, lab=path.stem[:2]) for path in lab_masters() if "00" not in path.stem
    ]
    return {
        name.removeprefix("exercise-").replace("-", "."): (source, master.stubs[name])
        for master in masters
        for name, source in master.solutions.items()
    }


def is_held_back(exercise: str, answer: str) -> bool:
    solution, stub = exercises()[exercise]
    said = copies_of_the_course({"a": answer}, {"a": solution}, {"a": stub})
    assert all(one.says.startswith("a is the course's version, ") for one in said)
    return bool(said)


def long_ones() -> Iterator[tuple[str, str]]:
    for exercise, (solution, stub) in exercises().items():
        if len(normalised(solution)) - len(normalised(stub)) >= HELD_BACK:
            yield exercise, solution


class Rename(ast.NodeTransformer):
    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.copy_location(ast.Name(f"my_{node.id}", node.ctx), node)

    def visit_arg(self, node: ast.arg) -> ast.arg:
        return ast.arg(f"my_{node.arg}")


def functions(tree: ast.Module) -> Iterator[ast.FunctionDef]:
    return (node for node in tree.body if isinstance(node, ast.FunctionDef))


def renamed(source: str) -> ast.Module:
    tree = ast.parse(source)
    Rename().visit(tree)
    return tree


def with_two_more_lines(source: str) -> ast.Module:
    tree = renamed(source)
    for function in functions(tree):
        function.body[:0] = ast.parse("seen = True\nprint('here', seen)").body
    return tree


def with_a_name_for_the_result(source: str) -> ast.Module:
    tree = renamed(source)
    for function in functions(tree):
        last = function.body[-1]
        if isinstance(last, ast.Return) and last.value is not None:
            named = ast.Assign([ast.Name("result", ast.Store())], last.value)
            function.body[-1:] = [named, ast.Return(ast.Name("result"))]
    return ast.fix_missing_locations(tree)


def right_ones() -> Iterator[tuple[str, str]]:
    """Yield the functions of the books that are right, each written in another style."""
    for lab in LABS:
        for one in answers_of(lab):
            course = reference(lab, one.exercise)
            if not one.words and not isinstance(course, str):
                yield one.exercise.id, source_of(course, one.text) if one.is_edit else one.text


def test_no_honest_answer_is_held_back() -> None:
    tried = [(exercise, one) for exercise, one in right_ones() if exercise in exercises()]
    assert sum(len(normalised(one)) > HELD_BACK for _, one in tried) > 30
    assert not [exercise for exercise, one in tried if is_held_back(exercise, one)]


@pytest.mark.parametrize("disguise", [renamed, with_two_more_lines, with_a_name_for_the_result])
def test_a_long_answer_of_the_courses_is_found_in_disguise(
    disguise: Callable[[str], ast.Module],
) -> None:
    tried = list(long_ones())
    assert len(tried) >= 7
    missed = [one for one, source in tried if not is_held_back(one, ast.unparse(disguise(source)))]
    assert not missed


@pytest.mark.parametrize("lab", ["05", "06", "07", "11", "12"])
def test_several_answers_that_are_the_courses_word_for_word_are_found_however_short(
    lab: str,
) -> None:
    (path,) = lab_masters([lab])
    master = read_master(path, lab=lab)
    answers = {
        name: f"# mine\n{source.replace('-- ', '-- My ')}"
        for name, source in master.solutions.items()
    }
    said = copies_of_the_course(answers, master.solutions, master.stubs)
    assert len(said) == len(answers) and all("word for word" in one.says for one in said)
    two = dict(list(answers.items())[:2])
    assert not copies_of_the_course(two, master.solutions, master.stubs)
    other = answers | {name: f"{source}\nmore = 1" for name, source in two.items()}
    assert len(other) > 4 or not copies_of_the_course(other, master.solutions, master.stubs)


def in_sql(exercise: str, answer: str) -> str:
    """Return a whole answer: what is given, with the learner's lines where the stub waits."""
    _, stub = exercises()[exercise]
    return stub.replace("-- YOUR SQL HERE\n", answer.lstrip("\n"), 1)


def groups(exercise: str, answers: dict[str, str]) -> list[list[str]]:
    """Return who is shown to have the same answer."""
    solution, stub = exercises()[exercise]
    given = {who: {"a": answer} for who, answer in answers.items()}
    copies = find_copies(given, {"a": solution}, {"a": stub})
    return [members for _, members, _ in groups_of(copies)]


def test_copied_sql_is_a_group_whatever_its_aliases_case_layout_and_comments_are() -> None:
    exercise = "8.1"
    solution, stub = exercises()[exercise]
    class_ = {
        f"honest{n}": in_sql(exercise, one) for n, one in enumerate(sql_variants.HONEST[exercise])
    } | {"obvious": solution}
    assert groups(exercise, class_) == []
    copied = sql_variants.DISGUISED[exercise]
    class_ |= {f"copied{n}": in_sql(exercise, one) for n, one in enumerate(copied)}
    members = ["honest0", *(f"copied{n}" for n in range(len(copied)))]
    assert groups(exercise, class_) == [sorted(members)]
    assert not copies_of_the_course({"a": solution}, {"a": solution}, {"a": stub}), "it is obvious"


@pytest.mark.parametrize("exercise", ["6.1", "6.2", "7.1", "8.1"])
def test_the_sql_that_everyone_writes_is_no_copy(exercise: str) -> None:
    solution, _ = exercises()[exercise]
    assert groups(exercise, {f"learner{n}": solution for n in range(6)}) == []


def test_a_short_answer_in_sql_is_no_copy() -> None:
    solution, _ = exercises()["6.1"]
    assert groups("6.1", {"ada": solution, "bob": solution.replace("CHECK", "check")}) == []


def test_a_copied_pipeline_is_a_group() -> None:
    solution, stub = exercises()["11.4"]
    begin = stub[: stub.index("        # YOUR CODE HERE")]
    one, other = (begin + body.lstrip("\n") for body in sql_variants.PIPELINES)
    class_ = {"ada": one, "eva": other, "cy": solution}
    assert [members for members in groups("11.4", class_) if COURSE not in members] == []
    copied = one
    new_names = {"pieces": "parts", "files": "texts", "index =": "built =", "rows =": "done ="}
    for name, new in new_names.items():
        copied = copied.replace(name, new)
    copied = copied.replace("(rows)", "(done)").replace("rows.output", "done.output")
    copied = copied.replace("(index", "(built")
    assert ["ada", "bob"] in groups("11.4", class_ | {"bob": copied.replace("names", "shards_")})
