import { setTimeout as pause } from 'node:timers/promises';
import type { Client } from 'pg';
import { connect } from '../server/bench-server.js';

const LOOK_EVERY_MS = 100;

/** What a session that is not idle does or waits for. */
export const OCCUPATIONS = {
  'row lock': /^Lock\//,
  'WAL flush': /^(?:IO|LWLock)\/wal/i,
  core: /^CPU$/,
  process: /^(?:idle in transaction|Client\/)/,
  else: /^/,
} as const;
export type Occupation = keyof typeof OCCUPATIONS;

/** Whose time it is. */
export const CROWDS = ['all sessions', 'who holds what others wait for'] as const;
export type Crowd = (typeof CROWDS)[number];

/** How a crowd of sessions spent its time. */
export interface TimeSpent {
  /** Of them, at a time. */
  sessions: number;
  /** 0 to 1, by occupation. */
  shares: Record<Occupation, number>;
  /** The same by Postgres' own names, such as `Lock/tuple`, the largest first. */
  events: [name: string, share: number][];
}

/** A holder waits for no lock itself: it is the end of the queue. */
const LOOK = `
  WITH session AS MATERIALIZED (
    SELECT pid,
           CASE WHEN state LIKE 'idle in transaction%' THEN 'idle in transaction'
                WHEN wait_event IS NULL THEN 'CPU'
                ELSE wait_event_type || '/' || wait_event END AS event,
           CASE WHEN wait_event_type = 'Lock' THEN pg_blocking_pids(pid) ELSE '{}' END AS blockers
    FROM pg_stat_activity
    WHERE datname = $1 AND backend_type = 'client backend' AND state <> 'idle'
      AND application_name <> 'bench'
  )
  SELECT event, count(*)::int AS sessions,
         (count(*) FILTER (WHERE blockers = '{}'
            AND pid IN (SELECT unnest(blockers) FROM session)))::int AS holders
  FROM session GROUP BY event`;

interface Seen {
  event: string;
  sessions: number;
  holders: number;
}

/** Looks ten times a second at what the sessions of a database do. */
export class SessionWatch {
  readonly #stopped = new AbortController();
  readonly #sessions: Record<Crowd, Map<string, number>> = {
    'all sessions': new Map(),
    'who holds what others wait for': new Map(),
  };
  #looks = 0;
  #looking: Promise<void> = Promise.resolve();

  private constructor(
    private readonly client: Client,
    private readonly database: string,
  ) {}

  static async start(url: string): Promise<SessionWatch> {
    const watch = new SessionWatch(await connect(url), new URL(url).pathname.slice(1));
    watch.#looking = watch.#lookAgainAndAgain();
    return watch;
  }

  async stop(): Promise<Record<Crowd, TimeSpent>> {
    this.#stopped.abort();
    await this.#looking;
    await this.client.end();
    return {
      'all sessions': this.#spent('all sessions'),
      'who holds what others wait for': this.#spent('who holds what others wait for'),
    };
  }

  async #lookAgainAndAgain(): Promise<void> {
    const { signal } = this.#stopped;
    while (!signal.aborted) {
      const { rows } = await this.client.query<Seen>(LOOK, [this.database]);
      this.#looks += 1;
      for (const { event, sessions, holders } of rows) {
        add(this.#sessions['all sessions'], event, sessions);
        add(this.#sessions['who holds what others wait for'], event, holders);
      }
      await pause(LOOK_EVERY_MS, undefined, { signal }).catch(() => {});
    }
  }

  #spent(crowd: Crowd): TimeSpent {
    const counts = [...this.#sessions[crowd]].filter(([, count]) => count > 0);
    const total = counts.reduce((sum, [, count]) => sum + count, 0);
    const events = counts
      .map(([event, count]): [string, number] => [event, count / total])
      .toSorted((a, b) => b[1] - a[1]);
    const shares = { 'row lock': 0, 'WAL flush': 0, core: 0, process: 0, else: 0 };
    for (const [event, share] of events) shares[occupationOf(event)] += share;
    return { sessions: total / this.#looks, shares, events };
  }
}

function add(counts: Map<string, number>, event: string, count: number): void {
  counts.set(event, (counts.get(event) ?? 0) + count);
}

function occupationOf(event: string): Occupation {
  const names = Object.keys(OCCUPATIONS) as Occupation[];
  return names.find((name) => OCCUPATIONS[name].test(event)) ?? 'else';
}
