# %% [markdown]
# # 10 · Code from GitHub
#
# You will bring a repository into the index: exactly one version of it, with no file missing, without being banned, and with an
# address for every result that shows where it came from.
#
# | You will be able to | Builds | Time | Needs |
# |---|---|---|---|
# | pin a version and prove that a download is complete · distinguish a rate limit from other refusals, and wait as long as the server asks · keep an index up to date without downloading anything twice | `loader/github/` | about {minutes} min | Python functions; what HTTP is |

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
# ## A server like GitHub
#
# `local_github()` starts a server on this machine that answers like GitHub's [REST API](../labs/GLOSSARY.md#rest-api). It has one
# repository, `heron/platform`: the course's own code and manifests in two versions, with issues.
#
# If you set `github_api` above to `"https://api.github.com"`, the cells that use `hub` send their requests to GitHub, for a small
# part of `kubeflow/manifests`. The cells that show a failure always use the server on this machine.

# %%
from types import SimpleNamespace

import httpx

from course_lib.teaching.github_server import environment, local_github


def client_of(url):
    is_far = "127.0.0.1" not in url  # a proxy cannot reach a server on this machine
    return httpx.Client(base_url=url, trust_env=is_far, follow_redirects=True, timeout=20)


server = local_github()
local, hub = client_of(server.url), client_of(github_api or server.url)
heron = SimpleNamespace(
    repo="heron/platform", old="v1.0.0", new="v1.1.0", paths=[],
    endings=[".yaml", ".py", ".go", ".sh", ".md"], question="Why are pods of the forecast API killed?",
)
kubeflow = SimpleNamespace(
    repo="kubeflow/manifests", old="v1.8.1", new="v1.9.1", endings=[".yaml"],
    paths=["apps/pipeline/upstream/base/pipeline"], question="How much memory does the API server get?",
)
ours = kubeflow if github_api else heron

# %% [markdown]
# ## A download that reports success
#
# Many tools have a loop like this one: list the files, request each file, and use whatever the answer contains.

# %%
import base64


def naive_download(github, ref, ending=".yaml"):
    listing = github.get(f"/repos/heron/platform/git/trees/{ref}", params={"recursive": "1"}).json()
    files = {}
    for entry in listing.get("tree", []):
        if entry["path"].endswith(ending):
            place = f"/repos/heron/platform/contents/{entry['path']}"
            answer = github.get(place, params={"ref": ref}).json()
            files[entry["path"]] = base64.b64decode(answer.get("content", ""))
    return files


# %% [markdown]
# The tool runs on four days. On the first day everything is normal. On the second day, the version is misspelled. On the third day,
# only 20 requests of this hour are left. On the fourth day the repository has grown, and the server lists only 40 entries in one
# answer (GitHub: 100,000).
#
# > **Predict.** On which days does the tool report an error?

# %% tags=["nbval-check-output"]
from course_lib.teaching.github_server import GitHubServer, Sizes, sample_repository

busy = local_github(limit=20)
large = GitHubServer([sample_repository()], sizes=Sizes(tree_entries=40))
days = {"normal": (server, "main"), "typo": (server, "mian")}
days |= {"few requests left": (busy, "main"), "large": (large, "main")}
downloads = {}
for day, (where, ref) in days.items():
    with client_of(where.url) as github:
        downloads[day] = naive_download(github, ref)
    print(f"{day:18} done: {len(downloads[day])} files")

# %%
whole = {day: sum(map(bool, files.values())) for day, files in downloads.items()}
lab.show.bars(whole, "Files that are not empty")

# %% tags=["claim"]
assert whole["few requests left"] < len(downloads["few requests left"]), "a refusal for an empty file"

# %% [markdown]
# On none of them. The tool took a 404 for *no files*, a refusal for an *empty file*, and a list that was cut off for the *whole
# list*. Each run ended without an error. A search in this index does not find the missing files, and does not say that
# they are missing.
#
# So we want a download that
#
# 1. knows which version it downloads, and never mixes it with another one;
# 2. can prove that the content of a file is right;
# 3. has all files, or says which files are missing;
# 4. waits when the server asks for it, and does not wait when waiting cannot help.

