import { describe, expect, it } from '@jest/globals';
import type { DelayQueueOptions, OnDelayOptions } from 'nestjs-delay-queue';
import type { Type } from '@nestjs/common';
import { batchHandler, fencedHandler, plainHandler } from '../../support/delay-node.js';
import { stageOfEach } from './support/stage-of-each.js';
import { AttemptStore, NodeStore } from '../../support/engine-parts.js';

const stage = stageOfEach();

/** What another hand may have made of a column, as SQL. */
const ODD: readonly (readonly [column: string, value: string])[] = [
  ['due_at', "'infinity'"],
  ['due_at', "'-infinity'"],
  ['due_at', "'20000-01-01'"],
  ['due_at', "'294276-12-31'"],
  ['due_at', "'0044-03-15 BC'"],
  ['created_at', "'infinity'"],
  ['created_at', "'-infinity'"],
  ['wake_at', "'-infinity'"],
  ['leased_until', "'infinity', leased_by = 'nobody'"],
  ['leased_until', "'-infinity', leased_by = 'nobody'"],
  ['id', '9007199254740993'],
  ['id', '9223372036854775807'],
  ['epoch', '9007199254740993'],
  ['epoch', '9223372036854775807'],
  ['epoch', '-1'],
  ['attempts', '-5'],
  ['attempts', '2147483647'],
  ['attempts', '-2147483648'],
  ['max_attempts', '0'],
  ['max_attempts', '-1'],
  ['key', "''"],
  ['key', "repeat('k', 2000)"],
  ['group_id', "''"],
  ['group_id', "repeat('g', 2000)"],
  ['payload', "'null'"],
  ['payload', "'5'"],
  ['payload', "'[[[]]]'"],
  ['payload', `'{"__proto__": 1, "constructor": {}}'`],
  ['headers', "'5'"],
  ['headers', "'[]'"],
  ['headers', "'null'"],
  ['headers', `'{"a": 5}'`],
  ['headers', `'{"a": {"b": "c"}}'`],
  ['repeat', "'5'"],
  ['repeat', "'false'"],
  ['repeat', "'null'"],
  ['repeat', "'[]'"],
  ['repeat', "'{}'"],
  ['repeat', `'{"rrule": "FREQ=DAILY", "version": 9}'`],
  ['repeat', `'{"every": 0, "catchUp": "each"}'`],
  ['repeat', `'{"every": -5000, "catchUp": "latest"}'`],
  ['repeat', `'{"every": "x", "catchUp": "latest"}'`],
  ['repeat', `'{"every": 1e300, "catchUp": "each", "from": 0}'`],
  ['repeat', `'{"cron": "* * *", "timeZone": 5}'`],
  ['repeat', `'{"cron": "0 0 1 1 *", "timeZone": "Mars/Base", "catchUp": "each"}'`],
  ['repeat', `'{"every": 1000, "from": "x", "catchUp": "none"}'`],
  ['attempt_log', "'5'"],
  ['attempt_log', "'{}'"],
  ['attempt_log', "'null'"],
  ['attempt_log', "'[]'"],
  ['attempt_log', "'[5]'"],
  ['attempt_log', `'["outcome", null, {"startedMs": "x"}]'`],
  ['move_log', "'5'"],
  ['move_log', "'{}'"],
  ['move_log', "'[5, null]'"],
  ['refused_by', "ARRAY[NULL, '', 'nobody']"],
  ['last_error', "repeat('e', 100000)"],
];

const NEIGHBOURS = 2;

/** As a database has it that was restored without them. */
async function withoutConstraints(): Promise<void> {
  await stage.sql(`ALTER TABLE delay_queue.delay
    DROP CONSTRAINT delay_due_at_readable, DROP CONSTRAINT delay_leased_until_readable`);
}

/** Each with neighbours, all of them due at the same time: one claim asks for all. */
async function insertOdd(name: string, odd: typeof ODD): Promise<void> {
  for (const [index, [column, value]] of odd.entries()) {
    const rows = ['odd', ...Array.from({ length: NEIGHBOURS }, () => 'good')];
    for (const kind of rows) {
      await stage.sql(
        `INSERT INTO delay_queue.delay (name, key, payload, due_at, wake_at, created_at, max_attempts)
         VALUES ($1, $2, 'null', clock_timestamp() - interval '1 hour', clock_timestamp() - interval '1 hour',
                 clock_timestamp() - interval '1 hour', 3)`,
        [name, `${kind}-${index}-${Math.random()}`],
      );
    }
    // An identity is written once; so a copy with another id takes its place.
    await stage.sql(
      column === 'id'
        ? `WITH old AS (DELETE FROM delay_queue.delay WHERE name = '${name}' AND key LIKE 'odd-${index}-%' RETURNING *)
           INSERT INTO delay_queue.delay (id, name, key, payload, due_at, wake_at, created_at) OVERRIDING SYSTEM VALUE
           SELECT ${value}, name, key, payload, due_at, wake_at, created_at FROM old`
        : `UPDATE delay_queue.delay SET ${column} = ${value} WHERE name = '${name}' AND key LIKE 'odd-${index}-%'`,
    );
  }
}

