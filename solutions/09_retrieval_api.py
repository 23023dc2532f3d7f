# %% [markdown]
# # 09 · The retrieval API
#
# You will make the search available over HTTP. Your API checks each request, answers many clients at once, says when it cannot
# answer, and works again without a restart when its database is back.
#
# | You will be able to | Builds | Time | Needs |
# |---|---|---|---|
# | distinguish waiting from computing, and keep an event loop free · refuse a bad request with a reason, and leak nothing · write a readiness check that always answers in time | `service/` | about {minutes} min | Python functions; lab 07 for the search |

# %% tags=["parameters"]
data_dir = "data/documents"
database_url = ""
embedding_model = ""

# %%
from course_lib.teaching import start  # "No module named 'course_lib'"? Open the lab with: make lab

lab = start("09", data_dir=data_dir, database_url=database_url, embedding_model=embedding_model)
lab.show.pipeline("API")

# %% [markdown]
# ## An API in ten lines
#
# So far, the search runs only in a notebook. Other programs and people need an address to which they can send questions: a
# [REST API](../labs/GLOSSARY.md#rest-api). First we fill the [index](../labs/GLOSSARY.md#index) that the API will search.

# %% tags=["nbval-check-output"]
from course_lib.indexing import ingest

with lab.connect(autocommit=True) as conn:
    report = ingest(lab.data_dir, conn=conn, embedder=lab.embedder)
print(report.documents, "documents,", report.chunks, "chunks")

# %% [markdown]
# FastAPI makes a function available at an address. Most examples use `async def`, and so does this one. The function encodes the
# question, connects to the database, searches and returns the results. The model has no
# [cache](../labs/GLOSSARY.md#cache) here, because the questions of real users are usually new.
#
# `lab.serve` starts a real web server (uvicorn) for it on a free port of this machine, and returns an HTTP client for this server.
# Each request goes through a network connection, as it would between two machines.

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
# It works, and many services are not better than this. Now four clients make mistakes.
#
# > **Predict.** The query is a number; there is no query; `top_k` is −1; `top_k` is misspelled. Which status does each request
# > get? 4xx means that the client made a mistake, 5xx means that the server did.

# %% tags=["nbval-check-output"]
mistakes = [{"query": 7}, {"top_k": 3}, {"query": "drift", "top_k": -1}, {"query": "drift", "topk": 1}]
for body in mistakes:
    answer = api.post("/search", json=body)
    said = f"{len(answer.json())} results" if answer.is_success else answer.text
    print(answer.status_code, said, "to", body)

# %% [markdown]
# For three of the mistakes, the service reports an error of its own and gives no reason. The typo is worse: the client wanted one
# result, got five, and there was no error. A common repair is to catch every exception and return its text.
#
# > **Predict.** The database is not running. Which status does the client get, and what does the answer tell a stranger?

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

# %% tags=["claim"]
assert "127.0.0.1" in answer.json()["error"], "The answer contains the address of the database"
assert answer.status_code == 200, "Its status is 200, which programs understand as success"

# %% [markdown]
# The answer contains the address of the database. Its status is 200, which programs understand as success. We want an API that
#
# 1. serves many clients at once,
# 2. refuses invalid requests and says why,
# 3. tells nothing about its own internals,
# 4. knows whether it can answer requests at all.
#
# ## By hand: four requests
#
# Each request waits 0.2 s for the database and does nothing else. Four requests arrive at the same time.
#
# | the service … | the last answer comes after |
# |---|---|
# | handles one request after the other | 4 · 0.2 = 0.8 s |
# | uses one thread for each request | 0.2 s |
# | has two [connections](../labs/GLOSSARY.md#database-connection) for all requests | two rounds, 0.4 s |
#
# A *pool* keeps a few connections open and lends them to requests. The app's *lifespan* opens the pool: a function whose first part
# runs when the app starts, and whose last part runs when it stops.
#
# > **Predict.** Below are three routes. Which line of the table describes each of them? How many requests wait in the database at
# > the same time?

