import { afterEach, beforeEach, expect, it } from '@jest/globals';
import type { DelayExplanation, DelayExplanationCause, ListedDelay } from 'nestjs-delay-queue';
import { Client } from 'pg';
import type { DelayNode } from '../support/delay-node.js';
import { Stage } from './engine/support/stage.js';
import { groupNumber, spread } from '../support/engine-parts.js';

/**
 * Every cause and every pair of causes, and all of them together, as they stand in the tables. What
 * `explain` says of each is compared with a model that is written from its documentation alone.
 */

let stage: Stage;
let node: DelayNode;
let sessions: Client[];

const HOUR = 3_600_000;

beforeEach(async () => {
  stage = await Stage.open();
  sessions = [];
  // A node is late after an hour and a quarter, and gone after two and a half.
  node = await stage.start({ options: { worker: false, loadEvery: '50m', horizon: '1h' } });
});

afterEach(async () => {
  for (const one of sessions) await one.end();
  await stage.close();
});

async function session(application: string): Promise<Client> {
  const client = new Client({ connectionString: stage.url, application_name: application });
  await client.connect();
  sessions.push(client);
  return client;
}

const ROWS = {
  notDue: `due_at = now() + interval '1 hour', wake_at = now() + interval '1 hour'`,
  'given back': `wake_at = now() + interval '1 hour'`,
  retrying: `wake_at = now() + interval '1 hour', attempts = 1, last_error = 'Error: no'`,
  running: `leased_until = now() + interval '1 hour', leased_by = 'here', attempts = 1`,
  'running on a late node': `leased_until = now() + interval '1 hour', leased_by = 'late', attempts = 1`,
  'left by a node that is gone': `leased_until = now() + interval '1 hour', leased_by = 'gone', attempts = 1`,
  'left by a node that is unknown': `leased_until = now() + interval '1 hour', leased_by = 'unknown', attempts = 1`,
  'left by a process that is gone': `leased_until = now() + interval '1 hour', leased_by = 'here', lease_lock = 42, attempts = 1`,
  'running in a transaction': `leased_until = now() + interval '1 hour', leased_by = 'here', lease_lock = 43, attempts = 1`,
  'left long ago': `leased_until = now() - interval '1 minute', leased_by = 'gone', attempts = 1`,
  'leased for ever': `leased_until = 'infinity', leased_by = 'gone', attempts = 1`,
  overdue: `wake_at = now() - interval '1 hour'`,
  dead: `wake_at = 'infinity', attempts = 3, last_error = 'Error: no'`,
  unreadable: `wake_at = 'infinity', attempts = -5,
    last_error = 'the row cannot be read, and was set aside: attempts must not be negative'`,
  ended: '',
  absent: '',
} as const;

type Row = keyof typeof ROWS;

/** Of the name, and of the group; in minutes from now, null without an end. */
const PAUSES = {
  none: {},
  'of the name': { name: null },
  'of the group': { group: null },
  'of both': { name: 600, group: null },
  over: { name: -10 },
  'that ends first': { name: 30 },
} as const;

type Paused = keyof typeof PAUSES;

const NODES = ['here', 'late', 'gone', 'none', 'here and late', 'late and idle'] as const;

/** As claims leave them: until when its rate is used up, how many slots there were, and how many attempts run. */
const LIMITS = {
  none: undefined,
  rate: [`now() + interval '1 hour'`, 'NULL', 0],
  'rate that has refilled': [`now() - interval '1 second'`, 'NULL', 0],
  concurrency: ['NULL', '2', 2],
  'concurrency with a free slot': ['NULL', '2', 1],
  both: [`now() + interval '1 hour'`, '1', 1],
} as const;

type Limit = keyof typeof LIMITS;

/** Whose open transaction has locked the row, and whether another session waits for it. */
const LOCKS = ['none', 'holds', 'holds, and one waits'] as const;