type Run = () => void;
type Make = (name: `test.${string}`, run: Run) => Type;

const of =
  (options: OnDelayOptions): Make =>
  (name, run) =>
    plainHandler(name, run, { concurrency: 500, ...options });

type Histories = readonly DelayQueueOptions['history'][];

const BOTH: Histories = [{ attempts: true }, false];

/** What is written of an end depends on history, and how a row is claimed on the kind: not each with each. */
const KINDS: readonly (readonly [kind: string, histories: Histories, make: Make])[] = [
  ['plain', BOTH, of({})],
  ['limited', [false], of({ global: { concurrency: 400 }, perGroup: { concurrency: 100 } })],
  ['transactional', BOTH, (name, run) => fencedHandler(name, run, { concurrency: 10 })],
  ['batch', [false], (name, run) => batchHandler(name, run, { batch: 50 })],
];

describe.each(KINDS)('rows that cannot be read, of a %s handler', (_, histories, make) => {
  it.each(histories)(
    'with history %p: neighbours run, each odd row runs or is a dead letter that says why, and nothing spins',
    async (history) => {
      await withoutConstraints();
      await insertOdd('test.odd', ODD);
      const claims = stage.parts.intercept(AttemptStore, 'claim', ({ real }) => real());
      const sweeps = stage.parts.intercept(NodeStore, 'sweep', ({ real }) => real());
      await stage.start({
        options: { history, lease: '2s' },
        providers: [make('test.odd', () => {})],
      });
      const left = await stage.until<{ key: string; wake_at: string; last_error: string | null }>(
        `SELECT key, wake_at::text, left(last_error, 200) AS last_error FROM delay_queue.delay`,
        (rows) => rows.every(({ wake_at }) => wake_at === 'infinity'),
      );
      expect(left.filter(({ key }) => key.startsWith('good'))).toEqual([]);
      expect(left.filter(({ last_error }) => last_error === null)).toEqual([]);
      // A dozen statements are enough for all of them; what spins makes thousands.
      expect(claims.calls.length + sweeps.calls.length).toBeLessThan(200);
      const said = left.map(({ last_error }) => last_error ?? '');
      for (const column of ['due_at', 'created_at', 'id', 'epoch', 'headers', 'repeat']) {
        expect(said.filter((why) => why.includes(column)).length).toBeGreaterThan(0);
      }
    },
    60_000,
  );
});

it('a row whose id JavaScript cannot tell from its neighbours is set aside where no other row is', async () => {
  await insertOdd('test.odd', [['id', '9007199254740993']]);
  await stage.start({ providers: [plainHandler('test.odd', () => {})] });
  const left = await stage.until<{ id: string; wake_at: string }>(
    `SELECT id::text, wake_at::text FROM delay_queue.delay`,
    (rows) => rows.every(({ wake_at }) => wake_at === 'infinity'),
  );
  expect(left).toEqual([{ id: '9007199254740993', wake_at: 'infinity' }]);
});

it('whoever schedules, looks, changes or cancels meets an odd row, and hears no raw error', async () => {
  await withoutConstraints();
  await insertOdd('test.met', ODD);
  const node = await stage.start({ options: { worker: false, history: { attempts: true } } });
  const keys = await stage.sql<{ key: string }>(
    `SELECT key FROM delay_queue.delay WHERE key LIKE 'odd-%' ORDER BY id`,
  );
  const { delays, admin } = node;
  const all = { name: 'test.met' } as const;
  const listed = await admin.list(all, { limit: 1_000 });
  expect(listed.length).toBe(ODD.length * (NEIGHBOURS + 1));
  JSON.stringify(listed);
  const instants = listed.flatMap(({ waitsFor }) => Object.values(waitsFor ?? {}) as unknown[]);
  expect(instants.filter((at) => at instanceof Date && Number.isNaN(+at))).toEqual([]);
  await admin.count(all);
  await admin.stats();
  await admin.groupStats(all);
  for (const { key } of keys) {
    const target = { name: 'test.met', key } as const;
    JSON.stringify(await delays.find('test.met', key));
    JSON.stringify(await admin.story(key));
    await delays.schedule('test.met', null, { after: '1h', key, onConflict: 'keep' });
    await delays.cancelMany([{ ...target, key: `${key}-absent` }]);
    await admin.runNow([target]);
    await delays.reschedule('test.met', key, { after: '2h' });
    await delays.cancel('test.met', key);
    JSON.stringify(await delays.history('test.met', key));
  }
});

