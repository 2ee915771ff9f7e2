import type { PayloadReader } from '../../payloads/payloads.js';
import type { Outcome } from '../../settlement/outcome.js';
import type { Attempt } from './attempt.js';
import type { Call } from './call.js';
import { outcomeOfReading } from './outcome-of.js';

/** Payloads by the attempts that got one, and what becomes of the others. */
interface Read {
  payloads: Map<Attempt, unknown>;
  unread: Map<Attempt, Outcome>;
}

/**
 * Reads the payloads of a call. What this node cannot read, another one may, or this one after a deploy: a newer version of
 * the application has written it, say, or with a key that this one does not have.
 *
 * @returns the payloads that the handler gets, or what becomes of the call when there is none
 */
export async function readPayloads(
  call: Call,
  read: PayloadReader,
): Promise<Map<Attempt, unknown> | Outcome> {
  call.isReading = true;
  const { payloads, unread } = await readAll(call, read);
  call.isReading = false;
  // Decided otherwise meanwhile, or about to be: this process stood still, and others have the row by now.
  if (call.over || call.leaseEndsAtMs <= performance.now()) return { kind: 'lost' };
  if (call.stopping === 'released') return { kind: 'released' };
  for (const attempt of payloads.keys()) if (attempt.over) payloads.delete(attempt);
  if (call.handler.batch === null) return [...unread.values()][0] ?? payloads;
  for (const [{ id }, outcome] of unread) call.say(String(id), outcome);
  return payloads.size === 0 ? { kind: 'completed' } : payloads;
}

async function readAll(call: Call, read: PayloadReader): Promise<Read> {
  const all: Read = { payloads: new Map(), unread: new Map() };
  for (const attempt of call.attempts) {
    if (call.over) break;
    try {
      all.payloads.set(attempt, await read(attempt.row.payload, attempt));
    } catch (error) {
      all.unread.set(attempt, outcomeOfReading(error, call.stopping));
    }
  }
  return all;
}
