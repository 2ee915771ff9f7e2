import type { OperationAction, OperationLine, SearchState } from '../../contract.js';

/** What the server says in English, by its reason; others are shown as sent. */
type Known = Record<string, string | undefined>;

/** An action on delays. */
export type ChangeAction = Exclude<OperationAction, 'pause' | 'resume' | 'create'>;

const delays = (n: string): string => `${n} ${n === '1' ? 'delay' : 'delays'}`;
const letters = (n: string): string => `${n} dead ${n === '1' ? 'letter' : 'letters'}`;

const records = (n: string): string => `${n} ${n === '1' ? 'record' : 'records'}`;

const titles: Record<OperationAction, string> = {
  runNow: 'Run now',
  reschedule: 'Reschedule',
  cancel: 'Cancel delays',
  abort: 'Abort attempts',
  retry: 'Retry dead letters',
  discard: 'Discard dead letters',
  erase: 'Erase all records',
  pause: 'Pause',
  resume: 'Resume',
  create: 'Create a delay',
};

const hints: Record<OperationAction, string> = {
  runNow: 'They become due now.',
  reschedule: 'They keep their attempts and their payload.',
  cancel: 'They never fire.',
  abort: 'Attempts that run are told to end. What waits is cancelled.',
  retry: 'They become due now, with all their attempts.',
  discard: 'They are removed for good.',
  erase:
    'Live delays and their history are removed for good, and what operations say of them. The operation keeps no key, group or header.',
  pause: 'What runs goes on. What is due waits.',
  resume: 'What is due fires.',
  create: '',
};

const confirm: Record<ChangeAction, (n: string) => string> = {
  runNow: (n) => `Run ${delays(n)} now`,
  reschedule: (n) => `Reschedule ${delays(n)}`,
  cancel: (n) => `Cancel ${delays(n)}`,
  abort: (n) => `Abort ${delays(n)}`,
  retry: (n) => `Retry ${letters(n)}`,
  discard: (n) => `Discard ${letters(n)}`,
  erase: (n) => `Erase ${records(n)}`,
};

const states: Record<OperationLine['state'], string> = {
  running: 'Running',
  stopping: 'Stopping',
  done: 'Done',
  stopped: 'Stopped',
  failed: 'Failed',
  interrupted: 'Interrupted',
};

const endings: Record<OperationLine['state'], string> = {
  running: '',
  stopping: 'It stops after this page of 1,000.',
  done: '',
  stopped: 'It was stopped. What it had changed stays changed.',
  failed: 'It failed. What it had changed stays changed. Mend the cause, then start it again.',
  interrupted:
    'Its process ended before it did. What it had changed stays changed. Start it again for the rest.',
};

const verdicts: Known = {
  cancelled: 'cancelled',
  aborted: 'aborted',
  rescheduled: 'rescheduled',
  due: 'made due',
  retried: 'retried',
  discarded: 'discarded',
  erased: 'from the queue',
  history: 'from history',
  pauses: 'from pauses',
  operations: 'from operations',
  paused: 'paused',
  resumed: 'resumed',
  scheduled: 'created',
  running: 'left running',
  absent: 'no longer there',
};

export const acting = {
  titles,
  hints,
  confirm,
  buttons: 'Actions',
  blocked: (_state: SearchState, text: string) => text,

  willChange: (n: string) => `${delays(n)} will change.`,
  willErase: (n: string) => `${records(n)} will be erased.`,
  nothing: 'None of them can be changed.',
  counting: 'Counting…',
  countAgain: 'Count again',
  unchanged: 'These stay as they are:',
  sample: 'The first of them',
  affected: (n: string) => `It has ${n} live ${n === '1' ? 'delay' : 'delays'}.`,
  why: 'Why',
  whyHint: 'Is written down with the operation.',
  typeNumber: (n: string) => `Type ${n} to confirm`,
  close: 'Close',
  optional: 'optional',

  to: 'To',
  toAt: 'At an instant',
  toAfter: 'After a duration from now',
  toExtendBy: 'Later by',
  durationHint: 'Such as 90s, 30m, 48h or 14d.',
  localTime: 'In your time zone.',
  noSuchTime: 'Your clock skips or repeats this time when it changes. Choose another.',

  name: 'Name',
  group: 'Group',
  key: 'Key',
  wholeName: 'The whole name, or one group',
  duration: 'For how long',
  durationOpen: 'Until it is resumed, if left out. Such as 30m or 2h.',
  pauseName: (name: string) => `Pause ${name}`,
  resumeName: (name: string) => `Resume ${name}`,
  pause: 'Pause',
  resume: 'Resume',

  create: 'Create',
  newDelay: 'New delay…',
  noNames: 'There is no name yet. A node brings those that it serves.',
  notServed: 'no node serves it',
  when: 'When',
  now: 'Now',
  payload: 'Payload',
  asJson: 'As JSON',
  asForm: 'As a form',
  keyHint: 'A live delay with that name and key is left as it is: then nothing is created.',
  notJson: (line: number, column: number) => `This is not JSON: line ${line}, column ${column}.`,
  required: 'required',
  leftOut: 'left out',
  yes: 'yes',
  no: 'no',

  operation: {
    listed: 'Operations that you started',
    none: 'No operations',
    noneHint: 'Each action taken here is written down: who, what, which, how many and why.',
    kept: 'Kept for 90 days.',
    title: (action: string) => `Operation: ${action}`,
    states,
    endings,
    verdicts,
    progress: 'Progress',
    of: (n: string, of: string) => `${n} of ${of}`,
    stop: 'Stop',
    stopOf: (action: string) => `Stop: ${action}`,
    details: 'Details',
    dismiss: 'Dismiss',
    columns: {
      when: 'When',
      what: 'What',
      which: 'Which',
      counts: 'How many',
      who: 'Who',
      why: 'Why',
      state: 'State',
    },
    ids: (n: string) => delays(n),
    filtered: 'All that match',
    erased: 'Erased',
    toAt: 'to',
    toAfter: (time: string) => `${time} from then`,
    toExtendBy: (time: string) => `later by ${time}`,
    forTime: (time: string) => `for ${time}`,
    order: 'Order',
    started: 'Started',
    ended: 'Ended',
    node: 'Node',
    result: 'Result',
    nothingYet: 'Nothing yet',
    changes: 'What it changed',
    changesHint: 'The first 10,000 are listed.',
    noChanges: 'It changed nothing',
    noChangesHint: 'Nothing matched by then, or it was something else than a delay.',
    noList: 'No list is kept',
    noListHint: 'An erase leaves nothing of what it erased.',
    older: 'Older operations',
    more: 'More of them',
    newest: 'Newest operations',
    first: 'The first of them',
    delay: 'Delay',
    verdict: 'Verdict',
  },

  dead: {
    none: 'No dead letters',
    noneHint:
      'A delay becomes one when its last attempt has failed. It stays until it is retried or discarded.',
    newestOnly: (n: string) => `Only the newest ${n} were read.`,
    noError: 'without an error',
    example: 'Example',
    count: 'Number',
    error: 'Name and error',
    newest: 'Newest due',
    oldest: 'Oldest due',
    act: 'Actions',
    retry: 'Retry all of these',
    discard: 'Discard all of these',
    show: 'Show them',
  },
};

export type Acting = typeof acting;
