import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

const source = (path: string): string => fileURLToPath(new URL(`./src/${path}`, import.meta.url));

export default defineConfig({
  resolve: {
    alias: {
      'openvibe-skill-run/store/sql': source('store/sql/index.ts'),
      'openvibe-skill-run/link': source('link/index.ts'),
      'openvibe-skill-run/policy': source('approval/rules/index.ts'),
      'openvibe-skill-run/testing': source('testing/index.ts'),
      'openvibe-skill-run': source('index.ts'),
    },
  },
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/support/build.ts'],
    setupFiles: ['test/setup.ts'],
    testTimeout: 30_000,
    hookTimeout: 60_000,
    maxWorkers: 2,
  },
});
