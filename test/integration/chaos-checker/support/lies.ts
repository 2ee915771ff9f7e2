import { presenceSql } from '../../../../src/delay-queue/core/store/sql/fragments/clock.js';

/** A lie about a sound history: the invariant that it breaks, what a person is told, and how it is told. */
type Lie = [invariant: number, says: RegExp, sql: string];

const doneAgain = (token: string): string => `
  INSERT INTO chaos.effect (delay_id, name, token, attempt, node, fenced, at, txid)
  SELECT delay_id, name, token, attempt, node, fenced, at, txid FROM chaos.effect WHERE token = '${token}'`;

const toldOf = (token: string, verb: string, verdict: string): string => `
  INSERT INTO chaos.client (call, verb, name, key, in_transaction, outcome, verdict, id, due_at)
  SELECT '${verb}', '${verb}', (new).name, (new).key, false, 'ok', '${verdict}', delay_id, clock_timestamp()
  FROM chaos.transition WHERE (new).payload->>'token' = '${token}' AND op = 'insert'`;

const order = (id: string, columns: string, values: string): string => `
  INSERT INTO orders (id, total, merchant_id, confirm_after_ms, rate_after_ms, pay_deadline, ${columns})
  VALUES ('${id}', 1, 'tea-house', 1, 1, now() - interval '1 second', ${values})`;

const shopCall = (verb: string, key: string, outcome: string): string => `
  INSERT INTO chaos.client (call, verb, name, key, in_transaction, outcome, id)
  VALUES ('c', '${verb}', 'order', '${key}', false, '${outcome}', 'nowhere')`;

const CLOSED = '00000000-0000-4000-8000-000000000001';
const PAID = '00000000-0000-4000-8000-000000000002';

/** What recurs since two seconds ago, with the lines of its first two instants but for what is missing. */
const clockWith = (name: string, effects: number, lines: string): string => `
  WITH clock AS (
    INSERT INTO delay_queue.delay (name, key, payload, due_at, wake_at, created_at, repeat)
    SELECT '${name}', 'tick', 'null', began + interval '2 seconds', began + interval '2 seconds', began,
           jsonb_build_object('every', 1000, 'declared', true, 'from', extract(epoch FROM began) * 1000)
    FROM date_trunc('second', now() - interval '2 seconds') AS began
    RETURNING id, name, key, created_at
  ),
  line AS (
    INSERT INTO delay_queue.history (id, ended_at, due_at, created_at, epoch, attempts, state, name, key)
    SELECT id, now(), created_at + n * interval '1 second', created_at, n, 1, 'completed', name, key
    FROM clock, unnest('{${lines}}'::int[]) AS n
    RETURNING id, name, due_at
  )
  INSERT INTO chaos.tick (delay_id, name, due_at, node)
  SELECT id, name, due_at, 'n1' FROM line, generate_series(1, ${effects})`;

