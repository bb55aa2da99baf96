import { defineConfig } from 'tsdown';

export default defineConfig([
  {
    entry: {
      index: 'src/index.ts',
      'store/sql/index': 'src/store/sql/index.ts',
      'link/index': 'src/link/index.ts',
      'approval/rules/index': 'src/approval/rules/index.ts',
      'testing/index': 'src/testing/index.ts',
      'cli/main': 'src/cli/main.ts',
    },
    outDir: 'dist',
    format: 'esm',
    platform: 'neutral',
    target: 'node20.19',
    // The built files mirror src, so that a reader can compare them and a test can walk them.
    unbundle: true,
    dts: true,
    deps: { neverBundle: [/^node:/, 'msw'] },
    copy: [{ from: 'src/link/sandbox/*.cjs', to: 'dist/link/sandbox' }],
  },
  {
    entry: 'examples/*.ts',
    outDir: 'build/examples',
    format: 'esm',
    platform: 'node',
    target: 'node20.19',
    deps: { neverBundle: [/^openvibe-skill-run/, 'libsql'] },
    dts: false,
    clean: true,
  },
  {
    entry: ['test/bench/main.ts', 'test/bench/store-worker.ts'],
    outDir: 'build/bench',
    format: 'esm',
    platform: 'node',
    target: 'node20.19',
    deps: { neverBundle: ['@electric-sql/pglite', 'libsql', 'pg'] },
    dts: false,
    clean: true,
    copy: [{ from: 'src/link/sandbox/*.cjs', to: 'build/bench' }],
  },
  {
    entry: ['test/chaos/main.ts', 'test/chaos/child.ts'],
    outDir: 'build/chaos',
    format: 'esm',
    platform: 'node',
    target: 'node20.19',
    dts: false,
    clean: true,
  },
]);
