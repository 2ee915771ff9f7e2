import type { Bench } from './bench.js';
import type { ChurnKind } from './command-line.js';
import type { Table } from './report/table.js';

type Kind = { run(bench: Bench): Promise<readonly Table[]> };

const KINDS: { [kind in ChurnKind]: () => Promise<Kind> } = {
  fillfactor: () => import('./churn-fillfactor.js'),
  vacuum: () => import('./churn-vacuum.js'),
};

/** What the tables need so that rows may come and go without an end: room on a page, and vacuums. */
export async function run(bench: Bench): Promise<Table[]> {
  const tables: Table[] = [];
  for (const kind of bench.settings.churnKinds) {
    tables.push(...(await (await KINDS[kind]()).run(bench)));
  }
  return tables;
}
