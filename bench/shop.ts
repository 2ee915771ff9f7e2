import type { Table } from './report/table.js';
import { type Bench, compare, measured } from './run/scenario.js';
import { FULL, type FullVariant, measureFull } from './shop/full.js';
import { measureSteady, SKUS, STEADY, steadyTables } from './shop/steady.js';
import { shownBroken, shownUnexpected } from './shop/answers.js';

const SECONDS = 120;

/** As fast as it goes for a part of the time that it orders at a steady pace. */
const FULL_SHARE = 0.25;

/** The sample shop under load: at a steady pace as people order, and as much as it takes. */
export async function run(bench: Bench): Promise<Table[]> {
  const { ordersPerSecond, connections, seconds = SECONDS } = bench.settings;
  const steady = await measured(bench, {
    name: 'shop',
    title: '',
    notes: [],
    labels: {},
    variants: [{ title: `${ordersPerSecond} orders/s` }],
    measure: () => measureSteady(bench, seconds),
    columns: STEADY,
    sums: { invariants: shownBroken },
  });
  const full = await compare(bench, {
    name: 'shop-full',
    title: 'Orders of the sample shop, as fast as they are answered',
    notes: ['timers are far off: placing alone. The bench itself needs a part of the machine, too'],
    variants: connections.flatMap((each) =>
      [1, SKUS].map((skus): FullVariant => ({
        title: `${skus} SKU${skus > 1 ? 's' : ''} · ${each} connections`,
        skus,
        connections: each,
      })),
    ),
    measure: (variant) => measureFull(bench, variant, seconds * FULL_SHARE),
    labels: {
      'orders of': ({ skus }) => `${skus} SKU${skus > 1 ? 's' : ''}`,
      connections: ({ connections: each }) => String(each),
    },
    columns: FULL,
    sums: {
      unexpected: (all) => shownUnexpected(all.map(({ answers }) => answers)),
      invariants: shownBroken,
    },
  });
  const steadies = steady.flatMap(({ measurements }) => measurements);
  return [...steadyTables(steadies, bench.settings, seconds), full];
}
