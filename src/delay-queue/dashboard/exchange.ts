import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Problem, ProblemKind } from './contract.js';

/** Orders are small: a payload of 64 KiB, and what is around it. */
const BODY_BYTES_MAX = 256 * 1024;

const STATUS: Record<ProblemKind, number> = {
  notFound: 404,
  invalid: 400,
  conflict: 409,
  forged: 403,
  busy: 503,
  slow: 503,
  databaseGone: 503,
  failed: 500,
};

/** An answer of 400 or more. */
export class Refusal extends Error {
  constructor(
    readonly problem: ProblemKind,
    message: string,
    readonly field?: string,
  ) {
    super(message);
  }

  get status(): number {
    return STATUS[this.problem];
  }

  get body(): Problem {
    const { problem, message, field } = this;
    return { problem, message, ...(field !== undefined && { field }) };
  }
}

export const notFound = (): Refusal =>
  new Refusal('notFound', 'There is nothing here, or it is not yours to see.');

/** Nothing from elsewhere, nothing inline, in no frame. */
const HEADERS = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
};

/** Replaces what the host's own middleware has set, such as a policy for its pages. */
export function setHeaders(response: ServerResponse, headers: Record<string, string>): void {
  for (const [name, value] of Object.entries({ ...HEADERS, ...headers })) {
    response.setHeader(name, value);
  }
}

/** @param text JSON */
export function sendJson(response: ServerResponse, status: number, text: string): void {
  if (response.headersSent || response.destroyed) return;
  response.statusCode = status;
  setHeaders(response, {
    'content-type': 'application/json; charset=utf-8',
    'cache-control': 'no-store',
  });
  response.end(text);
}

const tooLarge = (): Refusal =>
  new Refusal('invalid', `The body has more than ${BODY_BYTES_MAX} bytes.`);

/** @throws Refusal */
export async function bodyOf(request: IncomingMessage): Promise<unknown> {
  // Also of one that the host's parser, with a limit of its own, has read.
  if (Number(request.headers['content-length']) > BODY_BYTES_MAX) throw tooLarge();
  // The host's parser has read it: Express' puts the result there.
  const parsed: unknown = Reflect.get(request, 'body');
  if (parsed !== undefined && request.readableEnded) {
    return typeof parsed === 'string' || Buffer.isBuffer(parsed) ? jsonOf(String(parsed)) : parsed;
  }
  if (request.readableEnded) {
    throw new Refusal('invalid', 'The application has read the body before the dashboard could.');
  }
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > BODY_BYTES_MAX) throw tooLarge();
    chunks.push(chunk);
  }
  return jsonOf(Buffer.concat(chunks).toString('utf8'));
}

/** @throws Refusal */
function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new Refusal('invalid', 'The body is not JSON.');
  }
}
