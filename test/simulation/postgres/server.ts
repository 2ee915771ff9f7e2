import { EPOCH_MS } from '../time/globals.js';
import type { Appointment, Timeline } from '../time/timeline.js';
import { catalogOf, sideStatement, type Known } from './catalog.js';
import { PgError } from './pg-error.js';
import { microsOf, type Micros } from './row.js';
import { Sessions, type Session } from './sessions.js';
import { type Commit, Tables } from './tables.js';
import { Transaction } from './transaction.js';

export interface ServerWatch {
  /** A statement begins. */
  onStatement?: (known: Known, session: Session, parameters: readonly unknown[]) => void;
  onCommit?: (commit: Commit, now: Micros) => void;
}

type Done = (error: Error | undefined, rows: object[]) => void;

/** A Postgres with the tables of the library, at the level of statements, row locks and sessions. */
export class Server {
  readonly tables = new Tables();
  readonly sessions = new Sessions();
  #latest = -Infinity;
  readonly #catalog = catalogOf(this.tables, this.sessions);
  /** Somebody set its clock, or another server took over. */
  clockOffsetMs = 0;
  isUp = true;

  constructor(
    private readonly timeline: Timeline,
    private readonly watch: ServerWatch = {},
    /** How long a statement of its own transaction stays uncommitted after it has run. */
    private readonly holdMs: () => number = () => 0,
  ) {}

  /** `clock_timestamp()` */
  now(): Micros {
    const now = microsOf(EPOCH_MS + this.timeline.nowMs + this.clockOffsetMs);
    this.#latest = Math.max(this.#latest, now);
    return now;
  }

  /** The latest that its clock ever showed: once it was due, it stays so, wherever the clock goes. */
  latest(): Micros {
    return Math.max(this.#latest, this.now());
  }

  /** Runs one statement; `done` is called once, unless the session ends before. */
  execute(session: Session, sql: string, parameters: readonly unknown[], done: Done): void {
    if (session.idle) session.idle.off = true;
    session.isBusy = true;
    const answer: Done = (error, rows) => {
      if (session.isOver) return;
      session.isBusy = false;
      if (session.isLeft) this.sessions.end(session);
      if (error && session.open) session.open.isAborted = true;
      this.#watchIdle(session);
      done(error, rows);
    };
    try {
      session.tag = 'SELECT';
      if (this.#control(session, sql)) answer(undefined, []);
      else this.#run(session, this.#known(session, sql), parameters, answer);
    } catch (error) {
      answer(error as Error, []);
    }
  }

  /** An error that the statement met at once: a full disk, a timeout. */
  refuse(session: Session, sql: string, error: Error, done: Done): void {
    // A rollback writes nothing: it succeeds in any case, to a savepoint too.
    if (sql.startsWith('ROLLBACK')) {
      this.#control(session, sql);
      done(undefined, []);
      return;
    }
    // What ends a transaction ends it in any case.
    if (sql === 'COMMIT') this.#control(session, 'ROLLBACK');
    else if (session.open) session.open.isAborted = true;
    done(error, []);
  }

  /** `pg_terminate_backend`, a crash of the backend, a timeout. */
  endSession(session: Session, error: Error): void {
    if (session.isOver) return;
    this.sessions.end(session);
    session.onEnd(error);
  }

  /** `pg_ctl stop -m immediate`: what is committed stays, everything else is gone. */
  stop(): void {
    this.isUp = false;
    const error = new PgError('57P01', 'terminating connection due to immediate shutdown command');
    for (const session of this.sessions.all()) this.endSession(session, error);
  }

  #known(session: Session, sql: string): Known {
    const known =
      this.#catalog.get(sql) ??
      sideStatement(sql, session, this.sessions, (pid) => {
        const victim = this.sessions.get(pid);
        if (victim) this.endSession(victim, new PgError('57P01', 'terminated by administrator'));
      });
    if (known) return known;
    throw new PgError('42601', `the simulated Postgres does not know this statement: ${sql}`);
  }

  #run(session: Session, known: Known, parameters: readonly unknown[], done: Done): void {
    this.watch.onStatement?.(known, session, parameters);
    if (session.open?.isAborted) {
      throw new PgError('25P02', 'current transaction is aborted');
    }
    const tx = session.open ?? new Transaction(this.tables, session.pid);
    const isAlone = tx !== session.open;
    if (isAlone) session.open = tx;
    tx.by = known.label;
    tx.now = this.now();
    const steps = known.run(tx, parameters);
    let hasFailed = false;
    const fail = (error: Error): void => {
      hasFailed = true;
      if (isAlone) {
        session.open = undefined;
        tx.rollback();
      }
      done(error, []);
    };
    let limit: Appointment | undefined;
    const goOn = (): void => {
      // Its session ended while it waited.
      if (tx.isOver || hasFailed) return;
      if (limit) limit.off = true;
      try {
        const step = steps.next();
        if (!step.done) {
          limit = this.#limitWait(tx, fail);
          tx.waitFor(step.value, () => this.timeline.after(0, goOn));
        } else if (isAlone) this.#commitAlone(session, tx, () => done(undefined, step.value));
        else done(undefined, step.value);
      } catch (error) {
        fail(error as Error);
      }
    };
    goOn();
  }

