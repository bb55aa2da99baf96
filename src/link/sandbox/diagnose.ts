import { readFileSync } from 'node:fs';

/** Why a machine cannot build a sandbox, and the one command that mends it. */
export interface Diagnosis {
  /** A sentence. */
  readonly reason: string;
  /** A sentence that names the command. */
  readonly remedy: string;
}

/** Reads a kernel setting, such as `user/max_user_namespaces`; `undefined` where there is none. */
export function readSetting(name: string): string | undefined {
  try {
    return readFileSync(`/proc/sys/${name}`, 'latin1').trim();
  } catch {
    return undefined;
  }
}

/**
 * Puts what a sandbox's keeper complained about into plain words.
 *
 * @param complaint the stderr of the keeper, before a tool ran
 * @param setting reads the machine's kernel settings
 */
export function diagnose(complaint: string, setting: (name: string) => string | undefined): Diagnosis {
  if (setting('user/max_user_namespaces') === '0') {
    return {
      reason: 'This machine allows no user namespaces (user.max_user_namespaces is 0).',
      remedy: 'Run: sudo sysctl -w user.max_user_namespaces=15000',
    };
  }
  if (setting('kernel/unprivileged_userns_clone') === '0') {
    return {
      reason: 'This machine allows user namespaces to root only (kernel.unprivileged_userns_clone is 0).',
      remedy: 'Run: sudo sysctl -w kernel.unprivileged_userns_clone=1',
    };
  }
  const denied = /Operation not permitted|Permission denied|Read-only file system/i.test(complaint);
  if (denied && setting('kernel/apparmor_restrict_unprivileged_userns') === '1') {
    return {
      reason: 'AppArmor keeps user namespaces from programs without a profile.',
      remedy:
        'Enable the profile bwrap-userns-restrict (package apparmor-profiles). Run: sudo ln -s /usr/share/apparmor/extra-profiles/bwrap-userns-restrict /etc/apparmor.d/ && sudo systemctl reload apparmor',
    };
  }
  if (denied) {
    return {
      reason: 'The kernel refused to make the namespaces of the sandbox.',
      remedy:
        'Inside a container, let it make user namespaces. With Docker, run it with: --security-opt seccomp=unconfined --security-opt systempaths=unconfined',
    };
  }
  return {
    reason: 'The sandbox started nothing that answers.',
    remedy:
      'Run: sudo apt-get install --reinstall bubblewrap util-linux, or pass `node`, another Node binary.',
  };
}
