import { randomUUID } from 'node:crypto';
import type { DelayExplanation, DelayName, HealthReason } from 'nestjs-delay-queue';
import { IS_LISTENER } from '../support/listener.js';
import { OpenTransactions } from '../support/open-transactions.js';
import { until } from '../support/until.js';
import type { Night } from './night.js';
import type { Operator } from './operator.js';
import type { Name } from './shop.js';

/** A delay that a person asks about. */
export interface Asked {
  name: string;
  key: string;
}

export interface Fault {
  name: string;
  title: string;
  /** What `explain` says of the delay; undefined: the fault holds no delay. */
  explains?: Partial<DelayExplanation> | ((explanation: DelayExplanation) => boolean);
  health: Partial<HealthReason>;
  /** Labels of the alert; the instance by the name of its process. */
  alert: { alertname: string; [label: string]: string };
  /** Alerts that are true as well: what follows from the fault. */
  also?: readonly string[];
  /** The process whose dashboard tells it; default the first. */
  at?: Name;
  /** What an operator does about it on the dashboard, where that can do something. */
  mend?: (operator: Operator, asked: Asked) => Promise<void>;
  /** Resolves when the fault is there. @returns the delay that suffers */
  plant(night: Night): Promise<Asked | undefined>;
  lift(night: Night): Promise<void>;
}

/** The oldest delay that is due and that no attempt holds. */
async function oldestDue(night: Night, names: readonly string[]): Promise<Asked | undefined> {
  const [row] = await night.sql<Asked>(
    `SELECT name, key FROM delay_queue.delay
     WHERE name = ANY ($1) AND wake_at <= clock_timestamp() - interval '2 s'
       AND (leased_until IS NULL OR leased_until <= clock_timestamp())
     ORDER BY wake_at, id LIMIT 1`,
    [names],
  );
  return row;
}

const untilDue = async (night: Night, ...names: string[]): Promise<Asked> =>
  (await until(
    () => oldestDue(night, names),
    (asked) => asked !== undefined,
    { withinMs: 60_000 },
  )) as Asked;

const schedule = (
  night: Night,
  { name, key }: Asked,
  { payload = null, ...options }: { payload?: object | null; maxAttempts?: number } = {},
): Promise<unknown> =>
  night.desk.delays.schedule(name as DelayName, payload as never, { key, after: 0, ...options });

/** Who runs it now. */
const runnerOf = async (night: Night, { name, key }: Asked): Promise<string | undefined> => {
  const [row] = await night.sql<{ leased_by: string }>(
    `SELECT leased_by FROM delay_queue.delay
     WHERE name = $1 AND key = $2 AND leased_until > clock_timestamp()`,
    [name, key],
  );
  return row?.leased_by;
};

const cancel = async (night: Night, { name, key }: Asked): Promise<void> => {
  await night.desk.delays.cancel(name as DelayName, key);
};

const CROWD = 2_000;
const LATE = ['DelaysLate', 'DelayStartsLate', 'DelayHandlersFull'];

const transactions = new OpenTransactions();

const POISON: Asked = { name: 'message.send', key: 'poison' };

const poison: Fault = {
  name: 'poison',
  title: 'a payload that no handler can read',
  explains: { reason: 'dead', attempts: 2 },
  health: { reason: 'deadLetters' },
  alert: { alertname: 'DelayDied', name: 'message.send' },
  async plant(night) {
    await schedule(night, POISON, { payload: { messageId: 'poison' }, maxAttempts: 2 });
    return POISON;
  },
  async mend(operator) {
    await operator.presses(operator.button('Discard…'));
    await operator.confirms(/^Discard/);
  },
  lift: (night) => cancel(night, POISON),
};

const hang: Fault = {
  name: 'hang',
  title: 'handlers that hang',
  explains: { reason: 'queued' },
  health: { reason: 'late', name: 'message.send' },
  alert: { alertname: 'DelayHandlersFull', name: 'message.send' },
  also: LATE,
  async plant(night) {
    night.partner.answers('/message.send', 'never');
    return untilDue(night, 'message.send');
  },
  /** So that no more of them hang, until the partner is well. */
  async mend(operator) {
    await operator.presses(operator.link('Overview'));
    await operator.presses(operator.button('Pause message.send'));
    await operator.confirms(/^Pause/);
  },
  async lift({ partner, desk }) {
    partner.answers('/message.send', 'at once');
    await desk.admin.resume('message.send');
  },
};

