/** How a voter of an election names itself. */
export interface Identity {
  readonly kind: 'email' | 'voter_id';
  /** In the form by which identities are the same. */
  readonly key: string;
}