interface Case {
  row: Row;
  lock: (typeof LOCKS)[number];
  paused: Paused;
  on: (typeof NODES)[number];
  limit: Limit;
  /** '': the limit is that of the name. */
  limited: '' | 'g';
}

/* The model. */

const IS_FREE: readonly Row[] = ['overdue', 'left long ago', 'leased for ever'];
const IN_AN_HOUR: readonly Row[] = ['notDue', 'given back', 'retrying'];

function pausesOf({ paused }: Case, inMinutes: number): string[] {
  const given: { name?: number | null; group?: number | null } = PAUSES[paused];
  const { name, group } = given;
  const lasts = (end: number | null | undefined): boolean =>
    end !== undefined && (end === null || end > inMinutes);
  return [...(lasts(group) ? ['paused g'] : []), ...(lasts(name) ? ['paused'] : [])];
}

function limitsOf({ limit, limited }: Case): string[] {
  const whose = limited === '' ? '' : ' g';
  if (limit === 'rate') return [`throttled rate${whose}`];
  if (limit === 'concurrency') return [`throttled concurrency${whose} 2 of 2`];
  if (limit !== 'both') return [];
  return [`throttled rate${whose}`, `throttled concurrency${whose} 1 of 1`];
}

/** The only one that is left hangs, or the one that owns it; an idle node owns nothing. */
function hangs({ on, limit, limited }: Case, id: string | null): boolean {
  if (on !== 'here and late') return on.startsWith('late');
  const isByGroup = limit !== 'none' && limited === 'g';
  return spread(isByGroup ? groupNumber('g') : Number(id)) % 2 === 1;
}

/** The first cause, and the others in their order. */
function expected(one: Case, id: string | null): string[] {
  const { row, on, lock } = one;
  const served = on !== 'gone' && on !== 'none';
  const unserved = served ? [] : [on === 'gone' ? 'unserved gone' : 'unserved'];
  const later = [...pausesOf(one, 60), ...unserved];
  if (row === 'given back') return ['notDue', ...later];
  if (IN_AN_HOUR.includes(row)) return [row, ...later];
  if (row === 'running') return ['running here'];
  if (row === 'running on a late node') return ['running late', 'nodeStalled late'];
  if (row === 'running in a transaction') {
    return ['running here', ...(lock === 'none' ? [] : ['locked row'])];
  }
  if (row.startsWith('left by')) {
    const who = row.endsWith('unknown') ? 'unknown' : row.includes('process') ? 'here' : 'gone';
    return [`orphaned ${who}`, ...later];
  }
  if (!IS_FREE.includes(row)) return [row === 'ended' ? 'ended completed' : row];
  const holds = [
    ...pausesOf(one, 0),
    ...unserved,
    ...(served ? [...limitsOf(one), ...(hangs(one, id) ? ['nodeStalled late'] : [])] : []),
    ...(served && lock !== 'none' ? ['locked row'] : []),
  ];
  return holds.length > 0 ? holds : ['queued'];
}

/* What was answered, in the words of the model. */

const group = (of: { group: string | null }): string => (of.group === null ? '' : ` ${of.group}`);

function told(cause: DelayExplanationCause): string {
  switch (cause.reason) {
    case 'locked':
      return `locked ${cause.what}`;
    case 'claimed':
    case 'running':
    case 'orphaned':
      return `${cause.reason} ${cause.node}`;
    case 'paused':
      return `paused${group(cause)}`;
    case 'unserved':
      return cause.lastServedBy === null ? 'unserved' : `unserved ${cause.lastServedBy}`;
    case 'throttled':
      return `throttled ${cause.limit}${group(cause)}${cause.of === null ? '' : ` ${cause.running} of ${cause.of}`}`;
    case 'nodeStalled':
      return `nodeStalled ${cause.nodes.map(({ name }) => name).join()}`;
    case 'ended':
      return `ended ${cause.state}`;
    default:
      return cause.reason;
  }
}

const near = (instant: Date | null, inMs: number): boolean =>
  instant !== null && Math.abs(instant.getTime() - Date.now() - inMs) < HOUR / 6;

