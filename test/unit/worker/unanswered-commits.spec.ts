import { beforeEach, describe, expect, it } from '@jest/globals';
import { DelayEvents } from 'nestjs-delay-queue';
import { type HeldClaim, InFlight, type Outcome } from '../../../src/delay-queue/worker/claims.js';
import { toldPauses } from '../../support/told-pauses.js';

const pauses = toldPauses();
const { UnansweredCommits } = await import('../../../src/delay-queue/worker/claims.js');

const FAILED: Outcome = { kind: 'failed', error: new Error('Connection terminated') };
const claimOf = (id: number, committingIn?: string) =>
  ({ id, epoch: 1, committingIn }) as HeldClaim;

let unwritten: InFlight;
let asked: unknown[];
/** What Postgres says, one answer after the other. */
let answers: (string | null | Error)[];
let commits: InstanceType<typeof UnansweredCommits>;
let events: string[];
let told: [id: number, kind: string][];
const tell = ({ id }: HeldClaim, { kind }: Outcome): void => void told.push([id, kind]);

beforeEach(() => {
  [unwritten, asked, answers, told] = [new InFlight(), [], [], []];
  [events, pauses.retries.length, pauses.locked.length] = [[], 0, 0];
  const all = new DelayEvents();
  all.on('taskFailed', ({ task }) => events.push(task));
  all.on('taskRecovered', ({ task }) => events.push(`${task} again`));
  const query = async (_sql: string, parameters: unknown[]): Promise<never[]> => {
    asked.push(...parameters);
    const answer = answers.length > 0 ? answers.shift() : 'in progress';
    if (answer instanceof Error) throw answer;
    return [{ status: answer }] as never[];
  };
  commits = new UnansweredCommits({ query }, unwritten, all);
});

describe('UnansweredCommits', () => {
  it.each<[string | null, string]>([
    ['committed', 'completed'],
    ['aborted', 'failed'],
    [null, 'failed'],
  ])(
    'ask until Postgres says %p, once for a batch, and keep the leases meanwhile',
    async (end, kind) => {
      answers = ['in progress', new Error('Connection terminated'), end];
      for (const id of [1, 2]) commits.known(claimOf(id, '7'), FAILED, tell);
      expect([told, commits.size, unwritten.size]).toEqual([[], 2, 2]);
      await commits.whenEmpty(10_000);
      expect(told).toEqual([
        [1, kind],
        [2, kind],
      ]);
      expect([asked, commits.size, unwritten.size]).toEqual([['7', '7', '7'], 0, 0]);
    },
  );

  it('ask after pauses that grow, of two kinds, and tell of failures', async () => {
    const down = new Error('Connection terminated');
    answers = ['in progress', down, 'in progress', down, 'committed'];
    commits.known(claimOf(1, '7'), FAILED, tell);
    await commits.whenEmpty(10_000);
    expect([pauses.locked, pauses.retries]).toEqual([
      [1, 2],
      [1, 2],
    ]);
    expect(events).toEqual(['complete', 'complete again', 'complete', 'complete again']);
  });

  it('take a number that no transaction had yet for one that was not committed', async () => {
    answers = [Object.assign(new Error('in the future'), { code: '22023' })];
    commits.known(claimOf(1, '7'), FAILED, tell);
    await commits.whenEmpty(10_000);
    expect([told, asked]).toEqual([[[1, 'failed']], ['7']]);
  });

  it('ask nothing of those that never sent COMMIT, or heard of it', () => {
    commits.known(claimOf(1), FAILED, tell);
    commits.known(claimOf(2, '7'), { kind: 'completed' }, tell);
    expect([told, asked]).toEqual([
      [
        [1, 'failed'],
        [2, 'completed'],
      ],
      [],
    ]);
  });

  it('tell nothing when the node ends before', async () => {
    commits.known(claimOf(1, '7'), FAILED, tell);
    commits.close();
    await commits.whenEmpty(10_000);
    expect([told, commits.size]).toEqual([[], 0]);
  });
});
