import type { DelayFilter } from '../api/selection.js';
import type { LiveState } from '../api/delay.js';
import { filterOf } from '../client/arguments.js';
import { tablesOf } from '../database/tables.js';
import { matching } from '../store/sql/fragments/filter.js';
import { countByStateSql } from '../store/sql/operations.sql.js';
import type { Count, OperationAction, Preview } from './contract.js';
import type { DashboardDatabase, Look } from './dashboard-database.js';
import { liveLine } from './lines.js';
import type { Deed, Order } from './operation-order.js';

/** Counting stops there. */
const COUNTED_MAX = 10_000;
const SAMPLE = 10;

const STATES: readonly LiveState[] = ['scheduled', 'running', 'retrying', 'dead'];

/** Why an action leaves delays of a state alone. */
type Blocked = Partial<Record<LiveState, string>>;

const RUNS = 'An attempt runs.';
const IS_DEAD = 'It is a dead letter: retry it.';
const NOT_DEAD = 'It is no dead letter.';
const ONLY_DEAD: Blocked = { scheduled: NOT_DEAD, running: NOT_DEAD, retrying: NOT_DEAD };

const BLOCKED: Partial<Record<OperationAction, Blocked>> = {
  runNow: { running: RUNS, dead: IS_DEAD },
  reschedule: { running: RUNS, dead: IS_DEAD },
  cancel: { running: `${RUNS} Abort ends it.` },
  retry: ONLY_DEAD,
  discard: ONLY_DEAD,
};

type Counted = Record<LiveState, number>;

/** What operations will find. */
export class OperationPreviews {
  readonly #tables;

  constructor(private readonly database: DashboardDatabase) {
    this.#tables = tablesOf(database.options.installation);
  }

  /** What would change now. Nothing is written. */
  preview({ deed }: Order): Promise<Preview> {
    const filter = filterFor(deed);
    if (filter === null) return Promise.resolve(NOTHING);
    if (filter === undefined) return Promise.resolve(ONE);
    const blocked = BLOCKED[deed.action] ?? {};
    return this.database.look(async (look) => {
      const { counted, isAll } = await this.#counted(look, filter);
      const count = (states: readonly LiveState[]): Count => ({
        count: states.reduce((sum, state) => sum + counted[state], 0),
        is: isAll ? 'exact' : 'atLeast',
      });
      const changeable = STATES.filter((state) => blocked[state] === undefined);
      return {
        matched: count(STATES),
        changeable: count(changeable),
        blocked: STATES.flatMap((state) => {
          const text = blocked[state];
          return text === undefined || counted[state] === 0
            ? []
            : [{ state, count: count([state]), text }];
        }),
        sample: await sampleOf(look, filter, changeable),
      };
    });
  }

  /** How many delays match; null: the order is not about those that match. */
  async count({ deed }: Order): Promise<Count | null> {
    if (!('which' in deed)) return null;
    const { filter, listed } = deed.which;
    if (listed !== null) return { count: listed, is: 'exact' };
    if (filter === null) return { count: 0, is: 'exact' };
    const { counted, isAll } = await this.database.look((look) => this.#counted(look, filter));
    const count = STATES.reduce((sum, state) => sum + counted[state], 0);
    return { count, is: isAll ? 'exact' : 'atLeast' };
  }

  async #counted(look: Look, given: DelayFilter): Promise<{ counted: Counted; isAll: boolean }> {
    const { sql, parameters } = matching(filterOf(given, { mayBeEmpty: false }), 2);
    const rows = await look.query<{ state: LiveState; count: string }>(
      countByStateSql(this.#tables, sql),
      [COUNTED_MAX + 1, ...parameters],
    );
    const counted: Counted = { scheduled: 0, running: 0, retrying: 0, dead: 0 };
    for (const { state, count } of rows) counted[state] = Number(count);
    const all = STATES.reduce((sum, state) => sum + counted[state], 0);
    return { counted, isAll: all <= COUNTED_MAX };
  }
}

const ZERO: Count = { count: 0, is: 'exact' };
const NOTHING: Preview = { matched: ZERO, changeable: ZERO, blocked: [], sample: [] };
/** The pause or the delay itself. */
const ONE: Preview = { ...NOTHING, changeable: { count: 1, is: 'exact' } };

/** Which delays it is about; null: none, undefined: it is about none that is there. */
function filterFor(deed: Deed): DelayFilter | null | undefined {
  if ('which' in deed) return deed.which.filter;
  if (deed.action === 'create') return undefined;
  const { name, group } = deed;
  return { name, ...(group !== undefined && { group }) };
}

/** The first of those that would change. */
async function sampleOf(
  { admin, manager }: Look,
  filter: DelayFilter,
  changeable: readonly LiveState[],
): Promise<Preview['sample']> {
  const wanted = filter.state === undefined ? STATES : [filter.state].flat();
  const state = changeable.filter((each) => wanted.includes(each));
  if (state.length === 0) return [];
  const options = { limit: SAMPLE, payload: false, manager };
  return (await admin.list({ ...filter, state }, options)).map(liveLine);
}
