import type { Random } from '../../../src/random.js';
import type { Cursor } from '../../../src/delay-queue/store/wire/wakes.js';
import { presenceSql } from '../../../src/delay-queue/store/sql/nodes/presence.sql.js';
import { inLockOrder } from '../../../src/delay-queue/store/lock-order.js';
import { UNIT_MS } from './same.js';
import type { Side, Which } from './side.js';
import type { Step } from './step.js';
import { stepTogether } from './together.js';
import { NAMES, spanMs, whereTo, wishOf } from './wishes.js';

interface Claim {
  id: number;
  epoch: number;
}

/** Rows as the sequence last saw them: what it asks for next is mostly, not always, right. */
export interface Seen extends Claim {
  leased_by: string | null;
}

const NODES = ['n1', 'n2', 'n3'];

/** The engine runs these outside of every transaction; the simulated Postgres knows no other way. */
const alone: MakeStep = (what, run) => ({ what, on: 'single', run, hasOrder: true });

/** @param seen the rows there are */
export function randomStep(random: Random, seen: readonly Seen[], isOpen: boolean): Step {
  const node = random.pick(NODES);
  const some = <Item>(make: (row: Claim) => Item): Item[] =>
    seen
      .filter(() => random.chance(0.5))
      .map(({ id, epoch }) => make({ id, epoch: random.chance(0.9) ? epoch : epoch + 1 }));
  const name = random.pick(NAMES);
  const key = `k${random.integer(1, 4)}`;
  const on: Which = isOpen && random.chance(0.4) ? 'open' : 'single';
  const step = (what: string, run: Step['run'], more: Partial<Step> = {}): Step => ({
    what: `${what} (${on})`,
    on,
    run,
    hasOrder: true,
    ...more,
  });
  const claim = () => {
    const wanted = some((row) => ({ ...row, leaseMs: spanMs(random), maxAttempts: 2 }));
    const run = (side: Side) => side.work(on, node).claim(wanted);
    return step(`claim ${JSON.stringify(wanted)} by ${node}`, run, { hasOrder: false });
  };
  const settle = () => {
    const items = some((row) => ({
      ...row,
      waitMs: random.chance(0.4) ? null : spanMs(random),
      movesDue: random.chance(0.3),
      refund: random.pick([0, 1] as const),
      error: random.pick([null, 'no luck']),
    })).map((item) => ({ ...item, movesDue: item.movesDue && item.waitMs !== null }));
    // Mostly by whoever holds one of them: others change nothing.
    const { leased_by: holder } = seen.find((row) => row.leased_by !== null) ?? {};
    const by = random.chance(0.7) ? (holder ?? node) : node;
    const run = (side: Side) => side.work(on, by).retry(items);
    return step(`settle ${JSON.stringify(items)} by ${by}`, run, { hasOrder: false });
  };
  const bury = () => {
    const items = some((row) => ({ ...row, leaseMs: 0, maxAttempts: random.integer(1, 2) }));
    const run = (side: Side) => side.work(on, node).deadLetter(items, 'no attempt left');
    return step(`bury ${JSON.stringify(items)}`, run, { hasOrder: false });
  };
  const kinds: (() => Step)[] = [
    // Often, so that all the others meet leases, expired ones and dead letters.
    claim,
    claim,
    claim,
    settle,
    settle,
    bury,
    bury,
    () => {
      const ids = some(({ id }) => id);
      return step('look', (side) => side.work(on, node).lookAt(ids), { hasOrder: false });
    },
    () => {
      const items = some((row) => ({ ...row, latenessMs: 7 })).slice(0, 2);
      const run = (side: Side) => side.work(on, node).complete(items);
      return step(`complete ${JSON.stringify(items)}`, run, { hasOrder: false });
    },
    () => {
      const items = some((row) => row);
      const leaseMs = spanMs(random);
      const run = (side: Side) => side.work(on, node).renew(items, leaseMs);
      return step(`renew ${JSON.stringify(items)}`, run, { hasOrder: false });
    },
    () => {
      const rows = some((found) => found);
      const run = (side: Side) =>
        side.work('open', node).fence(side.runner('open'), rows, 24 * 3_600_000);
      return step(`fence ${JSON.stringify(rows)}`, run, { on: isOpen ? 'open' : on });
    },
    () => pages(random, node, step, 'load'),
    () => pages(random, node, step, 'sweep'),
    () => alone(`leave ${node}`, (side) => side.ofNode(node).leave()),
    () => alone('forget nodes', (side) => side.ofNode(node).forgetNodes(5 * UNIT_MS, 2)),
    () => alone('prune', (side) => side.ofNode(node).prune(7 * UNIT_MS, 2)),
    () => alone(`presence ${node}`, (side) => side.runner('single').query(presenceSql(), [node])),
    () => place(random, on, step),
    () => place(random, on, step),
    () => place(random, on, step),
    () => stepTogether(random),
    () => stepTogether(random),
    () => stepTogether(random),
    () => {
      const [own] = random.chance(0.3) ? some((row) => ({ ...row, latenessMs: 1 })) : [];
      const run = (side: Side) => side.delays(node).cancel(side.runner(on), name, key, own);
      return step(`cancel ${name} ${key}`, run);
    },
    () => {
      const to = random.chance(0.3)
        ? () => ({ kind: 'extend' as const, ms: 2 * UNIT_MS })
        : whereTo(random);
      const run = (side: Side) =>
        side.delays(node).reschedule(side.runner(on), name, key, to(side));
      return step(`reschedule ${name} ${key}`, run);
    },
    () =>
      step(`revive ${name} ${key}`, (side) =>
        side.delays(node).retryDead(side.runner(on), name, key),
      ),
    () => {
      const [own = { id: 99, epoch: 0, latenessMs: 1 }] = some((row) => ({
        ...row,
        latenessMs: 1,
      }));
      const to = whereTo(random);
      const change = {
        verdict: 'scheduled',
        payload: random.pick([null, '{"n": 3}']),
        maxAttempts: null,
      };
      const patience = random.pick(['waits', 'at once'] as const);
      const run = (side: Side) =>
        side.delays(node).moveOn(side.runner(on), own, to(side), change, patience);
      return step(`move on ${JSON.stringify(own)} by ${node}`, run);
    },
  ];
  return random.pick(kinds)();
}

