# %% [markdown]
# # 08 · The retrieval API
#
# You will give the search an address: an API that checks what it is asked, answers many clients at once, says when it cannot,
# and comes back by itself when its database does.
#
# | You will be able to | Builds | Time | Needs |
# |---|---|---|---|
# | tell waiting from working, and keep an event loop free · refuse a bad request politely and leak nothing · write a readiness check that tells the truth in time | `service/` | about {minutes} min | Python functions; lab 07 for the search |

# %% tags=["parameters"]
data_dir = "data/documents"
database_url = ""
embedding_model = ""

# %%
from course_lib.teaching import start  # "No module named 'course_lib'"? Open the lab with: make lab

lab = start("08", data_dir=data_dir, database_url=database_url, embedding_model=embedding_model)
lab.show.pipeline("API")

# %% [markdown]
# ## An API in ten lines
#
# So far the search lives in a notebook. Other programs, and people, need an address to ask: a
# [REST API](../labs/GLOSSARY.md#rest-api). First the [index](../labs/GLOSSARY.md#index) that it will answer from.

# %% tags=["nbval-check-output"]
from course_lib.indexing import ingest

with lab.connect(autocommit=True) as conn:
    report = ingest(lab.data_dir, conn=conn, embedder=lab.embedder)
print(report.documents, "documents,", report.chunks, "chunks")

# %% [markdown]
# FastAPI turns a function into an address. `async def` is how most examples write it, so this one does, too: encode, connect,
# search, return. The model has no [cache](../labs/GLOSSARY.md#cache) here; strangers' questions come without one.
#
# `lab.serve` runs a real web server (uvicorn) for it, on a free port of this machine, and gives an HTTP client that knows the
# address. What you send travels over a socket.

# %% tags=["nbval-check-output"]
from fastapi import FastAPI

from course_lib.embedder import EmbeddingClient
from course_lib.retriever import Query, search

model = EmbeddingClient(embedding_model or None)
first = FastAPI()


@first.post("/search")
async def ask(body: dict):
    [vector] = model.encode([body["query"]])
    with lab.connect() as conn:
        return search(conn, vector, Query(body["query"], top_k=body.get("top_k", 5)))


api = lab.serve(first)
answer = api.post("/search", json={"query": "How is drift measured?", "top_k": 3})
print(answer.status_code, answer.headers["content-type"])
for found in answer.json():
    print(found["document_name"], found["name"])

# %% [markdown]
# It works, and many services stop here. Now four callers who make mistakes.
#
# > **Predict.** A query that is a number, no query at all, −1 results, and a typo in `top_k`. Which
# > status does each of them get? 4xx says *you* were wrong, 5xx says *we* were.

# %% tags=["nbval-check-output"]
mistakes = [{"query": 7}, {"top_k": 3}, {"query": "drift", "top_k": -1}, {"query": "drift", "topk": 1}]
for body in mistakes:
    answer = api.post("/search", json=body)
    said = f"{len(answer.json())} results" if answer.is_success else answer.text
    print(answer.status_code, said, "to", body)

# %% [markdown]
# Three times the service takes the blame and explains nothing. The typo is worse: one result was wanted, five came, and no error
# says so. A common cure catches every exception and returns its text.
#
# > **Predict.** The database is away. Which status comes, and what does a stranger learn?

# %%
import psycopg

cured = FastAPI()


@cured.post("/search")
async def ask_cured(body: dict):
    try:
        psycopg.connect("postgresql://course@127.0.0.1:1/payroll")  # there is no database
    except Exception as error:
        return {"error": str(error)}


with lab.serve(cured) as other:
    answer = other.post("/search", json={"query": "drift"})
print(answer.status_code, answer.json()["error"])

# %% [markdown]
# The address of the database, and a 200, which programs read as success. So we want an API that
#
# 1. serves many clients at once,
# 2. refuses what makes no sense and says why,
# 3. keeps its insides to itself,
# 4. knows whether it can work at all.
#
# ## By hand: four requests
#
# Each request waits 0.2 s for the database and does nothing else. Four arrive together.
#
# | the service … | and so the last answer comes after |
# |---|---|
# | handles one after the other | 4 · 0.2 = 0.8 s |
# | gives each a waiter of its own | 0.2 s |
# | shares two [connections](../labs/GLOSSARY.md#database-connection) | two rounds, 0.4 s |
#
# A *pool* keeps a few connections open and lends them. It is opened by the app's *lifespan*, the function around all that the app
# does.
#
# > **Predict.** Below are three routes. Which line of the table is each of them, and how many naps are taken at a time?

