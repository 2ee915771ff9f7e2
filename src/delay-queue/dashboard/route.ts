import type { ServerResponse } from 'node:http';
import type { Rights } from './rights.js';

export interface Asked {
  rights: Rights;
  query: URLSearchParams;
  /** What `:id` of the path stands for; else ''. */
  id: string;
  body: unknown;
  /** Aborted when the viewer goes away. */
  signal: AbortSignal;
  /** For a stream alone. */
  response: ServerResponse;
}

export interface Route {
  method: 'GET' | 'POST';
  /** Below `api/`, such as `operations/:id/stop`. */
  path: string;
  /** @returns what is sent as JSON; `undefined`: it has written the response itself */
  answer: (asked: Asked) => Promise<unknown>;
}

/** @returns the route, and its `:id` */
export function routeFor(
  routes: readonly Route[],
  method: string,
  path: string,
): { route: Route; id: string } | undefined {
  for (const route of routes) {
    if (route.method !== method) continue;
    const id = idIn(route.path, path);
    if (id !== undefined) return { route, id };
  }
  return undefined;
}

function idIn(pattern: string, path: string): string | undefined {
  const [before = '', after] = pattern.split(':id');
  if (after === undefined) return path === pattern ? '' : undefined;
  if (!path.startsWith(before) || !path.endsWith(after)) return undefined;
  const id = path.slice(before.length, path.length - after.length);
  return /^[\w-]{1,64}$/.test(id) ? id : undefined;
}
