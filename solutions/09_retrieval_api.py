# %% [markdown]
# # 09 · The retrieval API
#
# Ten lines of code make your search an API. But its errors give no reason, and one slow request makes all others wait. An obvious repair
# shows strangers the address of your database. You will repair all three, and your API will say when it cannot answer.
#
# **Elective.** It adds an HTTP service around the search. For you if other programs will use your search.
#
# | You will be able to | Builds | Time | Needs |
# |---|---|---|---|
# | answer other requests while one waits or computes · refuse a bad request with a reason, and repeat none of its values · write a readiness check that answers in time | `service/` | about {minutes} min | Python functions; lab 07 for the search |

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
# Other programs reach your search through a [REST API](../labs/GLOSSARY.md#rest-api). FastAPI gives a function an address. `lab.serve`
# starts a web server and returns an HTTP client.

# %%
from fastapi import FastAPI

from course_lib.embedder import EmbeddingClient
from course_lib.indexing import ingest
from course_lib.retriever import Query, search
from course_lib.store import connect

with lab.connect(autocommit=True) as conn:
    ingest(lab.data_dir, conn=conn, embedder=lab.embedder)
model = EmbeddingClient(embedding_model or None)
first = FastAPI()


# %%
import pandas as pd


def found(body: dict):
    [vector] = model.encode([body["query"]])
    with lab.connect() as conn:
        return search(conn, vector, Query(body["query"], top_k=body.get("top_k", 5)))


@first.post("/search")
async def ask(body: dict):
    return found(body)


api = lab.serve(first)
answer = api.post("/search", json={"query": "How is drift measured?", "top_k": 3})
pd.DataFrame(answer.json())[["document_name", "name"]]

# %% [markdown]
# Four clients make mistakes. A status from 400 means a fault of the client, and from 500 a fault of the server.
#
# > **Predict.** Which status does each get: a query that is a number, no query, a `top_k` of −1, a misspelled `top_k`?

# %% tags=["nbval-check-output"]
mistakes = [
    {"query": 7}, {"top_k": 3}, {"query": "drift", "top_k": -1}, {"query": "drift", "topk": 1}
]
for body in mistakes:
    answer = api.post("/search", json=body)
    told = f"{len(answer.json())} results" if answer.is_success else answer.text
    print(answer.status_code, told, "to", body)

# %% [markdown]
# <details><summary>The answer</summary>
#
# Three mistakes get a 500, without a reason. The misspelled field gets a 200, which is worse: the client wanted one result, and got five
# without an error.
#
# </details>
#
# A simple repair catches every exception and sends its text to the client.
#
# > **Predict.** The database is down (here, its address is made up). What does a stranger learn?

# %%
import psycopg

try:
    psycopg.connect("postgresql://course@127.0.0.1:1/payroll")  # there is no database
except psycopg.Error as error:
    print({"error": str(error)})

# %% tags=["claim"]
try:
    psycopg.connect("postgresql://course@127.0.0.1:1/payroll")
except psycopg.Error as error:
    assert "127.0.0.1" in str(error), "A stranger learns the address of the database"

# %% [markdown]
# <details><summary>The answer</summary>
#
# A stranger learns the address of the database.
#
# </details>
#
# With many clients, another fault appears: the API serves one request at a time.
#
# ## By hand: four requests
#
# Four requests arrive at once. Each waits 0.2 s for the database. Fill in the two times.
#
# | the service … | the last answer comes after |
# |---|---|
# | handles one request after the other | 4 · 0.2 = 0.8 s |
# | uses one thread for each request | … |
# | has two [connections](../labs/GLOSSARY.md#database-connection) for all requests | … |
#
# <details><summary>The answer</summary>
#
# Threads wait at the same time: 0.2 s. Two connections need two rounds: 0.4 s.
#
# </details>
#
# Two routes do the same. `NAP` makes the database wait, and returns when it began and ended.
#
# > **Predict.** Each of these routes is a line of the table. Which?

# %%
napping = FastAPI()
NAP = "SELECT statement_timestamp(), clock_timestamp() FROM pg_sleep(0.2)"


@napping.get("/async-def")
async def nap_in_the_loop():
    with lab.connect() as conn:
        return conn.execute(NAP).fetchone()


