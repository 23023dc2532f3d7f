"""What kfp compiles without a word and a run would show late is refused before it."""

from typing import Any

import pytest

pytest.importorskip("kfp")

from kfp import dsl, kubernetes

from course_lib.pipeline.catalogue import NAMES, PipelineError, find_pipeline
from course_lib.pipeline.faults import check_pipeline, steps_of
from course_lib.pipeline.local import run_locally
from course_lib.pipeline.remote import submit

IMAGE = "python:3.13-slim"
WIDTH = 3


@dsl.component(base_image=IMAGE, install_kfp_package=False)
def store(page: str) -> int:
    def longer(text: str) -> int:
        return len(text + page)

    return longer(page)


@dsl.component(base_image=IMAGE, install_kfp_package=False)
def wide(page: str) -> int:
    return max(WIDTH, len(page))


@dsl.component(base_image=IMAGE, install_kfp_package=False)
def enter(password: str) -> int:
    return len(password)


@dsl.component(base_image=IMAGE, install_kfp_package=False)
def total(counts: list[int]) -> int:
    return sum(counts)


def faulty(
    step: Any = store, cached: bool = False, fan_in: bool = True, secret: bool = True
) -> Any:
    def pipeline(pages: list[str] = ["a", "b"]):  # type: ignore[no-untyped-def]  # noqa: B006
        with dsl.ParallelFor(pages) as page:
            done = step(page=page) if "page" in step.component_spec.inputs else step(password=page)
            done.set_caching_options(cached)
            if secret:
                kubernetes.use_secret_as_env(done, "db", {"URL": "DATABASE_URL"})
        total(counts=dsl.Collected(done.output) if fan_in else [1])

    return dsl.pipeline(pipeline)


@pytest.mark.parametrize(
    ("pipeline", "said"),
    [
        (faulty(cached=True), "the step store has a fault: cached write"),
        (faulty(fan_in=False), "the step store has a fault: no fan-in"),
        (faulty(wide), "the step wide has a fault: import outside"),
        (faulty(enter), "the step enter has a fault: password as a parameter"),
        (faulty(wide, cached=True, fan_in=False), "cached write, no fan-in, import outside"),
    ],
)
def test_a_fault_is_found_in_what_was_compiled(pipeline: Any, said: str) -> None:
    with pytest.raises(PipelineError, match=said):
        check_pipeline(pipeline)


def test_what_is_right_has_no_fault() -> None:
    for pipeline in (faulty(), faulty(cached=True, secret=False), *map(find_pipeline, NAMES)):
        check_pipeline(pipeline)
    steps, used = steps_of(find_pipeline("ingest_everything"))
    stores = [one for one in steps if one["name"] == "embed-and-store"]
    assert len(stores) == 3 and all(one["loop"] and not one["cached"] for one in stores)
    assert {"embed-and-store", "build-index"} <= used and "report" not in used


def test_a_pipeline_with_a_fault_is_neither_run_nor_sent(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from course_lib.pipeline import pipelines

    monkeypatch.setattr(pipelines, "docs_pipeline", faulty(cached=True))
    with pytest.raises(PipelineError, match="cached write"):
        run_locally("docs_pipeline", root=tmp_path)
    with pytest.raises(PipelineError, match="cached write"):
        submit("docs_pipeline", host="http://127.0.0.1:1")
    assert not list(tmp_path.iterdir())
