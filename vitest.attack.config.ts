import { defineConfig } from 'vitest/config';
import { attackReporter } from './test/attack/reporter.ts';

export default defineConfig({
  test: {
    include: ['test/attack/full.ts'],
    reporters: [attackReporter()],
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
