import type { ComponentChildren } from 'preact';
import type { DelayLine } from '../../contract.js';
import { delayHref, searchHref } from '../address/filter.js';
import { words } from '../words/language.js';
import { StatePill } from './state-pill.js';
import { WaitsFor } from './waits-for.js';
import { When } from './when.js';

interface DelayTableProps {
  caption: string;
  delays: readonly DelayLine[];
  /** The first cell of the headings and of each row, such as a check box. */
  select?: { all: ComponentChildren; one: (delay: DelayLine, at: number) => ComponentChildren };
  isSelected?: (delay: DelayLine) => boolean;
  isBusy?: boolean;
}

/** Delays, one a row. On a phone a row is a card of what matters. */
export function DelayTable(props: DelayTableProps) {
  const { caption, delays, select, isSelected, isBusy = false } = props;
  const said = words.value.columns;
  return (
    <table class="delays" aria-busy={isBusy}>
      <caption class="unseen">{caption}</caption>
      <thead>
        <tr>
          {select && <td class="select">{select.all}</td>}
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
          <tr key={rowOf(delay)} data-row class={isSelected?.(delay) ? 'selected' : ''}>
            {select && <td class="select">{select.one(delay, at)}</td>}
            <DelayCells delay={delay} />
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function DelayCells({ delay }: { delay: DelayLine }) {
  const { id, key, name, group, attempts, maxAttempts, error } = delay;
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
        <a href={searchHref({ name })}>
          <bdi>{name}</bdi>
        </a>
        {group !== null && (
          <a class="group" href={searchHref({ name, group })}>
            <bdi>{group}</bdi>
          </a>
        )}
      </td>
      <td class="due">
        <When at={delay.endedAt ?? delay.dueAt} />
      </td>
      <td class={`number attempts ${attempts === 0 ? 'none' : ''}`}>
        {attempts}
        {maxAttempts !== null && <span class="of"> / {maxAttempts}</span>}
      </td>
      <td class="error">{error !== null && <bdi title={error}>{firstLine(error)}</bdi>}</td>
    </>
  );
}

/** A delay that recurs has ended many times. */
export const rowOf = ({ id, endedAt }: DelayLine): string => `${id} ${endedAt ?? ''}`;

const firstLine = (text: string): string => text.split('\n', 1)[0]!;
