/** What a test may say, in milliseconds. */
export type Step =
  | { do: 'schedule'; name: Name; key: string; by: string; ms: number }
  | { do: 'repeat'; key: string; everyMs: number }
  | { do: 'reschedule'; name: Name; key: string; by: string; ms: number }
  | { do: 'cancel'; name: Name; key: string }
  | { do: 'pause'; name: Name; by: string; ms: number }
  | { do: 'resume'; name: Name }
  | { do: 'advance'; by: string; ms: number };

type Name = 'test.plain' | 'test.failing' | 'test.rated';

/** One attempt that ran. */
export interface Ran {
  name: string;
  key: string;
  atMs: number;
  attempt: number;
  outcome: string;
}

/** One token, which is full again after so long. */
export const RATE = { max: 1, perMs: 1_000 } as const;

/** Of `TestedNode`. */
const RETRY_MS = 3_600_000;
const ATTEMPTS_MAX = 3;

interface Waiting {
  id: number;
  name: Name;
  key: string;
  dueMs: number;
  wakeMs: number;
  createdMs: number;
  attempts: number;
  everyMs?: number;
}

/** The queue as numbers: what waits, and what time it is. */
export class Model {
  /** What handlers were told, and when. */
  readonly heard: string[] = [];
  readonly #waiting = new Map<string, Waiting>();
  readonly #paused = new Map<Name, number>();
  readonly #ended: string[] = [];
  #rateFreeMs = -Infinity;
  #ids = 0;

  constructor(public nowMs: number) {}

  does(step: Step): number | Ran[] | undefined {
    switch (step.do) {
      case 'schedule':
        return this.#schedule(step.name, step.key, this.nowMs + step.ms);
      case 'repeat':
        return this.#repeat(`every ${step.key}`, step.everyMs);
      case 'reschedule':
        return this.#reschedule(step);
      case 'cancel':
        this.#waiting.delete(`${step.name} ${step.key}`);
        return undefined;
      case 'pause': {
        const untilMs = this.nowMs + step.ms;
        this.#paused.set(step.name, untilMs);
        return untilMs;
      }
      case 'resume':
        this.#paused.delete(step.name);
        return undefined;
      default:
        return this.#advance(this.nowMs + step.ms);
    }
  }

  there() {
    const live = [...this.#waiting.values()].map(({ name, key, dueMs, createdMs, ...rest }) =>
      [name, key, dueMs, createdMs, stateOf(rest)].join(' '),
    );
    return { live: live.toSorted(), ended: this.#ended.toSorted() };
  }

  /** One that waits, or is dead, becomes another in its place. */
  #schedule(name: Name, key: string, dueMs: number): number {
    const known = this.#waiting.get(`${name} ${key}`);
    this.#ids += known === undefined ? 1 : 0;
    const id = known?.id ?? this.#ids;
    const createdMs = this.nowMs;
    const row: Waiting = { id, name, key, dueMs, wakeMs: dueMs, createdMs, attempts: 0 };
    this.#waiting.set(`${name} ${key}`, row);
    return dueMs;
  }

  /** One that recurs in that way already goes on with its instants. */
  #repeat(key: string, everyMs: number): number {
    const known = this.#waiting.get(`test.plain ${key}`);
    if (known?.everyMs === everyMs) {
      known.createdMs = this.nowMs;
      return known.dueMs;
    }
    const dueMs = this.#schedule('test.plain', key, this.nowMs + everyMs);
    this.#waiting.get(`test.plain ${key}`)!.everyMs = everyMs;
    return dueMs;
  }

  #reschedule({ name, key, by, ms }: Extract<Step, { do: 'reschedule' }>): number | undefined {
    const row = this.#waiting.get(`${name} ${key}`);
    if (row === undefined || row.wakeMs === Infinity) return undefined;
    row.dueMs = (by === 'extendBy' ? row.dueMs : this.nowMs) + ms;
    row.wakeMs = Math.max(row.dueMs, this.nowMs);
    row.attempts = 0;
    return row.dueMs;
  }

  #advance(untilMs: number): Ran[] {
    const ran: Ran[] = [];
    for (;;) {
      const next = [...this.#waiting.values()]
        .filter(({ wakeMs }) => wakeMs < Infinity)
        .map((row) => ({ row, atMs: this.#beginsMs(row) }))
        .toSorted((a, b) => a.atMs - b.atMs || order(a.row, b.row))[0];
      if (next === undefined || next.atMs > untilMs) break;
      this.nowMs = next.atMs;
      ran.push(this.#run(next.row));
    }
    this.nowMs = untilMs;
    return ran;
  }

  #beginsMs({ name, wakeMs }: Waiting): number {
    const freeMs = name === 'test.rated' ? this.#rateFreeMs : -Infinity;
    return Math.max(wakeMs, this.nowMs, freeMs, this.#paused.get(name) ?? -Infinity);
  }

  #run(row: Waiting): Ran {
    const { name, key, everyMs } = row;
    // One run stands for all instants that a pause has held back: it is the last of them.
    if (everyMs !== undefined)
      row.dueMs += Math.floor((this.nowMs - row.dueMs) / everyMs) * everyMs;
    const { dueMs } = row;
    row.attempts += 1;
    const attempt = row.attempts;
    this.heard.push([name, key, dueMs, this.nowMs - dueMs, attempt, this.nowMs].join(' '));
    if (name === 'test.rated') this.#rateFreeMs = this.nowMs + RATE.perMs;
    const answer = { name, key, atMs: this.nowMs, attempt };
    if (name === 'test.failing') {
      const isDead = attempt === ATTEMPTS_MAX;
      row.wakeMs = isDead ? Infinity : this.nowMs + RETRY_MS;
      return { ...answer, outcome: isDead ? 'dead' : 'retrying' };
    }
    this.#ended.push(`${name} ${key} ${this.nowMs}`);
    if (everyMs === undefined) this.#waiting.delete(`${name} ${key}`);
    else this.#recur(row, everyMs);
    return { ...answer, outcome: 'completed' };
  }

  #recur(row: Waiting, everyMs: number): void {
    row.dueMs += everyMs;
    row.wakeMs = row.dueMs;
    row.attempts = 0;
  }
}

const order = (a: Waiting, b: Waiting): number =>
  a.wakeMs - b.wakeMs || a.dueMs - b.dueMs || a.id - b.id;

const stateOf = ({ wakeMs, attempts }: Pick<Waiting, 'wakeMs' | 'attempts'>): string => {
  if (wakeMs === Infinity) return 'dead';
  return attempts > 0 ? 'retrying' : 'scheduled';
};
