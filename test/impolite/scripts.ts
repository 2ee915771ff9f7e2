import type { Random } from '../../src/random.js';
import { weighed } from '../chaos/load/weighed.js';
import {
  type Call,
  type Leaf,
  NAMES,
  type Script,
  type Slot,
  type Step,
  type Wish,
} from './program.js';

/** Somewhere in between: a wake that is known and not there yet. */
const FAR_MS = { min: 20_000, max: 50_000 };
const SOON_MS = { min: 0, max: 700 };

const KEYS = 4;

/** All of them end the transaction, to Postgres. */
const ENDS = [
  'END',
  'abort work',
  'COMMIT AND CHAIN',
  'COMMIT; BEGIN',
  '/* at last */ ROLLBACK AND CHAIN',
  "PREPARE TRANSACTION 'x'",
  'SELECT 1; COMMIT; START TRANSACTION',
  "SELECT 1 /* a /* b */ ' */; COMMIT; -- '",
  'SELECT 1 AS a$$; COMMIT; SELECT 1 AS a$$',
  '-- a line\rCOMMIT',
] as const;

/** The next one begins with the same text. */
const CHAINS = ['COMMIT AND CHAIN', 'COMMIT; BEGIN', 'SELECT 1; END; SELECT 2; BEGIN'] as const;
const DOORS = ['manager', 'client'] as const;

const DOES_NOTHING: Script = { steps: [{ is: 'write' }], fails: 0, how: 'throws' };

/** Pieces of what impolite callers and handlers do. */
export class Scripts {
  readonly #rivalry: Random;
  readonly #leftCalls: Random;
  readonly #ends: Random;
  readonly #reruns: Random;

  constructor(private readonly random: Random) {
    this.#rivalry = random.fork('rivals');
    this.#leftCalls = random.fork('left calls');
    this.#ends = random.fork('ends');
    this.#reruns = random.fork('reruns');
  }

  slot(): Slot {
    const { random } = this;
    return { name: random.pick(NAMES), key: `k${random.integer(1, KEYS)}` };
  }

  soonMs(): number {
    return this.random.integer(SOON_MS.min, SOON_MS.max);
  }

