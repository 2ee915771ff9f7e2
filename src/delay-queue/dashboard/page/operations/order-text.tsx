import { count } from '../../../../ui/written.js';
import type { OperationLine, SearchFilter } from '../../contract.js';
import { delayHref, FIELDS, searchHref } from '../address/filter.js';
import { nowSeconds } from '../parts/when.js';
import { words } from '../words/language.js';
import { instant } from '../words/written.js';

/** Which delays an operation was about, with a way there. */
export function Which({ order }: Pick<OperationLine, 'order'>) {
  const said = words.value;
  if (order['erased'] === true) return <span>{said.acting.operation.erased}</span>;
  const which = membersOf(order['which']);
  const ids = which['ids'];
  if (Array.isArray(ids)) {
    const first = String(ids[0]);
    return ids.length === 1 ? (
      <a href={delayHref({ id: first, endedAt: null })}>#{first}</a>
    ) : (
      <span>{said.acting.operation.ids(count(said, ids.length))}</span>
    );
  }
  const filter = filterOf(which['filter'] ?? order);
  return (
    <a href={searchHref(filter)}>
      <bdi>{textOf(filter)}</bdi>
    </a>
  );
}

/** What else was asked for: where to, for how long. */
export function optionsOf({ order }: Pick<OperationLine, 'order'>): string {
  const said = words.value.acting.operation;
  const its = { ...order, ...membersOf(order['to']) };
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

function filterOf(given: unknown): SearchFilter {
  const its = membersOf(given);
  const filter: Record<string, unknown> = {};
  for (const field of FIELDS) {
    if (its[field] !== undefined) filter[field] = its[field];
  }
  return filter;
}

function textOf(filter: SearchFilter): string {
  const said = words.value;
  const parts = Object.entries(filter).map(([field, value]) => {
    if (field === 'name' || field === 'key') return String(value);
    const text = Array.isArray(value)
      ? value.map((each) => said.states[each as 'dead'] ?? each).join(' ')
      : String(value);
    return field === 'state' ? text : `${said.filter.fields[field as 'group']}: ${text}`;
  });
  return parts.join(' · ');
}

const membersOf = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
