import { type ReadonlySignal, useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { Refused } from '../../../../ui/deed.js';
import type { OperationOrder, Preview } from '../../contract.js';
import { post, type RequestProblem } from '../api/request.js';

export interface DryRun {
  /** `null`: on its way, or refused. */
  preview: ReadonlySignal<Preview | null>;
  problem: ReadonlySignal<RequestProblem | null>;
  again: () => void;
}

/** What the order would change now. It is asked for again when the order becomes another one. */
export function useDryRun(order: OperationOrder): DryRun {
  const preview = useSignal<Preview | null>(null);
  const problem = useSignal<RequestProblem | null>(null);
  const tries = useSignal(0);
  useEffect(() => {
    let isWanted = true;
    preview.value = null;
    problem.value = null;
    void (async () => {
      try {
        const answered = await post<Preview>('preview', order);
        if (isWanted) preview.value = answered;
      } catch (error) {
        if (!(error instanceof Refused)) throw error;
        if (isWanted) problem.value = error.problem as RequestProblem;
      }
    })();
    return () => {
      isWanted = false;
    };
  }, [JSON.stringify(order), tries.value]);
  return {
    preview,
    problem,
    again: () => {
      tries.value += 1;
    },
  };
}
