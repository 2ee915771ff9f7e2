import { expect, it } from '@jest/globals';
import { setTimeout as pause } from 'node:timers/promises';
import { randomOf } from '../../../src/random.js';
import { NAMES } from '../../support/acting-node.js';
import { ABORT, TwoNodes } from './support/two-nodes.js';

const KEYS = 150;
/** As long as a handler takes, or a key is waited for before it is aborted. */
const TAKES_MS = 60;
const LONG_MS = 1_000;
const WITHIN_MS = 500;

const two = new TwoNodes();

it.each(['transactional', 'transactional batch'] as const)(
  'whatever comes first, an abort or COMMIT (%s): cancelled means no effect, absent means one',
  async (kind) => {
    const random = randomOf(`abort ${kind}`);
    const other = await two.another('runs too');
    const ended: unknown[] = [];
    for (const { events } of [two.runs, other]) events.on('aborted', (event) => ended.push(event));
    // Some take so long that they run when their abort comes, on a busy machine, too.
    two.does(() => pause(random.chance(0.2) ? LONG_MS : random.integer(0, TAKES_MS)));
    const name = NAMES[kind];
    const keys = Array.from({ length: KEYS }, (_, n) => `k${n}`);
    await two.asks.delays.scheduleMany(
      keys.map((key) => ({ name, payload: null, key, after: random.integer(0, WITHIN_MS) })),
    );
    const told = await Promise.all(
      keys.map(async (key) => {
        await pause(random.integer(0, WITHIN_MS + TAKES_MS));
        const by = random.chance(0.5) ? two.asks : two.runs;
        const { verdict } = await by.delays.cancel(name, key, ABORT);
        return [key, verdict] as const;
      }),
    );
    const effects = await two.effects();
    const wrong = told.filter(([key, verdict]) => {
      const times = effects.filter((each) => each === key).length;
      return times !== (verdict === 'absent' ? 1 : 0);
    });
    expect(wrong).toEqual([]);
    // Else the test has seen nothing: some were ended while they ran.
    expect(ended).not.toEqual([]);
    expect(new Set(told.map(([, verdict]) => verdict))).toEqual(new Set(['absent', 'cancelled']));
    expect(await two.sql('SELECT id FROM delay_queue.delay')).toEqual([]);
    await other.stop();
  },
);
