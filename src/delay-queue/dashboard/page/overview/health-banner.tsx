import type { HealthLine, Overview } from '../../contract.js';
import { searchHref } from '../address/filter.js';
import { words } from '../words/language.js';

/** Whether all is well, and what is not; each reason leads to its delays. */
export function HealthBanner({ overview: { health } }: { overview: Overview }) {
  if (health === null) return null;
  const said = words.value.health;
  return (
    <section class={`health ${health.status}`} aria-labelledby="health-title">
      <h2 id="health-title">{said[health.status]}</h2>
      {health.reasons.length > 0 && (
        <ul>
          {health.reasons.map((line, at) => (
            <li key={`${line.reason} ${line.name ?? ''} ${at}`}>
              <Reason line={line} />
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

function Reason({ line: { reason, text, search } }: { line: HealthLine }) {
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