# %%
from contextlib import asynccontextmanager

from pgvector.psycopg import register_vector_async
from psycopg_pool import AsyncConnectionPool

NAP = "SELECT statement_timestamp(), clock_timestamp() FROM pg_sleep(0.2)"  # its begin, its end


def pool_of(url, most=4):
    check = AsyncConnectionPool.check_connection  # a dead connection is replaced, not handed out
    ours = {"autocommit": True, "connect_timeout": 5}
    return AsyncConnectionPool(
        url, min_size=1, max_size=most, timeout=1, reconnect_timeout=5,
        open=False, check=check, configure=register_vector_async, kwargs=ours,
    )


@asynccontextmanager
async def two_connections(app):
    async with pool_of(lab.database_url, most=2) as app.state.pool:
        yield  # the app serves while we wait here


# %%
napping = FastAPI(lifespan=two_connections)


@napping.get("/async-def")
async def nap_in_the_loop():
    with lab.connect() as conn:
        return conn.execute(NAP).fetchone()


@napping.get("/def")
def nap_in_a_thread():
    with lab.connect() as conn:
        return conn.execute(NAP).fetchone()


@napping.get("/pool")
async def nap_with_the_pool():
    async with napping.state.pool.connection() as conn:
        return await (await conn.execute(NAP)).fetchone()


# %%
from concurrent.futures import ThreadPoolExecutor
from time import perf_counter, sleep


def four_at_once(path):
    begun = perf_counter()
    with ThreadPoolExecutor(4) as callers:
        naps = [answer.json() for answer in callers.map(other.get, [path] * 4)]
    at_a_time = max(sum(one[0] <= begin < one[1] for one in naps) for begin, _ in naps)
    print(f"{path:11} at most {at_a_time} at a time")
    return perf_counter() - begun


with lab.serve(napping) as other:
    [other.get(path) for path in ("/def", "/pool")]  # opens what is opened once
    seconds = {path: four_at_once(path) for path in ("/async-def", "/def", "/pool")}
lab.show.bars(seconds, "Four requests at once, until the last answer", "s")

# %% [markdown]
# The *event loop* is one thread that serves all requests in turn, and it turns to the next one only at an `await`. `async def` with
# a blocking call inside never reaches one: one nap at a time, in spite of the modern spelling.
#
# ![Two time lines with three requests. Above, the first request encodes on the event loop, and the two others wait until it is done. Below, it encodes in a thread, and the event loop answers the two others at once.](../labs/figures/event_loop.svg)
#
# A plain `def` runs in a thread, 40 at most, each with a connection of its own. With a pool no request logs in, and there are never
# more connections than you allow: two naps at a time here. We take the pool. What a bar has above the table's number is work, such
# as logging in.

# %% [markdown]
# ## Exercise 8.1: what may be asked
#
# A request is checked before anything is done with it. [pydantic](https://docs.pydantic.dev) does the checking, and you write down
# what is allowed. On another subject:
#
# ```python
# class Order(BaseModel):
#     model_config = ConfigDict(extra="forbid", strict=True)   # no unknown names; "2" is not a number
#     pizza: str = Field(min_length=1)                         # has to be there
#     pieces: int = Field(default=8, gt=0, lt=13)              # gt, ge, lt, le: >, >=, <, <=
#     extras: list[str] | None = None                          # may be missing
#
#     @field_validator("pizza")                                # what a limit cannot say
#     @classmethod
#     def is_on_the_menu(cls, pizza):
#         if pizza not in MENU:
#             raise ValueError("is not on the menu")
#         return pizza
# ```
#
# `not_blank(text)` is there already: it raises a `ValueError` for white space alone, and returns any other text. So is `Filter`,
# the type of a name.

# %% exercise="8.1"
from course_lib.service.models import request_model

# %%
lab.check("8.1", request_model)

# %%
lab.hint("8.1")  # run again for the next hint

