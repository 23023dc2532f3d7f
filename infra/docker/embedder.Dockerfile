# The image of the pipeline's steps that embed, store and evaluate: the model for OpenVINO is in it, torch is not.
# From the project's root:
#   docker build --file infra/docker/embedder.Dockerfile --tag rag-embedder:0.1.0 .

FROM python:3.13-slim AS pins
WORKDIR /build
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore
COPY requirements.lock infra/docker/pins.py ./
RUN python pins.py build < requirements.lock > build.txt \
    && pip install --no-deps --require-hashes --requirement build.txt
# A few packages have no wheels: they are built with the setuptools that is pinned.
RUN python pins.py embedder < requirements.lock > embedder.txt \
    && pip install --no-deps --no-build-isolation --no-warn-script-location \
        --ignore-installed --prefix /pins --require-hashes --requirement embedder.txt

FROM pins AS course
COPY pyproject.toml README.md LICENSE ./
COPY course_lib course_lib
RUN pip install --no-deps --no-build-isolation --no-warn-script-location --prefix /course .

# The course's own set-up: it checks the model's weights and converts them for OpenVINO, with torch.
FROM python:3.13-slim AS model
WORKDIR /build
COPY requirements.lock infra/docker/pins.py ./
RUN mv requirements.lock whole.lock && python pins.py model < whole.lock > requirements.lock
COPY pyproject.toml README.md LICENSE ./
COPY course_lib course_lib
RUN python course_lib/bootstrap.py

FROM python:3.13-slim
ENV PYTHONUNBUFFERED=1 PYTHONUTF8=1 COURSE_ROOT=/app COURSE_STATE=/var/lib/course
ENV COURSE_MODELS=/usr/local/share/course/models
COPY --from=pins /pins /usr/local
COPY --from=course /course /usr/local
COPY --from=model /build/.course/models /usr/local/share/course/models
# What the course keeps is the one thing that it writes; /app holds nothing but perhaps a .env.
RUN groupadd --gid 10001 rag \
    && useradd --uid 10001 --gid rag --create-home --shell /usr/sbin/nologin rag \
    && install --directory --owner rag --group rag /app /var/lib/course
WORKDIR /app
USER 10001:10001
# On amd64 and on arm64 OpenVINO encodes. The build fails unless it does so here, without torch.
ENV RAG_EMBED_BACKEND=openvino
RUN ["python", "-c", "from course_lib.embedder import EmbeddingClient; EmbeddingClient().encode(['ready?'])"]
HEALTHCHECK --interval=5m --timeout=30s --retries=2 \
    CMD ["python", "-c", "import course_lib.embedder, course_lib.store, kfp.dsl.executor_main"]
# Each step brings a command of its own, which an entrypoint would swallow.
CMD ["course", "--help"]
