/**
 * How errors and misspelled names are read, and the options of a filter. It loads neither TypeORM nor pg, so the command
 * line's help and its refusals of wrong usage do without them.
 */
export { nearest } from './config/known-options.js';
export { isReadOnly, PERMISSION_DENIED, readSqlState } from './database/driver-errors.js';
export { causeChain, readsTrouble, type Trouble, classifyTrouble } from './database/trouble.js';
export { FILTER_FLAGS, type FilterFlag } from './store/filter.table.js';
