# %% [markdown]
# # 09 · Code from GitHub
#
# You will bring a repository into the index: exactly one version of it, with no file missing, without being banned, and so that
# every result can be looked up where it came from.
#
# | You will be able to | Builds | Time | Needs |
# |---|---|---|---|
# | pin a version and prove that a download is whole · tell a limit from a refusal, and wait as long as it takes · keep an index up to date without downloading anything twice | `loader/github/` | about {minutes} min | Python functions; what HTTP is |

# %% tags=["parameters"]
github_api = ""  # "https://api.github.com" asks GitHub itself; empty, a server on this machine
data_dir = "data/code"
database_url = ""
embedding_model = ""

# %%
from course_lib.teaching import start  # "No module named 'course_lib'"? Open the lab with: make lab

lab = start("09", data_dir=data_dir, database_url=database_url, embedding_model=embedding_model)
lab.show.pipeline("documents")

# %% [markdown]
# ## A server like GitHub
#
# `local_github()` is a server on this machine that answers as GitHub's [REST API](../labs/GLOSSARY.md#rest-api) does. It holds one
# repository, `heron/platform`: the course's own code and manifests in two versions, with issues.
#
# Set `github_api` above to `"https://api.github.com"` and the cells that ask `hub` ask GitHub, for a small part of
# `kubeflow/manifests`. Cells in which something has to go wrong stay on this machine.

# %%
from types import SimpleNamespace

import httpx

from course_lib.teaching.github_server import environment, local_github


def client_of(url):
    is_far = "127.0.0.1" not in url  # a proxy leads nowhere on the way to this very machine
    return httpx.Client(base_url=url, trust_env=is_far, follow_redirects=True, timeout=20)


server = local_github()
local, hub = client_of(server.url), client_of(github_api or server.url)
heron = SimpleNamespace(
    repo="heron/platform", old="v1.0.0", new="v1.1.0", paths=[],
    endings=[".yaml", ".py", ".go", ".sh", ".md"], question="Why are pods of the forecast API killed?",
)
kubeflow = SimpleNamespace(
    repo="kubeflow/manifests", old="v1.8.1", new="v1.9.1", endings=[".yaml"],
    paths=["apps/pipeline/upstream/base/pipeline"], question="How much memory has the API server?",
)
ours = kubeflow if github_api else heron

# %% [markdown]
# ## A download that calls itself a success
#
# Many tools hold a loop like this one: list the files, fetch each, take what is there.

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
# Four days in its life. The first is quiet. On the second the version is mistyped. On the third only 20 requests are left of
# this hour. On the fourth the repository has grown, and the server lists no more than 40 entries at once (GitHub: 100,000).
#
# > **Predict.** On which days does the tool say that something is wrong?

# %% tags=["nbval-check-output"]
from course_lib.teaching.github_server import GitHubServer, Sizes, sample_repository

busy = local_github(limit=20)
large = GitHubServer([sample_repository()], sizes=Sizes(tree_entries=40))
days = {"quiet": (server, "main"), "typo": (server, "mian")}
days |= {"few requests left": (busy, "main"), "large": (large, "main")}
downloads = {}
for day, (where, ref) in days.items():
    with client_of(where.url) as github:
        downloads[day] = naive_download(github, ref)
    print(f"{day:18} done: {len(downloads[day])} files")

# %%
whole = {day: sum(map(bool, files.values())) for day, files in downloads.items()}
lab.show.bars(whole, "Files that hold anything")

# %% [markdown]
# On none. A 404 became *no files*, a refusal an *empty file*, a cut-off list a *short list*; each run ended well. Whoever searches
# such an index finds nothing and thinks that there is nothing.
#
# So we want a download that
#
# 1. knows which version it brings, and brings no other;
# 2. can tell that a file is what it should be;
# 3. has all files, or says which it has not;
# 4. waits when it is asked to, and does not where waiting cannot help.

# %% [markdown]
# ## By hand: a name that proves the content
#
# Git names a file's content, a *blob*, by a [digest](../labs/GLOSSARY.md#digest): SHA-1 of a short head and the bytes. The head is
# the word `blob`, a blank, the number of bytes, and a byte 0. For a file that says *hello*:

