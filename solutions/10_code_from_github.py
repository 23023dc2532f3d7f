# %% [markdown]
# # 10 · Code from GitHub
#
# Pods are killed at night, and the index does not know why: the page with the reason is in a newer version. And a download that looks
# complete can have empty files. You will bring exactly one version into the index, with no file missing, and then download only what is new.
#
# **Elective.** It adds a download that loses nothing and respects limits. For you if your texts come from GitHub, or from any API with
# pages and limits.
#
# | You will be able to | Builds | Time | Needs |
# |---|---|---|---|
# | choose one exact version, and list every file of it · distinguish a rate limit from other refusals, and wait as long as the server asks · download only new paths and new contents, and remove what is gone | `loader/github/` | about {minutes} min | Python functions; what HTTP is |

# %% tags=["parameters"]
github_api = ""  # "https://api.github.com" for GitHub itself; empty for a server on this machine
data_dir = "data/code"
database_url = ""
embedding_model = ""

# %%
from course_lib.teaching import start  # "No module named 'course_lib'"? Open the lab with: make lab

lab = start("10", data_dir=data_dir, database_url=database_url, embedding_model=embedding_model)
lab.show.pipeline("documents")

# %% [markdown]
# ## An answer that is not there
#
# Pods of the platform Heron are killed, and you ask the index why. But the index has an old version of the repository `heron/platform`.
#
# `local_github()` is a server on this machine that answers like GitHub's [REST API](../labs/GLOSSARY.md#rest-api).

# %%
import os
import tempfile

from course_lib.teaching.github_server import environment, local_github
from course_lib.teaching.lab.repositories import HERON, KUBEFLOW

server, folder = local_github(), tempfile.TemporaryDirectory()
ours = KUBEFLOW if github_api else HERON
at = {"GITHUB_API_URL": github_api, "GITHUB_RAW_URL": ""} if github_api else environment(server)
os.environ |= at

# %% [markdown]
# `ingest_repository` downloads one version, splits each file by its kind, [embeds](../labs/GLOSSARY.md#embedding) the pieces and stores
# them.

# %%
from course_lib.indexing.repository import ingest_repository
from course_lib.loader.github import DownloadOptions, Selection
from course_lib.records import Scope


def bring(ref):
    wanted = Selection(ours.repo, ref, ours.endings, ours.paths)
    scope = Scope(repo=ours.repo, branch="current", partition="code_manifests")
    how = DownloadOptions(token=None if github_api else "", dest=f"{folder.name}/{ours.repo}")
    with lab.connect(autocommit=True) as conn:
        return ingest_repository(wanted, scope, conn=conn, embedder=lab.embedder, download=how)


first_report = bring(ours.old)

# %% [markdown]
# Now ask for the three passages that are nearest in meaning.

# %%
from course_lib.retriever import Query, search


def ask_index():
    by_meaning = Query(ours.question, top_k=3, mode="dense")
    with lab.connect() as conn:
        return search(conn, lab.encode(ours.question), by_meaning)


passages = ask_index()
print("passages with the word", ours.reason, sum(ours.reason in one.content for one in passages))
print("address of the first:", passages[0].citation_url)
lab.show.ranking(passages, ours.question)

# %% tags=["claim"]
addresses = [one.citation_url.partition("/blob/")[2].partition("/") for one in passages]
assert all(len(commit) == 40 and "#L" in path for commit, _, path in addresses), (
    "Each address names the repository, a commit, the file and the lines"
)
assert github_api or not any("OOMKilled" in one.content for one in passages), (
    "none of these passages says why"
)

# %% [markdown]
# Each address names the repository, a commit, the file and the lines. But none of these passages says why. The reason is *out of memory*
# (`OOMKilled`). A newer version says so. Your update will bring it.
#
# ## A simple download
#
# This tool lists the files of one version (`ref`) and downloads each:

# %%
import base64


def naive_download(github, ref):
    listing = github.get(f"/repos/heron/platform/git/trees/{ref}", params={"recursive": "1"}).json()
    entries, files = listing.get("tree", []), {}
    for path in [entry["path"] for entry in entries if entry["path"].endswith(".yaml")]:
        answer = github.get(f"/repos/heron/platform/contents/{path}", params={"ref": ref}).json()
        files[path] = base64.b64decode(answer.get("content", ""))
    return files


