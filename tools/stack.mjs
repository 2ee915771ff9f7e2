/**
 * With `DELAY_QUEUE_STACK=<folder>` tests run on the Nest and the TypeORM that are installed there
 * instead of the repository's: `npm run test:old-stack`.
 */
import { pathToFileURL } from 'node:url';

const folder = process.env.DELAY_QUEUE_STACK;

/** What comes from there. `pg` does not: there is one of it. */
const OF_STACK = '(?:@nestjs/(?:common|core|testing|typeorm)|reflect-metadata|rxjs|typeorm)';

/** For Jest. */
export const STACK_MAPPER = folder
  ? { [`^(${OF_STACK}(?:/.*)?)$`]: `${folder}/node_modules/$1` }
  : {};

const pattern = new RegExp(`^${OF_STACK}(?:/|$)`);

/** The module from whose place that specifier is looked up. */
export const stackParent = (specifier, parentUrl) =>
  folder && pattern.test(specifier) && !parentUrl?.includes('/node_modules/')
    ? pathToFileURL(`${folder}/package.json`).href
    : parentUrl;
