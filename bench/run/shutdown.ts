type Stop = () => Promise<unknown>;

/** Stops that were not called yet, oldest first. */
const pending: Stop[] = [];

let stopping: Promise<void> | undefined;

/**
 * Registers how to stop what was just started. To stop it earlier, call the answer, which
 * runs `stop` once and forgets it.
 */
export function stopLater(stop: Stop): () => Promise<void> {
  pending.push(stop);
  return async () => {
    const index = pending.indexOf(stop);
    if (index === -1) return;
    pending.splice(index, 1);
    await stop();
  };
}

/** Stops everything that still runs, the youngest first: workers before databases and server. */
export function stopAll(): Promise<void> {
  return (stopping ??= stopPending());
}

async function stopPending(): Promise<void> {
  for (let stop = pending.pop(); stop !== undefined; stop = pending.pop()) {
    try {
      await stop();
    } catch (error) {
      process.stderr.write(`while stopping: ${String(error)}\n`);
    }
  }
}

/** Ctrl+C and friends leave nothing behind; a second one is not needed and changes nothing. */
export function stopOnSignals(): void {
  for (const [signal, code] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ] as const) {
    process.on(signal, () => {
      if (stopping) return;
      process.stderr.write('\nstopping what was started …\n');
      void stopAll().then(() => process.exit(code));
    });
  }
}

/** What is being measured fails while it is stopped, and how is of no interest. */
export const isStopping = (): boolean => stopping !== undefined;
