/** What the API of containers needs of the host's options. */
import type { ContainerSkills } from '../../ports/containers/container-skills.ts';
import type { Containers } from '../../ports/containers/containers.ts';
import type { FileStore } from '../../ports/files/file-store.ts';
import type { Limits } from '../../ports/limits.ts';
import type { EndpointSettings } from '../endpoint/endpoint.ts';
import type { FormLimits } from '../endpoint/forms/form-limits.ts';
import type { FormParser } from '../endpoint/forms/multipart.ts';

/** The host's options that the API of containers needs. */
export interface ContainersSettings extends EndpointSettings {
  readonly containers: Containers;
  readonly limits: Limits;
  /** Where uploaded files are; undefined if the host has none. */
  readonly files: FileStore | undefined;
  /** Where skills come from; undefined if the host has none. */
  readonly skills: ContainerSkills | undefined;
  readonly formLimits: FormLimits;
  readonly formParser: FormParser;
}
