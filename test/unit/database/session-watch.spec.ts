import { EventEmitter } from 'node:events';
import { beforeEach, describe, expect, it } from '@jest/globals';
import type { DataSource, QueryRunner } from 'typeorm';
import { SessionWatch } from '../../../src/delay-queue/core/database/session-watch.js';

/** A session, by what the server says on it. */
class Session {
  readonly connection = new EventEmitter();

  /** @param status how the session stands behind the answers */
  answers(status: 'I' | 'T' | 'E', ...tags: string[]): void {
    for (const text of tags) this.connection.emit('commandComplete', { text });
    this.connection.emit('readyForQuery', { status });
  }

  get listeners(): number {
    const { connection } = this;
    return connection.eventNames().reduce((sum, name) => sum + connection.listenerCount(name), 0);
  }
}

let dataSource: DataSource;
let session: Session;
let runner: QueryRunner;
let watch: SessionWatch;
let ends: string[];

const runnerOn = (client: unknown, more: object = {}): QueryRunner =>
  ({
    dataSource,
    databaseConnection: client,
    isReleased: false,
    connect: async () => client,
    ...more,
  }) as unknown as QueryRunner;

beforeEach(() => {
  dataSource = {} as DataSource;
  session = new Session();
  runner = runnerOn(session);
  ends = [];
  SessionWatch.beginIfConnected(runner);
  watch = SessionWatch.of(runner)!;
});

const hearEnd = (): void => watch.onOver((end) => ends.push(end));

const state = () => [watch.isOpen, watch.transactions, watch.rollbacks];

describe('a transaction', () => {
  it('is open from its BEGIN, and over with the answer to its COMMIT', () => {
    expect(state()).toEqual([undefined, 0, 0]);
    session.answers('T', 'BEGIN');
    hearEnd();
    expect(state()).toEqual([true, 0, 0]);
    session.answers('T', 'INSERT 0 1');
    expect([state(), ends]).toEqual([[true, 0, 0], []]);
    session.connection.emit('commandComplete', { text: 'COMMIT' });
    expect([state(), ends]).toEqual([[false, 1, 0], ['committed']]);
    session.answers('I');
    session.answers('I', 'SELECT 1');
    expect([state(), ends]).toEqual([[false, 1, 0], ['committed']]);
  });

  it('whose COMMIT is answered by ROLLBACK was rolled back', () => {
    session.answers('T', 'START TRANSACTION');
    hearEnd();
    session.answers('E');
    expect([state(), ends]).toEqual([[true, 0, 0], []]);
    session.answers('I', 'ROLLBACK');
    expect([state(), ends]).toEqual([[false, 1, 1], ['rolled back']]);
  });

  it('that was open before anything was heard of it is rolled back when the session is idle', () => {
    hearEnd();
    session.answers('I', 'ROLLBACK');
    expect([state(), ends]).toEqual([[false, 1, 1], ['rolled back']]);
  });

  it('goes on behind a ROLLBACK to a savepoint, which is counted', () => {
    session.answers('T', 'BEGIN');
    hearEnd();
    session.answers('T', 'ROLLBACK');
    expect([state(), ends]).toEqual([[true, 0, 1], []]);
  });

  it('prepared for a second phase has an end that is not known', () => {
    session.answers('T', 'BEGIN');
    hearEnd();
    session.answers('I', 'PREPARE TRANSACTION');
    expect([state(), ends]).toEqual([[false, 1, 0], ['unknown']]);
  });

  it.each([
    ['by one text', () => session.answers('T', 'COMMIT', 'BEGIN')],
    ['by a chain', () => session.answers('T', 'COMMIT')],
  ])('is followed by the next one, %s', (_, next) => {
    session.answers('T', 'BEGIN');
    hearEnd();
    next();
    expect([state(), ends]).toEqual([[true, 1, 0], ['committed']]);
    hearEnd();
    session.answers('I', 'COMMIT');
    expect([state(), ends]).toEqual([
      [false, 2, 0],
      ['committed', 'committed'],
    ]);
  });

  it('that was rolled back in a chain is followed by the next one', () => {
    session.answers('T', 'BEGIN');
    hearEnd();
    session.answers('T', 'ROLLBACK');
    watch.rolledBackAndChained();
    expect([state(), ends]).toEqual([[true, 1, 1], ['rolled back']]);
    hearEnd();
    session.answers('I', 'COMMIT');
    expect([state(), ends]).toEqual([
      [false, 2, 1],
      ['rolled back', 'committed'],
    ]);
  });

  it('has an end that is not known when its session ends', () => {
    session.answers('T', 'BEGIN');
    hearEnd();
    session.connection.emit('end');
    session.connection.emit('end');
    expect([state(), ends]).toEqual([[false, 1, 0], ['unknown']]);
  });
});

describe('a session', () => {
  it('has one watch, whichever runner it is lent to', () => {
    const other = runnerOn(session);
    expect(SessionWatch.begin(other)).toBeUndefined();
    expect(SessionWatch.of(other)).toBe(watch);
    expect(session.listeners).toBe(3);
  });

  it('is left alone when the last one that asked has gone, and watched anew for the next', () => {
    SessionWatch.endAll(dataSource);
    expect([session.listeners, SessionWatch.of(runner)]).toEqual([0, undefined]);
    expect(SessionWatch.beginIfConnected(runner)).toBe(true);
    expect(SessionWatch.of(runner)).not.toBe(watch);
    expect(session.listeners).toBe(3);
    const [ended, gone] = [new Session(), {} as DataSource];
    SessionWatch.beginIfConnected(runnerOn(ended, { dataSource: gone }));
    // What belongs to another DataSource stays, and one that has ended is not ended again.
    ended.connection.emit('end');
    SessionWatch.endAll(gone);
    expect([ended.listeners, session.listeners]).toEqual([3, 3]);
  });

  it('is watched as soon as its runner is connected', async () => {
    const late = new Session();
    const unconnected = runnerOn(undefined, { connect: async () => late });
    expect(SessionWatch.beginIfConnected(unconnected)).toBe(false);
    await SessionWatch.begin(unconnected);
    expect(SessionWatch.of(unconnected)?.isOpen).toBeUndefined();
    expect(late.listeners).toBe(3);
  });

  it('of a runner that was released is not watched', () => {
    const released = runnerOn(new Session(), { isReleased: true });
    expect(SessionWatch.beginIfConnected(released)).toBe(false);
    expect(SessionWatch.begin(released)).toBeUndefined();
    expect(SessionWatch.of(released)).toBeUndefined();
  });

  it.each([
    ['no object', 'text'],
    ['without a connection', {}],
    ['with a connection of another kind', { connection: { on: true } }],
    ['with no connection', { connection: null }],
  ])('is not seen through a client that is %s', (_, client) => {
    const blind = runnerOn(client);
    expect(SessionWatch.beginIfConnected(blind)).toBe(true);
    expect(SessionWatch.of(blind)).toBeUndefined();
  });
});
