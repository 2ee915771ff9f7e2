import { beforeEach, describe, expect, it } from '@jest/globals';
import {
  type Delay,
  type DelayContext,
  OnDeadDelay,
  OnDelay,
  type RepeatOptions,
} from 'nestjs-delay-queue';
import { OneNode } from '../../support/one-node.js';
import { until } from '../../support/until.js';

/** Recurring delays that end. */
const KEY = 'order-7';
const HOUR = 3_600_000;
type Act = (run: number, ctx: DelayContext) => void;

let act: Act;
let dueAts: Date[];

const run = ({ dueAt }: Delay, ctx: DelayContext): void => {
  dueAts.push(dueAt);
  act(dueAts.length, ctx);
};

class Handlers {
  @OnDelay('test.plain', { maxAttempts: 1 })
  plain(delay: Delay, ctx: DelayContext): void {
    run(delay, ctx);
  }

  @OnDelay('test.fenced', { maxAttempts: 1, transactional: true })
  async fenced(delay: Delay, ctx: DelayContext): Promise<void> {
    run(delay, ctx);
  }

  @OnDelay('test.many', { maxAttempts: 1, batch: 5 })
  many([delay]: Delay[], ctx: DelayContext): void {
    run(delay!, { ...ctx, stopRepeating: () => ctx.stopRepeating(delay) });
  }

  @OnDelay('test.fencedMany', { maxAttempts: 1, batch: 5, transactional: true })
  async fencedMany([delay]: Delay[], ctx: DelayContext): Promise<void> {
    run(delay!, ctx);
  }

  @OnDelay('test.told', { maxAttempts: 1 })
  told(delay: Delay, ctx: DelayContext): void {
    run(delay, ctx);
  }

  @OnDeadDelay('test.told')
  dead(_: Delay, { stopRepeating }: DelayContext): void {
    if (dueAts.length === 2) stopRepeating();
  }
}

const node = new OneNode({ providers: [Handlers] });

beforeEach(() => {
  dueAts = [];
  act = () => {};
});

type Name = `test.${string}`;

/** Since five and a half hours, each hour: six are due at once. */
async function schedule(name: Name, end: RepeatOptions | object): Promise<number> {
  const at = new Date(Date.now() - 5.5 * HOUR);
  const repeat = { every: '1h', catchUp: 'each', ...end } as RepeatOptions;
  await node.delays.schedule(name, null, { key: KEY, repeat, at });
  return at.getTime();
}

const states = async (name: Name) =>
  (await node.delays.history(name, KEY)).map(({ state }) => state);

/** @returns how its runs ended, newest first */
async function ended(name: Name): Promise<string[]> {
  await until(
    () => node.delays.find(name, KEY),
    (found) => found === null,
  );
  return await states(name);
}

const dead = (name: Name) =>
  until(
    () => node.delays.find(name, KEY),
    (found) => found?.state === 'dead',
  );

const KINDS = ['test.plain', 'test.fenced', 'test.many', 'test.fencedMany'] as const;

describe.each(KINDS)('of a handler of %s', (name) => {
  it.each<[string, { limit?: number; until?: number }, runs: number]>([
    ['a limit', { limit: 3 }, 3],
    ['a limit of one', { limit: 1 }, 1],
    ['an instant, which is the last one itself', { until: 2 }, 3],
    ['whatever comes first', { until: 3, limit: 2 }, 2],
  ])('ends by %s, as completed, and its key is free', async (_, end, runs) => {
    let told = 0;
    const tell = () => void told++;
    node.events.on('completed', tell);
    const { until: hours, ...limit } = end;
    const last = hours && { until: new Date(Date.now() + (hours - 5.5) * HOUR + 60_000) };
    await schedule(name, { ...limit, ...last });
    expect(await ended(name)).toEqual(Array(runs).fill('completed'));
    expect(dueAts).toHaveLength(runs);
    await until(
      () => Promise.resolve(told),
      (count) => count === runs,
    );
    node.events.off('completed', tell);
    const again = await node.delays.schedule(name, null, { key: KEY, after: '1h' });
    expect(again.verdict).toBe('scheduled');
  });

  it('ends from its own handler, if that run completes', async () => {
    act = (nth, { stopRepeating }) => {
      if (nth === 2 || nth === 4) stopRepeating();
      if (nth === 2) throw new Error('no');
    };
    await schedule(name, {});
    expect(await ended(name)).toEqual(['completed', 'completed', 'discarded', 'completed']);
  });

  it('its last run, if it fails, is a dead letter, which ends when it is retried', async () => {
    act = (nth) => {
      if (nth <= 2) throw new Error('no');
    };
    await schedule(name, { limit: 2 });
    expect(await dead(name)).toMatchObject({ runsLeft: 1, lastError: 'Error: no' });
    await node.delays.retryDead(name, KEY);
    expect(await ended(name)).toEqual(['completed', 'discarded']);
  });
});

