import { programOf } from './generator.js';
import type { Ground } from './ground.js';
import { KINDS } from './kinds/index.js';

/** One thing to play: a kind and a seed, written as one text. */
export interface Run {
  kind: string;
  seed: string;
}

/** Longer than any program that waits for each of its calls in vain. */
const ENDS_WITHIN_MS = 150_000;

/** What came of it. */
export interface Played extends Run {
  /** Every promise that was broken, one line each. */
  faults: readonly string[];
  tookMs: number;
}

export const textOf = ({ kind, seed }: Run): string => `${kind}:${seed}`;

/** @throws when there is no such kind */
export function runFrom(text: string): Run {
  const [kind = '', ...seed] = text.split(':');
  if (KINDS[kind] === undefined) {
    throw new Error(`'${text}' is no run: kind:seed, with one of ${Object.keys(KINDS).join(', ')}`);
  }
  return { kind, seed: seed.join(':') };
}

export async function playRun(ground: Ground, { kind, seed }: Run): Promise<Played> {
  const beganAtMs = performance.now();
  let faults: readonly string[];
  let timer: NodeJS.Timeout | undefined;
  const enough = new Promise<string[]>((resolve) => {
    timer = setTimeout(() => resolve(['hung: the program has no end']), ENDS_WITHIN_MS);
  });
  try {
    faults = await Promise.race([KINDS[kind]?.(ground, seed) ?? [], enough]);
  } catch (error) {
    faults = [`did not run: ${error instanceof Error ? error.stack : String(error)}`];
  }
  clearTimeout(timer);
  return { kind, seed, faults, tookMs: performance.now() - beganAtMs };
}

/** Plays what the source gives, so many at a time, until it gives no more. */
export async function playAll(
  ground: Ground,
  source: () => Run | undefined,
  { lanes, onPlayed }: { lanes: number; onPlayed: (played: Played) => void },
): Promise<void> {
  const lane = async (): Promise<void> => {
    for (let run = source(); run !== undefined; run = source()) {
      onPlayed(await playRun(ground, run));
    }
  };
  await Promise.all(Array.from({ length: lanes }, lane));
}

/** The program that the seed stands for, where it is data. */
export const programTextOf = ({ kind, seed }: Run): string =>
  kind === 'callers' ? JSON.stringify(programOf(seed), null, 1) : `${kind} of ${seed}`;

/** What somebody needs who wants to see it again; that also prints the program. */
export function storyOf({ kind, seed, faults }: Played): string {
  const text = textOf({ kind, seed });
  return [
    `${text}: ${faults.length} broken`,
    ...faults.map((fault) => `  ${fault}`),
    `  once more: IMPOLITE_SEED=${text} npm test -- test/impolite`,
  ].join('\n');
}
