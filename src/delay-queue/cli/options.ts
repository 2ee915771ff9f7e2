import { FILTER_FLAGS, type FilterFlag } from '../core/diagnosis.js';

/** An option of the command line. */
export interface Option {
  /** What its value is called in the help; without one it is a flag. */
  value?: string;
  short?: string;
  /** It may be given several times. */
  isMany?: true;
  about: string;
}

/** All options, in the order in which the help lists them. */
export const OPTIONS = {
  ...FILTER_FLAGS,
  limit: { value: 'NUMBER', about: 'At most this many lines, 1 to 1,000. Default 100.' },
  after: { value: 'TEXT', about: 'Where the page begins, as the previous page said.' },
  payload: { about: 'Also shows payloads. They may be confidential.' },
  at: { value: 'INSTANT', about: 'Due then, like 2026-01-31T09:30:00Z.' },
  'extend-by': { value: 'DURATION', about: 'Due this much later than it is now, like 1h.' },
  abort: { about: 'Also cancels running delays: aborts their attempts first.' },
  'abort-within': { value: 'DURATION', about: 'How long to wait for that. Default 5s.' },
  reason: { value: 'TEXT', about: 'Shown beside the pause.' },
  for: { value: 'DURATION', about: 'Ends the pause after this time, like 2h.' },
  until: { value: 'INSTANT', about: 'Ends the pause then.' },
  'no-history': { about: 'Writes no history, like nodes with history: false.' },
  by: { value: 'WHO', about: 'Who makes the change; recorded with it. Default: the local user.' },
  yes: { short: 'y', about: 'Does not ask. Needed where there is no terminal.' },
  port: { value: 'NUMBER', about: 'The port on 127.0.0.1; 0: any free one. Default 3999.' },
  'allow-changes': { about: 'Also lets you cancel, retry, move, pause and create delays.' },
  'dry-run': { about: 'Prints the SQL and changes nothing; needs no database.' },
  'load-every': {
    value: 'DURATION',
    about:
      'loadEvery of the nodes: one that is silent for three times as long is gone. Default 10s.',
  },
  url: {
    value: 'URL',
    about: 'The database. Default: DATABASE_URL, then PGHOST, PGUSER and the like.',
  },
  schema: { value: 'SCHEMA', about: 'Schema of the tables. Default delay_queue.' },
  json: { about: 'Prints one JSON document, instants as ISO texts.' },
  help: { short: 'h', about: 'Prints this help.' },
  version: { about: 'Prints the version of the package.' },
} as const satisfies Record<string, Option>;

export type OptionName = keyof typeof OPTIONS;

export const isOption = (name: string): name is OptionName => Object.hasOwn(OPTIONS, name);

/** Those that select delays, live or ended. */
export const FILTER = (Object.keys(FILTER_FLAGS) as FilterFlag[]).filter(
  (name) => name !== 'state' && name !== 'id',
);

/** Those of every command that reads the database. */
export const CONNECTION = [
  'url',
  'schema',
  'json',
  'help',
] as const satisfies readonly OptionName[];
