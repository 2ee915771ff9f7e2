import { type Mutant, patch } from './mutant.js';

const JSON_TEXT = 'dashboard/page/delay/indented-json.ts';
const EVENTS = 'dashboard/page/story/story-events.ts';
const SCALE = 'dashboard/page/story/shortened-scale.ts';
const JSON_PLACE = 'dashboard/page/act/json-place.ts';
const PLAIN = 'dashboard/page/act/plain-fields.ts';
const ORDER = 'dashboard/page/act/order-filter.ts';
const CRON = 'dashboard/page/delay/cron-sentence.ts';
const SELECTION = 'dashboard/page/search/toggled-range.ts';

/** Ways to show an operator what is not so. */
export const DASHBOARD_PAGE: Readonly<Record<string, Mutant>> = {
  'payload-reads-as-another': {
    about: 'shows a payload whose text turns around',
    patches: [patch(JSON_TEXT, 'json.replaceAll(UNSEEN, escaped)', 'json')],
    tests: ['unit/dashboard/indented-json'],
  },
  'payload-texts-fall-apart': {
    about: 'takes a bracket inside of a text for one of the payload',
    patches: [patch(JSON_TEXT, '"(?:[^"\\\\]|\\\\.)*"|', '')],
    tests: ['unit/dashboard/indented-json'],
  },
  'cron-steps-that-start-anew': {
    about: 'says "every 35 minutes" of what comes at minute 0 and 35',
    patches: [patch(CRON, '!isEven || ', '')],
    tests: ['unit/dashboard/cron-sentence'],
  },
  'cron-days-that-are-either': {
    about: 'says "and" of a day of the month or of the week',
    patches: [patch(CRON, ' || isEither', '')],
    tests: ['unit/dashboard/cron-sentence'],
  },
  'story-in-the-order-of-its-runs': {
    about: 'tells one run after the other instead of what happened in its order',
    patches: [
      patch(
        EVENTS,
        'events.toSorted((a, b) => a.atMs - b.atMs || ORDER[a.what] - ORDER[b.what])',
        'events',
      ),
    ],
    tests: ['unit/dashboard/story-events'],
  },
  'story-of-ids-as-text': {
    about: 'takes delay 10 for older than delay 9',
    patches: [patch(EVENTS, 'a.id.length - b.id.length || ', '')],
    tests: ['unit/dashboard/story-events'],
  },
  'story-wakes-when-first-due': {
    about: 'says that a delay comes due when it first was, not with its next attempt',
    patches: [patch(EVENTS, 'delay.wakeAt ?? delay.dueAt', 'delay.dueAt')],
    tests: ['unit/dashboard/story-events'],
  },
  'story-to-scale': {
    about: 'draws seconds beside a month as one point',
    patches: [
      patch(
        SCALE,
        'Math.log2(1 + (ms - marks[at - 1]!) / UNIT_MS)',
        '(ms - marks[at - 1]!) / UNIT_MS',
      ),
    ],
    tests: ['unit/dashboard/shortened-scale'],
  },
  'selects-what-has-ended': {
    about: 'selects a run that has ended, and with it the live delay of the same id',
    patches: [patch(SELECTION, '.filter(isSelectable)', '')],
    tests: ['unit/dashboard/toggled-range'],
  },
  'selects-by-turns': {
    about: 'selects of a range those that were not, and leaves out those that were',
    patches: [patch(SELECTION, 'if (isOn) next.add(id);', 'if (!ids.has(id)) next.add(id);')],
    tests: ['unit/dashboard/toggled-range'],
  },
  'changes-what-was-guessed': {
    about:
      'has all changed that match the text of the one field, as if it were no part of the filter',
    patches: [patch(ORDER, 'return { ...filter, [meaning]: q };', 'return filter;')],
    tests: ['unit/dashboard/order-filter'],
  },
  'changes-all-there-are': {
    about: 'offers to change all delays where there is no filter',
    patches: [patch(ORDER, 'Object.keys(filter).length > 0 ? filter : null', 'filter')],
    tests: ['unit/dashboard/order-filter'],
  },
  'changes-what-has-ended': {
    about: 'offers to change delays of which some have ended',
    patches: [
      patch(
        ORDER,
        'filter.state?.some((state) => !LIVE_STATES.some((live) => live === state))',
        'false',
      ),
    ],
    tests: ['unit/dashboard/order-filter'],
  },
  'payload-with-a-comma-too-many': {
    about: 'takes for JSON what ends in a comma',
    patches: [patch(JSON_PLACE, 'if (!one()) return false;', 'if (!one()) break;')],
    tests: ['unit/dashboard/new-payload'],
  },
  'payload-rounds-numbers': {
    about: 'sends another number than the one that was typed',
    patches: [patch(PLAIN, 'isBare ? text.trim()', 'isBare ? JSON.parse(text)')],
    tests: ['unit/dashboard/new-payload'],
  },
};
