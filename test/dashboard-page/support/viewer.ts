import type {
  Browser,
  BrowserContext,
  BrowserContextOptions,
  Locator,
  Page,
} from 'playwright-core';
import { Complaints } from '../../page/support/complaints.js';
import { SEEN_WITHIN_MS } from '../../page/support/visitor.js';
import { until } from '../../support/until.js';

interface ViewerOptions extends BrowserContextOptions {
  /** What stands behind the dashboard's address, such as `?view=dead`. */
  query?: string;
}

/** An operator who looks at the dashboard, with a browser's profile of their own. */
export class Viewer {
  readonly #complaints = new Complaints();

  private constructor(
    private readonly context: BrowserContext,
    readonly page: Page,
    private readonly url: string,
  ) {}

  static async come(
    browser: Browser,
    url: string,
    { query = '', ...options }: ViewerOptions = {},
  ): Promise<Viewer> {
    const context = await browser.newContext({ locale: 'en-GB', timezoneId: 'UTC', ...options });
    context.setDefaultTimeout(SEEN_WITHIN_MS);
    const viewer = new Viewer(context, await context.newPage(), url);
    viewer.#complaints.listen(viewer.page, new URL(url).host);
    await viewer.open(query);
    return viewer;
  }

  /** Loads the page at that view. */
  async open(query: string): Promise<void> {
    await this.page.goto(new URL(query, this.url).href);
    await this.page.locator('main h1:not(.loading)').waitFor({ state: 'attached' });
    await this.page.locator('main [aria-busy=true]').waitFor({ state: 'detached' });
  }

  button(name: string | RegExp): Locator {
    return this.page.getByRole('button', { name, exact: true });
  }

  link(name: string | RegExp): Locator {
    return this.page.getByRole('link', { name, exact: true });
  }

  panel(title: string): Locator {
    return this.page.getByRole('region', { name: title, exact: true });
  }

  /** The rows of delays. */
  get rows(): Locator {
    return this.page.locator('table.delays tbody tr');
  }

  /** What their first links say. */
  async keys(): Promise<string[]> {
    return this.page.locator('table.delays .row-link').allTextContents();
  }

  /** Once it stands somewhere on the page. */
  seesText(text: string | RegExp): Promise<void> {
    return this.page.getByText(text).first().waitFor();
  }

  /** Once it stands in the panel with that title. */
  seesIn(title: string, text: string | RegExp): Promise<void> {
    return this.panel(title).getByText(text).locator('visible=true').first().waitFor();
  }

  /** Once the line below the top says so; `null`: once there is none. */
  async seesBanner(text: string | RegExp | null): Promise<void> {
    const banner = this.page.locator('.banner');
    if (text === null) await banner.waitFor({ state: 'detached' });
    else await banner.getByText(text).waitFor();
  }

  /** Once a heading says so. */
  seesHeading(name: string | RegExp): Promise<void> {
    return this.page.getByRole('heading', { name }).first().waitFor({ state: 'attached' });
  }

  /** Once the table has exactly these. */
  async seesKeys(keys: readonly string[]): Promise<void> {
    await until(
      () => this.keys(),
      (seen) => seen.join() === keys.join(),
    );
  }

  /** The query of the address. */
  get query(): URLSearchParams {
    return new URL(this.page.url()).searchParams;
  }

  async press(...keys: string[]): Promise<void> {
    for (const key of keys) await this.page.keyboard.press(key);
  }

  /** @throws when the page broke, asked for something elsewhere or was stopped by its policy */
  async leave(): Promise<void> {
    await this.context.close();
    this.#complaints.throwIfAny();
  }
}
