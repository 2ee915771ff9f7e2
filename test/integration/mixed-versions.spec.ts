import { afterEach, describe, expect, it } from '@jest/globals';
import { array, assert, asyncProperty, constantFrom, integer, oneof, record } from 'fast-check';
import { type DelayQueueOptions, OnDeadDelay, type PayloadCodec } from 'nestjs-delay-queue';
import { z } from 'zod';
import {
  batchHandler,
  type DelayNode,
  fencedBatchHandler,
  fencedHandler,
  plainHandler,
  signal,
} from '../support/delay-node.js';
import { until } from '../support/until.js';
import { stageOfEach } from './engine/support/stage-of-each.js';

/* Two versions of an application on one database, as in a rolling deploy: each reads payloads that the other cannot. */

const NAMES = ['test.plain', 'test.fenced', 'test.batch', 'test.fenced-batch'] as const;
type Name = (typeof NAMES)[number];
type Version = 'old' | 'new';

/** What the new version writes, the old one cannot decode. */
const codecOf = (version: Version): PayloadCodec => ({
  encode: (json) => `${version}.${json}`,
  decode: async (encoded) => {
    if (encoded.startsWith('new.') && version === 'old') throw new Error('there is no key new');
    return encoded.slice(4);
  },
});
const Old = z.strictObject({ n: z.number() });
const New = z.union([Old, z.strictObject({ m: z.number() })]);
const schemaOf = (version: Version) => (version === 'old' ? Old : New);

/** How the versions differ. */
const WAYS = {
  schema: (version) => ({
    payloads: Object.fromEntries(NAMES.map((name) => [name, schemaOf(version)])) as never,
  }),
  codec: (version) => ({ codec: codecOf(version) }),
  'codec that only the new one has': (version) =>
    version === 'new' ? { codec: codecOf('new') } : {},
} satisfies Record<string, (version: Version) => DelayQueueOptions>;
type Way = keyof typeof WAYS;

interface Seen {
  ran: { by: string; key: string | null }[];
  dead: string[];
  passed: number;
}

const stage = stageOfEach();
let seen: Seen = { ran: [], dead: [], passed: 0 };
let count = 0;

afterEach(() => {
  seen = { ran: [], dead: [], passed: 0 };
});

async function start(version: Version, way: Way, options: DelayQueueOptions = {}) {
  count += 1;
  const nodeName = `${version}-${count}`;
  const note = ({ key }: { key: string | null }): void => void seen.ran.push({ by: nodeName, key });
  const node = await stage.start({
    options: { nodeName, ...WAYS[way](version), ...options },
    providers: [
      plainHandler('test.plain', note),
      fencedHandler('test.fenced', note),
      batchHandler('test.batch', (delays) => delays.forEach(note), { batch: 10 }),
      fencedBatchHandler('test.fenced-batch', (delays) => delays.forEach(note), { batch: 10 }),
    ],
  });
  node.events.on('dead', ({ key }) => void seen.dead.push(`${nodeName}: ${key}`));
  node.events.on('unreadable', () => void (seen.passed += 1));
  return node;
}

let keys = 0;
/** Each would be dead after one attempt. */
function scheduleNew(node: DelayNode, name: Name, items: number) {
  return node.delays.scheduleMany(
    Array.from({ length: items }, () => ({
      name,
      payload: { m: 1 },
      after: 0,
      key: `k${(keys += 1)}`,
      maxAttempts: 1,
    })),
  );
}

describe.each(Object.keys(WAYS) as Way[])('by their %s', (way) => {
  it('the old version passes on what it cannot read, and spends no attempt', async () => {
    await start('old', way);
    const node = await start('new', way);
    const each = 12;
    for (const name of NAMES) await scheduleNew(node, name, each);
    await stage.noneLeft();
    expect(seen.dead).toEqual([]);
    expect(seen.ran.filter(({ by }) => by.startsWith('old'))).toEqual([]);
    expect(seen.ran).toHaveLength(each * NAMES.length);
    // About half of them were the old one's to look after.
    expect(seen.passed).toBeGreaterThan(0);
    const ends = await stage.sql(
      'SELECT DISTINCT state, attempts FROM delay_queue.history ORDER BY 1, 2',
    );
    expect(ends).toEqual([{ state: 'completed', attempts: 1 }]);
  });

  it('what no node can read has all its attempts, is a dead letter then, and spins nowhere', async () => {
    const writer = await stage.start({ options: { ...WAYS[way]('new'), worker: false } });
    const nodes = [await start('old', way), await start('old', way), await start('old', way)];
    for (const name of NAMES) {
      await writer.delays.schedule(name, { m: 1 }, { after: 0, key: name, maxAttempts: 3 });
    }
    const dead = await stage.until<{ last_error: string; attempts: number; epoch: string }>(
      `SELECT last_error, attempts, epoch FROM delay_queue.delay WHERE wake_at = 'infinity'`,
      (rows) => rows.length === NAMES.length,
    );
    for (const { last_error, attempts } of dead) {
      expect(attempts).toBe(3);
      expect(last_error).toMatch(/DelayPayloadError|DelayCodecError/);
    }
    expect(seen.ran).toEqual([]);
    // Each node passes it on once at most, and the last of them has it for each attempt; a batch is told apart by one claim
    // more. On a busy machine one may have counted as gone meanwhile.
    expect(seen.passed).toBeLessThanOrEqual(NAMES.length * nodes.length);
    for (const { epoch } of dead) {
      expect(Number(epoch)).toBeLessThanOrEqual(2 * (nodes.length + 3 + 1));
    }
  });

  it('a node alone tries again until a version is deployed that can read it', async () => {
    const old = await start('old', way);
    const writer = await stage.start({ options: { ...WAYS[way]('new'), worker: false } });
    const tried = old.next('retrying');
    await writer.delays.schedule(
      'test.plain',
      { m: 1 },
      { after: 0, key: 'k', maxAttempts: 1_000 },
    );
    expect(await tried).toMatchObject({ attempt: 1, error: expect.stringMatching(/^Delay/) });
    const node = await start('new', way);
    await stage.noneLeft();
    expect(seen.ran).toEqual([{ by: expect.stringMatching(/^new/), key: 'k' }]);
    await node.stop();
  });
});

