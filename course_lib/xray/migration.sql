-- Old reports move into rows. The table xray_reports held what a lock file named as one JSON value,
-- {"libs": [{"name": …, "version": …, "description": …}, …]}, to which nothing could refer.
--
-- It runs in one transaction at READ COMMITTED, with the tables of the X-Ray there and the setting
-- course.tenant saying whose projects these are. Its last statement tells what was moved and which
-- reports cannot be understood. With any of these, the caller takes all of it back.

-- A program that writes old reports is waited for, but not for ever: its reports would be lost.
SET LOCAL lock_timeout = '10s';
LOCK TABLE xray_reports IN ACCESS EXCLUSIVE MODE;

CREATE TEMP TABLE old_reports ON COMMIT DROP AS
SELECT id,
       project,
       CASE lower(btrim(language))
           WHEN 'typescript' THEN 'javascript'
           WHEN 'golang' THEN 'go'
           ELSE lower(btrim(language))
       END AS language,
       payload -> 'libs' AS libraries,
       false AS is_superseded,
       NULL::text AS problem
FROM xray_reports;

-- Like a sync, alone among the writers of each language.
SELECT pg_advisory_xact_lock(hashtextextended('course xray ' || language, 0))
FROM (SELECT DISTINCT language FROM old_reports ORDER BY language) AS languages;

-- What was scanned since is newer.
UPDATE old_reports AS report SET is_superseded = true
FROM xray_checksums AS scanned
WHERE scanned.tenant_id = current_setting('course.tenant')
  AND scanned.project = report.project AND scanned.language = report.language;

-- A name or a version is NULL where it cannot be understood.
CREATE TEMP TABLE old_libraries ON COMMIT DROP AS
SELECT report.id,
       library.place - 1 AS place,
       CASE report.language
           WHEN 'python' THEN lower(regexp_replace(told.name, '[-_.]+', '-', 'g'))
           ELSE told.name
       END AS name,
       told.version,
       CASE
           WHEN told.description NOT IN ('', 'UNKNOWN', 'null', 'None')
           THEN rtrim(left(told.description, 300))
       END AS description
FROM old_reports AS report
CROSS JOIN LATERAL jsonb_array_elements(
    CASE jsonb_typeof(report.libraries) WHEN 'array' THEN report.libraries ELSE '[]' END
) WITH ORDINALITY AS library (entry, place)
CROSS JOIN LATERAL (
    SELECT CASE jsonb_typeof(entry -> 'name')
               WHEN 'string' THEN nullif(btrim(entry ->> 'name', E' \t\r\n'), '')
           END AS name,
           CASE coalesce(jsonb_typeof(entry -> 'version'), 'null')
               WHEN 'string' THEN btrim(entry ->> 'version', E' \t\r\n')
               WHEN 'null' THEN ''
           END AS version,
           CASE jsonb_typeof(entry -> 'description')
               WHEN 'string' THEN btrim(regexp_replace(entry ->> 'description', '\s+', ' ', 'g'))
           END AS description
) AS told;

UPDATE old_reports AS report SET problem =
    CASE
        WHEN btrim(project) = '' OR language = '' THEN 'it has no project or no language'
        WHEN jsonb_typeof(libraries) IS DISTINCT FROM 'array'
        THEN 'its payload has no list ''libs'''
        ELSE (
            SELECT format('library %s has no name, or a version that is no text', min(place))
            FROM old_libraries AS library
            WHERE library.id = report.id AND (name IS NULL OR version IS NULL)
            HAVING count(*) > 0
        )
    END
WHERE NOT is_superseded;

-- Of several reports of a project and language, the newest version counts; then the latest report.
-- A version's numbers are compared as numbers (1.10 is newer than 1.9, and rc.10 than rc.9), and a
-- release is newer than its pre-releases.
CREATE TEMP TABLE moved ON COMMIT DROP AS
SELECT DISTINCT ON (project, language, name) project, language, name, version, description
FROM old_reports AS report
JOIN old_libraries AS library USING (id)
CROSS JOIN LATERAL (
    SELECT regexp_replace(
               substring(version FROM '^v?(?:\d+!)?(\d+(?:\.\d+)*)'), '(\.0+)+$', ''
           ) AS numbers,
           split_part(regexp_replace(version, '^v?(?:\d+!)?\d+(?:\.\d+)*', ''), '+', 1) AS rest
) AS part
WHERE NOT is_superseded AND problem IS NULL
ORDER BY project, language, name,
         string_to_array(numbers, '.')::numeric[] DESC NULLS LAST,
         numbers IS NOT NULL AND ltrim(rest, '.-') ~ '^(post|incompatible|$)' DESC,
         regexp_replace(rest, '\d+', '', 'g') DESC,
         ARRAY(SELECT found[1]::numeric FROM regexp_matches(rest, '\d+', 'g') AS found) DESC,
         report.id DESC, library.place DESC;

INSERT INTO xray_packages (language, name, description)
SELECT DISTINCT ON (language, name) language, name, description
FROM moved
ORDER BY language, name, description IS NULL, project
ON CONFLICT (language, name) DO UPDATE
SET description = coalesce(xray_packages.description, excluded.description);

INSERT INTO xray_report_packages (tenant_id, project, language, name, version, description)
SELECT current_setting('course.tenant'), project, language, name, version, description
FROM moved;

-- No lock file has this checksum: the next scan of a project compares it once.
INSERT INTO xray_checksums (tenant_id, project, language, checksum)
SELECT DISTINCT current_setting('course.tenant'), project, language, '' FROM moved;

DROP TABLE xray_reports;

SELECT count(*) AS reports,
       count(DISTINCT project) FILTER (WHERE NOT is_superseded AND problem IS NULL) AS projects,
       (SELECT count(*) FROM moved) AS packages,
       count(*) FILTER (WHERE is_superseded) AS superseded,
       coalesce(
           array_agg(format('report %s of %L, %L: %s', id, project, language, problem) ORDER BY id)
               FILTER (WHERE problem IS NOT NULL),
           '{}'
       ) AS broken
FROM old_reports;
