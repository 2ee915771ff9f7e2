import type { HealthOptions, HealthReason, HealthReport } from '../core/index.js';
import { LOADS_MISSED_MAX, PauseStore, type ResolvedOptions } from '../core/ops.js';
import { parseHealthLimits } from '../ops/checks/health-limits.js';
import {
  DEAD_READ_MAX,
  ENDS_READ_MAX,
  type Found,
  OverviewStore,
  type Scope,
  WAKES_READ_MAX,
} from './store/overview.store.js';
import type {
  DeadGroup,
  DeadView,
  DueTimeline,
  HealthLine,
  LimitLine,
  NameChoice,
  NodeLine,
  NoteLine,
  Overview,
} from './contract.js';
import { deadAlike, overdueAt, type SearchFilter } from './search.table.js';
import type { Look } from './dashboard-database.js';
import { withInstants } from './lines.js';
import { nameLines } from './name-lines.js';
import { overviewNotes } from './notes.js';
import type { DashboardQueue } from './queue.js';
import type { Rights } from './rights.js';

/** By timeline: a bucket counts up to `readMax` wakes, all of them in 40 ms. */
const TIMELINES = {
  minute: { count: 60, stepMs: 1_000, readMax: 1_000 },
  hour: { count: 60, stepMs: 60_000, readMax: 1_000 },
  day: { count: 24, stepMs: 3_600_000, readMax: 5_000 },
} as const;

/** For a viewer with limits each wake's row must be read: 0.3 s for all of so many. */
const SCOPED_READ_MAX = 250;

/** A node that has been silent for longer is no news: a killed process may have been replaced. */
const SILENT_SHOWN_MS = 3_600_000;

export class OverviewReader {
  readonly #store: OverviewStore;
  readonly #pauses: PauseStore;
  readonly #aliveMs: number;

  constructor(private readonly queue: DashboardQueue) {
    const { installation, loadEveryMs } = queue.options;
    this.#store = new OverviewStore(installation);
    this.#pauses = new PauseStore(installation);
    this.#aliveMs = loadEveryMs * LOADS_MISSED_MAX;
  }

  async read(rights: Rights): Promise<Overview> {
    const { health, dashboard, database } = this.queue;
    const report = rights.seesAll ? await health?.check(dashboard.health) : undefined;
    const overview = await database.look((look) => this.#read(look, rights));
    const judgement = rights.seesAll ? judged(report, overview, dashboard.health) : null;
    return { ...overview, health: judgement };
  }

  async #read(look: Look, rights: Rights): Promise<Omit<Overview, 'health'>> {
    const scope = visibleScope(rights);
    const minute = await this.#timeline(look, scope, 'minute');
    const hour = await this.#timeline(look, scope, 'hour');
    const day = await this.#timeline(look, scope, 'day');
    const nodes = await this.#store.nodes(look, this.#aliveMs);
    const pauses = await this.#pauses.list(look);
    const ends = await this.#store.ends(look, scope);
    const nowMs = Date.parse(minute.from);
    const names = nameLines({
      known: rights.seesAll ? await this.#store.names(look) : (rights.names ?? []),
      due: await this.#store.due(look, scope, this.#aliveMs),
      ahead: await this.#store.ahead(look, scope),
      dead: await this.#store.dead(look, scope, DEAD_READ_MAX, 'name'),
      ends,
      inGroups: rights.groups === null ? null : await this.#store.namesInScope(look, scope),
      estimates: rights.groups === null ? await this.#store.estimates(look) : new Map(),
      nodes: nodes.filter(({ isSilent }) => !isSilent),
      pauses,
    });
    const shown = new Set(names.map(({ name }) => name));
    const sinceMs = ends.read < ENDS_READ_MAX ? nowMs - DAY_MS : (ends.sinceMs ?? nowMs);
    return {
      now: minute.from,
      due: { minute, hour, day },
      names,
      since: instant(sinceMs),
      nodes: rights.seesAll ? nodeLines(nodes, nowMs) : null,
      pauses: pauses
        .filter(
          ({ name, group }) => shown.has(name) && (group === null || rights.sees({ name, group })),
        )
        .map(withInstants),
      limits: this.#limits(await this.#store.limits(look, scope), rights),
    };
  }

