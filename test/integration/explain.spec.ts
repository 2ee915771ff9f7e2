import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { type DelayExplanation, DiscardDelay } from 'nestjs-delay-queue';
import { Client } from 'pg';
import { plainHandler, type Signal, signal } from '../support/delay-node.js';
import { until } from '../support/until.js';
import { Stage } from './engine/support/stage.js';
import { SelectionStore } from '../support/engine-parts.js';

/** What `explain` says, beside what the engine then does. */

let stage: Stage;
let gates: Signal<void>[];

beforeEach(async () => {
  stage = await Stage.open();
  gates = [];
});

afterEach(async () => {
  for (const gate of gates) gate.resolve();
  await stage.close();
});

const HOUR_MS = 3_600_000;

const TIMES = ['due', 'notDue', 'retrying', 'dead'] as const;

/** What holds a delay, each planted as it happens: a call, a claim, a failure. */
interface Held {
  time: (typeof TIMES)[number];
  paused: boolean;
  groupPaused: boolean;
  unserved: boolean;
  /** Another attempt has the only slot. */
  throttled: boolean;
}

const isTrue = [false, true];

/** Each cause and each pair. Only of a name that is served is a limit known, or can an attempt fail. */
const HELD: readonly Held[] = TIMES.flatMap((time) => isTrue.map((paused) => ({ time, paused })))
  .flatMap((one) => isTrue.map((groupPaused) => ({ ...one, groupPaused })))
  .flatMap((one) => isTrue.map((unserved) => ({ ...one, unserved })))
  .flatMap((one) => isTrue.map((throttled) => ({ ...one, throttled })))
  .filter(({ time, ...rest }) => {
    const causes = Object.values(rest).filter(Boolean).length + (time === 'due' ? 0 : 1);
    return causes === 1 || causes === 2;
  })
  .filter(({ time, unserved, throttled }) =>
    unserved ? !throttled && (time === 'due' || time === 'notDue') : true,
  );

/** In which order the causes are told, and each once the others before it are over. */
const expected = ({ time, paused, groupPaused, unserved, throttled }: Held): string[] => [
  ...(time === 'due' ? [] : [time]),
  ...(paused ? ['paused null'] : []),
  ...(groupPaused ? ['paused g'] : []),
  ...(unserved ? ['unserved'] : []),
  ...(throttled ? ['throttled'] : []),
];

/** What the explanation says holds it as well: a limit only once it is due, and nothing of a dead letter. */
const alsoNow = ([first, ...rest]: string[]): string[] => {
  if (first === 'dead') return [];
  return first === 'notDue' || first === 'retrying'
    ? rest.filter((cause) => cause !== 'throttled')
    : rest;
};

const told = (cause: DelayExplanation['also'][number]): string =>
  cause.reason === 'paused' ? `paused ${cause.group}` : cause.reason;

it('each cause and each pair is told, and the delay runs once all of them are lifted, and not before', async () => {
  const fired = new Set<string>();
  const cases = HELD.map((held, index) => ({ held, name: `test.h${index}` as const }));
  const handler = (name: `test.${string}`, gate: Signal<void>, fails: Held['time']) => {
    let first = true;
    return plainHandler(
      name,
      async ({ key }) => {
        if (key === 'blocks') return await gate.promise;
        if (first && fails === 'dead') {
          first = false;
          throw new DiscardDelay('no stock');
        }
        if (first && fails === 'retrying') {
          first = false;
          throw new Error('no stock');
        }
        fired.add(name);
      },
      { global: { concurrency: 1 }, backoff: { base: HOUR_MS, max: HOUR_MS, jitter: 0 } },
    );
  };
  const [providers, own] = [[], new Map<string, Signal<void>>()] as [
    ReturnType<typeof handler>[],
    Map<string, Signal<void>>,
  ];
  for (const { name, held } of cases) {
    const gate = signal();
    gates.push(gate);
    own.set(name, gate);
    if (!held.unserved) providers.push(handler(name, gate, held.time));
  }
  const node = await stage.start({ providers, options: { nodeName: 'here' } });
  const { admin, delays } = node;

  const seen = async (name: `test.${string}`, wanted: readonly string[]) => {
    const found = await until(
      () => admin.explain(name, 'k'),
      (now) => told(now) === wanted[0],
      { what: `${name} to be ${wanted[0]}` },
    );
    expect([name, told(found), found.also.map(told)]).toEqual([
      name,
      wanted[0],
      alsoNow([...wanted]),
    ]);
    expect([name, fired.has(name)]).toEqual([name, false]);
    return found;
  };

  const lift = async (name: `test.${string}`, cause: string, held: Held): Promise<unknown> => {
    switch (cause) {
      case 'paused null':
        return await admin.resume(name);
      case 'paused g':
        return await admin.resume(name, { group: 'g' });
      case 'unserved':
        return await stage.start({
          providers: [handler(name, own.get(name)!, held.time)],
          options: { nodeName: `for ${name}` },
        });
      case 'throttled':
        return own.get(name)!.resolve();
      case 'dead':
        return await admin.retryDead([{ name, key: 'k' }]);
      default:
        return await admin.runNow([{ name, key: 'k' }]);
    }
  };

  for (const { name, held } of cases) {
    const { time } = held;
    const options = { key: 'k', group: 'g', after: time === 'notDue' ? '1h' : 0 };
    if (time === 'retrying' || time === 'dead') {
      await delays.schedule(name, null, options);
      await until(
        () => admin.explain(name, 'k'),
        ({ reason }) => reason === time,
      );
    }
    if (held.throttled) {
      await delays.schedule(name, null, { key: 'blocks', after: 0 });
      await until(
        () => admin.explain(name, 'blocks'),
        ({ reason }) => reason === 'running',
      );
    }
    if (held.paused) await admin.pause(name);
    if (held.groupPaused) await admin.pause(name, { group: 'g' });
    if (time === 'due' || time === 'notDue') await delays.schedule(name, null, options);
    for (let left = expected(held); left.length > 0; left = left.slice(1)) {
      await seen(name, left);
      await lift(name, left[0]!, held);
    }
  }
  for (const { name } of cases) {
    const end = await until(
      () => admin.explain(name, 'k'),
      ({ reason }) => reason === 'ended',
    );
    expect([name, fired.has(name), end]).toEqual([
      name,
      true,
      expect.objectContaining({ state: 'completed', also: [] }),
    ]);
  }
  expect(cases.length).toBeGreaterThan(20);
});

