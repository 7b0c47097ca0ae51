/** Uploads: forms of changed bytes. */
import fc from 'fast-check';
import { BOUNDARY, filePart, formOf, PURPOSE } from '../../apis/files/files-app.ts';
import { law } from '../../support/law.ts';
import { expectObject, expectRefusal } from '../answers.ts';
import { type ByteText, editedBytes } from '../byte-edits.ts';
import { bytesOf } from '../client.ts';
import type { Target } from '../target.ts';

const FORMS: readonly ByteText[] = [
  formOf([PURPOSE, filePart('Hello.')]),
  formOf([filePart('Hello.', 'ä;"\\.txt'), PURPOSE]),
  formOf([
    PURPOSE,
    { name: 'expires_after[anchor]', value: 'created_at' },
    { name: 'expires_after[seconds]', value: '3600' },
    filePart('a'),
  ]),
  formOf([PURPOSE, filePart('x'.repeat(5000))]),
  formOf([]),
].map((form) => form.toString('latin1'));

const forms: Target<{ readonly type: string; readonly body: ByteText }> = {
  name: 'forms with files',
  weight: 6,
  inputs: fc.record({
    type: fc.oneof(
      { weight: 8, arbitrary: fc.constant(`multipart/form-data; boundary=${BOUNDARY}`) },
      {
        weight: 1,
        arbitrary: fc.constantFrom(
          'multipart/form-data',
          'multipart/form-data; boundary=',
          'multipart/mixed; boundary=x',
        ),
      },
      { weight: 1, arbitrary: fc.stringMatching(/^multipart\/form-data; ?[ -~]{0,30}$/) },
    ),
    body: editedBytes(FORMS),
  }),
  async run({ type, body }, world) {
    const got = await world.send({ path: '/v1/files', headers: { 'content-type': type }, body: bytesOf(body) });
    law(!got.isCut, 'an answer ends in good order', got);
    if (got.status >= 400) return expectRefusal('responses', got);
    const file = JSON.parse(got.text);
    expectObject(file);
    const gone = await world.send({ method: 'DELETE', path: `/v1/files/${file.id}` });
    law(gone.status === 200, 'a file that was taken can be deleted', gone);
  },
};

/** Files. */
export const files = [forms] as const;
