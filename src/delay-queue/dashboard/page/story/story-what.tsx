import type { ComponentChildren } from 'preact';
import { count } from '../../../../ui/written.js';
import { viewHref } from '../address/address.js';
import { delayHref } from '../address/filter.js';
import { ErrorText } from '../parts/error-text.js';
import { At, nowSeconds } from '../parts/when.js';
import { words } from '../words/language.js';
import { span, wholeSpan } from '../words/written.js';
import type { StoryEvent } from './story-events.js';

type Of<What extends StoryEvent['what']> = { event: Extract<StoryEvent, { what: What }> };
type OfDelay = Exclude<StoryEvent, { what: 'operation' }>;

export function StoryWhat({ event }: { event: StoryEvent }) {
  if (event.what === 'operation') return <Operation event={event} />;
  if (event.what === 'attempt') return <Attempt event={event} />;
  if (event.what === 'moved') return <Moved event={event} />;
  if (event.what === 'ended' || event.what === 'dead') return <Ended event={event} />;
  return event.what === 'due' ? <Due event={event} /> : <Scheduled event={event} />;
}

function Operation({ event: { operation } }: Of<'operation'>) {
  const { id, action, who, why } = operation;
  const name = <a href={viewHref('operation', { id })}>{words.value.actions[action]}</a>;
  return (
    <Told name={name} who={who}>
      {why !== null && <bdi class="why">{why}</bdi>}
    </Told>
  );
}

function Attempt({ event }: Of<'attempt'>) {
  const said = words.value;
  const { attempt, outcome, node, startedAt, endedAt, error } = event.attempt;
  const tookMs = endedAt === null ? null : Date.parse(endedAt) - Date.parse(startedAt);
  return (
    <>
      <Told name={nameLink(event)}>
        {said.delay.attempt(attempt)}{' '}
        <span class={`pill outcome-${outcome}`}>{said.outcomes[outcome] ?? outcome}</span>{' '}
        {tookMs !== null && said.delay.took(span(said, tookMs))} {node && said.runsOn(node)}
      </Told>
      {error !== null && <ErrorText text={error} />}
    </>
  );
}

function Moved({ event }: Of<'moved'>) {
  const { call, from, to, by } = event.move;
  return (
    <Told name={nameLink(event)} who={by}>
      {words.value.calls[call] ?? call}: <At at={from} /> → <At at={to} />
    </Told>
  );
}

function Scheduled({ event }: { event: OfDelay }) {
  const { dueAt, moveLog } = event.delay;
  return (
    <Told name={nameLink(event)}>
      {words.value.story.scheduledFor} <At at={moveLog[0]?.from ?? dueAt} />
    </Told>
  );
}

function Due({ event }: { event: OfDelay }) {
  const said = words.value;
  const inMs = event.atMs - nowSeconds.value;
  return (
    <Told name={nameLink(event)}>
      {inMs > 0
        ? said.story.dueIn(wholeSpan(said, inMs))
        : said.story.dueSince(wholeSpan(said, -inMs))}
    </Told>
  );
}

function Ended({ event }: { event: OfDelay }) {
  const said = words.value;
  const { state, latenessMs, by, attempts, attemptLog, error } = event.delay;
  const isUnlogged = attemptLog.length === 0;
  return (
    <>
      <Told name={nameLink(event)} who={by}>
        <b>{said.states[state]}</b>
        {state === 'completed' && latenessMs !== null && `, ${said.late(span(said, latenessMs))}`}
        {isUnlogged && attempts > 1 && `, ${said.story.attempts(count(said, attempts))}`}
      </Told>
      {isUnlogged && error !== null && <ErrorText text={error} />}
    </>
  );
}

const nameLink = ({ delay }: OfDelay) => (
  <a href={delayHref(delay)}>
    <bdi>{delay.name}</bdi>
  </a>
);

interface ToldProps {
  name: ComponentChildren;
  who?: string | null;
  children: ComponentChildren;
}

function Told({ name, who, children }: ToldProps) {
  return (
    <p class="told">
      <span class="told-name">{name}</span> <span>{children}</span>
      {who && (
        <span class="who">
          {words.value.story.by} <bdi>{who}</bdi>
        </span>
      )}
    </p>
  );
}
