import { DelayConfigError } from '../../api/errors.js';
import type { Queries } from '../../database/runner.js';
import { catalogueSql } from './catalogue.sql.js';
import { AS_MIGRATED } from './as-migrated.js';

/** A thing of the schema and its definition: see `catalogueSql`. */
export interface Catalogued {
  kind: string;
  /** The table, or the name of the function. */
  of: string;
  name: string;
  is: string;
}

/** A difference between the tables as they are and as the migrations create them. */
export interface Drift extends Catalogued {
  how: 'missing' | 'changed' | 'added';
  shouldBe: string;
}

/** Paragraphs of `kind table: name definition; name definition`. */
const EXPECTED: readonly Catalogued[] = AS_MIGRATED.trim()
  .split(/\n(?! )/)
  .flatMap((paragraph) => {
    const [head = '', items = ''] = paragraph.split(/:\s+(.*)/s);
    const [kind = '', of = ''] = head.split(' ');
    return items.split(/;\s+/).map((item) => {
      const [name = '', ...is] = item.split(' ');
      return { kind, of, name, is: is.join(' ') };
    });
  });

const OURS: ReadonlySet<string> = new Set(EXPECTED.map(({ of }) => of));

const catalogueKey = ({ kind, of, name }: Catalogued): string => `${kind} ${of} ${name}`;

/** @param found what the catalogue says of the schema */
export function findDrift(found: readonly Catalogued[]): Drift[] {
  const there = new Map(found.map((each) => [catalogueKey(each), each]));
  const wanted = new Set(EXPECTED.map(catalogueKey));
  const tables = new Set(found.filter(({ kind }) => kind === 'table').map(({ of }) => of));
  // Those of a missing table are not told one by one, nor is a sequence without its column.
  const isTold = ({ kind, of }: Catalogued): boolean =>
    kind === 'table' || kind === 'function' || (tables.has(of) && kind !== 'sequence');
  return [
    ...EXPECTED.flatMap((each): Drift[] => {
      const now = there.get(catalogueKey(each));
      if (now?.is === each.is) return [];
      if (now !== undefined) return [{ ...now, how: 'changed', shouldBe: each.is }];
      return isTold(each) ? [{ ...each, is: '', how: 'missing', shouldBe: each.is }] : [];
    }),
    ...found
      .filter((each) => OURS.has(each.of) && !wanted.has(catalogueKey(each)))
      .map((each): Drift => ({ ...each, how: 'added', shouldBe: '' })),
  ];
}

/** Reads the catalogue of a schema. */
export const readCatalogue = async (runner: Queries, schema: string): Promise<Catalogued[]> =>
  (await runner.query(catalogueSql(), [schema])) as Catalogued[];

/**
 * Adds what tables of an older build lack. @throws DelayConfigError when they cannot be completed
 */
export async function completeTables(runner: Queries, schema: string): Promise<void> {
  const drift = findDrift(await readCatalogue(runner, schema));
  for (const { kind, of, name, how, is, shouldBe } of drift) {
    const what = `the ${kind} ${name} of "${schema}".${of}`;
    if (kind === 'column' && how === 'changed') {
      throw otherBuild(`${what} is ${is}, should be ${shouldBe}`, schema);
    }
    if (how !== 'missing' || (kind !== 'column' && kind !== 'constraint')) continue;
    try {
      await runner.query(`ALTER TABLE "${schema}".${of} ADD ${kind} ${name} ${shouldBe}`, []);
    } catch (error) {
      throw otherBuild(`${what} cannot be added: ${(error as Error).message}`, schema, error);
    }
  }
}

const otherBuild = (what: string, schema: string, cause?: unknown): DelayConfigError =>
  new DelayConfigError(
    `${what}. The tables are of another build, and this migration does not change their rows: let \`npx ` +
      'nestjs-delay-queue doctor` list what differs and mend it, or, where nothing in them is needed, ' +
      `drop the schema ${schema} with all that is in it and migrate again`,
    { cause },
  );
