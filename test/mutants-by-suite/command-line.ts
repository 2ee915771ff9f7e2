import { type Mutant, patch } from './mutant.js';

const CHANGES = 'cli/changes.ts';
const OUTPUT = 'cli/output.ts';
const DRIFT = 'core/store/checks/drift.ts';
const READS = ['integration/command-line/reads'];
const WRITES = ['integration/command-line/changes'];
const DOCTOR = ['integration/command-line/doctor'];

/** The command line with one of its rules taken out. */
export const COMMAND_LINE: Readonly<Record<string, Mutant>> = {
  'changes-without-asking': {
    about: 'changes many without a terminal to ask and without --yes',
    patches: [patch(OUTPUT, 'if (!terminal.isInteractive) {', 'if (terminal.isInteractive) {')],
    tests: WRITES,
  },
  'changes-after-a-no': {
    about: 'changes many after the answer is no',
    patches: [patch(OUTPUT, "if (answer === 'yes') return", 'if (answer) return')],
    tests: WRITES,
  },
  'counts-what-it-cannot-change': {
    about: 'counts delays in states that the command does not change',
    patches: [
      patch(CHANGES, 'filter.state === undefined && states === ALL', 'filter.state === undefined'),
    ],
    tests: WRITES,
  },
  'deaf-to-ctrl-c': {
    about: 'goes on after Ctrl-C',
    patches: [
      patch(CHANGES, '...byFrom(given), signal, onProgress', '...byFrom(given), onProgress'),
    ],
    tests: WRITES,
  },
  'forgets-who-asked': {
    about: 'does not keep who asked for a change of many',
    patches: [patch(CHANGES, '...byFrom(given), signal, onProgress', 'signal, onProgress')],
    tests: WRITES,
  },
  'content-with-what-runs': {
    about: 'ends with 0 although not all was changed',
    patches: [
      patch(
        CHANGES,
        'return left === 0 ? EXIT.DONE : EXIT.FAILED',
        'return left < 0 ? EXIT.FAILED : EXIT.DONE',
      ),
    ],
    tests: WRITES,
  },
  'shows-payloads': {
    about: 'shows payloads without being asked to',
    patches: [
      patch(
        'cli/reads.ts',
        'if (!isPayloadShown) return delay;',
        'if (!isPayloadShown) return { ...delay, payload };',
      ),
      patch('cli/reads.ts', "    payload: given.has('payload'),\n", ''),
    ],
    tests: READS,
  },
  'reads-payloads': {
    about: 'reads payloads that are not to be shown',
    patches: [
      patch(
        'core/store/sql/delays.sql.ts',
        "SELECT ${payload === 'read' ? 'd.*' : LISTED}",
        'SELECT d.*',
      ),
    ],
    tests: READS,
  },
  'prints-as-it-is': {
    about: 'prints what acts on a terminal as it is',
    patches: [patch(OUTPUT, ': printable(value, widthMax)', ': value.slice(0, widthMax)')],
    tests: ['unit/command-line/output', ...READS],
  },
  'all-as-wide-as-a-letter': {
    about: 'aligns a table as if each character took one column',
    patches: [patch(OUTPUT, "replaceAll(WIDE, '  ')", "replaceAll(WIDE, ' ')")],
    tests: ['unit/command-line/output'],
  },
  'history-all-the-same': {
    about: 'cancel --no-history writes history',
    patches: [
      patch(
        'cli/node.ts',
        'history: writesHistory && { attempts: true }',
        'history: { attempts: true }',
      ),
    ],
    tests: WRITES,
  },
  'listens-on-a-standby': {
    about: 'doctor tries LISTEN on a standby, and calls the refusal a finding',
    patches: [patch('ops/checks/catalogue.ts', 'server.isStandby', 'false')],
    tests: ['servers/doctor'],
  },
  'remedies-unquoted': {
    about: 'a remedy of the doctor holds a name as it is',
    patches: [patch('ops/checks/words.ts', `text.replaceAll("'", "''")`, 'text')],
    tests: ['servers/doctor'],
  },
  'content-with-an-unknown-key': {
    about: 'explain ends with 0 although there is no such delay',
    patches: [patch('cli/reads.ts', "told.reason === 'absent' ?", 'told === null ?')],
    tests: READS,
  },
  'tells-the-password': {
    about: 'prints the passwords that an error has',
    patches: [
      patch(
        'cli/failures.ts',
        "text.replaceAll(PASSWORD_OF_URL, '$1:***@').replaceAll(PASSWORD_OF_QUERY, '$1***')",
        'text',
      ),
    ],
    tests: ['unit/command-line/output'],
  },
  'takes-any-zone': {
    about: 'takes an instant without its zone, in that of the machine',
    patches: [
      patch(
        'core/config/instants.ts',
        '(?:Z|[+-](?:0\\d|1[0-4]):[0-5]\\d)$',
        '(?:Z|[+-](?:0\\d|1[0-4]):[0-5]\\d)?$',
      ),
    ],
    tests: ['unit/command-line/parse'],
  },
  'takes-the-next-option': {
    about: 'takes the option that follows for the value of one that has none',
    patches: [patch('cli/parse.ts', "(isNext && token.value.startsWith('-'))", 'false')],
    tests: ['unit/command-line/parse'],
  },
  'blind-to-changed-columns': {
    about: 'compares no column with that of the migrations',
    patches: [
      patch(
        DRIFT,
        'if (now?.is === each.is) return [];',
        "if (now?.is === each.is || (now && each.kind === 'column')) return [];",
      ),
    ],
    tests: DOCTOR,
  },
  'blind-to-primary-keys': {
    about: 'misses no primary key',
    patches: [
      patch(
        DRIFT,
        'if (now?.is === each.is) return [];',
        'if (now?.is === each.is || /PRIMARY KEY/.test(each.is)) return [];',
      ),
    ],
    tests: DOCTOR,
  },
  'blind-to-changed-functions': {
    about: 'compares no function with that of the migrations',
    patches: [
      patch(
        DRIFT,
        'if (now?.is === each.is) return [];',
        "if (now?.is === each.is || (now && each.kind === 'function')) return [];",
      ),
    ],
    tests: DOCTOR,
  },
  'one-look-hides-the-others': {
    about: 'gives up when the role may not take one look',
    patches: [
      patch(
        'cli/doctor.ts',
        '    return found.length === 0 && none !== undefined ? [ok(check, none)] : found;\n  } catch (error) {',
        '    return found.length === 0 && none !== undefined ? [ok(check, none)] : found;\n  } catch (error) {\n    if (error) throw error;',
      ),
    ],
    tests: DOCTOR,
  },
  'sound-with-a-problem': {
    about: 'ends with 0 although there is a problem',
    patches: [
      patch(
        'cli/doctor.ts',
        "level === 'problem') ? EXIT.FAILED",
        "level === 'problem') ? EXIT.DONE",
      ),
    ],
    tests: DOCTOR,
  },
};
