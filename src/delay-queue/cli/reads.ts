import {
  type DelayAttempt,
  type DelayMove,
  type DelayPause,
  type DelayRecord,
  type DelayStats,
  type DelayTarget,
  type DelayWait,
  type HistoryFilter,
  type KeyStory,
  type ListedDelay,
  type NameStats,
  type PageOptions,
  printable,
} from '../core/index.js';
import { filterFrom, limitFrom, targetFrom } from './filter.js';
import { countText } from '../ops/checks/words.js';
import { type Column, duration, fields, instant, print, table } from './output.js';
import { type Arguments, WrongUsage } from './parse.js';
import { type Session, withSession } from './session.js';
import { type CommandContext, EXIT, type ExitCode } from './terminal.js';

/** Counts per name, and what is wrong at a glance. */
export async function status(context: CommandContext): Promise<ExitCode> {
  const stats = await withSession(context, ({ reading }) => reading.stats());
  print(context, stats, () => statusText(stats));
  return EXIT.DONE;
}

function statusText({ names, nodes: live, pauses }: DelayStats): string {
  const parts = [
    names.length === 0 ? 'No delays, and no node serves a name.' : table(names, OF_NAMES),
    `${countText(live.length, 'live node')}.`,
  ];
  const unserved = names.filter((each) => each.nodes === 0).map(({ name }) => printable(name));
  if (unserved.length > 0) parts.push(`No live node serves: ${unserved.join(', ')}.`);
  if (pauses.length > 0) parts.push(`Paused:\n${table(pauses, OF_PAUSES)}`);
  return parts.join('\n\n');
}

const OF_NAMES: Column<NameStats>[] = [
  ...fields<NameStats>('name', 'scheduled', 'running', 'retrying', 'dead', 'overdue'),
  { title: 'paused', of: ({ overduePaused }) => overduePaused },
  { title: 'limited', of: ({ overdueLimited }) => overdueLimited },
  ...fields<NameStats>('late'),
  { title: 'late for', of: ({ oldestLateMs }) => duration(oldestLateMs) },
  ...fields<NameStats>('nodes'),
];

const OF_PAUSES: Column<DelayPause>[] = [
  ...fields<DelayPause>('name', 'group'),
  { title: 'since', of: ({ pausedAt }) => instant(pausedAt) },
  { title: 'until', of: ({ until }) => instant(until) ?? 'resumed' },
  ...fields<DelayPause>('by', 'reason'),
];

/** The live nodes. */
export async function nodes(context: CommandContext): Promise<ExitCode> {
  const all = await withSession(context, ({ reads }) => reads.nodes());
  print(context, { nodes: all }, () => (all.length === 0 ? 'No live node.' : table(all, OF_NODES)));
  return EXIT.DONE;
}

type LiveNode = DelayStats['nodes'][number];

const OF_NODES: Column<LiveNode>[] = [
  { title: 'node', of: ({ name }) => name },
  ...fields<LiveNode>('running'),
  { title: 'started', of: ({ startedAt }) => instant(startedAt) },
  { title: 'last seen', of: ({ seenAt }) => instant(seenAt) },
  { title: 'serves', of: ({ names }) => names.join(', ') },
];

/** Live delays. */
export async function list(context: CommandContext): Promise<ExitCode> {
  const { given } = context;
  const filter = filterFrom(given);
  const ids = given.texts('id');
  if (ids !== undefined && Object.keys(filter).length > 0) {
    throw new WrongUsage('--id selects delays by itself: leave out the other options');
  }
  if (isEnded(given)) return await listEnded(context);
  const page = pageFrom(context);
  const { limit = 100 } = page;
  const delays = await withSession(context, (session) =>
    ids === undefined
      ? session.reading.list(filter, page)
      : byIds(session, ids, given.has('payload')),
  );
  const next = ids === undefined && delays.length === limit ? (delays.at(-1)?.id ?? null) : null;
  const shown = delays.map((each) => shownDelay(each, given.has('payload')));
  print(context, { delays: shown, next }, () => {
    if (delays.length === 0) return 'No live delay matches.';
    const more = next === null ? '' : `\n\nThere may be more: --after ${next}`;
    return `${table(delays, delayColumns(given.has('payload')))}${more}`;
  });
  return EXIT.DONE;
}

