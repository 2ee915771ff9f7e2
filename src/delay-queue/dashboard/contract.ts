/**
 * What the dashboard's server answers and its page reads, as JSON. Addresses are relative to the
 * dashboard's own, so neither side knows where it is mounted:
 *
 * - `GET api/session`, `api/overview`, `api/search`, `api/delay`, `api/story`, `api/dead`,
 *   `api/names`, `api/operations`, `api/operations/ID`; `GET api/live` is a stream of events.
 *   `search` takes a {@link SearchFilter}, `after` and `limit` (1 to 200); `story` takes `key`,
 *   `after` and `limit`; `delay` takes `id` and, for what has ended, `endedAt`.
 * - `POST api/preview`, `api/operations`, `api/operations/ID/stop`, with {@link CHANGE_HEADER}.
 *
 * A refused or failed request answers a {@link Problem}; what the viewer may not see answers 404.
 */

import type { DelayAttempt, DelayMove, DelayPause, DelayWait } from '../core/index.js';
import type { SearchFilter, SearchState } from './search.table.js';

/** Sent with each POST: no other site can make a browser send it. */
export const CHANGE_HEADER = 'x-delay-queue-dashboard';

/**
 * Of each POST of the page. Bodies of `application/json` are parsed by the application first, on
 * Express up to 100 kB: a payload of 64 KiB may have more, as JSON within JSON.
 */
export const BODY_TYPE = 'application/vnd.delay-queue+json';

/** ISO 8601, UTC, milliseconds, on the database's clock. */
export type Instant = string;

/** A row of the library, with its instants as texts. */
export type Written<Row> = {
  [Name in keyof Row]: Row[Name] extends Date
    ? Instant
    : Row[Name] extends Date | null
      ? Instant | null
      : Row[Name];
};

/** What a viewer may do. */
export type DashboardAction =
  | 'view'
  | 'viewPayloads'
  | 'runNow'
  | 'reschedule'
  | 'cancel'
  | 'abort'
  | 'retry'
  | 'discard'
  | 'erase'
  | 'pause'
  | 'create';

export const DASHBOARD_ACTIONS = [
  'view',
  'viewPayloads',
  'runNow',
  'reschedule',
  'cancel',
  'abort',
  'retry',
  'discard',
  'erase',
  'pause',
  'create',
] as const satisfies readonly DashboardAction[];

/** Body of an answer of 400 or more. */
export interface Problem {
  problem: ProblemKind;
  /** A sentence that says what to do. */
  message: string;
  /** What was wrong in the request. */
  field?: string;
}

/** The status of its answer. */
export const PROBLEM_STATUS = {
  notFound: 404,
  invalid: 400,
  conflict: 409,
  forged: 403,
  busy: 503,
  /** The database did not answer within the dashboard's limit. */
  slow: 503,
  /** It cannot be reached, refuses the login, or has ended the connection. */
  databaseGone: 503,
  failed: 500,
} as const;

export type ProblemKind = keyof typeof PROBLEM_STATUS;

/** A number of rows: counts have a limit, so that a look costs little. */
export interface Count {
  count: number;
  /** `atLeast`: counting stopped there. `about`: an estimate of the planner. */
  is: 'exact' | 'atLeast' | 'about';
}

/** As exact as its least exact part. */
export function sumCounts(counts: readonly Count[]): Count {
  const is = (['about', 'atLeast'] as const).find((each) => counts.some((its) => its.is === each));
  return { count: counts.reduce((sum, its) => sum + its.count, 0), is: is ?? 'exact' };
}

export interface Session {
  who: string;
  actions: readonly DashboardAction[];
  /** `null`: all. A restricted viewer sees no nodes, no health, and no operations of others. */
  names: readonly string[] | null;
  groups: readonly string[] | null;
  /** The badge beside the title. */
  environment: { label: string; tone: 'danger' | 'warning' | 'calm' } | null;
  /** Those of the application, if there are several, each with its page's address, relative to this page. */
  queues: readonly { name: string; href: string; isShown: boolean }[];
  /** Of the package; another one means that the page is older or newer than its server. */
  version: string;
  now: Instant;
}

/** Wakes per bucket: bucket `i` begins `i * stepMs` after `from`. */
export interface DueTimeline {
  from: Instant;
  stepMs: number;
  counts: number[];
  /** Whether counting stopped in that bucket, so that it holds at least that many. */
  atLeast: boolean[];
}

