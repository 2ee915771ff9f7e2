import type { Random } from '../../../src/random.js';
import type { NewDelay } from '../../../src/delay-queue/store/wire/delay-rows.js';
import { UNIT_MS } from './same.js';
import type { Side } from './side.js';

export const NAMES = ['test.a', 'test.b'];

/** An even number of units: what passes is odd, so nothing is due just now. */
export const spanMs = (random: Random): number => random.integer(0, 3) * 2 * UNIT_MS;

export const passMs = (random: Random): number => (random.integer(0, 3) * 2 + 1) * UNIT_MS;

/** Where something goes, as soon as it is known on which side: an instant is one of its clock. */
export const whereTo = (random: Random) => {
  const ms = spanMs(random);
  return random.chance(0.7)
    ? () => ({ kind: 'after' as const, ms })
    : (side: Side) => ({
        kind: 'at' as const,
        iso: new Date(Math.round(side.nowMs() + ms - UNIT_MS * 2)).toISOString(),
      });
};

/** A placement of that name and key. */
export function wishOf(
  random: Random,
  slot: Pick<NewDelay, 'name' | 'key'>,
): (side: Side) => NewDelay {
  const to = whereTo(random);
  const placement = {
    ...slot,
    payload: `{"n": ${random.integer(1, 9)}}`,
    maxAttempts: random.pick([null, 1, 3]),
    onConflict: random.pick(['replace', 'keep', 'error', 'earlier', 'later'] as const),
  };
  return (side) => ({ ...placement, to: to(side) });
}