/** What is wrong with the numbers of a cause; a clock that is some minutes off would be found. */
function odd(cause: DelayExplanationCause): string[] {
  const wrong: string[] = [];
  const holds = (what: string, is: boolean): void => void (is || wrong.push(what));
  const { reason } = cause;
  if (/undefined|null|NaN|Invalid|Infinity|-\d/.test(cause.text.replace(/\d+-\d+-\d+/, '')))
    wrong.push(cause.text);
  if (reason === 'notDue')
    holds('in', near(cause.wakeAt, HOUR) && Math.abs(cause.inMs - HOUR) < HOUR / 6);
  if (reason === 'retrying')
    holds('next', near(cause.nextAt, HOUR) && cause.attempt === 1 && cause.error === 'Error: no');
  if (reason === 'locked')
    holds(
      'holder',
      cause.application === 'holder' &&
        cause.state === 'idle in transaction' &&
        near(cause.since, 0),
    );
  if (reason === 'running' || reason === 'claimed')
    holds('lease', near(cause.leaseUntil, HOUR) && cause.attempt === 1 && cause.since === null);
  if (reason === 'orphaned') {
    holds('lease', near(cause.leaseEndsAt, HOUR));
    const silent = { gone: -5 * HOUR, here: 0 }[cause.node];
    holds(
      'silent',
      silent === undefined ? cause.silentSince === null : near(cause.silentSince, silent),
    );
  }
  if (reason === 'paused') holds('paused', near(cause.pausedAt, -HOUR) && cause.why === 'why');
  if (reason === 'throttled') {
    const isRate = cause.limit === 'rate';
    holds('since', near(cause.since, -HOUR));
    holds('next', isRate ? near(cause.nextAt, HOUR) : cause.nextAt === null);
  }
  if (reason === 'unserved' && cause.lastServedBy !== null)
    holds('seen', near(cause.lastSeenAt, -5 * HOUR));
  if (reason === 'nodeStalled') holds('silent', Math.abs(cause.silentMs - 2 * HOUR) < HOUR / 6);
  if (reason === 'dead') holds('dead', cause.attempts === 3 && cause.error === 'Error: no');
  if (reason === 'unreadable') holds('column', cause.error.includes('attempts must'));
  if (reason === 'ended')
    holds('end', near(cause.endedAt, 0) && cause.node === 'here' && cause.latenessMs === 1.5);
  return wrong.map((what) => `${what} of ${reason}: ${cause.text}`);
}

/* The tables. */

const insert = (values: string): string =>
  `INSERT INTO delay_queue.delay (name, key, group_id, payload, due_at, wake_at, created_at) VALUES ${values}`;

/** SQL that makes it, the only one of its name. */
function plant({ name, row, paused, limit, limited }: Case & { name: string }): string {
  const one = (key: string) => `('${name}', '${key}', 'g', 'null', now(), now(), now())`;
  const of = `WHERE name = '${name}'`;
  const statements: string[] = [];
  if (row === 'ended') {
    statements.push(
      ...['superseded', 'completed'].map(
        (state, epoch) =>
          `INSERT INTO delay_queue.history (id, ended_at, due_at, created_at, lateness_ms, epoch, attempts, state, name, key, node)
           VALUES (${90_000 + Number(name.slice(6))}, clock_timestamp(), now(), now(), 1.5, ${epoch}, 1, '${state}', '${name}', 'asked', 'here')`,
      ),
    );
  } else if (row !== 'absent') {
    statements.push(insert(one('asked')), `UPDATE delay_queue.delay SET ${ROWS[row]} ${of}`);
  }
  const [fullUntil, slots, running] = LIMITS[limit] ?? [];
  if (running !== undefined) {
    statements.push(
      `INSERT INTO delay_queue.quota (name, group_id, tokens, filled_at, full_since, full_until, full_slots)
       VALUES ('${name}', '${limited}', 0, now(), now() - interval '1 hour', ${fullUntil}, ${slots})`,
      // One that counts no more: its claim is over.
      `INSERT INTO delay_queue.permit (name, group_id, id, epoch) SELECT name, 'g', id, 99 FROM delay_queue.delay ${of}`,
    );
    for (let n = 0; n < running; n += 1) statements.push(insert(one(`runs-${n}`)));
    statements.push(
      `UPDATE delay_queue.delay SET leased_until = now() + interval '1 hour', leased_by = 'here', epoch = 1
       ${of} AND key LIKE 'runs-%'`,
      `INSERT INTO delay_queue.permit (name, group_id, id, epoch) SELECT name, 'g', id, 1 FROM delay_queue.delay
       ${of} AND key LIKE 'runs-%'`,
    );
  }
  for (const [whose, minutes] of Object.entries(PAUSES[paused])) {
    const until = minutes === null ? `'infinity'` : `now() + interval '${minutes} minutes'`;
    statements.push(
      `INSERT INTO delay_queue.pause (name, group_id, paused_at, until, reason)
       VALUES ('${name}', '${whose === 'group' ? 'g' : ''}', now() - interval '1 hour', ${until}, 'why')`,
    );
  }
  return statements.join(';');
}