# %% [markdown] tags=["solution"]
# The upper limits matter most. Without `le=50` one caller may ask for the whole index, and without `max_length` send megabytes, of
# which the model reads 256 word pieces. An empty list of partitions is refused, because it may mean "all" as well as "none". A
# `description` changes nothing in the checking: FastAPI writes it into the API's own description, for those who will use it.

# %% tags=["nbval-check-output"]
from pydantic import ValidationError

SearchRequest = lab.use("request_model")()
for body in mistakes:
    try:
        print("accepted", SearchRequest.model_validate(body))
    except ValidationError as error:
        print(*[f"{'.'.join(one['loc'])}: {one['msg']}" for one in error.errors()])

# %% [markdown]
# ## Exercise 8.2: what is answered
#
# Lab 07's `search` returns records (`SearchResult`), whose fields are named as our tables need it. What goes out is a promise:
# programs will rely on each field. So the answer is written out, name by name.

# %% exercise="8.2"
from course_lib.service.models import search_response

# %%
lab.check("8.2", search_response)

# %%
lab.hint("8.2")  # run again for the next hint

# %% [markdown] tags=["solution"]
# Handing on `asdict(one)` is shorter, and leaks: a column that is added next year, a tenant or an internal note, goes out on the
# day it is added. Where names are written out, it stays inside until its name is added here. And the order matters: with
# `**one.metadata` at the end, a stranger's public chunk could call itself part of a repository of yours.

# %% [markdown]
# ## The endpoint
#
# Encoding is work, not waiting: no `await` makes it shorter. It goes to one thread that owns the model, so the loop stays free.
# Only then is a connection borrowed, for as long as the search takes. `new_app` puts an app with a pool around it.

# %%
import asyncio

from course_lib.retriever import search_async

search_response = lab.use("search_response")
models_thread = ThreadPoolExecutor(max_workers=1)


async def encode(texts):
    return await asyncio.get_running_loop().run_in_executor(models_thread, model.encode, texts)


async def answer_to(asked, pool):
    begun = perf_counter()
    [vector] = await encode([asked.query])
    encoded = perf_counter()
    query = Query(asked.query, top_k=asked.top_k, threshold=asked.similarity_threshold, partitions=asked.partitions)
    async with pool.connection() as conn, conn.transaction():
        results = await search_async(conn, vector, query)
    return search_response(asked.query, results, encoded - begun, perf_counter() - encoded)


# %%
def new_app(url):
    @asynccontextmanager
    async def lifespan(app):
        async with pool_of(url) as app.state.pool:
            yield

    app = FastAPI(lifespan=lifespan)

    @app.post("/search")
    async def ask(asked: SearchRequest):
        return await answer_to(asked, app.state.pool)

    return app


# %%
from types import SimpleNamespace


def shown(results):
    return [SimpleNamespace(**one, chunk_index=one["metadata"]["chunk_index"]) for one in results]


with lab.serve(new_app(lab.database_url)) as other:
    answer = other.post("/search", json={"query": "How is drift measured?", "top_k": 3}).json()
    refused = other.post("/search", json={"query": "drift", "password": "tulip-42"})
print(refused.status_code, refused.json())
lab.show.ranking(shown(answer["results"]), answer["query"])

# %% [markdown]
# A good answer, and a 422: your model refuses the unknown name. But look closely at the refusal, which is FastAPI's own. It
# repeats what was sent, and answers end up in logs, tickets and screenshots.
#
# ## Exercise 8.3: a polite refusal
#
# There is a standard form for errors, the *problem document* of [RFC 9457](https://www.rfc-editor.org/rfc/rfc9457), with `type`,
# `title`, `status`, `detail`, and whatever else helps. Make one of pydantic's errors.

# %% exercise="8.3"
from course_lib.service.problems import validation_problem

# %%
lab.check("8.3", validation_problem)

# %%
lab.hint("8.3")  # run again for the next hint

# %% [markdown] tags=["solution"]
# `input`, `ctx` and `url` stay inside. A person reads `detail`; a program, say a form that marks its fields, reads `errors`. The
# title differs by a word between Python's versions: programs should compare the status.

# %% [markdown]
# Where the database is away, the answer is 503 with `Retry-After`: not now, come back. Everything unforeseen is a 500 without a
# reason; the reason belongs in the log.

# %%
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse

from course_lib.errors import DatabaseError

