import {
  Catch,
  HttpException,
  Logger,
  NotFoundException,
  type ArgumentsHost,
  type ExceptionFilter,
} from '@nestjs/common';
import type { Request, Response } from 'express';
import { shownJson } from '../shown.js';
import { databaseTrouble, type DatabaseTrouble } from './database-away.js';
import { plainProblem, ProblemException, type Problem } from './problem.js';

export const PROBLEM_TYPE = 'application/problem+json';

/** Seconds until a connection is likely to be free, or a server restarted. */
const RETRY_AFTER_S = '2';
/** An outage is logged once, as long as requests keep meeting it. */
const OUTAGE_QUIET_MS = 60_000;

/** Turns every error of the application into the same kind of answer. */
@Catch()
export class ProblemFilter implements ExceptionFilter {
  readonly #logger = new Logger('Http');
  #outageSeenMs = -OUTAGE_QUIET_MS;

  catch(error: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    const response = http.getResponse<Response>();
    // A stream that breaks halfway: its reader notices.
    if (response.headersSent) return void response.destroy();
    const answer = this.#problemOf(error, http.getRequest<Request>());
    if (answer.status === 503) response.set('Retry-After', RETRY_AFTER_S);
    // Not `type()`, which adds a charset that this type does not have.
    response.status(answer.status).setHeader('Content-Type', PROBLEM_TYPE);
    response.send(Buffer.from(shownJson(answer)));
  }

  #problemOf(error: unknown, { method, path, route }: Request): Problem {
    if (error instanceof ProblemException) return error.getResponse() as Problem;
    if (error instanceof NotFoundException && !route) return nothingAt(path);
    if (error instanceof HttpException) return plainProblem(error.getStatus(), detailOf(error));
    const trouble = databaseTrouble(error);
    if (trouble === 'away') this.#warnOnce(error as Error);
    if (trouble) return plainProblem(503, askAgain(trouble, method));
    this.#logger.error(error);
    return plainProblem(500, 'something is wrong here, not with the request; it is in the log');
  }

  #warnOnce({ message }: Error): void {
    const nowMs = performance.now();
    const isNew = nowMs - this.#outageSeenMs >= OUTAGE_QUIET_MS;
    this.#outageSeenMs = nowMs;
    if (isNew) this.#logger.warn(`Postgres is away (${message}): requests are answered 503`);
  }
}

const nothingAt = (path: string): Problem =>
  plainProblem(404, `there is nothing at ${path}; GET /docs shows what there is`);

/** A list that was thrown has an entry for each field. */
function detailOf(error: HttpException): string {
  const said = error.getResponse();
  const { message = said } = typeof said === 'object' && 'message' in said ? said : {};
  return Array.isArray(message) ? message.join('; ') : String(message);
}

/** A transaction that was cut may have been committed: never claim that nothing happened. */
function askAgain(trouble: DatabaseTrouble, method: string): string {
  const why = trouble === 'away' ? 'the database is away' : 'others hold what this needs';
  if (method === 'GET' || method === 'HEAD') return `${why}; ask again`;
  return (
    `${why}, and it is unknown whether this took effect: ask again. What was done is returned, ` +
    'not done twice; a new order needs the same Idempotency-Key for that'
  );
}