  /** @param script of its handler */
  wish(script = DOES_NOTHING): Wish {
    const { random } = this;
    const { name, key } = this.slot();
    return {
      name,
      afterMs: random.chance(0.85) ? this.soonMs() : this.#farMs(),
      ...(random.chance(0.6) && {
        key,
        onConflict: random.pick(['replace', 'replace', 'keep', 'error'] as const),
        ...(this.#reruns.chance(0.5) && { running: 'rerun' as const }),
      }),
      ...(random.chance(0.6) && { maxAttempts: random.integer(1, 3) }),
      script,
    };
  }

  call(): Call {
    const { random } = this;
    return weighed<() => Call>(random, [
      [30, () => ({ verb: 'schedule', wish: this.wish() })],
      [10, () => ({ verb: 'scheduleMany', wishes: this.#wishes() })],
      [30, () => ({ verb: 'cancel', slot: this.slot() })],
      [20, () => this.#reschedule()],
      [5, () => ({ verb: 'retryDead', slot: this.slot() })],
      [5, () => ({ verb: 'find', slot: this.slot() })],
    ])();
  }

  /** Some steps of a caller's transaction, which may be a nested one. */
  transaction(depth = 0): Step[] {
    const { random } = this;
    const steps: Step[] = [];
    for (let left = random.integer(1, 4); left > 0; left -= 1) steps.push(this.#step(depth));
    if (this.#rivalry.chance(0.15)) steps.push(this.#rivals());
    if (depth === 0 && this.#ends.chance(0.2)) steps.push(this.#chains(), this.#soon());
    if (depth === 0) steps.push(...this.#carelessEnd());
    return steps;
  }

  /** What a handler does, and how often it fails. */
  handler(): Script {
    const { random } = this;
    const steps = weighed<() => Step[]>(random, [
      [15, () => [{ is: 'write' }, { is: 'write' }]],
      [20, () => [{ is: 'write' }, this.#branches(false)]],
      [15, () => [this.#callAmongWrites()]],
      [15, () => [{ is: 'write' }, { is: 'foreign', call: this.#alone() }]],
      [10, () => [{ is: 'keeps manager' }, { is: 'write' }]],
      [10, () => this.transaction(1)],
      [20, () => [{ is: 'write' }, ...this.#unawaited()]],
      [8, () => this.#endedByHand()],
      [3, () => [{ is: 'write' }, { is: 'forgets' }, { is: 'write' }]],
    ])();
    return {
      steps,
      fails: random.pick([0, 0, 0, 1, 1, 9]),
      how: random.chance(0.15) ? 'lingers' : 'throws',
    };
  }

  #step(depth: number): Step {
    const { random } = this;
    const nested = depth < 2 ? 25 : 0;
    return weighed<() => Step>(random, [
      [15, () => ({ is: 'write' })],
      [20, () => ({ is: 'call', call: this.call() })],
      // Within a savepoint a branch that is left behind would land outside: its caller's own fault.
      [30, () => this.#branches(depth > 0 || random.chance(0.7))],
      [nested, () => this.#nested(depth)],
      [5, () => ({ is: 'waits', ms: random.integer(1, 60) })],
      [5, () => this.#callAmongWrites()],
    ])();
  }

  #nested(depth: number): Step {
    const { random } = this;
    return {
      is: 'nested',
      steps: this.transaction(depth + 1),
      undone: random.chance(0.6),
      byHand: random.chance(0.4),
    };
  }

  #branches(settled: boolean): Step {
    const { random } = this;
    const branches = Array.from({ length: random.integer(2, 4) }, () => this.#branch());
    // The others go on when this one has failed.
    if (!settled) branches.push([{ is: 'write' }, { is: 'throws' }]);
    const held = random.chance(0.6) ? heldOf(branches, random) : undefined;
    return { is: 'branches', branches, settled, ...(held && { held }) };
  }

  #branch(): Leaf[] {
    const { random } = this;
    return Array.from({ length: random.integer(1, 3) }, () =>
      weighed<() => Leaf>(random, [
        [45, () => ({ is: 'write' })],
        [45, () => ({ is: 'call', call: this.call() })],
        [5, () => ({ is: 'waits', ms: random.integer(0, 5) })],
      ])(),
    );
  }

  /** Six rows of its own beside one call, whose row somebody else has for a moment. */
  #callAmongWrites(): Step {
    const held = this.slot();
    const call: Leaf = { is: 'call', call: { verb: 'cancel', slot: held } };
    const writes = Array.from({ length: 6 }, (): Leaf[] => [{ is: 'write' }]);
    return { is: 'branches', branches: [[call], ...writes], settled: true, held };
  }

  /** One call writes something new beside something that mostly is taken, and another asks for what is new. */
  #rivals(): Step {
    const random = this.#rivalry;
    const name = random.pick(NAMES);
    const slot: Slot = { name, key: `new ${random.integer(1, 2)}` };
    const wish = { name, afterMs: random.integer(SOON_MS.min, SOON_MS.max), script: DOES_NOTHING };
    const taken = { ...wish, key: `k${random.integer(1, KEYS)}`, onConflict: 'error' as const };
    const many: Call = { verb: 'scheduleMany', wishes: [{ ...wish, key: slot.key }, taken] };
    const asks: Call = random.pick([
      { verb: 'cancel', slot },
      { verb: 'reschedule', slot, afterMs: wish.afterMs },
      { verb: 'schedule', wish: { ...wish, key: slot.key } },
    ]);
    const branches = [many, asks].map((call): Leaf[] => [{ is: 'call', call }]);
    return { is: 'branches', branches, settled: true };
  }

  #carelessEnd(): Step[] {
    return weighed<() => Step[]>(this.random, [
      [80, () => []],
      [8, () => [{ is: 'swallows' }]],
      [12, () => this.#unawaited()],
    ])();
  }

  /** One after the other, while whoever began them has gone on: to the end, with some luck. */
  #unawaited(): Step[] {
    const branch: Leaf[] = [];
    for (let left = this.random.integer(0, 3); left > 0; left -= 1) branch.push({ is: 'write' });
    branch.push({ is: this.random.chance(0.7) ? 'refused' : 'write' });
    // It begins when the end of the transaction is on its way, or is the last that gets in.
    if (this.#leftCalls.chance(0.5)) {
      branch.splice(this.#leftCalls.integer(0, 2), 0, { is: 'call', call: this.#leftCall() });
    }
    return [{ is: 'unawaited', branch }];
  }

  #leftCall(): Call {
    const random = this.#leftCalls;
    const afterMs = random.integer(SOON_MS.min, SOON_MS.max);
    return { verb: 'schedule', wish: { name: random.pick(NAMES), afterMs, script: DOES_NOTHING } };
  }

  #endedByHand(): Step[] {
    const usual = this.random.pick(['COMMIT', 'ROLLBACK'] as const);
    const by = this.#ends.chance(0.4) ? usual : this.#ends.pick(ENDS);
    return [{ is: 'write' }, { is: 'ends by hand', by }, { is: 'write' }];
  }

  #chains(): Step {
    return { is: 'chains', by: this.#ends.pick(CHAINS), through: this.#ends.pick(DOORS) };
  }

  /** What comes behind it is of the next transaction. */
  #soon(): Step {
    const afterMs = this.#ends.integer(SOON_MS.min, SOON_MS.max);
    const wish = { name: this.#ends.pick(NAMES), afterMs, script: DOES_NOTHING };
    return { is: 'call', call: { verb: 'schedule', wish } };
  }

  #alone(): Call {
    return { verb: 'schedule', wish: this.wish() };
  }

  #wishes(): Wish[] {
    const taken = new Set<string>();
    return Array.from({ length: this.random.integer(2, 5) }, () => this.wish()).filter(
      ({ name, key }) => key === undefined || (!taken.has(name + key) && taken.add(name + key)),
    );
  }

  #reschedule(): Call {
    const afterMs = this.random.chance(0.5) ? this.soonMs() : this.#farMs();
    return { verb: 'reschedule', slot: this.slot(), afterMs };
  }

  #farMs(): number {
    return this.random.integer(FAR_MS.min, FAR_MS.max);
  }
}

/** A row that one of the branches asks for. */
function heldOf(branches: readonly (readonly Leaf[])[], random: Random): Slot | undefined {
  const slots = branches.flat().flatMap((leaf) => {
    if (leaf.is !== 'call') return [];
    if ('slot' in leaf.call) return [leaf.call.slot];
    if (leaf.call.verb !== 'schedule') return [];
    const { name, key } = leaf.call.wish;
    return key === undefined ? [] : [{ name, key }];
  });
  return slots.length > 0 ? random.pick(slots) : undefined;
}
