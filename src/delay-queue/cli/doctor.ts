import { PERMISSION_DENIED, readSqlState } from '../core/diagnosis.js';
import { printable } from '../core/index.js';
import {
  bring,
  type Finding,
  given,
  type Level,
  LOADS_MISSED_MAX,
  notice,
  ok,
  qualifiedTables,
  readCatalogue,
  reader,
  type Runner,
  type TextAnswer,
  UNCOMPILED,
} from '../core/ops.js';
import { SERVER_LOOKS, TABLE_LOOKS } from '../ops/checks/catalogue.js';
import type { Examined, Look } from '../ops/checks/look.js';
import { judgeClock, judgeServer } from '../ops/checks/server.js';
import { SERVER_NOW, serverSql } from '../ops/checks/server.sql.js';
import { judgeTables } from '../ops/checks/tables.js';
import { countText } from '../ops/checks/words.js';
import { type HealthLimits, parseHealthLimits } from '../ops/checks/health-limits.js';
import { print } from './output.js';
import { type Session, withSession } from './session.js';
import { type CommandContext, EXIT, type ExitCode } from './terminal.js';

/** Looks at everything. */
export async function doctor(context: CommandContext): Promise<ExitCode> {
  const findings = await withSession(context, (session) => examine(session, context.version));
  print(context, { findings }, () => findingsText(findings));
  return findings.some(({ level }) => level === 'problem') ? EXIT.FAILED : EXIT.DONE;
}

/** Worst first. */
export async function examine(
  session: Session,
  packageVersion: string,
  limits: HealthLimits = parseHealthLimits({}),
): Promise<Finding[]> {
  const findings = await findAll(session, packageVersion, limits);
  return (['problem', 'notice', 'ok'] as const).flatMap((level: Level) =>
    findings.filter((each) => each.level === level),
  );
}

async function findAll(
  { dataSource, schema, reading, options }: Session,
  packageVersion: string,
  limits: HealthLimits,
): Promise<Finding[]> {
  const runner: Runner = { query: (sql, parameters) => dataSource.query(sql, parameters) };
  const slowly: Runner = {
    query: (sql, parameters) =>
      dataSource.transaction(async (manager) => {
        await bring(manager, UNCOMPILED, 'transaction ends');
        return await manager.query(sql, parameters);
      }),
  };
  const sentMs = Date.now();
  const server = reader(SERVER_NOW)(given((await runner.query<TextAnswer>(serverSql(), []))[0]));
  const answeredMs = Date.now();
  const on: Examined = {
    dataSource,
    runner,
    slowly,
    schema,
    tables: qualifiedTables(schema),
    server,
    stats: () => reading.stats(),
    limits,
    aliveMs: options.loadEveryMs * LOADS_MISSED_MAX,
  };
  const findings = [
    ...judgeServer(server, packageVersion),
    judgeClock(server.nowMs, sentMs, answeredMs),
    ...(await takeLooks(SERVER_LOOKS, on)),
  ];
  const catalogue = await readCatalogue(runner, schema);
  findings.push(...judgeTables(schema, catalogue));
  const isThere = catalogue.some(({ kind, name }) => kind === 'table' && name === 'delay');
  return isThere ? [...findings, ...(await takeLooks(TABLE_LOOKS, on))] : findings;
}

/** They do not depend on each other: one that this role may not take hides no other. */
async function takeLooks(looks: readonly Look[], on: Examined): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const look of looks) findings.push(...(await takeLook(look, on)));
  return findings;
}

/** One that fails is a finding as well. */
async function takeLook(
  { check, find, ok: none }: Look,
  on: Examined,
): Promise<readonly Finding[]> {
  try {
    const found = await find(on);
    return found.length === 0 && none !== undefined ? [ok(check, none)] : found;
  } catch (error) {
    const found = `could not be checked: ${printable((error as Error).message, 300)}`;
    if (readSqlState(error) !== PERMISSION_DENIED) return [notice(check, found)];
    return [
      notice(check, found, {
        means: 'This role lacks a right that the check needs.',
        todo: 'Run doctor as the owner of the tables, or grant what docs/operations.md lists for shop_watch.',
      }),
    ];
  }
}

/** Aligned below the level. */
const INDENT = ' '.repeat('problem  '.length);

function findingsText(findings: readonly Finding[]): string {
  const count = (level: Level): number => findings.filter((each) => each.level === level).length;
  const lines = findings.map(({ level, check, found, means, todo, sql }) =>
    [
      `${level.padEnd(INDENT.length)}${check}: ${printable(found)}`,
      ...(means === null ? [] : [`${INDENT}${printable(means)}`]),
      ...(todo === null ? [] : [`${INDENT}Do: ${printable(todo)}`]),
      ...(sql === null ? [] : [`${INDENT}SQL: ${printable(sql)};`]),
    ].join('\n'),
  );
  const total = `${countText(count('problem'), 'problem')}, ${countText(count('notice'), 'notice')}, ${count('ok')} ok.`;
  return [...lines, '', total].join('\n');
}
