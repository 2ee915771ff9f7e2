import { readdir } from 'node:fs/promises';
import { beforeAll, expect, it } from '@jest/globals';
import type { Client } from 'pg';
import { fileDatabase } from '../support/file-database.js';
import { createTestClock, qualifiedTables, Targets } from '../support/statements.js';

/**
 * Every column of every statement is a text: other types are written as a role's settings have it, and read by
 * parsers that an application may have replaced.
 */
const SOURCES = [
  { folder: 'core/store/sql', ending: '.ts' },
  { folder: 'core/database', ending: '.sql.ts' },
  { folder: 'ops', ending: '.sql.ts' },
  { folder: 'cli', ending: '.sql.ts' },
];
const TEXT_OID = 25;
const tables = qualifiedTables('delay_queue');

/** What a statement may be built with, beside its tables: what history keeps, how it waits, which columns. */
const KEPT = ['nothing', 'ends', 'attempts'];
const OPTIONS = [...KEPT, 'waits', 'a while', 'at once', 'usual', 'all', 'recurring'];

const [KEYS, IDS] = [
  ['waits', Targets.KEYS],
  ['waits', Targets.IDS],
];
const REMOVALS = [
  ['attempts', ...KEYS],
  ['attempts', ...IDS],
];

/** Their condition is what a viewer of the dashboard may see. */
const SCOPED = [
  'aheadSql',
  'bucketsSql',
  'deadSql',
  'dueSql',
  'endsSql',
  'limitsSql',
  'namesInScopeSql',
];
const ALL = { range: 'true', where: 'true' };

const PLACES = ['rerun', 'pause', 'quota', 'permit', 'operationChange'].map((place) => [
  place,
  'true',
]);

/** Those that are built with something else. */
const OTHERS: Record<string, unknown[][]> = {
  cancelSql: REMOVALS,
  rescheduleSql: [['waits'], ['a while'], ['at once'], KEYS, IDS],
  runNowSql: [KEYS, IDS],
  discardDeadSql: REMOVALS,
  retryDeadSql: [KEYS, IDS],
  listSql: [
    ['true', 'read'],
    ['true', 'unread'],
  ],
  idsSql: [['true']],
  countByStateSql: [['true']],
  countSql: [['true']],
  countUpToSql: [['history', 'true']],
  countWalkedSql: [['ended', ALL]],
  ...Object.fromEntries(SCOPED.map((name) => [name, [['true'], ["d.name <> ''"]]])),
  searchSql: [
    ['ended', 'walk', ALL],
    ['wake', 'few', ALL],
  ],
  walkEndSql: [
    ['wake', 'true'],
    ['ended', 'true'],
  ],
  endedSql: [['true']],
  eraseSql: PLACES,
  forgetSql: [['node'], ['abort'], ['pause'], ['quota']],
  countErasedSql: PLACES,
  eraseHistorySql: [
    ['true', 'found'],
    ['true', 'walked'],
  ],
  countEndedSql: [['true']],
  explainSql: [['key'], ['id']],
  groupStatsSql: [
    ['true', 'overdue'],
    ['true', 'oldestOverdueMs'],
  ],
};
/** All but this one are built with nothing but that. */
const ALSO_WITH_OPTIONS = 'cancelSql';

type Build = (...options: unknown[]) => string;

const database = fileDatabase();
let client: Client;
/** By file and builder. */
const statements = new Map<string, Set<string>>();

beforeAll(async () => {
  client = await database.connect();
  for (const statement of createTestClock(
    qualifiedTables({ schema: 'delay_queue', clock: 'test' }),
  )) {
    await client.query(statement);
  }
  // The one that the parameters name: a removal that finds none is an error.
  await client.query(
    `INSERT INTO delay_queue.delay (id, name, payload, due_at, wake_at, created_at, epoch)
     OVERRIDING SYSTEM VALUE VALUES (1, 'test.a', '{}', now(), now(), now(), 1)`,
  );
  for (const { folder, ending } of SOURCES) {
    const url = new URL(`../../src/delay-queue/${folder}/`, import.meta.url);
    const files = await readdir(url, { recursive: true });
    for (const file of files.filter((name) => name.endsWith(ending))) {
      const exported = (await import(new URL(file, url).href)) as Record<string, unknown>;
      for (const [name, build] of Object.entries(exported)) {
        if (name.endsWith('Sql')) statements.set(`${file} ${name}`, textsOf(name, build as Build));
      }
    }
  }
});

function textsOf(name: string, build: Build): Set<string> {
  // What it cannot be built with leaves a gap, or fails.
  const builtWith = (...options: unknown[]): string => {
    try {
      return build(tables, ...options);
    } catch {
      return 'undefined';
    }
  };
  const others = (OTHERS[name] ?? []).map((options) => build(tables, ...options));
  if (name in OTHERS && name !== ALSO_WITH_OPTIONS) return new Set(others);
  const texts = OPTIONS.flatMap((first) => OPTIONS.map((second) => builtWith(first, second)));
  texts.push(...others);
  return new Set(texts.filter((text) => !text.includes('undefined')));
}

/** Something of the type that the text says: no array has a row in it. */
function parametersOf(sql: string): unknown[] {
  const parameters: unknown[] = [];
  for (const [, number, type = ''] of sql.matchAll(/\$(\d+)::(\w+(?:\[\])?)/g)) {
    parameters[Number(number) - 1] = type.endsWith('[]') ? '{}' : (VALUES[type] ?? null);
  }
  return parameters;
}

const VALUES: Record<string, string> = {
  text: '60000',
  jsonb: '{}',
  bool: 'true',
  int: '60000',
  bigint: '1',
  float8: '1',
};

it('all columns of all statements are texts', async () => {
  expect(statements.size).toBeGreaterThan(20);
  const others: string[] = [];
  for (const [name, texts] of statements) {
    expect(texts.size).toBeGreaterThan(0);
    for (const sql of texts) {
      await client.query('BEGIN');
      const { fields } = await client.query(sql, parametersOf(sql));
      await client.query('ROLLBACK');
      for (const { name: column, dataTypeID } of fields) {
        if (dataTypeID !== TEXT_OID) others.push(`${name}: ${column} is ${dataTypeID}`);
      }
    }
  }
  expect(others).toEqual([]);
});
