/** A Python script that runs one scene after the other, so that a test file pays for one interpreter and its imports. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { JsonObject } from '../../src/protocol/record.ts';
import { endWithParent } from '../support/services.ts';

/** A running script. */
export interface PythonClient {
  /** Runs a scene, one at a time. Rejects with what the script says of an exception. */
  run(scene: JsonObject): Promise<JsonObject>;
  close(): Promise<void>;
}

/** Starts a script of this folder, which reads a scene a line and prints what came of it. */
export function startPythonClient(python: string, script: string): PythonClient {
  const child = spawn(python, [join(import.meta.dirname, script)], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { PATH: process.env.PATH, OPENAI_AGENTS_DISABLE_TRACING: '1', PYTHONDONTWRITEBYTECODE: '1' },
  });
  endWithParent(child);
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    async run(scene) {
      child.stdin.write(`${JSON.stringify(scene)}\n`);
      const { value, done } = await lines.next();
      if (done) throw new Error('The script has ended.');
      const { error, ...rest } = JSON.parse(value);
      if (error !== undefined) throw new Error(error);
      return rest;
    },
    async close() {
      const closed = once(child, 'close');
      child.stdin.end();
      await closed;
    },
  };
}
