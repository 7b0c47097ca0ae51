/** The host's prompts: an object, a folder that is read once, or a function. */
import { readdirSync, readFileSync } from 'node:fs';
import { join, parse } from 'node:path';
import { inspect } from 'node:util';
import { fromHost } from '../../ports/host/host-error.ts';
import type { Prompt, PromptsOf } from '../../ports/prompts.ts';
import { isRecord } from '../../protocol/record.ts';

/**
 * Prompts by their id, or by id and version as `id@version`; the path of a folder with a file for each, `id.json` or `id@version.json` of a
 * prompt, or `.md` of its instructions; or a function.
 */
export type Prompts<Req = unknown> = Readonly<Record<string, Prompt>> | string | PromptsOf<Req>;

/** Throws a `TypeError` that names the prompt at fault. */
export function promptSource(owner: string, prompts: Prompts<never> | undefined): PromptsOf | undefined {
  if (prompts === undefined) return undefined;
  // The cast: the request is the host's own, as its function expects it.
  if (typeof prompts === 'function') return (query, request) => fromHost(() => prompts(query, request as never));
  const byName = new Map<string, Prompt>(
    typeof prompts === 'string' ? filesIn(owner, prompts) : Object.entries(prompts),
  );
  for (const [name, prompt] of byName) checkPrompt(owner, name, prompt);
  const newest = newestVersions([...byName.keys()]);
  return ({ id, version }) => {
    if (version === undefined) return byName.get(newest.get(id) ?? '');
    const exact = byName.get(`${id}@${version}`);
    if (exact) return exact;
    const unversioned = byName.get(id);
    return unversioned?.version === version ? unversioned : undefined;
  };
}

/** The name of the newest version by the id: the one without a version, or the highest, by its numbers. */
function newestVersions(names: readonly string[]): ReadonlyMap<string, string> {
  const order = new Intl.Collator('en', { numeric: true });
  const newest = new Map<string, string>();
  for (const name of names.toSorted(order.compare)) {
    const id = name.slice(0, name.includes('@') ? name.lastIndexOf('@') : name.length);
    if (newest.get(id) !== id) newest.set(id, name);
  }
  return newest;
}

function filesIn(owner: string, folder: string): readonly (readonly [string, Prompt])[] {
  let names: readonly string[];
  try {
    names = readdirSync(folder);
  } catch (cause) {
    throw new TypeError(`${owner}: prompts: the folder ${inspect(folder)} cannot be read`, { cause });
  }
  const files = names.filter((name) => ['.json', '.md'].includes(parse(name).ext));
  return files.map((file) => {
    const text = readFileSync(join(folder, file), 'utf8');
    const { name, ext } = parse(file);
    if (ext === '.md') return [name, { instructions: text.trim() }] as const;
    try {
      return [name, JSON.parse(text)] as const;
    } catch (cause) {
      throw new TypeError(`${owner}: prompts: ${file} is no JSON`, { cause });
    }
  });
}

const FIELDS: ReadonlySet<string> = new Set(['version', 'instructions', 'input', 'settings']);

function checkPrompt(owner: string, name: string, prompt: unknown): void {
  const wrong = (what: string) =>
    new TypeError(`${owner}: prompts: '${name}' ${what}, got ${inspect(prompt, { depth: 1 })}`);
  if (!isRecord(prompt)) throw wrong('must be an object');
  const unknown = Object.keys(prompt).find((field) => !FIELDS.has(field));
  if (unknown !== undefined) throw wrong(`has the unknown field '${unknown}'`);
  const { version, instructions, input, settings } = prompt;
  for (const text of [version, instructions])
    if (text !== undefined && typeof text !== 'string') throw wrong('must have texts for version and instructions');
  if (input !== undefined && !(Array.isArray(input) && input.every(isRecord)))
    throw wrong('must have a list of messages');
  if (settings !== undefined && !isRecord(settings)) throw wrong('must have an object of settings');
}
