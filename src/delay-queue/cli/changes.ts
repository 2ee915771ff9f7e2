import {
  type Counts,
  type DelayFilter,
  type DelayTarget,
  type LiveState,
  printable,
  type RescheduleTo,
} from '../core/index.js';
import { type DelayAdmin, parseCancel, parseRescheduleTo } from '../core/ops.js';
import { byFrom, filterFrom, instantFrom, targetFrom } from './filter.js';
import { countText, grouped } from '../ops/checks/words.js';
import { confirm, print } from './output.js';
import { type Arguments, WrongUsage } from './parse.js';
import { type Session, withSession } from './session.js';
import { type CommandContext, EXIT, type ExitCode } from './terminal.js';

/** What one of `DelayAdmin`'s changes answered for each delay of a list. */
type Verdicts = readonly { verdict: string; id?: string }[];

interface ChangeRun {
  by?: string;
  signal: AbortSignal;
  onProgress: (counts: Counts<string>) => void;
}

/** A change of one delay or of many. */
interface Change {
  /** As a question asks it: `cancel 12 delays?` */
  verb: string;
  /** The verdicts that mean that it was done. */
  done: readonly string[];
  /** States that it can change: others are neither counted nor touched. */
  states: readonly LiveState[];
  each: (
    admin: DelayAdmin,
    targets: readonly DelayTarget[],
    by: { by?: string },
  ) => Promise<Verdicts>;
  matching: (admin: DelayAdmin, filter: DelayFilter, running: ChangeRun) => Promise<Counts<string>>;
}

const ALL: readonly LiveState[] = ['scheduled', 'running', 'retrying', 'dead'];
const LIVING: readonly LiveState[] = ['scheduled', 'running', 'retrying'];

export const cancel = (context: CommandContext): Promise<ExitCode> => {
  const { given } = context;
  const within = given.text('abort-within');
  if (within !== undefined && !given.has('abort')) {
    throw new WrongUsage('--abort-within is the time that --abort waits: give both');
  }
  const abort = {
    running: 'abort' as const,
    ...(within !== undefined && { abortWithin: within }),
  };
  // Refused before anything is counted or asked.
  parseCancel(abort);
  return change(context, {
    verb: 'cancel',
    done: ['cancelled', 'aborted'],
    states: ALL,
    each: (admin, targets, by) =>
      admin.cancel(targets, given.has('abort') ? { ...by, ...abort } : by),
    matching: (admin, filter, progress) =>
      given.has('abort')
        ? admin.cancel(filter, { ...progress, ...abort })
        : admin.cancel(filter, progress),
  });
};

export const retry = (context: CommandContext): Promise<ExitCode> =>
  change(context, {
    verb: 'retry',
    done: ['retried'],
    states: ['dead'],
    each: (admin, targets, by) => admin.retryDead(targets, by),
    matching: (admin, filter, progress) => admin.retryDead(filter, progress),
  });

export const runNow = (context: CommandContext): Promise<ExitCode> =>
  change(context, {
    verb: 'run now',
    done: ['due'],
    states: LIVING,
    each: (admin, targets, by) => admin.runNow(targets, by),
    matching: (admin, filter, progress) => admin.runNow(filter, progress),
  });

export const reschedule = (context: CommandContext): Promise<ExitCode> => {
  const to = moveFrom(context.given);
  return change(context, {
    verb: 'reschedule',
    done: ['rescheduled'],
    states: LIVING,
    each: (admin, targets, by) => admin.reschedule(targets, to, by),
    matching: (admin, filter, progress) => admin.reschedule(filter, to, progress),
  });
};

/** @throws WrongUsage, DelayInvalidError */
function moveFrom(given: Arguments): RescheduleTo {
  const at = instantFrom(given, 'at');
  const [after, extendBy] = [given.text('after'), given.text('extend-by')];
  if ([at, after, extendBy].filter((each) => each !== undefined).length !== 1) {
    throw new WrongUsage('reschedule needs one of --after, --at and --extend-by');
  }
  const to = {
    ...(at !== undefined && { at }),
    ...(after !== undefined && { after }),
    ...(extendBy !== undefined && { extendBy }),
  } as RescheduleTo;
  parseRescheduleTo(to);
  return to;
}

function change(context: CommandContext, how: Change): Promise<ExitCode> {
  const which = whichFrom(context.given, how);
  return withSession(context, (session) =>
    'targets' in which
      ? changeEach(context, session, how, which.targets)
      : changeMatching(context, session, how, which.filter),
  );
}

/** @throws WrongUsage when both, or neither, say which delays */
function whichFrom(
  given: Arguments,
  { verb, states }: Change,
): { targets: DelayTarget[] } | { filter: DelayFilter } {
  const ids = given.texts('id');
  const filter = filterFrom(given);
  const isByFilter = Object.keys(filter).length > 0;
  if ([given.positional.length > 0, ids !== undefined, isByFilter].filter(Boolean).length !== 1) {
    throw new WrongUsage(
      `${given.command} needs NAME and KEY, or --id, or options that select delays: one of these`,
    );
  }
  if (ids !== undefined) return { targets: ids.map((id) => ({ id })) };
  if (isByFilter) {
    const isAny = filter.state === undefined && states === ALL;
    return { filter: isAny ? filter : { ...filter, state: narrowStates(filter, states, verb) } };
  }
  return { targets: [targetFrom(given) as DelayTarget] };
}

