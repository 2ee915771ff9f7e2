import { beforeEach, expect, it, jest } from '@jest/globals';
import { type DelayNode, plainHandler, signal } from '../../support/delay-node.js';
import { until } from '../../support/until.js';
import { stageOfEach } from './support/stage-of-each.js';
import { NodeStore } from '../../support/engine-parts.js';

let letGo: () => void = () => {};
const stage = stageOfEach({ force: true, release: () => letGo() });

/** Far longer than anything waits here: what comes has ended it. */
const IDLE_FOR = '1h';
const QUICK = { horizon: '1s', loadEvery: '100ms', lease: '1s' } as const;

/** How often each node has looked, and for how long each was idle. */
let loads: Record<string, number>;
let idleMs: Record<string, number[]>;
/** Those that know that they are idle: the row says so before the answer is there. */
let idleNow: Set<string>;

beforeEach(() => {
  loads = {};
  idleNow = new Set();
  idleMs = {};
  stage.parts.intercept(NodeStore, 'load', ({ real, self }) => {
    loads[self.nodeName] = (loads[self.nodeName] ?? 0) + 1;
    idleNow.delete(self.nodeName);
    return real();
  });
  stage.parts.intercept(NodeStore, 'idle', async ({ real, self }) => {
    const answer = await real();
    if (answer !== null) {
      (idleMs[self.nodeName] ??= []).push(answer);
      idleNow.add(self.nodeName);
    }
    return answer;
  });
});

const worker = (
  nodeName: string,
  idleFor: false | '1h' = IDLE_FOR,
  name: `test.${string}` = 'test.a',
) =>
  stage.start({
    options: { ...QUICK, nodeName, idleFor },
    providers: [plainHandler(name, () => {})],
  });

const producer = (): Promise<DelayNode> =>
  stage.start({ options: { ...QUICK, worker: false, nodeName: 'producer', idleFor: IDLE_FOR } });

/** Until that node has said that it is idle, and when each of its sessions has been told anything. */
async function whenIdle(nodeName: string): Promise<string> {
  await stage.until(
    `SELECT FROM delay_queue.node WHERE id = '${nodeName}' AND idle_until > clock_timestamp()`,
    (rows) => rows.length === 1 && idleNow.has(nodeName),
  );
  return heardFrom(nodeName);
}

async function heardFrom(nodeName: string): Promise<string> {
  const [row] = await stage.sql<{ heard: string }>(
    `SELECT string_agg(pid || ' ' || query_start, ', ' ORDER BY pid) AS heard FROM pg_stat_activity
     WHERE datname = current_database() AND application_name = 'delay-queue ' || $1`,
    [nodeName],
  );
  return row?.heard ?? '';
}

/** Until that node has looked so often from now on. */
function looks(nodeName: string, times: number): Promise<unknown> {
  const seen = loads[nodeName] ?? 0;
  return stage.until('SELECT 1', () => (loads[nodeName] ?? 0) >= seen + times);
}

/** A while in which a node that is not idle looks several times. */
async function looksOfAnother(): Promise<void> {
  const other = await worker('other', false, 'test.other');
  await looks('other', 12);
  await other.stop();
}

