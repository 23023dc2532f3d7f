"""A local server that speaks GitHub's REST semantics, for labs offline and for tests."""

from course_lib.teaching.github_server.git import (
    Entry,
    Repository,
    link,
    object_sha,
    read_folder,
    submodule,
)
from course_lib.teaching.github_server.limits import PrimaryLimit
from course_lib.teaching.github_server.routes import Sizes
from course_lib.teaching.github_server.sample import pointer, sample_repository
from course_lib.teaching.github_server.server import GitHubServer, environment, local_github

__all__ = [
    "Entry",
    "GitHubServer",
    "PrimaryLimit",
    "Repository",
    "Sizes",
    "environment",
    "link",
    "local_github",
    "object_sha",
    "pointer",
    "read_folder",
    "sample_repository",
    "submodule",
]
