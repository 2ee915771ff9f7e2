import type { OperationAction, OperationLine } from '../../contract.js';
import type { SearchState } from '../../search.table.js';
import { both, type Both, plural } from '../../../../ui/both.js';
import { actions } from './named.js';

/** An action on delays. */
export type ChangeAction = Exclude<OperationAction, 'pause' | 'resume' | 'create'>;

const delays = (n: string): string => plural(n, 'delay', 'delays');
const letters = (n: string): string => plural(n, 'dead letter', 'dead letters');
const records = (n: string): string => plural(n, 'record', 'records');

const titles = {
  ...actions,
  cancel: both('Cancel delays', '取消任务'),
  abort: both('Abort attempts', '中止执行'),
  retry: both('Retry dead letters', '重试死信'),
  discard: both('Discard dead letters', '丢弃死信'),
  erase: both('Erase all records', '抹除全部记录'),
  create: both('Create a delay', '新建任务'),
};

const hints: Record<Exclude<OperationAction, 'create'>, Both> = {
  runNow: both('They become due now.', '它们立即到期。'),
  reschedule: both('They keep their attempts and their payload.', '次数与数据保持不变。'),
  cancel: both('They never fire.', '它们不会触发。'),
  abort: both(
    'Running attempts are told to stop. Waiting delays are cancelled.',
    '通知正在执行的任务结束；等待中的任务被取消。',
  ),
  retry: both('They become due now, with a full set of attempts.', '它们立即到期，次数重新计算。'),
  discard: both('They are removed for good.', '它们被永久移除。'),
  erase: both(
    'Live delays, their history and what operations recorded about them are removed for good. This operation keeps no key, group or header.',
    '未结束的任务、其历史以及操作记录中的相关内容被永久移除。此操作不保留键、分组或标头。',
  ),
  pause: both('Running attempts continue. Due delays wait.', '正在执行的继续；到期的等待。'),
  resume: both('Due delays fire.', '到期的任务开始触发。'),
};

const confirm: Record<ChangeAction, (n: string) => Both> = {
  runNow: (n) => both(`Run ${delays(n)} now`, `立即执行 ${n} 个任务`),
  reschedule: (n) => both(`Reschedule ${delays(n)}`, `改期 ${n} 个任务`),
  cancel: (n) => both(`Cancel ${delays(n)}`, `取消 ${n} 个任务`),
  abort: (n) => both(`Abort ${delays(n)}`, `中止 ${n} 个任务`),
  retry: (n) => both(`Retry ${letters(n)}`, `重试 ${n} 封死信`),
  discard: (n) => both(`Discard ${letters(n)}`, `丢弃 ${n} 封死信`),
  erase: (n) => both(`Erase ${records(n)}`, `抹除 ${n} 条记录`),
};

const endings: Record<OperationLine['state'], Both> = {
  running: both('', ''),
  stopping: both('It will stop after this page of 1,000.', '完成当前这一页（1,000 个）后停止。'),
  done: both('', ''),
  stopped: both('It was stopped. The changes it made remain.', '操作已停止，已更改的保持更改。'),
  failed: both(
    'It failed. The changes it made remain. Fix the cause, then start it again.',
    '操作失败，已更改的保持更改。请排除原因后重新开始。',
  ),
  interrupted: both(
    'Its process ended before it did. The changes it made remain. Start it again for the rest.',
    '其进程先于操作结束，已更改的保持更改。其余请重新开始。',
  ),
};

