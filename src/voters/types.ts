export type VoterStatus = 'pending' | 'approved' | 'rejected';
export type VoterSource = 'organizer' | 'registration' | 'poll';
export type KeyStatus = 'none' | 'sent' | 'failed' | 'used';

export interface Voter {
  readonly id: string;
  readonly votingEventId: string;
  readonly name: string;
  readonly email: string | null;
  readonly voterId: string | null;
  readonly groupId: string | null;
  readonly weightMicro: bigint;
  readonly status: VoterStatus;
  readonly hasVoted: boolean;
  readonly source: VoterSource;
  readonly keyStatus: KeyStatus;
  readonly createdAt: number;
  readonly updatedAt: number;
}
