import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  DelayInvalidError,
  type DelayBatchContext,
  type TransactionalDelayContext,
} from 'nestjs-delay-queue';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { heldCode } from '../support/held-code.js';
import {
  type DelayNode,
  fencedBatchHandler,
  fencedHandler,
  plainHandler,
  signal,
  startNode,
} from '../support/delay-node.js';

/** Which transaction a call is part of: the one that it names, and no other. */
const NAME = 'test.own';
const KEY = 'k';
const LATER = { after: '1h' } as const;

let database: TestDatabase;
let node: DelayNode;

beforeEach(async () => {
  database = await createTestDatabase();
});

afterEach(async () => {
  await node?.stop();
  await database.drop();
});

type Ctx = TransactionalDelayContext & Partial<DelayBatchContext>;

const KINDS = {
  'a transactional handler': (run: (ctx: Ctx) => Promise<void>, maxAttempts = 1) =>
    fencedHandler(NAME, (_delay, ctx) => run(ctx), { maxAttempts, timeout: '25s' }),
  'a transactional batch': (run: (ctx: Ctx) => Promise<void>, maxAttempts = 1) =>
    fencedBatchHandler(NAME, (_delays, ctx) => run(ctx), { maxAttempts, batch: 5, timeout: '25s' }),
};

const start = async (...providers: Parameters<typeof startNode>[0]['providers'] & object) => {
  node = await startNode({ url: database.url, providers });
};

const fire = () => node.delays.schedule(NAME, null, { after: 0, key: KEY });

const writes = (manager?: TransactionalDelayContext['manager'] | 'own') => [
  () => node.delays.schedule('test.a', { n: 1 }, { ...LATER, key: 'one', manager }),
  () => node.delays.schedule('test.a', { n: 1 }, { ...LATER, manager }),
  () =>
    node.delays.scheduleMany([{ name: 'test.a', payload: { n: 1 }, ...LATER, key: 'many' }], {
      manager,
    }),
  () => node.delays.reschedule('test.a', 'there', LATER, { manager }),
  () => node.delays.cancel('test.a', 'there', { manager }),
  () => node.delays.retryDead('test.a', 'dead', { manager }),
];

const errorOf = (call: () => Promise<unknown>): Promise<unknown> =>
  call().then(
    () => undefined,
    (error: unknown) => error,
  );

