import { DelayError, type DelayService } from 'nestjs-delay-queue';
import type { EntityManager } from 'typeorm';
import { VERDICTS } from './state-machine.js';

/** Every write that meets a key. */
export const VERBS = ['cancel', 'reschedule', 'replace', 'keep', 'error'] as const;
export type Verb = (typeof VERBS)[number];

/** What each verb answers about a key in some state; a code where it throws. */
export type Answers = Record<Verb, string>;

/** The answers that stand in the design, by what the test has made of the key. */
export const ANSWERS = {
  nothing: VERDICTS.none,
  waiting: VERDICTS.scheduled,
  dead: VERDICTS.dead,
  held: VERDICTS.running,
} satisfies Record<string, Answers>;

export interface Answer {
  verdict: string;
  id?: string;
  dueAt?: Date;
}

/** Every verb moves the delay to this time and payload. */
const FAR = '2h';
export const NEW_PAYLOAD = { n: 2 };

/** Does it and says what came of it; a typed error counts as an answer. */
export async function act(
  delays: DelayService,
  verb: Verb,
  key: string,
  manager?: EntityManager,
): Promise<Answer> {
  const options = manager ? { manager } : {};
  try {
    if (verb === 'cancel') return await delays.cancel('test.a', key, options);
    if (verb === 'reschedule') {
      return await delays.reschedule('test.a', key, { after: FAR }, options);
    }
    return await delays.schedule('test.a', NEW_PAYLOAD, {
      after: FAR,
      key,
      onConflict: verb,
      ...options,
    });
  } catch (error) {
    if (error instanceof DelayError) return { verdict: error.code };
    throw error;
  }
}
