import { StatementSize } from '../../store/statement-size.js';

/** Overdue rows taken by one statement. */
const PAGE_MAX = 2_000;

/**
 * A process that has just started begins with few, and each page has twice as many as the one before: handlers begin sooner,
 * and code that V8 has not compiled yet holds up the event loop for less time.
 */
const FIRST_PAGE = 125;

/**
 * Rows one statement looks at: a little more than a page, or as many as it takes to fill one with this
 * node's own. Beyond some tens of thousands the planner prefers to read and sort the whole table.
 */
const SCAN_MIN = PAGE_MAX * 2;
const SCAN_MAX = 10_000;
/** Ids are spread well, not evenly: a tenth more than what the page before would have taken. */
const SCAN_SLACK = 1.1;

/** How many rows the statements of a sweep take, and how many they look at for that. */
export class SweepSize {
  #page = FIRST_PAGE;
  #scan = SCAN_MIN;
  /** Rows that one statement may look at within its time limit. */
  readonly #most = new StatementSize(SCAN_MAX);

  get page(): number {
    return Math.min(this.#page, this.#most.now);
  }

  get scan(): number {
    return Math.min(this.#scan, this.#most.now);
  }

  /** What lies behind a crowd is fetched in the largest pages. */
  get largest(): { page: number; scan: number } {
    const scan = this.#most.now;
    return { page: Math.min(PAGE_MAX, scan), scan };
  }

  /** Runs a statement that looks at so many. A smaller one than it may be proves nothing for larger ones. */
  runOrShrink<Answer>(scan: number, statement: () => Promise<Answer>): Promise<Answer | undefined> {
    return this.#most.runOrShrink(scan, statement);
  }

  /** @param looksPerRow rows that have to be looked at for each of this node's own, as far as is known */
  begin(looksPerRow: number): void {
    this.#scan = scanFor(looksPerRow);
  }

  /** A page has brought so many, and there are more. */
  next(found: number): void {
    // A page that is full was so before all those rows were looked at.
    if (found < this.page) this.#scan = scanFor(this.#scan / Math.max(1, found));
    this.#page = Math.min(PAGE_MAX, this.#page * 2);
  }
}

const scanFor = (looksPerRow: number): number =>
  Math.ceil(Math.min(SCAN_MAX, Math.max(SCAN_MIN, PAGE_MAX * looksPerRow * SCAN_SLACK)));