# %% [markdown]
# ## By hand: a name that proves the content
#
# Git calls the content of a file a *blob*. The name of a blob is a [digest](../labs/GLOSSARY.md#digest): the SHA-1 of a short head and
# the bytes. The head is the word `blob`, a space, the number of bytes, and a byte 0. For a file that contains *hello*:

# %% tags=["nbval-check-output"]
import hashlib

print(hashlib.sha1(b"blob 6\0" + b"hello\n").hexdigest())
print(hashlib.sha1(b"blob 6\0" + b"hallo\n").hexdigest())

# %% [markdown]
# If one letter changes, the whole name changes. GitHub lists this name for each file. So you know before the download what you should
# get, and you can check what you got.
#
# ## Exercise 10.1: the name of a content

# %% exercise="10.1"
from course_lib.loader.github.tree import blob_sha

# %%
lab.check("10.1", blob_sha)

# %%
lab.hint("10.1")  # run again for the next hint

# %% [markdown] tags=["solution"]
# The head has the number of bytes, not of characters: `é` has two bytes. `usedforsecurity=False` says that we want to
# find accidents, not attacks. An attacker can make two contents with the same SHA-1; git itself has further checks against this.

# %% tags=["nbval-check-output"]
blob_sha, whole_tree = lab.use("blob_sha"), "/repos/heron/platform/git/trees/main?recursive=1"
named = {entry["path"]: entry["sha"] for entry in local.get(whole_tree).json()["tree"]}
for day, files in downloads.items():
    wrong = [path for path in files if blob_sha(files[path]) != named[path]]
    print(f"{day:18} {len(wrong):2} of {len(files):2} files have another hash than listed", *wrong[:1])

# %% tags=["claim"]
empty = [path for path, content in downloads["few requests left"].items() if not content]
assert empty and all(blob_sha(b"") != named[path] for path in empty), "The hashes show the empty files"

# %% [markdown]
# The hashes show the empty files. They also show one wrong file on the normal day: `docs/deployment.yaml` is a *link*, and the server
# sent the file that the link points to. But the hashes cannot show a file that was never listed. On the large day, only the link is
# wrong, although most files are missing.
#
# One more thing can go wrong. The next cell shows it step by step:

# %% tags=["nbval-check-output"]
from course_lib.teaching.github_server import Repository

RAW = {"Accept": "application/vnd.github.raw+json"}
moving = Repository("heron/moving")
first = moving.commit({"limits.yaml": b"memory: 2Gi\n"})
server.add(moving)
[listed] = local.get("/repos/heron/moving/git/trees/main").json()["tree"]
moving.commit({"limits.yaml": b"memory: 3Gi\n"})  # somebody pushes a change in between
for ref in ("main", first):
    content = local.get(f"/repos/heron/moving/contents/limits.yaml?ref={ref}", headers=RAW).content
    print("by branch" if ref == "main" else "by commit", content, blob_sha(content) == listed["sha"])

# %% [markdown]
# A [branch](../labs/GLOSSARY.md#branch) can change while you read it; a [commit](../labs/GLOSSARY.md#commit) never changes. So a
# download first asks which commit the branch points to. All further requests name this commit. This is called
# [pinning](../labs/GLOSSARY.md#pinning).
#
# ## All files of a tree
#
# A *tree* is a folder: a list of names. Each name has a mode, and the hash of a blob or of another tree. One request with `recursive`
# lists everything below a tree. If this is too much for one answer, the answer says `truncated` and contains only a part.
#
# ![An old and a new commit. The new one has a new blob for the file that changed, and new trees above this blob. It shares all other blobs and trees with the old one.](../labs/figures/git_tree.svg)
#
# ```
# root ── README.md          with recursive:     README.md  apps  apps/a.md    truncated!
#      └─ apps ── a.md       without recursive:  README.md  apps (a tree: request it, too)
#              └─ b.md
# ```
#
# A `TreeEntry` has the path, mode, hash and size of one entry. `read(sha, recursive)` requests one tree. It returns the entries, and
# whether the answer was truncated. `Trees(2, "a.md", "sub/b.md")` is such a `read` for experiments. It needs no server: it has these
# two files, the name of the whole tree is `"root"`, and it lists at most two entries in one answer.

