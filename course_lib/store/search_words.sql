-- What is indexed of a chunk for the search by words (lab 08).
--
-- search_words(asked): the words of a text, each once, in English stems. An identifier has its
-- parts and itself as a whole, so that kubeflow-pipelines, KubeflowPipelines and "kubeflow
-- pipelines" find each other:
--   parts: a blank in place of each - _ and . and a blank more at two places: between a small
--     letter or a digit and a capital, and between two capitals if two small letters follow them
--     (HTTPServer: HTTP Server; one is not enough: GPUsOnly is GPUs Only).
--   plain: in the end, the text without each - _ and .
-- search_text: the words of a chunk's name, kind, document_name, header and content. The header is
--   `metadata ->> 'header'`, and NULL for many chunks.
CREATE FUNCTION search_words(asked text) RETURNS tsvector
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
AS $$
DECLARE
    -- Only the first 100,000 characters, because PostgreSQL takes no more than 1 MB of words.
    -- Without the signs by which its parser recognises paths, addresses and tags.
    plain text := regexp_replace(left(asked, 100000), '[/:@&<>+~=?#%]+', ' ', 'g');
    parts text;
BEGIN
    -- The plural of GPU is GPUs, whose stem is not GPU. (\M is the end of a word.)
    plain := regexp_replace(plain, '([A-Z][A-Z])s\M', '\1', 'g');
    parts := replace(replace(replace(plain, '-', ' '), '_', ' '), '.', ' ');
    parts := regexp_replace(
        parts, '(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z]{2})', ' ', 'g');
    plain := replace(replace(replace(plain, '-', ''), '_', ''), '.', '');
    -- The configuration is named: otherwise the words would depend on a setting of the session.
    -- `strip` drops where in the text each word is.
    RETURN strip(to_tsvector('pg_catalog.english', parts || ' ' || plain));
END
$$;

-- PostgreSQL computes this column itself whenever a row is written (GENERATED), and keeps it
-- (STORED).
ALTER TABLE document_chunks ADD COLUMN search_text tsvector GENERATED ALWAYS AS (search_words(
    name || ' ' || kind || ' ' || document_name || ' '
    || coalesce(metadata ->> 'header', '') || ' ' || content)) STORED;
