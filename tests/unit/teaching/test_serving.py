"""What the lab about the API serves with: apps on ports, watches, crowds, a database to stop."""

import asyncio
import os
import threading
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI, Response

from course_lib.errors import CourseError
from course_lib.teaching.checks.awaiting import run_awaitable
from course_lib.teaching.lab import serving, stoppable
from course_lib.teaching.lab.figures import timeline
from course_lib.teaching.lab.serving import Seen, Watch, crowd, four_at_once, serve, until_ready
from tests.waiting import until


def small_app() -> FastAPI:
    app = FastAPI()
    app.state.is_ready = True

    @app.get("/ready")
    async def ready() -> dict[str, bool]:
        if not app.state.is_ready:
            raise RuntimeError("not now")
        return {"ready": True}

    @app.post("/search")
    async def search(body: dict[str, int]) -> int:
        return 2 * body["number"]

    return app


def test_an_app_that_raises_is_silent_and_ends_with_its_client(
    capfd: pytest.CaptureFixture[str],
):
    app = small_app()
    app.state.is_ready = False
    with serve(app) as api:
        assert [api.get("/ready").status_code for _ in range(3)] == [500] * 3
    assert capfd.readouterr().err == ""
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{api.url}/ready")


def test_an_app_that_does_not_start_is_told(capfd: pytest.CaptureFixture[str]):
    async def fails(app: FastAPI):
        raise RuntimeError("no such file")
        yield

    with pytest.raises(CourseError, match="does not start"):
        serve(FastAPI(lifespan=fails))
    assert capfd.readouterr().err == ""


def test_four_requests_at_once_say_when_each_began_and_ended_the_first_first():
    app = FastAPI()
    began = iter(["10:00:03", "10:00:01", "10:00:04", "10:00:02"])

    @app.get("/nap")
    async def nap() -> list[str]:
        return [f"2026-01-01T{next(began)}Z", "2026-01-01T10:00:05Z"]

    with serve(app) as api:
        seen = four_at_once(api, "/nap")
    assert seen.to_dict("list") == {"begin": [0, 1, 2, 3], "end": [4, 4, 4, 4]}


def test_a_watch_asks_while_a_function_runs_and_remembers_its_name():
    def stop() -> None:
        until(lambda: watch.seen)

    with serve(small_app()) as api, Watch(api, "GET /ready", every=0.01) as watch:
        watch.do(stop)
    assert [what for _, what in watch.marks] == ["stop"]
    assert {one.status for one in watch.seen} == {200}


def test_every_request_of_a_crowd_is_sent_once_and_again_where_the_service_is_busy():
    seen: list[int] = []
    app = FastAPI()

    @app.post("/search")
    async def search(body: dict[str, int], response: Response) -> None:
        seen.append(body["number"])
        if body["number"] == 7 and seen.count(7) < 3:
            response.status_code = 503
            response.headers["Retry-After"] = "0"

    with serve(app) as api:
        times = crowd(api, [{"number": number} for number in range(25)], clients=4)
    assert sorted(seen) == sorted([*range(25), 7, 7])
    assert len(times) == 25 and min(times) > 0


def test_what_never_becomes_ready_is_told(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(serving, "TIMEOUT_SECONDS", 0.2)
    with serve(small_app()) as api, pytest.raises(CourseError, match="/nothing"):
        until_ready(api, "/nothing")


def test_what_an_ended_kernel_left_is_swept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(stoppable.tempfile, "gettempdir", lambda: str(tmp_path))
    gone = tmp_path / f"{stoppable.FOLDER}{2**22 + 1}-x"
    mine = tmp_path / f"{stoppable.FOLDER}{os.getpid()}-x"
    for folder in (gone, mine):
        (folder / "state").mkdir(parents=True)
    stoppable._sweep()
    assert not gone.exists() and mine.exists()


def test_a_coroutine_is_awaited_where_a_loop_runs_already():
    async def outer() -> str:
        return run_awaitable(asyncio.sleep(0, "done"))

    assert asyncio.run(outer()) == "done"
    with pytest.raises(ZeroDivisionError):
        run_awaitable(_divides())


async def _divides() -> float:
    return 1 / 0


def test_what_is_broken_off_leaves_no_thread():
    from course_lib.teaching.time_limit import OutOfTime, within

    async def spins() -> None:
        while True:
            pass

    before = threading.active_count()
    for endless in (asyncio.sleep(60), spins()):
        with pytest.raises(OutOfTime):
            within(0.2, lambda work=endless: run_awaitable(work))
    until(lambda: threading.active_count() <= before)


def test_a_timeline_says_when_the_answers_changed():
    answers = [(0.0, 200), (0.5, 200), (1.0, 503), (2.0, 0), (3.0, 200)]
    seen = [Seen(at, 0.1, "/ready", status) for at, status in answers]
    assert timeline(seen, [(0.9, "stop")], "Away").alt == (
        "Time line, Away: /ready 200 from 0.0 s; /ready 503 from 1.0 s; "
        "/ready nothing from 2.0 s; /ready 200 from 3.0 s; stop at 0.9 s."
    )
