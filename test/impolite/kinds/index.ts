import type { Ground } from '../ground.js';
import { programOf } from '../generator.js';
import { play } from '../play.js';
import { playHalfOpen } from './half-open.js';
import { playHungCommits } from './hung-commits.js';
import { playLongTransactions } from './long-transactions.js';
import { playLostAnswers } from './lost-answers.js';
import { playTurns } from './turns.js';

/** Plays what the seed says. @returns every promise that was broken, one line each */
export type Kind = (ground: Ground, seed: string) => Promise<string[]>;

/** What takes little time comes again and again; the others spend most of theirs waiting. */
export const QUICK = {
  callers: (ground, seed) => play(ground, programOf(seed)),
  turns: playTurns,
} satisfies Record<string, Kind>;

export const SLOW = {
  'long-transactions': playLongTransactions,
  'half-open': playHalfOpen,
  'hung-commits': playHungCommits,
  'lost-answers': playLostAnswers,
} satisfies Record<string, Kind>;

export const KINDS: Readonly<Record<string, Kind>> = { ...QUICK, ...SLOW };
