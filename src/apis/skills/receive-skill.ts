/** Receives the form in which a client uploads a skill. */
import type { EndpointRequest } from '../../engine/request/endpoint-request.ts';
import { allBytes } from '../../ports/files/content.ts';
import { skillIn } from '../../ports/skills/bundle.ts';
import type { Skill, SkillFile } from '../../ports/skills/skill-source.ts';
import { fileTooLarge, formType, maxFormBytes } from '../endpoint/forms/multipart.ts';
import { type IncomingFile, NO_BYTES, receiveFiles } from '../endpoint/forms/upload-form.ts';
import type { SkillsSettings } from './settings.ts';

/** A skill that has arrived, and the fields beside it. */
interface SkillForm {
  readonly skill: Skill;
  readonly fields: ReadonlyMap<string, string>;
}

/** The part of the form that holds the files. */
export const SKILL_PARAM = 'files';

/** Reads the form, whole: a zip, or the files of one folder. Throws an `ApiError` for one that is no skill, or too much. */
export async function receiveSkill(request: EndpointRequest, settings: SkillsSettings): Promise<SkillForm> {
  const { formParser, bundles, records, slots, skillLimits: limits } = settings;
  const type = formType(request.headers);
  if (Number(request.headers.get('content-length')) > maxFormBytes(limits.forms))
    throw fileTooLarge(limits.forms, SKILL_PARAM);
  const slot = slots.begin(request);
  try {
    const stored = await records.usage(request.scope);
    slot.count(0, stored);
    let fields: ReadonlyMap<string, string> = new Map();
    const read = async (file: IncomingFile): Promise<SkillFile & { readonly type: string }> => {
      fields = file.fields;
      const data = await allBytes(file.content, Number.POSITIVE_INFINITY, (bytes) => slot.count(bytes, stored));
      return { path: file.filename, type: file.contentType, data };
    };
    const place = { part: SKILL_PARAM, signal: slot.signal } as const;
    const sent = await receiveFiles(request.bytes ?? NO_BYTES, formParser(type), limits.forms, read, place);
    const [first] = sent;
    // One file that does not begin as zips do is refused as a skill without its `SKILL.md`, or is one.
    const isZip = sent.length === 1 && first !== undefined && first.data[0] === 0x50 && first.data[1] === 0x4b;
    const files = isZip ? await bundles.unpack(first.data, SKILL_PARAM) : sent;
    return { skill: skillIn(files, limits.bundle, SKILL_PARAM), fields };
  } finally {
    slot.end();
  }
}
