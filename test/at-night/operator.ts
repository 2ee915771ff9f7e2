import type { Browser, Locator, Page } from 'playwright-core';
import { launchChromium } from '../page/support/chromium.js';
import type { Asked } from './faults.js';
import type { Shop, Name } from './shop.js';

/** As long as a person waits for a page. */
const PATIENCE_MS = 60_000;

/** A person on the dashboard, who counts clicks; a text that is typed counts as one. */
export class Operator {
  clicks = 0;

  private constructor(
    private readonly browser: Browser,
    readonly page: Page,
    private readonly shop: Shop,
  ) {}

  static async come(shop: Shop): Promise<Operator> {
    const browser = await launchChromium();
    const page = await browser.newPage({ viewport: { width: 1280, height: 900 }, locale: 'en-GB' });
    page.setDefaultTimeout(PATIENCE_MS);
    return new Operator(browser, page, shop);
  }

  /** The overview of that process, as after a call at night. */
  async opens(name: Name): Promise<void> {
    await this.page.goto(`http://${this.shop.instance(name)}/delays/`);
  }

  /** The line of a banner with one of these headings; waits no longer than that. */
  reason(headings: readonly string[], withinMs: number): Promise<void> {
    const line = this.page
      .locator('.health li, .banner')
      .filter({ hasText: new RegExp(headings.join('|')) });
    return line.first().waitFor({ timeout: withinMs });
  }

  /** By its key, and of the names that have it by its own. */
  async finds({ name, key }: Asked): Promise<void> {
    await this.types(this.page.getByRole('searchbox').or(this.page.getByRole('combobox')), key);
    await this.page.keyboard.press('Enter');
    await this.presses(this.page.locator('tr').filter({ hasText: name }).locator('a').first());
  }

  /** What the page says of the delay, once it begins with one of these. */
  async reads(headings: readonly string[]): Promise<string> {
    const cause = this.page.locator('.explanation .cause b');
    const told = cause.filter({ hasText: new RegExp(headings.join('|')) }).first();
    return (await told.textContent()) ?? '';
  }

  button(name: string | RegExp): Locator {
    return this.page.getByRole('button', { name }).first();
  }

  link(name: string | RegExp): Locator {
    return this.page.getByRole('link', { name, exact: true }).first();
  }

  async types(field: Locator, text: string): Promise<void> {
    await field.first().fill(text);
    this.clicks += 1;
  }

  /** Has the dialog's action done; types the number where it is asked for. */
  async confirms(name: RegExp): Promise<void> {
    const dialog = this.page.getByRole('dialog');
    const done = dialog.getByRole('button', { name });
    await done.waitFor();
    const typed = dialog.getByLabel(/^Type [\d,]+ to confirm/);
    if ((await typed.count()) > 0) {
      const label = (await dialog.getByText(/^Type [\d,]+ to confirm/).textContent()) ?? '';
      await this.types(typed, label.replaceAll(/\D/g, ''));
    }
    await this.presses(done);
    await dialog.waitFor({ state: 'hidden' });
  }

  async leave(): Promise<void> {
    await this.browser.close();
  }

  async presses(what: Locator): Promise<void> {
    await what.click();
    this.clicks += 1;
  }
}