type MakeStep = (what: string, run: Step['run'], more?: Partial<Step>) => Step;

function place(random: Random, on: Which, step: MakeStep): Step {
  const slots = new Set(
    Array.from({ length: random.integer(1, 4) }, () => `k${random.integer(1, 5)}`),
  );
  const made = [...slots].map((key) => {
    return wishOf(random, { name: random.pick(NAMES), key: key === 'k5' ? null : key });
  });
  const run = async (side: Side): Promise<unknown> => {
    const placements = made.map((of) => of(side));
    const sorted = inLockOrder(placements).sorted;
    // A conflict leaves the rest written, in a transaction of one's own: so it does on both sides.
    return side.delays('n1').place(side.runner(on), sorted);
  };
  return step(`place ${[...slots].join()}`, run);
}

function pages(random: Random, node: string, step: MakeStep, what: 'load' | 'sweep'): Step {
  const names = NAMES.slice(0, random.integer(1, 2));
  const count = random.integer(1, 3);
  const rank = random.integer(0, count - 1);
  const shares = { names, counts: names.map(() => count), ranks: names.map(() => rank) };
  const limit = random.integer(1, 4);
  const scan = random.integer(1, 6);
  const helpAfterMs = random.pick([null, UNIT_MS]);
  const markMs = random.integer(0, 6) * UNIT_MS + UNIT_MS / 2;
  const isPresent = random.chance(0.5);
  const horizonMs = random.integer(1, 3) * 2 * UNIT_MS + UNIT_MS / 2;
  const instance = `${node} ${random.integer(1, 3)}`;
  const run = async (side: Side): Promise<unknown> => {
    const store = side.ofNode(node);
    const answers: object[] = [];
    let from: Cursor | null = what === 'load' ? { wakeMs: side.nowMs() - markMs, id: 0 } : null;
    for (let page = 0; page < 4; page += 1) {
      const limits = { scan, limit, helpAfterMs, aheadMs: UNIT_MS / 2 };
      const peersWithinMs = 4 * UNIT_MS + UNIT_MS / 2;
      const answer =
        what === 'load'
          ? await store.load(shares, from!, {
              horizonMs,
              limit,
              peersWithinMs,
              isPresent,
              instance,
            })
          : await store.sweep(shares, from, limits);
      answers.push(answer);
      from = answer.cursor;
      if (from === null) break;
    }
    return answers;
  };
  return step(`${what} as ${rank} of ${count}`, run, { on: 'single' });
}
