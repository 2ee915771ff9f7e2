import { CONNECTION, FILTER, type Option, type OptionName } from './options.js';

/** A command of the command line, as its help describes it. */
export interface Command {
  /** Each argument that is not an option: `NAME`, or `[NAME]` if it can be left out. */
  positional: readonly string[];
  /** One line, for the list of commands. */
  about: string;
  /** Further lines of its own help. */
  more?: string;
  options: readonly OptionName[];
  /** Options that mean something else here. */
  its?: Partial<Record<OptionName, Option>>;
}

const ONE = ['[NAME]', '[KEY]'];

const ONE_OR_MANY =
  'Takes one delay, by NAME and KEY or by --id, or many, by the other options. With many, it prints\n' +
  'how many match and asks first; without a terminal it needs --yes. Ctrl-C ends it between two\n' +
  'pages of 1,000; what was changed stays changed.';

const MATCHING = [...FILTER, 'state', 'id'] as const;

/** In the order of the help. */
const ALL = {
  migrate: {
    positional: [],
    about: 'Creates the tables, or whatever is missing from them.',
    more:
      'It can run again at any time. Run it as the role that will own the tables. The migration of\n' +
      'the application, delayQueueMigrations(), does the same and may run as well.',
    options: ['dry-run', ...CONNECTION],
  },
  status: {
    positional: [],
    about: 'Counts the delays of each name, and what is late, paused or served by no node.',
    options: ['load-every', ...CONNECTION],
  },
  list: {
    positional: [],
    about: 'Lists live delays, dead letters included, and what each is waiting for.',
    more: 'With --state completed, cancelled, discarded or superseded it lists ended ones, newest first.',
    options: [...MATCHING, 'limit', 'after', 'payload', 'load-every', ...CONNECTION],
  },
  explain: {
    positional: ONE,
    about: 'Says why a delay has not fired, or what became of it.',
    more: 'Takes NAME and KEY, or --id. Exit code 3 if there is no such delay.',
    options: ['id', 'load-every', ...CONNECTION],
    its: { id: { value: 'ID', about: 'The delay with this id.' } },
  },
  story: {
    positional: ['[KEY]'],
    about: 'Tells what happened to a key, or a customer: live delays, then ended ones.',
    more: 'Takes a KEY, of any name, or options that select delays.',
    options: [...FILTER, 'limit', 'after', 'payload', 'load-every', ...CONNECTION],
  },
  nodes: {
    positional: [],
    about: 'Lists the live nodes, the names that each serves, and how many delays it runs.',
    options: ['load-every', ...CONNECTION],
  },
  cancel: {
    positional: ONE,
    about: 'Cancels delays, dead letters included; with --abort also running ones.',
    more: ONE_OR_MANY,
    options: [...MATCHING, 'abort', 'abort-within', 'no-history', 'by', 'yes', ...CONNECTION],
  },
  erase: {
    positional: [],
    about: 'Erases a customer: live delays, history, reruns, and what operations recorded.',
    more:
      'Needs --key, --key-prefix, --group or --header. Prints what it would erase, and asks; without a\n' +
      'terminal it needs --yes. Running delays are left and counted: erase again when they have ended.',
    options: [
      ...(['name', 'key', 'key-prefix', 'group', 'header'] as const),
      'dry-run',
      'by',
      'yes',
      ...CONNECTION,
    ],
    its: {
      'dry-run': { about: 'Only counts, and changes nothing.' },
      by: { value: 'WHO', about: 'Who asks for it. Default: the local user.' },
    },
  },
  retry: {
    positional: ONE,
    about: 'Makes dead letters due now, with all their attempts.',
    more: ONE_OR_MANY,
    options: [...MATCHING, 'by', 'yes', ...CONNECTION],
  },
  'run-now': {
    positional: ONE,
    about: 'Makes delays that wait for their due time or next attempt due now.',
    more: ONE_OR_MANY,
    options: [...MATCHING, 'by', 'yes', ...CONNECTION],
  },
  reschedule: {
    positional: ONE,
    about: 'Moves delays to another time: --after, --at or --extend-by.',
    more: ONE_OR_MANY,
    options: [...MATCHING, 'after', 'at', 'extend-by', 'by', 'yes', ...CONNECTION],
    its: { after: { value: 'DURATION', about: 'Due this long from now, like 30m or 2d.' } },
  },
  pause: {
    positional: ['NAME'],
    about: 'Pauses a name, or one group of it, on all nodes; running attempts continue.',
    options: ['group', 'reason', 'for', 'until', 'by', ...CONNECTION],
  },
  resume: {
    positional: ['NAME'],
    about: 'Ends a pause of a name, or of one group of it.',
    options: ['group', 'by', ...CONNECTION],
  },
  dashboard: {
    positional: [],
    about: 'Serves the dashboard on this machine alone, until Ctrl-C.',
    more:
      'Without --allow-changes it only reads. It answers only requests from this machine, and needs\n' +
      'no application; inside one, DelayQueueDashboardModule serves the same.',
    options: [
      'port',
      'allow-changes',
      'payload',
      'no-history',
      'by',
      'load-every',
      'url',
      'schema',
      'help',
    ],
  },
  doctor: {
    positional: [],
    about: 'Checks the server, rights, tables and delays, and says how to fix what it finds.',
    more: 'Reads the whole table. Exit code 1 if there is a problem.',
    options: ['load-every', ...CONNECTION],
  },
} satisfies Record<string, Command>;

export type CommandName = keyof typeof ALL;

export const COMMANDS: Readonly<Record<CommandName, Command>> = ALL;

export const isCommand = (name: string): name is CommandName => Object.hasOwn(COMMANDS, name);
