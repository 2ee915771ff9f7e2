import type { Sql } from '../record/sql.js';
import { latenessOf, type Lateness } from './lateness.js';

/** How a run went, in numbers. */
export interface Figures {
  /** Lives of tokens by how they ended; `begun` is all of them, the shop's included. */
  delays: {
    begun: number;
    completed: number;
    movedOn: number;
    dead: number;
    cancelled: number;
    replaced: number;
  };
  claims: number;
  effects: { fenced: number; plain: number };
  calls: { ok: number; fail: number; unknown: number };
  /** How often each kind of fault was done. */
  faults: Record<string, number>;
  /** Violations by what they mean. */
  lost: number;
  duplicated: number;
  unexpected: number;
  early: number;
  /** Of delays due in the calm phase, and of all that were due later. */
  lateness: { calm: Lateness; faults: Lateness };
}

type Counted = Pick<Figures, 'delays' | 'claims' | 'effects' | 'calls' | 'faults'>;

const ENDED = (how: string): string => `count(*) FILTER (WHERE ended = '${how}')`;

export async function figuresOf(
  sql: Sql,
  calmUntil: Date,
): Promise<Omit<Figures, 'lost' | 'duplicated' | 'unexpected' | 'early'>> {
  const [row] = await sql<{ counted: Counted }>(`
    SELECT json_build_object(
      'delays', (SELECT json_build_object(
        'begun', count(*), 'completed', ${ENDED('completed')}, 'movedOn', ${ENDED('moved on')},
        'dead', ${ENDED('dead')} + ${ENDED('discarded')}, 'cancelled', ${ENDED('cancelled')},
        'replaced', ${ENDED('replaced')}) FROM chaos.life),
      'claims', (SELECT count(*) FROM chaos.step WHERE kind = 'claim'),
      'effects', (SELECT json_build_object(
        'fenced', count(*) FILTER (WHERE fenced), 'plain', count(*) FILTER (WHERE NOT fenced))
        FROM chaos.effect),
      'calls', (SELECT json_build_object(
        'ok', count(*) FILTER (WHERE outcome = 'ok'), 'fail', count(*) FILTER (WHERE outcome = 'fail'),
        'unknown', count(*) FILTER (WHERE outcome = 'unknown')) FROM chaos.client),
      'faults', (SELECT COALESCE(json_object_agg(kind, times), '{}')
                 FROM (SELECT kind, count(*) AS times FROM chaos.fault GROUP BY kind ORDER BY kind) f)
    ) AS counted`);
  if (row === undefined) throw new Error('the record gave no figures');
  return { ...row.counted, lateness: await latenessOf(sql, calmUntil) };
}
