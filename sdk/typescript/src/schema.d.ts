// Made from the API document by sdk/typescript/make-types.ts. Do not edit.

export interface paths {
    "/me": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The account and the key that a request is made with
         * @description Takes any key.
         */
        get: operations["getMe"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/voting-events/definition": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Create a voting event from a file
         * @description Rows name each other by the IDs of the document. Takes bodies of up to 32 MiB and 250,000 values. A linked payment business is no part of it: prices are taken where the event has one that takes them.
         *
         *     Takes a key with the scope `write`.
         */
        post: operations["createFromDefinition"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/voting-events/{idOrCode}/definition": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read a voting event as a file
         * @description Settings, groups, positions, candidates and sponsors: `data` can be sent back as it is. No voter, ballot or payment stands in it.
         *
         *     Takes a key with the scope `read`.
         */
        get: operations["getDefinition"];
        /**
         * Make a draft exactly what a file says
         * @description Rows name each other by the IDs of the document. Takes bodies of up to 32 MiB and 250,000 values. A linked payment business is no part of it: prices are taken where the event has one that takes them. A row whose ID is one of the event's own stays the same row; rows that the file does not name are deleted, and settings that it leaves out become the default. With `dryRun=true` the answer lists what would change.
         *
         *     Takes a key with the scope `write`, of the account that owns the event or was invited to it as an editor.
         */
        put: operations["replaceDefinition"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/voting-events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List voting events
         * @description Takes a key with the scope `read`.
         */
        get: operations["listVotingEvents"];
        put?: never;
        /**
         * Create a voting event
         * @description Takes a key with the scope `write`.
         */
        post: operations["createVotingEvent"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/voting-events/{idOrCode}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read a voting event
         * @description Takes a key with the scope `read`.
         */
        get: operations["getVotingEvent"];
        put?: never;
        post?: never;
        /**
         * Delete a voting event
         * @description An event with confirmed ballots is deleted with `?force=true` only.
         *
         *     Takes a key with the scope `write`, of the account that owns the event.
         */
        delete: operations["deleteVotingEvent"];
        options?: never;
        head?: never;
        /**
         * Change, open or close a voting event
         * @description Any subset of the fields. `status: "open"` opens the event now, `status: "closed"` closes it, `status: "rehearsal"` begins a rehearsal. Once ballots are cast, what they depend on is frozen.
         *
         *     Takes a key with the scope `write`, of the account that owns the event or was invited to it as an editor.
         */
        patch: operations["updateVotingEvent"];
        trace?: never;
    };
    "/voting-events/{idOrCode}/copy": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Copy a voting event
         * @description A draft with a code of its own, in the account of the key: settings, groups, positions, candidates and sponsors, without times, ballots, invites and webhook endpoints. Prices and the payment business are taken along within one account, where the plan and the business still allow them. Registrations that were never approved stay behind. With `withVoters` the voters follow in the background: `copy` of the new event shows how many there are, and it does not open before all are.
         *
         *     Takes a key with the scope `write`, of the account that owns the event or was invited to it as an editor.
         */
        post: operations["copyVotingEvent"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/voting-events/{idOrCode}/invites": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the invites of an event
         * @description Takes a key with the scope `read`.
         */
        get: operations["listInvites"];
        put?: never;
        /**
         * Invite a person to an event by e-mail
         * @description The mail carries a token, which the person accepts with a key of their own account within 7 days. A `viewer` reads, an `editor` changes too.
         *
         *     Takes a key with the scope `write`, of the account that owns the event.
         */
        post: operations["createInvite"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/voting-events/{idOrCode}/invites/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Take an invite back, accepted or not
         * @description Takes a key with the scope `write`, of the account that owns the event.
         */
        delete: operations["deleteInvite"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/invites/accept": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Accept an invite in the name of the account of the key
         * @description Any organizer key of the account will do. Accepting again gives the same answer.
         *
         *     Takes a key with the scope `read`.
         */
        post: operations["acceptInvite"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/voting-events/{idOrCode}/audit": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List what was changed in an event, by which key and when
         * @description The newest 1,000 of what the filters find, newest last; `truncated` says that there are more, and `…/audit/csv` gives all of them. Values of more than 320 characters are given as their length and SHA-256.
         *
         *     Takes a key with the scope `read`.
         */
        get: operations["listChanges"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/voting-events/{idOrCode}/audit/csv": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read everything that was changed in an event as a table (CSV)
         * @description Takes a key with the scope `read`.
         */
        get: operations["getChangesCsv"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/voting-events/{idOrCode}/positions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List positions
         * @description Takes a key with the scope `read`.
         */
        get: operations["listPositions"];
        put?: never;
        /**
         * Create a position
         * @description Takes a key with the scope `write`, of the account that owns the event or was invited to it as an editor.
         */
        post: operations["createPosition"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/voting-events/{idOrCode}/positions/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read a position
         * @description Takes a key with the scope `read`.
         */
        get: operations["getPosition"];
        put?: never;
        post?: never;
        /**
         * Queue the deletion of a position
         * @description Takes a key with the scope `write`, of the account that owns the event or was invited to it as an editor.
         */
        delete: operations["deletePosition"];
        options?: never;
        head?: never;
        /**
         * Change a position
         * @description Takes a key with the scope `write`, of the account that owns the event or was invited to it as an editor.
         */
        patch: operations["updatePosition"];
        trace?: never;
    };
    "/voting-events/{idOrCode}/candidates": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List candidates
         * @description Takes a key with the scope `read`.
         */
        get: operations["listCandidates"];
        put?: never;
        /**
         * Create a candidate
         * @description Takes a key with the scope `write`, of the account that owns the event or was invited to it as an editor.
         */
        post: operations["createCandidate"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/voting-events/{idOrCode}/candidates/bulk": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Reject or delete up to 1,000 candidates, all or none
         * @description What would be refused for one of them refuses them all. An unknown ID is named as `candidateIds[<index>]`. Rejected registrations free their place under the ceiling.
         *
         *     Takes a key with the scope `write`, of the account that owns the event or was invited to it as an editor.
         */
        post: operations["changeCandidates"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/voting-events/{idOrCode}/candidates/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read a candidate
         * @description Takes a key with the scope `read`.
         */
        get: operations["getCandidate"];
        put?: never;
        post?: never;
        /**
         * Queue the deletion of a candidate
         * @description Takes a key with the scope `write`, of the account that owns the event or was invited to it as an editor.
         */
        delete: operations["deleteCandidate"];
        options?: never;
        head?: never;
        /**
         * Change a candidate, or approve, reject or withdraw it
         * @description Takes a key with the scope `write`, of the account that owns the event or was invited to it as an editor.
         */
        patch: operations["updateCandidate"];
        trace?: never;
    };
    "/voting-events/{idOrCode}/groups": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List groups
         * @description Takes a key with the scope `read`.
         */
        get: operations["listGroups"];
        put?: never;
        /**
         * Create a group
         * @description Takes a key with the scope `write`, of the account that owns the event or was invited to it as an editor.
         */
        post: operations["createGroup"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/voting-events/{idOrCode}/groups/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read a group
         * @description Takes a key with the scope `read`.
         */
        get: operations["getGroup"];
        put?: never;
        post?: never;
        /**
         * Queue the deletion of a group
         * @description Takes a key with the scope `write`, of the account that owns the event or was invited to it as an editor.
         */
        delete: operations["deleteGroup"];
        options?: never;
        head?: never;
        /**
         * Change a group
         * @description Takes a key with the scope `write`, of the account that owns the event or was invited to it as an editor.
         */
        patch: operations["updateGroup"];
        trace?: never;
    };
    "/voting-events/{idOrCode}/sponsors": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List sponsors
         * @description Takes a key with the scope `read`.
         */
        get: operations["listSponsors"];
        put?: never;
        /**
         * Create a sponsor
         * @description Takes a key with the scope `write`, of the account that owns the event or was invited to it as an editor.
         */
        post: operations["createSponsor"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/voting-events/{idOrCode}/sponsors/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read a sponsor
         * @description Takes a key with the scope `read`.
         */
        get: operations["getSponsor"];
        put?: never;
        post?: never;
        /**
         * Delete a sponsor
         * @description Takes a key with the scope `write`, of the account that owns the event or was invited to it as an editor.
         */
        delete: operations["deleteSponsor"];
        options?: never;
        head?: never;
        /**
         * Change a sponsor
         * @description Takes a key with the scope `write`, of the account that owns the event or was invited to it as an editor.
         */
        patch: operations["updateSponsor"];
        trace?: never;
    };
    "/voting-events/{idOrCode}/voters/notify": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Mail voter keys or reminders to many voters
         * @description Mails go out in the background and go on after any interruption; `GET …/notifications/:id` shows how far they are. A voter gets mails of one kind at least 24 hours apart, reminders 6 hours, whatever is asked for; single mails by `…/voter-key` are not counted in. Voters who wait for approval or were rejected get none. A plan sends 500, 200,000 or 20,000,000 mails a day.
         *
         *     Takes a key with the scope `write`, of the account that owns the event or was invited to it as an editor.
         */
        post: operations["notifyVoters"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/voting-events/{idOrCode}/notifications": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List mails to many voters
         * @description The newest 1,000 of what the filters find, newest last; `truncated` says that there are more.
         *
         *     Takes a key with the scope `read`.
         */
        get: operations["listNotifications"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/voting-events/{idOrCode}/notifications/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read how far mails to many voters are
         * @description Takes a key with the scope `read`.
         */
        get: operations["getNotification"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/voting-events/{idOrCode}/voters": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List voters
         * @description A page of a filter may hold fewer rows than `limit`, even none, and still have a `nextCursor`.
         *
         *     Takes a key with the scope `read`.
         */
        get: operations["listVoters"];
        put?: never;
        /**
         * Create a voter
         * @description Takes a key with the scope `write`, of the account that owns the event or was invited to it as an editor.
         */
        post: operations["createVoter"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/voting-events/{idOrCode}/voters/batch": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Create up to 100 voters, all or none
         * @description One bad or duplicate row refuses them all, and is named as `voters[<index>].<field>`.
         *
         *     Takes a key with the scope `write`, of the account that owns the event or was invited to it as an editor.
         */
        post: operations["createVoters"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/voting-events/{idOrCode}/voters/import": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Import up to 5,000 voters, with a report of the rows that were not taken
         * @description With `mode: "all"` one bad row keeps all of them out: `accepted` is 0 then, and the report says why. With `mode: "partial"` rows are stored 500 at a time; a request that was cut off goes on where it was when it is sent again with its `Idempotency-Key`. Where the plan has no room for all good rows, none is taken. Takes bodies of up to 4 MiB and 60,000 values.
         *
         *     Takes a key with the scope `write`, of the account that owns the event or was invited to it as an editor.
         */
        post: operations["importRoll"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/voting-events/{idOrCode}/voters/bulk": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Reject or delete up to 1,000 voters, all or none
         * @description What would be refused for one of them refuses them all. An unknown ID is named as `voterIds[<index>]`. Rejected registrations free their place under the ceiling.
         *
         *     Takes a key with the scope `write`, of the account that owns the event or was invited to it as an editor.
         */
        post: operations["changeVoters"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/voting-events/{idOrCode}/voters/csv": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read the roll as a table (CSV)
         * @description Every voter, in the order of their creation. Who took part is shown as in the list: in an election at least five voters at a time until the result is final.
         *
         *     Takes a key with the scope `read`.
         */
        get: operations["getVotersCsv"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/voting-events/{idOrCode}/voters/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read a voter
         * @description Takes a key with the scope `read`.
         */
        get: operations["getVoter"];
        put?: never;
        post?: never;
        /**
         * Queue the deletion of a voter
         * @description Takes a key with the scope `write`, of the account that owns the event or was invited to it as an editor.
         */
        delete: operations["deleteVoter"];
        options?: never;
        head?: never;
        /**
         * Change, approve or reject a voter
         * @description Weight and group of somebody who voted are frozen.
         *
         *     Takes a key with the scope `write`, of the account that owns the event or was invited to it as an editor.
         */
        patch: operations["updateVoter"];
        trace?: never;
    };
    "/voting-events/{idOrCode}/voters/{id}/voter-key": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * E-mail a voter key again
         * @description Takes a key with the scope `write`, of the account that owns the event or was invited to it as an editor.
         */
        post: operations["mailVoterKey"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/payment-businesses": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the payment businesses of the account
         * @description Takes a key with the scope `read`.
         */
        get: operations["listPaymentBusinesses"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/voting-events/{idOrCode}/payment-business": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read the payment business that an event is paid through
         * @description Takes a key with the scope `read`.
         */
        get: operations["getLinkedPaymentBusiness"];
        /**
         * Link a payment business to an event
         * @description Link a ready one before a price is set. Linking it again gives the same answer.
         *
         *     Takes a key with the scope `write`, of the account that owns the event.
         */
        put: operations["linkPaymentBusiness"];
        post?: never;
        /**
         * Unlink the payment business of an event
         * @description Takes a key with the scope `write`, of the account that owns the event.
         */
        delete: operations["unlinkPaymentBusiness"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/voting-events/{idOrCode}/payments": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the payments of an event
         * @description The newest 1,000 of what the filters find, newest last; `…/payments/csv` gives all of them. Without confirmation codes.
         *
         *     Takes a key with the scope `read`.
         */
        get: operations["listPayments"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/voting-events/{idOrCode}/payments/csv": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read all payments of an event as a table (CSV)
         * @description Takes a key with the scope `read`.
         */
        get: operations["getPaymentsCsv"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/voting-events/{idOrCode}/payments/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read a payment of an event
         * @description Takes a key with the scope `read`.
         */
        get: operations["getPayment"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/voting-events/{idOrCode}/results": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read the results, at any time
         * @description Takes a key with the scope `read`.
         */
        get: operations["getResults"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/voting-events/{idOrCode}/results/rounds": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read the rounds of a ranked count, in pages
         * @description At most 2,000 tallies an answer: go on with `fromRound` of `nextRound` until that is null. Other methods have no rounds.
         *
         *     Takes a key with the scope `read`.
         */
        get: operations["getResultRounds"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/voting-events/{idOrCode}/votes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the votes of confirmed ballots
         * @description Each vote once, whatever is confirmed or sealed between two pages; a page of a search may hold fewer votes than `limit`. In a secret event sealed ballots alone are listed, and nothing tells who voted, or when.
         *
         *     Takes a key with the scope `read`.
         */
        get: operations["listVotes"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/voting-events/{idOrCode}/stats": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read the figures of a voting event
         * @description Takes a key with the scope `read` or `observe`.
         */
        get: operations["getStats"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/public/voting-events/{idOrCode}/results": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read live or published results
         * @description While a secret event is open, its public count moves when at least five ballots are new, by all of them. An `observe` key reads final results whatever their visibility.
         *
         *     Takes a key with the scope `vote` or `observe`.
         */
        get: operations["getPublicResults"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/public/voting-events/{idOrCode}/results/rounds": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read the rounds of live or published results, in pages
         * @description At most 2,000 tallies an answer: go on with `fromRound` of `nextRound` until that is null. Other methods have no rounds.
         *
         *     Takes a key with the scope `vote` or `observe`.
         */
        get: operations["getPublicResultRounds"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/voting-events/{idOrCode}/results/pdf": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Redirect to the result report (PDF)
         * @description Redirects to an address that serves the file, and needs no key. The file is made when it is fetched, and shows that moment.
         *
         *     Takes a key with the scope `read`.
         */
        get: operations["getResultsPdf"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/voting-events/{idOrCode}/results/csv": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Redirect to the results as a table (CSV)
         * @description Redirects to an address that serves the file, and needs no key. The file is made when it is fetched, and shows that moment. `layout=figures` has one figure a row, rounds and ties included; `layout=table` one candidate a row, the most votes first.
         *
         *     Takes a key with the scope `read`.
         */
        get: operations["getResultsCsv"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/voting-events/{idOrCode}/results/blt": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Redirect to the ballots of a ranked position (BLT)
         * @description For counting elsewhere, once the result is final. Weights are whole numbers in a unit of their own. In a secret event there is no file where a ballot’s weight would show whose it is.
         *
         *     Takes a key with the scope `read`.
         */
        get: operations["getResultsBlt"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/voting-events/{idOrCode}/results/json": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Redirect to the results as a JSON file
         * @description Redirects to an address that serves the file, and needs no key. The file is made when it is fetched, and shows that moment.
         *
         *     Takes a key with the scope `read`.
         */
        get: operations["getResultsJson"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/voting-events/{idOrCode}/results/cvr": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Redirect to the cast vote records (NIST SP 1500-103)
         * @description Redirects to an address that serves the file, and needs no key. The file is made when it is fetched, and shows that moment.
         *
         *     Takes a key with the scope `read`.
         */
        get: operations["getCastVoteRecords"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/webhook-endpoints": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List webhook endpoints
         * @description Those of one event with `votingEventCode`, whoever of its editors made them; without it, those of the account.
         *
         *     Takes a key with the scope `read`.
         */
        get: operations["listWebhookEndpoints"];
        put?: never;
        /**
         * Create a webhook endpoint; its secret is told this once
         * @description Takes a key with the scope `write`.
         */
        post: operations["createWebhookEndpoint"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/webhook-endpoints/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read a webhook endpoint
         * @description Takes a key with the scope `read`.
         */
        get: operations["getWebhookEndpoint"];
        put?: never;
        post?: never;
        /**
         * Delete a webhook endpoint with its deliveries
         * @description Takes a key with the scope `write`.
         */
        delete: operations["deleteWebhookEndpoint"];
        options?: never;
        head?: never;
        /**
         * Change a webhook endpoint, switch it on or off
         * @description Takes a key with the scope `write`.
         */
        patch: operations["updateWebhookEndpoint"];
        trace?: never;
    };
    "/webhook-endpoints/{id}/test": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Send a webhook endpoint a test message
         * @description Takes a key with the scope `write`.
         */
        post: operations["testWebhookEndpoint"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/webhook-endpoints/{id}/rotate-secret": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Give a webhook endpoint a new secret; those of the last day sign too, at most five
         * @description Takes a key with the scope `write`.
         */
        post: operations["rotateWebhookSecret"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/webhook-endpoints/{id}/deliveries": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the newest 1,000 deliveries of a webhook endpoint, with every attempt, newest last
         * @description Takes a key with the scope `read`.
         */
        get: operations["listWebhookDeliveries"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/webhook-endpoints/{id}/deliveries/csv": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read all deliveries of a webhook endpoint as a table (CSV)
         * @description Takes a key with the scope `read`.
         */
        get: operations["getWebhookDeliveriesCsv"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/webhook-endpoints/{id}/deliveries/{deliveryId}/retry": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Send a delivery again, whatever became of it
         * @description Takes a key with the scope `write`.
         */
        post: operations["retryWebhookDelivery"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/webhook-event-types": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the event types that an endpoint may subscribe to
         * @description Takes a key with the scope `read`.
         */
        get: operations["listWebhookEventTypes"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/public/voting-events/{idOrCode}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read the settings a voting page is built from
         * @description A draft is not found yet.
         *
         *     Takes a key with the scope `vote`.
         */
        get: operations["getContext"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/public/voting-events/{idOrCode}/ballot": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read the ballot
         * @description Positions in their order, and approved candidates only. Where the event shuffles candidates, the same `seed` gives the same order: send one for each voter.
         *
         *     Takes a key with the scope `vote`.
         */
        get: operations["getBallot"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/public/voting-events/{idOrCode}/register/candidate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Register a candidate
         * @description Where the event asks for payment, the first call answers 402 with a checkout, and the second one, with only `paymentAttemptId`, registers the candidate.
         *
         *     Takes a key with the scope `vote`, of the account that owns the event or was invited to it as an editor.
         */
        post: operations["registerCandidate"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/public/voting-events/{idOrCode}/register/voter": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Register a voter
         * @description Takes a key with the scope `vote`, of the account that owns the event or was invited to it as an editor.
         */
        post: operations["registerVoter"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/public/voting-events/{idOrCode}/voter-key/request": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * E-mail a voter key
         * @description Send `voterId` where the event requires voter IDs, else `email`. The answer is the same for everybody: an unknown voter gets no mail.
         *
         *     Takes a key with the scope `vote`, of the account that owns the event or was invited to it as an editor.
         */
        post: operations["requestVoterKey"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/public/voting-events/{idOrCode}/voter/check": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Check whether a voter may cast
         * @description Never an error for somebody who may not vote: `eligible` is false, and `reason` tells why.
         *
         *     Takes a key with the scope `vote`.
         */
        post: operations["checkVoter"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/public/voting-events/{idOrCode}/ballot/cast": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Cast a ballot
         * @description The ballot does not count yet: confirm it. Casting again before that replaces it. In a paid poll the first call answers 402 with a checkout, and the second one, with only `paymentAttemptId`, casts the ballot that was sent first.
         *
         *     Takes a key with the scope `vote`, of the account that owns the event or was invited to it as an editor.
         */
        post: operations["castBallot"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/public/voting-events/{idOrCode}/ballot/confirm": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Confirm a cast ballot
         * @description From here on the ballot counts. Confirming again gives the same answer. A ballot cast before the close may be confirmed for 15 minutes after it.
         *
         *     Takes a key with the scope `vote`, of the account that owns the event or was invited to it as an editor.
         */
        post: operations["confirmBallot"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/public/voting-events/{idOrCode}/quadratic-credits": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read the credits of a visitor
         * @description Takes a key with the scope `vote`.
         */
        get: operations["getCredits"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/public/voting-events/{idOrCode}/quadratic-credits/options": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read what credits cost
         * @description 404 where nothing can be bought.
         *
         *     Takes a key with the scope `vote`.
         */
        get: operations["getCreditOptions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/public/voting-events/{idOrCode}/quadratic-credits/checkout": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Buy credits: start or finish the payment
         * @description The first call answers 402 with a checkout; the second one, with only `paymentAttemptId`, answers with the new balance.
         *
         *     Takes a key with the scope `vote`, of the account that owns the event or was invited to it as an editor.
         */
        post: operations["buyCredits"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/public/voting-events/{idOrCode}/payments/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read how a payment stands
         * @description While nobody has paid yet, the provider is asked, at most every two seconds. Poll it, or wait for the webhook `payment.succeeded`.
         *
         *     Takes a key with the scope `vote`.
         */
        get: operations["getPublicPayment"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/public/voting-events/{idOrCode}/log/checkpoint": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read the signed head of the ballot log
         * @description Four lines: origin, number of leaves, root hash, and `confirmed <n>`, the ballots confirmed so far, those included that wait for the log. Signed again within a minute while that number changes.
         *
         *     Takes a key with the scope `vote` or `observe` or `log`, and no key where `log.open` of the event is `true`.
         */
        get: operations["getLogCheckpoint"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/public/voting-events/{idOrCode}/log/tile/{tile}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read a tile of hashes, or a bundle of entries, of the ballot log
         * @description By the paths of C2SP tlog-tiles: `<L>/<N>` and `entries/<N>`, with `.p/<W>` behind a partial one. Full tiles never change and may be kept for ever.
         *
         *     Takes a key with the scope `vote` or `observe` or `log`, and no key where `log.open` of the event is `true`.
         */
        get: operations["getLogTile"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/public/voting-events/{idOrCode}/log/proof": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Prove that a confirmed ballot is in the log
         * @description Takes a key with the scope `vote` or `observe` or `log`, and no key where `log.open` of the event is `true`.
         */
        post: operations["proveBallot"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/public/voting-events/{idOrCode}/log/consistency": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Prove that one size of the log is the beginning of another
         * @description Takes a key with the scope `vote` or `observe` or `log`, and no key where `log.open` of the event is `true`.
         */
        get: operations["getLogConsistency"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/public/voting-events/{idOrCode}/log/openings": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read the opened ballots of a finished event
         * @description Once the result is final, as far as `ballot.opening` of the event allows. Begin with `fromIndex=0` and go on with `nextIndex` until that is null. A page of long ballots may hold fewer than `limit`. `limit` and `cursor` without `fromIndex` page as in other lists.
         *
         *     Takes a key with the scope `vote` or `observe` or `log`, and no key where `log.open` of the event is `true`.
         */
        get: operations["listLogOpenings"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/public/voting-events/{idOrCode}/log/inclusion": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Prove that a checkpoint of the ballot log is in the service’s own log
         * @description Under the head with the most cosignatures among the newest that hold it.
         *
         *     Takes a key with the scope `vote` or `observe` or `log`, and no key where `log.open` of the event is `true`.
         */
        get: operations["proveCheckpoint"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export interface webhooks {
    "voting_event.created": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * voting_event.created
         * @description A voting event was created.
         *
         *     `data`: A voting event, as GET /voting-events/:idOrCode gives it.
         */
        post: operations["onVotingEventCreated"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "voting_event.updated": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * voting_event.updated
         * @description A voting event was changed, or got or lost its payment business.
         *
         *     `data`: A voting event, as GET /voting-events/:idOrCode gives it.
         */
        post: operations["onVotingEventUpdated"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "voting_event.deleted": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * voting_event.deleted
         * @description A voting event was deleted.
         *
         *     `data`: The id, code and title of a voting event.
         */
        post: operations["onVotingEventDeleted"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "voting_event.opened": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * voting_event.opened
         * @description A voting event takes ballots, because somebody opened it or its `startsAt` has come.
         *
         *     `data`: A voting event, as GET /voting-events/:idOrCode gives it.
         */
        post: operations["onVotingEventOpened"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "voting_event.closing": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * voting_event.closing
         * @description The `endsAt` of a voting event is 24 hours away, or was set nearer than that: once for each end that is set. The owner gets a mail, too.
         *
         *     `data`: A voting event, as GET /voting-events/:idOrCode gives it.
         */
        post: operations["onVotingEventClosing"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "voting_event.closed": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * voting_event.closed
         * @description A voting event takes no more ballots, because somebody closed it or its `endsAt` has come.
         *
         *     `data`: A voting event, as GET /voting-events/:idOrCode gives it.
         */
        post: operations["onVotingEventClosed"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "candidate.created": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * candidate.created
         * @description A candidate was created or has registered.
         *
         *     `data`: A candidate, as GET …/candidates/:id gives it.
         */
        post: operations["onCandidateCreated"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "candidate.updated": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * candidate.updated
         * @description A candidate was changed, approved, rejected or withdrawn.
         *
         *     `data`: A candidate, as GET …/candidates/:id gives it.
         */
        post: operations["onCandidateUpdated"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "candidate.deleted": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * candidate.deleted
         * @description A candidate was deleted.
         *
         *     `data`: The id and name of a candidate.
         */
        post: operations["onCandidateDeleted"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "voter.created": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * voter.created
         * @description A voter was put on the roll or has registered.
         *
         *     `data`: A voter who was added, imported or registered, as GET …/voters/:id gives it; not the participants of a poll.
         */
        post: operations["onVoterCreated"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "voter.updated": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * voter.updated
         * @description A voter was changed, approved or rejected.
         *
         *     `data`: A voter, as GET …/voters/:id gives it.
         */
        post: operations["onVoterUpdated"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "voter.deleted": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * voter.deleted
         * @description A voter was taken off the roll.
         *
         *     `data`: The id of a voter.
         */
        post: operations["onVoterDeleted"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "voter.mail_failed": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * voter.mail_failed
         * @description A mail to a voter was refused for good, or given up after two days of trying: the voter has no voter key from it.
         *
         *     `data`: A voter, as GET …/voters/:id gives it; after the mail of a voter key its `keyStatus` is `failed`.
         */
        post: operations["onVoterMailFailed"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "ballot.confirmed": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * ballot.confirmed
         * @description Ballots were confirmed: how many count by now. At most once in 5 seconds an event.
         *
         *     `data`: The voting event and how many ballots it has: no voter, no choice, no code.
         */
        post: operations["onBallotConfirmed"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "payment.succeeded": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * payment.succeeded
         * @description A payer has paid: make the second call.
         *
         *     `data`: A payment attempt, as GET …/payments/:id gives it, without its confirmation code.
         */
        post: operations["onPaymentSucceeded"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "payment.fulfilled": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * payment.fulfilled
         * @description What was paid for is done: the ballot is cast, the candidate registered, the credits are there.
         *
         *     `data`: A payment attempt, as GET …/payments/:id gives it, without its confirmation code.
         */
        post: operations["onPaymentFulfilled"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "payment.failed": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * payment.failed
         * @description A payment was declined.
         *
         *     `data`: A payment attempt, as GET …/payments/:id gives it, without its confirmation code.
         */
        post: operations["onPaymentFailed"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "payment.cancelled": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * payment.cancelled
         * @description A payment was given up: nobody paid in time, or it cannot be fulfilled any more.
         *
         *     `data`: A payment attempt, as GET …/payments/:id gives it, without its confirmation code.
         */
        post: operations["onPaymentCancelled"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "payment.refunded": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * payment.refunded
         * @description What was paid went back to the payer.
         *
         *     `data`: A payment attempt, as GET …/payments/:id gives it, without its confirmation code.
         */
        post: operations["onPaymentRefunded"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "payment.refund_failed": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * payment.refund_failed
         * @description The provider refused for 30 days to give a payment back, or did not answer: the organizer has to pay the payer back by hand.
         *
         *     `data`: A payment attempt, as GET …/payments/:id gives it, without its confirmation code.
         */
        post: operations["onPaymentRefundFailed"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "payment.reversed": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * payment.reversed
         * @description A payment was taken back at the provider after it was fulfilled, by a refund or a chargeback.
         *
         *     `data`: A payment attempt, as GET …/payments/:id gives it, without its confirmation code.
         */
        post: operations["onPaymentReversed"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "results.published": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * results.published
         * @description Results have become public.
         *
         *     `data`: The voting event and when its results were published.
         */
        post: operations["onResultsPublished"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "log.checkpoint": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * log.checkpoint
         * @description The ballot log has grown, and its new head is signed.
         *
         *     `data`: The voting event, the size and root of its log, and the checkpoint as a signed note.
         */
        post: operations["onLogCheckpoint"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "webhook_endpoint.disabled": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * webhook_endpoint.disabled
         * @description A webhook endpoint was switched off because its receiver fails.
         *
         *     `data`: A webhook endpoint, as GET /webhook-endpoints/:id gives it.
         */
        post: operations["onWebhookEndpointDisabled"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export interface components {
    schemas: {
        AcceptInviteBody: {
            token: string;
        };
        /** @description What a voter chooses from. */
        Ballot: {
            votingEventId: string;
            positions: {
                id: string;
                title: string;
                description: string | null;
                /** @enum {string} */
                votingMethod: "plurality" | "approval" | "referendum" | "score" | "cumulative" | "quadratic" | "ranked_choice";
                /** @description Only voters of this group may answer. */
                group: components["schemas"]["BallotGroup"] | null;
                seats: number;
                minSelections: number;
                maxSelections: number;
                /** @description Score positions only. */
                scoreMin?: number | null;
                /** @description Score positions only. */
                scoreMax?: number | null;
                /** @description Cumulative positions only. */
                cumulativePointBudget?: number | null;
                /** @description Quadratic positions only. */
                quadraticBaseCreditBudget?: number | null;
            }[];
            candidates: {
                id: string;
                name: string;
                description: string | null;
                positionIds: string[];
                group: components["schemas"]["BallotGroup"] | null;
                /**
                 * @description What a choice of this candidate means in a referendum.
                 * @enum {string|null}
                 */
                referendumRole: "yes" | "no" | "abstain" | null;
                avatarUrl: string | null;
            }[];
            groups: components["schemas"]["BallotGroup"][];
            sponsors: {
                id: string;
                name: string;
                logoUrl: string | null;
                websiteUrl: string | null;
                tier: string | null;
            }[];
            /**
             * @description The event is being rehearsed: nothing of this counts or lasts. Left out otherwise.
             * @constant
             */
            rehearsal?: true;
        };
        BallotGroup: {
            id: string;
            name: string;
        };
        /** @description What a ballot of the log said. */
        BallotOpening: {
            /** @description Of its leaf. */
            index: number;
            votes: {
                positionId: string;
                candidateId: string;
                value?: number;
                rank?: number;
            }[];
            /** @description An exact decimal. */
            weight: string;
            /** @description Opens the commitment of the leaf; base64. */
            salt: string;
        };
        BallotOpenings: {
            data: components["schemas"]["BallotOpening"][];
            nextCursor: string | null;
            /** @description What to ask for next as `fromIndex`; null at the end. */
            nextIndex: number | null;
            /** @description The seed that ties are drawn from, in hex. */
            tieSeed: string;
            close: components["schemas"]["CloseOpening"];
            /** @description On the first page alone. */
            configuration?: components["schemas"]["LogConfiguration"];
        };
        BallotProof: {
            /** @enum {string} */
            status: "queued" | "logged";
            /** @description Of its leaf; null while it waits. */
            index: number | null;
            /** @description The inclusion proof (RFC 6962). */
            hashes: string[];
            /** @description The signed head that the proof leads to. */
            checkpoint: string | null;
            /**
             * @description The event is being rehearsed: nothing of this counts or lasts. Left out otherwise.
             * @constant
             */
            rehearsal?: true;
        };
        /** @description A change of many rows, all or none. */
        BulkChange: {
            /** @enum {string} */
            action: "reject" | "delete";
            /** @description How many rows are not as they were before. */
            changed: number;
        };
        /** @description The first call */
        BuyCreditsBody: {
            positionId: string;
            /** @description `vi_` and 16 to 128 hexadecimal characters, the same for one visitor every time. */
            visitorId: string;
            /** @description With a price for each credit. */
            credits?: number;
            /** @description With prices in tiers. */
            tierId?: string;
            /** Format: email */
            email?: string;
            voterId?: string;
            name?: string;
            /** Format: uri */
            returnUrl?: string;
            /** Format: uri */
            cancelUrl?: string;
        };
        /** @description Who or what can be voted for. */
        Candidate: {
            id: string;
            votingEventId: string;
            name: string;
            description: string | null;
            email: string | null;
            positionIds: string[];
            groupId: string | null;
            /**
             * @description What a choice of this candidate means in a referendum.
             * @enum {string|null}
             */
            referendumRole: "yes" | "no" | "abstain" | null;
            avatarUrl: string | null;
            /** @enum {string} */
            status: "pending" | "approved" | "rejected" | "withdrawn";
            /** @enum {string} */
            source: "organizer" | "registration";
            sortOrder: number;
            /** @description Unix time in milliseconds. */
            createdAt: number;
            /** @description Unix time in milliseconds. */
            updatedAt: number;
            /**
             * @description The event is being rehearsed: nothing of this counts or lasts. Left out otherwise.
             * @constant
             */
            rehearsal?: true;
        };
        /** @description In an election */
        CastElectionBallotBody: {
            /** @description As it was e-mailed; case and dashes do not matter. */
            voterKey: string;
            /** @description Needed where the event requires voter IDs. */
            voterId?: string;
            /**
             * Format: email
             * @description Needed where the key was requested by e-mail.
             */
            email?: string;
            name?: string;
            /** @description ISO 3166-1, two letters. */
            countryCode?: string;
            /** @description One entry for each candidate that is chosen. */
            votes: {
                positionId: string;
                candidateId: string;
                /** @description Points or votes for `score`, `cumulative`, `quadratic`; left out, or 1, for every other method. */
                value?: number;
                /** @description 1 is the first choice. For `ranked_choice` alone. */
                rank?: number;
            }[];
        };
        /** @description In a poll; the first call where voting is paid */
        CastPollBallotBody: {
            /** @description `vi_` and 16 to 128 hexadecimal characters, the same for one visitor every time. */
            visitorId: string;
            /** @description Needed where the poll requires voter IDs. */
            voterId?: string;
            /**
             * Format: email
             * @description Needed where the poll saves voter information, and to pay with `provider_b`.
             */
            email?: string;
            name?: string;
            /** @description ISO 3166-1, two letters. */
            countryCode?: string;
            /** @description One entry for each candidate that is chosen. */
            votes: {
                positionId: string;
                candidateId: string;
                /** @description Points or votes for `score`, `cumulative`, `quadratic`; left out, or 1, for every other method. */
                value?: number;
                /** @description 1 is the first choice. For `ranked_choice` alone. */
                rank?: number;
            }[];
            /**
             * Format: uri
             * @description Where a payer comes back to; needed to pay with `provider_a`.
             */
            returnUrl?: string;
            /**
             * Format: uri
             * @description Where a payer goes who changes their mind.
             */
            cancelUrl?: string;
        };
        /** @description A ballot that does not count yet. */
        CastResult: {
            /** @description Confirms the ballot. Keep it until then; do not log it. */
            confirmationCode: string;
            votesCount: number;
            /**
             * @description The event is being rehearsed: nothing of this counts or lasts. Left out otherwise.
             * @constant
             */
            rehearsal?: true;
        };
        /** @description Who changed what, and when. Never a ballot. */
        Change: {
            id: string;
            votingEventId: string | null;
            /** @description Null where the service or its operator acted. */
            key: {
                id: string;
                name: string | null;
                hint: string | null;
                accountId: string | null;
                accountName: string | null;
            } | null;
            /** @description Such as `voting_event.updated`. */
            action: string;
            /** @description The ID of what was changed. */
            resource: string;
            /** @description The fields that changed, as they were. */
            before: {
                [key: string]: unknown;
            } | null;
            /** @description The same fields, as they became. */
            after: {
                [key: string]: unknown;
            } | null;
            /** @description Unix time in milliseconds. */
            createdAt: number;
        };
        ChangeCandidatesBody: {
            /** @enum {string} */
            action: "reject" | "delete";
            /** @description 1 to 1,000, each once. */
            candidateIds: string[];
        };
        ChangeVotersBody: {
            /** @enum {string} */
            action: "reject" | "delete";
            /** @description 1 to 1,000, each once. */
            voterIds: string[];
        };
        /** @description In an election */
        CheckElectionVoterBody: {
            /** @description As it was e-mailed; case and dashes do not matter. */
            voterKey: string;
            /** @description Needed where the event requires voter IDs. */
            voterId?: string;
            /**
             * Format: email
             * @description Needed where the key was requested by e-mail.
             */
            email?: string;
        };
        /** @description In a poll */
        CheckPollVisitorBody: {
            /** @description `vi_` and 16 to 128 hexadecimal characters, the same for one visitor every time. */
            visitorId: string;
            /** @description Needed where the poll requires voter IDs. */
            voterId?: string;
            /**
             * Format: email
             * @description Needed where the poll saves voter information, and to pay with `provider_b`.
             */
            email?: string;
        };
        CheckpointProof: {
            /** @enum {string} */
            status: "queued" | "logged";
            /** @description Of its leaf; null while it waits. */
            index: number | null;
            /** @description The inclusion proof (RFC 6962). */
            hashes: string[];
            /** @description The newest checkpoint of the event that has a leaf, as it was signed. */
            checkpoint: string | null;
            /** @description The head of the service’s own log that the proof leads to, with the cosignatures of witnesses. */
            serviceCheckpoint: string | null;
            /**
             * @description The event is being rehearsed: nothing of this counts or lasts. Left out otherwise.
             * @constant
             */
            rehearsal?: true;
        };
        /** @description What the `close` leaf of the log commits to: its `c` is SHA-256("close" ‖ salt ‖ canonical JSON of everything here but the salt). Null before the close. */
        CloseOpening: {
            /** @description 32 random bytes in base64. */
            salt: string;
            title: string;
            /** @description The configuration that was counted by: SHA-256 in hex. */
            config: string;
            ballots: number;
            /** @description An exact decimal. */
            weight: string;
            abstentions: number;
            /** @description Voters who took part; null in polls. */
            participants: number | null;
            /** @description The approved voters; null in polls. */
            electorate: {
                heads: number;
                /** @description An exact decimal. */
                weight: string;
            } | null;
            identityChanges: number;
            rollChanges: number;
            /** @description The canonical JSON of `positions`: SHA-256 in hex. */
            result: string;
        };
        ConfirmBallotBody: {
            confirmationCode: string;
        };
        /** @description A ballot that counts. */
        Confirmation: {
            confirmationCode: string;
            confirmedCount: number;
            totalVotes: number;
            /** @description Unix time in milliseconds. */
            submittedAt: number;
            /** @description Empty when a ballot of a secret event is confirmed again after the close. */
            votes: {
                positionName: string;
                candidateName: string;
            }[];
            /** @description A signed note: the leaf of this ballot will be in the log until the date on its fourth line, a day after it is due there (15 minutes after the end of the event as it stood at the confirm; 24 hours after the confirm in an event without an end). Give it to the voter: a promise past its date without its leaf proves that a ballot was removed. */
            logPromise: string;
            /** @description With `ballot.receipt` full: opens the commitment in the log. */
            salt?: string;
            /**
             * @description The event is being rehearsed: nothing of this counts or lasts. Left out otherwise.
             * @constant
             */
            rehearsal?: true;
        };
        /** @description The hashes that show the first `from` leaves to be the beginning of the first `to` (RFC 6962). */
        ConsistencyProof: {
            from: number;
            to: number;
            hashes: string[];
            /**
             * @description The event is being rehearsed: nothing of this counts or lasts. Left out otherwise.
             * @constant
             */
            rehearsal?: true;
        };
        CopyVotingEventBody: {
            title: string;
            /** @description Whether its voters are copied, too. */
            withVoters: boolean;
        };
        CreateCandidateBody: {
            name: string;
            description?: string | null;
            /** Format: email */
            email?: string | null;
            positionIds: string[];
            groupId?: string | null;
            /**
             * @description What choosing it means in a referendum.
             * @enum {string|null}
             */
            referendumRole?: "yes" | "no" | "abstain" | null;
            /** Format: uri */
            avatarUrl?: string | null;
            /** @enum {string} */
            status?: "pending" | "approved" | "rejected" | "withdrawn";
            /** @description Lower ones come first. */
            sortOrder?: number;
        };
        /** @description An election as a file. */
        CreateFromDefinitionBody: {
            /** @constant */
            version: 1;
            /** @description The settings, as in the creation of an event; what is left out is the default. */
            event: {
                /** @description Names the event in paths, in any case. Made up when left out. */
                code?: string;
                title: string;
                description?: string | null;
                /** @enum {string} */
                type: "election" | "poll";
                /** @description Unix time in milliseconds. */
                startsAt?: number | null;
                /** @description Unix time in milliseconds. */
                endsAt?: number | null;
                /** @description An IANA time zone; UTC when left out. */
                timeZone?: string;
                voter?: {
                    /** @description Whether people are told apart by a voter ID. */
                    requireVoterId?: boolean;
                    /** @description Whether voters may register themselves. */
                    selfRegistration?: boolean;
                    /**
                     * @description How a registered voter is approved: by using a mailed key, or by you.
                     * @enum {string}
                     */
                    approval?: "automatic" | "manual";
                    /** @description For polls: tells participants apart by their e-mail address. */
                    saveVoterInfo?: boolean;
                };
                candidate?: {
                    /** @description Whether candidates may register themselves. */
                    selfRegistration?: boolean;
                };
                ballot?: {
                    /**
                     * @description How the ballot orders candidates.
                     * @enum {string}
                     */
                    candidateOrder?: "fixed" | "shuffled";
                    /**
                     * @description Who may read the openings of the ballot log after the close.
                     * @enum {string}
                     */
                    opening?: "none" | "observer" | "public";
                    /**
                     * @description What a confirmation proves: that a ballot is in the log, or what was in it too.
                     * @enum {string}
                     */
                    receipt?: "inclusion" | "full";
                };
                results?: {
                    /**
                     * @description When the public may read results: never, while voting, or after the close.
                     * @enum {string}
                     */
                    visibility?: "hidden" | "live" | "published";
                };
                log?: {
                    /** @description Whether the ballot log answers without a key. It shows how many ballots were confirmed. */
                    open?: boolean;
                };
                payments?: {
                    /** @description What a ballot of a poll costs. */
                    payToVote?: {
                        /** @description In the smallest unit of the currency. */
                        amountMinor: number;
                        /** @description ISO 4217, lower case. */
                        currency: string;
                    } | null;
                    /** @description What a registration of a candidate costs. */
                    payToRegisterCandidate?: {
                        /** @description In the smallest unit of the currency. */
                        amountMinor: number;
                        /** @description ISO 4217, lower case. */
                        currency: string;
                    } | null;
                    /** @description Whether one visitor may buy any number of ballots. */
                    repeatVotes?: boolean;
                };
                /** @description Where voters vote: mails link to it. Its fragment may hold `{voterKey}`, `{voterId}` and `{email}`, in whose place mails put the own ones of the voter. */
                votingPageUrl?: string | null;
                /**
                 * Format: email
                 * @description How voters reach you: mails of the event show it.
                 */
                contactEmail?: string | null;
                /**
                 * @description The language of the mails of the event; `en` when left out.
                 * @enum {string}
                 */
                language?: "en" | "de" | "es" | "fr";
                /**
                 * Format: uri
                 * @description A picture that mails show. The service itself never fetches it.
                 */
                logoUrl?: string | null;
            };
            groups: {
                name: string;
                description?: string | null;
                /** @description Names the row within the document; an ID of the event’s own row keeps that row. */
                id: string;
            }[];
            positions: {
                title: string;
                description?: string | null;
                /** @enum {string} */
                votingMethod: "plurality" | "approval" | "referendum" | "score" | "cumulative" | "quadratic" | "ranked_choice";
                /** @description Opens the position to the voters of one group alone. */
                groupId?: string | null;
                /** @description Lower ones come first. */
                sortOrder?: number;
                /** @description How many candidates win. */
                seats?: number;
                /** @description How many candidates a ballot must mark at least. */
                minSelections?: number;
                /** @description How many it may mark; null: all of them. */
                maxSelections?: number | null;
                /** @description For `score`; 0 when left out. */
                scoreMin?: number | null;
                /** @description For `score`; 5 when left out. */
                scoreMax?: number | null;
                /** @description For `cumulative`; 10 when left out. */
                cumulativePointBudget?: number | null;
                /** @description For `quadratic`: credits that everybody has; 100 when left out. */
                quadraticBaseCreditBudget?: number | null;
                /** @description For `quadratic` in polls: what more credits cost. */
                quadraticTopUp?: ({
                    /** @constant */
                    pricingModel: "ratio";
                    currency: string;
                    pricePerCreditMinor: number;
                    /** @default 1 */
                    minCredits?: number;
                    /** @default 1000 */
                    maxCredits?: number;
                } | {
                    /** @constant */
                    pricingModel: "tiered";
                    currency: string;
                    tiers: {
                        id: string;
                        label: string;
                        credits: number;
                        amountMinor: number;
                    }[];
                }) | null;
                /**
                 * @description Who wins a tie: nobody alone, one drawn by lot, or the first on the ballot.
                 * @enum {string}
                 */
                tieBreak?: "joint" | "lot" | "candidate_order";
                /** @description For `referendum`: what it takes to pass. */
                rules?: {
                    /**
                     * @default {
                     *       "numerator": 1,
                     *       "denominator": 2,
                     *       "inclusive": false,
                     *       "base": "yes_no"
                     *     }
                     */
                    threshold?: {
                        numerator: number;
                        denominator: number;
                        /** @default false */
                        inclusive?: boolean;
                        /**
                         * @description What the share of yes is taken of: yes and no, those with abstentions, or the electorate.
                         * @default yes_no
                         * @enum {string}
                         */
                        base?: "yes_no" | "answers" | "electorate";
                    };
                    /** @default null */
                    turnoutQuorum?: {
                        numerator: number;
                        denominator: number;
                        /** @default false */
                        inclusive?: boolean;
                    } | null;
                    /** @default null */
                    approvalQuorum?: {
                        numerator: number;
                        denominator: number;
                        /** @default false */
                        inclusive?: boolean;
                    } | null;
                } | null;
                /** @description For `plurality` and `approval`: the share of the answering weight that a winner must exceed. */
                majorityRequired?: {
                    numerator: number;
                    denominator: number;
                } | null;
                /** @description Names the row within the document; an ID of the event’s own row keeps that row. */
                id: string;
            }[];
            candidates: {
                name: string;
                description?: string | null;
                /** Format: email */
                email?: string | null;
                positionIds: string[];
                groupId?: string | null;
                /**
                 * @description What choosing it means in a referendum.
                 * @enum {string|null}
                 */
                referendumRole?: "yes" | "no" | "abstain" | null;
                /** Format: uri */
                avatarUrl?: string | null;
                /** @enum {string} */
                status?: "pending" | "approved" | "rejected" | "withdrawn";
                /** @description Lower ones come first. */
                sortOrder?: number;
                /** @description Names the row within the document; an ID of the event’s own row keeps that row. */
                id: string;
            }[];
            sponsors: {
                name: string;
                /** Format: uri */
                logoUrl?: string | null;
                /** Format: uri */
                websiteUrl?: string | null;
                tier?: string | null;
                /** @description Lower ones come first. */
                sortOrder?: number;
                /** @description Names the row within the document; an ID of the event’s own row keeps that row. */
                id: string;
            }[];
        };
        CreateGroupBody: {
            name: string;
            description?: string | null;
        };
        CreateInviteBody: {
            /** Format: email */
            email: string;
            /** @enum {string} */
            role: "viewer" | "editor";
        };
        CreatePositionBody: {
            title: string;
            description?: string | null;
            /** @enum {string} */
            votingMethod: "plurality" | "approval" | "referendum" | "score" | "cumulative" | "quadratic" | "ranked_choice";
            /** @description Opens the position to the voters of one group alone. */
            groupId?: string | null;
            /** @description Lower ones come first. */
            sortOrder?: number;
            /** @description How many candidates win. */
            seats?: number;
            /** @description How many candidates a ballot must mark at least. */
            minSelections?: number;
            /** @description How many it may mark; null: all of them. */
            maxSelections?: number | null;
            /** @description For `score`; 0 when left out. */
            scoreMin?: number | null;
            /** @description For `score`; 5 when left out. */
            scoreMax?: number | null;
            /** @description For `cumulative`; 10 when left out. */
            cumulativePointBudget?: number | null;
            /** @description For `quadratic`: credits that everybody has; 100 when left out. */
            quadraticBaseCreditBudget?: number | null;
            /** @description For `quadratic` in polls: what more credits cost. */
            quadraticTopUp?: ({
                /** @constant */
                pricingModel: "ratio";
                currency: string;
                pricePerCreditMinor: number;
                /** @default 1 */
                minCredits?: number;
                /** @default 1000 */
                maxCredits?: number;
            } | {
                /** @constant */
                pricingModel: "tiered";
                currency: string;
                tiers: {
                    id: string;
                    label: string;
                    credits: number;
                    amountMinor: number;
                }[];
            }) | null;
            /**
             * @description Who wins a tie: nobody alone, one drawn by lot, or the first on the ballot.
             * @enum {string}
             */
            tieBreak?: "joint" | "lot" | "candidate_order";
            /** @description For `referendum`: what it takes to pass. */
            rules?: {
                /**
                 * @default {
                 *       "numerator": 1,
                 *       "denominator": 2,
                 *       "inclusive": false,
                 *       "base": "yes_no"
                 *     }
                 */
                threshold?: {
                    numerator: number;
                    denominator: number;
                    /** @default false */
                    inclusive?: boolean;
                    /**
                     * @description What the share of yes is taken of: yes and no, those with abstentions, or the electorate.
                     * @default yes_no
                     * @enum {string}
                     */
                    base?: "yes_no" | "answers" | "electorate";
                };
                /** @default null */
                turnoutQuorum?: {
                    numerator: number;
                    denominator: number;
                    /** @default false */
                    inclusive?: boolean;
                } | null;
                /** @default null */
                approvalQuorum?: {
                    numerator: number;
                    denominator: number;
                    /** @default false */
                    inclusive?: boolean;
                } | null;
            } | null;
            /** @description For `plurality` and `approval`: the share of the answering weight that a winner must exceed. */
            majorityRequired?: {
                numerator: number;
                denominator: number;
            } | null;
        };
        CreateSponsorBody: {
            name: string;
            /** Format: uri */
            logoUrl?: string | null;
            /** Format: uri */
            websiteUrl?: string | null;
            tier?: string | null;
            /** @description Lower ones come first. */
            sortOrder?: number;
        };
        CreateVoterBody: {
            name: string;
            /** Format: email */
            email?: string | null;
            voterId?: string | null;
            groupId?: string | null;
            /** @description How much the ballot counts, to six decimals; 1 when left out. */
            weight?: number;
            /** @enum {string} */
            status?: "approved" | "rejected";
        };
        CreateVotersBody: {
            voters: {
                name: string;
                /** Format: email */
                email?: string | null;
                voterId?: string | null;
                groupId?: string | null;
                /** @description How much the ballot counts, to six decimals; 1 when left out. */
                weight?: number;
                /** @enum {string} */
                status?: "approved" | "rejected";
            }[];
        };
        CreateVotingEventBody: {
            /** @description Names the event in paths, in any case. Made up when left out. */
            code?: string;
            title: string;
            description?: string | null;
            /** @enum {string} */
            type: "election" | "poll";
            /** @description Unix time in milliseconds. */
            startsAt?: number | null;
            /** @description Unix time in milliseconds. */
            endsAt?: number | null;
            /** @description An IANA time zone; UTC when left out. */
            timeZone?: string;
            voter?: {
                /** @description Whether people are told apart by a voter ID. */
                requireVoterId?: boolean;
                /** @description Whether voters may register themselves. */
                selfRegistration?: boolean;
                /**
                 * @description How a registered voter is approved: by using a mailed key, or by you.
                 * @enum {string}
                 */
                approval?: "automatic" | "manual";
                /** @description For polls: tells participants apart by their e-mail address. */
                saveVoterInfo?: boolean;
            };
            candidate?: {
                /** @description Whether candidates may register themselves. */
                selfRegistration?: boolean;
            };
            ballot?: {
                /**
                 * @description How the ballot orders candidates.
                 * @enum {string}
                 */
                candidateOrder?: "fixed" | "shuffled";
                /**
                 * @description Who may read the openings of the ballot log after the close.
                 * @enum {string}
                 */
                opening?: "none" | "observer" | "public";
                /**
                 * @description What a confirmation proves: that a ballot is in the log, or what was in it too.
                 * @enum {string}
                 */
                receipt?: "inclusion" | "full";
            };
            results?: {
                /**
                 * @description When the public may read results: never, while voting, or after the close.
                 * @enum {string}
                 */
                visibility?: "hidden" | "live" | "published";
            };
            log?: {
                /** @description Whether the ballot log answers without a key. It shows how many ballots were confirmed. */
                open?: boolean;
            };
            payments?: {
                /** @description What a ballot of a poll costs. */
                payToVote?: {
                    /** @description In the smallest unit of the currency. */
                    amountMinor: number;
                    /** @description ISO 4217, lower case. */
                    currency: string;
                } | null;
                /** @description What a registration of a candidate costs. */
                payToRegisterCandidate?: {
                    /** @description In the smallest unit of the currency. */
                    amountMinor: number;
                    /** @description ISO 4217, lower case. */
                    currency: string;
                } | null;
                /** @description Whether one visitor may buy any number of ballots. */
                repeatVotes?: boolean;
            };
            /** @description Where voters vote: mails link to it. Its fragment may hold `{voterKey}`, `{voterId}` and `{email}`, in whose place mails put the own ones of the voter. */
            votingPageUrl?: string | null;
            /**
             * Format: email
             * @description How voters reach you: mails of the event show it.
             */
            contactEmail?: string | null;
            /**
             * @description The language of the mails of the event; `en` when left out.
             * @enum {string}
             */
            language?: "en" | "de" | "es" | "fr";
            /**
             * Format: uri
             * @description A picture that mails show. The service itself never fetches it.
             */
            logoUrl?: string | null;
        };
        CreateWebhookEndpointBody: {
            /** Format: uri */
            url: string;
            description?: string | null;
            eventTypes: string[];
            /** @description Restricts the endpoint to one event. */
            votingEventCode?: string;
        };
        CreditBalance: {
            positionId: string;
            visitorId: string;
            baseCredits: number;
            purchasedCredits: number;
            /** @description By confirmed ballots that are not void. */
            spentCredits: number;
            /** @description By a ballot that is cast and not confirmed yet. */
            heldCredits: number;
            availableCredits: number;
            /**
             * @description The event is being rehearsed: nothing of this counts or lasts. Left out otherwise.
             * @constant
             */
            rehearsal?: true;
        };
        CreditOptions: {
            positionId: string;
            visitorId: string;
            provider: string;
            currency: string;
            /** @constant */
            pricingModel: "ratio";
            pricePerCreditMinor: number;
            minCredits: number;
            maxCredits: number;
            /**
             * @description The event is being rehearsed: nothing of this counts or lasts. Left out otherwise.
             * @constant
             */
            rehearsal?: true;
        } | {
            positionId: string;
            visitorId: string;
            provider: string;
            currency: string;
            /** @constant */
            pricingModel: "tiered";
            tiers: {
                id: string;
                label: string;
                credits: number;
                amountMinor: number;
                /** @description In the currency's main unit. */
                amount: number;
            }[];
            /**
             * @description The event is being rehearsed: nothing of this counts or lasts. Left out otherwise.
             * @constant
             */
            rehearsal?: true;
        };
        CreditTier: {
            id: string;
            label: string;
            credits: number;
            amountMinor: number;
        };
        /** @description An election as a file. */
        Definition: {
            /** @constant */
            version: 1;
            event: {
                [key: string]: unknown;
            };
            groups: ({
                id: string;
            } & {
                [key: string]: unknown;
            })[];
            positions: ({
                id: string;
            } & {
                [key: string]: unknown;
            })[];
            candidates: ({
                id: string;
            } & {
                [key: string]: unknown;
            })[];
            sponsors: ({
                id: string;
            } & {
                [key: string]: unknown;
            })[];
        };
        DefinitionDifference: {
            /** @enum {string} */
            kind: "event" | "group" | "position" | "candidate" | "sponsor";
            /** @enum {string} */
            action: "created" | "updated" | "deleted";
            id: string;
            /** @description The fields that would change, as they are. */
            before: {
                [key: string]: unknown;
            } | null;
            /** @description The same fields, as they would become. */
            after: {
                [key: string]: unknown;
            } | null;
        };
        Eligibility: {
            eligible: boolean;
            /**
             * @description Where `eligible` is false.
             * @enum {string}
             */
            reason?: "event_not_open" | "event_closed" | "identity_required" | "voter_key_invalid" | "voter_pending" | "voter_rejected" | "already_voted";
            /**
             * @description The event is being rehearsed: nothing of this counts or lasts. Left out otherwise.
             * @constant
             */
            rehearsal?: true;
        };
        /** @description What every refusal looks like. */
        ErrorEnvelope: {
            error: {
                /** @enum {string} */
                code: "bad_request" | "unauthorized" | "insufficient_scope" | "forbidden" | "not_found" | "conflict" | "validation_error" | "idempotency_mismatch" | "plan_limit" | "rate_limited" | "internal";
                /** @description For people; do not parse it. */
                message: string;
                details?: {
                    /** @description What is wrong, such as `votes[2].rank`. */
                    field?: string;
                    /** @description All that is wrong with a body, at most 50. */
                    issues?: {
                        field: string;
                        message: string;
                    }[];
                    /** @description Why, for programs. */
                    reason?: string;
                } & {
                    [key: string]: unknown;
                };
                /** @description The same as the header X-Request-Id. */
                requestId: string;
                /** @description Where the reference tells of this code or reason. */
                docUrl: string;
            };
        };
        /** @description The settings a voting page is built from. */
        EventContext: {
            id: string;
            code: string;
            title: string;
            description: string | null;
            /** @enum {string} */
            type: "election" | "poll";
            /**
             * @description Derived at the moment of the request from what is stored and the clock. A rehearsal is shown as `open`.
             * @enum {string}
             */
            status: "draft" | "scheduled" | "open" | "closed";
            /** @description Unix time in milliseconds. */
            startsAt: number | null;
            /** @description Unix time in milliseconds. */
            endsAt: number | null;
            timeZone: string;
            /** @description The methods of the positions, each once. */
            votingMethods: string[];
            voter: {
                requireVoterId: boolean;
                selfRegistration: boolean;
                saveVoterInfo: boolean;
                /**
                 * @description By what a poll tells two participants apart; null for elections.
                 * @enum {string|null}
                 */
                pollIdentity: "visitor_id" | "email" | "voter_id" | null;
                /**
                 * @description What a cast must carry.
                 * @enum {string}
                 */
                identity: "voter_key" | "visitor_id";
            };
            candidate: {
                selfRegistration: boolean;
            };
            results: {
                /** @enum {string} */
                visibility: "hidden" | "live" | "published";
                /** @description Whether GET …/results would answer now. */
                available: boolean;
            };
            payments: {
                /** @description Whether a cast begins a checkout. */
                required: boolean;
                /** @enum {string|null} */
                provider: "provider_a" | "provider_b" | null;
                /** @description False where the linked business takes play money; null where none is linked. */
                livemode: boolean | null;
                payToVote: components["schemas"]["Price"] | null;
                payToRegisterCandidate: components["schemas"]["Price"] | null;
                /** @description Whether one visitor may pay for and confirm any number of ballots. */
                repeatVotes: boolean;
                /** @description Whether credits can be bought. */
                quadraticCredits: boolean;
            };
            /**
             * @description Derived: elections are secret, polls pseudonymous, paid polls identified.
             * @enum {string}
             */
            secrecy: "secret" | "pseudonymous" | "identified";
            ballot: {
                /** @enum {string} */
                candidateOrder: "fixed" | "shuffled";
                /**
                 * @description Who may read the openings of the ballot log after the close.
                 * @enum {string}
                 */
                opening: "none" | "observer" | "public";
                /**
                 * @description What a confirmation proves: that a ballot is in the log, or what was in it too.
                 * @enum {string}
                 */
                receipt: "inclusion" | "full";
            };
            /**
             * @description The event is being rehearsed: nothing of this counts or lasts. Left out otherwise.
             * @constant
             */
            rehearsal?: true;
        };
        EventStats: {
            votingEventId: string;
            /**
             * @description Derived at the moment of the request from what is stored and the clock.
             * @enum {string}
             */
            status: "draft" | "scheduled" | "open" | "closed" | "rehearsal";
            voters: {
                total: number;
                pending: number;
                approved: number;
                rejected: number;
                voted: number;
                weight: number;
                votedWeight: number;
            };
            /** @description From 0 to 1. */
            turnout: {
                heads: number;
                weight: number;
            };
            ballots: {
                cast: number;
                confirmed: number;
            };
            votes: {
                total: number;
            };
            positions: number;
            candidates: {
                total: number;
                pending: number;
                approved: number;
                rejected: number;
            };
            groups: number;
            sponsors: number;
            payments: {
                attempts: number;
                succeeded: number;
                fulfilled: number;
                refunded: number;
                revenue: {
                    currency: string;
                    amountMinor: number;
                }[];
            };
            byPosition: {
                positionId: string;
                ballots: number;
                abstentions: number;
            }[];
            byGroup: {
                groupId: string;
                name: string;
                voters: number;
                voted: number;
            }[];
            /** @description Changes of a voter’s e-mail or voter ID after the opening. */
            identityChanges: number;
            /** @description Changes of a voter’s weight, group or status after the opening, and deletions. */
            rollChanges: number;
            /** @description In secret events who voted is shown at least `everyBallots` voters at a time; `waiting`: somebody voted who is not shown yet. Null where nothing is kept back. */
            disclosure: {
                everyBallots: number;
                waiting: boolean;
            } | null;
            /** @description Unix time in milliseconds. */
            updatedAt: number;
        };
        /** @description The second call of a checkout: the attempt alone */
        FinishPaymentBody: {
            paymentAttemptId: string;
        };
        Fraction: {
            numerator: number;
            denominator: number;
            /** @description Whether reaching it exactly is enough. */
            inclusive: boolean;
        };
        /** @description A group of voters and candidates. */
        Group: {
            id: string;
            votingEventId: string;
            name: string;
            description: string | null;
            /** @description Unix time in milliseconds. */
            createdAt: number;
            /** @description Unix time in milliseconds. */
            updatedAt: number;
        };
        Health: {
            /** @enum {string} */
            status: "ok" | "unavailable";
            version: string;
            uptimeMs: number;
            checks: {
                /** @enum {string} */
                database: "ok" | "failed" | "off";
                /** @enum {string} */
                worker: "ok" | "failed" | "off";
                /** @enum {string} */
                migrations: "ok" | "failed" | "off";
            };
        };
        ImportRollBody: {
            /**
             * @description `all`: every row or none. `partial`: every row that can be taken.
             * @enum {string}
             */
            mode: "all" | "partial";
            /** @description Only says what would become of the rows. */
            dryRun?: boolean;
            voters: components["schemas"]["CreateVoterBody"][];
        };
        ImportedRoll: {
            /** @description Rows that are voters now, or would be. */
            accepted: number;
            /** @description Rows that were not taken, at most 1,000 of them, each with the first thing that is wrong. */
            rejected: {
                index: number;
                field: string;
                message: string;
            }[];
            rejectedCount: number;
        };
        /** @description An event shared with the account of an invited person. Its token is in the e-mail alone. */
        Invite: {
            id: string;
            votingEventId: string;
            email: string;
            /** @enum {string} */
            role: "viewer" | "editor";
            /** @enum {string} */
            status: "pending" | "accepted" | "expired";
            acceptedBy: {
                accountId: string;
                name: string | null;
            } | null;
            /** @description Unix time in milliseconds. */
            acceptedAt: number | null;
            /** @description Unix time in milliseconds. */
            expiresAt: number;
            /** @description Unix time in milliseconds. */
            createdAt: number;
        };
        LinkPaymentBusinessBody: {
            paymentBusinessId: string;
        };
        /** @description What the last `open` or `config` leaf binds by its hash: positions and candidates in the order of their IDs. */
        LogConfiguration: {
            /** @constant */
            v: 2;
            title: string;
            /** @enum {string} */
            type: "election" | "poll";
            /** @description Unix time in milliseconds. */
            startsAt: number | null;
            /** @description Unix time in milliseconds. */
            endsAt: number | null;
            voter: {
                requireVoterId: boolean;
                selfRegistration: boolean;
                /** @enum {string} */
                approval: "automatic" | "manual";
                saveVoterInfo: boolean;
            };
            ballot: {
                /**
                 * @description Who may read the openings of the ballot log after the close.
                 * @enum {string}
                 */
                opening: "none" | "observer" | "public";
                /**
                 * @description What a confirmation proves: that a ballot is in the log, or what was in it too.
                 * @enum {string}
                 */
                receipt: "inclusion" | "full";
            };
            repeatVotes: boolean;
            positions: {
                id: string;
                title: string;
                /** @enum {string} */
                votingMethod: "plurality" | "approval" | "referendum" | "score" | "cumulative" | "quadratic" | "ranked_choice";
                groupId: string | null;
                seats: number;
                minSelections: number;
                maxSelections: number;
                scoreMin: number | null;
                scoreMax: number | null;
                cumulativePointBudget: number | null;
                quadraticBaseCreditBudget: number | null;
                /** @enum {string} */
                tieBreak: "joint" | "lot" | "candidate_order";
                /** @description Of a referendum; null for every other method. */
                rules: {
                    threshold: components["schemas"]["Threshold"];
                    turnoutQuorum: components["schemas"]["Fraction"] | null;
                    approvalQuorum: components["schemas"]["Fraction"] | null;
                } | null;
                /** @description For plurality and approval: the share of the answering weight that a winner must exceed. */
                majorityRequired: components["schemas"]["Majority"] | null;
            }[];
            candidates: {
                id: string;
                name: string;
                positionIds: string[];
                /**
                 * @description What a choice of this candidate means in a referendum.
                 * @enum {string|null}
                 */
                referendumRole: "yes" | "no" | "abstain" | null;
                /** @enum {string} */
                status: "pending" | "approved" | "rejected" | "withdrawn";
                sortOrder: number;
            }[];
        };
        Majority: {
            numerator: number;
            denominator: number;
        };
        /** @description The votes whose change changes a winner. */
        Margin: {
            /** @description An exact decimal. */
            votes: string;
            exact: boolean;
            /**
             * @description The true margin is at least (`lower`) or at most (`upper`) this; null where it is exact.
             * @enum {string|null}
             */
            bound: "lower" | "upper" | null;
        };
        Me: {
            account: {
                id: string;
                name: string;
                plan: string;
            };
            key: {
                id: string;
                name: string;
                /** @description The prefix and the last characters, to recognise a key by. */
                hint: string;
                scopes: ("read" | "write" | "vote" | "observe" | "log")[];
                /** @description Unix time in milliseconds. */
                expiresAt: number | null;
                /** @description Unix time in milliseconds. */
                createdAt: number;
            };
        };
        /** @description Mails to many voters. Of mails to those who have not voted, all count as `sent` until the result is final: who was left out had voted. */
        Notification: {
            id: string;
            /** @enum {string} */
            kind: "key" | "reminder";
            /** @enum {string} */
            audience: "all" | "not_invited" | "not_voted";
            /** @description Voters of the audience with an e-mail address. */
            total: number;
            sent: number;
            /** @description Refused by the receiving side, or given up after two days. */
            failed: number;
            /** @description Had a mail of this kind a short time ago, left the audience before their turn, or were over a limit of mails. */
            skipped: number;
            /** @description Unix time in milliseconds. */
            startedAt: number;
            /** @description Unix time in milliseconds. */
            finishedAt: number | null;
        };
        NotifyVotersBody: {
            /**
             * @description Approved voters with an e-mail address: `all` of them, those without a valid voter key, or those who have not voted.
             * @enum {string}
             */
            audience: "all" | "not_invited" | "not_voted";
            /**
             * @description `key`: the invitation with the voter key. `reminder`: a reminder, with a further key.
             * @enum {string}
             */
            kind: "key" | "reminder";
        };
        /** @description One payment, from the first call to its end, with what the provider calls it. */
        OrganizerPaymentAttempt: {
            id: string;
            votingEventId: string;
            /** @enum {string} */
            purpose: "vote" | "candidate_registration" | "quadratic_credits";
            /** @enum {string} */
            status: "created" | "pending" | "succeeded" | "fulfilled" | "failed" | "cancelled";
            /** @enum {string} */
            provider: "provider_a" | "provider_b";
            /** @description False where the money is play money: a business in test mode. */
            livemode: boolean;
            amountMinor: number;
            currency: string;
            /** @description Once a paid ballot has been cast. */
            confirmationCode: string | null;
            /** @description Unix time in milliseconds. */
            createdAt: number;
            /** @description Unix time in milliseconds. */
            updatedAt: number;
            /** @description Unix time in milliseconds. */
            refundedAt: number | null;
            /** @description When the payer took the money back at the provider. */
            reversedAt: number | null;
            /** @description Once the provider has taken money. */
            providerDetails: {
                /** @description Which of the references of the attempt was paid. */
                reference: string | null;
                paymentId: string;
                /** @description Unix time in milliseconds. */
                paidAt: number | null;
                /** @description The provider's fee, in the payment's currency; null where it does not say, or says it in another currency. It may come a day after the payment. */
                feeMinor: number | null;
                livemode: boolean;
            } | null;
            /** @description Once the payment was given back, or is to be. */
            refund: {
                /**
                 * @description `needs_attention`: it waits for the merchant at the provider. `failed`: the provider did not give it back in 30 days, or the money came back to the merchant later: pay it back by hand. `partially_refunded`: you gave a part back at the provider; what was bought stays.
                 * @enum {string}
                 */
                status: "pending" | "needs_attention" | "refunded" | "failed" | "partially_refunded";
                /** @description What goes back: with the fees that the payer bore, where the provider adds them; a part only where the status says so. */
                amountMinor: number;
                /** @description Unix time in milliseconds. */
                requestedAt: number;
                /** @description When the payer had it back: `refundedAt`. */
                finishedAt: number | null;
            } | null;
        };
        Pairwise: {
            candidateIds: string[];
            /** @description `table[a][b]`: the weight of the ballots that rank candidate a above candidate b. */
            table: string[][];
            /** @description Who is preferred to every other candidate. */
            condorcetWinner: string | null;
        };
        /** @description One payment, from the first call to its end. */
        PaymentAttempt: {
            id: string;
            votingEventId: string;
            /** @enum {string} */
            purpose: "vote" | "candidate_registration" | "quadratic_credits";
            /** @enum {string} */
            status: "created" | "pending" | "succeeded" | "fulfilled" | "failed" | "cancelled";
            /** @enum {string} */
            provider: "provider_a" | "provider_b";
            /** @description False where the money is play money: a business in test mode. */
            livemode: boolean;
            amountMinor: number;
            currency: string;
            /** @description Once a paid ballot has been cast. */
            confirmationCode: string | null;
            /** @description Unix time in milliseconds. */
            createdAt: number;
            /** @description Unix time in milliseconds. */
            updatedAt: number;
            /** @description Unix time in milliseconds. */
            refundedAt: number | null;
            /** @description When the payer took the money back at the provider. */
            reversedAt: number | null;
            /**
             * @description The event is being rehearsed: nothing of this counts or lasts. Left out otherwise.
             * @constant
             */
            rehearsal?: true;
        };
        /** @description A merchant at a payment provider. */
        PaymentBusiness: {
            id: string;
            /** @enum {string} */
            provider: "provider_a" | "provider_b";
            displayName: string;
            country: string;
            /** @description Link it only when it is ready. */
            ready: boolean;
            supportedCurrencies: string[];
        };
        /** @description Where to send the payer. */
        PaymentRequired: {
            /** @constant */
            paymentRequired: true;
            /** @description Send it back to finish. */
            paymentAttemptId: string;
            /** @description In the currency's main unit. */
            amount: number;
            currency: string;
            /**
             * @description Says which of the two objects is present.
             * @enum {string}
             */
            provider: "provider_a" | "provider_b";
            provider_a?: {
                /** @description The hosted page; valid for one hour. */
                checkoutUrl: string;
                checkoutSessionId: string;
            };
            provider_b?: {
                /** @description The hosted page. */
                checkoutUrl: string;
                accessCode: string;
                reference: string;
            };
            /** @description Credit checkouts only. */
            credits?: number;
            /**
             * @description Credit checkouts only.
             * @enum {string}
             */
            pricingModel?: "ratio" | "tiered";
            /** @description What to do now, for people. */
            next: string;
            /**
             * @description On a second call: how the payment stands.
             * @enum {string}
             */
            status?: "created" | "pending" | "succeeded" | "fulfilled" | "failed" | "cancelled";
            /**
             * @description The event is being rehearsed: nothing of this counts or lasts. Left out otherwise.
             * @constant
             */
            rehearsal?: true;
        };
        /** @description A question on the ballot with its voting method. */
        Position: {
            id: string;
            votingEventId: string;
            title: string;
            description: string | null;
            /** @enum {string} */
            votingMethod: "plurality" | "approval" | "referendum" | "score" | "cumulative" | "quadratic" | "ranked_choice";
            groupId: string | null;
            sortOrder: number;
            seats: number;
            minSelections: number;
            maxSelections: number;
            scoreMin: number | null;
            scoreMax: number | null;
            cumulativePointBudget: number | null;
            quadraticBaseCreditBudget: number | null;
            quadraticTopUp: components["schemas"]["QuadraticTopUp"] | null;
            /** @enum {string} */
            tieBreak: "joint" | "lot" | "candidate_order";
            /** @description Of a referendum; null for every other method. */
            rules: {
                threshold: components["schemas"]["Threshold"];
                turnoutQuorum: components["schemas"]["Fraction"] | null;
                approvalQuorum: components["schemas"]["Fraction"] | null;
            } | null;
            /** @description For plurality and approval: the share of the answering weight that a winner must exceed. */
            majorityRequired: components["schemas"]["Majority"] | null;
            /** @description Unix time in milliseconds. */
            createdAt: number;
            /** @description Unix time in milliseconds. */
            updatedAt: number;
        };
        PositionResult: {
            id: string;
            title: string;
            /** @enum {string} */
            votingMethod: "plurality" | "approval" | "referendum" | "score" | "cumulative" | "quadratic" | "ranked_choice";
            seats: number;
            /** @description Seats that nobody won. */
            vacantSeats: number;
            totalVotes: number;
            /** @description Ballots that answered this position. */
            ballots: number;
            /** @description Ballots that could have answered and did not. */
            abstentions: number;
            candidates: {
                id: string;
                name: string;
                votesWon: number;
                /** @description An exact decimal. */
                weightWon: string;
                winner: boolean;
                tied: boolean;
            }[];
            winners: string[];
            /** @description Who came nearest to a seat without winning one. */
            runnerUp: string | null;
            /** @description Where a required majority left a seat open: who goes into a runoff. */
            runoff: string[] | null;
            margin: components["schemas"]["Margin"] | null;
            tie: components["schemas"]["Tie"] | null;
            /** @description Of a ranked count. Null too where there are more than 2,000 tallies in them. */
            rounds: components["schemas"]["Round"][] | null;
            /** @description The rounds are too many for this answer: read them from `…/results/rounds`. */
            roundsOmitted: boolean;
            /** @description Of a ranked count: how many ballots name each candidate first; candidates without any are left out. */
            firstChoices: {
                candidateId: string;
                votesWon: number;
                /** @description An exact decimal. */
                weightWon: string;
            }[] | null;
            /** @description Of a ranked count with up to 50 candidates. */
            pairwise: components["schemas"]["Pairwise"] | null;
            /** @description Of an instant runoff: the last two, when it is counted on past a majority. */
            finalTwo: {
                candidateId: string;
                votesWon: number;
                /** @description An exact decimal. */
                weightWon: string;
            }[] | null;
            referendum: components["schemas"]["ReferendumResult"] | null;
        };
        /** @description An amount in the currency's smallest unit, and its lowercase ISO 4217 code. */
        Price: {
            amountMinor: number;
            currency: string;
        };
        ProveBallotBody: {
            confirmationCode: string;
        };
        /** @description What more credits cost. */
        QuadraticTopUp: {
            /** @constant */
            pricingModel: "ratio";
            currency: string;
            pricePerCreditMinor: number;
            minCredits: number;
            maxCredits: number;
        } | {
            /** @constant */
            pricingModel: "tiered";
            currency: string;
            tiers: components["schemas"]["CreditTier"][];
        };
        /** @description Work that is done within seconds. */
        Queued: {
            id: string;
            /** @constant */
            status: "queued";
        };
        QueuedMails: {
            id: string;
            /** @description Voters who will be mailed: an estimate where the roll has more than 200,000. */
            queued: number;
        };
        ReferendumResult: {
            /** @description An exact decimal. */
            yes: string;
            /** @description An exact decimal. */
            no: string;
            /** @description An exact decimal. */
            abstain: string;
            /** @description An exact decimal. */
            electorate: string | null;
            rules: {
                /** @enum {string} */
                name: "threshold" | "turnout_quorum" | "approval_quorum";
                required: string;
                actual: string;
                met: boolean;
            }[];
            /** @enum {string} */
            outcome: "passed" | "rejected" | "no_quorum";
        };
        /** @description A candidate; the first call where registration is paid */
        RegisterCandidateBody: {
            /**
             * Format: uri
             * @description Where a payer comes back to.
             */
            returnUrl?: string;
            /**
             * Format: uri
             * @description Where a payer goes who changes their mind.
             */
            cancelUrl?: string;
            name: string;
            positionIds: string[];
            /** Format: email */
            email?: string;
            groupId?: string;
            /** Format: uri */
            avatarUrl?: string;
        };
        RegisterVoterBody: {
            name: string;
            /** Format: email */
            email: string;
            voterId?: string;
            groupId?: string;
        };
        RegisteredCandidate: {
            id: string;
            name: string;
            positionIds: string[];
            avatarUrl: string | null;
            /** @enum {string} */
            status: "pending" | "approved" | "rejected" | "withdrawn";
            /**
             * @description The event is being rehearsed: nothing of this counts or lasts. Left out otherwise.
             * @constant
             */
            rehearsal?: true;
        };
        RegisteredVoter: {
            id: string;
            name: string;
            email: string | null;
            voterId: string | null;
            /** @enum {string} */
            status: "pending" | "approved" | "rejected";
            weight: number;
            /**
             * @description The event is being rehearsed: nothing of this counts or lasts. Left out otherwise.
             * @constant
             */
            rehearsal?: true;
        };
        /** @description An election as a file. */
        ReplaceDefinitionBody: {
            /** @constant */
            version: 1;
            /** @description The settings, as in the creation of an event; what is left out is the default. */
            event: {
                /** @description Names the event in paths, in any case. Made up when left out. */
                code?: string;
                title: string;
                description?: string | null;
                /** @enum {string} */
                type: "election" | "poll";
                /** @description Unix time in milliseconds. */
                startsAt?: number | null;
                /** @description Unix time in milliseconds. */
                endsAt?: number | null;
                /** @description An IANA time zone; UTC when left out. */
                timeZone?: string;
                voter?: {
                    /** @description Whether people are told apart by a voter ID. */
                    requireVoterId?: boolean;
                    /** @description Whether voters may register themselves. */
                    selfRegistration?: boolean;
                    /**
                     * @description How a registered voter is approved: by using a mailed key, or by you.
                     * @enum {string}
                     */
                    approval?: "automatic" | "manual";
                    /** @description For polls: tells participants apart by their e-mail address. */
                    saveVoterInfo?: boolean;
                };
                candidate?: {
                    /** @description Whether candidates may register themselves. */
                    selfRegistration?: boolean;
                };
                ballot?: {
                    /**
                     * @description How the ballot orders candidates.
                     * @enum {string}
                     */
                    candidateOrder?: "fixed" | "shuffled";
                    /**
                     * @description Who may read the openings of the ballot log after the close.
                     * @enum {string}
                     */
                    opening?: "none" | "observer" | "public";
                    /**
                     * @description What a confirmation proves: that a ballot is in the log, or what was in it too.
                     * @enum {string}
                     */
                    receipt?: "inclusion" | "full";
                };
                results?: {
                    /**
                     * @description When the public may read results: never, while voting, or after the close.
                     * @enum {string}
                     */
                    visibility?: "hidden" | "live" | "published";
                };
                log?: {
                    /** @description Whether the ballot log answers without a key. It shows how many ballots were confirmed. */
                    open?: boolean;
                };
                payments?: {
                    /** @description What a ballot of a poll costs. */
                    payToVote?: {
                        /** @description In the smallest unit of the currency. */
                        amountMinor: number;
                        /** @description ISO 4217, lower case. */
                        currency: string;
                    } | null;
                    /** @description What a registration of a candidate costs. */
                    payToRegisterCandidate?: {
                        /** @description In the smallest unit of the currency. */
                        amountMinor: number;
                        /** @description ISO 4217, lower case. */
                        currency: string;
                    } | null;
                    /** @description Whether one visitor may buy any number of ballots. */
                    repeatVotes?: boolean;
                };
                /** @description Where voters vote: mails link to it. Its fragment may hold `{voterKey}`, `{voterId}` and `{email}`, in whose place mails put the own ones of the voter. */
                votingPageUrl?: string | null;
                /**
                 * Format: email
                 * @description How voters reach you: mails of the event show it.
                 */
                contactEmail?: string | null;
                /**
                 * @description The language of the mails of the event; `en` when left out.
                 * @enum {string}
                 */
                language?: "en" | "de" | "es" | "fr";
                /**
                 * Format: uri
                 * @description A picture that mails show. The service itself never fetches it.
                 */
                logoUrl?: string | null;
            };
            groups: {
                name: string;
                description?: string | null;
                /** @description Names the row within the document; an ID of the event’s own row keeps that row. */
                id: string;
            }[];
            positions: {
                title: string;
                description?: string | null;
                /** @enum {string} */
                votingMethod: "plurality" | "approval" | "referendum" | "score" | "cumulative" | "quadratic" | "ranked_choice";
                /** @description Opens the position to the voters of one group alone. */
                groupId?: string | null;
                /** @description Lower ones come first. */
                sortOrder?: number;
                /** @description How many candidates win. */
                seats?: number;
                /** @description How many candidates a ballot must mark at least. */
                minSelections?: number;
                /** @description How many it may mark; null: all of them. */
                maxSelections?: number | null;
                /** @description For `score`; 0 when left out. */
                scoreMin?: number | null;
                /** @description For `score`; 5 when left out. */
                scoreMax?: number | null;
                /** @description For `cumulative`; 10 when left out. */
                cumulativePointBudget?: number | null;
                /** @description For `quadratic`: credits that everybody has; 100 when left out. */
                quadraticBaseCreditBudget?: number | null;
                /** @description For `quadratic` in polls: what more credits cost. */
                quadraticTopUp?: ({
                    /** @constant */
                    pricingModel: "ratio";
                    currency: string;
                    pricePerCreditMinor: number;
                    /** @default 1 */
                    minCredits?: number;
                    /** @default 1000 */
                    maxCredits?: number;
                } | {
                    /** @constant */
                    pricingModel: "tiered";
                    currency: string;
                    tiers: {
                        id: string;
                        label: string;
                        credits: number;
                        amountMinor: number;
                    }[];
                }) | null;
                /**
                 * @description Who wins a tie: nobody alone, one drawn by lot, or the first on the ballot.
                 * @enum {string}
                 */
                tieBreak?: "joint" | "lot" | "candidate_order";
                /** @description For `referendum`: what it takes to pass. */
                rules?: {
                    /**
                     * @default {
                     *       "numerator": 1,
                     *       "denominator": 2,
                     *       "inclusive": false,
                     *       "base": "yes_no"
                     *     }
                     */
                    threshold?: {
                        numerator: number;
                        denominator: number;
                        /** @default false */
                        inclusive?: boolean;
                        /**
                         * @description What the share of yes is taken of: yes and no, those with abstentions, or the electorate.
                         * @default yes_no
                         * @enum {string}
                         */
                        base?: "yes_no" | "answers" | "electorate";
                    };
                    /** @default null */
                    turnoutQuorum?: {
                        numerator: number;
                        denominator: number;
                        /** @default false */
                        inclusive?: boolean;
                    } | null;
                    /** @default null */
                    approvalQuorum?: {
                        numerator: number;
                        denominator: number;
                        /** @default false */
                        inclusive?: boolean;
                    } | null;
                } | null;
                /** @description For `plurality` and `approval`: the share of the answering weight that a winner must exceed. */
                majorityRequired?: {
                    numerator: number;
                    denominator: number;
                } | null;
                /** @description Names the row within the document; an ID of the event’s own row keeps that row. */
                id: string;
            }[];
            candidates: {
                name: string;
                description?: string | null;
                /** Format: email */
                email?: string | null;
                positionIds: string[];
                groupId?: string | null;
                /**
                 * @description What choosing it means in a referendum.
                 * @enum {string|null}
                 */
                referendumRole?: "yes" | "no" | "abstain" | null;
                /** Format: uri */
                avatarUrl?: string | null;
                /** @enum {string} */
                status?: "pending" | "approved" | "rejected" | "withdrawn";
                /** @description Lower ones come first. */
                sortOrder?: number;
                /** @description Names the row within the document; an ID of the event’s own row keeps that row. */
                id: string;
            }[];
            sponsors: {
                name: string;
                /** Format: uri */
                logoUrl?: string | null;
                /** Format: uri */
                websiteUrl?: string | null;
                tier?: string | null;
                /** @description Lower ones come first. */
                sortOrder?: number;
                /** @description Names the row within the document; an ID of the event’s own row keeps that row. */
                id: string;
            }[];
        };
        RequestVoterKeyBody: {
            voterId?: string;
            /** Format: email */
            email?: string;
        };
        ResultRounds: {
            positionId: string;
            rounds: components["schemas"]["Round"][];
            /** @description What to ask for next as `fromRound`; null at the end. */
            nextRound: number | null;
            /**
             * @description The event is being rehearsed: nothing of this counts or lasts. Left out otherwise.
             * @constant
             */
            rehearsal?: true;
        };
        Results: {
            votingEventId: string;
            title: string;
            /** @description True once no ballot can come any more. */
            final: boolean;
            /** @description True while the ballots or their log are not what was signed: a close that they do not agree with is not written, and the operator is alarmed until it is mended. */
            disputed: boolean;
            /** @description Unix time in milliseconds. */
            asOf: number;
            stats: {
                totalVotes: number;
                ballots: number;
                /** @description Votes of all ballots together. */
                entries: number;
                abstentions: number;
                /** @description Weight of the approved voters; null in polls. */
                electorate: number | null;
                /** @description From 0 to 1, by weight; null in polls. */
                turnout: number | null;
                /** @description Changes of a voter’s e-mail or voter ID after the opening. */
                identityChanges: number;
                /** @description Changes of a voter’s weight, group or status after the opening, and deletions. */
                rollChanges: number;
                /** @description In secret events who voted is shown at least `everyBallots` voters at a time; `waiting`: somebody voted who is not shown yet. Null where nothing is kept back. */
                disclosure: {
                    everyBallots: number;
                    waiting: boolean;
                } | null;
            };
            positions: components["schemas"]["PositionResult"][];
            /** @description What is left of a final result without the ballots whose payment was reversed after it; null without such a reversal. The figures of the result itself stay those of the close. */
            afterReversals: {
                ballots: number;
                positions: components["schemas"]["PositionResult"][];
            } | null;
            /** @description Turnout of the groups with at least 5 voters, once the result is final. */
            byGroup: {
                groupId: string;
                voters: number;
                voted: number;
            }[] | null;
            /** @description The ballot log at this moment. */
            log: {
                size: number;
                /** @description In base64. */
                rootHash: string;
                close: components["schemas"]["CloseOpening"] | null;
            };
            lot: {
                /** @description SHA-256 of the seed in hex, told from the opening on. */
                seedHash: string | null;
                /** @description The seed that lots are drawn from, told once the result is final. */
                seed: string | null;
                /** @description Root of the log before its close leaf in hex, which lots are drawn from too. */
                root: string | null;
            };
            /**
             * @description The event is being rehearsed: nothing of this counts or lasts. Left out otherwise.
             * @constant
             */
            rehearsal?: true;
        };
        /** @description One round of a ranked count. */
        Round: {
            round: number;
            /** @description An exact decimal. */
            threshold: string;
            tallies: {
                candidateId: string;
                votesWon: number;
                /** @description An exact decimal. */
                weightWon: string;
            }[];
            /** @description The standing candidates beyond the 200 that are listed, summed up. */
            others: {
                candidates: number;
                votesWon: number;
                /** @description An exact decimal. */
                weightWon: string;
            } | null;
            /** @description An exact decimal. */
            exhausted: string;
            /** @description Weight that cutting down to five decimals has lost so far. */
            roundingLoss: string;
            elected: string[];
            eliminated: string[];
            transfers: {
                from: string;
                to: string | null;
                /** @description An exact decimal. */
                weight: string;
            }[];
            tie: components["schemas"]["Tie"] | null;
            /** @description A tie was decided by `sortOrder` because the lot is drawn later: what follows may still change. */
            provisional: boolean;
        };
        Service: {
            company: string;
            website: string;
            api_doc: string;
            status_page: string;
        };
        /** @description Who supports an event. */
        Sponsor: {
            id: string;
            votingEventId: string;
            name: string;
            logoUrl: string | null;
            websiteUrl: string | null;
            tier: string | null;
            sortOrder: number;
            /** @description Unix time in milliseconds. */
            createdAt: number;
            /** @description Unix time in milliseconds. */
            updatedAt: number;
        };
        Threshold: {
            numerator: number;
            denominator: number;
            /** @description Whether reaching it exactly is enough. */
            inclusive: boolean;
            /**
             * @description What the share of yes is taken of: yes and no, those with abstentions, or the electorate.
             * @enum {string}
             */
            base: "yes_no" | "answers" | "electorate";
        };
        Tie: {
            candidateIds: string[];
            /**
             * @description What decided it.
             * @enum {string}
             */
            policy: "joint" | "lot" | "candidate_order" | "earlier_round";
            seed: string | null;
        };
        UpdateCandidateBody: {
            name?: string;
            description?: string | null;
            /** Format: email */
            email?: string | null;
            positionIds?: string[];
            groupId?: string | null;
            /**
             * @description What choosing it means in a referendum.
             * @enum {string|null}
             */
            referendumRole?: "yes" | "no" | "abstain" | null;
            /** Format: uri */
            avatarUrl?: string | null;
            /** @enum {string} */
            status?: "pending" | "approved" | "rejected" | "withdrawn";
            /** @description Lower ones come first. */
            sortOrder?: number;
        };
        UpdateGroupBody: {
            name?: string;
            description?: string | null;
        };
        UpdatePositionBody: {
            title?: string;
            description?: string | null;
            /** @enum {string} */
            votingMethod?: "plurality" | "approval" | "referendum" | "score" | "cumulative" | "quadratic" | "ranked_choice";
            /** @description Opens the position to the voters of one group alone. */
            groupId?: string | null;
            /** @description Lower ones come first. */
            sortOrder?: number;
            /** @description How many candidates win. */
            seats?: number;
            /** @description How many candidates a ballot must mark at least. */
            minSelections?: number;
            /** @description How many it may mark; null: all of them. */
            maxSelections?: number | null;
            /** @description For `score`; 0 when left out. */
            scoreMin?: number | null;
            /** @description For `score`; 5 when left out. */
            scoreMax?: number | null;
            /** @description For `cumulative`; 10 when left out. */
            cumulativePointBudget?: number | null;
            /** @description For `quadratic`: credits that everybody has; 100 when left out. */
            quadraticBaseCreditBudget?: number | null;
            /** @description For `quadratic` in polls: what more credits cost. */
            quadraticTopUp?: ({
                /** @constant */
                pricingModel: "ratio";
                currency: string;
                pricePerCreditMinor: number;
                /** @default 1 */
                minCredits?: number;
                /** @default 1000 */
                maxCredits?: number;
            } | {
                /** @constant */
                pricingModel: "tiered";
                currency: string;
                tiers: {
                    id: string;
                    label: string;
                    credits: number;
                    amountMinor: number;
                }[];
            }) | null;
            /**
             * @description Who wins a tie: nobody alone, one drawn by lot, or the first on the ballot.
             * @enum {string}
             */
            tieBreak?: "joint" | "lot" | "candidate_order";
            /** @description For `referendum`: what it takes to pass. */
            rules?: {
                /**
                 * @default {
                 *       "numerator": 1,
                 *       "denominator": 2,
                 *       "inclusive": false,
                 *       "base": "yes_no"
                 *     }
                 */
                threshold?: {
                    numerator: number;
                    denominator: number;
                    /** @default false */
                    inclusive?: boolean;
                    /**
                     * @description What the share of yes is taken of: yes and no, those with abstentions, or the electorate.
                     * @default yes_no
                     * @enum {string}
                     */
                    base?: "yes_no" | "answers" | "electorate";
                };
                /** @default null */
                turnoutQuorum?: {
                    numerator: number;
                    denominator: number;
                    /** @default false */
                    inclusive?: boolean;
                } | null;
                /** @default null */
                approvalQuorum?: {
                    numerator: number;
                    denominator: number;
                    /** @default false */
                    inclusive?: boolean;
                } | null;
            } | null;
            /** @description For `plurality` and `approval`: the share of the answering weight that a winner must exceed. */
            majorityRequired?: {
                numerator: number;
                denominator: number;
            } | null;
        };
        UpdateSponsorBody: {
            name?: string;
            /** Format: uri */
            logoUrl?: string | null;
            /** Format: uri */
            websiteUrl?: string | null;
            tier?: string | null;
            /** @description Lower ones come first. */
            sortOrder?: number;
        };
        UpdateVoterBody: {
            name?: string;
            /** Format: email */
            email?: string | null;
            voterId?: string | null;
            groupId?: string | null;
            /** @description How much the ballot counts, to six decimals; 1 when left out. */
            weight?: number;
            /** @enum {string} */
            status?: "pending" | "approved" | "rejected";
        };
        UpdateVotingEventBody: {
            /** @description Names the event in paths, in any case. Made up when left out. */
            code?: string;
            title?: string;
            description?: string | null;
            /** @enum {string} */
            type?: "election" | "poll";
            /** @description Unix time in milliseconds. */
            startsAt?: number | null;
            /** @description Unix time in milliseconds. */
            endsAt?: number | null;
            /** @description An IANA time zone; UTC when left out. */
            timeZone?: string;
            voter?: {
                /** @description Whether people are told apart by a voter ID. */
                requireVoterId?: boolean;
                /** @description Whether voters may register themselves. */
                selfRegistration?: boolean;
                /**
                 * @description How a registered voter is approved: by using a mailed key, or by you.
                 * @enum {string}
                 */
                approval?: "automatic" | "manual";
                /** @description For polls: tells participants apart by their e-mail address. */
                saveVoterInfo?: boolean;
                /**
                 * @description Follows from the other fields: taken as it is shown, and no other.
                 * @enum {string|null}
                 */
                pollIdentity?: "visitor_id" | "email" | "voter_id" | null;
            };
            candidate?: {
                /** @description Whether candidates may register themselves. */
                selfRegistration?: boolean;
            };
            ballot?: {
                /**
                 * @description How the ballot orders candidates.
                 * @enum {string}
                 */
                candidateOrder?: "fixed" | "shuffled";
                /**
                 * @description Who may read the openings of the ballot log after the close.
                 * @enum {string}
                 */
                opening?: "none" | "observer" | "public";
                /**
                 * @description What a confirmation proves: that a ballot is in the log, or what was in it too.
                 * @enum {string}
                 */
                receipt?: "inclusion" | "full";
            };
            results?: {
                /**
                 * @description When the public may read results: never, while voting, or after the close.
                 * @enum {string}
                 */
                visibility?: "hidden" | "live" | "published";
                /** @description Taken as it is shown, and no other. */
                publishedAt?: number | null;
            };
            log?: {
                /** @description Whether the ballot log answers without a key. It shows how many ballots were confirmed. */
                open?: boolean;
            };
            payments?: {
                /** @description What a ballot of a poll costs. */
                payToVote?: {
                    /** @description In the smallest unit of the currency. */
                    amountMinor: number;
                    /** @description ISO 4217, lower case. */
                    currency: string;
                } | null;
                /** @description What a registration of a candidate costs. */
                payToRegisterCandidate?: {
                    /** @description In the smallest unit of the currency. */
                    amountMinor: number;
                    /** @description ISO 4217, lower case. */
                    currency: string;
                } | null;
                /** @description Whether one visitor may buy any number of ballots. */
                repeatVotes?: boolean;
            };
            /** @description Where voters vote: mails link to it. Its fragment may hold `{voterKey}`, `{voterId}` and `{email}`, in whose place mails put the own ones of the voter. */
            votingPageUrl?: string | null;
            /**
             * Format: email
             * @description How voters reach you: mails of the event show it.
             */
            contactEmail?: string | null;
            /**
             * @description The language of the mails of the event; `en` when left out.
             * @enum {string}
             */
            language?: "en" | "de" | "es" | "fr";
            /**
             * Format: uri
             * @description A picture that mails show. The service itself never fetches it.
             */
            logoUrl?: string | null;
            /**
             * @description `open` or `closed` opens or closes the event now; `rehearsal` begins a rehearsal of a draft or scheduled event, which `open`, `draft` or `scheduled` ends. Any other only as it is.
             * @enum {string}
             */
            status?: "open" | "closed" | "rehearsal" | "draft" | "scheduled";
        };
        UpdateWebhookEndpointBody: {
            /** Format: uri */
            url?: string;
            description?: string | null;
            eventTypes?: string[];
            /** @enum {string} */
            status?: "active" | "disabled";
        };
        /** @description One entry of a confirmed ballot. In a secret event nothing in it tells who voted, or when. */
        Vote: {
            id: string;
            positionId: string;
            candidateId: string;
            value: number | null;
            rank: number | null;
            /** @description Left out in a secret event where few voters have it. */
            weight: number | null;
            /** @constant */
            channel: "api";
            countryCode: string | null;
            voterId: string | null;
            /** @description Unix time in milliseconds. */
            submittedAt: number | null;
        };
        /** @description Somebody on the roll of an event. */
        Voter: {
            id: string;
            votingEventId: string;
            name: string;
            email: string | null;
            voterId: string | null;
            groupId: string | null;
            /** @description What every count of the ballot is multiplied by; at most 6 decimals. */
            weight: number;
            /** @enum {string} */
            status: "pending" | "approved" | "rejected";
            hasVoted: boolean;
            /** @enum {string} */
            source: "organizer" | "registration" | "poll";
            /**
             * @description What became of the last voter key.
             * @enum {string}
             */
            keyStatus: "none" | "sent" | "failed" | "used";
            /** @description Unix time in milliseconds. */
            createdAt: number;
            /** @description Unix time in milliseconds. */
            updatedAt: number;
            /**
             * @description The event is being rehearsed: nothing of this counts or lasts. Left out otherwise.
             * @constant
             */
            rehearsal?: true;
        };
        /** @description The same for everybody, so that nobody can find out who is on the roll. */
        VoterKeyRequest: {
            /** @constant */
            sent: true;
            /** @description Part of the address, to show. */
            maskedEmail: string;
            /**
             * @description The event is being rehearsed: nothing of this counts or lasts. Left out otherwise.
             * @constant
             */
            rehearsal?: true;
        };
        /** @description An election or a poll, as its organizer sees it. */
        VotingEvent: {
            id: string;
            code: string;
            title: string;
            description: string | null;
            /** @enum {string} */
            type: "election" | "poll";
            /**
             * @description Derived at the moment of the request from what is stored and the clock.
             * @enum {string}
             */
            status: "draft" | "scheduled" | "open" | "closed" | "rehearsal";
            /** @description Unix time in milliseconds. */
            startsAt: number | null;
            /** @description Unix time in milliseconds. */
            endsAt: number | null;
            /** @description An IANA time zone. */
            timeZone: string;
            voter: {
                requireVoterId: boolean;
                selfRegistration: boolean;
                /** @enum {string} */
                approval: "automatic" | "manual";
                saveVoterInfo: boolean;
                /**
                 * @description By what a poll tells two participants apart; null for elections.
                 * @enum {string|null}
                 */
                pollIdentity: "visitor_id" | "email" | "voter_id" | null;
            };
            candidate: {
                selfRegistration: boolean;
            };
            ballot: {
                /** @enum {string} */
                candidateOrder: "fixed" | "shuffled";
                /**
                 * @description Who may read the openings of the ballot log after the close.
                 * @enum {string}
                 */
                opening: "none" | "observer" | "public";
                /**
                 * @description What a confirmation proves: that a ballot is in the log, or what was in it too.
                 * @enum {string}
                 */
                receipt: "inclusion" | "full";
            };
            results: {
                /** @enum {string} */
                visibility: "hidden" | "live" | "published";
                /** @description Unix time in milliseconds. */
                publishedAt: number | null;
            };
            log: {
                /** @description Whether the ballot log answers without a key: checkpoint, tiles, proofs, consistency, and public openings. */
                open: boolean;
            };
            /** @description Where mails lead; its fragment may hold `{voterKey}`, `{voterId}` and `{email}`. */
            votingPageUrl: string | null;
            /** @description How voters reach the organizer. */
            contactEmail: string | null;
            /**
             * @description The language of the mails of the event.
             * @enum {string}
             */
            language: "en" | "de" | "es" | "fr";
            logoUrl: string | null;
            /** @description When the result became final; null before. */
            finalAt: number | null;
            payments: {
                payToVote: components["schemas"]["Price"] | null;
                payToRegisterCandidate: components["schemas"]["Price"] | null;
                /** @description Whether one visitor may pay for and confirm any number of ballots. */
                repeatVotes: boolean;
            };
            paymentBusinessId: string | null;
            /**
             * @description Derived: elections are secret, polls pseudonymous, paid polls identified.
             * @enum {string}
             */
            secrecy: "secret" | "pseudonymous" | "identified";
            /** @description In secret events who voted is shown at least `everyBallots` voters at a time; `waiting`: somebody voted who is not shown yet. Null where nothing is kept back. */
            disclosure: {
                everyBallots: number;
                waiting: boolean;
            } | null;
            /** @description Of a copy with its voters: how many of them are copied. It opens once all are. */
            copy: {
                total: number;
                done: number;
            } | null;
            /** @description Unix time in milliseconds. */
            createdAt: number;
            /** @description Unix time in milliseconds. */
            updatedAt: number;
            /**
             * @description The event is being rehearsed: nothing of this counts or lasts. Left out otherwise.
             * @constant
             */
            rehearsal?: true;
        };
        WebhookDelivery: {
            id: string;
            /** @description The `webhook-id` of the message. */
            messageId: string;
            eventType: string;
            /** @enum {string} */
            status: "pending" | "delivered" | "failed" | "skipped";
            responseStatus: number | null;
            /** @description Unix time in milliseconds. */
            nextTryAt: number | null;
            /** @description Unix time in milliseconds. */
            createdAt: number;
            /** @description Unix time in milliseconds. */
            deliveredAt: number | null;
            attempts: {
                number: number;
                /** @description Unix time in milliseconds. */
                at: number;
                durationMs: number;
                responseStatus: number | null;
                error: string | null;
                /** @description At most the first 2 KiB. */
                responseBody: string | null;
            }[];
        };
        /** @description Where events are sent. */
        WebhookEndpoint: {
            id: string;
            /** @description Null for an endpoint of the whole account. */
            votingEventId: string | null;
            url: string;
            description: string;
            eventTypes: string[];
            /** @enum {string} */
            status: "active" | "disabled";
            /** @enum {string|null} */
            disabledReason: "manual" | "consecutive_failures" | "gone" | "url_not_allowed" | null;
            consecutiveFailures: number;
            secretHint: string;
            /** @description Unix time in milliseconds. */
            createdAt: number;
            /**
             * @description The event is being rehearsed: nothing of this counts or lasts. Left out otherwise.
             * @constant
             */
            rehearsal?: true;
        };
        WebhookEndpointWithSecret: {
            id: string;
            /** @description Null for an endpoint of the whole account. */
            votingEventId: string | null;
            url: string;
            description: string;
            eventTypes: string[];
            /** @enum {string} */
            status: "active" | "disabled";
            /** @enum {string|null} */
            disabledReason: "manual" | "consecutive_failures" | "gone" | "url_not_allowed" | null;
            consecutiveFailures: number;
            secretHint: string;
            /** @description Unix time in milliseconds. */
            createdAt: number;
            /** @description Signs the messages. Told this once: store it, never log it. */
            secret: string;
        };
        WebhookEventType: {
            /** @enum {string} */
            type: "voting_event.created" | "voting_event.updated" | "voting_event.deleted" | "voting_event.opened" | "voting_event.closing" | "voting_event.closed" | "candidate.created" | "candidate.updated" | "candidate.deleted" | "voter.created" | "voter.updated" | "voter.deleted" | "voter.mail_failed" | "ballot.confirmed" | "payment.succeeded" | "payment.fulfilled" | "payment.failed" | "payment.cancelled" | "payment.refunded" | "payment.refund_failed" | "payment.reversed" | "results.published" | "log.checkpoint" | "webhook_endpoint.disabled";
            description: string;
        };
    };
    responses: never;
    parameters: {
        /** @description Chosen by you, 1 to 255 visible ASCII characters. A repeated call with the same key and request gives the first answer again, for 24 hours. */
        IdempotencyKey: string;
    };
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    getMe: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Who you are. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["Me"];
                    };
                };
            };
        };
    };
    createFromDefinition: {
        parameters: {
            query?: never;
            header?: {
                /** @description Chosen by you, 1 to 255 visible ASCII characters. A repeated call with the same key and request gives the first answer again, for 24 hours. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateFromDefinitionBody"];
            };
        };
        responses: {
            /** @description The voting event. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["VotingEvent"];
                    };
                };
            };
        };
    };
    getDefinition: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The ID or the code of a voting event. */
                idOrCode: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The definition. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["Definition"];
                    };
                };
            };
        };
    };
    replaceDefinition: {
        parameters: {
            query?: {
                /** @description Answers the differences, and changes nothing. */
                dryRun?: "true" | "false";
            };
            header?: never;
            path: {
                /** @description The ID or the code of a voting event. */
                idOrCode: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ReplaceDefinitionBody"];
            };
        };
        responses: {
            /** @description The definition as it is now; with `dryRun=true` the differences. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["Definition"] | components["schemas"]["DefinitionDifference"][];
                    };
                };
            };
        };
    };
    listVotingEvents: {
        parameters: {
            query?: {
                /** @description Rows of a page. */
                limit?: number;
                /** @description The `nextCursor` of the page before, unchanged. */
                cursor?: string;
                /** @description Finds rows that hold this text, in any case. */
                search?: string;
                status?: "draft" | "scheduled" | "open" | "closed" | "rehearsal";
                type?: "election" | "poll";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of voting events. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["VotingEvent"][];
                        /** @description Pass it on unchanged as `cursor` for the next page; null on the last one. */
                        nextCursor: string | null;
                    };
                };
            };
        };
    };
    createVotingEvent: {
        parameters: {
            query?: never;
            header?: {
                /** @description Chosen by you, 1 to 255 visible ASCII characters. A repeated call with the same key and request gives the first answer again, for 24 hours. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateVotingEventBody"];
            };
        };
        responses: {
            /** @description The voting event, a draft. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["VotingEvent"];
                    };
                };
            };
        };
    };
    getVotingEvent: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The ID or the code of a voting event. */
                idOrCode: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The voting event. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["VotingEvent"];
                    };
                };
            };
        };
    };
    deleteVotingEvent: {
        parameters: {
            query?: {
                /** @description Deletes confirmed ballots too. */
                force?: "true" | "false";
            };
            header?: never;
            path: {
                /** @description The ID or the code of a voting event. */
                idOrCode: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The voting event is gone. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    updateVotingEvent: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The ID or the code of a voting event. */
                idOrCode: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["UpdateVotingEventBody"];
            };
        };
        responses: {
            /** @description The voting event as it is now. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["VotingEvent"];
                    };
                };
            };
        };
    };
    copyVotingEvent: {
        parameters: {
            query?: never;
            header?: {
                /** @description Chosen by you, 1 to 255 visible ASCII characters. A repeated call with the same key and request gives the first answer again, for 24 hours. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The ID or the code of a voting event. */
                idOrCode: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CopyVotingEventBody"];
            };
        };
        responses: {
            /** @description The copy, a draft. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["VotingEvent"];
                    };
                };
            };
        };
    };
    listInvites: {
        parameters: {
            query?: {
                /** @description Finds rows that hold this text, in any case. */
                search?: string;
                role?: "viewer" | "editor";
                status?: "pending" | "accepted" | "expired";
            };
            header?: never;
            path: {
                /** @description The ID or the code of a voting event. */
                idOrCode: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Every invite. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["Invite"][];
                        nextCursor: null;
                    };
                };
            };
        };
    };
    createInvite: {
        parameters: {
            query?: never;
            header?: {
                /** @description Chosen by you, 1 to 255 visible ASCII characters. A repeated call with the same key and request gives the first answer again, for 24 hours. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The ID or the code of a voting event. */
                idOrCode: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateInviteBody"];
            };
        };
        responses: {
            /** @description The invite. Its mail is on the way. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["Invite"];
                    };
                };
            };
        };
    };
    deleteInvite: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The ID or the code of a voting event. */
                idOrCode: string;
                /** @description An ID. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The invite is gone; whoever had accepted it no longer sees the event. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    acceptInvite: {
        parameters: {
            query?: never;
            header?: {
                /** @description Chosen by you, 1 to 255 visible ASCII characters. A repeated call with the same key and request gives the first answer again, for 24 hours. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AcceptInviteBody"];
            };
        };
        responses: {
            /** @description The invite, accepted. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["Invite"];
                    };
                };
            };
        };
    };
    listChanges: {
        parameters: {
            query?: {
                /** @description Finds rows that hold this text, in any case. */
                search?: string;
                action?: string;
                resource?: string;
                keyId?: string;
                /** @description Unix time in milliseconds, included. */
                from?: number;
                /** @description Unix time in milliseconds, included. */
                until?: number;
                /** @description Unix time in milliseconds, included. */
                since?: number;
            };
            header?: never;
            path: {
                /** @description The ID or the code of a voting event. */
                idOrCode: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The changes, newest last. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["Change"][];
                        nextCursor: null;
                        /**
                         * @description There where older rows are left out: ask for them with `until`.
                         * @constant
                         */
                        truncated?: true;
                    };
                };
            };
        };
    };
    getChangesCsv: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The ID or the code of a voting event. */
                idOrCode: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The changes, oldest first; `before` and `after` as JSON texts. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/csv": string;
                };
            };
        };
    };
    listPositions: {
        parameters: {
            query?: {
                /** @description Finds rows that hold this text, in any case. */
                search?: string;
                votingMethod?: "plurality" | "approval" | "referendum" | "score" | "cumulative" | "quadratic" | "ranked_choice";
                groupId?: string;
            };
            header?: never;
            path: {
                /** @description The ID or the code of a voting event. */
                idOrCode: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Every position of the event. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["Position"][];
                        nextCursor: null;
                    };
                };
            };
        };
    };
    createPosition: {
        parameters: {
            query?: never;
            header?: {
                /** @description Chosen by you, 1 to 255 visible ASCII characters. A repeated call with the same key and request gives the first answer again, for 24 hours. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The ID or the code of a voting event. */
                idOrCode: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreatePositionBody"];
            };
        };
        responses: {
            /** @description The new position. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["Position"];
                    };
                };
            };
        };
    };
    getPosition: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The ID or the code of a voting event. */
                idOrCode: string;
                /** @description An ID. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The position. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["Position"];
                    };
                };
            };
        };
    };
    deletePosition: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The ID or the code of a voting event. */
                idOrCode: string;
                /** @description An ID. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The position disappears within seconds. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["Queued"];
                    };
                };
            };
        };
    };
    updatePosition: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The ID or the code of a voting event. */
                idOrCode: string;
                /** @description An ID. */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["UpdatePositionBody"];
            };
        };
        responses: {
            /** @description The position as it is now. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["Position"];
                    };
                };
            };
        };
    };
    listCandidates: {
        parameters: {
            query?: {
                /** @description Finds rows that hold this text, in any case. */
                search?: string;
                positionId?: string;
                groupId?: string;
                status?: "pending" | "approved" | "rejected" | "withdrawn";
            };
            header?: never;
            path: {
                /** @description The ID or the code of a voting event. */
                idOrCode: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Every candidate of the event. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["Candidate"][];
                        nextCursor: null;
                    };
                };
            };
        };
    };
    createCandidate: {
        parameters: {
            query?: never;
            header?: {
                /** @description Chosen by you, 1 to 255 visible ASCII characters. A repeated call with the same key and request gives the first answer again, for 24 hours. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The ID or the code of a voting event. */
                idOrCode: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateCandidateBody"];
            };
        };
        responses: {
            /** @description The new candidate. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["Candidate"];
                    };
                };
            };
        };
    };
    changeCandidates: {
        parameters: {
            query?: never;
            header?: {
                /** @description Chosen by you, 1 to 255 visible ASCII characters. A repeated call with the same key and request gives the first answer again, for 24 hours. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The ID or the code of a voting event. */
                idOrCode: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ChangeCandidatesBody"];
            };
        };
        responses: {
            /** @description How many candidates were changed: those that were rejected before stay as they are. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["BulkChange"];
                    };
                };
            };
        };
    };
    getCandidate: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The ID or the code of a voting event. */
                idOrCode: string;
                /** @description An ID. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The candidate. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["Candidate"];
                    };
                };
            };
        };
    };
    deleteCandidate: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The ID or the code of a voting event. */
                idOrCode: string;
                /** @description An ID. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The candidate disappears within seconds. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["Queued"];
                    };
                };
            };
        };
    };
    updateCandidate: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The ID or the code of a voting event. */
                idOrCode: string;
                /** @description An ID. */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["UpdateCandidateBody"];
            };
        };
        responses: {
            /** @description The candidate as it is now. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["Candidate"];
                    };
                };
            };
        };
    };
    listGroups: {
        parameters: {
            query?: {
                /** @description Finds rows that hold this text, in any case. */
                search?: string;
            };
            header?: never;
            path: {
                /** @description The ID or the code of a voting event. */
                idOrCode: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Every group of the event. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["Group"][];
                        nextCursor: null;
                    };
                };
            };
        };
    };
    createGroup: {
        parameters: {
            query?: never;
            header?: {
                /** @description Chosen by you, 1 to 255 visible ASCII characters. A repeated call with the same key and request gives the first answer again, for 24 hours. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The ID or the code of a voting event. */
                idOrCode: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateGroupBody"];
            };
        };
        responses: {
            /** @description The new group. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["Group"];
                    };
                };
            };
        };
    };
    getGroup: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The ID or the code of a voting event. */
                idOrCode: string;
                /** @description An ID. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The group. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["Group"];
                    };
                };
            };
        };
    };
    deleteGroup: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The ID or the code of a voting event. */
                idOrCode: string;
                /** @description An ID. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The group disappears within seconds. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["Queued"];
                    };
                };
            };
        };
    };
    updateGroup: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The ID or the code of a voting event. */
                idOrCode: string;
                /** @description An ID. */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["UpdateGroupBody"];
            };
        };
        responses: {
            /** @description The group as it is now. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["Group"];
                    };
                };
            };
        };
    };
    listSponsors: {
        parameters: {
            query?: {
                /** @description Finds rows that hold this text, in any case. */
                search?: string;
            };
            header?: never;
            path: {
                /** @description The ID or the code of a voting event. */
                idOrCode: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Every sponsor of the event. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["Sponsor"][];
                        nextCursor: null;
                    };
                };
            };
        };
    };
    createSponsor: {
        parameters: {
            query?: never;
            header?: {
                /** @description Chosen by you, 1 to 255 visible ASCII characters. A repeated call with the same key and request gives the first answer again, for 24 hours. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The ID or the code of a voting event. */
                idOrCode: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateSponsorBody"];
            };
        };
        responses: {
            /** @description The new sponsor. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["Sponsor"];
                    };
                };
            };
        };
    };
    getSponsor: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The ID or the code of a voting event. */
                idOrCode: string;
                /** @description An ID. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The sponsor. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["Sponsor"];
                    };
                };
            };
        };
    };
    deleteSponsor: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The ID or the code of a voting event. */
                idOrCode: string;
                /** @description An ID. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The sponsor is gone. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    updateSponsor: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The ID or the code of a voting event. */
                idOrCode: string;
                /** @description An ID. */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["UpdateSponsorBody"];
            };
        };
        responses: {
            /** @description The sponsor as it is now. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["Sponsor"];
                    };
                };
            };
        };
    };
    notifyVoters: {
        parameters: {
            query?: never;
            header?: {
                /** @description Chosen by you, 1 to 255 visible ASCII characters. A repeated call with the same key and request gives the first answer again, for 24 hours. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The ID or the code of a voting event. */
                idOrCode: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NotifyVotersBody"];
            };
        };
        responses: {
            /** @description The mails are on their way. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["QueuedMails"];
                    };
                };
            };
        };
    };
    listNotifications: {
        parameters: {
            query?: {
                /** @description Finds rows that hold this text, in any case. */
                search?: string;
                audience?: "all" | "not_invited" | "not_voted";
                kind?: "key" | "reminder";
                /** @description Unix time in milliseconds, included. */
                from?: number;
                /** @description Unix time in milliseconds, included. */
                until?: number;
            };
            header?: never;
            path: {
                /** @description The ID or the code of a voting event. */
                idOrCode: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The notifications, newest last. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["Notification"][];
                        nextCursor: null;
                        /**
                         * @description There where older rows are left out: ask for them with `until`.
                         * @constant
                         */
                        truncated?: true;
                    };
                };
            };
        };
    };
    getNotification: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The ID or the code of a voting event. */
                idOrCode: string;
                /** @description An ID. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The notification. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["Notification"];
                    };
                };
            };
        };
    };
    listVoters: {
        parameters: {
            query?: {
                /** @description Rows of a page. */
                limit?: number;
                /** @description The `nextCursor` of the page before, unchanged. */
                cursor?: string;
                /** @description Finds rows that hold this text, in any case. */
                search?: string;
                status?: "pending" | "approved" | "rejected";
                groupId?: string;
                voted?: "true" | "false";
                /** @description What became of the last voter key, as the rows show it: in a secret event a used key is `sent` until its voter is shown to have voted. */
                keyStatus?: "none" | "sent" | "failed" | "used";
            };
            header?: never;
            path: {
                /** @description The ID or the code of a voting event. */
                idOrCode: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of voters. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["Voter"][];
                        /** @description Pass it on unchanged as `cursor` for the next page; null on the last one. */
                        nextCursor: string | null;
                    };
                };
            };
        };
    };
    createVoter: {
        parameters: {
            query?: never;
            header?: {
                /** @description Chosen by you, 1 to 255 visible ASCII characters. A repeated call with the same key and request gives the first answer again, for 24 hours. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The ID or the code of a voting event. */
                idOrCode: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateVoterBody"];
            };
        };
        responses: {
            /** @description The new voter. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["Voter"];
                    };
                };
            };
        };
    };
    createVoters: {
        parameters: {
            query?: never;
            header?: {
                /** @description Chosen by you, 1 to 255 visible ASCII characters. A repeated call with the same key and request gives the first answer again, for 24 hours. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The ID or the code of a voting event. */
                idOrCode: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateVotersBody"];
            };
        };
        responses: {
            /** @description The new voters, in the order sent. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["Voter"][];
                    };
                };
            };
        };
    };
    importRoll: {
        parameters: {
            query?: never;
            header?: {
                /** @description Chosen by you, 1 to 255 visible ASCII characters. A repeated call with the same key and request gives the first answer again, for 24 hours. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The ID or the code of a voting event. */
                idOrCode: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ImportRollBody"];
            };
        };
        responses: {
            /** @description What became of the rows. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["ImportedRoll"];
                    };
                };
            };
        };
    };
    changeVoters: {
        parameters: {
            query?: never;
            header?: {
                /** @description Chosen by you, 1 to 255 visible ASCII characters. A repeated call with the same key and request gives the first answer again, for 24 hours. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The ID or the code of a voting event. */
                idOrCode: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ChangeVotersBody"];
            };
        };
        responses: {
            /** @description How many voters were changed: those that were rejected before stay as they are. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["BulkChange"];
                    };
                };
            };
        };
    };
    getVotersCsv: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The ID or the code of a voting event. */
                idOrCode: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The voters, oldest first. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/csv": string;
                };
            };
        };
    };
    getVoter: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The ID or the code of a voting event. */
                idOrCode: string;
                /** @description An ID. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The voter. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["Voter"];
                    };
                };
            };
        };
    };
    deleteVoter: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The ID or the code of a voting event. */
                idOrCode: string;
                /** @description An ID. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The voter disappears within seconds. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["Queued"];
                    };
                };
            };
        };
    };
    updateVoter: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The ID or the code of a voting event. */
                idOrCode: string;
                /** @description An ID. */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["UpdateVoterBody"];
            };
        };
        responses: {
            /** @description The voter as it is now. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["Voter"];
                    };
                };
            };
        };
    };
    mailVoterKey: {
        parameters: {
            query?: never;
            header?: {
                /** @description Chosen by you, 1 to 255 visible ASCII characters. A repeated call with the same key and request gives the first answer again, for 24 hours. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The ID or the code of a voting event. */
                idOrCode: string;
                /** @description An ID. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The mail is on its way; `keyStatus` of the voter tells what became of it. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["Queued"];
                    };
                };
            };
        };
    };
    listPaymentBusinesses: {
        parameters: {
            query?: {
                /** @description Finds rows that hold this text, in any case. */
                search?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Every payment business of the account. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["PaymentBusiness"][];
                        nextCursor: null;
                    };
                };
            };
        };
    };
    getLinkedPaymentBusiness: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The ID or the code of a voting event. */
                idOrCode: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The payment business; 404 when none is linked. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["PaymentBusiness"];
                    };
                };
            };
        };
    };
    linkPaymentBusiness: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The ID or the code of a voting event. */
                idOrCode: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["LinkPaymentBusinessBody"];
            };
        };
        responses: {
            /** @description The payment business. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["PaymentBusiness"];
                    };
                };
            };
        };
    };
    unlinkPaymentBusiness: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The ID or the code of a voting event. */
                idOrCode: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description No payment business is linked. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    listPayments: {
        parameters: {
            query?: {
                /** @description Finds rows that hold this text, in any case. */
                search?: string;
                status?: "created" | "pending" | "succeeded" | "fulfilled" | "failed" | "cancelled";
                purpose?: "vote" | "candidate_registration" | "quadratic_credits";
                /** @description Unix time in milliseconds, included. */
                from?: number;
                /** @description Unix time in milliseconds, included. */
                until?: number;
            };
            header?: never;
            path: {
                /** @description The ID or the code of a voting event. */
                idOrCode: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The payments of the event. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["OrganizerPaymentAttempt"][];
                        nextCursor: null;
                        /**
                         * @description There where older rows are left out: ask for them with `until`.
                         * @constant
                         */
                        truncated?: true;
                    };
                };
            };
        };
    };
    getPaymentsCsv: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The ID or the code of a voting event. */
                idOrCode: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The payments, oldest first. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/csv": string;
                };
            };
        };
    };
    getPayment: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The ID or the code of a voting event. */
                idOrCode: string;
                /** @description An ID. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The payment. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["OrganizerPaymentAttempt"];
                    };
                };
            };
        };
    };
    getResults: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The ID or the code of a voting event. */
                idOrCode: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The results so far; `final` tells whether anything can still change. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["Results"];
                    };
                };
            };
        };
    };
    getResultRounds: {
        parameters: {
            query: {
                positionId: string;
                fromRound?: number;
            };
            header?: never;
            path: {
                /** @description The ID or the code of a voting event. */
                idOrCode: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Rounds from `fromRound` on. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["ResultRounds"];
                    };
                };
            };
        };
    };
    listVotes: {
        parameters: {
            query?: {
                /** @description Rows of a page. */
                limit?: number;
                /** @description The `nextCursor` of the page before, unchanged. */
                cursor?: string;
                positionId?: string;
                candidateId?: string;
                /** @description Finds rows that hold this text, in any case. */
                search?: string;
            };
            header?: never;
            path: {
                /** @description The ID or the code of a voting event. */
                idOrCode: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of votes. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["Vote"][];
                        /** @description Pass it on unchanged as `cursor` for the next page; null on the last one. */
                        nextCursor: string | null;
                    };
                };
            };
        };
    };
    getStats: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The ID or the code of a voting event. */
                idOrCode: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The figures. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["EventStats"];
                    };
                };
            };
        };
    };
    getPublicResults: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The ID or the code of a voting event. */
                idOrCode: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The results. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["Results"];
                    };
                };
            };
        };
    };
    getPublicResultRounds: {
        parameters: {
            query: {
                positionId: string;
                fromRound?: number;
            };
            header?: never;
            path: {
                /** @description The ID or the code of a voting event. */
                idOrCode: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Rounds from `fromRound` on. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["ResultRounds"];
                    };
                };
            };
        };
    };
    getResultsPdf: {
        parameters: {
            query?: {
                paper?: "a4" | "letter";
            };
            header?: never;
            path: {
                /** @description The ID or the code of a voting event. */
                idOrCode: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The address of the report, good for five minutes. */
            302: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    getResultsCsv: {
        parameters: {
            query?: {
                layout?: "figures" | "table";
            };
            header?: never;
            path: {
                /** @description The ID or the code of a voting event. */
                idOrCode: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The address of the file, good for five minutes. */
            302: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    getResultsBlt: {
        parameters: {
            query: {
                /** @description A position of the method `ranked_choice`. */
                positionId: string;
            };
            header?: never;
            path: {
                /** @description The ID or the code of a voting event. */
                idOrCode: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The address of the file, good for five minutes. */
            302: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    getResultsJson: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The ID or the code of a voting event. */
                idOrCode: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The address of the file, good for five minutes. */
            302: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    getCastVoteRecords: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The ID or the code of a voting event. */
                idOrCode: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The address of the file, good for five minutes. */
            302: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    listWebhookEndpoints: {
        parameters: {
            query?: {
                /** @description Lists the endpoints of one event; those of the account when left out. */
                votingEventCode?: string;
                /** @description Finds rows that hold this text, in any case. */
                search?: string;
                status?: "active" | "disabled";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The endpoints. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["WebhookEndpoint"][];
                        nextCursor: null;
                    };
                };
            };
        };
    };
    createWebhookEndpoint: {
        parameters: {
            query?: never;
            header?: {
                /** @description Chosen by you, 1 to 255 visible ASCII characters. A repeated call with the same key and request gives the first answer again, for 24 hours. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateWebhookEndpointBody"];
            };
        };
        responses: {
            /** @description The endpoint, with its secret. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["WebhookEndpointWithSecret"];
                    };
                };
            };
        };
    };
    getWebhookEndpoint: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description An ID. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The endpoint. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["WebhookEndpoint"];
                    };
                };
            };
        };
    };
    deleteWebhookEndpoint: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description An ID. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The endpoint is gone. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    updateWebhookEndpoint: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description An ID. */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["UpdateWebhookEndpointBody"];
            };
        };
        responses: {
            /** @description The endpoint as it is now. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["WebhookEndpoint"];
                    };
                };
            };
        };
    };
    testWebhookEndpoint: {
        parameters: {
            query?: never;
            header?: {
                /** @description Chosen by you, 1 to 255 visible ASCII characters. A repeated call with the same key and request gives the first answer again, for 24 hours. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description An ID. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The message is on its way; see the deliveries. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["Queued"];
                    };
                };
            };
        };
    };
    rotateWebhookSecret: {
        parameters: {
            query?: never;
            header?: {
                /** @description Chosen by you, 1 to 255 visible ASCII characters. A repeated call with the same key and request gives the first answer again, for 24 hours. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description An ID. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The endpoint, with its new secret. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["WebhookEndpointWithSecret"];
                    };
                };
            };
        };
    };
    listWebhookDeliveries: {
        parameters: {
            query?: {
                /** @description Finds rows that hold this text, in any case. */
                search?: string;
                status?: "pending" | "delivered" | "failed" | "skipped";
                eventType?: string;
                /** @description Unix time in milliseconds, included. */
                from?: number;
                /** @description Unix time in milliseconds, included. */
                until?: number;
            };
            header?: never;
            path: {
                /** @description An ID. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The newest 1,000 of what the filters find, newest last. All but the newest hundred tell the beginning of what their receivers answered. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["WebhookDelivery"][];
                        nextCursor: null;
                        /**
                         * @description There where older rows are left out: ask for them with `until`.
                         * @constant
                         */
                        truncated?: true;
                    };
                };
            };
        };
    };
    getWebhookDeliveriesCsv: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description An ID. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The deliveries of the last 30 days, oldest first, without what was sent. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/csv": string;
                };
            };
        };
    };
    retryWebhookDelivery: {
        parameters: {
            query?: never;
            header?: {
                /** @description Chosen by you, 1 to 255 visible ASCII characters. A repeated call with the same key and request gives the first answer again, for 24 hours. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description An ID. */
                id: string;
                /** @description The delivery id. */
                deliveryId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The message is on its way again. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["Queued"];
                    };
                };
            };
        };
    };
    listWebhookEventTypes: {
        parameters: {
            query?: {
                /** @description Finds rows that hold this text, in any case. */
                search?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Every type. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["WebhookEventType"][];
                        nextCursor: null;
                    };
                };
            };
        };
    };
    getContext: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The ID or the code of a voting event. */
                idOrCode: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The settings of the event. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["EventContext"];
                    };
                };
            };
        };
    };
    getBallot: {
        parameters: {
            query?: {
                /** @description The same seed gives the same order of candidates. */
                seed?: string;
            };
            header?: never;
            path: {
                /** @description The ID or the code of a voting event. */
                idOrCode: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The ballot. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["Ballot"];
                    };
                };
            };
        };
    };
    registerCandidate: {
        parameters: {
            query?: never;
            header?: {
                /** @description Chosen by you, 1 to 255 visible ASCII characters. A repeated call with the same key and request gives the first answer again, for 24 hours. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The ID or the code of a voting event. */
                idOrCode: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RegisterCandidateBody"] | components["schemas"]["FinishPaymentBody"];
            };
        };
        responses: {
            /** @description A second call that was made before: the same candidate. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["RegisteredCandidate"];
                    };
                };
            };
            /** @description The candidate, who waits for the approval of the organizers. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["RegisteredCandidate"];
                    };
                };
            };
            /** @description Payment is needed first, or has not succeeded yet. */
            402: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["PaymentRequired"];
                    };
                };
            };
        };
    };
    registerVoter: {
        parameters: {
            query?: never;
            header?: {
                /** @description Chosen by you, 1 to 255 visible ASCII characters. A repeated call with the same key and request gives the first answer again, for 24 hours. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The ID or the code of a voting event. */
                idOrCode: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RegisterVoterBody"];
            };
        };
        responses: {
            /** @description The voter. With automatic approval, the first voter key that is used approves it. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["RegisteredVoter"];
                    };
                };
            };
        };
    };
    requestVoterKey: {
        parameters: {
            query?: never;
            header?: {
                /** @description Chosen by you, 1 to 255 visible ASCII characters. A repeated call with the same key and request gives the first answer again, for 24 hours. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The ID or the code of a voting event. */
                idOrCode: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RequestVoterKeyBody"];
            };
        };
        responses: {
            /** @description The mail is on its way, if there is such a voter. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["VoterKeyRequest"];
                    };
                };
            };
        };
    };
    checkVoter: {
        parameters: {
            query?: never;
            header?: {
                /** @description Chosen by you, 1 to 255 visible ASCII characters. A repeated call with the same key and request gives the first answer again, for 24 hours. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The ID or the code of a voting event. */
                idOrCode: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CheckElectionVoterBody"] | components["schemas"]["CheckPollVisitorBody"];
            };
        };
        responses: {
            /** @description Whether a cast would be accepted now. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["Eligibility"];
                    };
                };
            };
        };
    };
    castBallot: {
        parameters: {
            query?: never;
            header?: {
                /** @description Chosen by you, 1 to 255 visible ASCII characters. A repeated call with the same key and request gives the first answer again, for 24 hours. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The ID or the code of a voting event. */
                idOrCode: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CastElectionBallotBody"] | components["schemas"]["CastPollBallotBody"] | components["schemas"]["FinishPaymentBody"];
            };
        };
        responses: {
            /** @description A second call that was made before: the same code. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["CastResult"];
                    };
                };
            };
            /** @description The ballot is cast, and waits to be confirmed. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["CastResult"];
                    };
                };
            };
            /** @description Payment is needed first, or has not succeeded yet. */
            402: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["PaymentRequired"];
                    };
                };
            };
        };
    };
    confirmBallot: {
        parameters: {
            query?: never;
            header?: {
                /** @description Chosen by you, 1 to 255 visible ASCII characters. A repeated call with the same key and request gives the first answer again, for 24 hours. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The ID or the code of a voting event. */
                idOrCode: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ConfirmBallotBody"];
            };
        };
        responses: {
            /** @description The ballot counts. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["Confirmation"];
                    };
                };
            };
        };
    };
    getCredits: {
        parameters: {
            query: {
                positionId: string;
                /** @description `vi_` and 16 to 128 hexadecimal characters, the same for one visitor every time. */
                visitorId: string;
            };
            header?: never;
            path: {
                /** @description The ID or the code of a voting event. */
                idOrCode: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The balance. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["CreditBalance"];
                    };
                };
            };
        };
    };
    getCreditOptions: {
        parameters: {
            query: {
                positionId: string;
                /** @description `vi_` and 16 to 128 hexadecimal characters, the same for one visitor every time. */
                visitorId: string;
            };
            header?: never;
            path: {
                /** @description The ID or the code of a voting event. */
                idOrCode: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What can be bought. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["CreditOptions"];
                    };
                };
            };
        };
    };
    buyCredits: {
        parameters: {
            query?: never;
            header?: {
                /** @description Chosen by you, 1 to 255 visible ASCII characters. A repeated call with the same key and request gives the first answer again, for 24 hours. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The ID or the code of a voting event. */
                idOrCode: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["BuyCreditsBody"] | components["schemas"]["FinishPaymentBody"];
            };
        };
        responses: {
            /** @description The new balance. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["CreditBalance"];
                    };
                };
            };
            /** @description Payment is needed first, or has not succeeded yet. */
            402: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["PaymentRequired"];
                    };
                };
            };
        };
    };
    getPublicPayment: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The ID or the code of a voting event. */
                idOrCode: string;
                /** @description An ID. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The payment. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["PaymentAttempt"];
                    };
                };
            };
        };
    };
    getLogCheckpoint: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The ID or the code of a voting event. */
                idOrCode: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A signed note (C2SP tlog-checkpoint). */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": string;
                };
            };
        };
    };
    getLogTile: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The ID or the code of a voting event. */
                idOrCode: string;
                /** @description The path of a tile, slashes included. */
                tile: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The bytes of the tile. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/octet-stream": unknown;
                };
            };
        };
    };
    proveBallot: {
        parameters: {
            query?: never;
            header?: {
                /** @description Chosen by you, 1 to 255 visible ASCII characters. A repeated call with the same key and request gives the first answer again, for 24 hours. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The ID or the code of a voting event. */
                idOrCode: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ProveBallotBody"];
            };
        };
        responses: {
            /** @description Where the ballot stands. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["BallotProof"];
                    };
                };
            };
        };
    };
    getLogConsistency: {
        parameters: {
            query: {
                /** @description A number of leaves. */
                from: number;
                /** @description A number of leaves. */
                to: number;
            };
            header?: never;
            path: {
                /** @description The ID or the code of a voting event. */
                idOrCode: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The proof. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["ConsistencyProof"];
                    };
                };
            };
        };
    };
    listLogOpenings: {
        parameters: {
            query?: {
                /** @description The leaf to begin at. */
                fromIndex?: number;
                /** @description Ballots of a page: 1,000 unless given; without `fromIndex` 50, and at most 200. */
                limit?: number;
                /** @description The `nextCursor` of the page before, unchanged. */
                cursor?: string;
            };
            header?: never;
            path: {
                /** @description The ID or the code of a voting event. */
                idOrCode: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of openings, in the order of the log. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BallotOpenings"];
                };
            };
        };
    };
    proveCheckpoint: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The ID or the code of a voting event. */
                idOrCode: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Where the checkpoint stands. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["CheckpointProof"];
                    };
                };
            };
        };
    };
    onVotingEventCreated: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description The same on every retry, as `webhook-id`. */
                    id: string;
                    /** @constant */
                    type: "voting_event.created";
                    /** @description Unix time in milliseconds. */
                    createdAt: number;
                    /** @description Null where it is about no event. */
                    votingEventId: string | null;
                    data: components["schemas"]["VotingEvent"];
                };
            };
        };
        responses: never;
    };
    onVotingEventUpdated: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description The same on every retry, as `webhook-id`. */
                    id: string;
                    /** @constant */
                    type: "voting_event.updated";
                    /** @description Unix time in milliseconds. */
                    createdAt: number;
                    /** @description Null where it is about no event. */
                    votingEventId: string | null;
                    data: components["schemas"]["VotingEvent"];
                };
            };
        };
        responses: never;
    };
    onVotingEventDeleted: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description The same on every retry, as `webhook-id`. */
                    id: string;
                    /** @constant */
                    type: "voting_event.deleted";
                    /** @description Unix time in milliseconds. */
                    createdAt: number;
                    /** @description Null where it is about no event. */
                    votingEventId: string | null;
                    data: {
                        id: string;
                        code: string;
                        title: string;
                        /**
                         * @description The event is being rehearsed: nothing of this counts or lasts. Left out otherwise.
                         * @constant
                         */
                        rehearsal?: true;
                    };
                };
            };
        };
        responses: never;
    };
    onVotingEventOpened: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description The same on every retry, as `webhook-id`. */
                    id: string;
                    /** @constant */
                    type: "voting_event.opened";
                    /** @description Unix time in milliseconds. */
                    createdAt: number;
                    /** @description Null where it is about no event. */
                    votingEventId: string | null;
                    data: components["schemas"]["VotingEvent"];
                };
            };
        };
        responses: never;
    };
    onVotingEventClosing: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description The same on every retry, as `webhook-id`. */
                    id: string;
                    /** @constant */
                    type: "voting_event.closing";
                    /** @description Unix time in milliseconds. */
                    createdAt: number;
                    /** @description Null where it is about no event. */
                    votingEventId: string | null;
                    data: components["schemas"]["VotingEvent"];
                };
            };
        };
        responses: never;
    };
    onVotingEventClosed: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description The same on every retry, as `webhook-id`. */
                    id: string;
                    /** @constant */
                    type: "voting_event.closed";
                    /** @description Unix time in milliseconds. */
                    createdAt: number;
                    /** @description Null where it is about no event. */
                    votingEventId: string | null;
                    data: components["schemas"]["VotingEvent"];
                };
            };
        };
        responses: never;
    };
    onCandidateCreated: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description The same on every retry, as `webhook-id`. */
                    id: string;
                    /** @constant */
                    type: "candidate.created";
                    /** @description Unix time in milliseconds. */
                    createdAt: number;
                    /** @description Null where it is about no event. */
                    votingEventId: string | null;
                    data: components["schemas"]["Candidate"];
                };
            };
        };
        responses: never;
    };
    onCandidateUpdated: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description The same on every retry, as `webhook-id`. */
                    id: string;
                    /** @constant */
                    type: "candidate.updated";
                    /** @description Unix time in milliseconds. */
                    createdAt: number;
                    /** @description Null where it is about no event. */
                    votingEventId: string | null;
                    data: components["schemas"]["Candidate"];
                };
            };
        };
        responses: never;
    };
    onCandidateDeleted: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description The same on every retry, as `webhook-id`. */
                    id: string;
                    /** @constant */
                    type: "candidate.deleted";
                    /** @description Unix time in milliseconds. */
                    createdAt: number;
                    /** @description Null where it is about no event. */
                    votingEventId: string | null;
                    data: {
                        id: string;
                        name: string;
                        /**
                         * @description The event is being rehearsed: nothing of this counts or lasts. Left out otherwise.
                         * @constant
                         */
                        rehearsal?: true;
                    };
                };
            };
        };
        responses: never;
    };
    onVoterCreated: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description The same on every retry, as `webhook-id`. */
                    id: string;
                    /** @constant */
                    type: "voter.created";
                    /** @description Unix time in milliseconds. */
                    createdAt: number;
                    /** @description Null where it is about no event. */
                    votingEventId: string | null;
                    data: components["schemas"]["Voter"];
                };
            };
        };
        responses: never;
    };
    onVoterUpdated: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description The same on every retry, as `webhook-id`. */
                    id: string;
                    /** @constant */
                    type: "voter.updated";
                    /** @description Unix time in milliseconds. */
                    createdAt: number;
                    /** @description Null where it is about no event. */
                    votingEventId: string | null;
                    data: components["schemas"]["Voter"];
                };
            };
        };
        responses: never;
    };
    onVoterDeleted: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description The same on every retry, as `webhook-id`. */
                    id: string;
                    /** @constant */
                    type: "voter.deleted";
                    /** @description Unix time in milliseconds. */
                    createdAt: number;
                    /** @description Null where it is about no event. */
                    votingEventId: string | null;
                    data: {
                        id: string;
                        /**
                         * @description The event is being rehearsed: nothing of this counts or lasts. Left out otherwise.
                         * @constant
                         */
                        rehearsal?: true;
                    };
                };
            };
        };
        responses: never;
    };
    onVoterMailFailed: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description The same on every retry, as `webhook-id`. */
                    id: string;
                    /** @constant */
                    type: "voter.mail_failed";
                    /** @description Unix time in milliseconds. */
                    createdAt: number;
                    /** @description Null where it is about no event. */
                    votingEventId: string | null;
                    data: components["schemas"]["Voter"];
                };
            };
        };
        responses: never;
    };
    onBallotConfirmed: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description The same on every retry, as `webhook-id`. */
                    id: string;
                    /** @constant */
                    type: "ballot.confirmed";
                    /** @description Unix time in milliseconds. */
                    createdAt: number;
                    /** @description Null where it is about no event. */
                    votingEventId: string | null;
                    data: {
                        votingEventId: string;
                        ballots: number;
                        /**
                         * @description The event is being rehearsed: nothing of this counts or lasts. Left out otherwise.
                         * @constant
                         */
                        rehearsal?: true;
                    };
                };
            };
        };
        responses: never;
    };
    onPaymentSucceeded: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description The same on every retry, as `webhook-id`. */
                    id: string;
                    /** @constant */
                    type: "payment.succeeded";
                    /** @description Unix time in milliseconds. */
                    createdAt: number;
                    /** @description Null where it is about no event. */
                    votingEventId: string | null;
                    data: components["schemas"]["PaymentAttempt"];
                };
            };
        };
        responses: never;
    };
    onPaymentFulfilled: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description The same on every retry, as `webhook-id`. */
                    id: string;
                    /** @constant */
                    type: "payment.fulfilled";
                    /** @description Unix time in milliseconds. */
                    createdAt: number;
                    /** @description Null where it is about no event. */
                    votingEventId: string | null;
                    data: components["schemas"]["PaymentAttempt"];
                };
            };
        };
        responses: never;
    };
    onPaymentFailed: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description The same on every retry, as `webhook-id`. */
                    id: string;
                    /** @constant */
                    type: "payment.failed";
                    /** @description Unix time in milliseconds. */
                    createdAt: number;
                    /** @description Null where it is about no event. */
                    votingEventId: string | null;
                    data: components["schemas"]["PaymentAttempt"];
                };
            };
        };
        responses: never;
    };
    onPaymentCancelled: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description The same on every retry, as `webhook-id`. */
                    id: string;
                    /** @constant */
                    type: "payment.cancelled";
                    /** @description Unix time in milliseconds. */
                    createdAt: number;
                    /** @description Null where it is about no event. */
                    votingEventId: string | null;
                    data: components["schemas"]["PaymentAttempt"];
                };
            };
        };
        responses: never;
    };
    onPaymentRefunded: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description The same on every retry, as `webhook-id`. */
                    id: string;
                    /** @constant */
                    type: "payment.refunded";
                    /** @description Unix time in milliseconds. */
                    createdAt: number;
                    /** @description Null where it is about no event. */
                    votingEventId: string | null;
                    data: components["schemas"]["PaymentAttempt"];
                };
            };
        };
        responses: never;
    };
    onPaymentRefundFailed: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description The same on every retry, as `webhook-id`. */
                    id: string;
                    /** @constant */
                    type: "payment.refund_failed";
                    /** @description Unix time in milliseconds. */
                    createdAt: number;
                    /** @description Null where it is about no event. */
                    votingEventId: string | null;
                    data: components["schemas"]["PaymentAttempt"];
                };
            };
        };
        responses: never;
    };
    onPaymentReversed: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description The same on every retry, as `webhook-id`. */
                    id: string;
                    /** @constant */
                    type: "payment.reversed";
                    /** @description Unix time in milliseconds. */
                    createdAt: number;
                    /** @description Null where it is about no event. */
                    votingEventId: string | null;
                    data: components["schemas"]["PaymentAttempt"];
                };
            };
        };
        responses: never;
    };
    onResultsPublished: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description The same on every retry, as `webhook-id`. */
                    id: string;
                    /** @constant */
                    type: "results.published";
                    /** @description Unix time in milliseconds. */
                    createdAt: number;
                    /** @description Null where it is about no event. */
                    votingEventId: string | null;
                    data: {
                        votingEventId: string;
                        code: string;
                        title: string;
                        /** @description Unix time in milliseconds. */
                        publishedAt: number;
                        /**
                         * @description The event is being rehearsed: nothing of this counts or lasts. Left out otherwise.
                         * @constant
                         */
                        rehearsal?: true;
                    };
                };
            };
        };
        responses: never;
    };
    onLogCheckpoint: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description The same on every retry, as `webhook-id`. */
                    id: string;
                    /** @constant */
                    type: "log.checkpoint";
                    /** @description Unix time in milliseconds. */
                    createdAt: number;
                    /** @description Null where it is about no event. */
                    votingEventId: string | null;
                    data: {
                        votingEventId: string;
                        size: number;
                        rootHash: string;
                        checkpoint: string;
                        /**
                         * @description The event is being rehearsed: nothing of this counts or lasts. Left out otherwise.
                         * @constant
                         */
                        rehearsal?: true;
                    };
                };
            };
        };
        responses: never;
    };
    onWebhookEndpointDisabled: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description The same on every retry, as `webhook-id`. */
                    id: string;
                    /** @constant */
                    type: "webhook_endpoint.disabled";
                    /** @description Unix time in milliseconds. */
                    createdAt: number;
                    /** @description Null where it is about no event. */
                    votingEventId: string | null;
                    data: components["schemas"]["WebhookEndpoint"];
                };
            };
        };
        responses: never;
    };
}
