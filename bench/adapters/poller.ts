import type { BenchWorker } from './adapter.js';

/** What polls: a tick, and pages for as long as they are full. */
interface Poller {
  tickMs: number;
  /** Fetches and handles one page. @returns whether it was full */
  takePage: () => Promise<boolean>;
  close: () => unknown;
}

/** The loop that teams write around a page; no tick begins while the one before is at work. */
export function pollingWorker({ tickMs, takePage, close }: Poller): BenchWorker {
  let timer: NodeJS.Timeout | undefined;
  let polling: Promise<void> | undefined;
  let stopped = false;

  const poll = async (): Promise<void> => {
    for (;;) {
      const isFull = await takePage();
      if (stopped || !isFull) return;
    }
  };
  const tick = (): void => {
    polling ??= poll().finally(() => {
      polling = undefined;
    });
  };
  return {
    async start() {
      timer = setInterval(tick, tickMs);
      tick();
    },
    async stop() {
      stopped = true;
      clearInterval(timer);
      await polling;
      await close();
    },
  };
}