@napping.get("/def")
def nap_in_a_thread():
    with lab.connect() as conn:
        return conn.execute(NAP).fetchone()


# %%
from course_lib.teaching.lab.serving import four_at_once

with lab.serve(napping) as other:
    slept = {path: four_at_once(other, path) for path in ("/async-def", "/def")}
lab.show.waits(slept)

# %% tags=["claim"]
most = {path: max(((naps["begin"] <= begin) & (begin < naps["end"])).sum() for begin in naps["begin"]) for path, naps in slept.items()}
assert most["/async-def"] == 1, "only one request at a time waits in the database"
assert most["/def"] > 1, "FastAPI runs a plain def in a thread, so several wait together"

# %% [markdown]
# <details><summary>The answer</summary>
#
# The routes `/async-def` and `/def` are lines 1 and 2 of the table. Each bar is a request that waits in the database.
#
# </details>
#
# The *event loop* is one thread that serves all requests. It goes to another request only at an `await`. The first route has no `await`: only
# one request at a time waits in the database.
#
# ![Three requests. Above, one encodes on the event loop, and the others wait. Below, it encodes in a thread.](../labs/figures/event_loop.svg)
#
# FastAPI runs a plain `def` in a thread, so several wait together. But each opens a connection. A *pool* keeps a few connections open and
# lends them to requests: this is the last line of the table.

# %% [markdown]
# ## Exercise 9.1: what may be asked
#
# [pydantic](https://docs.pydantic.dev) checks each request against what you allow. An example:
#
# ```python
# class Order(BaseModel):
#     model_config = ConfigDict(extra="forbid", strict=True)         # no unknown fields; "2" is not a number
#     pizza: Annotated[str, AfterValidator(on_the_menu)] = Field(min_length=1)   # must be present
#     pieces: int = Field(default=8, gt=0, lt=13)                    # gt, ge, lt, le mean >, >=, <, <=
#     extras: list[Extra] | None = Field(default=None, max_length=3)   # may be missing
# ```
#
# `on_the_menu` returns the pizza, or raises a `ValueError`. Your model can use:
#
# - `not_blank(text)` refuses a text of only white space.
# - `Filter` is a text of 1 to 500 characters.

# %% exercise="9.1"
from course_lib.service.models import request_model

# %%
lab.check("9.1", request_model)

# %%
lab.hint("9.1")  # run again for the next hint

# %% [markdown] tags=["solution"]
# There is no field for the [tenant](../labs/GLOSSARY.md#tenant), because a client could name another one. The library's service takes the
# tenant from the request's API key.
#
# The mistake to remember: setting only a lowest value. Without `le=50`, a client may ask for the whole index. Without `max_length`, the
# model may get megabytes.

# %% [markdown]
# Now the ten lines check with your model. A client sends a password in a wrong field.

# %%
SearchRequest = lab.use("request_model")()
checked = FastAPI()


@checked.post("/search")
async def ask_checked(body: SearchRequest):
    return found(body.model_dump())


with lab.serve(checked) as other:
    refused = other.post("/search", json={"query": "drift", "password": "tulip-42"})
print(refused.status_code, refused.json())

# %% tags=["claim"]
assert refused.status_code == 422 and "password" in refused.text, "Your model refuses the unknown field"
assert "tulip-42" in refused.text, "it repeats what the client sent, here a password"

# %% [markdown]
# Your model refuses the unknown field. But FastAPI wrote the refusal: it repeats what the client sent, here a password.
#
# ## Exercise 9.2: a refusal that helps
#
# Write a refusal that helps the client and does not repeat the values. The standard form is the *problem document* of
# [RFC 9457](https://www.rfc-editor.org/rfc/rfc9457).

# %% exercise="9.2"
from course_lib.service.problems import validation_problem

# %%
lab.check("9.2", validation_problem)

# %%
lab.hint("9.2")  # run again for the next hint

# %% [markdown] tags=["solution"]
# The mistake to remember: copying the whole error. Then the refusal contains `input`, and so the password.

# %% [markdown]
# ## The endpoint
#
# Your API uses a pool. The app's *lifespan* opens the pool at the start and closes it at the end.

# %%
from contextlib import asynccontextmanager

from pgvector.psycopg import register_vector
from psycopg_pool import ConnectionPool