function narrowStates(
  { state }: DelayFilter,
  states: readonly LiveState[],
  verb: string,
): readonly LiveState[] {
  const asked = (state ?? states) as readonly LiveState[];
  const other = asked.find((each) => ALL.includes(each) && !states.includes(each));
  if (other === undefined) return asked;
  throw new WrongUsage(
    `--state: ${verb} is for delays that are ${states.join(', ')}, not ${other}`,
  );
}

/** One verdict per delay. */
async function changeEach(
  context: CommandContext,
  session: Session,
  { each, done }: Change,
  targets: readonly DelayTarget[],
): Promise<ExitCode> {
  const results = await each(await session.changing(), targets, byFrom(context.given));
  const named = results.map((result, index) => ({ ...targets[index], ...result }));
  print(context, { results: named }, () =>
    named
      .map(({ verdict, ...target }) => `${printable(targetText(target))}: ${verdict}`)
      .join('\n'),
  );
  return results.every(({ verdict }) => done.includes(verdict)) ? EXIT.DONE : EXIT.FAILED;
}

const targetText = (target: { name?: string; key?: string; id?: string }): string =>
  target.name === undefined ? `id ${target.id}` : `${target.name} ${target.key}`;

/** Counts first, asks, then changes page by page. */
async function changeMatching(
  context: CommandContext,
  session: Session,
  how: Change,
  filter: DelayFilter,
): Promise<ExitCode> {
  const { terminal } = context;
  const count = await session.reading.count(filter);
  terminal.err(`${countText(count)} match${count === 1 ? 'es' : ''}.`);
  if (count > 0) {
    const question = `${capital(how.verb)} ${countText(count)}?`;
    const refused = await confirm(context, question, 'Nothing was changed');
    if (refused !== undefined) return refused;
  }
  // What matches from now on was not told to anyone.
  const { counts, isInterrupted }: ChangeEnd =
    count === 0
      ? { counts: { matched: 0 }, isInterrupted: false }
      : await changePages(context, session, how, { filter, count });
  print(context, { ...counts, interrupted: isInterrupted }, () =>
    countsSentence(counts, isInterrupted),
  );
  if (isInterrupted) return EXIT.INTERRUPTED;
  const left = counts.matched - how.done.reduce((sum, verdict) => sum + (counts[verdict] ?? 0), 0);
  return left === 0 ? EXIT.DONE : EXIT.FAILED;
}

type Counted = Record<string, number> & { matched: number };

interface ChangeEnd {
  counts: Counted;
  isInterrupted: boolean;
}

/** Ctrl-C ends it between two pages: what the pages before it did is told all the same. */
function changePages(
  { given, terminal }: CommandContext,
  session: Session,
  { matching }: Change,
  { filter, count }: { filter: DelayFilter; count: number },
): Promise<ChangeEnd> {
  return terminal.interruptible(async (signal) => {
    let counts: Counted = { matched: 0 };
    const told = new Progress(terminal, count);
    const onProgress = (sofar: Counts<string>): void => {
      counts = sofar;
      told.at(sofar.matched);
    };
    try {
      const admin = await session.changing();
      counts = await matching(admin, filter, { ...byFrom(given), signal, onProgress });
      return { counts, isInterrupted: false };
    } catch (error) {
      if (signal.aborted && error === signal.reason) return { counts, isInterrupted: true };
      if (counts.matched > 0) terminal.err(`Before it failed: ${countsSentence(counts, false)}`);
      throw error;
    }
  });
}

/** A page takes a fraction of a second: the first is told, then one each second. */
const TOLD_EVERY_MS = 1_000;

class Progress {
  #toldAtMs = -Infinity;

  constructor(
    private readonly terminal: CommandContext['terminal'],
    private readonly count: number,
  ) {}

  at(matched: number): void {
    const nowMs = performance.now();
    if (matched >= this.count || nowMs - this.#toldAtMs < TOLD_EVERY_MS) return;
    this.#toldAtMs = nowMs;
    this.terminal.err(`${grouped(matched)} of ${grouped(this.count)} …`);
  }
}

/** `3 delays: 2 cancelled, 1 running.` */
function countsSentence({ matched, ...verdicts }: Counted, isInterrupted: boolean): string {
  const parts = Object.entries(verdicts).filter(([, count]) => count > 0);
  const told = parts.map(([verdict, count]) => `${grouped(count)} ${verdict}`).join(', ');
  const done = matched === 0 ? 'No delay was changed.' : `${countText(matched)}: ${told}.`;
  return isInterrupted ? `${done} Interrupted: the others are as they were.` : done;
}

const capital = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
