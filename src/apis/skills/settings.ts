/** What the Skills API needs. */
import type { Bundles } from '../../ports/skills/bundle.ts';
import type { EndpointSettings } from '../endpoint/endpoint.ts';
import type { FormParser } from '../endpoint/forms/multipart.ts';
import type { UploadSlots } from '../endpoint/forms/upload-slots.ts';
import type { SkillLimits } from './limits.ts';
import type { SkillRecords } from './skill-records.ts';

/** What the Skills API works with. */
export interface SkillsSettings extends EndpointSettings {
  readonly records: SkillRecords;
  readonly bundles: Bundles;
  readonly skillLimits: SkillLimits;
  readonly formParser: FormParser;
  readonly slots: UploadSlots;
}
