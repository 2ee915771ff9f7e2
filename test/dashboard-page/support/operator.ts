import type { Browser, Locator } from 'playwright-core';
import { Viewer } from './viewer.js';

type Come = Parameters<typeof Viewer.come>[2];

/** A viewer who changes delays. */
export class Operator {
  private constructor(readonly viewer: Viewer) {}

  static async come(browser: Browser, url: string, options: Come = {}): Promise<Operator> {
    return new Operator(await Viewer.come(browser, url, options));
  }

  get dialog(): Locator {
    return this.viewer.page.getByRole('dialog');
  }

  /** The operations that were started here. */
  get strip(): Locator {
    return this.viewer.page.getByRole('region', { name: 'Operations that you started' });
  }

  async open(query: string): Promise<void> {
    await this.viewer.open(query);
  }

  /** Opens the dialog of a button, and waits for its dry run. */
  async asks(button: string, within: Locator = this.viewer.page.locator('main')): Promise<void> {
    await within.getByRole('button', { name: button, exact: true }).click();
    await this.dialog.waitFor();
    await this.dialog.locator('.preview[aria-busy=false]').waitFor();
  }

  /** Once the dialog says so. */
  reads(text: string | RegExp): Promise<void> {
    return this.dialog.getByText(text).first().waitFor();
  }

  async fills(label: string | RegExp, text: string): Promise<void> {
    await this.dialog.getByLabel(label).fill(text);
  }

  async chooses(label: string): Promise<void> {
    await this.dialog.getByLabel(label, { exact: true }).check();
  }

  /** Presses the button that has it done, and waits until it is accepted. */
  async confirms(button: string): Promise<void> {
    await this.presses(button);
    await this.dialog.waitFor({ state: 'detached' });
  }

  async presses(button: string): Promise<void> {
    await this.dialog.getByRole('button', { name: button, exact: true }).click();
  }

  /** Tries a button that is off: with the pointer, and with the keyboard. */
  async triesInVain(button: string): Promise<void> {
    const its = this.dialog.getByRole('button', { name: button, exact: true });
    await its.and(this.dialog.locator('[aria-disabled=true]')).click({ force: true });
    await its.press('Enter');
  }

  /** Once the newest operation says so. */
  async sees(...texts: (string | RegExp)[]): Promise<void> {
    const newest = this.strip.getByRole('listitem').first();
    for (const text of texts) await newest.getByText(text).first().waitFor();
  }

  /** What may be pressed in the view, but links. */
  buttons(): Promise<string[]> {
    return this.viewer.page.locator('main button').allTextContents();
  }

  /** What has the focus: the text, or the accessible name, of the element. */
  focused(): Promise<string> {
    return this.viewer.page.evaluate(
      `document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent`,
    );
  }
}
