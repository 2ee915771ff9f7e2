import { type ReadonlySignal, type Signal, signal, useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { Refused } from '../../../../ui/deed.js';
import { serverClock } from '../../../../ui/server-clock.js';
import { get, type RequestProblem } from './request.js';

/** What a GET has answered. The last good answer stays while a newer one is on its way. */
export interface Answer<Body> {
  body: ReadonlySignal<Body | null>;
  problem: ReadonlySignal<RequestProblem | null>;
  isLoading: ReadonlySignal<boolean>;
  /** When the body came, by the server's clock. */
  readAtMs: ReadonlySignal<number>;
}

const reloads = signal(0);

/** All that is shown is read again: something has changed it, or the viewer wants to see. */
export function reload(): void {
  reloads.value += 1;
}

/** @param everyMs reads it again, while the page is visible */
export function useAnswer<Body>(path: string, { everyMs }: { everyMs?: number } = {}) {
  const body = useSignal<Body | null>(null);
  const problem = useSignal<RequestProblem | null>(null);
  const isLoading = useSignal(true);
  const readAtMs = useSignal(0);
  useEffect(() => {
    const reading = new Reading<Body>(path, { body, problem, isLoading, readAtMs });
    const stopListening = reloads.subscribe(() => void reading.read());
    const again = (): void => {
      if (!document.hidden) void reading.read();
    };
    const timer = everyMs === undefined ? undefined : setInterval(again, everyMs);
    return () => {
      clearInterval(timer);
      stopListening();
      reading.stop();
    };
  }, [path, everyMs]);
  return { body, problem, isLoading, readAtMs } satisfies Answer<Body>;
}

interface Shown<Body> {
  body: Signal<Body | null>;
  problem: Signal<RequestProblem | null>;
  isLoading: Signal<boolean>;
  readAtMs: Signal<number>;
}

class Reading<Body> {
  #asked: AbortController | undefined;

  constructor(
    private readonly path: string,
    private readonly shown: Shown<Body>,
  ) {}

  async read(): Promise<void> {
    this.stop();
    const asked = new AbortController();
    this.#asked = asked;
    const { body, problem, isLoading, readAtMs } = this.shown;
    isLoading.value = true;
    try {
      const answered = await get<Body>(this.path, asked.signal);
      if (asked.signal.aborted) return;
      tellClock(answered);
      readAtMs.value = serverClock.now();
      body.value = answered;
      problem.value = null;
    } catch (error) {
      if (asked.signal.aborted) return;
      if (!(error instanceof Refused)) throw error;
      problem.value = error.problem as RequestProblem;
    }
    isLoading.value = false;
  }

  stop(): void {
    this.#asked?.abort();
  }
}

function tellClock(answered: unknown): void {
  const now: unknown = Reflect.get(Object(answered), 'now');
  if (typeof now === 'string') serverClock.read(now);
}
