import { z } from 'zod';

/** The schema of a large body that takes any object: a thread loads it. */
export const looseBody = z.looseObject({});
export const LOOSE_BODY = { module: new URL(import.meta.url), name: 'looseBody' };