export interface Overview {
  now: Instant;
  /** `null`: the viewer sees only some names or groups. */
  health: {
    /** `unknown`: this process has no node that could tell. */
    status: 'up' | 'degraded' | 'down' | 'unknown';
    reasons: HealthLine[];
    /** What the rest of the overview shows and is within the limits of `reasons`. */
    notes: NoteLine[];
  } | null;
  due: { minute: DueTimeline; hour: DueTimeline; day: DueTimeline };
  names: NameLine[];
  /** The figures of `names` behind the live counts cover what ended since then. */
  since: Instant;
  /** `null`: the viewer sees only some names or groups. */
  nodes: NodeLine[] | null;
  pauses: PauseLine[];
  limits: LimitLine[];
}

export interface HealthLine extends NoteLine {
  status: 'degraded' | 'down';
  /** The name that it is about. */
  name: string | null;
}

export interface NoteLine {
  reason: string;
  text: string;
  /** Where a click leads: a filter that shows the delays that it is about. */
  search: SearchFilter | null;
}

/** Every delay is late for a moment; one that has been due for less than this is not reported. */
export const LATE_MS = 1_000;

export interface NameLine {
  name: string;
  live: Count;
  running: Count;
  retrying: Count;
  dead: Count;
  /** Due, and neither a pause nor a limit holds them. */
  late: Count;
  oldestLateMs: number | null;
  held: Count;
  isPaused: boolean;
  /** Live nodes that serve it. */
  nodes: number;
  /** Have ended since `since`. */
  completed: Count;
  /**
   * Attempts beyond the first, of live delays and of what ended since `since`. At least so many where
   * `running`, `retrying` or `dead` are.
   */
  retries: number;
  cancelled: number;
  discarded: number;
  /** Of what completed; `null`: nothing. */
  latenessMs: { p50: number; p95: number; p99: number } | null;
}

export interface NodeLine {
  name: string;
  names: string[];
  startedAt: Instant;
  seenAt: Instant;
  /** It has missed three heartbeats and has not left. */
  isSilent: boolean;
  /** Delays that it holds leases of. */
  running: Count;
  /** The next of its leases to end. */
  nextLeaseEndsAt: Instant | null;
}

export type PauseLine = Written<DelayPause>;

export interface LimitLine {
  name: string;
  /** `null`: the whole name. */
  group: string | null;
  running: number;
  /** Slots; `null`: a rate, or a limit that has room and that no handler of this process declares. */
  of: number | null;
  /** Since then every claim found it full; `null`: it has room. */
  fullSince: Instant | null;
  nextAt: Instant | null;
}

export interface DelayLine {
  id: string;
  name: string;
  key: string | null;
  group: string | null;
  state: SearchState;
  dueAt: Instant;
  /** When a node next reads it; `null`: never. */
  wakeAt: Instant | null;
  createdAt: Instant;
  endedAt: Instant | null;
  attempts: number;
  maxAttempts: number | null;
  latenessMs: number | null;
  /** The first 300 characters. */
  error: string | null;
  repeats: boolean;
  /** What a due delay waits for, or a running one's node. `null` for ended ones and dead letters. */
  waitsFor: {
    what: DelayWait['what'];
    node?: string | null;
    since?: Instant;
    until?: Instant | null;
  } | null;
}

export interface SearchPage {
  /** With `q`: what it was taken for. */
  meaning: 'key' | 'id' | 'name' | 'group' | 'nothing' | null;
  /** Live ones by when a node reads them, dead letters last; then ended ones, newest first. */
  delays: DelayLine[];
  /** `after` of the next page; `null`: this was the last one. */
  next: string | null;
  /**
   * The page is short, although more may match: that many rows were read, and `next` continues from there.
   * `null`: it is not.
   */
  stoppedAfter: number | null;
  /** Only with the first page. */
  count: Count | null;
}

/** One delay. */
export interface DelayView {
  now: Instant;
  delay: DelayLine;
  explanation: CauseLine & { also: CauseLine[] };
  /** Oldest first; empty unless history keeps attempts. */
  attempts: AttemptLine[];
  moves: MoveLine[];
  /** The whole text of the last error. */
  lastError: string | null;
  headers: Record<string, string>;
  payload:
    | { is: 'shown' | 'redacted'; json: string }
    | { is: 'hidden' | 'notKept' }
    | { is: 'unreadable'; message: string };
  repeat: {
    every: number | null;
    cron: string | null;
    timeZone: string | null;
    /** When it ends; null: it does not, or by its limit. */
    until: Instant | null;
    runsLeft: number | null;
    next: Instant[];
  } | null;
  rerunAt: Instant | null;
  /** Who cancelled or discarded it. */
  by: string | null;
  node: string | null;
  /** Whether history keeps attempts: their absence is explained. */
  keepsAttempts: boolean;
}

export interface CauseLine {
  reason: string;
  text: string;
}

/** `node`: `null` for a restricted viewer. */
export type AttemptLine = Written<Omit<DelayAttempt, 'node'>> & { node: string | null };

