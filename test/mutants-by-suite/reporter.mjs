import { writeFileSync } from 'node:fs';

/** Writes what was found so far into the file `RESULT_FILE`: a run that bails out tells Jest's reporters nothing. */
export default class FirstFailure {
  #passed = 0;
  #failed;

  /** At once: each test of a file may wait in vain for as long as it has patience. */
  onTestCaseResult({ path }, { status, fullName }) {
    if (status !== 'failed' || this.#failed) return;
    this.#failed = { path, test: fullName };
    this.#write();
  }

  onTestFileResult({ path }, { numPassingTests, testExecError, testResults }) {
    this.#passed += numPassingTests;
    const failed = testResults.find(({ status }) => status === 'failed');
    const test = failed?.fullName ?? testExecError?.message;
    if (test !== undefined) this.#failed ??= { path, test };
    this.#write();
  }

  #write() {
    const result = { passed: this.#passed, failed: this.#failed };
    writeFileSync(process.env.RESULT_FILE, JSON.stringify(result));
  }
}
