import { readdirSync, readFileSync } from 'node:fs';

const closeOnExec = 0o2000000;

/**
 * The descriptors of this process from 3 on that a child would get: Node opens none such, but whoever started it may
 * have left some, and an addon may open one. Read anew each time, in about 10 µs a descriptor.
 */
export function inheritedDescriptors(): number[] {
  return readdirSync('/proc/self/fdinfo')
    .map(Number)
    .filter((descriptor) => descriptor > 2 && isInherited(descriptor));
}

function isInherited(descriptor: number): boolean {
  let text: string;
  try {
    text = readFileSync(`/proc/self/fdinfo/${descriptor}`, 'latin1');
  } catch {
    // That of the list itself, which is closed by now.
    return false;
  }
  const flags = /^flags:\s*([0-7]+)$/m.exec(text)?.[1];
  return flags === undefined || (Number.parseInt(flags, 8) & closeOnExec) === 0;
}