it('what was passed to a node that goes has its attempts on the one that is left', async () => {
  const old = await start('old', 'schema');
  const [begun, gate] = [signal(), signal()];
  const full = await stage.start({
    options: { ...WAYS.schema('new'), nodeName: 'full', drainTimeout: '10ms' },
    providers: [
      plainHandler(
        'test.plain',
        () => {
          begun.resolve();
          return gate.promise;
        },
        { concurrency: 1 },
      ),
    ],
  });
  // Its places are taken: what is passed on waits.
  await full.delays.schedule('test.plain', { m: 0 }, { after: 0 });
  await begun.promise;
  const items = Array.from({ length: 20 }, (_, at) => ({
    name: 'test.plain' as const,
    payload: { m: 1 },
    after: 0,
    maxAttempts: 2,
    key: `k${at}`,
  }));
  const passed = old.next('unreadable');
  await full.delays.scheduleMany(items);
  await passed;
  expect(seen.dead).toEqual([]);
  await full.stop();
  gate.resolve();
  await until(
    () => seen.dead.length,
    (dead) => dead >= items.length,
  );
});

it('a newer way to recur is left to the version that knows it, and is not run by half', async () => {
  const old = await start('old', 'schema');
  await old.delays.schedule('test.plain', { n: 1 }, { repeat: { every: '1h' }, key: 'k' });
  await stage.sql(`UPDATE delay_queue.delay SET repeat = repeat || '{"unheardOf": 1}'`);
  const retrying = old.next('retrying');
  await old.admin.runNow({ name: 'test.plain' });
  expect((await retrying).error).toContain('cannot read how the delay recurs');
  expect(seen.ran).toEqual([]);
});

it('an @OnDeadDelay hears of what no node could decode, without its payload', async () => {
  const told: unknown[] = [];
  class ExhaustedDelay {
    @OnDeadDelay('test.plain')
    gaveUp({ key, payload }: { key: string | null; payload: unknown }): void {
      told.push([key, payload]);
    }
  }
  const writer = await stage.start({ options: { codec: codecOf('new'), worker: false } });
  const node = await stage.start({
    options: { codec: codecOf('old') },
    providers: [plainHandler('test.plain', () => {}), ExhaustedDelay],
  });
  const dead = node.next('dead');
  await writer.delays.schedule('test.plain', 1, { after: 0, key: 'k', maxAttempts: 2 });
  expect(await dead).toMatchObject({ key: 'k', attempt: 2 });
  expect(told).toEqual([['k', undefined]]);
});

/** What happens in a deploy, in any order; one node of the new version is there throughout. */
const EVENTS = oneof(
  { weight: 2, arbitrary: constantFrom('old comes', 'new comes', 'one goes') },
  {
    weight: 5,
    arbitrary: record({ name: constantFrom(...NAMES), items: integer({ min: 1, max: 15 }) }),
  },
);

it('no delay dies at an old node while a new one serves its name, whoever comes and goes', async () => {
  await assert(
    asyncProperty(
      constantFrom(...(Object.keys(WAYS) as Way[])),
      array(EVENTS, { minLength: 4, maxLength: 12 }),
      async (way, events) => {
        seen = { ran: [], dead: [], passed: 0 };
        const anchor = await start('new', way);
        const others: DelayNode[] = [await start('old', way)];
        let scheduled = 0;
        for (const event of events) {
          if (event === 'old comes') others.push(await start('old', way));
          else if (event === 'new comes') others.push(await start('new', way));
          else if (event === 'one goes') await others.shift()?.stop();
          else {
            scheduled += event.items;
            await scheduleNew(anchor, event.name, event.items);
          }
        }
        await until(
          () => seen.ran.length + seen.dead.length,
          (ended) => ended >= scheduled,
        );
        await stage.noneLeft();
        await Promise.all([anchor, ...others].map((node) => node.stop()));
        expect(seen.dead).toEqual([]);
        expect(seen.ran).toHaveLength(scheduled);
      },
    ),
    { numRuns: 8, endOnFailure: true },
  );
});
