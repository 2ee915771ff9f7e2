import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type {
  Browser,
  BrowserContext,
  BrowserContextOptions,
  Locator,
  Page,
} from 'playwright-core';
import { launchChromium } from './chromium.js';
import { Complaints } from './complaints.js';

const BUILD = fileURLToPath(new URL('../../../tools/page/build.mjs', import.meta.url));

/** Slower machines than ours are in use; who hangs is given up all the same. */
export const SEEN_WITHIN_MS = 90_000;

/** A browser on the page as it is in the sources. */
export async function openBrowser(): Promise<Browser> {
  await promisify(execFile)(process.execPath, [BUILD]);
  return launchChromium();
}

/** Somebody who looks at the page, with a browser's profile of their own. */
export class Visitor {
  readonly #complaints = new Complaints();

  private constructor(
    private readonly context: BrowserContext,
    readonly page: Page,
  ) {}

  static async come(
    browser: Browser,
    url: string,
    options: BrowserContextOptions = {},
  ): Promise<Visitor> {
    const context = await browser.newContext({ locale: 'en-GB', ...options });
    context.setDefaultTimeout(SEEN_WITHIN_MS);
    const visitor = new Visitor(context, await context.newPage());
    visitor.#complaints.listen(visitor.page, new URL(url).host);
    await visitor.page.goto(url);
    await visitor.page.getByRole('heading', { level: 2 }).first().waitFor();
    return visitor;
  }

  button(name: string | RegExp): Locator {
    return this.page.getByRole('button', { name, exact: true });
  }

  /** Places what is in the basket. @returns the order's number */
  async place(): Promise<number> {
    const before = await this.newest();
    await this.button('Place order').click();
    return this.orderAfter(before);
  }

  /** Starts a race. @returns the order's number */
  async race(name: string): Promise<number> {
    const before = await this.newest();
    await this.button(name).click();
    return this.orderAfter(before);
  }

  async orderAfter(before: number): Promise<number> {
    await this.order(before + 1).waitFor();
    return before + 1;
  }

  /** The number of the newest order; 1000 when there is none. */
  async newest(): Promise<number> {
    const ids = await this.page
      .locator('.order')
      .evaluateAll((orders) => orders.map(({ id }) => id));
    return Math.max(1000, ...ids.map((id) => Number(id.split('-')[1])));
  }

  order(no: number): Locator {
    return this.page.locator(`#order-${no}`);
  }

  /** Once its row says so. */
  async sees(no: number, text: string | RegExp): Promise<void> {
    await this.order(no).filter({ hasText: text }).waitFor();
  }

  /** Once it stands somewhere on the page. */
  seesText(text: string | RegExp): Promise<void> {
    return this.page.getByText(text).first().waitFor();
  }

  async act(no: number, action: string): Promise<void> {
    await this.order(no).getByRole('button', { name: action, exact: true }).click();
  }

  /** Once the stock of that article reads so. */
  async seesStock(name: string, stock: string): Promise<void> {
    await this.page.locator('.sku').filter({ hasText: name }).filter({ hasText: stock }).waitFor();
  }

  /** Once the shop says at the order's buttons why it refuses. */
  seesRefusal(no: number, text: string): Promise<void> {
    return this.order(no).getByRole('alert').filter({ hasText: text }).waitFor();
  }

  /** Once the strip says that all of them hold, or that one is broken. */
  seesInvariants(state: 'hold' | 'broken'): Promise<void> {
    return this.page.locator(`.invariants.${state}`).waitFor();
  }

  /** @throws when the page broke, asked for something elsewhere or was stopped by its policy */
  async leave(): Promise<void> {
    await this.context.close();
    this.#complaints.throwIfAny();
  }
}