it('a delay that is due and held by nothing says its place, and what its nodes run', async () => {
  const gate = signal();
  gates.push(gate);
  const node = await stage.start({
    providers: [plainHandler('test.slow', () => gate.promise, { concurrency: 2 })],
    options: { nodeName: 'here' },
  });
  const schedule = (key: string, group: string) =>
    node.delays.schedule('test.slow', null, { key, group, after: 0 });
  await schedule('r1', 'a');
  await schedule('r2', 'a');
  await until(
    () => node.admin.explain('test.slow', 'r2'),
    ({ reason }) => reason === 'running',
  );
  for (const [key, group] of [
    ['w1', 'a'],
    ['w2', 'b'],
    ['w3', 'a'],
  ] as const)
    await schedule(key, group);
  const last = await schedule('w4', 'a');
  await stage.sql(
    `INSERT INTO delay_queue.delay (name, payload, due_at, wake_at, created_at)
     SELECT 'test.other', 'null', now() - interval '1 hour', now() - interval '1 hour', now()`,
  );
  expect(await node.admin.explain({ id: last.id })).toMatchObject({
    reason: 'queued',
    name: 'test.slow',
    key: 'w4',
    dueAt: last.dueAt,
    since: last.dueAt,
    beforeInName: 3,
    beforeInGroup: 2,
    atLeast: false,
    nodes: [{ name: 'here', running: 2 }],
    also: [],
    text: expect.stringMatching(
      /^test\.slow w4 has been due for .* and waits for a slot: 3 delays of its name come before it, 2 of its group; 1 node serves the name and runs 2$/,
    ),
  });
});

it('a crowd before it is counted to 10,000, and says so', async () => {
  const node = await stage.start({ options: { worker: false } });
  await stage.sql(
    `INSERT INTO delay_queue.node (id, names, present, started_at, seen_at) VALUES ('n', '{test.crowd}', false, now(), now());
     INSERT INTO delay_queue.delay (name, key, payload, due_at, wake_at, created_at)
     SELECT 'test.crowd', n::text, 'null', t, t, t
     FROM generate_series(1, 10500) n, LATERAL (SELECT now() - interval '1 hour' + n * interval '1 ms') AS at(t)`,
  );
  const at = async (key: string) => {
    const found = await node.admin.explain('test.crowd', key);
    return found.reason === 'queued' ? [found.beforeInName, found.atLeast] : found;
  };
  expect(await at('1')).toEqual([0, true]);
  expect(await at('10001')).toEqual([10_000, true]);
  expect(await at('10400')).toEqual([10_000, true]);
  await stage.sql(`DELETE FROM delay_queue.delay WHERE key::int > 10000`);
  expect(await at('10000')).toEqual([9_999, false]);
});