# %% [markdown]
# The tool runs on four days. `client_of` returns an HTTP client of a server.
#
# - **normal**
# - **typo**: the version is misspelled
# - **few requests left**: only 20 in this hour
# - **large**: the repository is too large for one list, so the server lists only 40 entries
#
# > **Predict.** On which days does the tool report an error?

# %%
import httpx

from course_lib.teaching.github_server import GitHubServer, Sizes, sample_repository


def client_of(where):
    # trust_env=False: no proxy, because a proxy cannot reach this machine
    return httpx.Client(base_url=where.url, trust_env=False, timeout=20)


busy = local_github(limit=20)
large = GitHubServer([sample_repository()], sizes=Sizes(tree_entries=40))
days = {"normal": (server, "main"), "typo": (server, "mian")}
days |= {"few requests left": (busy, "main"), "large": (large, "main")}

# %% tags=["nbval-check-output"]
import pandas as pd

downloads = {day: naive_download(client_of(where), ref) for day, (where, ref) in days.items()}
counts = {day: (len(files), [*files.values()].count(b"")) for day, files in downloads.items()}
pd.DataFrame(counts, index=["files", "empty"]).T

# %% [markdown]
# <details><summary>The answer</summary>
#
# The tool reports an error on none of the four days. It treats a 404 as *no files*, a refusal as an *empty file*, and a part of the list as
# the *whole list*. `raise_for_status()` finds only errors of the first two kinds: the third has the status 200.
#
# </details>
#
# A good download is
#
# - **pinned**: it never mixes two versions;
# - **complete**: it has every file with the right content, or says what is missing;
# - **polite**: it waits when the server asks;
# - **fresh**: it downloads only what is new, and removes what is gone.
#
# ## Pinned: names that check the content
#
# ![An old and a new commit. Only the file that changed has a new blob, with new trees above it. All else is shared.](../labs/figures/git_tree.svg)
#
# - A [commit](../labs/GLOSSARY.md#commit) has a *tree*, which is a folder.
# - A tree lists other trees and *blobs*.
# - A blob is the content of a file.
#
# Each is named by a [digest](../labs/GLOSSARY.md#digest) of its content, so you can check what you get. For example, *hello* and a line
# feed are 6 bytes. This blob's name is the SHA-1 of `blob 6`, a byte 0 and these bytes.
#
# SHA-1 shows accidents. But an attacker can make two files with the same SHA-1.

# %%
import hashlib


def blob_sha(content):
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


print(blob_sha(b"hello\n"))

# %% [markdown]
# We compare the files of the four days with the hashes in the list.

# %%
local, trees = client_of(server), "/repos/heron/platform/git/trees"
entries = local.get(f"{trees}/main?recursive=1").json()["tree"]
named = {one["path"]: one["sha"] for one in entries if one["path"].endswith(".yaml")}
checked = {}
for day, files in downloads.items():
    right = sum(blob_sha(files[path]) == named[path] for path in files)
    checked[day] = right, len(files) - right, len(named) - len(files)
table = pd.DataFrame(checked, index=["listed hash", "other hash", "missing"]).T
lab.show.stacked({"What the simple download brings": table}, "files that are wanted")

# %% tags=["claim"]
assert table.loc["few requests left", "other hash"] == counts["few requests left"][1] + 1, "The hashes show the empty files"
codes = [client_of(where).get(f"{trees}/{ref}?recursive=1").status_code for where, ref in days.values()]
assert codes[1] == 404 and codes[2] in (403, 429) and codes[3] == 200, "the third has the status 200"
assert [one["mode"] for one in entries if one["path"] == "docs/deployment.yaml"] == ["120000"], "is a *link*"
normal = [path for path, found in downloads["normal"].items() if blob_sha(found) != named[path]]
assert normal == ["docs/deployment.yaml"], "one wrong file on the normal day"
assert table.loc["large", "missing"] > 20, "on the large day, files were never listed"

