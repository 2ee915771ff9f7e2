import { DelayError } from '../../delay/delay.errors.js';

/** A guard answered that the handler may not be called. The attempt has failed. */
export class DelayGuardError extends DelayError {
  readonly code = 'DELAY_GUARD';
}

/** Interceptors ended a call without its handler, or called it twice or too late. The attempt has failed. */
export class DelayInterceptorError extends DelayError {
  readonly code = 'DELAY_INTERCEPTOR';
}
