"""What lab 09 says about its outputs."""

import re

from course_lib.teaching.claims import Claim, numbers


def refused(shown: str) -> list[float]:
    """Return how often the impatient client was refused, and how often the learner's."""
    return [numbers(line, "refused:")[0] for line in shown.splitlines() if "refused: " in line]


CLAIMS = (
    Claim(
        "On none",
        'days = {"quiet"',
        holds=lambda shown: shown.count(" done: ") == len(shown.splitlines()) == 4,
    ),
    Claim(
        "A 404 became no files",
        'days = {"quiet"',
        holds=lambda shown: numbers(shown, "typo") == [0],
    ),
    Claim(
        "a refusal an empty file",
        'days = {"quiet"',
        '"Files that hold anything"',
        holds=lambda listed, held: (
            numbers(held, "few requests left", ",")[0] < numbers(listed, "few requests left")[0]
        ),
    ),
    Claim(
        "a cut-off list a short list",
        'days = {"quiet"',
        holds=lambda shown: 0 < numbers(shown, "large")[0] < numbers(shown, "quiet")[0],
    ),
    Claim(
        "One other letter, and the name is another one",
        'b"hallo\\n"',
        holds=lambda shown: len(set(shown.splitlines())) == 2,
    ),
    Claim(
        "The empty ones are caught",
        "wrong = [path",
        '"Files that hold anything"',
        holds=lambda wrong, held: (
            numbers(wrong, "left")[0]
            >= numbers(wrong, "left")[1] - numbers(held, "few requests left", ",")[0]
            > 0
        ),
    ),
    Claim(
        "even on the quiet day one was wrong: docs/deployment.yaml is a link",
        "wrong = [path",
        holds=lambda shown: (
            numbers(shown, "quiet")[0] == 1
            and "listed docs/deployment.yaml" in shown.splitlines()[1]
        ),
    ),
    Claim(
        "on the large day all is well but the link, and most files are missing",
        "wrong = [path",
        holds=lambda shown: (
            numbers(shown, "large")[0] == 1
            and numbers(shown, "large")[1] < numbers(shown, "quiet")[1] / 2
        ),
    ),
    Claim(
        "A branch moves while you read it; a commit never does",
        "in between",
        holds=lambda shown: re.search("by branch .* False\nby commit .* True", shown) is not None,
    ),
    Claim(
        "then the answer says truncated and holds a part",
        "large_tree = ",
        holds=lambda shown: (
            "recursive=True: 40 entries, truncated=True" in shown
            and re.search("recursive=False: .* truncated=False", shown) is not None
        ),
    ),
    Claim(
        "More requests than one, and nothing is missing",
        "all in one answer:",
        holds=lambda shown: (
            (one := numbers(shown, "one answer:"))[0] == (many := numbers(shown, "an answer:"))[0]
            and one[1] == 1 < many[1]
        ),
    ),
    Claim(
        "Not every entry is a file of this repository",
        "counts = {",
        holds=lambda shown: (
            numbers(shown, "link ")[0] > 0
            and numbers(shown, "submodule ", ".")[0] > 0
            and numbers(shown, "file ")[0] > 0
        ),
    ),
    Claim(
        "By our clock, ten minutes too many",
        "fast.clock_offset = 600",
        holds=lambda shown: (
            shown.startswith("403 ")
            and 540
            < numbers(shown, "by our clock")[0] - numbers(shown, "the server's own")[0]
            < 602
        ),
    ),
    Claim(
        "if it takes longer, it tells when to come back",
        "def ask(github, path",
        holds=lambda shown: 3_500 < numbers(shown, "come back in")[0] < 3_603,
    ),
    Claim(
        "Both have their 25 answers",
        "def impatient",
        holds=lambda shown: (
            [
                numbers(line)[0] - numbers(line, "refused:")[0]
                for line in shown.splitlines()
                if "requests, refused:" in line
            ]
            == [25, 25]
        ),
    ),
    Claim(
        "Yours was refused once, and then knew how long to wait; the impatient one was refused "
        "again and again",
        "def impatient",
        holds=lambda shown: refused(shown)[1] == 1 and refused(shown)[0] > 5,
    ),
    Claim(
        "its address has a number in place of the repository's name",
        "def entries_of",
        holds=lambda shown: (
            len(re.findall(r"^https://…/repositories/\d+/issues\?", shown, re.M)) == 2
        ),
    ),
    Claim(
        "the list holds both",
        "def entries_of",
        holds=lambda shown: 0 < numbers(shown, "of which")[0] < numbers(shown, "page=3\n")[0],
    ),
    Claim(
        "So few requests, because most of a version was missing",
        "def bring(",
        holds=lambda shown: numbers(shown, "files came with")[0] <= 6 < numbers(shown)[0] / 5,
    ),
    Claim(
        "Each kind of file has a partition of its own",
        "def bring(",
        holds=lambda shown: len(re.findall(r"^\w+ +\d+ documents +\d+ chunks$", shown, re.M)) == 4,
    ),
    Claim(
        "Follow the addresses by eye: repository, commit, file, lines",
        "results = search(conn",
        holds=lambda shown: (
            re.search(r"/heron/platform/blob/[0-9a-f]{40}/\S+#L\d+", shown) is not None
        ),
    ),
    Claim(
        "An issue, which belongs to no commit, is cited by its own page",
        "results = search(conn",
        holds=lambda shown: re.search(r"/heron/platform/issues/\d+", shown) is not None,
    ),
    Claim(
        'It was told 304 ("not modified"), and downloaded nothing',
        "def names_in_index",
        holds=lambda shown: (
            re.search(r"asked: /repos/heron/platform/commits/v1.0.0\S* 304$", shown, re.M)
            is not None
        ),
    ),
    Claim(
        "and downloaded nothing",
        '"Files downloaded"',
        holds=lambda shown: numbers(shown, "again", ",") == [0],
    ),
    Claim(
        "The new version cost what had changed",
        '"Files downloaded"',
        holds=lambda shown: (
            0
            < numbers(shown, "again 0, v1.1.0 ")[0]
            < numbers(shown, "the first time ", ",")[0] / 5
        ),
    ),
    Claim(
        "A file that was deleted or renamed has left the index",
        "def names_in_index",
        holds=lambda shown: (
            "left the index: code/scripts/keys.sh\n" in shown
            and "code/scripts/rotate-keys.sh" in shown
        ),
    ),
    Claim(
        "The pieces of all other files were kept, without being embedded again",
        "def names_in_index",
        holds=lambda shown: (
            numbers(shown, "kept:")[0] > 3 * numbers(shown, "pieces written:", ",")[0] > 0
        ),
    ),
    Claim(
        'so "this version" is one commit and not a mixture',
        "def names_in_index",
        holds=lambda shown: "only the newer commit is cited: True" in shown,
    ),
    Claim(
        "One of four, and three reasons",
        "hostile = Repository",
        holds=lambda shown: "arrived: docs/good.md\n" in shown and len(shown.splitlines()) == 5,
    ),
    Claim(
        "Of the two names and of the changed file nothing was written",
        "hostile = Repository",
        holds=lambda shown: shown.endswith("written: good.md"),
    ),
    Claim(
        "a hotel whose network answers every request with a page to sign in",
        "faults.html_page()",
        holds=lambda shown: "page in HTML" in shown,
    ),
    Claim(
        "on this machine, this run downloads nothing",
        "server.heal()",
        holds=lambda shown: numbers(shown, "downloaded:") == [0],
    ),
    Claim(
        "by its hash, every file is the one that was listed, and where a link was",
        "server.heal()",
        holds=lambda shown: (
            re.search(r"^\d\d files with code are as listed, .*: rollback.sh$", shown, re.M)
            is not None
        ),
    ),
)