# %% [markdown]
# The hashes show the empty files. They also show one wrong file on the normal day: `docs/deployment.yaml` is a *link*, and the server sent
# the file that it points to. But on the large day, files were never listed. No hash can show this: we know these files only from the whole
# list.
#
# We list the only file of another repository. A colleague pushes a change. Then we request the file twice.
#
# > **Predict.** Which of the two requests gets the listed content: by [branch](../labs/GLOSSARY.md#branch), or by commit?

# %% tags=["nbval-check-output"]
from course_lib.teaching.github_server import Repository

moving = Repository("heron/moving")
server.add(moving)
commit = moving.commit({"limits.yaml": b"memory: 2Gi\n"})
[listed] = local.get("/repos/heron/moving/git/trees/main").json()["tree"]
moving.commit({"limits.yaml": b"memory: 3Gi\n"})
for name, ref in {"by branch": "main", "by commit": commit}.items():
    answer = local.get(f"/repos/heron/moving/contents/limits.yaml?ref={ref}").json()
    content = base64.b64decode(answer["content"])
    print(name, content, blob_sha(content) == listed["sha"])

# %% [markdown]
# <details><summary>The answer</summary>
#
# The request by commit gets the listed content. A branch moves, and a tag can be moved, but a commit never changes.
#
# </details>
#
# So find the commit first, and use only this commit: this is [pinning](../labs/GLOSSARY.md#pinning). Pin
# [citations](../labs/GLOSSARY.md#citation), too. Then they show the same lines next year.
#
# ## Complete: all files of a tree
#
# A request with `recursive` lists a tree with everything below it. But GitHub stops at 100,000 entries or 7 MB, and says `truncated`. Then
# we list one folder after the other:
#
# ```
# root ── README.md          read("root", True):   README.md  apps  apps/a.md    truncated!
#      └─ apps ── a.md       read("root", False):  README.md  apps (a tree: request it, too)
#              └─ b.md
# ```
#
# ## Exercise 10.1: no file missing
#
# Your function gets `read`, as in the drawing. `replace(entry, path=…)` makes an entry with another path. `leads_to(folder, within)` is
# true if the folder can contain wanted files.

# %% exercise="10.1"
from course_lib.loader.github.tree import list_tree

# %%
lab.check("10.1", list_tree)

# %%
lab.hint("10.1")  # run again for the next hint

# %% [markdown] tags=["solution"]
# The mistake to remember: keeping the truncated answer, because its entries are right. GitHub does not say which part of the tree is
# missing.

# %% [markdown]
# We ask the server of the large day, which lists at most 40 entries in one answer.
#
# > **Predict.** Does your function list all 33 files? How many requests does it need?

# %% tags=["nbval-check-output"]
from course_lib.loader.github.client import GitHubClient
from course_lib.loader.github.files import tree_reader

list_tree = lab.use("list_tree")
large.seen.clear()
read = tree_reader(GitHubClient(large.url), HERON.repo)
found = list_tree(read, sample_repository().tree_of("main"))
print(sum(one.path.endswith(".yaml") for one in found), "files;", len(large.seen), "requests")

# %% tags=["claim"]
assert sorted(one.path for one in found if one.path.endswith(".yaml")) == sorted(named), (
    "Your function lists all 33 files"
)
assert len(large.seen) == 12, "It needs 12 requests, because it lists one folder after the other"

# %% [markdown]
# <details><summary>The answer</summary>
#
# Your function lists all 33 files. It needs 12 requests, because it lists one folder after the other.
#
# </details>

# %% [markdown]
# ## Polite: when the server asks you to wait
#
# GitHub has a [rate limit](../labs/GLOSSARY.md#rate-limit):
# [5,000 requests an hour](https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api) with a token, and 60 without,
# *for each IP address*. So a class with one router shares these 60.
#
# We send six requests to a server that allows five. `x-ratelimit-reset` says when the hour ends, in seconds since 1970. The server's clock
# is ten minutes ahead of ours.
#
# > **Predict.** How long must we wait? Can we compute it with our own clock?

