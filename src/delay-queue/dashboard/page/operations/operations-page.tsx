import { Title } from '../parts/title.js';
import { words } from '../words/language.js';

export function OperationsPage() {
  return <Title text={words.value.tabs.operations} />;
}
