import { expect, it } from '@jest/globals';
import { Surgery } from './surgery.js';

class Speaker {
  say(): string {
    return 'a word';
  }
}

it('two cuts at one method both take effect, the later around the earlier', () => {
  const surgery = new Surgery();
  for (const mark of ['first', 'second']) {
    surgery.wrap(
      Speaker.prototype,
      'say',
      (original) =>
        function marked(this: Speaker) {
          return `${mark}(${original.call(this)})`;
        },
    );
  }
  expect(new Speaker().say()).toBe('a word');
  surgery.perform();
  expect(new Speaker().say()).toBe('second(first(a word))');
});