# %% tags=["nbval-check-output"]
import hashlib

print(hashlib.sha1(b"blob 6\0" + b"hello\n").hexdigest())
print(hashlib.sha1(b"blob 6\0" + b"hallo\n").hexdigest())

# %% [markdown]
# One other letter, and the name is another one. GitHub lists this name for each file. So you know what you should get before you
# ask for it, and need not trust what comes.
#
# ## Exercise 9.1: the name of a content

# %% exercise="9.1"
from course_lib.loader.github.tree import blob_sha

# %%
lab.check("9.1", blob_sha)

# %%
lab.hint("9.1")  # run again for the next hint

# %% [markdown] tags=["solution"]
# It counts bytes, not characters: `é` has two. `usedforsecurity=False` says that we look for accidents; against forgers, who can
# make two contents with one SHA-1, git itself has further checks.

# %% tags=["nbval-check-output"]
blob_sha, whole_tree = lab.use("blob_sha"), "/repos/heron/platform/git/trees/main?recursive=1"
named = {entry["path"]: entry["sha"] for entry in local.get(whole_tree).json()["tree"]}
for day, files in downloads.items():
    wrong = [path for path in files if blob_sha(files[path]) != named[path]]
    print(f"{day:18} {len(wrong):2} of {len(files):2} are not what was listed", *wrong[:1])

# %% [markdown]
# The empty ones are caught, and even on the quiet day one was wrong: `docs/deployment.yaml` is a *link*, and the server gave the file
# that it leads to. What was never listed is not caught: on the large day all is well but the link, and most files are missing.
#
# And one more thing can go wrong, here in slow motion:

# %% tags=["nbval-check-output"]
from course_lib.teaching.github_server import Repository

RAW = {"Accept": "application/vnd.github.raw+json"}
moving = Repository("heron/moving")
first = moving.commit({"limits.yaml": b"memory: 2Gi\n"})
server.add(moving)
[listed] = local.get("/repos/heron/moving/git/trees/main").json()["tree"]
moving.commit({"limits.yaml": b"memory: 3Gi\n"})  # a push, in between
for ref in ("main", first):
    content = local.get(f"/repos/heron/moving/contents/limits.yaml?ref={ref}", headers=RAW).content
    print("by branch" if ref == "main" else "by commit", content, blob_sha(content) == listed["sha"])

# %% [markdown]
# A [branch](../labs/GLOSSARY.md#branch) moves while you read it; a [commit](../labs/GLOSSARY.md#commit) never does. So a download
# begins with one question, "which commit is this?", and asks for that commit from then on:
# [pinning](../labs/GLOSSARY.md#pinning).
#
# ## All files of a tree
#
# A *tree* is a folder: a list of names, each with a mode and a hash, of a blob or of a further tree. One request with `recursive`
# lists everything below it, unless that is too much; then the answer says `truncated` and holds a part.
#
# ![An old and a new commit. The new one has a new blob for the file that changed, and new trees above this blob. It shares all other blobs and trees with the old one.](../labs/figures/git_tree.svg)
#
# ```
# root ── README.md          asked with recursive: README.md  apps  apps/a.md    truncated!
#      └─ apps ── a.md       asked without:        README.md  apps (a tree: ask for it as well)
#              └─ b.md
# ```
#
# `TreeEntry` holds path, mode, hash and size of one entry. `read(sha, recursive)` asks for one tree and returns its entries, and
# whether they were truncated. `Trees(2, "a.md", "sub/b.md")` is such a `read` to experiment with: it needs no server, knows these
# two files, calls the whole tree `"root"`, and lists two entries at once.

# %% tags=["nbval-check-output"]
from course_lib.loader.github.tree import TreeEntry
from course_lib.teaching.checks.lab09 import Trees


def reader(github, repo):
    def read(sha, recursive):
        params = {"recursive": "1"} if recursive else {}
        told = github.get(f"/repos/{repo}/git/trees/{sha}", params=params).raise_for_status().json()
        names = ("path", "mode", "sha", "size")
        return [TreeEntry(*map(one.get, names)) for one in told["tree"]], told["truncated"]

    return read


