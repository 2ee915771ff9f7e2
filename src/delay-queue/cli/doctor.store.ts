import {
  allTables,
  type TextAnswer,
  type Catalogued,
  readCatalogue,
  functionSignatures,
  given,
  reader,
  type Runner,
  type Tables,
  qualifiedTables,
  texts,
} from '../core/ops.js';
import {
  expiredLeasesSql,
  rightsSql,
  SERVER_NOW,
  type ServerNow,
  serverSql,
  settingsSql,
  silentNodesSql,
  unreadableSql,
} from './doctor.sql.js';
import {
  HOLDER,
  type HolderRow,
  holdersSql,
  RELATION,
  type RelationRow,
  relationsSql,
} from '../ops/checks/vacuum.sql.js';

const readServer = reader(SERVER_NOW);
const holderOf = reader(HOLDER);
const relationOf = reader(RELATION);

type Texts<Columns extends string> = Record<Columns, string>;
type Nullable<Columns extends string> = Record<Columns, string | null>;

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
    this.tables = qualifiedTables(schema);
  }

  async server(): Promise<ServerNow> {
    return readServer(given((await this.runner.query<TextAnswer>(serverSql(), []))[0]));
  }

  settings(names: readonly string[]): Promise<Setting[]> {
    return this.runner.query(settingsSql(), [texts(names)]);
  }

  rights(): Promise<Right[]> {
    const functions = functionSignatures(this.tables);
    return this.runner.query(rightsSql(), [
      this.schema,
      texts(allTables(this.tables)),
      texts(functions),
    ]);
  }

  catalogue(): Promise<Catalogued[]> {
    return readCatalogue(this.runner, this.schema);
  }

  /** Its sizes and what vacuum does, of each table that grows. */
  async relations(): Promise<RelationRow[]> {
    return (await this.runner.query<TextAnswer>(relationsSql(), [this.schema])).map(relationOf);
  }

  /** What keeps vacuum from removing rows for so long; slots are not known to have a since. */
  async holders(heldMs: number): Promise<HolderRow[]> {
    const all = (await this.runner.query<TextAnswer>(holdersSql(), [])).map(holderOf);
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
