import { signal } from '@preact/signals';
import { serverClock } from '../../../../ui/server-clock.js';
import type { DashboardAction, Session } from '../../contract.js';
import { get } from './request.js';

/** Who looks, and what they may do. */
export const session = signal<Session | null>(null);

/** @throws Refused<RequestProblem> */
export async function openSession(): Promise<void> {
  const opened = await get<Session>('session');
  serverClock.read(opened.now);
  session.value = opened;
}

/** What the viewer may not do has no button. */
export const may = (action: DashboardAction): boolean =>
  session.value?.actions.includes(action) ?? false;
