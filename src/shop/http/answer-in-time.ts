import { Injectable, type CallHandler, type NestInterceptor } from '@nestjs/common';
import { throwError, timeout, type Observable } from 'rxjs';
import { DatabaseSilentError } from './database-away.js';

/** Longer than anything the shop does; clients wait about as long. */
const ANSWER_WITHIN_MS = 10_000;

/** A database that accepts queries and answers none must not keep clients waiting forever. */
@Injectable()
export class AnswerInTime implements NestInterceptor {
  intercept(_: unknown, next: CallHandler): Observable<unknown> {
    const silent = () => throwError(() => new DatabaseSilentError(ANSWER_WITHIN_MS));
    return next.handle().pipe(timeout({ first: ANSWER_WITHIN_MS, with: silent }));
  }
}
