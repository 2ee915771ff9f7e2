import type { DelayLine } from '../../contract.js';
import { delayHref, rowId } from '../address/filter.js';
import { NameLinks } from '../parts/name-link.js';
import { StatePill, WaitsFor } from '../parts/state.js';
import { When } from '../parts/when.js';
import { words } from '../words/language.js';
import type { Selection } from './selection.js';
import { isSelectable } from './toggled-range.js';

interface DelayTableProps {
  delays: readonly DelayLine[];
  selection: Selection;
  isBusy: boolean;
}

/** Delays, one per row. On a phone a row becomes a card. */
export function DelayTable({ delays, selection, isBusy }: DelayTableProps) {
  const { columns: said, found, selection: select } = words.value;
  const selectable = delays.filter(isSelectable);
  return (
    <table class="delays" aria-busy={isBusy}>
      <caption class="unseen">{found.title}</caption>
      <thead>
        <tr>
          <td class="select">
            {selectable.length > 0 && (
              <input
                type="checkbox"
                aria-label={select.page}
                checked={selectable.every(selection.has)}
                onClick={selection.togglePage}
              />
            )}
          </td>
          <th scope="col">{said.delay}</th>
          <th scope="col">{said.state}</th>
          <th scope="col">{said.name}</th>
          <th scope="col">{said.due}</th>
          <th scope="col" class="number">
            {said.attempts}
          </th>
          <th scope="col">{said.error}</th>
        </tr>
      </thead>
      <tbody>
        {delays.map((delay, at) => (
          <tr key={rowId(delay)} data-row class={selection.has(delay) ? 'selected' : ''}>
            <td class="select">
              {isSelectable(delay) && (
                <input
                  type="checkbox"
                  aria-label={select.one(delay.key ?? `#${delay.id}`)}
                  checked={selection.has(delay)}
                  onClick={({ shiftKey }) => selection.toggle(at, shiftKey)}
                />
              )}
            </td>
            <DelayCells delay={delay} />
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function DelayCells({ delay }: { delay: DelayLine }) {
  const { id, key, attempts, maxAttempts, error } = delay;
  return (
    <>
      <th scope="row" class="delay">
        <a class="row-link" href={delayHref(delay)}>
          <bdi>{key ?? `#${id}`}</bdi>
        </a>
      </th>
      <td class="state">
        <StatePill state={delay.state} /> <WaitsFor delay={delay} />
      </td>
      <td class="name">
        <NameLinks its={delay} />
      </td>
      <td class="due">
        <When at={delay.endedAt ?? delay.dueAt} />
      </td>
      <td class={`number attempts ${attempts === 0 ? 'none' : ''}`}>
        {attempts}
        {maxAttempts !== null && <span class="of"> / {maxAttempts}</span>}
      </td>
      <td class="error">{error !== null && <bdi title={error}>{error.split('\n', 1)[0]}</bdi>}</td>
    </>
  );
}
