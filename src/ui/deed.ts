import { signal, type ReadonlySignal, type Signal } from '@preact/signals';
import { useMemo } from 'preact/hooks';

/** What the server refused, and why. */
export class Refused<Problem> extends Error {
  constructor(
    readonly problem: Problem,
    message = '',
  ) {
    super(message);
  }
}

/** A request of the visitor: one at a time, with the reason of a refusal. */
export interface Deed<Problem> {
  busy: ReadonlySignal<string | null>;
  problem: Signal<Problem | null>;
  /** @param name which of several buttons was pressed */
  run(name: string, ask: () => Promise<unknown>): Promise<void>;
}

export function useDeed<Problem>(): Deed<Problem> {
  return useMemo(() => newDeed<Problem>(), []);
}

function newDeed<Problem>(): Deed<Problem> {
  const busy = signal<string | null>(null);
  const problem = signal<Problem | null>(null);
  return {
    busy,
    problem,
    async run(name, ask) {
      if (busy.value !== null) return;
      busy.value = name;
      problem.value = null;
      try {
        await ask();
      } catch (error) {
        if (!(error instanceof Refused)) throw error;
        problem.value = error.problem as Problem;
      } finally {
        busy.value = null;
      }
    },
  };
}
