import { setTimeout as pause } from 'node:timers/promises';
import type { DelayExplanation } from 'nestjs-delay-queue';
import type { Alert } from '../servers/support/prometheus.js';
import type { Asked, Fault } from './faults.js';
import { en } from '../../src/delay-queue/dashboard/page/words/words.js';
import type { Night } from './night.js';
import { NAMES } from './shop.js';

const LOOK_EVERY_MS = 200;
/** For so long a node tells that the clock jumped. */
const JUMP_TOLD_MS = 300_000;

/** The true reason, as it was told, and after how many seconds. */
export interface Reason {
  text: string;
  s: number;
}

/** What became of one fault; undefined: not told in time. */
export interface Told {
  fault: Fault;
  explain: Reason | undefined;
  health: Reason | undefined;
  alert: Reason | undefined;
  /** On the dashboard; and how many clicks from its overview to the sentence about the delay. */
  dashboard: Reason | undefined;
  clicks: number | undefined;
  /** Mended there, where it can be. */
  mended: { clicks: number; s: number } | 'failed' | undefined;
  /** After the fault was lifted. */
  calm: Reason | undefined;
  /** Alerts that fired and were not true. */
  falseAlerts: readonly string[];
}

const UNTOLD: Omit<Told, 'fault'> = {
  explain: undefined,
  health: undefined,
  alert: undefined,
  dashboard: undefined,
  clicks: undefined,
  mended: undefined,
  calm: undefined,
  falseAlerts: [],
};

/** What a look found: the text of what is waited for, or what is there instead. */
type Look = { text: string } | { instead: string };

interface Watching {
  withinMs: number;
  say: (line: string) => void;
}

/** Looks until it finds what is waited for. */
async function first(
  what: string,
  look: () => Promise<Look>,
  { withinMs, say }: Watching,
): Promise<Reason | undefined> {
  const beganAtMs = performance.now();
  let instead = '';
  for (;;) {
    const tookMs = performance.now() - beganAtMs;
    if (tookMs > withinMs) break;
    const seen: Look = await look().catch((error: unknown) => ({ instead: String(error) }));
    if ('text' in seen) {
      const s = (performance.now() - beganAtMs) / 1_000;
      say(`  ${what} after ${s.toFixed(1)} s: ${seen.text}`);
      return { text: seen.text, s };
    }
    ({ instead } = seen);
    await pause(LOOK_EVERY_MS);
  }
  say(`  ${what}: not within ${withinMs / 1_000} s; last: ${instead}`);
  return undefined;
}

/** Whether it has all that is expected of it. */
const matches = (found: object, expected: object): boolean =>
  Object.entries(expected).every(([field, value]) => found[field as keyof object] === value);

const nameOf = ({ labels: { alertname, name, reason, instance } }: Alert): string =>
  [alertname, name ?? reason ?? instance].filter(Boolean).join(' ');

/** With the name of the process in the place of its address. */
const labelsOf = ({ shop }: Night, { labels }: Alert): Alert['labels'] => {
  const name = NAMES.find((each) => shop.instance(each) === labels['instance']);
  return { ...labels, ...(name && { instance: name }) };
};

const reasonsOf = async ({ shop }: Night) =>
  (await Promise.all(NAMES.map((name) => shop.health(name)))).flatMap(
    (report) => report?.reasons ?? [],
  );

async function explained({ desk }: Night, { explains }: Fault, { name, key }: Asked) {
  const explanation: DelayExplanation = await desk.admin.explain(name as never, key);
  const isTrue =
    typeof explains === 'function' ? explains(explanation) : matches(explanation, explains ?? {});
  return isTrue ? { text: explanation.text } : { instead: JSON.stringify(explanation) };
}

async function checked(night: Night, { health }: Fault): Promise<Look> {
  const reasons = await reasonsOf(night);
  const found = reasons.find((reason) => matches(reason, health));
  return found ?? { instead: reasons.map(({ text }) => text).join('; ') };
}