it('an @OnDeadDelay ends it, as a dead letter', async () => {
  act = () => {
    throw new Error('no');
  };
  await schedule('test.told', {});
  expect(await dead('test.told')).toMatchObject({ lastError: 'Error: no' });
  expect(await states('test.told')).toEqual(['discarded']);
});

it('one whose last instants were missed says so in history', async () => {
  const skipped = node.next('skipped');
  const end = { until: new Date(Date.now() - 3 * HOUR), catchUp: 'none' };
  const atMs = await schedule('test.plain', end);
  expect(await ended('test.plain')).toEqual(['discarded']);
  expect(await node.delays.history('test.plain', KEY)).toMatchObject([
    { error: 'its last instant was missed', dueAt: new Date(atMs) },
  ]);
  expect(await skipped).toMatchObject({ count: 3, from: new Date(atMs) });
  expect(dueAts).toEqual([]);
});

it('one that runs for the last of its missed instants ends with it', async () => {
  const atMs = await schedule('test.plain', {
    until: new Date(Date.now() - 1 * HOUR),
    catchUp: 'latest',
  });
  expect(await ended('test.plain')).toEqual(['completed']);
  expect(dueAts).toEqual([new Date(atMs + 4 * HOUR)]);
});

it('the same rule goes on with its count, to the end of the new call', async () => {
  const call = async (end: object) => {
    const repeat = { every: '1h', ...end } as RepeatOptions;
    const { dueAt } = await node.delays.schedule('test.plain', null, { key: KEY, repeat });
    return { dueAt, found: await node.delays.find('test.plain', KEY) };
  };
  const first = await call({ limit: 9 });
  await node.admin.runNow([{ name: 'test.plain', key: KEY }]);
  await until(
    () => node.delays.find('test.plain', KEY),
    (found) => found?.runsLeft === 8,
  );
  const longer = await call({ limit: 20, until: '9d' });
  expect(longer.dueAt).toEqual(first.dueAt);
  expect(longer.found).toMatchObject({ repeat: { limit: 20 }, runsLeft: 19 });
  const until9 = longer.found!.repeat!.until!.getTime() - Date.now();
  expect(Math.round(until9 / HOUR)).toBe(9 * 24);
  const endless = await call({});
  expect(endless.found?.repeat).toEqual({ every: HOUR, catchUp: 'latest' });
  expect(endless.dueAt).toEqual(first.dueAt);
});

it('a call refuses an end before its first run, and writes nothing', async () => {
  const soon = new Date(Date.now() + HOUR / 2);
  const DAILY = { cron: '0 3 * * *' } as const;
  for (const [repeat, when] of [
    [{ every: '1h', until: soon }, {}],
    [{ every: '1h', until: '59m' }, {}],
    [{ ...DAILY, until: 1 }, {}],
    [{ ...DAILY, until: soon }, { at: new Date(Date.now() + HOUR) }],
  ] as const) {
    const options = { key: KEY, repeat, ...when };
    const refused = { code: 'DELAY_INVALID', field: 'repeat.until' };
    await expect(node.delays.schedule('test.plain', 1, options as never)).rejects.toMatchObject(
      refused,
    );
    const items = [{ name: 'test.plain', payload: 1, ...options }];
    await expect(node.delays.scheduleMany(items as never)).rejects.toMatchObject(refused);
  }
  expect(await node.delays.find('test.plain', KEY)).toBeNull();
});

it('a handler whose code declares the recurrence cannot end it', async () => {
  const errors: unknown[] = [];
  act = (_, { stopRepeating }) => {
    try {
      stopRepeating();
    } catch (error) {
      errors.push(error);
    }
  };
  await node.sql(
    `INSERT INTO delay_queue.delay (name, key, payload, due_at, wake_at, created_at, repeat)
     VALUES ('test.plain', $1, '1', now(), now(), now(), '{"every": 3600000, "catchUp": "latest", "declared": true}')`,
    [KEY],
  );
  await until(
    () => states('test.plain'),
    ({ length }) => length > 0,
  );
  expect(errors).toMatchObject([{ code: 'DELAY_INVALID', field: 'delay' }]);
  expect(await node.delays.find('test.plain', KEY)).not.toBeNull();
});