large_tree = sample_repository().tree_of("main")
with client_of(large.url) as github:
    for recursive in (True, False):
        entries, truncated = reader(github, "heron/platform")(large_tree, recursive)
        print(f"recursive={recursive}: {len(entries)} entries, truncated={truncated}")
print(Trees(2, "a.md", "sub/b.md")("root", recursive=False))

# %% [markdown]
# ## Exercise 9.2: nothing missing
#
# Ask for everything at once. If the answer is truncated, throw it away, ask for this tree alone, and let the function call itself
# for each folder in it. Folders themselves (mode `TREE`) are not in the result. `replace(entry, path=…)` makes an entry with
# another path, and `is_within("apps/kfp/a.md", "apps")` is true.

# %% exercise="9.2"
from course_lib.loader.github.tree import list_tree

# %%
lab.check("9.2", list_tree)

# %%
lab.hint("9.2")  # run again for the next hint

# %% [markdown] tags=["solution"]
# The truncated answer is thrown away whole: GitHub does not say which part of the tree it holds. Each folder is asked for
# recursively again, so that only what is really too large costs further requests. And a folder that is too large alone is an error,
# because a short list would be a lie.

# %% tags=["nbval-check-output"]
list_tree = lab.use("list_tree")
for name, where in {"all in one answer:": server, "40 entries an answer:": large}.items():
    before = where.count("/git/trees/")
    with client_of(where.url) as github:
        entries = list_tree(reader(github, "heron/platform"), large_tree)
    yaml = [entry for entry in entries if entry.path.endswith(".yaml")]
    print(name, len(yaml), "YAML files,", where.count("/git/trees/") - before, "requests")

# %% [markdown]
# More requests than one, and nothing is missing. Now the same for the repository that you chose above: pin it, then list it.

# %%
commit = hub.get(f"/repos/{ours.repo}/commits/{ours.new}").raise_for_status().json()
entries = list_tree(reader(hub, ours.repo), commit["commit"]["tree"]["sha"], within=ours.paths)
modes = {"100644": "file", "100755": "program", "120000": "link", "160000": "submodule"}
counts = {name: sum(entry.mode == mode for entry in entries) for mode, name in modes.items()}
lab.show.bars(counts, f"{ours.repo} at {ours.new}, commit {commit['sha'][:12]}")

# %% [markdown]
# Not every entry is a file of this repository. A *link* holds the path of another file or folder, as seen from the link's own folder.
# A *submodule* is a commit of another repository: there is nothing here to download, and a good tool says so. (`within` only saves
# requests where a tree is truncated; which files are wanted is decided afterwards.)
#
# ## Being asked to wait
#
# GitHub gives 60 requests an hour to whoever has no token, 5,000 with one, and tells with each answer how many are left: the
# [rate limit](../labs/GLOSSARY.md#rate-limit). It may ban a client that goes on asking in spite of it.
#
# Here is a limit of five, used up. `x-ratelimit-reset` says when the hour ends, in seconds since 1970.
#
# > **Predict.** How long must we wait: that number minus our clock? This server's clock is ten minutes ahead of ours; the clocks of
# > laptops and virtual machines are often wrong.

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
print(f"by our clock {reset - time.time():.0f} s, by the server's own {reset - server_now:.0f} s")

# %% [markdown]
# By our clock, ten minutes too many. Were the server's clock ten minutes slow instead, it would be ten minutes too few, and we would
# go on asking. `date` is in the same answer: compare the server's times with the server's clock.
#
# | answer | means | wait |
# |---|---|---|
# | 403 or 429, `retry-after: 7` | too fast | 7 s |
# | 403 or 429, `x-ratelimit-remaining: 0` | the hour's requests are used up | until the reset |
# | 429, or 403 that speaks of a *rate limit* | too fast, and no word of how long | a minute, then two, four, … |
# | 403 otherwise | you have no right to this | no: it will not change |
# | 502 | the server has a problem | 1, 2, 4, … s |
# | 404 | not there, or not for you | no |
#
# ## Exercise 9.3: how long to wait

# %% exercise="9.3"
from course_lib.loader.github.waiting import wait_time

# %%
lab.check("9.3", wait_time)

# %%
lab.hint("9.3")  # run again for the next hint

