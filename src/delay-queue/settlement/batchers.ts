import type { DelayEvents } from '../delay/delay.events.js';
import type { AttemptStore } from '../store/attempt.store.js';
import type { Retry } from '../store/wire/attempt-rows.js';
import type { Wake } from '../store/wire/wakes.js';
import type { Signal } from '../tasks/signal.js';
import { Trouble } from '../tasks/trouble.js';
import { Batcher } from './batcher.js';
import type { HeldClaim } from './held-claim.js';
import { Recurrences } from './recurrences.js';
import { UnreadDelays } from './unread.js';

/** Who writes down what: while one of them fails, the others may work. */
export function batchersOf(
  store: AttemptStore,
  waits: Signal<Wake>,
  wrote: Signal,
  { events, aliveMs }: { events: DelayEvents; aliveMs: number },
) {
  const parts = () => ({
    node: store.nodeName,
    lookAt: (ids: readonly number[]) => store.lookAt(ids),
    trouble: new Trouble(events, 'acknowledge'),
    onProgress: (): void => wrote.tell(),
  });
  const write = (items: readonly HeldClaim[], reduced: number) =>
    reduced > 0 ? store.completeUnlogged(items) : store.complete(items);
  const retry = async (items: readonly Retry[], reduced: number): Promise<number[]> => {
    const rows = await store.retry(items, undefined, reduced);
    for (const { id, epoch, name, group, failed, wake_ms: wakeMs } of rows) {
      if (wakeMs !== null) waits.tell({ id, epoch, name, group, wakeMs, stalled: false, failed });
    }
    return rows.map((row) => row.id);
  };
  const retries = new Batcher({ ...parts(), write: retry, reductions: 2 });
  const unread = new UnreadDelays(store, aliveMs, parts());
  return {
    unread,
    completions: new Batcher({ ...parts(), write, removes: true, reductions: 1 }),
    retries,
    recurrences: new Recurrences(store, waits, retries, parts()),
  };
}