@asynccontextmanager
async def lifespan(app):
    with ConnectionPool(
        app.state.database_url, min_size=1, max_size=4, configure=register_vector,
        kwargs={"autocommit": True, "connect_timeout": 5},
        check=ConnectionPool.check_connection,  # a broken connection is replaced before it is lent
        timeout=1,  # a request waits at most 1 s for a connection, then it fails
        reconnect_timeout=5,  # tries for about 5 s; then the next request starts a new attempt
    ) as app.state.pool:
        yield


# %% [markdown]
# `search` and the model have no `await`. Run each in a thread, and `await` the thread.
#
# One thread encodes all questions. Each search runs in another thread, with a connection of the pool.
#
# In the usual Python, only the thread that holds the *GIL*, a lock, runs Python code. So Python code in a thread would slow the loop.
# But while `search` waits for the database, its thread does not hold the lock. Nor does the thread of the model while it computes, because
# its code is not Python.

# %%
import asyncio
from concurrent.futures import ThreadPoolExecutor

models_thread = ThreadPoolExecutor(max_workers=1)


async def encode(text):
    loop = asyncio.get_running_loop()
    [vector] = await loop.run_in_executor(models_thread, model.encode, [text])
    return vector


def search_in(pool, vector, query):
    with pool.connection() as conn:
        return search(conn, vector, query)


# %% [markdown]
# The endpoint encodes and searches.

# %%
app = FastAPI(lifespan=lifespan)
app.state.database_url = lab.database_url


@app.post("/search")
async def ask(asked: SearchRequest):
    filters = {"threshold": asked.similarity_threshold, "partitions": asked.partitions}
    query = Query(asked.query, top_k=asked.top_k, **filters)
    vector = await encode(asked.query)
    return await asyncio.to_thread(search_in, app.state.pool, vector, query)


# %% [markdown]
# Your function makes the refusals. The library adds two answers. Without a database, the answer is 503, and `Retry-After` says when to try
# again. Any other error is a 500 without a reason.

# %%
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse

from course_lib.service.problems import MEDIA_TYPE, add_problem_handlers

add_problem_handlers(app)


@app.exception_handler(RequestValidationError)
def invalid(request, error):
    return JSONResponse(validation_problem(error.errors()), 422, media_type=MEDIA_TYPE)


# %% [markdown]
# We send a right request, the four mistakes, and the password.

# %% tags=["nbval-check-output"]
validation_problem = lab.use("validation_problem")
with lab.serve(app) as other:
    for body in [{"query": "drift"}, *mistakes, {"query": "drift", "password": "tulip-42"}]:
        answer = other.post("/search", json=body)
        told = f"{len(answer.json())} results" if answer.is_success else answer.json()["detail"]
        print(answer.status_code, told)

# %% [markdown]
# ## Is it ready?
#
# A cluster asks the service two questions (`infra/k8s/base/retriever.yaml`):
#
# ```yaml
# livenessProbe:                     # three failures: restart
#   httpGet: {path: /health, port: http}
# readinessProbe:                    # two failures: send it no requests for now
#   httpGet: {path: /ready, port: http}
# ```
#
# If `/health` also asked the database, the cluster would restart all copies again and again while the database is away. So `/health` checks
# only that the process answers. [`/ready`](../labs/GLOSSARY.md#readiness) checks what a request needs.
#
# ## Exercise 9.3: say what is missing
#
# A part may never answer. Two calls help:
#
# - `await asyncio.gather(ask(1), ask(2))` runs both at the same time and returns the list of results. `gather(*many)` takes any number.
# - `await asyncio.wait_for(ask(1), seconds)` cancels `ask(1)` after this time and raises a `TimeoutError`.
#
# These parts are for your tests. `works` returns "ready", `loads` another text, `raises` an exception. `hangs` takes a minute. `meeting()`
# gives two parts that wait for each other.

# %%
from course_lib.teaching.service_parts import hangs, loads, meeting, raises, works

# %% exercise="9.3"
from course_lib.service.probes import readiness

# %%
lab.check("9.3", readiness)

# %%
lab.hint("9.3")  # run again for the next hint

