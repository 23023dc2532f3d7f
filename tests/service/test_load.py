"""The service under a crowd."""

import json

import pytest

from course_lib.settings import project_root
from tests.blackbox.course import Course
from tests.blackbox.serving import serving
from tests.service.conftest import Index
from tests.service.crowd import ask_all

CLIENTS, SECONDS = 50, 8.0


@pytest.mark.long
def test_fifty_clients_ask_at_once_and_every_one_is_answered(index: Index) -> None:
    lines = (project_root() / "data/questions/documents.jsonl").read_text(encoding="utf-8")
    questions = [json.loads(line)["question"] for line in lines.splitlines()]
    with serving(Course({"DATABASE_URL": index.url})) as service:
        crowd = ask_all(str(service.client.base_url), questions, CLIENTS, SECONDS)
    assert crowd.failures == []
    assert len(crowd.seconds) > CLIENTS  # everybody had a turn, and some had more
