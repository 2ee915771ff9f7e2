import type { ChaosResult } from '../chaos/run.js';
import type { Told } from '../impolite/mutants/told.js';
import type { ChaosMutant } from './mutant.js';

/** What a suite made of a mutant, or of the engine as it is. */
export interface Judged {
  /** A mutant was found, for its own reason; the real engine was not blamed. */
  asExpected: boolean;
  by: string;
  /** What somebody needs who wants to know why. */
  details: readonly string[];
}

const EXAMPLE_CHARS_MAX = 110;
const DETAILS_MAX = 5;

const short = (text: string): string => (text.split('\n')[0] ?? '').slice(0, EXAMPLE_CHARS_MAX);

/** @param mutant undefined for the real engine */
export function judgedByChaos(
  mutant: Pick<ChaosMutant, 'blamedBy'> | undefined,
  { verdicts, figures, odd }: ChaosResult,
): Judged {
  const broken = verdicts.filter(({ violations }) => violations > 0);
  const reasons = broken.filter(
    ({ invariant }) => mutant?.blamedBy === undefined || invariant === mutant.blamedBy,
  );
  const [example = ''] = [...reasons, ...broken].flatMap(({ examples }) => examples);
  const counts = broken.map(({ invariant, violations }) => `${invariant} (${violations})`);
  const missing = reasons.length < 1 && broken.length > 0 ? `, not by ${mutant?.blamedBy}` : '';
  // Such a mutant writes nothing at all, which shows nothing.
  const isNonsense = odd.some((what) => what.includes('syntax error'));
  const isFound = reasons.length > 0 && !isNonsense;
  const isClean = broken.length === 0 && odd.length === 0;
  return {
    asExpected: mutant === undefined ? isClean : isFound,
    by: broken.length === 0 ? 'without fault' : `${counts.join(' ')}${missing}: ${short(example)}`,
    details: [
      JSON.stringify(figures),
      ...odd,
      ...broken.flatMap(({ examples }) => examples.slice(0, DETAILS_MAX)),
    ],
  };
}

/** @param real what the real engine made of the program that found a mutant */
export function judgedByPrograms(
  isMutant: boolean,
  { played, found, others }: Told,
  real?: Told,
): Judged {
  if (found === undefined) {
    const faults = `${others.length} faults${isMutant ? ', none of its own' : ''}`;
    return {
      asExpected: !isMutant && others.length === 0,
      by: `${others.length === 0 ? 'without fault' : faults} in ${played} programs`,
      details: others.slice(0, DETAILS_MAX),
    };
  }
  const blamed = real?.others ?? [];
  return {
    asExpected: blamed.length === 0,
    by: `${found.run}: ${short(found.fault)}`,
    details: blamed.slice(0, DETAILS_MAX).map((fault) => `the real engine, too: ${fault}`),
  };
}
