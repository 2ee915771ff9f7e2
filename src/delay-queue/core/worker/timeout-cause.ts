import { lockWaits, type SessionWait, sessionInWords } from '../database/lock-waits.js';
import type { Runner } from '../database/runner.js';
import { LATE, within } from '../tasks/signal.js';

/** A server that does not answer must not keep a call from ending. */
const ASKED_MS_MAX = 500;

/** Enough to see the kind. */
const TOLD_MAX = 3;

interface AskedEngine extends Runner {
  readonly handlersPids: readonly number[];
}

/** Calls that time out together share one statement: each stops the server's lock manager. */
const asking = new WeakMap<AskedEngine, Promise<SessionWait[]>>();

function sharedLockWaits(engine: AskedEngine): Promise<SessionWait[]> {
  let asked = asking.get(engine);
  if (asked === undefined) {
    asked = lockWaits(engine, engine.handlersPids)
      .catch(() => [])
      .finally(() => asking.delete(engine));
    asking.set(engine, asked);
  }
  return asked;
}

/**
 * Which locks a handler waits for now, in words. Of a plain handler only the process is known, not
 * which of its sessions it uses.
 * @param pid the session of its transaction
 */
export async function awaitedLocks(
  engine: AskedEngine,
  pid: number | undefined,
): Promise<string[]> {
  const ours = engine.handlersPids;
  if (ours.length === 0) return [];
  const answer = await within(sharedLockWaits(engine), ASKED_MS_MAX);
  if (answer === LATE) return [];
  const found = answer.filter(
    ({ waits, holds }) => pid === undefined || waits.pid === pid || holds.pid === pid,
  );
  const isOurs = (of: number | null): boolean => of !== null && ours.includes(of);
  const told = found.map(({ waits, holds }) => {
    const [who, whom] = [sessionInWords(waits), sessionInWords(holds)];
    if (waits.pid === pid) return `its transaction waited for a lock that ${whom} holds`;
    if (!isOurs(waits.pid)) return undefined;
    if (holds.pid === pid) return `${who} of this process waited for a lock ${OWN}`;
    const also = isOurs(holds.pid) ? ` of this process holds${BOTH}` : ' holds';
    return `meanwhile ${who} of this process waited for a lock that ${whom}${also}`;
  });
  return told.filter((text) => text !== undefined).slice(0, TOLD_MAX);
}

const OWN =
  "that the attempt's own transaction holds: a statement of the handler that does not use ctx.manager waits for the handler itself";

const BOTH = ': if this handler uses both, it waits for itself; use one manager in it';