# %% [markdown] tags=["solution"]
# The order matters: in `retry-after` the server itself says how long, the rest is what we conclude. The library asks this function after
# every refusal; around it, `wait_after` turns a date in `retry-after` into seconds, and takes our clock where there is no `date`.

# %% [markdown]
# A request that waits, up to a limit of its own: if it takes longer, it tells when to come back.

# %%
wait_time = lab.use("wait_time")


def ask(github, path, *, max_wait=30, attempts=5, **given):
    for attempt in range(attempts):
        answer = github.get(path, **given)
        seconds = wait_time(answer.status_code, dict(answer.headers), answer.text, attempt)
        if seconds is None:
            return answer.raise_for_status()
        if seconds > max_wait:
            raise TimeoutError(f"{path}: come back in {seconds:.0f} s")
        time.sleep(seconds)
    raise TimeoutError(f"{path}: {attempts} attempts")


with client_of(fast.url) as github:
    try:
        ask(github, "/repos/heron/platform")
    except TimeoutError as error:
        print(error)

# %% [markdown]
# Now two clients want 25 answers each from servers that give 15 every two seconds. One asks again every tenth of a second, as many
# loops do; the other is yours.
#
# > **Predict.** How many requests does each of them make, and which has its answers first?

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

# %% [markdown]
# Both have their 25 answers. Yours was refused once, and then knew how long to wait; the impatient one was refused again and again,
# and GitHub may ban a client for that. Patience may end a little later, because waits are whole seconds: look which was first.
#
# ## Page after page
#
# Lists come in pages, and issues are a list. The header `Link` says where the next page is: its address has a number in place of
# the repository's name. Do not build it; follow it, with the library's `next_page`.

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
# To GitHub a pull request is an issue, too: the list holds both, and only the key `pull_request` tells them apart. Ours are about
# what people report, so pull requests stay out.
#
# ## Where it is
#
# A result is worth more with a [citation](../labs/GLOSSARY.md#citation): an address that shows these very lines. On GitHub that is
# the page of a file at a commit, and after `#` the lines.
#
# ## Exercise 9.4: cite the lines
#
# Files whose names end in one of `RENDERED` are shown as formatted pages without lines, unless `?plain=1` comes before the `#`.
# `quote` writes a path so that an address can hold it.

# %% exercise="9.4"
from course_lib.loader.github.names import citation_url

# %%
lab.check("9.4", citation_url)

# %%
lab.hint("9.4")  # run again for the next hint

# %% [markdown] tags=["solution"]
# The commit is the point. With a branch in its place the address works just as well, and shows other lines as soon as one is
# inserted above.

# %%
citation_url = lab.use("citation_url")
web = commit["html_url"].partition("/commit/")[0]
print(citation_url(web, commit["sha"], entries[0].path, 3, 9))

# %% [markdown]
# ## All of it in one call
#
# `ingest_repository` is what `course ingest-repo` runs: it resolves, lists, fetches, checks every hash, waits and cites with these four
# functions, splits each file by its kind, [embeds](../labs/GLOSSARY.md#embedding) and stores. First the *older* version, under the
# label `current`; Heron's issues come along.

# %% tags=["nbval-check-output"]
import os
import tempfile

from course_lib.indexing.repository import ingest_repository
from course_lib.loader.github import DownloadOptions, Selection, download_github_code
from course_lib.records import Scope

os.environ |= environment(server)
if github_api:
    os.environ |= {"GITHUB_API_URL": github_api, "GITHUB_RAW_URL": ""}
folder = tempfile.TemporaryDirectory()


def bring(what, ref, issues=False):
    wanted, scope = Selection(what.repo, ref, what.endings, what.paths), Scope(repo=what.repo, branch="current")
    how = DownloadOptions(token=None if github_api else "", dest=f"{folder.name}/{what.repo}")
    with lab.connect(autocommit=True) as conn:
        return ingest_repository(wanted, scope, conn=conn, embedder=lab.embedder, download=how, issues=issues)


