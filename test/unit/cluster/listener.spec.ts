import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { EventEmitter } from 'node:events';
import { setImmediate as turn } from 'node:timers/promises';
import { DelayEvents } from 'nestjs-delay-queue';
import { nodesHint } from '../../../src/delay-queue/cluster/hint.js';
import { HintListener } from '../../../src/delay-queue/cluster/listener.js';
import type { EngineConnections } from '../../../src/delay-queue/database/engine-connections.js';
import { Idle } from '../../../src/delay-queue/tasks/idle.js';

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
    if (sql.startsWith('LISTEN')) return [{}, { rows: [{ pid: '7' }] }];
    return { rows: [{ held: 'true', process_held: 'true' }] };
  };

  end = async (): Promise<void> => void (this.hasEnded = true);
}

let clients: FakeClient[];
/** When each connection was asked for. */
let askedAtMs: number[];
let isUp: boolean;
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
  const events = new DelayEvents();
  events.on('trouble', ({ during }) => told.push(during));
  events.on('recovered', ({ during }) => told.push(`${during} again`));
  const connections = {
    dedicated: () => {
      clients.push(new FakeClient());
      return current();
    },
    open: async () => {
      askedAtMs.push(performance.now());
      if (!isUp) throw new Error('down');
    },
    applySettings: async () => {},
    renew: (openedBeforeMs: number) => renewed.push(openedBeforeMs),
    query: async (_: string, [, text]: string[]) => {
      current().emit('notification', { payload: text });
      return [];
    },
  } as unknown as EngineConnections;
  idle = new Idle(3_600_000);
  listener = new HintListener(connections, CHANNEL, 'node', events, idle);
  listener.hints.on(({ kind }) => heard.push(kind));
  await listener.start();
});

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
    idle.begin();
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
    await listener.ask();
    await pass(60_000);
    expect([tries(), told, renewed]).toEqual([1, [], []]);
  });

  it('gives up one that is silent, once, and with it what was opened before', async () => {
    await pass(1_000);
    current().isSilent = true;
    void listener.ask();
    // It is asked with each load.
    void listener.ask();
    await pass(4_999);
    expect(told).toEqual([]);
    await pass(1);
    for (let turns = 0; turns < 4; turns += 1) await turn();
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