# %%
import time
from email.utils import parsedate_to_datetime

fast = local_github(limit=5)
fast.clock_offset = 600  # seconds
answer = [client_of(fast).get("/repos/heron/platform") for _ in range(6)][-1]
print(answer.status_code, answer.json()["message"])
print({name: answer.headers[name] for name in ("date", "x-ratelimit-reset")})
reset = int(answer.headers["x-ratelimit-reset"])
server_now = parsedate_to_datetime(answer.headers["date"]).timestamp()
print(f"by our clock {reset - time.time():.0f} s, by the server's clock {reset - server_now:.0f} s")

# %% tags=["claim"]
assert answer.status_code == 403 and 570 < server_now - time.time() < 602, (
    "If we use our own clock, we wait ten minutes too long"
)

# %% [markdown]
# <details><summary>The answer</summary>
#
# If we use our own clock, we wait ten minutes too long.
#
# </details>
#
# The reset is a time of the server's clock, so compare it with the answer's `date`.
#
# ## Exercise 10.2: how long to wait
#
# Four refusals:
#
# - a 403 with `retry-after`
# - a 403 with `x-ratelimit-remaining: 0`
# - a 429 with neither
# - a 403 *You have no access*
#
# For one of them, you must guess the time. For another, waiting does not help. Which?

# %% exercise="10.2"
from course_lib.loader.github.waiting import wait_time

# %%
lab.check("10.2", wait_time)

# %%
lab.hint("10.2")  # run again for the next hint

# %% [markdown] tags=["solution"]
# The 429 does not say how long. So you guess, and wait longer each time.
#
# The mistake to remember: waiting after every 403. After *You have no access*, the answer will be the same in an hour.

# %% [markdown]
# `ask` waits as your function says, then tries again. It also does so if the server fails (5xx) or the connection breaks. Each wait is up
# to a tenth longer than needed (*jitter*), so clients do not all come back at the same moment.

# %%
import random
from contextlib import suppress


def ask(github, path):
    for attempt in range(5):
        seconds = 2.0**attempt  # if the server fails, or the connection breaks
        with suppress(httpx.TransportError):
            answer = github.get(path)
            if answer.status_code < 500:
                seconds = wait_time(answer.status_code, dict(answer.headers), answer.text, attempt)
            if seconds is None:
                return answer
        time.sleep(seconds * random.uniform(1, 1.1))
    raise TimeoutError(path)


# %% [markdown]
# Simple clients read no headers. One waits 0.1 s each time. The other waits 1, 2 and 4 s: this is *back-off*.


# %%
def trying(waits):
    def get(github, path):
        for seconds in waits:
            answer = github.get(path)
            if answer.status_code == 200:
                return answer
            time.sleep(seconds)

    return get


# %% [markdown]
# Each client wants 25 answers. Its server gives 15 answers every two seconds. Then it asks for a repository that it may not read.
#
# > **Predict.** How often is each client refused, in both cases? Which has its 25 answers first?

# %%
wait_time = lab.use("wait_time")
clients = {"fixed wait": trying([0.1] * 40), "back-off": trying([1, 2, 4]), "yours": ask}
asked = {}
for name, get in clients.items():
    with local_github() as limited, client_of(limited) as github:
        limited.add(Repository("heron/secret", denied=True))
        limited.set_limit(15, window=2)
        for repo in ["platform"] * 25 + ["secret"]:
            get(github, f"/repos/heron/{repo}")
        times = [one.at - limited.seen[0].at for one in limited.seen if one.status == 200]
        refused = limited.count("platform") - len(times)
        asked[name] = len(times), max(times), refused, limited.count("secret")
columns = ["answers", "seconds until the last", "refused: limit", "refused: no access"]
table = pd.DataFrame.from_dict(asked, orient="index", columns=columns)
table.round(1)