begin = len(server.seen)
reports = {f"{ours.old}, the first time": bring(ours, ours.old, issues=not github_api)}
[report] = reports.values()
asked = [one.path for one in server.seen[begin:] if "/issues" not in one.path]
print(report.fetched, "files came with", len(asked), "requests")
for name, part in report.partitions.items():
    print(f"{name:15} {part.documents:3} documents {part.chunks:4} chunks")
print(*[f"left out: {file.name} {file.reason}" for file in report.skipped], sep="\n")

# %% [markdown]
# Each kind of file has a [partition](../labs/GLOSSARY.md#partition) of its own; one search covers all of them, or those you name
# with `partitions=["issues"]`. (Where you asked GitHub itself no issues came: thousands cost more than an hour's requests.)
#
# So few requests, because most of a version was missing: then its *archive*, one packed file, brings everything at once. A name in it
# is only looked up in the tree; what it lacks, or holds with another hash, is asked for by its hash. The files of a small change come
# one by one from the raw host, by path and commit, which costs none of the requests that GitHub counts; each is held to its hash, too.

# %%
from course_lib.retriever import Query, search

with lab.connect() as conn:
    results = search(conn, lab.encode(ours.question), Query(ours.question, top_k=5))
print(*[one.citation_url for one in results], sep="\n")
lab.show.ranking(results, ours.question)

# %% [markdown]
# Follow the addresses by eye: repository, commit, file, lines. An issue, which belongs to no commit, is cited by its own page.
#
# Now a second run, and then the newer version.
#
# > **Predict.** How many files come over the network each time?

# %% tags=["nbval-check-output"]
def names_in_index():
    with lab.connect() as conn:
        return {name for (name,) in conn.execute("SELECT document_name FROM documents")}


before, asked = names_in_index(), len(server.seen)
reports[f"{ours.old}, again"] = bring(ours, ours.old)
print("the second run asked:", *[f"{one.path} {one.status}" for one in server.seen[asked:]])
reports[ours.new] = new = bring(ours, ours.new)
parts = new.partitions.values()
print("pieces written:", sum(part.inserted + part.updated for part in parts), end=", ")
print("kept:", sum(part.unchanged for part in parts))
print("left the index:", *sorted(before - names_in_index()))
print("came into it:  ", *sorted(names_in_index() - before))
with lab.connect() as conn:
    cited = "SELECT DISTINCT split_part(citation_url, '/', 7) FROM document_chunks WHERE branch = 'current'"
    print("only the newer commit is cited:", conn.execute(cited).fetchall() == [(commit["sha"],)])

# %%
lab.show.bars({name: report.fetched for name, report in reports.items()}, "Files downloaded")

# %% [markdown]
# The second run asked one question, "is it still this commit?", with the label (*etag*) of the first answer. It was told 304 ("not
# modified"), and downloaded nothing. The new version cost what had changed, because the hashes of everything else were those we had. A file that was deleted or renamed has left
# the [index](../labs/GLOSSARY.md#index), and is no longer quoted.
#
# The pieces of all other files were kept, without being embedded again, and cite the new commit now, so "this version" is one
# commit and not a mixture. With a label for each version instead (`branch="v1.0.0"`), both would stand side by side.
#
# ## In the field: git itself
#
# Git needs no API. With `--depth 1` it brings one version and no history, with `--filter=blob:none` it leaves files out until they are
# read. **Not run here**; on a machine with git it is:
#
# ```bash
# git clone --depth 1 --filter=blob:none --no-checkout https://github.com/kubeflow/manifests
# git -C manifests checkout HEAD -- apps/pipeline     # downloads the files of this folder only
# ```
#
# Git checks every hash itself, so nothing can be missing without an error, and no limit of an API counts. Take it where git is
# installed and you want files. Take the API where you want issues, where a service may not write a working copy, or where you need an
# answer such as 304 before you download anything.
#
# ## Break it: names that lead elsewhere
#
# A tree may hold any name, `../../.bashrc` too. Whoever writes files by the names that a stranger chose writes wherever the stranger
# likes. Here is a repository with two such names and a file that changes on its way. After that, you sit in a hotel whose network
# answers every request with a page to sign in.
#
# > **Predict.** Which of the four files arrive? And what does the hotel's guest read?

# %% tags=["nbval-check-output"]
from pathlib import Path

