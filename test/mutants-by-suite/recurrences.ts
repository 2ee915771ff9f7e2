import { type Mutant, patch } from './mutant.js';

const DECLARE = 'core/store/sql/recurrences.sql.ts';
const WITHDRAW = 'core/store/sql/recurrences.sql.ts';
const TAKEN = 'core/store/sql/schedule.sql.ts';
const RECURRENCE = 'core/recurrence/recurrence.ts';

/** What recurs with one rule taken out. */
export const RECURRENCES: Readonly<Record<string, Mutant>> = {
  'asks-the-estimate': {
    about: 'takes the estimate of the clock for its reading, and begins before it is due',
    patches: [
      patch(
        'core/worker/claimer.ts',
        'this.parts.clock.afterReading(row.now_ms, performance.now())',
        'this.parts.clock.afterReading(this.parts.clock.nowMs(), performance.now())',
      ),
    ],
    tests: ['integration/recurrences/erring-estimate'],
  },
  'goes-on-by-the-estimate': {
    about: 'leaves out an instant that has not come',
    patches: [
      patch(
        'core/database/database-clock.ts',
        'readMs + (performance.now() - heardAtMs) * (1 - DRIFT)',
        'this.nowMs()',
      ),
    ],
    tests: ['unit/recurrence/recurrence'],
  },
  'declares-by-the-estimate': {
    about: 'says when it is due for the first time by a clock that is ahead',
    patches: [
      patch(
        'core/worker/declarations.ts',
        'declarations.length === 0 ? 0 : await this.#store.nowMs()',
        'declarations.length === 0 ? 0 : (await this.#store.nowMs()) + 186',
      ),
    ],
    tests: ['integration/recurrences/erring-estimate'],
  },
  'withdraws-nothing': {
    about: 'leaves what is declared no longer where it is',
    patches: [patch(WITHDRAW, 'AND ((d.name, d.key) IN', 'AND false AND ((d.name, d.key) IN')],
    tests: ['integration/recurrences/declarations'],
  },
  'withdraws-what-calls-made': {
    about: 'removes at each start what a call has made recur',
    patches: [
      patch(WITHDRAW, " AND ${isDeclared('d.repeat')}\n    AND", '\n    AND'),
      patch(WITHDRAW, " AND ${isDeclared('d.repeat')} AND NOT", ' AND NOT'),
    ],
    tests: ['integration/recurrences/life-of-scheduled'],
  },
  'declares-anew': {
    about: 'counts from each start what stands as declared',
    patches: [
      patch(DECLARE, 'const IS_OTHER = `', 'const IS_OTHER = `true OR '),
      patch(DECLARE, '${RECURS_OTHERWISE} AS recurs_otherwise', 'true AS recurs_otherwise'),
    ],
    tests: ['integration/recurrences/declarations'],
  },
  'declares-late': {
    about: 'says an old word after the one of a newer node',
    patches: [
      patch(
        DECLARE,
        '`EXISTS (SELECT FROM newer WHERE ${name} = ANY (newer.names))`',
        '`(false AND ${name} IS NULL)`',
      ),
    ],
    tests: ['integration/recurrences/words-of-nodes'],
  },
  'declares-at-once-and-fails': {
    about: 'fails when another node inserts the same at that moment',
    patches: [patch(DECLARE, 'ON CONFLICT (name, key) WHERE key IS NOT NULL DO NOTHING', '')],
    tests: ['integration/recurrences/words-of-nodes'],
  },
  'declares-once': {
    about: 'does not come back for what a run held',
    patches: [
      patch('core/store/recurrence.store.ts', "again: having('again')", "again: having('never')"),
    ],
    tests: ['integration/recurrences/declarations'],
  },
  'runs-now-what-was-missed': {
    about: 'leaves the old due time when one is made due by hand that would be missed',
    patches: [
      patch(
        'core/store/sql/delays.sql.ts',
        "CASE WHEN d.repeat ->> 'catchUp'::text = 'none' THEN",
        'CASE WHEN false THEN',
      ),
    ],
    tests: ['integration/recurrences/downtime'],
  },
  drifts: {
    about: 'counts the next instant of `every` from the run and not from the first one',
    patches: [
      patch(
        'core/recurrence/instants.ts',
        'after: (ms) => firstMs + Math.max(0, count(ms) + 1) * periodMs,',
        'after: (ms) => ms + periodMs,',
      ),
    ],
    tests: ['integration/recurrences/failures', 'integration/recurrences/scheduled'],
  },
  'stands-for-the-first': {
    about: 'runs with `latest` for the first instant that was missed, and then for the others',
    patches: [
      patch(
        RECURRENCE,
        "if (this.#catchUp !== 'latest') return dueMs;",
        "if (this.#catchUp !== 'never') return dueMs;",
      ),
      patch(
        RECURRENCE,
        "return this.#catchUp === 'latest'\n",
        "return this.#catchUp === 'never'\n",
      ),
    ],
    tests: ['integration/recurrences/downtime'],
  },
  'skips-with-each': {
    about: 'leaves out what was missed with `each`, too',
    patches: [
      patch(RECURRENCE, "const fromMs = this.#catchUp === 'none'", 'const fromMs = this.#catchUp'),
    ],
    tests: ['integration/recurrences/downtime'],
  },
  'runs-what-was-missed': {
    about: 'runs with `none` what came too late',
    patches: [
      patch(
        RECURRENCE,
        "return this.#catchUp === 'none' && nowMs",
        "return this.#catchUp === 'never' && nowMs",
      ),
    ],
    tests: ['integration/recurrences/downtime'],
  },
  'runs-once-too-often': {
    about: 'counts a limit from the run after the first one',
    patches: [patch(RECURRENCE, 'ran >= limit', 'ran > limit')],
    tests: ['unit/recurrence/recurrence'],
  },
  'ends-without-leave': {
    about: 'ends a delay whose handler asked for that and failed',
    patches: [
      patch(
        'core/worker/occurrence-end.ts',
        'stopsRepeating && (end === COMPLETED || end === onDead?.ends)',
        'stopsRepeating',
      ),
    ],
    tests: ['integration/recurrences/ends'],
  },
  'goes-on-from-the-instant': {
    about: 'counts from a due time that another node computed by other rules of the zone',
    patches: [
      patch(RECURRENCE, 'return sameWallClock(repeat.timeZone, dueMs, offset);', 'return dueMs;'),
    ],
    tests: ['unit/recurrence/zones'],
  },
  'moves-by-any-data': {
    about: 'moves what newer zone data has computed, too',
    patches: [patch('core/worker/zones.ts', 'tz >= ownTz || ', '')],
    tests: ['integration/recurrences/zones'],
  },
  'skips-the-missing-hour': {
    about: 'goes by the rules of no cron where clocks change',
    patches: [patch('core/recurrence/instants.ts', "    fixedTimeRule: 'no-wildcard',\n", '')],
    tests: ['unit/recurrence/recurrence'],
  },
  'reads-another-clock': {
    about: 'reads the wall clock of UTC, whatever the time zone',
    patches: [patch('core/recurrence/instants.ts', 'timezone: timeZone,', "timezone: 'UTC',")],
    tests: ['unit/recurrence/recurrence'],
  },
  'recurs-outside': {
    about: 'moves a row on after the transaction of its handler, and not in it',
    patches: [
      patch(
        'core/worker/removal.ts',
        'const rows = await this.store.recur(items, runner);',
        `setTimeout(() => void this.store.recur(items).catch(() => {}), 100);
    if (items.length > 0) return recurring.map(({ id }) => id);
    const rows = await this.store.recur(items, runner);`,
      ),
    ],
    tests: ['integration/recurrences/nodes'],
  },
  'puts-off-what-is-said-again': {
    about: 'counts from each call that says the same again',
    patches: [
      patch(
        TAKEN,
        "const GOES_ON = goesOnAsItDid('f.repeat', 'f.extras');",
        "const GOES_ON = 'false';",
      ),
    ],
    tests: ['integration/recurrences/scheduled'],
  },
  'overrules-the-code': {
    about: 'lets a call change how the code says that a delay recurs',
    patches: [
      patch(
        TAKEN,
        "`${isDeclared('f.repeat')} AND f.extras",
        "`false AND ${isDeclared('f.repeat')} AND f.extras",
      ),
    ],
    tests: ['integration/recurrences/scheduled'],
  },
  'drifts-by-its-handler': {
    about: 'counts from now when a handler says again how its own delay recurs',
    patches: [
      patch(
        'core/client/self-reschedules.ts',
        'if (repeat.hasFirst || !occurrence.recursAs(repeat.how)) return delay;',
        'if (repeat.hasFirst || occurrence.recursAs(repeat.how)) return delay;',
      ),
    ],
    tests: ['integration/recurrences/own-key'],
  },
  'comes-behind-later-calls': {
    about: 'asks for the time of a wall clock without keeping the place of its call',
    patches: [
      patch(
        'core/client/delay-client.ts',
        'return await inOrder([delay], async () => {\n      if (ready !== undefined) await ready;\n      const timed = needsClock(delay)\n        ? await withFirstInstants(this.#store, runner, [delay])\n        : [delay];',
        'const timed = needsClock(delay)\n        ? await withFirstInstants(this.#store, runner, [delay])\n        : [delay];\n    return await inOrder([delay], async () => {\n      if (ready !== undefined) await ready;',
      ),
    ],
    tests: ['integration/recurrences/life-of-scheduled'],
  },
  'declares-in-clear': {
    about: 'stores the payload of a `@RepeatDelay` as it stands in the code',
    patches: [
      patch(
        'core/handlers/handler.registry.ts',
        'const stored = payloads.stored(json, owner);',
        'const stored = json as string | Promise<string>;',
      ),
    ],
    tests: ['integration/recurrences/payloads', 'unit/handlers/repeat-delay'],
  },
};