# %%
from contextlib import asynccontextmanager

from pgvector.psycopg import register_vector_async
from psycopg_pool import AsyncConnectionPool

NAP = "SELECT statement_timestamp(), clock_timestamp() FROM pg_sleep(0.2)"  # returns when it began and ended


def pool_of(url, most=4):
    check = AsyncConnectionPool.check_connection  # a broken connection is replaced before it is lent
    ours = {"autocommit": True, "connect_timeout": 5}
    return AsyncConnectionPool(
        url, min_size=1, max_size=most, timeout=1, reconnect_timeout=5,
        open=False, check=check, configure=register_vector_async, kwargs=ours,
    )


@asynccontextmanager
async def two_connections(app):
    async with pool_of(lab.database_url, most=2) as app.state.pool:
        yield  # the app serves requests until this line continues


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


at_a_time = {}


def four_at_once(path):
    begun = perf_counter()
    with ThreadPoolExecutor(4) as callers:
        naps = [answer.json() for answer in callers.map(other.get, [path] * 4)]
    at_a_time[path] = max(sum(one[0] <= begin < one[1] for one in naps) for begin, _ in naps)
    print(f"{path:11} at most {at_a_time[path]} at a time")
    return perf_counter() - begun


with lab.serve(napping) as other:
    [other.get(path) for path in ("/def", "/pool")]  # the first request opens threads and connections
    seconds = {path: four_at_once(path) for path in ("/async-def", "/def", "/pool")}
lab.show.bars(seconds, "Four requests at once, until the last answer", "s")

# %% tags=["claim"]
assert at_a_time["/async-def"] == 1, "only one request at a time waits in the database"
assert at_a_time["/def"] > 1, "FastAPI runs a plain def in a thread"
assert at_a_time["/pool"] == 2, "there are never more connections than you allow: at most two at a time here"

# %% [markdown]
# The *event loop* is one thread that serves all requests. It switches to another request only at an `await`. An `async def` with a
# blocking call has no `await` there, so only one request at a time waits in the database, although the function is `async`.
#
# ![Two time lines with three requests. Above, the first request encodes on the event loop, and the two others wait until it is done. Below, it encodes in a thread, and the event loop answers the two others at once.](../labs/figures/event_loop.svg)
#
# FastAPI runs a plain `def` in a thread, with at most 40 threads. Each request opens a connection of its own. With a pool, a
# request finds a connection already open, and there are never more connections than you allow: at most two at a time here. We use
# the pool. Each bar is longer than the table says, because the table leaves out the work, such as opening a connection.

# %% [markdown]
# ## Exercise 9.1: what may be asked
#
# The service checks each request before it uses it. [pydantic](https://docs.pydantic.dev) does the checking, and you write down
# what is allowed. Here is an example about another subject:
#
# ```python
# class Order(BaseModel):
#     model_config = ConfigDict(extra="forbid", strict=True)   # no unknown fields; "2" is not a number
#     pizza: str = Field(min_length=1)                         # must be present
#     pieces: int = Field(default=8, gt=0, lt=13)              # gt, ge, lt, le mean >, >=, <, <=
#     extras: list[str] | None = None                          # may be missing
#
#     @field_validator("pizza")                                # a rule that is not a limit
#     @classmethod
#     def is_on_the_menu(cls, pizza):
#         if pizza not in MENU:
#             raise ValueError("is not on the menu")
#         return pizza
# ```
#
# Two things are given. `not_blank(text)` raises a `ValueError` if the text is only white space, and returns any other text.
# `Filter` is the type of a name.

# %% exercise="9.1"
from course_lib.service.models import request_model

# %%
lab.check("9.1", request_model)

# %%
lab.hint("9.1")  # run again for the next hint

