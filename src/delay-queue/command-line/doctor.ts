import { printable } from '../api/error-text.js';
import { DelayConfigError } from '../api/errors.js';
import { bring, UNCOMPILED } from '../database/connection-config.js';
import { PERMISSION_DENIED, sqlStateOf } from '../database/driver-errors.js';
import { LOADS_MISSED_MAX } from '../store/sql/fragments/clock.js';
import { DoctorStore } from '../store/doctor.store.js';
import { ZoneStore } from '../store/zone.store.js';
import { checkIds, refuseStrangers } from '../store/tables/preflight.js';
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
  holderFindings,
  listenFinding,
  rightFindings,
  serverFindings,
  settingFindings,
  SETTINGS,
} from './doctor-server.js';
import { driftFindings, idsFinding, sizeFindings } from './doctor-tables.js';
import { type Finding, type Level, notice, problem } from './finding.js';
import { counted, print } from './output.js';
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
  readonly #store: DoctorStore;

  constructor(
    private readonly session: Session,
    private readonly packageVersion: string,
    private readonly ages: Ages,
  ) {
    const { dataSource, schema } = session;
    this.#store = new DoctorStore(
      { query: (sql, parameters) => dataSource.query(sql, parameters) },
      schema,
      {
        query: (sql, parameters) =>
          dataSource.transaction(async (manager) => {
            await bring(manager, UNCOMPILED, 'transaction ends');
            return await manager.query(sql, parameters);
          }),
      },
    );
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
      clockFinding(Number(server.now_ms), sentMs, answeredMs),
      ...(await look('settings', async () =>
        settingFindings(await store.settings(SETTINGS), server.quoted_role),
      )),
      ...(await look('snapshots', async () =>
        holderFindings(await store.holders(this.ages.snapshotMs)),
      )),
      // None does on a standby.
      ...(server.is_standby === 'true'
        ? []
        : await look('listen', async () => [await listenFinding(dataSource)])),
    ];
    const catalogue = await store.catalogue();
    findings.push(...driftFindings(schema, catalogue));
    if (!catalogue.some(({ kind, name }) => kind === 'table' && name === 'delay')) return findings;
    return [
      ...findings,
      ...(await look('rights', async () => rightFindings(await store.rights(), server, schema))),
      ...(await look('owners', () => this.#owners())),
      ...(await look('identity', () => this.#ids())),
      ...(await look('size', async () => sizeFindings(schema, await store.relations()))),
      ...(await look('rows', async () => unreadableFindings(await store.unreadable()))),
      ...(await look('time-zones', () => this.#zones())),
      ...(await look('leases', async () =>
        leaseFindings(await store.expiredLeases(this.ages.leaseMs)),
      )),
      ...(await look('delays', async () => {
        const stats = await this.session.reading.stats();
        const live = new Set(stats.nodes.map(({ name }) => name));
        return [
          ...statsFindings(stats, Number(server.now_ms), this.ages),
          ...connectionFindings(server, live.size),
          ...nodeFindings(await store.silentNodes(this.ages.silentMs), live),
        ];
      })),
    ];
  }

  /** As a start does it. */
  async #owners(): Promise<Finding[]> {
    const { dataSource, schema } = this.session;
    try {
      await refuseStrangers(dataSource, schema, false);
      return [];
    } catch (error) {
      return [
        problem('owners', (error as Error).message, {
          means: 'No node starts, and no migration runs.',
        }),
      ];
    }
  }

  /** On this session, which is new: a pooled one may hold old rules. */
  async #zones(): Promise<Finding[]> {
    const store = new ZoneStore(
      { query: (sql, parameters) => this.session.dataSource.query(sql, parameters) },
      this.session.schema,
    );
    const differences = new Map<string, string | undefined>();
    for (const zone of await store.zones()) differences.set(zone, await store.differenceIn(zone));
    return zoneFindings(differences);
  }

  async #ids(): Promise<Finding[]> {
    const { dataSource, schema } = this.session;
    const runner = {
      query: <Row>(sql: string, parameters: unknown[]) => dataSource.query<Row[]>(sql, parameters),
    };
    return await checkIds(runner, schema).then(
      (advice) => idsFinding(undefined, advice, schema),
      (error: unknown) => {
        if (!(error instanceof DelayConfigError)) throw error;
        return idsFinding(error, [], schema);
      },
    );
  }
}

/** A look that fails is a finding as well. */
async function look(check: string, work: () => Promise<Finding[]>): Promise<Finding[]> {
  try {
    return await work();
  } catch (error) {
    const found = `could not be looked at: ${printable((error as Error).message, 300)}`;
    if (sqlStateOf(error) !== PERMISSION_DENIED) return [notice(check, found)];
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
