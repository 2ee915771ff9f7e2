import { setTimeout as pause } from 'node:timers/promises';
import { randomOf } from '../../support/random.js';
import { faultsOf } from '../checks/index.js';
import type { Ground } from '../ground.js';
import type { Call } from '../program.js';
import { Scripts } from '../scripts.js';
import { SilentProxy } from '../silent-proxy.js';
import { Stage } from '../stage.js';

const CALLS = 12;
const LATER_CALLS = 6;

/** Everything is due long after this. */
const LATER_MS = 3_600_000;

/**
 * Some of the node's connections fall silent for good, as behind a firewall that forgot them. Every
 * call without a manager is answered or refused, and those that come later find the way.
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
  } as const;
  const proxies: SilentProxy[] = [];
  const through = async (url: string): Promise<string> => {
    const proxy = await SilentProxy.open(url);
    proxies.push(proxy);
    return proxy.url;
  };
  const stage = await Stage.open(ground, { seed, setup, before: [], sessions: [] }, { through });
  try {
    const { record, player, nodes } = stage;
    const [{ delays, dataSource }] = nodes as [(typeof nodes)[number]];
    const call = (no: number): Promise<void> =>
      player.call(putOff(scripts.call()), { who: `caller ${no}`, delays, dataSource });
    // All connections that callers use are there, and then some of them are not.
    await Promise.allSettled(Array.from({ length: CALLS }, (_, no) => call(no)));
    const [proxy] = proxies as [SilentProxy];
    const silent = proxy.silence(random.pick([2, 3, Infinity]), random);
    const calls = Array.from({ length: CALLS }, async (_, no) => {
      await pause(random.integer(0, 50));
      await call(no);
    });
    await Promise.allSettled(calls);
    const later = Array.from({ length: LATER_CALLS }, (_, no) => call(CALLS + no));
    for (const answer of await Promise.allSettled(later)) {
      if (answer.status === 'fulfilled') continue;
      const what = `a later call, ${silent} connections being silent`;
      record.fault('refused', `${what}: ${String(answer.reason)}`);
    }
    proxy.cut();
    return await faultsOf(record, stage.client, []);
  } finally {
    for (const proxy of proxies) proxy.cut();
    await stage.close();
    for (const proxy of proxies) await proxy.close();
  }
}

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
