import type { Browser, Page } from 'playwright-core';
import { launchChromium } from '../page/support/chromium.js';

/** What a person waits for a page. */
const PATIENCE_MS = 60_000;

/** What a person sees and does on the dashboard of one process, with a count of the clicks. */
export class Operator {
  #clicks = 0;

  private constructor(
    private readonly browser: Browser,
    private readonly page: Page,
    private readonly url: string,
  ) {}

  /** @param url of the dashboard */
  static async come(url: string): Promise<Operator> {
    const browser = await launchChromium();
    const page = await browser.newPage({ viewport: { width: 1280, height: 900 }, locale: 'en-GB' });
    page.setDefaultTimeout(PATIENCE_MS);
    return new Operator(browser, page, url);
  }

  get clicks(): number {
    return this.#clicks;
  }

  /** The overview, as after a call at night. */
  async begin(): Promise<void> {
    this.#clicks = 0;
    await this.page.goto(this.url);
  }

  async sees(text: string | RegExp, withinMs = PATIENCE_MS): Promise<void> {
    await this.page.getByText(text).first().waitFor({ timeout: withinMs });
  }

  async click(role: 'button' | 'link', name: string | RegExp): Promise<void> {
    await this.page.getByRole(role, { name }).first().click();
    this.#clicks += 1;
  }

  async types(label: string | RegExp, text: string): Promise<void> {
    await this.page.getByLabel(label).first().fill(text);
    this.#clicks += 1;
  }

  /** The first row of the table that is shown. */
  async opensFirst(): Promise<void> {
    await this.page.locator('tbody tr a').first().click();
    this.#clicks += 1;
  }

  leave(): Promise<void> {
    return this.browser.close();
  }
}
