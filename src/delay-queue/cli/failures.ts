import {
  causeChain,
  isReadOnly,
  PERMISSION_DENIED,
  readsTrouble,
  readSqlState,
  classifyTrouble,
} from '../core/diagnosis.js';
import {
  DelayConfigError,
  DelayError,
  DelayInvalidError,
  describeError,
  printable,
} from '../core/index.js';
import { PROGRAM } from '../ops/checks/words.js';
import { WrongUsage } from './parse.js';
import { EXIT, type ExitCode } from './terminal.js';

/** What a person reads of an error, and the exit code. */
export interface Failure {
  text: string;
  exitCode: ExitCode;
}

/** @param schema of the tables, for the command that creates them */
export function toFailure(error: unknown, schema: string): Failure {
  if (error instanceof WrongUsage) return { text: error.message, exitCode: EXIT.WRONG_USAGE };
  if (error instanceof DelayInvalidError) {
    return { text: `${optionFor(error.field)}: ${error.why}`, exitCode: EXIT.WRONG_USAGE };
  }
  return { text: describeFailure(error, schema), exitCode: EXIT.FAILED };
}

/** The option that a field of the library came from. */
function optionFor(field: string): string {
  const name = field.split('.').at(-1) ?? field;
  const option = OPTION_OF[name] ?? name.replaceAll(/[A-Z]/g, (at) => `-${at.toLowerCase()}`);
  return field.startsWith('targets') || name === 'filter' ? name : `--${option}`;
}

const OPTION_OF: Readonly<Record<string, string>> = { headers: 'header' };

/** No such table, column, function or schema. */
const MISSING = new Set(['42P01', '42703', '42883', '3F000']);

function describeFailure(error: unknown, schema: string): string {
  const chain = causeChain(error);
  const states = chain.map(readSqlState);
  const said = printable(describeError(error)).replace(/^(?:Error|error): /, '');
  if (states.some((state) => state !== undefined && MISSING.has(state))) {
    const option = schema === 'delay_queue' ? '' : ` --schema ${schema}`;
    return (
      `the tables of the schema ${schema} are missing, or are those of another version. Create them with ` +
      `${PROGRAM} migrate${option}, or name the right schema or database (${said})`
    );
  }
  const trouble = classifyTrouble(error);
  if (trouble === 'login')
    return `the server refuses this role, its password or database (${said})`;
  if (trouble === 'full') {
    return (
      `the server has no connection left for this role (${said}). Close those that are idle, raise max_connections, ` +
      'or make the pools or transactionalConnections smaller; a few are reserved for superusers'
    );
  }
  if (states.includes(PERMISSION_DENIED)) {
    const denied = printable((chain.at(-1) as Error).message);
    return `a right is missing: ${denied}. docs/operations.md, "Roles and rights", lists what a role needs to read, and to change`;
  }
  if (chain.some(isReadOnly)) return `this server or role takes no writes (${said})`;
  if (trouble === 'unreachable' || trouble === 'hanging') {
    return `the database does not answer: is the server up, and --url, DATABASE_URL or PGHOST right? (${firstError(error)})`;
  }
  if (trouble !== undefined) return `${readsTrouble(error)} (${said})`;
  return error instanceof DelayConfigError || error instanceof DelayError ? error.message : said;
}

/** Node tries each address of a host, and its error for all of them has no message. */
function firstError(error: unknown): string {
  const errors = typeof error === 'object' && error !== null && 'errors' in error && error.errors;
  const first: unknown = Array.isArray(errors) ? errors[0] : error;
  return printable(describeError(first)).replace(/^(?:Error|error): /, '');
}

const PASSWORD_OF_URL = /(\b\w+:\/\/[^\s:/@]*):[^\s]*@/g;
const PASSWORD_OF_QUERY = /([?&](?:ssl)?password=)[^&\s]*/gi;

/**
 * The text without passwords. No error is known to hold one; this is for the one that does.
 * @param secrets passwords as they were given
 */
export function withoutPasswords(text: string, secrets: readonly string[]): string {
  let clean = text.replaceAll(PASSWORD_OF_URL, '$1:***@').replaceAll(PASSWORD_OF_QUERY, '$1***');
  for (const secret of secrets) {
    // A very short one would blot out half of the message, and say what it is.
    if (secret.length >= 4) clean = clean.replaceAll(secret, '***');
  }
  return clean;
}

/** The passwords of a URL, as it has them and decoded. */
export function passwordsIn(url: string | undefined): string[] {
  const [, raw] = /^\w+:\/\/[^:/@]*:([^\s]*)@/.exec(url ?? '') ?? [];
  if (raw === undefined) return [];
  try {
    return [raw, decodeURIComponent(raw)];
  } catch {
    return [raw];
  }
}