# %% tags=["nbval-check-output"]
from course_lib.loader.github.tree import TreeEntry
from course_lib.teaching.checks.lab10 import Trees


def reader(github, repo):
    def read(sha, recursive):
        params = {"recursive": "1"} if recursive else {}
        told = github.get(f"/repos/{repo}/git/trees/{sha}", params=params).raise_for_status().json()
        return [TreeEntry(*map(one.get, ("path", "mode", "sha", "size"))) for one in told["tree"]], told["truncated"]

    return read


large_tree = sample_repository().tree_of("main")
with client_of(large.url) as github:
    for recursive in (True, False):
        entries, truncated = reader(github, "heron/platform")(large_tree, recursive)
        print(f"recursive={recursive}: {len(entries)} entries, truncated={truncated}")
print(Trees(2, "a.md", "sub/b.md")("root", recursive=False))

# %% [markdown]
# ## Exercise 10.2: no file missing
#
# First request the tree with everything below it. If the answer is truncated, ignore it, and request only this folder. Then the
# function calls itself for each folder in it. The result has no folders (mode `TREE`). `replace(entry, path=…)` makes an entry with
# another path. `is_within("apps/kfp/a.md", "apps")` is true.

# %% exercise="10.2"
from course_lib.loader.github.tree import list_tree

# %%
lab.check("10.2", list_tree)

# %%
lab.hint("10.2")  # run again for the next hint

# %% [markdown] tags=["solution"]
# The whole truncated answer is ignored, because GitHub does not say which part of the tree it contains. Each folder is again requested
# with everything below it, so only a folder that is too large costs further requests. If one folder alone is too large, the function
# raises an error, because an incomplete list would look like a complete one.

# %% tags=["nbval-check-output"]
list_tree = lab.use("list_tree")
for name, where in {"all in one answer:": server, "40 entries in an answer:": large}.items():
    with client_of(where.url) as github:
        before, entries = where.count("/git/trees/"), list_tree(reader(github, heron.repo), large_tree)
    print(name, sum(entry.path.endswith(".yaml") for entry in entries), "YAML,", where.count("/git/trees/") - before, "requests")

# %% [markdown]
# With 40 entries in an answer, it takes more requests, and no file is missing. Now the same for the repository that you chose above:
# first find its commit, then list the files.

# %%
commit = hub.get(f"/repos/{ours.repo}/commits/{ours.new}").raise_for_status().json()
entries = list_tree(reader(hub, ours.repo), commit["commit"]["tree"]["sha"], within=ours.paths)
modes = {"100644": "file", "100755": "program", "120000": "link", "160000": "submodule"}
counts = {name: sum(entry.mode == mode for entry in entries) for mode, name in modes.items()}
lab.show.bars(counts, f"{ours.repo} at {ours.new}, commit {commit['sha'][:12]}")

# %% tags=["claim"]
assert github_api or min(counts["file"], counts["link"], counts["submodule"]) > 0, "Not every entry is a file of this repository"

# %% [markdown]
# Not every entry is a file of this repository. A *link* contains the path of another file or folder, relative to the link's folder. A
# *submodule* is a commit of another repository. Its files are not here, and a good tool reports this. (`within` only saves requests
# when a tree is truncated. The files are chosen later.)
#
# ## When the server asks you to wait
#
# GitHub allows 60 requests in an hour without a token, and 5,000 with a token. Each answer says how many are left. This is the
# [rate limit](../labs/GLOSSARY.md#rate-limit). GitHub may ban a client that continues to send requests after that.
#
# Here is a server with a limit of five requests, and all five are used. `x-ratelimit-reset` says when the hour ends, in seconds since
# 1970.
#
# > **Predict.** How long must we wait? Is it this number minus the time of our clock? This server's clock is ten minutes ahead of
# > ours. The clocks of laptops and virtual machines are often wrong.

