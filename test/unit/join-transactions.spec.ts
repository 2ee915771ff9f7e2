import type { EventEmitter } from 'node:events';
import { setImmediate as turn } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { DelayRolledBackError, joinTypeormTransactional } from 'nestjs-delay-queue';
import type { DataSource, EntityManager } from 'typeorm';
import { TransactionEnds } from '../../src/delay-queue/transactions/commit-hooks.js';
import { RecordingLogger } from '../support/recording-logger.js';

/** What the library's context holds, and how deep its `run` was. */
let context: Map<string, unknown>;
let depth: number;
let dataSource: DataSource;
let runner: { isTransactionActive: boolean };
let manager: EntityManager;
let told: unknown[];
let logger: RecordingLogger;

beforeEach(() => {
  [context, depth, told] = [new Map(), 0, []];
  Logger.overrideLogger((logger = new RecordingLogger()));
  dataSource = { subscribers: [] } as unknown as DataSource;
  runner = Object.assign({ isTransactionActive: true }, { dataSource, transactionDepth: 1 });
  manager = { queryRunner: runner, dataSource } as unknown as EntityManager;
});

const around = joinTypeormTransactional(
  {
    set: (key, value) => void context.set(key, value),
    run: async (work) => {
      depth += 1;
      return work();
    },
  },
  'shop',
);

const enter = (next: () => Promise<void>, of: EntityManager | undefined = manager) =>
  around({ manager: of } as never, next);

const hooks = (): EventEmitter => context.get('@transactional/hook') as EventEmitter;

/** The transaction ends, as TypeORM tells it. */
async function end(how: 'Commit' | 'Rollback'): Promise<void> {
  runner.isTransactionActive = false;
  const ends = TransactionEnds.of(dataSource);
  await ends[`afterTransaction${how}`]({ queryRunner: runner } as never);
  expect(told).toEqual([]);
  await turn();
}

describe('the call of a transactional handler', () => {
  it('has its manager in the context, which keeps it inside of another one', async () => {
    await enter(async () => {
      told.push(context.get('@transactional/data-source/shop'), depth);
    });
    expect(told).toEqual([manager, 2]);
  });

  it('ends with what it throws', async () => {
    await expect(enter(() => Promise.reject(new Error('no')))).rejects.toThrow('no');
  });

  it('that has no transaction is left alone', async () => {
    await around({ manager: undefined } as never, async () => void told.push('called'));
    await enter(async () => void told.push('called'), {} as EntityManager);
    expect([told, depth, context.size]).toEqual([['called', 'called'], 0, 0]);
  });
});

describe('listeners of the end', () => {
  beforeEach(() =>
    enter(async () => {
      for (const event of ['commit', 'rollback', 'end']) {
        hooks().on(event, (error: unknown) => told.push([event, error]));
      }
    }),
  );

  it('may be any number', () => {
    expect(hooks().getMaxListeners()).toBe(0);
  });

  it('are told of a commit, once', async () => {
    await end('Commit');
    expect(told).toEqual([
      ['commit', undefined],
      ['end', undefined],
    ]);
    expect(hooks().eventNames()).toEqual([]);
  });

  it('are told of a rollback, and why', async () => {
    await end('Rollback');
    const error = expect.any(DelayRolledBackError) as unknown;
    expect(told).toEqual([
      ['rollback', error],
      ['end', error],
    ]);
  });

  it('that throw or reject are logged, and the others are told', async () => {
    hooks().prependListener('commit', () => {
      throw new Error('thrown');
    });
    hooks().prependListener('end', () => Promise.reject(new Error('rejected')));
    await end('Commit');
    expect(told).toHaveLength(2);
    expect(logger.lines()).toEqual(
      ['thrown', 'rejected'].map((text) =>
        expect.stringContaining(
          `a listener failed after its transaction had ended: Error: ${text}`,
        ),
      ),
    );
  });
});