/** What no mutant of the engine does (test/chaos/mutants), and one lie for each invariant. */
export const LIES: Record<string, Lie> = {
  'a delay that waits for ever': [1, /"waits": it never ended: the row still waits/, 'SELECT'],
  'a fenced effect twice': [2, /"twice": its transaction did it 2 times$/m, doneAgain('twice')],
  'a plain one done more often than claimed': [
    2,
    /"often": n1 did attempt 1 of it 2 times and claimed it 1 times/,
    doneAgain('often'),
  ],
  'a child of a parent that was never there': [
    2,
    /"lonely": no row ever held its parent nobody/,
    `UPDATE chaos.transition SET new.payload = (new).payload || '{"parent":"nobody"}'
     WHERE (new).payload->>'token' = 'lonely'`,
  ],
  'a fenced parent without the child it had to make': [
    2,
    /"childless": it ended well, and what it had to schedule is not there/,
    `WITH child AS (DELETE FROM chaos.transition
                    WHERE COALESCE((new).payload, (old).payload)->>'token' = 'childless>1'
                    RETURNING delay_id),
          done AS (DELETE FROM chaos.effect WHERE token = 'childless>1')
     DELETE FROM delay_queue.history WHERE id IN (SELECT delay_id FROM child)`,
  ],
  'a claim during the pause before a retry': [
    3,
    /"retried": n1 claimed it at .*, and its wake was at/,
    `UPDATE chaos.transition SET at = (old).wake_at - interval '1 ms'
     WHERE (new).payload->>'token' = 'retried' AND (new).attempts = 2 AND (new).leased_by IS NOT NULL`,
  ],
  // Of two claims: the limit lets no claim have both.
  'attempts taken over from a process that lives': [
    3,
    /"(?:first|second)": n1 took it over at .*, and the process of n2 held its lock/,
    `UPDATE chaos.transition
     SET lock_lives = true, old.lease_lock = 7, old.leased_by = 'n2', old.leased_until = at + interval '1 s'
     WHERE (new).payload->>'token' IN ('first', 'second') AND (new).leased_by IS NOT NULL`,
  ],
  'told "rescheduled", and nothing was written': [
    4,
    /told that it is due at .*, and no reschedule wrote that/,
    toldOf('stays', 'reschedule', 'rescheduled'),
  ],
  'told "retried", and nothing was written': [
    4,
    /told "retried", and nothing was written/,
    toldOf('dead', 'retryDead', 'retried'),
  ],
  'a payment that was acknowledged and is not there': [
    5,
    /pay was acknowledged, and the order is CLOSED/,
    `${order(CLOSED, 'status, closed_at, close_reason', `'CLOSED', now(), 'not paid in time'`)};
     ${shopCall('pay', CLOSED, 'ok')}`,
  ],
  'paid, and the buyer was refused': [
    5,
    /every call was told that it was not/,
    `${order(PAID, 'status, paid_at', `'PAID', now()`)};
     ${shopCall('pay', PAID, 'fail')}`,
  ],
  'an order that was acknowledged and is not there': [
    5,
    /was told that order nowhere is placed, and there is none/,
    shopCall('place', 'key', 'ok'),
  ],
  'stock that was given back twice': [
    6,
    /stock and what open orders hold add up .* 1 of 6 broken, such as TEA-GREEN/,
    `UPDATE sku SET stock = stock + 1 WHERE sku = 'TEA-GREEN'`,
  ],
  'an attempt too many': [
    7,
    /"tired": attempt 1 of at most 0/,
    `UPDATE chaos.transition SET new.max_attempts = 0 WHERE (new).payload->>'token' = 'tired'`,
  ],
  'a log without its attempt': [
    7,
    /"stray": its log has 0 of 1 attempts/,
    `UPDATE delay_queue.history SET attempt_log = NULL WHERE id = (
       SELECT min(delay_id) FROM chaos.transition WHERE (new).payload->>'token' = 'stray')`,
  ],
  'history of what never ended': [
    8,
    /history says "completed" at epoch 7, and nothing ended there/,
    `INSERT INTO delay_queue.history
     SELECT id + 1000, ended_at, due_at, created_at, lateness_ms, 7, attempts, state, name, key, node, error
     FROM delay_queue.history WHERE state = 'completed' LIMIT 1`,
  ],
  'a row that comes back after its end': [
    8,
    /"back": the id came twice/,
    `INSERT INTO delay_queue.delay (id, name, payload, due_at, wake_at, created_at) OVERRIDING SYSTEM VALUE
     SELECT delay_id, (new).name, (new).payload, now(), now(), now()
     FROM chaos.transition WHERE (new).payload->>'token' = 'back' AND op = 'insert'`,
  ],
  'a write past the trigger': [
    8,
    /"unseen": between revision 2 and this one somebody wrote unseen/,
    `UPDATE chaos.transition SET old.leased_until = (old).leased_until + interval '1 ms'
     WHERE (old).payload->>'token' = 'unseen' AND op = 'delete'`,
  ],
  'told another due time than was written': [
    9,
    /"other": call .* was told due at .*, and the row says/,
    `UPDATE chaos.client SET due_at = due_at + interval '2 ms' WHERE token = 'other'`,
  ],
  'a delay that nobody asked for': [
    9,
    /"stray": nobody asked for it/,
    `DELETE FROM chaos.client WHERE token = 'stray'`,
  ],
  'a cancel that was told "running"': [
    9,
    /"gone": a cancel, and every call for it was told that nothing was done/,
    `UPDATE chaos.client SET verdict = 'running' WHERE verb = 'cancel' AND key = 'gone'`,
  ],
  'a business row without its delay': [
    9,
    /"b": call b \(unknown\): the business row is there, the delay is not/,
    `INSERT INTO chaos.business VALUES ('b');
     INSERT INTO chaos.client (call, verb, name, token, in_transaction, outcome)
     VALUES ('b', 'schedule', 'chaos.plain', 'b', true, 'unknown')`,
  ],
  'a node that is thought to be there': [
    10,
    /"n9": some session still holds the lock of its presence/,
    `INSERT INTO delay_queue.node VALUES ('n9', '{}', true, now(), now());
     ${presenceSql().replace('$1', `'n9'`).replace('$2', 'NULL')}`,
  ],
  'two at once of a group that may have one': [
    11,
    /"second": claimed at .* beside 1 others of the group, of at most 1/,
    `UPDATE chaos.transition SET at = at + interval '20 seconds'
     WHERE (old).payload->>'token' = 'first' AND op = 'delete'`,
  ],
  'more within a second than the rate allows': [
    11,
    /"rated \d+": the 11. claim within 00:00:00/,
    `UPDATE chaos.transition SET at = (
       SELECT max(at) FROM chaos.transition WHERE (new).name = 'chaos.rated' AND op = 'update'
     ) WHERE (new).name = 'chaos.rated' AND op = 'update'`,
  ],
  'a claim of what is paused': [
    11,
    /"paused": claimed at .*, and "g2" is paused from/,
    `INSERT INTO chaos.pause (name, group_id, until, at)
     SELECT (new).name, 'g2', 'infinity', at - interval '2 seconds'
     FROM chaos.transition WHERE (new).payload->>'token' = 'paused' AND op = 'update'`,
  ],
  'an instant that nobody ran': [
    12,
    /"clock.plain": .* has 0 lines of history/,
    clockWith('clock.plain', 1, '0'),
  ],
  'an instant that was run twice': [
    12,
    /"clock.fenced": .* was done 2 times[^]*was done 2 times/,
    clockWith('clock.fenced', 2, '0,1'),
  ],
};

/** A row that waits or comes back breaks these as well; so do two that another had before, and as many takeovers as claims. */
export const ALSO = [1, 6, 9, 10, 10, 12, 3, 8, 8];
