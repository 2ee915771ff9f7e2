import {
  adopted,
  type DelayExplanation,
  DelayInvalidError,
  type DelayRecord,
  describeError,
  type ListedDelay,
  LogLines,
  printable,
  quoted,
} from '../core/index.js';
import {
  checkId,
  explainEnd,
  toListed,
  LOADS_MISSED_MAX,
  Recurrence,
  type ResolvedOptions,
  SelectionStore,
  type StoredRepeat,
} from '../core/ops.js';
import { SearchStore } from './store/search.store.js';
import type { CauseLine, DelayView, Instant } from './contract.js';
import type { Look } from './dashboard-database.js';
import { notFound } from './exchange.js';
import {
  attemptLines,
  endedLine,
  instantTextOrNull,
  instantText,
  liveLine,
  moveLines,
} from './lines.js';
import type { ResolvedDashboardOptions } from './options.js';
import type { Rights } from './rights.js';

const NEXT_MAX = 5;

type ShownPayload = DelayView['payload'];

/** Everything about one delay, live or ended. */
export class DelayReader {
  readonly #selection: SelectionStore;
  readonly #search: SearchStore;
  readonly #aliveMs: number;
  readonly #log = new LogLines('DelayQueueDashboard');

  constructor(
    private readonly options: ResolvedOptions,
    private readonly redact: ResolvedDashboardOptions['redact'],
  ) {
    this.#selection = new SelectionStore(options.installation);
    this.#search = new SearchStore(options.installation);
    this.#aliveMs = options.loadEveryMs * LOADS_MISSED_MAX;
  }

  /**
   * @param endedAt of an ended one, to the millisecond; null: the live one, or its newest end
   * @throws Refusal, DelayInvalidError
   */
  async view(
    look: Look,
    rights: Rights,
    { id, endedAt }: { id: string; endedAt: string | null },
  ): Promise<DelayView> {
    checkId(id);
    const live = endedAt === null ? await this.#live(look, id, rights) : undefined;
    return live ?? (await this.#ended(look, id, endedAt, rights));
  }

  async #live(look: Look, id: string, rights: Rights): Promise<DelayView | undefined> {
    const page = { behindId: 0, limit: 1, payload: rights.may('viewPayloads') };
    const [row] = await this.#selection.list(look, { id: [id] }, page, this.#aliveMs);
    if (row === undefined) return undefined;
    if (!rights.sees(row)) throw notFound();
    const [delay] = await toListed([{ ...row, payload: null }], this.options.payloads);
    if (delay === undefined) throw notFound();
    const explanation = await look.admin.explain({ id }, { manager: look.manager });
    const nowMs = await look.nowMs();
    return {
      ...this.#common(delay, explanation, nowMs),
      delay: liveLine(delay),
      lastError: delay.lastError,
      payload: row.payload === null ? { is: 'hidden' } : await this.#payload(row.payload, row),
      repeat: delay.repeat && {
        every: 'every' in delay.repeat ? delay.repeat.every : null,
        cron: 'cron' in delay.repeat ? delay.repeat.cron : null,
        timeZone: 'cron' in delay.repeat ? delay.repeat.timeZone : null,
        until: instantTextOrNull(delay.repeat.until ?? null),
        runsLeft: delay.runsLeft ?? null,
        next: nextInstants(row.repeat, row.dueAt.getTime(), nowMs).slice(0, afterNext(delay)),
      },
      rerunAt: instantTextOrNull(delay.rerunAt),
      by: null,
      node: delay.waitsFor?.what === 'attempt' ? delay.waitsFor.node : null,
    };
  }

  async #ended(look: Look, id: string, endedAt: string | null, rights: Rights): Promise<DelayView> {
    const filter = { id: [id], ...(endedAt !== null && millisecondAt(endedAt)) };
    const search = { order: 'ended', way: 'walk', filter } as const;
    const [hit] = await this.#search.page(look, search, { behind: undefined, limit: 1 });
    const record = hit?.row;
    if (!record || !rights.sees(record)) throw notFound();
    const nowMs = await look.nowMs();
    const explanation = explainEnd(record, nowMs);
    return {
      ...this.#common(record, explanation, nowMs),
      delay: endedLine(record),
      lastError: record.error,
      payload: { is: 'notKept' },
      repeat: null,
      rerunAt: null,
      by: record.by,
      node: record.node,
    };
  }

  #common(
    { attemptLog, moveLog, headers }: ListedDelay | DelayRecord,
    { reason, text, also }: Pick<DelayExplanation, 'reason' | 'text' | 'also'>,
    nowMs: number,
  ) {
    return {
      now: instantText(new Date(nowMs)),
      explanation: { ...causeLine({ reason, text }), also: also.map(causeLine) },
      attempts: attemptLines(attemptLog),
      moves: moveLines(moveLog),
      headers: { ...headers },
      keepsAttempts: this.options.historyKept === 'attempts',
    };
  }

  async #payload(
    text: string,
    { name, key }: { name: string; key: string | null },
  ): Promise<ShownPayload> {
    const { payloads } = this.options;
    const owner = { name, key };
    try {
      if (this.redact === undefined) return await this.#whole(text, owner);
      const given = await payloads.given(text, owner);
      const shown = JSON.stringify(await adopted(this.redact(given, owner))) as string | undefined;
      return shown === undefined ? { is: 'hidden' } : { is: 'redacted', json: shown };
    } catch (error) {
      // The error's text may contain what should be redacted.
      this.#log.error(`redact: delay ${quoted(name)}: the payload was not shown`, error);
      return { is: 'unreadable', message: 'The log of the application says why.' };
    }
  }

  async #whole(text: string, owner: { name: string; key: string | null }): Promise<ShownPayload> {
    try {
      return { is: 'shown', json: await this.options.payloads.jsonOfRow(text, owner) };
    } catch (error) {
      return { is: 'unreadable', message: printable(describeError(error)) };
    }
  }
}

const causeLine = ({ reason, text }: CauseLine): CauseLine => ({ reason, text });

const afterNext = ({ runsLeft = Infinity }: ListedDelay): number => Math.max(0, runsLeft - 1);

/** A recurrence that another program wrote may be unreadable. */
function nextInstants(repeat: string | null, dueMs: number, nowMs: number): Instant[] {
  const next: Instant[] = [];
  try {
    const recurrence = new Recurrence(JSON.parse(repeat ?? 'null') as StoredRepeat);
    for (let atMs: number | undefined = dueMs; next.length < NEXT_MAX;) {
      atMs = recurrence.nextMs(atMs, Math.max(atMs, nowMs));
      if (atMs === undefined) break;
      next.push(new Date(atMs).toISOString());
    }
  } catch {
    // What was found before it ended is shown.
  }
  return next;
}

function millisecondAt(endedAt: string): { endedFrom: string; endedBefore: string } {
  const ms = Date.parse(endedAt);
  if (Number.isNaN(ms)) throw new DelayInvalidError('endedAt', 'must be an instant');
  return {
    endedFrom: new Date(ms).toISOString(),
    endedBefore: new Date(ms + 1).toISOString(),
  };
}