# %% [markdown] tags=["solution"]
# The upper limits matter most. Without `le=50`, a client may ask for the whole index. Without `max_length`, it may send megabytes,
# although the model reads only 256 word pieces. An empty list of partitions is refused, because it could mean "all" or "none". A
# `description` does not change the checks. FastAPI copies it into the description of the API, for the people who use it.

# %% tags=["nbval-check-output"]
from pydantic import ValidationError

SearchRequest = lab.use("request_model")()
for body in mistakes:
    try:
        print("accepted", SearchRequest.model_validate(body))
    except ValidationError as error:
        print(*[f"{'.'.join(one['loc'])}: {one['msg']}" for one in error.errors()])

# %% [markdown]
# ## Exercise 9.2: what is answered
#
# Lab 07's `search` returns records (`SearchResult`) with the fields of our tables. The answer of an API is a promise, because other
# programs will rely on each field. So we list the fields of the answer one by one. Some of the values were written by the sender of a
# chunk, who may be a stranger. You decide which of them you believe.

# %% exercise="9.2"
from course_lib.service.models import search_response

# %%
lab.check("9.2", search_response)

# %%
lab.hint("9.2")  # run again for the next hint

# %% [markdown] tags=["solution"]
# `asdict(one)` would be shorter, but it leaks. If somebody adds a column next year, such as a tenant or an internal note, its values
# are sent to all clients from that day on. With a list of names, a new column is sent only after its name is added here. The order
# matters, too: with `**one.metadata` at the end, a stranger's public chunk could say that it is part of your repository. And the
# two allowed beginnings are a list of what is good. A list of bad ones, such as `javascript:`, is never complete.

# %% [markdown]
# ## The endpoint
#
# Encoding is computing, not waiting, so `await` does not make it faster. A separate thread runs the model, and the loop stays
# free. After the encoding, the function borrows a connection, and keeps it only while it searches. `new_app` makes an app with a
# pool.

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

# %% tags=["claim"]
assert len(answer["results"]) == 3 and refused.status_code == 422 and "password" in refused.text, "the bad request gets a 422: your model refuses the unknown field"
assert "tulip-42" in refused.text, "It repeats what the client sent, here a password"

# %% [markdown]
# The search gives a good answer, and the bad request gets a 422: your model refuses the unknown field. But look at the text of
# this refusal, which FastAPI wrote. It repeats what the client sent, here a password. Answers are often copied to logs, tickets and
# screenshots.
#
# ## Exercise 9.3: a refusal that helps
#
# There is a standard form for errors: the *problem document* of [RFC 9457](https://www.rfc-editor.org/rfc/rfc9457). It has `type`,
# `title`, `status`, `detail`, and any further fields that help. Make one from pydantic's errors. Pydantic may report a single mistake
# many times. You decide which error of each field the client gets.

# %% exercise="9.3"
from course_lib.service.problems import validation_problem

# %%
lab.check("9.3", validation_problem)

# %%
lab.hint("9.3")  # run again for the next hint

# %% [markdown] tags=["solution"]
# `input`, `ctx` and `url` are not sent. A person reads `detail`. A program reads `errors`, for example to mark the wrong fields of a
# form. If a value may be a text or a list, and a client sends a list with a number in it, pydantic reports both "not a text" and
# "item 1 is not a text". The second is about the client's mistake, and it has the longer `loc`. A list of 256 wrong items would give
# 256 errors with the same cause; now it gives one. The title depends on the version of Python, so programs should compare the
# status.

# %% [markdown]
# If the database is not available, the answer is 503 with `Retry-After`: the client should try again later. Any other error is a
# 500 without a reason. Its reason belongs in the log.

# %%
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse

from course_lib.errors import DatabaseError

validation_problem = lab.use("validation_problem")
PROBLEM, AWAY = "application/problem+json", "the database is not available; try again soon"


