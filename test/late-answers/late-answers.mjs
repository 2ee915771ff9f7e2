import { Client } from 'pg';

/**
 * Three answers of ten arrive up to 60 ms later than the server sent them: what two sessions hear at the same
 * time, they hear in another order now. A test that fails under it waits for the wrong signal.
 */
const PART = 0.3;
const LATE_MAX_MS = 60;

// That of the process, not that of a test with timers of its own.
const { setTimeout: later } = globalThis;
const { _handleReadyForQuery: ready } = Client.prototype;

Client.prototype._handleReadyForQuery = function late(message) {
  if (Math.random() < PART) later(() => ready.call(this, message), Math.random() * LATE_MAX_MS);
  else ready.call(this, message);
};
