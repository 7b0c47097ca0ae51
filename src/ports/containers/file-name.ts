/** The valid names of files inside a container. */

const MAX_LENGTH = 1024;

/** Whether it is a path below the working directory that every system reads the same way. */
export function isFileName(name: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
  if (name.length > MAX_LENGTH || /[\u0000-\u001f\u007f\\]/.test(name)) return false;
  return name.split('/').every((part) => part !== '' && part !== '.' && part !== '..');
}

/** Whether the folder of the other's name would hold it. */
export function isBelow(name: string, folder: string): boolean {
  return name.startsWith(`${folder}/`);
}
