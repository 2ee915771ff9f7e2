import { Inject, Injectable } from '@nestjs/common';
import {
  type BacklogFigures,
  type DelayEvents,
  type DelayFigures,
  type HealthIndicator,
  type HealthOptions,
  type HealthReason,
  type HealthReport,
  inWords,
} from '../core/index.js';
import {
  Engine,
  type EngineConnections,
  EVENTS,
  LOADS_MISSED_MAX,
  RESOLVED_OPTIONS,
  type ResolvedOptions,
} from '../core/ops.js';
import { parseHealthLimits } from './checks/health-limits.js';
import { Noticed } from './noticed.js';
import { type Backlog, Readings } from './readings.js';
import {
  databaseGone,
  isStuck,
  backlogReasons,
  nodeReasons,
  serverReasons,
  toReport,
} from './report.js';
import { HealthStore } from './health.store.js';

/**
 * Tells whether delays fire when they are due, and if not, why.
 *
 * ```ts
 * const { status, reasons } = await this.health.check(); // readiness, alerts
 * const { status } = this.health.live();                 // liveness: no statement
 * ```
 *
 * However many ask, the database gets two small statements in five seconds, and two in a minute
 * about its own state; without a caller it gets none.
 */
@Injectable()
export class DelayHealth {
  readonly #noticed: Noticed;
  #readings: { of: EngineConnections; readings: Readings } | undefined;

  /** @internal */
  constructor(
    private readonly engine: Engine,
    @Inject(EVENTS) events: DelayEvents,
    @Inject(RESOLVED_OPTIONS) private readonly options: ResolvedOptions,
  ) {
    this.#noticed = new Noticed(events);
  }

  /**
   * Checks this node, the backlog of all nodes and the database, for readiness and alerts. A database
   * that does not answer within 5 s is `down`. It never throws for what it finds.
   * @returns the status and the reasons for it, the worst first
   * @throws DelayInvalidError an option is not valid
   */
  async check(options: HealthOptions = {}): Promise<HealthReport> {
    const limits = parseHealthLimits(options);
    const vitals = this.engine.vitals;
    const ofNode = nodeReasons(vitals, this.#noticed);
    const readings = this.#readingsNow();
    if (readings === undefined || vitals.state === 'stopped') return toReport(ofNode);
    const [backlog, server] = await Promise.allSettled([readings.backlog(), readings.server()]);
    if (backlog.status === 'rejected') return toReport([...ofNode, databaseGone(backlog.reason)]);
    const reasons: HealthReason[] = [
      ...ofNode,
      ...backlogReasons(backlog.value, limits, vitals.worker),
      ...(server.status === 'fulfilled' ? serverReasons(server.value, limits) : []),
    ];
    return toReport(reasons);
  }

  /**
   * Checks this process alone, for liveness, without a statement. `down` only if a restart would
   * help: for a minute no load has ended, neither well nor with an error.
   * @returns the status, at once
   */
  live(): HealthReport {
    const stuck = isStuck(this.engine.vitals);
    if (stuck === undefined) return toReport([]);
    const sinceMs = Math.round(stuck.sinceMs);
    const text = `no load has ended for ${inWords(sinceMs)}: the process stands still`;
    return toReport([{ reason: 'loadsMissing', status: 'down', text, sinceMs }]);
  }

  /**
   * The same as a result of Terminus 11 or 12.
   *
   * ```ts
   * @Get() @HealthCheck()
   * ready() {
   *   return this.checks.check([() => this.delays.indicate(this.indicators.check('delays'))]);
   * }
   * ```
   * @param indicator `HealthIndicatorService.check(key)`; version 11 has no `degraded`, and shows `up`
   * @returns a result of Terminus
   */
  async indicate<Result>(
    indicator: HealthIndicator<Result>,
    options: HealthOptions = {},
  ): Promise<Result> {
    const { status, reasons } = await this.check(options);
    const data = { reasons: reasons.map(({ text }) => text) };
    if (status === 'down') return indicator.down(data);
    if (status === 'up') return indicator.up({});
    return indicator.degraded === undefined ? indicator.up(data) : indicator.degraded(data);
  }

  /**
   * Reads numbers for gauges, at once: those of this node, and the last ones of the backlog.
   * @returns the numbers
   */
  figures(): DelayFigures {
    this.#readingsNow()
      ?.backlog()
      .catch(() => {});
    return this.known();
  }

  /** @internal Has fetched what is known and too old. */
  refresh(): void {
    this.#readingsNow()?.refresh();
  }

  /** @internal As `check` without options, by what is known, and has nothing fetched. */
  knownReasons(): HealthReason[] {
    const vitals = this.engine.vitals;
    const ofNode = nodeReasons(vitals, this.#noticed);
    const known = vitals.state === 'stopped' ? undefined : this.#readingsNow()?.known;
    if (known === undefined) return toReport(ofNode).reasons;
    const { backlog, server, failed } = known;
    const limits = parseHealthLimits({});
    const ofBacklog = backlog === undefined ? [] : backlogReasons(backlog, limits, vitals.worker);
    return toReport([
      ...ofNode,
      ...(failed === undefined ? ofBacklog : [databaseGone(failed.error)]),
      ...(server === undefined ? [] : serverReasons(server, limits)),
    ]).reasons;
  }

  /** @internal As {@link figures}, and has nothing fetched. */
  known(): DelayFigures {
    const { worker, state } = this.engine.vitals;
    const last = state === 'stopped' ? undefined : this.#readingsNow()?.lastBacklog;
    return {
      names: worker?.calls() ?? [],
      watched: worker?.queue.watched ?? 0,
      ready: worker?.queue.ready ?? 0,
      loadAgeMs:
        worker === undefined || worker.isIdle ? null : msSinceLoad(worker.loads.workedAtMs),
      backlog: last === undefined ? null : toBacklogFigures(last.reading, last.ageMs),
      connections: this.engine.connections?.figures ?? { used: 0, idle: 0 },
    };
  }

  #readingsNow(): Readings | undefined {
    const { connections } = this.engine;
    if (connections === undefined) return undefined;
    if (this.#readings?.of !== connections) {
      const store = new HealthStore(connections, this.options.installation);
      const aliveMs = this.options.loadEveryMs * LOADS_MISSED_MAX;
      const readyIds = (most: number): number[] => this.engine.vitals.worker?.readyIds(most) ?? [];
      this.#readings = { of: connections, readings: new Readings(store, aliveMs, readyIds) };
    }
    return this.#readings.readings;
  }
}

/** Null before the first load. */
const msSinceLoad = (workedAtMs: number): number | null =>
  Number.isNaN(workedAtMs) ? null : performance.now() - workedAtMs;

const toBacklogFigures = ({ vitals, names }: Backlog, ageMs: number): BacklogFigures => ({
  ageMs,
  dead: vitals.dead,
  dueSoon: vitals.dueSoon,
  overdue: names,
});
