import {
  type DelayAdminMessage,
  delayChannels,
  type DelayChangeMessage,
  type DelayTracingChannel,
  traced,
} from '../api/channels.js';
import type { DelayHeaders } from '../api/delay.js';
import type { DelayFilter, DelayTarget } from '../api/selection.js';
import type { DelayTelemetry, TracedOperations } from '../api/telemetry.js';
import { readable } from '../config/refusals.js';
import type { Target } from '../store/rows/delay-rows.js';

interface Verdict {
  verdict: string;
  id?: string;
}

/** Runs the calls of `DelayService` and `DelayAdmin` inside their channels and inside telemetry. */
export class ObservedCalls {
  constructor(
    private readonly node: string,
    private readonly telemetry?: DelayTelemetry,
  ) {}

  /** Whether anyone observes such calls. Otherwise none needs a message. */
  isHeard(operation: keyof TracedOperations): boolean {
    return this.telemetry !== undefined || delayChannels[operation].hasSubscribers;
  }

  /**
   * Runs a call of `DelayService`.
   * @param write its headers are to be stored beside the caller's
   */
  run<Operation extends keyof TracedOperations, Result extends Verdict | Verdict[]>(
    operation: Operation,
    about: Omit<TracedOperations[Operation], 'node'>,
    write: (headers?: DelayHeaders) => Promise<Result>,
  ): Promise<Result> {
    const { telemetry } = this;
    const message = { node: this.node, ...about } as TracedOperations[Operation];
    const channel = delayChannels[operation] as DelayTracingChannel<typeof message>;
    const run = (): Promise<Result> =>
      telemetry === undefined ? write() : telemetry.runCall(operation, message, write);
    return traced(channel, message, run, (result) => {
      const { verdict, id } = Array.isArray(result)
        ? { verdict: onlyValue(result.map((one) => one.verdict)) }
        : result;
      if (verdict !== undefined) message.verdict = verdict;
      if (id !== undefined) message.id = id;
    });
  }

  /**
   * Runs a change by `DelayAdmin`, on the channel `admin` if that has subscribers.
   * @param about the targets, or the filter as the caller gave it; neither for an erase
   */
  async admin<Result extends object | null>(
    action: DelayAdminMessage['action'],
    by: string | null | undefined,
    about: { targets?: readonly Target[]; filter?: DelayFilter },
    write: () => Promise<Result>,
  ): Promise<Result> {
    if (!delayChannels.admin.hasSubscribers) return await write();
    const { targets, filter } = about;
    const message: DelayAdminMessage = {
      node: this.node,
      action,
      targets: targets === undefined ? null : targets.map(publicTarget),
      // The caller's own object may change, or throw, when a subscriber reads it.
      filter: filter === undefined ? null : readable('filter', () => ({ ...filter })),
      by: by ?? null,
    };
    return await traced(delayChannels.admin, message, write, (result) => {
      if (action !== 'pause' && action !== 'resume')
        message.verdicts = countVerdicts(result as object);
    });
  }
}

/** What the channels tell of a `cancelMany` or `rescheduleMany`. */
export const aboutTargets = (
  targets: readonly Target[],
): Pick<DelayChangeMessage, 'name' | 'key' | 'count'> => ({
  name: onlyValue(targets.map((target) => ('id' in target ? null : target.name))) ?? null,
  key: null,
  count: targets.length,
});

/** What the channels tell of a `scheduleMany`, whose items are not checked yet. */
export function aboutItems(items: unknown): Omit<TracedOperations['schedule'], 'node'> {
  const names = Array.isArray(items)
    ? readable('items', () =>
        Array.from(items as { name?: unknown }[], (item) =>
          typeof item?.name === 'string' ? item.name : '',
        ),
      )
    : [];
  return {
    name: onlyValue(names) ?? null,
    key: null,
    group: null,
    headers: {},
    count: names.length,
  };
}

/** The value that all have; undefined if they differ, or there is none. */
function onlyValue<Value>(values: readonly Value[]): Value | undefined {
  const [first, ...others] = new Set(values);
  return others.length === 0 ? first : undefined;
}

const publicTarget = (target: Target): DelayTarget =>
  'id' in target ? { id: String(target.id) } : (target as DelayTarget);

/** How many delays got each verdict, from a call's results, or from its counts. */
function countVerdicts(answer: object): Record<string, number> {
  const results = (Array.isArray(answer) ? answer : [answer]) as Partial<Verdict>[];
  if (results[0] === answer && results[0].verdict === undefined) {
    const { matched: _, ...verdicts } = answer as Record<string, number>;
    return verdicts;
  }
  const verdicts: Record<string, number> = {};
  for (const { verdict = '' } of results) verdicts[verdict] = (verdicts[verdict] ?? 0) + 1;
  return verdicts;
}
