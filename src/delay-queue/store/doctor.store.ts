import { given, type Runner } from '../database/runner.js';
import { type Tables, tablesOf } from '../database/tables.js';
import { texts } from './rows/delay-rows.js';
import {
  catalogueSql,
  expiredLeasesSql,
  rightsSql,
  serverSql,
  settingsSql,
  silentNodesSql,
  sizesSql,
  snapshotsSql,
  unreadableSql,
} from './sql/doctor.sql.js';
import type { Catalogued } from './tables/drift.js';
import { functionsOf } from './tables/functions.js';

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
export type Size = Texts<'name' | 'live' | 'dead' | 'bytes' | 'index_bytes'> &
  Nullable<'vacuumed_at'>;
export type Holder = Texts<'kind' | 'name'> &
  Nullable<'role' | 'application' | 'state' | 'held_ms'>;
export type SilentNode = Texts<'id' | 'silent_ms' | 'held'>;
export type Unreadable = Texts<'why' | 'count' | 'example'>;
export type ExpiredLease = Texts<'node' | 'count' | 'example'>;

/** What the doctor of the command line looks at. */
export class DoctorStore {
  readonly tables: Tables;

  constructor(
    private readonly runner: Runner,
    private readonly schema: string,
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
    const { delay, history, node, pause, quota, permit, rerun, abort } = this.tables;
    const all = [delay, history, node, pause, quota, permit, rerun, abort];
    const functions = functionsOf(this.tables);
    return this.runner.query(rightsSql(), [this.schema, texts(all), texts(functions)]);
  }

  catalogue(): Promise<Catalogued[]> {
    return this.runner.query(catalogueSql(), [this.schema]);
  }

  sizes(): Promise<Size[]> {
    return this.runner.query(sizesSql(), [this.schema]);
  }

  holders(heldMs: number): Promise<Holder[]> {
    return this.runner.query(snapshotsSql(), [heldMs]);
  }

  silentNodes(silentMs: number): Promise<SilentNode[]> {
    return this.runner.query(silentNodesSql(this.tables), [silentMs]);
  }

  unreadable(): Promise<Unreadable[]> {
    return this.runner.query(unreadableSql(this.tables), []);
  }

  expiredLeases(forMs: number): Promise<ExpiredLease[]> {
    return this.runner.query(expiredLeasesSql(this.tables), [forMs]);
  }
}
