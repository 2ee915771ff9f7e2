import { both, type Both, plural, said } from '../../../ui/both.js';
import type { DurationName, OrderState, What } from '../../feed/feed.js';

/** Translations of texts that the shop sends in the other language; others are shown as sent. */
type Translations = Both<Record<string, string>>;

const durations: Record<DurationName, Both> = {
  sms: both('Text message after placing', '下单后发短信'),
  remind: both('Reminder before it closes', '关闭前提醒付款'),
  pay: both('Closes unless paid', '未付款自动关闭'),
  confirm: both('Confirms itself after shipping', '发货后自动确认收货'),
  rate: both('Five stars after completing', '完成后自动五星好评'),
};

const states: Record<OrderState, Both> = {
  UNPAID: both('Unpaid', '待付款'),
  PAID: both('Paid', '已付款'),
  SHIPPED: both('Shipped', '已发货'),
  COMPLETED: both('Completed', '已完成'),
  CLOSED: both('Closed', '已关闭'),
};

const happened: Record<What, Both> = {
  'order.placed': both('placed', '已下单'),
  'order.reminded': both('buyer reminded to pay', '已提醒买家付款'),
  'order.paid': both('paid', '已付款'),
  'order.shipped': both('shipped', '已发货'),
  'order.extended': both('time to confirm extended', '已延长收货'),
  'order.completed': both('completed', '已完成'),
  'order.rated': both('rated', '已评价'),
  'order.closed': both('closed', '已关闭'),
  'message.sent': both('message sent', '消息已发送'),
  'payment.captured': both('payment captured', '已收款'),
  'payment.unkept': both('payment came too late, to be refunded', '付款迟到，将原路退回'),
  'payment.refunded': both('refunded', '已退款'),
  'payment.broken': both('payment broke off: its process died', '付款中断：处理进程已终止'),
  'payment.refused': both('payment refused, already closed', '付款被拒：订单已关闭'),
  'dispute.opened': both('dispute opened, timers frozen', '发起争议，任务冻结'),
  'dispute.released': both('dispute over, timers go on', '争议解除，任务继续'),
  'delay.cancelled': both('cancelled', '已取消'),
  'delay.idle': both('fired and found nothing to do', '已执行，无事可做'),
  'delay.dead': both('given up', '已放弃'),
  'process.started': both('started', '已启动'),
  'process.died': both('died', '已退出'),
};

const guide: Both<string[]> = [
  ['Place an order.', 'Pay it, or let it close.', 'Start a race.', 'Kill a process meanwhile.'],
  ['下一个订单。', '付款，或者等它自动关闭。', '制造一次竞态。', '趁倒计时，杀掉一个进程。'],
];

const goods: Translations = [
  {},
  {
    'TEA-GREEN': '绿茶，100 克',
    'TEA-OOLONG': '乌龙茶，100 克',
    'CUP-WHITE': '白瓷杯',
    'POT-IRON': '铸铁壶',
    'TEA-SAMPLE': '试饮装，5 克',
    'BOWL-RAKU': '乐烧茶碗',
  },
];

const reasons: Translations = [
  {
    'not paid in time': 'not paid in time',
    'cancelled by buyer': 'cancelled by the buyer',
    茶壶到货时已破损: 'The pot arrived broken',
  },
  {
    'not paid in time': '超时未付款',
    'cancelled by buyer': '买家取消',
    'The pot arrived broken': '茶壶到货时已破损',
  },
];