/** What is said where something is changed. */
export const acting = {
  titles,
  hints,
  confirm,

  buttons: both('Actions', '操作'),
  blocked: (state: SearchState, text: string) =>
    both(
      text,
      { running: '正在执行。', dead: '它是死信，请改用重试。' }[state as string] ?? '它不是死信。',
    ),

  willChange: (n: string) => both(`${delays(n)} will change.`, `将更改 ${n} 个任务。`),
  willErase: (n: string) => both(`${records(n)} will be erased.`, `将抹除 ${n} 条记录。`),
  nothing: both('None of them can be changed.', '没有可更改的任务。'),
  counting: both('Counting…', '正在统计…'),
  countAgain: both('Count again', '重新统计'),
  unchanged: both('These stay as they are:', '以下保持不变：'),
  sample: both('The first few', '其中前几个'),
  affected: (n: string) =>
    both(`It has ${n} live ${n === '1' ? 'delay' : 'delays'}.`, `涉及 ${n} 个未结束的任务。`),
  why: both('Why', '原因'),
  whyHint: both('Recorded with the operation.', '与操作一同记录。'),
  typeNumber: (n: string) => both(`Type ${n} to confirm`, `输入 ${n} 以确认`),
  optional: both('optional', '可选'),

  to: both('To', '改到'),
  toAt: both('At an instant', '指定时刻'),
  toAfter: both('After a duration from now', '从现在起'),
  toExtendBy: both('Later by', '推后'),
  durationHint: both('For example 90s, 30m, 48h or 14d.', '例如 90s、30m、48h 或 14d。'),
  localTime: both('In your time zone.', '按你的时区。'),
  noSuchTime: both(
    'Your clock skips or repeats this time when it changes. Choose another.',
    '时钟调整时会跳过或重复这个时间，请另选一个。',
  ),

  wholeName: both('The whole name, or one group', '整个名称，或其中一个分组'),
  duration: both('For how long', '时长'),
  durationOpen: both(
    'For example 30m or 2h. If left out, until it is resumed.',
    '留空则直到恢复。例如 30m 或 2h。',
  ),
  pauseName: (name: string) => both(`Pause ${name}`, `暂停 ${name}`),
  resumeName: (name: string) => both(`Resume ${name}`, `恢复 ${name}`),

  newDelay: both('New delay', '新建任务'),
  noNames: both(
    'No names yet. Each node adds those that it serves.',
    '还没有名称。节点会带来它所处理的名称。',
  ),
  notServed: both('no node serves it', '没有节点处理'),
  when: both('When', '时间'),
  now: both('Now', '现在'),
  asJson: both('As JSON', 'JSON'),
  asForm: both('As a form', '表单'),
  keyHint: both(
    'If a live delay already has that name and key, it stays as it is and nothing is created.',
    '若已有相同名称与键的未结束任务，则保持原样，不会新建。',
  ),
  notJson: (line: number, column: number) =>
    both(
      `This is not JSON: line ${line}, column ${column}.`,
      `不是 JSON：第 ${line} 行，第 ${column} 列。`,
    ),
  leftOut: both('left out', '不填'),
  yes: both('yes', '是'),
  no: both('no', '否'),

  operation: {
    endings,
    listed: both('Operations that you started', '你发起的操作'),
    none: both('No operations', '没有操作记录'),
    noneHint: both(
      'Each action taken here is recorded: who, what, which, how many and why.',
      '在此执行的每个操作都会记录：谁、做什么、对哪些、多少、为何。',
    ),
    kept: both('Kept for 90 days.', '保留 90 天。'),
    title: (action: string) => both(`Operation: ${action}`, `操作：${action}`),
    progress: both('Progress', '进度'),
    of: (n: string, of: string) => both(`${n} of ${of}`, `${n} / ${of}`),
    stop: both('Stop', '停止'),
    stopOf: (action: string) => both(`Stop: ${action}`, `停止：${action}`),
    details: both('Details', '详情'),
    dismiss: both('Dismiss', '收起'),
    columns: {
      when: both('When', '时间'),
      what: both('What', '操作'),
      which: both('Which', '对象'),
      counts: both('How many', '数量'),
      who: both('Who', '操作人'),
      why: both('Why', '原因'),
      state: both('State', '状态'),
    },
    ids: (n: string) => both(delays(n), `${n} 个任务`),
    erased: both('Erased', '已抹除'),
    toAt: both('to', '至'),
    toAfter: (time: string) => both(`${time} from then`, `自当时起 ${time}`),
    toExtendBy: (time: string) => both(`later by ${time}`, `推后 ${time}`),
    forTime: (time: string) => both(`for ${time}`, `时长 ${time}`),
    order: both('Order', '指令'),
    started: both('Started', '开始'),
    result: both('Result', '结果'),
    nothingYet: both('Nothing yet', '暂无'),
    changes: both('What it changed', '更改了哪些'),
    changesHint: both('The first 10,000 are listed.', '列出前 10,000 个。'),
    noChanges: both('It changed nothing', '没有更改任务'),
    noChangesHint: both(
      'Nothing matched when it ran, or it changed something other than delays.',
      '当时没有匹配项，或操作对象不是任务。',
    ),
    noList: both('No list is kept', '不保留清单'),
    noListHint: both(
      'An erase keeps no trace of what it erased.',
      '抹除后不留下任何被抹除的内容。',
    ),
    older: both('Older operations', '更早的操作'),
    more: both('More changes', '后面的'),
    newest: both('Newest operations', '最新的操作'),
    first: both('First changes', '最前面的'),
    verdict: both('Verdict', '结果'),
  },

  dead: {
    none: both('No dead letters', '没有死信'),
    noneHint: both(
      'A delay becomes one when its last attempt has failed. It stays until it is retried or discarded.',
      '任务最后一次执行失败后成为死信，直到被重试或丢弃。',
    ),
    newestOnly: (n: string) => both(`Only the newest ${n} were read.`, `只读取了最新的 ${n} 封。`),
    noError: both('without an error', '无错误信息'),
    example: both('Example', '示例'),
    count: both('Number', '数量'),
    error: both('Name and error', '名称与错误'),
    newest: both('Newest due', '最新到期'),
    oldest: both('Oldest due', '最早到期'),
    act: both('Actions', '操作'),
    retry: both('Retry all of these', '重试这些'),
    discard: both('Discard all of these', '丢弃这些'),
    show: both('Show them', '查看'),
  },
};
