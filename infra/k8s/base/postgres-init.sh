#!/usr/bin/env bash
# Run once by the image's entry point, when the volume is new: the role that owns the index, and its
# database. It is no superuser, so that row-level security holds for it; it may make roles, because
# the service's reader and writer, roles without login, are made by it.
set -euo pipefail

psql --no-psqlrc --username "${POSTGRES_USER:-postgres}" --dbname postgres --set ON_ERROR_STOP=1 <<'SQL'
-- From the environment, because every process can read another one's arguments.
\getenv password RAG_PASSWORD
CREATE ROLE rag LOGIN CREATEROLE PASSWORD :'password';
CREATE DATABASE rag OWNER rag;
REVOKE ALL ON DATABASE rag FROM PUBLIC;
\connect rag
CREATE EXTENSION vector;
SQL
