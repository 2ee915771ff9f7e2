import { Refused } from '../../../../ui/deed.js';
import { BODY_TYPE, CHANGE_HEADER, type Problem, type ProblemKind } from '../../contract.js';

/** Why a request failed; `unreachable`: without an answer. */
export type RequestProblem = Omit<Problem, 'problem'> & { problem: ProblemKind | 'unreachable' };

export const get = <Body>(path: string, signal?: AbortSignal): Promise<Body> =>
  request<Body>(path, signal ? { signal } : {});

export const post = <Body>(path: string, body: unknown): Promise<Body> =>
  request<Body>(path, {
    method: 'POST',
    headers: { 'content-type': BODY_TYPE, [CHANGE_HEADER]: '1' },
    body: JSON.stringify(body),
  });

/** Addresses are relative to the page's, since it does not know where it is mounted. */
async function request<Body>(path: string, sent: RequestInit): Promise<Body> {
  const response = await fetch(`api/${path}`, sent).catch((error: unknown) => {
    if (sent.signal?.aborted) throw error;
    throw refused({ problem: 'unreachable', message: '' });
  });
  if (response.ok && isJson(response)) return (await response.json()) as Body;
  // Gone, or no longer visible to this viewer.
  if (response.ok || [401, 403, 404].includes(response.status)) await hearRefusal();
  throw refused(await readProblem(response));
}

/** A login page comes with status 200 as well. */
export const isJson = ({ headers }: Response): boolean =>
  headers.get('content-type')?.startsWith('application/json') ?? false;

let hearRefusal = async (): Promise<void> => {};

export function onRefused(hear: () => Promise<void>): void {
  hearRefusal = hear;
}

/** Why a request was refused. @throws what is no refusal */
export function problemIn(error: unknown): RequestProblem {
  if (error instanceof Refused) return error.problem as RequestProblem;
  throw error;
}

const refused = (problem: RequestProblem): Refused<RequestProblem> =>
  new Refused(problem, problem.message);

/** A proxy's error page tells the viewer nothing useful. */
async function readProblem(response: Response): Promise<RequestProblem> {
  const told = (await response.json().catch(() => null)) as RequestProblem | null;
  if (typeof told?.problem === 'string') return told;
  const problem = response.status >= 502 ? 'unreachable' : 'failed';
  return { problem, message: `HTTP ${response.status}` };
}

/** @returns `path`, and the parameters that have a value */
export function withQuery(path: string, parameters: Record<string, string | undefined>): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== undefined) query.set(name, value);
  }
  return query.size > 0 ? `${path}?${query.toString()}` : path;
}
