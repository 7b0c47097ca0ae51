/** A host of one container with a small heap, which runs Python given as JSON and prints the result; run by `sandbox-doors.test.ts`, over the build. */
import { pyodideRuntime } from '../../dist/esm/tools/code-interpreter/index.js';

const runtime = pyodideRuntime({ warm: 0, isolation: 'process-only', logger: false });
const container = await runtime.create(new AbortController().signal);
const written = [];
for (const code of JSON.parse(process.argv[2])) {
  try {
    const { result, error } = await container.run(code, new AbortController().signal);
    written.push(error?.trim().split('\n').at(-1) ?? result);
  } catch (error) {
    written.push(`lost: ${error.reason}`);
  }
}
await runtime.close();
process.stdout.write(JSON.stringify(written));