const checks: Translations = [
  {},
  {
    'stock and what open orders hold add up to the initial stock':
      '库存加上未关闭订单占用，等于初始库存',
    'an order keeps one payment of its total once it is paid, and no other keeps any':
      '已付款的订单恰好留存一笔全额付款，其他订单不留存',
    'every payment that goes back has its refund': '每笔应退的付款都有退款任务',
    'the provider has paid back what the shop says': '支付渠道的退款与商店账目一致',
    'an order has at most one review': '每个订单至多一条评价',
    'every unpaid order has exactly one live order.close': '每个未付款订单恰有一个待执行的关闭任务',
    'every shipped order has one live order.confirm, or a frozen one':
      '每个已发货订单恰有一个确认任务（或已冻结）',
    'every completed order is rated, or has one live order.rate, or a frozen one':
      '每个已完成订单要么已评价，要么有一个评价任务（或已冻结）',
    'timers are frozen while their order is under dispute, and only then':
      '仅在订单有争议期间，任务才会冻结',
    'the buyer is told each thing at most once': '每件事至多通知买家一次',
    'every message is sent or dropped, or waits to be sent':
      '每条消息要么已发送或作废，要么在待发送',
    'every campaign that goes on has exactly one live campaign.send':
      '每个进行中的群发恰有一个待执行的发送任务',
    'a campaign reaches each of its recipients at most once, and nobody else':
      '群发对每个收件人至多送达一次，也不会发给别人',
    'a completed campaign is over for all of its recipients': '已完成的群发，所有收件人都已处理完',
  },
];

const messages: Both<Record<string, (no: number) => string>> = [
  {},
  {
    'order.placed': (no) => `感谢惠顾，您的订单 ${no} 已提交。`,
    'order.reminder': (no) => `您的订单 ${no} 即将关闭，请尽快付款。`,
    'order.paid': (no) => `您的订单 ${no} 已付款。`,
    'order.shipped': (no) => `您的订单 ${no} 已发货。`,
    'order.completed': (no) => `您的订单 ${no} 已完成，欢迎评价。`,
    'order.closed': (no) => `您的订单 ${no} 已关闭。`,
  },
];

const merchantNames: Translations = [{}, { 'The tea house': '茶坊', 'The kiln': '窑场' }];

const kinds: Record<string, Both> = {
  'order.placed': both('order placed', '下单通知'),
  'order.reminder': both('reminder', '付款提醒'),
  'order.paid': both('order paid', '付款通知'),
  'order.shipped': both('order shipped', '发货通知'),
  'order.completed': both('order completed', '完成通知'),
  'order.closed': both('order closed', '关闭通知'),
};

const cities: Record<string, Both> = {
  'America/Los_Angeles': both('Los Angeles', '洛杉矶'),
  'America/New_York': both('New York', '纽约'),
  'Asia/Shanghai': both('Shanghai', '上海'),
  'Asia/Tokyo': both('Tokyo', '东京'),
  'Europe/Berlin': both('Berlin', '柏林'),
  'Europe/London': both('London', '伦敦'),
};