  #limitWait(tx: Transaction, fail: (error: Error) => void): Appointment | undefined {
    if (tx.lockTimeoutMs === undefined) return undefined;
    return this.timeline.after(tx.lockTimeoutMs, () => {
      if (!tx.isOver) fail(new PgError('55P03', 'canceling statement due to lock timeout'));
    });
  }

  /** A statement of its own transaction: others may run between its last row and its commit. */
  #commitAlone(session: Session, tx: Transaction, done: () => void): void {
    const commit = (): void => {
      if (tx.isOver) return;
      session.open = undefined;
      this.#commit(tx);
      done();
    };
    const holdMs = this.holdMs();
    if (holdMs === 0) commit();
    else this.timeline.after(holdMs, commit);
  }

  #commit(tx: Transaction): void {
    const commit = tx.commit();
    if (commit === undefined) return;
    this.watch.onCommit?.(commit, this.latest());
    for (const { channel, text } of tx.notifications) {
      for (const listener of this.sessions.listening(channel)) {
        listener.onNotification(channel, text);
      }
    }
  }

  /** @returns whether it was a statement about the transaction itself */
  #control(session: Session, sql: string): boolean {
    const [word, , name] = /^(SAVEPOINT|RELEASE SAVEPOINT|ROLLBACK TO SAVEPOINT)( (\w+))/
      .exec(sql)
      ?.slice(1) ?? [sql];
    if (word === 'START TRANSACTION') {
      session.open = new Transaction(this.tables, session.pid);
    } else if (word === 'COMMIT') {
      const tx = session.open;
      session.open = undefined;
      session.tag = tx?.isAborted ? 'ROLLBACK' : 'COMMIT';
      if (tx) this.#commit(tx);
    } else if (word === 'ROLLBACK') {
      session.open?.rollback();
      session.open = undefined;
      session.tag = 'ROLLBACK';
    } else if (name !== undefined) {
      const tx = session.open;
      if (word === 'SAVEPOINT') tx?.savepoint(name);
      else if (word === 'RELEASE SAVEPOINT') tx?.releaseSavepoint(name);
      else {
        tx?.rollbackTo(name);
        session.tag = 'ROLLBACK';
      }
    } else return sql.startsWith('SET TRANSACTION ISOLATION LEVEL ');
    return true;
  }

  #watchIdle(session: Session): void {
    const idleMs = session.open?.idleMs;
    if (idleMs === undefined) return;
    session.idle = this.timeline.after(idleMs, () =>
      this.endSession(session, new PgError('25P03', 'idle-in-transaction timeout')),
    );
  }
}
