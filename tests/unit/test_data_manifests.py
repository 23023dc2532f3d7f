"""The manifests and sources in `data/`, and the questions about all of it."""

from __future__ import annotations

import ast
import json
import re
import shutil
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import kubernetes_validate  # type: ignore[import-untyped]
import pytest
import yaml  # type: ignore[import-untyped]

from tests.needs import PACKAGES

ROOT = Path(__file__).resolve().parents[2]
CHUNK_OVERLAP = 64
FIELDS = {
    "id": str,
    "question": str,
    "kind": str,
    "gold_paths": list,
    "gold_resources": list,
    "also_acceptable_paths": list,
    "answer_contains": list,
}


def read(path: Path) -> str:
    return path.read_bytes().decode("utf-8")


MANIFESTS = ROOT / "data" / "manifests"
CODE = ROOT / "data" / "code"
CHART_TEMPLATES = MANIFESTS / "chart" / "templates"
BROKEN = MANIFESTS / "odd" / "broken.yaml"
PLATFORM = MANIFESTS / "platform"
DOCUMENTS = ROOT / "data" / "documents"
SETS = {"documents": DOCUMENTS, "manifests": MANIFESTS, "code": CODE}
SOURCES = sorted(path for path in CODE.rglob("*") if path.suffix in {".py", ".go", ".sh"})
PARSEABLE = sorted(
    path
    for path in MANIFESTS.rglob("*.yaml")
    if CHART_TEMPLATES not in path.parents and path != BROKEN
)


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def text_files(folder: Path) -> dict[str, str]:
    found = {
        path.relative_to(folder).as_posix(): read(path)
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    return {name: text for name, text in found.items() if not name.startswith(".")}


def asked_about(name: str) -> list[dict[str, Any]]:
    lines = read(ROOT / "data" / "questions" / f"{name}.jsonl").splitlines()
    return [json.loads(line) for line in lines]


def in_yaml(text: str) -> list[dict[str, Any]]:
    """Return the resources of a parseable text, those of a List in its place."""
    found: list[dict[str, Any]] = []
    for document in yaml.load_all(text, Loader=yaml.CSafeLoader):
        found.extend(
            document["items"] if document and document.get("kind") == "List" else [document]
        )
    return [document for document in found if document]


def resources() -> list[tuple[Path, dict[str, Any]]]:
    return [(path, one) for path in PARSEABLE for one in in_yaml(read(path)) if "kind" in one]


def kustomized(folder: Path) -> list[dict[str, Any]]:
    program = shutil.which("kubectl")
    if program is None:
        pytest.skip(f"kubectl is not here: {PACKAGES['kubectl']}")
    done = subprocess.run(
        [program, "kustomize", str(folder)], capture_output=True, check=False, encoding="utf-8"
    )
    assert done.returncode == 0, done.stderr
    return in_yaml(done.stdout)


def test_every_value_that_a_template_takes_is_in_the_values_of_the_chart() -> None:
    values = yaml.load(read(MANIFESTS / "chart" / "values.yaml"), Loader=yaml.CSafeLoader)
    for path in CHART_TEMPLATES.iterdir():
        for dotted in re.findall(r"\.Values\.([\w.]+)", read(path)):
            value = values
            for key in dotted.split("."):
                assert key in value, (path.name, dotted)
                value = value[key]


def test_every_resource_has_only_fields_that_kubernetes_knows() -> None:
    foreign = set()
    for path, resource in resources():
        if resource["apiVersion"].startswith(("kustomize.", "heron.")):
            foreign.add(resource["kind"])
            continue
        try:
            kubernetes_validate.validate(resource, "1.34", strict=True)
        except kubernetes_validate.ValidationError as error:
            is_patch = "overlays" in path.parts and "is a required property" in error.message
            assert is_patch, (relative(path), error.message)
    assert foreign == {"Kustomization", "TrainingRun"}


def test_the_custom_resource_is_over_500_lines_long_and_its_examples_obey_it() -> None:
    import jsonschema

    text = read(MANIFESTS / "crds" / "trainingruns.yaml")
    assert text.count("\n") > 500
    (definition,) = in_yaml(text)
    schemas = {
        version["name"]: version["schema"]["openAPIV3Schema"]
        for version in definition["spec"]["versions"]
    }
    assert sum(version["storage"] for version in definition["spec"]["versions"]) == 1

    def unknown(schema: dict[str, Any], value: Any, where: str) -> list[str]:
        """Name the keys that the API server would prune."""
        if isinstance(value, list):
            return [name for item in value for name in unknown(schema["items"], item, where)]
        if not isinstance(value, dict) or "properties" not in schema:
            return []
        known = schema["properties"]
        missing = [f"{where}.{key}" for key in value if key not in known]
        return missing + [
            name
            for key, item in value.items()
            if key in known
            for name in unknown(known[key], item, f"{where}.{key}")
        ]

    runs = in_yaml(read(MANIFESTS / "training-runs.yaml"))
    assert len(runs) == 2
    for run in runs:
        schema = schemas[run["apiVersion"].rpartition("/")[2]]
        jsonschema.validate(run, schema)
        assert unknown(schema["properties"]["spec"], run["spec"], "spec") == []


def test_the_base_of_the_platform_renders_with_every_resource_in_one_namespace() -> None:
    rendered = kustomized(PLATFORM / "base")
    assert len(rendered) >= 25
    for resource in rendered:
        if resource["kind"] == "Namespace":
            assert resource["metadata"]["name"] == "heron"
        else:
            assert resource["metadata"]["namespace"] == "heron"


def test_a_shell_script_is_accepted_by_the_shell() -> None:
    bash = shutil.which("bash") if sys.platform != "win32" else None
    if bash is None:
        pytest.skip("there is no bash on PATH to read the scripts")
    for path in (path for path in SOURCES if path.suffix == ".sh"):
        done = subprocess.run([bash, "-n", str(path)], capture_output=True, check=False)
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", SETS)
def test_every_question_is_well_formed_and_there_once(name: str) -> None:
    asked = asked_about(name)
    kind = "docs" if name == "documents" else name
    assert len(asked) >= (40 if kind == "docs" else 30)
    for question in asked:
        assert {key: type(value) for key, value in question.items()} == FIELDS, question
        assert question["kind"] == kind and question["question"].endswith("?"), question
        assert question["question"].strip() == question["question"], question
        assert question["gold_paths"] and question["answer_contains"], question
        assert bool(question["gold_resources"]) == (kind != "docs"), question
        assert not set(question["gold_paths"]) & set(question["also_acceptable_paths"]), question
        for resource in question["gold_resources"]:
            assert sorted(resource) == ["kind", "name"], question
    for values in ([q["id"] for q in asked], [q["question"].casefold() for q in asked]):
        assert [value for value, count in Counter(values).items() if count > 1] == []


@pytest.mark.parametrize("name", SETS)
def test_every_answer_phrase_stands_in_a_line_of_a_file_that_the_question_names(name: str) -> None:
    files = {path: text.splitlines() for path, text in text_files(SETS[name]).items()}
    for question in asked_about(name):
        gold, also = set(question["gold_paths"]), set(question["also_acceptable_paths"])
        assert gold | also <= files.keys(), question["id"]
        for phrase in question["answer_contains"]:
            holders = {path for path in files if any(phrase in line for line in files[path])}
            allowed = gold if name == "documents" else gold | also
            assert holders & gold and holders <= allowed, (question["id"], phrase, holders)
            assert len(phrase) <= CHUNK_OVERLAP, (question["id"], phrase)


@cache
def identities(path: Path) -> set[tuple[str, str]]:
    """Return (kind, name) of what a file defines, found without the course's own splitters."""
    text = read(path)
    if path.suffix == ".py":
        names = {
            ast.ClassDef: {"class"},
            ast.FunctionDef: {"function", "method"},
            ast.AsyncFunctionDef: {"function", "method"},
        }
        found = {
            (kind, node.name)
            for node in ast.walk(ast.parse(text))
            if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef))
            for kind in names[type(node)]
        }
        constants = re.findall(r"^(\w+) = ", text, re.MULTILINE)
        return found | {("block", one) for one in constants}
    if path.suffix == ".go":
        functions = {("function", one) for one in re.findall(r"^func (\w+)", text, re.MULTILINE)}
        methods = {
            ("method", one) for one in re.findall(r"^func \(.*?\) (\w+)", text, re.MULTILINE)
        }
        types = {("type", one) for one in re.findall(r"^type (\w+)", text, re.MULTILINE)}
        blocks = {("block", one) for one in re.findall(r"^\t(\w+) += ", text, re.MULTILINE)}
        return functions | methods | types | blocks
    if path.suffix == ".sh":
        names_ = re.findall(r"^(?:function )?(\w+) ?(?:\(\) )?\{", text, re.MULTILINE)
        variables = re.findall(r"^(\w+)=", text, re.MULTILINE)
        return {("function", one) for one in names_} | {("block", one) for one in [*variables, ""]}
    parts = re.split(r"^---.*\n", text, flags=re.MULTILINE)
    if path in PARSEABLE:
        parts = [yaml.dump(resource) for resource in in_yaml(text)]
    roughly = set()
    for part in parts:
        kind = re.search(r"^kind: (.+)$", part, flags=re.MULTILINE)
        name = re.search(r"^metadata:\n(?:  .*\n)*?  name: (.+)$", part, flags=re.MULTILINE)
        roughly.add((kind[1] if kind else "", name[1] if name else ""))
    return roughly


@pytest.mark.parametrize("name", ["manifests", "code"])
def test_every_resource_or_definition_of_a_question_is_in_a_gold_file(name: str) -> None:
    for question in asked_about(name):
        defined = {
            identity
            for path in question["gold_paths"]
            for identity in identities(SETS[name] / path)
        }
        for resource in question["gold_resources"]:
            assert (resource["kind"], resource["name"]) in defined, (question["id"], resource)


@pytest.mark.parametrize("name", ["manifests", "code"])
def test_every_file_but_a_few_answers_a_question(name: str) -> None:
    answering = {path for question in asked_about(name) for path in question["gold_paths"]}
    files = {
        path
        for path in text_files(SETS[name])
        if Path(path).suffix in {".yaml", ".py", ".go", ".sh"}
    }
    assert len(files - answering) <= 4, sorted(files - answering)


def test_no_question_has_the_same_words_in_two_sets() -> None:
    every = [question["question"] for name in SETS for question in asked_about(name)]
    assert len({text.casefold() for text in every}) == len(every)
