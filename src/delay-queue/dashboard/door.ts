import type { CauseLine, Problem, ProblemKind } from './contract.js';
import type { Rights } from './rights.js';

/** Every answer and event passes through here. @returns it as JSON, without what this viewer may not see */
export function textFor(rights: Rights | undefined, body: unknown): string {
  if (rights === undefined || rights.seesAll) return JSON.stringify(body);
  const given = new WeakSet<object>();
  return JSON.stringify(body, function (this: object, field: string, value: unknown): unknown {
    if (GIVEN.has(field) || given.has(this)) {
      if (typeof value === 'object' && value !== null) given.add(value);
      return value;
    }
    const hide = HIDDEN[field];
    return hide === undefined ? value : hide(value, this as Holder, rights);
  });
}

/** What a restricted viewer learns about a failure: no host, no role, and no numbers of other viewers. */
export function problemFor(rights: Rights | undefined, problem: Problem): Problem {
  const message = PROBLEMS[problem.problem];
  if (rights?.seesAll === true || message === undefined) return problem;
  return { problem: problem.problem, message };
}

const PROBLEMS: Partial<Record<ProblemKind, string>> = {
  busy: 'Too much is going on. Try again in a moment.',
  databaseGone: 'The database is away. Try again in a moment.',
  failed: 'The dashboard failed. The log of the application has the error.',
};

/** Fields that applications fill: inside them, `node` is just a name of theirs. */
const GIVEN: ReadonlySet<string> = new Set(['headers', 'schema']);

/** The object that a field belongs to. */
type Holder = Readonly<Record<string, unknown>>;

const isOperation = (holder: Holder): boolean => 'action' in holder && 'scope' in holder;

/** A pause of a whole name, seen by a viewer of some of its groups. */
const isOfAll = (holder: Holder, { groups }: Rights): boolean =>
  'pausedAt' in holder && holder['group'] === null && groups !== null;

/** Keyed by field name. A node serves everyone's delays, and the pause of a whole name is not about one group. */
const HIDDEN: Readonly<
  Record<string, ((value: unknown, of: Holder, rights: Rights) => unknown) | undefined>
> = {
  node: () => null,
  explanation: (value) => {
    const { also, ...cause } = value as CauseLine & { also: CauseLine[] };
    return { ...ownCause(cause), also: also.map(ownCause) };
  },
  error: (value, of) =>
    value !== null && isOperation(of) ? 'Viewers without limits see what failed.' : value,
  by: (value, of, rights) => (isOfAll(of, rights) ? null : value),
  reason: (value, of, rights) => (isOfAll(of, rights) ? null : value),
};

/** Their texts mention nothing but the delay. */
const OF_DELAY: ReadonlySet<string> = new Set([
  'notDue',
  'retrying',
  'dead',
  'unreadable',
  'absent',
]);

/** Other texts would mention nodes, limits, pauses, locks and other delays. */
const CAUSES: Readonly<Record<string, string>> = {
  ended: 'It has ended.',
  running: 'It is running.',
  orphaned: 'The process that ran it is gone. Another one will take it over.',
  paused: 'It is paused.',
  unserved: 'No live node has a handler of its name.',
  throttled: 'A limit is full.',
  queued: 'It is due and waits for a slot.',
};

const ownCause = ({ reason, text }: CauseLine): CauseLine => ({
  reason,
  text: OF_DELAY.has(reason) ? text : (CAUSES[reason] ?? 'It waits.'),
});
