import { expect, it } from '@jest/globals';
import { isUnfitSession } from '../../../src/delay-queue/core/database/driver-errors.js';

/** What the message catalogs of Postgres 15 say for FATAL and PANIC, and for ERROR. */
const CATALOGS = {
  de: ['FATAL', 'PANIK', 'FEHLER'],
  es: ['FATAL', 'PANIC', 'ERROR'],
  fr: ['FATAL', 'PANIC', 'ERREUR'],
  it: ['FATALE', 'PANICO', 'ERRORE'],
  ja: ['FATAL', 'PANIC', 'ERROR'],
  ka: ['ფატალური', 'პანიკა', 'შეცდომა'],
  ko: ['치명적오류', '손상', '오류'],
  ru: ['ВАЖНО', 'ПАНИКА', 'ОШИБКА'],
  sv: ['FATALT', 'PANIK', 'FEL'],
  uk: ['ФАТАЛЬНО', 'ПАНІКА', 'ПОМИЛКА'],
  zh_CN: ['致命错误', '灾难性错误', '错误'],
  zh_TW: ['致命錯誤', '嚴重錯誤', '錯誤'],
};

it.each(Object.entries(CATALOGS))(
  'a server that speaks %s ends a session by its first two words',
  (_, words) => {
    const ends = words.map((severity) => isUnfitSession({ code: 'XX000', severity }));
    expect(ends).toEqual([true, true, false]);
  },
);
