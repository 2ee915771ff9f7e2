import type { Queries } from '../../database/runner.js';
import { ON_PRIMARY } from '../../database/tables.js';
import type { AsText } from '../rows/answers.js';
import { type Finding, problem } from './finding.js';

/**
 * What belongs to a stranger: the schema itself, if this role is to create in it; anything in it;
 * the functions of triggers on its tables. Parameters: the schema, and whether this role is to
 * create in it. One row each, the schema first: what it is, its owner, and its rightful owner.
 *
 * Not a stranger: this role, a role whose rights it has, a superuser, and in the schema its owner
 * and members of its owner. A superuser's having the rights of every role makes none of them
 * trusted.
 */
const strangersSql = (): string => `
${ON_PRIMARY}, home AS MATERIALIZED (
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

type StrangerAnswer = AsText<'kind' | 'identity' | 'owner' | 'rightful'>;

/**
 * The owner of a table or function decides what runs when it is used, with the rights of its users.
 * So a stranger may own nothing in the schema.
 * @param migrates this role creates the tables; if not, the owner of the schema has
 */
export async function findStranger(
  runner: Queries,
  schema: string,
  migrates: boolean,
): Promise<Finding | undefined> {
  const found = (await runner.query(strangersSql(), [schema, migrates])) as StrangerAnswer[];
  const [first] = found;
  if (first === undefined) return undefined;
  const { kind, identity, owner, rightful } = first;
  const isTrigger = kind === 'trigger';
  const others = found.length > 1 ? ` (and ${found.length - 1} more)` : '';
  const who = migrates ? 'the role that migrates' : 'the owner of the schema';
  const altered = isTrigger ? 'FUNCTION …' : `${kind.toUpperCase()} ${identity}`;
  return problem(
    'owners',
    `${kind} ${identity} ${isTrigger ? 'calls a function that ' : ''}belongs to the role ${owner}${others}, ` +
      `not to ${rightful}, ${who}`,
    {
      means: `What ${owner} puts there would run with the rights of others: no node starts, and no migration runs.`,
      todo:
        `Check it, then drop it, or ALTER ${altered} OWNER TO ${rightful}. A role that has the rights of the schema's ` +
        'owner is trusted: GRANT the owner to the role that migrates.',
    },
  );
}