from course_lib.loader.github.errors import GitHubError
from course_lib.teaching.github_server import faults

hostile = Repository("mallory/notes")
names = "docs/good.md", "docs/changed.md", "../outside.md", ".git/hooks/post-merge.md"
hostile.commit({name: name.encode() for name in names})
server.add(hostile)
server.fail(r"mallory/notes/.*(changed\.md|blobs)", faults.changed_content(), times=99)
os.environ |= environment(server)  # these cells stay on this machine
notes = Selection("mallory/notes", "main", [".md"])
into = DownloadOptions(token="", dest=f"{folder.name}/notes", partial=True)
download = download_github_code(notes, into)
print("arrived:", *download.files)
print(*[f"{file.name} {file.reason.partition(':')[0]}" for file in download.failed], sep="\n")
print("written:", *[path.name for path in Path(folder.name).rglob("*.md") if "heron" not in path.parts])

# %% [markdown]
# One of four, and three reasons. Of the two names and of the changed file nothing was written. And the hotel?

# %%
server.fail("commits", faults.html_page())
try:
    download_github_code(notes, into)
except GitHubError as error:
    print(f"{type(error).__name__}: {error}")

# %% [markdown]
# `partial=True` says "list what you could not have". Without it the first run would have been an error with the same reasons.
# Either way a part is not taken for the whole.
#
# ## Measure: the scorecard
#
# The questions about Heron's code from lab 03, asked of the index that came over the network. They are about Heron, whichever
# GitHub you asked; on this machine, this run downloads nothing.

# %%
from dataclasses import replace

server.heal()  # forgets the faults above
print("downloaded:", bring(heron, heron.new).fetched)
brought = Path(folder.name, heron.repo)
files = [path for path in (brought / "code").rglob("*") if path.is_file()]
other = [path for path in files if blob_sha(path.read_bytes()) != named[path.relative_to(brought).as_posix()]]
print(len(files) - len(other), "files with code are as listed, one is a link:", *[path.name for path in other])


def ask_code(question):
    found = search(conn, lab.encode(question), Query(question, partitions="code_pipelines", repo=heron.repo))
    return [replace(one, document_name=one.document_name.removeprefix("code/")) for one in found]


with lab.connect() as conn:
    measured = lab.measure_retrieval(ask_code)
lab.score(recall_at_5=measured.recall, mrr=measured.mrr, note="code from GitHub, hybrid")

# %% [markdown]
# A download adds no quality, it must only lose none: by its hash, every file is the one that was listed, and where a link was, there
# is the file that it leads to. What is new is that each result can be looked up.
#
# ## Recap
#
# - Resolve the ref first, and ask for the commit from then on. A branch moves while you read it.
# - A hash that is listed before the download proves what came. No hash tells of a file that was never listed: look for `truncated`.
# - `retry-after` before `x-ratelimit-reset`, the server's clock before your own, and a 403 that is no limit is not asked again.
# - What could not be had is an error or a list with reasons, never a gap.
# - By hash, what you have costs nothing, and what is gone upstream leaves the index.
#
# ## Three questions to test yourself
#
# 1. A run ends with "0 files, success". Name three causes that this lab's download would have told apart.
# 2. Why is a truncated answer thrown away, although its entries are right?
# 3. Your clock is ten minutes behind GitHub's, and you compare `x-ratelimit-reset` with it. What happens?
#
# <details><summary>Answers</summary>
#
# 1. A ref that is not there (404 or 422), a refusal that was taken for an answer (403, 429), endings or a path that no file has;
#    and an empty repository (409).
# 2. It does not say what it lacks. To complete it you would have to list every folder anyway.
# 3. You wait ten minutes longer than you need to. Were it ahead, you would ask again ten minutes too early, be refused, and at
#    worst be banned.
#
# </details>
#
# ## Stretch, and what comes next
#
# In a terminal, `course github-server --limit 3 --window 30` starts a server that is short of requests. Bring its repository into
# your index with `course ingest-repo`, as it says, and watch both windows. Then end one of them half-way with Ctrl-C, and go on.
#
# Next is [lab 10](../labs/10_kubeflow_pipeline.ipynb), in which the steps of this course become a pipeline that runs without you.
