import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { EventEmitter } from 'node:events';
import { setImmediate as turn } from 'node:timers/promises';
import { DelayEvents } from 'nestjs-delay-queue';
import { nodesHint } from '../../../src/delay-queue/core/cluster/hint.js';
import { HintListener } from '../../../src/delay-queue/core/cluster/listener.js';
import type { EngineConnections } from '../../../src/delay-queue/core/database/engine-connections.js';
import { Idle } from '../../../src/delay-queue/core/tasks/recurring-task.js';
import { TaskHealth } from '../../../src/delay-queue/core/tasks/task-health.js';
import { signal } from '../../support/delay-node.js';

const CHANNEL = 'delay_queue';
/** The first pause after a failure, and the longest. */
const [FIRST_MS, LAST_MS] = [100, 5_000];

/** A connection to a server that hears what is said on it. */
class FakeClient extends EventEmitter {
  hasEnded = false;
  queries: string[] = [];
  isSilent = false;

  query = async (sql: string): Promise<unknown> => {
    this.queries.push(sql);
    if (this.isSilent) return new Promise(() => {});
    if (/^(?:UN)?LISTEN/.test(sql)) return [{}, { rows: [{ pid: '7' }] }];
    const held = locks.shift();
    if (held instanceof Error) throw held;
    return { rows: [held ?? { held: 'true', process_held: 'true' }] };
  };

  end = async (): Promise<void> => {
    this.hasEnded = true;
    await ending;
  };
}

let clients: FakeClient[];
/** When each connection was asked for. */
let askedAtMs: number[];
let isUp: boolean;
/** Until then connections are being opened, and ended. */
let opening: Promise<void>;
let ending: Promise<void>;
/** What comes of the next questions for its locks; when none is left, it has them. */
let locks: (Record<'held' | 'process_held', string> | Error)[];
/** What becomes of what it says to itself. */
let echo: 'comes' | 'is lost' | 'fails';
let hearingKnown: string[];
let events: DelayEvents;
/** Before when connections were opened that are used no more. */
let renewed: number[];
let told: string[];
let heard: string[];
let idle: Idle;
let listener: HintListener;

const pass = (ms: number): Promise<void> => jest.advanceTimersByTimeAsync(ms);
const current = (): FakeClient => clients.at(-1)!;
const tries = (): number => askedAtMs.length;
const isPresent = (): boolean => listener.presentSession !== undefined;

beforeEach(async () => {
  jest.useFakeTimers({ now: 0 });
  // Pauses are at their longest.
  jest.spyOn(Math, 'random').mockReturnValue(0);
  [clients, askedAtMs, told, heard, renewed, isUp] = [[], [], [], [], [], true];
  [locks, echo, hearingKnown, opening, ending] = [
    [],
    'comes',
    [],
    Promise.resolve(),
    Promise.resolve(),
  ];
  events = new DelayEvents();
  events.on('taskFailed', ({ task }) => told.push(task));
  events.on('taskRecovered', ({ task }) => told.push(`${task} again`));
  const connections = {
    dedicated: () => {
      clients.push(new FakeClient());
      return current();
    },
    open: async () => {
      askedAtMs.push(performance.now());
      await opening;
      if (!isUp) throw new Error('down');
    },
    applySettings: async () => {},
    renew: (openedBeforeMs: number) => renewed.push(openedBeforeMs),
    query: async (_: string, [, text]: string[]) => {
      if (echo === 'fails') throw new Error('down');
      if (echo === 'comes') current().emit('notification', { payload: text });
      return [];
    },
  } as unknown as EngineConnections;
  idle = new Idle(3_600_000);
  make = () => {
    listener = new HintListener(connections, CHANNEL, 'node', events, idle);
    listener.hints.on(({ kind }) => heard.push(kind));
    listener.hearingKnown.on((hearing) => hearingKnown.push(hearing));
    return listener.start();
  };
  await make();
});

/** Makes one, and starts it. */
let make: () => Promise<boolean>;

/** The same, instead of the one that there is. */
async function another(hears: typeof echo): Promise<boolean> {
  await listener.stop();
  echo = hears;
  return make();
}

/** What runs in turns of the event loop, beside timers. */
async function turns(): Promise<void> {
  for (let n = 0; n < 4; n += 1) await turn();
}

afterEach(async () => {
  await listener.stop();
  jest.restoreAllMocks();
  jest.useRealTimers();
});

/** The server ends the connection. */
const cut = (): void => {
  current().emit('error', new Error('terminated'));
  current().emit('end');
};

