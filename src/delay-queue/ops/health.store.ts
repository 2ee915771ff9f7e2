import {
  type TextAnswer,
  byPurpose,
  given,
  type Installation,
  numbers,
  reader,
  type Runner,
  qualifiedTables,
} from '../core/ops.js';
import {
  BACKLOG,
  type BacklogRow,
  backlogSql,
  type SilentNode,
  VITALS,
  type VitalsRow,
  vitalsSql,
} from './health.sql.js';
import {
  HOLDER,
  type HolderRow,
  holdersSql,
  RELATION,
  type RelationRow,
  relationsSql,
} from './checks/vacuum.sql.js';

/** Dead letters, and what is due within a minute, are counted up to this. */
export const COUNTED_MAX = 100_001;

/** Overdue delays that are read, the longest overdue first. A larger backlog is as bad. */
const OVERDUE_MAX = 10_000;

const backlogOf = reader(BACKLOG);
const holderOf = reader(HOLDER);
const relationOf = reader(RELATION);
const vitalsOf = reader(VITALS);

/** What the database says of itself and of its nodes. */
export type Vitals = Omit<VitalsRow, 'silentNodes'> & { silentNodes: readonly SilentNode[] };

/** What the health of a node is judged by, on the engine's own connections. */
export class HealthStore {
  readonly #sql;
  readonly #schema: string;

  constructor(
    private readonly runner: Runner,
    of: Installation,
  ) {
    const tables = qualifiedTables(of);
    this.#schema = of.schema;
    this.#sql = byPurpose({
      backlog: backlogSql(tables),
      vitals: vitalsSql(tables),
      holders: holdersSql(),
      relations: relationsSql(),
    });
  }

  /** `aliveMs` as in `liveNames`. */
  async vitals(aliveMs: number): Promise<Vitals> {
    const [row] = await this.runner.query<TextAnswer>(this.#sql.vitals, [COUNTED_MAX, aliveMs]);
    const { silentNodes, ...vitals } = vitalsOf(given(row));
    return { ...vitals, silentNodes: JSON.parse(silentNodes ?? '[]') as SilentNode[] };
  }

  /**
   * What is overdue by name and by what holds it, the oldest first; `aliveMs` as there.
   * @param ids of delays that may be overdue, and are read however many others are
   */
  async backlog(aliveMs: number, ids: readonly number[]): Promise<BacklogRow[]> {
    const rows = await this.runner.query<TextAnswer>(this.#sql.backlog, [
      aliveMs,
      numbers(ids),
      OVERDUE_MAX,
    ]);
    return rows.map(backlogOf);
  }

  /** What keeps vacuum from removing rows for the longest time. */
  async holder(): Promise<HolderRow | undefined> {
    const [row] = await this.runner.query<TextAnswer>(this.#sql.holders, []);
    return row && holderOf(row);
  }

  async relations(): Promise<RelationRow[]> {
    return (await this.runner.query<TextAnswer>(this.#sql.relations, [this.#schema])).map(
      relationOf,
    );
  }
}
