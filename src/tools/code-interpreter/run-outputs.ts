/** Converts a run's result to the outputs that clients and models receive. */

import type { UsedContainer } from '../../ports/containers/containers.ts';
import type { CodeRun } from '../../ports/hosted-tools/code-runtime.ts';
import type { CodeOutput } from '../../protocol/items.ts';
import { toWellFormed } from '../../protocol/printable.ts';

/** How much of a run is returned. */
export interface OutputLimits {
  /** Characters of text. */
  readonly logCharacters: number;
  /** Bytes of all images together. */
  readonly imageBytes: number;
}

/** Returned if a container's earlier state is gone. */
const NEW_CONTAINER = '(The container is new: earlier variables and files are gone.)';
const FILES_THERE = '(The container is new: earlier variables are gone; its files are there again.)';

/** A run, and what is kept of its container. */
type KeptRun = CodeRun & Partial<Pick<UsedContainer, 'restored' | 'unkept'>>;

/** The text, the images that fit, and the names of all files; nothing if the run has no output. */
export function runOutputs(run: KeptRun, isStateLost: boolean, limits: OutputLimits): readonly CodeOutput[] {
  const { stdout, stderr, result, error, files, restored = 0, unkept = [] } = run;
  const texts = [stdout, stderr, error ?? result ?? ''].map((text) => {
    // Not with `/\n+$/`, which searches again from each of many line breaks that are not the last.
    let end = text.length;
    while (text[end - 1] === '\n') end -= 1;
    return text.slice(0, end);
  });
  const text = texts.filter((part) => part !== '').join('\n');
  let bytesLeft = limits.imageBytes;
  const images = files.flatMap(({ name, data }): readonly CodeOutput[] => {
    const type = IMAGE_TYPES.get(/\.(\w+)$/.exec(name.toLowerCase())?.[1] ?? '');
    if (!type || data.length > bytesLeft) return [];
    bytesLeft -= data.length;
    return [{ type: 'image', url: `data:${type};base64,${Buffer.from(data).toString('base64')}` }];
  });
  const names = files.map(({ name }) => name).join(', ');
  return [
    ...logOutput(isStateLost ? (restored > 0 ? FILES_THERE : NEW_CONTAINER) : ''),
    ...logOutput(cutMiddle(text, limits.logCharacters)),
    ...images,
    ...logOutput(names === '' ? '' : `Files written: ${names}`),
    ...logOutput(
      unkept.length === 0 ? '' : `Not kept for want of room, so nobody can fetch them: ${unkept.join(', ')}`,
    ),
  ];
}

function logOutput(text: string): readonly CodeOutput[] {
  return text === '' ? [] : [{ type: 'logs', logs: text }];
}

/** Its beginning and its end, because an error comes last. */
function cutMiddle(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const half = Math.floor(limit / 2);
  const left = text.length - 2 * half;
  return toWellFormed(`${text.slice(0, half)}\n… (${left} characters left out) …\n${text.slice(text.length - half)}`);
}

const IMAGE_TYPES: ReadonlyMap<string, string> = new Map([
  ['png', 'image/png'],
  ['jpg', 'image/jpeg'],
  ['jpeg', 'image/jpeg'],
  ['gif', 'image/gif'],
  ['webp', 'image/webp'],
  ['svg', 'image/svg+xml'],
]);
