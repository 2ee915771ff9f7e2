import type { DurationName, OrderState, What } from '../../feed/feed.js';

const plural = (n: number, one: string, many: string): string => `${n} ${n === 1 ? one : many}`;

/** Translations of texts that the shop sends in English; others are shown as sent. */
type Translations = Record<string, string>;

const durations: Record<DurationName, string> = {
  sms: 'Text message after placing',
  remind: 'Reminder before it closes',
  pay: 'Closes unless paid',
  confirm: 'Confirms itself after shipping',
  rate: 'Five stars after completing',
};

const states: Record<OrderState, string> = {
  UNPAID: 'Unpaid',
  PAID: 'Paid',
  SHIPPED: 'Shipped',
  COMPLETED: 'Completed',
  CLOSED: 'Closed',
};

const happened: Record<What, string> = {
  'order.placed': 'placed',
  'order.reminded': 'buyer reminded to pay',
  'order.paid': 'paid',
  'order.shipped': 'shipped',
  'order.extended': 'time to confirm extended',
  'order.completed': 'completed',
  'order.rated': 'rated',
  'order.closed': 'closed',
  'message.sent': 'message sent',
  'payment.captured': 'payment captured',
  'payment.unkept': 'payment came too late, to be refunded',
  'payment.refunded': 'refunded',
  'payment.broken': 'payment broke off: its process died',
  'payment.refused': 'payment refused, already closed',
  'dispute.opened': 'dispute opened, timers frozen',
  'dispute.released': 'dispute over, timers go on',
  'delay.cancelled': 'cancelled',
  'delay.idle': 'fired and found nothing to do',
  'delay.dead': 'given up',
  'process.started': 'started',
  'process.died': 'died',
};

const guide = [
  'Place an order.',
  'Pay it, or let it close.',
  'Start a race.',
  'Kill a process meanwhile.',
];

const goods: Translations = {};
const reasons: Translations = {
  'not paid in time': 'not paid in time',
  'cancelled by buyer': 'cancelled by the buyer',
  茶壶到货时已破损: 'The pot arrived broken',
};
const checks: Translations = {};
const kinds: Translations = {
  'order.placed': 'order placed',
  'order.reminder': 'reminder',
  'order.paid': 'order paid',
  'order.shipped': 'order shipped',
  'order.completed': 'order completed',
  'order.closed': 'order closed',
};
const messages: Record<string, (no: number) => string> = {};
const merchantNames: Translations = {};
const cities: Translations = {
  'America/Los_Angeles': 'Los Angeles',
  'America/New_York': 'New York',
  'Asia/Shanghai': 'Shanghai',
  'Asia/Tokyo': 'Tokyo',
  'Europe/Berlin': 'Berlin',
  'Europe/London': 'London',
};

