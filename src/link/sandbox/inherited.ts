import { closeSync, openSync, readdirSync, readSync } from 'node:fs';

const closeOnExec = 0o2000000;
// The position and the flags come first; what follows may be long, and takes the kernel as long.
const head = Buffer.alloc(64);

/**
 * The descriptors of this process from 3 on that a child would get: Node opens none such, but whoever started it may
 * have left some, and an addon may open one. Read anew each time, in about 8 µs a descriptor.
 */
export function inheritedDescriptors(): number[] {
  return readdirSync('/proc/self/fdinfo')
    .map(Number)
    .filter((descriptor) => descriptor > 2 && isInherited(descriptor));
}

function isInherited(descriptor: number): boolean {
  let file: number;
  try {
    file = openSync(`/proc/self/fdinfo/${descriptor}`, 'r');
  } catch {
    // That of the list itself, which is closed by now.
    return false;
  }
  try {
    const text = head.toString('latin1', 0, readSync(file, head));
    const flags = /^flags:\s*([0-7]+)\n/m.exec(text)?.[1];
    return flags === undefined || (Number.parseInt(flags, 8) & closeOnExec) === 0;
  } finally {
    closeSync(file);
  }
}
