# The image of the pipeline's steps that read, download and split: no torch, no model, no database.
# From the project's root:
#   docker build --file infra/docker/loader.Dockerfile --tag rag-loader:0.1.0 .

FROM python:3.13-slim AS pins
WORKDIR /build
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore
COPY requirements.lock infra/docker/pins.py ./
RUN python pins.py build < requirements.lock > build.txt \
    && pip install --no-deps --require-hashes --requirement build.txt
# A few packages have no wheels: they are built with the setuptools that is pinned.
RUN python pins.py loader < requirements.lock > loader.txt \
    && pip install --no-deps --no-build-isolation --no-warn-script-location \
        --ignore-installed --prefix /pins --require-hashes --requirement loader.txt

FROM pins AS course
COPY pyproject.toml README.md LICENSE ./
COPY course_lib course_lib
RUN pip install --no-deps --no-build-isolation --no-warn-script-location --prefix /course .

FROM python:3.13-slim
ENV PYTHONUNBUFFERED=1 PYTHONUTF8=1 COURSE_ROOT=/app COURSE_STATE=/var/lib/course
COPY --from=pins /pins /usr/local
COPY --from=course /course /usr/local
# What the course keeps is the one thing that it writes; /app holds nothing but perhaps a .env.
RUN groupadd --gid 10001 rag \
    && useradd --uid 10001 --gid rag --create-home --shell /usr/sbin/nologin rag \
    && install --directory --owner rag --group rag /app /var/lib/course
WORKDIR /app
USER 10001:10001
HEALTHCHECK --interval=5m --timeout=30s --retries=2 \
    CMD ["python", "-c", "import course_lib.loader, kfp.dsl.executor_main"]
# Each step brings a command of its own, which an entrypoint would swallow.
CMD ["course", "--help"]