  /** A limit is in the table from the first claim on; before that, the handlers here know of theirs. */
  #limits(met: readonly LimitLine[], rights: Rights): LimitLine[] {
    const declared = (this.queue.handlers?.all() ?? []).flatMap(({ name, limits }) =>
      limits === null ? [] : { name, ...limits },
    );
    const slots = ({ name, group }: Pick<LimitLine, 'name' | 'group'>): number | null => {
      const its = declared.find((one) => one.name === name);
      return (group === null ? its?.all.concurrency : its?.perGroup.concurrency) || null;
    };
    const isMet = (name: string): boolean =>
      met.some((line) => line.name === name && line.group === null);
    const unmet = declared
      .filter(({ name, all }) => all.concurrency + all.burst > 0 && !isMet(name))
      .map(({ name }) => ({ name, group: null }))
      .filter((its) => rights.sees(its));
    return [
      ...met.map((line) => ({ ...line, of: line.of ?? slots(line) })),
      ...unmet.map((its) => ({
        ...its,
        running: 0,
        of: slots(its),
        fullSince: null,
        nextAt: null,
      })),
    ];
  }

  async #timeline(look: Look, scope: Scope, which: keyof typeof TIMELINES): Promise<DueTimeline> {
    const { readMax: most, ...timeline } = TIMELINES[which];
    const readMax = scope.name || scope.group ? SCOPED_READ_MAX : most;
    const buckets = await this.#store.buckets(look, scope, { ...timeline, readMax });
    return {
      from: buckets[0]?.from ?? instant(0),
      stepMs: timeline.stepMs,
      counts: buckets.map(({ count }) => count),
      atLeast: buckets.map(({ read }) => read >= readMax),
    };
  }
}

const DAY_MS = 86_400_000;

const instant = (ms: number): string => new Date(ms).toISOString();

export const visibleScope = ({ names, groups }: Rights): Scope => ({
  ...(names && { name: names }),
  ...(groups && { group: groups }),
});

function nodeLines(nodes: Found<'nodes'>, nowMs: number): NodeLine[] {
  return nodes
    .filter(({ isSilent, awaitedMs }) => !isSilent || nowMs - awaitedMs < SILENT_SHOWN_MS)
    .map((node) => {
      const { running, read, awaitedMs: _, ...shown } = node;
      const is = read < WAKES_READ_MAX ? 'exact' : 'atLeast';
      return { ...shown, running: { count: running, is } };
    });
}

function healthLine(reason: HealthReason, now: string): HealthLine {
  const { status, text } = reason;
  const name = 'name' in reason ? reason.name : null;
  return { reason: reason.reason, status, text, name, search: affectedDelays(reason, now) };
}

function affectedDelays(reason: HealthReason, now: string): SearchFilter | null {
  switch (reason.reason) {
    case 'late':
    case 'unserved':
    case 'held':
      return { name: reason.name, ...overdueAt(now) };
    case 'deadLetters':
      return { state: ['dead'] };
    default:
      return null;
  }
}

/** The report of this process's node, and what the overview shows beside it. */
function judged(
  report: HealthReport | undefined,
  overview: Omit<Overview, 'health'>,
  options: HealthOptions,
): Overview['health'] {
  const reasons = (report?.reasons ?? []).map((reason) => healthLine(reason, overview.now));
  const notes = overviewNotes(overview, parseHealthLimits(options));
  const isNew = ({ reason }: NoteLine): boolean => reasons.every((line) => line.reason !== reason);
  return { status: report?.status ?? 'unknown', reasons, notes: notes.filter(isNew) };
}

const GROUPS_MAX = 200;

/** Dead letters that failed alike, the newest first. */
export async function deadView(
  look: Look,
  { installation }: Pick<ResolvedOptions, 'installation'>,
  rights: Rights,
): Promise<DeadView> {
  const store = new OverviewStore(installation);
  const { rows, read } = await store.dead(look, visibleScope(rights), GROUPS_MAX, 'kind');
  const isAll = read < DEAD_READ_MAX;
  const nowMs = await look.nowMs();
  return {
    now: instant(nowMs),
    groups: rows.map(
      ({ name, kind, line, error, count, newestAt, oldestAt, sampleId }): DeadGroup => ({
        name,
        error: line === '' ? null : line,
        example: error,
        count: { count, is: isAll ? 'exact' : 'atLeast' },
        newestAt,
        oldestAt,
        sampleId,
        search: deadAlike(name, kind),
      }),
    ),
    newestOnly: isAll ? null : DEAD_READ_MAX,
  };
}

/** Names that a viewer may know of, for filters and for new delays. */
export async function nameChoices(
  look: Look,
  { installation, loadEveryMs, payloads }: ResolvedOptions,
  rights: Rights,
): Promise<NameChoice[]> {
  const store = new OverviewStore(installation);
  const nodes = await store.nodes(look, loadEveryMs * LOADS_MISSED_MAX);
  const served = new Set(nodes.flatMap(({ isSilent, names }) => (isSilent ? [] : names)));
  const names = rights.names ?? (await readNames(look, store, rights));
  return names.map((name) => ({
    name,
    isServed: served.has(name),
    schema: payloads.jsonSchemaOf(name) ?? null,
  }));
}

async function readNames(look: Look, store: OverviewStore, rights: Rights): Promise<string[]> {
  if (rights.groups === null) return store.names(look);
  return (await store.namesInScope(look, visibleScope(rights))).rows.map(({ name }) => name);
}
