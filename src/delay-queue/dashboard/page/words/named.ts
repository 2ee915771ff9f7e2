import type { OperationAction, OperationLine, ProblemKind } from '../../contract.js';
import { SEARCH_FIELDS, type SearchFieldName, type SearchState } from '../../search.table.js';
import { both, type Both } from '../../../../ui/both.js';

/** Texts by the server's reason; an unknown reason shows the server's own English. */
type Known = Record<string, Both | undefined>;

const states: Record<SearchState, Both> = {
  scheduled: both('Scheduled', '等待中'),
  running: both('Running', '执行中'),
  retrying: both('Retrying', '待重试'),
  dead: both('Dead', '死信'),
  completed: both('Completed', '已完成'),
  cancelled: both('Cancelled', '已取消'),
  discarded: both('Discarded', '已丢弃'),
  superseded: both('Superseded', '已被取代'),
};

export const actions: Record<OperationAction, Both> = {
  runNow: both('Run now', '立即执行'),
  reschedule: both('Reschedule', '改期'),
  cancel: both('Cancel', '取消'),
  abort: both('Abort', '中止'),
  retry: both('Retry', '重试'),
  discard: both('Discard', '丢弃'),
  erase: both('Erase', '抹除'),
  pause: both('Pause', '暂停'),
  resume: both('Resume', '恢复'),
  create: both('Create', '新建'),
};

const operationStates: Record<OperationLine['state'], Both> = {
  running: both('Running', '进行中'),
  stopping: both('Stopping', '正在停止'),
  done: both('Done', '完成'),
  stopped: both('Stopped', '已停止'),
  failed: both('Failed', '失败'),
  interrupted: both('Interrupted', '已中断'),
};

const fields = Object.fromEntries(
  Object.entries(SEARCH_FIELDS).map(([name, { label }]) => [name, label]),
) as Record<SearchFieldName, Both>;

const problems: Record<ProblemKind | 'unreachable', Both> = {
  notFound: both('', ''),
  invalid: both('This is not possible.', '无法执行。'),
  conflict: both(
    'Something else changed it in the meantime. Look again.',
    '期间已有其他变更，请重新查看。',
  ),
  forged: both('The request was refused.', '请求被拒绝。'),
  busy: both('The server is busy. Try again in a moment.', '服务器繁忙，请稍后再试。'),
  slow: both('The database took too long.', '数据库用时过长。'),
  databaseGone: both('The dashboard cannot reach the database.', '看板没有可用的数据库。'),
  failed: both('The server failed. The error is in its log.', '服务器出错，详情见其日志。'),
  unreachable: both(
    'The server is not responding. Try again in a moment.',
    '服务器没有响应，请稍后再试。',
  ),
};

const outcomes: Known = {
  completed: both('completed', '完成'),
  failed: both('failed', '失败'),
  postponed: both('postponed', '推迟'),
  superseded: both('superseded', '已被取代'),
  split: both('batch failed', '批次失败，逐个重试'),
  released: both('given back', '停机时交还'),
  aborted: both('aborted', '已中止'),
  running: both('running', '执行中'),
  lost: both('lost', '丢失'),
};

const calls: Known = {
  reschedule: both('Rescheduled', '改期'),
  postpone: both('Postponed', '推迟'),
  runNow: both('Run now', '立即执行'),
  retryDead: both('Retried', '重试死信'),
  declaration: both('Schedule changed', '重复规则变更'),
  timeZone: both('Time zone changed', '时区规则变更'),
  catchUp: both('Missed runs skipped', '跳过的时刻'),
};

const verdicts: Known = {
  cancelled: both('cancelled', '已取消'),
  aborted: both('aborted', '已中止'),
  rescheduled: both('rescheduled', '已改期'),
  due: both('made due', '已设为到期'),
  retried: both('retried', '已重试'),
  discarded: both('discarded', '已丢弃'),
  erased: both('from the queue', '条队列记录'),
  history: both('from history', '条历史记录'),
  pauses: both('from pauses', '条暂停记录'),
  operations: both('from operations', '条操作记录'),
  paused: both('paused', '已暂停'),
  resumed: both('resumed', '已恢复'),
  scheduled: both('created', '已新建'),
  running: both('left running', '仍在执行'),
  absent: both('no longer there', '已不存在'),
};

const reasons: Known = {
  notDue: both('Not due', '未到时间'),
  retrying: both('Waiting for its next attempt', '等待重试'),
  claimed: both('Claimed, not yet started', '已被领取，尚未开始执行'),
  running: both('Running', '正在执行'),
  orphaned: both('Its process is gone', '执行它的进程已消失'),
  dead: both('Dead letter', '死信'),
  unreadable: both('Unreadable', '无法读取'),
  ended: both('Ended', '已结束'),
  absent: both('Absent', '不存在'),
  paused: both('Paused', '已暂停'),
  unserved: both('No node serves it', '没有节点处理'),
  throttled: both('A limit is full', '达到限额'),
  nodeStalled: both('Its node has stalled', '节点停滞'),
  locked: both('Another session holds a lock', '被其他会话锁定'),
  queued: both('Waiting for a slot', '排队中'),
};

const healthReasons: Known = {
  autovacuumOff: both('Autovacuum is off', '自动清理已关闭'),
  bloated: both('Bloat', '表膨胀'),
  clockJumped: both('The clock jumped', '时钟跳变'),
  databaseGone: both('No database', '数据库无响应'),
  databaseReadOnly: both('Read-only database', '数据库只读'),
  deadLetters: both('Dead letters', '有死信'),
  held: both('Held', '被占住'),
  late: both('Late', '延迟触发'),
  listenLost: both('LISTEN lost', '监听断开'),
  loadsMissing: both('Not loading', '读取停滞'),
  nodeSilent: both('Silent node', '节点无心跳'),
  notRunning: both('Not running', '未运行'),
  snapshotHeld: both('Old snapshot', '旧快照未释放'),
  taskFailing: both('Failing task', '后台任务失败'),
  unserved: both('Unserved', '没有节点处理'),
  zoneDiffers: both('Time zone differs', '时区规则不一致'),
};

/** What the server has names for. */
export const named = {
  states,
  actions,
  operationStates,
  fields,
  problems,
  outcomes,
  calls,
  verdicts,
  reasons,
  healthReasons,
};