def unavailable(request, error):
    body = {"type": "about:blank", "title": "Service Unavailable", "status": 503, "detail": AWAY}
    return JSONResponse(body, 503, {"Retry-After": "2"}, PROBLEM)


def add_problems(app):
    @app.exception_handler(RequestValidationError)
    def invalid(request, error):
        return JSONResponse(validation_problem(error.errors()), 422, None, PROBLEM)

    for kind in (psycopg.OperationalError, DatabaseError):  # a timeout of the pool is an OperationalError, too
        app.add_exception_handler(kind, unavailable)
    return app


# %% tags=["nbval-check-output"]
with lab.serve(add_problems(new_app(lab.database_url))) as other:
    for body in [*mistakes, {"query": "drift", "password": "tulip-42"}]:
        refused = other.post("/search", json=body)
        print(refused.status_code, refused.json()["detail"])

# %% [markdown]
# Every refusal now names a field and a reason, and none of them repeats the password.
#
# ## Is it ready?
#
# A cluster asks a service two questions. *Are you alive?* If there is no answer, the cluster restarts the service. *Are you
# [ready](../labs/GLOSSARY.md#readiness)?* If the answer is no, the cluster sends it no requests for a while.
#
# > **Predict.** Suppose that the check for "alive" asks the database. The database is not available for a minute. What happens to
# > all copies of the service?
#
# <details><summary>What happens</summary>
#
# The cluster restarts all of them, again and again. Each of them loads its model again, and the database is still not available.
#
# </details>
#
# So `/health` checks only whether the process answers. `/ready` checks everything that a request needs.

# %% [markdown]
# ## Exercise 9.4: say what is missing
#
# The difficult case is a part that does not answer at all. A readiness check that waits for it does not answer either.
# `asyncio.wait_for(something, seconds)` stops waiting after this time and raises a `TimeoutError`. Here are functions to try
# `readiness` with: `works` returns `"ready"`, `loads` returns another text, `raises` raises an exception with a password in its
# text, `hangs` sleeps for a minute, and `meeting()` makes two functions that wait for each other.

# %%
from course_lib.teaching.lab.parts import hangs, loads, meeting, raises, works

# %% exercise="9.4"
from course_lib.service.probes import readiness

# %%
lab.check("9.4", readiness)

# %%
lab.hint("9.4")  # run again for the next hint

# %% [markdown] tags=["solution"]
# When the time is over, `wait_for` cancels the function, so nothing is left running. It would be easier to ask one part after the
# other. But then three parts that hang would take three timeouts, perhaps longer than the cluster waits. The text that a check
# *returns* was written for the people who ask. The text of an exception was not.

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
# To stop a database, you need one that nobody else uses. Here is a second PostgreSQL in a temporary folder, with the same documents.

# %% tags=["nbval-check-output"]
from course_lib.store import connect
from course_lib.teaching.lab.serving import Watch, until_ready
from course_lib.teaching.lab.stoppable import StoppableDatabase

database = StoppableDatabase()
with connect(database.url, autocommit=True) as conn:
    report = ingest(lab.data_dir, conn=conn, embedder=lab.embedder)
print(report.inserted, "chunks in a database that we may stop")

# %% [markdown]
# Three requests are sent again and again. Meanwhile the database is stopped, and started again a few seconds later. The service itself
# is not restarted.
#
# > **Predict.** The figure will have three rows: `/health`, `/ready` and `/search`. Where does the colour of each row change?

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
lab.show.timeline(watch.seen, watch.marks, "A database is stopped and started again")

# %% tags=["claim"]
to_health, to_ready, to_search = ([one.status for one in watch.seen if one.request == request] for request in ("GET /health", "GET /ready", "POST /search"))
assert {*to_health} == {200}, "/health answers 200 all the time"
assert 503 in to_ready and away[0].json()["database"] == "missing", "/ready says 503 while the database is stopped"
assert 503 in to_search and int(away[1].headers["retry-after"]) > 0, "a refused search says when to try again"
assert to_health[-1] == to_ready[-1] == to_search[-1] == 200, "all three answer 200 without a restart of the service"

