import { placementColumns } from './placing.js';
import type { Placed, Placement, Runner } from './rows.js';
import type { Tables } from './schema.js';
import { slotOf } from './slot.js';
import { sqlStateOf } from './sql-state.js';
import type { Patience } from './sql/look.sql.js';
import { type Latecomer, placeAllSql, placeKeylessSql, placeSql } from './sql/place.sql.js';

/** From so many on, what the faster INSERT saves pays for a savepoint, which takes two round trips. */
const WORTH_A_SAVEPOINT = 100;

const UNIQUE_VIOLATION = '23505';

/** What a row begins with: the default of its column. */
const EPOCH_FIRST = 0;

interface InsertedRow {
  id: number;
  due_ms: number;
  wake_ms: number;
  now_ms: number;
}

interface KeyedRow extends InsertedRow {
  name: string;
  key: string | null;
}

/** Inserts delays whose keys are free. */
export class PlaceStatement {
  readonly #sql: Record<Latecomer, string>;
  readonly #allSql: string;
  readonly #keylessSql: string;

  constructor(tables: Tables, patience: Patience) {
    this.#sql = {
      refused: placeSql(tables, 'refused', patience),
      'left out': placeSql(tables, 'left out', patience),
    };
    this.#allSql = placeAllSql(tables);
    this.#keylessSql = placeKeylessSql(tables);
  }

  /** Inserts what can be inserted; a hole where the key was taken. */
  async run(runner: Runner, placements: readonly Placement[]): Promise<(Placed | undefined)[]> {
    const rows = await this.#insert(runner, placements);
    if (rows.length === placements.length) return inOrder(rows);
    return matched(rows, placements);
  }

  /**
   * All or, when one of the keys is taken, none: then it answers undefined.
   * @param runner each statement a transaction of its own
   */
  async runAll(runner: Runner, placements: readonly Placement[]): Promise<Placed[] | undefined> {
    const isKeyless = placements.every(({ key }) => key === null);
    if (isKeyless) return this.runKeyless(runner, placements);
    const insert = runner.query<InsertedRow>(this.#allSql, placementColumns(placements));
    const rows = await insert.catch(unlessTaken);
    return rows?.length === placements.length ? inOrder(rows) : undefined;
  }

  /** Those that have no key, which nothing can keep out. */
  async runKeyless(runner: Runner, placements: readonly Placement[]): Promise<Placed[]> {
    const parameters = placementColumns(placements);
    return inOrder(await runner.query<InsertedRow>(this.#keylessSql, parameters));
  }

  /** As if nobody inserted a key meanwhile, and once more when somebody did. */
  async #insert(runner: Runner, placements: readonly Placement[]): Promise<KeyedRow[]> {
    const parameters = placementColumns(placements);
    const insert = (latecomer: Latecomer) =>
      runner.query<KeyedRow>(this.#sql[latecomer], parameters);
    if (runner.attempt === undefined) {
      return (await insert('refused').catch(unlessTaken)) ?? insert('left out');
    }
    if (placements.length < WORTH_A_SAVEPOINT) return insert('left out');
    const inserting = runner.attempt(
      () => insert('refused'),
      () => true,
    );
    return (await inserting.catch(unlessTaken)) ?? insert('left out');
  }
}

function unlessTaken(error: unknown): undefined {
  if (sqlStateOf(error) !== UNIQUE_VIOLATION) throw error;
}

/** Ids follow the order of the input; Postgres promises no order of what RETURNING answers. */
function inOrder(rows: InsertedRow[]): Placed[] {
  return rows.toSorted((a, b) => a.id - b.id).map(scheduled);
}

/** Those that were inserted to what they were made of. */
function matched(rows: KeyedRow[], placements: readonly Placement[]): (Placed | undefined)[] {
  // Of the keyless ones, the first is the first. Keyed ones say which they are.
  const keyless = inOrder(rows.filter(({ key }) => key === null)).values();
  const keyed = new Map(rows.filter(({ key }) => key !== null).map((row) => [slotOf(row), row]));
  return placements.map((placement) => {
    if (placement.key === null) return keyless.next().value;
    const row = keyed.get(slotOf(placement));
    return row && scheduled(row);
  });
}

const scheduled = ({ id, due_ms, wake_ms, now_ms }: InsertedRow): Placed => ({
  verdict: 'scheduled',
  id,
  dueMs: due_ms,
  epoch: EPOCH_FIRST,
  wakeMs: wake_ms,
  nowMs: now_ms,
});