validation_problem = lab.use("validation_problem")
PROBLEM, AWAY = "application/problem+json", "the database is away; try again soon"


def unavailable(request, error):
    body = {"type": "about:blank", "title": "Service Unavailable", "status": 503, "detail": AWAY}
    return JSONResponse(body, 503, {"Retry-After": "2"}, PROBLEM)


def add_problems(app):
    @app.exception_handler(RequestValidationError)
    def invalid(request, error):
        return JSONResponse(validation_problem(error.errors()), 422, None, PROBLEM)

    for kind in (psycopg.OperationalError, DatabaseError):  # a pool's timeout is the first, too
        app.add_exception_handler(kind, unavailable)
    return app


# %% tags=["nbval-check-output"]
with lab.serve(add_problems(new_app(lab.database_url))) as other:
    for body in [*mistakes, {"query": "drift", "password": "tulip-42"}]:
        refused = other.post("/search", json=body)
        print(refused.status_code, refused.json()["detail"])

# %% [markdown]
# Every mistake now has a field and a reason, and the password is gone.
#
# ## Is it ready?
#
# A cluster asks a service two questions. *Are you alive?* No answer: it is restarted. *Are you
# [ready](../labs/GLOSSARY.md#readiness)?* No: it gets no requests for a while.
#
# > **Predict.** Suppose that "alive" looks at the database. What happens to all copies of the service when the database is away
# > for a minute?
#
# <details><summary>What happens</summary>
#
# All of them are restarted, again and again, and load their models anew, which mends nothing.
#
# </details>
#
# So `/health` looks at nothing but itself, and `/ready` at what a request needs.

# %% [markdown]
# ## Exercise 8.4: tell what is missing
#
# The trap is a part that neither works nor fails but hangs. A readiness check that waits for it has no answer either.
# `asyncio.wait_for(something, seconds)` gives up with a `TimeoutError`. Here are parts to try `readiness` with:
# `works` returns `"ready"`, `loads` returns another text, `raises` raises an exception that knows a password, and `hangs` sleeps for
# a minute.

# %%
from course_lib.teaching.lab.parts import hangs, loads, meeting, raises, works  # noqa: F401

# %% exercise="8.4"
from course_lib.service.probes import readiness

# %%
lab.check("8.4", readiness)

# %%
lab.hint("8.4")  # run again for the next hint

# %% [markdown] tags=["solution"]
# `wait_for` cancels what it gives up on, so nothing is left at work. One after the other would be easier to write, and three parts
# that hang would take three times the timeout: longer, perhaps, than the cluster's own. What a check *returns* was written for those
# who ask; an exception's text was not.

# %%
readiness = lab.use("readiness")


def add_probes(app):
    async def database():
        async with app.state.pool.connection() as conn:
            await conn.execute("SELECT 1")
        return "ready"

    async def model_answers():
        await encode(["ready?"])
        return "ready"

    @app.get("/health")
    async def health():
        return {"status": "ok"}

    @app.get("/ready")
    async def ready():
        status, body = await readiness({"database": database, "model": model_answers})
        return JSONResponse(body, status)

    return app


# %% [markdown]
# ## Pull the plug
#
# To stop a database in earnest you need one of your own. Here is a second PostgreSQL in a temporary folder, with the same documents.

# %% tags=["nbval-check-output"]
from course_lib.store import connect
from course_lib.teaching.lab.serving import Watch, until_ready
from course_lib.teaching.lab.stoppable import StoppableDatabase

database = StoppableDatabase()
with connect(database.url, autocommit=True) as conn:
    report = ingest(lab.data_dir, conn=conn, embedder=lab.embedder)
print(report.inserted, "chunks in a database that we may stop")

# %% [markdown]
# Three requests are sent over and over, while the database is stopped, left alone for a while and started again. The service is
# not touched.
#
# > **Predict.** Draw three strips: `/health`, `/ready`, `/search`. Where does each change its colour?

# %%
with lab.serve(add_probes(add_problems(new_app(database.url)))) as other:
    until_ready(other)
    with Watch(other, "GET /health", "GET /ready", "POST /search", json={"query": "drift"}) as watch:
        sleep(1)
        watch.mark("stop")
        database.stop()
        sleep(2)
        away = other.get("/ready"), other.post("/search", json={"query": "drift"})
        watch.mark("start")
        database.start()
        until_ready(other)
        sleep(1)