# %%
import time
from email.utils import parsedate_to_datetime

fast = local_github(limit=5)
fast.clock_offset = 600  # seconds
with client_of(fast.url) as github:
    *_, answer = [github.get("/repos/heron/platform") for _ in range(6)]
print(answer.status_code, answer.json()["message"])
for name in ("date", "x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"):
    print(f"{name:22} {answer.headers[name]}")
reset = int(answer.headers["x-ratelimit-reset"])
server_now = parsedate_to_datetime(answer.headers["date"]).timestamp()
print(f"by our clock {reset - time.time():.0f} s, by the server's clock {reset - server_now:.0f} s")

# %% tags=["claim"]
assert answer.status_code == 403 and 540 < server_now - time.time() < 602, "By our clock, we would wait ten minutes too long"

# %% [markdown]
# By our clock, we would wait ten minutes too long. If the server's clock were ten minutes slow, we would send the next request ten
# minutes too early. The same answer has a `date`, which is the time of the server's clock. Compare the reset with this time.
#
# | answer | meaning | wait |
# |---|---|---|
# | 403 or 429, `retry-after: 7` | too many requests | 7 s |
# | 403 or 429, `x-ratelimit-remaining: 0` | no requests are left in this hour | until the reset |
# | 429, or 403 whose message mentions a *rate limit* | too many requests; the time is not given | one minute, then two, four, … |
# | any other 403 | you are not allowed to read this | no: waiting does not change it |
# | 502 | the server has a problem | 1, 2, 4, … s |
# | 404 | it does not exist, or you are not allowed to know | no |
#
# ## Exercise 10.3: how long to wait

# %% exercise="10.3"
from course_lib.loader.github.waiting import wait_time

# %%
lab.check("10.3", wait_time)

# %%
lab.hint("10.3")  # run again for the next hint

# %% [markdown] tags=["solution"]
# The order matters: `retry-after` is what the server itself says, and everything else is our conclusion. The library calls this
# function after every refusal. Its caller, `wait_after`, handles two more cases: a `retry-after` that is a date, and an answer
# without a `date`.

# %% [markdown]
# The next function waits and tries again, but only up to its own limit, `max_wait`. If the wait is longer, it raises an error that
# says when to try again.

# %%
wait_time = lab.use("wait_time")


def ask(github, path, *, max_wait=30, attempts=5, **given):
    for attempt in range(attempts):
        answer = github.get(path, **given)
        seconds = wait_time(answer.status_code, dict(answer.headers), answer.text, attempt)
        if seconds is None:
            return answer.raise_for_status()
        if seconds > max_wait:
            raise TimeoutError(f"{path}: try again in {seconds:.0f} s")
        time.sleep(seconds)
    raise TimeoutError(f"{path}: {attempts} attempts")


try:
    ask(client_of(fast.url), "/repos/heron/platform")
except TimeoutError as error:
    print(refusal := str(error))

# %% tags=["claim"]
seconds = int(refusal.split()[-2])
assert 3_500 < seconds < 3_603, "If the wait is longer, it raises an error that says when to try again"

# %% [markdown]
# Now two clients want 25 answers each. Their servers give 15 answers every two seconds. The impatient client tries again after a tenth
# of a second, as many loops do. The other client is yours.
#
# > **Predict.** How many requests does each client send? Which has its answers first?

# %%
def impatient(github, path):
    while (answer := github.get(path)).status_code != 200:
        time.sleep(0.1)
    return answer


seen = []
for name, one_request in {"impatient": impatient, "yours": ask}.items():
    with local_github() as limited, client_of(limited.url) as github:
        limited.set_limit(15, window=2)
        for _ in range(25):
            one_request(github, "/repos/heron/platform")
    for one in limited.seen:
        at, strip = one.at - limited.seen[0].at, f"{name}, {'answered' if one.status == 200 else 'refused'}"
        seen.append(SimpleNamespace(at=at, seconds=0, request=strip, status=one.status))
    print(name, len(limited.seen), "requests, refused:", sum(one.status == 403 for one in limited.seen))
