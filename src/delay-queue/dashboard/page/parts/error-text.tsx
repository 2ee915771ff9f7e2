import { words } from '../words/language.js';

/** Its first line; all of it when asked for. */
export function ErrorText({ text }: { text: string }) {
  const [first = '', ...rest] = text.split('\n');
  return (
    <div class="error-text">
      <p>
        <bdi>{first}</bdi>
      </p>
      {rest.some((line) => line.trim() !== '') && (
        <details>
          <summary>{words.value.wholeError}</summary>
          <pre tabIndex={0}>{text}</pre>
        </details>
      )}
    </div>
  );
}
