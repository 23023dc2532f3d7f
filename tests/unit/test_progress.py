import time

import pytest

from course_lib import progress
from course_lib.progress import progress_bar, told_if_slow


def test_a_long_wait_shows_a_line_and_a_bar_to_people_alone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(progress, "DELAY_SECONDS", 0.05)
    monkeypatch.delenv("TQDM_DISABLE", raising=False)

    def wait() -> tuple[str, str]:
        with told_if_slow("The model is loading …"), progress_bar(9, "ingest", "document"):
            time.sleep(0.5)
        return capsys.readouterr()

    monkeypatch.delenv("JPY_SESSION_NAME", raising=False)
    assert wait() == ("", "")
    monkeypatch.setenv("JPY_SESSION_NAME", "a person's notebook")
    line, bar = wait()
    assert line == "The model is loading …\n"
    assert "ingest:   0%" in bar  # before its first step