# %% tags=["claim"]
assert (table["answers"] == 25).all(), "Each client wants 25 answers"
limits, seconds = table["refused: limit"], table["seconds until the last"]
assert limits["yours"] == 1 and limits["fixed wait"] > 5, (
    "Your client was refused once, the one with the fixed wait many times"
)
assert 1 <= limits["back-off"] <= 2, "The back-off was refused once or twice"
assert [*table["refused: no access"]] == [40, 3, 1], (
    "Without access, yours asks once. The others ask until they give up"
)
assert seconds.idxmin() == "fixed wait" and 0.7 < seconds["yours"] - seconds["fixed wait"] < 4, (
    "Yours ends one to four seconds later"
)
assert sum(2**n for n in range(12)) == 4095 > 3600 > sum(2**n for n in range(11)), (
    "it would wait 1 + 2 + 4 + … = 4,095 s, and be refused twelve times"
)
broken = [httpx.ConnectError("broken"), httpx.Response(503), httpx.Response(200, text="there")]


def failing(request):
    if isinstance(answer := broken.pop(0), Exception):
        raise answer
    return answer


with httpx.Client(transport=httpx.MockTransport(failing), base_url="http://fails.example") as fails:
    assert ask(fails, "/").text == "there", (
        "It also does so if the server fails (5xx) or the connection breaks"
    )

# %% [markdown]
# <details><summary>The answer</summary>
#
# Your client was refused once, the one with the fixed wait many times. The back-off was refused once or twice.
#
# The fixed wait is first, because it asks ten times a second. Yours ends one to four seconds later: the times in the headers are whole
# seconds, your function adds one, and `ask` adds the jitter.
#
# Without access, yours asks once. The others ask until they give up.
#
# </details>
#
# So for a limit of two seconds, back-off is enough, and it needs no header. For an hour, it would wait 1 + 2 + 4 + … = 4,095 s, and
# be refused twelve times. Yours knows the time after one refusal.
#
# The fixed wait is a risk: GitHub [may ban](https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api) such a client.

# %% [markdown]
# ## Fresh: only what has changed
#
# The old files and the new list have hashes. So compare before you download.
#
# ## Exercise 10.3: what to download, what to remove

# %% exercise="10.3"
from course_lib.loader.github.tree import plan_update

# %%
lab.check("10.3", plan_update)

# %%
lab.hint("10.3")  # run again for the next hint

# %% [markdown] tags=["solution"]
# The mistake to remember: forgetting what is gone. Then a deleted file is still found and cited, without an error.

# %% [markdown]
# The next cell puts your three functions into the library, so that `bring` runs them. (At work, pass functions as arguments.) Then your plan
# compares the two versions of Heron.
#
# > **Predict.** A script was renamed. What does the plan do with its old and its new name?

# %% tags=["nbval-check-output"]
from course_lib.loader.github import sync, waiting

sync.list_tree, waiting.wait_time = list_tree, wait_time
sync.plan_update = plan_update = lab.use("plan_update")


def hashes(ref):
    entries = local.get(f"{trees}/{ref}?recursive=1").json()["tree"]
    files = [one for one in entries if one["mode"] in ("100644", "100755")]  # no links
    return {one["path"]: one["sha"] for one in files if one["path"].endswith(HERON.endings)}


missing, gone = plan_update(hashes(HERON.new), hashes(HERON.old))
print("download:", *[" ".join(paths) for paths in missing.values()], sep="\n  ")
print("remove:", *gone)

# %% tags=["claim"]
assert gone == {"code/scripts/keys.sh"} and missing.get(
    hashes(HERON.old)["code/scripts/keys.sh"]
) == ["code/scripts/rotate-keys.sh"], (
    "The old name is removed, and the new name is downloaded, although we have its content"
)

# %% [markdown]
# <details><summary>The answer</summary>
#
# The old name is removed, and the new name is downloaded, although we have its content.
#
# </details>
#
# > **Predict.** We bring the old version again, then the new one. How many files does each run download?


# %%
def in_index():
    with lab.connect() as conn:
        return dict(conn.execute("SELECT document_name, commit_sha FROM documents").fetchall())


before = in_index()
reports = [first_report, bring(ours.old), bring(ours.new)]
runs = [f"{ours.old}, the first time", f"{ours.old}, again", ours.new]
pd.DataFrame({"files downloaded": [one.fetched for one in reports]}, index=runs)

