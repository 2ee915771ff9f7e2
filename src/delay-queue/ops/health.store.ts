import {
  byPurpose,
  given,
  type Installation,
  numbers,
  qualifiedTables,
  reader,
  type Runner,
  type TextAnswer,
} from '../core/ops.js';
import type { SilentNode } from './checks/delays.sql.js';
import * as vacuum from './checks/vacuum.sql.js';
import {
  BACKLOG,
  type BacklogRow,
  backlogSql,
  VITALS,
  type VitalsRow,
  vitalsSql,
} from './health.sql.js';

/** Reads what the health of a node is judged by, on the engine's own connections. */
export class HealthStore {
  readonly #sql;
  readonly #schema: string;

  constructor(
    private readonly runner: Runner,
    of: Installation,
  ) {
    const tables = qualifiedTables(of);
    this.#schema = of.schema;
    this.#sql = byPurpose({ backlog: backlogSql(tables), vitals: vitalsSql(tables) });
  }

  /** `aliveMs` as in `liveNames`. */
  async vitals(aliveMs: number): Promise<Vitals> {
    const [row] = await this.runner.query<TextAnswer>(this.#sql.vitals, [COUNTED_MAX, aliveMs]);
    const { silentNodes, ...vitals } = reader(VITALS)(given(row));
    return { ...vitals, silentNodes: JSON.parse(silentNodes ?? '[]') as SilentNode[] };
  }

  /**
   * What is overdue by name and by what holds it, the oldest first; `aliveMs` as there.
   * @param ids of delays that may be overdue, and are read however many others are
   */
  async backlog(aliveMs: number, ids: readonly number[]): Promise<BacklogRow[]> {
    const parameters = [aliveMs, numbers(ids), OVERDUE_MAX];
    const rows = await this.runner.query<TextAnswer>(this.#sql.backlog, parameters);
    return rows.map(reader(BACKLOG));
  }

  /** What has kept vacuum from removing rows for the longest time. */
  async holder(): Promise<vacuum.HolderRow | undefined> {
    return (await vacuum.readHolders(this.runner))[0];
  }

  relations(): Promise<vacuum.RelationRow[]> {
    return vacuum.readRelations(this.runner, this.#schema);
  }
}

/** What the database says of itself and of its nodes. */
export type Vitals = Omit<VitalsRow, 'silentNodes'> & { silentNodes: readonly SilentNode[] };

/** Dead letters, and what is due within a minute, are counted up to this. */
const COUNTED_MAX = 100_001;

/** Overdue delays that are read, the longest overdue first. A larger backlog is as bad. */
const OVERDUE_MAX = 10_000;
