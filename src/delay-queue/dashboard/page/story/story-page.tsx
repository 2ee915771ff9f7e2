import { Panel } from '../../../../ui/panel.js';
import { EraseButton } from '../act/act-buttons.js';
import type { StoryView } from '../../contract.js';
import { viewHref, parameter } from '../address/address.js';
import { useAnswer } from '../api/answer.js';
import { withQuery } from '../api/request.js';
import { Answered, Empty } from '../parts/answered.js';
import { Pages } from '../parts/pages.js';
import { Title } from '../parts/title.js';
import { words } from '../words/language.js';
import { storyEvents, storyLanes } from './story-events.js';
import { StoryLanes } from './story-lanes.js';
import { StoryLines } from './story-lines.js';

const EVERY_MS = 2_000;

/** Everything that happened to one business key: names, runs, attempts, moves and operations, in one order. */
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
  const lanes = storyLanes(story);
  if (lanes.length === 0 && story.operations.length === 0) {
    return <Empty title={said.story.none}>{said.story.noneHint}</Empty>;
  }
  return (
    <>
      <Panel id="lanes" title={said.story.lanes}>
        <StoryLanes lanes={lanes} />
      </Panel>
      <Panel id="story" title={said.story.events}>
        <StoryLines events={storyEvents(story)} />
        <Pages
          next={story.next}
          href={(after) => viewHref('story', { key: story.key, after })}
          more={said.story.older}
        />
      </Panel>
    </>
  );
}
