import { useEffect, useRef } from 'preact/hooks';
import { announce } from '../../../../ui/announcer.js';
import { Icon } from '../../../../ui/icon.js';
import type { OperationLine } from '../../contract.js';
import { viewHref } from '../address/address.js';
import { words } from '../words/language.js';
import { dismiss, followed, isOver } from './followed.js';
import { OperationState, Progress, resultText, StopButton } from './progress.js';

/** Between two announcements of progress. */
const ANNOUNCE_EVERY_MS = 5_000;

/** The operations that were started here, over each view, until they are dismissed. */
export function FollowedStrip() {
  const lines = followed.value;
  return (
    <section
      class="followed"
      aria-label={words.value.acting.operation.listed}
      hidden={lines.length === 0}
    >
      <ul class="frame">
        {lines.map((line) => (
          <Followed key={line.id} line={line} />
        ))}
      </ul>
    </section>
  );
}

function Followed({ line }: { line: OperationLine }) {
  const said = words.value;
  useAnnounced(line);
  return (
    <li class={line.state}>
      <b>{said.actions[line.action]}</b>
      <OperationState state={line.state} />
      <Progress line={line} />
      {line.error !== null && (
        <bdi class="red" lang="en">
          {line.error}
        </bdi>
      )}
      <span class="followed-tools">
        <StopButton line={line} />
        <a href={viewHref('operation', { id: line.id })}>{said.acting.operation.details}</a>
        <button
          type="button"
          class="button bare icon-only"
          aria-label={said.acting.operation.dismiss}
          onClick={() => dismiss(line.id)}
        >
          <Icon name="cross" />
        </button>
      </span>
    </li>
  );
}

/** Every state is announced, progress only now and then. */
function useAnnounced(line: OperationLine): void {
  const last = useRef({ state: '', atMs: -ANNOUNCE_EVERY_MS });
  useEffect(() => {
    const said = words.value;
    const nowMs = performance.now();
    const isNews = last.current.state !== line.state;
    if (!isNews && (isOver(line) || nowMs - last.current.atMs < ANNOUNCE_EVERY_MS)) return;
    last.current = { state: line.state, atMs: nowMs };
    const state = said.operationStates[line.state];
    announce(`${said.actions[line.action]}: ${state}. ${resultText(line)}`);
  }, [line]);
}
