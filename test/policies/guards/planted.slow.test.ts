/** A secret at every leaf of all that was recorded. */
import { describeShared } from '../../support/shared.ts';
import { plantSecrets } from './planting.ts';

describeShared('a secret at every leaf of all that was recorded', () => plantSecrets({ share: 1, alone: 24 }));
