-- Whose rows a role may see and change. The owner's own tools see every row; all other roles see
-- what the tenant may that the transaction names in the setting course.tenant.
DO $$
DECLARE
    tab regclass;
    -- A subselect is evaluated once for a query, a function in a filter once for a row.
    own text := $own$tenant_id = (SELECT nullif(current_setting('course.tenant', true), ''))$own$;
BEGIN
    -- A policy of the parent does not hold for who names a partition.
    FOR tab IN
        SELECT relid FROM pg_partition_tree('documents')
        UNION ALL SELECT relid FROM pg_partition_tree('document_chunks')
    LOOP
        EXECUTE format($policies$
            ALTER TABLE %1$s ENABLE ROW LEVEL SECURITY;
            CREATE POLICY owner_does_all ON %1$s TO CURRENT_USER USING (true) WITH CHECK (true);
            CREATE POLICY tenant_reads ON %1$s FOR SELECT USING (visibility = 'public' OR %2$s);
            CREATE POLICY tenant_inserts ON %1$s FOR INSERT WITH CHECK (%2$s);
            CREATE POLICY tenant_updates ON %1$s FOR UPDATE USING (%2$s) WITH CHECK (%2$s);
            CREATE POLICY tenant_deletes ON %1$s FOR DELETE USING (%2$s)
        $policies$, tab, own);
    END LOOP;
END
$$;
-- COPY is refused to whoever is subject to policies: the owner may still COPY to a partition.
-- The service's roles own nothing, so that policies hold for them everywhere.
ALTER TABLE documents FORCE ROW LEVEL SECURITY;
ALTER TABLE document_chunks FORCE ROW LEVEL SECURITY;
