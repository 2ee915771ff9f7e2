import { Refused } from '../../../ui/deed.js';

/** A process may just have been killed: the next one answers. */
const ATTEMPTS = 4;
const PAUSE_MS = 400;

/** Why the shop refused. */
export interface Problem {
  /** HTTP status; 0 without an answer. */
  status: number;
  /** The shop's text, in English; may be empty. */
  detail: string;
}

/**
 * Every request here may be repeated: the shop does it once.
 *
 * @throws Refused with the shop's reason
 */
export async function request<T>(
  method: 'GET' | 'POST' | 'PUT',
  path: string,
  { body, key }: { body?: unknown; key?: string } = {},
): Promise<T> {
  const headers: Record<string, string> = {};
  if (body !== undefined) headers['content-type'] = 'application/json';
  if (key !== undefined) headers['idempotency-key'] = key;
  const sent: RequestInit = { method, headers };
  if (body !== undefined) sent.body = JSON.stringify(body);
  const response = await patiently(path, sent);
  if (!response.ok) throw new Refused<Problem>(await problemOf(response));
  return (await response.json().catch(() => null)) as T;
}

async function patiently(path: string, sent: RequestInit): Promise<Response> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await fetch(path, sent);
    } catch {
      if (attempt === ATTEMPTS) throw new Refused<Problem>({ status: 0, detail: '' });
      await new Promise((done) => setTimeout(done, PAUSE_MS));
    }
  }
}

async function problemOf(response: Response): Promise<Problem> {
  const told = (await response.json().catch(() => ({}))) as {
    detail?: string;
    title?: string;
    message?: string | string[];
  };
  const detail = told.detail ?? [told.message ?? told.title ?? ''].flat().join('; ');
  return { status: response.status, detail };
}
