"""The contract's scope and its committed schema; tests/blackbox/test_contract.py judges records."""

from typing import Any

import pytest

from course_lib.loader.contract import (
    SCHEMA_PATH,
    schema_text,
)
from course_lib.records import Scope


@pytest.mark.parametrize(
    "values",
    [{"tenant": "Not Kebab"}, {"repo": ""}, {"visibility": "secret"}, {"role": "admin"}],
)
def test_a_tenant_context_is_checked(values: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(values))):
        Scope(**{"tenant": "acme", "repo": "platform", **values})


def test_the_committed_schema_is_the_one_of_the_model() -> None:
    assert SCHEMA_PATH.read_text(encoding="utf-8") == schema_text()