# %% [markdown] tags=["solution"]
# The mistake to remember: asking one part after the other. Then three parts that hang take three timeouts.
#
# `wait_for` cannot end a thread: the thread continues, and may hold a connection. So its work needs limits of its own: `connect_timeout`,
# and the pool's `timeout`.

# %% [markdown]
# Your API has two parts. The check of the database asks it a query, and the check of the model only reads a flag.

# %%
model_is_loaded = True  # at work, the lifespan sets this after loading


def ask_database():
    with app.state.pool.connection() as conn:
        conn.execute("SELECT 1")
    return "ready"


async def database_state():
    return await asyncio.to_thread(ask_database)


async def model_flag():
    return "ready" if model_is_loaded else "the model is being loaded"


# %%
readiness = lab.use("readiness")


@app.get("/health")
async def health():
    return {"status": "ok"}


@app.get("/ready")
async def ready():
    status, body = await readiness({"database": database_state, "model": model_flag})
    return JSONResponse(body, status)


# %% [markdown]
# ## Pull the plug
#
# The app gets a second PostgreSQL, with the same documents.

# %%
from time import sleep

from course_lib.teaching.lab.serving import Watch, until_ready
from course_lib.teaching.lab.stoppable import StoppableDatabase

database = StoppableDatabase()
with connect(database.url, autocommit=True) as conn:
    ingest(lab.data_dir, conn=conn, embedder=lab.embedder)
app.state.database_url = database.url

# %% [markdown]
# We stop this PostgreSQL and start it again. Meanwhile, a client repeats three requests.
#
# > **Predict.** Which requests fail while the database is stopped: `/health`, `/ready` or `/search`? When do they succeed again?

# %%
question = {"query": "drift"}
requests = ("GET /health", "GET /ready", "POST /search")
with lab.serve(app) as other:
    until_ready(other)
    with Watch(other, *requests, json=question) as watch:
        sleep(1)
        watch.do(database.stop)
        sleep(2)
        refused = other.post("/search", json=question)
        watch.do(database.start)
        until_ready(other)
        sleep(1)
database.remove()
print(refused.json()["detail"], refused.headers["retry-after"], sep="; Retry-After: ")
lab.show.timeline(watch.seen, watch.marks, "A database is stopped and started again")

# %% tags=["claim"]
to_health, to_ready, to_search = ([one.status for one in watch.seen if one.request == request] for request in ("GET /health", "GET /ready", "POST /search"))
assert {*to_health} == {200}, "/health answers 200 all the time"
(stopped, _), (started, _) = watch.marks
during = {one.status for one in watch.seen if one.request != "GET /health" and stopped + 1 < one.at < started - 1}
assert during == {503}, "/ready says 503 while the database is stopped"
assert 503 in to_search and int(refused.headers["retry-after"]) > 0, "a refused search says when to try again"
failed = {request: pd.Series([one.seconds for one in watch.seen if one.request == request and one.status == 503]) for request in ("GET /ready", "POST /search")}
assert 0.45 < failed["GET /ready"].median() < 0.8 and 0.9 < failed["POST /search"].median() < 1.5, "Most failed bars are about as long as their limits: 0.5 s in /ready, 1 s in the pool"
assert to_health[-1] == to_ready[-1] == to_search[-1] == 200, "all three answer 200 without a restart of the service"

# %% [markdown]
# <details><summary>The answer</summary>
#
# `/health` answers 200 all the time. `/ready` says 503 while the database is stopped, and a refused search says when to try again.
#
# After the start, requests can fail a little longer: the pool pauses between its attempts to connect. Then all three answer 200 without a
# restart of the service.
#
# </details>
#
# Most failed bars are about as long as their limits: 0.5 s in `/ready`, 1 s in the pool.

# %% [markdown]
# ## Break it: ready, but busy
#
# A colleague's check of the model is stricter: it encodes a word.
#
# > **Predict.** What do the flag and the new check say while the model's only thread is busy with many texts?
#
# A cell of a notebook can use `await`, so we call your function directly.

# %%
async def model_encodes():
    await encode("ready?")
    return "ready"


work = [models_thread.submit(model.encode, ["drift " * 200] * 8) for _ in range(50)]
said = [await readiness({"model": state}) for state in (model_flag, model_encodes)]
[one.cancel() for one in work]  # the thread was busy for long enough: drop the rest
print("a flag:", *said[0])
print("encodes a word:", *said[1])

