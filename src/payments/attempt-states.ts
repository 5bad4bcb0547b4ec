import type { AttemptStatus } from './payment.ts';

/**
 * Every move that a payment attempt can make (completions 7.1). What stands in no row never happens: the statements that
 * change a status name the ones they may come from, so that a late or repeated message can move nothing backwards.
 */
export const ALLOWED_FROM: Readonly<Record<AttemptStatus, readonly AttemptStatus[]>> = {
  created: [],
  /** The provider made a page. A provider that forgets one gets a second page for the same attempt. */
  pending: ['created', 'pending'],
  /** The money is there. `created` too: the page may have been paid before our own commit said that it exists. */
  succeeded: ['created', 'pending'],
  fulfilled: ['succeeded'],
  failed: ['created', 'pending'],
  /** No one paid in time; or what was paid for cannot be given any more, and the money goes back. */
  cancelled: ['created', 'pending', 'succeeded'],
};

/** Whether money may still come for it. */
export function isOpen(status: AttemptStatus): boolean {
  return status === 'created' || status === 'pending';
}