lab.show.timeline(seen, title="25 answers from a server that gives 15 in 2 s")

# %% tags=["claim"]
requests = [one.request for one in seen]
assert requests.count("impatient, answered") == requests.count("yours, answered") == 25, "Both clients have their 25 answers"
assert requests.count("yours, refused") == 1, "Your client was refused once, and this answer told it how long to wait"
assert requests.count("impatient, refused") > 5, "The impatient client was refused again and again"

# %% [markdown]
# Both clients have their 25 answers. Your client was refused once, and this answer told it how long to wait. The impatient client was
# refused again and again, and GitHub may ban a client for that. Your client may be a little later, because it waits for whole
# seconds. The figure shows which was first.
#
# ## Page after page
#
# GitHub sends long lists in pages, for example the issues. The header `Link` has the address of the next page. This address contains
# a number instead of the repository's name. Do not build the address yourself. Take it from the header with the library's
# `next_page`.

# %% tags=["nbval-check-output"]
from course_lib.loader.github.names import next_page


def entries_of(github, path, **params):
    answer = ask(github, path, params=params)
    yield from answer.json()
    while place := next_page(answer.headers.get("link", "")):
        print(place.replace(server.url, "https://…"))
        answer = ask(github, place)
        yield from answer.json()


found = list(entries_of(local, "/repos/heron/platform/issues", state="all", per_page="5"))
issues = [one for one in found if "pull_request" not in one]
print(f"{len(found)} entries, of which {len(issues)} are issues")

# %% [markdown]
# For GitHub, a pull request is also an issue. The list contains both, and only the key `pull_request` shows which is which. We want
# what people report, so we leave out the pull requests.
#
# ## Where a result comes from
#
# A result is more useful with a [citation](../labs/GLOSSARY.md#citation): an address that shows exactly these lines. On GitHub, this is
# the address of a file at a commit, and after `#` the lines.
#
# ## Exercise 10.4: cite the lines
#
# A citation must still show these lines next year. So the function first decides whether it can promise this: `is_sha(text)` is true
# for the whole hash of a commit. If the name of a file ends in one of `RENDERED`, GitHub shows a formatted page without lines, unless
# the address has `?plain=1` before the `#`. `quote` replaces the characters of a path that an address cannot contain.

# %% exercise="10.4"
from course_lib.loader.github.names import citation_url

# %%
lab.check("10.4", citation_url)

# %%
lab.hint("10.4")  # run again for the next hint

# %% [markdown] tags=["solution"]
# An address with a branch works on the day when it is made. That is why this mistake is hard to find. As soon as a line is inserted
# above, the address shows other lines, and no error says so. A tag can be moved as well. The beginning of a hash is enough only
# as long as no other commit begins in the same way.

# %%
citation_url = lab.use("citation_url")
web = commit["html_url"].partition("/commit/")[0]
print(citation_url(web, commit["sha"], entries[0].path, 3, 9))

# %% [markdown]
# ## All of it in one call
#
# `course ingest-repo` runs the function `ingest_repository`. It finds the commit, and lists and downloads the files. It uses your four
# functions to list a tree, to check every hash, to wait and to cite. Then it splits each file by its kind,
# [embeds](../labs/GLOSSARY.md#embedding) the chunks and stores them. We begin with the *older* version. It gets the label `current`.
# Heron's issues are stored, too.

# %% tags=["nbval-check-output"]
import os
import tempfile
from pathlib import Path

from course_lib.indexing.repository import ingest_repository
from course_lib.loader.github import DownloadOptions, Selection, download_github_code
from course_lib.records import Scope

os.environ |= environment(server)
if github_api:
    os.environ |= {"GITHUB_API_URL": github_api, "GITHUB_RAW_URL": ""}
folder = tempfile.TemporaryDirectory()


def bring(what, ref, issues=False):
    wanted = Selection(what.repo, ref, what.endings, what.paths)
    scope = Scope(repo=what.repo, branch="current", partition="code_manifests")
    how = DownloadOptions(token=None if github_api else "", dest=f"{folder.name}/{what.repo}")
    with lab.connect(autocommit=True) as conn:
        return ingest_repository(wanted, scope, conn=conn, embedder=lab.embedder, download=how, issues=issues)


