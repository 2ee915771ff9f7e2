import type { Random } from '../../../src/random.js';
import type { ChaosName } from './payloads.js';

/** A key that was used lately. */
export interface UsedKey {
  name: ChaosName;
  key: string;
  /** On the monotonic clock, as far as the client knows. */
  dueAtMs: number;
  /** Its handler makes a dead letter of it. */
  dies: boolean;
}

const REMEMBERED = 200;

/** Keys that a client has used lately: what it cancels, moves and retries. */
export class Keys {
  readonly #living: UsedKey[] = [];
  readonly #dying: UsedKey[] = [];

  used(key: UsedKey): void {
    const keys = key.dies ? this.#dying : this.#living;
    keys.push(key);
    if (keys.length > REMEMBERED) keys.shift();
  }

  any(random: Random): UsedKey | undefined {
    return pick(random, random.chance(0.9) ? this.#living : this.#dying);
  }

  /** One that has become a dead letter by now, probably. */
  dead(random: Random): UsedKey | undefined {
    return pick(random, this.#dying);
  }
}

const pick = (random: Random, keys: readonly UsedKey[]): UsedKey | undefined =>
  keys.length === 0 ? undefined : random.pick(keys);
