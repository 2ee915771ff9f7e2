import { PERMISSION_DENIED, readSqlState } from '../core/diagnosis.js';
import { printable } from '../core/index.js';
import {
  bring,
  type Finding,
  judge,
  ok,
  findStranger,
  judgeIds,
  type Level,
  LOADS_MISSED_MAX,
  notice,
  type Runner,
  UNCOMPILED,
  ZoneStore,
} from '../core/ops.js';
import { judgeHolder, SIZE_CHECKS } from '../ops/checks/vacuum.js';
import { counted } from '../ops/checks/words.js';
import { DoctorStore } from './doctor.store.js';
import {
  leaseFindings,
  nodeFindings,
  statsFindings,
  unreadableFindings,
  zoneFindings,
} from './doctor-delays.js';
import {
  clockFinding,
  connectionFindings,
  listenFinding,
  rightFindings,
  serverFindings,
  settingFindings,
  SETTINGS,
} from './doctor-server.js';
import { driftFindings } from './doctor-tables.js';
import { print } from './output.js';
import { loadEveryFrom, type Session, withSession } from './session.js';
import { type Context, EXIT, type ExitCode } from './terminal.js';

/** From when on something counts as held, or forgotten. */
export interface Ages {
  snapshotMs: number;
  pauseMs: number;
  lateMs: number;
  leaseMs: number;
  silentMs: number;
}

export const AGES: Omit<Ages, 'silentMs'> = {
  snapshotMs: 10 * 60_000,
  pauseMs: 24 * 3_600_000,
  lateMs: 60_000,
  leaseMs: 60_000,
};

/** Looks at everything. */
export async function doctor(context: Context): Promise<ExitCode> {
  const loadEveryMs = loadEveryFrom(context.given) ?? 10_000;
  const ages = { ...AGES, silentMs: loadEveryMs * LOADS_MISSED_MAX };
  const findings = await withSession(context, (session) => examine(session, context.version, ages));
  print(context, { findings }, () => textOf(findings));
  return findings.some(({ level }) => level === 'problem') ? EXIT.FAILED : EXIT.DONE;
}

/** Worst first. */
export async function examine(
  session: Session,
  packageVersion: string,
  ages: Ages,
): Promise<Finding[]> {
  const findings = await new Examination(session, packageVersion, ages).all();
  return (['problem', 'notice', 'ok'] as const).flatMap((level: Level) =>
    findings.filter((each) => each.level === level),
  );
}

class Examination {
  readonly #runner: Runner;
  readonly #store: DoctorStore;

  constructor(
    private readonly session: Session,
    private readonly packageVersion: string,
    private readonly ages: Ages,
  ) {
    const { dataSource, schema } = session;
    this.#runner = { query: (sql, parameters) => dataSource.query(sql, parameters) };
    this.#store = new DoctorStore(this.#runner, schema, {
      query: (sql, parameters) =>
        dataSource.transaction(async (manager) => {
          await bring(manager, UNCOMPILED, 'transaction ends');
          return await manager.query(sql, parameters);
        }),
    });
  }

  /** The looks do not depend on each other: one that a role may not take hides no other. */
  async all(): Promise<Finding[]> {
    const store = this.#store;
    const { schema, dataSource } = this.session;
    const sentMs = Date.now();
    const server = await store.server();
    const answeredMs = Date.now();
    const findings = [
      ...serverFindings(server, this.packageVersion),
      clockFinding(server.nowMs, sentMs, answeredMs),
      ...(await look('settings', async () =>
        settingFindings(await store.settings(SETTINGS), server.role),
      )),
      ...(await look('snapshots', async () => {
        const holders = await store.holders(this.ages.snapshotMs);
        return orOk(holders.map(judgeHolder), 'snapshots', 'nothing holds a snapshot for long');
      })),
      // None does on a standby.
      ...(server.isStandby
        ? []
        : await look('listen', async () => [await listenFinding(dataSource)])),
    ];
    const catalogue = await store.catalogue();
    findings.push(...driftFindings(schema, catalogue));
    if (!catalogue.some(({ kind, name }) => kind === 'table' && name === 'delay')) return findings;
    return [
      ...findings,
      ...(await look('rights', async () =>
        rightFindings(await store.rights(), server.role, schema),
      )),
      ...(await look('owners', async () => {
        const stranger = await findStranger(dataSource, schema, false);
        return stranger === undefined ? [] : [stranger];
      })),
      ...(await look('identity', async () => [await judgeIds(this.#runner, schema)])),
      ...(await look('size', async () => {
        const relations = await store.relations();
        const found = relations.flatMap((relation) => judge(SIZE_CHECKS, relation));
        return orOk(found, 'size', 'there are few dead rows, and no bloat');
      })),
      ...(await look('rows', async () => unreadableFindings(await store.unreadable()))),
      ...(await look('time-zones', () => this.#zones())),
      ...(await look('leases', async () =>
        leaseFindings(await store.expiredLeases(this.ages.leaseMs)),
      )),
      ...(await look('delays', async () => {
        const stats = await this.session.reading.stats();
        const live = new Set(stats.nodes.map(({ name }) => name));
        return [
          ...statsFindings(stats, server.nowMs, this.ages),
          ...connectionFindings(server, live.size),
          ...nodeFindings(await store.silentNodes(this.ages.silentMs), live),
        ];
      })),
    ];
  }

  /** On this session, which is new: a pooled one may hold old rules. */
  async #zones(): Promise<Finding[]> {
    const store = new ZoneStore(this.#runner, this.session.schema);
    const differences = new Map<string, string | undefined>();
    for (const zone of await store.zones()) differences.set(zone, await store.differenceIn(zone));
    return zoneFindings(differences);
  }
}

const orOk = (found: Finding[], check: string, text: string): Finding[] =>
  found.length > 0 ? found : [ok(check, text)];

/** A look that fails is a finding as well. */
async function look(check: string, work: () => Promise<Finding[]>): Promise<Finding[]> {
  try {
    return await work();
  } catch (error) {
    const found = `could not be looked at: ${printable((error as Error).message, 300)}`;
    if (readSqlState(error) !== PERMISSION_DENIED) return [notice(check, found)];
    return [
      notice(check, found, {
        means: 'This role lacks a right that the look needs.',
        todo: 'Run doctor as the owner of the tables, or grant what docs/operations.md lists for shop_watch.',
      }),
    ];
  }
}

/** Aligned below the level. */
const INDENT = ' '.repeat('problem  '.length);

function textOf(findings: readonly Finding[]): string {
  const count = (level: Level): number => findings.filter((each) => each.level === level).length;
  const lines = findings.map(({ level, check, found, means, todo, sql }) =>
    [
      `${level.padEnd('problem  '.length)}${check}: ${printable(found)}`,
      ...(means === null ? [] : [`${INDENT}${printable(means)}`]),
      ...(todo === null ? [] : [`${INDENT}Do: ${printable(todo)}`]),
      ...(sql === null ? [] : [`${INDENT}SQL: ${printable(sql)};`]),
    ].join('\n'),
  );
  const total = `${counted(count('problem'), 'problem')}, ${counted(count('notice'), 'notice')}, ${count('ok')} ok.`;
  return [...lines, '', total].join('\n');
}