it.each([
  ['due_at', `due_at = 'infinity'`],
  ['due_at', `due_at = '-infinity'`],
  ['leased_until', `leased_until = 'infinity', leased_by = 'n1'`],
  ['leased_until', `leased_until = '-infinity', leased_by = 'n1'`],
])('the table takes no infinite %s: %s', async (column, change) => {
  await stage.overdue('test.good', 1);
  await expect(stage.sql(`UPDATE delay_queue.delay SET ${change}`)).rejects.toMatchObject({
    constraint: `delay_${column}_readable`,
  });
});

it('a claim that Postgres refuses for one row: the others run, and trouble names that one', async () => {
  await stage.sql(`
    CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      RAISE EXCEPTION 'a trigger of the application says no';
    END $$;
    CREATE TRIGGER refuse BEFORE UPDATE ON delay_queue.delay
    FOR EACH ROW WHEN (OLD.id = 17) EXECUTE FUNCTION refuse()`);
  await stage.overdue('test.some', 60);
  const claims = stage.parts.intercept(AttemptStore, 'claim', ({ real }) => real());
  const node = await stage.start({ providers: [plainHandler('test.some', () => {})] });
  await node.next('taskFailed', ({ error }) => /test\.some #17 .*says no/.test(String(error)));
  await stage.until<{ id: string }>(
    'SELECT id::text FROM delay_queue.delay',
    (rows) => rows.length === 1,
  );
  expect(claims.calls.length).toBeLessThan(60);
});

const refuseWhen = (on: 'UPDATE' | 'DELETE' | 'INSERT', table: string, when: string) =>
  stage.sql(`
    CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      RAISE EXCEPTION 'no' USING ERRCODE = 'check_violation';
    END $$;
    CREATE TRIGGER refuse BEFORE ${on} ON delay_queue.${table}
    FOR EACH ROW WHEN (${when}) EXECUTE FUNCTION refuse()`);

describe('an end that Postgres refuses', () => {
  it('a line of history: the delay goes without it, and so do those that ended with it', async () => {
    await refuseWhen('INSERT', 'history', 'NEW.id = 7');
    await stage.overdue('test.done', 40);
    await stage.start({ providers: [plainHandler('test.done', () => {})] });
    await stage.noneLeft();
    const [line] = await stage.sql('SELECT count(*)::int AS lines FROM delay_queue.history');
    expect(line).toEqual({ lines: 39 });
  });

  it('a removal: it becomes a dead letter that says so, and is not run again', async () => {
    let runs = 0;
    await refuseWhen('DELETE', 'delay', 'OLD.id = 7');
    await stage.overdue('test.done', 40);
    const node = await stage.start({
      providers: [plainHandler('test.done', () => void (runs += 1))],
    });
    await node.next('dead', ({ id, error }) => id === '7' && error.startsWith('completed, but'));
    await stage.until('SELECT FROM delay_queue.delay', (rows) => rows.length === 1);
    expect(runs).toBe(40);
  });

  it('an error text: what can be written is', async () => {
    await refuseWhen('UPDATE', 'delay', `NEW.last_error ~ 'secret'`);
    await stage.overdue('test.fails', 20);
    const node = await stage.start({
      providers: [
        plainHandler(
          'test.fails',
          ({ id }) => {
            throw new Error(id === '7' ? 'a secret' : 'usual');
          },
          { maxAttempts: 1 },
        ),
      ],
    });
    await node.next('dead', ({ id }) => id === '7');
    const rows = await stage.until<{ id: string; last_error: string | null; wake_at: string }>(
      'SELECT id::text, last_error, wake_at::text FROM delay_queue.delay ORDER BY id',
      (all) => all.every(({ wake_at }) => wake_at === 'infinity'),
    );
    expect(rows.filter(({ last_error }) => last_error === null)).toMatchObject([{ id: '7' }]);
  });
});
