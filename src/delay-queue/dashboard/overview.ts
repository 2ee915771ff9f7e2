import type { HealthReason, HealthReport } from '../api/health.js';
import { pauseOf } from '../client/results.js';
import type { ResolvedOptions } from '../config/options.js';
import { PauseStore } from '../store/limit.store.js';
import {
  DEAD_READ_MAX,
  ENDS_READ_MAX,
  OverviewStore,
  type Scope,
  WAKES_READ_MAX,
} from '../store/overview.store.js';
import { SearchStore } from '../store/search.store.js';
import { LOADS_MISSED_MAX } from '../store/sql/fragments/clock.js';
import type { LimitRow, NodeSeenRow } from '../store/sql/overview.sql.js';
import type {
  DeadGroup,
  DeadView,
  DueTimeline,
  HealthLine,
  LimitLine,
  NameChoice,
  NodeLine,
  Overview,
  PauseLine,
  SearchFilter,
} from './contract.js';
import type { DashboardDatabase, Look } from './dashboard-database.js';
import { instantOrNull } from './lines.js';
import { nameLines } from './name-lines.js';
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

/** What is due, late, running and dead. */
export class OverviewReader {
  readonly #store: OverviewStore;
  readonly #pauses: PauseStore;
  readonly #aliveMs: number;

  constructor(
    { installation, loadEveryMs }: ResolvedOptions,
    private readonly database: DashboardDatabase,
    private readonly checkHealth: (() => Promise<HealthReport>) | null,
  ) {
    this.#store = new OverviewStore(installation);
    this.#pauses = new PauseStore(installation);
    this.#aliveMs = loadEveryMs * LOADS_MISSED_MAX;
  }

  async read(rights: Rights): Promise<Overview> {
    const report = rights.seesAll ? await this.checkHealth?.() : undefined;
    const overview = await this.database.look((look) => this.#read(look, rights));
    const health = report && {
      ...report,
      reasons: report.reasons.map((reason) => healthLine(reason, overview.now)),
    };
    return { ...overview, health: health ?? null };
  }

  async #read(look: Look, rights: Rights): Promise<Omit<Overview, 'health'>> {
    const scope = scopeOf(rights);
    const minute = await this.#timeline(look, scope, 'minute');
    const hour = await this.#timeline(look, scope, 'hour');
    const day = await this.#timeline(look, scope, 'day');
    const nodes = await this.#store.nodes(look, this.#aliveMs);
    const pauses = (await this.#pauses.list(look)).map(pauseOf);
    const ends = await this.#store.ends(look, scope);
    const nowMs = Date.parse(minute.from);
    const names = nameLines({
      known: rights.seesAll ? await this.#store.names(look) : (rights.names ?? []),
      due: await this.#store.due(look, scope, this.#aliveMs),
      ahead: await this.#store.ahead(look, scope),
      dead: await this.#store.dead(look, scope, GROUPS_READ_MAX),
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
        .map(({ pausedAt, until, ...pause }): PauseLine => ({
          ...pause,
          pausedAt: pausedAt.toISOString(),
          until: instantOrNull(until),
        })),
      limits: (await this.#store.limits(look, scope)).map(limitLine),
    };
  }

  async #timeline(look: Look, scope: Scope, which: keyof typeof TIMELINES): Promise<DueTimeline> {
    const { readMax: most, ...timeline } = TIMELINES[which];
    const readMax = scope.names || scope.groups ? SCOPED_READ_MAX : most;
    const buckets = await this.#store.buckets(look, scope, { ...timeline, readMax });
    return {
      from: instant(buckets[0]?.fromMs ?? 0),
      stepMs: timeline.stepMs,
      counts: buckets.map(({ count }) => count),
      atLeast: buckets.map(({ read }) => read >= readMax),
    };
  }
}

/** Of dead letters: all that are read. */
const GROUPS_READ_MAX = 10_000;
const DAY_MS = 86_400_000;

const instant = (ms: number): string => new Date(ms).toISOString();

export const scopeOf = ({ names, groups }: Rights): Scope => ({
  ...(names && { names }),
  ...(groups && { groups }),
});

function nodeLines(nodes: readonly NodeSeenRow[], nowMs: number): NodeLine[] {
  return nodes
    .filter(({ isSilent, seenMs }) => !isSilent || nowMs - seenMs < SILENT_SHOWN_MS)
    .map(({ name, names, startedMs, seenMs, isSilent, running, leaseEndsMs, read }) => ({
      name,
      names,
      startedAt: instant(startedMs),
      seenAt: instant(seenMs),
      isSilent,
      running: { count: running, is: read < WAKES_READ_MAX ? 'exact' : 'atLeast' },
      nextLeaseEndsAt: leaseEndsMs === null ? null : instant(leaseEndsMs),
    }));
}

const limitLine = ({ fullSinceMs, nextMs, ...limit }: LimitRow): LimitLine => ({
  ...limit,
  fullSince: fullSinceMs === null ? null : instant(fullSinceMs),
  nextAt: nextMs === null ? null : instant(nextMs),
});

function healthLine(reason: HealthReason, now: string): HealthLine {
  const { status, text } = reason;
  const name = 'name' in reason ? reason.name : null;
  return { reason: reason.reason, status, text, name, search: searchOf(reason, now) };
}

/** The delays that a reason is about. */
function searchOf(reason: HealthReason, now: string): SearchFilter | null {
  switch (reason.reason) {
    case 'late':
    case 'unserved':
    case 'held':
      return { name: reason.name, state: ['scheduled', 'retrying'], dueBefore: now };
    case 'deadLetters':
      return { state: ['dead'] };
    default:
      return null;
  }
}

const GROUPS_MAX = 200;

/** Dead letters that failed alike, the newest first. */
export async function deadView(
  look: Look,
  { installation }: Pick<ResolvedOptions, 'installation'>,
  rights: Rights,
): Promise<DeadView> {
  const { rows, read } = await new OverviewStore(installation).dead(
    look,
    scopeOf(rights),
    GROUPS_MAX,
  );
  const isAll = read < DEAD_READ_MAX;
  const nowMs = await new SearchStore(installation).nowMs(look);
  return {
    now: new Date(nowMs).toISOString(),
    groups: rows.map(({ name, line, count, newestMs, oldestMs, sampleId }): DeadGroup => ({
      name,
      error: line === '' ? null : line,
      count: { count, is: isAll ? 'exact' : 'atLeast' },
      newestAt: new Date(newestMs).toISOString(),
      oldestAt: new Date(oldestMs).toISOString(),
      sampleId,
      search: { name, state: ['dead'], errorLine: line },
    })),
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
  const names = rights.names ?? (await namesOf(look, store, rights));
  return names.map((name) => ({
    name,
    isServed: served.has(name),
    schema: payloads.jsonSchemaOf(name) ?? null,
  }));
}

async function namesOf(look: Look, store: OverviewStore, rights: Rights): Promise<string[]> {
  if (rights.groups === null) return store.names(look);
  return (await store.namesInScope(look, scopeOf(rights))).rows.map(({ name }) => name);
}
