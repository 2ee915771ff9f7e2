import { count } from '../../../../ui/written.js';
import type { OperationLine } from '../../contract.js';
import { fieldsWhere, type SearchFilter } from '../../search.table.js';
import { asMembers } from '../parts/members.js';
import { delayHref, searchHref } from '../address/filter.js';
import { nowSeconds } from '../parts/when.js';
import { words } from '../words/language.js';
import { instant } from '../words/written.js';

/** Which delays an operation was about, with a link to them. */
export function Which({ order }: Pick<OperationLine, 'order'>) {
  const said = words.value;
  if (order['erased'] === true) return <span>{said.acting.operation.erased}</span>;
  const which = asMembers(order['which']);
  const ids = which['ids'];
  if (Array.isArray(ids)) {
    const first = String(ids[0]);
    return ids.length === 1 ? (
      <a href={delayHref({ id: first, endedAt: null })}>#{first}</a>
    ) : (
      <span>{said.acting.operation.ids(count(said, ids.length))}</span>
    );
  }
  const filter = orderedFilter(which['filter'] ?? order);
  return (
    <a href={searchHref(filter)}>
      <bdi>{filterText(filter)}</bdi>
    </a>
  );
}

/** What else was asked for: where to, for how long. */
export function optionsText({ order }: Pick<OperationLine, 'order'>): string {
  const said = words.value.acting.operation;
  const its = { ...order, ...asMembers(order['to']) };
  const valueOf = (member: string): string | number | undefined => {
    const value = its[member];
    return typeof value === 'string' || typeof value === 'number' ? value : undefined;
  };
  const [at, after, extendBy, lasts] = ['at', 'after', 'extendBy', 'for'].map(valueOf);
  const parts = [
    at && `${said.toAt} ${instant(words.value, String(at), nowSeconds.value)}`,
    after && said.toAfter(String(after)),
    extendBy && said.toExtendBy(String(extendBy)),
    lasts && said.forTime(String(lasts)),
  ];
  return parts.filter(Boolean).join(', ');
}

function orderedFilter(given: unknown): SearchFilter {
  const its = asMembers(given);
  const filter: Record<string, unknown> = {};
  for (const field of fieldsWhere(() => true)) {
    if (its[field] !== undefined) filter[field] = its[field];
  }
  return filter;
}

function filterText(filter: SearchFilter): string {
  const said = words.value;
  const parts = Object.entries(filter).map(([field, value]) => {
    if (field === 'name' || field === 'key') return String(value);
    if (field !== 'state') return `${said.fields[field as 'group']}: ${String(value)}`;
    return [value]
      .flat()
      .map((state) => said.states[state as 'dead'] ?? state)
      .join(' ');
  });
  return parts.join(' · ');
}