# %% tags=["claim"]
first_time, again, changed = (one.fetched for one in reports)
assert again == 0, "The second run downloaded nothing"
assert github_api or changed == len(missing) == 5, (
    "The last run downloaded the five files of the plan"
)

# %% [markdown]
# <details><summary>The answer</summary>
#
# The second run downloaded nothing. The last run downloaded the five files of the plan.
#
# </details>
#
# > **Predict.** We ask the first question again. Does the index answer it now?

# %%
after = in_index()
print("removed from the index:", *sorted(before.keys() - after.keys()))
print("added to the index:    ", *sorted(after.keys() - before.keys()))
print("only the newer commit is in the index:", {*after.values()} == {reports[-1].commit})
passages = ask_index()
lab.show.ranking(passages, ours.question, most=400, mark=ours.reason)

# %% tags=["claim"]
assert {*after.values()} == {reports[-1].commit}, "the index has only the newer commit"
assert github_api or "docs/deployment.yaml" in after.keys() - before.keys(), (
    "docs/deployment.yaml was added without a download"
)
assert github_api or "docs/on-call.md" in passages[0].citation_url, (
    "The first passage is the new page about it"
)
assert github_api or "`OOMKilled`, the model outgrew its memory" in passages[0].content, (
    "the model outgrew its memory"
)

# %% [markdown]
# <details><summary>The answer</summary>
#
# The index answers it now: if the reason is `OOMKilled`, the model outgrew its memory. The first passage is the new page about it, and the
# index has only the newer commit.
#
# </details>
#
# `docs/deployment.yaml` was added without a download. It is a link, and the library reads the file that the link points to.
#
# ## In the field: git itself
#
# At work, run `course ingest-repo OWNER/NAME` every night, with a token that can only read. The command refuses a file name such as
# `../../.bashrc`, which leads out of your folder.
#
# For files, you can also use git, which checks every hash. Use the API if you also want issues.
#
# With `--filter=blob:none`, git leaves out the contents of files until they are needed. `sparse-checkout` chooses folders. We try both with
# a repository on this machine. `run_git` runs git and counts its requests.
#
# > **Predict.** How many requests does git need for one folder?

# %%
from pathlib import Path

from course_lib.teaching.github_server.clones import run_git

bare = sample_repository().write_bare(Path(folder.name, "bare.git"))
clone = f"clone --depth=1 --filter=blob:none --no-checkout {bare.as_uri()} ."
counted = run_git(
    Path(folder.name, "sparse"), clone, "sparse-checkout set code/scripts", "checkout"
)
print(counted)

# %% tags=["claim"]
asked_git = [line.rpartition(" requests")[0][-1] for line in counted.splitlines()]
assert asked_git in ([], ["2", "0", "1"]), (
    "Git needs two requests for the clone, and one for all files"
)

# %% [markdown]
# <details><summary>The answer</summary>
#
# Git needs two requests for the clone, and one for all files.
#
# </details>
#
# **On Monday**, check each tool that downloads. Does it pin a commit? Does it fail if a file is missing? Can a stranger's file name decide
# where it writes?
#
# ## Recap
#
# - Pinned: find the commit first, and use only this one.
# - Complete: check hashes, and look at `truncated`.
# - Polite: use `retry-after`, or the reset and the server's clock. Do not try again after other refusals.
# - Fresh: compare hashes before you download. Remove what was deleted on GitHub.
#
# ## Three questions to test yourself
#
# 1. A run ends with "0 files, success". Name three possible causes.
# 2. A file was renamed on GitHub. What does your update do?
# 3. Your clock is ten minutes ahead, and you compare the reset with it. What happens?
#
# <details><summary>Answers</summary>
#
# 1. There is no such version; a refusal was taken for an answer; no file has these endings.
# 2. The update removes the old path and downloads the new one.
# 3. The next request is ten minutes too early, and is refused.
#
# </details>
#
# ## Stretch, and what comes next
#
# Read all issues of Heron. `next_page` in `course_lib.loader.github.names` finds the next page of a list.
#
# Next is [lab 11](../labs/11_kubeflow_pipeline.ipynb): the steps become a pipeline.
