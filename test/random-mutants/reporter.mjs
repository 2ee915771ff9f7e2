import { appendFileSync } from 'node:fs';

/** Writes a line of JSON for each file that has ended into `RESULT_FILE`: a run may be stopped at any time. */
export default class LinePerFile {
  onTestFileResult({ path }, { numPassingTests, testExecError, testResults, perfStats }) {
    const failed = testResults.find(({ status }) => status === 'failed');
    const test = failed?.fullName ?? (testExecError && 'the file itself');
    const why = (failed?.failureMessages[0] ?? testExecError?.message ?? '').slice(0, 1_500);
    const result = { path, ms: perfStats.runtime, passed: numPassingTests, test, why };
    appendFileSync(process.env.RESULT_FILE, `${JSON.stringify(result)}\n`);
  }
}
