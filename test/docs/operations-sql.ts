import type { Client } from 'pg';
import { codeBlocks, readDocument, section } from './documents.js';

export const OPERATIONS = readDocument('docs/operations.md');

/** The SQL blocks under a heading of the document. */
export function blocksUnder(heading: string): string[] {
  const blocks = codeBlocks({ path: OPERATIONS.path, text: section(OPERATIONS, heading) }, 'sql');
  if (blocks.length === 0) throw new Error(`no SQL under "${heading}"`);
  return blocks.map(({ code }) => code);
}

/** Roles belong to the whole server, and the database has a name of its own here. */
export function adapted(code: string, databaseUrl: string, roles: string): string {
  return code
    .replaceAll(/\bDATABASE shop\b/g, `DATABASE ${new URL(databaseUrl).pathname.slice(1)}`)
    .replaceAll(/\bshop_(owner|app|watch)\b/g, `${roles}_$1`);
}

/** Those that the document's blocks have made, with all rights they have in this database. */
export async function dropRoles(client: Client, roles: string): Promise<void> {
  const { rows } = await client.query<{ name: string }>(
    'SELECT rolname AS name FROM pg_roles WHERE rolname LIKE $1',
    [`${roles}%`],
  );
  for (const { name } of rows) await client.query(`DROP OWNED BY ${name}; DROP ROLE ${name}`);
}
