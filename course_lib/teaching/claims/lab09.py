"""What lab 09 says about its outputs."""

import re

from course_lib.teaching.claims import Claims, numbers


def refused(shown: str) -> list[float]:
    """Return how often the impatient client was refused, and how often the learner's."""
    return [numbers(line, "refused:")[0] for line in shown.splitlines() if "refused: " in line]


CLAIMS: Claims = {
    'days = {"normal"': {
        "On none of them": lambda shown: shown.count(" done: ") == len(shown.splitlines()) == 4,
        "The tool took a 404 for no files": lambda shown: numbers(shown, "typo") == [0],
        "a list that was cut off for the whole list": lambda shown: (
            0 < numbers(shown, "large")[0] < numbers(shown, "normal")[0]
        ),
    },
    ('days = {"normal"', '"Files that are not empty"'): {
        "a refusal for an empty file": lambda listed, held: (
            numbers(held, "few requests left", ",")[0] < numbers(listed, "few requests left")[0]
        ),
    },
    'b"hallo\\n"': {
        "If one letter changes, the whole name changes": lambda shown: (
            len(set(shown.splitlines())) == 2
        ),
    },
    ("wrong = [path", '"Files that are not empty"'): {
        "The hashes show the empty files": lambda wrong, held: (
            numbers(wrong, "left")[0]
            >= numbers(wrong, "left")[1] - numbers(held, "few requests left", ",")[0]
            > 0
        ),
    },
    "wrong = [path": {
        "They also show one wrong file on the normal day: docs/deployment.yaml is a link": (
            lambda shown: (
                numbers(shown, "normal")[0] == 1
                and "listed docs/deployment.yaml" in shown.splitlines()[1]
            )
        ),
        "On the large day, only the link is wrong, although most files are missing": lambda shown: (
            numbers(shown, "large")[0] == 1
            and numbers(shown, "large")[1] < numbers(shown, "normal")[1] / 2
        ),
    },
    "a change in between": {
        "A branch can change while you read it; a commit never changes": lambda shown: (
            re.search("by branch .* False\nby commit .* True", shown) is not None
        ),
    },
    "large_tree = ": {
        "the answer says truncated and contains only a part": lambda shown: (
            "recursive=True: 40 entries, truncated=True" in shown
            and re.search("recursive=False: .* truncated=False", shown) is not None
        ),
    },
    "all in one answer:": {
        "With 40 entries in an answer, it takes more requests, and no file is missing": (
            lambda shown: (
                (one := numbers(shown, "one answer:"))[0]
                == (many := numbers(shown, "in an answer:"))[0]
                and one[1] == 1 < many[1]
            )
        ),
    },
    "counts = {": {
        "Not every entry is a file of this repository": lambda shown: (
            numbers(shown, "link ")[0] > 0
            and numbers(shown, "submodule ", ".")[0] > 0
            and numbers(shown, "file ")[0] > 0
        ),
    },
    "fast.clock_offset = 600": {
        "By our clock, we would wait ten minutes too long": lambda shown: (
            shown.startswith("403 ")
            and 540
            < numbers(shown, "by our clock")[0] - numbers(shown, "the server's clock")[0]
            < 602
        ),
    },
    "def ask(github, path": {
        "If the wait is longer, it raises an error that says when to try again": lambda shown: (
            3_500 < numbers(shown, "try again in")[0] < 3_603
        ),
    },
    "def impatient": {
        "Both clients have their 25 answers": lambda shown: (
            [
                numbers(line)[0] - numbers(line, "refused:")[0]
                for line in shown.splitlines()
                if "requests, refused:" in line
            ]
            == [25, 25]
        ),
        (
            "Your client was refused once, and this answer told it how long to wait. The impatient "
            "client was refused again and again"
        ): lambda shown: refused(shown)[1] == 1 and refused(shown)[0] > 5,
    },
    "def entries_of": {
        "This address contains a number instead of the repository's name": lambda shown: (
            len(re.findall(r"^https://…/repositories/\d+/issues\?", shown, re.M)) == 2
        ),
        "The list contains both": lambda shown: (
            0 < numbers(shown, "of which")[0] < numbers(shown, "page=3\n")[0]
        ),
    },
    "def bring(": {
        "There were so few requests because most files were missing": lambda shown: (
            numbers(shown, "files downloaded with")[0] <= 6 < numbers(shown)[0] / 5
        ),
        "Each kind of file has its own partition": lambda shown: (
            len(re.findall(r"^\w+ +\d+ documents +\d+ chunks$", shown, re.M)) == 4
        ),
    },
    "results = search(conn": {
        "Read the addresses: repository, commit, file, lines": lambda shown: (
            re.search(r"/heron/platform/blob/[0-9a-f]{40}/\S+#L\d+", shown) is not None
        ),
        "An issue does not belong to a commit, so its citation is its own page": lambda shown: (
            re.search(r"/heron/platform/issues/\d+", shown) is not None
        ),
    },
    "def names_in_index": {
        'The answer was 304 ("not modified"), and nothing was downloaded': lambda shown: (
            re.search(r"asked: /repos/heron/platform/commits/v1.0.0\S* 304$", shown, re.M)
            is not None
        ),
        "A file that was deleted or renamed is removed from the index": lambda shown: (
            "removed from the index: code/scripts/keys.sh\n" in shown
            and "code/scripts/rotate-keys.sh" in shown
        ),
        "The chunks of all other files were kept and not embedded again": lambda shown: (
            numbers(shown, "kept:")[0] > 3 * numbers(shown, "pieces written:", ",")[0] > 0
        ),
        "so all chunks of this version belong to one commit": (
            "only the newer commit is cited: True"
        ),
    },
    '"Files downloaded"': {
        "and nothing was downloaded": lambda shown: numbers(shown, "again", ",") == [0],
        "For the new version, only the changed files were downloaded": lambda shown: (
            0
            < numbers(shown, "again 0, v1.1.0 ")[0]
            < numbers(shown, "the first time ", ",")[0] / 5
        ),
    },
    "run_git(by_path": {
        "checkout HEAD -- code/scripts sends one request for each file": lambda shown: (
            "not installed" in shown or "-- code/scripts: 5 requests; now 5 files" in shown
        ),
        "sparse-checkout gets all files of the folder with one request, and the rest": (
            lambda shown: (
                "not installed" in shown
                or re.search(r"^checkout: 1 .*\nsparse-checkout disable: 1 ", shown, re.M)
                is not None
            )
        ),
    },
    "hostile = Repository": {
        "One of four files was written, and there are three reasons why the others were not": (
            lambda shown: "downloaded: docs/good.md\n" in shown and len(shown.splitlines()) > 5
        ),
        "One of four files was written": "written: good.md\n",
    },
    "faults.html_page()": {
        "the error says that the answer is a page in HTML": "page in HTML",
    },
    "server.heal()": {
        "If you used this server before, it downloads nothing": lambda shown: (
            numbers(shown, "downloaded:") == [0]
        ),
        "Here every file has the hash that was listed, and the link was replaced": lambda shown: (
            re.search(r"^\d\d files with code have the listed hash, .*: rollback.sh$", shown, re.M)
            is not None
        ),
    },
}
