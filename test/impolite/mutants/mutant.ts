import type { SourcePatch } from '../../../tools/source-patches.mjs';

/** The engine with one mend taken out, and the programs that have to find it. */
export interface Mutant {
  /** What it does wrong, as a sentence about it goes on after "it". */
  about: string;
  /** What is broken again, in the words of the table in docs/reliability.md. */
  hole: string;
  patches: readonly SourcePatch[];
  /** Kinds of programs, played in turn. */
  kinds: readonly string[];
  /** So many, at most. */
  programs: number;
  /** One of these faults, by the words before its colon, has to be among those that blame it. */
  blamedBy: readonly string[];
  /** Tests of the suite that fail with it: files or folders, relative to `test`. */
  tests: readonly string[];
}

const LIBRARY = 'src/delay-queue';

/** @param file relative to the library */
export const patch = (file: string, from: string, to: string): SourcePatch => ({
  file: `${LIBRARY}/${file}`,
  from,
  to,
});