it('rows that cannot be read, keys that end twice and ids that never were are explained', async () => {
  const gate = signal();
  gates.push(gate);
  const node = await stage.start({
    providers: [
      plainHandler('test.a', () => {}),
      plainHandler('test.dies', () => Promise.reject(new Error('no')), { maxAttempts: 1 }),
      plainHandler('test.held', () => gate.promise),
    ],
    options: { nodeName: 'here', history: { attempts: true } },
  });
  const { admin, delays } = node;
  const begunAt = new Date(Date.now() - HOUR_MS);
  for (const [name, reason] of [
    ['test.dies', 'dead'],
    ['test.held', 'running'],
  ] as const) {
    await delays.schedule(name, null, { key: 'k', after: 0 });
    const found = await until(
      () => admin.explain(name, 'k'),
      (now) => now.reason === reason,
    );
    // Where history keeps attempts, it is known since when.
    expect('since' in found && found.since && found.since > begunAt).toBe(true);
    expect(found).toMatchObject({ [reason === 'dead' ? 'attempts' : 'attempt']: 1 });
  }
  await stage.sql(
    `INSERT INTO delay_queue.delay (name, key, payload, due_at, wake_at, created_at, attempts)
     VALUES ('test.a', 'odd', 'null', now(), now(), now(), -5)`,
  );
  const odd = await until(
    () => admin.explain('test.a', 'odd'),
    ({ reason }) => reason === 'unreadable',
  );
  expect(odd).toMatchObject({ error: expect.stringContaining('attempts must not be negative') });

  const { id } = await delays.schedule('test.a', { n: 1 }, { key: 'k', after: 0 });
  const ran = await until(
    () => admin.explain('test.a', 'k'),
    ({ reason }) => reason === 'ended',
  );
  expect(ran).toMatchObject({ id, state: 'completed', node: 'here', attempts: 1, error: null });
  const again = await delays.schedule('test.a', { n: 1 }, { key: 'k', after: '1h' });
  await delays.cancel('test.a', 'k');
  const cancelled = { reason: 'ended', id: again.id, state: 'cancelled', latenessMs: null };
  expect(await admin.explain('test.a', 'k')).toMatchObject(cancelled);
  expect(await admin.explain({ id })).toMatchObject({ id, state: 'completed' });
  expect(await admin.explain('test.a', 'never')).toMatchObject({ reason: 'absent', id: null });
  expect(await admin.explain({ id: '99999' })).toMatchObject({ reason: 'absent', name: null });
});

it('in a transaction it sees what that has written, even where nothing may be written', async () => {
  const { admin, delays, dataSource } = await stage.start({ options: { worker: false } });
  await dataSource.transaction(async (manager) => {
    await delays.schedule('test.a', { n: 1 }, { key: 'k', after: '1h', manager });
    const inside = await admin.explain('test.a', 'k', { manager });
    expect(inside).toMatchObject({ reason: 'notDue', also: [{ reason: 'unserved' }] });
    expect(await admin.explain({ id: inside.id! }, { manager })).toEqual({
      ...inside,
      inMs: expect.any(Number),
      text: expect.any(String),
    });
    expect(await admin.explain('test.a', 'k')).toMatchObject({ reason: 'absent' });
  });
  await dataSource.transaction(async (manager) => {
    await manager.query('SET TRANSACTION READ ONLY');
    expect(await admin.explain('test.a', 'k', { manager })).toMatchObject({ reason: 'notDue' });
  });
});

it('a wrong argument is refused with the name of its field', async () => {
  const { admin } = await stage.start({ options: { worker: false } });
  const explain = admin.explain.bind(admin) as (...given: unknown[]) => Promise<unknown>;
  const wrong: [field: string, ...given: unknown[]][] = [
    ['name', 'no name', 'k'],
    ['name'],
    ['key', 'test.a'],
    ['key', 'test.a', 7],
    ['key', { name: 'test.a' }],
    ['id', { id: 7 }],
    ['id', { id: '1', key: 'k' }],
    ['target', null],
    ['target', []],
    ['target.keys', { name: 'test.a', keys: 'k' }],
    ['options.manger', 'test.a', 'k', { manger: 1 }],
    ['options.limit', { id: '1' }, { limit: 1 }],
    ['options', 'test.a', 'k', 7],
    ['manager', 'test.a', 'k', { manager: 7 }],
  ];
  const fields: unknown[] = [];
  for (const [, ...given] of wrong) {
    const error = await explain(...given).catch((refusal: unknown) => refusal);
    fields.push((error as { code?: string; field?: string }).field ?? error);
  }
  expect(fields).toEqual(wrong.map(([field]) => field));
});

/** The role of docs/operations.md, which may read and change nothing. */
it('the role for dashboards may explain', async () => {
  const page = readFileSync(new URL('../../docs/operations.md', import.meta.url), 'utf8');
  const role = `shop_watch_${Math.random().toString(36).slice(2)}`;
  const grants = [...page.matchAll(/^GRANT (?:USAGE|SELECT)[^;]* TO shop_watch;$/gm)].map(([sql]) =>
    sql.replace('shop_watch', role),
  );
  expect(grants.length).toBeGreaterThan(2);
  await stage.sql(`CREATE ROLE ${role} LOGIN PASSWORD 'watch'; ${grants.join('\n')}`);
  const url = new URL(stage.url);
  [url.username, url.password] = [role, 'watch'];
  const client = new Client({ connectionString: url.href });
  await client.connect();
  try {
    const runner = {
      query: async <Row>(sql: string, parameters: unknown[]) =>
        (await client.query(sql, parameters)).rows as Row[],
    };
    const store = new SelectionStore('delay_queue');
    const of = (target: { name: string; key: string } | { id: number }) =>
      store.explain(runner, target, 30_000);
    expect(await of({ name: 'test.a', key: 'k' })).toMatchObject({ id: null, ended: null });
    expect(await of({ id: 1 })).toMatchObject({ id: null, ended: null });
  } finally {
    await client.end();
    await stage.sql(`DROP OWNED BY ${role}; DROP ROLE ${role}`);
  }
});
