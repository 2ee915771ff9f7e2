import { AsyncLocalStorage } from 'node:async_hooks';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import {
  type AttemptEnd,
  type AttemptEvent,
  type Delay,
  type DelayAttemptMessage,
  delayChannels,
  type DelayContext,
  DiscardDelay,
  PostponeDelay,
} from 'nestjs-delay-queue';
import type { EntityManager } from 'typeorm';
import { batchHandler, fencedHandler, plainHandler, signal } from '../support/delay-node.js';
import { OneNode } from '../support/one-node.js';
import { gaveUpBy } from './on-dead/support/mortal.js';

type Context = DelayContext & { manager?: EntityManager };
type Name = keyof typeof HANDLERS;

const KEY = 'k';
const RETRIES_LATER = { backoff: () => 3_600_000 };

let act: (ctx: Context, delay: Delay) => unknown = () => {};
let actOnDead: () => unknown = () => {};

const run = async (delay: Delay, ctx: Context): Promise<void> => void (await act(ctx, delay));

const HANDLERS = {
  'test.plain': plainHandler('test.plain', run, RETRIES_LATER),
  'test.fenced': fencedHandler('test.fenced', run, RETRIES_LATER),
  'test.mourned': plainHandler('test.mourned', run),
  'test.many': batchHandler('test.many', ([delay], ctx) => run(delay as Delay, ctx), { batch: 2 }),
};

const onDead = gaveUpBy('test.mourned', async () => void (await actOnDead()));
const node = new OneNode({ providers: [...Object.values(HANDLERS), onDead] });

/** What each message went through, and what it said at each step. */
const told = new Map<DelayAttemptMessage, string[]>();
const ended: DelayAttemptMessage[] = [];
let onEnd = (): void => {};

const note = (step: string) => (message: DelayAttemptMessage) => {
  const { outcome = 'open', error } = message;
  const line = error === undefined ? `${step} ${outcome}` : `${step} ${outcome}, failed`;
  told.set(message, [...(told.get(message) ?? []), line]);
};
const subscribers = {
  start: note('start'),
  end: note('end'),
  asyncStart: note('asyncStart'),
  error: note('error'),
  asyncEnd: (message: DelayAttemptMessage) => {
    note('asyncEnd')(message);
    ended.push(message);
    onEnd();
  },
};

/** So many attempts that have ended. */
const ends = (count: number): Promise<DelayAttemptMessage[]> =>
  new Promise((resolve) => {
    onEnd = () => {
      if (ended.length >= count) resolve(ended);
    };
    onEnd();
  });

beforeAll(() => delayChannels.attempt.subscribe(subscribers));
afterEach(() => {
  told.clear();
  ended.length = 0;
  [onEnd, act, actOnDead] = [() => {}, () => {}, () => {}];
});
afterAll(() => delayChannels.attempt.unsubscribe(subscribers));

const steps = (outcome: string, isFailure = false): string[] => {
  const last = isFailure ? `${outcome}, failed` : outcome;
  const error = isFailure ? [`error ${last}`] : [];
  return ['start open', 'end open', ...error, `asyncStart ${last}`, `asyncEnd ${last}`];
};

const fire = (name: Name, options: { maxAttempts?: number } = {}) =>
  node.delays.schedule(name, { secret: 'payload' }, { after: 0, key: KEY, ...options });

const fails = async (error = new Error('no')): Promise<never> => {
  throw error;
};

const untilAborted = async ({ signal: of }: Context): Promise<never> => {
  const aborted = signal();
  of.addEventListener('abort', () => aborted.resolve());
  await aborted.promise;
  throw of.reason;
};

/** As the claim of another node would, after the lease. */
const takeOver = (): Promise<unknown> =>
  node.sql(
    `UPDATE delay_queue.delay
     SET epoch = epoch + 1, leased_until = clock_timestamp() + interval '1 hour'`,
  );

type Act = (ctx: Context, delay: Delay) => unknown;

interface End {
  outcome: AttemptEnd;
  act: Act;
  fails?: true;
  of?: Name;
}

const OUTCOMES: End[] = [
  { outcome: 'completed', act: () => {} },
  { outcome: 'retrying', act: () => fails(), fails: true },
  { outcome: 'dead', act: () => fails(new DiscardDelay('no')), fails: true },
  { outcome: 'postponed', act: () => fails(new PostponeDelay('1h')) },
  {
    outcome: 'superseded',
    act: ({ manager }, { name }) =>
      node.delays.schedule(name, {}, { after: '1h', key: KEY, ...(manager && { manager }) }),
  },
  { outcome: 'lost', act: takeOver, of: 'test.plain' },
];