/** What a server does that sleeps. */
async function endSessions(nodeName: string): Promise<void> {
  await stage.sql(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
     WHERE datname = current_database() AND application_name = 'delay-queue ' || $1`,
    [nodeName],
  );
  await until(
    () => heardFrom(nodeName),
    (heard) => heard === '',
  );
}

it('a node with nothing to do sends nothing while another one looks a dozen times', async () => {
  // Another node that starts is heard of: it is there before.
  await worker('busy', false, 'test.busy');
  await worker('a');
  let heard = await whenIdle('a');
  // What had begun before it was idle may be sent after that.
  for (let before = ''; before !== heard; heard = await heardFrom('a')) {
    before = heard;
    await looks('busy', 2);
  }
  await looks('busy', 12);
  expect(await heardFrom('a')).toBe(heard);
  expect(heard).not.toBe('');
});

it('without the option none is ever idle', async () => {
  await worker('a', false);
  await stage.until('SELECT 1', () => (loads['a'] ?? 0) >= 12);
  expect(idleMs).toEqual({});
});

it.each(['500ms', '2s'])('what an idle process schedules itself for in %s runs', async (after) => {
  const node = await worker('a');
  await whenIdle('a');
  const completed = node.next('completed');
  await node.delays.schedule('test.a', { n: 1 }, { after });
  await expect(completed).resolves.toMatchObject({ name: 'test.a' });
});

it.each(['500ms', '2s'])('what another schedules for in %s is heard of', async (after) => {
  const [node, other] = [await worker('a'), await producer()];
  await whenIdle('a');
  const completed = node.next('completed');
  await other.delays.schedule('test.a', { n: 1 }, { after });
  await expect(completed).resolves.toMatchObject({ name: 'test.a' });
});

it('an idle node comes back for what it knows to be due, shortly before that', async () => {
  // Committed just before it asks for how long it may be idle.
  stage.parts.intercept(
    NodeStore,
    'idle',
    async ({ real }) => {
      await stage.sql(
        `INSERT INTO delay_queue.delay (name, payload, due_at, wake_at, created_at)
         SELECT 'test.a', '{}', at, at, now() FROM (SELECT clock_timestamp() + interval '4 s' AS at) a`,
      );
      return real();
    },
    1,
  );
  const node = await worker('a');
  await whenIdle('a');
  await expect(node.next('completed')).resolves.toMatchObject({ name: 'test.a' });
  expect(idleMs['a']?.[0]).toBeGreaterThan(0);
  expect(idleMs['a']?.[0]).toBeLessThan(3_500);
});

it('what is paused, and what a node does not serve, does not keep it awake', async () => {
  const node = await worker('a');
  await node.admin.pause('test.a');
  await stage.overdue('test.a', 3);
  await stage.overdue('test.foreign', 3);
  await whenIdle('a');
  const completed = node.next('completed');
  await node.admin.resume('test.a');
  await expect(completed).resolves.toMatchObject({ name: 'test.a' });
});

it('what another node has in hand keeps it awake: that one may die', async () => {
  await stage.sql(
    `INSERT INTO delay_queue.delay
       (name, payload, due_at, wake_at, created_at, leased_until, leased_by, epoch, attempts)
     SELECT 'test.a', '{}', at, at, at, at + interval '10 min', 'elsewhere', 1, 1
     FROM (SELECT now() - interval '1 min' AS at) a`,
  );
  await worker('a');
  await stage.until('SELECT 1', () => (loads['a'] ?? 0) >= 12);
  expect(idleMs).toEqual({});
});

it('what an idle node would look after is left to the others, also when it dies', async () => {
  const seen: (readonly unknown[])[] = [];
  stage.parts.intercept(NodeStore, 'load', async ({ real, self }) => {
    const page = await real();
    if (self.nodeName === 'b') seen.push(page.nodes);
    return page;
  });
  // One has lost its session, as on a server that slept, and one has never had one.
  await stage.sql(
    `INSERT INTO delay_queue.node (id, names, present, started_at, seen_at, idle_until)
     SELECT id, '{test.a,test.only}', id = 'a1', at, at, at + interval '1 h'
     FROM now() AS at, unnest('{a1,a2}'::text[]) AS id`,
  );
  const [node, other] = [await worker('b'), await producer()];
  await whenIdle('b');
  let done = 0;
  node.events.on('completed', () => (done += 1));
  for (let n = 0; n < 4; n += 1) await other.delays.schedule('test.a', { n }, { after: '1s' });
  await stage.until('SELECT 1', () => done === 4);
  expect(seen.flat()).toEqual([]);
  // As far as anybody knows it is there.
  const store = new NodeStore(
    { query: (sql, given) => stage.sql(sql, given) as never },
    'delay_queue',
    'x',
  );
  await expect(store.unserved(['test.only', 'test.none'], 30_000)).resolves.toEqual(['test.none']);
});

it('a server that ends its sessions is left alone until the next look, and told of nothing', async () => {
  const [node, other] = [await worker('a'), await producer()];
  const trouble: unknown[] = [];
  node.events.on('taskFailed', (told) => trouble.push(told));
  await whenIdle('a');
  await endSessions('a');
  await looksOfAnother();
  expect(await heardFrom('a')).toBe('');
  expect(trouble).toEqual([]);
  // Behind the horizon, so that nothing tells it but its own write. It hears again, once it has looked.
  const own = node.next('completed');
  await node.delays.schedule('test.a', { n: 1 }, { after: '2s' });
  await own;
  await whenIdle('a');
  const completed = node.next('completed');
  await other.delays.schedule('test.a', { n: 2 }, { after: '2s' });
  await expect(completed).resolves.toMatchObject({ name: 'test.a' });
});

it('what a worker schedules for itself keeps the idle ones awake: it may die', async () => {
  const held = new Promise<void>((resolve) => (letGo = resolve));
  const starts = [0, 1].map((n) =>
    stage.start({
      options: { ...QUICK, nodeName: `w${n}`, idleFor: IDLE_FOR },
      providers: [plainHandler('test.a', () => held)],
    }),
  );
  const [node] = await Promise.all(starts);
  await whenIdle('w0');
  await whenIdle('w1');
  const [seen, idleBefore] = [{ ...loads }, structuredClone(idleMs)];
  await node?.delays.schedule('test.a', { n: 1 }, { after: 0 });
  await stage.until('SELECT 1', () =>
    ['w0', 'w1'].every((name) => (loads[name] ?? 0) >= (seen[name] ?? 0) + 12),
  );
  expect(idleMs).toEqual(idleBefore);
});

it('a process that was paused for longer than it could be idle looks at once', async () => {
  const clock = performance.now.bind(performance);
  const looksAgain = signal();
  let isAnswered = false;
  // Stopped while the answer was on its way: the monotonic clock goes on.
  stage.parts.intercept(
    NodeStore,
    'idle',
    async ({ real }) => {
      const answer = await real();
      isAnswered = true;
      jest.spyOn(performance, 'now').mockImplementation(() => clock() + (answer ?? 0));
      return answer;
    },
    1,
  );
  stage.parts.intercept(NodeStore, 'load', ({ real }) => {
    if (isAnswered) looksAgain.resolve();
    return real();
  });
  await worker('a');
  await expect(looksAgain.promise).resolves.toBeUndefined();
});

it('an idle node closes at once and says goodbye, also when the server has ended its sessions', async () => {
  const node = await worker('a');
  await whenIdle('a');
  await endSessions('a');
  await looksOfAnother();
  await node.stop();
  await expect(stage.sql('SELECT id FROM delay_queue.node')).resolves.toEqual([]);
});