const END_STATES: readonly string[] = ['completed', 'cancelled', 'discarded', 'superseded'];

/** @throws WrongUsage when both live and ended ones are asked for */
function isEnded(given: Arguments): boolean {
  const ends = given.texts('state')?.map((state) => END_STATES.includes(state)) ?? [];
  if (!ends.includes(true)) return false;
  if (!ends.includes(false) && !given.has('id')) return true;
  throw new WrongUsage('--state: list shows either live delays or ended ones; story shows both');
}

/** Of history. */
async function listEnded(context: CommandContext): Promise<ExitCode> {
  const { payload: _, ...page } = pageFrom(context);
  const filter = filterFrom(context.given) as HistoryFilter;
  const ended = await withSession(context, ({ reading }) => reading.history(filter, page));
  print(context, ended, () => {
    if (ended.history.length === 0) return 'No ended delay matches.';
    const more = ended.next === null ? '' : `\n\nThere is more: --after '${ended.next}'`;
    return `${table(ended.history, OF_HISTORY)}${more}`;
  });
  return EXIT.DONE;
}

function pageFrom({ given }: CommandContext): PageOptions {
  const limit = limitFrom(given);
  const after = given.text('after');
  return {
    payload: given.has('payload'),
    ...(limit !== undefined && { limit }),
    ...(after !== undefined && { after }),
  };
}

/** In the order in which they were asked for. */
async function byIds(
  { reads }: Session,
  ids: readonly string[],
  payload: boolean,
): Promise<ListedDelay[]> {
  if (!ids.every((id) => /^[1-9]\d{0,15}$/.test(id))) {
    throw new WrongUsage('--id must be a whole number from 1');
  }
  const page = { behindId: 0, limit: ids.length, payload };
  const found = await reads.list({ id: ids }, page, {});
  const byId = new Map(found.map((each) => [each.id, each]));
  return ids.flatMap((id) => byId.get(id) ?? []);
}

/** For a document: without what was not asked for, and errors as texts. */
function shownDelay(
  { payload, unreadable, ...delay }: ListedDelay,
  isPayloadShown: boolean,
): Record<string, unknown> {
  if (!isPayloadShown) return delay;
  return { ...delay, payload, ...(unreadable && { unreadable: unreadable.message }) };
}

/** Keys are never cut: people copy them. */
const ERROR_WIDTH_MAX = 60;
const PAYLOAD_WIDTH_MAX = 200;

const OF_DELAYS: Column<ListedDelay>[] = [
  ...fields<ListedDelay>('id', 'name', 'key', 'group', 'state'),
  { title: 'due', of: ({ dueAt }) => instant(dueAt) },
  ...fields<ListedDelay>('attempts'),
  { title: 'waits for', of: ({ waitsFor }) => waitText(waitsFor) },
  { title: 'error', of: ({ lastError }) => lastError, widthMax: ERROR_WIDTH_MAX },
];

const delayColumns = (withPayload: boolean): Column<ListedDelay>[] =>
  withPayload
    ? [
        ...OF_DELAYS,
        {
          title: 'payload',
          of: ({ payload, unreadable }) =>
            unreadable === undefined ? JSON.stringify(payload) : unreadable.message,
          widthMax: PAYLOAD_WIDTH_MAX,
        },
      ]
    : OF_DELAYS;

/** In a few words. */
function waitText(wait: DelayWait | null): string {
  if (wait === null) return 'retry by hand';
  const what = 'group' in wait && wait.group !== null ? 'group' : 'name';
  if (wait.what === 'due') return 'its due time';
  if (wait.what === 'retry') return `its next attempt, ${wait.until.toISOString()}`;
  if (wait.what === 'attempt') return `its attempt on ${wait.node}`;
  if (wait.what === 'node') return 'a node that serves it';
  return wait.what === 'turn' ? 'its turn' : `the ${wait.what} of its ${what}`;
}