database.remove()
for answer in away:
    print(answer.status_code, answer.json(), "Retry-After:", answer.headers.get("retry-after"))
lab.show.timeline(watch.seen, watch.marks, "A database goes away and comes back")

# %% [markdown]
# `/health` answers 200 throughout. `/ready` says 503 while the database is away, and a refused search says when to come back. Then
# the pool finds the database by itself, and all three answer 200 again without a restart: it tries to connect with growing pauses
# (a [retry](../labs/GLOSSARY.md#retry)), and after `reconnect_timeout` seconds in vain the next request makes it begin anew.

# %% [markdown]
# ## Break it: a database that says nothing
#
# A stopped server refuses at once. With a cable that was pulled, or a firewall, no answer ever comes. Below is such an address: it
# takes the call and says nothing. `/plain` asks it without a limit, `/ready` through your function.
#
# > **Predict.** The caller hangs up after two seconds. What does each of the two get?

# %% tags=["nbval-check-output"]
import socket

import httpx

silent = socket.create_server(("127.0.0.1", 0))  # takes calls and says nothing
mute = FastAPI()


async def silent_database():
    port = silent.getsockname()[1]
    await psycopg.AsyncConnection.connect(f"host=127.0.0.1 port={port}")
    return "ready"


@mute.get("/plain")
async def plain():
    await silent_database()


@mute.get("/ready")
async def ready():
    status, body = await readiness({"database": silent_database})
    return JSONResponse(body, status)


with lab.serve(mute) as other:
    for path in ("/plain", "/ready"):
        try:
            print(path, other.get(path, timeout=2).json())
        except httpx.ReadTimeout:
            print(path, "no answer")
    silent.close()

# %% [markdown]
# To a cluster, no answer and "not ready" may come to the same. To the engineer who is called at night they do not: one of them names
# the database.
#
# ## Measure: a crowd
#
# An average hides the slow answers, so one looks at [p50 and p95](../labs/GLOSSARY.md#p50-and-p95): half of the answers are faster
# than p50, and 19 of 20 faster than p95. Sixteen clients, each with its next question as soon as the last is answered, ask three
# services: the ten lines, yours, and the library's.
#
# The library's has as many connections as yours and differs in one thing that matters here: questions that wait are encoded
# together, as one [batch](../labs/GLOSSARY.md#batch).
#
# > **Predict.** Which gains more on the ten lines: the pool and a free loop, or the batches on top of them?

# %%
from course_lib.service import ServiceConfig, create_app
from course_lib.teaching.lab.serving import crowd

yours = lab.serve(add_probes(add_problems(new_app(lab.database_url))))
whole = create_app(ServiceConfig(database_url=lab.database_url, pool_size=4), embedder=model)
library = lab.serve(whole)
until_ready(library)

bodies = [{"query": each.question} for each in lab.questions()] * 2
services = {"ten lines": api, "pool, one at a time": yours, "pool, batches": library}
times = {name: crowd(service, bodies) for name, service in services.items()}
lab.show.latencies(times, f"{len(bodies)} questions from 16 clients")

# %%
import numpy as np

encoder = whole.state.context.encoder
print(f"{encoder.texts} texts went through the model in {encoder.batches} batches")
answers = [library.post("/search", json=bodies[0]) for _ in range(20)]
names = {"encode": "embedding_time_ms", "search": "search_time_ms"}
parts = {part: np.median([one.json()[name] for one in answers]) for part, name in names.items()}
whole_time = np.median([one.elapsed.total_seconds() * 1000 for one in answers])
parts["HTTP and the rest"] = max(0, whole_time - sum(parts.values()))
lab.show.bars(parts, "Where one request's time goes, with no other client", "ms")

# %% [markdown]
# The ten lines do one thing after the other. Yours overlaps: while the model encodes one question, PostgreSQL searches for others,
# and no request logs in. In the library's service no question waits for company, but those that came while the model was busy go
# through it together: fewer batches than texts. Which step was the larger one on your machine? Compare the medians.
#
# What is left is work, on as many cores as you have. `await` helps with waiting, never with work.