const ALL: readonly Case[] = (Object.keys(ROWS) as Row[])
  .flatMap((row) => (Object.keys(PAUSES) as Paused[]).map((paused) => ({ row, paused })))
  .flatMap((one) => NODES.map((on) => ({ ...one, on })))
  .flatMap((one) => (Object.keys(LIMITS) as Limit[]).map((limit) => ({ ...one, limit })))
  .flatMap((one) => (['', 'g'] as const).map((limited) => ({ ...one, limited })))
  // Limits count where a delay is due; elsewhere one is enough to see that they do not.
  .filter(({ row, limit, limited, paused }) => {
    if (row === 'overdue') return limited === '' || limit !== 'none';
    if (limit === 'none') return limited === '';
    return limit === 'both' && (IS_FREE.includes(row) || (limited === '' && paused === 'none'));
  })
  .flatMap((one) => LOCKS.map((lock) => ({ ...one, lock })))
  // Nothing else counts for a row that runs; of a due one, a lock comes last.
  .filter(({ row, lock, paused, on, limit, limited }) => {
    if (row === 'running in a transaction')
      return paused === 'none' && on === 'here' && limit === 'none';
    if (lock === 'none') return true;
    return (
      row === 'overdue' && lock === 'holds' && limited === '' && ['none', 'both'].includes(limit)
    );
  });

const CASES = ALL.map((one, index) => ({ ...one, name: `test.n${index}` }));

const among = (...locks: Case['lock'][]): string[] =>
  CASES.filter(({ lock }) => locks.includes(lock)).map(({ name }) => name);

/** Transactions that stay open, and sessions that wait for one of them. */
async function holdRows(): Promise<void> {
  const process = await session('process');
  await process.query('SELECT pg_advisory_lock(43)');
  for (const names of [among('holds'), among('holds, and one waits')]) {
    const holder = await session('holder');
    await holder.query('BEGIN');
    await holder.query(
      `SELECT FROM delay_queue.delay WHERE name = ANY ($1) AND key = 'asked' FOR UPDATE`,
      [names],
    );
  }
  for (const name of among('holds, and one waits')) {
    const waiter = await session('waiter');
    waiter
      .query(`SELECT FROM delay_queue.delay WHERE name = $1 AND key = 'asked' FOR UPDATE`, [name])
      .catch(() => {});
  }
  await stage.until<{ waiting: number; old: boolean }>(
    `SELECT count(*) FILTER (WHERE application_name = 'waiter' AND wait_event_type = 'Lock')::int AS waiting,
            bool_and(xact_start < clock_timestamp() - interval '1 second') FILTER (WHERE application_name = 'holder') AS old
     FROM pg_stat_activity WHERE datname = current_database()`,
    ([now]) => now!.old && now!.waiting === among('holds, and one waits').length,
  );
}

