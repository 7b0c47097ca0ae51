/** Skills as tools: folders with instructions that the model reads when a task needs them, and with scripts that it may run. */

import { readdir } from 'node:fs/promises';
import { isAbsolute, join } from 'node:path';
import { checkOptions, milliseconds, positiveInteger } from '../../ports/host/options-check.ts';
import type { CodeRuntime } from '../../ports/hosted-tools/code-runtime.ts';
import { frontMatter } from '../../ports/skills/front-matter.ts';
import type { ProvidedTool, ToolProvider } from '../../ports/tool-provider.ts';
import { isRecord } from '../../protocol/record.ts';
import { runScript } from './run-script.ts';
import { namesBelow, SkillFault, textBelow } from './skill-files.ts';

/** Where the skills are; `undefined` means omitted. */
export interface SkillsOptions {
  /** The absolute path of a folder, each of whose folders with a file `SKILL.md` is a skill. */
  readonly folder: string;
  /** The `server_label` that clients see. Default: `skills`. */
  readonly server?: string | undefined;
  /** The largest file that the model receives, in bytes. Default: 262,144. */
  readonly maxBytes?: number | undefined;
  /**
   * Where scripts of the skills run, such as `pyodideRuntime()`, each in a container of its own. The host closes it.
   * Default: scripts are not run.
   */
  readonly runtime?: CodeRuntime | undefined;
  /** How long a list of the skills is used before it is read again, in milliseconds. Default: 10,000. */
  readonly refreshMs?: number | undefined;
}

const MAIN = 'SKILL.md';
const PREFIX = 'skill__';
/** Short enough that the tool's name, with its prefix, is accepted by every model server. */
const NAME = /^[a-zA-Z0-9][a-zA-Z0-9_-]{0,56}$/;
const MAX_SKILLS = 128;
const MAX_DESCRIPTION_LENGTH = 1024;

const FILE = {
  file: { type: 'string', description: `A file of the skill, such as one that ${MAIN} names. Default: ${MAIN}.` },
};
const RUN = {
  run: {
    type: 'string',
    description: 'A Python file of the skill that is run instead of read; returns what it prints.',
  },
  args: { type: 'array', items: { type: 'string' }, description: 'The arguments of that file.' },
};
const MAX_ARGS = 64;

/**
 * A provider with a tool `skill__<folder>` for each skill: it returns the skill's instructions, and its other files by
 * name. It reads texts below each skill's own folder and nothing else. With a `runtime` the model may run Python files
 * of a skill there, and nowhere else. Throws a `TypeError` for a bad option.
 *
 * @example
 * ```ts
 * import { responsesRouter } from 'express-open-responses';
 * import { skills } from 'express-open-responses/skills';
 *
 * responsesRouter({ tools: skills({ folder: '/srv/skills' }) });
 * ```
 */
export function skills(options: SkillsOptions): ToolProvider {
  checkOptions('skills', options, {
    folder: (value) => (typeof value === 'string' && isAbsolute(value)) || 'an absolute path',
    server: (value) => (typeof value === 'string' && value !== '') || 'text',
    maxBytes: positiveInteger,
    refreshMs: milliseconds,
    runtime: (value) => (isRecord(value) && typeof value.create === 'function') || 'a runtime for code',
  });
  const { folder: root, server = 'skills', maxBytes = 262_144, refreshMs = 10_000, runtime } = options;
  if (root === undefined) throw new TypeError('skills: folder is required, got undefined');
  let cache: Promise<readonly ProvidedTool[]> | undefined;
  let readAt = 0;
  return {
    name: server,
    list() {
      if (cache && Date.now() - readAt < refreshMs) return cache;
      readAt = Date.now();
      cache = readSkills(root, { server, maxBytes, runs: runtime !== undefined });
      // The next request tries again.
      cache.catch(() => {
        cache = undefined;
      });
      return cache;
    },
    async call({ name, arguments: { file = MAIN, run: script, args } }, signal) {
      const skill = name.startsWith(PREFIX) ? name.slice(PREFIX.length) : '';
      if (!NAME.test(skill)) throw new SkillFault('There is no such skill.');
      const folder = join(root, skill);
      if (typeof script === 'string' && runtime) {
        if (args !== undefined && !(Array.isArray(args) && args.length <= MAX_ARGS))
          throw new SkillFault(`args must be a list of at most ${MAX_ARGS} texts.`);
        const run = { folder, script, args: (args ?? []).map(String), maxBytes };
        return { content: await runScript(runtime, run, signal) };
      }
      const text = await textBelow(folder, String(file), maxBytes);
      if (file !== MAIN) return { content: text };
      const others = (await namesBelow(folder)).filter((each) => each !== MAIN);
      const list = `Other files of the skill: ${others.join(', ')}`;
      return { content: `${text}\n\n${others.length === 0 ? '(The skill has no other files.)' : list}` };
    },
  };
}

interface Listing {
  readonly server: string;
  readonly maxBytes: number;
  /** Whether scripts may be run. */
  readonly runs: boolean;
}

async function readSkills(root: string, { server, maxBytes, runs }: Listing): Promise<readonly ProvidedTool[]> {
  const entries = await readdir(root, { withFileTypes: true });
  const folders = entries.filter((entry) => entry.isDirectory() && NAME.test(entry.name)).map(({ name }) => name);
  const tools: ProvidedTool[] = [];
  for (const folder of folders.toSorted()) {
    if (tools.length >= MAX_SKILLS) break;
    const text = await textBelow(join(root, folder), MAIN, maxBytes).catch(() => undefined);
    if (text === undefined) continue;
    const about = frontMatter(text)?.get('description')?.slice(0, MAX_DESCRIPTION_LENGTH) || `The skill ${folder}.`;
    tools.push({
      server,
      name: PREFIX + folder,
      description: `${about} Call this before such a task: it returns the instructions for it.`,
      parameters: { type: 'object', properties: runs ? { ...FILE, ...RUN } : FILE, additionalProperties: false },
      annotations: { readOnlyHint: true },
    });
  }
  return tools;
}
