import type { Evidence } from './audit.js';
import { outcomeText } from './expected.js';
import type { SeenRow } from './watch.js';

/** What everybody was told, and what is left. */
export function outcomeOf({ players, views, keyOf }: Evidence): string {
  const slots = players.flatMap(({ actor }) => actor.acts.flatMap((act) => act.slots));
  const last = views.at(-1)?.rows;
  return outcomeText(
    players.map(({ actor, calls, refused }) => {
      const verdicts = calls.map(({ verdict }) => verdict);
      return [actor.name, refused ? [...verdicts, refused] : verdicts];
    }),
    Object.fromEntries(slots.map((slot) => [slot, stateOf(last?.get(keyOf(slot)))])),
  );
}

function stateOf(row: SeenRow | undefined): string {
  if (row === undefined) return 'nothing';
  if (row.dead) return 'dead';
  if (row.lease === 'none') return 'due';
  return row.lease === 'live' ? `running on ${row.leasedBy}` : 'lease over';
}

/** Everything in its order, for whoever has to find out what went wrong. */
export function transcriptOf(
  { players, views, writes }: Evidence,
  order: readonly number[],
): string[] {
  const names = players.map(({ actor }) => actor.name);
  return [
    `order: ${order.map((turn) => names[turn]).join(' ')}`,
    ...players.flatMap(({ actor, calls, endedAt, refused }) => [
      ...calls.map(
        ({ act, slot, verdict, from, until, waits }) =>
          `${actor.name}: ${act} ${slot} ${verdict} in ${from}..${until} waits [${waits.join()}]`,
      ),
      `${actor.name}: ${refused ?? actor.end ?? 'over'} at ${endedAt}`,
    ]),
    ...views.map(({ rows, open }, index) => {
      const shown = JSON.stringify([...rows.values()]);
      return `view ${index}: ${shown}, open: ${[...open].join(' ')}`;
    }),
    ...writes.map((write) => `write: ${JSON.stringify(write)}`),
  ];
}
