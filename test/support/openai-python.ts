/** The package `openai` of PyPI in an environment of its own under build/, made when a test first needs it. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { findProgram } from './services.ts';
import { itWhere } from './skipping.ts';

const VERSION = '3.54.0';
const INSTALLS_WITHIN_MS = 180_000;

const execute = promisify(execFile);
const folder = join(import.meta.dirname, `../../build/openai-python-${VERSION}`);

/** The interpreter that can import `openai`. */
export const openaiPython = join(folder, 'bin/python');

/** Why there is none, if so. */
const missing = await whyMissing();
if (missing && process.env.CI === 'true') throw new Error(`CI needs openai-python: ${missing}`);

/** `it` where there is openai-python; otherwise a skip whose name says why not. */
export const itOpenaiPython = itWhere(missing === undefined, missing ?? '');

async function whyMissing(): Promise<string | undefined> {
  // Written last: without it the environment is not whole.
  const whole = join(folder, 'lib-is-whole');
  if (existsSync(whole)) return undefined;
  const python = findProgram('python3');
  if (!python) return 'there is no python3 on this machine';
  try {
    await install(python, whole);
    return undefined;
  } catch (error) {
    // The text may hold parentheses, at which the list of skipped tests ends the reason.
    const [line = ''] = String(error).split('\n').filter(Boolean).slice(-1);
    return `openai-python cannot be installed: ${line.replaceAll(/[()]/g, '')}`;
  }
}

async function install(python: string, whole: string): Promise<void> {
  const options = { timeout: INSTALLS_WITHIN_MS };
  await rm(folder, { recursive: true, force: true });
  await execute(python, ['-m', 'venv', folder], options);
  const flags = ['--quiet', '--disable-pip-version-check', '--no-input', '--retries', '1'];
  await execute(openaiPython, ['-m', 'pip', 'install', ...flags, `openai==${VERSION}`], options);
  await execute(openaiPython, ['-c', `import openai; open(${JSON.stringify(whole)}, 'w').close()`], options);
}
