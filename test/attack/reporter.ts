import type { Reporter, TestCase, TestModule } from 'vitest/node';

/** A line for each failure, and `N passed, N failed` at the end. */
export function attackReporter(): Reporter {
  const counts = { passed: 0, failed: 0 };
  const fail = (where: string, why: string): void => {
    counts.failed += 1;
    process.stdout.write(`FAILED ${where}: ${why.split('\n')[0]}\n`);
  };
  return {
    onTestCaseResult(test: TestCase) {
      const { state, errors = [] } = test.result();
      if (state === 'passed') counts.passed += 1;
      // What was to come before it failed, and has a line of its own.
      else if (state === 'skipped') counts.failed += 1;
      else fail(test.fullName, errors[0]?.message ?? state);
    },
    onTestRunEnd(modules: readonly TestModule[], errors) {
      const broken = modules.flatMap((module) => [
        ...module.errors(),
        ...[...module.children.allSuites()].flatMap((suite) => suite.errors()),
      ]);
      for (const { message } of [...broken, ...errors]) fail('outside a test', message);
      if (counts.passed === 0) fail('the suite', 'nothing was run');
      process.stdout.write(`${counts.passed} passed, ${counts.failed} failed\n`);
      if (counts.failed > 0) process.exitCode = 1;
    },
  };
}
