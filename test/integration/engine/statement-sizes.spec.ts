import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { afterEach, expect, it } from '@jest/globals';
import { batchHandler, plainHandler, signal } from '../../support/delay-node.js';
import { stageOfEach } from './support/stage-of-each.js';
import { AttemptStore, NodeStore, TimerQueue } from '../../support/engine-parts.js';

const stage = stageOfEach();

/** What a statement is answered that has outlived its limit. */
const outlived = (): Error =>
  Object.assign(new Error('canceling statement due to statement timeout'), { code: '57014' });

/** A user's trigger on all rows of a statement: more than `most` of them outlive the limit. */
const slowOnMore = (most: number, on: 'INSERT' | 'UPDATE' | 'DELETE', where = 'true') =>
  stage.sql(`
    CREATE FUNCTION slow_${on}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      IF (SELECT count(*) FROM touched WHERE ${where}) > ${most} THEN
        RAISE EXCEPTION 'canceling statement due to statement timeout' USING ERRCODE = 'query_canceled';
      END IF;
      RETURN NULL;
    END $$;
    CREATE TRIGGER slow_${on} AFTER ${on} ON delay_queue.delay
    REFERENCING ${on === 'DELETE' ? 'OLD' : 'NEW'} TABLE AS touched
    FOR EACH STATEMENT EXECUTE FUNCTION slow_${on}()`);

const LEASED = 'leased_by IS NOT NULL';

/** Resolves when so many have run; each by its attempt. */
function counting(count: number) {
  const ran: number[] = [];
  const all = signal();
  return {
    ran,
    all: all.promise,
    run: ({ attempt }: { attempt: number }): void => {
      ran.push(attempt);
      if (ran.length === count) all.resolve();
    },
  };
}

const claimsOf = (calls: readonly Parameters<AttemptStore['claim']>[]): number[] =>
  calls.map(([requests]) => requests.length);

it('a slow trigger for each row: claims that outlive their time limit shrink until they do not', async () => {
  const COUNT = 110;
  await stage.sql(`
    CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      PERFORM pg_sleep(0.1);
      RETURN NEW;
    END $$;
    CREATE TRIGGER slow BEFORE UPDATE ON delay_queue.delay
    FOR EACH ROW WHEN (OLD.name = 'test.slow' AND NEW.leased_by IS NOT NULL) EXECUTE FUNCTION slow()`);
  await stage.overdue('test.slow', COUNT);
  const slow = counting(COUNT);
  const { calls } = stage.parts.intercept(AttemptStore, 'claim', ({ real }) => real());
  await stage.start({
    providers: [plainHandler('test.slow', slow.run, { concurrency: COUNT })],
  });
  await slow.all;
  const [first, ...others] = claimsOf(calls);
  expect(first).toBeGreaterThan(100);
  expect(Math.max(...others)).toBeLessThan(100);
  expect(slow.ran.every((attempt) => attempt === 1)).toBe(true);
}, 120_000);

it.each([
  ['of a name', {}],
  ['of a name with limits', { global: { concurrency: 1_000 } }],
])(
  'claims %s shrink to what a statement may take, down to one, and no other name’s do',
  async (_, limits) => {
    await slowOnMore(1, 'UPDATE', `name = 'test.heavy' AND ${LEASED}`);
    await stage.overdue('test.heavy', 40);
    await stage.overdue('test.light', 200);
    const heavy = counting(40);
    const light = counting(200);
    const { calls } = stage.parts.intercept(AttemptStore, 'claim', ({ real }) => real());
    await stage.start({
      providers: [
        plainHandler('test.heavy', heavy.run, { concurrency: 100, ...limits }),
        plainHandler('test.light', light.run, { concurrency: 1_000 }),
      ],
    });
    await Promise.all([heavy.all, light.all]);
    expect([...heavy.ran, ...light.ran].every((attempt) => attempt === 1)).toBe(true);
    expect(Math.max(...claimsOf(calls))).toBeGreaterThan(10);
    await stage.noneLeft();
  },
);