async function plantAll(): Promise<void> {
  // As a database has it that was restored without it.
  await stage.sql('ALTER TABLE delay_queue.delay DROP CONSTRAINT delay_leased_until_readable');
  const hours = { here: 0, late: 2, gone: 5, idle: 9 };
  for (const [id, ago] of Object.entries(hours)) {
    const names = CASES.filter(({ on }) => on.split(' and ').includes(id)).map(({ name }) => name);
    await stage.sql(
      `INSERT INTO delay_queue.node (id, names, present, started_at, seen_at)
       VALUES ($1, $2, false, now(), now() - $3::int * interval '1 hour')`,
      [id, names, ago],
    );
  }
  await stage.sql(
    `UPDATE delay_queue.node SET idle_until = now() + interval '1 hour' WHERE id = 'idle'`,
  );
  for (let from = 0; from < CASES.length; from += 100) {
    const some = CASES.slice(from, from + 100).map(plant);
    await stage.sql(some.filter((sql) => sql !== '').join(';'));
  }
  await holdRows();
}

const AT_A_TIME = 8;

it('of all causes the one that the engine acts by comes first, the others after it, with true numbers', async () => {
  await plantAll();
  const wrong: unknown[] = [];
  const explainings = new Map<string, Promise<DelayExplanation>>();
  for (const [at, one] of CASES.entries()) {
    // Some at a time: waiting for each answer took most of the time.
    for (const { name } of CASES.slice(at, at + AT_A_TIME)) {
      if (!explainings.has(name)) {
        explainings.set(name, node.admin.explain(name as `test.${string}`, 'asked'));
      }
    }
    const found = await explainings.get(one.name)!;
    const { also, ...first } = found;
    const causes: DelayExplanationCause[] = [first, ...also];
    const said = causes.map(told);
    const model = expected(one, found.id);
    const odds = causes.flatMap(odd);
    if (said.join() !== model.join() || odds.length > 0) wrong.push({ ...one, said, model, odds });
  }
  expect(wrong).toEqual([]);
  expect(new Set(CASES.map((one) => expected(one, '1')[0])).size).toBeGreaterThan(15);
});

it('by its id it is the same, and `waitsFor` says the same in short', async () => {
  await plantAll();
  const short: Record<string, string> = {
    notDue: 'due',
    retrying: 'retry',
    running: 'attempt',
    orphaned: 'attempt',
    paused: 'pause',
    unserved: 'node',
    throttled: 'limit',
    nodeStalled: 'turn',
    locked: 'turn',
    queued: 'turn',
  };
  const listed: ListedDelay[] = [];
  for (let after = '1'; ;) {
    const page = await node.admin.list({ key: 'asked' }, { limit: 1_000, after });
    listed.push(
      ...page.filter(
        ({ name }) =>
          Number(name.slice(6)) % 7 === 0 || among('holds', 'holds, and one waits').includes(name),
      ),
    );
    if (page.length < 1_000) break;
    after = page.at(-1)!.id;
  }
  const reasons = new Set<string>();
  for (const { id, name, waitsFor } of listed) {
    const byId = await node.admin.explain({ id });
    const byKey = await node.admin.explain(name as `test.${string}`, 'asked');
    expect([byId.reason, byId.id, byId.key]).toEqual([byKey.reason, id, 'asked']);
    expect([name, short[byId.reason] ?? null]).toEqual([name, waitsFor?.what ?? null]);
    reasons.add(byId.reason);
  }
  expect([...reasons].toSorted()).toEqual([...Object.keys(short), 'dead', 'unreadable'].toSorted());
  const [{ id }] = (await stage.sql<{ id: string }>(
    `SELECT max(id)::text AS id FROM delay_queue.history`,
  )) as [{ id: string }];
  expect(await node.admin.explain({ id })).toMatchObject({ reason: 'ended', id, key: 'asked' });
});