# %% [markdown]
# ## The whole service
#
# `create_app()` is what you have built, with the parts that every service needs: keys and tenants, a
# [rate limit](../labs/GLOSSARY.md#rate-limit), metrics, a log, and a [role](../labs/GLOSSARY.md#role) that can only read. Its
# `/search`, its refusals and its `/ready` call the four functions of this lab. Read `course_lib/service/routes.py`: you will know
# your way around.
#
# For people there is a page: `course serve` starts the service on your machine, and the page is at `http://127.0.0.1:8000/`. Below
# are its headings for a question, after the list of addresses. Then three requests at the limits that the service itself describes.

# %% tags=["nbval-check-output"]
import re

described = library.get("/openapi.json").json()
for path, methods in described["paths"].items():
    print(*[method.upper() for method in methods], path)
page = library.get("/", params={"q": "How do I undo a bad release quickly?", "top_k": 3}).text
for heading in re.findall(r"<h[12][^>]*>(.*?)</h[12]>", page):
    print("on the page:", re.sub("<.*?>", "", heading))
fields = described["components"]["schemas"]["SearchRequest"]["properties"]
least, most = (int(fields["top_k"][name]) for name in ("minimum", "maximum"))
print(f"top_k: {fields['top_k']['type']}, from {least} to {most}")
for top_k in (least - 1, most, "five"):
    print(top_k, library.post("/search", json={"query": "drift", "top_k": top_k}).status_code)

# %% [markdown]
# ## In the field: the description
#
# The limits of `top_k` come from `/openapi.json`, which FastAPI wrote from the request model; the service keeps to them.
# [OpenAPI](https://www.openapis.org) is the format that other tools read: they write clients in any language, and
# [Schemathesis](https://schemathesis.io) asks thousands of questions like the last three (`schemathesis run URL/openapi.json`). It
# finds answers of 500, and answers that are not as described. It does not find what no description says: that a refusal repeats a
# password, or that `/ready` says yes too early.
#
# ## Measure: the scorecard
#
# All questions by meaning and by words ([hybrid](../labs/GLOSSARY.md#hybrid-retrieval)), without the API and with it.

# %%
with lab.connect() as conn:
    direct = lab.measure_retrieval(lambda asked: search(conn, lab.encode(asked), Query(asked)))
found = lab.measure_retrieval(lambda asked: shown(library.post("/search", json={"query": asked}).json()["results"]))
print(f"recall@5 {direct.recall:.2f} and MRR {direct.mrr:.2f}; over HTTP {found.recall:.2f} and {found.mrr:.2f}")
lab.score(recall_at_5=found.recall, mrr=found.mrr, note="hybrid, over HTTP")

# %% [markdown]
# The quality is the search's own: an API adds none and must take none away.
#
# ## Recap
#
# - An event loop serves all requests as long as none blocks it. Waiting is awaited; work goes to a thread, and in batches.
# - A pool lends few connections to many requests, and finds its database again.
# - A request is checked first: limits, types, names. A refusal says field and reason, in a standard form, and repeats nothing.
# - Alive and ready are two questions. Readiness asks all parts at once, names what is missing, and never hangs.
# - Look at p50 and p95 under a crowd. One client shows neither queues nor batches.

# %% [markdown]
# ## Three questions to test yourself
#
# 1. A colleague makes `search_response` an `async def`, "so that it is faster". What changes?
# 2. Why does `/search` borrow its connection after the encoding and not before?
# 3. The database is away for ten minutes. What should `/health` say, what `/ready`, and what does the cluster do?
#
# <details><summary>Answers</summary>
#
# 1. Every caller has to write `await` now, and nothing is gained: it neither waits nor takes long, and without an `await` inside
#    the loop serves no other request in between.
# 2. A connection that waits for the model does not search; the four of the pool would be held by four questions that are encoded
#    one after the other.
# 3. `/health` 200 and `/ready` 503 throughout. The cluster restarts nothing and sends no requests, until `/ready` is 200 again.
#
# </details>
#
# ## Stretch, and what comes next
#
# Let a client hang up in the middle of a search (`timeout=0.01`). Does your service notice? Should the query go on? Look at what
# `course_lib/service/encoding.py` does with texts that no request waits for any more.
#
# Next is [lab 09](../labs/09_code_from_github.ipynb), where the documents come from GitHub: rate limits again, from the other side.
