import type { ScheduleOptions, When } from 'nestjs-delay-queue';
import type { Random } from '../../../src/random.js';
import type { ChaosPayload } from '../record/client-line.js';
import { ODD_ACTS } from './acts.js';
import { SAYING, SPOILING, THROWING } from './batch-handlers.js';
import type { DatabaseTime } from './database-time.js';
import { type ChaosName, RARE } from './payloads.js';
import { weighed } from './weighed.js';

/** A delay that a client is about to ask for. */
export interface Wish {
  name: ChaosName;
  payload: ChaosPayload;
  options: When & ScheduleOptions;
}

/** Payloads of one name, and how many different keys they share; none: a key would mean nothing. */
interface Kind {
  name: ChaosName;
  keys: number;
  payload: (random: Random) => Partial<ChaosPayload>;
}

const KEYS = 40;
const nothing = (): Partial<ChaosPayload> => ({});
const act = (random: Random): Partial<ChaosPayload> => ({ act: random.pick(ODD_ACTS) });
const left = (random: Random): Partial<ChaosPayload> => ({ left: random.integer(1, 6) });

/** Few spoil the batch: most batches must have a chance to succeed. */
const inBatch = (random: Random): Partial<ChaosPayload> =>
  weighed<Partial<ChaosPayload>>(random, [
    [87, {}],
    [10, { act: random.pick(SAYING) }],
    [2, { act: random.pick(THROWING) }],
    [1, { act: random.pick(SPOILING) }],
  ]);

const BATCHED: readonly Kind[] = [
  { name: 'chaos.batch', keys: KEYS, payload: inBatch },
  { name: 'chaos.batch-fenced', keys: KEYS, payload: inBatch },
  { name: 'chaos.batch-recurring', keys: KEYS, payload: left },
];

const KINDS: readonly [weight: number, kind: Kind][] = [
  [30, { name: 'chaos.plain', keys: KEYS, payload: nothing }],
  [30, { name: 'chaos.fenced', keys: KEYS, payload: nothing }],
  [
    6,
    {
      name: 'chaos.slow',
      keys: KEYS,
      payload: (random) => ({ act: String(random.integer(200, 3_000)) }),
    },
  ],
  [
    6,
    {
      name: 'chaos.slow-fenced',
      keys: KEYS,
      payload: (random) => ({ act: String(random.integer(100, 1_500)) }),
    },
  ],
  [9, { name: 'chaos.odd', keys: KEYS, payload: act }],
  [9, { name: 'chaos.odd-fenced', keys: KEYS, payload: act }],
  [3, { name: 'chaos.recurring', keys: 20, payload: left }],
  [3, { name: 'chaos.recurring-plain', keys: 20, payload: left }],
  [6, { name: 'chaos.chain', keys: KEYS, payload: () => ({ left: 1 }) }],
  [4, { name: RARE, keys: KEYS, payload: nothing }],
  ...BATCHED.map((kind): [weight: number, kind: Kind] => [4, kind]),
];

/** Attempts of what shall become a dead letter while the run still looks. */
const FEW_ATTEMPTS = 3;

/** What a client wants, one delay after the other, each with a token of its own. */
export class Wishes {
  #made = 0;

  constructor(
    private readonly random: Random,
    private readonly client: string,
    private readonly time: DatabaseTime,
  ) {}

  next({ name, keys, payload }: Kind = weighed(this.random, KINDS), when = this.#when()): Wish {
    const { random } = this;
    const wish: Wish = {
      name,
      payload: { token: this.#token(), ...payload(random) },
      options: { ...when },
    };
    const recurs = name.includes('recurring');
    if (recurs || random.chance(0.55)) {
      // Many share few keys, so that they meet; some have one for themselves.
      const shared = recurs || random.chance(0.85);
      wish.options.key = shared ? `k${random.integer(1, keys)}` : wish.payload.token;
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

  /** For one call. */
  several(count: number): Wish[] {
    return withoutTwins(Array.from({ length: count }, () => this.next()));
  }

  /** For one call, due at one instant, of one name that runs in batches. */
  crowd(count: number): Wish[] {
    const kind = this.random.pick(BATCHED);
    const when = this.#when();
    return withoutTwins(Array.from({ length: count }, () => this.next(kind, when)));
  }

  poison(): Wish {
    return {
      name: 'chaos.poison',
      payload: { token: this.#token() },
      options: { after: this.random.integer(0, 2_000), maxAttempts: this.random.integer(1, 3) },
    };
  }

  #token(): string {
    this.#made += 1;
    return `${this.client}-${this.#made}`;
  }

  #when(): When {
    const { random } = this;
    const nowMs = this.time.nowMs();
    const soon = { after: random.integer(0, 8_000) };
    return weighed<() => When>(random, [
      [70, () => soon],
      [10, () => ({ after: random.integer(0, 30) })],
      [8, () => (nowMs === undefined ? soon : { at: new Date(nowMs - random.integer(1, 5_000)) })],
      // The same instant for all who choose this one.
      [12, () => (nowMs === undefined ? soon : { at: nextRound(nowMs) })],
    ])();
  }
}

/** No key stands twice. */
function withoutTwins(wishes: readonly Wish[]): Wish[] {
  const taken = new Set<string>();
  return wishes.filter(({ name, options: { key } }) => {
    if (key === undefined) return true;
    const slot = `${name} ${key}`;
    return !taken.has(slot) && taken.add(slot);
  });
}

const ROUND_MS = 2_000;
const nextRound = (nowMs: number): Date => new Date((Math.floor(nowMs / ROUND_MS) + 2) * ROUND_MS);

/** Whatever happens, it ends as a dead letter. */
export const isDoomed = ({ payload }: Wish): boolean =>
  payload.act === 'always fails' || payload.act === 'discards';