describe.each(['test.plain', 'test.fenced'] as const)('an attempt of %s', (name) => {
  it.each(OUTCOMES.filter(({ of = name }) => of === name))(
    'that ends as $outcome starts once, and ends once',
    async ({ outcome, act: its, fails: isFailure }) => {
      act = its;
      await fire(name);
      const [message] = await ends(1);
      expect(message).toMatchObject({ outcome, onDead: false, durationMs: expect.any(Number) });
      expect([...told]).toEqual([[message, steps(outcome, isFailure)]]);
    },
  );

  it('that is aborted ends as that', async () => {
    const begun = signal();
    act = async (ctx) => {
      begun.resolve();
      await untilAborted(ctx);
    };
    await fire(name);
    await begun.promise;
    await node.delays.cancel(name, KEY, { running: 'abort' });
    const [message] = await ends(1);
    expect([...told]).toEqual([[message, steps('aborted')]]);
  });

  it('is the context of its handler, also behind an await', async () => {
    const storage = new AsyncLocalStorage<DelayAttemptMessage>();
    const { start } = delayChannels.attempt;
    start.bindStore(storage, (message) => message);
    const seen: unknown[] = [];
    act = async () => {
      seen.push(storage.getStore());
      await node.sql('SELECT 1');
      seen.push(storage.getStore());
    };
    await fire(name);
    const [message] = await ends(1);
    start.unbindStore(storage);
    expect(seen).toEqual([message, message]);
    expect(seen[0]).toBe(message);
  });
});

it('an attempt that is given back when its node stops ends as released', async () => {
  const begun = signal();
  const name = 'test.elsewhere';
  const other = await node.start({
    providers: [
      plainHandler(name, async (_, ctx) => {
        begun.resolve();
        await untilAborted(ctx);
      }),
    ],
  });
  await node.delays.schedule(name, {}, { after: 0 });
  await begun.promise;
  await other.stop();
  const [message] = await ends(1);
  expect([...told]).toEqual([[message, steps('released')]]);
});

it('the last failure ends as exhausted, and the call of @OnDeadDelay is an attempt of its own', async () => {
  act = () => fails();
  await fire('test.mourned', { maxAttempts: 1 });
  const [last, call] = await ends(2);
  expect(last).toMatchObject({ outcome: 'exhausted', onDead: false, attempt: 1 });
  expect(call).toMatchObject({ outcome: 'dead', onDead: true, attempt: 1, id: last?.id });
  expect([...told.values()]).toEqual([steps('exhausted', true), steps('dead', true)]);
});

it('a call of @OnDeadDelay that fails ends as retrying, with its own error', async () => {
  act = () => fails();
  actOnDead = () => fails(new Error('of the method'));
  await fire('test.mourned', { maxAttempts: 1 });
  const [, call] = await ends(2);
  expect(call).toMatchObject({ outcome: 'retrying', onDead: true });
  expect(call?.error).toMatchObject({ message: 'of the method' });
});

it.each([
  ['completed', undefined],
  ['split', new Error('no')],
])('each delay of a batch has its own message and event: %s', async (outcome, error) => {
  const started: unknown[] = [];
  const onStarted = ({ key }: AttemptEvent): void => void started.push(key);
  node.events.on('started', onStarted);
  let calls = 0;
  act = () => {
    calls += 1;
    if (calls === 1 && error !== undefined) throw error;
  };
  const items = ['a', 'b'].map(
    (key) => ({ key, name: 'test.many', payload: {}, after: 0 }) as const,
  );
  await node.delays.scheduleMany(items);
  // After a split each runs again, alone.
  const messages = (await ends(error === undefined ? 2 : 4)).slice(0, 2);
  node.events.off('started', onStarted);
  for (const keys of [messages.map(({ key }) => key), started.slice(0, 2)]) {
    expect(new Set(keys)).toEqual(new Set(['a', 'b']));
  }
  for (const message of messages) {
    expect(message).toMatchObject({ batch: 2, outcome });
    expect(told.get(message)).toEqual(steps(outcome, error !== undefined));
  }
});
