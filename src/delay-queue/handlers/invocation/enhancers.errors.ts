import { DelayError } from '../../delay/delay.errors.js';

/** A guard answered that the handler may not be called; its attempt has failed. */
export class DelayGuardError extends DelayError {
  readonly code = 'DELAY_GUARD';
}

/** Interceptors did not call the handler, or called it twice or too late; its attempt has failed. */
export class DelayInterceptorError extends DelayError {
  readonly code = 'DELAY_INTERCEPTOR';
}
