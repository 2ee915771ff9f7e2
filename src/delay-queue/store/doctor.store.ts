import { given, type Runner } from '../database/runner.js';
import { allOf, type Tables, tablesOf } from '../database/tables.js';
import { type Answer, reader } from './rows/columns.js';
import { texts } from './rows/delay-rows.js';
import {
  expiredLeasesSql,
  rightsSql,
  serverSql,
  settingsSql,
  silentNodesSql,
  unreadableSql,
} from './sql/doctor.sql.js';
import {
  HOLDER,
  type HolderRow,
  holdersSql,
  RELATION,
  type RelationRow,
  relationsSql,
} from './sql/server.sql.js';
import { type Catalogued, catalogueOf } from './tables/drift.js';
import { functionsOf } from './tables/functions.js';

const holderOf = reader(HOLDER);
const relationOf = reader(RELATION);

type Texts<Columns extends string> = Record<Columns, string>;
type Nullable<Columns extends string> = Record<Columns, string | null>;

export type ServerFound = Texts<
  | 'version'
  | 'version_num'
  | 'encoding'
  | 'client_encoding'
  | 'isolation'
  | 'read_only'
  | 'is_standby'
  | 'jit'
  | 'autovacuum'
  | 'track_counts'
  | 'max_connections'
  | 'role'
  | 'quoted_role'
  | 'database'
  | 'connections'
  | 'now_ms'
>;

export type Setting = Texts<'name' | 'setting' | 'source'> & Nullable<'unit'>;
export type Right = Texts<'kind' | 'name' | 'privilege'> & Nullable<'has'>;
export type SilentNode = Texts<'id' | 'silent_ms' | 'held'>;
export type Unreadable = Texts<'why' | 'count' | 'example'>;
export type ExpiredLease = Texts<'node' | 'count' | 'example'>;

/** What the doctor of the command line looks at. */
export class DoctorStore {
  readonly tables: Tables;

  constructor(
    private readonly runner: Runner,
    private readonly schema: string,
    /** For statements that read a whole table. */
    private readonly looks: Runner = runner,
  ) {
    this.tables = tablesOf(schema);
  }

  async server(): Promise<ServerFound> {
    return given((await this.runner.query<ServerFound>(serverSql(), []))[0]);
  }

  settings(names: readonly string[]): Promise<Setting[]> {
    return this.runner.query(settingsSql(), [texts(names)]);
  }

  rights(): Promise<Right[]> {
    const functions = functionsOf(this.tables);
    return this.runner.query(rightsSql(), [
      this.schema,
      texts(allOf(this.tables)),
      texts(functions),
    ]);
  }

  catalogue(): Promise<Catalogued[]> {
    return catalogueOf(this.runner, this.schema);
  }

  /** Its sizes and what vacuum does, of each table that grows. */
  async relations(): Promise<RelationRow[]> {
    return (await this.runner.query<Answer>(relationsSql(), [this.schema])).map(relationOf);
  }

  /** What keeps vacuum from removing rows for so long; slots are not known to have a since. */
  async holders(heldMs: number): Promise<HolderRow[]> {
    const all = (await this.runner.query<Answer>(holdersSql(), [])).map(holderOf);
    return all.filter((each) => each.kind === 'slot' || (each.heldMs ?? -1) >= heldMs);
  }

  silentNodes(silentMs: number): Promise<SilentNode[]> {
    return this.looks.query(silentNodesSql(this.tables), [silentMs]);
  }

  unreadable(): Promise<Unreadable[]> {
    return this.looks.query(unreadableSql(this.tables), []);
  }

  expiredLeases(forMs: number): Promise<ExpiredLease[]> {
    return this.looks.query(expiredLeasesSql(this.tables), [forMs]);
  }
}
