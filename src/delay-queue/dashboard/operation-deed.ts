import type { ChangedDelay, EraseCounts, When } from '../core/index.js';
import type { Counts } from './operation-log.js';
import type { Deed, Order, Selected } from './operation-order.js';
import type { DashboardQueue } from './queue.js';

export interface Doing {
  who: string;
  /** Ends it between two pages. */
  signal: AbortSignal;
  /** Called after each page, with all counts so far and what that page has changed. */
  onPage: (counts: Counts, changed: readonly ChangedDelay[]) => Promise<void>;
}

type Services = Pick<DashboardQueue, 'admin' | 'delays'>;

/**
 * Does what an order asks for, with the services of the application.
 * @throws the signal's reason, between two pages; what the services throw
 */
export async function carryOut(services: Services, order: Order, doing: Doing): Promise<void> {
  const { deed } = order;
  doing.signal.throwIfAborted();
  if ('which' in deed) {
    await changeSelected(services, deed, doing);
    return;
  }
  const { admin, delays } = services;
  const { who: by, signal, onPage } = doing;
  if (deed.action === 'erase') {
    // Erased delays are not listed.
    const onProgress = (counts: EraseCounts) => onPage({ ...counts }, []);
    await onProgress(await admin.erase(deed.erases, { by, signal, onProgress }));
    return;
  }
  const { name, group } = deed;
  switch (deed.action) {
    case 'pause': {
      const options = { group, for: deed.for, by, reason: order.why ?? undefined };
      await admin.pause(name, options);
      return onPage({ paused: 1 }, []);
    }
    case 'resume': {
      const ended = await admin.resume(name, { by, ...(group !== undefined && { group }) });
      return onPage({ [ended === null ? 'absent' : 'resumed']: 1 }, []);
    }
    case 'create': {
      const { key, payload, when } = deed;
      // A pending delay is never replaced by accident.
      const options = { ...when, group, key, onConflict: key === undefined ? undefined : 'error' };
      const { verdict, id } = await delays.schedule(name, payload as never, options as When);
      const created = { id, name, key: key ?? null, verdict };
      return onPage({ [verdict]: 1 }, verdict === 'scheduled' ? [created] : []);
    }
  }
}

type OnSelected = Extract<Deed, { which: Selected }>;

function changeSelected({ admin }: Services, deed: OnSelected, doing: Doing): Promise<unknown> {
  const { filter, listed } = deed.which;
  const { who: by, signal, onPage } = doing;
  if (filter === null) return onPage(listed === null ? {} : { absent: listed }, []);
  const options = {
    by,
    signal,
    onProgress: (counts: Counts, changed: readonly ChangedDelay[]) =>
      onPage(verdictCounts(counts, listed), changed),
  };
  switch (deed.action) {
    case 'runNow':
      return admin.runNow(filter, options);
    case 'cancel':
      return admin.cancel(filter, options);
    case 'abort':
      return admin.cancel(filter, { ...options, running: 'abort' });
    case 'retry':
      return admin.retryDead(filter, options);
    case 'discard':
      return admin.discardDead(filter, options);
    default:
      return admin.reschedule(filter, deed.to, options);
  }
}

/** Listed delays that no longer match count as absent. */
function verdictCounts({ matched = 0, ...counts }: Counts, listed: number | null): Counts {
  if (listed === null) return counts;
  return { ...counts, absent: listed - matched + (counts['absent'] ?? 0) };
}
