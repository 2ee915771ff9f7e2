import type { AttemptEvent } from 'nestjs-delay-queue';
import type { Call, Script } from './program.js';

/** A part of a transaction that is kept or undone as one: the whole, or what a savepoint holds. */
export interface Scope {
  parent: Scope | undefined;
  /** By whoever made it, in his own words. */
  undone: boolean;
}

/** A transaction of a caller, or of a handler's attempt. */
export interface Transaction {
  no: number;
  who: string;
  attempt: HandlerCall | undefined;
  xid: string | undefined;
  scope: Scope;
  /** What its maker was told. */
  told: 'open' | 'committed' | 'refused';
  error: unknown;
  /** How many things had happened when it was over for its maker. */
  overAt: number;
  /**
   * A nested transaction could not begin, for this one was aborted. TypeORM 1.1 rolls back the one around
   * it then, and commits everything when that one ends: nobody knows any more which part stands.
   */
  isMangled: boolean;
}

/** A row that a caller wrote for himself, or tried to. */
export interface Write {
  token: string;
  transaction: Transaction | undefined;
  scope: Scope | undefined;
  /** The transaction it landed in, as Postgres answered; undefined when it was refused, or never answered. */
  xid: string | undefined;
  answeredAt: number;
}

/** A call of the library and what it was told. */
export interface Told {
  no: number;
  call: Call;
  who: string;
  /** Of the payloads that it schedules, in the order of its wishes. */
  tokens: readonly string[];
  transaction: Transaction | undefined;
  scope: Scope | undefined;
  answers: readonly { verdict: string; id?: string; dueAt?: Date }[] | undefined;
  error: unknown;
  askedAt: number;
  answeredAt: number;
}

/** Whether that payload was kept until its key had run: the engine writes it then, in a transaction of its own. */
export const isRerun = ({ tokens, answers }: Told, token: string): boolean =>
  answers?.[tokens.indexOf(token)]?.verdict === 'rerun';

/** A handler was called. */
export interface HandlerCall {
  id: string;
  name: string;
  token: string;
  attempt: number;
  script: Script;
  transactional: boolean;
  calledAt: number;
}

/** What was seen from inside the process. Moments are numbered, so that no clock is compared. */
export class Record {
  readonly transactions: Transaction[] = [];
  readonly writes: Write[] = [];
  readonly told: Told[] = [];
  readonly handlerCalls: HandlerCall[] = [];
  readonly completed: AttemptEvent[] = [];
  /** What needs no second look: it is wrong as soon as it is seen. */
  readonly faults: string[] = [];
  /** What nobody in the program waits for; the end of the program does. */
  readonly loose: Promise<unknown>[] = [];
  /** Played when the sessions are over: a manager that was kept too long, a message that comes late. */
  readonly afterwards: (() => Promise<unknown>)[] = [];
  /** When the delays stood that are there before the sessions begin: the first of them run before that. */
  placedAt = Infinity;
  #moment = 0;
  #tokens = 0;

  moment(): number {
    this.#moment += 1;
    return this.#moment;
  }

  token(prefix: string): string {
    this.#tokens += 1;
    return `${prefix}${this.#tokens}`;
  }

  begin(who: string, attempt?: HandlerCall): Transaction {
    const transaction: Transaction = {
      no: this.transactions.length + 1,
      who,
      attempt,
      xid: undefined,
      scope: { parent: undefined, undone: false },
      told: 'open',
      error: undefined,
      overAt: Infinity,
      isMangled: false,
    };
    this.transactions.push(transaction);
    return transaction;
  }

  fault(kind: string, what: string): void {
    this.faults.push(`${kind}: ${what}`);
  }

  /** Something goes on that is not waited for here. */
  loosen(work: Promise<unknown>): void {
    this.loose.push(work.catch(() => {}));
  }
}

/** Whether its maker undid it, or something around it. */
export function isUndone(scope: Scope | undefined): boolean {
  for (let at = scope; at !== undefined; at = at.parent) if (at.undone) return true;
  return false;
}
