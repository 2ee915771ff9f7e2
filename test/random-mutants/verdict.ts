import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Description } from './change.js';
import { EQUIVALENT } from './equivalent.js';
import { CACHE } from '../mutants-by-suite/root.js';

/**
 * `found`: a spec failed with it, twice. `hangs`: a spec did not end with it. `survived`: all that reach it passed.
 * `not covered`: none reaches it. `unclear`: none had failed when its time was over.
 */
export type Outcome = 'found' | 'hangs' | 'survived' | 'not covered' | 'unclear';

export interface Verdict extends Description {
  kind: string;
  outcome: Outcome;
  /** Whichever found it, and its test. */
  spec?: string;
  test?: string;
  why?: string;
  seconds: number;
  /** How many specs passed, and how many reach it. */
  passed: number;
  reaching: number;
}

/** The verdicts of one seed, in a file: what was interrupted goes on there. */
export class Verdicts {
  readonly #path: string;
  readonly #all: Record<string, Verdict>;

  constructor(readonly seed: number) {
    this.#path = join(CACHE, `seed-${seed}.json`);
    this.#all = readAll(this.#path);
  }

  of(drawn: Description): Verdict | undefined {
    return this.#all[keyOf(drawn)];
  }

  set(verdict: Verdict): void {
    this.#all[keyOf(verdict)] = verdict;
    mkdirSync(CACHE, { recursive: true });
    writeFileSync(this.#path, JSON.stringify(this.#all, null, 2));
  }
}

const keyOf = ({ file, was, is }: Description): string => `${file}\n${was}\n${is}`;

function readAll(path: string): Record<string, Verdict> {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as Record<string, Verdict>;
  } catch {
    return {};
  }
}

/** Why it does nothing that a test could see; undefined: as far as anybody has judged, it does. */
export const equivalence = ({ file, was, is }: Description): string | undefined =>
  EQUIVALENT.find((one) => one.file === file && one.was === was && one.is === is)?.why;

/** A line for each, the others first, and a sum. */
export function report(verdicts: readonly Verdict[]): string {
  const isFound = ({ outcome }: Verdict): boolean => outcome === 'found' || outcome === 'hangs';
  const found = verdicts.filter(isFound);
  const others = verdicts.filter((each) => !isFound(each));
  const equivalent = others.filter((each) => equivalence(each) !== undefined);
  const real = verdicts.length - equivalent.length;
  const lines = others.map((each) => {
    const { file, line, kind, was, is, outcome, passed, reaching } = each;
    const why = equivalence(each);
    const judged =
      why === undefined ? `${outcome}, ${passed} of ${reaching} passed` : `equivalent: ${why}`;
    return `${file}:${line} [${kind}] ${judged}\n    - ${was}\n    + ${is}`;
  });
  const share = real === 0 ? 100 : Math.floor((100 * found.length) / real);
  const sum =
    `${verdicts.length} mutants: ${found.length} found, ${equivalent.length} equivalent, ` +
    `${real - found.length} not found; ${share} % of ${real} found`;
  return [...lines, sum].join('\n');
}