# %% [markdown]
# `/health` answers 200 all the time. `/ready` says 503 while the database is stopped, and a refused search says when to try again.
# Then the pool connects again, and all three answer 200 without a restart of the service. The pool tries to connect with growing
# pauses (a [retry](../labs/GLOSSARY.md#retry)). After `reconnect_timeout` seconds without success it stops, and the next request
# makes it try again.

# %% [markdown]
# ## Break it: a database that does not answer
#
# If the server is stopped, a connection is refused immediately. If a cable is unplugged, or a firewall drops the packets, no answer
# comes at all. Below is such an address: it accepts a connection and never answers. `/plain` connects without a time limit, `/ready`
# uses your function.
#
# > **Predict.** The client waits at most two seconds. What does it get from each of the two routes?

# %% tags=["nbval-check-output"]
import socket

import httpx

silent = socket.create_server(("127.0.0.1", 0))  # accepts connections and never answers
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
# A cluster may handle "no answer" and "not ready" in the same way. For the engineer who has to repair the service they are different:
# "not ready" names the database.
#
# ## Measure: many clients
#
# An average hides the slow answers. So we look at [p50 and p95](../labs/GLOSSARY.md#p50-and-p95): half of the answers are faster
# than p50, and 19 of 20 are faster than p95. Sixteen clients ask three services: the ten lines from above, your service, and the
# library's. Each client sends its next question as soon as it has the last answer.
#
# The library's service has as many connections as yours. One difference matters here: it encodes all waiting questions together, as
# one [batch](../labs/GLOSSARY.md#batch).
#
# > **Predict.** Compared with the ten lines, what saves more time: the pool and the free event loop, or the batches in addition?

# %%
from course_lib.service import ServiceConfig, create_app
from course_lib.teaching.lab.serving import crowd

yours = lab.serve(add_probes(add_problems(new_app(lab.database_url))))
whole = create_app(ServiceConfig(database_url=lab.database_url, pool_size=4), embedder=model)
library = lab.serve(whole)
until_ready(library)

bodies = [{"query": each.question} for each in lab.questions()] * 2
services = {"ten lines": api, "yours: pool": yours, "library's: pool and batches": library}
times = {name: crowd(service, bodies) for name, service in services.items()}
lab.show.latencies(times, f"{len(bodies)} questions from 16 clients")

# %%
import numpy as np

encoder = whole.state.context.encoder
asked, batches = encoder.texts, encoder.batches
print(f"{asked} texts went through the model in {batches} batches")
answers = [library.post("/search", json=bodies[0]) for _ in range(20)]
names = {"encode": "embedding_time_ms", "search": "search_time_ms"}
parts = {part: np.median([one.json()[name] for one in answers]) for part, name in names.items()}
whole_time = np.median([one.elapsed.total_seconds() * 1000 for one in answers])
parts["HTTP and the rest"] = max(0, whole_time - sum(parts.values()))
lab.show.bars(parts, "The time of one request, with no other client", "ms")

# %% tags=["claim"]
assert batches < asked == len(bodies), "So there are fewer batches than texts"

# %% [markdown]
# The ten lines do one thing after the other. In your service, PostgreSQL searches for some questions while the model encodes another
# one, and no request has to open a connection. The library's service does not wait until a batch is full: it encodes together the
# questions that arrived while the model was busy. So there are fewer batches than texts. Which step saved more on your machine?
# Compare the medians.
#
# The rest of the time is computing, on the cores that you have. `await` makes waiting cheaper, but not computing.

