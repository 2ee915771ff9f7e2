import { clock, lateFor, left, preciseClock } from '../../../ui/written.js';
import type { DelayCard, Happening, OrderCard } from '../../feed/feed.js';
import { known } from '../feed/known.js';
import { words } from '../words/language.js';
import { Countdown } from './countdown.js';
import { factsOf, said } from './happening.js';

export function OrderDetails({ card }: { card: OrderCard }) {
  return (
    <>
      <Delays card={card} />
      <div class="timeline">
        <h3>{words.value.timeline}</h3>
        <ol>
          {card.timeline.map((happening) => (
            <Entry key={happening.id} happening={happening} />
          ))}
        </ol>
        {known.mode.value?.name === 'demo' && (
          <p class="note">
            <a href={`/delays/?${new URLSearchParams({ view: 'story', key: card.id }).toString()}`}>
              {words.value.inDashboard}
            </a>
          </p>
        )}
      </div>
    </>
  );
}

function Delays({ card: { delays, dispute } }: { card: OrderCard }) {
  const { delays: title, delay, delayState, due, late, firedBy, noDelays, frozen } = words.value;
  const shown = delays.filter(({ state }) => state !== 'superseded');
  const stopped = dispute?.frozen ?? [];
  return (
    <div class="delays">
      <h3>{title}</h3>
      {shown.length + stopped.length === 0 ? (
        <p class="note">{noDelays}</p>
      ) : (
        <table>
          <thead>
            <tr>
              <th scope="col">{delay}</th>
              <th scope="col">{due}</th>
              <th scope="col">{late}</th>
              <th scope="col">{firedBy}</th>
            </tr>
          </thead>
          <tbody>
            {stopped.map(({ name, leftMs }) => (
              <tr key={name} class="frozen">
                <th scope="row">
                  <code>{name}</code> <span class="state frozen">{frozen}</span>
                </th>
                <td class="figure">{left(words.value, leftMs)}</td>
                <td />
                <td />
              </tr>
            ))}
            {shown.map((its) => (
              <tr key={its.id} class={its.state}>
                <th scope="row">
                  <code>{its.name}</code>{' '}
                  <span class={`state ${its.state}`}>{delayState[its.state]}</span>
                  <Failure delay={its} />
                </th>
                <td class="figure">
                  <Due delay={its} />
                </td>
                <td class="figure">{its.lateMs !== null && lateFor(words.value, its.lateMs)}</td>
                <td class="figure">{its.by}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </div>
  );
}

function Failure({ delay: { attempts, error } }: { delay: DelayCard }) {
  if (error === null) return null;
  return (
    <p class="note">
      {words.value.attemptFailed(attempts)}: {error}
    </p>
  );
}

function Due({ delay: { state, dueAt, nextAt } }: { delay: DelayCard }) {
  const { dueIn, nextAttemptIn, delayState } = words.value;
  if (state === 'retrying' && nextAt !== null) {
    return <Countdown from={dueAt} until={nextAt} say={nextAttemptIn} over={delayState.running} />;
  }
  if (state !== 'scheduled') return <>{clock(dueAt)}</>;
  return <Countdown from={dueAt} until={dueAt} say={dueIn} over={delayState.running} />;
}

function Entry({ happening }: { happening: Happening }) {
  return (
    <li class={happening.what.replace('.', '-')}>
      <time class="figure" dateTime={happening.at}>
        {preciseClock(happening.at)}
      </time>
      <span>
        {said(words.value, happening)}{' '}
        <span class="note">{factsOf(words.value, happening).join(' · ')}</span>
      </span>
    </li>
  );
}
