import {
  type DelayChangeMessage,
  delayChannels,
  type DelayScheduleMessage,
  traced,
} from '../api/channels.js';
import type { DelayHeaders } from '../api/delay.js';
import { readable } from '../config/known-options.js';

interface Answer {
  verdict: string;
  id?: string;
}

/** What the channels are told of the calls of `DelayService`; only if they have subscribers. */
export class TracedCalls {
  constructor(private readonly node: string) {}

  /** @param headers JSON text; null: none */
  schedule<Result extends Answer>(
    {
      name,
      key,
      group,
      headers: text,
    }: Pick<DelayScheduleMessage, 'key' | 'group'> & { name: string; headers: string | null },
    write: () => Promise<Result>,
  ): Promise<Result> {
    const headers = text === null ? {} : (JSON.parse(text) as DelayHeaders);
    const message = { node: this.node, name, key, group, headers, count: 1 };
    return traced(delayChannels.schedule, message, write, (result) => tell(message, result));
  }

  scheduleMany<Result extends Answer>(
    names: readonly string[],
    write: () => Promise<Result[]>,
  ): Promise<Result[]> {
    const [first = null, ...others] = new Set(names);
    const message: DelayScheduleMessage = {
      node: this.node,
      name: others.length === 0 ? first : null,
      key: null,
      group: null,
      headers: {},
      count: names.length,
    };
    return traced(delayChannels.schedule, message, write, (results) => {
      const [verdict, ...more] = new Set(results.map((result) => result.verdict));
      if (verdict !== undefined && more.length === 0) message.verdict = verdict;
    });
  }

  change<Result extends Answer>(
    verb: 'cancel' | 'reschedule',
    { name, key }: Pick<DelayChangeMessage, 'name' | 'key'>,
    write: () => Promise<Result>,
  ): Promise<Result> {
    const message: DelayChangeMessage = { node: this.node, name, key };
    return traced(delayChannels[verb], message, write, (result) => tell(message, result));
  }
}

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
