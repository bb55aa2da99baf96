import { expect, it } from 'vitest';
import { diagnose } from '../../../src/link/sandbox/diagnose.ts';

const settings = (values: Record<string, string>) => (name: string) => values[name];

it.each([
  ['', { 'user/max_user_namespaces': '0' }, 'sysctl -w user.max_user_namespaces='],
  ['', { 'kernel/unprivileged_userns_clone': '0' }, 'sysctl -w kernel.unprivileged_userns_clone=1'],
  [
    'bwrap: setting up uid map: Permission denied',
    { 'kernel/apparmor_restrict_unprivileged_userns': '1' },
    'bwrap-userns-restrict',
  ],
  ['unshare: unshare failed: Operation not permitted', {}, '--security-opt'],
  ['sh: cannot create /proc/sys/user/max_user_namespaces: Read-only file system', {}, '--security-opt'],
  ['/bin/node: error while loading shared libraries', {}, 'apt-get install --reinstall'],
])('%j is mended by one command', (complaint, values, command) => {
  const { reason, remedy } = diagnose(complaint, settings(values));
  expect(reason).toMatch(/\.$/);
  expect(remedy).toContain(command);
});
