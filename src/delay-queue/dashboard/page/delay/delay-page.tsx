import type { DelayView } from '../../contract.js';
import { ActButtons } from '../act/act-buttons.js';
import { viewHref, parameter } from '../address/address.js';
import { useAnswer } from '../api/answer.js';
import { withQuery } from '../api/request.js';
import { Answered } from '../parts/answered.js';
import { NameLinks } from '../parts/name-link.js';
import { StatePill } from '../parts/state.js';
import { Title } from '../parts/title.js';
import { words } from '../words/language.js';
import { AttemptsPanel, MovesPanel } from './log-panels.js';
import { Explanation } from './explanation.js';
import { Facts, HeadersPanel } from './facts.js';
import { PayloadPanel } from './payload-panel.js';
import { RepeatPanel } from './repeat-panel.js';

const EVERY_MS = 2_000;

/** One delay: why it has not fired, or how it ended, and everything known about it. */
export function DelayPage() {
  const id = parameter('id');
  const endedAt = parameter('endedAt');
  return <Details key={`${id} ${endedAt}`} id={id} endedAt={endedAt} />;
}

function Details({ id, endedAt }: { id: string; endedAt: string }) {
  const path = withQuery('delay', { id, ...(endedAt && { endedAt }) });
  const answer = useAnswer<DelayView>(path, { everyMs: EVERY_MS });
  const body = answer.body.value;
  return (
    <>
      {body === null && <Title text={words.value.delay.numbered(id)} />}
      <Answered answer={answer}>{details}</Answered>
    </>
  );
}

const details = (its: DelayView) => (
  <>
    <Head its={its} />
    <Explanation its={its} />
    <ActButtons which={{ ids: [its.delay.id] }} delays={[its.delay]} />
    <div class="delay-columns">
      <div class="column">
        <AttemptsPanel its={its} />
        <PayloadPanel payload={its.payload} />
      </div>
      <div class="column">
        <Facts its={its} />
        {its.repeat && <RepeatPanel repeat={its.repeat} />}
        <MovesPanel moves={its.moves} />
        <HeadersPanel headers={its.headers} />
      </div>
    </div>
  </>
);

function Head({ its: { delay } }: { its: DelayView }) {
  const { id, key, state } = delay;
  const said = words.value.delay;
  const title = key ?? said.numbered(id);
  return (
    <header class="delay-head">
      <p class="crumbs">
        <NameLinks its={delay} />
      </p>
      <Title text={title}>
        <bdi>{title}</bdi>
      </Title>
      <StatePill state={state} />
      {key !== null && <a href={viewHref('story', { key })}>{said.story}</a>}
    </header>
  );
}