/** @returns how long the pauses between the tries of so much time were */
async function pausesIn(ms: number): Promise<number[]> {
  const before = tries();
  await pass(ms);
  const times = askedAtMs.slice(before);
  return times.slice(1).map((at, index) => at - times[index]!);
}

describe('a listener whose connection ends', () => {
  it('makes a new one, takes its locks again, and says that hints may have been lost', async () => {
    expect([listener.hearing, isPresent(), listener.processLock.isHeld]).toEqual([
      'heard',
      true,
      true,
    ]);
    cut();
    expect([isPresent(), listener.processLock.isHeld]).toEqual([false, false]);
    expect([told, heard]).toEqual([['listen'], ['probe']]);
    await pass(FIRST_MS);
    expect([isPresent(), listener.processLock.isHeld]).toEqual([true, true]);
    expect([told, heard]).toEqual([
      ['listen', 'listen again'],
      ['probe', 'nodes'],
    ]);
    current().emit('notification', { payload: nodesHint('other') });
    expect(heard).toHaveLength(3);
    expect(clients[0]!.hasEnded).toBe(true);
  });

  it('tries again after pauses that grow to the longest, and are short again after one that works', async () => {
    isUp = false;
    cut();
    const pauses = await pausesIn(120_000);
    const grown = [200, 400, 800, 1_600, 3_200, LAST_MS, LAST_MS];
    expect(pauses.slice(0, grown.length)).toEqual(grown);
    isUp = true;
    await pass(LAST_MS);
    expect(told.at(-1)).toBe('listen again');
    isUp = false;
    cut();
    expect((await pausesIn(1_000)).slice(0, 2)).toEqual([200, 400]);
  });

  it('while the node is idle does without, until that is over', async () => {
    idle.isOn = true;
    cut();
    await pass(600_000);
    expect([tries(), told]).toEqual([1, []]);
    idle.end();
    await pass(0);
    expect([tries(), heard.at(-1)]).toEqual([2, 'nodes']);
  });
});

describe('a listener that has stopped', () => {
  it('does not come back, whatever its connections do, and leaves no timer', async () => {
    isUp = false;
    cut();
    await pass(FIRST_MS);
    isUp = true;
    await listener.stop();
    cut();
    await pass(600_000);
    expect([tries(), jest.getTimerCount()]).toEqual([2, 0]);
  });

  it('says goodbye first, and hears nothing more', async () => {
    await listener.retire();
    const { queries, hasEnded } = current();
    expect(queries.at(-1)).toMatch(/pg_advisory_unlock/);
    current().emit('notification', { payload: nodesHint('other') });
    expect([heard, hasEnded, listener.processLock.isHeld]).toEqual([['probe'], false, true]);
    await listener.stop();
    expect([current().hasEnded, listener.processLock.isHeld]).toEqual([true, false]);
  });
});

it('a thousand connections later it listens on the last one alone', async () => {
  for (let times = 0; times < 1_000; times += 1) {
    cut();
    await pass(FIRST_MS);
  }
  expect([tries(), jest.getTimerCount()]).toEqual([1_001, 0]);
  expect(clients.filter(({ hasEnded }) => !hasEnded)).toHaveLength(1);
  heard = [];
  for (const client of clients.slice(0, -1)) client.emit('end');
  await pass(LAST_MS);
  expect([heard, tries()]).toEqual([[], 1_001]);
});

describe('a listener that is asked', () => {
  it('keeps a connection over which the server answers', async () => {
    const before = current().queries.length;
    for (let asks = 0; asks < 2; asks += 1) await listener.ask();
    await pass(60_000);
    expect([tries(), told, renewed]).toEqual([1, [], []]);
    const asked = expect.stringMatching(/ SELECT true AS listens$/);
    expect(current().queries.slice(before)).toEqual([asked, asked]);
  });

  it('takes the locks that a session of its past had when it connected', async () => {
    const none = { held: 'false', process_held: 'false' };
    locks = [none];
    cut();
    await pass(FIRST_MS);
    expect([isPresent(), listener.processLock.isHeld]).toEqual([false, false]);
    // The first answer is that to the question whether it still listens.
    locks = [none];
    await listener.ask();
    expect([isPresent(), listener.processLock.isHeld]).toEqual([true, true]);
  });

  it('gives up one that is silent, once, and with it what was opened before', async () => {
    await pass(1_000);
    current().isSilent = true;
    void listener.ask();
    // It is asked with each load.
    void listener.ask();
    await pass(4_999);
    await turns();
    expect(told).toEqual([]);
    await pass(1);
    await turns();
    expect([told, renewed]).toEqual([['listen'], [1_000]]);
    await pass(FIRST_MS);
    expect([told, tries(), isPresent()]).toEqual([['listen', 'listen again'], 2, true]);
  });

  it('gives up one whose lock is missed, unless it is another by then', async () => {
    const session = listener.presentSession!;
    listener.missed(session);
    expect(told).toEqual(['listen']);
    await pass(FIRST_MS);
    listener.missed(session);
    expect([told, tries()]).toEqual([['listen', 'listen again'], 2]);
  });
});