const GONE: Asked = { name: 'order.gone', key: '1' };

const unserved: Fault = {
  name: 'unserved',
  title: 'a name without a node',
  explains: { reason: 'unserved' },
  health: { reason: 'unserved', name: GONE.name },
  alert: { alertname: 'DelayNameUnserved', name: GONE.name },
  also: LATE,
  async plant(night) {
    await schedule(night, GONE);
    return GONE;
  },
  async mend(operator) {
    await operator.presses(operator.button('Cancel…'));
    await operator.confirms(/^Cancel 1/);
  },
  lift: (night) => cancel(night, GONE),
};

/** Of an order that was deleted. */
const CONFIRM: Asked = { name: 'order.confirm', key: randomUUID() };

const paused: Fault = {
  name: 'paused',
  title: 'paused and forgotten, a day later',
  explains: { reason: 'paused', why: 'the bank is down', by: 'ann' },
  health: { reason: 'held', name: CONFIRM.name, by: 'pause' },
  alert: { alertname: 'DelaysHeld', name: CONFIRM.name, held_by: 'pause' },
  also: LATE,
  async plant(night) {
    const { admin } = night.desk;
    await admin.pause('order.confirm', { reason: 'the bank is down', by: 'ann' });
    await schedule(night, CONFIRM, { payload: { orderId: CONFIRM.key } });
    await untilDue(night, CONFIRM.name);
    await night.dayLater(CONFIRM.name);
    return CONFIRM;
  },
  async mend(operator) {
    await operator.presses(operator.link('Overview'));
    await operator.presses(operator.button('Resume order.confirm'));
    await operator.confirms(/^Resume/);
  },
  async lift({ desk }) {
    await desk.admin.resume('order.confirm');
  },
};

const limited: Fault = {
  name: 'limited',
  title: 'a limit of one, a day later',
  explains: { reason: 'throttled', limit: 'concurrency', running: 1, of: 1 },
  health: { reason: 'held', name: 'ledger.export', by: 'limit' },
  alert: { alertname: 'DelaysHeld', name: 'ledger.export', held_by: 'limit' },
  also: LATE,
  async plant(night) {
    night.partner.answers('/ledger.export', 'never');
    const first = { name: 'ledger.export', key: '1' };
    await schedule(night, first);
    await until(
      () => runnerOf(night, first),
      (node) => node !== undefined,
    );
    await schedule(night, { name: 'ledger.export', key: '2' });
    const asked = await untilDue(night, 'ledger.export');
    await night.dayLater('ledger.export');
    return asked;
  },
  /** Ends the one that takes the only slot. */
  async mend(operator) {
    await operator.presses(operator.link('ledger.export'));
    await operator.presses(operator.link('Running'));
    await operator.presses(operator.page.locator('tbody tr a').first());
    await operator.presses(operator.button('Abort…'));
    await operator.confirms(/^Abort 1/);
  },
  async lift({ partner }) {
    partner.answers('/ledger.export', 'at once');
  },
};

const snapshot: Fault = {
  name: 'snapshot',
  title: 'a held snapshot',
  health: { reason: 'snapshotHeld' },
  alert: { alertname: 'DelayDatabaseNeglected', reason: 'snapshotHeld' },
  async plant(night) {
    const { manager } = await transactions.begin(night.desk.dataSource, 'REPEATABLE READ');
    await manager.query('SELECT FROM delay_queue.delay');
    return undefined;
  },
  lift: () => transactions.rollbackAll(),
};

const deaf: Fault = {
  name: 'deaf',
  title: 'LISTEN lost',
  health: { reason: 'listenLost' },
  alert: { alertname: 'DelayTaskFails', reason: 'listenLost', instance: 'shop-2' },
  at: 'shop-2',
  async plant(night) {
    await night.shop.tell('shop-2', 'deafen');
    await night.endSessions(IS_LISTENER);
    return undefined;
  },
  lift: ({ shop }) => shop.tell('shop-2', 'hear'),
};

