import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Problem, PROBLEM_STATUS, type ProblemKind } from './contract.js';

/** Room for a payload of 64 KiB and the rest of an order. */
const BODY_BYTES_MAX = 256 * 1024;

export class Refusal extends Error {
  constructor(
    readonly problem: ProblemKind,
    message: string,
    readonly field?: string,
  ) {
    super(message);
  }

  get status(): number {
    return PROBLEM_STATUS[this.problem];
  }

  get body(): Problem {
    const { problem, message, field } = this;
    return { problem, message, ...(field !== undefined && { field }) };
  }
}

export const notFound = (): Refusal =>
  new Refusal('notFound', 'There is nothing here, or it is not yours to see.');

/** Nothing from other origins, nothing inline, no framing. */
const HEADERS = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
};

/** Replaces headers that the application's middleware has set, such as a policy for its own pages. */
export function setHeaders(response: ServerResponse, headers: Record<string, string>): void {
  for (const [name, value] of Object.entries({ ...HEADERS, ...headers })) {
    response.setHeader(name, value);
  }
}

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

export async function readBody(request: IncomingMessage): Promise<unknown> {
  // Applies even if the application's parser, with its own limit, has already read the body.
  if (Number(request.headers['content-length']) > BODY_BYTES_MAX) throw tooLarge();
  // The application's parser has already read it; Express leaves the result here.
  const parsed: unknown = Reflect.get(request, 'body');
  if (parsed !== undefined && request.readableEnded) {
    return typeof parsed === 'string' || Buffer.isBuffer(parsed)
      ? parseJson(String(parsed))
      : parsed;
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
  return parseJson(Buffer.concat(chunks).toString('utf8'));
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new Refusal('invalid', 'The body is not JSON.');
  }
}