describe.each(Object.entries(KINDS))('in %s', (_kind, handlerOf) => {
  it('a write that does not say which transaction is refused, a read is not', async () => {
    const errors: unknown[] = [];
    const found: unknown[] = [];
    await start(
      handlerOf(async () => {
        for (const write of writes()) errors.push(await errorOf(write));
        found.push((await node.delays.find(NAME, KEY))?.state);
        found.push(await node.delays.history(NAME, KEY));
      }),
    );
    const completed = node.next('completed');
    await fire();
    await completed;
    expect(errors).toHaveLength(6);
    for (const error of errors) {
      expect(error).toBeInstanceOf(DelayInvalidError);
      expect(error).toMatchObject({ field: 'manager' });
      expect(String(error)).toMatch(/ctx\.manager.*'own'/);
    }
    expect(found).toEqual(['running', []]);
  });

  it("`manager: 'own'` is committed whatever becomes of the handler, ctx.manager is not", async () => {
    await start(
      handlerOf(async ({ manager }) => {
        await node.delays.schedule('test.a', { n: 1 }, { ...LATER, key: 'own', manager: 'own' });
        await node.delays.scheduleMany(
          [{ name: 'test.a', payload: { n: 1 }, ...LATER, key: 'own many' }],
          { manager: 'own' },
        );
        await node.delays.schedule('test.a', { n: 1 }, { ...LATER, key: 'joined', manager });
        throw new Error('after the writes');
      }),
    );
    const dead = node.next('dead');
    await fire();
    await dead;
    expect(await node.delays.find('test.a', 'own')).toMatchObject({ state: 'scheduled' });
    expect(await node.delays.find('test.a', 'own many')).toMatchObject({ state: 'scheduled' });
    expect(await node.delays.find('test.a', 'joined')).toBeNull();
  });

  it("an 'own' call that waits for what the handler itself holds is refused, and does not hang", async () => {
    const errors: unknown[] = [];
    await start(
      handlerOf(async ({ manager }) => {
        await node.delays.cancel('test.a', 'there', { manager });
        await node.delays.schedule('test.a', { n: 1 }, { ...LATER, key: 'new', manager });
        errors.push(
          ...(await Promise.all([
            errorOf(() => node.delays.cancel('test.a', 'there', { manager: 'own' })),
            errorOf(() =>
              node.delays.schedule('test.a', { n: 2 }, { ...LATER, key: 'new', manager: 'own' }),
            ),
          ])),
        );
      }),
    );
    await node.delays.schedule('test.a', { n: 1 }, { ...LATER, key: 'there' });
    const completed = node.next('completed');
    await fire();
    await completed;
    const code = await heldCode(node.dataSource);
    expect(errors).toMatchObject([{ code }, { code }]);
    expect((await node.delays.find('test.a', 'new'))?.payload).toEqual({ n: 1 });
  });

  it('its manager is refused once the handler has ended, and its context means nothing', async () => {
    const goOn = signal();
    const after = signal<unknown[]>();
    await start(
      handlerOf(({ manager }) => {
        const late = async (): Promise<void> => {
          await goOn.promise;
          const refused = await Promise.all(writes(manager).map(errorOf));
          after.resolve([...refused, ...(await Promise.all(writes().map(errorOf)))]);
        };
        late().catch(after.reject);
        return Promise.resolve();
      }),
    );
    const completed = node.next('completed');
    await fire();
    await completed;
    goOn.resolve();
    const errors = await after.promise;
    for (const error of errors.slice(0, 6)) {
      expect(error).toMatchObject({ field: 'manager', code: 'DELAY_INVALID' });
    }
    expect(errors.slice(6)).toEqual(Array(6).fill(undefined));
    expect(await node.delays.find('test.a', 'one')).toMatchObject({ state: 'scheduled' });
  });
});

describe('everywhere else', () => {
  it("'own' is what is meant without a manager", async () => {
    await start();
    const own = { manager: 'own' } as const;
    const options = { ...LATER, key: KEY, ...own };
    expect(await node.delays.schedule('test.a', { n: 1 }, options)).toMatchObject({
      verdict: 'scheduled',
    });
    expect(await node.delays.find('test.a', KEY, own)).toMatchObject({ state: 'scheduled' });
    expect(await node.delays.cancel('test.a', KEY, own)).toMatchObject({ verdict: 'cancelled' });
    expect(await node.delays.history('test.a', KEY, own)).toHaveLength(1);
  });

  it.each(['mine', 'OWN', null, {}])('%j is no manager', async (manager) => {
    await start();
    const call = node.delays.cancel('test.a', KEY, { manager } as never);
    await expect(call).rejects.toMatchObject({ field: 'manager' });
  });

  it('the manager of a runner that was released is refused', async () => {
    await start();
    const runner = node.dataSource.createQueryRunner();
    await runner.connect();
    await runner.release();
    const call = node.delays.cancel('test.a', KEY, { manager: runner.manager });
    await expect(call).rejects.toMatchObject({ field: 'manager', code: 'DELAY_INVALID' });
  });

  it("a plain handler needs not say anything, and 'own' means its own row as well", async () => {
    const answers: unknown[] = [];
    await start(
      plainHandler(NAME, async ({ payload }) => {
        if (payload !== null) return;
        const options = { after: 0, key: KEY, manager: 'own' } as const;
        answers.push(await node.delays.schedule('test.a', { n: 1 }, LATER));
        answers.push(await node.delays.schedule(NAME, 'again', options));
      }),
    );
    const completed = node.next('completed');
    await fire();
    await completed;
    expect(answers).toMatchObject([{ verdict: 'scheduled' }, { verdict: 'scheduled' }]);
  });
});
