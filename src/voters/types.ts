import type { notifications, voters } from './tables.ts';

export type VoterStatus = 'pending' | 'approved' | 'rejected';
export type VoterSource = 'organizer' | 'registration' | 'poll';
export type KeyStatus = 'none' | 'sent' | 'failed' | 'used';

/** A voter as organizers see it: without the forms by which identities are compared, and what only clean-up asks for. */
export type Voter = Readonly<
  Omit<
    typeof voters.$inferSelect,
    'emailKey' | 'voterIdKey' | 'confirmBy' | 'beforeRehearsal' | 'deletedAt' | 'erasedAt'
  > & {
    hasVoted: boolean;
    /** Whether status, vote and key may be shown as they are (completions 5.6). */
    disclosed: boolean;
  }
>;

/** What the end of a rehearsal puts back: nothing of a voter that came with it, otherwise what was changed since. */
export type BeforeRehearsal =
  | { readonly new: true }
  | {
      readonly status: VoterStatus;
      readonly key_status: KeyStatus;
      readonly approved_by_key: boolean;
      readonly confirm_by: number | null;
    };

/** Whom mails go to. */
export const AUDIENCES = ['all', 'not_invited', 'not_voted'] as const;
export type Audience = (typeof AUDIENCES)[number];

export const NOTIFICATION_KINDS = ['key', 'reminder'] as const;
export type NotificationKind = (typeof NOTIFICATION_KINDS)[number];

export type Notification = Readonly<typeof notifications.$inferSelect>;

/** A row of an import that was not taken, and the first thing for which it was not. */
export interface RejectedRow {
  /** Its place among the rows that were sent. */
  readonly index: number;
  /** Empty where the row as a whole is meant. */
  readonly field: string;
  readonly message: string;
}
