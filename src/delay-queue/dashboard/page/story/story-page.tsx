import { Panel } from '../../../../ui/panel.js';
import { EraseButton } from '../act/erase-button.js';
import type { StoryView } from '../../contract.js';
import { hrefOf, parameter } from '../address/address.js';
import { useAnswer } from '../api/answer.js';
import { withQuery } from '../api/request.js';
import { Answered } from '../parts/answered.js';
import { Empty } from '../parts/empty.js';
import { Title } from '../parts/title.js';
import { words } from '../words/language.js';
import { eventsOf, lanesOf } from './story-events.js';
import { StoryLanes } from './story-lanes.js';
import { StoryLines } from './story-lines.js';

const EVERY_MS = 2_000;

/** All that happened to one business key: names, runs, attempts, moves and operators in one order. */
export function StoryPage() {
  const key = parameter('key');
  const after = parameter('after');
  const path = withQuery('story', { key, ...(after && { after }) });
  const answer = useAnswer<StoryView>(path, { everyMs: EVERY_MS });
  const said = words.value.story;
  return (
    <>
      <header class="delay-head">
        <p class="crumbs">{said.title}</p>
        <Title text={key}>
          <bdi>{key}</bdi>
        </Title>
        <EraseButton filter={{ key }} />
      </header>
      <Answered answer={answer}>{(story) => <Told key={path} story={story} />}</Answered>
    </>
  );
}

function Told({ story }: { story: StoryView }) {
  const said = words.value;
  const lanes = lanesOf(story);
  if (lanes.length === 0 && story.operations.length === 0) {
    return <Empty title={said.story.none}>{said.story.noneHint}</Empty>;
  }
  return (
    <>
      <Panel id="lanes" title={said.story.lanes}>
        <StoryLanes lanes={lanes} />
      </Panel>
      <Panel id="story" title={said.story.events}>
        <StoryLines events={eventsOf(story)} />
        {story.next !== null && (
          <nav class="pages" aria-label={said.pages.label}>
            <a class="button" href={hrefOf('story', { key: story.key, after: story.next })}>
              {said.story.older}
            </a>
          </nav>
        )}
      </Panel>
    </>
  );
}
