"""A local server that speaks GitHub's REST semantics, for labs offline and for tests."""

from course_lib.teaching.github_server import faults
from course_lib.teaching.github_server.git import (
    Entry,
    Repository,
    link,
    object_sha,
    read_folder,
    submodule,
)
from course_lib.teaching.github_server.issues import read_issues
from course_lib.teaching.github_server.limits import PrimaryLimit, SecondaryLimit
from course_lib.teaching.github_server.routes import Sizes
from course_lib.teaching.github_server.sample import SAMPLE, pointer, sample_repository
from course_lib.teaching.github_server.server import GitHubServer, Seen, environment, local_github

__all__ = [
    "SAMPLE",
    "Entry",
    "GitHubServer",
    "PrimaryLimit",
    "Repository",
    "SecondaryLimit",
    "Seen",
    "Sizes",
    "environment",
    "faults",
    "link",
    "local_github",
    "object_sha",
    "pointer",
    "read_folder",
    "read_issues",
    "sample_repository",
    "submodule",
]