begin = len(server.seen)
reports = {f"{ours.old}, the first time": bring(ours, ours.old, issues=not github_api)}
[report] = reports.values()
asked = [one.path for one in server.seen[begin:] if "/issues" not in one.path]
print(report.fetched, "files downloaded with", len(asked), "requests")
for name, part in report.partitions.items():
    print(f"{name:15} {part.documents:3} documents {part.chunks:4} chunks")
print(*[f"left out: {file.name} {file.reason}" for file in report.skipped], sep="\n")

# %% [markdown]
# All files of this source are in one [partition](../labs/GLOSSARY.md#partition), and the issues are in another one. A search covers all
# partitions, or only those that you name, as in `partitions=["issues"]`. (With GitHub itself, the cell downloads no issues: thousands of
# them need more requests than one hour allows.)
#
# There were so few requests because most files were missing. In this case the library downloads the *archive* of the version: one
# packed file with everything. It compares every file of the archive with the tree. A file that the archive lacks, or that has another
# hash, is requested by its hash. After a small change, the library downloads the changed files one by one from the raw host, by path
# and commit. GitHub does not count these requests. The hash of each of these files is checked, too.

# %%
from course_lib.retriever import Query, search

with lab.connect() as conn:
    results = search(conn, lab.encode(ours.question), Query(ours.question, top_k=5))
print(*[one.citation_url for one in results], sep="\n")
lab.show.ranking(results, ours.question)

# %% tags=["claim"]
addresses = [one.citation_url.removeprefix(f"{web}/").split("/") for one in results]
assert github_api or any(kind == "blob" and len(commit_of) == 40 and "#L" in path[-1] for kind, commit_of, *path in addresses), "Read the addresses: repository, commit, file, lines"
assert github_api or any(kind == "issues" for kind, *rest in addresses), "An issue does not belong to a commit, so its citation is its own page"

# %% [markdown]
# Read the addresses: repository, commit, file, lines. An issue does not belong to a commit, so its citation is its own page.
#
# Now we run it a second time, and then for the newer version.
#
# > **Predict.** How many files are downloaded each time?

# %% tags=["nbval-check-output"]
def names_in_index():
    with lab.connect() as conn:
        return {name for (name,) in conn.execute("SELECT document_name FROM documents")}


before, asked = names_in_index(), len(server.seen)
reports[f"{ours.old}, again"] = bring(ours, ours.old)
print("the second run asked for:", *[one.path.removeprefix(f"/repos/{ours.repo}") for one in server.seen[asked:]], sep="\n  ")
reports[ours.new] = new = bring(ours, ours.new)
parts = new.partitions.values()
print("pieces written:", sum(part.inserted + part.updated for part in parts), end=", ")
print("kept:", sum(part.unchanged for part in parts))
print("removed from the index:", *sorted(before - names_in_index()))
print("added to the index:    ", *sorted(names_in_index() - before))
with lab.connect() as conn:
    cited = "SELECT DISTINCT commit_sha FROM documents WHERE branch = 'current'"
    print("only the newer commit is cited:", conn.execute(cited).fetchall() == [(commit["sha"],)])

# %%
lab.show.bars({name: report.fetched for name, report in reports.items()}, "Files downloaded")

# %% tags=["claim"]
first_time, again, changed = (one.fetched for one in reports.values())
assert again == 0, "so nothing was downloaded"
assert github_api or 0 < changed < first_time / 5, "For the new version, only the changed files were downloaded"

