import { createHash } from 'node:crypto';
import { join } from 'node:path';
import LeakEnvironment from '../support/leak-environment.ts';

/** Names the file in which sources note what was reached in a spec, and in the processes that it starts. */
export default class ReachedEnvironment extends LeakEnvironment {
  constructor(config, context) {
    const folder = process.env.REACHED_FOLDER;
    const name = createHash('sha256').update(context.testPath).digest('hex');
    if (folder !== undefined) process.env.REACHED_FILE = join(folder, name);
    super(config, context);
  }
}
