import type { ScheduleOptions, When } from 'nestjs-delay-queue';
import type { Random } from '../../../src/random.js';
import { ODD_ACTS } from './acts.js';
import { SAYING, SPOILING, THROWING } from './batch-handlers.js';
import { GROUPS, LIMITED, RATED } from './limits.js';
import { type ChaosName, type ChaosPayload, RARE } from './payloads.js';
import { weighed } from './weighed.js';

/** A delay that a client is about to ask for. */
export interface Wish {
  name: ChaosName;
  payload: ChaosPayload;
  options: When & ScheduleOptions;
}

type Rest = Partial<ChaosPayload>;

/** A name, and what else stands in its payloads. */
type Kind = readonly [name: ChaosName, rest: (random: Random) => Rest];

/** Different keys that the delays of one name share. */
const KEYS = 40;

const nothing = (): Rest => ({});
const act = (random: Random): Rest => ({ act: random.pick(ODD_ACTS) });
const left = (random: Random): Rest => ({ left: random.integer(1, 6) });
const workFor =
  (minMs: number, maxMs: number) =>
  (random: Random): Rest => ({ act: String(random.integer(minMs, maxMs)) });

/** Few spoil the batch: most batches must have a chance to succeed. */
const inBatch = (random: Random): Rest =>
  weighed<Rest>(random, [
    [87, {}],
    [10, { act: random.pick(SAYING) }],
    [2, { act: random.pick(THROWING) }],
    [1, { act: random.pick(SPOILING) }],
  ]);

const BATCHED: readonly Kind[] = [
  ['chaos.batch', inBatch],
  ['chaos.batch-fenced', inBatch],
  ['chaos.batch-recurring', left],
];

const LIMITED_KINDS: readonly Kind[] = [
  [LIMITED, workFor(10, 400)],
  [RATED, nothing],
];

const KINDS: readonly [weight: number, kind: Kind][] = [
  [30, ['chaos.plain', nothing]],
  [30, ['chaos.fenced', nothing]],
  [6, ['chaos.slow', workFor(200, 3_000)]],
  [6, ['chaos.slow-fenced', workFor(100, 1_500)]],
  [9, ['chaos.odd', act]],
  [9, ['chaos.odd-fenced', act]],
  [3, ['chaos.recurring', left]],
  [3, ['chaos.recurring-plain', left]],
  [6, ['chaos.chain', () => ({ left: 1 })]],
  [4, [RARE, nothing]],
  // It kills its worker: less than one of them a minute.
  [0.025, ['chaos.poison', nothing]],
  ...BATCHED.map((kind): [weight: number, kind: Kind] => [4, kind]),
  ...LIMITED_KINDS.map((kind): [weight: number, kind: Kind] => [8, kind]),
];

/** Attempts of what shall become a dead letter while the run still looks. */
const FEW_ATTEMPTS = 3;

/** What a client wants, one delay after the other, each with a token of its own. */
export class Wishes {
  #made = 0;
  /** The database's clock minus the monotonic one; our own wall clock may be hours off. */
  #aheadMs: number | undefined;

  constructor(
    private readonly random: Random,
    private readonly client: string,
  ) {}

  /** Asked to be due in so long, at that monotonic instant, a delay is due then. */
  heard({ options: { after } }: Wish, askedAtMs: number, dueAt: Date): void {
    if (typeof after === 'number') this.#aheadMs = dueAt.getTime() - after - askedAtMs;
  }

  next([name, rest]: Kind = weighed(this.random, KINDS), when = this.#when()): Wish {
    const { random } = this;
    const wish: Wish = {
      name,
      payload: { token: this.#token(), ...rest(random) },
      options: { ...when },
    };
    if (name === LIMITED && random.chance(0.9)) wish.options.group = random.pick(GROUPS);
    const recurs = name.includes('recurring');
    if (recurs || random.chance(0.55)) {
      // Many share few keys, so that they meet; some have one for themselves.
      const shared = recurs || random.chance(0.85);
      wish.options.key = shared ? `k${random.integer(1, KEYS)}` : wish.payload.token;
      wish.options.onConflict = weighed(random, [
        [60, 'replace'],
        [25, 'keep'],
        [15, 'error'],
      ]);
    }
    if (isDoomed(wish)) wish.options.maxAttempts = FEW_ATTEMPTS;
    else if (random.chance(0.4)) wish.options.maxAttempts = random.integer(4, 10);
    return wish;
  }

  /** For one call: no key stands twice. */
  several(next = (): Wish => this.next()): Wish[] {
    const taken = new Set<string>();
    const wishes = Array.from({ length: this.random.integer(5, 50) }, next);
    return wishes.filter(({ name, options: { key } }) => {
      const slot = `${name} ${key}`;
      return key === undefined || (!taken.has(slot) && taken.add(slot));
    });
  }

  /** The same, due at one instant, of one name that runs in batches or has limits. */
  crowd(): Wish[] {
    const kind = this.random.pick([...BATCHED, ...LIMITED_KINDS]);
    const when = this.#when();
    return this.several(() => this.next(kind, when));
  }

  #token(): string {
    this.#made += 1;
    return `${this.client}-${this.#made}`;
  }

  #when(): When {
    const { random } = this;
    const isKnown = this.#aheadMs !== undefined;
    const nowMs = performance.now() + (this.#aheadMs ?? 0);
    const soon = { after: random.integer(0, 8_000) };
    return weighed<() => When>(random, [
      [70, () => soon],
      [10, () => ({ after: random.integer(0, 30) })],
      [8, () => (isKnown ? { at: new Date(nowMs - random.integer(1, 5_000)) } : soon)],
      // The same instant for all who choose this one.
      [12, () => (isKnown ? { at: nextRound(nowMs) } : soon)],
    ])();
  }
}

const ROUND_MS = 2_000;
const nextRound = (nowMs: number): Date => new Date((Math.floor(nowMs / ROUND_MS) + 2) * ROUND_MS);

/** Whatever happens, it ends as a dead letter. */
export const isDoomed = ({ name, payload }: Wish): boolean =>
  name === 'chaos.poison' || payload.act === 'always fails' || payload.act === 'discards';
