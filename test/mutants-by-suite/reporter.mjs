import { appendFileSync } from 'node:fs';

/** Writes a line of JSON for each file that has ended into `RESULT_FILE`: a run may be stopped at any time. */
export default class LinePerFile {
  /** At once: each test of a file may wait in vain for as long as it has patience. */
  onTestCaseResult({ path }, { status, fullName, failureMessages, duration }) {
    if (status !== 'failed' || process.env.FIRST_FAILURE === undefined) return;
    const why = (failureMessages[0] ?? '').slice(0, 1_500);
    this.#write({ path, ms: duration ?? 0, passed: 0, test: fullName, why });
  }

  onTestFileResult({ path }, { numPassingTests, testExecError, testResults, perfStats }) {
    const failed = testResults.find(({ status }) => status === 'failed');
    const test = failed?.fullName ?? (testExecError && 'the file itself');
    const why = (failed?.failureMessages[0] ?? testExecError?.message ?? '').slice(0, 1_500);
    const result = { path, ms: perfStats.runtime, passed: numPassingTests, test, why };
    this.#write(result);
  }

  #write(result) {
    appendFileSync(process.env.RESULT_FILE, `${JSON.stringify(result)}\n`);
  }
}
