import { EventEmitter } from 'node:events';
import { beforeEach, expect, it } from '@jest/globals';
import { DelayUnavailableError } from 'nestjs-delay-queue';
import type { Pool } from 'pg';
import { OwnPool } from '../../../src/delay-queue/core/database/own-pool.js';
import type { PreparedStatements } from '../../../src/delay-queue/core/database/prepared-statements.js';

/** A pool of `pg`, as far as it matters: what was given back last is handed out first. */
class FakePool extends EventEmitter {
  readonly idle: FakeClient[] = [];
  opened = 0;

  async connect(): Promise<FakeClient> {
    const known = this.idle.pop();
    if (known !== undefined) return known;
    this.opened += 1;
    const client = new FakeClient(this, this.opened);
    this.emit('connect', client);
    return client;
  }
}

class FakeClient {
  constructor(
    private readonly pool: FakePool,
    readonly processID: number,
  ) {}

  release(isBroken = false): void {
    if (!isBroken) this.pool.idle.push(this);
  }

  async query(): Promise<{ rows: unknown[] }> {
    return { rows: hanging.map((pid) => ({ pid: String(pid) })) };
  }
}

/** Those that the server says it still has. */
let hanging: number[];
/** On which client each statement was sent. */
let sentOn: number[];
/** What comes of the statements; when none is left, they are answered. */
let ends: (Error | undefined)[];
let pool: FakePool;
let own: OwnPool;
let dead: number[];

beforeEach(() => {
  [hanging, sentOn, ends, dead] = [[], [], [], []];
  pool = new FakePool();
  const prepared = {
    applySettings: async () => {},
    run: async ({ processID }: FakeClient) => {
      sentOn.push(processID);
      // As long as a clock takes to go on.
      await new Promise((resolve) => setTimeout(resolve, 2));
      const end = ends.shift();
      if (end !== undefined) throw end;
      return [];
    },
  } as unknown as PreparedStatements;
  own = new OwnPool(pool as unknown as Pool, prepared, (openedBeforeMs) => {
    dead.push(openedBeforeMs);
    own.renew(openedBeforeMs);
  });
});

const ask = (): Promise<unknown> => own.query('', []).catch((error: unknown) => error);
const asks = (count: number): Promise<unknown[]> => Promise.all(Array.from({ length: count }, ask));

const silent = (): Error => new Error('Query read timeout');
const refused = (code: string): Error => Object.assign(new Error('no'), { code });

it.each([
  ['does not answer', silent(), true],
  ['takes no writes', refused('25006'), true],
  ['refuses a statement', refused('23505'), false],
  ['was closed', refused('57P01'), false],
])(
  'when one connection %s, those opened before it are used no more where they may be like that: %p',
  async (_, end, isRenewed) => {
    await asks(3);
    expect(pool.idle).toHaveLength(3);
    ends = [end];
    await ask();
    sentOn = [];
    await asks(2);
    expect(sentOn.every((id) => id > 3)).toBe(isRenewed);
    expect(dead).toHaveLength(isRenewed ? 1 : 0);
    // Those that are new stay.
    expect(await asks(2)).toEqual([[], []]);
    expect(pool.opened).toBe(isRenewed ? 5 : 3);
  },
);

it('sessions that hang at their COMMIT are left behind up to a limit, and work goes on when the server has them no more', async () => {
  for (let count = 1; count <= 6; count += 1) {
    ends = [silent()];
    await ask();
    hanging.push(count);
  }
  const sent = sentOn.length;
  expect(await ask()).toBeInstanceOf(DelayUnavailableError);
  await expect(own.tryQuery('', [])).rejects.toBeInstanceOf(DelayUnavailableError);
  expect(sentOn).toHaveLength(sent);
  hanging = [1];
  expect(await ask()).toEqual([]);
});
