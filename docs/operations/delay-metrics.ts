import { Controller, Get, Header, Injectable } from '@nestjs/common';
import { DelayEvents, DelayHealth, type HealthReport } from 'nestjs-delay-queue';
import { Counter, Gauge, Histogram, Registry } from 'prom-client';

const ENDS = [
  'completed',
  'retrying',
  'dead',
  'postponed',
  'released',
  'aborted',
  'superseded',
  'split',
  'unreadable',
  'lost',
] as const;

const SECONDS = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30, 60, 120, 300, 600, 1200, 3600,
];

/** `held_by`: `pause`, `limit`, or `nothing`, so they are late. */
const HELD: ('name' | 'held_by')[] = ['name', 'held_by'];

/** `name`: of the delays. `task`: the background task that fails. */
const WHY: ('reason' | 'status' | 'name' | 'task')[] = ['reason', 'status', 'name', 'task'];

/** Names are few, so they are labels. Keys, groups and ids are many, so they are not. */
@Injectable()
export class DelayMetrics {
  readonly registry = new Registry();
  readonly #lateness = this.#histogram(
    'delay_lateness_seconds',
    'Start of the first attempt minus due',
  );
  readonly #duration = this.#histogram('delay_duration_seconds', 'From the call to its end');
  readonly #ends = new Counter({
    name: 'delay_attempts_total',
    help: 'Attempts by how they ended',
    labelNames: ['name', 'end'],
    registers: [this.registry],
  });
  readonly #failures = new Counter({
    name: 'delay_task_failures_total',
    help: 'Failures of background tasks',
    labelNames: ['task'],
    registers: [this.registry],
  });
  readonly #running = this.#gauge('delay_running', 'Handlers that run here', ['name']);
  readonly #concurrency = this.#gauge('delay_concurrency', 'Most that run here', ['name']);
  readonly #ready = this.#gauge('delay_ready', 'Due delays that wait for a slot here');
  readonly #watched = this.#gauge('delay_watched', 'Delays within the horizon of this node');
  readonly #overdue = this.#gauge('delay_overdue', 'Due, by what holds them', HELD);
  readonly #oldest = this.#gauge('delay_oldest_overdue_seconds', 'Age of the oldest', HELD);
  readonly #dead = this.#gauge('delay_dead_letters', 'Dead letters');
  readonly #dueSoon = this.#gauge('delay_due_within_a_minute', 'Delays due within a minute');
  readonly #reasons = this.#gauge('delay_unhealthy', 'Reasons of DelayHealth', WHY);
  readonly #gauges = [this.#running, this.#concurrency, this.#overdue, this.#oldest, this.#reasons];
  #report: HealthReport | undefined;

  constructor(
    events: DelayEvents,
    private readonly health: DelayHealth,
  ) {
    events.on('started', ({ name, attempt, latenessMs }) => {
      // A retry starts late because an attempt failed.
      if (attempt === 1) this.#lateness.observe({ name }, latenessMs / 1_000);
    });
    for (const end of ENDS) {
      events.on(end, (attempt: { name: string; durationMs?: number | null }) => {
        const { name, durationMs } = attempt;
        this.#ends.inc({ name, end });
        if (typeof durationMs === 'number') this.#duration.observe({ name }, durationMs / 1_000);
      });
    }
    events.on('taskFailed', ({ task }) => this.#failures.inc({ task }));
  }

  /** What a scrape gets. It waits for no answer of the database, which may hang. */
  text(): Promise<string> {
    void this.#look();
    const { names, ready, watched, backlog } = this.health.figures();
    // A registry keeps the last value of each label forever.
    for (const gauge of this.#gauges) gauge.reset();
    for (const { name, running, concurrency } of names) {
      this.#running.set({ name }, running);
      this.#concurrency.set({ name }, concurrency);
      // A counter that begins at one has not increased: the first dead letter would raise no alert.
      for (const end of ENDS) this.#ends.inc({ name, end }, 0);
    }
    this.#ready.set(ready);
    this.#watched.set(watched);
    for (const { name, heldBy, overdue, oldestMs } of backlog?.overdue ?? []) {
      const labels = { name, held_by: heldBy ?? 'nothing' };
      this.#overdue.set(labels, overdue);
      this.#oldest.set(labels, oldestMs / 1_000);
    }
    this.#dead.set(backlog?.dead ?? Number.NaN);
    this.#dueSoon.set(backlog?.dueSoon ?? Number.NaN);
    for (const { reason, status, ...more } of this.#report?.reasons ?? []) {
      const { name = '', task = '' } = more as { name?: string; task?: string };
      this.#reasons.set({ reason, status, name, task }, 1);
    }
    return this.registry.metrics();
  }

  /** For the next scrape. */
  async #look(): Promise<void> {
    this.#report = await this.health.check();
  }

  #histogram(name: string, help: string): Histogram<'name'> {
    const registers = [this.registry];
    return new Histogram({ name, help, labelNames: ['name'], buckets: SECONDS, registers });
  }

  #gauge<Label extends string>(name: string, help: string, labelNames: Label[] = []): Gauge<Label> {
    return new Gauge({ name, help, labelNames, registers: [this.registry] });
  }
}

@Controller('metrics')
export class MetricsController {
  constructor(private readonly metrics: DelayMetrics) {}

  @Get()
  @Header('Content-Type', Registry.PROMETHEUS_CONTENT_TYPE)
  read(): Promise<string> {
    return this.metrics.text();
  }
}
