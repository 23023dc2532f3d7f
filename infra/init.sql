-- Run once by a superuser in the database that DATABASE_URL names: what the course needs of a server.
-- Docker runs it when the volume is new; elsewhere: psql "$DATABASE_URL" -f infra/init.sql
CREATE EXTENSION IF NOT EXISTS vector;

-- Labs and tests make databases of their own. A role that is no superuser cannot create the extension there, but
-- databases that it makes from template1 have it from the start.
\connect template1
CREATE EXTENSION IF NOT EXISTS vector;
