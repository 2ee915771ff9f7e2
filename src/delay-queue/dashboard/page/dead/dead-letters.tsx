import { Title } from '../parts/title.js';
import { words } from '../words/language.js';

export function DeadLetters() {
  return <Title text={words.value.tabs.dead} />;
}
