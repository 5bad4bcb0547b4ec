import { z } from 'zod';
import { idField, searchField } from '#src/http/fields.ts';
import { windowFields } from '#src/http/newest.ts';
import { ATTEMPT_STATUSES, PAYMENT_PURPOSES } from './types.ts';

export const listBusinessesQuery = z.strictObject({ search: searchField().optional() });
export const linkBusinessBody = z.strictObject({ paymentBusinessId: idField() });
export const listPaymentsQuery = z.strictObject({
  search: searchField().optional(),
  status: z.enum(ATTEMPT_STATUSES).optional(),
  purpose: z.enum(PAYMENT_PURPOSES).optional(),
  ...windowFields(),
});
