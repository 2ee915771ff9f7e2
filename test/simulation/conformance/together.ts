import type { Random } from '../../../src/random.js';
import { inLockOrder } from '../../../src/delay-queue/store/lock-order.js';
import type { BatchStore, Move, NameAndKey } from '../../../src/delay-queue/store/batch.store.js';
import type { Placed } from '../../../src/delay-queue/store/wire/delay-rows.js';
import { UNIT_MS } from './same.js';
import type { Side } from './side.js';
import type { Step } from './step.js';
import { NAMES, whereTo, wishOf } from './wishes.js';

/** What statements of many callers answer to each of them; nothing: he has to wait, alone. */
export type Answers = (Placed | undefined)[];

const KEYS = ['k1', 'k2', 'k3', 'k4'];

/** Makes a statement that many callers share. Each is a transaction of its own. */
export function stepTogether(random: Random): Step {
  const slots = NAMES.flatMap((name) => KEYS.map((key) => ({ name, key })));
  const some = slots.filter(() => random.chance(0.5));
  const chosen = some.length > 0 ? some : slots;
  const kinds = [placeKeyless, place, cancel, reschedule];
  return random.pick(kinds)(random, chosen);
}

type MakeStep = (random: Random, slots: readonly NameAndKey[]) => Step;

const placeKeyless: MakeStep = (random, slots) => {
  const wishes = slots.map(({ name }) => wishOf(random, { name, key: null }));
  return step('place keyless', slots, (store, side, answer) =>
    store.placeKeyless(
      side.runner('single'),
      wishes.map((of) => of(side)),
      answer,
    ),
  );
};

const place: MakeStep = (random, slots) => {
  const wishes = slots.map((slot) => wishOf(random, slot));
  return step('place', slots, (store, side, answer) => {
    const placements = wishes.map((of) => of(side));
    const sorted = inLockOrder(placements).sorted;
    return store.place(side.runner('single'), sorted, answer);
  });
};

const cancel: MakeStep = (_, slots) =>
  step('cancel', slots, (store, side, answer) =>
    store.cancel(side.runner('single'), slots, answer),
  );

const reschedule: MakeStep = (random, slots) => {
  const extend = { kind: 'extend' as const, ms: 2 * UNIT_MS };
  const moves = slots.map((slot) => {
    const to = random.chance(0.3) ? () => extend : whereTo(random);
    return (side: Side): Move => ({ ...slot, to: to(side) });
  });
  return step('reschedule', slots, (store, side, answer) =>
    store.reschedule(
      side.runner('single'),
      moves.map((of) => of(side)),
      answer,
    ),
  );
};

type Write = (
  store: BatchStore,
  side: Side,
  answer: (index: number, placed: Placed) => void,
) => Promise<void>;

const step = (verb: string, slots: readonly NameAndKey[], write: Write): Step => ({
  what: `${verb} together ${slots.map(({ name, key }) => `${name} ${key}`).join()}`,
  on: 'single',
  hasOrder: true,
  together: verb,
  run: async (side): Promise<Answers> => {
    const answers: Answers = slots.map(() => undefined);
    await write(side.together, side, (index, placed) => {
      answers[index] = placed;
    });
    return answers;
  },
});
