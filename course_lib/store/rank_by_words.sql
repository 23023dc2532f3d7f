-- The ranking by words (lab 08): the chunks that hold words of a question, the best first.
--
-- It reads two tables:
--   visible (part, address, search_text): the rows that the caller may see. Part and address say
--     where PostgreSQL has stored a row: in which partition (tableoid), and where in it (ctid).
--     They are valid only within one statement.
--   word (number, query): the words of the question.
-- It has these parts. MATERIALIZED: computed once, before the next ones read it.
--   hit (number, part, address): a row for each word and visible chunk that holds it, at most 2,000
--     chunks a word. With LATERAL, its subquery runs once for each word.
--   weighed (number, weight): for a word that is in n chunks, 1 + ln(2000 / n), in millionths, as
--     an integer. A sum of integers is the same in whatever order they are added, a sum of
--     fractions is not, and equal scores must be equal.
--   found (part, address, score): for each chunk the sum of its words' weights. Words that are in
--     2,000 chunks or more do not count here; they only change the order, below. Twice `%(most)s`
--     rows stay, with ties, because the common words can still change the order.
WITH hit AS MATERIALIZED (
    SELECT word.number, one.part, one.address
    FROM word CROSS JOIN LATERAL (
        SELECT part, address FROM visible WHERE search_text @@ word.query LIMIT 2000
    ) AS one
), weighed AS MATERIALIZED (
    SELECT number, round(1e6 * (1 + ln(2000 / count(*)::float8)))::integer AS weight
    FROM hit GROUP BY number
), found AS MATERIALIZED (
    SELECT part, address, sum(weight) AS score
    FROM hit JOIN weighed USING (number) WHERE weight > 1000000
    GROUP BY part, address ORDER BY score DESC FETCH FIRST (2 * %(most)s) ROWS WITH TIES
)
-- The common words count, too. Each adds a weight of 1, in millionths, to chunks that rarer words
-- found. Then equal scores are put in the order of the rows' keys. `common` is one row, the list of
-- these words; if there are none, the list is NULL, because array_agg over no rows gives NULL.
, common AS (
    SELECT array_agg(query) AS queries
    FROM weighed JOIN word USING (number) WHERE weight = 1000000
), scored AS (
    SELECT chunk.*, found.score + CASE WHEN common.queries IS NULL THEN 0 ELSE (
        SELECT 1000000 * count(*) FROM unnest(common.queries) AS query
        WHERE chunk.search_text @@ query) END AS score
    FROM found CROSS JOIN common CROSS JOIN LATERAL (
        -- LATERAL: once for each row of `found`. PostgreSQL cannot merge a subquery with LIMIT into
        -- a join, so it fetches each row by its address and does not read the whole table.
        SELECT partition, tenant_id, repo_slug, branch, document_name, chunk_index, search_text
        FROM document_chunks WHERE tableoid = found.part AND ctid = found.address LIMIT 1
    ) AS chunk
)
SELECT partition, tenant_id, repo_slug, branch, document_name, chunk_index, row_number() OVER (
    ORDER BY score DESC, document_name, chunk_index, partition, tenant_id, repo_slug, branch
) AS place
FROM scored ORDER BY place LIMIT %(most)s
