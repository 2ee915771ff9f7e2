import type { Random } from '../../../src/random.js';

/** What befalls one statement on its way. */
export type Fate =
  | 'well'
  /** The connection breaks before the server has it. */
  | 'request lost'
  /** The server has it, the connection breaks before the answer: nobody knows. */
  | 'answer lost'
  /** The server refuses it and rolls it back. */
  | 'refused'
  /** Nothing is heard of it any more, and the connection looks alive. */
  | 'silence, not done'
  | 'silence, done';

/** How often things go wrong, and how long they take when they do not. */
export interface Weather {
  /** One way, one statement. */
  latencyMs: { min: number; max: number };
  /** One statement in so many takes up to `slowMs` more on its way. */
  slowChance: number;
  slowMs: number;
  /** Of one statement not to end well. */
  faultChance: number;
  /** NOTIFY and LISTEN work. */
  hears: boolean;
}

export const CALM: Weather = {
  latencyMs: { min: 0.1, max: 1.5 },
  slowChance: 0,
  slowMs: 0,
  faultChance: 0,
  hears: true,
};

/** The way between the nodes and the server. */
export class Network {
  constructor(
    private readonly random: Random,
    public weather: Weather,
  ) {}

  latencyMs(): number {
    const { latencyMs, slowChance, slowMs } = this.weather;
    const usualMs = latencyMs.min + this.random.next() * (latencyMs.max - latencyMs.min);
    return this.random.chance(slowChance) ? usualMs + this.random.next() * slowMs : usualMs;
  }

  /** @param canWait whether the client gives up by itself when it hears nothing */
  fate(canWait: boolean): Fate {
    if (!this.random.chance(this.weather.faultChance)) return 'well';
    const fates: Fate[] = ['request lost', 'answer lost', 'answer lost', 'refused'];
    if (canWait) fates.push('silence, done', 'silence, not done');
    return this.random.pick(fates);
  }
}
