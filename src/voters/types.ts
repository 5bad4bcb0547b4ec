import type { voters } from './tables.ts';

export type VoterStatus = 'pending' | 'approved' | 'rejected';
export type VoterSource = 'organizer' | 'registration' | 'poll';
export type KeyStatus = 'none' | 'sent' | 'failed' | 'used';

/** A voter as organizers see it: without the forms by which identities are compared, and what only clean-up asks for. */
export type Voter = Readonly<
  Omit<typeof voters.$inferSelect, 'emailKey' | 'voterIdKey' | 'confirmBy' | 'deletedAt' | 'erasedAt'> & {
    hasVoted: boolean;
    /** Whether status, vote and key may be shown as they are (completions 5.6). */
    disclosed: boolean;
  }
>;
