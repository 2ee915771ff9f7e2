import { afterEach, beforeEach, jest } from '@jest/globals';
import { Stage } from './stage.js';

interface StageSetup {
  /** What the application has of its own. */
  tables?: string;
  /** Lets handlers go that would hold up the end. */
  release?: () => void;
  /** Whether connections may be left. */
  force?: boolean;
  rareSweeps?: boolean;
}

/** A table in which two effects of one key are two lines. */
export const EFFECT_TABLE = 'CREATE TABLE effect (key text NOT NULL)';

/** A stage for each test of a file, behind one name. After the test its spies are taken back, and it is closed. */
export function stageOfEach({
  tables = '',
  release,
  force = false,
  rareSweeps = false,
}: StageSetup = {}): Stage {
  let stage: Stage;

  beforeEach(async () => {
    stage = await Stage.open();
    if (rareSweeps) stage.parts.makeSweepsRare();
    if (tables !== '') await stage.sql(tables);
  });

  afterEach(async () => {
    release?.();
    jest.restoreAllMocks();
    await stage.close({ force });
  });

  return new Proxy({} as Stage, {
    get: (_, key) => {
      const value: unknown = Reflect.get(stage, key);
      return typeof value === 'function' ? (value.bind(stage) as unknown) : value;
    },
  });
}
