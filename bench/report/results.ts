import type { Settings } from '../command-line.js';
import type { Table } from './table.js';

/** What `--json` writes; figures that cannot be told are `null` there. */
export interface Results {
  /** The machine and the server. */
  facts: readonly string[];
  settings: Settings;
  tables: readonly Table[];
}
