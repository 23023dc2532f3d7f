"""What lab 09 says about its outputs."""

import re

from course_lib.teaching.claims import Claim, numbers


def refused(shown: str) -> list[float]:
    """Return how often the impatient client was refused, and how often the learner's."""
    return [numbers(line, "refused:")[0] for line in shown.splitlines() if "refused: " in line]


CLAIMS = (
    Claim(
        "On none of them",
        'days = {"normal"',
        holds=lambda shown: shown.count(" done: ") == len(shown.splitlines()) == 4,
    ),
    Claim(
        "The tool took a 404 for no files",
        'days = {"normal"',
        holds=lambda shown: numbers(shown, "typo") == [0],
    ),
    Claim(
        "a refusal for an empty file",
        'days = {"normal"',
        '"Files that are not empty"',
        holds=lambda listed, held: (
            numbers(held, "few requests left", ",")[0] < numbers(listed, "few requests left")[0]
        ),
    ),
    Claim(
        "a list that was cut off for the whole list",
        'days = {"normal"',
        holds=lambda shown: 0 < numbers(shown, "large")[0] < numbers(shown, "normal")[0],
    ),
    Claim(
        "If one letter changes, the whole name changes",
        'b"hallo\\n"',
        holds=lambda shown: len(set(shown.splitlines())) == 2,
    ),
    Claim(
        "The hashes show the empty files",
        "wrong = [path",
        '"Files that are not empty"',
        holds=lambda wrong, held: (
            numbers(wrong, "left")[0]
            >= numbers(wrong, "left")[1] - numbers(held, "few requests left", ",")[0]
            > 0
        ),
    ),
    Claim(
        "They also show one wrong file on the normal day: docs/deployment.yaml is a link",
        "wrong = [path",
        holds=lambda shown: (
            numbers(shown, "normal")[0] == 1
            and "listed docs/deployment.yaml" in shown.splitlines()[1]
        ),
    ),
    Claim(
        "On the large day, only the link is wrong, although most files are missing",
        "wrong = [path",
        holds=lambda shown: (
            numbers(shown, "large")[0] == 1
            and numbers(shown, "large")[1] < numbers(shown, "normal")[1] / 2
        ),
    ),
    Claim(
        "A branch can change while you read it; a commit never changes",
        "a change in between",
        holds=lambda shown: re.search("by branch .* False\nby commit .* True", shown) is not None,
    ),
    Claim(
        "the answer says truncated and contains only a part",
        "large_tree = ",
        holds=lambda shown: (
            "recursive=True: 40 entries, truncated=True" in shown
            and re.search("recursive=False: .* truncated=False", shown) is not None
        ),
    ),
    Claim(
        "With 40 entries in an answer, it takes more requests, and no file is missing",
        "all in one answer:",
        holds=lambda shown: (
            (one := numbers(shown, "one answer:"))[0]
            == (many := numbers(shown, "in an answer:"))[0]
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
        "By our clock, we would wait ten minutes too long",
        "fast.clock_offset = 600",
        holds=lambda shown: (
            shown.startswith("403 ")
            and 540
            < numbers(shown, "by our clock")[0] - numbers(shown, "the server's clock")[0]
            < 602
        ),
    ),
    Claim(
        "If the wait is longer, it raises an error that says when to try again",
        "def ask(github, path",
        holds=lambda shown: 3_500 < numbers(shown, "try again in")[0] < 3_603,
    ),
    Claim(
        "Both clients have their 25 answers",
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
        "Your client was refused once, and this answer told it how long to wait. The impatient "
        "client was refused again and again",
        "def impatient",
        holds=lambda shown: refused(shown)[1] == 1 and refused(shown)[0] > 5,
    ),
    Claim(
        "This address contains a number instead of the repository's name",
        "def entries_of",
        holds=lambda shown: (
            len(re.findall(r"^https://…/repositories/\d+/issues\?", shown, re.M)) == 2
        ),
    ),
    Claim(
        "The list contains both",
        "def entries_of",
        holds=lambda shown: 0 < numbers(shown, "of which")[0] < numbers(shown, "page=3\n")[0],
    ),
    Claim(
        "There were so few requests because most files were missing",
        "def bring(",
        holds=lambda shown: numbers(shown, "files downloaded with")[0] <= 6 < numbers(shown)[0] / 5,
    ),
    Claim(
        "Each kind of file has its own partition",
        "def bring(",
        holds=lambda shown: len(re.findall(r"^\w+ +\d+ documents +\d+ chunks$", shown, re.M)) == 4,
    ),
    Claim(
        "Read the addresses: repository, commit, file, lines",
        "results = search(conn",
        holds=lambda shown: (
            re.search(r"/heron/platform/blob/[0-9a-f]{40}/\S+#L\d+", shown) is not None
        ),
    ),
    Claim(
        "An issue does not belong to a commit, so its citation is its own page",
        "results = search(conn",
        holds=lambda shown: re.search(r"/heron/platform/issues/\d+", shown) is not None,
    ),
    Claim(
        'The answer was 304 ("not modified"), and nothing was downloaded',
        "def names_in_index",
        holds=lambda shown: (
            re.search(r"asked: /repos/heron/platform/commits/v1.0.0\S* 304$", shown, re.M)
            is not None
        ),
    ),
    Claim(
        "and nothing was downloaded",
        '"Files downloaded"',
        holds=lambda shown: numbers(shown, "again", ",") == [0],
    ),
    Claim(
        "For the new version, only the changed files were downloaded",
        '"Files downloaded"',
        holds=lambda shown: (
            0
            < numbers(shown, "again 0, v1.1.0 ")[0]
            < numbers(shown, "the first time ", ",")[0] / 5
        ),
    ),
    Claim(
        "A file that was deleted or renamed is removed from the index",
        "def names_in_index",
        holds=lambda shown: (
            "removed from the index: code/scripts/keys.sh\n" in shown
            and "code/scripts/rotate-keys.sh" in shown
        ),
    ),
    Claim(
        "The chunks of all other files were kept and not embedded again",
        "def names_in_index",
        holds=lambda shown: (
            numbers(shown, "kept:")[0] > 3 * numbers(shown, "pieces written:", ",")[0] > 0
        ),
    ),
    Claim(
        "so all chunks of this version belong to one commit",
        "def names_in_index",
        holds=lambda shown: "only the newer commit is cited: True" in shown,
    ),
    Claim(
        "checkout HEAD -- code/scripts sends one request for each file",
        "run_git(by_path",
        holds=lambda shown: (
            "not installed" in shown or "-- code/scripts: 5 requests; now 5 files" in shown
        ),
    ),
    Claim(
        "sparse-checkout gets all files of the folder with one request, and the rest",
        "run_git(by_path",
        holds=lambda shown: (
            "not installed" in shown
            or re.search(r"^checkout: 1 .*\nsparse-checkout disable: 1 ", shown, re.M) is not None
        ),
    ),
    Claim(
        "One of four files was written, and there are three reasons why the others were not",
        "hostile = Repository",
        holds=lambda shown: "downloaded: docs/good.md\n" in shown and len(shown.splitlines()) > 5,
    ),
    Claim(
        "One of four files was written",
        "hostile = Repository",
        holds=lambda shown: "written: good.md\n" in shown,
    ),
    Claim(
        "the error says that the answer is a page in HTML",
        "faults.html_page()",
        holds=lambda shown: "page in HTML" in shown,
    ),
    Claim(
        "If you used this server before, it downloads nothing",
        "server.heal()",
        holds=lambda shown: numbers(shown, "downloaded:") == [0],
    ),
    Claim(
        "Here every file has the hash that was listed, and the link was replaced",
        "server.heal()",
        holds=lambda shown: (
            re.search(r"^\d\d files with code have the listed hash, .*: rollback.sh$", shown, re.M)
            is not None
        ),
    ),
)
