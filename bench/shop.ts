import { type Bench, interleaved } from './bench.js';
import { figure, type Table } from './report/table.js';
import { percentilesOf } from './report/statistics.js';
import { type FullVariant, measureFull } from './shop/full.js';
import { measureSteady, SKUS } from './shop/steady.js';
import { fullTables, steadyTables } from './shop/tables.js';

/** As fast as it goes for a part of the time that it orders at a steady pace. */
const FULL_SHARE = 0.25;

/** The sample shop under load: at a steady pace as people order, and as much as it takes. */
export async function run(bench: Bench): Promise<Table[]> {
  const { ordersPerSecond, connections, shopSeconds } = bench.settings;
  const steady = await interleaved(
    bench,
    [{ title: `shop · ${figure(ordersPerSecond)} orders/s` }],
    () => measureSteady(bench),
    ({ lateness, answers, broken }) => {
      const [, placing] = answers[0] ?? [];
      return (
        `timers late p99 ${figure(lateness.at(-1)?.p99Ms ?? Number.NaN, 1)} ms, answers p99 ` +
        `${figure(percentilesOf(placing?.tookMs ?? []).p99Ms, 1)} ms, invariants ${holds(broken)}`
      );
    },
  );
  const variants = connections.flatMap((each) =>
    [1, SKUS].map((skus): FullVariant => ({
      title: `shop · ${skus} SKU${skus > 1 ? 's' : ''} · ${figure(each)} connections`,
      skus,
      connections: each,
    })),
  );
  const full = await interleaved(
    bench,
    variants,
    (variant) => measureFull(bench, variant, shopSeconds * FULL_SHARE),
    ({ perSecond, broken }) => `${figure(perSecond)} orders/s, invariants ${holds(broken)}`,
  );
  return [
    ...steadyTables(
      steady.flatMap(({ measurements }) => measurements),
      ordersPerSecond,
    ),
    ...fullTables(full),
  ];
}

const holds = (broken: readonly string[]): string => (broken.length === 0 ? 'hold' : 'BROKEN');
