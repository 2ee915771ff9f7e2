import { Panel } from '../../../../ui/panel.js';
import {
  type Count,
  LATE_MS,
  type NameLine,
  type Overview,
  type SearchFilter,
} from '../../contract.js';
import { PauseButton } from '../act/pause-buttons.js';
import { searchHref } from '../address/filter.js';
import { Empty } from '../parts/empty.js';
import { At } from '../parts/when.js';
import { words } from '../words/language.js';
import { counted, span } from '../words/written.js';

/** The worst first. */
const byTrouble = (a: NameLine, b: NameLine): number =>
  (b.oldestLateMs ?? -1) - (a.oldestLateMs ?? -1) ||
  b.dead.count - a.dead.count ||
  (a.name < b.name ? -1 : 1);

export function NamesPanel({ overview: { names, since, now } }: { overview: Overview }) {
  const said = words.value;
  return (
    <Panel id="names" title={said.names.title}>
      {names.length === 0 ? (
        <Empty title={said.names.none}>{said.names.noneHint}</Empty>
      ) : (
        <>
          <table class="lines names">
            <caption class="unseen">{said.names.title}</caption>
            <Headings />
            <tbody>
              {names.toSorted(byTrouble).map((line) => (
                <Line key={line.name} line={line} now={now} />
              ))}
            </tbody>
          </table>
          <p class="note wide">
            {said.names.since} <At at={since} />. {said.names.liveRetries}
          </p>
        </>
      )}
    </Panel>
  );
}

function Headings() {
  const { names } = words.value;
  return (
    <thead>
      <tr>
        <th scope="col">{names.name}</th>
        <th scope="col">{names.late}</th>
        <th scope="col">{names.oldest}</th>
        <th scope="col" class="roomy">
          {names.running}
        </th>
        <th scope="col">{names.dead}</th>
        <th scope="col" class="wide">
          {names.retrying}
        </th>
        <th scope="col" class="wide">
          {names.held}
        </th>
        <th scope="col" class="wide">
          {names.live}
        </th>
        <th scope="col" class="wide">
          {names.completed}
        </th>
        <th scope="col" class="wide">
          {names.retries}
        </th>
        <th scope="col" class="wide">
          {names.lateness}
        </th>
      </tr>
    </thead>
  );
}

function Line({ line, now }: { line: NameLine; now: string }) {
  const said = words.value;
  const { name, latenessMs, oldestLateMs } = line;
  const late: SearchFilter = { name, state: ['scheduled', 'retrying'], dueBefore: now };
  const lateTone = (oldestLateMs ?? 0) >= LATE_MS ? 'amber' : '';
  const isAll = [line.running, line.retrying, line.dead].every(({ is }) => is === 'exact');
  const retries: Count = { count: line.retries, is: isAll ? 'exact' : 'atLeast' };
  return (
    <tr data-row>
      <th scope="row">
        <a class="row-link" href={searchHref({ name })}>
          <bdi>{name}</bdi>
        </a>
        {line.isPaused && <span class="pill amber">{said.names.paused}</span>}
        {line.nodes === 0 && line.live.count > 0 && (
          <span class="pill red">{said.names.unserved}</span>
        )}
        {!line.isPaused && <PauseButton name={name} />}
      </th>
      <td class={lateTone}>
        <Linked of={line.late} filter={late} />
      </td>
      <td class={lateTone}>{oldestLateMs === null ? <None /> : span(said, oldestLateMs)}</td>
      <td class="roomy">
        <Linked of={line.running} filter={{ name, state: ['running'] }} />
      </td>
      <td class={line.dead.count > 0 ? 'red' : ''}>
        <Linked of={line.dead} filter={{ name, state: ['dead'] }} />
      </td>
      <td class="wide">
        <Linked of={line.retrying} filter={{ name, state: ['retrying'] }} />
      </td>
      <td class="wide">{line.held.count === 0 ? <None /> : counted(said, line.held)}</td>
      <td class="wide">{line.live.count === 0 ? <None /> : counted(said, line.live)}</td>
      <td class="wide">
        <Linked of={line.completed} filter={{ name, state: ['completed'] }} />
      </td>
      <td class="wide">{retries.count === 0 ? <None /> : counted(said, retries)}</td>
      <td class="wide">
        {latenessMs === null
          ? '–'
          : [latenessMs.p50, latenessMs.p95, latenessMs.p99]
              .map((ms) => span(said, ms))
              .join(' · ')}
      </td>
    </tr>
  );
}

function Linked({ of, filter }: { of: Count; filter: SearchFilter }) {
  if (of.count === 0) return <None />;
  return <a href={searchHref(filter)}>{counted(words.value, of)}</a>;
}

/** Zeros would hide what is not zero. */
const None = () => <span class="none">0</span>;
