import { Panel } from '../../../../ui/panel.js';
import { type Count, LATE_MS, type NameLine, type Overview } from '../../contract.js';
import { overdueAt, type SearchFilter } from '../../search.table.js';
import { AskButton } from '../act/act-buttons.js';
import { searchHref } from '../address/filter.js';
import { Empty } from '../parts/answered.js';
import { type Column, Table } from '../parts/table.js';
import { At } from '../parts/when.js';
import { words } from '../words/language.js';
import { counted, span } from '../words/written.js';

const byTrouble = (a: NameLine, b: NameLine): number =>
  (b.oldestLateMs ?? -1) - (a.oldestLateMs ?? -1) ||
  b.dead.count - a.dead.count ||
  (a.name < b.name ? -1 : 1);

export function NamesPanel({ overview: { names, since, now } }: { overview: Overview }) {
  const said = words.value.names;
  return (
    <Panel id="names" title={said.title}>
      {names.length === 0 ? (
        <Empty title={said.none}>{said.noneHint}</Empty>
      ) : (
        <>
          <Table
            class="lines names"
            caption={said.title}
            columns={nameColumns(now)}
            rows={names.toSorted(byTrouble)}
            keyOf={({ name }) => name}
          />
          <p class="note wide">
            {said.since} <At at={since} />. {said.liveRetries}
          </p>
        </>
      )}
    </Panel>
  );
}

const lateTone = ({ oldestLateMs }: NameLine): string =>
  (oldestLateMs ?? 0) >= LATE_MS ? 'amber' : '';

function nameColumns(now: string): Column<NameLine>[] {
  const said = words.value;
  const { names, states } = said;
  const inState = (state: 'running' | 'dead' | 'retrying' | 'completed'): Column<NameLine> => ({
    title: states[state],
    cell: ({ name, [state]: its }) => <Figure its={its} filter={{ name, state: [state] }} />,
  });
  const wide = 'wide';
  return [
    { title: names.name, cell: (line) => <Name line={line} /> },
    {
      title: names.late,
      tone: lateTone,
      cell: ({ name, late: its }) => <Figure its={its} filter={{ name, ...overdueAt(now) }} />,
    },
    {
      title: names.oldest,
      tone: lateTone,
      cell: ({ oldestLateMs: ms }) => (ms === null ? <None /> : span(said, ms)),
    },
    { ...inState('running'), class: 'roomy' },
    { ...inState('dead'), tone: ({ dead }) => (dead.count > 0 ? 'red' : '') },
    { ...inState('retrying'), class: wide },
    { title: names.held, class: wide, cell: ({ held }) => <Figure its={held} /> },
    { title: names.live, class: wide, cell: ({ live }) => <Figure its={live} /> },
    { ...inState('completed'), class: wide },
    { title: names.retries, class: wide, cell: (line) => <Figure its={retriesCount(line)} /> },
    {
      title: names.lateness,
      class: wide,
      cell: ({ latenessMs: its }) =>
        its === null ? '–' : [its.p50, its.p95, its.p99].map((ms) => span(said, ms)).join(' · '),
    },
  ];
}

function Name({ line: { name, isPaused, nodes, live } }: { line: NameLine }) {
  const { names, acting, actions } = words.value;
  return (
    <>
      <a class="row-link" href={searchHref({ name })}>
        <bdi>{name}</bdi>
      </a>
      {isPaused && <span class="pill amber">{names.paused}</span>}
      {nodes === 0 && live.count > 0 && <span class="pill red">{names.unserved}</span>}
      {!isPaused && (
        <AskButton
          asks={{ action: 'pause', name, group: null }}
          class="link row-act"
          label={acting.pauseName(name)}
        >
          {actions.pause}
        </AskButton>
      )}
    </>
  );
}

function retriesCount({ retries, running, retrying, dead }: NameLine): Count {
  const isAll = [running, retrying, dead].every(({ is }) => is === 'exact');
  return { count: retries, is: isAll ? 'exact' : 'atLeast' };
}

/** With a filter, it leads to what it counts. */
function Figure({ its, filter }: { its: Count; filter?: SearchFilter }) {
  if (its.count === 0) return <None />;
  const text = counted(words.value, its);
  return filter ? <a href={searchHref(filter)}>{text}</a> : <>{text}</>;
}

/** Zeros would hide what is not zero. */
const None = () => <span class="none">0</span>;
