import {
  type CallersWrite,
  type RowState,
  VERDICTS,
  WRITES,
} from '../../../support/state-machine.js';
import type { Act } from './acts.js';
import type { Actor } from './actor.js';
import { HOLDER, type State } from './state.js';

interface Row {
  state: State;
  /** Another one with every write that the document lets raise it. */
  epoch: number;
  leasedBy: string;
  /** Not the one that the nodes know of. */
  isNew: boolean;
  isOrderOpen: boolean;
}

type Rows = { [slot: string]: Row };

/** What the tables of the document call a state. */
const ROW_STATES: Record<State, RowState> = {
  nothing: 'none',
  due: 'scheduled',
  running: 'running',
  'lease over': 'lease over',
  dead: 'dead',
};

/** What `find` calls it. */
const FOUND: Record<State, string> = {
  nothing: 'nothing',
  due: 'scheduled',
  running: 'running',
  'lease over': 'retrying',
  dead: 'dead',
};

/** What comes of the actors when each has done everything before the next one begins, in every order of them. */
export function outcomesInTurn(
  before: { [slot: string]: State },
  actors: readonly Actor[],
): Set<string> {
  return new Set(ordersOf(actors).map((order) => outcomeInTurn(before, actors, order)));
}

const ordersOf = (actors: readonly Actor[]): Actor[][] =>
  actors.length === 0
    ? [[]]
    : actors.flatMap((first) =>
        ordersOf(actors.filter((actor) => actor !== first)).map((rest) => [first, ...rest]),
      );

function outcomeInTurn(
  before: { [slot: string]: State },
  actors: readonly Actor[],
  order: readonly Actor[],
): string {
  const entries = Object.entries(before).map(([slot, state]) => {
    return [slot, { state, epoch: 0, leasedBy: HOLDER, isNew: false, isOrderOpen: true }] as const;
  });
  let rows: Rows = Object.fromEntries(entries);
  const told = new Map<Actor, string[]>();
  for (const actor of order) {
    const after = structuredClone(rows);
    const holds =
      actor.nodeName === HOLDER && (before['a'] === 'running' || before['a'] === 'lease over');
    const verdicts = verdictsOf(actor, after, holds ? 0 : undefined);
    told.set(actor, verdicts);
    if (actor.end !== 'rollback' && !verdicts.includes('lost')) rows = after;
  }
  return outcomeText(
    actors.map(({ name }, index) => [name, told.get(actors[index] as Actor) ?? []]),
    Object.fromEntries(Object.entries(rows).map(([slot, row]) => [slot, shown(row)])),
  );
}

/** The one way in which an outcome is written: `payer cancelled, holder stale: nothing`. */
export function outcomeText(
  told: readonly (readonly [name: string, verdicts: readonly string[]])[],
  left: { [slot: string]: string },
): string {
  const said = told.filter(([, verdicts]) => verdicts.length > 0);
  const states = Object.keys(left)
    .toSorted()
    .map((slot) => left[slot]);
  return `${said.map(([name, verdicts]) => `${name} ${verdicts.join(' ')}`).join(', ')}: ${states.join(' and ')}`;
}

const shown = ({ state, leasedBy }: Row): string =>
  state === 'running' ? `running on ${leasedBy}` : state;

/** @param attempt the epoch of the one that this node believes to have */
function verdictsOf(
  { kind, nodeName, acts }: Actor,
  rows: Rows,
  attempt: number | undefined,
): string[] {
  const row = rows['a'] as Row;
  return acts.flatMap(({ name, slots, write }): string[] => {
    if (name === 'find') return [`found ${FOUND[row.state]}`];
    if (name === 'pay') return [ended(row, 'paid')];
    if (kind === 'caller') return slots.map((slot) => callersVerdict(rows[slot] as Row, name));
    if (kind === 'time') {
      if (row.state !== 'running') return [];
      row.state = 'lease over';
      return ['expired'];
    }
    const isFree = !row.isNew && (row.state === 'due' || row.state === 'lease over');
    if (name === 'sweep' && !isFree) return [];
    if (name === 'sweep' || name === 'claim') {
      if (!isFree || (name === 'claim' && row.epoch !== 0)) return ['missed'];
      attempt = row.epoch + 1;
      return [written(row, 'claim', nodeName)];
    }
    if (attempt === undefined) return [];
    if (name === 'close') return [ended(row, 'closed')];
    const isMine = attempt === row.epoch && row.state !== 'nothing';
    if (write === undefined) return [];
    return [isMine ? written(row, write, nodeName) : name === 'remove' ? 'lost' : 'stale'];
  });
}

function ended(row: Row, how: 'paid' | 'closed'): string {
  if (!row.isOrderOpen) return 'not open';
  row.isOrderOpen = false;
  return how;
}

function callersVerdict(row: Row, act: string): string {
  const asked = (act === 'scheduleMany' ? 'replace' : act) as CallersWrite;
  const verdict: string = VERDICTS[ROW_STATES[row.state]][asked];
  const done = Object.keys(WRITES).find(
    (name) => WRITES[name]?.by === 'caller' && WRITES[name].verdicts.includes(verdict),
  );
  if (done !== undefined) written(row, done, '');
  return verdict;
}

/** Makes of the row what the document says. @returns what whoever wrote it is told */
function written(row: Row, name: NonNullable<Act['write']>, nodeName: string): string {
  const { epoch, lease, wake, verdicts } = WRITES[name] as (typeof WRITES)[string];
  row.leasedBy = nodeName;
  if (epoch !== 'stays') row.epoch += 1;
  if (epoch === 'gone') row.isNew = true;
  if (epoch === 'gone') row.state = 'nothing';
  else if (lease === 'taken') row.state = 'running';
  else row.state = wake === '`infinity`' ? 'dead' : 'due';
  return verdicts[0] as string;
}