# %% [markdown]
# ## The whole service
#
# `create_app()` makes the service that you have built, with further parts that a service needs: keys and tenants, a
# [rate limit](../labs/GLOSSARY.md#rate-limit), metrics, a log, and a [role](../labs/GLOSSARY.md#role) that can only read. Its
# `/search`, its refusals and its `/ready` call the four functions of this lab. Read `course_lib/service/routes.py`: you know most
# of it already.
#
# There is also a page for people. `course serve` starts the service on your machine, and the page is at `http://127.0.0.1:8000/`.
# The cell prints the list of addresses, and the headings of this page for a question. Then it sends three requests at the limits
# that the service describes.

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
# The limits of `top_k` come from `/openapi.json`. FastAPI made this description from the request model, and the service refuses what
# the description does not allow. Other tools read this format, [OpenAPI](https://www.openapis.org). Some of them write clients in
# many languages. [Schemathesis](https://schemathesis.io) sends thousands of requests like the last three
# (`schemathesis run URL/openapi.json`). It finds requests that are answered with 500, and answers that do not match the description.
# It cannot find mistakes that the description does not mention: a refusal that repeats a password, or a `/ready` that says yes too
# early.
#
# ## Measure: the scorecard
#
# The lab's questions are searched by meaning and by words ([hybrid](../labs/GLOSSARY.md#hybrid-retrieval)), first without the API
# and then over HTTP.

# %%
with lab.connect() as conn:
    direct = lab.measure_retrieval(lambda asked: search(conn, lab.encode(asked), Query(asked)))
found = lab.measure_retrieval(lambda asked: shown(library.post("/search", json={"query": asked}).json()["results"]))
print(f"recall@5 {direct.recall:.2f} and MRR {direct.mrr:.2f}; over HTTP {found.recall:.2f} and {found.mrr:.2f}")
lab.score(recall_at_5=found.recall, mrr=found.mrr, note="hybrid, over HTTP")

# %% tags=["claim"]
assert max(abs(found.recall - direct.recall), abs(found.mrr - direct.mrr)) < 0.025, "The two results agree: an API must not change what the search finds"

# %% [markdown]
# The two results agree: an API must not change what the search finds.
#
# ## Recap
#
# - An event loop serves all requests as long as none of them blocks it. Use `await` for waiting. Do computing in a thread, in batches.
# - A pool shares a few connections among many requests, and connects again when the database is back.
# - Check each request first: its limits, types and fields. A refusal gives a field and a reason in a standard form. It repeats
#   nothing that the client sent.
# - A chunk's sender is not trusted: metadata must not replace your own fields, and only web addresses become links.
# - "Alive" and "ready" are two questions. A readiness check asks all parts at once, names what is missing, and always answers in time.
# - Look at p50 and p95 with many clients. With one client, you see neither queues nor batches.

# %% [markdown]
# ## Three questions to test yourself
#
# 1. A colleague makes `search_response` an `async def`, "so that it is faster". What changes?
# 2. Why does `/search` borrow its connection after the encoding and not before?
# 3. The database is not available for ten minutes. What should `/health` answer? What should `/ready` answer? What does the cluster
#    do?
#
# <details><summary>Answers</summary>
#
# 1. Every caller now has to write `await`, and nothing becomes faster. The function does not wait for anything and takes little
#    time. Without an `await` inside it, the loop cannot serve other requests meanwhile.
# 2. Otherwise a connection would be borrowed while the model encodes. Four questions that are encoded one after the other would keep
#    all four connections of the pool, and no question could search.
# 3. `/health` answers 200 and `/ready` answers 503 during the ten minutes. The cluster does not restart the service. It sends no
#    requests until `/ready` answers 200 again.
#
# </details>
#
# ## Stretch, and what comes next
#
# Let a client close its connection in the middle of a search (`timeout=0.01`). Does your service notice it? Should the query
# continue? Find out what `course_lib/service/encoding.py` does with texts when no request waits for them any more.
#
# Next is [lab 10](../labs/10_code_from_github.ipynb), where the documents come from GitHub. There you are the client, and the server
# limits your requests.
