import type { SourcePatch } from '../../tools/source-patches.mjs';

/** The engine with one rule taken out: sources that are changed on their way into a process. */
export interface Mutant {
  /** What it does wrong, as a sentence about it goes on after "it". */
  about: string;
  patches: readonly SourcePatch[];
  /** Specs that fail with it: files or folders, relative to `test`. */
  tests?: readonly string[];
}

/** One that a chaos run has to find, and the weather in which it does harm. */
export interface ChaosMutant extends Mutant {
  /** How long the load runs. */
  seconds: number;
  /** Kinds of faults that bring it to light; left out: its load alone does. */
  faults?: readonly string[];
  /** Calls per second. */
  rate?: number;
  /** Number of the invariant that has to be among those that blame it; left out: any will do. */
  blamedBy?: number;
}

/** One that programs of impolite callers have to find. */
export interface ImpoliteMutant extends Mutant {
  /** What is broken again, in the words of the table in docs/reliability.md. */
  hole: string;
  /** Kinds of programs, played in turn. */
  kinds: readonly string[];
  /** So many, at most. */
  programs: number;
  /** One of these faults, by the words before its colon, has to be among those that blame it. */
  blamedBy: readonly string[];
  tests: readonly string[];
}

/** @param file relative to the library */
export const patch = (file: string, from: string, to: string): SourcePatch => ({
  file: `src/delay-queue/${file}`,
  from,
  to,
});
