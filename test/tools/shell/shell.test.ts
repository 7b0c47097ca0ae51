/** The hosted shell over real HTTP, over real sandboxes: its items, its events, its containers, its limits, and its skills. */

import OpenAI from 'openai';
import { memoryFiles } from '../../../src/files.ts';
import type { RouterOptions } from '../../../src/index.ts';
import type { JsonObject } from '../../../src/protocol/record.ts';
import { createSkills, type Skills } from '../../../src/skills.ts';
import { textStream, toolCallStream } from '../../../src/testing/index.ts';
import { containers } from '../../../src/tools/code-interpreter/index.ts';
import { bubblewrapRuntime, shell } from '../../../src/tools/shell/index.ts';
import { manifest, zipOf } from '../../apis/skills/skills-app.ts';
import { type Frame, type RequestApp, startRequestApp } from '../../support/request-app.ts';
import { describeWith, findProgram } from '../../support/services.ts';

const PATIENCE = 60_000;
const AUTO = { type: 'shell', environment: { type: 'container_auto' } };
const ASKING = { input: 'Go.', tools: [AUTO] };

let app: RequestApp;
afterEach(() => app?.close());

async function start(options: Partial<Parameters<typeof shell>[0]> = {}, more: RouterOptions = {}): Promise<void> {
  const tools = shell({ runtime: bubblewrapRuntime(), ...options });
  app = await startRequestApp({ tools, scope: () => 'alice', ...more });
}

/** The model makes one call, and then says that it is done. */
function calling(args: JsonObject): void {
  const call = { id: 'call_1', name: 'shell', arguments: JSON.stringify(args) };
  app.upstream.reply({ body: toolCallStream([call]) }, { body: textStream(['Done.']) });
}

async function ran(args: JsonObject, body: JsonObject = {}) {
  calling(args);
  const { status, body: response } = await app.create({ ...ASKING, ...body });
  if (status !== 200) throw new Error(JSON.stringify(response));
  const [call, output] = response.output as readonly JsonObject[];
  // The casts: the test looks at fields by name.
  return {
    response,
    call,
    output,
    results: (output?.output ?? []) as readonly { stdout: string; stderr: string; outcome: JsonObject }[],
    container: (call?.environment as { container_id?: string })?.container_id,
  };
}

function framesOf(text: string): readonly Frame[] {
  return text
    .split('\n\n')
    .filter((frame) => frame.includes('data: {'))
    .map((frame) => {
      const data = JSON.parse(frame.slice(frame.indexOf('data: ') + 'data: '.length));
      return { event: data.type, data };
    });
}

