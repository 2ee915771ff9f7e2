import { writeFileSync } from 'node:fs';

/** Writes what was found so far into the file `RESULT_FILE`: a run that bails out tells Jest's reporters nothing. */
export default class FirstFailure {
  #passed = 0;
  #failed;

  onTestFileResult({ path }, { numPassingTests, testExecError, testResults }) {
    this.#passed += numPassingTests;
    const failed = testResults.find(({ status }) => status === 'failed');
    const test = failed?.fullName ?? testExecError?.message;
    if (test !== undefined) this.#failed ??= { path, test };
    const result = { passed: this.#passed, failed: this.#failed };
    writeFileSync(process.env.RESULT_FILE, JSON.stringify(result));
  }
}
