import type { DelayFilter, EraseCounts, LiveState } from '../core/index.js';
import { liveFilter, SelectionStore } from '../core/ops.js';
import type { Count, OperationAction, Preview } from './contract.js';
import type { DashboardDatabase, Look } from './dashboard-database.js';
import { filtered } from './failures.js';
import { liveLine } from './lines.js';
import type { Deed, Order } from './operation-order.js';
import { LIVE_STATES } from './search.table.js';

const COUNTED_MAX = 10_000;
const SAMPLE = 10;

/** Why an action leaves delays of a state alone. */
type Blocked = Partial<Record<LiveState, string>>;

const RUNS = 'An attempt runs.';
const IS_DEAD = 'It is a dead letter: retry it.';
const ERASE_AGAIN = `${RUNS} Erase again when it has ended.`;
const NOT_DEAD = 'It is no dead letter.';
const ONLY_DEAD: Blocked = { scheduled: NOT_DEAD, running: NOT_DEAD, retrying: NOT_DEAD };

const BLOCKED: Partial<Record<OperationAction, Blocked>> = {
  runNow: { running: RUNS, dead: IS_DEAD },
  reschedule: { running: RUNS, dead: IS_DEAD },
  cancel: { running: `${RUNS} Abort ends it.` },
  retry: ONLY_DEAD,
  discard: ONLY_DEAD,
};

export class OperationPreviews {
  readonly #selection: SelectionStore;

  constructor(private readonly database: DashboardDatabase) {
    this.#selection = new SelectionStore(database.options.installation);
  }

  /** What would change now. Nothing is written. */
  async preview({ deed }: Order): Promise<Preview> {
    if (deed.action === 'create') {
      await this.#checkPayload(deed);
      return ONE;
    }
    if (deed.action === 'erase') return this.#ofErase(deed);
    const filter = 'which' in deed ? deed.which.filter : namedBy(deed);
    if (filter === null) return NOTHING;
    const blocked = BLOCKED[deed.action] ?? {};
    const looking = this.database.look(async (look) => {
      const counted = await this.#counted(look, filter);
      const changeable = LIVE_STATES.filter((state) => blocked[state] === undefined);
      return {
        matched: counted(LIVE_STATES),
        changeable: counted(changeable),
        blocked: LIVE_STATES.flatMap((state) => {
          const [text, count] = [blocked[state], counted([state])];
          return text === undefined || count.count === 0 ? [] : [{ state, count, text }];
        }),
        sample: await readSample(look, filter, changeable),
      };
    });
    const isListed = 'which' in deed && deed.which.listed !== null;
    return filtered(isListed ? {} : filter, looking);
  }

  /** How many delays match; null: the order is not about those that match. */
  async count({ deed }: Order): Promise<Count | null> {
    if (deed.action === 'erase') {
      return exactly(sumValues(await this.database.look((look) => erasedBy(look, deed))));
    }
    if (!('which' in deed)) return null;
    const { filter, listed } = deed.which;
    if (listed !== null) return exactly(listed);
    if (filter === null) return ZERO;
    return this.database.look(async (look) => (await this.#counted(look, filter))(LIVE_STATES));
  }

  async #ofErase(deed: Erase): Promise<Preview> {
    const { running, ...erases } = await this.database.look((look) => erasedBy(look, deed));
    const changeable = sumValues(erases);
    return {
      matched: exactly(changeable + running),
      changeable: exactly(changeable),
      blocked:
        running === 0 ? [] : [{ state: 'running', count: exactly(running), text: ERASE_AGAIN }],
      sample: [],
      erases,
    };
  }

  /** @returns how many match that are in one of some states */
  async #counted(
    look: Look,
    filter: DelayFilter,
  ): Promise<(states: readonly LiveState[]) => Count> {
    const wanted = liveFilter(filter, { mayBeEmpty: false });
    const found = await this.#selection.countByState(look, wanted, COUNTED_MAX);
    const sum = (states: readonly LiveState[]): number =>
      states.reduce((all, state) => all + (found.get(state) ?? 0), 0);
    const is = sum(LIVE_STATES) < COUNTED_MAX ? 'exact' : 'atLeast';
    return (states) => ({ count: sum(states), is });
  }

  /** As a `schedule` would: with its schema. @throws DelayInvalidError naming the part */
  async #checkPayload({ name, key, payload }: Extract<Deed, { action: 'create' }>): Promise<void> {
    const { payloads } = this.database.options;
    await payloads.stored(payloads.jsonOf(payload), { name, key: key ?? null });
  }
}

const exactly = (count: number): Count => ({ count, is: 'exact' });

const sumValues = (counts: object): number =>
  Object.values(counts).reduce((sum: number, count: number) => sum + count, 0);

type Erase = Extract<Deed, { action: 'erase' }>;

const erasedBy = ({ admin, manager }: Look, { erases }: Erase): Promise<EraseCounts> =>
  admin.erase(erases, { dryRun: true, manager });

const ZERO = exactly(0);
const NOTHING: Preview = { matched: ZERO, changeable: ZERO, blocked: [], sample: [] };
const ONE: Preview = { ...NOTHING, changeable: exactly(1) };

/** Those that a pause holds. */
const namedBy = ({ name, group }: Extract<Deed, { action: 'pause' | 'resume' }>): DelayFilter => ({
  name,
  ...(group !== undefined && { group }),
});

async function readSample(
  { admin, manager }: Look,
  filter: DelayFilter,
  changeable: readonly LiveState[],
): Promise<Preview['sample']> {
  const wanted = filter.state === undefined ? LIVE_STATES : [filter.state].flat();
  const state = changeable.filter((each) => wanted.includes(each));
  if (state.length === 0) return [];
  const options = { limit: SAMPLE, payload: false, manager };
  return (await admin.list({ ...filter, state }, options)).map(liveLine);
}