describeWith(findProgram('bwrap'), 'bubblewrap')('the hosted shell', () => {
  const slowly = (name: string, run: () => Promise<void>) => it(name, run, PATIENCE);

  slowly('[E-02] shows commands and their results as OpenAI does', async () => {
    await start();
    const { call, output, response } = await ran({
      commands: ['echo out; echo err >&2', 'exit 3'],
      max_output_length: 500,
    });
    expect([call, output]).toEqual([
      {
        id: expect.stringMatching(/^sh_/),
        type: 'shell_call',
        status: 'completed',
        call_id: 'call_1',
        action: { commands: ['echo out; echo err >&2', 'exit 3'], timeout_ms: null, max_output_length: 500 },
        environment: { type: 'container_reference', container_id: expect.stringMatching(/^cntr_/) },
      },
      {
        id: expect.stringMatching(/^sho_/),
        type: 'shell_call_output',
        status: 'completed',
        call_id: 'call_1',
        max_output_length: 500,
        output: [
          { stdout: 'out\n', stderr: 'err\n', outcome: { type: 'exit', exit_code: 0 } },
          { stdout: '', stderr: '', outcome: { type: 'exit', exit_code: 3 } },
        ],
      },
    ]);
    expect(response.status).toBe('completed');
    const told = app.requested().messages.find(({ role }) => role === 'tool')?.content;
    expect(told).toBe('out\n\n[stderr]\nerr\n\n[exit code 0]\n\n[exit code 3]');
  });

  slowly(
    '[E-02] streams the five events of OpenAI in their order, of which a client makes the same items',
    async () => {
      await start();
      calling({ commands: ['echo a', 'echo b'] });
      const frames = framesOf(await app.streamed(ASKING));
      const events = frames.map(({ event }) => event);
      const command = ['added', 'delta', 'done'].map((end) => `response.shell_call_command.${end}`);
      const content = ['delta', 'done'].map((end) => `response.shell_call_output_content.${end}`);
      expect(events.slice(2, -7).filter((event) => event !== 'response.in_progress')).toEqual([
        'response.output_item.added',
        ...command,
        ...command,
        'response.output_item.done',
        'response.output_item.added',
        ...content,
        ...content,
        'response.output_item.done',
      ]);
      const of = (type: string) => frames.filter(({ event }) => event === type).map(({ data }) => data as JsonObject);
      expect(of('response.shell_call_command.done').map(({ command: text, command_index: at }) => [at, text])).toEqual([
        [0, 'echo a'],
        [1, 'echo b'],
      ]);
      expect(
        of('response.shell_call_output_content.done').map(({ item_id, output_index, output }) => [
          item_id,
          output_index,
          output,
        ]),
      ).toEqual([
        [expect.stringMatching(/^sho_/), 1, [{ stdout: 'a\n', stderr: '', outcome: { type: 'exit', exit_code: 0 } }]],
        [expect.stringMatching(/^sho_/), 1, [{ stdout: 'b\n', stderr: '', outcome: { type: 'exit', exit_code: 0 } }]],
      ]);
      const numbers = frames.map(({ data }) => (data as JsonObject).sequence_number);
      expect(numbers).toEqual(numbers.map((_, index) => index));
    },
  );

  slowly('[E-02] keeps files between calls and responses, by reference and by the conversation', async () => {
    await start();
    const first = await ran({ commands: ['echo kept > a.txt'] });
    const referring = {
      tools: [{ type: 'shell', environment: { type: 'container_reference', container_id: first.container } }],
    };
    expect((await ran({ commands: ['cat a.txt'] }, referring)).results[0]?.stdout).toBe('kept\n');
    const next = await ran({ commands: ['cat a.txt'] }, { previous_response_id: first.response.id });
    expect([next.results[0]?.stdout, next.container]).toEqual(['kept\n', first.container]);
    expect((await ran({ commands: ['cat a.txt'] })).results[0]?.outcome).toEqual({ type: 'exit', exit_code: 1 });
  });

  slowly('[E-02] goes on after a file of the client’s that has the name of an empty folder', async () => {
    const runtime = bubblewrapRuntime();
    const kept = containers({ runtime });
    const key = { scope: 's', id: `cntr_${'0'.repeat(32)}` };
    const never = new AbortController().signal;
    const exec = (command: string) => kept.exec(key, { command, timeoutMs: 10_000 }, [], never);
    try {
      await exec('mkdir d');
      const content = (async function* () {
        yield Buffer.from('x');
      })();
      const file = await kept.putFile(key, { name: 'd', source: 'user', content });
      await expect(exec('ls')).rejects.toThrow("'d' could not be put there");
      expect(await exec('ls')).toMatchObject({ stdout: 'd\n', exitCode: 0 });
      await kept.removeFile(key, file);
      await exec('ls').catch(() => {});
      expect(await exec('ls')).toMatchObject({ exitCode: 0 });
    } finally {
      await kept.close();
      await runtime.close?.();
    }
  });

  slowly('[E-02] takes its own items back as input', async () => {
    await start();
    const { response } = await ran({ commands: ['echo one'] });
    app.upstream.reply({ body: textStream(['Yes.']) });
    const input = [{ role: 'user', content: 'Go.' }, ...response.output, { role: 'user', content: 'And?' }];
    expect((await app.create({ input, tools: [AUTO] })).status).toBe(200);
    const { messages } = app.requested();
    expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant', 'user']);
    expect(messages[2]?.content).toBe('one\n\n[exit code 0]');
  });

  slowly('[E-02] goes on without the output of a call that the client has deleted, or the call of one', async () => {
    await start();
    const { response } = await ran({ commands: ['echo hi'] });
    for (const deleted of ['shell_call', 'shell_call_output']) {
      app.upstream.reply({ body: textStream(['Next.']) });
      const left = response.output.filter(({ type }) => type !== deleted);
      const { status } = await app.create({ ...ASKING, input: [...left, { role: 'user', content: 'Go on.' }] });
      expect([status, app.requested().messages.map(({ role }) => role)]).toEqual([200, ['assistant', 'user']]);
    }
  });

  slowly('[E-02] finds no container of another tenant, and none that nobody has made', async () => {
    let scope = 'alice';
    await start({}, { scope: () => scope });
    const { container } = await ran({ commands: ['echo secret > a.txt'] });
    scope = 'bob';
    for (const id of [container, 'cntr_none', '../x', '']) {
      const tools = [{ type: 'shell', environment: { type: 'container_reference', container_id: id } }];
      const { status, body } = await app.create({ input: 'Go.', tools });
      expect([status, (body.error as JsonObject).code]).toEqual([400, 'container_not_found']);
    }
    // A tenant that claims it in a conversation gets an empty one of this name.
    calling({ commands: ['ls'] });
    const item = {
      type: 'shell_call',
      call_id: 'c',
      action: { commands: ['ls'] },
      environment: { type: 'container_reference', container_id: container },
    };
    const answer = {
      type: 'shell_call_output',
      call_id: 'c',
      output: [{ stdout: '', stderr: '', outcome: { type: 'exit', exit_code: 0 } }],
    };
    const { body } = await app.create({ ...ASKING, input: [{ role: 'user', content: 'Go.' }, item, answer] });
    expect((body.output[1] as JsonObject).output).toEqual([
      { stdout: '', stderr: '', outcome: { type: 'exit', exit_code: 0 } },
    ]);
  });

  slowly('[E-02] runs a command that it shows, also where it is no list, and counts in whole numbers', async () => {
    await start();
    for (const args of [{ commands: 'echo hi' }, { command: 'echo hi', timeout_ms: 1500.5 }]) {
      const { call, results } = await ran(args);
      const { commands, timeout_ms } = Object(call?.action) as JsonObject;
      expect(commands).toEqual(['echo hi']);
      expect(results).toEqual([{ stdout: 'hi\n', stderr: '', outcome: { type: 'exit', exit_code: 0 } }]);
      expect([1501, null]).toContain(timeout_ms);
    }
    const { results } = await ran({ commands: ['echo hi', 7] });
    expect(results).toEqual([expect.objectContaining({ stdout: '', outcome: { type: 'exit', exit_code: 1 } })]);
  });

  slowly('[E-02] cuts no character in two', async () => {
    await start({ limits: { outputCharacters: 1001 } });
    const { results } = await ran({ commands: [`printf x; for i in $(seq 1000); do printf '\u{1f600}'; done`] });
    expect(results[0]?.stdout.length).toBeGreaterThan(900);
    // It throws for half of a pair.
    expect(() => encodeURI(String(results[0]?.stdout))).not.toThrow();
  });

  slowly('[E-02] ends commands whose time is over, says so, and runs no later one', async () => {
    await start();
    const { results } = await ran({ commands: ['echo before; sleep 600', 'echo never'], timeout_ms: 300 });
    expect(results).toEqual([{ stdout: 'before\n', stderr: '', outcome: { type: 'timeout' } }]);
  });

  slowly('[E-02] bounds endless output, by the model’s wish and by its own limit', async () => {
    await start({ limits: { outputCharacters: 1000 } });
    const { results } = await ran({ commands: ['yes', 'echo x'], timeout_ms: 500, max_output_length: 50 });
    expect(results.map(({ stdout, outcome }) => [stdout.length <= 50, outcome.type])).toEqual([[true, 'timeout']]);
    const long = await ran({ commands: ['seq 100000', 'seq 100000 >&2', 'seq 100000'] });
    expect(long.results.map(({ stdout, stderr }) => stdout.length + stderr.length > 100)).toEqual([true, true, true]);
    expect(
      long.results.reduce((sum, { stdout, stderr }) => sum + stdout.length + stderr.length, 0),
    ).toBeLessThanOrEqual(1000);
  });

  slowly('[E-02] refuses what a model writes that is no call, and goes on', async () => {
    await start({ limits: { commands: 2 } });
    for (const args of [{}, { commands: [] }, { command: ['ls'] }, { commands: [1] }, { commands: ['a', 'b', 'c'] }]) {
      const { results, response } = await ran(args as JsonObject);
      expect([response.status, results.length, results[0]?.outcome]).toEqual([
        'completed',
        1,
        { type: 'exit', exit_code: 1 },
      ]);
      expect(results[0]?.stderr).not.toBe('');
    }
  });

  slowly('[E-02] leaves a shell of the client’s own to the client', async () => {
    await start();
    for (const environment of [undefined, null, { type: 'local' }]) {
      app.upstream.reply({ body: toolCallStream([{ id: 'call_1', name: 'shell', arguments: '{"commands":["ls"]}' }]) });
      const { body } = await app.create({ input: 'Go.', tools: [{ type: 'shell', environment }] });
      expect(body.output).toMatchObject([{ type: 'shell_call', environment: { type: 'local' } }]);
    }
  });

  slowly(
    '[E-02] refuses environments that it does not know, and networks and secrets that it does not give',
    async () => {
      await start();
      const refusal = async (environment: JsonObject) => {
        const { status, body } = await app.create({ input: 'Go.', tools: [{ type: 'shell', environment }] });
        const { code, param } = body.error as JsonObject;
        return [status, code, param];
      };
      expect(await refusal({ type: 'elsewhere' })).toEqual([400, 'invalid_value', 'tools[0].environment.type']);
      expect(await refusal({ type: 'container_reference' })).toEqual([
        400,
        'missing_required_parameter',
        'tools[0].environment.container_id',
      ]);
      const network_policy = { type: 'allowlist', allowed_domains: ['example.com'] };
      expect(await refusal({ type: 'container_auto', network_policy })).toEqual([
        400,
        'unsupported_parameter',
        'tools[0].environment.network_policy',
      ]);
      const skills = [{ type: 'skill_reference', skill_id: 'skill_1' }];
      expect(await refusal({ type: 'container_auto', skills })).toEqual([
        400,
        'unsupported_parameter',
        'tools[0].environment.skills',
      ]);
    },
  );

  slowly('[E-02] runs no command under tool_choice none, and one under its own choice', async () => {
    await start();
    calling({ commands: ['echo ran > a'] });
    const { body } = await app.create({ ...ASKING, tool_choice: 'none' });
    expect(body.output.map(({ type }) => type)).not.toContain('shell_call_output');
    expect((await ran({ commands: ['echo x'] }, { tool_choice: { type: 'shell' } })).results[0]?.stdout).toBe('x\n');
  });

  slowly('[E-02] puts the files of a conversation, and uploaded ones, into the working directory', async () => {
    const files = memoryFiles();
    const id = `file-${'a'.repeat(32)}`;
    async function* content() {
      yield Buffer.from('uploaded\n');
    }
    await files.put({
      scope: 'alice',
      id,
      createdAt: 1,
      content: content(),
      details: () => ({ filename: 'up.txt', purpose: 'user_data' }),
    });
    await start({}, { files });
    const file_data = `data:text/plain;base64,${Buffer.from('sent\n').toString('base64')}`;
    const input = [{ role: 'user', content: [{ type: 'input_file', filename: 'sent.txt', file_data }] }];
    const tools = [{ type: 'shell', environment: { type: 'container_auto', file_ids: [id] } }];
    const { results } = await ran({ commands: ['cat sent.txt up.txt'] }, { input, tools });
    expect(results[0]?.stdout).toBe('sent\nuploaded\n');
    expect(JSON.stringify(app.requested().messages)).toContain("'up.txt' is in the working directory of the shell");
  });

  describe('with skills', () => {
    const SUM = 'import sys\nprint(sum(map(int, sys.argv[1:])))\n';
    let skills: Skills;

    /** A skill of a tenant, stored as the API does. */
    async function stored(scope: string, description: string): Promise<string> {
      const { default: express } = await import('express');
      const { skillsRouter } = await import('../../../src/skills.ts');
      const { listening } = await import('../../support/listening.ts');
      const server = await listening(express().use('/v1', skillsRouter({ skills, scope: () => scope, logger: false })));
      const client = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: 'key', maxRetries: 0 });
      const zip = await zipOf({ 'sums/SKILL.md': manifest('Sums & more', description), 'sums/scripts/sum.py': SUM });
      const { id } = await client.skills.create({ files: await OpenAI.toFile(zip, 'sums.zip') });
      await server.close();
      return id;
    }

    beforeEach(() => {
      skills = createSkills({ files: memoryFiles() });
    });

    slowly('[E-03] mounts a skill that the request names, tells the model of it, and runs its script', async () => {
      await start({ skills });
      const skill_id = await stored('alice', 'Adds numbers.');
      const inline = await zipOf({ 'SKILL.md': manifest('inline', 'Says hello.'), 'hello.sh': 'echo hello\n' });
      const source = { type: 'base64', media_type: 'application/zip', data: inline.toString('base64') };
      const mounted = [
        { type: 'skill_reference', skill_id },
        { type: 'inline', name: 'inline', description: 'Says hello.', source },
      ];
      const tools = [{ type: 'shell', environment: { type: 'container_auto', skills: mounted } }];
      const commands = ['python3 skills/sums---more/scripts/sum.py 1 2 3', 'sh /mnt/data/skills/inline/hello.sh'];
      const { results } = await ran({ commands }, { tools });
      expect(results.map(({ stdout, stderr }) => stdout + stderr)).toEqual(['6\n', 'hello\n']);
      const offered = JSON.stringify(app.requested().tools);
      expect(offered).toContain('- Sums & more: Adds numbers. (in /mnt/data/skills/sums---more)');
      expect(offered).toContain('- inline: Says hello. (in /mnt/data/skills/inline)');
    });

    slowly(
      '[E-03] mounts the version that each request of a conversation names, unless code has changed it',
      async () => {
        await start({ skills, max: 1 });
        let previous: JsonObject = {};
        const said = async (version: string, command: string) => {
          const zip = await zipOf({ 'SKILL.md': manifest('sums', 'Adds.'), 'say.sh': `echo ${version}\n` });
          const source = { type: 'base64', media_type: 'application/zip', data: zip.toString('base64') };
          const inline = { type: 'inline', name: 'sums', description: 'Adds.', source };
          const tools = [{ type: 'shell', environment: { type: 'container_auto', skills: [inline] } }];
          const { results, response } = await ran({ commands: [command] }, { tools, ...previous });
          previous = { previous_response_id: response.id };
          return results[0]?.stdout;
        };
        const say = 'sh skills/sums/say.sh';
        expect([await said('one', say), await said('two', say), await said('two', say)]).toEqual([
          'one\n',
          'two\n',
          'two\n',
        ]);
        // Another container takes the place of its process.
        await ran({ commands: ['true'] });
        expect(await said('three', say)).toBe('three\n');
        await said('three', 'echo echo mine > skills/sums/say.sh');
        expect(await said('four', say)).toBe('mine\n');
      },
    );

    slowly('[E-03] mounts a skill into a container that a client makes, and none of another tenant', async () => {
      const { default: express } = await import('express');
      const { containersRouter } = await import('../../../src/containers.ts');
      const { listening } = await import('../../support/listening.ts');
      const runtime = bubblewrapRuntime();
      const pool = containers({ runtime });
      await start({ runtime: undefined, containers: pool });
      const options = { containers: pool, skills, scope: () => 'alice', logger: false as const };
      const server = await listening(express().use('/v1', containersRouter(options)));
      const client = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: 'key', maxRetries: 0 });
      const [own, theirs] = [await stored('alice', 'Adds numbers.'), await stored('bob', 'Secret.')];
      const named = (skill_id: string) => ({ name: 'c', skills: [{ type: 'skill_reference' as const, skill_id }] });
      await expect(client.containers.create(named(theirs))).rejects.toMatchObject({ code: 'skill_not_found' });
      const { id } = await client.containers.create(named(own));
      const tools = [{ type: 'shell', environment: { type: 'container_reference', container_id: id } }];
      const { results } = await ran({ commands: ['python3 skills/*/scripts/sum.py 4 5'] }, { tools });
      expect(results[0]?.stdout).toBe('9\n');
      await server.close();
      await pool.close();
      await runtime.close();
    });

    slowly(
      '[E-03] refuses a skill of another tenant, an unknown version, and what is no skill, before the model is asked',
      async () => {
        await start({ skills });
        const theirs = await stored('bob', 'Secret.');
        const own = await stored('alice', 'Own.');
        const refusal = async (skill: unknown) => {
          const tools = [{ type: 'shell', environment: { type: 'container_auto', skills: [skill] } }];
          const { body } = await app.create({ input: 'Go.', tools });
          return (body.error as JsonObject).code;
        };
        expect(await refusal({ type: 'skill_reference', skill_id: theirs })).toBe('skill_not_found');
        expect(await refusal({ type: 'skill_reference', skill_id: own, version: '9' })).toBe('skill_not_found');
        expect(await refusal({ type: 'inline', source: { type: 'base64', data: 'UEs=' } })).toBe('invalid_skill');
        expect(await refusal({ type: 'other' })).toBe('invalid_value');
        expect(app.upstream.requests).toEqual([]);
      },
    );
  });

  slowly('[E-02] shares its containers with whoever is given them', async () => {
    const runtime = bubblewrapRuntime();
    const pool = containers({ runtime });
    await start({ runtime: undefined, containers: pool });
    const { container } = await ran({ commands: ['mkdir d && echo made > d/a.txt'] });
    const key = { scope: 'alice', id: String(container) };
    expect((await pool.files(key)).map(({ name, source }) => [name, source])).toEqual([['d/a.txt', 'assistant']]);
    await pool.close();
    await runtime.close();
  });
});

it('[E-02] is refused at its creation where its runtime runs no commands', () => {
  // The cast: no container is made.
  const runtime = { name: 'plain', create: async () => ({}) as never, close: async () => {} };
  expect(() => shell({ runtime })).toThrow(/runtime must run commands, and 'plain' runs none; use bubblewrapRuntime/);
  expect(() => shell({ limits: { commands: 0 } })).toThrow(/shell: limits: commands must be a positive whole number/);
});
