import type { DelayAttempt } from 'nestjs-delay-queue';
import type { DelayNode } from '../../../support/delay-node.js';

export const KEPT = {
  history: { attempts: true },
  backoff: { base: 1, factor: 1, jitter: 0 },
} as const;

const line = ({ attempt, outcome, error }: DelayAttempt): string =>
  `${attempt} ${outcome}${error === null ? '' : `: ${error}`}`;

/** The story of the key: what ended, oldest first, and what lives; of each its state and its attempts. */
export async function told({ admin }: Pick<DelayNode, 'admin'>, key = 'k'): Promise<string[][]> {
  const { delays, history } = await admin.story(key);
  return [...history.toReversed(), ...delays].map(({ state, attemptLog }) => [
    state,
    ...attemptLog.map(line),
  ]);
}

/** All their instants, in their order. */
export const times = (log: readonly DelayAttempt[]): number[] =>
  log.flatMap(({ startedAt, endedAt }) => [startedAt, endedAt ?? []].flat().map(Number));
