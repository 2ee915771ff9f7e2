import { setTimeout as pause } from 'node:timers/promises';
import { randomOf } from '../../../src/random.js';
import { faultsOf } from '../checks/index.js';
import type { Ground } from '../ground.js';
import type { Call } from '../program.js';
import type { Record } from '../record.js';
import { Scripts } from '../scripts.js';
import type { PostgresProxy } from '../../chaos/proxy/proxy.js';
import { Stage } from '../stage.js';

const CALLS = 12;
const LATER_CALLS = 6;

/** Of calls of one sort, on their way at a time. */
const STATEMENTS = 2;

/** Everything is due long after this. */
const LATER_MS = 3_600_000;

/**
 * Some of the node's connections fall silent for good, as behind a firewall that forgot them. Every
 * call without a manager is answered or refused, and those that come later go past them.
 */
export async function playHalfOpen(ground: Ground, seed: string): Promise<string[]> {
  const random = randomOf(seed);
  const scripts = new Scripts(random.fork('calls'));
  const setup = {
    way: 'url',
    nodes: 1,
    poolMax: random.integer(3, 6),
    leaseMs: 30_000,
    horizonMs: 30_000,
    loadEveryMs: 10_000,
    concurrency: 2,
    isBehindProxy: true,
  } as const;
  const stage = await Stage.open(ground, { seed, setup, before: [], sessions: [] });
  try {
    const { record, player, nodes } = stage;
    const proxy = stage.proxy as PostgresProxy;
    const [{ delays, dataSource }] = nodes as [(typeof nodes)[number]];
    const perform = (what: Call, no: number): Promise<void> =>
      player.call(what, { who: `caller ${no}`, delays, dataSource });
    const call = (no: number): Promise<void> => perform(putOff(scripts.call()), no);
    // All connections that callers use are there, and then some of them are not.
    await Promise.allSettled(Array.from({ length: CALLS }, (_, no) => call(no)));
    await goPast(proxy, perform, record);
    const silent = proxy.silence(random.pick([2, 3, Infinity]));
    const calls = Array.from({ length: CALLS }, async (_, no) => {
      await pause(random.integer(0, 50));
      await call(no);
    });
    await Promise.allSettled(calls);
    const refusal = await waysAfter(silent, () =>
      Promise.allSettled(Array.from({ length: LATER_CALLS }, (_, no) => call(CALLS + no))),
    );
    if (refusal !== undefined) {
      record.fault('refused', `later calls, ${silent} connections being silent: ${refusal}`);
    }
    proxy.cut();
    return await faultsOf(record, stage.client, []);
  } finally {
    await stage.close();
  }
}

/**
 * A connection that was idle when it fell silent is found so by the first statement that it gets; and then it is
 * gone. @returns why calls are refused when each of the silent ones could have been found
 */
async function waysAfter(
  silent: number,
  callAll: () => Promise<PromiseSettledResult<void>[]>,
): Promise<string | undefined> {
  let refusal: string | undefined;
  for (let found = 0; found <= silent; found += 1) {
    const refused = (await callAll()).find(({ status }) => status === 'rejected');
    if (refused === undefined) return undefined;
    refusal = String((refused as PromiseRejectedResult).reason);
  }
  return refusal;
}

/**
 * As many statements hang as may be on their way. What comes after them goes another way: long before they
 * are given up.
 */
async function goPast(
  proxy: PostgresProxy,
  perform: (call: Call, no: number) => Promise<void>,
  record: Record,
): Promise<void> {
  const cancel = (key: string, no: number): Promise<void> =>
    perform({ verb: 'cancel', slot: { name: 'test.plain', key } }, no);
  const givenUp: Promise<false>[] = [];
  for (let no = 1; no <= STATEMENTS; no += 1) {
    const key = `silent ${no}`;
    const isSilent = proxy.silenceAt(key);
    givenUp.push(cancel(key, no).then(isOver, isOver));
    await isSilent;
  }
  const answered = cancel('goes past', STATEMENTS + 1).then(() => true);
  const isFirst = await Promise.race([answered, ...givenUp]);
  if (!isFirst) record.fault('held up', 'a call waited until others that hung were given up');
  proxy.cutSilent();
  await Promise.allSettled([answered, ...givenUp]);
}

const isOver = (): false => false;

/** The same call of something that is not due while this lasts. */
function putOff(call: Call): Call {
  switch (call.verb) {
    case 'schedule':
      return { ...call, wish: { ...call.wish, onConflict: 'replace', afterMs: LATER_MS } };
    case 'scheduleMany':
      return {
        ...call,
        wishes: call.wishes.map((wish) => ({ ...wish, onConflict: 'replace', afterMs: LATER_MS })),
      };
    case 'reschedule':
      return { ...call, afterMs: LATER_MS };
    default:
      return call;
  }
}