# %% tags=["claim"]
assert said[0][0] == 200, "the flag says 200"
assert said[1][0] == 503, "the check that encodes says 503, although nothing is broken"

# %% [markdown]
# <details><summary>The answer</summary>
#
# Under the same load, the flag says 200, and the check that encodes says 503, although nothing is broken.
#
# </details>
#
# After two such failures, the cluster gives the load to the other copies. These may become busy, too. So a readiness check should not wait
# in the same queue as the work.
#
# Your check of the database still waits with the searches, for a connection (see the stretch).

# %% [markdown]
# ## Measure: sixteen clients
#
# Each of sixteen clients sends its next question as soon as it has an answer. All services take turns, for three rounds.
# [p50](../labs/GLOSSARY.md#p50-and-p95) is a time: half of the answers take less. 19 of 20 take less than p95.
#
# > **Predict.** Which is fastest: the ten lines, the same with a plain `def`, or your service?

# %%
with_def = FastAPI()
with_def.post("/search")(found)
app.state.database_url = lab.database_url
services = {"ten lines": api, "with def": lab.serve(with_def), "yours": lab.serve(app)}
bodies = [{"query": each.question} for each in lab.questions()]

# %%
import matplotlib.pyplot as plt

from course_lib.teaching.lab.serving import crowd

rounds = []
for name, service in [*services.items()] * 3:
    rounds.append((name, *pd.Series(crowd(service, bodies)).quantile([0.5, 0.95])))
times = pd.DataFrame(rounds, columns=["service", "p50", "p95"])
figure, axes = plt.subplots(figsize=(7, 2))
axes.plot(times[["p50", "p95"]], times.service, linestyle="", label=["p50", "p95"])
axes.set(title="Sixteen clients, three rounds", xlabel="ms for an answer", xlim=(0, None))
axes.invert_yaxis()
axes.legend()
lab.alt(figure, f"Marks for each round, in ms: {times.round().to_dict('records')}.")

# %% tags=["claim"]
middle = times.groupby("service").median()
assert middle.p50["yours"] < middle.p50["ten lines"], "Your service can answer faster"
assert middle.p50["with def"] < middle.p50["ten lines"], "so can the ten lines with a plain def"

# %% [markdown]
# <details><summary>The answer</summary>
#
# The ten lines are the slowest. Your service can answer faster, and so can the ten lines with a plain `def`: the first two rows differ only in
# the word `async`.
#
# Your service also has a pool, and one thread for the model. The picture does not separate these.
#
# Sixteen questions wait for one model. The library encodes all that wait in one call: this is *dynamic batching*. It is not measured here.
#
# </details>

# %% [markdown]
# ## In the field
#
# `course mine serve` starts the library's service with your three functions.
#
# [Schemathesis](https://schemathesis.io) reads the `/openapi.json` of your API and looks for requests that get a 500.
#
# **At work**, do this to a test copy of each service: misspell a field, send a password in it, stop the database. What does a refusal
# repeat?

# %% [markdown]
# ## Recap
#
# - If code waits or computes without `await`, run it in a thread, and `await` the thread.
# - A refusal gives the field's name and a reason. It repeats no value of a field.
# - A readiness check asks all parts at once, names what is missing, and answers in time.

# %% [markdown]
# ## Three questions to test yourself
#
# 1. Four long searches use all connections of the pool. What does your `/ready` say, and what does the cluster do?
# 2. Why does `/search` borrow its connection after the encoding?
# 3. `/ready` says 503. Why must `/search` also say it?
#
# <details><summary>Answers</summary>
#
# 1. `/ready` says 503, although nothing is broken. After two failures, the cluster sends new requests to other copies.
# 2. Otherwise, four questions that wait for the model would hold all four connections.
# 3. The cluster notices the 503 of `/ready` only after some time. Until then, clients need an answer that helps.
#
# </details>

# %% [markdown]
# ## Stretch, and what comes next
#
# Let `ask_database` use a connection of its own: `lab.connect()`. Let four requests with `pg_sleep` hold the pool. What does `/ready` say
# now?
#
# Next is [lab 10](../labs/10_code_from_github.ipynb).
