import type { NoteLine, Overview } from '../../contract.js';
import { searchHref } from '../address/filter.js';
import { connection } from '../api/live.js';
import { words } from '../words/language.js';

/** Whether all is well, and what is not; each reason leads to its delays. */
export function HealthBanner({ overview: { health } }: { overview: Overview }) {
  if (health === null) return null;
  const said = words.value.health;
  // What was well a while ago need not be now.
  const isOld = connection.value === 'lost' || connection.value === 'trouble';
  const status = isOld ? 'unknown' : health.status;
  const isWell = status === 'up' && health.notes.length === 0;
  const lines = isOld ? [] : [...health.reasons, ...health.notes];
  return (
    <section
      class={`health ${isWell ? 'up' : status === 'up' ? 'noted' : status}`}
      aria-labelledby="health-title"
    >
      <h2 id="health-title">{isWell ? said.well : said[status]}</h2>
      {lines.length > 0 && (
        <ul>
          {lines.map((line, at) => (
            <li key={`${line.reason} ${at}`}>
              <Reason line={line} />
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

function Reason({ line: { reason, text, search } }: { line: NoteLine }) {
  const { healthReasons, showDelays } = words.value;
  const title = healthReasons[reason];
  return (
    <>
      {title && <b>{title}</b>}
      <span lang="en">
        <bdi>{text}</bdi>
      </span>
      {search && <a href={searchHref(search)}>{showDelays}</a>}
    </>
  );
}