# %% [markdown]
# The second run asked for the commit and its tree, and for the text of a link. Every file was there already and had the hash that the
# tree lists, so nothing was downloaded. For the new version, only the changed files were downloaded, because all other files had the
# same hashes as before. A file that was deleted or renamed is removed from the [index](../labs/GLOSSARY.md#index), and no longer found.
#
# The chunks of all other files were kept and not embedded again. They now cite the new commit, so all chunks of this version belong
# to one commit. If you give each version its own label (`branch="v1.0.0"`), both versions stay in the index.
#
# ## In the field: git itself
#
# Git needs no API. `--depth=1` downloads one version without its history. `--filter=blob:none` leaves out the contents of the files;
# git downloads them when it needs them. The cell clones Heron from a folder on this machine, and counts requests and bytes. For
# GitHub, the commands are the same, with `https://github.com/kubeflow/manifests` as the address. First the cell downloads the same
# version with the API.
#
# `checkout HEAD -- FOLDER` and `sparse-checkout set FOLDER` both download the files of one folder.
#
# > **Predict.** How many requests does git need for one folder with five files? How many does the API need for everything?

# %%
import shutil

from course_lib.teaching.github_server.clones import run_git  # runs git commands and counts their requests

os.environ |= environment(server)  # all cells from here on stay on this machine
options = DownloadOptions(token="", dest=f"{folder.name}/heron/by-api")
begin, download = len(server.seen), download_github_code(Selection(heron.repo, "main", heron.endings), options)
asked = server.seen[begin:]
print(f"API: {len(asked)} requests, {len(download.files)} files, {sum(one.size for one in asked):,} bytes")
if shutil.which("git"):
    bare = sample_repository().write_bare(Path(folder.name, "heron", "bare.git"))
    by_path, sparse = Path(folder.name, "heron", "by-path"), Path(folder.name, "heron", "sparse")
    clone = f"clone --depth=1 --filter=blob:none --no-checkout {bare.as_uri()} ."
    print(one_by_one := run_git(by_path, clone, "checkout HEAD -- code/scripts"))
    print(together := run_git(sparse, clone, "sparse-checkout set code/scripts", "checkout", "sparse-checkout disable"))
else:
    print("not installed: get git from https://git-scm.com, then run this cell again")

# %% tags=["claim"]
if shutil.which("git"):
    assert "-- code/scripts: 5 requests; now 5 files" in one_by_one, "checkout HEAD -- code/scripts sends one request for each file"
    folder_only, rest = together.splitlines()[2:]
    assert folder_only.startswith("checkout: 1 ") and rest.startswith("sparse-checkout disable: 1 "), "sparse-checkout gets all files of the folder with one request, and the rest of the repository with one more"

# %% [markdown]
# The API has one archive with all files. With git, `checkout HEAD -- code/scripts` sends one request for each file, which is slow for
# a large folder. `sparse-checkout` gets all files of the folder with one request, and the rest of the repository with one more. Git
# checks every hash itself, and its requests do not count for the limit of the API. Use git if it is installed and you want files.
# Use the API if you want issues, if your service must not write a working copy, or if you want to know what has changed before you
# download anything.
#
# ## Break it: dangerous names
#
# A tree may contain any name, also `../../.bashrc`. If a program writes a file under a name that a stranger chose, the stranger
# decides where it writes. Here is a repository with two such names, and a file whose content changes during the download. After
# that, you are in a hotel whose network answers every request with a login page.
#
# > **Predict.** Which of the four files are written? What message do you get in the hotel?

# %% tags=["nbval-check-output"]
from course_lib.loader.github.errors import GitHubError
from course_lib.teaching.github_server import faults

hostile = Repository("mallory/notes")
names = "docs/good.md", "docs/changed.md", "../outside.md", ".git/hooks/post-merge.md"
hostile.commit({name: name.encode() for name in names})
server.add(hostile)
server.fail(r"mallory/notes/.*(changed\.md|blobs)", faults.changed_content(), times=99)
notes = Selection("mallory/notes", "main", [".md"])
into = DownloadOptions(token="", dest=f"{folder.name}/notes", partial=True)
download = download_github_code(notes, into)
print("downloaded:", *download.files)
print(*[f"{file.name} {file.reason.partition(':')[0]}" for file in download.failed], sep="\n")
print("written:", *[path.name for path in Path(folder.name).rglob("*.md") if "heron" not in path.parts])
server.fail("commits", faults.html_page())  # the hotel's login page
try:
    download_github_code(notes, into)
