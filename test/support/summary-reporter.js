/** The last line of a run, for people and scripts: `N passed, N failed[, N skipped]`. */
export default class SummaryReporter {
  onRunComplete(_contexts, results) {
    // A file that does not even load has no tests to count, yet it failed.
    const failed = results.numFailedTests + results.numRuntimeErrorTestSuites;
    const skipped = results.numPendingTests + results.numTodoTests;
    const tail = skipped > 0 ? `, ${skipped} skipped` : '';
    // Jest puts its own summary after all other reporters.
    process.once('exit', () => {
      process.stdout.write(`\n${results.numPassedTests} passed, ${failed} failed${tail}\n`);
    });
  }
}
