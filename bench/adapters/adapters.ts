import { UsageError } from '../command-line.js';
import type { Adapter } from './adapter.js';
import { OURS, OURS_WITHOUT_HISTORY } from './ours.js';
import { TABLE_POLL } from './table-poll.js';

/** Every system that can be measured, in the order of the tables. */
const ADAPTERS: readonly Adapter[] = [OURS, OURS_WITHOUT_HISTORY, TABLE_POLL];

/** @throws when there is none of that name */
export function adapterOf(name: string): Adapter {
  const found = ADAPTERS.find((adapter) => adapter.name === name);
  if (found === undefined) throw new Error(`there is no system '${name}'`);
  return found;
}

/** @param parts of names; none: all systems. @throws UsageError when nothing matches */
export function adaptersLike(parts: readonly string[]): readonly Adapter[] {
  if (parts.length === 0) return ADAPTERS;
  const found = ADAPTERS.filter(({ name }) => parts.some((part) => name.includes(part)));
  if (found.length > 0) return found;
  const names = ADAPTERS.map(({ name }) => `'${name}'`).join(', ');
  throw new UsageError(`--systems ${parts.join(',')} matches none of ${names}.`);
}