except GitHubError as error:
    print(f"{type(error).__name__}: {error}".replace(server.url, "https://…"))

# %% [markdown]
# One of four files was written, and there are three reasons why the others were not. In the hotel, the error says that the answer is
# a page in HTML and not the API's data.
#
# With `partial=True`, the download returns a list of the files that it could not get. Without it, the first run would have raised an
# error with the same reasons. In both cases, you know that files are missing.
#
# ## Measure: the scorecard
#
# These are lab 03's questions about Heron's code. Now they search the index that was filled over the network. The questions are about
# Heron's code, so the cell uses the local server and leaves the results from other folders out. If you used this server before, it
# downloads nothing.

# %%
from dataclasses import replace

server.heal()  # without the faults above
report = bring(heron, heron.new)
print("downloaded:", report.fetched)
brought = Path(folder.name, heron.repo)
files = [path for path in (brought / "code").rglob("*") if path.is_file()]
other = [path for path in files if blob_sha(path.read_bytes()) != named[path.relative_to(brought).as_posix()]]
print(len(files) - len(other), "files with code have the listed hash, one is a link:", *[path.name for path in other])


def ask_code(question):
    found = search(conn, lab.encode(question), Query(question, top_k=50, partitions="code_manifests", repo=heron.repo))
    code = [one for one in found if one.document_name.startswith("code/")]
    return [replace(one, document_name=one.document_name.removeprefix("code/")) for one in code]


with lab.connect() as conn:
    measured = lab.measure_retrieval(ask_code)
lab.score(recall_at_5=measured.recall, mrr=measured.mrr, note="code from GitHub, hybrid")

# %% tags=["claim"]
assert github_api or report.fetched == 0, "If you used this server before, it downloads nothing"
assert len(files) > 10 and [path.name for path in other] == ["rollback.sh"], "Here every file has the hash that was listed, and the link was replaced by the file that it points to"

# %% [markdown]
# A download does not make a search better, but it can make it worse. Here every file has the hash that was listed, and the link was
# replaced by the file that it points to. So nothing was lost, and each result now has an address.
#
# ## Recap
#
# - First find the commit of a branch or tag. Use this commit in all further requests and in all citations, because a branch moves.
# - A hash that is listed before the download proves that the content is right. But it cannot show a file that was never listed, so
#   look at `truncated`.
# - Use `retry-after` first, then `x-ratelimit-reset`, and compare with the server's clock. Do not repeat a request after a 403 that
#   is not a limit.
# - Report every file that you could not get, as an error or in a list with reasons.
# - Compare hashes before you download: a file that you already have costs nothing. Remove from the index what was deleted upstream.
#
# ## Three questions to test yourself
#
# 1. A run ends with "0 files, success". Name three causes that this lab's download would have distinguished.
# 2. Why do we ignore a truncated answer, although its entries are right?
# 3. Your clock is ten minutes slow, and you compare `x-ratelimit-reset` with it. What happens?
#
# <details><summary>Answers</summary>
#
# 1. The ref does not exist (404 or 422); a refusal was used like an answer (403, 429); no file has these endings or is below this
#    path; the repository is empty (409).
# 2. It does not say what is missing. To complete it, you would have to list every folder anyway.
# 3. You wait ten minutes longer than necessary. If your clock were ahead, you would send the next request ten minutes too early. It
#    would be refused, and you could be banned.
#
# </details>
#
# ## Stretch, and what comes next
#
# `GitHubServer([sample_repository()], primary=PrimaryLimit(3, 30))` is a server that allows only three requests in 30 seconds. Import
# `PrimaryLimit` from `course_lib.teaching.github_server`, make such a server in a new cell and print its `url`. In a terminal, set
# `GITHUB_API_URL` to this address and `GITHUB_RAW_URL` to an empty text, and bring the repository into your index with
# `course ingest-repo heron/platform --ref main --ext .md`. Watch it wait. Then interrupt it with Ctrl-C before it is done, and start it again.
#
# Next is [lab 11](../labs/11_kubeflow_pipeline.ipynb), in which the steps of this course become a pipeline that runs without you.