export const en = {
  lang: 'en',
  locale: 'en-GB',
  name: 'English',
  title: 'Orders on time · nestjs-delay-queue',
  skip: 'Skip to the orders',
  sampleShop: 'sample shop',
  apiDocs: 'API',
  dashboard: 'Delays',
  inDashboard: 'Why, and what else happened: this order in the dashboard',
  toOtherLanguage: 'Language',
  toDark: 'Dark theme',
  toLight: 'Light theme',

  headline: 'Every order keeps its own time.',
  lede:
    'Its delays are rows in Postgres, written in the transaction that placed it. Two processes share ' +
    'them, and either may die.',
  guideTitle: 'Try this first',
  guide,
  guideDone: 'done',

  demoTitle: 'Demo time',
  realTitle: 'Time',
  demoColumn: 'here',
  realColumn: 'in a real shop',
  waitColumn: 'What waits',
  standsFor: (here: string, there: string) => `${here} stand for ${there}`,
  durations,
  off: 'off',
  milliseconds: (n: string) => `${n} ms`,
  seconds: (n: string) => `${n} s`,
  minutes: (n: string) => `${n} min`,
  hours: (n: string) => `${n} h`,
  days: (n: string) => `${n} d`,

  live: 'Live',
  liveFrom: (process: string) => `Live from ${process}`,
  connecting: 'Connecting',
  lost: 'Connection lost. Reconnecting…',
  lostMore: 'Countdowns go on by the server’s clock; everything else is the last known state.',
  trouble: 'The shop’s database does not answer.',
  troubleMore: 'You see the last known state. Delays that come due meanwhile fire when it is back.',
  loading: 'Loading the shop…',

  invariantsHold: (n: number) => `All ${n} invariants hold`,
  invariantsBroken: (broken: number, n: number) => `${broken} of ${n} invariants broken`,
  invariantsChecked: (at: string) => `checked ${at}`,
  invariantsCheckedAgo: (at: string, age: string) => `checked ${at}, ${age} ago`,
  invariantsUnchecked: 'Checking the invariants…',
  lookedAt: (n: string) => `${n} checked`,
  checks,

  shelf: 'Stock',
  goods,
  inStock: (stock: string, initial: string) => `${stock} of ${initial}`,
  priceEach: 'each',
  oneMore: (name: string) => `One more: ${name}`,
  oneFewer: (name: string) => `One fewer: ${name}`,
  quantityOf: (name: string) => `Quantity: ${name}`,
  place: 'Place order',
  placing: 'Placing…',
  emptyBasket: 'Nothing chosen',
  shownAs: (no: number) => `Order #${no} is in the list`,

  orders: 'Orders',
  ordersNote: (n: number) => `newest ${n}`,
  showAll: (n: number) => `Show all ${n}`,
  showFewer: 'Show fewer',
  noOrders: 'No order yet.',
  noOrdersHint: 'Place one: its stock goes down and its time begins to run.',
  states,
  disputed: 'Disputed',
  refundPending: 'Refund pending',
  refunded: (amount: string) => `Refunded ${amount}`,
  closesIn: (time: string) => `closes in ${time}`,
  closing: 'closing…',
  paidWaits: 'waits to be shipped',
  confirmsIn: (time: string) => `confirms itself in ${time}`,
  confirming: 'confirming…',
  ratesIn: (time: string) => `five stars in ${time}`,
  rating: 'rating…',
  frozenWith: (time: string) => `frozen, ${time} left`,
  frozen: 'frozen',
  stars: (n: number) => plural(n, 'star', 'stars'),
  byItself: 'by itself',
  byBuyer: 'by the buyer',
  reasons,

  pay: 'Pay',
  cancel: 'Cancel',
  ship: 'Ship',
  confirm: 'Confirm',
  extend: 'Extend',
  dispute: 'Dispute',
  release: 'Release',
  rate: 'Rate',
  orWait: 'or let it close',
  orWaitRate: 'or wait for five stars',
  disputeReason: 'The pot arrived broken',
  actionsOf: (no: number) => `Actions for order #${no}`,
  detailsOf: (no: number) => `Timeline of order #${no}`,

  delays: 'Delays',
  delay: 'Delay',
  delayState: {
    scheduled: 'scheduled',
    running: 'running',
    retrying: 'retrying',
    dead: 'given up',
    completed: 'fired',
    cancelled: 'cancelled',
    superseded: 'replaced',
  },
  due: 'Due',
  late: 'Late',
  firedBy: 'By',
  noDelays: 'No delay.',
  dueIn: (time: string) => `in ${time}`,
  attemptFailed: (n: number) => `attempt ${n} failed`,
  nextAttemptIn: (time: string) => `next attempt in ${time}`,
  refundFailed: (n: number) => `refund: attempt ${n} failed`,
  timeline: 'Timeline',
  happened,
  lateBy: (time: string) => `${time} late`,
  stockBy: (n: string) => `stock ${n}`,
  kinds,

  races: 'Races',
  racesNote: 'Each places an order that closes after 5 s',
  race: {
    'pay-at-the-last-moment': {
      label: 'Pay at the last moment',
      note: 'Paid, or closed and refunded. Never both.',
    },
    'pay-after-the-close': {
      label: 'Pay after the close',
      note: 'The order stays closed, the money goes back.',
    },
    'close-while-paid': {
      label: 'Close while it is being paid',
      note: 'The close waits for the payment that began first.',
    },
  },
  failRefunds: 'Make refunds fail for 20 s',
  failRefundsNote: 'Then pay after a close: attempts are repeated until one succeeds.',
  refundsFail: (time: string) => `Refunds fail for another ${time}`,

  processes: 'Processes',
  processesNote: 'one port, one database',
  processState: { up: 'Up', dead: 'Dead', starting: 'Starting' },
  pid: (pid: number) => `pid ${pid}`,
  fired: (n: string) => `${n} fired`,
  firedLabel: 'fired',
  kill: 'Kill this process',
  killOf: (name: string) => `Kill this process: ${name}`,
  sendsThisPage: 'sends this page',
  since: (time: string) => `since ${time}`,

  lateness: 'Lateness',
  latenessNote: (n: string) => `${n} delays fired`,
  latenessEmpty: 'Fills as delays fire.',
  latenessText: (count: string, p50: string, p99: string) =>
    `${count} delays fired. Half were late by at most ${p50}, 99 of 100 by at most ${p99}.`,
  latenessAxis: 'milliseconds late',
  latenessSteps: 'p50 and p99 are rounded up, by a tenth of a millisecond or one in a hundred',
  upTo: (ms: string) => `up to ${ms} ms`,
  above: 'more',
  median: 'p50',
  p99: 'p99',
  worst: 'max',

  happenings: 'What happens',
  noHappenings: 'Nothing yet.',
  messages: 'Messages to buyers',
  noMessages: 'The sample provider has sent nothing yet.',
  message: messages,

  merchants: 'Merchants',
  merchantsNote: 'reminded of unshipped orders at nine, wherever they are',
  merchantNames,
  cities,
  nextReminder: (time: string) => `next in ${time}`,
  reminding: 'being reminded…',
  remindNow: 'Remind now',
  remindNowOf: (name: string) => `Remind now: ${name}`,
  lastReminder: (at: string, n: number) =>
    `Told at ${at}: ${plural(n, 'paid order waits', 'paid orders wait')} to be shipped.`,
  noReminder: 'Nothing has waited to be shipped yet.',

  campaigns: 'Campaigns',
  campaignsNote: 'each merchant at its own pace',
  campaignText: 'New teas have arrived',
  newCampaign: (n: number, merchant: string) => `Text ${n} made-up buyers of ${merchant}`,
  campaignState: {
    SCHEDULED: 'Scheduled',
    RUNNING: 'Sending',
    STOPPED: 'Stopped',
    COMPLETED: 'Sent',
  },
  sentOf: (sent: string, total: string) => `${sent} of ${total}`,
  stop: 'Stop',
  resume: 'Resume',

  problem: {
    0: 'The shop did not answer. Try again in a moment.',
    404: 'It does not exist any more.',
    409: 'Refused:',
    503: 'The database is away. Try again in a moment.',
    other: 'That did not work:',
  },

  said: {
    placed: (no: number) => `Order ${no} placed`,
    moved: (no: number, state: string) => `Order ${no}: ${state}`,
    refunded: (no: number) => `Order ${no}: refunded`,
    rated: (no: number, stars: number) => `Order ${no}: ${plural(stars, 'star', 'stars')}`,
    died: (name: string) => `${name} died`,
    started: (name: string) => `${name} is up again`,
    back: 'Connected again',
  },
  footer: 'Runs on your machine alone. Nothing on this page comes from elsewhere.',
};

export type Words = typeof en;