const texts = {
  lang: both('en', 'zh-CN'),
  locale: both('en-GB', 'zh-CN'),
  name: both('English', '中文'),
  title: both('Orders on time · nestjs-delay-queue', '订单准时 · nestjs-delay-queue'),
  skip: both('Skip to the orders', '跳到订单列表'),
  sampleShop: both('sample shop', '示例商店'),
  apiDocs: both('API', 'API'),
  dashboard: both('Delays', '延迟任务'),
  inDashboard: both(
    'Why, and what else happened: this order in the dashboard',
    '原因与始末:在控制台中查看此订单',
  ),
  toOtherLanguage: both('Language', '语言'),
  toDark: both('Dark theme', '深色主题'),
  toLight: both('Light theme', '浅色主题'),

  headline: both('Every order keeps its own time.', '每个订单，都有自己的时钟。'),
  lede: both(
    'Its delays are rows in Postgres, written in the transaction that placed it. Two processes share ' +
      'them, and either may die.',
    '延时任务就是 Postgres 里的一行，与下单写在同一个事务里。两个进程共同处理，哪个挂了都不要紧。',
  ),
  guideTitle: both('Try this first', '先试试这些'),
  guide,
  guideDone: both('done', '已完成'),

  demoTitle: both('Demo time', '演示时长'),
  realTitle: both('Time', '时长'),
  demoColumn: both('here', '这里'),
  realColumn: both('in a real shop', '真实商店'),
  waitColumn: both('What waits', '等待的事'),
  standsFor: (here: string, there: string) =>
    both(`${here} stand for ${there}`, `${here}代表${there}`),
  durations,
  off: both('off', '关闭'),
  milliseconds: (n: string) => both(`${n} ms`, `${n} 毫秒`),
  seconds: (n: string) => both(`${n} s`, `${n} 秒`),
  minutes: (n: string) => both(`${n} min`, `${n} 分钟`),
  hours: (n: string) => both(`${n} h`, `${n} 小时`),
  days: (n: string) => both(`${n} d`, `${n} 天`),

  live: both('Live', '实时'),
  liveFrom: (process: string) => both(`Live from ${process}`, `实时 · ${process}`),
  connecting: both('Connecting', '正在连接'),
  lost: both('Connection lost. Reconnecting…', '连接已断开，正在重连…'),
  lostMore: both(
    'Countdowns go on by the server’s clock; everything else is the last known state.',
    '倒计时仍按服务器时钟走，其余内容停留在最后一次更新。',
  ),
  trouble: both('The shop’s database does not answer.', '商店的数据库没有响应。'),
  troubleMore: both(
    'You see the last known state. Delays that come due meanwhile fire when it is back.',
    '当前显示的是最后已知的状态。期间到点的任务，会在数据库恢复后执行。',
  ),
  loading: both('Loading the shop…', '正在加载…'),

  invariantsHold: (n: number) => both(`All ${n} invariants hold`, `${n} 条不变式全部成立`),
  invariantsBroken: (broken: number, n: number) =>
    both(`${broken} of ${n} invariants broken`, `${n} 条不变式中有 ${broken} 条被破坏`),
  invariantsChecked: (at: string) => both(`checked ${at}`, `${at} 检查`),
  invariantsCheckedAgo: (at: string, age: string) =>
    both(`checked ${at}, ${age} ago`, `${at} 检查，${age}前`),
  invariantsUnchecked: both('Checking the invariants…', '正在检查不变式…'),
  lookedAt: (n: string) => both(`${n} checked`, `已检查 ${n} 项`),
  checks,

  shelf: both('Stock', '库存'),
  goods,
  inStock: (stock: string, initial: string) =>
    both(`${stock} of ${initial}`, `${stock} / ${initial}`),
  priceEach: both('each', '单价'),
  oneMore: (name: string) => both(`One more: ${name}`, `增加一件：${name}`),
  oneFewer: (name: string) => both(`One fewer: ${name}`, `减少一件：${name}`),
  quantityOf: (name: string) => both(`Quantity: ${name}`, `数量：${name}`),
  place: both('Place order', '下单'),
  placing: both('Placing…', '正在下单…'),
  emptyBasket: both('Nothing chosen', '尚未选择商品'),
  shownAs: (no: number) => both(`Order #${no} is in the list`, `订单 #${no} 已在列表中`),

  orders: both('Orders', '订单'),
  ordersNote: (n: number) => both(`newest ${n}`, `最新 ${n} 个`),
  showAll: (n: number) => both(`Show all ${n}`, `显示全部 ${n} 个`),
  showFewer: both('Show fewer', '收起'),
  noOrders: both('No order yet.', '还没有订单。'),
  noOrdersHint: both(
    'Place one: its stock goes down and its time begins to run.',
    '下一单试试：库存随即减少，倒计时随即开始。',
  ),
  states,
  disputed: both('Disputed', '争议中'),
  refundPending: both('Refund pending', '退款中'),
  refunded: (amount: string) => both(`Refunded ${amount}`, `已退款 ${amount}`),
  closesIn: (time: string) => both(`closes in ${time}`, `${time}后关闭`),
  closing: both('closing…', '正在关闭…'),
  paidWaits: both('waits to be shipped', '等待发货'),
  confirmsIn: (time: string) => both(`confirms itself in ${time}`, `${time}后自动确认收货`),
  confirming: both('confirming…', '正在确认…'),
  ratesIn: (time: string) => both(`five stars in ${time}`, `${time}后自动五星`),
  rating: both('rating…', '正在评价…'),
  frozenWith: (time: string) => both(`frozen, ${time} left`, `已冻结，剩余 ${time}`),
  frozen: both('frozen', '已冻结'),
  stars: (n: number) => both(plural(n, 'star', 'stars'), `${n} 星`),
  byItself: both('by itself', '系统自动'),
  byBuyer: both('by the buyer', '买家评价'),
  reasons,

  pay: both('Pay', '付款'),
  cancel: both('Cancel', '取消订单'),
  ship: both('Ship', '发货'),
  confirm: both('Confirm', '确认收货'),
  extend: both('Extend', '延长收货'),
  dispute: both('Dispute', '发起争议'),
  release: both('Release', '解除争议'),
  rate: both('Rate', '评分'),
  orWait: both('or let it close', '或等它自动关闭'),
  orWaitRate: both('or wait for five stars', '或等系统自动五星'),
  disputeReason: both('The pot arrived broken', '茶壶到货时已破损'),
  actionsOf: (no: number) => both(`Actions for order #${no}`, `订单 #${no} 的操作`),
  detailsOf: (no: number) => both(`Timeline of order #${no}`, `订单 #${no} 的时间线`),

  delays: both('Delays', '延时任务'),
  delay: both('Delay', '任务'),
  delayState: {
    scheduled: both('scheduled', '待执行'),
    running: both('running', '执行中'),
    retrying: both('retrying', '重试中'),
    dead: both('given up', '已放弃'),
    completed: both('fired', '已执行'),
    cancelled: both('cancelled', '已取消'),
    superseded: both('replaced', '已替换'),
  },
  due: both('Due', '到期'),
  late: both('Late', '延迟'),
  firedBy: both('By', '进程'),
  noDelays: both('No delay.', '没有延时任务。'),
  dueIn: (time: string) => both(`in ${time}`, `${time}后`),
  attemptFailed: (n: number) => both(`attempt ${n} failed`, `第 ${n} 次尝试失败`),
  nextAttemptIn: (time: string) => both(`next attempt in ${time}`, `${time}后再次尝试`),
  refundFailed: (n: number) => both(`refund: attempt ${n} failed`, `退款第 ${n} 次尝试失败`),
  timeline: both('Timeline', '时间线'),
  happened,
  lateBy: (time: string) => both(`${time} late`, `晚 ${time}`),
  stockBy: (n: string) => both(`stock ${n}`, `库存 ${n}`),
  kinds,

  races: both('Races', '竞态'),
  racesNote: both('Each places an order that closes after 5 s', '各下一个 5 秒后关闭的订单'),
  race: {
    'pay-at-the-last-moment': {
      label: both('Pay at the last moment', '压线付款'),
      note: both(
        'Paid, or closed and refunded. Never both.',
        '要么付款成功，要么关闭并退款，二者必居其一。',
      ),
    },
    'pay-after-the-close': {
      label: both('Pay after the close', '关闭后才付款'),
      note: both('The order stays closed, the money goes back.', '订单保持关闭，钱原路退回。'),
    },
    'close-while-paid': {
      label: both('Close while it is being paid', '付款途中到点关闭'),
      note: both('The close waits for the payment that began first.', '付款先开始，关闭等它结束。'),
    },
  },
  failRefunds: both('Make refunds fail for 20 s', '让退款失败 20 秒'),
  failRefundsNote: both(
    'Then pay after a close: attempts are repeated until one succeeds.',
    '再试“关闭后才付款”：退款会不断重试，直到成功。',
  ),
  refundsFail: (time: string) => both(`Refunds fail for another ${time}`, `退款仍将失败 ${time}`),

  processes: both('Processes', '进程'),
  processesNote: both('one port, one database', '同一端口，同一数据库'),
  processState: {
    up: both('Up', '运行中'),
    dead: both('Dead', '已退出'),
    starting: both('Starting', '启动中'),
  },
  pid: (pid: number) => both(`pid ${pid}`, `pid ${pid}`),
  fired: (n: string) => both(`${n} fired`, `已执行 ${n} 个`),
  firedLabel: both('fired', '已执行'),
  kill: both('Kill this process', '杀掉此进程'),
  killOf: (name: string) => both(`Kill this process: ${name}`, `杀掉此进程：${name}`),
  sendsThisPage: both('sends this page', '正在推送本页'),
  since: (time: string) => both(`since ${time}`, `始于 ${time}`),

  lateness: both('Lateness', '延迟分布'),
  latenessNote: (n: string) => both(`${n} delays fired`, `已执行 ${n} 个任务`),
  latenessEmpty: both('Fills as delays fire.', '任务执行后，这里会逐渐填满。'),
  latenessText: (count: string, p50: string, p99: string) =>
    both(
      `${count} delays fired. Half were late by at most ${p50}, 99 of 100 by at most ${p99}.`,
      `已执行 ${count} 个任务。一半的延迟不超过 ${p50}，99% 不超过 ${p99}。`,
    ),
  latenessAxis: both('milliseconds late', '延迟（毫秒）'),
  latenessSteps: both(
    'p50 and p99 are rounded up, by a tenth of a millisecond or one in a hundred',
    'p50、p99 向上取整，误差不超过 0.1 毫秒或百分之一',
  ),
  upTo: (ms: string) => both(`up to ${ms} ms`, `不超过 ${ms} 毫秒`),
  above: both('more', '更久'),
  median: both('p50', 'p50'),
  p99: both('p99', 'p99'),
  worst: both('max', '最大'),

  happenings: both('What happens', '动态'),
  noHappenings: both('Nothing yet.', '暂无动态。'),
  messages: both('Messages to buyers', '发给买家的消息'),
  noMessages: both('The sample provider has sent nothing yet.', '示例通道还没有发送任何消息。'),
  message: messages,

  merchants: both('Merchants', '商家'),
  merchantsNote: both(
    'reminded of unshipped orders at nine, wherever they are',
    '每天当地九点，提醒尚未发货的订单',
  ),
  merchantNames,
  cities,
  nextReminder: (time: string) => both(`next in ${time}`, `${time} 后提醒`),
  reminding: both('being reminded…', '正在提醒…'),
  remindNow: both('Remind now', '立即提醒'),
  remindNowOf: (name: string) => both(`Remind now: ${name}`, `立即提醒：${name}`),
  lastReminder: (at: string, n: number) =>
    both(
      `Told at ${at}: ${plural(n, 'paid order waits', 'paid orders wait')} to be shipped.`,
      `${at} 已提醒：${n} 个已付款订单待发货。`,
    ),
  noReminder: both('Nothing has waited to be shipped yet.', '还没有待发货的订单。'),

  campaigns: both('Campaigns', '群发短信'),
  campaignsNote: both('each merchant at its own pace', '各商家各自限速，分批发送'),
  campaignText: both('New teas have arrived', '新茶已到店'),
  newCampaign: (n: number, merchant: string) =>
    both(`Text ${n} made-up buyers of ${merchant}`, `给${merchant}的 ${n} 位虚拟买家发短信`),
  campaignState: {
    SCHEDULED: both('Scheduled', '待发送'),
    RUNNING: both('Sending', '发送中'),
    STOPPED: both('Stopped', '已停止'),
    COMPLETED: both('Sent', '已发完'),
  },
  sentOf: (sent: string, total: string) => both(`${sent} of ${total}`, `${sent} / ${total}`),
  stop: both('Stop', '停止'),
  resume: both('Resume', '继续'),

  problem: {
    0: both('The shop did not answer. Try again in a moment.', '商店没有响应，请稍后再试。'),
    404: both('It does not exist any more.', '对象已不存在。'),
    409: both('Refused:', '操作被拒绝：'),
    503: both('The database is away. Try again in a moment.', '数据库暂不可用，请稍后再试。'),
    other: both('That did not work:', '操作失败：'),
  },

  said: {
    placed: (no: number) => both(`Order ${no} placed`, `订单 ${no} 已提交`),
    moved: (no: number, state: string) => both(`Order ${no}: ${state}`, `订单 ${no}：${state}`),
    refunded: (no: number) => both(`Order ${no}: refunded`, `订单 ${no}：已退款`),
    rated: (no: number, stars: number) =>
      both(`Order ${no}: ${plural(stars, 'star', 'stars')}`, `订单 ${no}：${stars} 星`),
    died: (name: string) => both(`${name} died`, `${name} 已退出`),
    started: (name: string) => both(`${name} is up again`, `${name} 已恢复`),
    back: both('Connected again', '已重新连接'),
  },
  footer: both(
    'Runs on your machine alone. Nothing on this page comes from elsewhere.',
    '只在你的机器上运行，本页不加载任何外部内容。',
  ),
};

export const en = said(texts, 0);
export const zh = said(texts, 1);
export type Words = typeof en;