/** What happened to a key, or to all that match. */
export async function story(context: CommandContext): Promise<ExitCode> {
  const { given } = context;
  const [key] = given.positional;
  const filter = filterFrom(given);
  const isByFilter = Object.keys(filter).length > 0;
  if (key === undefined && !isByFilter) throw new WrongUsage('story needs a KEY, or a filter');
  if (key !== undefined && isByFilter) {
    throw new WrongUsage('story takes a KEY or options that select delays, not both');
  }
  const told = await withSession(context, ({ reading }) =>
    reading.story(key ?? filter, pageFrom(context)),
  );
  const delays = told.delays.map((each) => shownDelay(each, given.has('payload')));
  print(context, { ...told, delays }, () => storyText(told, given.has('payload')));
  return EXIT.DONE;
}

function storyText({ delays, history, next }: KeyStory, withPayload: boolean): string {
  if (delays.length + history.length === 0) {
    return 'No delay is known: neither a live one, nor one that history still keeps.';
  }
  const parts: string[] = [];
  if (delays.length > 0) {
    parts.push(`Live:\n${table(delays, delayColumns(withPayload))}`, ...delays.flatMap(logText));
  }
  if (history.length > 0) {
    parts.push(`Ended:\n${table(history, OF_HISTORY)}`, ...history.flatMap(logText));
  }
  // Quoted: it has spaces.
  if (next !== null) parts.push(`There is more: --after '${next}'`);
  return parts.join('\n\n');
}

const OF_HISTORY: Column<DelayRecord>[] = [
  { title: 'ended', of: ({ endedAt }) => instant(endedAt) },
  ...fields<DelayRecord>('id', 'name', 'key', 'group', 'state'),
  { title: 'due', of: ({ dueAt }) => instant(dueAt) },
  { title: 'late by', of: ({ latenessMs }) => duration(latenessMs) },
  ...fields<DelayRecord>('attempts', 'node', 'by'),
  { title: 'error', of: ({ error }) => error, widthMax: ERROR_WIDTH_MAX },
];

type Logs = Pick<DelayRecord, 'id' | 'attemptLog' | 'moveLog'>;

/** Moves and attempts, if it has any. */
function logText({ id, attemptLog, moveLog }: Logs): string[] {
  if (attemptLog.length + moveLog.length === 0) return [];
  const lines = [...moveLog.map(moveLine), ...attemptLog.map(attemptLine)];
  return [
    [`Of ${id}:`, ...lines.toSorted((a, b) => a.at.getTime() - b.at.getTime()).map(lineText)].join(
      '\n',
    ),
  ];
}

interface Line {
  at: Date;
  text: string;
}

const lineText = ({ at, text }: Line): string => `  ${at.toISOString()}  ${text}`;

const moveLine = ({ call, at, from, to, by, skipped }: DelayMove): Line => ({
  at,
  text: printable(
    `${call}${skipped === undefined ? '' : ` left out ${skipped} and`}${by === null ? '' : ` by ${by}`} moved it from ${from.toISOString()} to ${to.toISOString()}`,
  ),
});

const attemptLine = ({
  attempt,
  outcome,
  node,
  startedAt,
  endedAt,
  error,
}: DelayAttempt): Line => ({
  at: startedAt,
  text: printable(
    `attempt ${attempt} on ${node}: ${outcome}` +
      (endedAt === null ? '' : ` after ${duration(endedAt.getTime() - startedAt.getTime())}`) +
      (error === null ? '' : `, ${error}`),
    200,
  ),
});

/** Why a delay has not fired. */
export async function explain(context: CommandContext): Promise<ExitCode> {
  const which = explainedFrom(context.given);
  const told = await withSession(context, ({ reading }) => reading.explain(which));
  print(context, told, () =>
    [
      `${told.reason}: ${printable(told.text)}`,
      ...told.also.map(({ reason, text }) => `also ${reason}: ${printable(text)}`),
    ].join('\n'),
  );
  return told.reason === 'absent' ? EXIT.NOT_FOUND : EXIT.DONE;
}

/** @throws WrongUsage */
function explainedFrom(given: Arguments): DelayTarget {
  const ids = given.texts('id') ?? [];
  const target = targetFrom(given);
  const [id] = ids;
  if (ids.length + (target === undefined ? 0 : 1) !== 1) {
    throw new WrongUsage('explain needs NAME and KEY, or one --id');
  }
  return target ?? { id: id as string };
}