const stopped: Fault = {
  name: 'stopped',
  title: 'a database that stands still',
  health: { reason: 'databaseGone' },
  alert: { alertname: 'DelayNodeDown', reason: 'databaseGone' },
  also: [...LATE, 'DelayTaskFails'],
  async plant(night) {
    await night.signalServer('SIGSTOP');
    return undefined;
  },
  lift: (night) => night.signalServer('SIGCONT'),
};

const full: Fault = {
  name: 'full',
  title: 'a full pool',
  explains: { reason: 'queued' },
  health: { reason: 'taskFailing', task: 'begin' },
  alert: { alertname: 'DelayTaskFails', task: 'begin', instance: 'shop-2' },
  at: 'shop-2',
  also: LATE,
  async plant(night) {
    await night.shop.tell('shop-2', 'fill');
    return untilDue(night, 'order.close', 'order.remind', 'order.sms');
  },
  lift: ({ shop }) => shop.tell('shop-2', 'free'),
};

const crowd: Fault = {
  name: 'crowd',
  title: "a group's crowd",
  explains: (explanation) =>
    explanation.reason === 'queued' && (explanation.beforeInGroup ?? 0) > CROWD / 2,
  health: { reason: 'late', name: 'parcel.scan' },
  alert: { alertname: 'DelayHandlersFull', name: 'parcel.scan' },
  also: LATE,
  async plant(night) {
    night.partner.answers('/parcel.scan', 'slowly');
    await night.desk.delays.scheduleMany(
      Array.from({ length: CROWD }, (_, index) => ({
        name: 'parcel.scan' as const,
        payload: null,
        key: String(index),
        group: 'acme',
        after: 0,
      })),
    );
    return { name: 'parcel.scan', key: String(CROWD - 1) };
  },
  async mend(operator) {
    await operator.presses(operator.link('acme'));
    await operator.presses(operator.page.getByLabel('Select all rows'));
    await operator.presses(operator.button(/^Select all .* that match/));
    await operator.presses(operator.button('Cancel…'));
    await operator.confirms(/^Cancel/);
  },
  async lift({ partner }) {
    partner.answers('/parcel.scan', 'at once');
  },
};

const dead: Fault = {
  name: 'dead',
  title: 'a dead node',
  explains: { reason: 'orphaned', node: 'shop-2' },
  health: { reason: 'nodeSilent', node: 'shop-2' },
  alert: { alertname: 'DelayNodeGone', instance: 'shop-2' },
  also: LATE,
  async plant(night) {
    night.partner.answers('/parcel.track', 'never');
    const all = Array.from({ length: 12 }, (_, index) => ({
      name: 'parcel.track',
      key: String(index),
    }));
    for (const each of all) await schedule(night, each);
    const runners = await until(
      () => Promise.all(all.map((asked) => runnerOf(night, asked))),
      (nodes) => nodes.every((node) => node !== undefined),
    );
    await night.shop.kill('shop-2');
    return all[runners.indexOf('shop-2')];
  },
  async lift({ shop, partner }) {
    partner.answers('/parcel.track', 'at once');
    await shop.open('shop-2');
  },
};

const clock: Fault = {
  name: 'clock',
  title: 'a clock that is set back by 90 s',
  explains: { reason: 'notDue' },
  health: { reason: 'clockJumped' },
  alert: { alertname: 'DelayClockJumped' },
  also: [...LATE, 'DelayTaskFails'],
  async plant(night) {
    const [asked] = await until(
      () =>
        night.sql<Asked>(
          `SELECT name, key FROM delay_queue.delay
           WHERE name = 'order.close' AND wake_at > clock_timestamp() + interval '2 s' LIMIT 1`,
        ),
      (rows) => rows.length > 0,
    );
    await night.setClock(-90);
    return asked;
  },
  lift: (night) => night.setClock(0),
};

/** The clock comes last: a node tells for five minutes that it jumped. */
export const FAULTS: readonly Fault[] = [
  poison,
  hang,
  unserved,
  paused,
  limited,
  snapshot,
  deaf,
  stopped,
  full,
  crowd,
  dead,
  clock,
];