it('a session that does not give its locks does not count as present', async () => {
  locks = [new Error('permission denied')];
  cut();
  await pass(FIRST_MS);
  expect([told.at(-1), isPresent(), listener.processLock.isHeld]).toEqual([
    'listen again',
    false,
    false,
  ]);
});

it('a connection that ends without an error is made anew, and a notification without a text is none', async () => {
  current().emit('notification', {});
  expect(heard).toEqual(['probe']);
  current().emit('end');
  expect(told).toEqual(['listen']);
  await pass(FIRST_MS);
  expect(tries()).toBe(2);
});

it('a listener connects again as soon as something else works again, and not once it has stopped', async () => {
  const other = new TaskHealth(events, 'claim');
  isUp = false;
  cut();
  await pass(FIRST_MS);
  expect(tries()).toBe(2);
  isUp = true;
  other.failed(new Error('down'));
  other.worked();
  await pass(0);
  expect([tries(), isPresent()]).toEqual([3, true]);
  for (const end of ['retire', 'stop'] as const) {
    await another('comes');
    cut();
    const before = tries();
    await listener[end]();
    other.failed(new Error('down'));
    other.worked();
    await pass(LAST_MS);
    expect([tries(), jest.getTimerCount()]).toEqual([before, 0]);
  }
});

describe('where LISTEN does not work', () => {
  it('its connection is given up, and the session of the pooler listens no more', async () => {
    const started = another('is lost');
    await pass(5_000);
    expect(await started).toBe(false);
    expect(current().queries.at(-1)).toMatch(/^UNLISTEN/);
    expect([listener.hearing, isPresent(), current().hasEnded]).toEqual(['silent', false, true]);
    await pass(600_000);
    expect([tries(), told]).toEqual([2, []]);
  });

  it('and that cannot be told, it is asked again, and has its locks only then', async () => {
    expect(await another('fails')).toBe(true);
    expect([listener.hearing, isPresent(), hearingKnown]).toEqual(['unknown', false, []]);
    await pass(999);
    expect(hearingKnown).toEqual([]);
    echo = 'comes';
    await pass(1);
    expect([hearingKnown, listener.hearing, isPresent()]).toEqual([['heard'], 'heard', true]);
    expect(tries()).toBe(2);
  });

  it('and that could not be told before the connection ended, the next one is asked', async () => {
    await another('fails');
    cut();
    echo = 'comes';
    await pass(FIRST_MS);
    expect([hearingKnown, isPresent()]).toEqual([['heard'], true]);
  });

  it.each(['stop', 'retire'] as const)(
    'and that cannot be told, it ends without a word: %s',
    async (end) => {
      await another('fails');
      const said = current().queries.length;
      await listener[end]();
      await pass(600_000);
      expect([current().hasEnded, current().queries.length, hearingKnown]).toEqual([
        true,
        said,
        [],
      ]);
      expect(jest.getTimerCount()).toBe(0);
    },
  );
});

describe('the end', () => {
  it('waits a second for that of the connection', async () => {
    const answer = signal();
    ending = answer.promise;
    let hasStopped = false;
    const stopped = listener.stop().then(() => (hasStopped = true));
    await pass(999);
    expect([isPresent(), hasStopped]).toEqual([false, false]);
    await pass(1);
    await stopped;
    answer.resolve();
  });

  it('waits as long for the answer to its goodbye, and then does not come back', async () => {
    current().isSilent = true;
    let hasRetired = false;
    const retired = listener.retire().then(() => (hasRetired = true));
    await pass(999);
    expect(hasRetired).toBe(false);
    await pass(1);
    await retired;
    cut();
    await pass(600_000);
    expect([tries(), told, jest.getTimerCount()]).toEqual([1, [], 0]);
  });

  it('ends a connection that is being opened', async () => {
    const opened = signal();
    cut();
    opening = opened.promise;
    await pass(FIRST_MS);
    await listener.stop();
    expect([tries(), current().hasEnded]).toEqual([2, true]);
    current().hasEnded = false;
    opened.resolve();
    await pass(0);
    expect([isPresent(), current().hasEnded, heard]).toEqual([false, true, ['probe']]);
  });
});
