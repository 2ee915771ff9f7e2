import type { ResolvedOptions } from '../config/options.js';
import { OverviewStore } from '../store/overview.store.js';
import { LOADS_MISSED_MAX } from '../store/sql/fragments/clock.js';
import type { NameChoice } from './contract.js';
import type { Look } from './dashboard-database.js';
import { scopeOf } from './overview.js';
import type { Rights } from './rights.js';

/** Names that a viewer may know of, for filters and for new delays. */
export async function nameChoices(
  look: Look,
  { installation, loadEveryMs, payloads }: ResolvedOptions,
  rights: Rights,
): Promise<NameChoice[]> {
  const store = new OverviewStore(installation);
  const nodes = await store.nodes(look, loadEveryMs * LOADS_MISSED_MAX);
  const served = new Set(nodes.flatMap(({ isSilent, names }) => (isSilent ? [] : names)));
  const names = rights.names ?? (await namesOf(look, store, rights));
  return names.map((name) => ({
    name,
    isServed: served.has(name),
    schema: payloads.jsonSchemaOf(name) ?? null,
  }));
}

async function namesOf(look: Look, store: OverviewStore, rights: Rights): Promise<string[]> {
  if (rights.groups === null) return store.names(look);
  return (await store.namesInScope(look, scopeOf(rights))).rows.map(({ name }) => name);
}
