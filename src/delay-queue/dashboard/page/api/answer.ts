import { type ReadonlySignal, signal, useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { serverClock } from '../../../../ui/server-clock.js';
import { get, problemIn, type RequestProblem } from './request.js';

/** What a GET has answered. The last good answer stays while a newer one is loading. */
export interface Answer<Body> {
  body: ReadonlySignal<Body | null>;
  problem: ReadonlySignal<RequestProblem | null>;
  isLoading: ReadonlySignal<boolean>;
  /** When the body arrived, by the server's clock. */
  readAtMs: ReadonlySignal<number>;
}

const reloads = signal(0);

/** Reloads everything that is shown, after a change or when the viewer asks. */
export function reload(): void {
  reloads.value += 1;
}

/** @param everyMs reads it again, while the page is visible */
export function useAnswer<Body>(
  path: string,
  { everyMs }: { everyMs?: number } = {},
): Answer<Body> {
  const body = useSignal<Body | null>(null);
  const problem = useSignal<RequestProblem | null>(null);
  const isLoading = useSignal(true);
  const readAtMs = useSignal(0);
  useEffect(() => {
    let asked = new AbortController();
    const read = async (): Promise<void> => {
      asked.abort();
      asked = new AbortController();
      const { signal: its } = asked;
      isLoading.value = true;
      try {
        const answered = await get<Body>(path, its);
        if (its.aborted) return;
        tellClock(answered);
        readAtMs.value = serverClock.now();
        body.value = answered;
        problem.value = null;
      } catch (error) {
        if (its.aborted) return;
        problem.value = problemIn(error);
      }
      isLoading.value = false;
    };
    const stopListening = reloads.subscribe(() => void read());
    const again = (): void => {
      if (!document.hidden) void read();
    };
    const timer = everyMs === undefined ? undefined : setInterval(again, everyMs);
    return () => {
      clearInterval(timer);
      stopListening();
      asked.abort();
    };
  }, [path, everyMs]);
  return { body, problem, isLoading, readAtMs };
}

function tellClock(answered: unknown): void {
  const now: unknown = Reflect.get(Object(answered), 'now');
  if (typeof now === 'string') serverClock.read(now);
}
