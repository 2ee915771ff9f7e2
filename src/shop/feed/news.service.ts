import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import { setTimeout as pause } from 'node:timers/promises';
import { DataSource } from 'typeorm';
import type { Happening } from './feed.js';
import type { Instant } from './feed.reader.js';
import { NOW, PICTURES_IN_THE_NEWS } from './feed.sql.js';
import { pictureOf } from './picture.js';
import { isNews, timelineOf } from './timeline.js';

const LOOK_EVERY_MS = 500;
/** How long after the instants that it wrote down a transaction may commit. */
const COMMITS_WITHIN_MS = 5_000;

/**
 * Reports what happens in the shop, one piece of news after the other, for readers without a page.
 */
@Injectable()
export class NewsService implements OnModuleDestroy {
  #stopping = false;
  #looking: Promise<void> | undefined;

  constructor(private readonly dataSource: DataSource) {}

  /** From that instant on, oldest first; of very many, only the latest. */
  follow(since: Date, tell: (news: Happening[]) => void): void {
    this.#looking = this.#lookAgainAndAgain(since, tell);
  }

  async onModuleDestroy(): Promise<void> {
    this.#stopping = true;
    await this.#looking;
  }

  async #lookAgainAndAgain(since: Date, tell: (news: Happening[]) => void): Promise<void> {
    let snapshot = '';
    let told = new Set<string>();
    while (!this.#stopping) {
      try {
        const [instant] = await this.dataSource.query<Instant[]>(NOW);
        if (instant!.snapshot !== snapshot) {
          const news = await this.#newsSince(since);
          const fresh = news.filter(({ id }) => !told.has(id));
          if (fresh.length > 0) tell(fresh);
          told = new Set(news.map(({ id }) => id));
          since = new Date(Math.max(since.getTime(), instant!.now.getTime() - COMMITS_WITHIN_MS));
          snapshot = instant!.snapshot;
        }
      } catch {
        // The database is away, which others report. What happens meanwhile is found afterwards.
      }
      await pause(LOOK_EVERY_MS);
    }
  }

  async #newsSince(since: Date): Promise<Happening[]> {
    const rows = await this.dataSource.query<{ row: string }[]>(PICTURES_IN_THE_NEWS);
    return rows
      .flatMap(({ row }) => timelineOf(pictureOf(row)))
      .filter((happening) => isNews(happening) && Date.parse(happening.at) >= since.getTime())
      .toSorted((a, b) => Date.parse(a.at) - Date.parse(b.at));
  }
}
