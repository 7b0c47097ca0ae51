/** A program `docker` whose containers are Python of this machine: it runs what a real one would run inside, with none of the walls. */
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findProgram } from '../../support/services.ts';

/** Where Python is, or nothing. */
export const PYTHON = findProgram('python3');

/** The name of its only image. */
export const IMAGE = 'fake/python:3';

const script = (folder: string) => `#!${PYTHON}
import json, os, sys, tempfile
with open(${JSON.stringify(join(folder, 'log'))}, "a") as log:
    log.write(json.dumps(sys.argv[1:]) + "\\n")
if sys.argv[1] == "run":
    if ${JSON.stringify(IMAGE)} not in sys.argv:
        print("docker: No such image: " + sys.argv[-4], file=sys.stderr)
        sys.exit(125)
    at = sys.argv.index(${JSON.stringify(IMAGE)})
    *words, settings = sys.argv[at + 1:]
    settings = json.loads(settings)
    settings["folder"] = tempfile.mkdtemp(dir=${JSON.stringify(folder)})
    os.chdir(settings["folder"])
    os.execv(sys.executable, [sys.executable, *words, json.dumps(settings)])
`;

/** The program, what it was called with, and how to be done with it. */
export function fakeDocker() {
  const folder = mkdtempSync(join(tmpdir(), 'docker-'));
  const program = join(folder, 'docker');
  writeFileSync(program, script(folder));
  chmodSync(program, 0o755);
  const calls = (): readonly (readonly string[])[] =>
    readFileSync(join(folder, 'log'), 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
  return { program, calls, close: () => rmSync(folder, { recursive: true, force: true, maxRetries: 10 }) };
}
