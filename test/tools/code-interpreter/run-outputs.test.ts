/** What clients and models receive of a run. */
import { runOutputs } from '../../../src/tools/code-interpreter/run-outputs.ts';
import { expectLinearWork } from '../../support/linear-work.ts';

const LIMITS = { logCharacters: 1000, imageBytes: 0 };

function logsOf(stdout: string, stderr: string, result: string): unknown {
  const [output] = runOutputs({ stdout, stderr, result, error: undefined, files: [] }, false, LIMITS);
  return output && 'logs' in output ? output.logs : undefined;
}

describe('runOutputs', () => {
  it('leaves out the last line breaks of each text, and no others', () => {
    expect(logsOf('\na\n\nb\n\n', '\n', 'c\n')).toBe('\na\n\nb\nc');
  });

  it('[V-18] shows no file as an image for an ending that is a property of every object', () => {
    const files = ['a.constructor', 'b.__proto__'].map((name) => ({ name, data: Buffer.from('x') }));
    const run = { stdout: '', stderr: '', result: '', error: undefined, files };
    expect(runOutputs(run, false, { ...LIMITS, imageBytes: 1000 })).toEqual([
      { type: 'logs', logs: 'Files written: a.constructor, b.__proto__' },
    ]);
  });

  it('[V-26] cuts no character in two', () => {
    const text = logsOf(`x${'\u{1f600}'.repeat(1000)}`, '', '');
    expect(text).toMatch(/left out/);
    // It throws for half of a pair.
    expect(() => encodeURI(String(text))).not.toThrow();
  });

  it('[F-04] takes line breaks without looking at any of them again', async () => {
    await expectLinearWork(2 ** 13, (size) => {
      const breaks = '\n'.repeat(size);
      expect(logsOf(`${breaks}x`, breaks, 'y')).toMatch(/y$/);
    });
  });
});