it('sizes grow again once statements are quick: claims, loads and sweeps', async () => {
  await slowOnMore(2, 'UPDATE', LEASED);
  await stage.overdue('test.many', 64);
  const many = counting(64);
  const node = await stage.start({
    providers: [plainHandler('test.many', many.run, { concurrency: 500 })],
  });
  await many.all;
  await stage.noneLeft();
  await stage.sql('DROP TRIGGER slow_update ON delay_queue.delay');
  const { calls } = stage.parts.intercept(AttemptStore, 'claim', ({ real }) => real());
  const grown = signal();
  node.events.on('completed', () => {
    if (Math.max(0, ...claimsOf(calls)) > 100) grown.resolve();
  });
  await node.delays.scheduleMany(
    Array.from({ length: 2_000 }, () => ({ name: 'test.many' as const, payload: null, after: 0 })),
  );
  await grown.promise;
  expect(Math.max(...claimsOf(calls))).toBeGreaterThan(100);
});

it('one delay whose claim always outlives its limit: its neighbours run, and its trouble names it', async () => {
  await stage.overdue('test.one', 100);
  await slowOnMore(0, 'UPDATE', `id = 50 AND ${LEASED}`);
  const others = counting(99);
  const named = signal<unknown>();
  const restsMs: number[] = [];
  const restsAgain = signal();
  let isAlone = false;
  const { calls } = stage.parts.intercept(AttemptStore, 'claim', ({ real, given: [requests] }) => {
    isAlone = requests.length === 1 && requests[0]?.id === 50;
    return real();
  });
  stage.parts.intercept(TimerQueue, 'again', ({ real, given: [entry, ms] }) => {
    if (isAlone && entry.id === 50) restsMs.push(ms);
    if (restsMs.length === 2) restsAgain.resolve();
    real();
  });
  const node = await stage.start({
    providers: [plainHandler('test.one', others.run, { concurrency: 500 })],
  });
  node.events.on('taskFailed', ({ error }) => {
    if (/test\.one #50/.test(String(error))) named.resolve(error);
  });
  await others.all;
  await named.promise;
  await restsAgain.promise;
  // It rests each time, and nothing spins.
  expect(Math.min(...restsMs)).toBeGreaterThan(0);
  expect(calls.length).toBeLessThan(60);
});

it('a batch handler whose calls are larger than a claim may be', async () => {
  await slowOnMore(3, 'UPDATE', LEASED);
  await stage.overdue('test.batch', 50);
  const all = signal();
  let ran = 0;
  await stage.start({
    providers: [
      batchHandler(
        'test.batch',
        (delays) => {
          ran += delays.length;
          if (ran === 50) all.resolve();
        },
        { batch: 50 },
      ),
    ],
  });
  await all.promise;
  expect(ran).toBe(50);
});

it('completions and retries shrink, and so do pages of loads and sweeps, and what prunes', async () => {
  await slowOnMore(2, 'DELETE');
  await stage.overdue('test.done', 60);
  const most = { sweep: 7, load: 5 };
  stage.parts.intercept(NodeStore, 'sweep', async ({ real, given: [, , { scan }] }) => {
    if (scan > most.sweep) throw outlived();
    return await real();
  });
  stage.parts.intercept(NodeStore, 'load', async ({ real, given: [, , { limit }] }) => {
    if (limit > most.load) throw outlived();
    return await real();
  });
  const done = counting(60);
  await stage.start({ providers: [plainHandler('test.done', done.run, { concurrency: 100 })] });
  await done.all;
  await stage.noneLeft();
  expect(done.ran).toHaveLength(60);
});

it('leases are renewed in smaller statements, and those that can be are kept', async () => {
  const COUNT = 30;
  const release = signal();
  const lost: unknown[] = [];
  let renewed = 0;
  const often = signal();
  stage.parts.intercept(AttemptStore, 'renew', async ({ real, given: [items] }) => {
    if (items.length > 4) throw outlived();
    const ids = await real();
    renewed += ids.length;
    if (renewed >= COUNT * 3) often.resolve();
    return ids;
  });
  await stage.overdue('test.held', COUNT);
  const node = await stage.start({
    options: { lease: '4s', timeout: '60s' },
    providers: [plainHandler('test.held', () => release.promise, { concurrency: COUNT })],
  });
  node.events.on('lost', (of) => lost.push(of));
  await often.promise;
  release.resolve();
  await stage.noneLeft();
  expect(lost).toEqual([]);
});

it('a renewal that is refused for one row keeps the leases of all others', async () => {
  const release = signal();
  const renewedTwice = signal();
  const renewed = new Map<number, number>();
  await stage.sql(`
    CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      RAISE EXCEPTION 'not this one';
    END $$;
    CREATE TRIGGER refuse BEFORE UPDATE ON delay_queue.delay
    FOR EACH ROW WHEN (OLD.id = 3 AND OLD.epoch = NEW.epoch) EXECUTE FUNCTION refuse()`);
  stage.parts.intercept(AttemptStore, 'renew', async ({ real }) => {
    const ids = await real();
    for (const id of ids) renewed.set(id, (renewed.get(id) ?? 0) + 1);
    if (renewed.size === 9 && [...renewed.values()].every((times) => times > 1)) {
      renewedTwice.resolve();
    }
    return ids;
  });
  // A machine that stands still for half a lease loses some: they run again, and are renewed then.
  const untilReleased = async (_: unknown, { signal: ended }: { signal: AbortSignal }) =>
    Promise.race([release.promise, once(ended, 'abort').then(() => {})]);
  await stage.overdue('test.held', 10);
  await stage.start({
    options: { lease: '6s', timeout: '60s', maxAttempts: 100 },
    providers: [plainHandler('test.held', untilReleased, { concurrency: 10 })],
  });
  await renewedTwice.promise;
  release.resolve();
  await stage.noneLeft();
  expect(renewed.has(3)).toBe(false);
});

it('exhausted delays become dead letters in statements that are small enough', async () => {
  await stage.overdue('test.dying', 50);
  await stage.sql('UPDATE delay_queue.delay SET attempts = 3, max_attempts = 3');
  await slowOnMore(2, 'UPDATE', "wake_at = 'infinity'");
  await stage.start({ providers: [plainHandler('test.dying', () => {})] });
  const dead = await stage.until<{ dead: number }>(
    `SELECT count(*)::int AS dead FROM delay_queue.delay WHERE wake_at = 'infinity'`,
    ([row]) => row?.dead === 50,
  );
  expect(dead).toEqual([{ dead: 50 }]);
});

it('lists and filters are written in statements that are small enough', async () => {
  await slowOnMore(3, 'DELETE');
  await slowOnMore(3, 'INSERT');
  const node = await stage.start({ options: { worker: false } });
  const keys = Array.from({ length: 20 }, (_, n) => ({ name: 'test.many' as const, key: `k${n}` }));
  const items = keys.map((key) => ({ ...key, payload: null, after: '1h' as const }));
  const results = await node.delays.scheduleMany(items);
  expect(results.map(({ verdict }) => verdict)).toEqual(keys.map(() => 'scheduled'));
  const verdicts = await node.delays.cancelMany(keys);
  expect(verdicts.map(({ verdict }) => verdict)).toEqual(keys.map(() => 'cancelled'));
  await node.delays.scheduleMany(items);
  expect(await node.admin.cancel({ name: 'test.many' })).toMatchObject({ cancelled: 20 });
});

/** A line over which no answer of more than so many bytes comes through: its connection is cut. */
async function lineThatCuts(
  url: string,
  answerMax: number,
): Promise<{ url: string; server: Server }> {
  const { hostname, port } = new URL(url);
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect({ host: hostname, port: Number(port) });
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => [client, upstream].forEach((each) => each.destroy()));
    }
    let answered = 0;
    client.on('data', (chunk) => {
      answered = 0;
      upstream.write(chunk);
    });
    upstream.on('data', (chunk: Buffer) => {
      answered += chunk.length;
      if (answered > answerMax) client.resetAndDestroy();
      else client.write(chunk);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const through = new URL(url);
  through.hostname = '127.0.0.1';
  through.port = String((server.address() as AddressInfo).port);
  return { url: through.href, server };
}

let line: Server | undefined;

afterEach(() => void line?.close());

it('payloads that are too much for the connection in one answer come in smaller ones, and others beside them', async () => {
  const payload = 'x'.repeat(60_000);
  await stage.overdue('test.heavy', 60);
  await stage.sql('UPDATE delay_queue.delay SET payload = to_jsonb($1::text)', [payload]);
  await stage.overdue('test.light', 60);
  const way = await lineThatCuts(stage.url, 400_000);
  line = way.server;
  const heavy = counting(60);
  const light = counting(60);
  await stage.start({
    url: way.url,
    providers: [
      plainHandler('test.heavy', heavy.run, { concurrency: 100 }),
      plainHandler('test.light', light.run, { concurrency: 100 }),
    ],
  });
  await Promise.all([heavy.all, light.all]);
  // What nobody heard of was committed, perhaps, and no handler was called: no attempt was spent.
  expect([...heavy.ran, ...light.ran].every((attempt) => attempt === 1)).toBe(true);
  await stage.noneLeft();
});
