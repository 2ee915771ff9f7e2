import type { IncomingMessage } from 'node:http';
import type { DashboardGrant } from 'nestjs-delay-queue/dashboard';

/** Grants what the header `x-viewer` says, over a viewer who may do all. */
export function grantOf({ headers }: IncomingMessage): DashboardGrant {
  const said = headers['x-viewer'];
  const grant = typeof said === 'string' ? (JSON.parse(said) as Partial<DashboardGrant>) : {};
  return { who: 'tester', actions: 'all', ...grant };
}

/** Headers of that viewer. */
export const viewer = (grant: Partial<DashboardGrant>): Record<string, string> => ({
  'x-viewer': JSON.stringify(grant),
});
