import { signal, type ReadonlySignal, type Signal } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import { Refused, type Problem } from './request.js';

/** A request of the visitor: one at a time, with the reason of a refusal. */
export interface Deed {
  busy: ReadonlySignal<string | null>;
  problem: Signal<Problem | null>;
  /** @param name which of several buttons was pressed */
  run(name: string, ask: () => Promise<unknown>): Promise<void>;
}

export function useDeed(): Deed {
  return useMemo(newDeed, []);
}

function newDeed(): Deed {
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
        problem.value = error.problem;
      } finally {
        busy.value = null;
      }
    },
  };
}
