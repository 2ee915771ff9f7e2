import type { Ground } from '../ground.js';
import { programOf } from '../generator.js';
import { play } from '../play.js';
import { playHalfOpen } from './half-open.js';
import { playHungCommits } from './hung-commits.js';
import { playLongTransactions, playLostAnswers } from './late-commits.js';
import { playTurns } from './turns.js';

/** Plays what the seed says. @returns every promise that was broken, one line each */
export type Kind = (ground: Ground, seed: string) => Promise<string[]>;

/** All but the first two spend most of their time waiting. */
export const KINDS: Readonly<Record<string, Kind>> = {
  callers: (ground, seed) => play(ground, programOf(seed)),
  turns: playTurns,
  'long-transactions': playLongTransactions,
  'half-open': playHalfOpen,
  'hung-commits': playHungCommits,
  'lost-answers': playLostAnswers,
};
