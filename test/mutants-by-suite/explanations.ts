import { type Mutant, patch } from './mutant.js';

const CAUSES = 'core/client/explanations.ts';
const STATEMENT = 'core/store/sql/explain.sql.ts';
const PLANTED = ['integration/explain-causes'];
const REAL = ['integration/explain'];

/** What is said of a delay that has not fired, and who asked for a change, each with its mend taken out. */
export const EXPLANATIONS: Readonly<Record<string, Mutant>> = {
  'explains-limits-first': {
    about: 'explains a full limit before the pause that outranks it',
    patches: [
      patch(
        CAUSES,
        '      ...holds,\n      ...(this.row.limits ?? []).flatMap((limit) => this.#throttled(limit)),',
        '      ...(this.row.limits ?? []).flatMap((limit) => this.#throttled(limit)),\n      ...holds,',
      ),
    ],
    tests: [...PLANTED, ...REAL],
  },
  'is-due-in-275760': {
    about: 'says of a delay that no attempt has held that it is due since the last instant of all',
    patches: [
      patch(
        'core/database/tables.ts',
        '`CASE WHEN ${instant} IS NOT NULL THEN GREATEST(LEAST(${epochMs(instant)}, 8.64e15), -8.64e15) END`',
        '`GREATEST(LEAST(${epochMs(instant)}, 8.64e15), -8.64e15)`',
      ),
    ],
    tests: REAL,
  },
  'explains-one-pause': {
    about: 'of two pauses explains one, and the delay does not run when it is resumed',
    patches: [
      patch(
        CAUSES,
        '(this.row.pauses ?? []).filter(',
        '(this.row.pauses ?? []).slice(0, 1).filter(',
      ),
    ],
    tests: [...PLANTED, ...REAL],
  },
  'explains-short-pauses': {
    about: 'explains a delay that is not due by a pause that will be over by then',
    patches: [patch(CAUSES, 'untilMs === null || untilMs > atMs', 'untilMs === null || atMs > 0')],
    tests: PLANTED,
  },
  'explains-only-the-first': {
    about: 'leaves out what else holds the delay',
    patches: [
      patch(CAUSES, '...(first as Cause), also }', '...(first as Cause), also: also.slice(0, 0) }'),
    ],
    tests: [...PLANTED, ...REAL],
  },
  'explains-limits-of-none': {
    about: 'explains by a limit a delay that no node serves',
    patches: [
      patch(CAUSES, 'return [...holds, this.#unserved()];', 'holds.push(this.#unserved());'),
    ],
    tests: PLANTED,
  },
  'explains-gone-as-running': {
    about: 'says that an attempt runs on a node that is gone',
    patches: [patch(CAUSES, 'isOrphaned || !(isLocked', 'isOrphaned && !(isLocked')],
    tests: PLANTED,
  },
  'explains-no-lost-process': {
    about: 'says that an attempt runs whose process is gone before its node is',
    patches: [
      patch(STATEMENT, "asFlag(`(${isOrphaned('d', '0::bigint')} IS TRUE)`)", "asFlag('false')"),
    ],
    tests: PLANTED,
  },
  'explains-no-stall': {
    about: 'says that a delay waits for a slot while its nodes hang',
    patches: [
      patch(CAUSES, 'silentMs <= this.around.loadEveryMs * LOADS_LATE', 'silentMs <= Infinity'),
    ],
    tests: [...PLANTED, 'unit/client/explanations'],
  },
  'explains-one-stall': {
    about: 'says that the nodes hang when one of them does',
    patches: [patch(CAUSES, 'Math.min(...nodes.map(', 'Math.max(...nodes.map(')],
    tests: PLANTED,
  },
  'explains-no-owner': {
    about:
      'says that a delay waits for a slot while the node that owns it hangs, because another does not',
    patches: [patch(CAUSES, 'node === owner', 'node === owner && node.isIdle')],
    tests: [...PLANTED, 'unit/client/explanations'],
  },
  'explains-owner-by-id': {
    about: 'takes for the owner whom the id picks where the group does',
    patches: [patch(CAUSES, 'group !== null && isByGroup', "group === '' && isByGroup")],
    tests: PLANTED,
  },
  'explains-idle-owner': {
    about: 'takes an idle node for an owner',
    patches: [
      patch(CAUSES, 'lives && serves && !isIdle', 'lives && serves && (isIdle || !isIdle)'),
    ],
    tests: [...PLANTED, 'unit/client/explanations'],
  },
  'counts-what-runs': {
    about: 'counts attempts that run among the delays that wait before one',
    patches: [
      patch(
        STATEMENT,
        "${wakeSql('d')} <= (SELECT now FROM clock) AS is_waiting",
        'true AS is_waiting',
      ),
    ],
    tests: REAL,
  },
  'counts-all-names': {
    about: 'counts delays of other names before one',
    patches: [patch(STATEMENT, 'b.is_waiting AND b.name = f.name),', 'b.is_waiting),')],
    tests: REAL,
  },
  'counts-the-whole-crowd': {
    about: 'counts all that is due, however much',
    patches: [patch(STATEMENT, 'ORDER BY d.wake_at DESC, d.id DESC LIMIT ${PLACES_MAX + 1}', '')],
    tests: ['integration/admin-plans'],
  },
  'explains-the-first-end': {
    about: 'of a key that ended twice explains the older end',
    patches: [
      patch(
        STATEMENT,
        'ORDER BY h.ended_at DESC, h.epoch DESC LIMIT 1`',
        'ORDER BY h.ended_at, h.epoch LIMIT 1`',
      ),
    ],
    tests: [...PLANTED, ...REAL],
  },
  'explains-unreadable-as-dead': {
    about: 'says that attempts failed of a row that no node could read',
    patches: [patch(CAUSES, 'error?.startsWith(SET_ASIDE_TEXT) === true', "error === ''")],
    tests: [...PLANTED, ...REAL],
  },
  'looks-through-all-ends': {
    about: 'looks for an id in all of the history',
    patches: [patch(STATEMENT, 'ofId: 10_000', 'ofId: 10_000_000')],
    tests: ['integration/admin-plans'],
  },
  'forgets-who-asked': {
    about: 'keeps of no single call who asked for it',
    patches: [
      patch(
        'core/store/write-answers.ts',
        'by === undefined ? undefined : `$${parameters.push(by)}::text`',
        'undefined',
      ),
    ],
    tests: ['integration/by-whom'],
  },
  'forgets-who-asked-together': {
    about: 'writes a call that says who asked together with others, which forgets it',
    patches: [
      patch(
        'core/client/delay-client.ts',
        'isAlone(transaction, own) && by === undefined\n        ? await this.#coalesced.cancel(',
        'isAlone(transaction, own)\n        ? await this.#coalesced.cancel(',
      ),
    ],
    tests: ['integration/by-whom'],
  },
  'no-history-no-parameter': {
    about: 'without history, sends who asked to a statement that does not take it',
    patches: [
      patch(
        'core/store/sql/history.sql.ts',
        "return by === undefined ? '' :",
        "return true ? '' :",
      ),
    ],
    tests: ['integration/by-whom'],
  },
  'forgets-who-asked-in-transactions': {
    about: 'in a transaction cancels by the function, which forgets who asked',
    patches: [
      patch(
        'core/store/delay.store.ts',
        'runner.transaction !== undefined && by === undefined',
        'runner.transaction !== undefined',
      ),
    ],
    tests: ['integration/by-whom'],
  },
  'blames-who-paused-before': {
    about: 'a second pause keeps who asked for the first',
    patches: [patch('core/store/sql/nodes.sql.ts', 'paused_by = excluded.paused_by, ', '')],
    tests: ['integration/by-whom'],
  },
};
