import { Logger } from '@nestjs/common';
import {
  type ChangedDelay,
  DelayConflictError,
  DelayInvalidError,
  DelayPayloadError,
  printableError,
} from '../core/index.js';
import { type Growth, LATE, pauseMs, rest, within } from '../core/ops.js';
import type { Count, OperationLine } from './contract.js';
import { Refusal } from './exchange.js';
import { asRefusal } from './failures.js';
import { carryOut } from './operation-deed.js';
import type { Counts, OperationLog } from './operation-log.js';
import type { Order } from './operation-order.js';
import type { DashboardQueue } from './queue.js';
import type { Rights } from './rights.js';

const OPEN_MAX = 20;
/** An operation that ends by then is answered as ended. */
const ANSWER_WITHIN_MS = 1_000;
const COUNT_WITHIN_MS = 1_000;
/** Delays that are listed as changed, for each operation. */
const LISTED_MAX = 10_000;
/** Other processes take one for ended that has not been kept for a minute. */
const KEEP_EVERY_MS = 10_000;

/** What is written down is tried again while the database is away: about half a minute. */
const AGAIN: Growth = { firstMs: 100, factor: 2, lastMs: 5_000, jitter: 0.5 };
const TRIES = 12;

interface Open {
  line: OperationLine;
  order: Order;
  stop: AbortController;
}

/** How one ended that did not do all of it. */
interface Unfinished {
  as: 'stopped' | 'failed';
  error: string | null;
  /** What the queue refused: nothing was changed. */
  refusal?: unknown;
}

/**
 * The operations of this process, one after the other. Each is written down before it changes
 * anything, after each page, and at its end, so that all processes see what it has done.
 */
export class Operations {
  readonly #open = new Map<string, Open>();
  readonly #logger = new Logger('DelayQueueDashboard');
  #opening = 0;
  #turn: Promise<unknown> = Promise.resolve();
  #keeping: NodeJS.Timeout | undefined;

  /**
   * @param tell who shows progress live
   * @param count how many delays the order is about; null: not known
   */
  constructor(
    private readonly queue: DashboardQueue,
    private readonly log: OperationLog,
    private readonly tell: (line: OperationLine) => void,
    private readonly count: (order: Order) => Promise<Count | null>,
    private readonly keepEveryMs = KEEP_EVERY_MS,
  ) {}

  /**
   * @returns its state once it has ended, or after a second
   * @throws Refusal when there are too many; what the queue throws that refuses the order
   */
  async start(order: Order, viewer: Rights): Promise<OperationLine> {
    if (this.queue.closing.aborted) throw new Refusal('busy', 'The application is closing.');
    if (this.#open.size + this.#opening >= OPEN_MAX) {
      throw new Refusal('busy', `${OPEN_MAX} operations run or wait here. Wait for one of them.`);
    }
    const open = await this.#opened(order, viewer);
    const ended = this.#turn.then(() => this.#run(open));
    this.#turn = ended;
    this.queue.database.hold(ended);
    const unfinished = await within(ended, ANSWER_WITHIN_MS);
    if (unfinished !== LATE && unfinished?.refusal !== undefined) throw unfinished.refusal;
    return open.line;
  }

  /** Ends it between two pages, in whichever process it runs. */
  async stop(id: string): Promise<OperationLine> {
    const line = await this.log.stop(id);
    this.#open.get(id)?.stop.abort();
    this.tell(line);
    return line;
  }

  async #opened(order: Order, { who, names, groups }: Rights): Promise<Open> {
    const { deed, why, asked } = order;
    this.#opening += 1;
    try {
      const line = await this.log.open({
        action: deed.action,
        who,
        why,
        asked,
        scope: { names, groups },
      });
      const open = { line, order, stop: new AbortController() };
      this.#open.set(line.id, open);
      this.#keep();
      this.tell(line);
      return open;
    } finally {
      this.#opening -= 1;
    }
  }

  /** @returns why it did not do all of it; never rejects */
  async #run(open: Open): Promise<Unfinished | undefined> {
    const { line, order, stop } = open;
    const signal = AbortSignal.any([stop.signal, this.queue.closing]);
    const counted = signal.aborted ? LATE : await within(this.#counted(order), COUNT_WITHIN_MS);
    const expected = counted === LATE ? null : counted;
    let counts: Counts = {};
    let listed = 0;
    const onPage = async (now: Counts, changed: readonly ChangedDelay[]): Promise<void> => {
      counts = now;
      const some = changed.slice(0, LISTED_MAX - listed);
      const from = listed;
      listed += some.length;
      await this.#told(open, () => this.log.advance(line.id, counts, expected, from, some));
    };
    let unfinished: Unfinished | undefined;
    try {
      await carryOut(this.queue, order, { who: line.who, signal, onPage });
    } catch (error) {
      unfinished = signal.aborted && error === signal.reason ? ENDED_EARLY : this.#failed(error);
    }
    const { as = 'done', error = null } = unfinished ?? {};
    try {
      await this.#told(open, () => this.log.end(line.id, as, counts, error));
    } catch (failure) {
      // Its row says that it is interrupted once nothing keeps it.
      this.#logger.error(`operation ${line.id}: ${printableError(failure)}`);
    }
    this.#close(line.id);
    return unfinished;
  }

  /** Without it, an operation only lacks the number that it heads for. */
  #counted(order: Order): Promise<Count | null> {
    return this.count(order).catch(() => null);
  }

  #failed(error: unknown): Unfinished {
    const report = (unexpected: unknown): void => this.#logger.error(printableError(unexpected));
    const { message } = asRefusal(error, report);
    const isRefused = REFUSED.some((type) => error instanceof type);
    return { as: 'failed', error: message, ...(isRefused && { refusal: error }) };
  }

  async #told(open: Open, write: () => Promise<OperationLine>): Promise<void> {
    for (let tries = 1; ; tries += 1) {
      try {
        open.line = await write();
        break;
      } catch (error) {
        const isGone = error instanceof Refusal && error.problem === 'notFound';
        if (isGone || tries >= TRIES || this.queue.closing.aborted) throw error;
        await rest(pauseMs(AGAIN, tries));
      }
    }
    if (open.line.state === 'stopping') open.stop.abort();
    this.tell(open.line);
  }

  /** While one is open, whether it runs or waits. */
  #keep(): void {
    this.#keeping ??= setInterval(() => void this.#kept(), this.keepEveryMs).unref();
  }

  #close(id: string): void {
    this.#open.delete(id);
    if (this.#open.size > 0) return;
    clearInterval(this.#keeping);
    this.#keeping = undefined;
  }

  async #kept(): Promise<void> {
    try {
      const stopping = await this.log.keep([...this.#open.keys()]);
      for (const id of stopping) this.#open.get(id)?.stop.abort();
    } catch {
      // The next one may get through.
    }
  }
}

const ENDED_EARLY: Unfinished = { as: 'stopped', error: null };

/** Of these, nothing was written. */
const REFUSED = [DelayInvalidError, DelayPayloadError, DelayConflictError];
