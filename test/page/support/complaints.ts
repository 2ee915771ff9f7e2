import type { Page } from 'playwright-core';

/** What a page asked for at other hosts, what broke, what its policy forbade, and what it asked the visitor. */
export class Complaints {
  readonly #heard: string[] = [];

  listen(page: Page, host: string): void {
    page.on('request', (request) => {
      const url = new URL(request.url());
      if (url.protocol !== 'data:' && url.host !== host) this.#heard.push(`asks ${url.host}`);
    });
    page.on('pageerror', (error) => this.#heard.push(`breaks: ${error.message}`));
    page.on('console', (message) => {
      if (/Content Security Policy/i.test(message.text())) this.#heard.push(message.text());
    });
    page.on('dialog', (dialog) => {
      this.#heard.push(`asks the visitor: ${dialog.message()}`);
      void dialog.dismiss();
    });
  }

  throwIfAny(): void {
    if (this.#heard.length > 0) throw new Error(this.#heard.join('\n'));
  }
}
