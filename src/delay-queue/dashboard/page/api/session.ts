import { signal } from '@preact/signals';
import { serverClock } from '../../../../ui/server-clock.js';
import type { DashboardAction, Session } from '../../contract.js';
import { get, isJson, onRefused } from './request.js';

/** Who the viewer is, and what they may do. */
export const session = signal<Session | null>(null);

/** The login expired while the page was open. */
export const isSignedOut = signal(false);

/** Once the login has expired, the request is refused or answered by the application's login page. */
onRefused(async () => {
  if (session.value === null) return;
  const response = await fetch('api/session', { redirect: 'manual' }).catch(() => null);
  if (response === null || response.status >= 429 || (response.ok && isJson(response))) return;
  session.value = null;
  isSignedOut.value = true;
});

export async function openSession(): Promise<void> {
  const opened = await get<Session>('session');
  serverClock.read(opened.now);
  session.value = opened;
  isSignedOut.value = false;
}

/** What the viewer may not do gets no button. */
export const may = (action: DashboardAction): boolean =>
  session.value?.actions.includes(action) ?? false;