/** What an operator sees: the reason in the banner, then the delay and why it has not fired. */
async function onDashboard(
  { operator }: Night,
  { at = 'shop-1', health, explains }: Fault,
  asked: Asked | undefined,
): Promise<Look> {
  await operator.opens(at);
  const heading = en.healthReasons[health.reason ?? ''] ?? '';
  // Without a database there is no overview.
  const { [health.reason as 'databaseGone']: problem } = en.problems;
  await operator.reason(problem ? [heading, problem] : [heading], LOOK_EVERY_MS * 40);
  operator.clicks = 0;
  if (asked === undefined) return { text: heading };
  await operator.finds(asked);
  const reason = typeof explains === 'function' ? 'queued' : (explains?.reason ?? '');
  // Or another node has run it by now.
  const read = await operator.reads([en.reasons[reason] ?? '', en.reasons['ended'] ?? '']);
  return { text: `${heading}, ${operator.clicks} clicks to "${read}"` };
}

async function mended(
  { operator }: Night,
  { mend }: Fault,
  asked: Asked | undefined,
  { say }: Watching,
): Promise<Told['mended']> {
  if (mend === undefined || asked === undefined) return undefined;
  operator.clicks = 0;
  const beganAtMs = performance.now();
  try {
    await mend(operator, asked);
  } catch (error) {
    say(`  not mended on the dashboard: ${String(error)}`);
    return 'failed';
  }
  const s = (performance.now() - beganAtMs) / 1_000;
  say(`  mended on the dashboard in ${operator.clicks} clicks, ${s.toFixed(1)} s`);
  return { clicks: operator.clicks, s };
}

/** Whether no node has a reason and no alert waits or fires. */
async function calm(night: Night): Promise<Look> {
  const reports = await Promise.all(NAMES.map((name) => night.shop.health(name)));
  const alerts = await night.prometheus.alerts();
  const silent = reports.filter((report) => report === undefined).map(() => 'a node is silent');
  const reasons = reports.flatMap((report) => report?.reasons ?? []).map(({ text }) => text);
  const instead = [...silent, ...reasons, ...alerts.map(nameOf)].join('; ');
  return instead === '' ? { text: 'no reason and no alert' } : { instead };
}

/** Plants a fault, waits until it is told and lifts it, waits until nothing is told any more. */
export async function toldOf(night: Night, fault: Fault, watching: Watching): Promise<Told> {
  let asked: Asked | undefined;
  try {
    asked = await fault.plant(night);
  } catch (error) {
    watching.say(`  not planted: ${String(error)}`);
    await fault.lift(night);
    return { fault, ...UNTOLD };
  }
  const falseAlerts = new Set<string>();
  const alerted = async (): Promise<Look> => {
    const alerts = await night.prometheus.alerts();
    const firing = alerts.filter(({ state }) => state === 'firing');
    const isTrue = [fault.alert.alertname, ...(fault.also ?? [])];
    for (const alert of firing) {
      if (!isTrue.includes(alert.labels.alertname)) falseAlerts.add(nameOf(alert));
    }
    const found = firing.find((each) => matches(labelsOf(night, each), fault.alert));
    return found === undefined
      ? { instead: alerts.map((alert) => `${nameOf(alert)} ${alert.state}`).join('; ') }
      : { text: `${found.labels.alertname}: ${found.annotations.summary}` };
  };
  const [explain, health, alert, dashboard] = await Promise.all([
    asked && first('explain', () => explained(night, fault, asked), watching),
    first('health', () => checked(night, fault), watching),
    first('alert', alerted, watching),
    first('dashboard', () => onDashboard(night, fault, asked), watching),
  ]);
  const { clicks } = night.operator;
  // What fired meanwhile must be true as well.
  await alerted();
  const byHand = await mended(night, fault, asked, watching);
  await fault.lift(night);
  const quiet = { ...watching, withinMs: JUMP_TOLD_MS + watching.withinMs };
  return {
    fault,
    explain,
    health,
    alert,
    dashboard,
    clicks: dashboard && clicks,
    mended: byHand,
    calm: await first('calm', () => calm(night), quiet),
    falseAlerts: [...falseAlerts],
  };
}
