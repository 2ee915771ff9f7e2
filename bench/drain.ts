import { shownAccounting } from './accounting.js';
import { adaptersLike } from './adapters/adapters.js';
import { type Bench, interleaved } from './bench.js';
import type { Adapter, HandlerKind, Running } from './adapters/adapter.js';
import type { Settings, Workers } from './command-line.js';
import { type Drain, measure, type Variant, WARM_UP, WARM_UPS } from './drain/measurement.js';
import { type Cell, cellsOf, type Column, figure, rounds, type Table } from './report/table.js';
import { statementSource } from './site.js';

type Result = { variant: Variant; measurements: Drain[] };

const COLUMNS: readonly Column<Drain>[] = [
  { title: 'delays/s', of: (drain) => drain.perSecond },
  { title: 'once warm', of: (drain) => drain.onceWarmPerSecond },
  { title: 'longest pause ms', of: (drain) => drain.longestPauseMs },
  { title: 'worker µs/delay', of: (drain) => drain.workerMicros, digits: 1 },
  { title: 'server µs/delay', of: (drain) => drain.serverMicros, digits: 1 },
  { title: 'statements/delay', of: (drain) => drain.statements, digits: 4 },
  { title: 'WAL bytes/delay', of: (drain) => drain.walBytes },
];

/** A backlog of due delays, emptied by handlers that do next to nothing: the cost of the queue itself. */
export async function run(bench: Bench): Promise<Table[]> {
  const { settings } = bench;
  const results = await interleaved(
    bench,
    variantsOf(bench),
    (variant) => measure(bench, variant),
    (drain) =>
      `${figure(drain.perSecond)}/s, longest pause ${figure(drain.longestPauseMs)} ms, lost / twice ${shownAccounting([drain.accounting])}`,
  );
  const source = await statementSource(bench);
  return settings.workers.map((workers) => {
    const { name, title, notes } = TOLD[workers];
    const shown = results.filter(({ variant }) => variant.workers === workers);
    return {
      name,
      title: `Drain of ${figure(settings.count)} ${title}`,
      notes: [
        ...notes,
        '"once warm": the pace at which handlers began between four and nine tenths of the delays',
        'plain: a handler that does nothing; async: the same as an async function; update: it changes a row of the ' +
          'caller, ours in the transaction of the attempt, the others on a connection beside it',
        'concurrency per process; the other systems have their settings from their documentation',
        source,
        'WAL with the full pages that follow a checkpoint, which each round begins with',
        '"ratio": to the own drain of the same round without delays of the far future',
        ...new Set(shown.map(({ variant }) => variant.adapter.settings)),
      ],
      columns: [
        'system',
        'handler',
        'concurrency',
        'processes',
        'beside',
        ...COLUMNS.map((column) => column.title),
        'ratio',
        'lost / twice',
      ],
      rows: shown.map((result) => row(result, ownOf(result, shown))),
    };
  });
}

const shownConcurrency = ({ adapter, running }: Variant): string =>
  adapter.takesConcurrency ? figureOr(running.concurrency, 'default') : 'its own';

const figureOr = (value: number | undefined, otherwise: string): string =>
  value === undefined ? otherwise : figure(value);

const TOLD: Readonly<Record<Workers, { name: string; title: string; notes: readonly string[] }>> = {
  cold: {
    name: 'drain-cold',
    title: 'due delays, by processes that have never run one',
    notes: [
      'from the start of all workers, connected, to the last delay done with: V8 compiles what it runs meanwhile',
    ],
  },
  starting: {
    name: 'drain',
    title: 'due delays',
    notes: [
      'from the start of all workers, connected and compiled, to the last delay done with; what ' +
        'the start costs is among the figures',
      `each process has drained ${figure(WARM_UP)} others before, ${WARM_UPS} times, and was stopped and opened again`,
    ],
  },
  standing: {
    name: 'drain-standing',
    title: 'delays due at the same moment, by workers that are up',
    notes: [
      'from the start of the first handler to the last delay done with; reading ahead is among the figures',
      `each process has drained ${figure(WARM_UP)} others before, ${WARM_UPS} times, and was not stopped after the last`,
    ],
  },
};

function variantsOf({ settings }: Bench): Variant[] {
  const backlogs = settings.backlog === 0 ? [0] : [0, settings.backlog];
  return settings.workers.flatMap((workers) =>
    adaptersLike(settings.systems).flatMap((adapter) =>
      runningsOf(adapter, settings).flatMap((running) =>
        settings.processes.flatMap((processes) =>
          backlogs.map((backlog) => ({
            title:
              `drain · ${adapter.name} · ${running.handler}` +
              (running.concurrency === undefined ? '' : ` · ${running.concurrency} at a time`) +
              ` · ${processes} ${workers} process${processes > 1 ? 'es' : ''}` +
              (backlog === 0 ? '' : ` · beside ${figure(backlog)}`),
            adapter,
            workers,
            running,
            processes,
            backlog,
          })),
        ),
      ),
    ),
  );
}

/** Of whom nothing is said: its handler does nothing, in whatever way that system calls it. */
const NOTHING: readonly HandlerKind[] = ['plain', 'async'];

/** Each handler that the system can be given, at each concurrency where it lets one choose. */
const runningsOf = (adapter: Adapter, { handlers, concurrency }: Settings): Running[] =>
  handlers
    .filter((handler) => (adapter.handlers ?? NOTHING).includes(handler))
    .flatMap((handler) =>
      adapter.takesConcurrency
        ? concurrency.map((most) => ({ handler, concurrency: most }))
        : [{ handler }],
    );

/** The same without anything beside it, among those of its table. */
const ownOf = ({ variant }: Result, results: readonly Result[]): Result | undefined =>
  results.find(
    (each) =>
      each.variant.adapter === variant.adapter &&
      each.variant.running === variant.running &&
      each.variant.processes === variant.processes &&
      each.variant.backlog === 0,
  );

function row({ variant, measurements }: Result, own: Result | undefined): Cell[] {
  const ratios = measurements.map(
    (drain, round) => drain.perSecond / (own?.measurements[round]?.perSecond ?? Number.NaN),
  );
  return [
    variant.adapter.name,
    variant.running.handler,
    shownConcurrency(variant),
    String(variant.processes),
    figure(variant.backlog),
    ...cellsOf(COLUMNS, measurements),
    variant.backlog === 0 ? '–' : rounds(ratios, 2),
    shownAccounting(measurements.map((drain) => drain.accounting)),
  ];
}
