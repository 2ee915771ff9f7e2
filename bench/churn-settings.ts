import type { Client } from 'pg';

/** Storage parameters of the two tables; what a variant does not name is the server's default. */
interface StorageParameters {
  delay: Record<string, number>;
  history: Record<string, number>;
}

const EARLY = { autovacuum_vacuum_scale_factor: 0.02, autovacuum_analyze_scale_factor: 0.05 };
/** A table that only grows and is cut at one end is vacuumed after so many inserts, too. */
const EARLY_INSERTS = { autovacuum_vacuum_insert_scale_factor: 0.05 };
const UNPAUSED = { autovacuum_vacuum_cost_delay: 0 };

/**
 * Ways to vacuum, by the name that `--vacuums` knows. `server` leaves all to the server's defaults (a
 * fifth of the table must be dead), `early` asks for a fiftieth, `unpaused` also lets a vacuum work
 * without the pauses that autovacuum makes for others, `counted` starts at so many dead rows
 * whatever the size of the table.
 */
export const VACUUMS = {
  server: { delay: {}, history: {} },
  early: { delay: EARLY, history: { ...EARLY, ...EARLY_INSERTS } },
  unpaused: {
    delay: { ...EARLY, ...UNPAUSED },
    history: { ...EARLY, ...EARLY_INSERTS, ...UNPAUSED },
  },
  counted: {
    delay: { ...UNPAUSED, autovacuum_vacuum_scale_factor: 0, autovacuum_vacuum_threshold: 10_000 },
    history: {
      ...UNPAUSED,
      autovacuum_vacuum_scale_factor: 0,
      autovacuum_vacuum_threshold: 50_000,
    },
  },
} satisfies Record<string, StorageParameters>;

export type VacuumName = keyof typeof VACUUMS;

export const VACUUM_NAMES = Object.keys(VACUUMS) as VacuumName[];

/** Everything that the migration has set about vacuums is taken back first. */
export async function setVacuums(client: Client, name: VacuumName): Promise<void> {
  const { delay, history } = VACUUMS[name];
  for (const [table, parameters] of Object.entries({ delay, history })) {
    const { rows } = await client.query<{ option: string }>(
      `SELECT split_part(unnest(reloptions), '=', 1) AS option FROM pg_class
       WHERE oid = $1::regclass`,
      [`delay_queue.${table}`],
    );
    for (const { option } of rows.filter((row) => row.option.startsWith('autovacuum'))) {
      await client.query(`ALTER TABLE delay_queue.${table} RESET (${option})`);
    }
    for (const [option, value] of Object.entries(parameters)) {
      await client.query(`ALTER TABLE delay_queue.${table} SET (${option} = ${value})`);
    }
  }
}
