import { readSqlState } from '../database/driver-errors.js';
import { byPurpose } from '../database/prepared-statements.js';
import type { Runner } from '../database/runner.js';
import { type Installation, qualifiedTables } from '../database/tables.js';
import type { Computed } from '../recurrence/recurrence.js';
import { knowsZone, offsetText, zoneRules } from '../recurrence/zone-rules.js';
import { type AsText, readCount, readNowMs, readRow, readRows } from './rows/answers.js';
import { texts } from './rows/delay-rows.js';
import { nowSql } from './sql/recurrences.sql.js';
import {
  computedElsewhereSql,
  MOVED_MAX,
  moveZonesSql,
  offsetsSql,
  zonesSql,
} from './sql/zones.sql.js';

/** `invalid_parameter_value`, as Postgres answers for a zone. */
const UNKNOWN_ZONE = '22023';

/** A due time, and by which rules of its zone it was computed. */
export interface ComputedInstant {
  zone: string;
  minutes: number;
  /** Release of the zone data. */
  tz: string;
  dueMs: number;
}

export interface MovedInstant extends ComputedInstant {
  toMs: number;
  more: Computed;
}

/** The rules of time zones, as the database has them and as rows were computed from them. */
export class ZoneStore {
  readonly #sql;

  constructor(
    private readonly runner: Runner,
    of: string | Installation,
  ) {
    const tables = qualifiedTables(of);
    this.#sql = byPurpose({
      now: nowSql(tables),
      offsets: offsetsSql(tables),
      zones: zonesSql(tables),
      elsewhere: computedElsewhereSql(tables),
      move: moveZonesSql(tables),
    });
  }

  /** The time zones of recurring delays with these names, or of all. */
  zones(names?: readonly string[]): Promise<string[]> {
    const parameters = [names ? texts(names) : null];
    return readRows(this.runner, this.#sql.zones, parameters, ({ zone }: AsText<'zone'>) => zone);
  }

  /** Where this process and the database first differ on a zone in the next two years, in words. */
  async differenceIn(zone: string): Promise<string | undefined> {
    if (!knowsZone(zone)) return `this Node does not know the time zone ${zone}: update it`;
    const rules = zoneRules(zone, await readRow(this.runner, this.#sql.now, [], readNowMs));
    const instants = texts(rules.map(({ atMs }) => new Date(atMs).toISOString()));
    let theirs: AsText<'minutes'>[];
    try {
      theirs = await this.runner.query<AsText<'minutes'>>(this.#sql.offsets, [zone, instants]);
    } catch (error) {
      if (readSqlState(error) !== UNKNOWN_ZONE) throw error;
      return `the database does not know the time zone ${zone}: update its tzdata`;
    }
    const at = rules.findIndex(({ minutes }, index) => minutes !== Number(theirs[index]?.minutes));
    const first = rules[at];
    if (first === undefined) return undefined;
    return (
      `the time zone ${zone} differs: at ${new Date(first.atMs).toISOString()} this process counts ` +
      `${offsetText(first.minutes)}, the database ${offsetText(Number(theirs[at]!.minutes))}. Nodes with different ` +
      `rules fire its recurring delays at different hours: update Node (its zone data is ` +
      `${process.versions['tz'] ?? 'unknown'}) or the server's tzdata, until all agree`
    );
  }

  /** Due times that another release of the zone data than `tz` has computed. */
  async computedElsewhere(tz: string, names: readonly string[]): Promise<ComputedInstant[]> {
    type Found = AsText<'zone' | 'minutes' | 'tz' | 'due_ms'>;
    const rows = await this.runner.query<Found>(this.#sql.elsewhere, [tz, texts(names)]);
    return rows.map(({ due_ms: dueMs, minutes, ...row }) => ({
      ...row,
      minutes: Number(minutes),
      dueMs: Number(dueMs),
    }));
  }

  /** @returns how many delays have moved; those that are locked stay */
  async move(instants: readonly MovedInstant[], names: readonly string[]): Promise<number> {
    const parameters = [
      texts(names),
      texts(instants.map(({ zone }) => zone)),
      texts(instants.map(({ minutes }) => String(minutes))),
      texts(instants.map(({ tz }) => tz)),
      texts(instants.map(({ dueMs }) => new Date(dueMs).toISOString())),
      texts(instants.map(({ toMs }) => new Date(toMs).toISOString())),
      texts(instants.map(({ more }) => JSON.stringify(more))),
    ];
    let moved = 0;
    for (let some = MOVED_MAX; some === MOVED_MAX; moved += some) {
      some = await readRow(this.runner, this.#sql.move, parameters, readCount);
    }
    return moved;
  }
}
