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

/** Sent with each POST: no other site can make a browser send it. */
export const CHANGE_HEADER = 'x-delay-queue-dashboard';

/**
 * Of each POST of the page. Bodies of `application/json` are parsed by the application first, on
 * Express up to 100 kB: a payload of 64 KiB may have more, as JSON within JSON.
 */
export const BODY_TYPE = 'application/vnd.delay-queue+json';

/** ISO 8601, UTC, milliseconds, on the database's clock. */
export type Instant = string;

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

/** All of them. */
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
  /** `notFound`, `invalid`, `conflict`, `forged`, `busy`, `slow`, `databaseGone`, `failed`. */
  problem: ProblemKind;
  /** A sentence that says what to do. */
  message: string;
  /** What was wrong in the request. */
  field?: string;
}

export type ProblemKind =
  | 'notFound'
  | 'invalid'
  | 'conflict'
  | 'forged'
  | 'busy'
  /** The database did not answer within the dashboard's limit. */
  | 'slow'
  /** It cannot be reached, refuses the login, or has ended the connection. */
  | 'databaseGone'
  | 'failed';

/** A number of rows: counts have a limit, so that a look costs little. */
export interface Count {
  count: number;
  /** `atLeast`: counting stopped there. `about`: an estimate of the planner. */
  is: 'exact' | 'atLeast' | 'about';
}

export interface Session {
  who: string;
  actions: DashboardAction[];
  /** `null`: all. A viewer with limits sees no nodes, no health, and no operations of others. */
  names: string[] | null;
  groups: string[] | null;
  /** The badge. */
  environment: { label: string; tone: 'danger' | 'warning' | 'calm' } | null;
  /** Of the package; another one means that the page is older or newer than its server. */
  version: string;
  now: Instant;
}

/** Wakes per bucket: bucket `i` begins `i * stepMs` after `from`. */
export interface DueTimeline {
  from: Instant;
  stepMs: number;
  counts: number[];
  /** Whether counting stopped in that bucket: it has at least so many. */
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

/** Each delay is late for a moment: one that has been due for less is not told of. */
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
  /** Ended since `since`. */
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

export interface PauseLine {
  name: string;
  group: string | null;
  reason: string | null;
  by: string | null;
  pausedAt: Instant;
  until: Instant | null;
}

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

/** As the query of `api/search` and in bodies. Each is a text; lists have commas in a query. */
export interface SearchFilter {
  /** One field: an exact key first, then an id, a name, a group. */
  q?: string;
  name?: string;
  key?: string;
  keyPrefix?: string;
  group?: string;
  /** Live or ended states; live ones if left out. */
  state?: SearchState[];
  dueFrom?: Instant;
  dueBefore?: Instant;
  endedFrom?: Instant;
  endedBefore?: Instant;
  /** The last error contains it, in any case. */
  error?: string;
  /**
   * The first line of the last error, at most 200 characters, is this; `#` stands for any number, id
   * or address. '': it has none.
   */
  errorLine?: string;
  /** `header:value`. */
  header?: string;
  id?: string;
}

export type SearchState =
  | 'scheduled'
  | 'running'
  | 'retrying'
  | 'dead'
  | 'completed'
  | 'cancelled'
  | 'discarded'
  | 'superseded';

export interface DelayLine {
  id: string;
  name: string;
  key: string | null;
  group: string | null;
  state: SearchState;
  dueAt: Instant;
  /** When a node reads it next; `null`: never. */
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
    what: 'due' | 'retry' | 'attempt' | 'pause' | 'node' | 'limit' | 'turn';
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
   * The page is short, although more may match: so many rows were read, and `next` reads on.
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

export interface AttemptLine {
  attempt: number;
  outcome: string;
  node: string | null;
  startedAt: Instant;
  endedAt: Instant | null;
  error: string | null;
}

export interface MoveLine {
  call: string;
  at: Instant;
  from: Instant;
  to: Instant;
  by: string | null;
}

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
  /** Only the newest dead letters were read: so many. `null`: all. */
  newestOnly: number | null;
}

/** Names that a delay can be created for. */
export interface NameChoice {
  name: string;
  isServed: boolean;
  /** JSON Schema of its payload, if its schema can say it. */
  schema: unknown;
}

/** `pause` and `resume` need the right `pause`. */
export type OperationAction = Exclude<DashboardAction, 'view' | 'viewPayloads'> | 'resume';

/** Which delays: by id, up to 1,000, or all that match by then. */
export type Which = { ids: string[]; filter?: never } | { filter: SearchFilter; ids?: never };

/** Body of `POST api/operations`; of `api/preview` without `why`. */
export type OperationOrder = {
  /** Up to 1,000 characters, written down. */
  why?: string;
} & (
  | { action: 'runNow' | 'cancel' | 'abort' | 'retry' | 'discard'; which: Which }
  /** Its filter has a key, keyPrefix, group or header, perhaps with a name, and nothing else. */
  | { action: 'erase'; which: Which }
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
  /** What limited the viewer who gave it; `null`: nothing. */
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
  /** As all names of nodes, `null` for a viewer with limits. */
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
   * At once, then every two seconds, or more rarely where a look takes long. The stream ends after
   * five minutes: a browser opens it again, and its rights are asked for anew.
   */
  overview: Overview;
  /** An operation of the viewer, or of all if it sees all, has made progress. */
  operation: OperationLine;
  /** The overview could not be read, as when the database is gone. The stream goes on and tries again. */
  problem: Problem;
}
