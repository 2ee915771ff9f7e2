import type { Appointment } from '../time/timeline.js';
import type { Transaction } from './transaction.js';

/** The server's side of one connection. */
export interface Session {
  readonly pid: number;
  /** Whose connection it is, for the trace. */
  readonly owner: string;
  /** The transaction that was opened with START TRANSACTION. */
  open: Transaction | undefined;
  /** The command tag of its last statement. */
  tag: string;
  isOver: boolean;
  /** A statement runs: the server does not look whether its client is still there. */
  isBusy: boolean;
  isLeft: boolean;
  /** Ends a session that is idle in its transaction for too long. */
  idle: Appointment | undefined;
  /** Told when the server ends the session. */
  onEnd: (error: Error) => void;
  onNotification: (channel: string, text: string) => void;
}

/** All sessions of the server, with what goes when they go: listeners and advisory locks. */
export class Sessions {
  readonly #sessions = new Map<number, Session>();
  readonly #listeners = new Map<string, Set<Session>>();
  readonly #presence = new Map<string, Session>();
  #lastPid = 1_000;

  add(callbacks: Pick<Session, 'owner' | 'onEnd' | 'onNotification'>): Session {
    const pid = ++this.#lastPid;
    const session: Session = {
      pid,
      open: undefined,
      tag: '',
      isOver: false,
      isBusy: false,
      isLeft: false,
      idle: undefined,
      ...callbacks,
    };
    this.#sessions.set(pid, session);
    return session;
  }

  get(pid: number): Session | undefined {
    return this.#sessions.get(pid);
  }

  all(): Session[] {
    return [...this.#sessions.values()];
  }

  /** Its client is gone: found out when the statement that runs has been finished, and committed. */
  leave(session: Session): void {
    session.isLeft = true;
    if (!session.isBusy) this.end(session);
  }

  /** Its locks go, what it had not committed is undone; its client is not told. */
  end(session: Session): void {
    if (session.isOver) return;
    session.isOver = true;
    this.#sessions.delete(session.pid);
    for (const listening of this.#listeners.values()) listening.delete(session);
    for (const [node, holder] of this.#presence) {
      if (holder === session) this.#presence.delete(node);
    }
    if (session.idle) session.idle.off = true;
    session.open?.rollback();
    session.open = undefined;
  }

  listen(session: Session, channel: string): void {
    const listening = this.#listeners.get(channel) ?? new Set();
    listening.add(session);
    this.#listeners.set(channel, listening);
  }

  unlisten(session: Session, channel: string): void {
    this.#listeners.get(channel)?.delete(session);
  }

  listening(channel: string): Session[] {
    return [...(this.#listeners.get(channel) ?? [])];
  }

  /** `pg_try_advisory_lock` on the name of a node. */
  claimPresence(session: Session, node: string): boolean {
    const holder = this.#presence.get(node);
    if (holder === undefined) this.#presence.set(node, session);
    return holder === undefined || holder === session;
  }

  isPresent(node: string): boolean {
    return this.#presence.has(node);
  }
}
