import { words } from '../words/language.js';

/** Its first line; the rest, such as a stack, when asked for. */
export function ErrorText({ text }: { text: string }) {
  const [first = '', ...rest] = text.split('\n');
  return (
    <div class="error-text">
      <p>
        <bdi>{first}</bdi>
      </p>
      {rest.some((line) => line.trim() !== '') && (
        <details>
          <summary>{words.value.stack}</summary>
          <pre tabIndex={0}>{rest.join('\n')}</pre>
        </details>
      )}
    </div>
  );
}
