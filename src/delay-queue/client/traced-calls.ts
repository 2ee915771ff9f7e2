import {
  type DelayAdminAction,
  type DelayAdminMessage,
  type DelayChangeMessage,
  delayChannels,
  type DelayScheduleMessage,
  type DelayTracingChannel,
  traced,
} from '../api/channels.js';
import type { DelayHeaders } from '../api/delay.js';
import type { Counts, DelayFilter, DelayTarget, EraseCounts } from '../api/selection.js';
import type { DelayTelemetry, TracedOperations } from '../api/telemetry.js';
import { readable } from '../config/known-options.js';
import type { NameAndKey, Target } from './arguments.js';

interface Answer {
  verdict: string;
  id?: string;
}

/** What the channels and telemetry are told of the calls of `DelayService` and `DelayAdmin`. */
export class TracedCalls {
  constructor(
    private readonly node: string,
    private readonly telemetry?: DelayTelemetry,
  ) {}

  /** Whether a call is reported; otherwise it needs none of what the next four methods make. */
  traces(operation: keyof TracedOperations): boolean {
    return this.telemetry !== undefined || delayChannels[operation].hasSubscribers;
  }

  /**
   * @param headers JSON text; null: none
   * @param write gets those of the trace, too
   */
  schedule<Result extends Answer>(
    {
      name,
      key,
      group,
      headers: text,
    }: Pick<DelayScheduleMessage, 'key' | 'group'> & { name: string; headers: string | null },
    write: Write<Result>,
  ): Promise<Result> {
    const headers = text === null ? {} : (JSON.parse(text) as DelayHeaders);
    const message = { node: this.node, name, key, group, headers, count: 1 };
    return this.#run('schedule', message, write, (result) => tell(message, result));
  }

  scheduleMany<Result extends Answer>(
    names: readonly string[],
    write: Write<Result[]>,
  ): Promise<Result[]> {
    const message: DelayScheduleMessage = {
      node: this.node,
      name: onlyOf(names) ?? null,
      key: null,
      group: null,
      headers: {},
      count: names.length,
    };
    return this.#run('schedule', message, write, (results) => tellAll(message, results));
  }

  change<Result extends Answer>(
    verb: 'cancel' | 'reschedule',
    { name, key }: NameAndKey,
    write: () => Promise<Result>,
  ): Promise<Result> {
    const message: DelayChangeMessage = { node: this.node, name, key, count: 1 };
    return this.#run(verb, message, write, (result) => tell(message, result));
  }

  changeMany<Result extends Answer>(
    verb: 'cancel' | 'reschedule',
    targets: readonly Target[],
    write: () => Promise<Result[]>,
  ): Promise<Result[]> {
    const message: DelayChangeMessage = {
      node: this.node,
      name: onlyOf(targets.map((target) => ('id' in target ? null : target.name))) ?? null,
      key: null,
      count: targets.length,
    };
    return this.#run(verb, message, write, (results) => tellAll(message, results));
  }

  /** A change of listed delays, on the channel `admin` if that has subscribers. */
  async list<Result extends Answer>(
    action: DelayAdminAction,
    targets: readonly Target[],
    { by = null }: { by?: string | null },
    write: () => Promise<Result[]>,
  ): Promise<Result[]> {
    if (!delayChannels.admin.hasSubscribers) return await write();
    const given = targets.map((target) => ('id' in target ? { id: String(target.id) } : target));
    const about = { action, targets: given as DelayTarget[], filter: null, by };
    return await this.#admin(about, write, countsOf);
  }

  /** A change of the delays that match, on the channel `admin` if that has subscribers. */
  async matching(
    action: DelayAdminAction,
    filter: DelayFilter,
    { by = null }: { by?: string | null },
    write: () => Promise<Counts<string>>,
  ): Promise<Counts<string>> {
    if (!delayChannels.admin.hasSubscribers) return await write();
    // The caller's own object may change, or throw, when a subscriber reads it.
    const copy = readable('filter', () => ({ ...filter }));
    const about = { action, targets: null, filter: copy, by };
    return await this.#admin(about, write, withoutTotal);
  }

  /** An erase, on the channel `admin` if that has subscribers, without what it erases. */
  async erase(
    { by = null }: { by?: string | null },
    write: () => Promise<EraseCounts>,
  ): Promise<EraseCounts> {
    if (!delayChannels.admin.hasSubscribers) return await write();
    const about = { action: 'erase', targets: null, filter: null, by } as const;
    return await this.#admin(about, write, (counts) => ({ ...counts }));
  }

  /** A pause or its end, on the channel `admin` if that has subscribers. */
  async pause<Result>(
    action: 'pause' | 'resume',
    { name, group }: { name: string; group: string | null },
    by: string | null,
    write: () => Promise<Result>,
  ): Promise<Result> {
    if (!delayChannels.admin.hasSubscribers) return await write();
    const filter = { name, ...(group !== null && { group }) } as DelayFilter;
    return await this.#admin({ action, targets: null, filter, by }, write);
  }

  #run<Operation extends keyof TracedOperations, Result>(
    operation: Operation,
    message: TracedOperations[Operation],
    write: Write<Result>,
    answered: (result: Result) => void,
  ): Promise<Result> {
    const { telemetry } = this;
    const channel = delayChannels[operation] as DelayTracingChannel<typeof message>;
    const run = (): Promise<Result> =>
      telemetry === undefined ? write() : telemetry.runCall(operation, message, write);
    return traced(channel, message, run, answered);
  }

  #admin<Result>(
    about: Pick<DelayAdminMessage, 'action' | 'targets' | 'filter' | 'by'>,
    write: () => Promise<Result>,
    verdictsOf?: (result: Result) => Record<string, number>,
  ): Promise<Result> {
    const message: DelayAdminMessage = { node: this.node, ...about };
    return traced(delayChannels.admin, message, write, (result) => {
      if (verdictsOf !== undefined) message.verdicts = verdictsOf(result);
    });
  }
}

/** What all of them are; undefined if they differ, or there is none. */
function onlyOf<Value>(values: readonly Value[]): Value | undefined {
  const [first, ...others] = new Set(values);
  return others.length === 0 ? first : undefined;
}

function withoutTotal(counts: Counts<string>): Record<string, number> {
  const { matched: _, ...verdicts } = counts;
  return verdicts;
}

function countsOf(results: readonly Answer[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { verdict } of results) counts[verdict] = (counts[verdict] ?? 0) + 1;
  return counts;
}

function tellAll(
  message: DelayScheduleMessage | DelayChangeMessage,
  results: readonly Answer[],
): void {
  const verdict = onlyOf(results.map((result) => result.verdict));
  if (verdict !== undefined) message.verdict = verdict;
}

/** @param headers to be stored beside the caller's */
type Write<Result> = (headers?: DelayHeaders) => Promise<Result>;

function tell(message: DelayScheduleMessage | DelayChangeMessage, { verdict, id }: Answer): void {
  message.verdict = verdict;
  if (id !== undefined) message.id = id;
}

/** The names of a list that is not checked yet: of plain items alone. */
export function namesOf(items: unknown): string[] {
  if (!Array.isArray(items)) return [];
  return readable('items', () =>
    Array.from(items as { name?: unknown }[], (item) =>
      typeof item?.name === 'string' ? item.name : '',
    ),
  );
}
