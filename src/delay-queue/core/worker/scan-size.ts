import { StatementSize } from '../store/statement-size.js';

const PAGE_MAX = 2_000;

/**
 * The first page of a process is small, and each page doubles the one before: handlers begin
 * sooner, and code that V8 has not compiled yet blocks the event loop for less time.
 */
const FIRST_PAGE = 125;

/**
 * Rows that one statement examines: twice a page, or as many as it takes to fill a page with this
 * node's own. Beyond some tens of thousands the planner prefers to read and sort the whole table.
 */
const SCAN_MIN = PAGE_MAX * 2;

const SCAN_MAX = 10_000;

/** Ids are spread well, but not evenly: a tenth more than the previous page would have needed. */
const SCAN_SLACK = 1.1;

/** How many rows the statements of a scan return, and how many they examine for that. */
export class ScanSize {
  #page = FIRST_PAGE;
  #scan = SCAN_MIN;
  /** Rows that one statement can examine within its time limit. */
  readonly #most = new StatementSize(SCAN_MAX);

  get page(): number {
    return Math.min(this.#page, this.#most.now);
  }

  get scan(): number {
    return Math.min(this.#scan, this.#most.now);
  }

  /** A skip-ahead reads the largest pages. */
  get largest(): { page: number; scan: number } {
    const scan = this.#most.now;
    return { page: Math.min(PAGE_MAX, scan), scan };
  }

  /**
   * Runs a statement that examines `scan` rows. One below the limit proves nothing for larger ones.
   */
  runOrShrink<Answer>(scan: number, statement: () => Promise<Answer>): Promise<Answer | undefined> {
    return this.#most.runOrShrink(scan, statement);
  }

  /** @param looksPerRow estimate: rows to examine for each row of this node */
  begin(looksPerRow: number): void {
    this.#scan = scanFor(looksPerRow);
  }

  next(found: number): void {
    // A full page was full before it had examined that many rows.
    if (found < this.page) this.#scan = scanFor(this.#scan / Math.max(1, found));
    this.#page = Math.min(PAGE_MAX, this.#page * 2);
  }
}

const scanFor = (looksPerRow: number): number =>
  Math.ceil(Math.min(SCAN_MAX, Math.max(SCAN_MIN, PAGE_MAX * looksPerRow * SCAN_SLACK)));
