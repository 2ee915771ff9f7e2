import { DEAD_READ_MAX, OverviewStore } from '../store/overview.store.js';
import { SearchStore } from '../store/search.store.js';
import type { ResolvedOptions } from '../config/options.js';
import type { DeadGroup, DeadView } from './contract.js';
import type { Look } from './dashboard-database.js';
import { scopeOf } from './overview.js';
import type { Rights } from './rights.js';

const GROUPS_MAX = 200;

/** Dead letters that failed alike, the newest first. */
export async function deadView(
  look: Look,
  { installation }: Pick<ResolvedOptions, 'installation'>,
  rights: Rights,
): Promise<DeadView> {
  const { rows, read } = await new OverviewStore(installation).dead(
    look,
    scopeOf(rights),
    GROUPS_MAX,
  );
  const isAll = read < DEAD_READ_MAX;
  const nowMs = await new SearchStore(installation).nowMs(look);
  return {
    now: new Date(nowMs).toISOString(),
    groups: rows.map(({ name, line, count, newestMs, oldestMs, sampleId }): DeadGroup => ({
      name,
      error: line === '' ? null : line,
      count: { count, is: isAll ? 'exact' : 'atLeast' },
      newestAt: new Date(newestMs).toISOString(),
      oldestAt: new Date(oldestMs).toISOString(),
      sampleId,
      search: { name, state: ['dead'], errorLine: line },
    })),
    newestOnly: isAll ? null : DEAD_READ_MAX,
  };
}
