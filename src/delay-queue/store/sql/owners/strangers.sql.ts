/**
 * What belongs to a stranger: the schema itself, if a role is to create in it; whatever is in it; the functions of triggers
 * on its tables. Parameters: the schema, and whether a role is to create in it. One row each, the schema first: what it is,
 * to whom it belongs, and to whom it should.
 *
 * No stranger is this role, one whose rights it has, or a superuser, who may do anything anyhow. A superuser has the rights
 * of every role, and trusts none of them for that. In the schema its owner is none either, nor a member of its owner.
 */
export const strangersSql = (): string => `
WITH home AS MATERIALIZED (
  SELECT n.oid, n.nspowner AS owner FROM pg_catalog.pg_namespace n WHERE n.nspname = $1::text
),
owned AS (
  SELECT true AS is_home, 'pg_catalog.pg_namespace'::regclass AS kind, h.oid, h.owner FROM home h WHERE $2::bool
  UNION ALL
  SELECT false, d.classid, d.objid, o.refobjid
  FROM home h
  JOIN pg_catalog.pg_depend d ON d.refclassid = 'pg_catalog.pg_namespace'::regclass AND d.refobjid = h.oid
  JOIN pg_catalog.pg_shdepend o ON o.classid = d.classid AND o.objid = d.objid AND o.deptype = 'o'
    AND o.dbid = (SELECT b.oid FROM pg_catalog.pg_database b WHERE b.datname = pg_catalog.current_database())
  UNION ALL
  SELECT false, 'pg_catalog.pg_trigger'::regclass, t.oid, p.proowner
  FROM home h
  JOIN pg_catalog.pg_class c ON c.relnamespace = h.oid
  JOIN pg_catalog.pg_trigger t ON t.tgrelid = c.oid
  JOIN pg_catalog.pg_proc p ON p.oid = t.tgfoid
  WHERE NOT t.tgisinternal
)
SELECT i.type AS kind, i.identity, pg_catalog.quote_ident(r.rolname::text) AS owner,
       pg_catalog.quote_ident(CASE WHEN $2::bool THEN me.rolname::text
                                   ELSE pg_catalog.pg_get_userbyid(h.owner)::text END) AS rightful
FROM owned o
JOIN home h ON true
JOIN pg_catalog.pg_roles r ON r.oid = o.owner
JOIN pg_catalog.pg_roles me ON me.rolname = CURRENT_USER
JOIN LATERAL pg_catalog.pg_identify_object(o.kind, o.oid, 0) i ON true
WHERE o.owner <> me.oid AND NOT r.rolsuper
  AND (me.rolsuper OR NOT pg_catalog.pg_has_role(me.oid, o.owner, 'USAGE'))
  AND (o.is_home OR o.owner <> h.owner AND NOT pg_catalog.pg_has_role(o.owner, h.owner, 'MEMBER'))
ORDER BY o.is_home DESC, i.type, i.identity`;
