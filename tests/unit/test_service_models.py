"""What requests to the service are: what is said of one that does not fit."""

import pytest
from pydantic import ValidationError

from course_lib.records import FILTERS
from course_lib.service.models import SearchRequest


def test_a_request_filters_by_the_fields_of_a_query_but_for_its_tenant() -> None:
    """A request's tenant comes from its key alone."""
    described = {name: SearchRequest.model_fields[name].description for name in FILTERS}
    assert described == FILTERS and "kind" in FILTERS
    with pytest.raises(ValidationError, match="Extra inputs"):
        SearchRequest.model_validate({"query": "What is drift?", "tenant": "acme"})
