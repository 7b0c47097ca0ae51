/** Runs a tool with arguments that the reader types. */
import { useState } from 'preact/hooks';
import { formatMs, parseObject, pretty } from './parts/format.tsx';
import { Box } from './parts/parts.tsx';

interface Props {
  readonly server: string;
  readonly name: string;
  readonly schema: string;
}

interface Outcome {
  readonly status: string;
  readonly isError: boolean;
  readonly text: string;
  readonly cut: number;
}

export function TryTool({ server, name, schema }: Props) {
  const [args, setArgs] = useState(() => JSON.stringify(exampleObject(parseObject(schema) ?? {}), null, 2));
  const [outcome, setOutcome] = useState<Outcome>();
  const [isRunning, setRunning] = useState(false);
  const fields = parseObject(args);
  const status = isRunning ? 'Running …' : (outcome?.status ?? 'It runs on the server, as it does for a model.');
  const submit = async (event: Event) => {
    event.preventDefault();
    if (!fields || isRunning) return;
    setRunning(true);
    setOutcome(await postToolRun({ server, name, arguments: fields }));
    setRunning(false);
  };
  return (
    <form class="try" onSubmit={submit}>
      <h3>Try it</h3>
      <label>
        <span class="hidden">Arguments of {name}</span>
        <textarea
          rows={Math.min(args.split('\n').length + 1, 14)}
          spellcheck={false}
          value={args}
          aria-invalid={!fields}
          onInput={({ currentTarget }) => setArgs(currentTarget.value)}
        />
      </label>
      <div class="bar">
        <button type="submit" class="primary" disabled={!fields || isRunning}>
          Run
        </button>
        <span role="status" class={outcome?.isError ? 'error' : 'faint'}>
          {fields === undefined ? 'This is not JSON.' : status}
        </span>
      </div>
      {outcome && !isRunning && <Box of={pretty(outcome.text)} cut={outcome.cut} label={`Result of ${name}`} />}
    </form>
  );
}

async function postToolRun(call: object): Promise<Outcome> {
  try {
    const headers = { 'content-type': 'application/json' };
    const response = await fetch('api/tools/run', { method: 'POST', headers, body: JSON.stringify(call) });
    const { error, text, isError, durationMs, cut } = await response.json();
    if (error) return { status: 'It was not run.', isError: true, text: String(error), cut: 0 };
    return { status: `${isError ? 'Failed' : 'Done'} after ${formatMs(durationMs)}`, isError, text, cut };
  } catch {
    return { status: 'The server cannot be reached.', isError: true, text: '', cut: 0 };
  }
}

type Schema = Readonly<Record<string, unknown>>;

const EXAMPLES: Readonly<Record<string, unknown>> = { string: '', integer: 0, number: 0, boolean: false, array: [] };

/** An object with the members that the schema requires. */
function exampleObject({ properties, required }: Schema): object {
  const names = Array.isArray(required) ? required.map(String) : [];
  const known = (properties ?? {}) as Readonly<Record<string, Schema>>;
  return Object.fromEntries(names.map((name) => [name, exampleValue(known[name] ?? {})]));
}

function exampleValue(schema: Schema): unknown {
  if ('default' in schema) return schema.default;
  if (Array.isArray(schema.enum)) return schema.enum[0];
  return schema.type === 'object' ? exampleObject(schema) : (EXAMPLES[String(schema.type)] ?? '');
}