export type MoveLine = Written<Omit<DelayMove, 'skipped'>>;

/** One business key, across names and runs. */
export interface StoryView {
  now: Instant;
  key: string;
  /** Live ones first, then ended ones, newest first. */
  delays: StoryDelay[];
  next: string | null;
  /** Operations that changed a delay of the key, newest first. */
  operations: OperationLine[];
}

export interface StoryDelay extends DelayLine {
  attemptLog: AttemptLine[];
  moveLog: MoveLine[];
  by: string | null;
}

/** Dead letters of one name that failed alike, newest first. */
export interface DeadGroup {
  name: string;
  /**
   * The first line of their errors, at most 200 characters, with `#` for what differs between them: a
   * number, an id, an address, an instant. `null`: they have none.
   */
  error: string | null;
  /** The whole error of `sampleId`. */
  example: string | null;
  count: Count;
  /** Their due times: when a delay died is not kept. */
  newestAt: Instant;
  oldestAt: Instant;
  /** A dead letter of it. */
  sampleId: string;
  /** Selects exactly these: for "retry all of these". */
  search: SearchFilter;
}

export interface DeadView {
  now: Instant;
  groups: DeadGroup[];
  /** How many dead letters were read, if only the newest were. `null`: all. */
  newestOnly: number | null;
}

/** Names that a delay can be created for. */
export interface NameChoice {
  name: string;
  isServed: boolean;
  /** JSON Schema of its payload, if its schema can say it. */
  schema: unknown;
}

export type OperationAction = Exclude<DashboardAction, 'view' | 'viewPayloads'> | 'resume';

/** The right that an operation needs. */
export const rightFor = (action: OperationAction): DashboardAction =>
  action === 'resume' ? 'pause' : action;

/** Which delays: by id, up to 1,000, or everything that matches when it runs. */
export type Which = { ids: string[]; filter?: never } | { filter: SearchFilter; ids?: never };

/** Body of `POST api/operations`; of `api/preview` without `why`. */
export type OperationOrder = {
  /** Up to 1,000 characters; recorded. */
  why?: string;
} &
  /** The filter of an erase selects what belongs to one person, perhaps of a name, and nothing else. */
  (
    | { action: 'runNow' | 'cancel' | 'abort' | 'retry' | 'discard' | 'erase'; which: Which }
    | {
        action: 'reschedule';
        which: Which;
        to: { at: Instant } | { after: string } | { extendBy: string };
      }
    | { action: 'pause'; name: string; group?: string; for?: string }
    | { action: 'resume'; name: string; group?: string }
    | {
        action: 'create';
        name: string;
        key?: string;
        group?: string;
        /** JSON. */
        payload: string;
        after?: string;
        at?: Instant;
      }
  );

/** A dry run. */
export interface Preview {
  matched: Count;
  /** Those that the action would change now. */
  changeable: Count;
  /** Those that it cannot change, and why. */
  blocked: { state: SearchState; count: Count; text: string }[];
  /** The first ten that it would change; of an erase none. */
  sample: DelayLine[];
  /** What an erase would remove, by where it is: `changeable` is all of it. */
  erases?: Record<string, number>;
}

export interface OperationLine {
  id: string;
  action: OperationAction;
  who: string;
  why: string | null;
  /** The order, without its payload; `{ erased: true }` of an erase, and of what one has met. */
  order: Record<string, unknown>;
  /** The restrictions of the viewer who gave it; `null`: none. */
  scope: { names: readonly string[] | null; groups: readonly string[] | null };
  startedAt: Instant;
  endedAt: Instant | null;
  /** `interrupted`: its process ended before it did; what it changed stays. */
  state: 'running' | 'stopping' | 'done' | 'stopped' | 'failed' | 'interrupted';
  /** By verdict: `cancelled`, `running`, `absent`, … */
  counts: Record<string, number>;
  /** How many matched when it began; `null`: not counted. */
  expected: Count | null;
  error: string | null;
  /** Like every node's name, `null` for a restricted viewer. */
  node: string | null;
}

export interface OperationsPage {
  operations: OperationLine[];
  next: string | null;
}

export interface OperationView {
  operation: OperationLine;
  /** What it changed, in order; the first 10,000 are kept. */
  changes: { id: string; name: string; key: string | null; verdict: string }[];
  next: string | null;
}

/** Events of `api/live`. */
export interface LiveEvents {
  /**
   * Sent at once, then every two seconds, or less often if a look takes long. The stream ends after
   * five minutes; the browser reconnects, and `authorize` runs again.
   */
  overview: Overview;
  /** An operation has made progress: one of the viewer's own, or any if the viewer sees all. */
  operation: OperationLine;
  /** The overview could not be read, for example because the database is gone. The stream continues and retries. */
  problem: Problem;
}
